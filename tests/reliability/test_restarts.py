"""Service and database start again during a backup and a restore: both are done, or say what to do."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem import dump
from graphmem.context import Services
from graphmem.errors import CATALOGUE
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.killed_services import KillableService, killable

STORES = 24
SLOWLY = {
    "create": ",".join(f"before:dump.page=sleep:0.5@{n}" for n in range(1, 9)),
    "restore": ",".join(f"before:write.turn=sleep:0.5@{n}" for n in range(1, 9)),
}
"""A command takes some seconds, so that it has not ended when what it needs is killed."""


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[KillableService]:
    """A service and its database, up."""
    with killable(tmp_path / "data") as made:
        yield made


def items(number: int) -> dict[str, Any]:
    """Return what a store brings: entities, and a file."""
    entities = [{"entity_type": "thing", "name": f"{number} {n}", "text": "x" * 1_000} for n in range(10)]
    file = base64.b64encode(f"file {number}".encode() * 1_000).decode()
    return {"entities": entities, "file_content": file, "original_filename": f"{number}.bin"}


def state_hash(victims: KillableService, owner: str) -> str:
    headers = {"Authorization": f"Bearer {owner}"}
    with httpx.Client(base_url=victims.url, headers=headers, timeout=60.0) as http:
        return http.get("/stats").raise_for_status().json()["state_hash"]


def killed_in(victims: KillableService, what: str, *words: str) -> None:
    """Kill the database, or service and database, during a command; where it fails, run it again."""
    process = victims.command("backup", *words, GRAPHMEM_FAILPOINTS=SLOWLY[words[0]])
    # Wherever the command is by then, the end is the same.
    time.sleep(2.0)
    victims.kill(what)
    code = process.wait(300)
    victims.up()
    if code:
        error = json.loads(victims.console.read_text("utf-8").splitlines()[-1])
        assert CATALOGUE[error["error_code"]].exit_code == code == 7, error
        assert error["details"]["retryable"], error
        if words[0] == "create":
            assert not Path(words[1]).exists()
        assert victims.command("backup", *words).wait(300) == 0, victims.console.read_text("utf-8")


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("what", ["neo4j", "both"])
def test_a_backup_and_a_restore_outlive_a_restart_of_the_database(
    victims: KillableService, loop: Loop, services: Services, tmp_path: Path, what: str
) -> None:
    owner, other = str(uuid.uuid4()), str(uuid.uuid4())
    here = by_runner(loop, services, other)
    headers = {"Authorization": f"Bearer {owner}"}
    with httpx.Client(base_url=victims.url, headers=headers, timeout=120.0) as http:
        for number in range(STORES):
            here("store", **items(number))
            http.post("/store", json=items(number)).raise_for_status()
    mine, theirs = tmp_path / "mine.dump", tmp_path / "theirs.dump"
    loop.run(dump.create(services.database, theirs, [other], objects=services.objects, keys=services.keys))
    before = state_hash(victims, owner)

    killed_in(victims, what, "create", str(mine))
    assert victims.command("backup", "verify", str(mine)).wait(300) == 0
    killed_in(victims, what, "restore", str(theirs))
    assert state_hash(victims, other) == here("server.stats")["state_hash"]
    assert state_hash(victims, owner) == before
    for each in (owner, other):
        headers = {"Authorization": f"Bearer {each}"}
        with httpx.Client(base_url=victims.url, headers=headers, timeout=120.0) as http:
            # After a restart its statements are planned first: it may not end within one answer.
            check = http.post("/health_check_snapshots", json={}).json()
            while "next_cursor" in check:
                check = http.post("/health_check_snapshots", json={"cursor": check["next_cursor"]}).json()
            assert check["healthy"], check
            sources = http.get("/sources", params={"limit": 100}).json()["sources"]
            assert len(sources) == STORES
