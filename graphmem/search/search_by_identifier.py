"""Search for an identifier, or for a date: the entities that have it, and nothing similar.

The copy in memory has the entities whose text has its words, and one statement reads the values of those
that may have it. The words do not tell ``ada@example.org`` from ``ada.example.org``: the values are compared
here (:mod:`graphmem.search.written_identifiers`), and so are texts, which count if they have the words in a
row. A second statement reads the rows of a page.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from graphmem.context import Context
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.reduction import paired
from graphmem.reading.scan import ROWS_PER_READ, rows_of
from graphmem.reading.shared_rows import snapshot_of
from graphmem.search.entity_copy import SearchCopy
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
from graphmem.search.written_identifiers import Extent, Sought, Spelling
from graphmem.text import words

SEALED_AT_ONCE: Final = 500
"""Entities that one statement reads of a sealed instance, which answers the texts of all of them."""


class Proposed(NamedTuple):
    """An entity whose text has the words in a row; ``values`` are null if they are long."""

    id: str
    score: float
    name: str
    values: list[tuple[str, str]] | None


class ProposedEntities(NamedTuple):
    """The entities that may have an identifier.

    ``is_cut``: more than ``Limits.search_identified`` have its words in any order, and so many were read.
    ``total`` counts the entities that were compared in memory.
    """

    proposed: list[Proposed]
    is_cut: bool
    total: int


class _Text(NamedTuple):
    """The row of ``search/identified.cypher``: an entity, and its text of words.

    Of an instance that is not sealed ``text`` is the name in it, and ``length`` that of the text.
    """

    id: str
    text: str
    length: int | None
    name: str
    fields: list[str] | None
    values: list[str] | None


async def proposed(
    context: Context, search: Search, sought: Sought, copy: OwnerCopy, characters: int
) -> ProposedEntities:
    """Return the entities whose text has the words of an identifier in a row.

    Args:
        characters: of the values that are read of an entity; ``None`` stands for more.

    Raises:
        ServiceBusy: the copy is large, and no place becomes free to compare it.
    """
    services = context.services
    ids, total = await copy.compare(
        partial(_having, sought=sought, search=search), services.database.heavy, context.actor.owner
    )
    most = services.limits.search_identified
    compared = ids[:most] if search.among is None else ids
    read, step = list[_Text](), SEALED_AT_ONCE if services.database.is_sealed else most
    for start in range(0, len(compared), step):
        read += await context.graph.only(
            "search.identified", list[_Text], entity_ids=compared[start : start + step],
            patterns=sought.patterns, characters=characters,
        )  # fmt: skip
    texts = [_proposed(each, sought, characters) for each in read]
    return ProposedEntities([each for each in texts if each], len(compared) < len(ids), total)


def _having(copy: SearchCopy, *, sought: Sought, search: Search) -> tuple[list[str], int]:
    """Return the ids of the documents that have all words of a spelling, and how many were compared."""
    among = copy.of_types(search.types)
    total = int(among.sum())
    if search.among is not None:
        among = among & copy.of_ids(search.among)
    having = np.zeros(len(copy.ids), np.bool_)
    for spelling in sought.spellings:
        having |= _with_words(copy, spelling)
    return sorted(copy.ids[number] for number in np.flatnonzero(having & among)), total


def _with_words(copy: SearchCopy, spelling: Spelling) -> npt.NDArray[np.bool_]:
    *groups, last = [[word] for word in spelling.words]
    if spelling.goes_on:
        last += copy.terms.beginning_with(last[0] + spelling.goes_on)
    having = np.ones(len(copy.ids), np.bool_)
    for posting in copy.postings([*groups, last]):
        having &= copy.of_numbers(posting.documents)
    return having


def _proposed(read: _Text, sought: Sought, characters: int) -> Proposed | None:
    """Return an entity whose text has the words of a spelling in a row, else ``None``.

    Raises:
        Torn: a commit fell between its fields and their values.
    """
    text = f" {read.text} "
    if read.length is None and not any(pattern in text for pattern in sought.patterns):
        return None
    name = text.partition("|")[0]
    in_name = any(pattern in name for pattern in sought.patterns)
    length = len(text) if read.length is None else read.length + 2
    values = None
    if read.fields is not None and read.values is not None:
        values = [
            (field, value)
            for field, value in paired(read.id, read.fields, read.values)
            if not value.isascii() or any(needle in value.lower() for needle in sought.needles)
        ]
        if sum(len(value) for _, value in values) > characters:
            values = None
    return Proposed(read.id, round(in_name + 2.2 / (1.3 + 0.003 * length), 6), read.name, values)


VALUE_CHARACTERS: Final = 2_000
"""Characters of an entity's values that are read together with all others; more are read by themselves."""
COMPARED_IN_LOOP: Final = 100
"""Entities that are compared in the event loop, in some milliseconds; more are compared in a thread."""
IDENTIFYING_STEP: Final = 0.1
"""The points by which a field for identifiers is ahead of others."""
_IDENTIFYING = re.compile(
    r"(?:^|_)(?:id|ids|no|nr|number|code|key|ref|reference|sku|iban|isbn|ean|gtin|serial|vin|doi|uuid|guid|plate)$"
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
    texts = await proposed(context, search, sought, copy, VALUE_CHARACTERS)
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
