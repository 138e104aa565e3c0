"""Search for an identifier, or for a date: the entities that have it, and nothing similar.

The copy in memory has the entities whose text has its words, and one statement reads the values of those
that may have it. The words do not tell ``ada@example.org`` from ``ada.example.org``: the values are compared
here (:mod:`graphmem.search.written_identifiers`), and so are texts, which count if they have the words in a
row. A second statement reads the rows of a page.
"""

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from graphmem.context import Context
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.reduction import paired
from graphmem.reading.scan import ROWS_PER_READ, rows_of
from graphmem.reading.shared_rows import snapshot_of
from graphmem.search import search_results
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import ExactMatch, OwnerCopy
from graphmem.search.questions.naming import EXACT_WEIGHT, FIELD, FIELD_WEIGHT, KIND_STEP, Named, kind_of
from graphmem.search.written_identifiers import Extent, Sought
from graphmem.text import words

SEALED_AT_ONCE: Final = 500
"""Entities that one statement reads of a sealed instance, which answers the texts of all of them."""


class Proposed(NamedTuple):
    """The row of ``search/identified.cypher``: an entity that may have an identifier.

    Of an instance that is not sealed ``text`` is the name in the text of words, and ``length`` that of the
    text. Without ``fields``, the values have more characters than are read with all others.
    """

    id: str
    text: str
    length: int | None
    name: str
    fields: list[str] | None
    values: list[str] | None

    def score(self, sought: Sought) -> float | None:
        """Return the score of an entity whose text has the words of a spelling in a row, else ``None``."""
        text = f" {self.text} "
        if self.length is None and not any(pattern in text for pattern in sought.patterns):
            return None
        in_name = any(pattern in text.partition("|")[0] for pattern in sought.patterns)
        length = len(text) if self.length is None else self.length + 2
        return round(in_name + 2.2 / (1.3 + 0.003 * length), 6)

    def values_for(self, sought: Sought) -> list[tuple[str, str]] | None:
        """Return the values that may have it, ``None`` if they are to be read.

        Raises:
            Torn: a commit fell between its fields and their values.
        """
        if self.fields is None or self.values is None:
            return None
        return [
            (field, value)
            for field, value in paired(self.id, self.fields, self.values)
            if not value.isascii() or any(needle in value.lower() for needle in sought.needles)
        ]


def _having(copy: SearchCopy, *, sought: Sought, search: search_results.Search) -> tuple[list[str], int]:
    """Return the ids of the documents that have all words of a spelling, and how many were compared."""
    among = copy.of_types(search.types)
    total = int(among.sum())
    if search.among is not None:
        among = among & copy.of_ids(search.among)
    having = np.zeros(len(copy.ids), np.bool_)
    for spelling in sought.spellings:
        *groups, last = [[word] for word in spelling.words]
        if spelling.goes_on:
            last += copy.terms.beginning_with(last[0] + spelling.goes_on)
        postings = copy.postings([*groups, last])
        having |= np.logical_and.reduce([copy.of_numbers(each.documents) for each in postings])
    return sorted(copy.ids[number] for number in np.flatnonzero(having & among)), total


VALUE_CHARACTERS: Final = 2_000
"""Characters of an entity's values that are read together with all others; more are read by themselves."""
COMPARED_IN_LOOP: Final = 100
"""Entities that are compared in the event loop, in some milliseconds; more are compared in a thread."""
IDENTIFYING_STEP: Final = 0.1  # the points by which a field for identifiers is ahead of others
_IDENTIFYING = re.compile(
    r"(?:^|_)(?:id|ids|no|nr|number|code|key|ref|reference|sku|iban|isbn|ean|gtin|serial|vin|doi|uuid|guid|plate)$"
)
ORDERING: Final = search_results.Ordering(
    f"exact: an entity that the identifier names gets {EXACT_WEIGHT:g} points for the strongest kind, and "
    f"{KIND_STEP:g} less for each weaker kind; one that has it as the whole value of a field gets "
    f"{FIELD_WEIGHT:g}, and {IDENTIFYING_STEP:g} more if the name of the field says that it is a number or "
    "code. text: a value has the identifier between other words; less than 1 point, more for a name or a "
    "short text. Equal points are in the order of ids.",
    {"exact": EXACT_WEIGHT, "text": 1.0, "meaning": 0.0},
)


class _Match(NamedTuple):
    """A value that has the identifier: how much of the value it is."""

    extent: Extent
    field: str


async def by_identifier(
    context: Context,
    search: search_results.Search,
    copy: OwnerCopy,
    sought: Sought,
    exact: Iterable[ExactMatch] | None = None,
) -> search_results.Results:
    """Search an owner's live entities for one identifier or date, in an up-to-date copy of them.

    Args:
        exact: the entities that the identifier names; ``None`` if that was not looked for.

    Raises:
        ServiceBusy: the copy is large, and no place becomes free to compare it.
    """
    services, start = context.services, time.perf_counter()
    ids, total = await copy.compare(
        partial(_having, sought=sought, search=search), services.database.heavy, context.actor.owner
    )
    most = services.limits.search_identified
    compared = ids[:most] if search.among is None else ids
    read, step = list[Proposed](), SEALED_AT_ONCE if services.database.is_sealed else most
    for first in range(0, len(compared), step):
        read += await context.graph.only(
            "search.identified", list[Proposed], entity_ids=compared[first : first + step],
            patterns=sought.patterns, characters=VALUE_CHARACTERS,
        )  # fmt: skip
    scores = {each.id: score for each in read if (score := each.score(sought)) is not None}
    matches, is_whole = await _matches(context, sought, [each for each in read if each.id in scores])
    is_cut = not is_whole or len(compared) < len(ids)
    text = search.query.strip()
    kinds = [(hit.id, *kind_of(hit.strength)) for hit in exact or ()]
    named = [Named(entity_id, kind, text, is_former=is_former) for entity_id, kind, is_former in kinds]
    known = {each.id for each in named}
    if not sought.is_date:
        named += [
            Named(entity_id, FIELD, text, field=each.field)
            for entity_id, each in matches.items()
            if each.extent is Extent.WHOLE and entity_id not in known
        ]
    ranked = _ranked(named, {each: score for each, score in scores.items() if each in matches})
    page = ranked
    if (after := search.after) is not None:
        place = next((place for place, each in enumerate(ranked) if each.id == after.id), None)
        behind = [each for each in ranked if (-each.points, each.id) > (-after.points, after.id)]
        page = behind if place is None else ranked[place + 1 :]
    page_hits = page[: search.offset + search.limit]
    read = time.perf_counter()
    rows, _ = await rows_of(context, [] if search.bare else [each.id for each in page_hits[search.offset :]])
    hits: dict[search_results.Strategy, list[search_results.StrategyHit]] = {
        name: [
            search_results.StrategyHit(each.id, each.scores[name]) for each in ranked if name in each.scores
        ]
        for name in search_results.STRATEGIES
    }
    ran: dict[search_results.Strategy, bool] = {"exact": exact is not None, "text": bool(sought.spellings)}
    what = "a date" if sought.is_date else "an identifier"
    notes = [] if named else [f"meaning was not searched: the query is {what}"]
    if is_cut:
        notes.append(
            f"more than {most:,} entities may have it, or their values are large: only some of them were "
            "compared"
        )
    return search_results.Results(
        spellings=frozenset(word for spelling in sought.spellings for word in spelling.words),
        phrases=[" ".join(spelling.words) for spelling in sought.spellings[:1]],
        ran=[name for name in search_results.STRATEGIES if ran.get(name)],
        rows=rows,
        ranked=page_hits,
        hits=hits,
        counts={name: len(listed) for name, listed in hits.items()},
        total=len(ranked),
        has_more=len(page) > len(page_hits),
        ordering=ORDERING,
        compared=total,
        semantic="ready",
        is_cut=is_cut,
        named=named,
        fields={entity_id: each.field for entity_id, each in matches.items()},
        notes=notes,
        milliseconds={
            "database": round((read - start) * 1000, 2),
            "rows": round((time.perf_counter() - read) * 1000, 2),
        },
    )


async def _matches(
    context: Context, sought: Sought, proposed: Sequence[Proposed]
) -> tuple[dict[str, _Match], bool]:
    """Return the values that have an identifier, by the ids of their entities, and whether all were read."""
    compare = partial(_compared, sought, proposed)
    is_large = len(proposed) > COMPARED_IN_LOOP
    matches, waiting = await asyncio.to_thread(compare) if is_large else compare()
    characters = 0
    while waiting and characters <= context.services.limits.compared_characters:
        part = waiting[:ROWS_PER_READ]
        rows, read = await rows_of(context, part)
        for row in rows:
            characters += sum(map(len, row.values))
            value = _value(sought, row.name, snapshot_of(row).items())
            if value is not None:
                matches[row.id] = value
        waiting = waiting[read:]
    return matches, not waiting


def _compared(sought: Sought, proposed: Iterable[Proposed]) -> tuple[dict[str, _Match], list[str]]:
    """Return the values that have an identifier, by the ids of their entities, and which are to be read."""
    matches: dict[str, _Match] = {}
    waiting: list[str] = []
    for each in proposed:
        values = each.values_for(sought)
        if values is None:
            waiting.append(each.id)
        elif (value := _value(sought, each.name, values)) is not None:
            matches[each.id] = value
    return matches, waiting


def _value(sought: Sought, name: str, values: Iterable[tuple[str, str]]) -> _Match | None:
    """Return the value that has the identifier: rather all of a value, and a field before the name."""
    matches = (
        _Match(extent, field)
        for field, text in values
        for string in words.strings_of(text)
        if (extent := sought.extent_in(string)) is not None
    )
    best = max(matches, key=lambda each: (each.extent.value, is_identifying(each.field)), default=None)
    of_name = sought.extent_in(name)
    if of_name is not None and (best is None or of_name.value > best.extent.value):
        best = _Match(of_name, CANONICAL_NAME)
    return best


def is_identifying(field: str | None) -> bool:
    """Return whether the name of a field says that it is a number or a code."""
    return _IDENTIFYING.search(field or "") is not None


def _ranked(named: Iterable[Named], texts: dict[str, float]) -> list[search_results.Ranked]:
    ranked: dict[str, search_results.Ranked] = {}
    for each in named:
        points = each.points + IDENTIFYING_STEP * is_identifying(each.field)
        scores: dict[search_results.Strategy, float] = {"exact": float(each.kind)}
        if each.id in texts:
            scores["text"] = texts[each.id]
        points = round(points, 9)
        ranked.setdefault(each.id, search_results.Ranked(each.id, points, scores, parts={"exact": points}))
    for entity_id, score in texts.items():
        points = round(score / (1 + score), 9)
        ranked.setdefault(
            entity_id, search_results.Ranked(entity_id, points, {"text": score}, parts={"text": points})
        )
    return sorted(ranked.values(), key=lambda each: (-each.points, each.id))
