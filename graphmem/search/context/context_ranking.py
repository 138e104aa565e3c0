"""Ranking of context lines for an agent: most useful first, cut to a budget, deterministic.

A *line* is one value of one entity, or one relationship, with its time and its observation. The order of
lines depends on the question and the stored state alone (:func:`ordered`). Lines are taken in that order
until the budget is spent.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from graphmem.model import canonical, dates
from graphmem.model.identity import IDENTIFIER_KINDS
from graphmem.search.questions import question_words
from graphmem.search.questions.question_words import AnswerKind
from graphmem.text import words

VALUE_LIMIT: Final = 600
"""Characters of one value; a longer value is cut to the part around the words of the question."""
LONG_TEXT: Final = 2_000
"""Characters from which on not all words of a value are made, but those that the question may ask for."""
MIN_VALUE_CHARACTERS: Final = 40  # characters that a value keeps at least if a small budget cuts it further
METADATA_FIELDS: Final = 12  # fields of a relationship that a line shows at most
SHARED_WORDS_WEIGHT: Final = 4.0  # added weight of a line that has every word of the question
NAME_BONUS: Final = 0.2  # added weight of a name or a contact point
ID_MALUS: Final = 0.5  # weight that an id loses: it means nothing to a reader
SENTENCE_BONUS: Final = 0.5  # added weight of a text: it says more than a label
SENTENCE_CHARACTERS: Final = 30  # a value of so many characters of JSON is such a text, if it has blanks
WANTED_BONUS: Final = 0.6
"""Added weight of a person, a place or a time where the question asks who, where or when, and of a field by
which it asks for a kind."""
THEN_BONUS: Final = 2.0  # added weight of what answers a question for the past
_NUMBER: Final = "external_id"
RELATED_WEIGHT_FACTOR: Final = 0.5
"""Weight of a related entity, as a factor of the weight of the entity that it is related to."""
BESIDE_WEIGHT_FACTOR: Final = 0.4
"""Weight of an entity that only resembles a question which names another one, as a factor."""
PLACE_DECAY: Final = 0.15  # how fast the weight falls with the place of an entity: half of it at the seventh
ENDED_WEIGHT_FACTOR: Final = 0.8
"""Weight of an entity that is related by a relationship which has ended, as a factor."""


class Observed(NamedTuple):
    """An observation of a field; ``value`` is canonical JSON, ``None`` if it is too long to be read.

    ``contests``: it did not win although it is not older than the winner. ``mends``: it is a correction, and
    the value before it was wrong. ``until`` is when the next value of the field was observed first, in
    microseconds, of a value that held before it.
    """

    field: str
    value: str | None
    observed_at: int
    observation_id: str
    observation_source: str
    contests: bool = False
    mends: bool = False
    until: int | None = None

    @property
    def text(self) -> str:
        return self.value or ""


class About(NamedTuple):
    """An entity, its former name in the question; of one at the other end the field and who set its name."""

    id: str
    type: str
    name: str
    former: str = ""
    named_by: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Focus:
    """What a question asks: ``words`` say what is wanted, ``answer_kinds`` are those of its question words.

    ``fields`` are those by which it asks for a kind, such as a status. A long value is cut to the part around
    the words ``around``.
    """

    words: frozenset[str] = frozenset()
    answer_kinds: frozenset[AnswerKind] = frozenset()
    fields: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    asks_for_former: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One value or one relationship of an entity. Times are microseconds, ``value`` is canonical JSON.

    ``place`` is the rank of the entity among the requested ones, from 0; ``weight`` is the entity's weight;
    ``words`` are the words that are compared with the question. For a relationship, ``field`` is its type,
    ``related`` the entity at the other end, ``value`` the name of that entity, ``metadata`` its fields with
    their canonical JSON, and ``ended`` the value that says that it has ended. ``is_of_kind`` tells that the
    entity is of the kind that the question asks for, ``resembles`` that the question names others.

    ``since`` and ``until`` say when the value held, as far as that is known and of use; a value of a field
    with ``until`` is an earlier one. ``earlier`` are the latest values that a field had before. ``is_then``
    tells that the line answers a question for the past, and ``note`` what a reader has to know of it.
    ``set_by`` has all observations of the value, with commas; ``key`` is that of the relationship.
    """

    place: int
    weight: float
    about: About
    field: str
    value: str
    observed_at: int
    observation_id: str
    words: frozenset[str]
    contested: tuple[Observed, ...] = ()
    direction: str = ""
    related: About | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    ended: str | None = None
    is_of_kind: bool = False
    resembles: bool = False
    since: int | None = None
    until: int | None = None
    earlier: tuple[Observed, ...] = ()
    is_then: bool = False
    note: str = ""
    set_by: str = ""
    key: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it is a relationship that has ended, or an earlier value of a field."""
        return self.ended is not None if self.related is not None else self.until is not None

    def is_asked(self, focus: Focus) -> bool:
        """Return whether the line has a word of the question, or a thing that it asks for."""
        return question_words.shared(focus.words, self.words) > 0 or self._is_wanted(focus)

    @property
    def sort(self) -> tuple[str, str, str]:
        """What a relationship is one of: its entity, its type and its direction."""
        return self.about.id, self.field, self.direction

    def usefulness(self, focus: Focus) -> float:
        """Return how useful the line is for a question: the weight of its entity, raised by shared words."""
        shared = question_words.shared(focus.words, self.words) / max(len(focus.words), 1)
        own = 1.0 + SHARED_WORDS_WEIGHT * shared + (WANTED_BONUS if self._is_wanted(focus) else 0.0)
        own += THEN_BONUS if self.is_then else 0.0
        kind = IDENTIFIER_KINDS.get(self.field)
        if kind is not None and self.related is None:
            own += NAME_BONUS if kind != _NUMBER else -ID_MALUS
        elif self.related is None and len(self.value) >= SENTENCE_CHARACTERS and " " in self.value:
            own += SENTENCE_BONUS
        return round(self.weight * own, 9)

    def _is_wanted(self, focus: Focus) -> bool:
        """Return whether the line has a person, a place, a time or a state, and the question asks for one."""
        if self.related is None and self.field in focus.fields:
            return True
        is_related = self.related is not None and self.related.type in question_words.PERSONS
        if is_related and "person" in focus.answer_kinds:
            return True
        if "time" in focus.answer_kinds:
            values = [self.value] if self.related is None else [value for _, value in self.metadata]
            if any(value[:1] == '"' and dates.parse(value[1:-1]) is not None for value in values):
                return True
        names_place = not question_words.PLACES.isdisjoint(self.field.lower().split("_"))
        return names_place and "place" in focus.answer_kinds


def ordered(lines: Iterable[Line], focus: Focus) -> list[Line]:
    """Sort lines: those of the kind that is asked for, then by usefulness.

    A relationship that has ended is at most as useful as the best current one of its entity, type and
    direction, unless the question asks for former ones. What only resembles a question is at most as useful
    as the best line of what it names. Equally useful lines: current ones first, by the place of their entity,
    newest first.
    """
    worth = [(line, line.usefulness(focus)) for line in lines]
    most = max((usefulness for line, usefulness in worth if not line.resembles), default=0.0)
    current: dict[tuple[str, str, str], float] = {}
    for line, usefulness in worth:
        if line.related is not None and line.ended is None:
            current[line.sort] = max(current.get(line.sort, 0.0), usefulness)

    def place(each: tuple[Line, float]) -> tuple[Any, ...]:
        line, usefulness = each
        if line.ended is not None and not focus.asks_for_former:
            usefulness = min(usefulness, current.get(line.sort, usefulness))
        if line.resembles:
            usefulness = min(usefulness, most)
        return (
            not line.is_of_kind, -usefulness, line.resembles, line.ended is not None, line.place,
            line.related is not None, -line.observed_at, canonical.name_order(line.field),
            line.observation_id, line.related or (),
        )  # fmt: skip

    return [line for line, _ in sorted(worth, key=place)]


def in_order_of_places(lines: Sequence[Line], focus: Focus, places: range) -> list[Line]:
    """Return lines, the best of each of some places at least as useful as the best of any later place."""
    best: dict[int, float] = {}
    for line in lines:
        if line.place in places:
            best[line.place] = max(best.get(line.place, 0.0), line.usefulness(focus))
    factors: dict[int, float] = {}
    least = 0.0
    for place in sorted(best, reverse=True):
        least = max(least, best[place])
        factors[place] = least / best[place]
    return [replace(line, weight=line.weight * factors.get(line.place, 1.0)) for line in lines]


def excerpt(value: str, question_words: frozenset[str], limit: int) -> tuple[str, bool]:
    """Return a value for a line, as canonical JSON, and whether it is cut.

    Args:
        value: canonical JSON; a longer value becomes text from a little before the first question word.
        limit: characters of the result, without the ellipses.
    """
    if len(value) <= limit:
        return value, False
    decoded = canonical.decode(value)
    text = decoded if isinstance(decoded, str) else value
    start = _first_word(text, question_words)
    start = max(0, min(start - limit // 4, len(text) - limit))
    end = start + limit
    part = ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
    return canonical.encode(part), True


def _first_word(text: str, question_words: frozenset[str]) -> int:
    """Return where the first run of a text begins that has a word of the question; 0 without one."""
    first = 0
    if text.isascii():
        # The letters of a word are found fast; from there on, the words of runs are compared.
        plain = text.lower()
        joined = plain.replace("'", "").replace("`", "")
        positions = [plain.find(word) for word in question_words if word in joined]
        if not positions:
            return 0
        first = max(0, plain.rfind(" ", 0, max(0, min(positions))))
    runs = re.compile(r"\S+").finditer(text, first)
    return next((each.start() for each in runs if question_words.intersection(words.tokens(each[0]))), 0)


def compared(text: str, focus: Focus) -> str:
    """Return of a long text the words that may be forms of words of the question: only these count."""
    if len(text) <= LONG_TEXT:
        return text
    # What follows is not searched either.
    text = text[: words.TEXT_LIMIT]
    if not text.isascii():
        return text
    beginnings = sorted({question_words.first_letters(word) for word in focus.words})
    if not beginnings:
        return ""
    forms = rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, beginnings))})[a-z0-9]*"
    return " ".join(re.findall(forms, text.lower()))
