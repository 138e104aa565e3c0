"""What the worker of a service does, done now."""

from __future__ import annotations

from graphmem import worker
from graphmem.registry import Services
from tests.support.event_loop import Loop
from tests.support.faces import Call

LOOKS = 500


def fold_all(loop: Loop, services: Services, run: Call) -> None:
    """Have the worker work until nothing of an owner waits; which types it takes at a look is drawn."""
    for _ in range(LOOKS):
        if not run("server.stats")["types_pending"]:
            return
        loop.run(worker.work_once(services))
    raise AssertionError("something waits for the worker all the time")
