"""A backup over HTTP, for `graphmem backup create --base-url`."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from graphmem.api.body import read_json
from graphmem.api.rest_routes import services_of
from graphmem.arguments import Arguments, read
from graphmem.dump import create
from graphmem.neo4j_local import backup_record

CHUNK_BYTES: Final = 1 << 18


class BackUp(Arguments):
    """What a backup holds: whether the bytes of files, and the facts of which owners; by default all."""

    files: bool
    owners: list[str] = Field(default_factory=list)


async def back_up(request: Request) -> Response:
    """Answer a backup of all owners, or of those that the body names. It needs the scope ADMIN.

    It is written to the disk first, so that its answer is whole or an error. Nothing of it stays there.
    """
    services = services_of(request)
    arguments = read(BackUp, "create_backup", await read_json(request, services.settings))
    path = backup_record.folder(services.settings) / f".{secrets.token_hex(8)}.dump"
    try:
        made = await create(
            services.database, path, arguments.owners, objects=services.objects if arguments.files else None,
            keys=services.keys,
        )  # fmt: skip
        file = path.open("rb")
    finally:
        # The open file has its bytes until it is sent, and needs no name for that.
        path.unlink(missing_ok=True)
    headers = {"Content-Length": str(made.size)}
    return StreamingResponse(_chunks(file), headers=headers, media_type="application/octet-stream")


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := await run_in_threadpool(file.read, CHUNK_BYTES):
            yield chunk
