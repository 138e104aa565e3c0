"""Sealed objects: what was changed, moved, cut or swapped is never answered as something else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.errors import DecryptionFailed, ObjectDamaged
from graphmem.objects import ObjectStore
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.sealed_files import (
    HEAD_BYTES,
    SEGMENT_BYTES,
    TAG_BYTES,
    FileOpener,
    object_name,
    plain_size,
)
from tests.support.object_places import OWNER, ObjectPlace, collected, directory_place, parts, random_bytes
from tests.support.object_places import sha256 as digest_of

OTHER = "22222222-2222-2222-2222-222222222222"
SEALED = SEGMENT_BYTES + TAG_BYTES
CONTENT = random_bytes(2 * SEGMENT_BYTES + 100)
SECOND = random_bytes(len(CONTENT))
GOLDEN = Path(__file__).parents[1] / "data" / "sealed"


@pytest.fixture
def place(tmp_path: Path) -> ObjectPlace:
    return directory_place(tmp_path / "data").sealed()


def at(data: bytes, place: int) -> bytes:
    """Return the bytes with one bit changed."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def segment(data: bytes, number: int) -> bytes:
    return data[HEAD_BYTES + number * SEALED : HEAD_BYTES + (number + 1) * SEALED]


FAULTS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "first byte": lambda data, _: at(data, 0),
    "id of the key": lambda data, _: at(data, 10),
    "wrapped key": lambda data, _: at(data, 40),
    "beginning of nonces": lambda data, _: at(data, HEAD_BYTES - 1),
    "first segment": lambda data, _: at(data, HEAD_BYTES + 5),
    "tag of the last segment": lambda data, _: at(data, len(data) - 1),
    "cut in a segment": lambda data, _: data[:-1],
    "cut after a segment": lambda data, _: data[: HEAD_BYTES + 2 * SEALED],
    "cut in the head": lambda data, _: data[: HEAD_BYTES - 3],
    "empty": lambda data, _: b"",
    "longer": lambda data, _: data + b"x",
    "segments swapped": lambda data, _: (
        data[:HEAD_BYTES] + segment(data, 1) + segment(data, 0) + segment(data, 2)
    ),
    "segment twice": lambda data, _: (
        data[:HEAD_BYTES] + segment(data, 0) + segment(data, 0) + segment(data, 2)
    ),
    "segment of another file": lambda data, other: (
        data[:HEAD_BYTES] + segment(other, 0) + data[HEAD_BYTES + SEALED :]
    ),
    "head of another file": lambda data, other: other[:HEAD_BYTES] + data[HEAD_BYTES:],
    "another file": lambda _, other: other,
    "in clear": lambda _, __: CONTENT,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_changed_is_never_answered(place: ObjectPlace, fault: str) -> None:
    name = digest_of(CONTENT)

    async def work(store: ObjectStore) -> None:
        for content in (CONTENT, SECOND):
            await store.put(OWNER, parts(content))
        paths = [place.path(OWNER, digest_of(content)) for content in (CONTENT, SECOND)]
        data, other = (path.read_bytes() for path in paths)
        paths[0].write_bytes(FAULTS[fault](data, other))
        # Of a range, only what is read is opened.
        for start, end in ((0, None), (SEGMENT_BYTES // 2, len(CONTENT))):
            received = bytearray()
            with pytest.raises((ObjectDamaged, DecryptionFailed)):
                await collected(store.read(OWNER, name, start, end, size=len(CONTENT)), received)
            assert CONTENT[start:].startswith(received)
        paths[0].write_bytes(data)
        assert await collected(store.read(OWNER, name)) == CONTENT

    place.run(work)


def test_a_file_of_another_owner_does_not_open(place: ObjectPlace) -> None:
    async def work(store: ObjectStore) -> None:
        for owner in (OWNER, OTHER):
            await store.put(owner, parts(CONTENT))
        name = digest_of(CONTENT)
        assert place.path(OWNER, name).name != place.path(OTHER, name).name
        place.path(OTHER, name).write_bytes(place.path(OWNER, name).read_bytes())
        with pytest.raises(ObjectDamaged, match="another one"):
            await collected(store.read(OTHER, name))

    place.run(work)


def test_nothing_in_the_store_tells_what_it_has(place: ObjectPlace) -> None:
    content = b"the canary sings " * 100_000

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(content))

    place.run(work)
    files = [path for path in place.settings.objects_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"canary" in path.read_bytes()] == []
    assert not any(digest_of(content)[:16] in str(path) for path in files)


def test_nothing_that_waits_on_the_disk_is_in_clear(place: ObjectPlace) -> None:
    content = b"the canary sings " * 200_000
    seen = list[bytes]()

    async def looked() -> object:
        async for part in parts(content):
            yield part
        seen.extend(path.read_bytes() for path in (place.settings.objects_path / ".incoming").iterdir())

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, looked())  # pyright: ignore[reportArgumentType]

    place.run(work)
    assert seen
    assert not any(b"canary" in data for data in seen)


@pytest.mark.parametrize(
    "size", [0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES]
)
def test_the_size_of_a_sealed_file_tells_its_own(place: ObjectPlace, size: int) -> None:
    assert plain_size(place.taken(size)) == size


@pytest.mark.parametrize("size", [0, HEAD_BYTES, HEAD_BYTES + TAG_BYTES - 1, HEAD_BYTES + SEALED + 5])
def test_a_size_that_no_sealed_file_has_is_refused(size: int) -> None:
    with pytest.raises(DecryptionFailed):
        plain_size(size)


def test_a_file_that_was_sealed_once_opens_for_ever(tmp_path: Path) -> None:
    (tmp_path / "keys.json").touch(mode=0o600)
    (tmp_path / "keys.json").write_bytes((GOLDEN / "keys.json").read_bytes())
    keys = InstanceKeys(tmp_path / "keys.json", RootKey.read("7f" * 32))
    data = (GOLDEN / "file").read_bytes()
    name = (GOLDEN / "name").read_text("ascii").strip()
    opener = FileOpener(keys, OWNER, name, data[:HEAD_BYTES], len(data))
    assert opener.open(0, data[HEAD_BYTES:]) == b"a file of the first version"
    digest = hashlib.sha256(b"a file of the first version").hexdigest()
    assert object_name(keys.first_of(OWNER), digest) == name
    assert keys.token() == (GOLDEN / "token").read_text("ascii").strip()
