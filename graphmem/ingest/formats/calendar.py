"""Calendars (ICS): events, tasks and journal entries with their people and times.

The text has one line per property. Times are ISO 8601: with their offset, without one where the file has
none, and a date alone for a whole day. `rule` is the recurrence as the file has it; recurrences are not
expanded.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from icalendar import Calendar, Component

from graphmem.ingest.building import Builder, normal, widened
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, ParseFailed, PartField

ENTRIES = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal"}
TEXTS = ("SUMMARY", "UID", "LOCATION", "DESCRIPTION", "STATUS", "URL", "PRIORITY")
TIMES = {
    "DTSTART": "start",
    "DTEND": "end",
    "DUE": "due",
    "COMPLETED": "completed",
    "CREATED": "created",
    "LAST-MODIFIED": "modified",
    "RECURRENCE-ID": "recurrence_id",
}
PEOPLE = {"ORGANIZER": "organizer", "ATTENDEE": "attendees"}
RAW = {"RRULE": "rule", "DURATION": "duration"}


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add the entries of the calendars in a file."""
    text, _, warnings = decoded(data)
    builder.warn(*warnings)
    try:
        calendars = Calendar.from_ical(text, multiple=True)
    except (ValueError, KeyError, IndexError, AttributeError) as exc:
        raise ParseFailed(f"The calendar is damaged: {' '.join(str(exc).split())[:200]}", "damaged") from None
    for calendar in calendars:
        _describe(builder, calendar)
        for entry in calendar.walk():
            for name, reason in entry.errors:
                builder.warn(
                    f"A line ({name or 'no property'}) cannot be read, it is left out: {reason}"[:300]
                )
            if entry.name in ENTRIES:
                _add(builder, entry)


def _describe(builder: Builder, calendar: Component) -> None:
    for member, key in (("X-WR-CALNAME", "name"), ("X-WR-TIMEZONE", "timezone"), ("PRODID", "program")):
        if member in calendar:
            builder.metadata[key] = str(calendar[member])
    builder.title = builder.title or builder.metadata.get("name")


def _add(builder: Builder, entry: Component) -> None:
    start, line = builder.position, builder.line
    fields: list[PartField] = []

    def add(label: str, name: str, texts: Iterable[str], value: Any = None) -> None:
        spans = []
        for text in texts:
            spans.append(builder.add_line(label, text))
            value = normal(text) if value is None else value
        if spans:
            fields.append(PartField(name, value, widened(spans)))

    add("BEGIN", "component", [ENTRIES[str(entry.name)]])
    for member in TEXTS:
        add(member, member.lower(), [str(value) for value in _values(entry, member)[:1] if str(value)])
    for member, name in TIMES.items():
        add(member, name, [_time(value) for value in _values(entry, member)[:1]])
    if "DTSTART" in entry and "TZID" in entry["DTSTART"].params:
        add("TZID", "timezone", [str(entry["DTSTART"].params["TZID"])])
    for member, name in RAW.items():
        add(member, name, [value.to_ical().decode(errors="replace") for value in _values(entry, member)[:1]])
    for member, name in PEOPLE.items():
        people = [_person(value) for value in _values(entry, member)]
        builder.count_cells(len(people))
        shown = [" ".join(person.values()) for person in people]
        add(member, name, shown, people[0] if name == "organizer" and people else people)
    listed = [getattr(value, "cats", [value]) for value in _values(entry, "CATEGORIES")]
    categories = [str(category) for cats in listed for category in cats if str(category)]
    add("CATEGORIES", "categories", categories, [normal(text) for text in categories])
    builder.add("", "\n")
    end = max(field.span.end or start for field in fields)
    builder.count_cells(len(fields))
    builder.part("event", FileSpan(line=line, start=start, end=end), fields)


def _values(entry: Component, name: str) -> list[Any]:
    value = entry.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _time(value: Any) -> str:
    moment = getattr(value, "dt", None)
    return moment.isoformat() if isinstance(moment, date) else value.to_ical().decode(errors="replace")


def _person(value: Any) -> dict[str, str]:
    params = getattr(value, "params", {})
    person = {
        "name": str(params.get("CN", "")),
        "address": str(value).removeprefix("mailto:").removeprefix("MAILTO:"),
        "role": str(params.get("ROLE", "")),
        "status": str(params.get("PARTSTAT", "")),
    }
    return {name: normal(text) for name, text in person.items() if text}
