"""The part of ``make bench`` about watchers: what stores cost while many streams of changes are open.

Clients store as fast as they are answered, in turn without and with watchers. The watchers are a process of
their own, which counts the changes that each of them receives.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import multiprocessing.connection
import multiprocessing.synchronize
import tempfile
import time
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from graphmem import settings
from tests.bench.crowd import keys_of
from tests.bench.run import serving
from tests.support.service import free_port

CLIENTS = 8
ROUNDS = 3
QUIET_SECONDS = 3.0
"""Seconds without a change after which the watchers have read all."""


async def _store(port: int, key: str, first: int, end: float) -> int:
    """Store one entity after the other until ``end``; return how many."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = first
    while time.monotonic() < end:
        item = {"entity_type": "note", "title": f"note {number}", "text": "a line of text"}
        data = json.dumps({"entities": [item]}).encode()
        number += CLIENTS
        head = (
            f"POST /store HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        received = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        assert received.startswith("http/1.1 200"), received
        fields = dict(line.split(": ", 1) for line in received.split("\r\n")[1:] if ": " in line)
        await reader.readexactly(int(fields["content-length"]))
    writer.close()
    return (number - first) // CLIENTS


def stores(port: int, key: str, first: int, seconds: float) -> int:
    """Store for some seconds by several clients; return how many stores were answered."""

    async def every() -> int:
        end = time.monotonic() + seconds
        return sum(await asyncio.gather(*(_store(port, key, first + n, end) for n in range(CLIENTS))))

    return asyncio.run(every())


async def _watch(port: int, key: str, counts: list[int], number: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    writer.write(
        f"GET /events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    )
    while line := await reader.readline():
        if line.startswith(b"retry:"):
            counts[number] = 0
        counts[number] += line.startswith(b"event: entity.created")


def watchers(port: int, key: str, count: int, answers: multiprocessing.connection.Connection) -> None:
    """Watch as several clients until a message comes; then answer how many changes each received."""

    async def every() -> None:
        counts = [-1] * count
        watching = [asyncio.create_task(_watch(port, key, counts, number)) for number in range(count)]
        while min(counts) < 0:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        answers.send("ready")
        await asyncio.to_thread(answers.recv)
        before, quiet = list(counts), time.monotonic()
        while time.monotonic() - quiet < QUIET_SECONDS:
            await asyncio.sleep(0.2)
            if counts != before:
                before, quiet = list(counts), time.monotonic()
        answers.send(counts)
        for each in watching:
            each.cancel()

    asyncio.run(every())


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8.0)
    chosen = parser.parse_args()
    table = Table(title=f"stores by {CLIENTS} clients beside streams of changes", title_justify="left")
    for column in ("streams", "stores a second", "changes a stream", "all received", "memory MB"):
        table.add_column(column, justify="right")
    rates: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        service = settings.load(data_dir=Path(folder), port=free_port())
        port, first = service.service_port, 0
        with serving(service, port, None) as process:
            (key,) = asyncio.run(keys_of(service, 1))
            stores(port, key, first, 3.0)
            for _ in range(ROUNDS):
                for is_watched in (False, True):
                    first += 1_000_000
                    own, other = multiprocessing.Pipe()
                    watching = multiprocessing.Process(
                        target=watchers, args=(port, key, chosen.watchers, other)
                    )
                    if is_watched:
                        watching.start()
                        own.recv()
                    stored = stores(port, key, first, chosen.seconds)
                    rates[is_watched].append(stored / chosen.seconds)
                    counts = [0]
                    if is_watched:
                        own.send("end")
                        counts = own.recv()
                        watching.join()
                    table.add_row(
                        str(chosen.watchers if is_watched else 0), f"{rates[is_watched][-1]:.0f}",
                        f"{min(counts)}", str(min(counts) == max(counts) == stored) if is_watched else "",
                        f"{psutil.Process(process.pid).memory_info().rss / 1e6:.0f}",
                    )  # fmt: skip
    console = Console()
    console.print(table)
    medians = [sorted(rates[each])[ROUNDS // 2] for each in (True, False)]
    console.print(f"rate with watchers / without: {medians[0] / medians[1]:.2f}")


if __name__ == "__main__":
    main()
