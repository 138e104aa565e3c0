"""Sheets of context: lines as text, one line for each entity, or as objects, one for each fact.

A sheet takes a line and says what it adds to the answer (``add``), gives it back (``remove_last``), and has
the members of the answer that hold lines (``members``). Values and names have at most ``limit`` characters.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NotRequired

import orjson
from typing_extensions import TypedDict

from graphmem.model import canonical, times
from graphmem.reading.answers import EntityName
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context import token_counts
from graphmem.search.context.context_ranking import About, Line
from graphmem.search.context.token_counts import Unit
from graphmem.search.questions.naming import RESEMBLANCE

APART: Final = "These only resemble the question:"
"""The line above the lines of what the question does not name, where it names something."""
CONTEST_LIMIT: Final = 200  # characters of a contesting value; a longer one is cut
EARLIER_CHARACTERS: Final = 60  # characters of an earlier value; a longer one is cut
NAME_LIMIT: Final = 100  # characters of a name; a longer one is cut
METADATA_VALUE_LIMIT: Final = 120  # characters of a value of a relationship; a longer one is cut
_NEEDS_QUOTES: Final = re.compile(r'[;\x00-\x1f\x7f\x85\u2028\u2029]|^[\s"]|\s$|^$')
"""A text that has this could be read as something else than one value."""
_ARROWS: Final = {"outgoing": "→", "incoming": "←"}
_NOTHING: Final = 12
"""Tokens or characters of quotes, commas and brackets that a line of an entity adds besides its text."""


@dataclass(frozen=True, slots=True)
class View:
    """How lines are shown: a long value is cut to the part around ``question_words``. ``with_ids``: lines
    name their observations. ``above`` and ``below`` are lines of passages."""

    question_words: frozenset[str]
    with_ids: bool
    above: Sequence[str] = ()
    below: Sequence[str] = ()


class Mentioned(EntityName):
    """An entity that lines name, and its number; ``formerly`` is the former name that the question says."""

    entity: int
    formerly: NotRequired[str]


class EarlierValue(TypedDict):
    """A value that a field had before, from one observation up to that of the next value."""

    value: Any
    since: str
    until: str
    observation_id: NotRequired[str]


class TextSheet:
    """Each entity is a line with its name, type, id and latest time, then its fields and relationships."""

    def __init__(self, view: View) -> None:
        self._view = view
        # The text is empty if the name of its entity says it.
        self._facts: list[tuple[Line, str]] = []
        self._begun: Counter[str] = Counter()

    def add(self, line: Line, limit: int, unit: Unit) -> int:
        """Return the cost of a fact, and of the beginning of its entity's line if no fact has begun it."""
        text, is_begun = self._made(line, limit), self._begun[line.about.id] > 0
        is_first = line.resembles and not any(known.resembles for known, _ in self._facts)
        self._facts.append((line, text))
        self._begun[line.about.id] += 1
        if is_begun:
            return cost(f"; {text}", unit) - 2 * (unit == "characters")
        above = cost(APART, unit) + _NOTHING if is_first else 0
        return cost(f"{_head(line, line.observed_at)}; {text}", unit) + _NOTHING + above

    def remove_last(self) -> None:
        self._begun[self._facts.pop()[0].about.id] -= 1

    @property
    def told(self) -> list[Line]:
        return [line for line, _ in self._facts]

    @property
    def members(self) -> dict[str, Any]:
        """The lines, that of the most useful fact first."""
        by_entity: dict[str, list[tuple[Line, str]]] = {}
        for line, text in self._facts:
            by_entity.setdefault(line.about.id, []).append((line, text))
        lines: list[str] = []
        for facts in sorted(by_entity.values(), key=lambda facts: facts[0][0].resembles):
            if facts[0][0].resembles and APART not in lines:
                lines.append(APART)
            head = _head(facts[0][0], max(line.observed_at for line, _ in facts))
            text = "; ".join(text for _, text in facts if text)
            lines.append(f"{head}: {text}" if text else head)
        return {"lines": [*self._view.above, *lines, *self._view.below]}

    def _made(self, line: Line, limit: int) -> str:
        question_words = self._view.question_words
        if line.related is not None:
            text = _relationship(line, question_words, limit)
        elif line.value == canonical.encode(line.about.name) and not line.contested:
            text = line.field if self._view.with_ids else ""
        elif line.value == "null":
            return f"{line.field}: {line.note}"
        else:
            text = f"{line.field}: {_plain(line.value, question_words, limit)}"
            text = f"formerly {text}" if line.until is not None else text
            text += f" ({_spans(line)})" if line.earlier or line.until is not None else ""
            others = [_plain(each.text, frozenset(), EARLIER_CHARACTERS) for each in line.contested]
            text += f" (contested: {', '.join(others)})" if others else ""
        is_told = line.related is None and line.until is not None
        text += f" ({line.note})" if line.note and not is_told else ""
        return f"{text} [{line.observation_id}]" if self._view.with_ids else text


def _spans(line: Line) -> str:
    """Return when an earlier value held; of a value of now, what was before it and until when."""
    if line.until is not None:
        return line.note or f"{_month(line.since)} to {_month(line.until)}"
    return ", ".join(
        f"{_plain(each.text, frozenset(), EARLIER_CHARACTERS)} until {_month(each.until)}"
        for each in line.earlier
    )


def _month(micros: int | None) -> str:
    return "" if micros is None else times.render(micros)[:7]


def _head(line: Line, observed_at: int) -> str:
    name = _plain(canonical.encode(line.about.name), frozenset(), NAME_LIMIT)
    former = _plain(canonical.encode(line.about.former), frozenset(), NAME_LIMIT)
    formerly = f"formerly {former}, " if line.about.former else ""
    return f"{name} ({formerly}{line.about.type}, {line.about.id}, {times.render(observed_at)[:10]})"


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
    excerpt, _ = lines_of.excerpt(value, question_words, limit)
    decoded = canonical.decode(excerpt)
    if isinstance(decoded, str):
        return excerpt if _NEEDS_QUOTES.search(decoded) else decoded
    is_simple = isinstance(decoded, list) and all(
        isinstance(each, str) and "," not in each and not _NEEDS_QUOTES.search(each) for each in decoded
    )
    return ", ".join(decoded) if is_simple and decoded else excerpt


class FieldsSheet:
    """Each value and each relationship is a line of its own."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._parts: list[tuple[dict[str, Any], list[Mentioned]]] = []
        self.told: list[Line] = []
        self._numbers: dict[str, int] = {}

    def add(self, line: Line, limit: int, unit: Unit) -> int:
        """Return the cost of a line and of the entities that come with it, with a comma before each."""
        answer, mentioned = _parts(line, self._view, limit, self._numbers)
        self._parts.append((answer, mentioned))
        self.told.append(line)
        self._numbers |= {entity["entity_id"]: entity["entity"] for entity in mentioned}
        return cost(answer, unit) + 1 + sum(cost(entity, unit) + 1 for entity in mentioned)

    def remove_last(self) -> None:
        _, mentioned = self._parts.pop()
        self.told.pop()
        for entity in mentioned:
            del self._numbers[entity["entity_id"]]

    @property
    def members(self) -> dict[str, Any]:
        """The lines, and the entities that they name."""
        return {
            "lines": sorted((answer for answer, _ in self._parts), key=lambda answer: "match" in answer),
            "entities": [entity for _, mentioned in self._parts for entity in mentioned],
        }


def _parts(
    line: Line, view: View, limit: int, numbers: dict[str, int]
) -> tuple[dict[str, Any], list[Mentioned]]:
    """Return the object for a line, and those for the entities that no earlier line names."""
    new: dict[str, Mentioned] = {}

    def number(about: About) -> int:
        known = numbers.get(about.id)
        if known is None and about.id not in new:
            new[about.id] = {
                "entity": len(numbers) + len(new) + 1,
                "entity_id": about.id,
                "entity_type": about.type,
                "canonical_name": about.name[:limit],
            }
            if about.former:
                new[about.id]["formerly"] = about.former[:limit]
        return new[about.id]["entity"] if known is None else known

    value, is_cut = lines_of.excerpt(line.value, view.question_words, limit)
    answer: dict[str, Any] = {
        "entity": number(line.about), "entity_name": line.about.name[:limit], "field": line.field,
        "value": orjson.Fragment(value), "observed_at": times.render(line.observed_at),
        "observation_id": line.observation_id,
    }  # fmt: skip
    if line.related is not None:
        answer |= {"direction": line.direction, "related_entity": number(line.related)}
    if line.metadata:
        answer["metadata"] = {
            name: orjson.Fragment(text) for name, text in line.metadata[: lines_of.METADATA_FIELDS]
        }
    if line.ended is not None:
        answer["ended"] = orjson.Fragment("true" if line.ended == "false" else line.ended)
    if line.related is None:
        bounds = {"since": line.since, "until": line.until}
        answer |= {name: times.render(at) for name, at in bounds.items() if at is not None}
    if line.note:
        answer["note"] = line.note
    if line.earlier:
        answer["earlier"] = earlier_values(line)
    if is_cut:
        answer["cut"] = True
    if line.resembles:
        answer["match"] = RESEMBLANCE
    if line.contested:
        contest_limit = min(limit, CONTEST_LIMIT)
        answer["contested"] = [
            {
                "value": orjson.Fragment(lines_of.excerpt(each.text, view.question_words, contest_limit)[0]),
                "observed_at": times.render(each.observed_at),
                "observation_id": each.observation_id,
                "observation_source": each.observation_source,
            }
            for each in line.contested
        ]
    if not (view.with_ids and line.observation_id):
        for part in (answer, *answer.get("contested", ()), *answer.get("earlier", ())):
            del part["observation_id"]
    return answer, list(new.values())


def earlier_values(line: Line) -> list[EarlierValue]:
    """Return the earlier values of a field for an answer, the latest first."""
    return [
        {
            "value": orjson.Fragment(lines_of.excerpt(each.text, frozenset(), EARLIER_CHARACTERS)[0]),
            "since": times.render(each.observed_at),
            "until": times.render(each.until or times.LATEST),
            "observation_id": each.observation_id,
        }
        for each in line.earlier
    ]


def cost(value: Any, unit: Unit) -> int:
    return token_counts.cost(orjson.dumps(value).decode(), unit)
