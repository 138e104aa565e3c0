"""Confine this process for ever: what a hostile file can reach once it has taken its parser over.

Landlock leaves reads of the interpreter, its packages, shared libraries and fonts: no other file, no write
and no TCP. seccomp refuses sockets, programs, processes, signals and all else that reaches beyond the open
files. Both hold for this process and cannot be undone. Neither hides that a file exists, or its size.
"""

from __future__ import annotations

import ctypes
import errno
import mimetypes
import os
import struct
import sys
from pathlib import Path

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
READ_FILE, READ_DIR = 1 << 2, 1 << 3
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights on files a version of Landlock knows; 16 from version 5 on."""
FOLDERS = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/etc/ld.so.cache",
    "/usr/share/fonts", "/usr/share/X11/fonts", "/usr/local/share/fonts", "/usr/share/zoneinfo",
)  # fmt: skip
"""Shared libraries, fonts and time zones."""

ARCHITECTURES = {"x86_64": (0xC000003E, 1, 72), "aarch64": (0xC00000B7, 2, 25)}
"""By machine: how the kernel names it, its column in :data:`REFUSED`, and the number of fcntl."""
REFUSED = [
    line.split()
    for line in Path(__file__).with_name("refused_calls.txt").read_text("ascii").splitlines()
    if not line.startswith("#")
]
"""The calls that are refused, with their numbers on x86_64 and aarch64."""
UNIFORM = 424
"""From this number on a call has one number on every machine. Those calls are refused, also ones to come."""
UNIFORM_ALLOWED = (436, 437, 439, 441, 444, 445, 446, 449)
"""close_range, openat2, faccessat2, epoll_pwait2, Landlock, futex_waitv."""
OWNING_COMMANDS = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: with them the kernel sends a signal to another process."""
LOAD, EQUAL, FROM, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, SECOND_ARGUMENT = 0, 4, 24
KILL, ALLOW, REFUSE = 0x80000000, 0x7FFF0000, 0x00050000 | errno.EPERM


def confine() -> str:
    """Confine this process. Returns what this system refuses, as a phrase; empty if all of it holds."""
    if sys.platform != "linux":
        return f"{sys.platform} has neither Landlock nor seccomp"
    lacking: list[str] = []
    for name, step in (("Landlock", _landlock), ("seccomp", _seccomp)):
        try:
            _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            step()
        except OSError as exc:
            lacking.append(f"{name}: {exc.strerror}")
    return ", ".join(lacking)


def landlock_version() -> int:
    """Return the version of Landlock of this kernel. Raises OSError: it has none."""
    return _call("syscall", LANDLOCK_CREATE_RULESET, None, 0, 1)


def _landlock() -> None:
    version = landlock_version()
    # From version 4 on TCP, from 6 on abstract sockets and signals. Nothing of these is allowed.
    network, scoped = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    rights = struct.pack("=QQQ", (1 << FILE_RIGHTS.get(version, 16)) - 1, network, scoped)
    rules = _call("syscall", LANDLOCK_CREATE_RULESET, rights, 24 if scoped else 16 if network else 8, 0)
    try:
        for path in readable():
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                allowed = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
                _call("syscall", LANDLOCK_ADD_RULE, rules, 1, struct.pack("=Qi", allowed, folder), 0)
            finally:
                os.close(folder)
        _call("syscall", LANDLOCK_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def readable() -> list[str]:
    # The path of modules may name a folder of anything, such as one with a package in development.
    packages = (
        path
        for path in map(Path, sys.path)
        if path.name in ("site-packages", "dist-packages") or (path / "lxml").is_dir()
    )
    own = str(Path(__file__).parents[1]), os.path.join(sys.base_prefix, "lib")
    paths = {*FOLDERS, *mimetypes.knownfiles, *own, *map(str, packages)}
    return sorted(path for path in paths if os.path.isabs(path) and os.path.exists(path))


def _seccomp() -> None:
    machine = os.uname().machine
    if machine not in ARCHITECTURES or sys.maxsize < 1 << 32:
        raise OSError(errno.ENOTSUP, f"the calls of {machine} are not known")
    instructions = b"".join(program(machine))
    code = ctypes.create_string_buffer(instructions, len(instructions))
    filters = struct.pack("HP", len(instructions) // 8, ctypes.addressof(code))
    _call("prctl", PR_SET_SECCOMP, 2, filters, 0, 0)


def numbers(machine: str) -> list[int]:
    column = ARCHITECTURES[machine][1]
    return [int(call[column]) for call in REFUSED if call[column] != "-"]


def program(machine: str) -> list[bytes]:
    """Return the instructions of the filter: `struct sock_filter` each, code, two jumps and a value."""
    architecture, _, fcntl = ARCHITECTURES[machine]
    refused, commands = numbers(machine), len(OWNING_COMMANDS)
    steps: list[tuple[int, int, str | int, str | int]] = [
        (LOAD, ARCHITECTURE, 0, 0),
        (EQUAL, architecture, 0, "kill"),
        (LOAD, NUMBER, 0, 0),
        (FROM, UNIFORM, len(refused) + commands + 3, 0),
        *((EQUAL, number, "refuse", 0) for number in refused),
        (EQUAL, fcntl, 0, "allow"),
        (LOAD, SECOND_ARGUMENT, 0, 0),
        *((EQUAL, command, "refuse", 0) for command in OWNING_COMMANDS),
        (EQUAL, 0, "allow", "allow"),
        *((EQUAL, number, "allow", 0) for number in UNIFORM_ALLOWED),
    ]
    ends = {"refuse": REFUSE, "allow": ALLOW, "kill": KILL}
    places = {name: len(steps) + place for place, name in enumerate(ends)}

    def jump(target: str | int, place: int) -> int:
        return places[target] - place - 1 if isinstance(target, str) else target

    rows = [
        (code, jump(yes, place), jump(no, place), value) for place, (code, value, yes, no) in enumerate(steps)
    ]
    return [struct.pack("HBBI", *row) for row in (*rows, *((RETURN, 0, 0, value) for value in ends.values()))]


def _call(name: str, *arguments: object) -> int:
    """Call a function of the C library: `prctl`, or `syscall` where it has none for a call of the kernel."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    function.restype = ctypes.c_long
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    if (answer := function(*passed)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
