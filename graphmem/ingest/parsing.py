"""Parse a file in a process of its own, so that no file can stop, fill or enter the service.

The process has limits on CPU, memory and files, and an environment without secrets and proxies. This side
bounds the time and the output, and checks the document: a file that takes the process over gives at most a
wrong document.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import graphmem
from graphmem.ingest.document import (
    FAILURE_CODES,
    REASON_CHARACTERS_LIMIT,
    Document,
    DocumentInvalid,
    Limits,
    ParseFailed,
    read_lines,
)

NAME_CHARACTERS_LIMIT = 255
CHUNK_BYTES = 1 << 20
ENVIRONMENT = {
    # The package stands here whether it is installed or not; -P keeps the working directory out.
    "PYTHONPATH": str(Path(graphmem.__file__).resolve().parents[1]),
    # The order of sets must not depend on the process.
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
}


async def parsed(path: Path, declared: str | None, name: str, limits: Limits | None = None) -> Document:
    """Parse a file.

    ``declared`` is the media type that its sender named, ``name`` the name of the file.

    Raises:
        ParseFailed: the file cannot be parsed within the limits.
        OSError: the file cannot be opened.
    """
    limits = limits or Limits()
    child = Child(path, declared, name[-NAME_CHARACTERS_LIMIT:], limits)
    try:
        return await asyncio.to_thread(child.document)
    finally:
        child.kill()


class Child:
    """One process for one file."""

    def __init__(self, path: Path, declared: str | None, name: str, limits: Limits) -> None:
        size = path.stat().st_size
        if size == 0:
            raise ParseFailed("The file is empty.", "empty")
        if size > limits.file_bytes:
            raise ParseFailed(
                f"The file has {size:,} bytes; the limit is {limits.file_bytes:,}.", "too_large"
            )
        self._path = path
        self._limits = limits
        self._request = json.dumps({"declared": declared, "name": name, "limits": asdict(limits)})
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def document(self) -> Document:
        """Run the process to its end and read what it answers; blocks."""
        with self._path.open("rb") as source:
            command = [sys.executable, "-P", "-m", "graphmem.ingest.child", self._request]
            self._process = subprocess.Popen(
                command,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=ENVIRONMENT,
                start_new_session=True,
            )
        try:
            if self._killed:
                raise ParseFailed("The parser was stopped.", "crashed")
            output = self._output()
            self._process.wait()
        finally:
            self.kill()
            self._process.wait()
        return self._read(output, self._process.returncode)

    def kill(self) -> None:
        """End the process at once; nothing happens if it has ended."""
        self._killed = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _output(self) -> bytes:
        """Read the pipe until its end, within the limits on time and size."""
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._limits.wall_seconds
        chunks: list[bytes] = []
        size = 0
        with self._process.stdout as pipe, selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ParseFailed(
                        f"The file was not parsed within {self._limits.wall_seconds:g} s.", "timed_out"
                    )
                chunk = os.read(pipe.fileno(), CHUNK_BYTES)
                if not chunk:
                    return b"".join(chunks)
                chunks.append(chunk)
                size += len(chunk)
                if size > self._limits.output_bytes:
                    raise ParseFailed(
                        f"The parsed file has more than {self._limits.output_bytes:,} bytes.",
                        "limit_exceeded",
                    )

    def _read(self, output: bytes, status: int) -> Document:
        if status == -signal.SIGXCPU:
            raise ParseFailed(f"The parser needs more than {self._limits.cpu_seconds} s of CPU.", "timed_out")
        if status != 0:
            raise ParseFailed(f"The parser ended abnormally (status {status}).", "crashed")
        try:
            failure = failure_of(output)
            if failure is None:
                return read_lines(io.BytesIO(output), self._limits)
        except DocumentInvalid as exc:
            raise ParseFailed(f"The parser gave no valid document: {exc}.", "crashed") from None
        raise failure


def failure_of(output: bytes) -> ParseFailed | None:
    """Return the failure that an output reports, None if it is a document."""
    if not output.startswith(b'{"failed"'):
        return None
    try:
        failed: Any = json.loads(output)["failed"]
        reason, code = failed["reason"], failed["code"]
        reason.encode()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DocumentInvalid("the failure is unreadable") from None
    if code not in FAILURE_CODES:
        raise DocumentInvalid("the code of the failure is unknown")
    return ParseFailed(reason[:REASON_CHARACTERS_LIMIT], code)
