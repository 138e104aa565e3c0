"""``python -m tests.bench.sealed``: what sealing the values costs, beside an instance in clear.

Both instances are in this process, over one Neo4j, and take turns. A rate is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from graphmem.context import Services
from graphmem.runtime import open_services
from tests.support.database import database
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.sealed_services import sealed_services_beside

AT_ONCE, ROUNDS, CALLS = 100, 15, 20
KINDS = ("in clear", "sealed")


def person(number: int) -> dict[str, object]:
    """Return an item of a store."""
    return {
        "entity_type": "person", "name": f"Ada Lovelace {number}", "email": f"ada{number}@example.org",
        "city": f"City {number % 50}", "note": f"She met {number} engineers, and wrote of looms and engines.",
    }  # fmt: skip


def filled(call: Call, entities: int) -> list[str]:
    """Store some entities; return their ids."""
    ids: list[str] = []
    for start in range(0, entities, AT_ONCE):
        items = [person(number) for number in range(start, start + AT_ONCE)]
        answer = call("store", entities=items, find_duplicates=False)
        ids += [each["entity_id"] for each in answer["entities"]]
    return ids


def requests(call: Call, ids: list[str]) -> dict[str, Callable[[int], object]]:
    """Return what is measured, by name."""
    return {
        "snapshot": lambda i: call("entities.snapshot", entity_id=ids[i * 37 % len(ids)]),
        "list of 100": lambda i: call("entities.query", entity_type="person", limit=100, offset=i),
        "look-up by e-mail": lambda i: call(
            "entities.find", identifier=f"ada{i * 41 % len(ids)}@example.org"
        ),
        "search": lambda i: call("entities.query", search=f"who met {i} engineers", limit=10),
        "context": lambda i: call("context.retrieve", question=f"What did Ada Lovelace {i} write of?"),
        # Neo4j is busy behind a store, so stores come last.
        "store of one": lambda i: call(
            "store", entities=[{**person(i), "name": f"Eve {uuid.uuid4()}"}], find_duplicates=False
        ),
    }


def rates(work: dict[str, dict[str, Callable[[int], object]]]) -> dict[str, dict[str, float]]:
    """Return calls a second, by kind and name, measured in turns."""
    seen: dict[str, dict[str, list[float]]] = {kind: {} for kind in KINDS}
    for name in work[KINDS[0]]:
        for turn in range(ROUNDS):
            for kind in KINDS if turn % 2 else reversed(KINDS):
                start = time.perf_counter()
                for i in range(CALLS):
                    work[kind][name](turn * CALLS + i)
                seen[kind].setdefault(name, []).append(CALLS / (time.perf_counter() - start))
    return {kind: {name: statistics.median(each) for name, each in of.items()} for kind, of in seen.items()}


def measure(loop: Loop, services: dict[str, Services], entities: int, console: Console) -> None:
    """Fill both instances, and print what they do in a second."""
    work: dict[str, dict[str, Callable[[int], object]]] = {}
    for kind, each in services.items():
        call = by_runner(loop, each, str(uuid.uuid4()))
        start = time.perf_counter()
        ids = filled(call, entities)
        stored = time.perf_counter()
        call("entities.query", search="looms")
        first = time.perf_counter() - stored
        console.print(
            f"{kind}: {entities / (stored - start):.0f} entities a second, first search {first:.2f} s"
        )
        work[kind] = requests(call, ids)
    measured = rates(work)
    table = Table("a second", *KINDS, "ratio")
    for name, plain in measured[KINDS[0]].items():
        sealed = measured[KINDS[1]][name]
        table.add_row(name, f"{plain:.0f}", f"{sealed:.0f}", f"{sealed / plain:.2f}")
    console.print(table)


def main() -> None:
    """Start a Neo4j and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=10_000)
    entities = parser.parse_args().entities
    loop = Loop()
    with tempfile.TemporaryDirectory() as name, database(Path(name), shared=False) as settings:
        plain = open_services(settings)
        opened = {KINDS[0]: loop.run(plain.__aenter__())}
        folder = Path(name) / "sealed"
        folder.mkdir(mode=0o700)
        sealed = sealed_services_beside(settings, folder)
        opened[KINDS[1]] = loop.run(sealed.__aenter__())
        measure(loop, opened, entities, Console())
        loop.run(sealed.__aexit__(None, None, None))
        loop.run(plain.__aexit__(None, None, None))
    loop.close()


if __name__ == "__main__":
    main()
