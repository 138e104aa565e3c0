"""A disk whose power is cut: an ext4 on a loop device that is shut down with what was not flushed.

What a program wrote without ``fsync`` is lost, and so are new names in directories. Mounting the disk
again replays its journal, as a machine does that starts again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import pytest

from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.sealed_rows import RowSealer
from graphmem.settings import Settings
from graphmem.writing.things import NEAR_KIND
from tests.support.embedded_neo4j import engine_settings, servers_of
from tests.support.forked_services import ForkedProcess
from tests.support.killed_services import KillableService, until

EXT4_IOC_SHUTDOWN = 1 << 30 << 1 | 4 << 16 | ord("X") << 8 | 125
NOLOGFLUSH = 2
"""The journal is not flushed first."""
DISK_MEGABYTES = 1_500
"""Room for two copies of an instance while it is moved."""


class PowerDisk:
    """A mounted disk at ``folder``, whose power can be cut."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.image, self.folder = image, folder

    def mount(self) -> None:
        """Mount it; what its journal has is done first."""
        run("mount", "-t", "ext4", "-o", "loop", str(self.image), str(self.folder))

    def flush(self) -> None:
        """Have all that was written reach the disk."""
        run("sync", "--file-system", str(self.folder))

    def cut(self) -> None:
        """Cut the power: from now on nothing reaches the disk, and every write fails."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, EXT4_IOC_SHUTDOWN, struct.pack("I", NOLOGFLUSH))
        finally:
            os.close(handle)

    def restart(self) -> None:
        """Mount it again after a cut. No other process may have a file of it open."""
        for link in Path("/proc/self/fd").iterdir():
            # What a killed function of this process has open, the end of its process would close.
            with contextlib.suppress(OSError):
                if link.readlink().is_relative_to(self.folder):
                    os.close(int(link.name))
        until(lambda: not subprocess.run(["umount", str(self.folder)], capture_output=True).returncode)
        self.mount()


@contextlib.contextmanager
def power_disk(folder: Path, megabytes: int = DISK_MEGABYTES) -> Iterator[PowerDisk]:
    """Make a disk whose power can be cut. The test is skipped where loop devices are not to be had."""
    image, mounted = folder / "disk.image", folder / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    disk = PowerDisk(image, mounted)
    try:
        assert sys.platform == "linux", "this is not Linux"
        # Without lazy initialization nothing writes beside the test.
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(image))
        disk.mount()
    except (OSError, AssertionError) as exc:
        pytest.skip(f"the power of a disk cannot be cut here, which takes root and loop devices: {exc}")
    try:
        yield disk
    finally:
        run("umount", "--lazy", str(mounted))
        image.unlink()


def run(*words: str) -> None:
    """Run a program; AssertionError with what it printed: it failed."""
    done = subprocess.run(words, capture_output=True, text=True)
    assert not done.returncode, done.stderr.strip()


class PoweredService(KillableService):
    """A service whose data directory, with its Neo4j, is on a disk whose power can be cut.

    ``root``: the root key of a sealed instance. ``beside``: commands that run beside the service;
    ``ended``: whether one of them had done its work when the power was cut.
    """

    def __init__(self, disk: PowerDisk, root: RootKey | None = None) -> None:
        self.disk, self.beside, self.ended = disk, list[ForkedProcess](), False
        secret = {} if root is None else {"GRAPHMEM_ROOT_KEY": root.words}
        super().__init__(self._settings(), GRAPHMEM_NEO4J_START_TIMEOUT="600", **secret)
        # What a test copies is there before its first cut: an instance flushes what it makes itself.
        disk.flush()
        self.root = root
        if root is not None:
            InstanceKeys.create(self.settings.keys_path, root)

    def _settings(self) -> Settings:
        cache = os.environ.get("GRAPHMEM_CACHE_DIR")
        return engine_settings(self.disk.folder / "data", cache_dir=cache)

    def start(self) -> None:
        """Start the service where the data is now: it may have been moved."""
        self.settings = self._settings()
        self.folder = self.settings.data_path
        super().start()

    def ask(self, text: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Ask the database itself, and open what is sealed."""
        rows = super().ask(text, **parameters)
        if self.root is None:
            return rows
        # The keys are where the data is now: it may have been moved.
        keys = InstanceKeys(self.settings.keys_path, self.root)
        return RowSealer(keys, NEAR_KIND).open(rows, parameters["owner"])

    def command(self, *words: str, **variables: Any) -> ForkedProcess:
        """Start a command, which a cut of the power ends."""
        process = super().command(*words, **variables)
        self.beside.append(process)
        return process

    def kill(self, what: str = "power") -> None:
        """Cut the power, end everything on the disk, and start the machine again with the service."""
        assert what == "power"
        self.ended = any(process.poll() == 0 for process in self.beside)
        self.disk.cut()
        processes = [*self.beside, *([self.service.process] if self.service else [])]
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.beside.clear()
        for folder in self.disk.folder.iterdir():
            for pid in servers_of(folder):
                os.kill(pid, signal.SIGKILL)
        self.disk.restart()
        self.start()

    def stop(self) -> None:
        """End the service in good order; its database stays."""
        assert self.service
        self.service.send(signal.SIGTERM)
        self.service.wait(60)


def await_end(process: ForkedProcess, seconds: float) -> bool:
    """Wait so long for a process; return whether it has ended."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return process.poll() is not None
