"""Start the processes that parse, one per file: forks of a warm server on Linux, else a new interpreter.

The server (`graphmem/ingest/child.py`, `serve`) imports libraries and forks; it never reads a file, and is
not confined. Each fork confines itself, parses one file and ends: its memory is a copy, and its descriptors
are those of this file. Where it is confined, a file that takes it over reaches nothing that later files use.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

import graphmem

ENVIRONMENT = {
    # The package stands here whether it is installed or not; -P keeps the working directory out.
    "PYTHONPATH": str(Path(graphmem.__file__).resolve().parents[1]),
    # The order of sets must not depend on the process.
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
    # openpyxl imports NumPy, and the process may start no thread.
    "OPENBLAS_NUM_THREADS": "1",
}
COMMAND = [sys.executable, "-P", "-m", "graphmem.ingest.child"]
MEMORY_STATUS = 77  # the exit status of a process that may have no more memory
EXIT_SECONDS = 5.0  # how long a process may take to end after the end of its output
ANSWER_SECONDS = 30.0  # how long the server may take to answer: it may import a library first


class ServerLost(Exception):
    """The fork server cannot be started, or does not answer what it is asked."""


def start(request: dict[str, Any], source: BinaryIO) -> Fork | NewInterpreter:
    """Start a process for one file. ``request`` has the members that `graphmem/ingest/child.py` reads.

    The process writes the answer to ``output``. ``kill`` ends it at once, and does nothing if it has ended.
    ``wait`` returns the exit status, negative for a signal, after the output has ended.
    """
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(ServerLost):
            return SERVER.fork(request, source)
    return NewInterpreter(request, source)


def unconfined() -> str:
    """Return what of the confinement is lacking on this system: a process tries it. Empty: nothing."""
    run = subprocess.run(
        [*COMMAND, "confine"], cwd="/", env=ENVIRONMENT, capture_output=True, timeout=60, check=True
    )
    return run.stdout.decode().strip()


def _started(argument: str, stdin: int, stdout: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, argument], stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, cwd="/", env=ENVIRONMENT,
        start_new_session=True,
    )  # fmt: skip


class NewInterpreter:
    def __init__(self, request: dict[str, Any], source: BinaryIO) -> None:
        self._process = _started(json.dumps(request), source.fileno(), subprocess.PIPE)
        assert self._process.stdout is not None
        self.output: BinaryIO = self._process.stdout  # pyright: ignore[reportAttributeAccessIssue]

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()

    def wait(self) -> int:
        try:
            return self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class Fork:
    """A fork of the server. Signals go to its pidfd: a process id could have a new owner."""

    def __init__(self, server: ForkServer, pid: int, pidfd: int, output: BinaryIO) -> None:
        self._server = server
        self._pid = pid
        self._pidfd = pidfd
        self._lock = threading.Lock()
        self.output = output

    def kill(self) -> None:
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def wait(self) -> int:
        """Return the exit status, which only the server can know."""
        ended, _, _ = select.select([self._pidfd], [], [], EXIT_SECONDS)
        if not ended:
            self.kill()
        with self._lock:
            os.close(self._pidfd)
            self._pidfd = -1
        try:
            return self._server.status(self._pid)
        except ServerLost:
            return -signal.SIGKILL


class ForkServer:
    """The warm server of this process. It starts with the first file and ends after some idle minutes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._owner = 0

    def fork(self, request: dict[str, Any], source: BinaryIO) -> Fork:
        reader, writer = os.pipe()
        output = os.fdopen(reader, "rb", buffering=0)
        try:
            for last in (False, True):
                try:
                    with self._lock:
                        pid, descriptors = self._ask({"parse": request}, [source.fileno(), writer])
                    return Fork(self, pid, descriptors[0], output)
                except (OSError, ValueError, IndexError) as exc:
                    # A server that was idle for long has ended: a new one starts.
                    self.close()
                    if last:
                        raise ServerLost from exc
            raise ServerLost
        except ServerLost:
            output.close()
            raise
        finally:
            os.close(writer)

    def status(self, pid: int) -> int:
        try:
            with self._lock:
                return self._ask({"status": pid}, [])[0]
        except (OSError, ValueError) as exc:
            raise ServerLost from exc

    def close(self) -> None:
        """End the server; forks that still run end by themselves."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            if self._process is not None and self._owner == os.getpid():
                self._process.kill()
                self._process.wait()
            self._socket = self._process = None

    def _ask(self, message: dict[str, Any], descriptors: list[int]) -> tuple[int, list[int]]:
        if self._socket is None or self._owner != os.getpid():
            if "parse" not in message:
                raise OSError("the server has ended")
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = _started("serve", theirs.fileno(), subprocess.DEVNULL)
            ours.settimeout(ANSWER_SECONDS)
            self._socket, self._owner = ours, os.getpid()
        assert self._socket is not None
        socket.send_fds(self._socket, [json.dumps(message).encode()], descriptors)
        answer, received, _, _ = socket.recv_fds(self._socket, 64, 1)
        if not answer:
            raise OSError("the server has ended")
        return int(answer), list(received)


SERVER = ForkServer()
atexit.register(SERVER.close)
