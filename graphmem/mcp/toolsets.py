"""The toolsets: which tools an MCP client lists, and what a server tells it at the start.

``toolsets.toml`` is their one definition. It names operations; a tool's own name stands with its operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem import tables
from graphmem.auth import Scope
from graphmem.mcp import memory_tools
from graphmem.registry import REGISTRY, Face, Operation
from graphmem.settings import ToolsetName

TABLE: Final[Mapping[str, Any]] = tables.read("mcp/toolsets")
CORE: Final[Mapping[str, str]] = TABLE["core"]
"""The operations of the toolset core: for each, when to use its tool and when not."""


def filled(text: str) -> str:
    """Return a text of the table with the texts that it names, such as ``{data}``, in their places."""
    for name, value in TABLE["texts"].items():
        text = text.replace(f"{{{name}}}", value)
    return text


class Toolset(NamedTuple):
    """A set of tools."""

    summary: str  # for whom it is
    instructions: str  # what the server tells a client at the start
    # The names of its operations; ``None`` for every operation of the registry that :attr:`scope` allows.
    operations: tuple[str, ...] | None = None
    scope: Scope | None = None  # only operations of this scope; ``None`` for any
    is_closed: bool = False  # whether it refuses the tools that it does not list
    output_schemas: bool = False  # whether its tools are listed with the schemas of their answers

    def tools(self) -> dict[str, Operation[Any]]:
        known = {operation.name: operation for operation in REGISTRY.values() if Face.MCP in operation.faces}
        names = known if self.operations is None else self.operations
        every = known | memory_tools.OPERATIONS
        listed = [every[name] for name in names if self.scope in (None, every[name].scope)]
        return {operation.tool: operation for operation in listed}

    def answers(self, *operations: str) -> bool:
        """Return whether it answers the tools of operations, whether it lists them or not."""
        return not self.is_closed or {REGISTRY[name].tool for name in operations} <= self.tools().keys()


_OPERATIONS: Final = {"core": tuple(CORE), "memory": tuple(memory_tools.OPERATIONS)}
TOOLSETS: Final[Mapping[ToolsetName, Toolset]] = {
    name: Toolset(**{**row, "instructions": filled(row["instructions"])}, operations=_OPERATIONS.get(name))
    for name, row in TABLE["toolsets"].items()
}


def all_tools() -> dict[str, Operation[Any]]:
    return {tool: operation for toolset in TOOLSETS.values() for tool, operation in toolset.tools().items()}


def having(tool: str) -> list[ToolsetName]:
    return [name for name, toolset in TOOLSETS.items() if tool in toolset.tools()]
