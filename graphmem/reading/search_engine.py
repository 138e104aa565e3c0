"""The search engine: exact names, words and meaning, in one order.

A copy of the owner's entities in memory is compared as a whole (:mod:`graphmem.reading.search_by_copy`).
While it is being read, and for an owner whose entities do not fit into the memory, the indexes of the
database answer (:mod:`graphmem.reading.search_by_index`), and the answer says so.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from graphmem.matching import mentions
from graphmem.reading import naming
from graphmem.reading.naming import Named
from graphmem.reading.search_by_copy import by_copy
from graphmem.reading.search_by_index import by_index
from graphmem.reading.search_results import BY_INDEX, Results, Search
from graphmem.registry import Context
from graphmem.text import identifiers

NOT_EXACT: Final = (
    "the index answered, and may miss some: the entities of this owner are being read into memory, or there "
    "are more than fit (GRAPHMEM_SEARCH_MEMORY)"
)


async def search(context: Context, search: Search) -> Results:
    """Search an owner's live entities.

    Raises:
        Stale: relationships of what the query names are to be folded again.
        Unavailable: the database failed.
    """
    services = context.services
    search = dataclasses.replace(search, types=sorted(set(search.types)))
    region = services.settings.phone_region
    whole = set() if search.looks_up else identifiers.candidates(search.query, region)
    if identifiers.is_identifier(search.query):
        # Nothing rather than something similar: all words of an address, in a row. The index compares them
        # so.
        results = await by_index(context, search, whole)
        named = [Named(hit.id, int(hit.score), search.query.strip()) for hit in results.hits["exact"]]
        return dataclasses.replace(results, named=named)
    question = mentions.read(search.query, region)
    copy, exact = await services.search_copies.follow(
        context.graph.owner,
        services.embedder.model,
        {
            "pairs": [list(pair) for pair in sorted(whole | question.pairs)],
            "kinds": list(identifiers.KINDS),
            "types": search.types,
            "list_limit": services.limits.search_list,
        },
        services.limits.copy_wait_seconds,
    )
    named = naming.by_names(question, search.query, exact)
    if copy is None or (search.after is not None and search.after.at == BY_INDEX):
        pairs = {pair for each in named for pair in each.pairs}
        results = await by_index(context, search, pairs)
        return dataclasses.replace(results, named=named, is_exact=False, notes=[*results.notes, NOT_EXACT])
    named += await naming.by_parts(copy, question, named, search.types)
    named = [*await naming.by_relationships(context, question, named, search.types), *named]
    if search.looks_up and not named and question.address is not None:
        # An address that nobody has is not answered by what else the question says.
        return await by_index(context, dataclasses.replace(search, query=question.address), set())
    return await by_copy(context, search, copy, named)
