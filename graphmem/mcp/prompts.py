"""The prompts of MCP: requests that a person chooses in the client, each about one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem.arguments import invalid
from graphmem.mcp.toolsets import DATA, WRITING, Toolset

ARGUMENT_LIMIT: Final = 1_000
"""Characters of an argument."""


class PromptText(NamedTuple):
    """A prompt.

    ``text`` has the argument for ``{about}``, and names the tools of ``operations``. ``context_tokens`` is
    the size of the context that goes with it, so that the agent need not ask for it; 0 for none.
    """

    description: str
    argument: str
    argument_description: str
    is_required: bool
    text: str
    operations: tuple[str, ...]
    context_tokens: int = 0

    def about(self, arguments: Mapping[str, str]) -> str:
        """Return the argument, empty if it is left out; InvalidInput: it is missing, or too long."""
        value = " ".join(arguments.get(self.argument, "").split())
        if len(value) > ARGUMENT_LIMIT or (self.is_required and not value):
            message = f"give 1 to {ARGUMENT_LIMIT:,} characters"
            raise invalid([{"path": f"$.{self.argument}", "message": message}])
        return value


PROMPTS: Final[Mapping[str, PromptText]] = {
    "what_do_we_know": PromptText(
        "What do we know about a person, a company, a project, a question?",
        "about", "A name, a topic or a question.", True,
        " ".join((
            "What do we know about {about}? Answer from graphmem: what it has of this is below. Say what is",
            "known and since when, what is contested, and what is missing; do not guess. For more, ask",
            "`retrieve_context` another question. `retrieve_entity_snapshot` says who wrote a value, and",
            "`retrieve_related_entities` who and what is connected.", DATA,
        )),
        ("context.retrieve", "entities.snapshot", "entities.related"),
        context_tokens=2_000,
    ),
    "store_what_we_learned": PromptText(
        "Store what this conversation taught us.",
        "about", "Only what has to do with this; all if empty.", False,
        " ".join((
            "Store in graphmem what we learned in this conversation{about}.", WRITING,
            "Look first with `retrieve_context` what is stored already. Then tell me in a few lines what you",
            "stored and corrected, and ask me about what you were not sure of.",
        )),
        ("store", "context.retrieve", "entities.correct"),
    ),
    "prepare_for_meeting": PromptText(
        "Prepare for a meeting: who comes, what was decided, what is open.",
        "meeting", "The meeting, or with whom: a title, names, a day.", True,
        " ".join((
            "Prepare me for this meeting: {about}. What graphmem has of it is below. Find out when and where",
            "it is (`list_timeline_events`), who comes (`retrieve_related_entities`), and what is known of",
            "each (`retrieve_context`). Then write one page: purpose, people, what was decided before, open",
            "tasks and questions, and what to settle. Say what you did not find; do not guess.", DATA,
        )),
        ("context.retrieve", "entities.related", "timeline.list"),
        context_tokens=3_000,
    ),
}  # fmt: skip


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
