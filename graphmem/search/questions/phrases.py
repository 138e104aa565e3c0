"""What the words of a question ask for: the plan of a kind, and of the past."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from graphmem.search.kinds.kind_words import KindName, State
from graphmem.search.kinds.measures import Limit, Measure
from graphmem.search.questions.times_in_words import Period

Debts = Literal["", "ours", "theirs"]


@dataclass(frozen=True)
class Phrase:
    """What the words of a question say of a kind.

    Attributes:
        places: of all words that say it, names and what joins them left out.
        anchors: where names of what it is related to may be, each from a place up to another.
        needs_name: it is a kind only if one of the anchors is a name.
        rest: the words that say something else, in their order.
        text: the words that say the kind.
        last_types: types whose entities come behind the others.
        debts: whether what who asks owes is asked for, or what others owe them.
        role: the word that says how it is related to its anchors; any relationship if empty.
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
    limits: tuple[Limit, ...] = ()
    role: str = ""

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
