"""The process that parses: one file on its standard input, the document on its standard output.

`python -m graphmem.ingest.child REQUEST` parses one file. REQUEST is JSON: the declared type, the name, the
limits, and whether the process confines itself. `python -m graphmem.ingest.child serve` reads requests from
the socket that is its standard input, and forks a process for each. The first line of an output says what of
the confinement is lacking: it is written before the file is read. The second one is the head of the document,
or `{"failed": {"reason", "code"}}`.

It confines itself for ever, to what a hostile file can reach once it has taken its parser over. Landlock
leaves reads of the interpreter, its packages, shared libraries and fonts: no other file, no write and no TCP.
seccomp refuses sockets, programs, processes, signals and all else that reaches beyond the open files. Neither
hides that a file exists, or its size.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import json
import mimetypes
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from graphmem.ingest.building import Builder
from graphmem.ingest.decoding import in_utf_8, is_text, without_zero_tail
from graphmem.ingest.detection import contradicts, detect, essence, hinted
from graphmem.ingest.document import REASON_CHARACTERS_LIMIT, DocumentLimits, ParsedDocument, ParseFailed
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.pipe import lines
from graphmem.ingest.processes import MEMORY_STATUS

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
    instructions = b"".join(seccomp_program(machine))
    code = ctypes.create_string_buffer(instructions, len(instructions))
    filters = struct.pack("HP", len(instructions) // 8, ctypes.addressof(code))
    _call("prctl", PR_SET_SECCOMP, 2, filters, 0, 0)


def numbers(machine: str) -> list[int]:
    column = ARCHITECTURES[machine][1]
    return [int(call[column]) for call in REFUSED if call[column] != "-"]


def seccomp_program(machine: str) -> list[bytes]:
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


T = TypeVar("T")
TEXT_TYPES = ("text/", "application/json")  # how the types of formats begin whose files have one encoding
OPEN_FILES_LIMIT = 64
IDLE_SECONDS = 300.0  # a server that nobody asks for so long ends
MESSAGE_BYTES = 65_536
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        serve(socket.socket(fileno=0))
    elif sys.argv[1:] == ["confine"]:
        sys.stdout.write(confine())
    else:
        run(json.loads(sys.argv[1]))


def serve(requests: socket.socket) -> None:
    """Fork a process for each request, until the other side is gone or nobody asks.

    A request `{"parse": …}` comes with two descriptors, the file and the output; the answer is the process id
    and a pidfd. A request `{"status": pid}` is answered with the exit status of a process that has ended.
    """
    # A fork runs as the same user: it must neither trace this process nor write to its memory.
    _control(PR_SET_DUMPABLE, 0)
    requests.settimeout(IDLE_SECONDS)
    while True:
        try:
            message, descriptors, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, 2)
        except TimeoutError:
            return
        if not message:
            return
        request = json.loads(message)
        if "status" in request:
            requests.send(str(os.waitstatus_to_exitcode(os.waitpid(request["status"], 0)[1])).encode())
            continue
        preload(request["parse"]["name"], request["parse"]["declared"])
        pid = os.fork()
        if pid == 0:
            _become(requests, request["parse"], *descriptors)
        pidfd = os.pidfd_open(pid)
        socket.send_fds(requests, [str(pid).encode()], [pidfd])
        for descriptor in (pidfd, *descriptors):
            os.close(descriptor)


def preload(name: str, declared: str | None) -> None:
    """Import the module that a file will probably need. Its bytes are not looked at."""
    format = hinted(declared, name)
    if format is not None:
        with contextlib.suppress(Exception):
            format.load()
        gc.collect()
        gc.freeze()


def _become(requests: socket.socket, request: dict[str, Any], source: int, output: int) -> NoReturn:
    """Turn a fork into the process of one file; it never returns to the loop of the server."""
    status = 1
    try:
        _control(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(source, 0)
        os.dup2(output, 1)
        os.closerange(3, OPEN_FILES_LIMIT)
        run(request)
        status = 0
    finally:
        os._exit(status)


def _control(option: int, value: int) -> None:
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def run(request: dict[str, Any]) -> None:
    limits = DocumentLimits(**request["limits"])
    restrict(limits)
    # The process ends with its file: cycles are not worth a search.
    gc.disable()
    try:
        unconfined = "GRAPHMEM_CONFINE is off" if request["confine"] == "off" else confine()
        with os.fdopen(1, "wb") as answer:
            answer.write(json.dumps({"unconfined": unconfined}).encode() + b"\n")
            # What the file does from here on cannot change that line.
            answer.flush()
            if unconfined and request["confine"] == "require":
                return
            with os.fdopen(0, "rb") as source:
                data = source.read(limits.file_bytes + 1)
            for line in answered(data, request, limits):
                answer.write(line)
    except MemoryError:
        # Part of an answer may be written: the status alone tells the reason.
        os._exit(MEMORY_STATUS)


def restrict(limits: DocumentLimits) -> None:
    """Bound CPU, memory and open files. Of an ordinary user no file grows, and no process starts."""
    cpu = limits.cpu_seconds
    bounds = {
        # The kernel sends SIGXCPU at the soft limit only if the hard limit is above it.
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_AS: (limits.address_space_bytes,) * 2,
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (OPEN_FILES_LIMIT,) * 2,
        resource.RLIMIT_NPROC: (0, 0),
    }
    for kind, (soft, hard) in bounds.items():
        allowed = resource.getrlimit(kind)[1]
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))


def answered(data: bytes, request: dict[str, Any], limits: DocumentLimits) -> Iterator[bytes]:
    """Yield the lines of the answer; to a request for the format alone `{"format": …}`."""
    # Python 3.11 loops for ever where it has no memory to enter a handler; it needs some in longer functions.
    # So the handlers that a MemoryError passes stay in short ones.
    try:
        declared, name = request["declared"], request["name"]
        if request.get("only_format"):
            sound = without_zero_tail(data)
            format = _guarded(lambda: detect(sound, declared, name, limits), "file")
            yield json.dumps({"format": format.name}).encode() + b"\n"
        else:
            yield from lines(parsed_here(data, declared, name, limits))
    except ParseFailed as exc:
        reason = exc.reason.encode(errors="replace").decode()
        yield json.dumps({"failed": {"reason": reason, "code": exc.code}}).encode() + b"\n"


def parsed_here(data: bytes, declared: str | None, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Parse in this process, without its limits on time and memory.

    Raises:
        ParseFailed: every other failure, whatever the library raised.
        MemoryError: the process may have no more memory.
    """
    if not data:
        raise ParseFailed("The file is empty.", "empty")
    if len(data) > limits.file_bytes:
        raise ParseFailed(f"The file has more than {limits.file_bytes:,} bytes.", "too_large")
    sound = without_zero_tail(data)
    format = _guarded(lambda: detect(sound, declared, name, limits), "file")
    parse = format.load()
    text, encoding, warnings = sound, None, tuple[str, ...]()
    if format.media_types[0].startswith(TEXT_TYPES) and is_text(sound):
        text, encoding, warnings = in_utf_8(sound, declared)

    def document() -> ParsedDocument:
        builder = Builder(limits, format)
        builder.warn(*warnings)
        if sound != data:
            builder.warn(f"The file ends with {len(data) - len(sound):,} zero bytes: they are left out.")
        parse(builder, text, name)
        if encoding is not None:
            builder.metadata["encoding"] = encoding
        return builder.document()

    return with_declared(_guarded(document, format.title), declared)


def _guarded(step: Callable[[], T], title: str) -> T:
    """Run a step on the bytes of a file: whatever a library raises is damage of the file."""
    try:
        return step()
    except (ParseFailed, MemoryError):
        raise
    except RecursionError:
        raise ParseFailed(f"The {title} is nested too deeply.", "limit_exceeded") from None
    except Exception as exc:
        reason = f"The {title} is damaged: {type(exc).__name__}: {exc}"
        raise ParseFailed(reason[:REASON_CHARACTERS_LIMIT], "damaged") from exc


def with_declared(document: ParsedDocument, declared: str | None) -> ParsedDocument:
    """Add the declared type to the metadata; where the content contradicts it, the detected type too."""
    declared_type = essence(declared)
    if declared_type is None:
        return document
    metadata: dict[str, Any] = {**document.metadata, "declared_type": declared_type}
    warnings = document.warnings
    if contradicts(declared_type, BY_NAME[document.format], document.media_type):
        metadata["media_type"] = document.media_type
        warnings = (
            *warnings,
            f"The content decides: it is {document.media_type}, and {declared_type} was declared.",
        )
    return replace(document, metadata=metadata, warnings=warnings)


if __name__ == "__main__":
    main()
