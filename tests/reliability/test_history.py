"""Many clients of two processes append to lists and read, while connections are cut: one order for all."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from graphmem.settings import Settings
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.figures import Figures
from tests.support.forked_services import forks
from tests.support.history import Append, History, Outcome, Read
from tests.support.service import free_port, until_listening
from tests.support.tcp_proxy import Proxy, proxied

CLIENTS = 12
ENOUGH = 60
"""Appends that are acknowledged, however long that takes."""
LISTS = [f"list {i}" for i in range(4)]
SCHEMA = {
    "entity_type": "journal",
    "fields": {"name": {"type": "string"}, "log": {"type": "array", "merge": "merge_array"}},
}


@pytest.fixture
def proxy(loop: Loop, settings: Settings) -> Iterator[Proxy]:
    stack = contextlib.AsyncExitStack()
    assert settings.neo4j_uri
    yield loop.run(stack.enter_async_context(proxied(settings.neo4j_uri)))
    loop.run(stack.aclose())


@pytest.fixture
def urls(proxy: Proxy, settings: Settings, tmp_path: Path) -> Iterator[list[str]]:
    """Two services, whose database is behind a proxy; they give up at once where it fails."""
    processes, ports = [], [free_port(), free_port()]
    behind = settings.model_copy(update={"neo4j_uri": proxy.uri})
    try:
        for port in ports:
            folder = tmp_path / str(port)
            folder.mkdir()
            words = ("serve", "--port", str(port))
            processes.append(forks().start(behind, folder, *words, GRAPHMEM_RETRY_SECONDS="0.01"))
        for port in ports:
            until_listening(port)
        yield [f"http://127.0.0.1:{port}" for port in ports]
    finally:
        for process in processes:
            process.kill()


class Recorder:
    """Clients of some services that write down what they do and hear."""

    def __init__(self, urls: list[str], owner: str, subject_ids: dict[str, str]) -> None:
        self.urls, self.owner, self.subject_ids = urls, owner, subject_ids
        self.history = History()
        self.done = self.refused = self.doubted = 0

    async def client(self, http: httpx.AsyncClient, number: int, end: float) -> None:
        dice, count = random.Random(number), 0
        while time.monotonic() < end or self.done < ENOUGH:
            url = dice.choice(self.urls)
            if dice.random() < 0.5:
                await self._read(http, url, dice.choice(LISTS))
            else:
                count += 1
                lists = dice.sample(LISTS, dice.choice([1, 1, 2]))
                await self._append(http, url, f"{number}.{count}", lists, refused=dice.random() < 0.1)

    async def _append(
        self, http: httpx.AsyncClient, url: str, value: str, lists: list[str], *, refused: bool
    ) -> None:
        items = [{"entity_type": "journal", "name": name, "log": [value]} for name in lists]
        # One item that cannot be stored: none of them is.
        items += [{"target_id": "ent_000000000000000000000000", "log": [value]}] if refused else []
        start = time.monotonic()
        answer = await http.post(f"{url}/store", json={"entities": items})
        end = time.monotonic()
        outcome: Outcome = "ok"
        if answer.status_code == 503:
            outcome = "unknown" if answer.json()["details"].get("in_doubt", True) else "failed"
        elif answer.status_code == 400:
            outcome = "failed"
        else:
            assert answer.is_success, answer.text
        assert (answer.status_code == 400) == (refused and answer.status_code != 503), answer.text
        self.done += outcome == "ok"
        self.refused += outcome == "failed"
        self.doubted += outcome == "unknown"
        self.history.appends.append(Append(value, tuple(lists), start, end, outcome))

    async def _read(self, http: httpx.AsyncClient, url: str, name: str) -> None:
        start = time.monotonic()
        answer = await http.get(f"{url}/entities/{self.subject_ids[name]}")
        if answer.status_code == 503:
            return
        assert answer.is_success, answer.text
        values = tuple(answer.json()["snapshot"].get("log", []))
        self.history.reads.append(Read(name, values, start, time.monotonic()))


@pytest.mark.parametrize(
    "seconds", [3, pytest.param(120, marks=[pytest.mark.long, pytest.mark.timeout(1200)])]
)
def test_what_all_clients_see_is_one_history(
    rest: Call, urls: list[str], proxy: Proxy, loop: Loop, owner: str, figures: Figures, seconds: int
) -> None:
    rest("schemas.register", schema=SCHEMA)
    made = rest("store", entities=[{"entity_type": "journal", "name": name, "log": []} for name in LISTS])
    subject_ids = dict(zip(LISTS, (entity["entity_id"] for entity in made["entities"]), strict=True))
    recorder = Recorder(urls, owner, subject_ids)

    async def record() -> None:
        headers = {"Authorization": f"Bearer {owner}"}
        limits = httpx.Limits(max_connections=CLIENTS)
        async with httpx.AsyncClient(headers=headers, timeout=60.0, limits=limits) as http:
            for url in urls:
                await recorder._append(http, url, f"first of {url}", LISTS, refused=False)
            end = time.monotonic() + seconds
            clients = [recorder.client(http, number, end) for number in range(CLIENTS)]
            await asyncio.gather(*clients, cutting(proxy, loop, recorder, end))

    asyncio.run(record())
    history = recorder.history
    for name, subject_id in subject_ids.items():
        history.final[name] = tuple(rest("entities.get", entity_id=subject_id)["snapshot"]["log"])
    figures(
        f"{len(history.appends)} appends ({recorder.refused} refused, {recorder.doubted} in doubt), "
        f"{len(history.reads)} reads"
    )
    assert history.anomalies() == []
    assert recorder.refused
    assert min(len(values) for values in history.final.values()) > 5
    assert len(history.reads) > 20


async def cutting(proxy: Proxy, loop: Loop, recorder: Recorder, end: float) -> None:
    """Cut the connections to the database again and again, each time some more was written."""

    async def cut() -> None:
        proxy.cut()

    wanted = 0
    while time.monotonic() < end or recorder.done < ENOUGH:
        await asyncio.sleep(0.01)
        if recorder.done >= wanted:
            wanted = recorder.done + CLIENTS
            await asyncio.to_thread(loop.run, cut())


# What the check finds


def history(*events: Append | Read, **final: str) -> History:
    appends = [event for event in events if isinstance(event, Append)]
    reads = [event for event in events if isinstance(event, Read)]
    return History(appends, reads, {name: tuple(values) for name, values in final.items()})


def append(value: str, start: float, end: float, lists: str = "x", outcome: Outcome = "ok") -> Append:
    return Append(value, tuple(lists), start, end, outcome)


def read(values: str, start: float, end: float, name: str = "x") -> Read:
    return Read(name, tuple(values), start, end)


A, B = append("a", 0, 1), append("b", 2, 3)


@pytest.mark.parametrize(
    "fine",
    [
        history(A, B, read("a", 1.5, 1.6), read("ab", 4, 5), x="ab"),
        history(A, B, read("", 0.5, 0.6), read("a", 2.5, 2.6), x="ab"),
        # At the same time, in either order; and what is in doubt may be there, or not.
        history(append("a", 0, 9), append("b", 0, 9), read("b", 1, 2), x="ba"),
        history(append("a", 0, 1, outcome="unknown"), read("a", 2, 3), x="a"),
        history(append("a", 0, 1, outcome="unknown"), read("", 2, 3), x=""),
        history(append("a", 0, 1, outcome="failed"), read("", 2, 3), x=""),
        history(append("a", 0, 9, "xy"), append("b", 0, 9, "xy"), x="ab", y="ab"),
    ],
)
def test_a_history_that_can_be_is_fine(fine: History) -> None:
    assert fine.anomalies() == []


@pytest.mark.parametrize(
    ("anomaly", "wrong"),
    [
        ("lost update", history(A, B, x="b")),
        ("lost update", history(append("a", 0, 1, "xy"), x="a", y="")),
        ("torn", history(append("a", 0, 1, "xy", "unknown"), x="a", y="")),
        ("written twice", history(A, x="aa")),
        ("dirty read", history(append("a", 0, 1, outcome="failed"), read("a", 0, 1), x="")),
        ("dirty read", history(append("a", 0, 1, outcome="failed"), x="a")),
        ("dirty read", history(A, read("n", 0, 1), x="a")),
        ("read before", history(A, B, read("ab", 1.1, 1.2), x="ab")),
        ("stale read", history(A, B, read("a", 4, 5), x="ab")),
        ("stale read", history(A, read("", 1.1, 1.2), x="a")),
        ("no prefix", history(append("a", 0, 9), append("b", 0, 9), read("ba", 1, 2), x="ab")),
        # Written in one order, and there in the other.
        ("in a circle", history(A, B, x="ba")),
        # One reader saw it, and a later one no longer.
        ("in a circle", history(append("a", 0, 9), read("a", 1, 2), read("", 3, 4), x="a")),
        # Two lists in two orders.
        ("in a circle", history(append("a", 0, 9, "xy"), append("b", 0, 9, "xy"), x="ab", y="ba")),
        # Each of two readers saw another of two writes, and not the other.
        (
            "in a circle",
            history(
                append("a", 0, 9), append("b", 0, 9, "y"),
                read("a", 1, 2), read("", 3, 4, "y"), read("b", 1, 2, "y"), read("", 3, 4), x="a", y="b",
            ),
        ),
    ],
)  # fmt: skip
def test_every_anomaly_is_found(anomaly: str, wrong: History) -> None:
    anomalies = wrong.anomalies()
    assert anomalies
    assert any(text.startswith(anomaly) for text in anomalies), anomalies
