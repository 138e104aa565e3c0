"""Files cannot be written: the answer says so, nothing of them is stored, and they can be stored later."""

from __future__ import annotations

import base64
import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmem.api.app import create_app
from graphmem.context import Services
from graphmem.errors import ObjectStoreUnavailable
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_rest
from tests.support.object_places import ObjectPlace, directory_place, random_bytes
from tests.support.power import PowerDisk, power_disk, run

CONTENT = random_bytes(300_000)
FILE = {"file_content": base64.b64encode(CONTENT).decode(), "original_filename": "letter.bin"}
ENTITY = {"entities": [{"entity_type": "thing", "name": "letter"}]}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PowerDisk]:
    """A small disk of its own for the objects."""
    with power_disk(tmp_path, 64) as made:
        yield made


@contextlib.contextmanager
def read_only(disk: PowerDisk) -> Iterator[None]:
    run("mount", "-o", "remount,ro", str(disk.folder))
    yield
    run("mount", "-o", "remount,rw", str(disk.folder))


@contextlib.contextmanager
def full(disk: PowerDisk) -> Iterator[None]:
    ballast = disk.folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    assert shutil.disk_usage(disk.folder).free < len(CONTENT)
    yield
    ballast.unlink()


@contextlib.contextmanager
def dead(disk: PowerDisk) -> Iterator[None]:
    """Have every access fail, as on a disk that breaks."""
    disk.cut()
    yield
    disk.restart()


FAULTS = {"refuses the service": read_only, "has no space left": full, "does not answer": dead}
"""How files cannot be written, by what the answer says of their store."""


def over(loop: Loop, services: Services, place: ObjectPlace, owner: str) -> Call:
    """Return a service over REST whose objects are in a place."""

    async def authenticate(caller: Any) -> Any:
        return full_actor(owner)

    return by_rest(loop, create_app(replace(services, objects=place.open()), authenticate), owner)


def state(rest: Call) -> Any:
    """Return what a store would change."""
    stats = rest("server.stats")
    return [stats[name] for name in ("sequence", "state_hash", "sources_count", "total_entities")], rest(
        "sources.list"
    )


def test_a_file_that_cannot_be_written_is_stored_once_it_can_be(
    disk: PowerDisk, loop: Loop, services: Services, owner: str
) -> None:
    rest = over(loop, services, directory_place(disk.folder), owner)
    rest("store", entities=[{"entity_type": "thing", "name": "first"}], file_content="Zmlyc3Q=")
    disk.flush()
    before = state(rest)
    for said, fault in FAULTS.items():
        with fault(disk):
            for arguments in (FILE, FILE | ENTITY):
                with pytest.raises(ObjectStoreUnavailable, match=said) as raised:
                    rest("store", **arguments, idempotency_key="letter")
                assert raised.value.details["retryable"] is True
            assert state(rest) == before
            # What needs no file is stored.
            rest("store", entities=[{"entity_type": "thing", "name": said}])
            before = state(rest)
    stored = rest("store", **FILE, **ENTITY, idempotency_key="letter")
    assert not stored.get("replayed")
    assert rest("sources.get", source_id=stored["source_id"])["file_size"] == len(CONTENT)
    assert rest("server.check_snapshots")["healthy"]
    assert not list((disk.folder / "objects/.incoming").iterdir())
