"""The file of a request: its arguments, its bytes in the object store, and its source."""

from __future__ import annotations

import asyncio
import binascii
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, BinaryIO, Final, NotRequired, cast

from pydantic import Field, WrapValidator
from typing_extensions import TypedDict

from graphmem import errors
from graphmem.arguments import Arguments, NotBlank
from graphmem.context import Context
from graphmem.errors import FileIsDirectory, FilePathRefused, FileUnreadable
from graphmem.ingest.media_types import HEAD_BYTES, media_type
from graphmem.model.fact_records import SourceRecord
from graphmem.objects import StoredObject
from graphmem.storing.acceptance import Writing
from graphmem.writing import Receipt

PATH_CHARACTERS_LIMIT: Final = 4_096
_STEP: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
# A pipe without a writer would block for ever, and a terminal would become that of the service.
_FILE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_contained(path: str, roots: Iterable[str]) -> BinaryIO:
    """Open a regular file below one of some directories.

    Args:
        path: an absolute path below a root, or one that is relative to a root; without ``.`` and ``..``.
        roots: absolute paths; a relative path is tried below each.

    Raises:
        FilePathRefused: below no root is such a file. A missing file, a link, a file with several names and
            what is no regular file are refused alike.
        FileIsDirectory: a directory of this path is below a root.
        FileUnreadable: the service lacks the permission to read the file.
    """
    for root in roots:
        components = _components(path, root)
        if components is None:
            continue
        try:
            return _open_below(root, components)
        except FilePathRefused:
            continue
    raise FilePathRefused


def _components(path: str, root: str) -> list[str] | None:
    """Return the components of a path below a root; ``None`` if the path is not plainly below it."""
    if not path or len(path) > PATH_CHARACTERS_LIMIT or "\0" in path:
        return None
    if path.startswith("/"):
        prefix = f"{root.rstrip('/')}/"
        if not path.startswith(prefix):
            return None
        path = path[len(prefix) :]
    components = path.split("/")
    return None if any(each in ("", ".", "..") for each in components) else components


def _open_below(root: str, components: list[str]) -> BinaryIO:
    *folders, name = components
    try:
        # The operator has chosen the root: links may lead to it.
        descriptor = os.open(root, os.O_RDONLY | _DIRECTORY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        raise FilePathRefused from None
    try:
        for folder in folders:
            below = _open_step(folder, _STEP | _DIRECTORY, descriptor)
            os.close(descriptor)
            descriptor = below
        file = _open_step(name, _STEP | _FILE, descriptor, is_last=True)
    finally:
        os.close(descriptor)
    try:
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            raise FileIsDirectory
        # A second name of a file may be a link to one that is elsewhere.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise FilePathRefused
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def _open_step(name: str, flags: int, below: int, *, is_last: bool = False) -> int:
    try:
        return os.open(name, flags, dir_fd=below)
    except OSError as exc:
        if is_last and exc.errno == errno.EACCES:
            raise FileUnreadable from None
        raise FilePathRefused from None
    except ValueError:
        raise FilePathRefused from None


NAME_LIMIT: Final = 1_000
TYPE_LIMIT: Final = 255
CHUNK_BYTES: Final = 1 << 20
BASE64_CHARACTERS: Final = 4 << 18  # characters of base64 that are decoded at once
_EMPTY: Final = "the file is empty: give at least one byte"


class Upload:
    """A file of a request whose bytes a face has received: ``file`` is open for reading at its first byte. It
    stands in the place of the base64 of ``file_content``. No JSON can hold one."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file


FileContent = Annotated[
    str | None, WrapValidator(lambda value, handler: value if isinstance(value, Upload) else handler(value)),
    Field(description="A file in base64."),
]  # fmt: skip
FilePath = Annotated[
    Annotated[str, Field(min_length=1, max_length=PATH_CHARACTERS_LIMIT), NotBlank] | None,
    Field(description="Or its path."),
]
FileType = Annotated[
    Annotated[str, Field(min_length=1, max_length=TYPE_LIMIT), NotBlank] | None,
    Field(description="Such as text/csv."),
]
FileName = Annotated[
    Annotated[str, Field(min_length=1, max_length=NAME_LIMIT), NotBlank] | None,
    Field(description="Its name."),
]


class FileArguments(Arguments):
    file_content: FileContent = None
    file_path: FilePath = None
    mime_type: FileType = None
    original_filename: FileName = None

    @property
    def has_file(self) -> bool:
        return self.file_content is not None or self.file_path is not None

    @property
    def file_name(self) -> str | None:
        """The name of the file: as it was given, else the last part of its path."""
        if self.original_filename is not None or self.file_path is None:
            return self.original_filename
        return PurePosixPath(self.file_path).name[-NAME_LIMIT:] or None


class WithFile(FileArguments, Writing):
    """The arguments of an operation that stores a file."""


class StoredFile(TypedDict):
    """The part of a receipt that is about a file.

    ``content_hash`` is the SHA-256 of its bytes, ``file_size`` their number, ``mime_type`` what they are.
    ``deduplicated`` is true if the same bytes were stored before.
    """

    source_id: NotRequired[str]
    content_hash: NotRequired[str]
    file_size: NotRequired[int]
    mime_type: NotRequired[str]
    deduplicated: NotRequired[bool]


def stored_file(receipt: Receipt) -> StoredFile:
    """Return the part of a receipt that is about its file; empty if it has none."""
    if "source" not in receipt.result:
        return {}
    source = receipt.result["source"]
    return cast(StoredFile, {**source, "deduplicated": source["deduplicated"] or receipt.replayed})


async def received(
    context: Context, arguments: WithFile, *, file_key: str | None = None, commit: bool = True
) -> SourceRecord | None:
    """Keep the file of a request in the object store; return the source that its transaction writes.

    The bytes are stored before the graph names them, and not for a plan (without ``commit``). If the request
    is refused, they stay without a name until `graphmem storage gc` removes them. Raises as :func:`opened`.
    """
    if not arguments.has_file:
        # What describes a file asks for nothing where there is none.
        return None
    owner = context.actor.owner
    file = await opened(context, arguments)
    try:
        limited = cast(BinaryIO, Limited(file, context.services.settings.max_file_bytes))
        head = await asyncio.to_thread(_head, file)
        if not head:
            argument = "file_content" if arguments.file_path is None else "file_path"
            raise _refused(errors.FileEmpty, argument, _EMPTY)
        if commit:
            stored = await context.services.objects.put(owner, limited)
        else:
            stored = await asyncio.to_thread(digested, limited)
    finally:
        file.close()
    name, declared = arguments.file_name, arguments.mime_type
    detected = media_type(head, declared, name or "")
    return SourceRecord.of(owner, stored.sha256, stored.size, detected, name, declared, file_key)


async def opened(context: Context, arguments: FileArguments) -> BinaryIO:
    """Return the file of arguments, which the caller closes, at its first byte. Raises
    FileContentInvalid, FileUnreadable, FilePathRefused, FileTooLarge, SandboxDisabled."""
    content = cast("str | Upload | None", arguments.file_content)
    settings = context.services.settings
    limit = settings.max_file_bytes
    if arguments.file_path is None:
        assert content is not None
        if isinstance(content, Upload):
            return _checked(content.file, limit)
        return _checked(await asyncio.to_thread(decoded, content, limit), limit)
    if content is not None:
        raise errors.InvalidInput.at("$.file_path", "give file_content or file_path, not both")
    if settings.sandbox:
        raise errors.SandboxDisabled(
            "file_path is disabled in the public sandbox: send file_content", path="$.file_path"
        )
    return _checked(await asyncio.to_thread(open_contained, arguments.file_path, settings.file_roots), limit)


def _checked(file: BinaryIO, limit: int) -> BinaryIO:
    """Return an open file at its first byte, after a look at its size."""
    # The file of a form is of a class whose seek returns nothing.
    file.seek(0, io.SEEK_END)
    size = file.tell()
    file.seek(0)
    if size > limit:
        file.close()
        raise too_large(size, limit)
    return file


class Limited:
    """A file that is refused once more than ``limit`` bytes of it are read."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file, self._limit = file, limit
        self._size = 0

    def read(self, count: int) -> bytes:
        try:
            chunk = self._file.read(count)
        except OSError as exc:
            raise errors.FileUnreadable(f"the file cannot be read: {exc.strerror}") from None
        self._size += len(chunk)
        if self._size > self._limit:
            raise too_large(self._size, self._limit)
        return chunk


def _head(file: BinaryIO) -> bytes:
    try:
        head = file.read(HEAD_BYTES)
        file.seek(0)
    except OSError as exc:
        raise errors.FileUnreadable(f"the file cannot be read: {exc.strerror}") from None
    return head


def digested(file: BinaryIO, copy: BinaryIO | None = None) -> StoredObject:
    """Return the hash and the number of the bytes of a file, which are written to a copy but not stored."""
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
        if copy is not None:
            copy.write(chunk)
    if copy is not None:
        copy.flush()
    return StoredObject(digest.hexdigest(), size)


def _refused(kind: type[errors.FileContentInvalid], name: str, message: str) -> errors.FileContentInvalid:
    return kind(f"$.{name}: {message}", issues=[{"path": f"$.{name}", "message": message}])


def too_large(size: int, limit: int) -> errors.FileTooLarge:
    return errors.FileTooLarge(
        f"the file has {size} bytes, and {limit} are the limit: split it into several files",
        file_size=size,
        max_size=limit,
    )


def decoded_size(characters: int, ending: bytes) -> int:
    """Return the bytes that so many characters of base64 mean; ``ending``: the last two of them."""
    return characters // 4 * 3 - ending.count(b"=")


def decoded(content: str | bytes | memoryview, limit: int) -> io.BytesIO:
    """Return a file that is given in base64, at its first byte. Raises FileContentInvalid, FileTooLarge."""
    ending = content[-2:]
    size = decoded_size(len(content), ending.encode() if isinstance(ending, str) else bytes(ending))
    if size > limit:
        raise too_large(size, limit)
    try:
        # The library takes more padding than the standard allows.
        if len(content) % 4:
            raise ValueError(f"{len(content)} characters are no multiple of 4")
        # In parts: the other threads of the process do not wait for the whole.
        file = io.BytesIO()
        for start in range(0, len(content), BASE64_CHARACTERS):
            if file.tell() != start // 4 * 3:
                raise ValueError("padding before the end")
            file.write(binascii.a2b_base64(content[start : start + BASE64_CHARACTERS], strict_mode=True))
    except (binascii.Error, ValueError) as exc:
        raise _refused(
            errors.FileContentInvalid, "file_content", f"this is no base64 (RFC 4648): {exc}"
        ) from exc
    if not file.tell():
        raise _refused(errors.FileEmpty, "file_content", _EMPTY)
    file.seek(0)
    return file
