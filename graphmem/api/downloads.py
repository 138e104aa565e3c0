"""The bytes of stored files over HTTP, streamed from the object store (RFC 9110, 13 and 14).

A stored file may hold anything. So browsers are told to save it, to trust its media type and to run nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Final, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from graphmem.api.rest_routes import services_of
from graphmem.auth import request_actor
from graphmem.auth.file_urls import FileUrls
from graphmem.context import Context
from graphmem.errors import ObjectDamaged, RangeNotSatisfiable
from graphmem.objects import ObjectStore
from graphmem.reading.source_answers import SourceRow, read_source

CONTENT_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
FILE_NAME_LENGTH_MAX: Final = 150
"""Characters of a file name. File systems take 255 bytes."""
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}", re.ASCII)
_RANGE = re.compile(r"bytes\s*=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.ASCII | re.IGNORECASE)


async def content(request: Request) -> Response:
    services, actor = services_of(request), request_actor(request.scope)
    row = await read_source(Context(actor, services), request.path_params["source_id"])
    return await file_answer(request, services.objects, actor.owner, row)


async def signed_content(request: Request) -> Response:
    services = services_of(request)
    owner, source_id = await FileUrls(services.database).file_of(request.query_params.multi_items())
    actor = replace(request_actor(request.scope), owner=owner)
    row = await read_source(Context(actor, services), source_id)
    return await file_answer(request, services.objects, owner, row)


async def file_answer(request: Request, objects: ObjectStore, owner: str, row: SourceRow) -> Response:
    """Return the answer with the bytes of a file, or with those of the range that the request names.

    The bytes of a whole file are compared with their hash before the last of them are sent. If they differ,
    the connection breaks before the file is complete.

    Raises:
        ObjectMissing: the bytes are not in the object store.
        ObjectDamaged: the object has another size, or other bytes and one chunk.
        RangeNotSatisfiable: the file has none of the requested bytes.
    """
    tag = f'"{row.content_hash}"'
    headers = {"ETag": tag, "Accept-Ranges": "bytes"}
    # Entity tags are compared weakly here.
    known = request.headers.get("if-none-match", "").split(",")
    if any(each.strip().removeprefix("W/") in (tag, "*") for each in known):
        return Response(status_code=304, headers=headers)
    headers |= {
        "Content-Type": row.mime_type if _MEDIA_TYPE.fullmatch(row.mime_type) else "application/octet-stream",
        "Content-Disposition": disposition(row.name, row.source_id),
        "Content-Security-Policy": CONTENT_POLICY,
    }
    if request.method == "HEAD":
        size = await objects.size(owner, row.content_hash)
        if size != row.file_size:
            raise ObjectDamaged(sha256=row.content_hash, size=size, expected_size=row.file_size)
        return Response(headers=headers | {"Content-Length": str(size)})
    # A range of another version of the file would be useless to the caller.
    is_same = request.headers.get("if-range", tag).strip() == tag
    requested = requested_range(request.headers.get("range"), row.file_size) if is_same else None
    start, end = requested or (0, row.file_size)
    if requested is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{row.file_size}"
    chunks = objects.read(owner, row.content_hash, start, end, size=row.file_size)
    # The first chunk is read before the answer begins: a file that is missing is an error like any other.
    first = await anext(chunks, b"")
    headers["Content-Length"] = str(end - start)
    return StreamingResponse(_all_chunks(first, chunks), 206 if requested else 200, headers)


async def _all_chunks(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(cast("AsyncGenerator[bytes]", others)):
        yield first
        async for chunk in others:
            yield chunk


def requested_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first byte of the range that a request names, and the one after its last.

    None stands for the whole file: there is no header, it is not valid, or it names several ranges.

    Raises RangeNotSatisfiable: the range begins after the end of the file, or is empty.
    """
    match = _RANGE.fullmatch(header.strip()) if header is not None else None
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        start, end = max(0, size - int(match[2])), size
    else:
        start, end = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
        if match[2] and int(match[2]) < start:
            return None
    if start >= size:
        raise RangeNotSatisfiable(size=size)
    return start, end


def disposition(name: str | None, fallback: str) -> str:
    """Return the ``Content-Disposition`` of a file that is saved, never shown (RFC 6266).

    The name is that of a file in no directory. Characters that are not seen are left out: they may disguise
    its suffix.
    """
    last = re.split(r"[/\\]", name or "")[-1]
    seen = "".join(each for each in last if not unicodedata.category(each).startswith(("C", "Zl", "Zp")))
    safe = seen.strip(". ") or fallback
    if len(safe) > FILE_NAME_LENGTH_MAX:
        stem, dot, suffix = safe.rpartition(".")
        end = f"{dot}{suffix}" if stem and len(suffix) <= 10 else ""
        safe = f"{safe[: FILE_NAME_LENGTH_MAX - len(end)]}{end}"
    plain = re.sub(r"[^ !#-$&-\[\]-~]", "_", safe)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"
