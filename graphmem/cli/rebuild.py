"""``graphmem rebuild``: derive everything from the observations again."""

from __future__ import annotations

from graphmem.auth import local_actor
from graphmem.cli.in_process import on_services
from graphmem.cli.progress import counted_task
from graphmem.cli.session import Session
from graphmem.operations.server import SnapshotHealth, health_of
from graphmem.reading.snapshot_check import StoredTypes, audit
from graphmem.registry import Context, Services


def rebuild(session: Session) -> SnapshotHealth:
    """Derive everything of the local owner again, with a progress bar; return what was repaired."""
    chosen = session.local_settings(
        "rebuild works on the data of this machine, not at {}: run it there, or repair the data of that "
        "service with `graphmem snapshots check --auto-fix`"
    )

    async def work(services: Services) -> SnapshotHealth:
        context = Context(local_actor("cli"), services)
        types = await context.graph.only("audit.types", StoredTypes)
        with counted_task("deriving entities and relationships", types.total) as advance:
            return health_of(await audit(context, fix=True, deep=True, progress=advance))

    return on_services(chosen, work)
