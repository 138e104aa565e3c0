"""The command: generate the sets, measure on a Neo4j of this run, print one table."""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from graphmem.context import Services
from graphmem.observability import logs
from graphmem.runtime import open_services
from graphmem.settings import load
from tests.bench.retrieval import ablation, population
from tests.bench.retrieval.figures import Figures
from tests.bench.retrieval.measuring import MEASURES
from tests.support.database import database
from tests.support.event_loop import Loop

RULES = "rules"
"""The measure of merges by rule, which needs no database."""


def main() -> None:
    """Measure in a data directory that is removed afterwards."""
    options = argparse.ArgumentParser(prog="python -m tests.bench.retrieval", description=__doc__)
    options.add_argument("--size", type=int, default=1, help="how many times the default size the sets have")
    options.add_argument(
        "--only", choices=(*MEASURES, RULES), action="append", help="only this set; may be repeated"
    )
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--ablation", action="store_true", help="only what each step of a search gives")
    arguments = options.parse_args()
    if arguments.ablation:
        _ablation(arguments)
        return
    if arguments.only != [RULES]:
        _measure(arguments)
    if not arguments.json and (not arguments.only or RULES in arguments.only):
        _print(population.table())


def _ablation(arguments: argparse.Namespace) -> None:
    """Leave out one step of a search at a time, and print the figures."""
    with _opened() as (loop, services):
        figures = ablation.ablation(loop, services, arguments.size)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        _print(ablation.table(figures))


def _measure(arguments: argparse.Namespace) -> None:
    """Measure on a Neo4j of this run, and print the figures."""
    figures = Figures()
    progress = Console(stderr=True)
    with _opened() as (loop, services):
        for name, measure in MEASURES.items():
            if not arguments.only or name in arguments.only:
                start = time.monotonic()
                measure(loop, services, arguments.size, figures)
                progress.print(f"{name}: measured in {time.monotonic() - start:.0f} s")
    if arguments.json:
        print(json.dumps(figures.summaries(), indent=2))
    else:
        _print(figures.table())


@contextlib.contextmanager
def _opened() -> Iterator[tuple[Loop, Services]]:
    """Start the services on a Neo4j of this run, and stop them at the end."""
    loop = Loop()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphmem-retrieval-")))
        # Before the database starts: lines of its log would stand in the JSON.
        logs.configure(load(data_dir=folder, log_level="warning"), None)
        settings = stack.enter_context(database(folder))
        opened = open_services(settings)
        services = loop.run(opened.__aenter__())
        yield loop, services
        loop.run(opened.__aexit__(None, None, None))
    loop.close()


def _print(table: Table) -> None:
    Console(width=None if Console().is_terminal else 240).print(table)


if __name__ == "__main__":
    main()
