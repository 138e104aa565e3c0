"""The prompts of MCP: requests that a person chooses in the client, each about one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem.errors import InvalidInput
from graphmem.mcp.toolsets import TABLE, Toolset, filled

ARGUMENT_LIMIT: Final = 1_000  # characters of an argument


class PromptText(NamedTuple):
    """A prompt."""

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
