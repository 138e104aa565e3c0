"""Parsers that are not as they should be, for `processes.COMMAND`; server, forks and limits are real.

`hostile` tries what a file would try that has taken its parser over, and answers what came of each attempt.
`cold` imports nothing before it forks. `refused` runs where the kernel refuses Landlock. `slow` never ends
with a file that says so.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from graphmem.ingest import child
from graphmem.ingest.document import DocumentLimits

LIBRARY = ctypes.CDLL(None, use_errno=True)
UNCONFINED_REACHES = ("read a key", "list a folder", "connect TCP", "connect to a socket", "signal", "delete")
"""What an unconfined parser succeeds in."""
BY_LANDLOCK = ("read a key", "list a folder", "read the memory of the server", "write", "append", "cut")
"""What seccomp alone does not refuse."""


def attempts(targets: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Return the attempts by name. The last ones would end the process."""
    own, other = bytearray(8), os.getppid()
    memory = struct.pack("PN", ctypes.addressof(ctypes.c_char.from_buffer(own)), 8)
    return {
        "read a key": lambda: Path(targets["key"]).read_bytes(),
        "list a folder": lambda: os.listdir(Path(targets["key"]).parent),
        "read the memory of the server": lambda: Path(f"/proc/{other}/mem").open("rb"),
        "write": lambda: Path(targets["key"]).with_name("new").open("wb"),
        "append": lambda: Path(targets["key"]).open("ab"),
        "cut": lambda: Path(targets["key"]).open("r+b"),
        "truncate": lambda: os.truncate(targets["key"], 0),
        "change a mode": lambda: os.chmod(targets["key"], 0o644),
        "change the flags of the file": lambda: fcntl.ioctl(0, 0x40086602, struct.pack("l", 0)),
        "delete": lambda: os.unlink(targets["victim"]),
        "rename": lambda: os.rename(targets["key"], f"{targets['key']}.old"),
        "connect TCP": lambda: socket.create_connection(("127.0.0.1", targets["port"]), 5).close(),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
        "send UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "connect to a socket": lambda: _unix().connect(targets["socket"]),
        "connect to an abstract socket": lambda: _unix().connect("\0graphmem"),
        "trace": lambda: _checked(LIBRARY.ptrace(16, other, 0, 0)),
        "read another memory": lambda: _checked(LIBRARY.process_vm_readv(other, memory, 1, memory, 1, 0)),
        "signal": lambda: os.kill(other, 0),
        "signal by a pipe": lambda: fcntl.fcntl(1, fcntl.F_SETOWN, other),
        "limit another process": lambda: resource.prlimit(other, resource.RLIMIT_CPU, (1, 1)),
        "open a process": lambda: os.pidfd_open(other),
        "io_uring": lambda: _checked(LIBRARY.syscall(425, 1, ctypes.create_string_buffer(120))),
        "memory as a program": lambda: os.memfd_create("program"),
        "fork": _fork,
        "execute a script": lambda: _checked(LIBRARY.syscall(_EXECVEAT, -100, b"/bin/true", None, None, 0)),
        "execute": lambda: os.execv("/bin/true", ["true"]),
    }


_EXECVEAT = {"x86_64": 322, "aarch64": 281}.get(os.uname().machine, 281)


def _unix() -> socket.socket:
    return socket.socket(socket.AF_UNIX)


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _checked(answer: int) -> None:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "")


def outcomes(data: bytes, request: dict[str, Any], limits: object) -> Iterator[bytes]:
    """Take the place of what parses: try each of the wanted attempts."""
    targets, answered = json.loads(data), {}
    for name, attempt in attempts(targets).items():
        if name in targets["attempts"]:
            try:
                attempt()
                answered[name] = "reached"
            except OSError as exc:
                answered[name] = errno.errorcode.get(exc.errno or 0, "?")
    yield json.dumps(answered).encode() + b"\n"


def never_ending(
    data: bytes, request: dict[str, Any], limits: DocumentLimits, answered: Any = child.answered
) -> Iterator[bytes]:
    """Take the place of what parses: the file `slow` is read until the process is killed."""
    if data == b"slow":
        time.sleep(1_000)
    yield from answered(data, request, limits)


def refuse_landlock() -> None:
    """Have the kernel answer that it has no Landlock, as an older one does."""
    steps = (0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x00050000 | errno.ENOSYS), (6, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    filters = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    child._call("prctl", child.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    child._call("prctl", child.PR_SET_SECCOMP, 2, filters, 0, 0)


if __name__ == "__main__":
    kind = sys.argv.pop(1)
    if kind == "hostile":
        child.answered = outcomes
    elif kind == "cold":
        child.preload = lambda name, declared: None
    elif kind == "slow":
        child.answered = never_ending
    else:
        refuse_landlock()
    child.main()
