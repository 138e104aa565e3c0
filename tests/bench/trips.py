"""The third part of ``make bench``: what reads of the graph cost beyond HTTP and their statement.

Each read is compared with a sum: the same rows by one statement of the synchronous driver, and a request
without a database. All are measured in turns in one run, because machines are noisy. ``trips`` counts the
statements of a request. ``CPU`` is that of the process that asks (driver) or answers (REST), without Neo4j.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString, cast

import neo4j
import psutil
from rich.console import Console
from rich.table import Table

from graphmem import cypher, settings
from graphmem.model.relationship import BUILTIN
from graphmem.observability import logs
from graphmem.runtime import connection
from graphmem.settings import DEFAULT_OWNER
from tests.bench.run import PORT, Service, event, serving

ENTITIES = 60
DISTANCES = (1, 8, 22)
"""Each entity is related to those at these distances in a ring, so that each has six relationships."""
WARMING_ROUNDS = 25
ROUNDS = 25
CALLS = 20
"""Calls of each read in a round: enough for the clock of a process, which ticks every 10 ms."""

SERVER_INFO = "GET /server-info"
GOALS = {
    "snapshot": ("raw snapshot", 1.5),
    "related, depth 1": ("raw depth 1", 1.6),
    "related, depth 2": ("raw depth 2", 1.8),
    "neighbourhood": ("raw depth 1", 1.6),
    "relationships of an entity": ("raw depth 1", None),
    "list_relationships": ("raw depth 1", None),
}
"""For each read over REST, the statement of its sum, and how many times the sum it may take."""

_COLUMNS: LiteralString = """{.id, .type, .canonical_name, .version, .observation_count, .created_at,
  .last_observation_at, .fields, .values, .winners, .live, .check, .own, .projection}"""
_ORIGIN: LiteralString = """MATCH (origin:Entity {id: $args.entity_id})
USING INDEX SEEK origin:Entity(id)
WHERE origin.owner = $owner AND origin.live
"""
DEPTH_1: LiteralString = f"""{_ORIGIN}MATCH (origin)-[edge:RELATIONSHIP_TYPES]-(entity)
WHERE edge.live AND entity.owner = $owner AND entity.listed IS NOT NULL
MATCH (relationship:Relationship {{key: edge.key}})
USING INDEX SEEK relationship:Relationship(key)
RETURN collect(properties(relationship)) AS relationships, collect(DISTINCT entity {_COLUMNS}) AS entities"""
DEPTH_2: LiteralString = f"""{_ORIGIN}MATCH (origin)-[edge:RELATIONSHIP_TYPES]-(near)
WHERE edge.live AND near.owner = $owner AND near.listed IS NOT NULL
WITH origin, collect(DISTINCT near) AS first
CALL (first) {{
  UNWIND first AS near
  MATCH (near)-[edge:RELATIONSHIP_TYPES]-(entity)
  WHERE edge.live AND entity.owner = $owner AND entity.listed IS NOT NULL
  RETURN collect(DISTINCT entity) AS second
}}
CALL (origin, first, second) {{
  UNWIND first + second AS entity
  WITH DISTINCT origin, entity WHERE entity <> origin
  RETURN collect(entity {_COLUMNS}) AS entities
}}
RETURN entities"""


@dataclass
class Read:
    """A read under measure: how to call it by number, and the process whose CPU counts."""

    call: Callable[[int], Any]
    process: psutil.Process
    milliseconds: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0
    trips: int | None = None

    def measure(self, calls: int) -> None:
        """Call some times, and keep what each call took."""
        before = self.process.cpu_times()
        for i in range(calls):
            start = time.perf_counter()
            self.call(i)
            self.milliseconds.append((time.perf_counter() - start) * 1000)
        after = self.process.cpu_times()
        self.cpu_seconds += after.user + after.system - before.user - before.system

    @property
    def p50(self) -> float:
        """The median, in milliseconds."""
        return statistics.median(self.milliseconds)

    @property
    def cpu(self) -> float:
        """CPU of one call, in milliseconds."""
        return self.cpu_seconds * 1000 / len(self.milliseconds)


def ring(service: Service) -> list[str]:
    """Store entities that are related in a ring; return their ids."""
    items = [event(f"ring {i}") for i in range(ENTITIES)]
    stored = service("POST", "/store", {"entities": items, "find_duplicates": False})
    ids = [entity["entity_id"] for entity in stored["entities"]]
    related = [
        {
            "relationship_type": "REFERS_TO",
            "source_entity_id": source,
            "target_entity_id": ids[(i + distance) % ENTITIES],
        }
        for i, source in enumerate(ids)
        for distance in DISTANCES
    ]
    service("POST", "/create_relationships", {"relationships": related})
    return ids


def raw_reads(session: neo4j.Session, ids: list[str]) -> dict[str, Read]:
    """Return the statements, by the synchronous driver."""

    def statement(text: LiteralString, **args: Any) -> Callable[[int], Any]:
        def run(i: int) -> list[Any]:
            arguments = {**args, "entity_id": ids[i % ENTITIES]}
            return list(session.run(text, {"args": cypher.Parameters(arguments), "owner": DEFAULT_OWNER}))

        return run

    def with_types(text: LiteralString) -> LiteralString:
        return cast("LiteralString", text.replace("RELATIONSHIP_TYPES", "|".join(sorted(BUILTIN))))

    own = psutil.Process()
    return {
        "RETURN 1": Read(lambda _: list(session.run("RETURN 1")), own),
        "raw snapshot": Read(statement(cypher.query("entity.get").text, include_deleted=False), own),
        "raw depth 1": Read(statement(with_types(DEPTH_1)), own),
        "raw depth 2": Read(statement(with_types(DEPTH_2)), own),
    }


def rest_reads(service: Service, process: psutil.Process, ids: list[str]) -> dict[str, Read]:
    """Return the requests over REST."""

    def post(path: str, **body: Any) -> Read:
        name = "node_id" if path == "/retrieve_graph_neighborhood" else "entity_id"
        return Read(lambda i: service("POST", path, {name: ids[i % ENTITIES], **body}), process)

    return {
        SERVER_INFO: Read(lambda _: service("GET", "/server-info"), process),
        "snapshot": post("/get_entity_snapshot"),
        "related, depth 1": post("/retrieve_related_entities"),
        "related, depth 2": post("/retrieve_related_entities", depth=2),
        "neighbourhood": post("/retrieve_graph_neighborhood"),
        "relationships of an entity": Read(
            lambda i: service("GET", f"/entities/{ids[i % ENTITIES]}/relationships"), process
        ),
        "list_relationships": post("/list_relationships"),
    }


def last_round_trips(log: Path) -> int:
    """Return the round trips of the last operation in a service's log."""
    lines = (json.loads(line) for line in reversed(log.read_text().splitlines()))
    return next(line["round_trips"] for line in lines if line.get("logger") == "graphmem.operation")


def measure(reads: dict[str, Read]) -> None:
    """Measure all reads in turns, after as many rounds for the compilers to warm up."""
    for _ in range(WARMING_ROUNDS):
        for read in reads.values():
            for i in range(CALLS):
                read.call(i)
    for _ in range(ROUNDS):
        for read in reads.values():
            read.measure(CALLS)


def table(reads: dict[str, Read]) -> Table:
    """Return the figures as a table, with the ratio of each read to its sum."""
    figures = Table(title="graph reads on this machine", title_justify="left")
    figures.add_column("read")
    for column in ("trips", "p50 ms", "CPU ms", "times its sum", "goal"):
        figures.add_column(column, justify="right")
    for name, read in reads.items():
        ratio, goal = "", None
        if name in GOALS:
            raw, goal = GOALS[name]
            ratio = f"{read.p50 / (reads[raw].p50 + reads[SERVER_INFO].p50):.2f}"
        trips = "" if read.trips is None else str(read.trips)
        shown_goal = "" if goal is None else str(goal)
        figures.add_row(name, trips, f"{read.p50:.2f}", f"{read.cpu:.2f}", ratio, shown_goal)
    return figures


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        service_settings = settings.load(data_dir=Path(folder), port=PORT)
        with serving(service_settings) as process:
            service = Service()
            ids = ring(service)
            address = asyncio.run(connection(service_settings))
            with (
                # As the service does: remarks on types without relationships would take most of the time.
                neo4j.GraphDatabase.driver(
                    address.uri, auth=(address.username, address.password), notifications_min_severity="OFF"
                ) as driver,
                driver.session(fetch_size=-1) as session,
            ):
                rest = rest_reads(service, psutil.Process(process.pid), ids)
                reads = raw_reads(session, ids) | rest
                measure(reads)
                for read in rest.values():
                    read.call(0)
                    time.sleep(2 * logs.WAIT_SECONDS)
                    read.trips = last_round_trips(Path(folder) / "logs" / "graphmem.log")
    Console().print(table(reads))


if __name__ == "__main__":
    main()
