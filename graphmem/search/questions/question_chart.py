"""The phrases of a question: its words by category, and what the rules of kinds and times make of them.

A word is of some categories, by the lexicon and by the types that an owner has. What stands beside a word may
take it out of one: "open" is a verb in "how do I open invoices".
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from graphmem.search.kinds import kind_words, measures
from graphmem.search.kinds.kind_words import OPPOSITE, STATES, State
from graphmem.search.questions import lexicon, times_in_words
from graphmem.search.questions.chart import Chart, Edge
from graphmem.search.questions.mentions import ATTRIBUTES, AskedNames
from graphmem.search.questions.times_in_words import Calendar, Period
from graphmem.text.codes import has_digit

BEFORE, LINKS, NOT, NAMING, BEING = map(lexicon.words, ("before_kinds", "links", "not", "naming", "being"))
_CATEGORIES: Final[Mapping[str, frozenset[str]]] = {
    "before": BEFORE, "link": LINKS, "plain_link": LINKS - lexicon.words("clauses"), "being": BEING,
    "not": NOT, "naming": NAMING, "of": lexicon.words("of"), "due": (DUE := lexicon.words("due")),
}  # fmt: skip
"""Words that join others, and mean nothing by themselves."""
ASKING: Final = lexicon.words("asking")
_VERBS: Final = lexicon.words("states_and_verbs")
_AFTER_ITS_NOUN: Final = lexicon.words("after_noun") | (_VERBS - {"open"})
_NO_NOUN_FOLLOWS: Final = lexicon.words("no_noun_follows")
_NO_TIME_BEHIND: Final = lexicon.words("no_time_behind")
_EXTREMES: Final = {tuple(words.split()): means for words, means in lexicon.meanings("extremes").items()}
TOTALS: Final = {tuple(words.split()): means for words, means in lexicon.meanings("totals").items()}
_COMPARING: Final = {
    tuple(words.split()): is_more
    for table, is_more in (("more_than", True), ("less_than", False))
    for words in lexicon.words(table)
}
_ORDINALS: Final = lexicon.numbers("ordinals")
_ORDINAL_BEGINNINGS: Final = lexicon.numbers("ordinal_beginnings")
"""Beginnings of one word with an extreme: "zweitgrößte"."""
_RUN: Final = max(len(each) for table in (STATES, _EXTREMES, TOTALS, _COMPARING) for each in table)
"""Most words of a state or an extreme."""
BEFORE_MONTHS: Final = lexicon.words("before_months")
_MONTH_PEOPLE: Final = lexicon.words("month_people")
_MONTH_WORDS: Final = lexicon.words("month_words")
_TIME_NOUNS: Final = lexicon.meanings("units_of_time").keys() | lexicon.meanings("days_from_today").keys()


class Feature(NamedTuple):
    """What some words say: a type, a state, a time, an extreme, …, or that another word is a verb."""

    name: Literal["type", "state", "period", "extreme", "count", "nth", "limit", "blocked"]
    value: Any
    start: int
    end: int


@dataclass(frozen=True)
class QuestionChart:
    """The words of a question, as they are read at a time (microseconds)."""

    question: AskedNames
    types: Collection[str]
    aliases: Mapping[str, str]
    now: int

    @cached_property
    def tokens(self) -> list[str]:
        """The words as search compares them, dates of ISO 8601 as written."""
        return [
            each.token or (each.text if times_in_words.is_iso(each.text) else "")
            for each in self.question.pieces
        ]

    @cached_property
    def _calendar(self) -> Calendar:
        return Calendar(self.tokens, self.now)

    @cached_property
    def edges(self) -> list[Edge]:
        calendar, pieces = self._calendar, self.question.pieces
        words = [
            edge for place, token in enumerate(self.tokens) if token for edge in calendar.words_at(place)
        ]
        words += [
            edge._replace(symbol="lone_month")
            for edge in words
            if edge.symbol == "month" and not self._is_other_than_month(edge.start)
        ]
        timed = {edge.start for edge in words if edge.symbol not in ("number", "monthday")}
        words += self._words(timed)
        actions = {
            **calendar.actions,
            "qualifying": _qualifying,
            "behind_its_time": lambda start, _end, period, *others: (
                *_qualifying(start, 0, period), *_joined(others)
            ),
            "next_or_last": self._next_or_last,
            "next_behind": lambda _start, end, *values: (
                self._next_or_last(end - 1, end, values[-1]) if self._ends(end) else None
            ),
            "trailing": self._trailing,
            "negated": self._negated,
            "first_of_kind": lambda start, _end, number, kind: (
                (Feature("count", number, start, start + 1), *kind) if kind[0].name == "extreme" else None
            ),
            "nth_of_kind": lambda start, _end, number, kind: (
                (Feature("nth", number, start, start + 1), *kind)
                if any(each.name == "extreme" for each in kind) else None
            ),
            "limited": lambda _start, end, *values: self._limited(end, *values[-2:]),
        }  # fmt: skip
        chart = Chart([each.ends for each in pieces], [each.is_possessive for each in pieces], actions)
        return chart.parse("kinds", words)

    def _words(self, timed: Collection[int]) -> Iterator[Edge]:
        """Yield the words of kinds; ``timed`` are the places of words of times."""
        for place, token in enumerate(self.tokens):
            for category, table in _CATEGORIES.items():
                is_possessive = category == "before" and self.question.pieces[place].is_possessive
                if token in table and not is_possessive:
                    yield Edge(category, place, place + 1)
            if token and token not in LINKS | NOT | NAMING:
                yield Edge("word", place, place + 1)
            if token in _ORDINALS:
                yield Edge("ordinal", place, place + 1, _ORDINALS[token])
            yield from self._quantities(place)
        runs = list(self._runs())
        yield from runs
        known = {*timed, *(place for edge in runs for place in range(edge.start, edge.end))}
        end = 0
        for start in range(len(self.tokens)):
            for length in range(min(kind_words.TYPE_WORDS, len(self.tokens) - start), 0, -1):
                tokens = self.tokens[start : start + length]
                if start < end or self._is_parted(start, start + length):
                    continue
                if (kind := kind_words.named_kind(tokens, self.types, self.aliases)) is not None:
                    end = start + length
                    yield Edge("type", start, end, (Feature("type", kind, start, end),))
                    if start and start - 1 not in known and self._may_be_value(start - 1):
                        yield self._value("value", start - 1)
                    break
            if start and start not in known and self._is_last_value(start):
                yield self._value("last_value", start)

    def _value(self, symbol: str, place: int) -> Edge:
        state = State(self.tokens[place], "value")
        return Edge(symbol, place, place + 1, (Feature("state", state, place, place + 1),))

    def _runs(self) -> Iterator[Edge]:
        """Yield the states, the extremes and what compares; "moins de" is no extreme."""
        compared_end = 0
        for start in range(len(self.tokens)):
            for end in range(min(start + _RUN, len(self.tokens)), start, -1):
                run = tuple(self.tokens[start:end])
                if not all(run) or self._is_parted(start, end):
                    continue
                if run in _COMPARING:
                    compared_end = max(compared_end, end)
                    yield Edge("compare", start, end, (start, _COMPARING[run]))
                for symbol, table in (("extreme", _EXTREMES), ("total", TOTALS)):
                    if run in table and start >= compared_end:
                        yield Edge(symbol, start, end, (Feature("extreme", table[run], start, end),))
                if (meaning := STATES.get(run)) is not None:
                    yield from self._state(State(" ".join(run), meaning), start, end)
            for beginning, number in _ORDINAL_BEGINNINGS.items():
                before, is_begun, rest = self.tokens[start].partition(beginning)
                if is_begun and not before and (means := _EXTREMES.get((rest,))) is not None:
                    features = (
                        Feature("extreme", means, start, start + 1),
                        Feature("nth", number, start, start + 1),
                    )
                    yield Edge("extreme", start, start + 1, features)

    def _quantities(self, place: int) -> Iterator[Edge]:
        """Yield a number, with the unit that may follow it; a year alone is none."""
        pieces = [each.text for each in self.question.pieces[place : place + 2]]
        for length in range(1, len(pieces) + 1):
            text = " ".join(pieces[:length])
            is_year = times_in_words.is_year(text)
            value = measures.quantity("", {"": text}) if has_digit(pieces[0]) and not is_year else None
            if value is not None and value.unit != measures.DATE and (length == 1 or value.unit):
                yield Edge("quantity", place, place + length, value)

    def _limited(
        self, end: int, compared: tuple[int, bool], quantity: measures.Quantity
    ) -> tuple[Feature, ...]:
        start, is_more = compared
        words = " ".join(each.text for each in self.question.pieces[start:end])
        return (Feature("limit", measures.Limit(words, is_more, quantity), start, end),)

    def _state(self, state: State, start: int, end: int) -> Iterator[Edge]:
        feature = Feature("state", state, start, end)
        if start and self._makes_verb(start - 1, state):
            yield Edge("verb", start, end, (feature._replace(name="blocked"),))
        else:
            yield Edge("state", start, end, (feature,))
        if self._ends_clause(end):
            yield Edge("last_state", start, end, (feature,))
            if state.words in _AFTER_ITS_NOUN:
                yield Edge("participle", start, end, (feature,))

    def _is_parted(self, start: int, end: int) -> bool:
        """Return whether punctuation or a possessive parts some words."""
        return any(piece.ends or piece.is_possessive for piece in self.question.pieces[start : end - 1])

    def _makes_verb(self, place: int, state: State) -> bool:
        """Return whether a word makes the state behind it a verb, as in "who paid invoices"."""
        piece, token = self.question.pieces[place], self.tokens[place]
        if token in _NO_NOUN_FOLLOWS:
            return True
        is_noun = not (piece.is_stop_word or piece.is_possessive or piece.ends or token in ASKING)
        return is_noun and state.words in _VERBS and token not in _TIME_NOUNS

    def _ends(self, end: int) -> bool:
        return end >= len(self.tokens) or self.question.pieces[end - 1].ends

    def _ends_clause(self, end: int) -> bool:
        """Return whether no noun follows a state: a project that is open source is not open."""
        if self._ends(end):
            return True
        is_joining = self.question.pieces[end].is_stop_word or self.tokens[end] in LINKS | NAMING
        return is_joining or any(True for _ in self._calendar.words_at(end))

    def _is_other_than_month(self, place: int) -> bool:
        """Return whether the name of a month is rather another word, or a name: "may", "for June"."""
        token, piece = self.tokens[place], self.question.pieces[place]
        before = self.tokens[place - 1] if place else ""
        if piece.is_possessive or before in BEFORE_MONTHS:
            return piece.is_possessive
        is_written_as_name = self.question.has_case and piece.is_capital
        if token in _MONTH_WORDS and not is_written_as_name:
            return True
        return token in _MONTH_PEOPLE and before in NAMING

    def _may_be_value(self, place: int) -> bool:
        """Return whether the word before a type may be a value of a field that says a state."""
        piece, token = self.question.pieces[place], self.tokens[place]
        is_other = piece.ends or piece.is_possessive or piece.is_stop_word or not token.isalpha()
        is_name = self.question.has_case and piece.is_capital
        if is_other or is_name or token in ATTRIBUTES | ASKING | LINKS | BEFORE | _ORDINALS.keys():
            return False
        if not place:
            return True
        other = self.question.pieces[place - 1]
        is_end = other.is_stop_word or other.is_possessive or other.ends or other.token in ASKING | BEFORE
        return is_end and other.token not in _NO_NOUN_FOLLOWS

    def _is_last_value(self, place: int) -> bool:
        piece, token = self.question.pieces[place], self.tokens[place]
        return self._ends(place + 1) and token.isalpha() and not (piece.is_stop_word or token in LINKS | NOT)

    def _next_or_last(self, start: int, _end: int, shift: int, *others: Any) -> tuple[Feature, ...] | None:
        if not shift:
            return None
        bounds = ("future", self.now, None) if shift > 0 else ("past", None, self.now)
        return (*_qualifying(start, 0, Period(self.tokens[start], *bounds)), *_joined(others))

    def _trailing(self, _start: int, end: int, *values: Any) -> tuple[Feature, ...] | None:
        period: Period = values[-1]
        length = len(period.words.split())
        is_alone = length == 1 and period.words in _NO_TIME_BEHIND
        return None if is_alone else _qualifying(end - length, end, period)

    def _negated(self, start: int, end: int, *values: Any) -> tuple[Feature, ...] | None:
        state: State = values[-1][0].value
        if (opposite := OPPOSITE.get(state.meaning)) is None:
            return None
        place = next(place for place in range(start, end) if self.tokens[place] in NOT)
        return (Feature("state", State(" ".join(self.tokens[place:end]), opposite), place, end),)


def _qualifying(start: int, _end: int, period: Period) -> tuple[Feature, ...]:
    return (Feature("period", period, start, start + len(period.words.split())),)


def _joined(values: Iterable[Any]) -> tuple[Feature, ...]:
    return tuple(each for value in values for each in value)
