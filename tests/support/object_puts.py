"""Puts of another process: ``python -m tests.support.object_puts WORK NUMBER…``.

``repeat TIMES SIZE`` puts the same bytes several times. ``measure SIZE`` prints how much memory a put and a
read of so many bytes take. ``endless`` puts bytes without an end, and prints a line when it has begun.
"""

from __future__ import annotations

import asyncio
import random
import re
import resource
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from graphmem.objects import ObjectStore, new_object_store
from graphmem.sealing import keys_of
from graphmem.settings import load
from tests.support.object_places import OWNER, parts, random_bytes, whole


async def repeat(store: ObjectStore, times: int, size: int) -> None:
    """Put the same bytes several times, and print their hash."""
    content = random.Random(1).randbytes(size)
    hashes = {(await store.put(OWNER, parts(content))).sha256 for _ in range(times)}
    sys.stdout.write(f"{hashes}\n")


async def measure(store: ObjectStore, size: int) -> None:
    """Print by how many bytes a put and a read raise the peak of resident memory, and their seconds."""
    small = await store.put(OWNER, parts(b"small"))
    await whole(store, OWNER, small.sha256)
    before, start = resident_peak(), time.perf_counter()
    stored = await store.put(OWNER, made(size))
    tell("put", before, start)
    before, start = resident_peak(), time.perf_counter()
    async for _ in store.read(OWNER, stored.sha256):
        pass
    tell("read", before, start)


def tell(name: str, before: int, start: float) -> None:
    """Print what was measured since ``before`` and ``start``."""
    sys.stdout.write(f"{name} {resident_peak() - before} bytes in {time.perf_counter() - start:.3f} s\n")


async def endless(store: ObjectStore) -> None:
    """Put bytes without an end."""

    async def source() -> AsyncIterator[bytes]:
        yield random_bytes(2_000_000)
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        while True:
            await asyncio.sleep(0.01)
            yield b"x" * 65_536

    await store.put(OWNER, source())


async def made(size: int) -> AsyncIterator[bytes]:
    """Yield so many bytes, each part made when it is needed."""
    part = random_bytes(65_536)
    for start in range(0, size, len(part)):
        yield part[: size - start]


def resident_peak() -> int:
    """Return the largest resident memory that this process has had, in bytes."""
    if sys.platform == "linux":
        # The peak that getrusage tells begins with that of the parent process.
        (peak,) = re.findall(
            r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text("utf-8"), re.MULTILINE
        )
        return int(peak) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


async def main(words: list[str]) -> None:
    """Run what the words say."""
    settings = load(env="test")
    store = new_object_store(settings, keys_of(settings))
    try:
        work = {"repeat": repeat, "measure": measure, "endless": endless}[words[0]]
        await work(store, *map(int, words[1:]))
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
