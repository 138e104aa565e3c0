"""Arguments that the MCP face gives where the caller does not: an agent's context is small.

REST and the command line answer everything by default. An agent gets names, values and entity ids first,
and asks for observations where it needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphmem.registry import Operation

DEFAULTS: Final[Mapping[str, Any]] = {"provenance": "none", "max_characters": 20_000}
"""The defaults of MCP, by argument. They hold for every operation that takes the argument."""
EXCEPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "provenance": frozenset({"entities.get", "entities.snapshot"}),
    "max_characters": frozenset({"context.retrieve"}),
}
"""Operations that keep their own default of an argument.

Who reads one entity asks where its values come from. A context has a budget of its own.
"""


def defaults_of(operation: Operation[Any]) -> dict[str, Any]:
    """Return the defaults of MCP for the arguments of an operation."""
    return {
        name: value
        for name, value in DEFAULTS.items()
        if name in operation.arguments.model_fields and operation.name not in EXCEPTIONS.get(name, ())
    }
