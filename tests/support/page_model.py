"""What a page of entities must hold, said as plainly as it can be: each is asked, then all are sorted.

It shares no code with the product. What each value is compared as stands beside it, written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class As(NamedTuple):
    """What a value compares as: its kind, in the order of kinds, its value, and its text if it has one."""

    kind: int
    value: Any
    text: str | None = None


_NEW_YEAR = 1_767_225_600
COMPARED: list[tuple[Any, As | None]] = [
    (1, As(0, 1)),
    (1.0, As(0, 1)),
    (-2.5, As(0, -2.5)),
    (-2.25, As(0, -2.25)),
    (2**53, As(0, 2**53)),
    (2**53 + 1, As(0, 2**53 + 1)),
    (10**300, As(0, 10**300)),
    (-(10**300), As(0, -(10**300))),
    ("2026-01-01", As(1, _NEW_YEAR, "2026-01-01")),
    ("2026-01-01T00:00:00Z", As(1, _NEW_YEAR, "2026-01-01t00:00:00z")),
    ("2026-01-01T01:00:00+01:00", As(1, _NEW_YEAR, "2026-01-01t01:00:00+01:00")),
    ("2026-01-01T12:30:00.5Z", As(1, _NEW_YEAR + 45_000.5, "2026-01-01t12:30:00.5z")),
    ("1", As(2, "1", "1")),
    ("Director", As(2, "director", "director")),
    ("the  CTO.", As(2, "the cto.", "the cto.")),
    ("cto", As(2, "cto", "cto")),
    ("50%", As(2, "50%", "50%")),
    ("5_.*", As(2, "5_.*", "5_.*")),
    ("STRASSE", As(2, "strasse", "strasse")),
    ("Straße", As(2, "strasse", "strasse")),
    ("\uff21", As(2, "a", "a")),
    ("\U0001f600", As(2, "\U0001f600", "\U0001f600")),
    ("\uffee", As(2, "\u25cb", "\u25cb")),
    ("x" * 1_500, As(2, "x" * 1_500, "x" * 1_500)),
    ("x" * 1_499 + "y", As(2, "x" * 1_499 + "y", "x" * 1_499 + "y")),
    (True, As(3, True)),
    (False, As(3, False)),
    (None, None),
    ({"a": 1}, None),
]
"""Values, and what each compares as."""
NAMES = {
    "a": "a", "B": "b", "b": "b", "Zo\u00eb": "zo\u00eb", "\U0001f600": "\U0001f600", "\uff5a": "z",
    "\uffee": "\u25cb", "10%": "10%",
}  # fmt: skip
"""Names of entities, and what each is sorted as."""
NEEDLES = {
    "CTO": "cto", "direct": "direct", "%": "%", "_": "_", ".*": ".*", "stra\u00dfe": "strasse",
    "the cto": "the cto", "2026-01": "2026-01", "5": "5",
}  # fmt: skip
"""Texts to look for, and what each is looked for as."""


def compared(value: Any) -> As | None:
    """Return what a value compares as."""
    return next(how for one, how in COMPARED if type(one) is type(value) and one == value)


@dataclass
class Known:
    """One entity: what is known of it."""

    id: str
    type: str
    name: str
    created: str
    updated: str
    count: int
    observed: str
    deleted: bool = False
    into: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)


def fits(one: Known, asked: Mapping[str, Any]) -> bool:
    """Return whether an entity is asked for."""
    types = {*asked.get("entity_types", ()), *([asked["entity_type"]] if "entity_type" in asked else ())}
    return (
        (not types or one.type in types)
        and (not one.deleted or asked.get("include_deleted", False))
        and (one.into is None or asked.get("include_merged", False))
        and one.updated >= asked.get("updated_since", "")
        and one.created >= asked.get("created_since", "")
        and all(matches(one.fields.get(name), f) for name, f in asked.get("snapshot_filters", {}).items())
    )


def matches(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a value is as a filter says."""
    op, other = wanted["op"], wanted["value"]
    if isinstance(value, list):
        return op not in ("gt", "lt", "gte", "lte") and any(matches(one, wanted) for one in value)
    mine = compared(value)
    if mine is None:
        return False
    if op == "in":
        return any(matches(value, {"op": "eq", "value": one}) for one in other)
    if op in ("contains", "contains_word"):
        text, needle = mine.text, NEEDLES[other]
        if text is None:
            return False
        places = [i for i in range(len(text)) if text.startswith(needle, i)]
        return any(op == "contains" or alone(text, i, i + len(needle)) for i in places)
    theirs = compared(other)
    if theirs is None or theirs.kind != mine.kind:
        return False
    return {
        "eq": mine.value == theirs.value,
        "gt": mine.value > theirs.value,
        "lt": mine.value < theirs.value,
        "gte": mine.value >= theirs.value,
        "lte": mine.value <= theirs.value,
    }[op]


def alone(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text is not a part of a longer word."""
    return not (text[:start][-1:].isalnum() or text[end:][:1].isalnum())


def answer(everything: list[Known], asked: Mapping[str, Any], sort_by: str, sort_order: str) -> list[str]:
    """Return the ids of what is asked for, in order."""
    found = [one for one in everything if fits(one, asked)]
    keys = {
        "entity_id": lambda one: "",
        "canonical_name": lambda one: NAMES[one.name],
        "last_observation_at": lambda one: one.observed,
        "observation_count": lambda one: one.count,
        "created_at": lambda one: one.created,
        "updated_at": lambda one: one.updated,
    }
    down = sort_order == "desc"
    if sort_by in keys:
        ordered = sorted(found, key=lambda one: (keys[sort_by](one), one.id), reverse=down)
        return [one.id for one in ordered]
    name = sort_by.removeprefix("snapshot.")
    placed = [(place(one.fields.get(name)), one.id) for one in found]
    having = sorted(((key, id_) for key, id_ in placed if key), reverse=down)
    return [id_ for _, id_ in having] + sorted(id_ for key, id_ in placed if not key)


def place(value: Any) -> tuple[int, Any] | None:
    """Return the place of a value among all kinds, ``None`` where it has none."""
    how = None if isinstance(value, list) else compared(value)
    return None if how is None else (how.kind, how.value)
