"""The process that parses: one file on its standard input, the document on its standard output.

`python -m graphmem.ingest.child REQUEST` parses one file. REQUEST is JSON: the declared type, the name, the
limits, and whether the process confines itself. `python -m graphmem.ingest.child serve` reads requests from
the socket that is its standard input, and forks a process for each. The first line of an output says what of
the confinement is lacking: it is written before the file is read. The second one is the head of the document,
or `{"failed": {"reason", "code"}}`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from graphmem.ingest.building import Builder
from graphmem.ingest.confinement import confine
from graphmem.ingest.decoding import in_utf_8, is_text, without_zero_tail
from graphmem.ingest.detection import contradicts, detect, essence, hinted
from graphmem.ingest.document import REASON_CHARACTERS_LIMIT, DocumentLimits, ParsedDocument, ParseFailed
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.pipe import lines
from graphmem.ingest.processes import MEMORY_STATUS

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
