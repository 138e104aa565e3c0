"""A plain model of a page of entities: each entity is matched, then all are sorted.

It shares no code with the product. Beside each value stands how it is compared, written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class SortedAs(NamedTuple):
    """How a value is compared: by its kind, then by its value; ``text`` is its folded text if it has one."""

    kind: int
    value: Any
    text: str | None = None


_NEW_YEAR = 1_767_225_600
COMPARED: list[tuple[Any, SortedAs | None]] = [
    (1, SortedAs(0, 1)),
    (1.0, SortedAs(0, 1)),
    (-2.5, SortedAs(0, -2.5)),
    (-2.25, SortedAs(0, -2.25)),
    (2**53, SortedAs(0, 2**53)),
    (2**53 + 1, SortedAs(0, 2**53 + 1)),
    (10**300, SortedAs(0, 10**300)),
    (-(10**300), SortedAs(0, -(10**300))),
    ("2026-01-01", SortedAs(1, _NEW_YEAR, "2026-01-01")),
    ("2026-01-01T00:00:00Z", SortedAs(1, _NEW_YEAR, "2026-01-01t00:00:00z")),
    ("2026-01-01T01:00:00+01:00", SortedAs(1, _NEW_YEAR, "2026-01-01t01:00:00+01:00")),
    ("2026-01-01T12:30:00.5Z", SortedAs(1, _NEW_YEAR + 45_000.5, "2026-01-01t12:30:00.5z")),
    ("1", SortedAs(2, "1", "1")),
    ("Director", SortedAs(2, "director", "director")),
    ("the  CTO.", SortedAs(2, "the cto.", "the cto.")),
    ("cto", SortedAs(2, "cto", "cto")),
    ("50%", SortedAs(2, "50%", "50%")),
    ("5_.*", SortedAs(2, "5_.*", "5_.*")),
    ("STRASSE", SortedAs(2, "strasse", "strasse")),
    ("Straße", SortedAs(2, "strasse", "strasse")),
    ("\uff21", SortedAs(2, "a", "a")),
    ("\U0001f600", SortedAs(2, "\U0001f600", "\U0001f600")),
    ("\uffee", SortedAs(2, "\u25cb", "\u25cb")),
    ("x" * 1_500, SortedAs(2, "x" * 1_500, "x" * 1_500)),
    ("x" * 1_499 + "y", SortedAs(2, "x" * 1_499 + "y", "x" * 1_499 + "y")),
    (True, SortedAs(3, True)),
    (False, SortedAs(3, False)),
    (None, None),
    ({"a": 1}, None),
]
"""Values, and how each is compared."""
NAMES = {
    "a": "a", "B": "b", "b": "b", "Zo\u00eb": "zo\u00eb", "\U0001f600": "\U0001f600", "\uff5a": "z",
    "\uffee": "\u25cb", "10%": "10%",
}  # fmt: skip
"""Names of entities, and the text by which each is sorted."""
NEEDLES = {
    "CTO": "cto", "direct": "direct", "%": "%", "_": "_", ".*": ".*", "stra\u00dfe": "strasse",
    "the cto": "the cto", "2026-01": "2026-01", "5": "5",
}  # fmt: skip
"""Texts to look for, and their folded form."""
SEARCHED = {"2026": "2026", "2026-01-01": "2026-01-01", "2026-01": "2026-01"}
"""A year, a day and a month, and with what the values begin that a search for them finds."""


def compared(value: Any) -> SortedAs | None:
    """Return how a value is compared, ``None`` where it is not."""
    return next(how for known, how in COMPARED if type(known) is type(value) and known == value)


@dataclass
class KnownEntity:
    """One entity with everything that a query may filter or sort by."""

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
    links: set[tuple[str, str]] = field(default_factory=set)
    """The types of its current relationships, and the entities at their other ends."""


def matches_query(entity: KnownEntity, query: Mapping[str, Any]) -> bool:
    """Return whether an entity matches the filters of a query."""
    types = {*query.get("entity_types", ()), *([query["entity_type"]] if "entity_type" in query else ())}
    return (
        (not types or entity.type in types)
        and (not entity.deleted or query.get("include_deleted", False))
        and (entity.into is None or query.get("include_merged", False))
        and entity.updated >= query.get("updated_since", "")
        and entity.created >= query.get("created_since", "")
        and is_related(entity, query)
        and all(matches(entity.fields.get(name), f) for name, f in query.get("snapshot_filters", {}).items())
    )


def searched_ids(everything: list[KnownEntity], query: Mapping[str, Any], search: str) -> set[str]:
    """Return the ids of the entities that match a query and are found by a search."""
    return {
        entity.id
        for entity in everything
        if matches_query(entity, query)
        for value in entity.fields.values()
        if any(text.startswith(SEARCHED[search]) for text in texts(value))
    }


def texts(value: Any) -> list[str]:
    """Return the texts that a value is or holds."""
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, str)]


def is_related(entity: KnownEntity, query: Mapping[str, Any]) -> bool:
    """Return whether a relationship of the types of a query joins an entity to that of a query."""
    types = query.get("relationship_types", ())
    return "related_to" not in query or any(
        other == query["related_to"] and (not types or kind in types) for kind, other in entity.links
    )


def matches(value: Any, condition: Mapping[str, Any]) -> bool:
    """Return whether a value passes a filter."""
    op, other = condition["op"], condition["value"]
    if isinstance(value, list):
        return op not in ("gt", "lt", "gte", "lte") and any(matches(element, condition) for element in value)
    mine = compared(value)
    if mine is None:
        return False
    if op == "in":
        return any(matches(value, {"op": "eq", "value": option}) for option in other)
    if op in ("contains", "contains_word"):
        text, needle = mine.text, NEEDLES[other]
        if text is None:
            return False
        places = [i for i in range(len(text)) if text.startswith(needle, i)]
        return any(op == "contains" or is_whole_word(text, i, i + len(needle)) for i in places)
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


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text is a word of its own."""
    return not (text[:start][-1:].isalnum() or text[end:][:1].isalnum())


def expected_ids(
    everything: list[KnownEntity], query: Mapping[str, Any], sort_by: str, sort_order: str
) -> list[str]:
    """Return the ids of the entities that match a query, in order."""
    matching = [entity for entity in everything if matches_query(entity, query)]
    keys = {
        "entity_id": lambda entity: "",
        "canonical_name": lambda entity: NAMES[entity.name],
        "last_observation_at": lambda entity: entity.observed,
        "observation_count": lambda entity: entity.count,
        "created_at": lambda entity: entity.created,
        "updated_at": lambda entity: entity.updated,
    }
    down = sort_order == "desc"
    if sort_by in keys:
        ordered = sorted(matching, key=lambda entity: (keys[sort_by](entity), entity.id), reverse=down)
        return [entity.id for entity in ordered]
    name = sort_by.removeprefix("snapshot.")
    placed = [(place(entity.fields.get(name)), entity.id) for entity in matching]
    having = sorted(((key, id_) for key, id_ in placed if key), reverse=down)
    return [id_ for _, id_ in having] + sorted(id_ for key, id_ in placed if not key)


def place(value: Any) -> tuple[int, Any] | None:
    """Return the place of a value among all kinds, ``None`` where it has none."""
    how = None if isinstance(value, list) else compared(value)
    return None if how is None else (how.kind, how.value)
