"""`graphmem storage gc`: what no source refers to goes after its grace time, and nothing else does."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from graphmem import runtime
from graphmem.checking.unused_objects import PAGE_OBJECTS, Removal, remove_unreferenced
from graphmem.cli import in_process
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.model import ids, times
from graphmem.objects import ObjectStore, new_object_store
from tests.support.event_loop import Loop
from tests.support.object_places import ObjectPlace, listing, parts, sha256

HOUR = 3_600 * 1_000_000
Remove = Callable[..., Removal]


@pytest.fixture
def store(place: ObjectPlace, loop: Loop) -> Iterator[ObjectStore]:
    """An open object store."""
    opened = place.open()
    yield opened
    loop.run(opened.close())


@pytest.fixture
def remove(store: ObjectStore, services: Services, loop: Loop) -> Remove:
    """Remove what is unreferenced, an hour from now, or at another time."""

    def run(modified_before: int | None = None, *, dry_run: bool = False, foreign: bool = False) -> Removal:
        cutoff = times.now() + HOUR if modified_before is None else modified_before
        work = remove_unreferenced(services.database, store, cutoff, dry_run=dry_run, foreign=foreign)
        return loop.run(work)

    return run


@pytest.fixture
def keep(
    place: ObjectPlace, store: ObjectStore, services: Services, loop: Loop
) -> Iterator[Callable[..., str]]:
    """Put an object, by default with a source; return its name."""
    owners = set[str]()

    def run(owner: str, content: bytes, source: bool = True) -> str:
        owners.add(owner)
        stored = loop.run(store.put(owner, parts(content)))
        if source:
            loop.run(
                services.database.script(
                    "MERGE (source:Source {id: $id}) SET source.owner = $owner, source.content_hash = $hash, "
                    "source.recorded_at = $now",
                    id=ids.source_id(owner, stored.sha256),
                    owner=owner,
                    hash=stored.sha256,
                    now=times.now(),
                )
            )
        return place.name(owner, stored.sha256)

    yield run
    for owner in owners:
        script = "MATCH (n:Source|Owner) WHERE $owner IN [n.owner, n.id] DETACH DELETE n"
        loop.run(services.database.script(script, owner=owner))


def left(loop: Loop, store: ObjectStore, owner: str | None = None) -> set[str]:
    """Return the names of the objects that are there."""
    return {listed.name for listed in loop.run(listing(store, owner))}


def test_what_no_source_refers_to_goes(
    place: ObjectPlace, loop: Loop, store: ObjectStore, keep: Callable[..., str], remove: Remove
) -> None:
    owner, other = str(uuid.uuid4()), str(uuid.uuid4())
    used = keep(owner, b"used")
    remains = keep(owner, b"remains", source=False)
    keep(other, b"remains")
    looked = remove(dry_run=True)
    assert (looked.removed.objects, looked.removed.size, looked.used.objects) == (1, place.taken(7), 2)
    assert left(loop, store, owner) == {used, remains}
    done = remove()
    assert (done.removed, done.used) == (looked.removed, looked.used)
    assert left(loop, store, owner) == {used}
    assert left(loop, store, other) == {place.name(other, sha256(b"remains"))}
    assert remove().removed.objects == 0


def test_an_owner_with_a_long_name_is_found(
    loop: Loop, store: ObjectStore, services: Services, keep: Callable[..., str], remove: Remove
) -> None:
    owner = f"{uuid.uuid4()}{'Ä' * 100}"
    used, _ = keep(owner, b"used"), keep(owner, b"remains", source=False)
    assert remove().foreign.objects == 2
    loop.run(services.database.script("MERGE (o:Owner {id: $id}) SET o.sequence = 1", id=owner))
    assert remove().removed.objects == 1
    assert left(loop, store) == {used}


def test_what_is_recent_stays_and_a_put_makes_it_recent(
    place: ObjectPlace, loop: Loop, store: ObjectStore, keep: Callable[..., str], remove: Remove
) -> None:
    owner = str(uuid.uuid4())
    used, remains = keep(owner, b"used"), keep(owner, b"remains", source=False)
    done = remove(times.now() - HOUR)
    assert (done.recent.objects, done.removed.objects, done.used.objects) == (2, 0, 0)
    assert left(loop, store) == {used, remains}
    if place.is_local:
        os.utime(place.path(owner, sha256(b"remains")), (1_000_000, 1_000_000))
        keep(owner, b"remains", source=False)
        assert remove(times.now() - HOUR).recent.objects == 2
        os.utime(place.path(owner, sha256(b"remains")), (1_000_000, 1_000_000))
        assert remove(times.now() - HOUR).removed.objects == 1
        assert left(loop, store) == {used}


def test_objects_of_an_owner_without_any_source_stay(
    place: ObjectPlace, loop: Loop, store: ObjectStore, keep: Callable[..., str], remove: Remove
) -> None:
    owner, foreign = str(uuid.uuid4()), str(uuid.uuid4())
    used = keep(owner, b"used")
    kept = {keep(foreign, content, source=False) for content in (b"one", b"two")}
    done = remove()
    assert (done.foreign.objects, len(done.foreign_segments)) == (2, 1)
    assert done.foreign.size == 2 * place.taken(3)
    assert left(loop, store) == {used, *kept}
    assert remove(foreign=True).removed.objects == 2
    assert left(loop, store) == {used}


def test_more_objects_than_one_query_takes(local: ObjectPlace, services: Services, loop: Loop) -> None:
    owner = str(uuid.uuid4())
    store = new_object_store(local.settings)
    first = sha256(b"first")
    loop.run(store.put(owner, parts(b"first")))
    folder = local.path(owner, first).parent.parent
    count = PAGE_OBJECTS * 2 + 10
    hashes = [sha256(str(number).encode()) for number in range(count)]
    for digest in hashes:
        (folder / digest[:2]).mkdir(exist_ok=True)
        (folder / digest[:2] / digest).write_bytes(b"")
    used = hashes[::3]
    loop.run(
        services.database.script(
            "UNWIND $rows AS row "
            "CREATE (:Source {id: row[0], content_hash: row[1], owner: $owner, recorded_at: 1})",
            owner=owner,
            rows=[[ids.source_id(owner, digest), digest] for digest in used],
        )
    )
    done = loop.run(remove_unreferenced(services.database, store, times.now() + HOUR, dry_run=False))
    assert (done.used.objects, done.removed.objects) == (len(used), count + 1 - len(used))
    assert left(loop, store) == set(used)
    loop.run(store.close())
    loop.run(services.database.script("MATCH (n:Source {owner: $owner}) DELETE n", owner=owner))


@pytest.fixture
def gc(
    local: ObjectPlace, services: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Result]]:
    """Run `graphmem storage gc` over the directory of ``local``."""
    store = new_object_store(local.settings)

    @contextlib.asynccontextmanager
    async def opened(*_: Any, **__: Any) -> AsyncIterator[Services]:
        yield replace(services, objects=store)

    monkeypatch.setattr(runtime, "open_services", opened)
    monkeypatch.setattr(in_process, "run_async", loop.run)
    variables = {**local.variables, "NEO4J_URI": "bolt://127.0.0.1:1"}

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["storage", "gc", *words], env=variables, catch_exceptions=False)

    yield run
    loop.run(store.close())


def test_the_command_says_what_it_removed(local: ObjectPlace, gc: Callable[..., Result]) -> None:
    owner, content = str(uuid.uuid4()), b"remains"
    local.run(lambda store: store.put(owner, parts(content)))
    os.utime(local.path(owner, sha256(content)), (1_000_000, 1_000_000))
    unfinished = local.settings.objects_path / ".incoming" / "tmp1"
    unfinished.write_bytes(b"half")
    os.utime(unfinished, (1_000_000, 1_000_000))
    stays = gc()
    assert stays.exit_code == 0
    assert "graphmem storage gc --all-owners" in stays.stderr
    assert not unfinished.exists()
    looked = json.loads(gc("--all-owners", "--dry-run", "--json").stdout)
    assert (looked["dry_run"], looked["removed"], looked["removed_bytes"]) == (True, 1, 7)
    assert local.path(owner, sha256(content)).exists()
    done = json.loads(gc("--all-owners", "--grace", "90m", "--json").stdout)
    assert done == {
        "dry_run": False, "grace_seconds": 5_400, "used": 0, "recent": 0, "removed": 1, "removed_bytes": 7,
        "unfinished": 0, "unfinished_bytes": 0, "owners_without_sources": 0, "objects_without_sources": 0,
        "bytes_without_sources": 0,
    }  # fmt: skip
    assert not local.path(owner, sha256(content)).exists()


def test_the_default_grace_is_a_day(local: ObjectPlace, gc: Callable[..., Result]) -> None:
    assert json.loads(gc("--json").stdout)["grace_seconds"] == 86_400


@pytest.mark.parametrize("grace", ["", "0h", "59m", "24", "-1h", "1w", "h", "1h30m"])
def test_a_grace_that_is_too_short_or_none_is_refused(gc: Callable[..., Result], grace: str) -> None:
    refused = gc("--grace", grace)
    assert refused.exit_code == 2
