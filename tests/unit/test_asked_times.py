"""The past in the words of a question."""

from __future__ import annotations

import pytest

from graphmem.model import ending, times
from graphmem.search.questions import mentions, times_in_words
from graphmem.search.questions.phrases import AskedPast
from graphmem.search.questions.reading import Reading
from tests.support.walks import walk_over

NOW = times.parse("2026-11-25T12:00:00Z")
"""A Wednesday."""


def read(question: str) -> AskedPast | None:
    return Reading(mentions.names_in(question), (), {}, NOW).past()


@walk_over(
    "question, words, start, end",
    [
        ("What was her address in 2023?", "in 2023", "2023-01-01", "2024-01-01"),
        ("What did Netflix cost last year?", "last year", "2025-01-01", "2026-01-01"),
        ("Where did Nadia work in March?", "in March", "2026-03-01", "2026-04-01"),
        ("Where did Nadia work in December?", "in December", "2025-12-01", "2026-01-01"),
        ("What was the price in 2023-05?", "in 2023-05", "2023-05-01", "2023-06-01"),
        ("the price two years ago", "two years ago", "2024-11-25", "2024-11-26"),
        ("the price a week ago", "a week ago", "2026-11-18", "2026-11-19"),
        ("price yesterday", "yesterday", "2026-11-24", "2026-11-25"),
        ("Where did she live in 2020, before Bremen?", "in 2020", "2020-01-01", "2021-01-01"),
        ("Was kostete Netflix vor zwei Jahren?", "vor zwei Jahren", "2024-11-25", "2024-11-26"),
        ("Wo wohnte Nadia letztes Jahr?", "letztes Jahr", "2025-01-01", "2026-01-01"),
        ("Quel était le prix l'année dernière ?", "l'année dernière", "2025-01-01", "2026-01-01"),
        ("¿Dónde vivía Nadia en 2023?", "en 2023", "2023-01-01", "2024-01-01"),
        ("el año pasado, ¿dónde vivía?", "año pasado", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_time_that_is_over_is_read(question: str, words: str, start: str, end: str) -> None:
    past = read(question)
    assert past is not None
    assert (past.words, past.before) == (words, frozenset())
    assert (times.render(past.start)[:10], times.render(past.end)[:10]) == (start, end)


@walk_over(
    "question, before",
    [
        ("Where did Nadia live before Bremen?", {"bremen"}),
        ("Wo hat Nadia vor Bremen gewohnt?", {"bremen", "gewohnt"}),
        ("Où habitait Nadia avant Brême ?", {"breme"}),
        ("¿Dónde vivía Nadia antes de Bremen?", {"bremen"}),
        ("Dove abitava Nadia prima di Brema?", {"brema"}),
        ("How much did Netflix cost before?", set()),
        ("Nadia's previous address", set()),
        ("Where did Nadia used to live?", set()),
        ("What is the old price of Netflix?", set()),
        ("Wie hieß Nadia früher?", set()),
        ("Was hat Netflix vorher gekostet?", set()),
        ("Quanto costava Netflix prima?", set()),
    ],
)
def test_an_earlier_value_is_asked_for_by_the_one_after_it_or_by_a_word(
    question: str, before: set[str]
) -> None:
    past = read(question)
    assert past is not None
    assert (past.before, past.start, past.end) == (before, 0, 0)


def test_what_was_before_a_time_is_what_was_at_its_beginning() -> None:
    past = read("Nadia's address before 2024")
    assert past is not None
    assert past.end == times.parse("2024-01-01")
    assert past.start == past.end - 1


@walk_over(
    "question",
    [
        "Where does Nadia live?", "What do I have to do before Friday?", "meetings next week",
        "How old is Nadia?", "When is the last day of school?", "What is the rent since 2023?",
        "How long until May?",
        "the 2023 report", "What will Netflix cost in 2031?", "Is June at home?",
    ],
)  # fmt: skip
def test_other_questions_ask_for_now(question: str) -> None:
    assert read(question) is None


@pytest.mark.parametrize(
    ("metadata", "start"),
    [
        ([("since", '"2019"')], "2019-01-01"),
        ([("role", '"CEO"'), ("start_date", '"2019-03-02"')], "2019-03-02"),
        ([("validFrom", '"2019-03"')], "2019-03-01"),
        ([("since", "2019")], "2019-01-01"),
    ],
)
def test_the_beginning_of_a_relationship_is_read(metadata: list[tuple[str, str]], start: str) -> None:
    assert ending.validity(metadata) == (times.parse(start), None)


@pytest.mark.parametrize("metadata", [[], [("role", '"since 2019"')], [("since", '"long ago"')]])
def test_without_a_date_no_beginning_is_known(metadata: list[tuple[str, str]]) -> None:
    assert ending.validity(metadata) == (None, None)


def midnight(day: str) -> str:
    return f"{day}T00:00:00.000000Z"


NOON = "T12:00:00.000000Z"
NEXT_TWO_DAYS = ("2026-11-25" + NOON, "2026-11-27" + NOON)
NEXT_WEEK = (midnight("2026-11-30"), midnight("2026-12-07"))
NEXT_MONTH = (midnight("2026-12-01"), midnight("2027-01-01"))
LAST_THREE_DAYS = ("2026-11-22" + NOON, "2026-11-25" + NOON)


@walk_over(
    "question, bounds",
    [
        ("Which tasks are due within 2 days?", NEXT_TWO_DAYS),
        ("tasks due over the next two days", NEXT_TWO_DAYS),
        ("tasks due in the next 48 hours", NEXT_TWO_DAYS),
        ("Aufgaben, die in den nächsten 2 Tagen fällig sind", NEXT_TWO_DAYS),
        ("Welche Aufgaben sind binnen zwei Tagen fällig?", NEXT_TWO_DAYS),
        ("tâches à faire dans les 2 prochains jours", NEXT_TWO_DAYS),
        ("Quelles tâches sont à rendre dans les deux jours à venir ?", NEXT_TWO_DAYS),
        ("¿Qué tareas hay para los próximos dos días?", NEXT_TWO_DAYS),
        ("quali attività scadono nei prossimi due giorni?", NEXT_TWO_DAYS),
        ("que tarefas vencem nos próximos 2 dias?", NEXT_TWO_DAYS),
        ("tasks due next week", NEXT_WEEK),
        ("Aufgaben für nächste Woche", NEXT_WEEK),
        ("tareas para la semana que viene", NEXT_WEEK),
        ("attività della prossima settimana", NEXT_WEEK),
        ("tâches du mois prochain", NEXT_MONTH),
        ("tareas del próximo mes", NEXT_MONTH),
        ("tâches des 3 derniers jours", LAST_THREE_DAYS),
        ("attività degli ultimi 3 giorni", LAST_THREE_DAYS),
    ],
)
def test_a_time_behind_a_kind_is_read_in_each_language(question: str, bounds: tuple[str, str]) -> None:
    (phrase,) = Reading(mentions.names_in(question), {"task"}, {}, NOW).kinds()
    assert phrase.period is not None
    assert phrase.period.start is not None
    assert phrase.period.end is not None
    assert (times.render(phrase.period.start), times.render(phrase.period.end)) == bounds


@walk_over(
    "zone, start, end",
    [
        ("Asia/Tokyo", "2026-11-25T15:00:00Z", "2026-11-26T15:00:00Z"),
        ("America/New_York", "2026-11-25T05:00:00Z", "2026-11-26T05:00:00Z"),
        ("UTC", "2026-11-25", "2026-11-26"),
    ],
)
def test_a_day_is_that_of_the_time_zone(zone: str, start: str, end: str) -> None:
    token = times.ZONE.set(times.zone_of(zone))
    try:
        now = times.parse("2026-11-25T20:00:00Z")
        (phrase,) = Reading(mentions.names_in("tasks due today"), {"task"}, {}, now).kinds()
        assert phrase.period is not None
        assert (phrase.period.start, phrase.period.end) == (times.parse(start), times.parse(end))
        day = times_in_words.moment("2026-11-26" if zone == "Asia/Tokyo" else "2026-11-25")
        assert day == (phrase.period.start, phrase.period.end)
        assert times_in_words.moment("9999-12-31") is not None
    finally:
        times.ZONE.reset(token)
