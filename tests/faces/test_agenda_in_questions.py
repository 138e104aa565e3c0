"""What is on or due at a time, what is owed, and what changed: questions that name no type."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from graphmem.model import times
from tests.support.faces import Call
from tests.support.walks import walk_over

TODAY = times.EPOCH + timedelta(microseconds=times.now())
NEXT_WEEK = 7 - TODAY.weekday()
"""Days until Monday."""


def day(shift: int) -> str:
    """Return the date some days from today."""
    return (TODAY + timedelta(days=shift)).strftime("%Y-%m-%d")


TOMORROW = ["Filling", "Rehearsal", "Water the ferns"]
IN_NEXT_WEEK = sorted(["Lecture", "Market", *(TOMORROW if NEXT_WEEK == 1 else [])])
OWED = ["Boat money", "Book ferry", "W-1", "Water the ferns"]
TO_DO = ["Book ferry", "Water the ferns"]
OLD = {"observed_at": day(-300)}
ENTITIES: tuple[dict[str, Any], ...] = (
    {"entity_type": "person", "name": "Gudrun Pohl"},
    {"entity_type": "event", "title": "Rehearsal", "date_start": f"{day(1)}T18:00:00Z"},
    {"entity_type": "dentist_appointment", "name": "Filling", "date": day(1)},
    {"entity_type": "task", "title": "Water the ferns", "status": "open", "due_date": day(1)},
    {"entity_type": "task", "title": "Sand the floor", "status": "done", "due_date": day(1)},
    {"entity_type": "task", "title": "Book ferry", "status": "in_progress", "due_date": day(40)},
    {"entity_type": "event", "title": "Market", "date_start": day(NEXT_WEEK + 2),
     "attendees": ["Gudrun Pohl"]},
    {"entity_type": "event", "title": "Lecture", "date_start": day(NEXT_WEEK + 3)},
    {"entity_type": "event", "title": "Wedding", "date_start": day(-1)},
    {"entity_type": "task", "title": "Return keys", "status": "done", "due_date": day(-1)},
    {"entity_type": "invoice", "number": "W-1", "vendor": "Waterworks", "status": "sent",
     "invoice_date": day(1), "due_date": day(50)},
    {"entity_type": "invoice", "number": "W-2", "vendor": "Waterworks", "status": "paid",
     "due_date": day(60)},
    {"entity_type": "loan", "name": "Boat money", "creditor": "Gudrun Pohl", "amount": 300},
    {"entity_type": "loan", "name": "Tent money", "creditor": "Gudrun Pohl", "status": "repaid and closed"},
    {"entity_type": "note", "title": "Tea", "text": "tomorrow and next week", "sent_at": day(1)},
)  # fmt: skip


@pytest.fixture
def agenda(run: Call) -> Call:
    items = [{**OLD, **entity, "intent": "create_new"} for entity in ENTITIES]
    run("store", entities=items, find_duplicates=False)
    return run


def of_kind(answer: dict[str, Any]) -> list[str]:
    return [
        each["snapshot"].get("number") or each["canonical_name"]
        for each in answer["entities"]
        if each.get("matched") == "kind"
    ]


@walk_over(
    "question, names",
    [
        ("What do I have tomorrow?", TOMORROW),
        ("anything tomorrow?", TOMORROW),
        ("tomorrow", TOMORROW),
        ("what's going on tomorrow evening", TOMORROW),
        ("Was steht morgen an?", TOMORROW),
        ("Qu'est-ce que j'ai demain ?", TOMORROW),
        ("¿Qué tengo mañana?", TOMORROW),
        ("What is planned for next week?", IN_NEXT_WEEK),
        ("la semaine prochaine", IN_NEXT_WEEK),
        ("Habe ich nächste Woche etwas vor?", IN_NEXT_WEEK),
        ("What does Gudrun have next week?", ["Market"]),
        ("What did I have yesterday?", ["Return keys", "Wedding"]),
        ("What do I still owe?", OWED),
        ("what is left to settle", OWED),
        ("What do I have to do?", TO_DO),
        ("Was habe ich noch zu erledigen?", TO_DO),
        ("¿Qué tengo que hacer?", TO_DO),
        ("Was muss ich noch bezahlen?", OWED),
        ("How much do I owe Gudrun?", ["Boat money"]),
        ("Which bills do I still have to pay?", ["W-1"]),
        ("Welche Rechnungen muss ich noch bezahlen?", ["W-1"]),
    ],
)
def test_a_question_without_a_type_asks_what_is_on_or_owed(
    agenda: Call, question: str, names: list[str]
) -> None:
    page = agenda("entities.query", search=question)
    assert sorted(of_kind(page)) == names
    assert page["understood"]["count"] == len(names)
    assert sorted(of_kind(agenda("entities.find", identifier=question))) == names
    lines = agenda("context.retrieve", question=question)["lines"]
    assert sorted(line.partition(" (")[0].rpartition(" ")[2] for line in lines[: len(names)]) == sorted(
        name.rpartition(" ")[2] for name in names
    )


def test_what_is_to_be_paid_comes_before_what_is_to_be_done(agenda: Call) -> None:
    for question in ("What do I still owe?", "What do I owe?"):
        assert sorted(of_kind(agenda("entities.query", search=question))[:2]) == ["Boat money", "W-1"]


def test_usual_names_of_german_fields_say_when_something_is(run: Call) -> None:
    items = [
        {"entity_type": "termin", "title": "Elternabend", "datum": day(1)},
        {"entity_type": "aufgabe", "title": "Zaun streichen", "status": "offen", "fällig_am": day(1)},
        {"entity_type": "notiz", "title": "Skizze", "datum": day(1)},
    ]
    run("store", entities=items)
    page = run("entities.query", search="Was steht morgen an?")
    assert sorted(of_kind(page)) == ["Elternabend", "Zaun streichen"]


def test_a_day_that_may_be_past_is_to_come_unless_the_question_is_in_the_past(agenda: Call) -> None:
    weekday = (TODAY - timedelta(days=1)).strftime("%A")
    assert "Wedding" not in of_kind(agenda("entities.query", search=f"What do I have on {weekday}?"))
    assert sorted(of_kind(agenda("entities.query", search=f"What did I have on {weekday}?"))) == [
        "Return keys", "Wedding",
    ]  # fmt: skip


@walk_over(
    "question",
    [
        "What did Gudrun say yesterday?", "tea tomorrow", "Who is free tomorrow?", "When is tomorrow?",
        "How many eggs do I need tomorrow?", "What does she have tomorrow?", "What does Gudrun owe me?",
        "a new roof", "news", "How to do it?", "the change of the moon", "2026",
        "What changed about the ferns?", "What is there to do about the ferns?",
    ],
)  # fmt: skip
def test_other_questions_with_a_time_ask_for_no_agenda(agenda: Call, question: str) -> None:
    assert of_kind(agenda("entities.query", search=question)) == []


def test_what_changed_is_answered_by_the_newest_changes_and_the_hint(agenda: Call) -> None:
    for name in ("Gudrun Pohl", "Lecture"):
        (found,) = agenda("entities.find", identifier=name)["entities"]
        # Times less than a second apart make one order.
        time.sleep(1.1)
        # When it was recorded decides, not when it was observed.
        agenda(
            "observations.create",
            entity_id=found["entity_id"],
            fields={"note": "seen"},
            observed_at="2020-01-01",
        )
    for question in ("What changed this week?", "anything new today?", "Was hat sich heute geändert?"):
        page = agenda("entities.query", search=question)
        assert of_kind(page)[:2] == ["Lecture", "Gudrun Pohl"]
        assert "`graphmem changes`" in page["hint"] or "GET /changes" in page["hint"]
        context = agenda("context.retrieve", question=question)
        assert sorted(line.partition(" (")[0] for line in context["lines"][:2]) == ["Gudrun Pohl", "Lecture"]
        assert "changed last" in context["hint"]
    assert of_kind(agenda("entities.query", search="What has changed?"))[:2] == ["Lecture", "Gudrun Pohl"]
    assert of_kind(agenda("entities.query", search="What changed yesterday?")) == []


OURS: tuple[dict[str, Any], ...] = (
    {"entity_type": "person", "name": "Signe Halvorsen"},
    {"entity_type": "company", "name": "Orchard Lane"},
    {"entity_type": "company", "name": "Alpha GmbH"},
    {"entity_type": "person", "name": "Per Solheim"},
    {"entity_type": "company", "name": "Beta AG"},
    {"entity_type": "invoice", "number": "B-7", "vendor": "Orchard Lane", "customer": "Beta AG",
     "status": "sent", "amount": 900},
    {"entity_type": "invoice", "number": "P-1", "vendor": "Alpha GmbH", "customer": "Orchard Lane",
     "status": "open", "amount": 60},
)  # fmt: skip
ENDS = (("OWNS", 0, 1), ("WORKS_AT", 3, 1))


def test_who_asks_and_what_is_theirs_is_known_in_each_language(run: Call) -> None:
    links = [
        {"relationship_type": name, "source_index": source, "target_index": target}
        for name, source, target in ENDS
    ]
    stored = run("store", entities=list(OURS), relationships=links, find_duplicates=False)

    def names(question: str) -> list[str]:
        return of_kind(run("entities.query", search=question))

    # Nobody is known as who asks: both are shown, and the hint says why.
    answer = run("entities.query", search="What do we owe?")
    assert sorted(of_kind(answer)) == ["B-7", "P-1"]
    assert "who asks" in answer["hint"]
    run("observations.create", entity_id=stored["entities"][0]["entity_id"], fields={"self": True})
    for question in ("What do we owe?", "¿Qué debemos todavía?", "Cosa dobbiamo ancora pagare?",
                     "Quanto dobbiamo ad Alpha?", "Combien devons-nous à Alpha ?"):  # fmt: skip
        assert names(question) == ["P-1"], question
    for question in ("How much does Beta owe us?", "Combien Beta nous doit-elle ?"):
        assert names(question) == ["B-7"], question
    for question in ("Who works for us?", "Wer arbeitet für uns?", "Qui travaille pour nous ?",
                     "¿Quién trabaja para nosotros?", "Chi lavora per noi?"):  # fmt: skip
        assert names(question) == ["Per Solheim"], question


def test_a_name_at_the_beginning_of_a_question_is_not_dropped(run: Call) -> None:
    run("store", entities=list(OURS), find_duplicates=False)
    for question in ("Alpha ha fatture non pagate?", "Alpha a-t-elle des factures impayées ?"):
        understood = run("entities.query", search=question)["understood"]
        assert understood["sentence"].endswith("related to Alpha: 1"), question


def test_what_is_to_be_done_at_a_time_is_asked_in_each_language(agenda: Call) -> None:
    for question in (
        "Was ist morgen zu tun?", "Que dois-je faire demain ?", "¿Qué tengo que hacer mañana?",
        "Cosa devo fare domani?", "O que tenho de fazer amanhã?", "Qu'y a-t-il demain ?",
    ):  # fmt: skip
        assert sorted(of_kind(agenda("entities.query", search=question))) == TOMORROW, question
