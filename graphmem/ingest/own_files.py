"""The files of the caller: a command, or `graphmem mcp` over stdio, reads them itself and sends the content.

Nothing here imports the operations: each command may need it at its start.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from graphmem.errors import FileEmpty, FileIsDirectory, FileMissing, FileTooLarge, FileUnreadable, InvalidJson
from graphmem.ingest.document import FILE_BYTES_LIMIT
from graphmem.model import canonical

OPERATIONS: Final = frozenset({"files.parse", "store", "store.unstructured"})
"""The operations that take a file, for programs that do not import them; a test compares the registry."""
TOOLS: Final = frozenset({"parse_file", "store"})  # the tools of these operations
_HEAD_BYTES: Final = 4_096
_REQUEST: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{(?!\\rtf)|\[\s*(?:[\[{\"\]]|$)|$)")
"""The beginning of arguments: an object, or a list of items. RTF and some texts begin so as well."""


_MEMORY: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"(?:entity|relation)"')
"""The beginning of a line of the memory.jsonl of the MCP memory server."""


def with_content(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with content and name of the file at ``file_path``; raise as :func:`read_file`."""
    path = arguments.get("file_path")
    if not isinstance(path, str) or not path or arguments.get("file_content") is not None:
        return dict(arguments)
    rest = {name: value for name, value in arguments.items() if name != "file_path"}
    content = base64.b64encode(read_file(path)).decode("ascii")
    name = rest.get("original_filename")
    return {**rest, "file_content": content, "original_filename": Path(path).name if name is None else name}


def read_file(path: str) -> bytes:
    """Return the bytes of a file.

    Raises:
        FileMissing: there is none.
        FileIsDirectory: it is a directory.
        FileUnreadable: it cannot be read, or it is no regular file.
        FileEmpty: it has no byte.
        FileTooLarge: it has more bytes than the largest file may have.
    """
    try:
        # A pipe without a writer must not block the program for ever.
        descriptor = os.open(os.path.expanduser(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FileUnreadable(f"{path} is no regular file", file=path)
            data = file.read(FILE_BYTES_LIMIT + 1)
    except FileNotFoundError:
        raise FileMissing(f"there is no file {path}", file=path) from None
    except IsADirectoryError:
        raise FileIsDirectory(
            f"{path} is a directory: `graphmem upload` stores the files in it", file=path
        ) from None
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise FileUnreadable(f"{path} cannot be read: {reason}", file=path) from None
    size = max(status.st_size, len(data))
    if size > FILE_BYTES_LIMIT:
        raise FileTooLarge(
            f"{path} has {size} bytes, and {FILE_BYTES_LIMIT} are the limit: split it into several files",
            file=path,
            file_size=size,
            max_size=FILE_BYTES_LIMIT,
        )
    if not data:
        raise FileEmpty(f"{path} is empty: give a file with at least one byte", file=path)
    return data


def is_request(path: str) -> bool:
    """Return whether a file begins as JSON arguments do. A pipe counts as such: it can be read only once."""
    try:
        status = os.stat(os.path.expanduser(path))
        if not stat.S_ISREG(status.st_mode):
            return not stat.S_ISDIR(status.st_mode)
        with open(os.path.expanduser(path), "rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        # Reading it as a file reports why.
        return False
    return head != b"" and _REQUEST.match(head) is not None


def read_request(data: bytes, name: str) -> dict[str, Any]:
    """Return the arguments of a store; lists and lines are its ``entities``.

    Raises InvalidJson: it is none.
    """
    if _MEMORY.match(data):
        reason = f"it is a memory.jsonl: `graphmem upload {name}` stores it"
        raise InvalidJson(f"{name} has no arguments: {reason}", file=name, reason=reason)
    try:
        value = canonical.decode(data)
    except ValueError as whole:
        lines = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            raise _unreadable(name, str(whole)) from None
        return {"entities": [_line(name, number, line) for number, line in lines]}
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {"entities": value}
    raise _unreadable(name, "the file must contain an object or a list")


def _line(name: str, number: int, line: bytes) -> Any:
    try:
        return canonical.decode(line)
    except ValueError as exc:
        raise _unreadable(name, f"line {number}: {exc}") from None


def _unreadable(name: str, reason: str) -> InvalidJson:
    return InvalidJson(f"{name} cannot be read as JSON: {reason[:200]}", file=name, reason=reason[:200])
