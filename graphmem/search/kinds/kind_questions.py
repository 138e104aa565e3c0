"""Kinds in questions: "unpaid invoices", "open tasks of Tom", "meetings next week", "list all tasks".

A question asks for a kind where a word for a type and a word for a state or a time make one phrase, or
where it asks for all of a type. A word for a type alone, somewhere in a sentence, asks for nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from graphmem.search.kinds import kind_times
from graphmem.search.kinds.kind_times import TIME_WORDS, Period
from graphmem.search.kinds.kind_words import (
    AFTER_ITS_NOUN,
    OPPOSITE,
    STATE_WORDS,
    STATES,
    TYPE_WORDS,
    VERBS,
    KindName,
    State,
    named_kind,
)
from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.mentions import ATTRIBUTES, AskedNames

BEFORE: Final = lexicon.words("before_kinds")
"""Words between a state or a time and its type, or before them."""
LINKS: Final = lexicon.words("links")
"""Words between a type and a state or a time."""
VERBS_OF_BEING: Final = lexicon.words("being")
BEFORE_MONTHS: Final = lexicon.words("before_months")
"""Words after which the name of a month is one."""
CLAUSES: Final = lexicon.words("clauses")
NOT: Final = lexicon.words("not")
NAMING: Final = lexicon.words("naming")
"""Words before the name of what a kind is related to."""
ASKING: Final = lexicon.words("asking")
"""Words of a question that asks for all of a kind."""
HAVING: Final = lexicon.words("having")
OWNING: Final = lexicon.words("owning")
"""Words such as "my", before a kind in the singular."""
NO_NOUN_FOLLOWS: Final = lexicon.words("no_noun_follows")
"""Words after which a word for a state is a verb: "who paid invoices"."""
NAME_WORDS: Final = 4
"""Most words between a type and a state behind a name: "tasks of Tom Ek that are open"."""


@dataclass(frozen=True)
class Phrase:
    """What the words of a question say of a kind.

    Attributes:
        start, end: the places of the words of the phrase.
        kind: the types that are named.
        states, period: the states and the time that the entities are to have.
        places: of all words that say it, names and what joins them left out.
        anchors: where names of what it is related to may be, each from a place up to another.
        needs_name: it is a kind only if one of the anchors is a name.
        rest: the words that say something else, in their order.
        last_types: types whose entities come behind the others.
    """

    start: int
    end: int
    kind: KindName
    states: tuple[State, ...] = ()
    period: Period | None = None
    places: frozenset[int] = frozenset()
    anchors: tuple[tuple[int, int], ...] = ()
    needs_name: bool = False
    rest: tuple[str, ...] = ()
    text: str = ""
    last_types: frozenset[str] = frozenset()

    @property
    def readings(self) -> list[Phrase]:
        """The phrase with each time that its words may mean, the likeliest first."""
        if self.period is None:
            return [self]
        return [replace(self, period=each) for each in self.period.readings]


class _Qualifier(NamedTuple):
    """A state or a time, and up to where its words go."""

    start: int
    end: int
    what: State | Period


@dataclass(frozen=True)
class Reader:
    """Reads the words of a question; ``tokens`` are as search compares them, dates of ISO 8601 as written."""

    question: AskedNames
    types: Collection[str]
    aliases: Mapping[str, str]
    now: int
    tokens: list[str] = field(default_factory=list)

    def phrases(self) -> Iterable[Phrase]:
        """Yield what each word for a type makes a kind, in the order of the question."""
        end = 0
        for start in range(len(self.tokens)):
            for length in range(min(TYPE_WORDS, len(self.tokens) - start), 0, -1):
                if start < end or self._is_parted(start, start + length):
                    continue
                kind = named_kind(self.tokens[start : start + length], self.types, self.aliases)
                if kind is not None:
                    end = start + length
                    if (phrase := self._phrase(kind, start, end)) is not None:
                        yield phrase
                    break

    def _is_parted(self, start: int, end: int) -> bool:
        """Return whether punctuation or a possessive parts some words."""
        return any(piece.ends or piece.is_possessive for piece in self.question.pieces[start : end - 1])

    def _phrase(self, kind: KindName, start: int, end: int) -> Phrase | None:
        if (leading := self._before(start)) is None:
            return None
        before, begin = leading
        after, stop = self.after(end)
        qualifiers = [*before, *after]
        states = tuple(each.what for each in qualifiers if isinstance(each.what, State))
        periods = [each.what for each in qualifiers if isinstance(each.what, Period)]
        if len(periods) > 1 or len(states) > 2:
            return None
        period = periods[0] if periods else None
        if not kind.types:
            period = None if period is None else period._replace(is_due=True)
        elif period is not None and "due" in self.tokens[begin:stop]:
            period = period._replace(is_due=True)
        places = {place for each in qualifiers for place in range(each.start, each.end)} | set(
            range(start, end)
        )
        phrase = Phrase(begin, stop, kind, states, period, frozenset(places))
        phrase = self.with_rest(phrase, start, end)
        if not (states or period):
            return self._of_all(phrase, start, end)
        is_last = end >= len(self.tokens) or self.question.pieces[end - 1].ends or end in places
        if kind.is_plural or is_last:
            return phrase
        # "The open task list" asks for no task.
        is_alone = self.question.pieces[end].is_stop_word or self.tokens[end] in LINKS | NAMING
        return phrase if is_alone else None

    def _before(self, start: int) -> tuple[list[_Qualifier], int] | None:
        """Return the states and times before a type, and where it begins; ``None`` if it is a verb."""
        qualifiers: list[_Qualifier] = []
        place = begin = start
        while place > 0 and not self.question.pieces[place - 1].ends:
            if (each := self._ending_at(place)) is not None:
                qualifiers.append(each)
                place = begin = each.start
            elif self.tokens[place - 1] in BEFORE and not self.question.pieces[place - 1].is_possessive:
                place -= 1
            elif self.tokens[place - 1] == "due" and place - 1 > 0:
                begin = place = place - 1
            else:
                break
        if qualifiers and self._is_verb(qualifiers[-1], begin):
            return None
        if not qualifiers and start and (each := self._unknown_before(start)) is not None:
            return [each], each.start
        return qualifiers, begin

    def _ending_at(self, end: int) -> _Qualifier | None:
        for length in range(min(max(STATE_WORDS, TIME_WORDS), end), 0, -1):
            start = end - length
            tokens = tuple(self.tokens[start:end])
            if self.question.pieces[end - 1].ends or self._is_parted(start, end):
                continue
            if meaning := self.meant_by(start, end):
                return _Qualifier(start, end, meaning)
            direction = {"next": "upcoming", "last": "past"}.get(tokens[0], "") if length == 1 else ""
            if direction and (period := kind_times.period([direction], self.now)) is not None:
                return _Qualifier(start, end, period._replace(words=tokens[0]))
        return None

    def meant_by(self, start: int, end: int) -> State | Period | None:
        """Return the state or the time that the words from a place up to another say."""
        tokens = self.tokens[start:end]
        if not all(tokens):
            return None
        if (meaning := STATES.get(tuple(tokens))) is not None:
            return State(" ".join(tokens), meaning)
        if len(tokens) == 1 and self._is_other_than_month(start):
            return None
        return kind_times.period(tokens, self.now)

    def _is_other_than_month(self, place: int) -> bool:
        """Return whether the name of a month is rather another word, or a name: "may", "for June"."""
        token, piece = self.tokens[place], self.question.pieces[place]
        if token in kind_times.months() and piece.is_possessive:
            return True
        before = self.tokens[place - 1] if place else ""
        if before in BEFORE_MONTHS:
            return False
        is_written_as_name = self.question.has_case and piece.is_capital
        if token in kind_times.WORDS_OF_OTHER_MEANING and not is_written_as_name:
            return True
        return token in kind_times.NAMES_OF_PEOPLE and before in NAMING

    def _is_verb(self, first: _Qualifier, begin: int) -> bool:
        """Return whether the first word before a type is a verb, as in "who paid invoices"."""
        if not isinstance(first.what, State) or not begin:
            return False
        piece, token = self.question.pieces[begin - 1], self.tokens[begin - 1]
        if token in NO_NOUN_FOLLOWS:
            return True
        is_noun = not (piece.is_stop_word or piece.is_possessive or piece.ends or token in ASKING)
        return is_noun and first.what.words in VERBS

    def _unknown_before(self, start: int) -> _Qualifier | None:
        """Return the word before a type, which may be a value of a field that says a state."""
        piece, token = self.question.pieces[start - 1], self.tokens[start - 1]
        if piece.ends or piece.is_possessive or piece.is_stop_word or not token.isalpha():
            return None
        if token in ATTRIBUTES or token in ASKING or token in LINKS or token in BEFORE:
            return None
        if self.question.has_case and piece.is_capital:
            return None
        if start > 1:
            other = self.question.pieces[start - 2]
            is_end = other.is_stop_word or other.is_possessive or other.ends or other.token in ASKING | BEFORE
            if not is_end or other.token in NO_NOUN_FOLLOWS:
                return None
        return _Qualifier(start - 1, start, State(token, "value"))

    def after(self, end: int) -> tuple[list[_Qualifier], int]:
        """Return the states and times behind a type, and where they end."""
        qualifiers: list[_Qualifier] = []
        place = end
        if self.question.pieces[end - 1].ends:
            return qualifiers, end
        while (each := self._next(place)) is not None:
            qualifiers.append(each)
            place = each.end
            if self.question.pieces[place - 1].ends:
                break
        return qualifiers, place

    def _next(self, place: int) -> _Qualifier | None:
        """Return the next state or time behind a type: behind words that link it, and maybe behind a name."""
        start, negation, is_linked = place, -1, place > 1 and self.tokens[0] in VERBS_OF_BEING
        names, is_clause = 0, False
        while start < len(self.tokens):
            if start > place and self.question.pieces[start - 1].ends:
                return None
            is_direct = not is_clause and not names
            if each := self._starting_at(start, negation, is_linked=is_linked, is_direct=is_direct):
                return each
            token = self.tokens[start]
            if token in NOT:
                negation = start
            elif token in NAMING and not names:
                names = 1
            elif token in LINKS:
                is_linked = is_linked or token in VERBS_OF_BEING
                is_clause = is_clause or token in CLAUSES
            elif names and names < NAME_WORDS:
                names += 1
            else:
                return None
            start += 1
        return None

    def _starting_at(
        self, start: int, negation: int, *, is_linked: bool, is_direct: bool
    ) -> _Qualifier | None:
        """Return the state or the time that begins at a place.

        Args:
            negation: the place of "not" before it, -1 if there is none.
            is_linked: a form of "to be" stands before it.
            is_direct: it stands behind its noun, or only prepositions stand between.
        """
        for length in range(min(max(STATE_WORDS, TIME_WORDS), len(self.tokens) - start), 0, -1):
            end = start + length
            meaning = self.meant_by(start, end)
            if isinstance(meaning, Period):
                is_word = length == 1 and self.tokens[start] in ("past", "previous", "coming", "future")
                return None if is_word else _Qualifier(start, end, meaning)
            if meaning is None or not self._ends_clause(end):
                continue
            if negation >= 0:
                if (opposite := OPPOSITE.get(meaning.meaning)) is None:
                    return None
                return _Qualifier(negation, end, State(f"not {meaning.words}", opposite))
            follows = meaning.words in AFTER_ITS_NOUN or (meaning.words in VERBS and meaning.words != "open")
            return _Qualifier(start, end, meaning) if is_linked or (is_direct and follows) else None
        if not is_linked or negation >= 0 or self.tokens[start - 1] not in VERBS_OF_BEING:
            return None
        piece, token = self.question.pieces[start], self.tokens[start]
        is_last = start + 1 == len(self.tokens) or piece.ends
        if piece.is_stop_word or not token.isalpha() or token in LINKS or token in NOT or not is_last:
            return None
        return _Qualifier(start, start + 1, State(token, "value"))

    def _ends_clause(self, end: int) -> bool:
        """Return whether no noun follows a state: a project that is open source is not open."""
        if end >= len(self.tokens) or self.question.pieces[end - 1].ends:
            return True
        piece, token = self.question.pieces[end], self.tokens[end]
        has_time = any(
            kind_times.period(self.tokens[end : end + length], self.now) is not None
            for length in range(1, min(TIME_WORDS, len(self.tokens) - end) + 1)
        )
        return piece.is_stop_word or token in LINKS | NAMING or has_time

    def with_rest(self, phrase: Phrase, start: int, end: int) -> Phrase:
        """Return a phrase with the names that may follow or precede its type, and the other words."""
        anchors: list[tuple[int, int]] = []
        pieces = self.question.pieces
        if phrase.start and pieces[phrase.start - 1].is_possessive:
            anchors.append((self._name_start(phrase.start), phrase.start))
        for place in range(end, len(pieces)):
            if self.tokens[place] in NAMING and place + 1 < len(pieces) and place not in phrase.places:
                stop = self._name_end(place + 1, phrase.places)
                if stop > place + 1:
                    anchors.append((place + 1, stop))
        among = {place for span in anchors for place in range(*span)}
        rest = [
            self.tokens[place]
            for place, piece in enumerate(pieces)
            if place not in phrase.places and place not in among and self.tokens[place]
            and not piece.is_stop_word and self.tokens[place] not in ASKING | LINKS | BEFORE
        ]  # fmt: skip
        text = " ".join(pieces[place].text for place in sorted(phrase.places))
        return replace(phrase, anchors=tuple(anchors), rest=tuple(rest), text=text)

    def _name_start(self, end: int) -> int:
        """Return where a name with a possessive begins at most: at the last stop word before it."""
        start, pieces = end - 1, self.question.pieces
        while start and not (pieces[start - 1].is_stop_word or pieces[start - 1].ends):
            if self.tokens[start - 1] in ASKING:
                break
            start -= 1
        return start

    def _name_end(self, start: int, used_places: Collection[int]) -> int:
        end = start
        pieces = self.question.pieces
        while end < len(pieces) and end not in used_places and not pieces[end].is_stop_word:
            if self.tokens[end] in LINKS:
                break
            end += 1
            if pieces[end - 1].ends:
                break
        return end

    def _of_all(self, phrase: Phrase, start: int, end: int) -> Phrase | None:
        """Return a phrase that asks for all of a type, or for all that is related to a name."""
        is_role = any(question_words.says_role(token, no_kind=True) for token in self.tokens[start:end])
        if not phrase.kind.is_plural:
            # "Nadia's car" and "my car" ask for cars, and "Nadia's email" for an address.
            before = self.question.pieces[start - 1 : start]
            is_owned = any(piece.is_possessive or piece.token in OWNING for piece in before)
            if not is_owned or is_role or not ATTRIBUTES.isdisjoint(self.tokens[start:end]):
                return None
        if not phrase.kind.types or (phrase.rest and (phrase.kind.is_plural or not phrase.anchors)):
            return None
        if phrase.anchors:
            return None if is_role else replace(phrase, needs_name=True)
        outside = [place for place in range(len(self.tokens)) if not start <= place < end]
        is_asked = all(
            self.tokens[place] in ASKING | LINKS | BEFORE | question_words.EMPTY
            or self.question.pieces[place].is_stop_word
            for place in outside
        )
        words = {self.tokens[place] for place in outside}
        others = {"you", "did", *(() if words & HAVING else ("we",))}
        return phrase if is_asked and not others & words else None


def reader_of(question: AskedNames, types: Collection[str], aliases: Mapping[str, str], now: int) -> Reader:
    tokens = [each.token or (each.text if kind_times.is_iso(each.text) else "") for each in question.pieces]
    return Reader(question, types, aliases, now, tokens)


def kinds(question: AskedNames, types: Collection[str], aliases: Mapping[str, str], now: int) -> list[Phrase]:
    """Return the kinds that the words of a question may ask for, the one that says most first.

    Args:
        now: in microseconds.
    """
    phrases = list(reader_of(question, types, aliases, now).phrases())
    return sorted(phrases, key=lambda each: (-len(each.states) - (each.period is not None), each.start))
