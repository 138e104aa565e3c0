"""What the words of a question ask for: the plan of a kind, and of the past."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from graphmem.search.kinds.kind_words import KindName, State
from graphmem.search.questions.times_in_words import Period


class Measure(NamedTuple):
    """What is asked of the values of a kind: the most or the least, the sum or the mean.

    Attributes:
        how: ``max``, ``min``, ``sum`` or ``average``.
        about: what the fields say, such as amount or time; empty if other words say it.
        words: the words that say so.
        most: how many of the first ones are asked for.
    """

    how: str
    about: str
    words: str
    most: int = 1


Debts = Literal["", "ours", "theirs"]


@dataclass(frozen=True)
class Phrase:
    """What the words of a question say of a kind.

    Attributes:
        kind: the types that are named.
        states, period: the states and the time that the entities are to have.
        places: of all words that say it, names and what joins them left out.
        anchors: where names of what it is related to may be, each from a place up to another.
        needs_name: it is a kind only if one of the anchors is a name.
        rest: the words that say something else, in their order.
        text: the words that say the kind.
        last_types: types whose entities come behind the others.
        measure: what is asked of their values.
        debts: whether what who asks owes is asked for, or what others owe them.
    """

    kind: KindName
    states: tuple[State, ...] = ()
    period: Period | None = None
    places: frozenset[int] = frozenset()
    anchors: tuple[tuple[int, int], ...] = ()
    needs_name: bool = False
    rest: tuple[str, ...] = ()
    text: str = ""
    last_types: frozenset[str] = frozenset()
    measure: Measure | None = None
    debts: Debts = ""

    @property
    def readings(self) -> list[Phrase]:
        """The phrase with each time that its words may mean, the likeliest first."""
        if self.period is None:
            return [self]
        return [replace(self, period=each) for each in self.period.readings]


class AskedPast(NamedTuple):
    """A time in the past that a question asks about, or a value that was before another one.

    Attributes:
        span: the places of the words that say so, from one up to another.
        words: these words.
        start, end: the time in microseconds, its end not included; both 0 if the question names no time.
        before: the words of the value before which another one was; none if that is the value of now.
        is_past_tense: whether a word such as "did" says that the past is meant.
    """

    span: tuple[int, int]
    words: str = ""
    start: int = 0
    end: int = 0
    before: frozenset[str] = frozenset()
    is_past_tense: bool = False
