"""The writers of one process: requests are handed in here and wait for a turn of their owner's writer."""

import asyncio
import contextvars
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from graphmem.database.driver import Database, round_trips
from graphmem.embedding.meaning import Embedder
from graphmem.errors import ServiceBusy
from graphmem.model import ids
from graphmem.model.identity import Alternatives
from graphmem.model.schema import SchemaDocument
from graphmem.settings import Settings
from graphmem.writing import forms
from graphmem.writing.refolding import RefoldRequest
from graphmem.writing.turn import TURN_LIMITS, Known, OwnerWriter, TurnLimits
from graphmem.writing.waiting_requests import Waiting
from graphmem.writing.write_requests import Receipt, WriteRequest

REFOLDED_LIMIT: Final = 200  # entities and relationships that one turn folds again


class Writers:
    """The writers of one process: one per owner that has something to write."""

    def __init__(
        self, database: Database, settings: Settings, embedder: Embedder, limits: TurnLimits = TURN_LIMITS
    ) -> None:
        self._database = database
        self.embedder = embedder
        self.settings = settings
        self.limits = limits
        self._writers: dict[str, OwnerWriter] = {}
        self.known = Known()

    def registered(self, owner: str, entity_type: str) -> SchemaDocument | None:
        """Return the registered schema of a type, as the last turn of this process with it read it."""
        return self.known.documents.get((owner, entity_type))

    def alternatives(self, owner: str, entity_type: str) -> Alternatives | None:
        document = self.registered(owner, entity_type)
        return document.alternatives() if document else None

    async def submit(self, request: WriteRequest) -> Receipt:
        """Have a request decided and written; return its answer once it is durable.

        Raises:
            IdempotencyMismatch, StoreRefused: it is refused; nothing of it was written.
            ServiceBusy: too many requests of this owner wait already.
            DiskFull: there is too little space where the database is.
            Unavailable: the database failed; ``details.in_doubt`` says whether it may have been written.
        """
        if request.writes_facts:
            self.settings.check_disk()
        writer = self._writers.get(request.owner)
        if writer is None:
            writer = OwnerWriter(
                self._database, request.owner, self.settings, self.embedder, self.known, self.limits
            )
            self._writers[request.owner] = writer
        is_full = writer.characters > self.limits.queue_characters
        if is_full or len(writer.waiting) >= self.settings.max_waiting:
            raise ServiceBusy(waiting=len(writer.waiting))
        loop = asyncio.get_running_loop()
        waiting = Waiting(
            request=request, answer=loop.create_future(),
            trace_id=structlog.contextvars.get_contextvars().get("trace_id", ""),
            round_trips=round_trips.get(None), deadline=loop.time() + self.settings.write_timeout,
            characters=request.characters, span=self._database.tracer.current_span(),
        )  # fmt: skip
        writer.add(waiting)
        if writer.task is None:
            # A context of its own: a turn belongs to all of its requests, not to the first of them.
            writer.task = asyncio.create_task(self._drain(writer), context=contextvars.Context())
        return await waiting.answer

    def waiting(self) -> int:
        return sum(len(writer.waiting) for writer in self._writers.values())

    async def refold(
        self, owner: str, entity_ids: Iterable[str], relationship_keys: Iterable[str] = ()
    ) -> None:
        """Fold again what is stale: the rules of its type have changed, or which observations count."""
        await self.submit(
            RefoldRequest(
                owner=owner, transaction_id=ids.transaction_id(), entity_ids=tuple(entity_ids),
                relationship_keys=tuple(relationship_keys),
            )
        )  # fmt: skip

    @property
    def rules_off(self) -> Mapping[str, frozenset[str]]:
        return self.settings.merge_rules_off_by_type

    async def refold_withdrawn(self, owner: str, limit: int) -> int:
        """Fold again some entities and relationships of which other observations count now; return how many.

        Before that, it is noted on each observation of a withdrawn or reinstated subject when it counts.
        ``limit``: how many at least, if so many wait.
        """
        done = 0
        while done < limit:
            entities, relationships, unstamped = await self._database.reads(owner).only(
                "exclusion.waiting", tuple[list[str], list[str], int], limit=min(REFOLDED_LIMIT, limit - done)
            )
            if unstamped:
                await self._database.write("exclusion.stamp", owner, limit=forms.STAMPED_LIMIT)
                continue
            if not entities and not relationships:
                await self._database.write("exclusion.settle", owner)
                break
            await self.refold(owner, entities, relationships)
            done += len(entities) + len(relationships)
        return done

    async def close(self) -> None:
        """Wait until all requests are written; after ``Settings.shutdown_seconds`` refuse the rest."""
        end = asyncio.get_running_loop().time() + self.settings.shutdown_seconds
        while tasks := [writer.task for writer in self._writers.values() if writer.task]:
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                for writer in self._writers.values():
                    writer.refuse_waiting()
            await asyncio.wait(tasks, timeout=max(left, 1.0))

    async def _drain(self, writer: OwnerWriter) -> None:
        try:
            while writer.waiting:
                await writer.turn()
        finally:
            writer.task = None
            self._writers.pop(writer.owner, None)
