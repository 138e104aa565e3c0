"""Pages of the timeline over random data, many events at one time, tile what a plain model sorts."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import Services
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import Call, by_runner

TIMES = (
    "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000001Z",
    "0001-01-01", "9999-12-31T23:59:59.999999Z", "2026-01-02", "1969-12-31T23:59:59Z",
)  # fmt: skip
FIELDS = {"due": "Due", "start_date": "StartDate", "seen": None}
"""Fields, with the type of their events; `seen` is no time."""
ITEMS = st.lists(
    st.tuples(
        st.sampled_from(["thing", "gadget"]),
        st.dictionaries(
            st.sampled_from(sorted(FIELDS)),
            st.sampled_from(TIMES) | st.lists(st.sampled_from([*TIMES, 7, "no"]), max_size=4),
        ),
        st.booleans(),
    ),
    max_size=12,
)
ARGUMENTS = st.fixed_dictionaries(
    {"order": st.sampled_from(["asc", "desc"]), "limit": st.integers(1, 5)},
    optional={
        "event_type": st.sampled_from(["Due", "StartDate", "Seen"]),
        "entity_type": st.sampled_from(["thing", "gadget"]),
        "start_date": st.sampled_from(TIMES),
        "end_date": st.sampled_from(TIMES),
        "at": st.just("2100-01-01"),
    },
)


def instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def end(text: str) -> datetime:
    """Return the first moment after a range; a date alone is the whole day."""
    moment = instant(text)
    return moment + timedelta(days=1) if len(text) == len("2026-01-01") else moment


def store(run: Call, items: list[Any]) -> list[dict[str, Any]]:
    """Store the items, delete some; return the events that there must be."""
    events: list[dict[str, Any]] = []
    for place, (kind, fields, deleted) in enumerate(items):
        stored = run("store", entities=[{"entity_type": kind, "name": f"{place}", **fields}])
        entity_id = stored["entities"][0]["entity_id"]
        if deleted:
            run("entities.delete", entity_id=entity_id)
            continue
        field_times = {
            (name, text)
            for name, value in fields.items()
            for text in (value if isinstance(value, list) else [value])
            if FIELDS[name] and text in TIMES
        }
        events += [
            {"entity_id": entity_id, "entity_type": kind, "event_type": FIELDS[name], "text": text}
            for name, text in field_times
        ]
    return events


def fits(event: dict[str, Any], arguments: dict[str, Any]) -> bool:
    when = instant(event["text"])
    return (
        all(event[name] == arguments[name] for name in ("event_type", "entity_type") if name in arguments)
        and ("start_date" not in arguments or when >= instant(arguments["start_date"]))
        and ("end_date" not in arguments or when < end(arguments["end_date"]))
    )


def plainly(event: dict[str, Any]) -> list[str]:
    return [event[name] for name in ("entity_id", "entity_type", "event_type", "text")]


@examples(5)
@given(items=ITEMS, others=ITEMS, every=st.lists(ARGUMENTS, min_size=3, max_size=6))
def test_pages_tile_what_a_plain_model_sorts(
    loop: Loop, services: Services, items: list[Any], others: list[Any], every: list[dict[str, Any]]
) -> None:
    run, stranger = (by_runner(loop, services, str(uuid.uuid4())) for _ in range(2))
    events = store(run, items)
    store(stranger, others)
    for arguments in every:
        if {"start_date", "end_date"} <= arguments.keys() and instant(arguments["start_date"]) > instant(
            arguments["end_date"]
        ):
            arguments = {
                **arguments,
                "start_date": arguments["end_date"],
                "end_date": arguments["start_date"],
            }
        rows: list[dict[str, Any]] = []
        page = run("timeline.list", **arguments, include_total_count=True)
        while True:
            assert 1 <= len(page["events"]) <= arguments["limit"] or not rows
            rows += page["events"]
            if "next_cursor" not in page:
                break
            page = run("timeline.list", **arguments, include_total_count=True, cursor=page["next_cursor"])
        wanted = [event for event in events if fits(event, arguments)]
        assert page["total"] == len(wanted)
        assert sorted(map(plainly, rows)) == sorted(map(plainly, wanted))
        order = [(instant(event["text"]), event["id"]) for event in rows]
        assert order == sorted(order, reverse=arguments["order"] == "desc")
