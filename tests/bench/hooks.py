"""``python -m tests.bench.hooks``: how long a prompt waits for `graphmem hook prompt`, on 10,000 entities.

It runs as an agent runs it: a process for each prompt, on a local service that runs. Half of the prompts name
a person, half name nobody; a start and the end of a turn go with them. Each is told in multiples of an
interpreter that does nothing (`python -I -S -c pass`), its p95 and its CPU: quiet, beside `--loops` busy
loops, and of a service that hangs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.service import calling
from tests.bench.cold import GRAPHMEM, timed

BATCH = 500
FIRST = ("Ada", "Charles", "Mary", "Maren", "Ivo", "Noor", "Sofia", "Tariq", "Lena", "Otto")
FAMILY = ("Lovelace", "Babbage", "Somerville", "Ruiz", "Lind", "Haddad", "Kerr", "Aziz", "Voss", "Brandt")
ORDINARY = "Rename this function, run the tests, and tell me which of them fail and why"


def person(number: int) -> dict[str, str]:
    """Return a person whose name no other has."""
    name = f"{FIRST[number % 10]} {FAMILY[number // 10 % 10]} {number}"
    return {
        "entity_type": "person",
        "name": name,
        "email": f"p{number}@example.org",
        "city": FAMILY[number % 7],
    }


def fill(folder: Path, count: int) -> None:
    """Store so many people."""
    for begin in range(0, count, BATCH):
        file = folder / "people.json"
        file.write_text(json.dumps({"entities": [person(i) for i in range(begin, begin + BATCH)]}))
        timed(GRAPHMEM, "store", "--file", str(file), "--json")


BARE = [sys.executable, "-I", "-S", "-c", "pass"]
BUSY = [sys.executable, "-c", "while True: pass"]


class Spent(NamedTuple):
    """Seconds that somebody waited for a process, and those of CPU that it used."""

    waited: float
    cpu: float
    told: bool


def spent(words: list[str], stdin: dict[str, str] | None = None) -> Spent:
    """Run a process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, input=json.dumps(stdin or {}).encode(), capture_output=True, check=True)
    waited, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(waited, cpu, bool(done.stdout))


def hook(kind: str, folder: Path, turn: int, prompt: str) -> Spent:
    """Run a hook as Codex does."""
    event = {"session_id": "s", "turn_id": f"t{turn}", "cwd": str(folder), "prompt": prompt}
    given = {**event, "hook_event_name": "UserPromptSubmit", "last_assistant_message": f"Done {turn}"}
    return spent([GRAPHMEM, "hook", kind, "--agent", "codex"], given)


def measured(folder: Path, rounds: int, entities: int) -> dict[str, list[Spent]]:
    """Return what each kind of hook took, and a bare interpreter beside it."""
    figures: dict[str, list[Spent]] = {}
    for number in range(rounds):
        one = person(number * 97 % entities)
        named = f"Write to {one['name']} about the engine"
        for title, run in (
            ("bare interpreter", lambda: spent(BARE)),
            ("prompt that names a person", lambda: hook("prompt", folder, number, named)),  # noqa: B023
            ("prompt that names nobody", lambda: hook("prompt", folder, number, ORDINARY)),  # noqa: B023
            ("start of a session", lambda: hook("session-start", folder, number, "")),  # noqa: B023
            ("end of a turn", lambda: hook("stop", folder, number, named)),  # noqa: B023
        ):
            figures.setdefault(title, []).append(run())
    return figures


def shown(title: str, figures: dict[str, list[Spent]]) -> None:
    """Print p50, p95 and CPU, and the multiples of those of a bare interpreter."""

    def p95(each: list[Spent]) -> float:
        return statistics.quantiles([one.waited for one in each], n=20)[-1]

    def cpu(each: list[Spent]) -> float:
        return statistics.median(one.cpu for one in each)

    bare = figures["bare interpreter"]
    table = Table(title, "p50 ms", "p95 ms", "p95, times bare", "CPU ms", "CPU, times bare", "told")
    for name, each in figures.items():
        median = statistics.median(one.waited for one in each)
        row = (
            median * 1000,
            p95(each) * 1000,
            p95(each) / p95(bare),
            cpu(each) * 1000,
            cpu(each) / cpu(bare),
        )
        numbers = (f"{row[0]:.0f}", f"{row[1]:.0f}", f"{row[2]:.1f}", f"{row[3]:.0f}", f"{row[4]:.1f}")
        table.add_row(name, *numbers, f"{sum(one.told for one in each)} of {len(each)}")
    Console().print(table)


def main() -> None:
    """Measure in a data directory of its own, which is removed afterwards."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entities", type=int, default=10_000)
    options.add_argument("--prompts", type=int, default=60)
    options.add_argument("--loops", type=int, default=8)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="graphmem-hooks-") as name:
        folder = Path(name)
        os.environ |= {"GRAPHMEM_DATA_DIR": str(folder / "data"), "GRAPHMEM_OFFLINE": "0"}
        own = settings.load()
        try:
            fill(folder, arguments.entities)
            for number in range(10):
                timed(GRAPHMEM, "ask", person(number)["name"])
            shown("quiet", measured(folder, arguments.prompts, arguments.entities))
            with contextlib.ExitStack() as loops:
                for _ in range(arguments.loops):
                    busy = loops.enter_context(subprocess.Popen(BUSY))
                    loops.callback(busy.kill)
                few = max(20, arguments.prompts // 3)
                shown(f"{arguments.loops} busy loops", measured(folder, few, arguments.entities))
            serving = calling.ensure(own)["pid"]
            os.kill(serving, signal.SIGSTOP)
            try:
                shown("the service hangs", measured(folder, 20, arguments.entities))
            finally:
                os.kill(serving, signal.SIGCONT)
        finally:
            timed(GRAPHMEM, "server", "stop")
            neo4j_local.stop(own)


if __name__ == "__main__":
    main()
