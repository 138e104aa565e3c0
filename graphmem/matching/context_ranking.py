"""What is known, as lines for an agent: most useful first, cut to a budget, the same for the same state.

A *line* is one value of one entity, or one relationship, with its time and the observation behind it. Lines
stand in an order that depends on the question and the state alone (:func:`ordered`), and are taken in that
order until the budget is spent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from graphmem.model import canonical
from graphmem.model.identity import IDENTIFIER_KINDS

Unit = Literal["tokens", "characters"]
VALUE_LIMIT: Final = 600
"""Characters of one value; of a longer one, what is around the words of the question."""
LEAST: Final = 40
"""Characters to which a value is cut at most, where a budget is small."""
NAMED: Final = 0.2
"""What a name or a contact point is worth beside other values; an id says nothing to a reader."""
_NUMBER: Final = "external_id"
STEM: Final = 4
"""Letters from which on a word stands for those that begin with it."""
FURTHER: Final = 0.5
"""What a related entity is worth beside the one that it is related to."""

NAME_WORDS: Final = 6
"""Words in a row of a question that are looked up as a name."""
QUESTION_WORDS: Final = 64
_AROUND: Final = "\"'.,;:!?()[]{}<>«»„“”‘’…¿¡-–—"
_POSSESSIVE = re.compile("['’]s$")
_PIECE = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Contest:
    """Another value of a field, not older than the one that holds it, that did not win."""

    value: str
    observed_at: int
    observation_id: str
    observation_source: str


class About(NamedTuple):
    """The entity that a line is about."""

    id: str
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that is known. Times are microseconds, ``value`` canonical JSON.

    ``place`` is that of its entity among those asked about, 0 the first; ``weight`` what that entity is
    worth; ``words`` are those that a question may share with it. For a relationship, ``field`` is its type,
    ``value`` the name of the entity at the other end, which is ``related``.
    """

    place: int
    weight: float
    about: About
    field: str
    value: str
    observed_at: int
    observation_id: str
    words: frozenset[str]
    contested: tuple[Contest, ...] = ()
    direction: str = ""
    related: About | None = None

    def usefulness(self, asked: frozenset[str]) -> float:
        """Return how useful it is for a question of these words: its entity's weight, and words in common."""
        shared = sum(any(_alike(word, own) for own in self.words) for word in asked)
        named = NAMED if IDENTIFIER_KINDS.get(self.field, _NUMBER) != _NUMBER else 0.0
        return round(self.weight * (1.0 + 4.0 * shared / max(len(asked), 1) + named), 9)


def _alike(one: str, other: str) -> bool:
    """Return whether two words are one, or one begins with the other: work, works, working."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= STEM and longer.startswith(shorter))


def ordered(lines: Iterable[Line], asked: frozenset[str]) -> list[Line]:
    """Return lines, most useful first; then by the place of their entity, newest first, and by name."""

    def place(line: Line) -> tuple[Any, ...]:
        return (
            -line.usefulness(asked), line.place, line.related is not None, -line.observed_at,
            canonical.name_order(line.field), line.observation_id, line.related or (),
        )  # fmt: skip

    return sorted(lines, key=place)


def phrases(question: str) -> list[str]:
    """Return the runs of words of a question that may name something, each as it is written.

    Up to :data:`NAME_WORDS` words in a row, of the first :data:`QUESTION_WORDS`; without the punctuation that
    is around them.
    """
    words = question.split()[:QUESTION_WORDS]
    found: dict[str, None] = {}
    for length in range(min(NAME_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            phrase = " ".join(words[start : start + length])
            for one in (phrase, phrase.strip(_AROUND), _POSSESSIVE.sub("", phrase.strip(_AROUND))):
                if one:
                    found.setdefault(one)
    return list(found)


def cost(text: str, unit: Unit) -> int:
    """Return what a text costs: its characters, or about as many tokens as it has at most.

    Which tokens a text has is the business of each model. This counts one for each three letters of a word,
    for each character of a number or id, for each sign and letter of two bytes in UTF-8, two for a character
    of three bytes and four for one of four: for prose, identifiers and JSON more than the usual tokenizers
    make of it.
    """
    if unit == "characters":
        return len(text)
    total = 0
    for piece in _PIECE.findall(text):
        if piece.isascii():
            total += (len(piece) + 2) // 3 if piece.isalpha() else len(piece)
        else:
            total += 1 if piece < "\u0800" else 2 if piece < "\U00010000" else 4
    return total


def excerpt(
    value: str, asked: frozenset[str], limit: int, words: Callable[[str], Sequence[str]]
) -> tuple[str, bool]:
    """Return a value as a line shows it, as canonical JSON, and whether it is cut.

    Args:
        value: canonical JSON; what is too long is shown as text, from a little before the first word asked.
        words: splits a text into words as questions are.
    """
    if len(value) <= limit:
        return value, False
    decoded = canonical.decode(value)
    text = decoded if isinstance(decoded, str) else value
    start = _first(text, asked, words) if asked else 0
    start = max(0, min(start - limit // 4, len(text) - limit))
    end = start + limit
    part = ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
    return canonical.encode(part), True


def _first(text: str, asked: frozenset[str], words: Callable[[str], Sequence[str]]) -> int:
    """Return where the first word stands that is asked for, 0 where there is none."""
    for match in re.finditer(r"\S+", text):
        if asked & set(words(match[0])):
            return match.start()
    return 0
