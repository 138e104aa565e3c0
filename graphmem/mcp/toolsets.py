"""The toolsets: which tools and prompts an MCP client lists, and what a server tells it at the start.

``toolsets.toml`` is their one definition. It names operations; a tool's own name stands with its operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem import tables
from graphmem.auth import Scope
from graphmem.errors import InvalidInput
from graphmem.mcp import memory_tools
from graphmem.registry import REGISTRY, Face, Operation
from graphmem.settings import ToolsetName

ARGUMENT_LIMIT: Final = 1_000  # characters of the argument of a prompt
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


class PromptText(NamedTuple):
    """A prompt: a request that a person chooses in the client, about one thing."""

    description: str
    argument: str
    argument_description: str
    is_required: bool
    text: str  # with the argument for ``{about}``
    operations: tuple[str, ...]  # those whose tools the text names
    context_tokens: int = 0  # the size of the context that goes with it; 0 for none

    def about(self, arguments: Mapping[str, str]) -> str:
        """Return the argument, empty if it is left out; raises InvalidInput: it is missing, or too long."""
        value = " ".join(arguments.get(self.argument, "").split())
        if len(value) > ARGUMENT_LIMIT or (self.is_required and not value):
            raise InvalidInput.at(f"$.{self.argument}", f"give 1 to {ARGUMENT_LIMIT:,} characters")
        return value


PROMPTS: Final = {
    name: PromptText(**{**row, "text": filled(row["text"])}) for name, row in TABLE["prompts"].items()
}


def prompts_of(toolset: Toolset) -> dict[str, PromptText]:
    return {name: prompt for name, prompt in PROMPTS.items() if toolset.answers(*prompt.operations)}


def context_text(answer: Mapping[str, Any]) -> str:
    """Return a context as text: its lines, and what is to be known of them."""
    notes = [answer["hint"]] if "hint" in answer else []
    if "match" in answer:
        notes.append("nothing bears this name: what follows only resembles it")
    if "next_cursor" in answer:
        notes.append("there is more than fits here")
    return "\n".join(["What graphmem has:", *(f"({note})" for note in notes), *answer["lines"]])
