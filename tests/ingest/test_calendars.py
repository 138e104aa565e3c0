"""Calendars: zones by their names, whole days, series and instances, revisions, people and rooms."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.ingest import Proposal
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from tests.support.proposals import proposal_of, relationships, types_and_fields
from tests.support.walks import walk_over

RULES_OF_ZONE = """BEGIN:VTIMEZONE
TZID:{0}
X-COMMENT:unknown properties are passed over
BEGIN:STANDARD
DTSTART:16011028T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010325T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
"""
DAILY = "UID:s\nSUMMARY:Sync\nDTSTAMP:20260601T000000Z\nDTSTART:20260601T090000Z\nRRULE:FREQ=DAILY"


def calendar(*entries: str, before: str = "") -> str:
    events = "".join(f"BEGIN:VEVENT\n{entry}\nEND:VEVENT\n" for entry in entries)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{before}{events}END:VCALENDAR\n"


def parse(*entries: str, before: str = "") -> ParsedDocument:
    return parsed_here(calendar(*entries, before=before).encode(), None, "a.ics", DocumentLimits())


def propose(*entries: str, before: str = "") -> Proposal:
    return proposal_of("a.ics", calendar(*entries, before=before))


def fields(proposed: Proposal, index: int = 0) -> dict[str, Any]:
    return {name: value for name, value in proposed.entities[index].fields.items() if value is not None}


@walk_over(
    "zone, is_described, expected, warned",
    [
        ("Europe/Berlin", False, "+02:00", ""),
        ("W. Europe Standard Time", False, "+02:00", ""),
        ('"W. Europe Standard Time"', False, "+02:00", ""),
        ("/mozilla.org/20070129_1/Europe/Berlin", False, "+02:00", ""),
        ("/mozilla.org/20070129_1/America/Argentina/Buenos_Aires", False, "-03:00", ""),
        ("tzone://Microsoft/Custom", True, "+02:00", ""),
        ("Mitteleuropäische Zeit", True, "+02:00", ""),
        ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", False, "+02:00", "is read as"),
        ('"(UTC-05:00) Eastern Time (US & Canada)"', False, "-04:00", "is read as"),
        ("Amsterdam, Berlin, Bern", False, "+02:00", "is read as"),
        ("(UTC-03:00) Nowhere", False, "-03:00", "is read as"),
        ("GMT+0530", False, "+05:30", "is read as"),
        ("Mitteleuropäische Zeit", False, "", "kept without an offset"),
    ],
)
def test_a_time_has_the_offset_of_its_zone(zone: str, is_described: bool, expected: str, warned: str) -> None:
    before = RULES_OF_ZONE.format(zone) if is_described else ""
    document = parse(f"UID:1\nDTSTART;TZID={zone}:20260715T090000", before=before)
    values = {field.name: field.value for field in document.parts[0].fields}
    assert values["start"] == f"2026-07-15T09:00:00{expected}"
    assert [warned in warning for warning in document.warnings] == [True] * bool(warned)


def test_rules_of_a_zone_that_are_wrong_or_never_end_are_left_out() -> None:
    rules = (("FREQ=YEARLY", "FREQ=YEARLY;INTERVAL=0"), ("FREQ=YEARLY", "FREQ=SECONDLY"), ("+0200", "+9900"))
    for rule, wrong in rules:
        before = RULES_OF_ZONE.format("x").replace(rule, wrong, 1)
        document = parse("UID:1\nDTSTART;TZID=x:20260715T090000", before=before)
        assert "The zone x is not known: its times are kept" in document.warnings[0]


def test_a_time_without_a_zone_is_kept_without_an_offset_and_told() -> None:
    document = parse("UID:1\nDTSTART:20260715T090000")
    assert document.warnings == ("VEVENT 1 (line 3): A time has no zone: it is kept without an offset.",)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ("DTSTART;VALUE=DATE:20260715\nDTEND;VALUE=DATE:20260718", ("2026-07-15", "2026-07-17")),
        ("DTSTART;VALUE=DATE:20260715\nDTEND;VALUE=DATE:20260716", ("2026-07-15", "2026-07-15")),
        ("DTSTART;VALUE=DATE:20260715\nDTEND;VALUE=DATE:20260715", ("2026-07-15", "2026-07-15")),
        ("DTSTART;VALUE=DATE:20260715\nDURATION:P2D", ("2026-07-15", "2026-07-16")),
        ("DTSTART;VALUE=DATE:20260715", ("2026-07-15", None)),
        (
            "DTSTART;TZID=Europe/Oslo:20260715T000000\nDTEND;TZID=Europe/Oslo:20260717T000000\n"
            "X-MICROSOFT-CDO-ALLDAYEVENT:TRUE",
            ("2026-07-15", "2026-07-16"),
        ),
        (
            "DTSTART:20260715T090000Z\nDURATION:PT30M",
            ("2026-07-15T09:00:00+00:00", "2026-07-15T09:30:00+00:00"),
        ),
    ],
)
def test_the_end_of_whole_days_is_the_last_of_them(times: str, expected: tuple[str, str | None]) -> None:
    event = fields(propose(f"UID:1\n{times}"))
    assert (event["date_start"], event.get("date_end")) == expected


def test_a_series_has_the_instances_that_take_place() -> None:
    proposed = propose(
        f"{DAILY};COUNT=7\nEXDATE:20260602T090000Z,20260603T090000Z\nRDATE:20260612T100000Z",
        "UID:s\nSUMMARY:Later\nRECURRENCE-ID:20260604T090000Z\nDTSTART:20260604T140000Z",
        "UID:s\nSUMMARY:Sync\nRECURRENCE-ID:20260605T090000Z\nDTSTART:20260605T090000Z\nSTATUS:CANCELLED",
    )
    series, later, cancelled = (fields(proposed, index) for index in range(3))
    assert series["instance_dates"] == [
        "2026-06-06T09:00:00+00:00",
        "2026-06-07T09:00:00+00:00",
        "2026-06-12T10:00:00+00:00",
    ]
    assert later["date_start"] == "2026-06-04T14:00:00+00:00"
    assert (cancelled["status"], "date_start" in cancelled) == ("CANCELLED", False)
    assert proposed.entities[2].fields["date_start"] is None
    assert relationships(proposed) == [("PART_OF", "Later", "Sync", {}), ("PART_OF", "Sync", "Sync", {})]


@pytest.mark.parametrize(
    ("entry", "first", "count", "last"),
    [
        # From the start, or where that is long ago from the newest stamp of the file.
        (DAILY, "2026-06-02", 89, "2026-08-29"),
        (DAILY.replace("DTSTART:2026", "DTSTART:2020"), "2026-06-01", 90, "2026-08-29"),
        (DAILY.replace("DAILY", "YEARLY;UNTIL=20280601T090000Z"), "2027-06-01", 1, "2027-06-01"),
        (DAILY.replace("DAILY", "WEEKLY;UNTIL=20260615"), "2026-06-08", 2, "2026-06-15"),
    ],
)
def test_the_instances_of_a_series_lie_within_a_horizon(
    entry: str, first: str, count: int, last: str
) -> None:
    dates = [text[:10] for text in fields(propose(entry))["instance_dates"]]
    assert (dates[0], len(dates), dates[-1]) == (first, count, last)


def test_instances_keep_their_clock_and_leave_out_their_first_one() -> None:
    proposed = propose(
        "UID:s\nDTSTAMP:20260301T000000Z\nDTSTART;TZID=Europe/Oslo:20260323T090000\n"
        "DTEND;TZID=Europe/Oslo:20260323T100000\nRRULE:FREQ=WEEKLY;UNTIL=20260406T070000Z\n"
        "EXDATE;VALUE=DATE:20260323"
    )
    event = fields(proposed)
    assert (event["date_start"], event["date_end"], event["instance_dates"]) == (
        "2026-03-30T09:00:00+02:00",
        "2026-03-30T10:00:00+02:00",
        ["2026-04-06T09:00:00+02:00"],
    )


def test_a_rule_leaves_instances_out_and_a_change_moves_all_later_ones() -> None:
    weekly = (
        "UID:s\nSUMMARY:Sync\nDTSTAMP:20260601T000000Z\nDTSTART;TZID=Europe/Oslo:20260601T090000\n"
        "RRULE:FREQ=WEEKLY;COUNT={}"
    )
    halved = fields(propose(f"{weekly.format(4)}\nEXRULE:FREQ=WEEKLY;INTERVAL=2"))
    assert (halved["date_start"][:10], [each[:10] for each in halved["instance_dates"]]) == (
        "2026-06-08",
        ["2026-06-22"],
    )
    change = "UID:s\nSUMMARY:{}\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Oslo:202606{}T090000\n{}"
    proposed = propose(
        weekly.format(7),
        change.format("Later", 15, "DTSTART;TZID=Europe/Oslo:20260616T140000"),
        change.format("Ended", 29, "STATUS:CANCELLED"),
    )
    series, later = fields(proposed), fields(proposed, 1)
    assert series["instance_dates"] == ["2026-06-08T09:00:00+02:00"]
    assert (later["date_start"], later["instance_dates"]) == (
        "2026-06-16T14:00:00+02:00",
        ["2026-06-23T14:00:00+02:00"],
    )


def test_a_change_says_of_its_series_in_another_file_when_the_instance_takes_place() -> None:
    change = "UID:s\nSUMMARY:Other dock\nDTSTAMP:20260602T000000Z\nRECURRENCE-ID:20260608T090000Z\n{}"
    for time, value in (
        ("DTSTART:20260609T090000Z", "2026-06-09T09:00:00+00:00"),
        ("STATUS:CANCELLED", "cancelled"),
    ):
        proposed = propose(change.format(time))
        _, name, statement = proposed.entities
        assert (name.fields["title"], name.observed_at) == ("Other dock", "1970-01-01T00:00:00.000000Z")
        assert statement.fields == {"external_id": "s", "instance 2026-06-08T09:00:00+00:00": value}
        assert statement.observed_at == "2026-06-02T00:00:00+00:00"
        assert [link[0] for link in relationships(proposed)] == ["PART_OF"]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=NEVER",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY\nEND:VEVENT\nBEGIN:VEVENT\nUID:s\nRECURRENCE-ID;RANGE=THISANDPRIOR:20260604T090000Z",
    ],
)
def test_instances_that_cannot_be_listed_are_told(rule: str) -> None:
    document = parse(DAILY.replace("FREQ=DAILY", rule), "UID:2\nSUMMARY:Other")
    assert "VEVENT 1 (line 3): its instances are not listed" in document.warnings[0]
    assert [part.fields[1].value for part in document.parts][-1] == "Other"


def test_of_two_states_of_an_event_the_newer_one_is_read() -> None:
    states = [f"UID:1\nSUMMARY:Version {n}\nSEQUENCE:{n}\nDTSTAMP:2026010{3 - n}T000000Z" for n in (2, 1)]
    document = parse(*states)
    assert [part.fields[1].value for part in document.parts] == ["Version 2"]
    assert "VEVENT 2 (line 9) is another state of VEVENT 1 (line 3)" in document.warnings[0]


def test_of_two_revisions_of_one_second_the_later_one_is_observed_later() -> None:
    stamped = "UID:1\nSUMMARY:A\nDTSTAMP:20260101T000000Z\nSEQUENCE:{}"
    first, second = (propose(stamped.format(number)).entities[0] for number in (0, 2))
    assert (first.observed_at, second.observed_at) == (
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00.000002+00:00",
    )
    assert "location" not in first.fields
    assert second.fields["location"] is None


def test_a_cancelled_calendar_ends_its_entries() -> None:
    proposed = propose("UID:1\nSUMMARY:A\nDTSTART:20260101T090000Z", before="METHOD:CANCEL\n")
    assert fields(proposed) == {"title": "A", "external_id": "1", "status": "CANCELLED"}
    assert proposed.entities[0].fields["date_start"] is None


def test_rooms_are_locations_and_names_stand_without_quotes() -> None:
    proposed = propose(
        "UID:1\nSUMMARY:Crew\nLOCATION:Deck 4; Boat Room 5\n"
        'ORGANIZER;CN="Brandsma, Ilja (Boats)":mailto:ilja@example.org\n'
        "ATTENDEE;CN='Piet de Rooy':MAILTO:piet@example.org\n"
        "ATTENDEE;CN=aino@example.org:mailto:aino@example.org\n"
        "ATTENDEE;CN=Team: Boats;CUTYPE=GROUP:mailto:boats@example.org\n"
        "ATTENDEE;CN=Boat Room 3;CUTYPE=ROOM:mailto:room3@example.org\n"
        "ATTENDEE;CUTYPE=RESOURCE;CN=Boat Room 5:mailto:room5@example.org\n"
        "ATTENDEE;CN=NoMail:invalid:nomail\n"
        "ATTENDEE;CN=Boats:mailto:1@group.calendar.google.com"
    )
    event, *others = types_and_fields(proposed)
    assert event[1]["organizer"] == "Brandsma, Ilja (Boats)"
    assert event[1]["attendees"] == ["Piet de Rooy", "aino@example.org", "Team: Boats", "NoMail", "Boats"]
    assert others == [
        ("person", {"name": "Brandsma, Ilja (Boats)", "email": "ilja@example.org"}),
        ("person", {"name": "Piet de Rooy", "email": "piet@example.org"}),
        ("person", {"email": "aino@example.org"}),
        ("location", {"name": "Boat Room 3", "email": "room3@example.org"}),
        ("location", {"name": "Boat Room 5", "email": "room5@example.org"}),
    ]
    assert [link[0] for link in relationships(proposed)] == ["REFERS_TO"] * 3 + ["LOCATED_AT"] * 2


def test_an_entry_has_its_links_comments_and_contacts() -> None:
    proposed = propose(
        "UID:1\nSUMMARY:A\nCLASS:PRIVATE\nGEO:1.5;2.5\nCOMMENT:Bring cake\\, please\nCONTACT:Jim\n"
        "CONTACT:Kim\nX-GOOGLE-CONFERENCE:https://meet.example/a\nATTACH;FILENAME=a.pdf:https://files.example/a\n"
        "ATTACH;ENCODING=BASE64;VALUE=BINARY:AAAA\nATTENDEE;CN=Iris\\, Dr.:mailto:iris@example.org"
    )
    assert fields(proposed) == {
        "title": "A",
        "external_id": "1",
        "class": "PRIVATE",
        "geo": "1.5;2.5",
        "comment": "Bring cake, please",
        "contact": ["Jim", "Kim"],
        "conference": "https://meet.example/a",
        "attachments": ["https://files.example/a"],
        "attendees": ["Iris, Dr."],
    }


def test_damaged_entries_are_told_with_their_lines_and_the_others_are_kept() -> None:
    text = calendar("UID:1\nSUMMARY:A\nDTSTART:never\nnonsense", "UID:2\nSUMMARY:B", "UID:3\nSUMMARY:C")
    text = (
        text.replace("END:VEVENT\nBEGIN:VEVENT\nUID:2", "BEGIN:VEVENT\nUID:2").partition("UID:3")[0] + "UID:3"
    )
    document = parsed_here(text.encode(), None, "a.ics", DocumentLimits())
    assert [part.fields[1].value for part in document.parts] == ["A", "B"]
    assert document.warnings == (
        "LEFT_OUT: Line 7 cannot be read, it is left out: nonsense",
        "VEVENT 1 (line 3) has no line END:VEVENT: it ends before line 8.",
        "VCALENDAR 1 (line 1) has no end.",
        "LEFT_OUT: VEVENT 3 (line 12) has no end: it is left out.",
        "LEFT_OUT: VEVENT 1 (line 3): DTSTART cannot be read, it is left out: never",
    )
