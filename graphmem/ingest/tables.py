"""The tables beside the modules of this package, and the values to which their paths lead."""

from __future__ import annotations

from typing import Any

from graphmem import tables


def table(name: str) -> dict[str, Any]:
    return tables.read(f"ingest/{name}")


def values_at(value: Any, paths: str) -> list[Any]:
    """Return the filled values at the first path of a JSON value that has some (``exports.toml``)."""
    for path in paths.split("|"):
        values = [value]
        for name in path.split("/") if path else ():
            if name == "*":
                inner = [each.values() if isinstance(each, dict) else each for each in values]
                inner = [[] if isinstance(each, str | int | float) else each for each in inner]
                values = [each for members in inner for each in members if each]
            else:
                values = [each[name] for each in values if isinstance(each, dict) and each.get(name)]
        if values:
            return values
    return []


def value_at(value: Any, paths: str) -> Any:
    """Return the value at a path, a list of those at a path with ``*``; None if there is none."""
    values = values_at(value, paths)
    return (values if "*" in paths else values[0]) if values else None


def object_of(value: Any) -> dict[str, Any]:
    """Return an object; an empty one in place of what is none."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def texts_of(value: Any, name: str) -> list[str]:
    return [member[name] for member in objects(value) if isinstance(member.get(name), str)]
