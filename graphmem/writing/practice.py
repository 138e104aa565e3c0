"""Typical stores that are rolled back, so that Java has compiled what stores run before somebody waits.

The first hundred stores after a start of Neo4j cost several times the later ones.
"""

import asyncio
import time
from typing import Final

from graphmem.database.driver import NOBODY, Database
from graphmem.model import ids
from graphmem.model.items import ItemReader
from graphmem.writing.store_request import StoreRequest
from graphmem.writing.supposing import suppose_written

QUIET_SECONDS: Final = 60.0  # without a request, after which the stores begin, or go on
STORES: Final = 200
PAUSE_FACTOR: Final = 2.0  # between two stores, times the seconds of the last one


async def practise(database: Database, stores: int = STORES) -> None:
    """Store and look in transactions that are rolled back, while no request comes. Not in a sealed instance:
    the owner would have a data key there. It raises as a write does."""
    await asyncio.sleep(QUIET_SECONDS)
    for number in range(0 if database.is_sealed else stores):
        await database.planning.wait_until_quiet(QUIET_SECONDS)
        start = time.monotonic()
        await suppose_written(database, request(number), None)
        await asyncio.sleep(PAUSE_FACTOR * (time.monotonic() - start))


def request(number: int) -> StoreRequest:
    """Return a store of a person, a task and a company, as agents send them."""
    reader = ItemReader(NOBODY, ids.transaction_id())
    entities = [
        {
            "entity_type": "person",
            "name": f"Ada {number}",
            "email": f"ada{number}@example.org",
            "city": "London",
        },
        {"entity_type": "task", "title": f"Oil the engine {number}", "due_date": "2030-01-01"},
        {"entity_type": "company", "name": f"Analytical Engines {number}"},
    ]
    items = [item for index, each in enumerate(entities) if (item := reader.item(index, each))]
    return StoreRequest(
        owner=NOBODY, account="", transaction_id=reader.transaction_id, operation="store", agent="anonymous",
        client="graphmem", by="{}", items=items,
    )  # fmt: skip
