"""Containers without an engine: a root, namespaces, a user and no privileges, with no other tools than these.

What an engine has beyond this: a limit of CPU, seccomp and AppArmor, a user namespace, /sys, its own way of
publishing ports, and its name server, for which /etc/hosts stands. A limit of memory is held where this root
may make cgroups.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import container_init

INIT = Path(container_init.__file__)
NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of unshare and setns."""
START_SECONDS = 60.0
EXECUTE_SECONDS = 300.0
TOOLS = ("unshare", "nsenter", "mount", "ip")
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
"""Where groups with a limit of memory are made: in the first version of cgroups, and in the second."""
NET_BIND_SERVICE = 10
"""The capability to listen at ports below 1024."""


def lacking() -> str | None:
    """Return why no container can run here, ``None`` where they can."""
    if sys.platform != "linux" or os.geteuid():
        return "only root of a Linux can make namespaces"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"there is no {', '.join(missing)} here"
    made = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "true"], capture_output=True)
    return f"this root may not make namespaces: {made.stderr.decode()}" if made.returncode else None


@dataclass(frozen=True, slots=True)
class Network:
    """A network that a container is in: its bridge, the address of the container, and the way out, if any."""

    bridge: str
    address: str
    prefix: int
    gateway: str | None = None


@dataclass(slots=True)
class Specification:
    """What a container is.

    Attributes:
        below: the root that it sees, which stays as it is.
        volumes: what of this machine is where in it, and whether it may be written.
        memory: bytes that its processes may have together, if there is a limit.
    """

    below: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    user: str = "0:0"
    directory: str = "/"
    volumes: Sequence[tuple[Path, str, bool]] = ()
    tmpfs: Sequence[str] = ()
    read_only: bool = True
    capabilities: Sequence[int] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)
    networks: Sequence[Network] = ()
    memory: int | None = None


class Container:
    """A container that runs, or has run, with its files in a folder.

    Attributes:
        group: the group of processes that holds its limit of memory, where this root may make one.
    """

    def __init__(self, name: str, folder: Path, spec: Specification) -> None:
        self.name, self.spec, self.folder = name, spec, folder / name
        self.layer = self.folder / "layer"
        self.file = self.folder / "spec.json"
        self.console = self.folder / "console"
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        self.group: Path | None = None

    def start(self) -> None:
        """Start it, with an empty layer and an empty ``/tmp``; volumes are as they were left."""
        self.layer.mkdir(parents=True, exist_ok=True)
        reading, writing = os.pipe()
        self.file.write_text(json.dumps(self._written() | {"report": writing}))
        with self.console.open("ab") as console, os.fdopen(reading) as report:
            self._process = subprocess.Popen(
                [sys.executable, INIT, self.file],
                stdin=subprocess.PIPE, stdout=console, stderr=console,
                start_new_session=True, pass_fds=[writing],
            )  # fmt: skip
            os.close(writing)
            self.pid = int(report.readline())
        if self.spec.memory is not None:
            self.group = _memory_group(self.pid, self.spec.memory)
        for number, network in enumerate(self.spec.networks):
            self._join(network, number)
        assert self._process.stdin
        self._process.stdin.write(b"\n")
        self._process.stdin.close()

    def _written(self) -> dict[str, Any]:
        spec = self.spec
        hosts = {"localhost": "127.0.0.1", **spec.hosts}
        return {
            "below": str(spec.below), "layer": str(self.layer), "root": str(self.layer / "root"),
            "hosts": "".join(f"{address} {name}\n" for name, address in hosts.items()),
            "command": list(spec.command), "environment": dict(spec.environment), "user": spec.user,
            "own_network": bool(spec.networks), "directory": spec.directory, "tmpfs": list(spec.tmpfs),
            "read_only": spec.read_only, "capabilities": list(spec.capabilities),
            "volumes": [[str(source), target, writable] for source, target, writable in spec.volumes],
        }  # fmt: skip

    def _join(self, network: Network, number: int) -> None:
        """Lay a cable from a bridge to the container."""
        outer, inner = f"v{self.pid}n{number}", f"eth{number}"
        ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", str(self.pid))
        ip("link", "set", outer, "master", network.bridge, "up")
        inside = ("nsenter", "--target", str(self.pid), "--net", "--", "ip")
        ip("link", "set", "lo", "up", words=inside)
        ip("address", "add", f"{network.address}/{network.prefix}", "dev", inner, words=inside)
        ip("link", "set", inner, "up", words=inside)
        if network.gateway:
            ip("route", "add", "default", "via", network.gateway, words=inside)

    @property
    def memory_peak(self) -> int | None:
        """The most bytes that its processes had together; ``None`` where no group counts them."""
        names = "memory.max_usage_in_bytes", "memory.peak"
        files = [self.group / name for name in names if (self.group / name).exists()] if self.group else []
        return int(files[0].read_text()) if files else None

    @property
    def output(self) -> str:
        """All that it has written to its console since it was first started."""
        return self.console.read_text("utf-8", errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def execute(self, *command: str, stdin: Path = Path(os.devnull)) -> subprocess.CompletedProcess[str]:
        """Run one more command in it, with its user, environment and directory."""
        entering = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--ipc", "--uts", "--"]
        words = [*entering, sys.executable, str(INIT), str(self.file), *command]
        with stdin.open("rb") as file:
            return subprocess.run(words, stdin=file, capture_output=True, text=True, timeout=EXECUTE_SECONDS)

    def changed(self) -> list[str]:
        """Return the files of its root that are not in the image: none of them was written by the command."""
        words = ["nsenter", "--target", str(self.pid), "--mount", "--", "find", str(self.layer / "upper")]
        printed = subprocess.run([*words, "-type", "f"], capture_output=True, text=True, check=True).stdout
        return [line.removeprefix(f"{self.layer}/upper") for line in printed.splitlines()]

    def wait(self, seconds: float) -> int:
        """Return its exit code once its first process has ended by itself."""
        assert self._process is not None
        code = self._process.wait(seconds)
        self._leave_group()
        return code

    def stop(self, seconds: float) -> tuple[int, float]:
        """Send SIGTERM to its first process; return its exit code and how many seconds it took to end."""
        assert self._process is not None
        begun = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        return self.wait(seconds), time.monotonic() - begun

    def kill(self) -> None:
        """Kill it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._process.wait(START_SECONDS)
        self._leave_group()

    def _leave_group(self) -> None:
        """Remove the group of the container, which has ended."""
        if self.group is not None:
            self.group.rmdir()
            self.group = None


def _memory_group(pid: int, limit: int) -> Path | None:
    """Put a process into a new group with a limit of memory; return ``None`` where none can be made."""
    for groups in MEMORY_GROUPS:
        group = groups / f"graphmem-{pid}"
        with contextlib.suppress(OSError):
            group.mkdir()
            names = ("memory.limit_in_bytes", "memory.max")
            files = [group / name for name in names if (group / name).exists()]
            if files:
                files[0].write_text(str(limit))
                (group / "cgroup.procs").write_text(str(pid))
                return group
            group.rmdir()
    return None


def ip(*arguments: str, words: Sequence[str] = ("ip",)) -> None:
    """Run ip."""
    subprocess.run([*words, *arguments], check=True, capture_output=True)


def bridge(name: str, address: str | None = None) -> None:
    """Make a network: containers join it by its name. With an address, this machine is in it too."""
    ip("link", "add", name, "type", "bridge")
    if address:
        ip("address", "add", address, "dev", name)
    ip("link", "set", name, "up")


@contextlib.contextmanager
def network_of_its_own() -> Iterator[None]:
    """Have this thread, and what it starts, in an empty network with a loopback of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "unshare")
        ip("link", "set", "lo", "up")
        yield
    finally:
        assert libc.setns(before, NEW_NETWORK) == 0
        os.close(before)
