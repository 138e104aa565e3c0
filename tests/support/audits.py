"""Compare all that is stored of an owner with what the facts come to."""

from __future__ import annotations

from typing import Any

from graphmem.context import Context, Services
from graphmem.reading import snapshot_check
from tests.support.actors import full_actor
from tests.support.event_loop import Loop

AUDITS_LIMIT = 20


def differences(loop: Loop, services: Services, owner: str, *, deep: bool) -> dict[str, Any]:
    """Return what is stored otherwise than the facts come to.

    Tests run side by side on one database, and the worker of each serves all owners. So the worker of another
    test may write while an audit runs: then the counters cannot be compared, and the audit runs again.
    """
    context = Context(full_actor(owner, client="test"), services)
    for _ in range(AUDITS_LIMIT):
        report = loop.run(snapshot_check.audit(context, fix=False, deep=deep))
        if report.settled:
            return report.stale
    raise AssertionError("something writes all the time")
