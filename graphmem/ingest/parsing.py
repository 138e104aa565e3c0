"""Parse a file in a process of its own, so that no file can stop, fill or enter the service.

The process has limits on CPU, memory and files, and an environment without secrets and proxies. This side
bounds the time and the output, and checks the document: a file that takes the process over gives at most a
wrong document.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

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
PROCESSES_LIMIT = 2
"""How many files are parsed at a time: each may need the memory that :class:`DocumentLimits` allows."""
_THREADS = ThreadPoolExecutor(PROCESSES_LIMIT, thread_name_prefix="parsing")


async def parsed(
    path: Path, declared: str | None, name: str, limits: DocumentLimits | None = None
) -> ParsedDocument:
    """Parse a file.

    ``declared`` is the media type that its sender named, ``name`` the name of the file.

    Raises:
        ParseFailed: the file cannot be parsed within the limits.
        OSError: the file cannot be opened.
    """
    limits = limits or DocumentLimits()
    return await _ran(_Run(path, declared, name, limits), lambda lines: read_lines(lines, limits))


async def format_of(path: Path, declared: str | None, name: str, limits: DocumentLimits | None = None) -> str:
    """Return the name of a file's format, as :mod:`graphmem.ingest.format_table` has it.

    Raises:
        ParseFailed: the file has no format that is read, or exceeds the limits.
        OSError: the file cannot be opened.
    """
    return await _ran(_Run(path, declared, name, limits or DocumentLimits(), only_format=True), _read_format)


async def _ran(run: _Run, read: Callable[[list[bytes]], T]) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(_THREADS, run.answer, read)
    finally:
        run.stop()


def _read_format(lines: list[bytes]) -> str:
    try:
        format = json.loads(lines[0])["format"] if lines else None
    except (ValueError, KeyError, TypeError):
        format = None
    if format not in BY_NAME:
        raise DocumentInvalid("the format is unknown")
    return format


class _Run:
    """One file in one process. ``answer`` blocks; ``stop`` ends it from another thread."""

    def __init__(
        self,
        path: Path,
        declared: str | None,
        name: str,
        limits: DocumentLimits,
        *,
        only_format: bool = False,
    ) -> None:
        self._path = path
        self._limits = limits
        self._request = {
            "declared": declared[:NAME_CHARACTERS_LIMIT] if declared else None,
            "name": name[-NAME_CHARACTERS_LIMIT:],
            "limits": asdict(limits),
            "only_format": only_format,
        }
        self._process: Fork | NewInterpreter | None = None
        self._stopped = False

    def answer(self, read: Callable[[list[bytes]], T]) -> T:
        """Run the process to its end and read the lines that it answers."""
        lines = self._answer()
        try:
            failure = failure_of(lines[0] if lines else b"")
            if failure is None:
                return read(lines)
        except DocumentInvalid as exc:
            raise ParseFailed(f"The parser gave no valid document: {exc}.", "crashed") from None
        raise failure

    def _answer(self) -> list[bytes]:
        with self._path.open("rb") as source:
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
        """End the process, or keep it from being started."""
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


def failure_of(line: bytes) -> ParseFailed | None:
    """Return the failure that the first line of an output reports, None if it is a document."""
    if not line.startswith(b'{"failed"'):
        return None
    try:
        failed: Any = json.loads(line)["failed"]
        reason, code = failed["reason"], failed["code"]
        reason.encode()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DocumentInvalid("the failure is unreadable") from None
    if code not in FAILURE_CODES:
        raise DocumentInvalid("the code of the failure is unknown")
    return ParseFailed(reason[:REASON_CHARACTERS_LIMIT], code)
