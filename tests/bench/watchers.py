"""The part of ``make bench`` about watchers: what stores cost while many streams of changes are open.

Clients store as fast as they are answered, in turn without and with watchers. The watchers are a process of
their own, which counts the changes that each of them receives. With ``--minutes`` the clients store about the
same entities at a steady pace, and the table has the memory of the service after each minute.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import multiprocessing.connection
import subprocess
import tempfile
import time
from collections.abc import Iterator
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
START_PAUSE_SECONDS = 0.02
"""Seconds between the beginnings of two streams."""
STEADY_PAUSE_SECONDS = 0.2
"""Seconds between two stores of a client at a steady pace."""
STEADY_ENTITIES, STEADY_TEXTS = 400, 97
"""Different entities and texts of stores at a steady pace."""


async def _store(port: int, key: str, first: int, end: float, is_steady: bool) -> int:
    """Store one entity after the other until ``end``; return how many."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = first
    while time.monotonic() < end:
        item = {"entity_type": "note", "title": f"note {number}", "text": "a line of text"}
        if is_steady:
            await asyncio.sleep(STEADY_PAUSE_SECONDS)
            item["title"] = f"note {number % STEADY_ENTITIES}"
            item["text"] = f"line {number % STEADY_TEXTS} of a text"
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


def stores(port: int, key: str, first: int, seconds: float, *, is_steady: bool = False) -> int:
    """Store for some seconds by several clients; return how many stores were answered."""

    async def every() -> int:
        end = time.monotonic() + seconds
        return sum(
            await asyncio.gather(*(_store(port, key, first + n, end, is_steady) for n in range(CLIENTS)))
        )

    return asyncio.run(every())


async def _watch(port: int, key: str, counts: list[int], number: int) -> None:
    """Watch, and go on behind the last change where the stream ends, as a client does."""
    last = [""]
    # On a busy machine the service refuses some of many streams that begin at once.
    await asyncio.sleep(number * START_PAUSE_SECONDS)
    while True:
        request = f"GET /events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        request += f"Last-Event-ID: {last[0]}\r\n" if last[0] else ""
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
            writer.write(f"{request}\r\n".encode())
            if b" 200 " in await reader.readline():
                await _count(reader, counts, number, last)
            writer.close()
        await asyncio.sleep(1.0)


async def _count(reader: asyncio.StreamReader, counts: list[int], number: int, last: list[str]) -> None:
    while line := await reader.readline():
        if line.startswith(b"retry:"):
            counts[number] = max(counts[number], 0)
        elif line.startswith(b"id:"):
            last[0] = line[3:].strip().decode()
        counts[number] += line.startswith(b"event: entity.")


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


@contextlib.contextmanager
def watched(port: int, key: str, count: int) -> Iterator[list[int]]:
    """Have watchers read during the block; then the list has how many changes each of them received."""
    own, other = multiprocessing.Pipe()
    watching = multiprocessing.Process(target=watchers, args=(port, key, count, other))
    counts: list[int] = []
    if count:
        watching.start()
        own.recv()
    yield counts
    if count:
        own.send("end")
        counts += own.recv()
        watching.join()


def _memory(process: subprocess.Popen[bytes]) -> str:
    return f"{psutil.Process(process.pid).memory_info().rss / 1e6:.0f}"


def steady(port: int, key: str, process: subprocess.Popen[bytes], count: int, minutes: int) -> Table:
    """Return the memory of the service after each minute of stores at a steady pace."""
    table = Table(title=f"{count} streams beside a steady pace of stores", title_justify="left")
    for column in ("minute", "stores a second", "memory MB"):
        table.add_column(column, justify="right")
    stores(port, key, 0, 20.0, is_steady=True)
    with watched(port, key, count) as counts:
        table.add_row("0", "", _memory(process))
        total = 0
        for minute in range(1, minutes + 1):
            stored = stores(port, key, minute * 1_000_000, 60.0, is_steady=True)
            total += stored
            table.add_row(str(minute), f"{stored / 60:.0f}", _memory(process))
    table.caption = f"changes a stream: {min(counts):,} to {max(counts):,} of {total:,} stores"
    return table


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--minutes", type=int, help="memory at a steady pace, in place of the rates")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        service = settings.load(data_dir=Path(folder), port=free_port())
        port = service.service_port
        with serving(service, port, None) as process:
            (key,) = asyncio.run(keys_of(service, 1))
            if chosen.minutes:
                Console().print(steady(port, key, process, chosen.watchers, chosen.minutes))
            else:
                rates(port, key, process, chosen.watchers, chosen.seconds)


def rates(port: int, key: str, process: subprocess.Popen[bytes], count: int, seconds: float) -> None:
    """Print the rates of stores without and with watchers."""
    table = Table(title=f"stores by {CLIENTS} clients beside streams of changes", title_justify="left")
    for column in ("streams", "stores a second", "changes a stream", "all received", "memory MB"):
        table.add_column(column, justify="right")
    measured: dict[int, list[float]] = {0: [], count: []}
    first = 0
    stores(port, key, first, 3.0)
    for _ in range(ROUNDS):
        for streams in (0, count):
            first += 1_000_000
            with watched(port, key, streams) as counts:
                stored = stores(port, key, first, seconds)
            measured[streams].append(stored / seconds)
            received = str(min(counts) == max(counts) == stored) if counts else ""
            table.add_row(
                str(streams), f"{stored / seconds:.0f}", f"{min(counts, default=0)}", received,
                _memory(process),
            )  # fmt: skip
    console = Console()
    console.print(table)
    medians = [sorted(measured[each])[ROUNDS // 2] for each in (count, 0)]
    console.print(f"rate with watchers / without: {medians[0] / medians[1]:.2f}")


if __name__ == "__main__":
    main()
