"""Each option of each command of an operation is run: the operation takes it, or says why not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from graphmem.cli.commands import Listed, Parameter, ValueKind, entry_of, listed
from graphmem.registry import REGISTRY
from tests.faces.conftest import Command
from tests.support.walks import walk_over

OF_TYPES: dict[str, Any] = {
    "integer": 500, "number": 0.5, "boolean": True, "object": {}, "array": [], "string": "x"
}  # fmt: skip
"""A value of each JSON type that most arguments take."""
OF_NAMES: dict[str, Any] = {
    "corrections": {"city": "Rome"}, "direction": "outgoing", "event_type": "entity.created",
    "event_types": ["entity.created"], "file_path": __file__, "max_characters": 5_000,
    "observation_field_equals": {"field": "city", "value": "Rome"}, "relationship_type": "WORKS_AT",
    "relationship_types": ["WORKS_AT"],
    "relationships": [], "snapshot_filters": {"city": {"op": "eq", "value": "Rome"}},
}  # fmt: skip
"""The values of the arguments that take no others of their type. What ends in ``since`` is a time."""
BESIDE: dict[tuple[str, str | None], tuple[str, ...]] = {
    ("changes.list", "depth"): ("--entity-id", "ent_0123456789abcdef01234567"),
    ("entities.correct", "release"): ("city",),
    ("entities.query", "relationship_types"): ("--related-to", "ent_0123456789abcdef01234567"),
    ("entities.split", "commit"): (
        "--source-id-in", "src_0123456789abcdef01234567",
        "--new-entity", '{"entity_type": "person", "canonical_name": "Ada"}',
    ),
}  # fmt: skip
"""What some options need beside them."""
REFUSED = {
    ("agents.quarantine", "dry_run"), ("agents.release", "dry_run"), ("changes.list", "wait_seconds"),
    ("relationship_types.rename", None), ("relationship_types.rename", "idempotency_key"),
}  # fmt: skip
"""A quarantine changes nothing that is stored. Only with a cursor there is something to wait for
(tests/faces/test_watch.py). A type of one's own is renamed in tests/faces/test_own_relationship_types.py."""


def operations() -> Iterator[tuple[Listed, Parameter | None]]:
    """Yield each command alone, and with each of its options."""
    for row in listed().values():
        entry = entry_of(row["name"])
        yield entry, None
        yield from ((entry, each) for each in entry.parameters if each.option and each.is_argument)


def properties_of(operation: str) -> dict[str, Any]:
    """Return the schemas of the arguments of an operation, by their names."""
    schema = REGISTRY[operation].arguments.model_json_schema()

    def resolved(part: Any) -> dict[str, Any]:
        while "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        for option in part.get("anyOf", ()):
            if option.get("type") != "null":
                return {**part, **resolved(option)}
        return part

    return {name: resolved(part) for name, part in schema.get("properties", {}).items()}


def value_of(name: str, schema: Mapping[str, Any]) -> Any:
    if name in OF_NAMES:
        return OF_NAMES[name]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date-time" or "_since" in name or name.endswith(("_until", "_gte")):
        return "2026-01-01"
    kind = schema.get("type", "string")
    if kind in ("integer", "number"):
        return min(OF_TYPES[kind], schema.get("maximum", OF_TYPES[kind]))
    if kind == "array":
        return ["x"] if schema.get("items", {}).get("type") == "string" else []
    return OF_TYPES[kind]


def words_of(parameter: Parameter, value: Any) -> list[str]:
    texts: list[str]
    if parameter.value is ValueKind.BOOLEAN:
        return [parameter.option.partition("/")[0]]
    if parameter.value is ValueKind.LIST:
        texts = [str(each) for each in value]
    elif parameter.value in (ValueKind.JSON, ValueKind.ANY):
        texts = [json.dumps(value)]
    elif isinstance(value, list):
        texts = value
    else:
        texts = [str(value)]
    return [word for text in texts for word in (parameter.option, text) if word]


@walk_over("entry, parameter", [*operations()], one_of=10)
def test_an_option_is_taken(command: Command, entry: Listed, parameter: Parameter | None) -> None:
    operation, known = REGISTRY[entry.name], properties_of(entry.name)
    place = entry.name, parameter.name if parameter else None
    example = dict(operation.example or {})
    outcomes: list[str] = []
    # Some options exclude what the example has.
    for is_whole in (True, False):
        words = [*entry.command]
        for each in entry.parameters:
            value = example.get(each.name, example.get(each.shown))
            is_in = each.is_required or (is_whole and value is not None and place not in BESIDE)
            if each.is_argument and (is_in or each is parameter):
                value = value_of(each.name, known.get(each.name, {})) if value is None else value
                words += words_of(each, value)
        code, _, errors = command(*words, *(BESIDE.get(place) or ()), "--json")
        outcomes.append(json.loads(errors.splitlines()[-1])["error_code"] if code else "done")
    taken = {"done", "RESOURCE_NOT_FOUND", *(error.code for error in operation.errors)}
    assert (not taken.isdisjoint(outcomes)) is (place not in REFUSED), (words, errors[:400])
