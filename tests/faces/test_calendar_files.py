"""Calendars in files: several files state one event, and its newest revision counts."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from tests.faces.test_sources import with_file
from tests.support.faces import Call
from tests.support.rule_merging import Audited

EVENT = "BEGIN:VCALENDAR\n{}BEGIN:VEVENT\nUID:{}\nSUMMARY:Sail fitting\n{}\nEND:VEVENT\nEND:VCALENDAR\n"
STAMPED = "DTSTAMP:20260101T000000Z\nSEQUENCE:{}\n{}"
FIRST = STAMPED.format(0, "DTSTART:20260901T080000Z\nLOCATION:Dock 1\nRRULE:FREQ=WEEKLY;COUNT=2")
MOVED = STAMPED.format(1, "DTSTART:20260903T100000Z\nDTEND:20260903T110000Z")


def upload(run: Call, uid: str, entry: str, before: str = "") -> None:
    name = f"{abs(hash(entry))}.ics"
    answer = run("store", **with_file(EVENT.format(before, uid, entry).encode(), name))
    assert answer["interpretation"]["status"] == "completed"


def events(run: Call, uid: str) -> list[dict[str, Any]]:
    found = run("entities.query", entity_type="event")["entities"]
    return [each for each in found if each["snapshot"]["external_id"] == uid]


def times(run: Call, entity_id: str) -> list[str]:
    page = run("timeline.list", entity_id=entity_id, order="asc")
    return [event["text"] for event in page["events"]]


def test_the_newest_revision_of_an_event_counts_in_whatever_order_its_files_come(run: Call) -> None:
    for number, order in enumerate(permutations((FIRST, MOVED))):
        for entry in order:
            upload(run, f"m{number}", entry)
        (event,) = events(run, f"m{number}")
        assert event["snapshot"]["title"] == "Sail fitting"
        assert "location" not in event["snapshot"]
        assert times(run, event["entity_id"]) == ["2026-09-03T10:00:00+00:00", "2026-09-03T11:00:00+00:00"]


def test_a_cancelled_event_leaves_the_timeline_and_its_changed_instances_stay_apart(run: Call) -> None:
    upload(run, "c", FIRST)
    instance = "RECURRENCE-ID:20260908T080000Z\nDTSTART:20260909T080000Z\nDTSTAMP:20260102T000000Z"
    upload(run, "c", instance)
    series, moved = sorted(events(run, "c"), key=lambda each: "recurrence_id" in each["snapshot"])
    assert times(run, series["entity_id"]) == ["2026-09-01T08:00:00+00:00"]
    upload(run, "c", STAMPED.format(2, "DTSTART:20260901T080000Z"), "METHOD:CANCEL\n")
    ended = run("entities.get", entity_id=series["entity_id"])["snapshot"]
    assert (ended["status"], times(run, series["entity_id"])) == ("CANCELLED", [])
    assert times(run, moved["entity_id"]) == ["2026-09-09T08:00:00+00:00"]


def test_events_of_two_uids_stay_apart_though_all_else_is_equal(run: Call, audited: Audited) -> None:
    for uid in ("first", "second", "first"):
        upload(run, uid, FIRST)
    run("store", entities=[{"entity_type": "event", "title": "Sail fitting"}])
    found = run("entities.query", entity_type="event")["entities"]
    assert sorted(each["snapshot"].get("external_id", "") for each in found) == ["", "first", "second"]
    assert not audited(True)


def test_an_instance_that_another_file_changes_leaves_its_series_in_whatever_order_the_files_come(
    run: Call,
) -> None:
    weekly = STAMPED.format(0, "DTSTART:20260901T080000Z\nDTEND:20260901T090000Z\nRRULE:FREQ=WEEKLY;COUNT=6")
    changed = "RECURRENCE-ID{}:202609{}T080000Z\nDTSTAMP:20260102T000000Z\n{}"
    changes = [
        changed.format("", "01", "STATUS:CANCELLED"),
        changed.format("", "08", "DTSTART:20260909T110000Z"),
        changed.format(";RANGE=THISANDFUTURE", "22", "DTSTART:20260923T083000Z"),
    ]
    expected = ["2026-09-15T08:00:00+00:00", "2026-09-30T08:30:00+00:00", "2026-10-07T08:30:00+00:00"]
    for number, order in enumerate(([weekly, *changes], [*changes, weekly])):
        for entry in order:
            upload(run, f"s{number}", entry)
        series, *others = sorted(
            events(run, f"s{number}"), key=lambda each: "recurrence_id" in each["snapshot"]
        )
        assert times(run, series["entity_id"]) == expected
        assert sorted(text for each in others for text in times(run, each["entity_id"])) == [
            "2026-09-09T11:00:00+00:00",
            "2026-09-23T08:30:00+00:00",
        ]
        (related, *_) = run("relationships.list", entity_id=series["entity_id"])["relationships"]
        assert related["relationship_type"] == "PART_OF"
