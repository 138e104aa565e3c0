"""Checking the stored state of an owner against the observations."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphmem.checking.audit import Audit, Report
from graphmem.registry import Context


class StoredTypes(NamedTuple):
    """The row of ``audit/types.cypher``; ``total`` counts entities and relationships."""

    entities: list[str]
    relationships: list[str]
    total: int


async def stored_types(context: Context) -> StoredTypes:
    """Return the types of which the actor's owner has anything."""
    return await context.graph.only("audit.types", StoredTypes)


async def audit(context: Context, *, fix: bool, deep: bool = False, progress: Any = None) -> Report:
    """Check all data of the actor's owner.

    Args:
        fix: repair what differs.
        deep: fold every observation in Python, in place of a reduction in the database.
        progress: called with the number of things that were checked since the last call.
    """
    services = context.services
    types = await stored_types(context)
    owner = context.actor.owner
    every = Audit(services.database, owner, services.writers, fix=fix, deep=deep, progress=progress)
    return await every.run(types.entities, types.relationships)
