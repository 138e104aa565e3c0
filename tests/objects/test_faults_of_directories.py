"""The local object store under faults: a full disk, no rights, a killed process, damage."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.errors import (
    ObjectDamaged,
    ObjectMissing,
    ObjectStoreFull,
    ObjectStoreRefused,
    ObjectStoreUnavailable,
)
from graphmem.objects import ObjectStore
from tests.objects.test_contract_of_stores import HOUR, child, now
from tests.support.object_places import (
    OWNER,
    ObjectPlace,
    collected,
    directory_place,
    listing,
    parts,
    random_bytes,
    sha256,
    whole,
)
from tests.support.permissions import deny

DISK = "16m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is small."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "tmpfs", str(folder)]
    is_root = sys.platform == "linux" and os.geteuid() == 0
    if not is_root or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here: it takes root on Linux")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_only_this_user_reads_the_objects(local: ObjectPlace) -> None:
    previous = os.umask(0)
    try:
        local.run(lambda store: store.put(OWNER, parts(b"mine")))
    finally:
        os.umask(previous)
    modes = {
        (path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in local.settings.data_path.rglob("*")
    }
    assert modes == {(True, 0o700), (False, 0o600)}
    assert stat.S_IMODE(local.settings.data_path.stat().st_mode) == 0o700


def test_a_file_that_shrinks_while_it_is_read_is_damage(local: ObjectPlace) -> None:
    content = random_bytes(5_000_000)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        reading = store.read(OWNER, sha256(content))
        await anext(reading)
        os.truncate(local.path(OWNER, sha256(content)), 2_500_000)
        with pytest.raises(ObjectDamaged):
            await collected(reading)

    local.run(work)


def test_a_put_of_an_old_object_makes_it_new(local: ObjectPlace) -> None:
    content = random_bytes(10)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        os.utime(local.path(OWNER, sha256(content)), (1_000_000, 1_000_000))
        await store.put(OWNER, parts(content))
        assert not await store.delete(OWNER, sha256(content), modified_before=now() - HOUR)

    local.run(work)


def test_a_link_is_no_object(local: ObjectPlace, tmp_path: Path) -> None:
    content = random_bytes(100)
    secret = tmp_path / "secret"
    secret.write_bytes(content)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        path = local.path(OWNER, sha256(content))
        path.unlink()
        path.symlink_to(secret)
        with pytest.raises(ObjectStoreRefused):
            await whole(store, OWNER, sha256(content))
        assert await listing(store) == []
        await store.put(OWNER, parts(content))
        assert not path.is_symlink()
        assert await whole(store, OWNER, sha256(content)) == content

    local.run(work)


def test_a_full_disk_is_told_and_leaves_nothing(small_disk: Path) -> None:
    place = directory_place(small_disk / "data")

    async def work(store: ObjectStore) -> None:
        stored = await store.put(OWNER, parts(random_bytes(1_000_000)))
        with pytest.raises(ObjectStoreFull) as caught:
            await store.put(OWNER, parts(random_bytes(17_000_000)))
        assert caught.value.status == 503
        assert [item.name for item in await listing(store)] == [stored.sha256]
        assert (await store.leftovers(now() + HOUR)).count == 0
        await store.put(OWNER, parts(random_bytes(10_000_000)))

    place.run(work)


def test_a_put_leaves_the_reserve_of_the_disk_to_the_database(small_disk: Path) -> None:
    place = directory_place(small_disk / "data", disk_reserve=20_000_000)

    async def work(store: ObjectStore) -> None:
        with pytest.raises(ObjectStoreFull) as caught:
            await store.put(OWNER, parts(b"one"))
        assert caught.value.details["needed_bytes"] == 20_000_000
        assert await listing(store) == []

    place.run(work)


def test_a_limit_on_the_size_of_files_is_like_a_full_disk(local: ObjectPlace) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def work(store: ObjectStore) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, limits[1]))
        try:
            with pytest.raises(ObjectStoreFull):
                await store.put(OWNER, parts(random_bytes(4_000_000)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert await listing(store) == []

    local.run(work)


def test_a_file_in_the_place_of_the_directory_is_told(local: ObjectPlace) -> None:
    local.settings.data_path.mkdir()
    local.settings.objects_path.write_text("no directory")

    async def work(store: ObjectStore) -> None:
        with pytest.raises(ObjectStoreRefused):
            await store.put(OWNER, parts(b"one"))
        with pytest.raises(ObjectStoreUnavailable):
            await whole(store, OWNER, sha256(b"one"))

    local.run(work)


def test_without_rights_nothing_is_stored_or_read(
    local: ObjectPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.run(lambda store: store.put(OWNER, parts(b"one")))
    deny(monkeypatch, local.settings.objects_path)

    async def work(store: ObjectStore) -> None:
        for call in (
            store.put(OWNER, parts(b"two")),
            whole(store, OWNER, sha256(b"one")),
            store.exists(OWNER, sha256(b"one")),
            store.delete(OWNER, sha256(b"one")),
            listing(store),
            store.check(),
        ):
            with pytest.raises(ObjectStoreRefused) as caught:
                await call
            assert caught.value.details["reason"] == "Permission denied"

    local.run(work)


def test_a_directory_that_vanished_is_no_missing_object(local: ObjectPlace) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(b"one"))
        local.path(OWNER, sha256(b"one")).unlink()
        with pytest.raises(ObjectMissing):
            await whole(store, OWNER, sha256(b"one"))
        shutil.rmtree(local.settings.objects_path)
        with pytest.raises(ObjectStoreUnavailable):
            await whole(store, OWNER, sha256(b"one"))

    local.run(work)


def test_a_process_that_is_killed_in_a_put_leaves_no_object(local: ObjectPlace) -> None:
    process = child(local, "endless")
    assert process.stdout
    assert process.stdout.readline() == "begun\n"
    process.kill()
    process.communicate(timeout=30)

    async def work(store: ObjectStore) -> None:
        assert await listing(store) == []
        left = await store.leftovers(now() + HOUR)
        assert (left.count, left.size >= 2_000_000) == (1, True)
        assert (await store.leftovers(now() - HOUR, remove=True)).count == 0
        assert (await store.leftovers(now() + HOUR, remove=True)).count == 1
        assert (await store.leftovers(now() + HOUR)).count == 0

    local.run(work)


def test_removing_old_objects_never_takes_one_that_is_put_again(local: ObjectPlace) -> None:
    """Puts and removals of one object race: after a put that ended after the removal began, it is there."""
    content = random_bytes(1_000)
    digest = sha256(content)

    async def work(store: ObjectStore) -> None:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            await store.put(OWNER, parts(content))
            os.utime(local.path(OWNER, digest), (1_000_000, 1_000_000))
            cutoff = now() - HOUR
            await asyncio.gather(
                store.put(OWNER, parts(content)), store.delete(OWNER, digest, modified_before=cutoff)
            )
            assert await whole(store, OWNER, digest) == content

    local.run(work)
