"""Object stores for tests, plain and sealed: in a directory, and in a bucket of a real S3 server."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem import settings
from graphmem.objects import ListedObject, ObjectStore, new_object_store
from graphmem.objects.keys import key_below, object_key, owner_segment
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.sealed_files import HEAD_BYTES, SEGMENT_BYTES, TAG_BYTES, object_name
from graphmem.settings import Settings

if TYPE_CHECKING:
    # A process of tests.support.object_puts has no use for what starts servers, which takes 2 s to import.
    from tests.support.s3_server import S3Server

OWNER = "11111111-1111-1111-1111-111111111111"


@dataclass(slots=True)
class ObjectPlace:
    """Where objects are, by their settings. Stores over it may be opened one after the other."""

    settings: Settings
    server: S3Server | None = None
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables that select this place in another process."""
    keys: InstanceKeys | None = None

    @property
    def is_local(self) -> bool:
        """Whether it is a directory."""
        return self.server is None

    def path(self, owner: str, sha256: str) -> Path:
        """Return the file of an object in a directory."""
        return self.settings.objects_path / self.key(owner, sha256)

    def key(self, owner: str, sha256: str) -> str:
        """Return the key of an object."""
        if self.keys is None:
            return object_key(owner, sha256)
        return key_below(owner_segment(owner), self.name(owner, sha256))

    def name(self, owner: str, sha256: str) -> str:
        """Return the name under which an object is listed."""
        return sha256 if self.keys is None else object_name(self.keys.first_of(owner), sha256)

    def taken(self, size: int) -> int:
        """Return how many bytes an object of some size takes in the store."""
        segments = -(-size // SEGMENT_BYTES) or 1
        return size if self.keys is None else HEAD_BYTES + size + segments * TAG_BYTES

    def open(self) -> ObjectStore:
        """Return a store over it."""
        return new_object_store(self.settings, self.keys)

    def sealed(self) -> ObjectPlace:
        """Return the place as that of a sealed instance."""
        root = RootKey.new()
        keys = InstanceKeys.create(self.settings.keys_path, root)
        return replace(self, keys=keys, variables={**self.variables, "GRAPHMEM_ROOT_KEY": root.words})

    def overwrite(self, owner: str, sha256: str, content: bytes) -> None:
        """Put other bytes in the place of an object, behind the back of the store."""
        if self.server is None:
            self.path(owner, sha256).write_bytes(content)
            return
        key = self.settings.objects_prefix + self.key(owner, sha256)
        self.server.client().put_object(Bucket=self.settings.objects_bucket, Key=key, Body=content)

    def run(self, work: Any) -> Any:
        """Open a store, call ``work(store)`` in an event loop, and close the store."""

        async def go() -> Any:
            store = self.open()
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(go())


def directory_place(folder: Path, keys: InstanceKeys | None = None, **more: Any) -> ObjectPlace:
    """Return a place in a directory. ``keys``: those of a sealed instance."""
    own = {"env": "test", "data_dir": folder, "disk_reserve": 0} | more
    return ObjectPlace(settings.load(**own), None, {"GRAPHMEM_DATA_DIR": str(folder)}, keys)


def s3_place(
    server: S3Server, folder: Path, prefix: str = "kept/here", keys: InstanceKeys | None = None, **more: Any
) -> ObjectPlace:
    """Return a place in a new bucket. ``keys``: those of a sealed instance."""
    bucket = server.new_bucket()
    own = {
        "objects_bucket": bucket,
        "objects_prefix": prefix,
        "objects_endpoint": server.endpoint,
        "objects_connect_timeout": 2.0,
        "objects_read_timeout": 5.0,
    }
    chosen = settings.load(**{"env": "test", "data_dir": folder, "disk_reserve": 0} | own | more)
    variables = {f"GRAPHMEM_{name.upper()}": str(value) for name, value in own.items()}
    variables |= {"GRAPHMEM_DATA_DIR": str(folder), **server.variables}
    return ObjectPlace(chosen, server, variables, keys)


def sha256(content: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


async def parts(content: bytes, size: int = 65_536) -> AsyncIterator[bytes]:
    """Yield bytes in parts, as a request brings them."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def collected(chunks: AsyncIterator[bytes], received: bytearray | None = None) -> bytes:
    """Return the bytes of an iterator. ``received`` has those that came before it raised."""
    received = bytearray() if received is None else received
    async for chunk in chunks:
        received += chunk
    return bytes(received)


async def listing(store: ObjectStore, owner: str | None = None) -> list[ListedObject]:
    """Return the objects of an owner, or of all."""
    return [listed async for listed in store.keys(owner)]


async def whole(store: ObjectStore, owner: str, digest: str) -> bytes:
    """Return all bytes of an object."""
    return await collected(store.read(owner, digest))


def random_bytes(count: int) -> bytes:
    """Return bytes that nobody has stored before."""
    return os.urandom(count)
