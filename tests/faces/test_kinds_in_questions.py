"""Kinds in questions: types by their usual words, states and times, with what they are related to."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.model import times
from graphmem.reading.scan import Scan, ScannedEntity
from graphmem.search.kinds import anchors, kind_lookup
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.walks import walk_over

DAY = 24 * 3600 * 1_000_000


def day(shift: int) -> str:
    """Return the date some days from today."""
    return times.render(times.now() + shift * DAY)[:10]


PEOPLE = ("Tom Ek", "Ann Lee")


def entities() -> tuple[dict[str, Any], ...]:
    """Return what the tests find, with days from today on."""
    return (
        *({"entity_type": "person", "name": name} for name in PEOPLE),
        {"entity_type": "company", "name": "Acme Robots"},
        {"entity_type": "invoice", "number": "I-open", "vendor": "Acme Robots", "status": "sent",
         "invoice_date": day(-40), "due_date": day(5)},
        {"entity_type": "invoice", "number": "I-late", "vendor": "Globex", "status": "sent",
         "invoice_date": day(-90), "due_date": day(-10)},
        {"entity_type": "invoice", "number": "I-paid", "vendor": "Acme Robots", "status": "Paid",
         "invoice_date": day(-50), "due_date": day(-20)},
        {"entity_type": "invoice", "number": "I-void", "vendor": "Globex", "status": "cancelled",
         "invoice_date": day(-50), "due_date": day(3)},
        {"entity_type": "invoice", "number": "I-unknown", "vendor": "Globex", "invoice_date": day(-50)},
        {"entity_type": "task", "title": "Paint the boat", "status": "in_progress", "assignee": "Tom Ek",
         "due_date": day(2)},
        {"entity_type": "task", "title": "Call Tom", "status": "blocked", "due_date": day(1)},
        {"entity_type": "task", "title": "Sell the car", "status": "done", "assignee": "Tom Ek",
         "due_date": day(4)},
        {"entity_type": "event", "title": "Review", "event_type": "meeting", "date_start": day(0),
         "attendees": ["Tom Ek", "Ann Lee"]},
        {"entity_type": "event", "title": "Fair", "event_type": "exhibition", "date_start": day(20)},
        {"entity_type": "event", "title": "Retrospective", "event_type": "meeting", "date_start": day(-400)},
        {"entity_type": "note", "title": "Windows",
         "text": "Open source people paid for the unpaid invoices"},
    )  # fmt: skip


@pytest.fixture
def world(run: Call) -> Call:
    items = [{**entity, "intent": "create_new"} for entity in entities()]
    link = {"relationship_type": "RELATED_TO", "source_index": 9, "target_index": 0}
    run("store", entities=items, relationships=[link], find_duplicates=False)
    return run


def label(entity: dict[str, Any]) -> str:
    return entity["snapshot"].get("number") or entity["canonical_name"]


def of_kind(answer: dict[str, Any]) -> list[str]:
    return [label(each) for each in answer["entities"] if each.get("matched") == "kind"]


@walk_over(
    "question, labels",
    [
        ("unpaid invoices", ["I-late", "I-open"]),
        ("Which invoices have not been paid?", ["I-late", "I-open"]),
        ("bills we haven't paid", ["I-late", "I-open"]),
        ("paid bills", ["I-paid"]),
        ("overdue invoices", ["I-late"]),
        ("open tasks", ["Call Tom", "Paint the boat"]),
        ("blocked tasks", ["Call Tom"]),
        ("how many tasks are done?", ["Sell the car"]),
        ("upcoming deadlines", ["Call Tom", "Paint the boat", "I-open"]),
        ("past meetings", ["Retrospective"]),
        ("upcoming meetings", ["Review"]),
        ("upcoming events", ["Review", "Fair"]),
        ("what meetings are there today?", ["Review"]),
        ("list all people", ["Ann Lee", "Tom Ek"]),
        ("Tom's open tasks", ["Call Tom", "Paint the boat"]),
        ("open tasks of Tom Ek", ["Call Tom", "Paint the boat"]),
        ("Ann's meetings", ["Review"]),
        ("unpaid invoices from Acme", ["I-open"]),
        ("unpaid invoices from Globex", ["I-late"]),
        ("unpaid invoices from Initech", []),
        ("invoices from Acme that are paid", ["I-paid"]),
        ("What unpaid invoices does Acme have?", ["I-open"]),
        # No name is dropped.
        ("unpaid invoices that annoy Ann Lee", []),
        ("Does Ann Lee have unpaid invoices?", []),
        ("Does Globex have unpaid invoices?", ["I-late"]),
        ("What is overdue?", ["I-late"]),
        ("Tom's overdue things", []),
        ("tasks due by tomorrow", ["Call Tom"]),
        ("tasks due in the next 7 days", ["Call Tom", "Paint the boat"]),
        ("done tasks due in the next 7 days", ["Sell the car"]),
        ("Welche Rechnungen sind noch offen?", ["I-late", "I-open"]),
        ("ausstehende Rechnungen", ["I-late", "I-open"]),
        ("Aufgaben fällig morgen", ["Call Tom"]),
        ("Quelles factures sont encore impayées ?", ["I-late", "I-open"]),
        ("facturas sin pagar", ["I-late", "I-open"]),
        ("¿Qué tareas están pendientes?", ["Call Tom", "Paint the boat"]),
    ],
)
def test_a_kind_in_a_question_is_answered_first(world: Call, question: str, labels: list[str]) -> None:
    found = world("entities.query", search=question)
    looked_up = world("entities.find", identifier=question)
    is_ordered = "coming" in question
    assert (of_kind(found) if is_ordered else sorted(of_kind(found))) == labels
    assert of_kind(looked_up) == of_kind(found)
    assert found["understood"]["count"] == looked_up["understood"]["count"] == len(labels)
    rest = [each for each in found["entities"] if "matched" not in each]
    assert all(each["match"] == "resemblance" for each in rest)


def test_an_answer_says_how_a_kind_was_understood(world: Call) -> None:
    answer = world("entities.query", search="unpaid invoices from Acme due this month")["understood"]
    assert (answer["words"], answer["entity_types"]) == ("unpaid invoices this month", ["invoice"])
    assert answer["states"][0]["fields"] == ["status"]
    assert (answer["time"]["words"], answer["time"]["fields"]) == ("this month", ["due_date"])
    assert (answer["time"]["from"] or "")[8:10] == "01"
    assert answer["related_to"] == ["Acme"]
    assert answer["sentence"].startswith(
        "every invoice that is not paid, closed, cancelled or a draft (status)"
    )
    assert "due_date from " in answer["sentence"]
    looked_up = world("entities.find", identifier="blocked tasks")
    assert looked_up["match_mode"] == "kind"
    assert looked_up["entities"][0]["matched_by"] == "blocked tasks"
    assert world("search.explain", search="blocked tasks")["understood"]["count"] == 1


def test_what_has_ended_is_not_due_any_more(world: Call) -> None:
    page = world("entities.query", search="What is due?")
    assert of_kind(page) == ["Call Tom", "Paint the boat", "I-open"]
    assert "that has not ended" in page["understood"]["sentence"]
    late = {"entity_type": "invoice", "number": "I-gone", "vendor": "Globex", "status": "written off",
            "due_date": day(-5)}  # fmt: skip
    world("store", entities=[late, {**late, "number": "I-over", "status": "Overpaid"}])
    assert of_kind(world("entities.query", search="overdue invoices")) == ["I-late"]


def test_a_month_is_of_the_year_of_which_there_is_something(run: Call) -> None:
    year = int(day(0)[:4])
    days = (f"{year - 1}-03-05", f"{year}-03-06", f"{year - 1}-08-07", f"{year + 1}-10-08")
    run("store", entities=[{"entity_type": "event", "title": each, "date_start": each} for each in days])
    for question, expected in (
        ("events in March", [days[1]]), (f"events in March {year - 1}", [days[0]]),
        ("events in August", [days[2]]), ("events in October", [days[3]]), ("events in June", []),
        (f"events since {days[1]}", [days[1], days[3]]), (f"events before {year}", [days[0], days[2]]),
    ):  # fmt: skip
        page = run("entities.query", search=question)
        assert sorted(of_kind(page)) == expected, question
        assert page["understood"]["count"] == len(expected)


def test_a_kind_related_to_more_than_is_compared_says_so(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    acme = {"entity_type": "company", "name": "Acme"}
    bills = [{"entity_type": "bill", "number": f"B{i}", "status": "open"} for i in range(3)]
    links = [{"relationship_type": "RELATED_TO", "source_index": 0, "target_index": i} for i in range(1, 4)]
    run("store", entities=[acme, *bills], relationships=links)
    whole = run("entities.query", search="open bills of Acme")["understood"]
    monkeypatch.setattr(anchors, "RELATED_LIMIT", 3)
    cut = run("entities.query", search="open bills of Acme")["understood"]
    assert ("truncated" in whole, cut["truncated"]) == (False, True)
    assert (whole["count"], cut["count"]) == (3, 3)


def test_a_name_beside_a_kind_of_which_there_is_nothing_says_so(world: Call) -> None:
    answer = world("entities.find", identifier="unpaid invoices from Ann Lee")
    assert [each["canonical_name"] for each in answer["entities"]] == ["Ann Lee"]
    assert answer["hint"].startswith("No entity is what `understood` says")


def test_what_is_no_phrase_asks_for_no_kind(world: Call) -> None:
    for question in ("the open source people I met", "robot tasks", "who paid invoices?", "Tom's company"):
        assert "understood" not in world("entities.query", search=question), question


def test_a_kind_of_which_there_is_nothing_says_so(world: Call) -> None:
    world("store", entities=[{"entity_type": "note", "title": "Cancelled tasks are seldom"}])
    answer = world("entities.find", identifier="paid tasks")
    assert (answer["understood"]["count"], answer["match_mode"]) == (0, "text")
    assert answer["hint"].startswith("No entity is what `understood` says")
    assert {each["match"] for each in answer["entities"]} == {"resemblance"}


def test_a_question_reads_the_values_of_what_changed_alone(
    world: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    of_ids = Scan.of_ids

    async def counted(scan: Scan, entity_ids: Sequence[str]) -> list[ScannedEntity]:
        reads.append(len(entity_ids))
        return await of_ids(scan, entity_ids)

    monkeypatch.setattr(Scan, "of_ids", counted)
    late = world("entities.query", search="overdue invoices")["entities"][0]
    assert label(late) == "I-late"
    assert of_kind(world("entities.query", search="overdue invoices")) == ["I-late"]
    assert reads == [5, 0]
    world("entities.correct", entity_id=late["entity_id"], field="status", value="paid")
    assert of_kind(world("entities.query", search="overdue invoices")) == []
    world("entities.delete", entity_id=late["entity_id"])
    assert of_kind(world("entities.query", search="paid invoices")) == ["I-paid"]
    world("schemas.register", entity_type="invoice", schema={"fields": {"status": {"type": "number"}}})
    assert of_kind(world("entities.query", search="paid invoices")) == []


def test_many_entities_of_a_kind_are_read_at_once(world: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_lookup, "READ_BY_ID_LIMIT", 2)
    monkeypatch.setattr(kind_lookup, "THREAD_MEMBERS", 2)
    for _ in range(2):
        assert of_kind(world("entities.query", search="overdue invoices")) == ["I-late"]


def test_a_whole_name_is_no_kind(world: Call) -> None:
    world("store", entities=[{"entity_type": "project", "name": "Open Tasks"}])
    page = world("entities.query", search="the project Open Tasks")
    assert ("understood" in page, page["entities"][0]["matched"]) == (False, "name")
    assert world("entities.find", identifier="open tasks")["match_mode"] == "name"


def test_a_type_does_not_limit_whose_it_is(world: Call) -> None:
    mine = world("entities.query", search="Tom's tasks", entity_type="task")
    assert sorted(of_kind(mine)) == ["Call Tom", "Paint the boat", "Sell the car"]
    assert {each["entity_type"] for each in mine["entities"]} == {"task"}
    boss = {"relationship_type": "REPORTS_TO", "source_index": 0, "target_index": 1}
    people = [{"entity_type": "robot", "name": "Unit Nine"}, {"entity_type": "person", "name": "Ada Hall"}]
    world("store", entities=people, relationships=[boss])
    found = world("entities.query", search="Unit Nine's boss", entity_type="person")["entities"]
    assert [each["canonical_name"] for each in found if each.get("matched") == "relationship"] == ["Ada Hall"]


def test_pages_of_a_kind_stay_in_order_while_others_are_stored(world: Call) -> None:
    first = world("entities.query", search="upcoming deadlines", limit=1)
    world(
        "store", entities=[{"entity_type": "task", "title": "Sooner", "status": "open", "due_date": day(0)}]
    )
    rest = world("entities.query", search="upcoming deadlines", limit=1, cursor=first["next_cursor"])
    last = world("entities.query", search="upcoming deadlines", limit=1, cursor=rest["next_cursor"])
    assert [label(page["entities"][0]) for page in (first, rest, last)] == [
        "Call Tom",
        "Paint the boat",
        "I-open",
    ]


def test_filters_hold_for_what_is_of_a_kind(world: Call) -> None:
    filters = {"vendor": {"op": "eq", "value": "Globex"}}
    page = world("entities.query", search="unpaid invoices", snapshot_filters=filters)
    assert [label(each) for each in page["entities"]][:1] == ["I-late"]
    assert of_kind(page) == ["I-late"]


def test_a_context_begins_with_all_that_is_of_the_kind(world: Call) -> None:
    lines = world("context.retrieve", question="unpaid invoices")["lines"]
    assert sorted("I-late" in line or "I-open" in line for line in lines[:2]) == [True, True]
    # The note has all words of the question.
    assert any("unpaid invoices" in line for line in lines[2:])
    page = world("context.retrieve", question="unpaid invoices from Globex")
    assert page["understood"]["count"] == 1
    assert "I-late" in page["lines"][0]
    assert "understood" not in world(
        "context.retrieve", question="unpaid invoices", budget=500, unit="characters"
    )


def test_booleans_and_declared_values_say_states(run: Call) -> None:
    status = {"type": "string", "constraints": {"enum": ["urgent", "normal"]}}
    fields = {"name": {"type": "string"}, "is_done": {"type": "boolean"}, "priority": status}
    document = {"fields": fields, "aliases": ["errand"]}
    run("schemas.register", entity_type="chore", schema=document)
    items = [("A", False, "urgent"), ("B", True, "normal"), ("C", None, "normal")]
    run("store", entities=[
        {"entity_type": "chore", "name": name, "priority": priority}
        | ({} if is_done is None else {"is_done": is_done})
        for name, is_done, priority in items
    ])  # fmt: skip
    for question, labels in (
        ("open chores", ["A"]), ("finished chores", ["B"]), ("urgent chores", ["A"]),
        ("unfinished errands", ["A"]), ("errands", ["A", "B", "C"]),
    ):  # fmt: skip
        assert sorted(of_kind(run("entities.query", search=question))) == labels, question


def test_the_types_of_another_owner_do_not_count(world: Call, loop: Loop, services: Services) -> None:
    other = by_runner(loop, services, str(uuid.uuid4()))
    assert of_kind(world("entities.query", search="blocked tasks")) == ["Call Tom"]
    other("store", entities=[{"entity_type": "note", "title": "unpaid invoices"}])
    page = other("entities.query", search="unpaid invoices")
    assert ("understood" in page, len(page["entities"])) == (False, 1)
    assert "understood" not in other("entities.query", search="blocked tasks")
