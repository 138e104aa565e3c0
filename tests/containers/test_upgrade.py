"""The image in the place of an earlier version, on its database and files; a dump of the first format.

No image was released yet. ``tests/data/database-18.tar.xz`` is a data directory that a service of 2026-11-23
wrote and left, with migrations 1 to 18: examples/, a correction, a deletion, a merge, a key and two files.
``database-18.json`` is what that service answered, and the key.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from graphmem import neo4j_local
from graphmem.database import migrations
from tests.containers.running import DRAWER, GRACE, Running
from tests.support.embedded_neo4j import engine_settings, probe, query
from tests.support.figures import Figures
from tests.support.images import REPOSITORY, Image

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

DATA = REPOSITORY / "tests" / "data"
WRITTEN: dict[str, Any] = json.loads((DATA / "database-18.json").read_text("utf-8"))
VERSION = 18
BUSY = 503
PAGE = {"limit": 200}


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The image that runs on what the earlier version wrote, and a client with the key of that time."""

    running: Running
    login: neo4j_local.InstanceLogin
    before: list[int]
    ada: httpx.Client
    ready_seconds: float

    def versions(self) -> list[int]:
        return versions(self.login)


def versions(login: neo4j_local.InstanceLogin) -> list[int]:
    """Return the migrations of a database. Number 0 is no migration: it says which kind of instance it is."""
    rows = query(
        login, "MATCH (n:Migration) WHERE n.version > 0 RETURN n.version AS version ORDER BY version"
    )
    return [row["version"] for row in rows]


@pytest.fixture(scope="module")
def upgraded(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """The image, started on the database and the files of the earlier version."""
    engine = tmp_path_factory.mktemp("neo4j")
    with tarfile.open(DATA / "database-18.tar.xz") as archive:
        archive.extractall(engine, filter="data")
    folder = tmp_path_factory.mktemp("container")
    (folder / "data").mkdir(mode=0o700)
    shutil.move(engine / "objects", folder / "data" / "objects")
    settings = engine_settings(engine)
    login = neo4j_local.ensure(settings, probe)
    try:
        before = versions(login)
        running = Running(image, folder, login)
        running.container.start()
        ada = running.client(WRITTEN["key"])
        try:
            yield Upgraded(running, login, before, ada, running.until_ready())
        finally:
            ada.close()
            running.close()
    finally:
        neo4j_local.stop(settings)


def essence(ada: httpx.Client) -> dict[str, Any]:
    """Return what the earlier version recorded of itself, as it is answered now."""
    entities = ada.post("/entities/query", json=PAGE).json()["entities"]
    links = ada.post("/list_relationships", json=PAGE).json()["relationships"]
    stats = ada.get("/stats").json()
    names = "entity_type", "canonical_name", "snapshot"
    return {
        "entities": {entity["entity_id"]: {name: entity[name] for name in names} for entity in entities},
        "relationships": sorted(link["relationship_id"] for link in links),
        "sources": {row["source_id"]: row["content_hash"] for row in ada.get("/sources").json()["sources"]},
        "stats": {name: stats[name] for name in WRITTEN["stats"]},
    }


def test_the_image_brings_the_database_up_to_date_and_answers_as_before(
    upgraded: Upgraded, figures: Figures
) -> None:
    assert upgraded.before == [*range(1, VERSION + 1)]
    assert upgraded.versions() == [migration.version for migration in migrations.shipped()]
    figures(
        f"from migration {upgraded.before[-1]} to {upgraded.versions()[-1]}: "
        f"ready after {upgraded.ready_seconds:.1f} s"
    )
    assert essence(upgraded.ada) == {
        name: WRITTEN[name] for name in ("entities", "relationships", "sources", "stats")
    }
    (maren,) = [
        each
        for each in WRITTEN["entities"].values()
        if each["snapshot"].get("desk") or each["canonical_name"].startswith("Maren")
    ]
    assert maren["snapshot"]["city"] == "Cooper's Ford East"


def checked(running: Running) -> dict[str, Any]:
    """Check all snapshots of the account. One answer ends after some seconds, and the next goes on there."""
    check = ["--account", "studio", "snapshots", "check"]
    health = running.command(*check)
    while cursor := health.get("next_cursor"):
        assert not health["stale"], health
        health = running.command(*check, "--cursor", cursor)
    return health


def test_files_of_before_are_given_and_their_text_is_found(upgraded: Upgraded) -> None:
    rows = upgraded.ada.get("/sources").json()["sources"]
    assert {row["original_filename"] for row in rows} == {"lease.pdf", "notes.md"}
    for row in rows:
        content = upgraded.ada.get(f"/sources/{row['source_id']}/content").content
        assert content == (DRAWER / row["original_filename"]).read_bytes()

    def found() -> bool:
        answer = upgraded.ada.get("/sources/search", params={"query": "monthly rent of the flat"})
        return "lease.pdf" in answer.text

    # The text of files that were stored before there were passages is read after the start.
    upgraded.running.until(found)


def test_what_is_written_now_joins_what_was_there(upgraded: Upgraded) -> None:
    (entity_id,) = (
        entity_id
        for entity_id, entity in WRITTEN["entities"].items()
        if entity["snapshot"].get("email") == "maren@odegaard-ruiz.example"
    )
    item = {"entity_type": "person", "name": "Maren Ødegaard-Ruiz", "email": "maren@odegaard-ruiz.example"}
    request = {"entities": [item | {"nickname": "Mo"}], "idempotency_key": "after the upgrade"}

    def stored() -> bool:
        answer = upgraded.ada.post("/store", json=request)
        if answer.status_code == BUSY:
            return False
        assert [entity["entity_id"] for entity in answer.json()["entities"]] == [entity_id]
        return True

    # Folding again what a migration has marked may take longer than a write waits.
    upgraded.running.until(stored)
    snapshot = upgraded.ada.get(f"/entities/{entity_id}").json()["snapshot"]
    assert (snapshot["nickname"], snapshot["city"]) == ("Mo", "Cooper's Ford East")
    health = checked(upgraded.running)
    assert health["healthy"], health
    doctor = upgraded.running.command("doctor")
    assert doctor["ok"], doctor


def test_a_dump_of_the_first_format_is_restored_beside_it(upgraded: Upgraded) -> None:
    wanted = json.loads((DATA / "format-1.json").read_text("utf-8"))["state"]
    running = upgraded.running
    running.execute("sh", "-c", "cat > /data/restore.dump", stdin=DATA / "format-1.dump")
    running.execute("graphmem", "backup", "restore", "/data/restore.dump")
    running.execute("graphmem", "account", "create", "golden", "--owner", "golden")
    stats = running.command("--account", "golden", "stats")
    assert (stats["sequence"], stats["state_hash"]) == (wanted["sequence"], wanted["state_hash"])
    listed = running.command("--account", "golden", "entities", "list", "--include-deleted", "--limit", "100")
    names = {entity["entity_id"]: entity["canonical_name"] for entity in listed["entities"]}
    assert names == {key: entity["canonical_name"] for key, entity in wanted["entities"].items()}


def test_the_next_start_applies_nothing_and_keeps_all(upgraded: Upgraded) -> None:
    state = essence(upgraded.ada)
    applied = query(upgraded.login, "MATCH (n:Migration) RETURN n.applied_at AS at ORDER BY at")
    code, _ = upgraded.running.container.stop(GRACE)
    assert code == 0, upgraded.running.container.output[-2000:]
    upgraded.running.container.start()
    upgraded.running.until_ready()
    assert query(upgraded.login, "MATCH (n:Migration) RETURN n.applied_at AS at ORDER BY at") == applied
    assert essence(upgraded.ada) == state
