"""The sixth part of ``make bench``: what the flood of one caller does to the answers of another.

A process of its own sends the flood over many connections, each with its next request as soon as the last one
is answered. Meanwhile another account reads a snapshot every few milliseconds. Rounds without and with each
flood take turns, because machines are noisy. The flood is sent by the machine that answers it, so that a part
of each ratio is the sender's own use of the cores.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import multiprocessing.queues
import os
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from graphmem import settings
from graphmem.auth.accounts import Accounts
from graphmem.runtime import open_services
from graphmem.settings import Settings
from tests.bench.run import PORT, serving

CONNECTIONS = 32
ROUNDS, ROUND_SECONDS, PAUSE_SECONDS = 6, 3.0, 0.02
SCOPES = ["read", "write"]
ENTITIES = 200


class Sender(asyncio.Protocol):
    """A connection that sends one request again and again."""

    answers = 0

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Send the next request once the answer is whole."""
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if end and length and len(body) >= int(length[1]):
            self._received = b""
            Sender.answers += 1
            self._transport.write(self._request)


def send_flood(request: bytes, seconds: float, answers: multiprocessing.queues.Queue[int]) -> None:
    """Send a request over all connections for some seconds; put the number of answers into ``answers``."""

    async def send() -> None:
        loop = asyncio.get_running_loop()
        made = [
            await loop.create_connection(lambda: Sender(request), "127.0.0.1", PORT)
            for _ in range(CONNECTIONS)
        ]
        await asyncio.sleep(seconds)
        for transport, _ in made:
            transport.abort()

    asyncio.run(send())
    answers.put(Sender.answers)


@contextmanager
def flood(request: bytes | None) -> Iterator[list[float]]:
    """Send a flood beside the block. Yields a list that has the answers a second in the end."""
    rates: list[float] = []
    if request is None:
        yield rates
        return
    answers: multiprocessing.queues.Queue[int] = multiprocessing.Queue()
    sender = multiprocessing.Process(target=send_flood, args=(request, ROUND_SECONDS + 1, answers))
    sender.start()
    time.sleep(0.5)
    yield rates
    rates.append(answers.get() / (ROUND_SECONDS + 1))
    sender.join()


class Caller:
    """The other caller, on a connection of its own."""

    def __init__(self, key: str) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and return the body of its answer."""
        self._http.request(method, path, json.dumps(body) if body else None, self._headers)
        answer = self._http.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {data[:300]!r}")
        return data

    def store(self) -> list[str]:
        """Store some entities and return their ids."""
        people = [{"entity_type": "person", "name": f"Person {number}"} for number in range(ENTITIES)]
        stored = json.loads(self.ask("POST", "/store", {"entities": people}))
        return [entity["entity_id"] for entity in stored["entities"]]

    def milliseconds(self, paths: list[str]) -> list[float]:
        """Return the time of each of the reads of a round."""
        times: list[float] = []
        end = time.monotonic() + ROUND_SECONDS
        while time.monotonic() < end:
            begin = time.perf_counter()
            self.ask("GET", paths[len(times) % len(paths)])
            times.append((time.perf_counter() - begin) * 1000)
            time.sleep(PAUSE_SECONDS)
        return times


def request(method: str, path: str, key: str, body: object = None) -> bytes:
    """Return the bytes of a request."""
    data = json.dumps(body).encode() if body else b""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def floods(key: str, entity_id: str) -> dict[str, bytes | None]:
    """Return the request of each flood by its name."""
    person = {"entities": [{"entity_type": "person", "name": "Person 1", "role": "sender"}]}
    return {
        "no flood": None,
        "snapshots": request("GET", f"/entities/{entity_id}", key),
        "searches": request("POST", "/entities/query", key, {"search": "person", "limit": 20}),
        "stores": request("POST", "/store", key, person),
        "refused: limit (429)": request("POST", "/mcp/oauth/register", key, {"redirect_uris": []}),
        "refused: no such key (401, 429)": request("GET", "/me", "gm_sk_" + "x" * 43),
    }


async def keys_of(chosen: Settings) -> list[str]:
    """Return the key of each of two new accounts of the instance that is served with these settings."""
    async with open_services(chosen) as services:
        accounts = Accounts(services.database)
        made = [await accounts.create(name, SCOPES, None) for name in ("sender", "other")]
        return [
            (await accounts.create_key(account.id, account.owner, "bench", SCOPES, None))[0]
            for account in made
        ]


def percentile(values: list[float], share: float) -> float:
    """Return the value that a share of the values does not exceed."""
    return statistics.quantiles(values, n=100)[int(share * 100) - 1]


def main() -> None:
    """Measure and print a table."""
    os.environ.update(GRAPHMEM_LIMIT_REGISTRATIONS="10/minute", GRAPHMEM_LIMIT_FAILURES="60/minute")
    with tempfile.TemporaryDirectory() as folder:
        chosen = settings.load(data_dir=Path(folder), port=PORT)
        with serving(chosen):
            sender, other = map(Caller, keys := asyncio.run(keys_of(chosen)))
            entity_id = sender.store()[0]
            paths = [f"/entities/{each}" for each in other.store()]
            kinds = floods(keys[0], entity_id)
            times: dict[str, list[float]] = {name: [] for name in kinds}
            rates: dict[str, list[float]] = {name: [] for name in kinds}
            for _ in range(ROUNDS):
                for name, each in kinds.items():
                    with flood(each) as rate:
                        times[name] += other.milliseconds(paths)
                    rates[name] += rate
    table = Table(title="a read of one caller beside the flood of another", title_justify="left")
    for column in ("flood", "answers a second", "p50 ms", "p95 ms", "times p95 without"):
        table.add_column(column, justify="left" if column == "flood" else "right")
    alone = percentile(times["no flood"], 0.95)
    for name, values in times.items():
        a_second = f"{statistics.mean(rates[name]):.0f}" if rates[name] else ""
        p50, p95 = percentile(values, 0.5), percentile(values, 0.95)
        table.add_row(name, a_second, f"{p50:.2f}", f"{p95:.2f}", f"{p95 / alone:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
