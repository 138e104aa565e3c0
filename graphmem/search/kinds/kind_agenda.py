"""What a question asks for without a word for a type: what is on or due, owed, changed.

"What do I have next week?" asks for what is on or due then, "What do I still owe?" for what is unpaid, and
for tasks that are open, "What changed this week?" for what the newest transactions changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from graphmem.changes import change_pages
from graphmem.changes.change_pages import NewestFirst
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.model import times
from graphmem.search.kinds import kind_questions, kind_words
from graphmem.search.kinds.kind_questions import ASKING, BEFORE, NAMING, Phrase, Reader
from graphmem.search.kinds.kind_times import TIME_WORDS, Period
from graphmem.search.kinds.kind_words import AGENDA, CHANGES, OWED, KindName, State
from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.mentions import AskedNames
from graphmem.search.questions.naming import Asking
from graphmem.search.search_results import Understood, understood_sentence, understood_time

_THINGS: Final = lexicon.words("things")
"""Words for what a question without a type asks for."""
_EMPTY: Final = (_THINGS | ASKING | BEFORE | NAMING | question_words.EMPTY) - lexicon.words("no_agenda")
"""Words that say nothing of what is asked for."""
_AGENDA: Final = lexicon.words("agenda")
_PAST_TENSE: Final = lexicon.words("past_tense")
_PAST: Final = lexicon.words("past") | {"last"}
"""Words for a time of their own that ask for nothing without a kind."""
_OWED_TO: Final = lexicon.words("owed_to")
"""Words after which somebody else owes: "what does he owe me"."""
_OWING: Final = tuple(tuple(each.split()) for each in sorted(lexicon.words("owing"), key=len, reverse=True))
"""Words in a row that say that something is to be paid, the longest first."""
_DOING: Final = tuple(tuple(each.split()) for each in sorted(lexicon.words("doing")))
"""Words in a row that say that something is to be done."""
_CHANGING: Final = lexicon.words("changing")
_ARTICLES: Final = lexicon.words("articles")
CHANGES_LIMIT: Final = 100
"""Changes that a question for changes looks for."""
CHANGED_TRANSACTIONS: Final = 200
"""Transactions that it looks through."""
CHANGES_NOTE: Final = (
    "these are the entities that changed last; GET /changes lists what changed of them, and who wrote it"
)


def kinds(question: AskedNames, types: Collection[str], aliases: Mapping[str, str], now: int) -> list[Phrase]:
    """Return what a question asks for that names no type, at most one phrase.

    Args:
        now: in microseconds.
    """
    reader = kind_questions.reader_of(question, types, aliases, now)
    if (phrase := _due(reader)) is not None:
        return [phrase]
    timed = _times(reader)
    if len(timed) > 1:
        return []
    span, period = timed[0] if timed else (range(0), None)
    phrase = _changes(reader, span, period) or _owed(reader, span) or _to_do(reader, span)
    if phrase is None and period is not None:
        phrase = _on(reader, span, period)
    return [] if phrase is None else [phrase]


async def changes(asking: Asking, phrase: Phrase) -> tuple[dict[str, int], Understood]:
    """Return what changed last, the newest first, with the times; and how the question was read."""
    period = phrase.period
    request = NewestFirst(
        WantedChanges(), since=(period and period.start) or times.EARLIEST,
        until=(period and period.end) or times.LATEST, place=None, count=CHANGES_LIMIT,
        transactions=CHANGED_TRANSACTIONS,
    )  # fmt: skip
    page = await change_pages.newest_first(asking.context, request)
    changed_at: dict[str, int] = {}
    for change in page.changes:
        for entity_id in change.entity_ids:
            changed_at.setdefault(entity_id, change.transaction.recorded_at)
    known = await asking.copy.look(lambda documents: documents.times_of(list(changed_at)))
    newest = {entity_id: at for entity_id, at in changed_at.items() if entity_id in known}
    understood: Understood = {"words": phrase.text, "entity_types": [], "count": len(newest), "sentence": ""}
    if period is not None:
        understood["time"] = understood_time(period, ["recorded_at"])
    understood["sentence"] = understood_sentence(understood)
    return newest, understood


def _times(reader: Reader) -> list[tuple[range, Period]]:
    """Return the times that a question says, with the places of their words."""
    timed: list[tuple[range, Period]] = []
    start = 0
    while start < len(reader.tokens):
        lengths = range(min(TIME_WORDS, len(reader.tokens) - start), 0, -1)
        meanings = ((length, reader.meant_by(start, start + length)) for length in lengths)
        length, period = next(((n, each) for n, each in meanings if isinstance(each, Period)), (1, None))
        if period is not None and period.words not in _PAST:
            timed.append((range(start, start + length), period))
        start += length
    # "What is coming up in the next ten days?"
    return [each for each in timed if each[1].end is not None] or timed


def _places_of(tokens: Sequence[str], runs: Iterable[tuple[str, ...]]) -> range:
    """Return the places of the first of some words in a row, such as those for what is to be paid."""
    for run in runs:
        for start in range(len(tokens) - len(run) + 1):
            if tuple(tokens[start : start + len(run)]) == run:
                return range(start, start + len(run))
    return range(0)


def _phrase(
    reader: Reader,
    kind: KindName,
    places: Collection[int],
    known: Collection[str],
    period: Period | None = None,
) -> Phrase | None:
    """Return a phrase of some words, if all others say nothing or may be names that it is related to."""
    anchors: list[tuple[int, int]] = []
    for place, piece in enumerate(reader.question.pieces):
        if place in places or all(token in known for token in piece.tokens):
            continue
        if not reader.question.may_be_name(place):
            return None
        if anchors and anchors[-1][1] == place:
            anchors[-1] = (anchors[-1][0], place + 1)
        else:
            anchors.append((place, place + 1))
    text = " ".join(reader.question.pieces[place].text for place in sorted(places))
    start, end = min(places), max(places) + 1
    return Phrase(start, end, kind, (), period, frozenset(places), tuple(anchors), bool(anchors), text=text)


def _due(reader: Reader) -> Phrase | None:
    """Return what a question without a type asks for: "What is due this week?", "anything overdue?"."""
    places = [place for place, token in enumerate(reader.tokens) if token in ("due", "overdue")]
    if len(places) != 1:
        return None
    (place,) = places
    start, stop = place, place + 1
    states: tuple[State, ...] = ()
    periods: list[Period] = []
    if reader.tokens[place] == "overdue" or reader.tokens[max(0, place - 1)] == "past":
        start = place - (reader.tokens[place] == "due")
        states = (State(" ".join(reader.tokens[start:stop]), "overdue"),)
    else:
        after, stop = reader.after(stop)
        periods = [each.what for each in after if isinstance(each.what, Period)]
        if len(periods) != len(after) or len(periods) > 1:
            return None
        periods = periods or [Period("due", "future", reader.now, None)]
    period = periods[0]._replace(is_due=True) if periods else None
    kind = KindName((), "deadline", is_plural=True)
    phrase = reader.with_rest(
        Phrase(start, stop, kind, states, period, frozenset(range(start, stop))), start, stop
    )
    return replace(phrase, rest=()) if _THINGS.issuperset(phrase.rest) else None


def _on(reader: Reader, span: range, period: Period) -> Phrase | None:
    """Return what is on or due at a time: what is to come, unless the question is in the past tense."""
    if len(reader.tokens) == 1 and not reader.tokens[0].isalpha():
        return None
    is_past = not _PAST_TENSE.isdisjoint(reader.tokens)
    meant = "past" if is_past else "future"
    first, *others = [each for each in period.readings if each.direction == meant] or period.readings
    if first.start is None and first.direction == "future":
        first = first._replace(start=reader.now)
    period = first._replace(others=tuple(others))
    kind = KindName((), AGENDA, is_plural=True)
    return _phrase(reader, kind, set(span), _EMPTY | _AGENDA | _PAST_TENSE, period)


def _owed(reader: Reader, span: range) -> Phrase | None:
    """Return what is still to be paid, and what is to be done behind it."""
    places = _places_of(reader.tokens, _OWING)
    if not places or span or not _OWED_TO.isdisjoint(reader.tokens[places.stop : places.stop + 1]):
        return None

    payables, tasks = _types(reader, "payables"), _types(reader, "to_do")
    # "Which bills do I have to pay?" asks for bills alone.
    kinds = [kind_words.named_kind([each], reader.types, reader.aliases) for each in reader.tokens]
    by_place = {at: set(each.types) for at, each in enumerate(kinds) if each and payables & {*each.types}}
    owed_types = set[str]().union(*by_place.values()) or payables | tasks
    kind = KindName(tuple(sorted(owed_types)), OWED, is_plural=True)
    phrase = _phrase(reader, kind, {*places, *by_place}, _EMPTY | lexicon.words("besides_owing"))
    if phrase is None or not kind.types or any(start < places.start for start, _ in phrase.anchors):
        return None
    states = (State(phrase.text, "unpaid"),)
    return replace(phrase, states=states, last_types=frozenset(tasks - payables))


def _to_do(reader: Reader, span: range) -> Phrase | None:
    """Return the tasks that are open: "What do I have to do?"."""
    places, types = _places_of(reader.tokens, _DOING), _types(reader, "to_do")
    if not places or span or not types:
        return None
    kind = KindName(tuple(sorted(types)), "task", is_plural=True)
    known = _EMPTY | (lexicon.words("besides_owing") - lexicon.words("no_agenda"))
    phrase = _phrase(reader, kind, places, known)
    return None if phrase is None or phrase.anchors else replace(phrase, states=(State(phrase.text, "open"),))


def _types(reader: Reader, table: str) -> set[str]:
    """Return the types in use that some words of the lexicon name."""
    named = (kind_words.named_kind([each], reader.types, reader.aliases) for each in lexicon.words(table))
    return {name for each in named if each is not None for name in each.types}


def _changes(reader: Reader, span: range, period: Period | None) -> Phrase | None:
    """Return what was observed last, within a time if the question says one."""
    changing_places = {place for place, token in enumerate(reader.tokens) if token in _CHANGING}
    if not changing_places or _CHANGING.union(_ARTICLES).issuperset(reader.tokens):
        return None
    kind = KindName((), CHANGES, is_plural=True)
    phrase = _phrase(reader, kind, {*changing_places, *span}, lexicon.words("besides_changing"), period)
    return None if phrase is None or phrase.anchors else phrase
