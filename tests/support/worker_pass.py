"""Do the work of a service's worker now, for one owner: what waits of others, their tests look at."""

from __future__ import annotations

from graphmem import worker
from graphmem.context import Services
from tests.support.event_loop import Loop
from tests.support.faces import Call

PASSES_LIMIT = 500


def owner_of(run: Call) -> str:
    return run("auth.whoami")["owner"]


def fold_stale(loop: Loop, services: Services, run: Call) -> int:
    """Fold again some types that wait; return of how many entities."""
    return loop.run(worker.refold_stale(services, owner_of(run)))


def fold_withdrawn(loop: Loop, services: Services, run: Call) -> int:
    """Fold again some of what waits after a withdrawal; return how much."""
    return loop.run(worker.refold_withdrawn(services, owner_of(run)))


def fold_all(loop: Loop, services: Services, run: Call) -> None:
    """Let the worker work until no type of an owner waits. Each pass takes some types at random."""
    for _ in range(PASSES_LIMIT):
        if not run("server.stats")["types_pending"]:
            return
        fold_stale(loop, services, run)
    raise AssertionError("something waits for the worker all the time")
