"""``graphmem rebuild``: derive everything from the observations again."""

from __future__ import annotations

from graphmem.auth import local_actor
from graphmem.cli.progress import counted_task
from graphmem.cli.session import Session, fetching, require_database, run_async, tell_progress
from graphmem.operations.server import SnapshotHealth, health_of
from graphmem.reading.snapshot_check import StoredTypes, audit
from graphmem.registry import Context


def rebuild(session: Session) -> SnapshotHealth:
    """Derive everything of the local owner again, with a progress bar; return what was repaired."""
    chosen = session.local_settings(
        "rebuild works on the data of this machine, not at {}: run it there, or repair the data of that "
        "service with `graphmem snapshots check --auto-fix`"
    )
    require_database(chosen)
    session.log_to_file(chosen)

    async def run() -> SnapshotHealth:
        from graphmem.runtime import open_services

        async with open_services(chosen, fetching(), waiting=tell_progress) as services:
            context = Context(local_actor("cli"), services)
            types = await context.graph.only("audit.types", StoredTypes)
            with counted_task("deriving entities and relationships", types.total) as advance:
                report = await audit(context, fix=True, deep=True, progress=advance)
            return health_of(report)

    return run_async(run())
