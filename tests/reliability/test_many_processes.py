"""Two service processes and many clients: one order and one state, as if one had done it; one dies."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem.context import Services
from graphmem.registry import REGISTRY
from graphmem.settings import Settings
from tests.support.actors import full_actor
from tests.support.dumps import wipe
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import by_runner
from tests.support.figures import Figures
from tests.support.forked_services import ForkedProcess, forks
from tests.support.killed_services import TRANSACTIONS, CrashReport, compare
from tests.support.sealed_database import opened
from tests.support.service import free_port, until_listening
from tests.support.write_load import Ledger, SentWrite

CLIENTS = 64 if LONG else 12
BOTH = 1
"""Which write of some clients goes to both services at the same time."""


@dataclass
class Client:
    """One client: what it sends, where first, and whether that place may be gone."""

    owner: str
    subject_id: int
    sends: list[SentWrite]
    moved: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass
class Pair:
    """Two services on one database."""

    urls: list[str]
    processes: list[ForkedProcess]
    gone: bool = False

    def kill(self) -> None:
        """Kill the first."""
        self.gone = True
        self.processes[0].kill()
        self.processes[0].wait()

    async def send(self, http: httpx.AsyncClient, client: Client, sent: SentWrite) -> None:
        """Have one write answered; a client goes elsewhere where its service is gone."""
        headers = {"Authorization": f"Bearer {client.owner}"}
        body = {**sent.body, "idempotency_key": sent.key}
        while not sent.answer:
            url = self.urls[client.subject_id]
            try:
                answer = await http.post(url + sent.path, json=body, headers=headers)
            except httpx.TransportError as exc:
                if not self.gone or client.subject_id == 1:
                    client.errors.append(repr(exc))
                client.subject_id, client.moved = 1, client.moved + 1
                continue
            if not answer.is_success:
                client.errors.append(answer.text)
                return
            sent.answer = answer.json()

    async def twice(self, http: httpx.AsyncClient, client: Client, sent: SentWrite) -> None:
        """Send one write to both at the same time, under one key: it is done once."""
        headers = {"Authorization": f"Bearer {client.owner}"}
        body = {**sent.body, "idempotency_key": sent.key}
        answers = await asyncio.gather(
            *(http.post(url + sent.path, json=body, headers=headers) for url in self.urls)
        )
        client.errors += [answer.text for answer in answers if not answer.is_success]
        first, second = (answer.json() for answer in answers)
        if first.get("transaction_id") != second.get("transaction_id"):
            client.errors.append(f"two answers to {sent.key}: {first} and {second}")
        if first.get("replayed") == second.get("replayed"):
            client.errors.append(f"both or none of {sent.key} is a replay")
        sent.answer = first


@pytest.fixture
def pair(settings: Settings, tmp_path: Path) -> Iterator[Pair]:
    processes, ports = list[ForkedProcess](), [free_port(), free_port()]
    try:
        for port in ports:
            folder = tmp_path / str(port)
            folder.mkdir()
            processes.append(forks().start(settings, folder, "serve", "--port", str(port)))
        for port in ports:
            until_listening(port)
        yield Pair([f"http://127.0.0.1:{port}" for port in ports], processes)
    finally:
        for process in processes:
            process.kill()


def planned(owners: list[str], each: int, dice: random.Random) -> list[Client]:
    """Return what every client is to send: to entities that all share, and to some of its own."""
    clients = []
    for number in range(CLIENTS):
        sends = []
        owner = owners[number % len(owners)]
        for count in range(each):
            at = f"2026-01-{dice.randrange(1, 29):02}T00:{count // 60:02}:{count % 60:02}Z"
            fields: dict[str, Any] = {"observed_at": at, f"c{number}": count, "last": f"{number} {count}"}
            shared = [{"entity_type": "thing", "name": f"n{dice.randrange(5)}", **fields}]
            own = [{"entity_type": "thing", "name": f"own {number} {i}", **fields} for i in range(9)]
            items = shared + own * (count % 3 == 0)
            links = (
                [{"relationship_type": "PART_OF", "source_index": 1, "target_index": 0}] if items[1:] else []
            )
            body = {"entities": items, "relationships": links, "observed_at": at}
            sends.append(SentWrite(owner, f"{number}:{count}", "/store", body, len(items) + len(links)))
        clients.append(Client(owner, number % 2, sends))
    return clients


async def send_all(pair: Pair, clients: list[Client]) -> None:
    """Send it all, every client one after the other; kill one service while much is still to be sent."""
    begun = asyncio.Event()
    left = len(clients)

    async def run(number: int, client: Client) -> None:
        nonlocal left
        for count, write in enumerate(client.sends):
            if count == BOTH and number % 4 == 0:
                await pair.twice(http, client, write)
            else:
                await pair.send(http, client, write)
            if count == BOTH:
                # Nobody goes on before all of those that go to both are answered.
                left -= 1
                if left == 0:
                    begun.set()
                await begun.wait()
            elif count > BOTH and not pair.gone:
                pair.kill()

    limits = httpx.Limits(max_connections=2 * CLIENTS)
    async with httpx.AsyncClient(timeout=60.0, limits=limits) as http:
        await asyncio.gather(*(run(number, client) for number, client in enumerate(clients)))


def alone(loop: Loop, services: Services, clients: list[Client], dice: random.Random) -> None:
    """Write the same by one process, a client after the other."""
    writes = [request for client in dice.sample(clients, len(clients)) for request in client.sends]

    async def write(request: SentWrite) -> None:
        await REGISTRY["store"].run(services, full_actor(request.owner), request.body)

    async def every() -> None:
        for start in range(0, len(writes), 20):
            await asyncio.gather(*map(write, writes[start : start + 20]))

    loop.run(every())


@pytest.mark.parametrize(
    ("owners", "each"),
    [
        (1, 4),
        (8, 4),
        pytest.param(1, 100, marks=[pytest.mark.long, pytest.mark.timeout(1200)]),
        pytest.param(16, 100, marks=[pytest.mark.long, pytest.mark.timeout(1200)]),
    ],
)
def test_two_processes_are_as_one_and_one_goes_on_alone(
    pair: Pair, loop: Loop, services: Services, figures: Figures, owners: int, each: int
) -> None:
    dice = random.Random(owners * each)
    owner_ids = [str(uuid.uuid4()) for _ in range(owners)]
    clients = planned(owner_ids, each, dice)
    start = time.monotonic()
    asyncio.run(send_all(pair, clients))
    seconds = time.monotonic() - start
    # No deadlock, no lost turn, no transient error reaches a client, whichever service it had.
    assert [error for client in clients for error in client.errors][:3] == []
    assert pair.gone
    assert any(client.moved for client in clients)
    report, ledger = CrashReport(), Ledger(sent=[write for client in clients for write in client.sends])
    hashes = {}
    for owner in owner_ids:
        rows = opened(services, loop.run(services.database.script(TRANSACTIONS, owner=owner)), owner)
        compare(report, ledger, owner, rows)
        run = by_runner(loop, services, owner)
        check = run("server.check_snapshots")
        assert check["healthy"], check
        stats = run("server.stats")
        hashes[owner] = (stats["state_hash"], stats["sequence"], stats["total_observations"])
        wipe(loop, services, owner)
    assert not report.wrong, report.wrong
    assert report.acknowledged == CLIENTS * each
    figures(f"{CLIENTS * each} writes of {owners} owners in {seconds:.1f} s")
    alone(loop, services, clients, dice)
    for owner, kept in hashes.items():
        stats = by_runner(loop, services, owner)("server.stats")
        assert (stats["state_hash"], stats["sequence"], stats["total_observations"]) == kept
