"""``python -m tests.bench.copies``: what two copies take to learn what each stored while they were cut off.

Two services store as many entities each, then they exchange them. Beside the exchange, a restore of all
entities into a third service is measured. The CPU is that of the services, their databases and the process
that restores, until all are idle; Java's compilers do not count. A round of the same size warms all before:
plans are made anew as a database grows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.runtime import open_services
from graphmem.settings import Settings
from graphmem.worker import INTERVAL_SECONDS
from tests.bench.run import PORT, serving
from tests.bench.stores import AT_ONCE, item, settled
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import by_runner

SECONDS = 900
WORKER_SECONDS = 2 * INTERVAL_SECONDS  # after it, the worker has begun with the vectors of what came


class Side:
    """A service with its database, and a key of its account."""

    def __init__(self, own: Settings, port: int, pid: int) -> None:
        self.own, self.url = own, f"http://127.0.0.1:{port}"
        self.pids = (pid, neo4j_local.running(own) or 0)
        scopes = ("--scopes", "read", "--scopes", "write", "--scopes", "copy")
        self.key = self.command("auth", "keys", "create", "bench", *scopes)["secret"]
        headers = {"Authorization": f"Bearer {self.key}"}
        self.http = httpx.Client(base_url=self.url, headers=headers, timeout=SECONDS)
        self.stored = 0

    def command(self, *words: str) -> Any:
        """Run a command of the instance; return its answer."""
        environment = {**os.environ, "GRAPHMEM_DATA_DIR": str(self.own.data_path)}
        line = [sys.executable, "-m", "graphmem", *words, "--json"]
        done = subprocess.run(line, env=environment, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.decode()[-500:]}")
        return json.loads(done.stdout)

    def store(self, name: str, count: int) -> None:
        for start in range(0, count, AT_ONCE):
            items = [item(f"{name} {self.stored + start + i}") for i in range(min(AT_ONCE, count - start))]
            self.http.post("/store", json={"entities": items}).raise_for_status()
        self.stored += count

    def state(self) -> str:
        return self.http.get("/stats").json()["state_hash"]

    def bytes_of_facts(self) -> int:
        """Return the bytes of all pages that the other copy takes from here."""
        (link,) = self.command("copies", "list")["copies"]
        total, cursor, more = 0, "", True
        while more:
            page = self.http.get("/copies/facts", params={"copy_id": link["peer"], "after": cursor})
            total, cursor, more = total + len(page.content), page.json()["cursor"], page.json()["more"]
        return total


def exchange(here: Side, there: Side, count: int) -> tuple[float, list[float]]:
    """Store entities on both sides while they are cut off; return seconds and CPU of their exchange: of each
    service and its database."""
    (link,) = here.command("copies", "list")["copies"]
    here.command("copies", "pause", link["id"])
    here.store("here", count)
    there.store("there", count)
    pids = (*here.pids, *there.pids)
    before, start = settled(*pids), time.perf_counter()
    here.command("copies", "accept", link["id"])
    while here.state() != there.state():
        if time.perf_counter() - start > SECONDS:
            raise SystemExit("the copies did not come to the same state")
        time.sleep(1)
    taken = time.perf_counter() - start
    return taken, used_since(before, pids)


def used_since(before: list[float], pids: Sequence[int]) -> list[float]:
    """Return the CPU that processes took, the work of the background included."""
    time.sleep(WORKER_SECONDS)
    return [after - was for after, was in zip(settled(*pids), before, strict=True)]


class Restores:
    """A third database, into which the facts of a side are restored."""

    def __init__(self, side: Side, folder: Path, pid: int) -> None:
        self.loop, self.side, self.folder = Loop(), side, folder
        self.pids = (pid, neo4j_local.running(settings.load(data_dir=folder)) or 0)

    def measure(self) -> tuple[float, list[float]]:
        """Dump all facts of the side, and restore them; return seconds and CPU of the restore."""
        with self._opened(self.side.own) as source:
            made = Dumps(self.loop, source, settings.LOCAL_ACCOUNT, self.folder).create()
        with self._opened(settings.load(data_dir=self.folder)) as target:
            dumps = Dumps(self.loop, target, settings.LOCAL_ACCOUNT, self.folder)
            dumps.wipe()
            before, start, own = settled(*self.pids), time.perf_counter(), time.process_time()
            dumps.restore(made)
            taken, own = time.perf_counter() - start, (time.process_time() - own) * 1000
            return taken, [own, *used_since(before, self.pids)]

    def warm(self, count: int) -> None:
        """Store in the third database as both sides do."""
        with self._opened(settings.load(data_dir=self.folder)) as target:
            call = by_runner(self.loop, target, str(uuid.uuid4()))
            for i in range(0, count * 2, AT_ONCE):
                call("store", entities=[item(f"warm {i + k}") for k in range(AT_ONCE)])
        self.measure()

    @contextlib.contextmanager
    def _opened(self, own: Settings) -> Any:
        opened = open_services(own)
        try:
            yield self.loop.run(opened.__aenter__())
        finally:
            self.loop.run(opened.__aexit__(None, None, None))


def main() -> None:
    """Measure and print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entities", type=int, default=2_000, help="that each side stores")
    count: int = options.parse_args().entities
    with contextlib.ExitStack() as running:
        folders = [Path(running.enter_context(tempfile.TemporaryDirectory())) for _ in range(3)]
        sides = list[Side]()
        for i in range(2):
            own = settings.load(data_dir=folders[i], port=PORT + i)
            sides.append(Side(own, PORT + i, running.enter_context(serving(own, PORT + i)).pid))
        here, there = sides
        third = settings.load(data_dir=folders[2], port=PORT + 2)
        restores = Restores(there, folders[2], running.enter_context(serving(third, PORT + 2)).pid)
        here.command("copies", "join", there.url, "--key", there.key)
        exchange(here, there, count)
        restores.warm(count)
        exchanged, exchange_cpu = exchange(here, there, count)
        restored, restore_cpu = restores.measure()
        every, size = 4 * count, sum(side.bytes_of_facts() for side in sides)
    table = Table(title=f"{2 * count} facts of two copies", title_justify="left")
    for column in ("what", "CPU of a fact, ms", "facts a second"):
        table.add_column(column, justify="left" if column == "what" else "right")
    rows = (
        ("exchange between two services", exchange_cpu, 2 * count, exchanged),
        ("restore into a third one", restore_cpu, every, restored),
    )
    for what, parts, facts, seconds in rows:
        costs = ", ".join(f"{part / facts:.2f}" for part in parts)
        table.add_row(what, f"{sum(parts) / facts:.2f} ({costs})", f"{facts / seconds:.0f}")
    ratio = sum(exchange_cpu) / 2 / count / (sum(restore_cpu) / every)
    table.add_row("ratio of the CPU", f"{ratio:.2f}", "")
    table.add_row("bytes of a fact on the wire", f"{size / every:.0f}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
