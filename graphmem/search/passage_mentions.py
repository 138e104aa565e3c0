"""The entities that a text mentions: by a name or an identifier that they have now, as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.search.questions import mentions
from graphmem.search.questions.asked_identifiers import WordRun
from graphmem.text import identifiers

PAIRS_LIMIT: Final = 6_000
"""Names and identifiers that are looked up for one answer."""


class MentionedEntity(TypedDict):
    """An entity that a passage mentions, and the words that name it there."""

    entity_id: str
    entity_type: str
    canonical_name: str
    words: str


class _Named(NamedTuple):
    id: str
    type: str
    name: str
    pairs: list[tuple[str, str]]


async def mentioned(context: Context, texts: Sequence[str]) -> list[list[MentionedEntity]]:
    """Return the entities that each of some texts mentions, in its order; of each place the longest name.

    A name has a capital letter somewhere, in scripts that have these.
    """
    region = context.services.settings.phone_region
    runs = [mentions.names_in(text, region, is_prose=True).runs for text in texts]
    pairs = {pair: None for each in runs for run in each for pair in sorted(run.pairs)}
    if not pairs:
        return [[] for _ in texts]
    rows = await context.graph.only(
        "passages.named", list[_Named], pairs=[list(pair) for pair in list(pairs)[:PAIRS_LIMIT]],
        kinds=list(identifiers.KINDS), types=[],
    )  # fmt: skip
    by_pair: dict[tuple[str, str], list[_Named]] = {}
    for row in rows:
        for kind, key in row.pairs:
            by_pair.setdefault((kind, key), []).append(row)
    return [_of_text(each, by_pair) for each in runs]


def _of_text(runs: Sequence[WordRun], by_pair: dict[tuple[str, str], list[_Named]]) -> list[MentionedEntity]:
    naming = [run for run in runs if not by_pair.keys().isdisjoint(run.pairs)]
    spans = mentions.longest((run.start, run.end) for run in naming)
    mentioned: dict[str, MentionedEntity] = {}
    for run in sorted(naming, key=lambda run: run.start):
        if (run.start, run.end) in spans:
            for row in (row for pair in sorted(run.pairs) for row in by_pair.get(pair, ())):
                mention = MentionedEntity(
                    entity_id=row.id, entity_type=row.type, canonical_name=row.name, words=run.text
                )
                mentioned.setdefault(row.id, mention)
    return list(mentioned.values())
