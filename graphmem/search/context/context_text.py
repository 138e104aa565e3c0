"""Lines of context as text: one line for each entity, with its fields and relationships."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, NamedTuple

import orjson

from graphmem.embedding import token_counts
from graphmem.embedding.token_counts import Unit
from graphmem.model import canonical, times
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context.context_page import View
from graphmem.search.context.context_ranking import Line
from graphmem.text import words

NAME_LIMIT: Final = 100
"""Characters of a name; a longer one is cut."""
METADATA_VALUE_LIMIT: Final = 120
"""Characters of a value of a relationship; a longer one is cut."""
_NEEDS_QUOTES: Final = re.compile(r'[;\x00-\x1f\x7f\x85\u2028\u2029]|^[\s"]|\s$|^$')
"""A text that has this could be read as something else than one value."""
_ARROWS: Final = {"outgoing": "→", "incoming": "←"}
_NOTHING: Final = 12
"""Tokens or characters of quotes, commas and brackets that a line of an entity adds besides its text."""


class _Fact(NamedTuple):
    """A field or a relationship as text; the text is empty if the name of its entity says it."""

    line: Line
    text: str


class TextSheet:
    """Each entity is a line with its name, type, id and latest time, then its fields and relationships."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._facts: list[_Fact] = []
        self._begun: Counter[str] = Counter()

    def cost(self, line: Line, limit: int, unit: Unit) -> int:
        """Return the cost of a fact, and of the beginning of its entity's line if no fact has begun it."""
        text = f"; {self._text(line, limit)}"
        if not self._begun[line.about.id]:
            return token_counts.cost(_json(_head(line, line.observed_at) + text), unit) + _NOTHING
        return token_counts.cost(_json(text), unit) - 2 * (unit == "characters")

    def add(self, line: Line, limit: int) -> None:
        """Add a fact."""
        self._facts.append(_Fact(line, self._text(line, limit)))
        self._begun[line.about.id] += 1

    def remove_last(self) -> None:
        """Remove the fact that was added last."""
        self._begun[self._facts.pop().line.about.id] -= 1

    @property
    def members(self) -> dict[str, Any]:
        """The lines, that of the most useful fact first."""
        by_entity: dict[str, list[_Fact]] = {}
        for fact in self._facts:
            by_entity.setdefault(fact.line.about.id, []).append(fact)
        return {"lines": [_joined(facts) for facts in by_entity.values()]}

    def _text(self, line: Line, limit: int) -> str:
        question_words = self._view.question_words
        if line.related is not None:
            text = _relationship(line, question_words, limit)
        elif line.value == canonical.encode(line.about.name) and not line.contested:
            text = line.field if self._view.with_ids else ""
        else:
            text = f"{line.field}: {_plain(line.value, question_words, limit)}"
            text += " (contested)" if line.contested else ""
        return f"{text} [{line.observation_id}]" if self._view.with_ids else text


def _head(line: Line, observed_at: int) -> str:
    """Return how the line of an entity begins."""
    name = _plain(canonical.encode(line.about.name), frozenset(), NAME_LIMIT)
    return f"{name} ({line.about.type}, {line.about.id}, {times.render(observed_at)[:10]})"


def _joined(facts: list[_Fact]) -> str:
    head = _head(facts[0].line, max(fact.line.observed_at for fact in facts))
    text = "; ".join(fact.text for fact in facts if fact.text)
    return f"{head}: {text}" if text else head


def _relationship(line: Line, question_words: frozenset[str], limit: int) -> str:
    """Return a relationship as text; one that has ended is worded as past."""
    name = _plain(line.value, frozenset(), min(limit, NAME_LIMIT))
    text = f"{line.field} {_ARROWS[line.direction]} {name}"
    metadata = ", ".join(
        f"{field}: {_plain(value, question_words, min(limit, METADATA_VALUE_LIMIT))}"
        for field, value in line.metadata[: lines_of.METADATA_FIELDS]
    )
    text += f" ({metadata})" if metadata else ""
    return text if line.ended is None else f"formerly {text}"


def _plain(value: str, question_words: frozenset[str], limit: int) -> str:
    """Return a value as text: strings without quotes where they can be nothing else."""
    shown, _ = lines_of.excerpt(value, question_words, limit, words.tokens)
    decoded = canonical.decode(shown)
    if isinstance(decoded, str):
        return shown if _NEEDS_QUOTES.search(decoded) else decoded
    if isinstance(decoded, list) and decoded and all(_is_simple(element) for element in decoded):
        return ", ".join(decoded)
    return shown


def _is_simple(element: Any) -> bool:
    return isinstance(element, str) and "," not in element and not _NEEDS_QUOTES.search(element)


def _json(text: str) -> str:
    return orjson.dumps(text).decode()
