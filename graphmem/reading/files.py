"""The file of a request: its arguments, its bytes in the object store, and its source."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import io
from typing import Annotated, Final, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import NotBlank, invalid
from graphmem.errors import FileContentInvalid, FileEmpty, FileTooLarge, GraphmemError, ObjectStoreUnavailable
from graphmem.ingest.document import FILE_BYTES_LIMIT
from graphmem.ingest.media_types import media_type
from graphmem.reading.receipts import Writing
from graphmem.registry import Context
from graphmem.writing import Receipt
from graphmem.writing.sources import NewSource

NAME_LIMIT: Final = 1_000
TYPE_LIMIT: Final = 255
FILE_ERRORS: Final[tuple[type[GraphmemError], ...]] = (
    FileContentInvalid, FileEmpty, FileTooLarge, ObjectStoreUnavailable,
)  # fmt: skip
"""What an operation that stores a file raises beyond the errors of every operation."""

FileContent = Annotated[str | None, Field(description="A file in base64.")]
FileType = Annotated[
    Annotated[str, Field(min_length=1, max_length=TYPE_LIMIT), NotBlank] | None,
    Field(description="Such as text/csv."),
]
FileName = Annotated[
    Annotated[str, Field(min_length=1, max_length=NAME_LIMIT), NotBlank] | None,
    Field(description="Its name."),
]


class WithFile(Writing):
    """The arguments of an operation that stores a file."""

    file_content: FileContent = None
    mime_type: FileType = None
    original_filename: FileName = None


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
) -> NewSource | None:
    """Keep the file of a request in the object store; return the source that its transaction writes.

    The bytes are stored before the graph names them. If the request is refused, they stay without a name
    until `graphmem storage gc` removes them.

    Args:
        file_key: the idempotency key of the file.
        commit: false for a plan: nothing is stored.

    Raises:
        InvalidInput: something describes a file, and there is none.
        FileContentInvalid: the content is no base64.
        FileEmpty: it holds no byte.
        FileTooLarge: the file has more bytes than the limit.
        ObjectStoreUnavailable: the object store cannot be written to.
    """
    if arguments.file_content is None:
        described = {
            "mime_type": arguments.mime_type,
            "original_filename": arguments.original_filename,
            "file_idempotency_key": file_key,
        }
        for name, value in described.items():
            if value is not None:
                issue = {"path": f"$.{name}", "message": "there is no file: give file_content with it"}
                raise invalid([issue])
        return None
    data = await asyncio.to_thread(_decoded, arguments.file_content)
    owner = context.actor.owner
    if commit:
        content_hash = (await context.services.objects.put(owner, io.BytesIO(data))).sha256
    else:
        content_hash = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
    name, declared = arguments.original_filename, arguments.mime_type
    detected = media_type(data, declared, name or "")
    return NewSource(owner, content_hash, len(data), detected, name, declared, file_key)


def _refused(kind: type[FileContentInvalid], message: str) -> FileContentInvalid:
    issue = {"path": "$.file_content", "message": message}
    return kind(f"$.file_content: {message}", issues=[issue])


def _too_large(size: int) -> FileTooLarge:
    return FileTooLarge(
        f"the file has {size} bytes, and {FILE_BYTES_LIMIT} are the limit: split it into several files",
        file_size=size,
        max_size=FILE_BYTES_LIMIT,
    )


def _decoded(content: str) -> bytes:
    # Four characters of base64 stand for three bytes: most that is too large is refused unread.
    if len(content) // 4 * 3 > FILE_BYTES_LIMIT + 2:
        raise _too_large(len(content) // 4 * 3)
    try:
        # The library takes more padding than the standard allows.
        if len(content) % 4:
            raise ValueError(f"{len(content)} characters are no multiple of 4")
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise _refused(FileContentInvalid, f"this is no base64 (RFC 4648): {exc}") from exc
    if len(data) > FILE_BYTES_LIMIT:
        raise _too_large(len(data))
    if not data:
        raise _refused(FileEmpty, "the file is empty: give at least one byte")
    return data
