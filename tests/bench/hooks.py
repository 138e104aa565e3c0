"""``python -m tests.bench.hooks``: how long a prompt waits for `graphmem hook prompt`, on 10,000 entities.

It runs as an agent runs it: a process for each prompt, on a local service that runs. Half of the prompts name
a person, half name nobody. Beside them: an interpreter that does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.cli.agents import hook_call
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


def ask(prompt: str, folder: Path) -> tuple[float, bool]:
    """Run the hook; return its seconds, and whether it told something."""
    given = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(folder), "prompt": prompt}
    start = time.monotonic()
    words = [GRAPHMEM, "hook", "prompt", "--agent", "claude-code"]
    done = subprocess.run(words, input=json.dumps(given).encode(), capture_output=True, check=True)
    return time.monotonic() - start, bool(done.stdout)


def main() -> None:
    """Measure in a data directory of its own, which is removed afterwards."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entities", type=int, default=10_000)
    options.add_argument("--prompts", type=int, default=60)
    arguments = options.parse_args()
    figures: dict[str, list[float]] = {"names a person": [], "names nobody": [], "python -c pass": []}
    told = 0
    with tempfile.TemporaryDirectory(prefix="graphmem-hooks-") as name:
        folder = Path(name)
        os.environ |= {"GRAPHMEM_DATA_DIR": str(folder / "data"), "GRAPHMEM_OFFLINE": "0"}
        own = settings.load()
        try:
            fill(folder, arguments.entities)
            for number in range(10):
                timed(GRAPHMEM, "ask", person(number)["name"])
            for number in range(arguments.prompts):
                one = person(number * 97 % arguments.entities)
                seconds, is_told = ask(f"Write to {one['name']} about the engine", folder)
                figures["names a person"].append(seconds)
                told += is_told
                figures["names nobody"].append(ask(ORDINARY, folder)[0])
                figures["python -c pass"].append(timed(sys.executable, "-c", "pass")[0])
        finally:
            timed(GRAPHMEM, "server", "stop")
            neo4j_local.stop(own)
    table = Table("prompt", "p50 ms", "p95 ms", "goal ms")
    for kind, seconds in figures.items():
        p95 = statistics.quantiles(seconds, n=20)[-1]
        table.add_row(kind, f"{statistics.median(seconds) * 1000:.0f}", f"{p95 * 1000:.0f}", "300")
    Console().print(table)
    limit = hook_call.SECONDS["prompt"]
    Console().print(f"{told} of {arguments.prompts} prompts that name a person were told; limit {limit:g} s")


if __name__ == "__main__":
    main()
