"""An invitation by mail makes an event; what the organizer changes counts, and answers change no event."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.faces import Call

STAMPS = iter(range(10, 60))


def send(run: Call, method: str, *lines: str, sequence: int = 0) -> None:
    """Store a mail that has a calendar for the event."""
    stamp = next(STAMPS)
    entry = (
        "BEGIN:VEVENT", "UID:fit-1@x", "SUMMARY:Fitting", f"SEQUENCE:{sequence}",
        f"DTSTAMP:20260301T08{stamp}00Z", *lines, "END:VEVENT",
    )  # fmt: skip
    calendar = "\n".join(("BEGIN:VCALENDAR", "VERSION:2.0", f"METHOD:{method}", *entry, "END:VCALENDAR"))
    mail = (
        f"From: Tove Nygaard <tove@nygaard.example>\nTo: ebbe@rask.example\nSubject: Fitting {stamp}\n"
        f"Date: Sun, 1 Mar 2026 08:{stamp}:00 +0000\nMessage-ID: <{stamp}@x>\n"
        f"Content-Type: text/calendar; method={method}\n\n{calendar}\n"
    )
    content = base64.b64encode(mail.encode()).decode()
    run("store.unstructured", file_content=content, original_filename=f"{stamp}.eml")


def event(run: Call) -> dict[str, Any]:
    """Return the snapshot of the only event."""
    (entity,) = run("entities.query", entity_type="event")["entities"]
    return entity["snapshot"]


ORGANIZER = "ORGANIZER;CN=Tove Nygaard:mailto:tove@nygaard.example"
ATTENDEES = (
    "ATTENDEE;CN=Ebbe Rask;PARTSTAT=NEEDS-ACTION:mailto:ebbe@rask.example",
    "ATTENDEE;CN=Liv Dahl;PARTSTAT=NEEDS-ACTION:mailto:liv@dahl.example",
)


def test_updates_of_the_organizer_count_and_answers_say_who_comes(run: Call) -> None:
    send(run, "REQUEST", "DTSTART:20260310T090000Z", "LOCATION:Dock 2", ORGANIZER, *ATTENDEES)
    assert event(run)["date_start"].startswith("2026-03-10T09:00")
    send(run, "REQUEST", "DTSTART:20260311T100000Z", ORGANIZER, *ATTENDEES, sequence=1)
    moved = event(run)
    assert moved["date_start"].startswith("2026-03-11T10:00")
    assert "location" not in moved
    # An answer repeats the first time, and names one attendee.
    accepted = "ATTENDEE;CN=Ebbe Rask;PARTSTAT=ACCEPTED:mailto:ebbe@rask.example"
    send(run, "REPLY", "DTSTART:20260310T090000Z", accepted)
    assert event(run) == moved
    (entity,) = run("entities.query", entity_type="event")["entities"]
    relationships = run("relationships.list", source_entity_id=entity["entity_id"])["relationships"]
    states = [each["snapshot"].get("status") for each in relationships]
    assert sorted(filter(None, states)) == ["ACCEPTED", "NEEDS-ACTION"]
    send(run, "CANCEL", "DTSTART:20260311T100000Z", sequence=2)
    cancelled = event(run)
    assert cancelled["status"] == "CANCELLED"
    assert "date_start" not in cancelled
