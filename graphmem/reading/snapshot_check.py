"""Checking what is kept of an owner against what was observed."""

from __future__ import annotations

from typing import Any

from graphmem.checking.audit import Audit, Report
from graphmem.registry import Context


async def audit(context: Context, *, fix: bool, deep: bool = False, progress: Any = None) -> Report:
    """Check all that the actor's owner has.

    Args:
        fix: set right what differs.
        deep: fold every observation again, instead of having the database reduce them.
        progress: is told how many were checked since it was told last.
    """
    services = context.services
    kinds = await context.graph.one("audit.types")
    assert kinds is not None
    owner = context.actor.owner
    every = Audit(services.database, owner, services.writers, fix=fix, deep=deep, progress=progress)
    return await every.run(kinds["entities"], kinds["relationships"])
