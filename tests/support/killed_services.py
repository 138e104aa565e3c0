"""A service with a Neo4j of its own: killing them under load, and comparing the database with the answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import httpx

from graphmem import neo4j_local
from graphmem.settings import Settings
from tests.support import service as services
from tests.support import warm_data
from tests.support.commands import OWNER_BY_TOKEN
from tests.support.embedded_neo4j import engine_settings, query, servers_of
from tests.support.examples import LONG
from tests.support.forked_services import ForkedProcess, forks
from tests.support.service import Service, wait_until_healthy
from tests.support.write_load import TIMEOUT, Ledger, Writer

READERS = 3 if LONG else 1
TRANSACTIONS = """
MATCH (t:Transaction) WHERE t.owner = $owner
OPTIONAL MATCH (t)<-[:IN_TRANSACTION]-(o:Observation)
WITH t, count(o) AS observations
RETURN t.id AS id, t.idempotency_key AS key, t.sequence AS sequence, t.recorded_at AS recorded_at,
  observations
ORDER BY t.sequence
"""


@dataclass(slots=True)
class CrashReport:
    """The state of a database after a crash. ``lost`` and the lists after it must be empty."""

    owners: list[str] = field(default_factory=list)
    acknowledged: int = 0
    doubted: int = 0
    replayed: int = 0
    reads: int = 0
    seconds: float = 0.0
    """Until every client was answered again."""
    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    disorder: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> dict[str, list[str]]:
        """The lists that are not empty, five entries of each."""
        names = ("lost", "torn", "twice", "disorder", "faults")
        return {name: entries[:5] for name in names if (entries := getattr(self, name))}

    def __str__(self) -> str:
        return (
            f"acknowledged {self.acknowledged} lost {len(self.lost)} torn {len(self.torn)} "
            f"twice {len(self.twice)} in doubt {self.doubted} (done {self.replayed}) reads {self.reads} "
            f"up again after {self.seconds:.1f} s"
        )


class KillableService:
    """A service with an embedded Neo4j in a folder of its own."""

    def __init__(self, settings: Settings, **variables: Any) -> None:
        self.settings, self.variables = settings, variables
        self.folder = settings.data_path
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        warm_data.bring(self.folder)
        self.port = services.free_port()
        self.service: Service | None = None

    @property
    def url(self) -> str:
        """Where the service is, always the same."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the service, which starts its database."""
        self.service = services.start(
            self.settings, self.folder, OWNER_BY_TOKEN, self.port, worker=True, **self.variables
        )

    def up(self) -> None:
        """Wait until the service and its database answer."""
        assert self.service
        wait_until_healthy(self.service)

    def kill(self, what: str) -> None:
        """Kill the ``service``, the ``neo4j``, or ``both``; a killed service is started again."""
        assert self.service
        if what in ("neo4j", "both"):
            for pid in servers_of(self.folder):
                os.kill(pid, signal.SIGKILL)
        if what in ("service", "both"):
            self.service.send(signal.SIGKILL)
            self.service.wait()
            self.start()

    def command(self, *words: str, **variables: Any) -> ForkedProcess:
        """Start a command on the data directory, beside the service. It prints JSON to ``console``."""
        own = {**self.variables, **variables}
        return forks().start(self.settings, self.folder, "--json", *words, console=self.console, **own)

    @property
    def console(self) -> Path:
        """The file of what commands print, outside of the data directory."""
        return self.folder.with_name("commands")

    def close(self) -> None:
        """End the service and its database."""
        if self.service is not None and self.service.process.poll() is None:
            self.service.send(signal.SIGKILL)
            self.service.wait()
        neo4j_local.stop(self.settings)

    def ask(self, text: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Ask the database itself."""
        return query(neo4j_local.info(self.settings), text, **parameters)


@contextlib.contextmanager
def killable(folder: Path, variables: Mapping[str, Any] = {}, **options: Any) -> Iterator[KillableService]:
    """Yield a service and its database, up, with the data in a folder.

    Args:
        variables: the environment of the service.
        options: settings of the database, such as its heap.
    """
    cache = os.environ.get("GRAPHMEM_CACHE_DIR")
    made = KillableService(engine_settings(folder, cache_dir=cache, **options), **variables)
    try:
        made.start()
        made.up()
        yield made
    finally:
        made.close()


@contextlib.asynccontextmanager
async def load(
    url: str | Callable[[int], str], owners: list[str], clients: int, dice: random.Random
) -> AsyncIterator[tuple[Ledger, list[Writer]]]:
    """Have clients write and read until the block ends; then settle the last write of each."""
    where = (lambda _: url) if isinstance(url, str) else url
    ledger, stop = Ledger(), asyncio.Event()
    writers = [
        Writer(where(i), owners[i % len(owners)], f"c{i}", ledger, random.Random(dice.random()))
        for i in range(clients)
    ]
    limits = httpx.Limits(max_connections=clients + READERS)
    async with httpx.AsyncClient(timeout=TIMEOUT, limits=limits) as http:
        tasks = [asyncio.create_task(writer.run(http, stop)) for writer in writers]
        for writer, task in zip(writers, tasks, strict=True):
            writer.task = task
        tasks += [asyncio.create_task(writer.read(http, stop)) for writer in writers[:READERS]]
        try:
            yield ledger, writers
        finally:
            stop.set()
            await asyncio.gather(*tasks)


async def kill_under_load(
    victims: KillableService, what: str, clients: int, seconds: float, dice: random.Random
) -> CrashReport:
    """Write under load, kill, wait until all writes are settled; compare the database with the answers."""
    owners = [str(uuid.uuid4()), str(uuid.uuid4())]
    async with load(victims.url, owners, clients, dice) as (ledger, writers):
        # From when everybody has been answered: a database that was just started plans its queries first.
        for writer in writers:
            await writer.reached(2)
        await asyncio.sleep(seconds * dice.uniform(0.1, 1))
        killed = time.monotonic()
        before = [writer.count for writer in writers]
        for part in ("neo4j", "neo4j") if what == "twice" else (what,):
            victims.kill(part)
            if what == "twice":
                # Again, while it is being started and replays its log.
                await asyncio.to_thread(until, lambda: servers_of(victims.folder))
                await asyncio.sleep(dice.uniform(0, 3))
        # A write was under way when the part was killed; the next one is written by the restarted part.
        for writer, count in zip(writers, before, strict=True):
            await writer.reached(count + 2)
        seconds = time.monotonic() - killed
    report = CrashReport(
        owners=owners, doubted=ledger.doubted, replayed=ledger.replayed, reads=ledger.reads, seconds=seconds
    )
    report.faults += ledger.faults
    for owner in owners:
        compare(report, ledger, owner, await asyncio.to_thread(victims.ask, TRANSACTIONS, owner=owner))
        await audit(report, victims.url, owner)
    return report


def until(condition: Callable[[], Any], limit: float = 60.0) -> None:
    """Wait until a condition holds, at most ``limit`` seconds."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def compare(report: CrashReport, ledger: Ledger, owner: str, rows: list[dict[str, Any]]) -> None:
    """Compare the writes of an owner that were acknowledged with the rows of the owner's transactions."""
    sent = {write.key: write for write in ledger.sent if write.owner == owner}
    by_key = {row["key"]: row for row in rows}
    counted = Counter(row["key"] for row in rows)
    report.twice += [key for key, count in counted.items() if count > 1]
    report.faults += [f"nobody sent {key}" for key in by_key if key not in sent]
    for key, write in sent.items():
        if not write.answer:
            continue
        report.acknowledged += 1
        row = by_key.get(key)
        if row is None or write.transaction not in (None, row["id"]):
            report.lost.append(f"{key} {write.path} {write.answer}")
        elif row["observations"] != write.observations:
            report.torn.append(f"{key} {write.path}: {row['observations']} of {write.observations}")
    if [row["sequence"] for row in rows] != list(range(1, len(rows) + 1)):
        report.disorder.append(f"the sequence of {owner} has gaps")
    times = [row["recorded_at"] for row in rows]
    if times != sorted(set(times)):
        report.disorder.append(f"the times of {owner} do not rise")


async def audit(report: CrashReport, url: str, owner: str) -> None:
    """Report what the audit of an owner and a search for the latest entities do not confirm."""
    headers = {"Authorization": f"Bearer {owner}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60.0) as http:
        answer = (await http.post("/health_check_snapshots", json={})).json()
        # After a restart its statements are planned first: it may not end within one answer.
        while "next_cursor" in answer:
            rest = {"cursor": answer["next_cursor"]}
            answer = (await http.post("/health_check_snapshots", json=rest)).json()
        if not answer.get("healthy") or not answer.get("counts_compared"):
            report.faults.append(f"the audit of {owner}: {answer}")
        # The index of words follows the commits: what it had not taken in yet must be there after all.
        latest = {"sort_by": "updated_at", "sort_order": "desc", "limit": 5}
        for entity in (await http.post("/entities/query", json=latest)).json()["entities"]:
            words = {"search": entity["canonical_name"], "limit": 100}
            runs = (await http.get("/search/explain", params=words)).json()["strategies"]
            by_words = next(run for run in runs if run["strategy"] == "text")
            if entity["entity_id"] not in [hit["entity_id"] for hit in by_words["hits"]]:
                report.faults.append(f"{entity['entity_id']} is not found by its words")
