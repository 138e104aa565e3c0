"""The comparison of two contracts: texts do not count, everything else does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.compare import contract, differences, without_texts

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Arguments",
    "properties": {
        "description": {"type": "string", "description": "A field that is called so.", "default": "none"},
        "limit": {"type": "integer", "description": "The number of rows."},
    },
    "required": ["limit"],
}


def compared(before: Any, after: Any) -> list[str]:
    return list(differences(without_texts(before), without_texts(after)))


def with_limit(**limit: Any) -> dict[str, Any]:
    return {**SCHEMA, "properties": {**SCHEMA["properties"], "limit": limit}}


def test_comparison_of_another_text_finds_no_difference() -> None:
    assert compared(SCHEMA, with_limit(type="integer", description="How many rows.")) == []
    assert compared(SCHEMA, {**SCHEMA, "title": "Other"}) == []


def test_comparison_of_another_type_names_the_place() -> None:
    assert compared(SCHEMA, with_limit(type="string")) == ["/properties/limit/type: integer -> string"]


def test_comparison_keeps_a_property_that_is_called_description() -> None:
    fewer = {**SCHEMA, "properties": {"limit": SCHEMA["properties"]["limit"]}}
    (difference,) = compared(SCHEMA, fewer)
    assert difference.startswith("/properties/description: ")
    assert difference.endswith("-> (absent)")


@pytest.mark.parametrize("name", ["Page", "PageOfRows"])
def test_comparison_follows_references_and_ignores_the_names_of_components(name: str) -> None:
    components = {"schemas": {name: {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}}}
    document = without_texts({"schema": {"$ref": f"#/components/schemas/{name}"}}, components)
    assert document == {"schema": {"type": "array", "items": "recursive"}}


def test_comparison_names_items_that_are_gone_and_new_and_another_order() -> None:
    assert list(differences(["a", "b"], ["b", "c"])) == [": a is gone", ": c is new"]
    assert list(differences(["a", "b"], ["b", "a"])) == [": another order"]


def test_contract_of_the_working_tree_has_every_part() -> None:
    parts = contract(None)
    assert all(parts.values()), {name: bool(part) for name, part in parts.items()}
    assert parts["commands"]["graphmem store"]
    assert parts["table of errors"][0].count("|") >= 2
