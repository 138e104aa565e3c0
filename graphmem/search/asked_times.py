"""The past in the words of a question: "before Bremen", "in 2023", "last year", "previously"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from graphmem.model import times
from graphmem.search.kinds import kind_times
from graphmem.search.kinds.kind_times import TIME_WORDS
from graphmem.search.questions import lexicon
from graphmem.search.questions.mentions import AskedNames

ANCHOR_WORDS: Final = 4
"""Most words of a value behind "before"."""
_BEFORE_TIMES: Final = lexicon.words("before_months") | lexicon.words("before_times")
"""Words before a year or a month alone that make it a time: "in 2023"."""
_BEFORE: Final = frozenset(word for word, bound in lexicon.meanings("bounds").items() if bound == "before")
_EARLIER: Final = lexicon.words("earlier_values")
"""Words for a value that something had before the one of now: "previously", "used to"."""
_EARLIER_WORDS: Final = max(len(each.split()) for each in _EARLIER)
_PAST_TENSE: Final = lexicon.words("past_forms")


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


@dataclass(frozen=True)
class _Reader:
    question: AskedNames
    tokens: list[str]
    is_past_tense: bool
    now: int

    def times(self) -> Iterator[AskedPast]:
        """Yield what the words say of the past, in their order; times that are not over as well."""
        place = 0
        while place < len(self.tokens):
            each = self._time_at(place) or self._earlier_at(place)
            place = place + 1 if each is None else each.span[1]
            if each is not None:
                yield each

    def _clause_end(self, start: int) -> int:
        """Return where the words up to the next punctuation end."""
        pieces = self.question.pieces
        return next((i + 1 for i in range(start, len(pieces)) if pieces[i].ends), len(pieces))

    def _time_at(self, start: int) -> AskedPast | None:
        for end in range(min(start + TIME_WORDS, self._clause_end(start)), start, -1):
            tokens = self.tokens[start:end]
            period = kind_times.period(tokens, self.now) if all(tokens) else None
            is_led = start > 0 and self.tokens[start - 1] in _BEFORE_TIMES
            # A year, a month or a weekday alone may be a name or a number.
            if period is None or not (len(tokens) > 1 or is_led or kind_times.is_day_from_today(tokens[0])):
                continue
            readings = period.readings
            if self.is_past_tense:
                readings = sorted(readings, key=lambda each: (each.start or 0) > self.now)
            first = readings[0]
            until = times.LATEST if first.end is None else first.end
            # What was before a time is what was at its beginning.
            since = until - 1 if first.start is None else first.start
            return AskedPast((start - is_led, end), "", since, until)
        return None

    def _earlier_at(self, start: int) -> AskedPast | None:
        stop = self._clause_end(start)
        if self.tokens[start] in _BEFORE:
            end = min(start + 1 + ANCHOR_WORDS, stop)
            pieces = self.question.pieces[start + 1 : end]
            anchor = {token for piece in pieces if not piece.is_stop_word for token in piece.tokens}
            if anchor:
                return AskedPast((start, end), before=frozenset(anchor))
        for end in range(min(start + _EARLIER_WORDS, stop), start, -1):
            if " ".join(self.tokens[start:end]) in _EARLIER:
                return AskedPast((start, end))
        return None


def asked_past(question: AskedNames, now: int) -> AskedPast | None:
    """Return what a question asks of the past, ``None`` if it asks for what is now or will be.

    Args:
        now: in microseconds.
    """
    tokens = [each.token or (each.text if kind_times.is_iso(each.text) else "") for each in question.pieces]
    is_past_tense = not _PAST_TENSE.isdisjoint(tokens)
    past_times = [each for each in _Reader(question, tokens, is_past_tense, now).times() if each.end <= now]
    # A time says more than a word such as "previously".
    first = max(past_times, key=lambda each: (each.end > 0, -each.span[0]), default=None)
    if first is None:
        return None
    words = " ".join(piece.text for piece in question.pieces[slice(*first.span)])
    return first._replace(words=words, is_past_tense=is_past_tense)
