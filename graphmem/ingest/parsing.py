"""Parse a file in a process of its own, so that no file can stop, fill or enter the service.

The process has limits on CPU, memory and files, and an environment without secrets and proxies. This side
bounds the time and the output, and checks the document. Where the system can, the process confines itself
before it reads the file (`graphmem/ingest/child.py`): then a file that takes it over gives a wrong
document, and reaches nothing else. Where it cannot, the document says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

from graphmem.database.admission import Admission
from graphmem.errors import ParserUnconfined
from graphmem.ingest.document import (
    FAILURE_CODES,
    REASON_CHARACTERS_LIMIT,
    DocumentLimits,
    ParsedDocument,
    ParseFailed,
)
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.pipe import DocumentInvalid, read_lines
from graphmem.ingest.processes import MEMORY_STATUS, Fork, NewInterpreter, start

T = TypeVar("T")
NAME_CHARACTERS_LIMIT = 255
CHUNK_BYTES = 1 << 20
PROCESSES_LIMIT = 3
"""How many files are parsed at a time: each may need the memory that :class:`DocumentLimits` allows."""
PROCESSES_OF_OWNER = 2
WAIT_SECONDS = 300.0  # how long a file waits until others are parsed
LOOK_SECONDS = 1.0  # seconds between two looks whether somebody still waits for a document
_THREADS = ThreadPoolExecutor(PROCESSES_LIMIT, thread_name_prefix="parsing")
PLACES = Admission(PROCESSES_LIMIT, WAIT_SECONDS, of_owner=PROCESSES_OF_OWNER, what="files are parsed")


async def never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Terms:
    """For whom a file is parsed.

    Attributes:
        owner: the owners take turns.
        confine: the setting GRAPHMEM_CONFINE.
        is_gone: whether nobody waits for the document any more: then the parser ends.
    """

    owner: str = ""
    confine: Literal["auto", "require", "off"] = "auto"
    is_gone: Callable[[], Awaitable[bool]] = never


async def parsed(
    source: Path | BinaryIO,
    declared: str | None,
    name: str,
    limits: DocumentLimits | None = None,
    terms: Terms = Terms(),
) -> ParsedDocument:
    """Parse a file; an open one is read from its beginning.

    ``declared`` is the media type that its sender named, ``name`` the name of the file.

    Raises:
        ParseFailed: the file cannot be parsed within the limits.
        ParserUnconfined: the parser must be confined, and this system cannot.
        ServiceBusy: too many files are parsed.
        asyncio.CancelledError: the caller is gone.
        OSError: the file cannot be opened.
    """
    limits = limits or DocumentLimits()
    run = _Run(source, declared, name, limits, terms)
    document = await _ran(run, terms, lambda lines: read_lines(lines, limits))
    if not run.unconfined:
        return document
    warning = (
        f"The parser was unconfined ({run.unconfined}): a hostile file could have done what its user may."
    )
    return replace(document, warnings=(warning, *document.warnings))


async def format_of(source: Path | BinaryIO, declared: str | None, name: str, terms: Terms) -> str:
    """Return the name of a file's format, as :mod:`graphmem.ingest.format_table` has it.

    Raises:
        ParseFailed: the file has no format that is read, or exceeds the limits.
        ParserUnconfined, ServiceBusy, asyncio.CancelledError, OSError: as :func:`parsed`.
    """
    run = _Run(source, declared, name, DocumentLimits(), terms, only_format=True)
    return await _ran(run, terms, _read_format)


async def _ran(run: _Run, terms: Terms, read: Callable[[list[bytes]], T]) -> T:
    async with PLACES.place(terms.owner):
        if await terms.is_gone():
            raise asyncio.CancelledError
        answer = asyncio.get_running_loop().run_in_executor(_THREADS, run.answer, read)
        try:
            while not (await asyncio.wait([answer], timeout=LOOK_SECONDS))[0]:
                if await terms.is_gone():
                    raise asyncio.CancelledError
            return await answer
        finally:
            run.stop()


def _read_format(lines: list[bytes]) -> str:
    format = _text(lines[0] if lines else b"", "format")
    if format not in BY_NAME:
        raise DocumentInvalid("the format is unknown")
    return format


class _Run:
    """One file in one process. ``answer`` blocks; ``stop`` ends it from another thread."""

    def __init__(
        self, source: Path | BinaryIO, declared: str | None, name: str, limits: DocumentLimits, terms: Terms,
        *, only_format: bool = False,
    ) -> None:  # fmt: skip
        self._source = source
        self._limits = limits
        self._request = {
            "declared": declared[:NAME_CHARACTERS_LIMIT] if declared else None,
            "name": name[-NAME_CHARACTERS_LIMIT:],
            "limits": asdict(limits),
            "only_format": only_format,
            "confine": terms.confine,
        }
        self.unconfined = ""
        """What of its confinement the process lacks, as it said before it read the file."""
        self._process: Fork | NewInterpreter | None = None
        self._stopped = False

    def answer(self, read: Callable[[list[bytes]], T]) -> T:
        lines = self._answer()
        try:
            self.unconfined = _text(lines.pop(0) if lines else b"", "unconfined")[:REASON_CHARACTERS_LIMIT]
            if self.unconfined and self._request["confine"] == "require":
                raise ParserUnconfined(lacking=self.unconfined)
            failure = failure_of(lines[0] if lines else b"")
            if failure is None:
                return read(lines)
        except DocumentInvalid as exc:
            raise ParseFailed(f"The parser gave no valid document: {exc}.", "crashed") from None
        raise failure

    def _answer(self) -> list[bytes]:
        with contextlib.ExitStack() as opened:
            source = self._source
            if isinstance(source, Path):
                source = opened.enter_context(source.open("rb"))
            source.seek(0)
            size = os.fstat(source.fileno()).st_size
            if size == 0:
                raise ParseFailed("The file is empty.", "empty")
            if size > self._limits.file_bytes:
                raise ParseFailed(
                    f"The file has {size:,} bytes; the limit is {self._limits.file_bytes:,}.", "too_large"
                )
            if self._stopped:
                raise ParseFailed("The parser was stopped.", "crashed")
            process = self._process = start(self._request, source)
            try:
                if self._stopped:
                    process.kill()
                with process.output:
                    output = self._output(process.output.fileno())
            except BaseException:
                process.kill()
                process.wait()
                raise
            status = process.wait()
        if status == -signal.SIGXCPU:
            raise ParseFailed(f"The parser needs more than {self._limits.cpu_seconds} s of CPU.", "timed_out")
        if status == MEMORY_STATUS:
            raise ParseFailed(
                f"The parser needs more than {self._limits.address_space_bytes:,} bytes of memory.",
                "limit_exceeded",
            )
        if status != 0:
            raise ParseFailed(f"The parser ended abnormally (status {status}).", "crashed")
        return output

    def stop(self) -> None:
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def _output(self, pipe: int) -> list[bytes]:
        """Read the lines of the pipe until its end, within the limits on time and size."""
        deadline = time.monotonic() + self._limits.wall_seconds
        complete: list[bytes] = []
        pending: list[bytes] = []
        size = 0
        while True:
            left = deadline - time.monotonic()
            # A process that writes byte after byte is over its time as well as a silent one.
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise ParseFailed(
                    f"The file was not parsed within {self._limits.wall_seconds:g} s.", "timed_out"
                )
            chunk = os.read(pipe, CHUNK_BYTES)
            if not chunk:
                return [*complete, *pending]
            pending.append(chunk)
            if b"\n" in chunk:
                *lines, rest = b"".join(pending).split(b"\n")
                complete += lines
                pending = [rest] if rest else []
            size += len(chunk)
            if size > self._limits.output_bytes:
                raise ParseFailed(
                    f"The parsed file has more than {self._limits.output_bytes:,} bytes.", "limit_exceeded"
                )


def _text(line: bytes, *names: str) -> str:
    """Return a text in the JSON of a line, by the names that lead to it."""
    try:
        value: Any = json.loads(line)
        for name in names:
            value = value[name]
        value.encode()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DocumentInvalid(f"a line of its output has no {names[-1]}") from None
    return value


def failure_of(line: bytes) -> ParseFailed | None:
    """Return the failure that the first line of an output reports, None if it is a document."""
    if not line.startswith(b'{"failed"'):
        return None
    reason, code = (_text(line, "failed", name) for name in ("reason", "code"))
    if code not in FAILURE_CODES:
        raise DocumentInvalid("the code of the failure is unknown")
    return ParseFailed(reason[:REASON_CHARACTERS_LIMIT], code)
