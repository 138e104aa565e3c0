"""``python -m tests.bench.stores``: what storing costs the service and Neo4j, and where that goes.

Each service has a Neo4j of its own. ``--beside FOLDER`` measures the code of another checkout in the same
turns: compare within one run, never between runs. CPU is that of all threads of a process; what Neo4j and the
worker do after an answer counts, because each measure waits until both are idle. Java compiles apart.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import neo4j
from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.context import Services
from graphmem.database.driver import Database
from graphmem.runtime import connection, open_services
from graphmem.settings import Settings
from graphmem.writing import forms, turn, vectors
from tests.bench.run import PORT, Service, serving
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

AT_ONCE, WARMING, PART_ROUNDS = 100, 4, 20
IDLE_SECONDS, IDLE_SHARE = 0.5, 0.1
"""A process is idle if it took less than this share of a core for so long."""
IDLE_LIMIT: Final = 20
"""Looks at processes that do not become idle."""
COMPILERS = ("C1 Compiler", "C2 Compiler")
"""The beginnings of the names of threads, which have 15 characters."""
PLAIN: Final = "UNWIND $rows AS row CREATE (n:BenchNode) SET n = row"


def item(name: str) -> dict[str, Any]:
    """Return an item of 20 words."""
    words = " ".join(f"word{(hash(name) + 7 * i) % 5_000}" for i in range(14))
    return {"entity_type": "note", "title": name, "text": words, "status": "open", "n": 1}


def cpu(pid: int) -> float:
    """Return the milliseconds of CPU of a process, with its ended threads, without Java's compilers."""
    of_process = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = sum(map(int, of_process[11:13])) * 1000 / os.sysconf("SC_CLK_TCK")
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (task / "comm").read_text().startswith(COMPILERS):
                used -= int((task / "schedstat").read_text().split()[0]) / 1e6
    return used


def settled(*pids: int) -> list[float]:
    """Wait until processes are idle; return the CPU that each had taken when that began."""
    used = [*map(cpu, pids)]
    for _ in range(IDLE_LIMIT):
        time.sleep(IDLE_SECONDS)
        now = [*map(cpu, pids)]
        if sum(now) - sum(used) < IDLE_SHARE * IDLE_SECONDS * 1000:
            break
        used = now
    return used


@dataclass
class Measured:
    """A service with its Neo4j, and the figures of each kind of store: rates, CPU of both, by entity."""

    port: int
    pid: int
    own: Settings
    figures: dict[str, list[tuple[float, float, float]]] = field(default_factory=dict[str, Any])
    count: int = 0
    service: Service = field(init=False)

    def __post_init__(self) -> None:
        self.neo4j_pid = neo4j_local.running(self.own) or 0
        login = asyncio.run(connection(self.own))
        self.driver = neo4j.GraphDatabase.driver(login.uri, auth=(login.username, login.password))

    def new(self, size: int) -> None:
        self.count += size
        self.service.store(*(item(f"new {self.count - i}") for i in range(size)))

    def known(self, size: int) -> None:
        self.count += 1
        self.service.store(*({**item(f"known {i}"), "n": self.count} for i in range(size)))

    def plain(self, size: int) -> None:
        rows = [{"name": str(i), "fields": ["a", "b", "c"], "values": ["1", "2", "3"]} for i in range(size)]
        self.driver.execute_query(PLAIN, rows=rows)

    def measure(self, name: str, call: Callable[[int], None], times: int, size: int) -> None:
        """Call some times, and keep what each entity took."""
        # While others were measured, the service may have closed the connection.
        self.service, pids = Service(self.port), (self.pid, self.neo4j_pid)
        before, start = [*map(cpu, pids)], time.perf_counter()
        for _ in range(times):
            call(size)
        rate = times * size / (time.perf_counter() - start)
        used = [(after - was) / times / size for after, was in zip(settled(*pids), before, strict=True)]
        self.figures.setdefault(name, []).append((rate, used[0], used[1]))

    def measures(self) -> Iterator[tuple[str, Callable[[int], None], int, int]]:
        yield "store of a new entity", self.new, 40, 1
        yield "store of a known entity", self.known, 40, 1
        yield "100 new entities", self.new, 3, AT_ONCE
        yield "100 known entities", self.known, 3, AT_ONCE
        yield "plain CREATE of 100 nodes", self.plain, 3, AT_ONCE


def rates(services: dict[str, Measured]) -> Table:
    """Return the medians of all services as a table, and their ratios to the last."""
    table = Table(title="what an entity takes to store", title_justify="left")
    table.add_column("what")
    for name in services:
        for column in (f"{name}: a second", "service, ms", "Neo4j, ms"):
            table.add_column(column, justify="right")
    if len(services) > 1:
        table.add_column("ratios: rate, service, Neo4j", justify="right")
    for what in next(iter(services.values())).figures:
        medians = [
            [statistics.median(column) for column in zip(*each.figures[what], strict=True)]
            for each in services.values()
        ]
        cells = [
            f"{value:.0f}" if i == 0 else f"{value:.2f}" for each in medians for i, value in enumerate(each)
        ]
        if len(services) > 1:
            cells.append(", ".join(f"{a / b:.2f}" if b else "" for a, b in zip(*medians, strict=True)))
        table.add_row(what, *cells)
    return table


class Parts:
    """The CPU of this process and of Neo4j by part of a store, while it runs in this process."""

    def __init__(self, neo4j_pid: int) -> None:
        self.neo4j_pid = neo4j_pid
        self.own: dict[str, float] = defaultdict(float)
        self.neo4j: dict[str, float] = defaultdict(float)
        self._inner = 0.0

    def watch(self, place: Any, name: str, part: str) -> None:
        """Count the CPU of a function that is not that of a watched one within; of statements Neo4j's too."""
        call = getattr(place, name)

        def begin() -> tuple[float, float]:
            outer, self._inner = self._inner, 0.0
            return outer, time.process_time()

        def end(outer: float, start: float, label: str) -> None:
            used = time.process_time() - start
            self.own[label] += used - self._inner
            self._inner = outer + used

        async def waited(*args: Any, **kwargs: Any) -> Any:
            is_statement = place is Database
            before = cpu(self.neo4j_pid) if is_statement else 0.0
            begun = begin()
            try:
                return await call(*args, **kwargs)
            finally:
                end(*begun, part)
                if is_statement:
                    self.neo4j[str(args[1])] += cpu(self.neo4j_pid) - before

        def direct(*args: Any, **kwargs: Any) -> Any:
            begun = begin()
            try:
                return call(*args, **kwargs)
            finally:
                end(*begun, part)

        setattr(place, name, waited if asyncio.iscoroutinefunction(call) else direct)


def parts(own: Settings, neo4j_pid: int) -> Table:
    """Store in this process; return where the CPU of an entity goes."""
    measured, loop = Parts(neo4j_pid), Loop()
    opened = open_services(own)
    services: Services = loop.run(opened.__aenter__())
    call = by_runner(loop, services, "00000000-0000-4000-8000-00000000be7c")

    def store(number: int) -> None:
        items = [item(f"part {number} {i}") for i in range(AT_ONCE)]
        call("store", entities=items, find_duplicates=False)

    def neo4j_of(number: int) -> float:
        """Return Neo4j's CPU of some stores, by entity; the first plans the statements for the indexes."""
        store(number - 1)
        settled(neo4j_pid)
        before = cpu(neo4j_pid)
        for i in range(PART_ROUNDS):
            store(number + i)
        return (settled(neo4j_pid)[0] - before) / PART_ROUNDS / AT_ONCE

    table = Table(title="where the CPU of an entity goes, in batches of 100", title_justify="left")
    table.add_column("part")
    table.add_column("ms", justify="right")
    neo4j_of(0)
    whole = neo4j_of(1_000)
    for number, label in enumerate(("Entity", "Observation", "Meaning"), 2):
        with without_indexes(loop, services, label):
            saved = whole - neo4j_of(number * 1_000)
        table.add_row(f"Neo4j: the indexes of {label}, but for unique keys", f"{saved:.3f}")
    for place, name, part in (
        (Database, "_run", "driver"),
        (turn.OwnerWriter, "_look", "look"),
        (turn.OwnerWriter, "_decide", "decide"),
        (turn, "parameters", "parameters of the statement"),
        (vectors, "embed", "vectors"),
        (forms, "write", "sealing and binding"),
    ):
        measured.watch(place, name, part)
    start = time.process_time()
    for i in range(PART_ROUNDS):
        store(9_000 + i)
    used = time.process_time() - start
    table.add_row("Neo4j: all of it", f"{whole:.3f}")
    for name, value in measured.neo4j.items():
        table.add_row(f"Neo4j: {name}", f"{value / PART_ROUNDS / AT_ONCE:.3f}")
    for part, value in measured.own.items():
        table.add_row(f"Python: {part}", f"{value * 1000 / PART_ROUNDS / AT_ONCE:.3f}")
    rest = used - sum(measured.own.values())
    table.add_row(
        "Python: reading the request, the answer and the rest", f"{rest * 1000 / PART_ROUNDS / AT_ONCE:.3f}"
    )
    loop.run(opened.__aexit__(None, None, None))
    loop.close()
    return table


@contextlib.contextmanager
def without_indexes(loop: Loop, services: Services, label: str) -> Iterator[None]:
    """Drop the range indexes of a label, and make them again."""
    listed = "SHOW RANGE INDEXES YIELD name, labelsOrTypes, owningConstraint, createStatement "
    listed += "WHERE labelsOrTypes = [$label] AND owningConstraint IS NULL RETURN name, createStatement"
    script = services.database.script
    rows = loop.run(script(listed, label=label))
    for row in rows:
        loop.run(script(f"DROP INDEX {row['name']}"))  # pyright: ignore[reportArgumentType]
    try:
        yield
    finally:
        for row in rows:
            loop.run(script(row["createStatement"]))
        loop.run(script("CALL db.awaitIndexes(300)"))


def main() -> None:
    """Measure and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--beside", type=Path, help="another checkout, whose code is measured too")
    options.add_argument("--rounds", type=int, default=8)
    chosen = options.parse_args()
    with contextlib.ExitStack() as running:
        services: dict[str, Measured] = {}
        for i, (name, code) in enumerate((("this code", None), ("beside", chosen.beside))):
            if i and code is None:
                continue
            folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
            own = settings.load(data_dir=folder, port=PORT + i)
            process = running.enter_context(serving(own, PORT + i, code and code.resolve()))
            services[name] = Measured(PORT + i, process.pid, own)
        for turn_number in range(WARMING + chosen.rounds):
            for service in list(services.values())[:: -1 if turn_number % 2 else 1]:
                for measure in service.measures():
                    service.measure(*measure)
            if turn_number == WARMING - 1:
                for service in services.values():
                    service.figures.clear()
        Console().print(rates(services))
        first = services["this code"]
        Console().print(parts(first.own, first.neo4j_pid))


if __name__ == "__main__":
    main()
