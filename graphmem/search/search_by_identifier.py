"""Search for an identifier, or for a date: the entities that have it, and nothing similar.

The copy in memory has the entities whose text has its words, and one statement reads the values of those
that may have it (:mod:`graphmem.search.texts_with_identifiers`). The words do not tell ``ada@example.org``
from ``ada.example.org``: the values are compared here (:mod:`graphmem.search.written_identifiers`). A second
statement reads the rows of a page.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from graphmem.context import Context
from graphmem.model.identity import CANONICAL_NAME
from graphmem.reading.scan import ROWS_PER_READ, rows_of
from graphmem.reading.shared_rows import snapshot_of
from graphmem.search import texts_with_identifiers
from graphmem.search.owner_copy import OwnerCopy
from graphmem.search.questions.naming import EXACT_WEIGHT, FIELD, FIELD_WEIGHT, KIND_STEP, Named, kind_of
from graphmem.search.search_results import (
    STRATEGIES,
    Ordering,
    Ranked,
    Results,
    Search,
    Strategy,
    StrategyHit,
)
from graphmem.search.texts_with_identifiers import Proposed
from graphmem.search.written_identifiers import Extent, Sought
from graphmem.text import words

VALUE_CHARACTERS: Final = 2_000
"""Characters of an entity's values that are read together with all others; more are read by themselves."""
COMPARED_IN_LOOP: Final = 100
"""Entities that are compared in the event loop, in some milliseconds; more are compared in a thread."""
IDENTIFYING_STEP: Final = 0.1
"""The points by which a field for identifiers is ahead of others."""
_IDENTIFYING = re.compile(
    r"(?:^|_)(?:id|ids|no|nr|number|code|key|ref|reference|sku|iban|isbn|ean|gtin|serial|vin|doi|uuid|guid)$"
)
ORDERING: Final = Ordering(
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
    search: Search,
    copy: OwnerCopy,
    sought: Sought,
    exact: Sequence[StrategyHit] | None = None,
) -> Results:
    """Search an owner's live entities for one identifier or date, in an up-to-date copy of them.

    Args:
        exact: the entities that the identifier names; ``None`` if that was not looked for.
    """
    limits = context.services.limits
    start = time.perf_counter()
    texts = await texts_with_identifiers.proposed(context, search, sought, copy, VALUE_CHARACTERS)
    matches, is_whole = await _matches(context, sought, texts.proposed)
    is_cut = not is_whole or texts.is_cut
    text = search.query.strip()
    kinds = [(hit.id, *kind_of(hit.score)) for hit in exact or ()]
    named = [Named(entity_id, kind, text, is_former=is_former) for entity_id, kind, is_former in kinds]
    known = {each.id for each in named}
    if not sought.is_date:
        named += [
            Named(entity_id, FIELD, text, field=each.field)
            for entity_id, each in matches.items()
            if each.extent is Extent.WHOLE and entity_id not in known
        ]
    ranked = _ranked(named, {each.id: each.score for each in texts.proposed if each.id in matches})
    page = _hits_after(ranked, search.after) if search.after is not None else ranked
    page_hits = page[: search.offset + search.limit]
    read = time.perf_counter()
    rows, _ = await rows_of(context, [] if search.bare else [each.id for each in page_hits[search.offset :]])
    hits: dict[Strategy, list[StrategyHit]] = {
        name: [StrategyHit(each.id, each.scores[name]) for each in ranked if name in each.scores]
        for name in STRATEGIES
    }
    ran: dict[Strategy, bool] = {"exact": exact is not None, "text": bool(sought.spellings)}
    what = "a date" if sought.is_date else "an identifier"
    notes = [] if named else [f"meaning was not searched: the query is {what}"]
    if is_cut:
        notes.append(
            f"more than {limits.search_identified:,} entities may have it, or their values are large: only "
            "some of them were compared"
        )
    return Results(
        spellings=frozenset(word for spelling in sought.spellings for word in spelling.words),
        phrases=[" ".join(spelling.words) for spelling in sought.spellings[:1]],
        ran=[name for name in STRATEGIES if ran.get(name)],
        rows=rows,
        ranked=page_hits,
        hits=hits,
        counts={name: len(listed) for name, listed in hits.items()},
        total=len(ranked),
        has_more=len(page) > len(page_hits),
        ordering=ORDERING,
        compared=texts.total,
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


def _hits_after(ranked: list[Ranked], after: Ranked) -> list[Ranked]:
    """Return the hits behind a place."""
    place = next((place for place, each in enumerate(ranked) if each.id == after.id), None)
    if place is not None:
        return ranked[place + 1 :]
    return [each for each in ranked if (-each.points, each.id) > (-after.points, after.id)]


async def _matches(
    context: Context, sought: Sought, proposed: Iterable[Proposed]
) -> tuple[dict[str, _Match], bool]:
    """Return the values that have an identifier, by the ids of their entities, and whether all were read."""
    listed = list(proposed)
    short = [each for each in listed if each.values is not None]
    # Many are compared beside the event loop.
    matches = (
        await asyncio.to_thread(_compared, sought, short)
        if len(short) > COMPARED_IN_LOOP
        else _compared(sought, short)
    )
    waiting, characters = [each.id for each in listed if each.values is None], 0
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


def _compared(sought: Sought, proposed: Iterable[Proposed]) -> dict[str, _Match]:
    """Return the values that have an identifier, by the ids of their entities."""
    values = {each.id: _value(sought, each.name, each.values or ()) for each in proposed}
    return {entity_id: value for entity_id, value in values.items() if value is not None}


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


def _ranked(named: Iterable[Named], texts: dict[str, float]) -> list[Ranked]:
    ranked: dict[str, Ranked] = {}
    for each in named:
        points = each.points + IDENTIFYING_STEP * is_identifying(each.field)
        scores: dict[Strategy, float] = {"exact": float(each.kind)}
        if each.id in texts:
            scores["text"] = texts[each.id]
        points = round(points, 9)
        ranked.setdefault(each.id, Ranked(each.id, points, scores, parts={"exact": points}))
    for entity_id, score in texts.items():
        points = round(score / (1 + score), 9)
        ranked.setdefault(entity_id, Ranked(entity_id, points, {"text": score}, parts={"text": points}))
    return sorted(ranked.values(), key=lambda each: (-each.points, each.id))
