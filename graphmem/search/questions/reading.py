"""What the words of a question say of kinds and times: "unpaid invoices", "the largest one", "before Bremen".

The rules make phrases of the words (:mod:`graphmem.search.questions.question_chart`). Here is which phrases
count: a word for a type alone, somewhere in a sentence, asks for nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from graphmem.model import times
from graphmem.search.kinds import kind_words
from graphmem.search.kinds.kind_words import AGENDA, CHANGES, OWED, KindName, State
from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.chart import Edge
from graphmem.search.questions.mentions import ATTRIBUTES
from graphmem.search.questions.phrases import AskedPast, Debts, Measure, Phrase
from graphmem.search.questions.question_chart import (
    ASKING,
    BEFORE,
    BEFORE_MONTHS,
    BEING,
    DUE,
    LINKS,
    NAMING,
    TOTALS,
    Feature,
    QuestionChart,
)
from graphmem.search.questions.times_in_words import Period

_THINGS: Final = lexicon.words("things")
_EMPTY: Final = (_THINGS | ASKING | BEFORE | NAMING | question_words.EMPTY) - lexicon.words("no_agenda")
"""Words that say nothing of what is asked for."""
_PAST_TENSE: Final = lexicon.words("past_tense")
_OWED_TO: Final = lexicon.words("owed_to")
_CHANGING: Final = lexicon.words("changing")
_ARTICLES: Final = lexicon.words("articles")


class Reading(QuestionChart):
    """What the words of a question ask for."""

    def kinds(self) -> list[Phrase]:
        """Return the kinds that the words may ask for, the one that says most first."""
        by_noun: dict[int, list[Edge]] = {}
        for edge in self.edges:
            if edge.symbol == "KIND":
                noun = next(each for each in edge.value if each.name == "type")
                by_noun.setdefault(noun.start, []).append(edge)
        longest = [max(edges, key=_says_most) for _, edges in sorted(by_noun.items())]
        whole = [
            phrase
            for edge in sorted(longest, key=lambda each: each.start)
            if (phrase := self._phrase(edge)) is not None
        ]
        return sorted(whole, key=lambda each: -len(each.states) - (each.period is not None))

    def _phrase(self, edge: Edge) -> Phrase | None:
        features: dict[str, list[Feature]] = {}
        for each in edge.value:
            features.setdefault(each.name, []).append(each)
        (noun,) = features["type"]
        states = tuple(each.value for each in features.get("state", ()))
        periods = [each.value for each in features.get("period", ())]
        if "blocked" in features or len(periods) > 1 or len(states) > 2:
            return None
        kind: KindName = noun.value
        period: Period | None = periods[0] if periods else None
        if period is not None and not (kind.types and DUE.isdisjoint(self.tokens[edge.start : edge.end])):
            period = period._replace(is_due=True)
        places = frozenset(place for each in edge.value for place in range(each.start, each.end))
        limits = tuple(each.value for each in features.get("limit", ()))
        phrase = self._with_measure(Phrase(kind, states, period, places, limits=limits), features)
        phrase = self._with_rest(phrase, edge.start, noun.end)
        if not (states or period):
            return self._of_all(phrase, noun.start, noun.end)
        is_last = noun.end >= len(self.tokens) or noun.end in places
        if kind.is_plural or is_last or self.question.pieces[noun.end - 1].ends or phrase.measure:
            return phrase
        # "The open task list" asks for no task.
        is_alone = self.question.pieces[noun.end].is_stop_word or self.tokens[noun.end] in _JOINS
        return phrase if is_alone else None

    def _with_measure(self, phrase: Phrase, features: Mapping[str, Sequence[Feature]]) -> Phrase:
        """Return a phrase with the extreme, the sum or the mean that the question asks of it."""
        runs = [edge for edge in self.edges if edge.symbol in ("extreme", "total")]
        if not runs or (len(runs) == 1 and runs[0].value[0].value == "sum" and not phrase.kind.is_plural):
            return phrase
        best = max(runs, key=lambda each: (each.end - each.start, -each.start))
        about, _, how = best.value[0].value.rpartition(" ")
        count, nth = (next((each.value for each in features.get(name, ())), 1) for name in ("count", "nth"))
        places = {place for each in runs for place in range(each.start, each.end)}
        measure = Measure(how, about, " ".join(self.tokens[best.start : best.end]), count, nth)
        return replace(phrase, measure=measure, places=phrase.places | places)

    def measure(self) -> Measure | None:
        """Return what a question asks of the values of what it leads to: "my oldest child"."""
        return self._with_measure(Phrase(KindName((), "", is_plural=True)), {}).measure

    def _with_rest(self, phrase: Phrase, start: int, end: int) -> Phrase:
        """Return a phrase with the names that may follow or precede its type, and the other words."""
        anchors: list[tuple[int, int]] = []
        pieces = self.question.pieces
        if start and pieces[start - 1].is_possessive:
            anchors.append((self._name_start(start), start))
        for place in range(end, len(pieces)):
            if self.tokens[place] in NAMING and place + 1 < len(pieces) and place not in phrase.places:
                stop = self._name_end(place + 1, phrase.places)
                if stop > place + 1:
                    anchors.append((place + 1, stop))
        among = {place for span in anchors for place in range(*span)} | phrase.places
        # "Does Acme have unpaid invoices?": what is written as a name is never left out.
        for place in range(len(pieces)):
            if place not in among and self.question.is_written_as_name(place):
                joins = bool(anchors) and anchors[-1][1] == place and not pieces[place - 1].ends
                anchors[-1:] = [(anchors[-1][0], place + 1)] if joins else [*anchors[-1:], (place, place + 1)]
                among.add(place)
        rest = [
            token for place, token in enumerate(self.tokens)
            if place not in among and not (pieces[place].is_stop_word or token in {"", *_JOINING})
        ]  # fmt: skip
        text = " ".join(pieces[place].text for place in sorted(phrase.places))
        return replace(phrase, anchors=tuple(anchors), rest=tuple(rest), text=text)

    def _name_start(self, end: int) -> int:
        """Return where a name with a possessive begins at most: at the last stop word before it."""
        for start in range(end - 1, 0, -1):
            before = self.question.pieces[start - 1]
            if before.is_stop_word or before.ends or self.tokens[start - 1] in ASKING:
                return start
        return 0

    def _name_end(self, start: int, used_places: Collection[int]) -> int:
        for end in range(start, len(self.tokens)):
            piece = self.question.pieces[end]
            if end in used_places or piece.is_stop_word or self.tokens[end] in LINKS:
                return end
            if piece.ends:
                return end + 1
        return len(self.tokens)

    def _of_all(self, phrase: Phrase, start: int, end: int) -> Phrase | None:
        """Return a phrase that asks for all of a type, or for all that is related to a name."""
        if phrase.measure is not None or phrase.limits:
            return phrase
        is_role = any(question_words.says_role(token, no_kind=True) for token in self.tokens[start:end])
        if not phrase.kind.is_plural:
            # "Nadia's car" and "my car" ask for cars, and "Nadia's email" for an address.
            before = self.question.pieces[start - 1 : start]
            is_mine = any(piece.token in _OWNING for piece in before)
            is_owned = is_mine or any(piece.is_possessive for piece in before)
            if not is_owned or is_role or not ATTRIBUTES.isdisjoint(self.tokens[start:end]):
                return None
            asks_field = bool(phrase.rest) and question_words.FIELD_WORDS.issuperset(phrase.rest)
            if is_mine and asks_field and phrase.kind.types and not phrase.anchors:
                # "The plate of my car" is that of no other car.
                return replace(phrase, anchors=((start - 1, start),), needs_name=True)
        if not phrase.kind.types or (phrase.rest and (phrase.kind.is_plural or not phrase.anchors)):
            return None
        if phrase.anchors:
            return None if is_role else replace(phrase, needs_name=True)
        outside = {
            token: piece.is_stop_word or token in _JOINING | question_words.EMPTY
            for place, (token, piece) in enumerate(zip(self.tokens, self.question.pieces, strict=True))
            if not start <= place < end
        }
        others = {"you", "did", *(() if outside.keys() & _HAVING else ("we",))}
        return phrase if all(outside.values()) and not others & outside.keys() else None

    # What is asked for without a word for a type: what is on or due, owed, changed.

    def agenda(self) -> Phrase | None:
        """Return what the words ask for that name no type."""
        spans: list[tuple[range, Period]] = []
        for edge in sorted(self.edges, key=lambda each: (each.start, -each.end)):
            is_behind = not spans or edge.start >= spans[-1][0].stop
            if edge.symbol == "PERIOD" and is_behind and edge.value.words not in _PAST:
                spans.append((range(edge.start, edge.end), edge.value))
        # "What is coming up in the next ten days?"
        spans = [each for each in spans if each[1].end is not None] or spans
        if len(spans) > 1:
            return None
        span, period = spans[0] if spans else (range(0), None)
        phrase = self._due(span, period) or self._changes(span, period) or self._owed(span, period)
        if period is not None and (phrase is None or phrase.anchors):
            on = self._on(span, period)
            # "Cosa devo fare oggi?" has no name: "devo" asks for debts as well.
            return on if phrase is None or (on and not on.anchors) else phrase
        return phrase or self._to_do() or self._counted()

    def _without_type(
        self, singular: str, places: Collection[int], known: Collection[str], **more: Any
    ) -> Phrase | None:
        """Return a phrase of some words, if all others say nothing or may be names that it is related to."""
        anchors: list[tuple[int, int]] = []
        for place, piece in enumerate(self.question.pieces):
            if place in places or all(token in known for token in piece.tokens):
                continue
            if not self.question.may_be_name(place):
                return None
            start = anchors.pop()[0] if anchors and anchors[-1][1] == place else place
            anchors.append((start, place + 1))
        text = " ".join(self.question.pieces[place].text for place in sorted(places))
        phrase = Phrase(KindName((), singular, is_plural=True), places=frozenset(places), text=text)
        return replace(phrase, **{"anchors": tuple(anchors), "needs_name": bool(anchors), **more})

    def _due(self, span: range, period: Period | None) -> Phrase | None:
        """Return what is due: "What is due this week?", "anything overdue?"."""
        late = [edge for edge in self.edges if edge.symbol == "state"]
        late = [edge for edge in late if edge.value[0].value.meaning == "overdue"][:1]
        due = [place for place, token in enumerate(self.tokens) if token in DUE]
        known = _EMPTY | LINKS
        if late and period is None:
            places = {*range(late[0].start, late[0].end)}
            states = (late[0].value[0].value,)
            return self._without_type("deadline", places, known, states=states, needs_name=False)
        if late or len(due) != 1:
            return None
        period = period or Period(self.tokens[due[0]], "future", self.now, None)
        period = period._replace(is_due=True)
        return self._without_type("deadline", {*due, *span}, known, period=period, needs_name=False)

    def _on(self, span: range, period: Period) -> Phrase | None:
        """Return what is on or due at a time: what is to come, unless the question is in the past tense."""
        if len(self.tokens) == 1 and not self.tokens[0].isalpha():
            return None
        meant = "future" if _PAST_TENSE.isdisjoint(self.tokens) else "past"
        first, *others = [each for each in period.readings if each.direction == meant] or period.readings
        if first.start is None and first.direction == "future":
            first = first._replace(start=self.now)
        period = first._replace(others=tuple(others))
        known = _EMPTY | lexicon.words("agenda") | _PAST_TENSE
        return self._without_type(AGENDA, span, known, period=period)

    def _owed(self, span: range, period: Period | None) -> Phrase | None:
        """Return what is still to be paid, by who asks or to them, and what is to be done behind it."""
        known = _EMPTY | lexicon.words("besides_owing") | _TOTAL_WORDS
        payables, tasks = self._types_of("payables"), self._types_of("to_do")
        debts: Debts = ""
        places = range(0)
        if not _OWED_TO.isdisjoint(self.tokens):
            debts, places, tasks = "theirs", self._run_of("owed"), set[str]()
            known = known | _OWED_TO | {"does"}
        if not places:
            debts, places = "ours", self._run_of("owing")
        if not places:
            debts, places = "", self._run_of("unsettled")
        # "Which bills do I have to pay?" asks for bills alone.
        kinds = [kind_words.named_kind([each], self.types, self.aliases) for each in self.tokens]
        by_place = {at: {*each.types} for at, each in enumerate(kinds) if each and payables & {*each.types}}
        owed_types = set[str]().union(*by_place.values()) or payables | tasks
        if not places or not owed_types:
            return None
        period = period and period._replace(is_due=True)
        phrase = self._without_type(OWED, {*places, *by_place, *span}, known, period=period)
        if phrase is None:
            return None
        states = (State(phrase.text, "unpaid"),)
        kind = phrase.kind._replace(types=tuple(sorted(owed_types)))
        last = (tasks - payables) | (set() if _PAYING.isdisjoint(self.tokens) else kind_words.DEBTS)
        phrase = replace(phrase, kind=kind, states=states, last_types=frozenset(last), debts=debts)
        return self._with_measure(phrase, {})

    def _to_do(self) -> Phrase | None:
        """Return the tasks that are open: "What do I have to do?"."""
        places, types = self._run_of("doing"), self._types_of("to_do")
        known = _EMPTY | (lexicon.words("besides_owing") - lexicon.words("no_agenda"))
        phrase = self._without_type("task", places, known) if places and types else None
        if phrase is None or phrase.anchors:
            return None
        kind = phrase.kind._replace(types=tuple(sorted(types)))
        return replace(phrase, kind=kind, states=(State(phrase.text, "open"),))

    def _counted(self) -> Phrase | None:
        """Return the people that are counted, or that work for who asks: "How many employees do we have?"."""
        people = set(self.types) & question_words.PERSONS
        who = [
            place
            for place, token in enumerate(self.tokens)
            if question_words.answer_kinds([token]) == {"person"}
        ]
        places = [*self._run_of("counting")] or (who if not _WORKING.isdisjoint(self.tokens) else [])
        kinds = [kind_words.named_kind([each], self.types, self.aliases) for each in self.tokens]
        named = {place for place, each in enumerate(kinds) if each and people.issuperset(each.types)}
        roles = [place for place, token in enumerate(self.tokens) if token in _WORKING] or [
            place for place, token in enumerate(self.tokens)
            if place not in named and question_words.says_role(token) and not question_words.said_kind(token)
        ]  # fmt: skip
        if not (places and people and len(roles) == 1):
            return None
        known = _EMPTY | LINKS | _HAVING | _OURS | lexicon.words("self")
        phrase = self._without_type(self.tokens[roles[0]], {*places, *roles, *named}, known)
        own = [place for place, token in enumerate(self.tokens) if token in _OURS | lexicon.words("self")]
        if phrase is None or not (phrase.anchors or own) or (phrase.anchors and places == who):
            return None
        kind = phrase.kind._replace(types=tuple(sorted(people)))
        role = "employee" if self.tokens[roles[0]] in _WORKING else self.tokens[roles[0]]
        return replace(
            phrase, kind=kind, role=role, anchors=phrase.anchors or ((own[-1], own[-1] + 1),), needs_name=True
        )

    def _changes(self, span: range, period: Period | None) -> Phrase | None:
        """Return what was observed last, within a time if the question says one."""
        changing = {place for place, token in enumerate(self.tokens) if token in _CHANGING}
        if not changing or _CHANGING.union(_ARTICLES).issuperset(self.tokens):
            return None
        known = lexicon.words("besides_changing")
        phrase = self._without_type(CHANGES, {*changing, *span}, known, period=period)
        return None if phrase is None or phrase.anchors else phrase

    def _run_of(self, table: str) -> range:
        """Return the places of the first of the runs of words that a table has, the longest first."""
        for run in sorted((each.split() for each in lexicon.words(table)), key=lambda run: (-len(run), run)):
            for start in range(len(self.tokens) - len(run) + 1):
                if self.tokens[start : start + len(run)] == run:
                    return range(start, start + len(run))
        return range(0)

    def _types_of(self, table: str) -> set[str]:
        """Return the types in use that some words of the lexicon name."""
        named = (kind_words.named_kind([each], self.types, self.aliases) for each in lexicon.words(table))
        return {name for each in named if each is not None for name in each.types}

    # The past.

    def past(self) -> AskedPast | None:
        """Return what a question asks of the past, ``None`` if it asks for what is now or will be."""
        is_past_tense = not _PAST_FORMS.isdisjoint(self.tokens)
        spans = {
            edge.start: edge
            for edge in sorted(self.edges, key=lambda each: each.end)
            if edge.symbol == "PERIOD"
        }
        read: list[AskedPast] = []
        place = 0
        while place < len(self.tokens):
            each = self._time_at(spans.get(place), is_past_tense) or self._earlier_at(place)
            read += [each] if each is not None and each.end <= self.now else []
            place = place + 1 if each is None else max(each.span[1], place + 1)
        # A time says more than a word such as "previously".
        first = max(read, key=lambda each: (each.end > 0, -each.span[0]), default=None)
        words = [] if first is None else [each.text for each in self.question.pieces[slice(*first.span)]]
        return first and first._replace(words=" ".join(words), is_past_tense=is_past_tense)

    def _time_at(self, edge: Edge | None, is_past_tense: bool) -> AskedPast | None:
        if edge is None:
            return None
        start, period = edge.start, cast("Period", edge.value)
        is_led = start > 0 and self.tokens[start - 1] in _BEFORE_TIMES
        # A year, a month or a weekday alone may be a name or a number.
        if not (edge.end - start > 1 or is_led or self.tokens[start] in _DAYS):
            return None
        readings = period.readings
        if is_past_tense:
            readings = sorted(readings, key=lambda each: (each.start or 0) > self.now)
        first = readings[0]
        until = times.LATEST if first.end is None else first.end
        # What was before a time is what was at its beginning.
        since = until - 1 if first.start is None else first.start
        return AskedPast((start - is_led, edge.end), "", since, until)

    def _earlier_at(self, start: int) -> AskedPast | None:
        pieces = self.question.pieces
        stop = next((place + 1 for place in range(start, len(pieces)) if pieces[place].ends), len(pieces))
        if self.tokens[start] in _BEFORE_VALUES:
            end = min(start + 1 + ANCHOR_WORDS, stop)
            anchor = {
                token for piece in pieces[start + 1 : end] if not piece.is_stop_word for token in piece.tokens
            }
            if anchor:
                return AskedPast((start, end), before=frozenset(anchor))
        for end in range(min(start + _EARLIER_WORDS, stop), start, -1):
            if " ".join(self.tokens[start:end]) in _EARLIER:
                return AskedPast((start, end))
        return None


def _says_most(edge: Edge) -> tuple[int, int, bool]:
    return edge.end - edge.start, -len(edge.value), any(each.name == "nth" for each in edge.value)


_JOINING: Final = ASKING | LINKS | BEFORE
_JOINS: Final = LINKS | NAMING | BEING
_TOTAL_WORDS: Final = {word for run in TOTALS for word in run}
_PAYING, _OURS = map(lexicon.words, ("paying", "self_plural"))
_WORKING: Final = lexicon.words("working") | {
    word for word, verb in lexicon.meanings("verbs").items() if verb == "work"
}
_OWNING: Final = lexicon.words("owning")
_HAVING: Final = lexicon.words("having")
_PAST: Final = lexicon.words("past") | {"last"}
_DAYS: Final = lexicon.meanings("days_from_today").keys()
_BEFORE_TIMES: Final = BEFORE_MONTHS | lexicon.words("before_times")
"""Words before a year or a month alone that make it a time: "in 2023"."""
_BEFORE_VALUES: Final = frozenset(
    word for word, bound in lexicon.meanings("bounds").items() if bound == "before"
)
_EARLIER: Final = lexicon.words("earlier_values")
"""Words for a value that something had before the one of now: "previously", "used to"."""
_EARLIER_WORDS: Final = max(len(each.split()) for each in _EARLIER)
_PAST_FORMS: Final = lexicon.words("past_forms")
ANCHOR_WORDS: Final = 4  # most words of a value behind "before"
