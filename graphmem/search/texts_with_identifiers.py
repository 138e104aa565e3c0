"""The entities whose text has the words of an identifier, of a copy in memory.

A sealed instance reads them here: its database has no index of words. Every other one reads the same rows
with ``search/identifier.cypher``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from graphmem.context import Context
from graphmem.model.reduction import paired
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import OwnerState
from graphmem.search.search_copies import SearchCopies
from graphmem.search.search_results import Search, StrategyHit
from graphmem.search.written_identifiers import Sought, Spelling

READ_AT_ONCE: Final = 500
"""Entities that one statement reads."""


class Proposed(NamedTuple):
    """An entity whose text has the words in a row; ``values`` are null if they are long."""

    id: str
    score: float
    name: str
    values: list[tuple[str, str]] | None


class IdentifierRows(NamedTuple):
    exact: list[StrategyHit]
    proposed: int
    text: list[Proposed]
    total: int
    state: OwnerState | None


class _Text(NamedTuple):
    """The row of ``search/identified.cypher``: an entity, and its text of words."""

    id: str
    text: str
    name: str
    fields: list[str] | None
    values: list[str] | None


async def rows_of_copy(
    context: Context, search: Search, sought: Sought, exact: Mapping[str, Any], characters: int
) -> IdentifierRows:
    """Return the entities that an identifier names, and those whose text has its words in a row.

    Args:
        exact: the parameters of what identifiers name, as ``search.identifier`` takes them.
        characters: of the values that are read of an entity; ``None`` stands for more.

    Raises:
        SearchMemoryExceeded, ServiceBusy: the owner's entities are not in memory.
    """
    services, limit = context.services, exact["list_limit"]
    copy, rows = await services.of(SearchCopies).follow(
        context.graph.owner, services.embedder.model, dict(exact), services.limits
    )
    assert copy is not None, "a sealed instance has a copy, or refuses the search"
    ids, total = await copy.look(partial(_having, sought=sought, search=search))
    read = []
    for start in range(0, min(limit, len(ids)), READ_AT_ONCE):
        part = ids[start : min(limit, start + READ_AT_ONCE)]
        read += await context.graph.only(
            "search.identified", list[_Text], entity_ids=part, characters=characters
        )
    texts = [_proposed(each, sought, characters) for each in read]
    hits = [
        StrategyHit(each.id, each.strength)
        for each in rows.exact
        if search.among is None or each.id in search.among
    ]
    return IdentifierRows(hits, len(ids), [each for each in texts if each], total, rows.state)


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
        beginning = last[0] + spelling.goes_on
        last += copy.terms.beginning_with(beginning)
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
    if not any(pattern in text for pattern in sought.patterns):
        return None
    name = text.partition("|")[0]
    in_name = any(pattern in name for pattern in sought.patterns)
    values = None
    if read.fields is not None and read.values is not None:
        values = [
            (field, value)
            for field, value in paired(read.id, read.fields, read.values)
            if not value.isascii() or any(needle in value.lower() for needle in sought.needles)
        ]
        if sum(len(value) for _, value in values) > characters:
            values = None
    return Proposed(read.id, round(in_name + 2.2 / (1.3 + 0.003 * len(text)), 6), read.name, values)
