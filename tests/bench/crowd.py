"""The part of ``make bench`` about crowds: what clients get that search at once.

A process of its own has one connection for each client, with its next search as soon as the last one is
answered. An answer that is no 200 counts as refused; its client waits as the answer says and goes on. The
clients share one account, or each has one of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import multiprocessing.queues
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from graphmem import settings
from graphmem.auth.accounts import Accounts
from graphmem.runtime import open_services
from graphmem.settings import Settings
from tests.bench.flood import SCOPES, percentile
from tests.bench.run import serving
from tests.support.service import free_port

NAMES = ("Ada", "Grace", "Mary", "Edsger", "Barbara", "Alan", "Radia", "Donald")
TOPICS = ("warranty of the car", "contract with the landlord", "garden in spring", "flight to Lisbon")
Answered = tuple[int, float]
"""The status of an answer, and the milliseconds after which it came."""


def searches(entities: int) -> list[dict[str, object]]:
    """Return the arguments of the searches that each client sends in turn."""
    words: list[dict[str, object]] = [
        {"search": f"{name} {topic}", "limit": 10} for name in NAMES for topic in TOPICS
    ]
    named: list[dict[str, object]] = [
        {"search": f"person{number}@example.org"} for number in range(0, entities, 7)
    ]
    return [*words, *named[:32]]


async def _search(
    port: int, key: str, first: int, bodies: list[dict[str, object]], end: float
) -> list[Answered]:
    """Send one search after the other until ``end``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers: list[Answered] = []
    number = first
    while time.monotonic() < end:
        data = json.dumps(bodies[number % len(bodies)]).encode()
        number += 1
        head = (
            f"POST /entities/query HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        begin = time.perf_counter()
        writer.write(head.encode() + data)
        received = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.split(": ", 1) for line in received.split("\r\n")[1:] if ": " in line)
        await reader.readexactly(int(fields["content-length"]))
        status = int(received.split(" ", 2)[1])
        answers.append((status, (time.perf_counter() - begin) * 1000))
        if status != 200:
            await asyncio.sleep(float(fields.get("retry-after", 1)))
    writer.close()
    return answers


def send_searches(
    port: int, keys: list[str], entities: int, seconds: float, answers: multiprocessing.queues.Queue[Answered]
) -> None:
    """Send searches as one client for each key; put the answers of all of them into ``answers``."""

    async def send() -> list[list[Answered]]:
        end = time.monotonic() + seconds
        bodies = searches(entities)
        return await asyncio.gather(
            *(_search(port, key, number, bodies, end) for number, key in enumerate(keys))
        )

    for each in asyncio.run(send()):
        for answered in each:
            answers.put(answered)
    answers.put((0, 0.0))


async def keys_of(chosen: Settings, accounts: int) -> list[str]:
    """Return the key of each of some new accounts."""
    async with open_services(chosen) as services:
        kept = Accounts(services.database)
        made = [await kept.create(f"client-{accounts}-{number}", SCOPES, None) for number in range(accounts)]
        return [
            (await kept.create_key(account.id, account.owner, "bench", SCOPES, None))[0] for account in made
        ]


def crowd(port: int, keys: list[str], entities: int, seconds: float) -> list[Answered]:
    """Let a crowd search, and return its answers."""
    answers: multiprocessing.queues.Queue[Answered] = multiprocessing.Queue()
    sender = multiprocessing.Process(target=send_searches, args=(port, keys, entities, seconds, answers))
    sender.start()
    received: list[Answered] = []
    while (answered := answers.get(timeout=seconds + 120)) != (0, 0.0):
        received.append(answered)
    sender.join()
    return received


def store(port: int, key: str, entities: int) -> None:
    """Store people and notes about topics."""
    import httpx

    people = [
        {"entity_type": "person", "name": f"{NAMES[n % len(NAMES)]} Number{n}",
         "email": f"person{n}@example.org", "note": f"talked about the {TOPICS[n % len(TOPICS)]} in week {n}"}
        for n in range(entities)
    ]  # fmt: skip
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
        headers = {"Authorization": f"Bearer {key}"}
        for start in range(0, entities, 500):
            http.post(
                "/store", json={"entities": people[start : start + 500]}, headers=headers
            ).raise_for_status()
        http.post("/entities/query", json={"search": "Ada"}, headers=headers)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--entities", type=int, default=6_000, help="of the account that all clients share")
    parser.add_argument("--code", type=Path, help="another checkout, whose code is measured")
    chosen = parser.parse_args()
    title = f"{chosen.clients} clients that search for {chosen.seconds:.0f} s"
    table = Table(title=title, title_justify="left")
    for column in ("accounts", "entities each", "answers", "refused", "answers a second", "p50 ms", "p95 ms"):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        service = settings.load(data_dir=Path(folder), port=free_port())
        port = service.service_port
        with serving(service, port, chosen.code):
            shared = asyncio.run(keys_of(service, 1))
            own = asyncio.run(keys_of(service, chosen.clients))
            store(port, shared[0], chosen.entities)
            for key in own:
                store(port, key, 40)
            crowd(port, shared * 4, chosen.entities, 3.0)
            for keys, entities in ((shared * chosen.clients, chosen.entities), (own, 40)):
                answers = crowd(port, keys, entities, chosen.seconds)
                answered = [milliseconds for status, milliseconds in answers if status == 200]
                times = [percentile(answered, share) for share in (0.5, 0.95)] if answered[1:] else [0, 0]
                table.add_row(
                    str(len(set(keys))), str(entities), str(len(answered)), str(len(answers) - len(answered)),
                    f"{len(answered) / chosen.seconds:.1f}", f"{times[0]:.0f}", f"{times[1]:.0f}",
                )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
