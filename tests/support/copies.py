"""Copies in tests: the graphs of one owner, of which one database holds one at a time, and their pages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, LiteralString

from graphmem.context import Services
from graphmem.dump import pages, uniting
from graphmem.dump.pages import Page
from graphmem.dump.restoring import RestoreResult
from graphmem.model.fact_records import TransactionRecord
from graphmem.writing.state import LockedOwner
from tests.support.dumps import Dumps, wipe
from tests.support.event_loop import Loop

GRAPH: LiteralString = (
    "CALL () { MATCH (n) WHERE n.owner = $owner OR n:Owner AND n.id = $owner RETURN n UNION "
    "MATCH (thing:Entity|Relationship)-[:HAS_HISTORY]->(n) WHERE thing.owner = $owner RETURN n } "
    "RETURN collect([elementId(n), labels(n), properties(n), "
    "COLLECT { MATCH (n)-[edge]->(m) RETURN [elementId(m), type(edge), properties(edge)] }]) AS nodes"
)
MAKE_NODES: LiteralString = (
    "UNWIND $nodes AS node CREATE (n:$(node[1])) SET n = node[2] RETURN node[0] AS former, elementId(n) AS id"
)
MAKE_EDGES: LiteralString = (
    "UNWIND $edges AS row MATCH (n) WHERE elementId(n) = row[0] MATCH (m) WHERE elementId(m) = row[1] "
    "CREATE (n)-[edge:$(row[2])]->(m) SET edge = row[3]"
)

OWN_TO_A_COPY = frozenset(
    {"version", "sequence", "updated_at", "revision", "cursor", "learned_at", "last_updated"}
)
"""Members of answers that count what a copy did, in the order in which it did it."""


@dataclass
class Copy:
    """A copy that is in no database: its graph, and whose pages it took."""

    name: str
    nodes: list[Any] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)


@dataclass
class Copies:
    loop: Loop
    services: Services
    owner: str
    open: Copy | None = None

    def put(self, copy: Copy) -> None:
        """Have the database hold this copy, and no other."""
        if self.open is copy:
            return
        if self.open is not None:
            self.open.nodes = self._script(GRAPH, owner=self.owner)[0]["nodes"]
        wipe(self.loop, self.services, self.owner)
        made = {row["former"]: row["id"] for row in self._script(MAKE_NODES, nodes=copy.nodes)}
        edges = [[made[n], made[m], *edge] for n, *_, every in copy.nodes for m, *edge in every]
        self._script(MAKE_EDGES, edges=edges)
        self.open = copy

    def _script(self, text: LiteralString, **params: Any) -> list[Any]:
        return self.loop.run(self.services.database.script(text, **params))

    def all_pages(self, after: int = 0, without: str = "", limit: int = 500) -> list[Page]:
        """Return what the database has after a place, in its order."""
        made: list[Page] = []
        locked = self.loop.run(self.services.database.writes(self.owner).one("owner.lock", LockedOwner))
        until = locked.sequence if locked else 0
        while after < until:
            page = self.loop.run(
                pages.read_page(self.services.database, self.owner, after, until, without, limit)
            )
            made.append(page)
            after = page.last
        return made

    def unite(self, page: Page, by_copy: str = "other", *, joins: bool = False) -> RestoreResult:
        services = self.services
        read = pages.read(self.owner, page.data, page.sha256)
        return self.loop.run(
            uniting.unite(
                services.database,
                services.vocabulary,
                services.writers,
                services.objects,
                self.owner,
                read,
                by_copy,
                joins=joins,
            )
        )


def without_own(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_own(each) for name, each in value.items() if name not in OWN_TO_A_COPY}
    return [without_own(each) for each in value] if isinstance(value, list) else value


def facts_hash(dumps: Dumps) -> str:
    """Return a hash that all copies with the same facts share, whenever each learned of them."""
    lines = hashlib.sha256()
    for record in dumps.records(dumps.create()):
        own = {"learned_at": None} if isinstance(record, TransactionRecord) else {}
        lines.update(record.model_copy(update=own).line())
    return lines.hexdigest()
