"""``graphmem sources content``: the bytes of a stored file, which are no JSON and therefore no operation."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from graphmem.cli.session import Session, require_database, tell_progress, uses_service
from graphmem.errors import InvalidInput, ObjectDamaged

if TYPE_CHECKING:
    from graphmem.client import Client


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
    chosen = session.settings()
    if chosen.base_url is not None:
        _from_client(session.remote(chosen.base_url, chosen), source_id, received)
    elif uses_service(chosen):
        from graphmem.client import Client
        from graphmem.service.calling import account_headers, ensure

        require_database(chosen, or_service=True)
        socket = Path(ensure(chosen, tell_progress)["socket"])
        headers = account_headers(session.account)
        with Client("http://localhost", None, "cli", socket=socket, headers=headers) as client:
            _from_client(client, source_id, received)
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
            async for chunk in services.objects.read(actor.owner, row.content_hash, size=row.size):
                received.write(chunk)

        on_services(chosen, work)


def _from_client(client: Client, source_id: str, received: Received) -> None:
    from graphmem.service.wire import segment

    with client.stream("GET", f"/sources/{segment(source_id)}/content") as (headers, chunks):
        for chunk in chunks:
            received.write(chunk)
    content_hash = headers.get("ETag", "").strip('"')
    if received.digest.hexdigest() != content_hash:
        raise ObjectDamaged(sha256=content_hash, size=received.size)
