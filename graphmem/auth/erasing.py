"""Deleting an account with the data of its owner.

The account is disabled first, and goes last. Until then its name leads to the owner, so that a command that
was interrupted can be run again. The owner's node is closed before anything is erased: a turn of a writer
finds no revision in it, and writes nothing. The node goes after all other nodes of the owner. The objects of
the owner's files go after the node: nothing refers to them any more. When node and account are gone, a write
that was under way finds neither, and is refused (``owner/create.cypher``).
"""

from __future__ import annotations

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
from graphmem.settings import DEFAULT_OWNER

BATCH: Final = 2_000
"""Nodes or edges that one statement erases; fewer if the database cannot hold them."""
RETRY_SECONDS: Final = 60.0
"""Seconds for which a statement is tried again while the database fails."""
Progress = Callable[[int], None]
"""Called with the observations, transactions, relationships and entities erased since the last call."""
_Step = Callable[[int], Awaitable[bool]]
"""Runs one statement that erases at most so many nodes or edges; returns whether there may be more."""


class Totals(NamedTuple):
    """The row of ``owner/totals.cypher``: how much an owner has stored."""

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
    """Return how much an owner has stored."""
    row = await database.reads(owner).one("owner.totals", Totals)
    return row or Totals(0, 0, 0, 0, [])


async def delete_with_data(
    database: Database,
    name: str,
    progress: Progress | None = None,
    objects: ObjectStore | None = None,
    keys: InstanceKeys | None = None,
) -> Erased:
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
    if account.owner == DEFAULT_OWNER:
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
    database: Database,
    owner: str,
    progress: Progress | None = None,
    objects: ObjectStore | None = None,
    keys: InstanceKeys | None = None,
) -> Erased:
    """Erase all data of an owner who is closed: nothing is written for the owner any more.

    Another erasure or check of the owner ends first.

    Raises:
        Unavailable: the database or the object store failed; run it again.
    """
    erasure = _Erasure(database, owner, progress or (lambda done: None))
    async with single_flight(database, owner, waits=True):
        await erasure.run()
    if objects is not None:
        erasure.erased.files = await objects.erase(owner)
    if keys is not None:
        # What remains of the owner in backups, and in blocks of the disk, cannot be read from now on.
        erasure.erased.sealing_keys = len(await asyncio.to_thread(keys.destroy, owner))
    return erasure.erased


class _Erasure:
    """Erases the data of one owner, in statements that each erase little."""

    def __init__(self, database: Database, owner: str, progress: Progress) -> None:
        self._database, self._owner, self._progress = database, owner, progress
        self._writes = database.writes(owner)
        self._types: list[str] = []
        self.erased = Erased()

    async def run(self) -> None:
        """Erase everything of the owner, the owner's node last."""
        self._types = (await totals_of(self._database, self._owner)).relationship_types
        for step in (self._transactions, self._relationships, self._entities, self._names):
            limit = BATCH
            while limit:
                limit = await self._tried(step, limit)
        await self._tried(self._owner_node, 1)

    async def _tried(self, step: _Step, limit: int) -> int:
        """Run a step; return the limit of the next one, 0 if nothing was left.

        A statement that was too much for the database is run with a smaller limit. Each one can be run twice.
        """
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

    async def _transactions(self, limit: int) -> bool:
        transactions, observations = await self._writes.only(
            "owner.erase_transactions", tuple[int, int], limit=limit
        )
        self.erased.transactions += transactions
        self.erased.observations += observations
        self._progress(transactions + observations)
        return bool(transactions or observations)

    async def _relationships(self, limit: int) -> bool:
        relationships = await self._writes.only("owner.erase_relationships", int, limit=limit)
        self.erased.relationships += relationships
        self._progress(relationships)
        return bool(relationships)

    async def _entities(self, limit: int) -> bool:
        # A crowded entity has too many edges for one statement.
        entities, crowded = await self._writes.only(
            "owner.erase_entities", tuple[int, str | None], relationship_types=self._types, limit=limit
        )
        self.erased.entities += entities
        self._progress(entities)
        if crowded is not None:
            await self._thin(crowded, limit)
        return bool(entities) or crowded is not None

    async def _thin(self, entity_id: str, limit: int) -> None:
        """Erase the edges of an entity, until it has too few for this to find any."""
        erased = 1
        while erased:
            erased = await self._writes.only(
                "owner.thin", int, entity_id=entity_id, relationship_types=self._types, limit=limit
            )

    async def _names(self, limit: int) -> bool:
        return bool(await self._writes.only("owner.erase_names", int, limit=limit))

    async def _owner_node(self, limit: int) -> bool:
        await self._writes.rows("owner.erase")
        return False
