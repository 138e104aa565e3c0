"""Deleting an account with the data of its owner.

The account is disabled first, and goes last. Until then its name leads to the owner, so that a command that
was interrupted can be run again. The owner's node is closed before anything is erased: a turn of a writer
finds no revision in it, and writes nothing. The node goes after all other nodes of the owner. The objects of
the owner's files go after the node: nothing refers to them any more. When node and account are gone, a write
that was under way finds neither, and is refused (``owner/create.cypher``).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from graphmem.auth.accounts import Accounts
from graphmem.auth.credentials import REMEMBERED_SECONDS
from graphmem.database.driver import Database
from graphmem.database.jobs import single_flight
from graphmem.errors import AccountConflict, DatabaseFull, DatabaseTimeout, Unavailable
from graphmem.model import times
from graphmem.objects import ObjectStore
from graphmem.sealing import InstanceKeys
from graphmem.settings import LOCAL_ACCOUNT

BATCH: Final = 2_000  # nodes or edges that one statement erases; fewer if the database cannot hold them
RETRY_SECONDS: Final = 60.0  # seconds for which a statement is tried again while the database fails
Progress = Callable[[int], None]
"""Called with the observations, transactions, relationships and entities erased since the last call."""


class Totals(NamedTuple):
    """How much an owner has stored."""

    entities: int
    observations: int
    relationships: int
    transactions: int
    relationship_types: list[str]

    @property
    def shown(self) -> dict[str, int]:
        """The numbers with their names, as people read them."""
        names = "entities", "observations", "relationships", "transactions"
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Erased:
    """What was erased, as far as this run erased it."""

    keys: int = 0
    grants: int = 0
    entities: int = 0
    observations: int = 0
    relationships: int = 0
    transactions: int = 0
    files: int = 0
    sealing_keys: int = 0


async def totals_of(database: Database, owner: str) -> Totals:
    return await database.reads(owner).one("owner.totals", Totals) or Totals(0, 0, 0, 0, [])


async def delete_with_data(
    database: Database, name: str, progress: Progress = lambda _: None, objects: ObjectStore | None = None,
    keys: InstanceKeys | None = None,
) -> Erased:  # fmt: skip
    """Delete an account with its credentials and all data of its owner. It may be run again until it is done.

    Args:
        objects: where the bytes of the owner's files are.
        keys: those of a sealed instance: the owner's are destroyed.

    Raises:
        NotFound: there is no such account.
        AccountConflict: it is the local account.
        Unavailable: the database or the object store failed; run it again.
    """
    accounts = Accounts(database)
    account = await accounts.by_name(name)
    if account.id == LOCAL_ACCOUNT:
        raise AccountConflict(
            f"the data of the account {name} is never erased: it is that of this machine's user"
        )
    credentials = await accounts.close(name)
    await database.write("owner.close", account.owner, erased_at=times.now())
    if any(credentials):
        # Reads of a process that remembers a credential of the account would meet half of the data.
        await asyncio.sleep(REMEMBERED_SECONDS)
    erased = await erase_closed(database, account.owner, progress, objects, keys)
    await accounts.delete(name)
    erased.keys, erased.grants = credentials
    return erased


async def erase_closed(
    database: Database, owner: str, progress: Progress = lambda _: None, objects: ObjectStore | None = None,
    keys: InstanceKeys | None = None,
) -> Erased:  # fmt: skip
    """Erase all data of an owner who is closed: nothing is written for the owner any more. Another erasure or
    check of the owner ends first. Raises Unavailable: something failed; run it again."""
    async with single_flight(database, owner, waits=True):
        erased = await erase_facts(database, owner, progress)
    if objects is not None:
        erased.files = await objects.erase(owner)
    if keys is not None:
        # What remains of the owner in backups, and in blocks of the disk, cannot be read from now on.
        erased.sealing_keys = len(await asyncio.to_thread(keys.destroy, owner))
    return erased


async def erase_facts(database: Database, owner: str, progress: Progress = lambda _: None) -> Erased:
    """Erase everything of an owner in statements that each erase little, the owner's node last."""
    writes, erased = database.writes(owner), Erased()
    types = (await totals_of(database, owner)).relationship_types

    def count(**counts: int) -> bool:
        for name, number in counts.items():
            setattr(erased, name, getattr(erased, name) + number)
        progress(sum(counts.values()))
        return any(counts.values())

    async def erase_transactions(limit: int) -> bool:
        transactions, observations = await writes.only(
            "owner.erase_transactions", tuple[int, int], limit=limit
        )
        return count(transactions=transactions, observations=observations)

    async def erase_relationships(limit: int) -> bool:
        return count(relationships=await writes.only("owner.erase_relationships", int, limit=limit))

    async def erase_entities(limit: int) -> bool:
        # A crowded entity has too many edges for one statement.
        entities, crowded = await writes.only(
            "owner.erase_entities", tuple[int, str | None], relationship_types=types, limit=limit
        )
        may_be_more = count(entities=entities) or crowded is not None
        edges = int(crowded is not None)
        while edges:
            edges = await writes.only(
                "owner.thin", int, entity_id=crowded, relationship_types=types, limit=limit
            )
        return may_be_more

    async def erase_names(limit: int) -> bool:
        return bool(await writes.only("owner.erase_names", int, limit=limit))

    async def erase_receipts(limit: int) -> bool:
        return bool(await writes.only("receipt.erase", int, limit=limit))

    for step in (erase_receipts, erase_transactions, erase_relationships, erase_entities, erase_names):
        limit = BATCH
        while limit:
            limit = await _tried(step, limit)
    await _tried(lambda _: writes.rows("owner.erase"), 1)
    return erased


async def _tried(step: Callable[[int], Awaitable[object]], limit: int) -> int:
    """Run a statement that erases so many nodes or edges; return the next limit, 0 if nothing was left. A
    statement that was too much for the database is run with a smaller limit. Each one can be run twice."""
    end = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return limit if await step(limit) else 0
        except Unavailable as exc:
            if time.monotonic() > end:
                raise
            if isinstance(exc, DatabaseFull | DatabaseTimeout):
                limit = max(1, limit // 4)
            await asyncio.sleep(0.2)
