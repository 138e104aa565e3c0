"""Times as people give them on the command line."""

from __future__ import annotations

import pytest

from graphmem.arguments import read
from graphmem.cli import commands, people_times
from graphmem.errors import InvalidInput
from graphmem.model import times
from graphmem.operations.recent_changes import ListChanges

NOW = times.parse("2026-11-25T12:00:00Z")
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2026-11-24T00:00:00.000000Z", "2026-11-24T23:59:59.999999Z"),
        ("last week", "2026-11-16T00:00:00.000000Z", "2026-11-22T23:59:59.999999Z"),
        ("2026-10", "2026-10-01T00:00:00.000000Z", "2026-10-31T23:59:59.999999Z"),
        ("2025", "2025-01-01T00:00:00.000000Z", "2025-12-31T23:59:59.999999Z"),
        ("last year", "2025-01-01T00:00:00.000000Z", "2025-12-31T23:59:59.999999Z"),
        ("March 2026", "2026-03-01T00:00:00.000000Z", "2026-03-31T23:59:59.999999Z"),
        ("december", "2025-12-01T00:00:00.000000Z", "2025-12-31T23:59:59.999999Z"),
        ("Monday", "2026-11-23T00:00:00.000000Z", "2026-11-23T23:59:59.999999Z"),
        ("3 days ago", "2026-11-22T00:00:00.000000Z", "2026-11-22T23:59:59.999999Z"),
        ("vor zwei Wochen", "2026-11-11T00:00:00.000000Z", "2026-11-11T23:59:59.999999Z"),
        ("gestern", "2026-11-24T00:00:00.000000Z", "2026-11-24T23:59:59.999999Z"),
        ("now", "2026-11-25T12:00:00.000000Z", "2026-11-25T12:00:00.000000Z"),
        ("2026-11-05", "2026-11-05", "2026-11-05"),
        ("2026-11-05T09:00:00+01:00", "2026-11-05T09:00:00+01:00", "2026-11-05T09:00:00+01:00"),
    ],
)
def test_a_time_in_words_means_its_first_or_its_last_moment(
    text: str, first: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(times, "now", lambda: NOW)
    assert people_times.iso(text, "$.since", is_end=False) == first
    assert people_times.iso(text, "$.at", is_end=True) == last


@pytest.mark.parametrize(
    "text", ["", "soon", "past", "soonish", "2026-13", "2026-02-30", "the day before", "12:00"]
)
def test_what_is_no_time_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^\$\.at: .* is no time; give one such as 2026-11-05") as refused:
        people_times.iso(text, "$.at", is_end=True)
    assert refused.value.details["issues"] == [{"path": "$.at", "message": "no time"}]


@pytest.mark.parametrize(
    ("name", "option", "sent"),
    [
        ("context.retrieve", "at", "2026-11-24T23:59:59.999999Z"),
        ("entities.query", "at_ingested", "2026-11-24T23:59:59.999999Z"),
        ("relationships.list", "at", "2026-11-24T23:59:59.999999Z"),
        ("entities.query", "updated_since", "2026-11-24T00:00:00.000000Z"),
        ("timeline.list", "start_date", "2026-11-24T00:00:00.000000Z"),
        ("timeline.list", "end_date", "2026-11-24T23:59:59.999999Z"),
        ("store", "observed_at", "2026-11-24T00:00:00.000000Z"),
    ],
)
def test_every_option_of_a_time_takes_words(
    name: str, option: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(times, "now", lambda: NOW)
    entry = commands.entry_of(name)
    values = {each.keyword: None for each in entry.parameters} | {option: "yesterday"}
    (shown,) = (each.shown for each in entry.parameters if each.keyword == option)
    assert commands._arguments(entry, values) == {shown: sent}


@pytest.mark.parametrize(
    ("since", "zone", "moment"),
    [
        ("today", "UTC", "2026-11-25T00:00:00.000000Z"),
        ("Yesterday", "UTC", "2026-11-24T00:00:00.000000Z"),
        # It is the next day already in Kiritimati.
        ("today", "Pacific/Kiritimati", "2026-11-25T10:00:00.000000Z"),
        ("yesterday", "America/New_York", "2026-11-24T05:00:00.000000Z"),
        ("2026-11-20", "Asia/Tokyo", "2026-11-20T00:00:00.000000Z"),
    ],
)
def test_a_range_of_changes_begins_with_a_day_of_the_time_zone(
    since: str, zone: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(times, "now", lambda: NOW)
    token = times.ZONE.set(times.zone_of(zone))
    try:
        begin = read(ListChanges, "changes.list", {"since": since, "until": since})
    finally:
        times.ZONE.reset(token)
    assert times.render(begin.since or 0) == moment
    assert begin.until == (begin.since or 0) + times.DAY
    for wrong in ("tomorrow", "today+1", "", "days"):
        with pytest.raises(InvalidInput):
            read(ListChanges, "changes.list", {"since": wrong})
