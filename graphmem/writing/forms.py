"""Run ``write.look`` and ``write.turn`` in the least form that has all that a turn needs.

Neo4j plans a statement when it first runs after a start of the server. The whole queries take seconds then.
"""

from collections.abc import Mapping
from typing import Any, Final

from graphmem import cypher
from graphmem.database.queries import Queries
from graphmem.model import fact_table
from graphmem.writing.state import Additions, LookRow, State
from graphmem.writing.write_requests import Touched

_OF_FORM: Final = {
    form: [name for name, least in fact_table.WRITTEN.items() if least == form]
    for form in ("sourced", "whole", "exclude")
}
"""By form, the facts that at least this form writes."""
_BEFORE_WITHDRAWALS: Final = (
    "entities", "relationships", "repeated", "schemas",
    *(name for name, form in fact_table.WRITTEN.items() if form != "exclude"),
)  # fmt: skip
"""What a turn writes before its withdrawals and splits. Without these, one statement writes all of it."""

STAMPED_LIMIT: Final = 2_000
"""Observations on which one transaction notes when they count: each takes 10 KB of its 128 MB in Neo4j."""


async def read(touched: Touched, queries: Queries) -> LookRow:
    params = touched.parameters
    if touched.merging is None and not (touched.interpretations or touched.moved or touched.subjects):
        look = await queries.only("write.look[plain]", LookRow, **_parameters("write.look[plain]", params))
        # ``into`` is set in a member, ``own_state`` in a survivor that has members.
        if all(
            each.into is None and each.own_state is None for each in (*look.entities, *look.relationships)
        ):
            return look
    return await queries.only("write.look", LookRow, **params)


async def write(params: Mapping[str, Any], queries: Queries) -> bool:
    """Write a turn, withdrawals and splits last; return false if another process wrote meanwhile."""
    is_written = await _write_parts(params, queries)
    if is_written and params["recounted"]:
        # What was withdrawn with its transactions counts again where another transaction records it.
        await queries.rows("audit.restamp", subjects=[], observation_ids=params["recounted"])
    return is_written


async def _write_parts(params: Mapping[str, Any], queries: Queries) -> bool:
    if not any(params[name] for name in _OF_FORM["exclude"]):
        return await _write_turn(params, queries)
    subjects = {row["properties"]["subject"] for row in params["exclusions"]}
    params = {
        **params,
        "subjects": sorted(subjects | {row["properties"]["id"] for row in params["splits"]}),
        "limit": STAMPED_LIMIT,
    }
    if any(params[name] for name in _BEFORE_WITHDRAWALS):
        if not await _write_turn(params, queries):
            return False
        params |= {
            "sequence": params["sequence"] + len(params["transactions"]),
            "revision": params["revision"] + 1,
            "transactions": [],
        }
    written = await queries.one("write.exclude", int, **_parameters("write.exclude", params))
    return written is not None


def recounted(state: State) -> list[str]:
    """Return the observations that do not count, and that the turn records again."""
    return sorted({each for each, _ in state.new.repeated if each in state.read.withdrawn})


def takes_two(new: Additions) -> bool:
    """Return whether a turn takes two statements: withdrawals or splits, and anything else."""
    if not any(new.facts.get(name) for name in _OF_FORM["exclude"]):
        return False
    return bool(
        new.observations or any(rows for name, rows in new.facts.items() if name not in _OF_FORM["exclude"])
    )


async def _write_turn(params: Mapping[str, Any], queries: Queries) -> bool:
    # Each call names its query, so that tests find it.
    of_merges = ("merged", "unmerged", "labels_removed")
    of_moves = ("liveness_changed", "survivor_key", "former_survivor_key")
    if (
        any(row["rekeyed"] is not None or any(map(row.get, of_merges)) for row in params["entities"])
        or any(any(map(row.get, of_moves)) for row in params["relationships"])
        or any(params[part] for part in ("aliases", *_OF_FORM["whole"]))
    ):
        written = await queries.one("write.turn", int, **_parameters("write.turn", params))
    elif params["sourced"] or any(params[name] for name in _OF_FORM["sourced"]):
        written = await queries.one("write.turn[sourced]", int, **_parameters("write.turn[sourced]", params))
    elif params["relationships"] or params["events"] or params["superseded"] or params["renewed"]:
        written = await queries.one("write.turn[linked]", int, **_parameters("write.turn[linked]", params))
    else:
        written = await queries.one("write.turn[plain]", int, **_parameters("write.turn[plain]", params))
    return written is not None


def _parameters(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: params[key] for key in cypher.query(name).params}
