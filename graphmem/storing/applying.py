"""Folding again what a withdrawal touched, before the call that made it is answered."""

from __future__ import annotations

from typing import Final

import structlog

from graphmem.context import Context
from graphmem.errors import Unavailable

APPLIED_AT_ONCE: Final = 1_000
"""Entities and relationships that are folded again before a withdrawal is answered; the worker folds more."""

_log = structlog.get_logger("graphmem.exclusion")


async def apply_withdrawals(context: Context) -> int:
    """Fold again what waits for it, as far as a caller waits for that; return how many still wait.

    The withdrawals are written: where the database fails now, the worker folds later.

    Raises:
        Unavailable: the database cannot even say how many wait.
    """
    owner, services = context.actor.owner, context.services
    services.pending_refolds.forget(owner)
    try:
        await services.writers.refold_withdrawn(owner, APPLIED_AT_ONCE)
    except Unavailable as exc:
        _log.warning("withdrawn observations are folded out later", owner=owner, reason=str(exc)[:500])
    return await services.pending_refolds.withdrawn(owner)
