"""Do the work of a service's worker now."""

from __future__ import annotations

from graphmem import worker
from graphmem.context import Services
from tests.support.event_loop import Loop
from tests.support.faces import Call

PASSES_LIMIT = 500


def fold_all(loop: Loop, services: Services, run: Call) -> None:
    """Let the worker work until no type of an owner waits. Each pass takes some types at random."""
    for _ in range(PASSES_LIMIT):
        if not run("server.stats")["types_pending"]:
            return
        loop.run(worker.refold_stale(services))
    raise AssertionError("something waits for the worker all the time")
