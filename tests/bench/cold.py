"""``python -m tests.bench.cold``: how long a newcomer waits, as ratios to what the same machine does bare.

Each round measures everything once, one after the other, so that a slow moment of the machine meets all of
it. A ratio is of the medians of all rounds. ``--loops 8`` runs busy loops beside the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.cli.setup import HELLO
from graphmem.runtime import connection
from graphmem.settings import Settings

GRAPHMEM = str(Path(sys.executable).with_name("graphmem"))
STORE = ("store", "--entities", '[{"entity_type": "person", "name": "Ada Lovelace"}]')


def timed(*command: str) -> tuple[float, float]:
    """Run a command to its end; return its seconds, and the seconds of a core that it took.

    Raises:
        SystemExit: the command failed.
    """
    start, before = time.monotonic(), _children_cpu()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, cpu = time.monotonic() - start, _children_cpu() - before
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stdout}{run.stderr}")
    return seconds, cpu


def initialized() -> tuple[float, float, float]:
    """Start ``graphmem mcp``; return the seconds to its first answer, its seconds of a core, and its MB."""
    start = time.monotonic()
    server = subprocess.Popen([GRAPHMEM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin
    assert server.stdout
    with server:
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        seconds = time.monotonic() - start
        assert "result" in answer, answer
        process = psutil.Process(server.pid)
        cpu, resident = process.cpu_times(), process.memory_info().rss
        server.stdin.close()
    return seconds, cpu.user + cpu.system, resident / 1e6


def database_start(own: Settings) -> float:
    """Start the stopped database alone; return the seconds to its first answer over bolt."""
    start = time.monotonic()
    asyncio.run(connection(own))
    return time.monotonic() - start


def first_store() -> float:
    """Store with nothing running; return the seconds from the command's start to its acknowledgement."""
    return timed(GRAPHMEM, *STORE)[0]


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run so many processes that do nothing but use a core."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(own: Settings, rounds: int, loops: int, tell: Callable[[str], None]) -> dict[str, list[float]]:
    """Return the figures of all rounds: seconds, seconds of a core for the commands, MB."""
    figures: dict[str, list[float]] = {}

    def keep(name: str, value: float) -> None:
        figures.setdefault(name, []).append(value)
        tell(f"{name}: {value:.2f}")

    _stop_all()
    for _ in range(rounds):
        keep("Neo4j", database_start(own))
        _stop_all()
        keep("first store", first_store())
        with busy_loops(loops):
            _stop_all()
            keep("first store, busy", first_store())
        keep("import typer, rich", timed(sys.executable, "-c", "import typer, rich.console")[1])
        keep("--version", timed(GRAPHMEM, "--version")[1])
        keep("--help", timed(GRAPHMEM, "--help")[1])
        keep("entities list", timed(GRAPHMEM, "entities", "list")[1])
        _stop_all()
        keep("import mcp", timed(sys.executable, "-c", "import mcp.server.lowlevel")[0])
        keep("initialize", initialized()[0])
        keep("mcp, MB", initialized()[2])
        _stop_all()
    return figures


GOALS = (
    ("first store, nothing runs", "first store", "Neo4j", 1.7),
    ("first store beside busy loops", "first store, busy", "first store", 6.0),
    ("graphmem --version", "--version", "import typer, rich", 2.0),
    ("graphmem --help", "--help", "import typer, rich", 2.0),
    ("graphmem entities list", "entities list", "import typer, rich", 4.0),
    ("graphmem mcp: initialize", "initialize", "import mcp", 1.4),
)
"""What is measured, its figure, the figure that it is compared with, and the goal for the ratio."""


def table(figures: dict[str, list[float]]) -> Table:
    """Return the table of ratios."""
    ratios = Table("what", "beside", "ratio", "goal")
    for measure_name, name, base, goal in GOALS:
        ratio = statistics.median(figures[name]) / statistics.median(figures[base])
        ratios.add_row(measure_name, base, f"{ratio:.2f}", f"{goal:g}")
    ratios.add_row("graphmem mcp: resident", "", f"{statistics.median(figures['mcp, MB']):.0f} MB", "60 MB")
    return ratios


def main() -> None:
    """Measure in a data directory of its own, which is removed afterwards."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--loops", type=int, default=8)
    arguments = options.parse_args()
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="graphmem-cold-") as folder:
        os.environ |= {"GRAPHMEM_DATA_DIR": folder, "GRAPHMEM_OFFLINE": "0"}
        own = settings.load()
        try:
            # The first start ever also makes the database and fetches Neo4j.
            first_store()
            figures = measure(own, arguments.rounds, arguments.loops, console.print)
        finally:
            _stop_all()
            neo4j_local.stop(own)
    Console().print(table(figures))


def _stop_all() -> None:
    timed(GRAPHMEM, "db", "stop")


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
