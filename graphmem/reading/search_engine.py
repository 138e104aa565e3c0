"""The search engine: exact names, words and meaning, in one order.

A copy of the owner's entities in memory is compared as a whole (:mod:`graphmem.reading.search_by_copy`).
While it is being read, and for an owner whose entities do not fit into the memory, the indexes of the
database answer (:mod:`graphmem.reading.search_by_index`), and the answer says so.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from graphmem.reading.search_by_copy import by_copy
from graphmem.reading.search_by_index import by_index
from graphmem.reading.search_results import Results, Search
from graphmem.registry import Context
from graphmem.text import identifiers

NOT_EXACT: Final = (
    "the index answered, and may miss some: the entities of this owner are being read into memory, or there "
    "are more than fit (GRAPHMEM_SEARCH_MEMORY)"
)


async def search(context: Context, search: Search) -> Results:
    """Search an owner's live entities.

    Raises:
        Unavailable: the database failed.
    """
    services = context.services
    search = dataclasses.replace(search, types=sorted(set(search.types)))
    if identifiers.is_identifier(search.query):
        # Nothing rather than something similar: all words of an address, in a row. The index compares them
        # so.
        return await by_index(context, search)
    pairs = (
        []
        if search.looks_up
        else sorted(identifiers.candidates(search.query, services.settings.phone_region))
    )
    copy, exact = await services.search_copies.follow(
        context.graph.owner,
        services.embedder.model,
        {
            "pairs": [list(pair) for pair in pairs],
            "kinds": list(identifiers.KINDS),
            "types": search.types,
            "list_limit": services.limits.search_list,
        },
        services.limits.copy_wait_seconds,
    )
    if copy is not None:
        return await by_copy(context, search, copy, exact)
    results = await by_index(context, search)
    return dataclasses.replace(results, is_exact=False, notes=[*results.notes, NOT_EXACT])
