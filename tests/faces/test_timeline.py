"""The timeline: what its events say, which are listed when, and how they are paged and asked as of a time."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.api import openapi
from graphmem.cli.main import app as command_line
from graphmem.context import Services
from graphmem.errors import GraphmemError, InvalidCursor, InvalidInput, NotFound, UnknownField
from graphmem.mcp import tools
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.worker_pass import fold_stale

MEETING = {
    "entity_type": "event",
    "title": "Launch",
    "date_start": "2026-01-31T09:00:00+01:00",
    "date_end": "2026-02-01",
    "attendees": ["Ada"],
}
TASK = {
    "entity_type": "task",
    "title": "Print",
    "due_date": "2026-03-01",
    "amount": "2026.01",
    "zip": "90210",
}


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def listed(call: Call, **arguments: Any) -> list[tuple[str, str]]:
    return [
        (event["event_type"], event["text"])
        for event in call("timeline.list", order="asc", **arguments)["events"]
    ]


@pytest.fixture
def world(run: Call) -> list[str]:
    return ids(run("store", entities=[MEETING, TASK], observed_at="2026-01-01T00:00:00Z"))


def test_events_are_listed_the_latest_first_with_where_they_come_from(run: Call, world: list[str]) -> None:
    page = run("timeline.list", include_total_count=True)
    assert (page["limit"], page["offset"], page["total"]) == (100, 0, 3)
    assert "next_cursor" not in page
    assert [event["event_type"] for event in page["events"]] == ["TaskDue", "EventEnd", "EventStart"]
    *_, start = page["events"]
    (observation,) = run("observations.query", entity_id=world[0])["observations"]
    assert start == {
        "id": start["id"],
        "event_type": "EventStart",
        "event_timestamp": "2026-01-31T09:00:00+01:00",
        "instant": "2026-01-31T08:00:00.000000Z",
        "precision": "second",
        "utc_offset": "+01:00",
        "text": "2026-01-31T09:00:00+01:00",
        "source_field": "date_start",
        "entity_id": world[0],
        "entity_type": "event",
        "entity_name": "Launch",
        "observation_id": observation["id"],
        "source_id": None,
        "created_at": observation["recorded_at"],
        "provenance": observation["provenance"],
    }
    assert run("timeline.get", event_id=start["id"]) == {"event": start}


def test_a_day_is_told_as_one_and_begins_its_day(run: Call, world: list[str]) -> None:
    (end,) = run("timeline.list", event_type="EventEnd")["events"]
    assert (end["event_timestamp"], end["precision"], end["utc_offset"]) == ("2026-02-01", "day", None)
    assert end["instant"] == "2026-02-01T00:00:00.000000Z"


START, END, DUE = ("EventStart", MEETING["date_start"]), ("EventEnd", "2026-02-01"), ("TaskDue", "2026-03-01")


@pytest.mark.parametrize(("arguments", "wanted"), [
    ({}, [START, END, DUE]),
    ({"event_type": "TaskDue"}, [DUE]),
    ({"event_type": "taskdue"}, []),
    ({"event_type": "'}) RETURN 1 //"}, []),
    ({"entity_type": "events"}, [START, END]),
    ({"entity_type": "unicorn"}, []),
    ({"entity_type": "task", "event_type": "EventEnd"}, []),
    ({"entity_type": "event", "event_type": "EventEnd"}, [END]),
    ({"start_date": "2026-01-31T08:00:00Z", "end_date": "2026-03-01T00:00:00Z"}, [START, END]),
    ({"start_date": "2026-01-31T08:00:00.000001Z", "end_date": "2026-03-01T00:00:00.000001Z"}, [END, DUE]),
    ({"start_date": "2026-02-01", "end_date": "2026-02-01"}, [END]),
    ({"start_date": "2026-02-01T00:00:00Z", "end_date": "2026-02-01T00:00:00Z"}, []),
    ({"end_date": "2026-01-31"}, [START]),
    ({"end_date": " 2026-01-30 "}, []),
    ({"end_date": "9999-12-31"}, [START, END, DUE]),
    ({"start_date": "2026-02-01T01:00:00+01:00", "end_date": "2026-02-02"}, [END]),
    ({"limit": 1, "offset": 1}, [END]),
    ({"offset": 3}, []),
])  # fmt: skip
def test_events_are_those_that_the_arguments_select(
    run: Call, world: list[str], arguments: dict[str, Any], wanted: list[tuple[str, str]]
) -> None:
    assert listed(run, **arguments) == wanted
    counted = {name: value for name, value in arguments.items() if name not in ("limit", "offset")}
    whole = [START, END, DUE] if {"limit", "offset"} & set(arguments) else wanted
    assert run("timeline.list", **counted, include_total_count=True)["total"] == len(whole)


def test_other_spellings_of_the_arguments_are_taken(rest: Call, mcp: Call, world: list[str]) -> None:
    for call in (rest, mcp):
        arguments = {"type": "EventEnd", "from": "2026-01-01", "to": "2026-02-02", "sort_order": "desc"}
        assert len(call("timeline.list", **arguments)["events"]) == 1
        assert call("timeline.list", **{**arguments, "to": "2026-01-31"})["events"] == []


def test_the_timeline_of_one_entity_has_its_events_alone(run: Call, world: list[str]) -> None:
    assert listed(run, entity_id=world[0]) == [START, END]
    assert listed(run, entity_id=world[0], event_type="EventEnd") == [END]
    assert listed(run, entity_id=world[0], entity_type="task") == []
    assert listed(run, entity_id=world[0], start_date="2026-02-01") == [END]
    with pytest.raises(NotFound):
        run("timeline.list", entity_id="ent_" + "0" * 24)


@pytest.mark.parametrize("arguments", [
    {"start_date": "soon"}, {"end_date": "2026-13-01"}, {"end_date": ""},
    {"start_date": "2026-02-01", "end_date": "2026-01-01"}, {"order": "up"},
    {"limit": "501"}, {"limit": "-1"}, {"offset": "-1"},
    {"event_type": "x" * 201}, {"at": "then"}, {"entity_type": "9"},
])  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(call: Call, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        call("timeline.list", **arguments)
    (issue,) = refused.value.details["issues"]
    assert issue["path"] in [f"$.{name}" for name in arguments]
    assert issue["message"]


def test_the_timeline_of_a_file_has_the_dates_that_it_says(call: Call, run: Call, world: list[str]) -> None:
    first = run(
        "store", entities=[{**MEETING, "place": "Rome"}, {"entity_type": "task", "title": "Read", "due_date":
        "2026-04-01"}], file_content="YQ==", original_filename="a.txt", observed_at="2026-01-02T00:00:00Z",
    )  # fmt: skip
    second = run("store", entities=[{**TASK, "due_date": "2026-05-01"}], file_content="Yg==")
    expected = {
        first["source_id"]: [START, END, ("TaskDue", "2026-04-01")],
        second["source_id"]: [("TaskDue", "2026-05-01")],
        "src_" + "0" * 24: [],
    }
    for source_id, events in expected.items():
        for more in ({}, {"at": "2100-01-01"}, {"end_date": "2026-02-01"}, {"entity_type": "task"}):
            wanted = events
            if "end_date" in more:
                wanted = [each for each in events if each in (START, END)]
            if "entity_type" in more:
                wanted = [each for each in events if each[0] == "TaskDue"]
            assert listed(call, source_id=source_id, **more) == wanted
    source_id = first["source_id"]
    assert listed(run, source_id=source_id, entity_id=world[0]) == [START, END]
    assert listed(run, source_id=second["source_id"], entity_id=world[0]) == []
    assert len(walk(run, source_id=source_id, limit=1, order="asc")) == 3
    assert run("timeline.list", source_id=source_id, include_total_count=True)["total"] == 3
    assert listed(run, source_id=source_id, at="2026-01-01T00:00:00Z") == []
    # The file takes its dates with it.
    run("sources.withdraw", source_id=second["source_id"], reason="wrong")
    assert listed(run, source_id=second["source_id"]) == []


def test_a_year_is_a_time_on_the_command_line_alone(run: Call, cli: Call, world: list[str]) -> None:
    with pytest.raises(InvalidInput):
        run("timeline.list", start_date="2026")
    every = run("timeline.list")["events"]
    assert cli("timeline.list", start_date="2026", end_date="2026")["events"] == every
    assert cli("timeline.list", start_date="2027")["events"] == []


def test_unknown_arguments_are_refused(rest: Call) -> None:
    with pytest.raises(UnknownField):
        rest("timeline.list", colour="red")


def walk(run: Call, **arguments: Any) -> list[str]:
    event_ids: list[str] = []
    page = run("timeline.list", **arguments)
    while True:
        event_ids += [event["id"] for event in page["events"]]
        if "next_cursor" not in page:
            return event_ids
        page = run("timeline.list", **arguments, cursor=page["next_cursor"])


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("of", ["all", "type", "entity type", "entity", "a time"])
def test_cursors_lead_through_equal_times_without_gap_or_double(run: Call, order: str, of: str) -> None:
    dates = [f"2026-01-{1 + k // 4:02d}T{'00:00:00Z' if k % 4 else '01:00:00+01:00'}" for k in range(16)]
    items = [
        {"entity_type": "thing", "name": f"{k}", "due": [date, date[:10]]} for k, date in enumerate(dates)
    ]
    many = [f"{date[:19]}.{k}Z" for k in range(3) for date in dates]
    items.append({"entity_type": "thing", "name": "many", "due": many})
    entity_ids = ids(run("store", entities=items))
    arguments: dict[str, Any] = {
        "all": {}, "type": {"event_type": "Due"}, "entity type": {"entity_type": "thing"},
        "entity": {"entity_id": entity_ids[-1]}, "a time": {"at": "2100-01-01"},
    }[of]  # fmt: skip
    arguments = {**arguments, "order": order, "start_date": "2026-01-02"}
    whole = run("timeline.list", **arguments, limit=500)["events"]
    assert [(event["instant"], event["id"]) for event in whole] == sorted(
        [(event["instant"], event["id"]) for event in whole], reverse=order == "desc"
    )
    assert len(whole) == {"entity": 18}.get(of, 24 + 18)
    for limit in (1, 3, len(whole)):
        assert walk(run, **arguments, limit=limit) == [event["id"] for event in whole]
    second = run("timeline.list", **arguments, limit=4, offset=2)["events"]
    assert second == whole[2:6]


def test_a_cursor_is_good_for_its_query_alone(run: Call, world: list[str]) -> None:
    cursor = run("timeline.list", limit=1)["next_cursor"]
    for arguments in ({"order": "asc"}, {"entity_type": "task"}, {"start_date": "2020-01-01"}):
        with pytest.raises(InvalidCursor):
            run("timeline.list", cursor=cursor, **arguments)
    with pytest.raises(InvalidInput):
        run("timeline.list", cursor=cursor, offset=1)
    assert len(run("timeline.list", cursor=cursor, limit=500)["events"]) == 2


def test_a_page_goes_on_while_others_write(run: Call, world: list[str]) -> None:
    page = run("timeline.list", order="asc", limit=1)
    run("store", entities=[{"entity_type": "event", "title": "Earlier", "date_start": "2026-01-01"}])
    run("store", entities=[{"entity_type": "event", "title": "Later", "date_start": "2026-02-15"}])
    rest = run("timeline.list", order="asc", cursor=page["next_cursor"])["events"]
    assert [event["text"] for event in rest] == ["2026-02-01", "2026-02-15", "2026-03-01"]


# What events follow


def test_a_corrected_time_moves_its_event_and_the_former_one_is_there_as_of_then(
    call: Call, run: Call, world: list[str]
) -> None:
    (before,) = run("timeline.list", event_type="TaskDue")["events"]
    known = run("server.stats")["last_updated"]
    run("entities.correct", entity_id=world[1], field="due_date", value="2026-04-01")
    assert listed(call, entity_id=world[1]) == [("TaskDue", "2026-04-01")]
    with pytest.raises(NotFound) as gone:
        call("timeline.get", event_id=before["id"])
    assert gone.value.details == {
        "event_id": before["id"], "entity_id": world[1], "field": "due_date",
    }  # fmt: skip
    assert "at" in str(gone.value)
    then = call("timeline.get", event_id=before["id"], at_ingested=known)
    assert then == {"event": before, "at_ingested": known}
    with pytest.raises(NotFound):
        call("timeline.get", event_id=before["id"], at="2025-01-01")
    assert listed(call, entity_id=world[1], at_ingested=known) == [DUE]
    assert listed(call, at_ingested=known) == [START, END, DUE]
    run("entities.correct", entity_id=world[1], field="due_date", value="2026-03-01")
    (again,) = run("timeline.list", event_type="TaskDue")["events"]
    assert again["id"] == before["id"]
    assert again["observation_id"] != before["observation_id"]


def test_a_time_that_is_cleared_or_no_date_any_more_is_gone(run: Call, world: list[str]) -> None:
    run("entities.correct", entity_id=world[1], field="due_date", value="some day")
    run("entities.correct", entity_id=world[0], field="date_end", value=None)
    assert listed(run) == [START]


def test_events_go_and_return_with_their_entity(run: Call, world: list[str]) -> None:
    (event,) = run("timeline.list", event_type="TaskDue")["events"]
    run("entities.delete", entity_id=world[1])
    assert listed(run) == [START, END]
    assert run("server.stats")["total_events"] == 2
    for arguments in ({"event_id": event["id"]},):
        with pytest.raises(NotFound):
            run("timeline.get", **arguments)
    with pytest.raises(NotFound):
        run("timeline.list", entity_id=world[1])
    run("store", entities=[{"target_id": world[1], "due_date": "2026-05-01"}])
    assert listed(run) == [START, END]
    run("entities.restore", entity_id=world[1])
    assert listed(run) == [START, END, ("TaskDue", "2026-05-01")]


def test_a_merge_moves_events_to_the_survivor_and_its_end_gives_them_back(run: Call) -> None:
    items = [
        {"entity_type": "task", "title": "A", "due_date": "2026-01-01", "start_date": "2025-12-01"},
        {"entity_type": "task", "title": "B", "due_date": "2026-02-01"},
    ]
    first, second = ids(run("store", entities=items[:1])) + ids(run("store", entities=items[1:]))
    before = run("timeline.list")["events"]
    run("entities.merge", source_entity_id=first, target_entity_id=second)
    merged = run("timeline.list")["events"]
    assert [(e["event_type"], e["text"], e["entity_id"]) for e in merged] == [
        ("TaskDue", "2026-02-01", second), ("TaskStart", "2025-12-01", second),
    ]  # fmt: skip
    assert run("timeline.list", entity_id=first)["events"] == merged
    run("entities.unmerge", source_entity_id=first)
    assert run("timeline.list")["events"] == before


def test_a_schema_says_which_fields_are_times(run: Call, loop: Loop, services: Services) -> None:
    items = [
        {"entity_type": "wine", "name": f"W{k}", "bottled": "2020-01-01", "due": "2021-01-01"}
        for k in range(3)
    ]
    run("store", entities=items)
    assert listed(run) == [("Due", "2021-01-01")] * 3
    fields = {name: {"type": "string"} for name in ("name", "bottled", "due")}
    temporal = [{"field": "bottled", "event_type": "Filled"}]
    run("schemas.register", schema={"entity_type": "wine", "fields": fields, "temporal_fields": temporal})
    assert listed(run) == [("Filled", "2020-01-01")] * 3
    run("schemas.update", entity_type="wine", temporal_fields=[{"field": "due"}, {"field": "bottled"}])
    (event,) = run("timeline.list", limit=1, event_type="Due")["events"]
    assert listed(run, entity_type="wine") == [("Bottled", "2020-01-01")] * 3 + [("Due", "2021-01-01")] * 3
    run("schemas.update", entity_type="wine", fields_to_remove=["due"])
    with pytest.raises(NotFound):
        run("timeline.get", event_id=event["id"])
    assert listed(run) == [("Bottled", "2020-01-01")] * 3
    fold_stale(loop, services, run)
    assert run("server.check_snapshots")["healthy"]


def test_an_event_that_rules_give_back_is_there_at_once(run: Call) -> None:
    item = {"entity_type": "wine", "name": "W", "bottled": "2020-01-01", "due": "2021-01-01"}
    run("store", entities=[item])
    fields = {name: {"type": "string"} for name in ("name", "bottled", "due")}
    (event,) = run("timeline.list")["events"]
    run(
        "schemas.register",
        schema={"entity_type": "wine", "fields": fields, "temporal_fields": [{"field": "bottled"}]},
    )
    with pytest.raises(NotFound, match="no longer has this date"):
        run("timeline.get", event_id=event["id"])
    run("schemas.update", entity_type="wine", temporal_fields=[{"field": "due", "event_type": "Due"}])
    assert run("timeline.get", event_id=event["id"])["event"]["text"] == "2021-01-01"


def test_types_too_large_to_fold_at_once_are_named(loop: Loop, services: Services, owner: str) -> None:
    run = by_runner(loop, replace(services, limits=Limits(refolded_entities=2)), owner)
    items = [{"entity_type": "wine", "name": f"W{k}", "bottled": "2020-01-01"} for k in range(3)]
    run("store", entities=[*items, TASK])
    temporal = [{"field": "bottled"}]
    fields = {"name": "string", "bottled": "date"}
    run("schemas.register", schema={"entity_type": "wine", "fields": fields, "temporal_fields": temporal})
    page = run("timeline.list")
    assert (page["types_pending"], len(page["events"])) == (["wine"], 1)
    assert "types_pending" not in run("timeline.list", entity_type="task")
    while run("server.stats")["types_pending"]:
        fold_stale(loop, services, run)
    page = run("timeline.list")
    assert ("types_pending" in page, len(page["events"])) == (False, 4)


# As of a time


def test_a_late_report_is_known_only_from_when_it_came(call: Call, run: Call, world: list[str]) -> None:
    known = run("server.stats")["last_updated"]
    run("store", entities=[{**TASK, "due_date": "2026-02-20"}], observed_at="2026-01-02T00:00:00Z")
    assert listed(call, entity_id=world[1], at_ingested=known) == [DUE]
    assert listed(call, entity_id=world[1], at="2026-01-02") == [("TaskDue", "2026-02-20")]
    assert listed(call, entity_id=world[1], at="2026-01-01") == [DUE]
    assert listed(call, at="2025-01-01") == []
    assert listed(call, at="2026-01-01", entity_type="task", include_total_count=True) == [DUE]


def test_a_range_is_described_by_the_interface_s_names_and_taken_by_both(
    rest: Call, mcp: Call, cli: Call, world: list[str]
) -> None:
    described = {
        parameter["name"] for parameter in openapi.document()["paths"]["/timeline"]["get"]["parameters"]
    }
    assert {"type", "from", "to"} <= described
    assert not {"event_type", "start_date", "end_date"} & described
    (tool,) = [entry for entry in tools.described("full") if entry.name == "list_timeline_events"]
    assert {"entity_type", "start_date", "end_date"} <= set(tool.input_schema["properties"])
    shown = CliRunner().invoke(command_line, ["timeline", "list", "--help"], env={"COLUMNS": "200"}).stdout
    assert all(option in shown for option in ("--type", "--from", "--to"))
    assert not any(option in shown for option in ("--event-type", "--start-date", "--end-date"))
    for call in (rest, mcp, cli):
        assert listed(call, **{"type": "EventEnd", "from": "2026-01-31", "to": "2026-02-28"}) == [END]
        assert listed(call, event_type="EventEnd", start_date="2026-01-31", end_date="2026-03-01") == [END]
        with pytest.raises(InvalidInput, match="twice"):
            call("timeline.list", **{"from": "2026-01-31", "start_date": "2026-02-01"})


def test_other_names_of_a_range_are_taken_on_every_face(
    rest: Call, mcp: Call, cli: Call, world: list[str]
) -> None:
    for call in (rest, mcp, cli):
        assert listed(call, after_date="2026-02-01", before_date="2026-02-01") == [END]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("clock", ["at", "at_ingested"])
def test_pages_as_of_a_time_tile_while_a_backfill_is_recorded(run: Call, order: str, clock: str) -> None:
    tasks = [{"entity_type": "task", "title": f"T{k}", "due_date": f"2026-03-{k:02}"} for k in range(1, 7)]
    run("store", entities=tasks, observed_at="2026-01-01T00:00:00Z")
    arguments = {"order": order, "limit": 2, clock: "2100-01-01" if clock == "at_ingested" else "2026-06-01"}
    whole = run("timeline.list", **{**arguments, "limit": 500})["events"]
    page = run("timeline.list", **arguments)
    seen = page["events"]
    while "next_cursor" in page:
        late = [{"entity_type": "task", "title": f"Late {len(seen)}", "due_date": "2026-03-04"}]
        run("store", entities=late, observed_at="2026-01-02T00:00:00Z")
        run("store", entities=[{**tasks[2], "due_date": "2026-03-31"}], observed_at="2026-01-02T00:00:00Z")
        page = run("timeline.list", **arguments, cursor=page["next_cursor"])
        seen += page["events"]
    assert seen == whole


def test_a_date_of_the_past_alone_has_an_event_as_of_its_time(
    call: Call, run: Call, world: list[str], loop: Loop, services: Services, owner: str
) -> None:
    run("store", entities=[{**TASK, "due_date": "2025-12-31"}], observed_at="2025-01-01T00:00:00Z")
    (late,) = call("timeline.list", at="2025-06-01")["events"]
    assert late["text"] == "2025-12-31"
    assert call("timeline.get", event_id=late["id"], at="2025-06-01")["event"] == late
    with pytest.raises(NotFound):
        call("timeline.get", event_id=late["id"])
    limited = by_runner(loop, replace(services, limits=Limits(recomputed_entities=1)), owner)
    with pytest.raises(NotFound, match="entity_id"):
        limited("timeline.get", event_id=late["id"], at="2025-06-01")
    arguments = {"event_id": late["id"], "entity_id": world[1], "at": "2025-06-01"}
    assert limited("timeline.get", **arguments)["event"] == call("timeline.get", **arguments)["event"] == late


def test_as_of_a_time_too_many_entities_are_refused_with_what_to_do(
    world: list[str], loop: Loop, services: Services, owner: str
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(recomputed_entities=1)), owner)
    with pytest.raises(InvalidInput, match="entity_id") as refused:
        run("timeline.list", at="2026-01-01")
    assert refused.value.details["issues"][0]["path"] == "$.at"
    assert listed(run, at="2026-01-01", entity_type="task") == [DUE]


def test_the_neighbourhood_of_an_entity_has_its_events(call: Call, run: Call, world: list[str]) -> None:
    events = run("timeline.list", entity_id=world[0])["events"]
    assert call("graph.neighborhood", node_id=world[0])["events"] == events
    assert call("graph.neighborhood", node_id=world[0], at="2026-01-01T00:00:00Z")["events"] == events
    assert "events" not in call("graph.neighborhood", node_id=world[0], include_events=False)


def test_two_owners_of_the_same_times_see_their_own(
    run: Call, world: list[str], loop: Loop, services: Services
) -> None:
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    assert stranger("timeline.list", include_total_count=True)["total"] == 0
    stranger("store", entities=[MEETING])
    events = {event["id"] for event in run("timeline.list")["events"]}
    hers = {event["id"] for event in stranger("timeline.list")["events"]}
    assert (len(events), len(hers), events & hers) == (3, 2, set())
    for event_id in events:
        for clocks in ({}, {"at": "2100-01-01"}):
            with pytest.raises(GraphmemError) as missing:
                stranger("timeline.get", event_id=event_id, **clocks)
            assert missing.value.details == {"event_id": event_id}
