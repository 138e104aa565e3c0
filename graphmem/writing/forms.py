"""Run ``write.look`` and ``write.turn`` in the least form that has all that a turn needs.

Neo4j plans a statement when it first runs after a start of the server. The whole queries take seconds then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from graphmem import cypher
from graphmem.database.queries import Queries
from graphmem.writing.requests import Touched
from graphmem.writing.rows import edge_types
from graphmem.writing.state import LookRow

TurnForm = Literal["write.turn[plain]", "write.turn[linked]", "write.turn"]


class WrittenTurn(NamedTuple):
    """The row of ``write.turn``."""

    sequence: int


async def read(touched: Touched, queries: Queries) -> LookRow:
    """Read what requests touch, with the things that it is merged with."""
    params = touched.parameters
    if touched.merging is None:
        plain = _parameters("write.look[plain]", params)
        look = await queries.only("write.look[plain]", LookRow, **plain)
        if not has_merged(look):
            return look
    return await queries.only("write.look", LookRow, **params)


async def write(params: Mapping[str, Any], queries: Queries) -> bool:
    """Write a turn; return whether it is written: not if another process wrote meanwhile."""
    form = of_turn(params)
    types = edge_types(params) if form == "write.turn" else None
    taken = _parameters(form, params)
    return await queries.one(form, WrittenTurn, edge_types=types, **taken) is not None


def has_merged(look: LookRow) -> bool:
    """Return whether a thing that ``write.look[plain]`` read is merged with others, so that they are missing.

    ``into`` is set in a member, ``own_state`` in a survivor that has members.
    """
    things = (*look.entities, *look.relationships)
    return any(thing.into is not None or thing.own_state is not None for thing in things)


def of_turn(params: Mapping[str, Any]) -> TurnForm:
    """Return the least form of ``write.turn`` that writes all that its parameters hold."""
    merges = any(row["merged"] or row["unmerged"] for row in params["entities"])
    moves = any(
        row["liveness_changed"] or row["survivor_key"] or row["former_survivor_key"]
        for row in params["relationships"]
    )
    if merges or moves or params["versions"] or params["aliases"]:
        return "write.turn"
    if params["relationships"] or params["events"] or params["superseded"] or params["renewed"]:
        return "write.turn[linked]"
    return "write.turn[plain]"


def _parameters(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the parameters that a form takes."""
    return {key: value for key, value in params.items() if key in cypher.query(name).params}
