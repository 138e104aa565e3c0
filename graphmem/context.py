"""What operations work with: the caller, the caller's graph, and the services of the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from graphmem.auth import Actor
from graphmem.auth.agent_grants import AgentGrants
from graphmem.auth.credentials import CredentialCache, Guard
from graphmem.database.availability import Availability
from graphmem.database.driver import Database
from graphmem.database.left_out import refuse_unopened
from graphmem.database.owner_cache import PendingRefolds, TypeAliases
from graphmem.database.queries import Queries
from graphmem.database.relationship_vocabulary import Vocabulary
from graphmem.database.typed_rows import typed
from graphmem.embedding.meaning import Embedder
from graphmem.model import times
from graphmem.objects import ObjectStore
from graphmem.receipts.recording import Receipts
from graphmem.sealing import InstanceKeys
from graphmem.settings import LIMITS, Limits, Settings
from graphmem.writing import Writers

if TYPE_CHECKING:
    # These import libraries that take longer to load than all else that `graphmem --help` needs.
    from graphmem.observability.metrics import Metrics
    from graphmem.observability.tracing import Tracer

W = TypeVar("W")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Services:
    """The services that all operations of one process share. ``from_above``: the services of rooms that
    import this one, by class; :meth:`of` returns them."""

    database: Database
    availability: Availability
    vocabulary: Vocabulary
    type_aliases: TypeAliases
    pending_refolds: PendingRefolds
    writers: Writers
    settings: Settings
    embedder: Embedder
    guard: Guard
    credentials: CredentialCache
    objects: ObjectStore
    agent_grants: AgentGrants
    receipts: Receipts
    from_above: Mapping[type[Any], Any]
    keys: InstanceKeys | None = None  # None: the instance is not sealed
    read_as_of: dict[str, int] = field(default_factory=dict[str, int])
    """By owner whose copy only reads here: when its source answered this process last (microseconds)."""
    limits: Limits = LIMITS

    def of(self, service: type[S]) -> S:
        """Return the service of a class that this room does not know."""
        return self.from_above[service]

    def age(self, owner: str) -> dict[str, Any]:
        """Return how old the data of an owner is whose copy only reads here; empty for other owners."""
        if (at := self.read_as_of.get(owner)) is None:
            return {}
        return {"behind_seconds": max(0, times.now() - at) // times.SECOND, "as_of": times.render(at)}

    @property
    def metrics(self) -> Metrics:
        return self.database.metrics

    @property
    def tracer(self) -> Tracer:
        """What makes the spans of this process."""
        return self.database.tracer


@dataclass(frozen=True, slots=True)
class Context:
    """What one call of an operation works with: the caller, the caller's graph, and the services."""

    actor: Actor
    services: Services
    by_writer: bool = False
    """Whether reads as of a time of recording mean the clocks of the writers, not when this copy learned."""

    @property
    def graph(self) -> Queries:
        return Queries(self.services.database.read, self.actor.owner, by_writer=self.by_writer)

    @property
    def of_writers(self) -> Context:
        """The same for reads as of a transaction, which come in the order of their writers' clocks."""
        return replace(self, by_writer=True)

    async def walk(
        self, name: LiteralString, row: type[W], /, *, edge_types: frozenset[str] | None = None, **params: Any
    ) -> W | None:
        """Run a read that follows edges of ``edge_types``, or of every type of the vocabulary.

        Such a read answers the ``revision`` of the vocabulary. If this process knows an older revision, the
        read runs again, so that it follows types that another process has just registered.
        """
        vocabulary = self.services.vocabulary
        if edge_types is not None:
            # Names of the owner's own types are no part of a query's text.
            native = vocabulary.names(edge_types)
            rows = await self.graph.rows(name, edge_types=native, types=sorted(edge_types), **params)
        else:
            known = await vocabulary.current()
            rows = await self.graph.rows(name, edge_types=known.names, types=None, **params)
            if rows and rows[0]["revision"] != known.revision:
                names = (await vocabulary.refresh()).names
                rows = await self.graph.rows(name, edge_types=names, types=None, **params)
        return refuse_unopened(typed(row, rows[0])) if rows else None
