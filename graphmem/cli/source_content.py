"""``graphmem sources content``: the bytes of a stored file, which are no JSON and therefore no operation."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import IO, Any

from graphmem.cli.session import Session, require_database, tell_progress, uses_service
from graphmem.errors import GraphmemError, InvalidInput, ObjectDamaged


def content(
    session: Session, source_id: str, output: Path | None = None, force: bool = False
) -> dict[str, Any] | None:
    if output is None and sys.stdout.isatty():
        raise InvalidInput("stdout is a terminal: give --output FILE, or send stdout to another program")
    if output is None:
        _receive(session, source_id, Received(sys.stdout.buffer))
        sys.stdout.buffer.flush()
        return None
    from graphmem.neo4j_local.private_files import new_file

    with new_file(output, force, InvalidInput) as file:
        received = Received(file)
        _receive(session, source_id, received)
    return {"file": str(output), "file_size": received.size, "content_hash": received.digest.hexdigest()}


class Received:
    """Bytes that are written to a file, with their number and hash."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self.digest.update(chunk)
        self.size += len(chunk)


def _receive(session: Session, source_id: str, received: Received) -> None:
    """Write the bytes of a source, from where the session's commands find their data."""
    from graphmem.service import wire

    chosen = session.settings()
    path = f"/sources/{wire.segment(source_id)}/content"
    if chosen.base_url is not None:
        with session.remote(chosen.base_url, chosen).stream("GET", path) as (answer_headers, chunks):
            for chunk in chunks:
                received.write(chunk)
        content_hash = answer_headers.get("ETag", "").strip('"')
        if received.digest.hexdigest() != content_hash:
            raise ObjectDamaged(sha256=content_hash, size=received.size)
    elif uses_service(chosen):
        from graphmem.service import calling

        require_database(chosen, or_service=True)
        headers = {"X-Client-Name": "cli", **calling.account_headers(session.account)}
        # The service breaks the connection before the last byte of a file that is damaged.
        status, body = calling.send(chosen, wire.Request("GET", path), headers, tell_progress)
        if status != 200:
            raise GraphmemError.of(json.loads(body))
        received.write(body)
    else:
        require_database(chosen)
        session.log_to_file(chosen)
        from graphmem.auth import Method
        from graphmem.auth.shared_account import person_actor
        from graphmem.cli.in_process import on_services
        from graphmem.context import Context, Services
        from graphmem.reading.source_answers import read_source

        async def work(services: Services) -> None:
            actor = await person_actor(
                services.database, services.settings, session.account, "cli", Method.PROCESS
            )
            row = await read_source(Context(actor, services), source_id)
            async for chunk in services.objects.read(actor.owner, row.content_hash, size=row.file_size):
                received.write(chunk)

        on_services(chosen, work)
