"""Kinds in the words of a question: which phrases ask for one, and what they say."""

from __future__ import annotations

import pytest

from graphmem.model import times
from graphmem.search.kinds import kind_lookup, kind_plans, kind_words
from graphmem.search.kinds.kind_plans import Member, TypeShape
from graphmem.search.kinds.kind_words import State
from graphmem.search.questions import mentions, times_in_words
from graphmem.search.questions.naming import Named
from graphmem.search.questions.phrases import Phrase
from graphmem.search.questions.reading import Reading
from tests.support.walks import walk_over

NOW = times.parse("2026-11-25T12:00:00Z")
"""A Wednesday."""
TYPES = ("car", "company", "event", "invoice", "message", "person", "pet", "project", "sales_order", "task")


def read(question: str) -> Reading:
    return Reading(mentions.names_in(question), TYPES, {"errand": "task"}, NOW)


def phrases(question: str) -> list[Phrase]:
    return read(question).kinds()


def agenda(question: str) -> Phrase:
    phrase = read(question).agenda()
    assert phrase is not None
    return phrase


@walk_over(
    "question, kind, meanings, time",
    [
        ("unpaid invoices", "invoice", ["unpaid"], None),
        ("invoices that are unpaid", "invoice", ["unpaid"], None),
        ("which invoices are unpaid?", "invoice", ["unpaid"], None),
        ("Which invoices have not been paid?", "invoice", ["unpaid"], None),
        ("which invoices aren't paid yet?", "invoice", ["unpaid"], None),
        ("unpaid bills", "invoice", ["unpaid"], None),
        ("open tasks", "task", ["open"], None),
        ("open errands", "task", ["open"], None),
        ("how many open tasks are there?", "task", ["open"], None),
        ("tasks of Tom Ek that are open", "task", ["open"], None),
        ("blocked tasks", "task", ["value"], None),
        ("tasks with status blocked", "task", ["value"], None),
        ("tasks in progress", "task", ["value"], None),
        ("gemerkte tasks", "task", ["value"], None),
        ("pending sales orders", "sales_order", ["pending"], None),
        ("open orders", "sales_order", ["open"], None),
        ("overdue invoices", "invoice", ["overdue"], None),
        ("what are the active projects?", "project", ["active"], None),
        ("meetings next week", "event", [], "next week"),
        ("next week's meetings", "event", [], "next week"),
        ("meetings with Tom next week", "event", [], "next week"),
        ("today's meetings", "event", [], "today"),
        ("my next meeting", "event", [], "next"),
        ("upcoming events", "event", [], "upcoming"),
        ("past events", "event", [], "past"),
        ("What tasks are due this week?", "task", [], "this week"),
        ("tasks due in the next 7 days", "task", [], "next 7 days"),
        ("invoices paid last month", "invoice", ["paid"], "last month"),
        ("offene Rechnungen", "invoice", ["open"], None),
        ("unbezahlte Rechnungen von Acme", "invoice", ["unpaid"], None),
        ("factures impayées", "invoice", ["unpaid"], None),
        ("tareas abiertas", "task", ["open"], None),
        ("tasks", "task", [], None),
        ("list all tasks", "task", [], None),
        ("show me the sales orders", "sales_order", [], None),
        ("all companies", "company", [], None),
        ("invoices expiring soon", "invoice", [], "soon"),
        ("projects that end next month", "project", [], "next month"),
        ("meetings in April", "event", [], "april"),
        ("meetings in may", "event", [], "may"),
        ("April invoices", "invoice", [], "april"),
        ("invoices of March", "invoice", [], "march"),
        ("last april's invoices", "invoice", [], "last april"),
        ("events in December 2025", "event", [], "december 2025"),
        ("2025 invoices", "invoice", [], "2025"),
        ("invoices in Q3", "invoice", [], "q3"),
        ("meetings on 12 May", "event", [], "12 may"),
        ("meetings on May 12, 2025", "event", [], "may 12 2025"),
        ("meetings on Friday", "event", [], "friday"),
        ("events this weekend", "event", [], "this weekend"),
        ("tasks due by Friday", "task", [], "by friday"),
        ("invoices before 2026-03-01", "invoice", [], "before 2026-03-01"),
        ("invoices since last month", "invoice", [], "since last month"),
        ("Termine im April", "event", [], "april"),
        ("Which pets do we have?", "pet", [], None),
        ("What cars do we own?", "car", [], None),
        ("our pets", "pet", [], None),
        ("my car", "car", [], None),
        ("Welche Haustiere haben wir?", "pet", [], None),
        ("mein Auto", "car", [], None),
        ("quels animaux avons-nous ?", "pet", [], None),
        ("nos voitures", "car", [], None),
        ("¿Qué mascotas tenemos?", "pet", [], None),
        ("mi coche", "car", [], None),
        ("la mia macchina", "car", [], None),
        ("fatture non pagate", "invoice", ["unpaid"], None),
        ("riunioni in aprile", "event", [], "aprile"),
        ("compiti di Tom che sono aperti", "task", ["open"], None),
        ("faturas por pagar", "invoice", ["unpaid"], None),
        ("tarefas vencidas", "task", ["overdue"], None),
        ("Quantas tarefas temos?", "task", [], None),
    ],
)
def test_a_phrase_asks_for_a_kind(question: str, kind: str, meanings: list[str], time: str | None) -> None:
    (phrase,) = phrases(question)
    assert phrase.kind.types == (kind,)
    assert [state.meaning for state in phrase.states] == meanings
    assert (phrase.period.words if phrase.period else None) == time
    assert not phrase.needs_name


@pytest.mark.parametrize(
    "question",
    [
        "Tom's car",
        "Tom's tasks",
        "invoices from Acme",
        "tasks assigned to Tom",
        "April's tasks",
        "tasks for June",
        "Tom's pets",
    ],
)
def test_all_of_a_name_asks_for_a_kind_only_if_it_is_a_name(question: str) -> None:
    (phrase,) = phrases(question)
    assert (phrase.needs_name, bool(phrase.anchors), phrase.rest) == (True, True, ())


@walk_over(
    "question",
    [
        "the open source people I met", "who paid invoices last month", "Tom paid invoices", "paid time off",
        "open task list", "When did I open invoices?", "the person who finished the task",
        "What did people say about tasks?", "Tom's company", "Who works at the company?", "Tom's employees",
        "note about open windows", "people who live in Berlin", "which people live in Berlin", "invoice",
        "how do I close tasks", "the project is open source", "What events has Tom planned?",
        "task management for people", "robots for people", "Do companies pay late?", "completed",
        "tasks that may be late", "due diligence report", "When is the rent due?", "Tom's email",
        "my company", "What tasks did we plan?", "What pets do we like?",
    ],
)  # fmt: skip
def test_other_sentences_with_such_words_ask_for_no_kind(question: str) -> None:
    assert phrases(question) == []


def test_deadlines_are_of_every_type() -> None:
    (phrase,) = phrases("upcoming deadlines")
    assert phrase.kind.types == ()
    assert phrase.period is not None
    assert phrase.period.is_due


@pytest.mark.parametrize(
    ("question", "meanings", "time"),
    [
        ("What is due this week?", [], "this week"), ("anything due tomorrow?", [], "tomorrow"),
        ("what's due by Friday", [], "by friday"), ("What is due?", [], "due"),
        ("What is overdue?", ["overdue"], None), ("is anything past due", ["overdue"], None),
    ],
)  # fmt: skip
def test_what_is_due_may_be_of_every_type(question: str, meanings: list[str], time: str | None) -> None:
    phrase = agenda(question)
    assert (phrase.kind.types, phrase.rest) == ((), ())
    assert [state.meaning for state in phrase.states] == meanings
    assert (phrase.period.words if phrase.period else None) == time
    assert phrase.period is None or phrase.period.is_due


@walk_over(
    "question, kind, time, anchored",
    [
        ("What do I have next week?", "agenda", "next week", False),
        ("anything tomorrow?", "agenda", "tomorrow", False),
        ("what's on friday", "agenda", "friday", False),
        ("Am I free on Saturday?", "agenda", "saturday", False),
        ("this weekend", "agenda", "this weekend", False),
        ("What is coming up in the next 10 days?", "agenda", "next 10 days", False),
        ("What does Tom have today?", "agenda", "today", True),
        ("was ist am Montag los", "agenda", "montag", False),
        ("Steht übermorgen etwas an?", "agenda", "ubermorgen", False),
        ("¿Qué hay la próxima semana?", "agenda", "proxima semana", False),
        ("What do we still owe?", "owed", None, False),
        ("what's left to settle", "owed", None, False),
        ("What is still unpaid?", "owed", None, False),
        ("do I owe Tom anything", "owed", None, True),
        ("wem schulde ich noch Geld", "owed", None, False),
        ("What changed this month?", "changes", "this month", False),
        ("any news since Monday?", "changes", "since monday", False),
        ("what is new", "changes", None, False),
        ("Quoi de neuf ?", "changes", None, False),
    ],
)
def test_a_question_without_a_type_asks_for_an_agenda(
    question: str, kind: str, time: str | None, anchored: bool
) -> None:
    phrase = agenda(question)
    assert phrase.kind.singular == kind
    assert (phrase.period.words if phrase.period else None) == time
    assert (bool(phrase.anchors), phrase.needs_name) == (anchored, anchored)


@walk_over(
    "question",
    [
        "What did you say yesterday?", "the news", "news", "tomorrow is Tom's party", "Who is free tomorrow?",
        "how many guests come tomorrow", "When did I go there last week?", "previous", "2026", "it is new",
        "What does he owe me?", "who owes money", "change the colour", "guten Morgen",
        "next week and tomorrow",
    ],
)  # fmt: skip
def test_other_sentences_ask_for_no_agenda(question: str) -> None:
    assert read(question).agenda() is None


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("What do I have in April?", "2027-04-01"), ("What did I have in April?", "2026-04-01"),
        ("What is on on Monday?", "2026-11-30"), ("what was on Monday", "2026-11-23"),
        ("What do I have until Friday?", "2026-11-25"),
    ],
)  # fmt: skip
def test_an_agenda_is_to_come_unless_the_question_is_in_the_past(question: str, start: str) -> None:
    phrase = agenda(question)
    assert phrase.period is not None
    assert times.render(phrase.period.start or 0)[:10] == start


def test_a_whole_name_is_no_time() -> None:
    assert kind_lookup.phrases(read("Friday"), []) != []
    assert kind_lookup.phrases(read("Friday"), [Named("ent_1", 0, "Friday", 0, 1)]) == []


def test_the_agenda_has_what_is_due_and_the_dates_of_occasions_alone() -> None:
    fields = {"date", "due_date", "sent_at", "starts_at"}
    assert kind_plans.agenda_fields("invoice", fields) == ["due_date", "starts_at"]
    assert kind_plans.agenda_fields("ferry_trip", fields) == ["due_date", "starts_at", "date", "sent_at"]


def test_the_words_beside_a_kind_are_left() -> None:
    assert phrases("unpaid invoices about robots")[0].rest == ("robots",)


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("today", "2026-11-25", "2026-11-26"), ("tomorrow", "2026-11-26", "2026-11-27"),
        ("this week", "2026-11-23", "2026-11-30"), ("next week", "2026-11-30", "2026-12-07"),
        ("last month", "2026-10-01", "2026-11-01"), ("next month", "2026-12-01", "2027-01-01"),
        ("this quarter", "2026-10-01", "2027-01-01"), ("last year", "2025-01-01", "2026-01-01"),
    ],
)  # fmt: skip
def test_a_time_is_an_interval_in_utc(phrase: str, start: str, end: str) -> None:
    period = times_in_words.of_words(phrase, NOW)
    assert period is not None
    assert (period.start, period.end) == (times.parse(start), times.parse(end))


@walk_over(
    "phrase, readings",
    [
        ("april", [("2026-04-01", "2026-05-01"), ("2027-04-01", "2027-05-01"), ("2025-04-01", "2025-05-01")]),
        ("april 2024", [("2024-04-01", "2024-05-01")]),
        ("2024", [("2024-01-01", "2025-01-01")]),
        ("12th may 2025", [("2025-05-12", "2025-05-13")]),
        ("2025-05-12", [("2025-05-12", "2025-05-13")]),
        ("2025-12", [("2025-12-01", "2026-01-01")]),
        ("q4 2025", [("2025-10-01", "2026-01-01")]),
        ("wednesday", [("2026-11-25", "2026-11-26"), ("2026-11-18", "2026-11-19")]),
        ("friday", [("2026-11-27", "2026-11-28"), ("2026-11-20", "2026-11-21")]),
        ("last friday", [("2026-11-20", "2026-11-21")]),
        ("next april", [("2027-04-01", "2027-05-01")]),
        ("weekend", [("2026-11-28", "2026-11-30")]),
        ("before 2025", [(None, "2025-01-01")]),
        ("after may 2025", [("2025-06-01", None)]),
        ("since december", [("2025-12-01", None), ("2026-12-01", None), ("2027-12-01", None)]),
        ("by tomorrow", [(None, "2026-11-27")]),
        ("by april", [(None, "2027-05-01"), (None, "2026-05-01"), (None, "2025-05-01")]),
        ("29 february 2025", []), ("31 april 2025", []), ("13 2025", []), ("soon april", []), ("since", []),
    ],
)  # fmt: skip
def test_a_day_or_a_month_may_be_of_several_years(
    phrase: str, readings: list[tuple[str | None, str | None]]
) -> None:
    period = times_in_words.of_words(phrase, NOW)
    read = [] if period is None else period.readings
    assert [(each.start, each.end) for each in read] == [
        tuple(None if bound is None else times.parse(bound) for bound in pair) for pair in readings
    ]


def test_what_is_due_in_a_month_is_rather_to_come() -> None:
    (phrase,) = phrases("tasks due in April")
    assert [each.period.start for each in phrase.readings if each.period] == [
        times.parse(day) for day in ("2027-04-01", "2026-04-01", "2025-04-01")
    ]


@pytest.mark.parametrize(
    ("value", "upcoming", "past"),
    [("2026-11-25", True, False), ("2026-11-25T08:00:00Z", False, True), ("2026-11-24", False, True)],
)
def test_a_date_without_a_time_of_day_is_the_whole_day(value: str, upcoming: bool, past: bool) -> None:
    moment = times_in_words.moment(value)
    assert moment is not None
    periods = [times_in_words.of_words(phrase, NOW) for phrase in ("upcoming", "past")]
    assert [moment.is_within(period) for period in periods if period] == [upcoming, past]


@walk_over(
    "meaning, values, verdict",
    [
        ("unpaid", {"status": "sent"}, True), ("unpaid", {"status": "PAID"}, False),
        ("unpaid", {"status": "partially_paid"}, True), ("unpaid", {"status": "Cancelled"}, False),
        ("unpaid", {"status": "draft"}, False), ("unpaid", {"paid": False}, True),
        ("unpaid", {"paid": False, "status": "void"}, False), ("unpaid", {}, None),
        ("unpaid", {"status": None}, None), ("paid", {"paid_at": "2026-01-01"}, True),
        ("open", {"status": "in-progress"}, True), ("open", {"status": "not done"}, True),
        ("open", {"status": "Done"}, False), ("open", {"completed_at": "2026-01-01"}, False),
        ("open", {"completed_at": None}, True), ("open", {"is_done": False}, True),
        ("done", {"status": "completed"}, True), ("done", {"status": "cancelled"}, False),
        ("ended", {"status": "cancelled"}, True), ("inactive", {"active": False}, True),
        ("open", {"read": True}, None),
    ],
)  # fmt: skip
def test_fields_say_whether_something_is_in_a_state(
    meaning: kind_words.Meaning, values: dict[str, object], verdict: bool | None
) -> None:
    fields = kind_words.state_fields("invoice", values)
    assert kind_words.is_in(State("word", meaning), fields, values, only_value=False) is verdict


def test_a_flag_says_what_is_in_the_state_that_it_names_and_what_is_not() -> None:
    fields = kind_words.state_fields("book", ["read"])
    verdicts = [
        kind_words.is_in(State(word, "value"), fields, {"read": True}, only_value=True)
        for word in ("read", "unread", "sent")
    ]
    assert verdicts == [True, False, None]


def test_the_status_of_a_type_may_bear_the_last_word_of_its_name() -> None:
    assert kind_words.state_fields("sales_order", ["order_status", "email_status"]) == {
        "order_status": "status"
    }


def test_the_state_of_a_country_is_no_state() -> None:
    assert kind_words.state_fields("location", ["state", "city"]) == {}


def test_a_type_without_the_fields_has_no_such_kind() -> None:
    (phrase,) = phrases("open tasks")
    shape = TypeShape("task", frozenset({"title"}), frozenset(), frozenset({"title"}), {})
    assert kind_plans.plan(phrase, [shape], NOW, refers=False) is None


def test_a_name_is_compared_with_fields_that_refer_to_somebody() -> None:
    member = Member("id", "task", {"assignee": "Tom Ek", "title": "Call Ann"})
    tom, others = frozenset({"tom"}), [frozenset({"tom", "smith"}), frozenset({"ann"})]
    assert kind_plans.refers(member, ["assignee"], frozenset({tom}))
    assert not kind_plans.refers(member, ["assignee"], frozenset(others))


@pytest.mark.parametrize(
    ("day", "next_days", "last_days"),
    [
        ("2026-11-25", False, False),
        ("2026-11-26", False, True),
        ("2026-11-29", True, True),
        ("2026-11-29T20:00:00Z", False, True),
        ("2026-11-29T22:00:00Z", True, False),
        ("2026-12-01", True, False),
        ("2026-12-02", False, False),
    ],
)
def test_a_day_that_is_not_over_is_within_the_next_days(day: str, next_days: bool, last_days: bool) -> None:
    now = times.parse("2026-11-29T21:49:00Z")
    moment = times_in_words.moment(day)
    assert moment is not None
    periods = [times_in_words.of_words(words, now) for words in ("next 2 days", "last 3 days")]
    assert [period is not None and moment.is_within(period) for period in periods] == [next_days, last_days]
