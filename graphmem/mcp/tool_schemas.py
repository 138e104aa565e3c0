"""The JSON Schemas of tools' arguments and answers, as short as a client needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from graphmem.arguments import OFFSET_LIMIT, TYPE_PATTERN
from graphmem.model import items

_NAMED = frozenset({"properties", "$defs"})
"""The keywords whose keys are names."""
_PARTS = frozenset({"items", "additionalProperties"})
"""The keywords that may hold a schema."""
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""The keywords that hold a list of schemas."""
_TRIVIAL = (
    ("minLength", 1), ("additionalProperties", True),
    ("minimum", -items.PRIORITY_LIMIT), ("maximum", items.PRIORITY_LIMIT), ("maximum", OFFSET_LIMIT),
    ("pattern", TYPE_PATTERN), ("minimum", 0), ("maxLength", 200), ("maxLength", 255), ("maxLength", 2_000),
)  # fmt: skip
"""Keywords that tell a client nothing: texts are not empty, no sensible value is that large or long, and
types have the form of the examples.
"""
_NULL = {"type": "null"}


def shortened(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema of arguments in fewer words.

    Left out are titles, the descriptions of whole models and of the items of lists, that a text is not
    empty, defaults that are null or empty, and null as an alternative: an argument that may be null may also
    be left out.
    """
    short = {name: part for name, part in _reduced(schema, _short).items() if name != "description"}
    for model in short.get("$defs", {}).values():
        # What refers to the model is described.
        model.pop("description", None)
    return short


def untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema of answers without titles: each repeats the name of a field or a model."""
    return _reduced(schema, lambda part: {key: value for key, value in part.items() if key != "title"})


def _reduced(schema: dict[str, Any], reduce: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return a schema after a function has reduced the keywords of it and of each schema in it."""
    kept: dict[str, Any] = {}
    for keyword, value in reduce(schema).items():
        if keyword in _NAMED:
            kept[keyword] = {name: _reduced(part, reduce) for name, part in value.items()}
        elif keyword in _PARTS and isinstance(value, dict):
            kept[keyword] = _reduced(cast("dict[str, Any]", value), reduce)
        elif keyword in _LISTS:
            kept[keyword] = [_reduced(part, reduce) for part in value]
        else:
            kept[keyword] = value
    return kept


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {
        keyword: value
        for keyword, value in _without_null(schema).items()
        if keyword != "title"
        and (keyword, value) not in _TRIVIAL
        and not (keyword == "default" and _says_nothing(value))
    }
    if isinstance(kept.get("items"), dict):
        # The list is described; its items are of one plain type or have a model of their own.
        kept["items"] = {key: value for key, value in kept["items"].items() if key != "description"}
    return kept


def _says_nothing(default: Any) -> bool:
    return default is None or default == [] or isinstance(default, dict)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without null among its alternatives.

    Where one alternative is left, the schema's own keywords win over those of the alternative.
    """
    parts: list[dict[str, Any]] = schema.get("anyOf", [])
    others = [part for part in parts if part != _NULL]
    if len(others) == len(parts):
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}
