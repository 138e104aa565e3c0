"""The entities whose text has the words of an identifier.

The copy in memory says which ones have all of the words; one statement reads their texts and values, of which
those count that have the words in a row.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from graphmem.context import Context
from graphmem.model.reduction import paired
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import OwnerCopy
from graphmem.search.search_results import Search
from graphmem.search.written_identifiers import Sought, Spelling

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
