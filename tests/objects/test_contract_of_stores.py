"""What every object store does, in a directory and in S3 alike."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from graphmem.errors import ObjectDamaged, ObjectMissing
from graphmem.objects import ObjectStore, StoredObject
from graphmem.objects.backend import CHUNK_BYTES
from tests.support.examples import LONG
from tests.support.long_cases import mostly_long
from tests.support.object_places import (
    OWNER,
    ObjectPlace,
    collected,
    listing,
    parts,
    random_bytes,
    sha256,
    whole,
)
from tests.support.walks import walk_over

SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 5]
PLACES = ["directory", "s3", "sealed directory", "sealed s3"]
OTHER = "22222222-2222-2222-2222-222222222222"
MEMORY_LIMIT = 32_000_000
FILE_BYTES = 50_000_000
PUTS = 20 if LONG else 3
"""How often each of two processes puts the same bytes."""
HOUR = 3_600 * 1_000_000


def now() -> int:
    return time.time_ns() // 1_000


@walk_over("size", SIZES)
def test_bytes_come_back_as_they_were_put(place: ObjectPlace, size: int) -> None:
    content = random_bytes(size)

    async def work(store: ObjectStore) -> None:
        stored = await store.put(OWNER, parts(content))
        assert stored == StoredObject(sha256(content), size)
        assert await whole(store, OWNER, stored.sha256) == content
        assert await store.size(OWNER, stored.sha256) == size
        assert await store.exists(OWNER, stored.sha256)

    place.run(work)


def test_a_file_and_an_open_file_are_put_like_an_iterator(place: ObjectPlace, tmp_path: Path) -> None:
    content = random_bytes(2 * CHUNK_BYTES + 7)
    file = tmp_path / "file"
    file.write_bytes(content)

    async def work(store: ObjectStore) -> None:
        assert await store.put(OWNER, file) == StoredObject(sha256(content), len(content))
        assert await store.put(OTHER, io.BytesIO(content)) == StoredObject(sha256(content), len(content))
        assert await whole(store, OTHER, sha256(content)) == content

    place.run(work)


def test_a_source_that_fails_leaves_nothing(place: ObjectPlace, tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield random_bytes(CHUNK_BYTES)
        raise ConnectionError("the client went away")

    async def work(store: ObjectStore) -> None:
        with pytest.raises(ConnectionError):
            await store.put(OWNER, breaking())
        with pytest.raises(FileNotFoundError):
            await store.put(OWNER, tmp_path / "nothing")
        assert await listing(store) == []
        assert (await store.leftovers(now() + HOUR)).count == 0

    place.run(work)


def test_a_put_that_is_cancelled_leaves_nothing(place: ObjectPlace) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield random_bytes(100_000)
            await asyncio.sleep(0)

    async def work(store: ObjectStore) -> None:
        task = asyncio.create_task(store.put(OWNER, endless()))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await listing(store) == []
        assert (await store.leftovers(now() + HOUR)).count == 0

    place.run(work)


@pytest.mark.parametrize("step", ["stage", "open"])
def test_a_call_that_is_cancelled_while_it_opens_a_file_closes_it(
    place: ObjectPlace, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    opened = []
    begun, may_go_on = threading.Event(), threading.Event()

    async def work(store: ObjectStore) -> None:
        stored = await store.put(OWNER, parts(b"one"))
        backend = store._backend()
        real = getattr(backend, step)

        def slow(*args: Any) -> Any:
            begun.set()
            assert may_go_on.wait(60)
            made = real(*args)
            made.close = Mock(side_effect=made.close)
            opened.append(made)
            return made

        monkeypatch.setattr(backend, step, slow)
        call = store.put(OWNER, parts(b"two")) if step == "stage" else whole(store, OWNER, stored.sha256)
        task = asyncio.create_task(call)
        assert await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        (made,) = opened
        made.close.assert_called_once_with()
        assert (await store.leftovers(now() + HOUR)).count == 0

    place.run(work)


def test_an_object_belongs_to_its_owner_alone(place: ObjectPlace) -> None:
    content = random_bytes(1_000)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        assert not await store.exists(OTHER, sha256(content))
        with pytest.raises(ObjectMissing):
            await whole(store, OTHER, sha256(content))
        assert not await store.delete(OTHER, sha256(content))
        assert await store.exists(OWNER, sha256(content))

    place.run(work)


@walk_over("owner", ["../../etc", "Ada", "ada", "日本 語", "a/b", "x" * 255, "Ä" * 255, "CON", "."])
def test_any_owner_has_objects(place: ObjectPlace, owner: str) -> None:
    content = random_bytes(100)

    async def work(store: ObjectStore) -> None:
        await store.put(owner, parts(content))
        assert await whole(store, owner, sha256(content)) == content
        assert [item.name for item in await listing(store, owner)] == [place.name(owner, sha256(content))]

    place.run(work)


def test_what_is_missing_is_missing(place: ObjectPlace) -> None:
    digest = sha256(b"never stored")

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(b"another"))
        assert not await store.exists(OWNER, digest)
        assert not await store.delete(OWNER, digest)
        for call in (store.size(OWNER, digest), whole(store, OWNER, digest)):
            with pytest.raises(ObjectMissing) as caught:
                await call
            assert caught.value.details["sha256"] == digest
        with pytest.raises(ObjectMissing):
            await collected(store.read(OWNER, digest, 5, 5))

    place.run(work)


@pytest.mark.parametrize("digest", ["", "../x", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_hash_that_is_none_is_refused(local: ObjectPlace, digest: str) -> None:
    async def work(store: ObjectStore) -> None:
        with pytest.raises(ValueError):
            await whole(store, OWNER, digest)

    local.run(work)


def test_a_new_store_is_empty(place: ObjectPlace) -> None:
    async def work(store: ObjectStore) -> None:
        assert not await store.exists(OWNER, sha256(b""))
        assert not await store.delete(OWNER, sha256(b""))
        assert await listing(store) == []

    place.run(work)


@walk_over(
    "start, end",
    [(0, 0), (0, 1), (5, 9), (0, None), (7, None), (CHUNK_BYTES - 3, 2 * CHUNK_BYTES + 3), (None, None)],
)
def test_a_range_has_the_bytes_of_the_range(place: ObjectPlace, start: int | None, end: int | None) -> None:
    content = random_bytes(2 * CHUNK_BYTES + 100)
    start = len(content) if start is None else start

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        read = store.read(OWNER, sha256(content), start, end if start < len(content) else start)
        assert await collected(read) == content[start:end]

    place.run(work)


def test_a_range_beyond_the_end_is_damage(place: ObjectPlace) -> None:
    content = random_bytes(1_000)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        for start, end in ((0, 1_001), (999, 1_001), (1_000, 1_001), (5_000, 6_000)):
            with pytest.raises(ObjectDamaged):
                await collected(store.read(OWNER, sha256(content), start, end))
        with pytest.raises(ValueError):
            await collected(store.read(OWNER, sha256(content), 5, 4))

    place.run(work)


@pytest.mark.parametrize("size", [10, CHUNK_BYTES, 3 * CHUNK_BYTES + 5])
@pytest.mark.parametrize("position", ["first", "last"])
def test_a_wrong_byte_never_ends_a_whole_answer(place: ObjectPlace, size: int, position: str) -> None:
    content = bytearray(random_bytes(size))
    digest = sha256(bytes(content))

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(bytes(content)))
        content[0 if position == "first" else -1] ^= 1
        place.overwrite(OWNER, digest, bytes(content))
        received = bytearray()
        with pytest.raises(ObjectDamaged):
            await collected(store.read(OWNER, digest), received)
        assert len(received) < size

    place.run(work)


@pytest.mark.parametrize("kept", [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 4])
def test_a_truncated_object_is_noticed_and_replaced(place: ObjectPlace, kept: int) -> None:
    content = random_bytes(2 * CHUNK_BYTES + 5)
    digest = sha256(content)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        place.overwrite(OWNER, digest, content[:kept])
        for size in (None, len(content)):
            with pytest.raises(ObjectDamaged):
                await collected(store.read(OWNER, digest, size=size))
        with pytest.raises(ObjectDamaged):
            await collected(store.read(OWNER, digest, 0, 1, size=len(content)))
        await store.put(OWNER, parts(content))
        assert await whole(store, OWNER, digest) == content

    place.run(work)


def test_a_put_repairs_an_object_with_a_wrong_byte(place: ObjectPlace) -> None:
    content = random_bytes(3_000_000)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        place.overwrite(OWNER, sha256(content), content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(ObjectDamaged):
            await whole(store, OWNER, sha256(content))
        await store.put(OWNER, parts(content))
        assert await whole(store, OWNER, sha256(content)) == content

    place.run(work)


def test_the_same_bytes_are_not_written_twice(place: ObjectPlace) -> None:
    content = random_bytes(CHUNK_BYTES + 1)

    def identity() -> Any:
        if place.server is None:
            return place.path(OWNER, sha256(content)).stat().st_ino
        key = place.settings.objects_prefix + place.key(OWNER, sha256(content))
        return place.server.client().head_object(Bucket=place.settings.objects_bucket, Key=key)[
            "LastModified"
        ]

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        first = identity()
        # S3 tells the time in seconds.
        await asyncio.sleep(0 if place.is_local else 1.1)
        assert await store.put(OWNER, parts(content)) == StoredObject(sha256(content), len(content))
        # Sealed bytes are never the same twice.
        assert place.keys is not None or identity() == first
        assert len(await listing(store)) == 1

    place.run(work)


def test_keys_are_listed_with_owner_size_and_time(place: ObjectPlace) -> None:
    contents = {owner: [random_bytes(count) for count in (0, 10, 2_000)] for owner in (OWNER, "Ada/Ö", OTHER)}
    before = now() - 2_000_000

    async def work(store: ObjectStore) -> None:
        for owner, each in contents.items():
            for content in each:
                await store.put(owner, parts(content))
        listed = await listing(store)
        assert {(item.owner, item.name, item.size) for item in listed} == {
            (owner, place.name(owner, sha256(content)), place.taken(len(content)))
            for owner, each in contents.items()
            for content in each
        }
        assert all(before <= item.modified_at <= now() + 2_000_000 for item in listed)
        names = {item.name for item in await listing(store, "Ada/Ö")}
        assert names == {place.name("Ada/Ö", sha256(content)) for content in contents["Ada/Ö"]}
        assert await listing(store, "Ada") == []

    place.run(work)


def test_a_put_makes_an_object_too_new_to_be_removed(place: ObjectPlace) -> None:
    content = random_bytes(100)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))
        assert not await store.delete(OWNER, sha256(content), modified_before=now() - HOUR)
        assert await store.exists(OWNER, sha256(content))
        assert await store.delete(OWNER, sha256(content), modified_before=now() + HOUR)
        assert not await store.exists(OWNER, sha256(content))
        await store.put(OWNER, parts(content))
        assert await store.delete(OWNER, sha256(content))
        assert not await store.delete(OWNER, sha256(content))

    place.run(work)


def test_erasing_takes_the_objects_of_one_owner(place: ObjectPlace) -> None:
    async def work(store: ObjectStore) -> None:
        for owner in (OWNER, OTHER):
            for content in (b"one", b"two", b""):
                await store.put(owner, parts(content))
        assert await store.erase(OWNER) == 3
        assert await store.erase(OWNER) == 0
        assert {item.owner for item in await listing(store)} == {OTHER}
        assert await whole(store, OTHER, sha256(b"one")) == b"one"

    place.run(work)
    if place.is_local:
        assert not (place.settings.objects_path / OWNER).exists()


def test_the_check_of_a_store_leaves_nothing(place: ObjectPlace) -> None:
    async def work(store: ObjectStore) -> None:
        await store.check()
        assert await listing(store) == []

    place.run(work)
    if place.server is None:
        assert not [path for path in place.settings.objects_path.iterdir() if path.name.startswith(".probe")]
    else:
        answer = place.server.client().list_objects_v2(Bucket=place.settings.objects_bucket)
        assert "Contents" not in answer


def test_what_is_no_object_is_not_listed(place: ObjectPlace) -> None:
    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(b"one"))
        for name in (f"{OWNER}/ab/notes.txt", f"{OWNER}/README", "README", f"{OWNER}/00/{'1' * 64}"):
            if place.server is None:
                path = place.settings.objects_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"x")
            else:
                key = place.settings.objects_prefix + name
                place.server.client().put_object(Bucket=place.settings.objects_bucket, Key=key, Body=b"x")
        assert [item.name for item in await listing(store)] == [place.name(OWNER, sha256(b"one"))]

    place.run(work)


def test_puts_of_the_same_bytes_at_once_make_one_object(place: ObjectPlace) -> None:
    content = random_bytes(2 * CHUNK_BYTES)

    async def work(store: ObjectStore) -> None:
        stored = await asyncio.gather(*[store.put(OWNER, parts(content)) for _ in range(8)])
        assert set(stored) == {StoredObject(sha256(content), len(content))}
        assert await whole(store, OWNER, sha256(content)) == content
        assert len(await listing(store)) == 1
        assert (await store.leftovers(now() + HOUR)).count == 0

    place.run(work)


@pytest.mark.parametrize("place", mostly_long(PLACES, "directory", "s3"), indirect=True)
def test_two_processes_that_put_the_same_bytes_make_one_object(place: ObjectPlace) -> None:
    started = [child(place, "repeat", str(PUTS), "2000000") for _ in range(2)]
    outputs = [process.communicate(timeout=100)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert outputs[0] == outputs[1]

    async def work(store: ObjectStore) -> None:
        (item,) = await listing(store)
        assert item.size == place.taken(2_000_000)

    place.run(work)


@pytest.mark.parametrize("place", mostly_long(PLACES, "s3", "sealed directory"), indirect=True)
def test_putting_and_reading_50_mb_takes_little_memory(place: ObjectPlace) -> None:
    process = child(place, "measure", str(FILE_BYTES))
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    risen = dict(re.findall(r"(put|read) (\d+)", output))
    assert set(risen) == {"put", "read"}
    assert all(int(count) < MEMORY_LIMIT for count in risen.values()), risen


def child(place: ObjectPlace, *words: str) -> subprocess.Popen[str]:
    """Start tests/support/object_puts.py on the same place."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.object_puts", *words],
        env={**os.environ, **place.variables, "GRAPHMEM_DISK_RESERVE": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
