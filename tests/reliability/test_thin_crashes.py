"""The local service is killed while thin clients store: what was acknowledged is there, once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from graphmem.service import calling, greeting
from graphmem.service.place import place
from graphmem.settings import Settings
from tests.support.figures import Figures
from tests.support.local_service import call_service, wait_for
from tests.support.thin_clients import CommandClient, McpClient, ThinWriter, reached


@contextmanager
def writing(local: Settings, owner: str, commands: int, conversations: int) -> Iterator[list[ThinWriter]]:
    """Have commands and `graphmem mcp` store until the block ends; then settle the last write of each."""
    clients = [CommandClient(local, owner) for _ in range(commands)]
    clients += [McpClient(local, owner) for _ in range(conversations)]
    writers = [ThinWriter(f"{type(client).__name__}{i}", client) for i, client in enumerate(clients)]
    stop = threading.Event()
    threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def kill(local: Settings) -> int:
    """Kill the service that is ready now; return its process id."""

    def ready() -> Any:
        greeted = calling.greet(place(local))
        return greeted if greeted and greeted["state"] == greeting.READY else None

    wait_for(ready)
    greeted = ready() or calling.ensure(local)
    os.kill(greeted["pid"], signal.SIGKILL)
    return greeted["pid"]


def check(local: Settings, writers: list[ThinWriter]) -> str:
    """Compare what is stored with what was acknowledged; return what happened as a line."""

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return call_service(local, name, arguments)

    assert not [fault for writer in writers for fault in writer.faults]
    acknowledged = {key: each for writer in writers for key, each in writer.transaction_ids.items()}
    stats = call("server.stats")
    counts = stats["total_entities"], stats["total_observations"], stats["sequence"]
    assert counts == (len(acknowledged),) * 3, "each write is stored once"
    counts_by_name: dict[str, int] = {}
    page: dict[str, Any] = {}
    while not page or "next_cursor" in page:
        cursor = {"cursor": page["next_cursor"]} if page else {}
        page = call("entities.query", entity_type="thing", limit=500, **cursor)
        counts_by_name |= {each["canonical_name"]: each["observation_count"] for each in page["entities"]}
    assert counts_by_name == dict.fromkeys(acknowledged, 1)
    assert call("server.check_snapshots")["healthy"]
    doubted, replayed = (sum(getattr(each, name) for each in writers) for name in ("doubted", "replayed"))
    return f"acknowledged {len(acknowledged)} in doubt {doubted} (done {replayed})"


@pytest.mark.long
def test_what_thin_clients_stored_outlives_a_kill_of_their_service(
    local: Settings, owner: str, figures: Figures
) -> None:
    with writing(local, owner, commands=1, conversations=2) as writers:
        reached(writers, 1, wait_for)
        killed = kill(local)
        reached(writers, 2, wait_for)
    greeted = calling.ensure(local)
    assert greeted["pid"] != killed, "a client has started the next service"
    figures(check(local, writers))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_what_thin_clients_stored_outlives_many_kills_of_their_service(
    spawned: Settings, owner: str, figures: Figures
) -> None:
    """Long: each service that is killed is started anew by its clients."""
    dice = random.Random()
    with writing(spawned, owner, commands=3, conversations=5) as writers:
        for _ in range(int(os.environ.get("GRAPHMEM_TEST_CRASHES", "50"))):
            reached(writers, 1, wait_for)
            time.sleep(dice.uniform(0, 0.5))
            kill(spawned)
        reached(writers, 2, wait_for)
    figures(check(spawned, writers))
