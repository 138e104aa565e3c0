"""Events as pure rules: what counts as a date, which fields are times, and what their events are called.

The vectors of golden.json are pinned as those of the data format are: an event's id is stored.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical, dates, ids, reduction, schema, timeline_fields, times
from graphmem.model.reduction import Observation, Winner
from graphmem.model.rules import PLAIN, Rules
from graphmem.settings import DEFAULT_OWNER
from tests.support.walks import walk_over
from tests.unit.test_golden import GOLDEN, hashed, vectors

ENTITY = "ent_" + "0" * 24


def fold(**values: Any) -> dict[str, Winner]:
    return {name: Winner("r", f"obs_{name}", canonical.encode(value)) for name, value in values.items()}


def event_rows(rules: Rules = PLAIN, kind: str = "thing", **values: Any) -> list[tuple[str, str, str]]:
    events = timeline_fields.events(DEFAULT_OWNER, ENTITY, kind, fold(**values), rules)
    return [(event.field, event.event_type, event.text) for event in events.values()]


@vectors("events")
def test_an_event_has_this_id(vector):
    assert ids.event_id(DEFAULT_OWNER, vector["entity"], vector["field"], vector["text"]) == vector["id"]
    assert vector["id"] == "evt_" + hashed(vector["over"], 24)


@vectors("dates")
def test_a_text_is_read_as_a_date(vector):
    text, iso, instant, precision, offset = vector
    written = dates.parse(text)
    assert written is not None
    assert written == (times.parse(instant), iso, precision, offset)
    assert times.render(written.at) == instant


@walk_over("text", GOLDEN["no_dates"])
def test_a_text_is_no_date(text):
    assert dates.parse(text) is None
    assert event_rows(date=text) == []


@given(st.text(max_size=70))
def test_any_text_is_a_date_or_none(text):
    written = dates.parse(text)
    assert written is None or times.EARLIEST <= written.at <= times.LATEST


@given(st.datetimes())
def test_every_time_is_read_as_it_was_written(moment):
    written = dates.parse(f"{moment.isoformat()}Z")
    assert written is not None
    assert times.render(written.at).rstrip("0Z.") == moment.isoformat(timespec="microseconds").rstrip("0.")
    assert dates.parse(written.iso) == written


@walk_over("value", [
    2026, 20260131, 1769817600, 2026.5, 9199, True, None, {"date": "2026-01-31"}, [["2026-01-31"]], [2026],
])  # fmt: skip
def test_only_texts_and_lists_of_texts_are_dates(value):
    assert event_rows(date=value, due_date=value, Rules=value) == []


@vectors("temporal_names")
def test_a_field_is_a_time_by_its_name(vector):
    name, event_type = vector
    assert timeline_fields.is_temporal(name, PLAIN) == (event_type is not None)
    if event_type is not None:
        assert timeline_fields.event_type("thing", name) == event_type
        assert event_rows(PLAIN, **{name: "2026-01-31"}) == [(name, event_type, "2026-01-31")]


@vectors("event_types")
def test_the_event_type_of_a_field(vector):
    kind, name, event_type = vector
    assert timeline_fields.event_type(kind, name) == event_type


@walk_over("name", schema.shipped_types())
def test_shipped_types_name_their_events_as_the_rules_of_names_do(name):
    """So that registering a shipped type with one field more renames no event."""
    document = schema.shipped(name)
    assert document is not None
    for time_field in document.temporal_fields:
        assert timeline_fields.is_temporal(time_field.field, PLAIN)
        assert timeline_fields.event_type(name, time_field.field) == time_field.event_type


def test_postal_codes_amounts_card_digits_and_years_give_no_event():
    fields = {
        "zip": "90210", "postal_code": "12345-6789", "amount": "2026.01", "price": 20260131, "year": "2026",
        "founded": 1998, "card": "4111111111111111", "due": "12345678", "date": "2026", "paid_on": 1769817600,
        "since": "1998", "expires": "01/27", "phone": "2026-01-31", "order_number": "2026-01-31",
    }  # fmt: skip
    assert event_rows(**fields) == []


def test_a_list_gives_an_event_for_each_of_its_dates():
    assert event_rows(dates=["2026-01-31", "soon", 7, "2026-02-01", "2026-01-31"]) == [
        ("dates", "Dates", "2026-01-31"), ("dates", "Dates", "2026-02-01"),
    ]  # fmt: skip


def test_declared_fields_are_times_and_no_others():
    rules = Rules(temporal={"bottled": "Bottled"})
    assert event_rows(rules, bottled="2026-01-31", due_date="2026-01-31") == [
        ("bottled", "Bottled", "2026-01-31")
    ]
    assert event_rows(rules, bottled="vintage 2026") == []


def registered(kind: str, temporal: list[dict[str, str]], **fields: str) -> Rules:
    return schema.parse(kind, {"fields": fields, "temporal_fields": temporal}).rules


def test_temporal_fields_are_part_of_the_rules_and_their_key():
    none, default, named = (
        registered("wine", temporal, bottled="date", drunk="date")
        for temporal in ([], [{"field": "bottled"}], [{"field": "bottled", "event_type": "Filled"}])
    )
    assert (none.temporal, default.temporal, named.temporal) == (
        {}, {"bottled": "Bottled"}, {"bottled": "Filled"},
    )  # fmt: skip
    assert len({none.key, default.key, named.key}) == 3


def test_times_that_a_shipped_type_came_with_exclude_no_others():
    document = schema.shipped("event")
    assert document is not None
    came = [time_field.as_json() for time_field in document.temporal_fields]
    assert registered("event", came, date_start="date", date_end="date").temporal == {}
    own_fields = [{"field": "date_end", "event_type": "Over"}]
    assert registered("event", own_fields, date_start="date", date_end="date").temporal == {
        "date_end": "Over"
    }


def test_an_entity_has_100_events_at_most():
    texts = [f"{year:04d}-01-31" for year in range(1, 2_000)]
    assert len(event_rows(dates=texts)) == timeline_fields.EVENTS_LIMIT == 100


def test_each_event_of_a_union_names_the_observation_that_said_it_first():
    rules = Rules(policies={"dates": "merge_array"})
    folded: dict[str, Winner] = {}
    for place, texts in enumerate((["2026-02-01"], ["2026-01-01", "2026-02-01"], [7, "2026-03-01"])):
        observation = Observation(
            f"obs_{place}", ENTITY, "thing", "value", place, place, {"dates": canonical.encode(texts)}, "txn"
        )
        folded = reduction.fold(folded, observation, rules)
    events = timeline_fields.events(DEFAULT_OWNER, ENTITY, "thing", folded, rules)
    assert {event.text: event.observation_id for event in events.values()} == {
        "2026-02-01": "obs_0", "2026-01-01": "obs_1", "2026-03-01": "obs_2",
    }  # fmt: skip


def test_the_events_of_a_series_are_those_that_take_place():
    series = {
        "date_start": "2026-09-01T10:00:00+02:00",
        "date_end": "2026-09-01T11:00:00+02:00",
        "instance_dates": [f"2026-09-{day:02}T08:00:00Z" for day in (8, 15, 22, 29)],
    }
    first, day, later, ended = (
        {"instance 2026-09-01T08:00:00+00:00": "cancelled"},
        {"instance 2026-09-08": "2026-09-09"},
        {"instances from 2026-09-15T08:00:00+00:00": "2026-09-16T09:00:00+00:00"},
        {"instances from 2026-09-22T08:00:00+00:00": "cancelled"},
    )

    def texts(*changes: dict[str, str]) -> list[str]:
        stated = {name: value for change in (series, *changes) for name, value in change.items()}
        return [text for _, _, text in event_rows(PLAIN, "event", **stated)]

    assert texts(first, day) == ["2026-09-15T08:00:00Z", "2026-09-22T08:00:00Z", "2026-09-29T08:00:00Z"]
    assert texts(first, day, later) == ["2026-09-23T09:00:00+00:00", "2026-09-30T09:00:00+00:00"]
    assert texts(first, day, later, ended) == []
    moved = {"instances from 2026-08-01T08:00:00Z": "2026-08-02T08:00:00Z"}
    assert texts(moved)[:2] == ["2026-09-02T11:00:00+02:00", "2026-09-02T10:00:00+02:00"]
