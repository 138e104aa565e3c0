"""``python -m tests.bench.receipts``: the bytes of a receipt of a context, and the time to write it."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphmem import neo4j_local, settings
from graphmem.auth import local_actor
from graphmem.receipts.recording import unpacked
from graphmem.registry import REGISTRY, Face
from graphmem.runtime import open_services
from tests.bench.hooks import person

PEOPLE = 500


async def measure(chosen: settings.Settings, asked: int) -> tuple[list[Any], float]:
    """Return what is stored of each receipt, and the seconds in which all were written."""
    async with open_services(chosen) as services:
        actor = local_actor("bench")
        people = {"entities": [person(number) for number in range(PEOPLE)]}
        await REGISTRY["store"].run(services, actor, people)
        for number in range(asked):
            question = {"question": f"Where does {person(number)['name']} live?"}
            await REGISTRY["context.retrieve"].run(services, actor, question, Face.MCP)
        begin = time.monotonic()
        await services.receipts.flush()
        seconds = time.monotonic() - begin
        query = "MATCH (r:Receipt) RETURN r.told AS told, r.size AS size, size(r.behind) AS behind"
        return await services.database.script(query), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asked", type=int, default=200, help="questions that are asked")
    asked = parser.parse_args().asked
    with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
        chosen = settings.load(data_dir=Path(folder), receipts="all", practice=False)
        try:
            rows, seconds = asyncio.run(measure(chosen, asked))
        finally:
            neo4j_local.stop(chosen)
    answers = [len(unpacked(row["told"])[2]) for row in rows]
    table = Table("receipts of contexts", "median", "largest", title=f"{len(rows)} receipts")
    for name, values in (
        ("bytes of the answer", answers),
        ("bytes of what is kept of it, compressed", [len(row["told"]) for row in rows]),
        ("observations behind it", [row["behind"] for row in rows]),
        ("bytes that count for GRAPHMEM_RECEIPTS_MB", [row["size"] for row in rows]),
    ):
        table.add_row(name, f"{statistics.median(values):,.0f}", f"{max(values):,}")
    table.add_row("milliseconds to write one, of all at once", f"{1000 * seconds / len(rows):.1f}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
