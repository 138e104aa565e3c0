"""Pages of entities: filters, orders, cursors, and what of them is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import GraphmemError, InvalidCursor, InvalidInput
from graphmem.model import identity, times
from graphmem.reading import cursors
from graphmem.settings import Limits
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

WINE = {"entity_type": "wine", "fields": {"name": "string"}, "additional_fields": "show"}
FIELD = {"type": "string", "filterable": True, "mismatch": "show"}


def ids(page: dict[str, Any]) -> list[str]:
    return [entity["entity_id"] for entity in page["entities"]]


def names(page: dict[str, Any]) -> list[str]:
    return [entity["canonical_name"] for entity in page["entities"]]


def store(run: Call, *items: dict[str, Any], kind: str = "wine") -> list[str]:
    return ids(run("store", entities=[{"entity_type": kind, **item} for item in items]))


def walked(run: Call, **arguments: Any) -> Iterator[str]:
    """Yield the ids of all pages."""
    page = run("entities.query", **arguments)
    yield from ids(page)
    while "next_cursor" in page:
        page = run("entities.query", **arguments, cursor=page["next_cursor"])
        yield from ids(page)


def issues_of(run: Call, **arguments: Any) -> list[tuple[str, str]]:
    """Return the path and the message of each issue of a query that is refused."""
    with pytest.raises(InvalidInput) as refused:
        run("entities.query", **arguments)
    return [(issue["path"], issue["message"]) for issue in refused.value.details["issues"]]


# Filters


@pytest.mark.parametrize(
    ("op", "value", "expected_names"),
    [
        ("eq", "ROTHSCHILD", "a"), ("eq", 1, ""), ("in", ["rothschild", "Krug", 7], "ab"), ("gt", "l", "a"),
        ("lte", "rothschild", "a"), ("contains", "SCHI", "a"), ("contains_word", "krug", "b"),
        ("contains", "%", ""), ("contains_word", "kru", ""), ("eq", True, "c"),
    ],
)  # fmt: skip
def test_a_filter_says_what_the_value_of_a_field_must_be(
    call: Call, op: str, value: Any, expected_names: str
) -> None:
    wine_ids = store(
        call, {"name": "a", "by": "Rothschild"}, {"name": "b", "by": ["Krug", 3]}, {"name": "c", "by": True},
        {"name": "d"},
    )  # fmt: skip
    page = call("entities.query", filters={"snapshot_filters": {"by": {"op": op, "value": value}}})
    assert sorted(names(page)) == list(expected_names)
    assert page["scanned"] == len(wine_ids)


def test_filters_stand_inside_or_beside_and_in_a_query_string(run: Call) -> None:
    (wine,) = store(run, {"name": "a", "year": 1990})
    wanted = {"year": {"op": "gte", "value": 1990}}
    beside = run("entities.query", snapshot_filters=wanted, entity_type="wine", include_deleted=False)
    assert ids(beside) == [wine]
    assert beside == run(
        "entities.query",
        filters={"snapshot_filters": wanted, "entity_type": "wine", "include_deleted": False},
    )
    assert beside == run("entities.query", snapshot_filters=json.dumps(wanted), entity_type="wine")


@pytest.mark.parametrize(
    ("filters", "path"),
    [
        ({"year": {"op": "like", "value": 1}}, "year.op"),
        ({"year": {"op": "eq"}}, "year.value"),
        ({"year": {"op": "eq", "value": None}}, "year.value"),
        ({"year": {"op": "eq", "value": {}}}, "year.value"),
        ({"year": {"op": "in", "value": 1}}, "year.value"),
        ({"year": {"op": "in", "value": []}}, "year.value"),
        ({"year": {"op": "in", "value": [[1]]}}, "year.value"),
        ({"year": {"op": "gt", "value": [1]}}, "year.value"),
        ({"year": {"op": "contains", "value": 7}}, "year.value"),
        ({"year": {"op": "contains", "value": " "}}, "year.value"),
        ({"year": 1990}, "year"),
        ([], ""),
        ("{", ""),
        ({"": {"op": "eq", "value": 1}}, ""), ({"x" * 65: {"op": "eq", "value": 1}}, ""),
        ({"canonical_name": {"op": "eq", "value": "a"}}, ""),
        ({f"f{i}": {"op": "eq", "value": 1} for i in range(11)}, ""),
    ],
)  # fmt: skip
def test_a_filter_that_does_not_fit_is_refused_by_its_path(run: Call, filters: Any, path: str) -> None:
    whole = "$.filters.snapshot_filters" + (f".{path}" if path else "")
    ((where, message),) = issues_of(run, snapshot_filters=filters)
    assert where == whole
    assert not message.startswith("("), message


def test_a_filter_may_not_hold_what_it_does_not_know(run: Call) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("entities.query", snapshot_filters={"a": {"op": "eq", "value": 1, "case": True}})
    assert "$.filters.snapshot_filters.a.case" in refused.value.details["json_paths"]


def test_values_too_long_to_be_sent_are_compared_whole(run: Call) -> None:
    long = "x" * 5_000
    wine_ids = store(run, *({"name": f"n{i}", "text": f"{long}{i} end"} for i in range(5)))
    for value, count in ((f"{long}3 end", 1), ("4 END", 1), ("end", 5), ("none", 0)):
        wanted = {"text": {"op": "contains", "value": value}}
        assert len(ids(run("entities.query", snapshot_filters=wanted))) == count
    page = run("entities.query", sort_by="snapshot.text", entity_type="wine")
    assert set(ids(page)) == set(wine_ids)


# Orders and cursors


def test_entities_without_the_field_come_last_either_way(run: Call) -> None:
    values = [3, "x", None, True, "2026-01-01", -1, [1], {"a": 1}]
    store(run, *({"name": f"n{i}", "v": value} for i, value in enumerate(values)))
    up = names(run("entities.query", sort_by="snapshot.v"))
    down = names(run("entities.query", sort_by="snapshot.v", sort_order="desc"))
    assert up[:5] == ["n5", "n0", "n4", "n1", "n3"]
    assert down[:5] == up[:5][::-1]
    assert down[5:] == up[5:]


@pytest.mark.parametrize(
    "arguments", [{}, {"sort_by": "canonical_name"}, {"sort_by": "snapshot.v"}, {"at": "2100-01-01"}]
)
def test_a_cursor_is_good_for_its_own_query_alone(run: Call, arguments: dict[str, Any]) -> None:
    store(run, *({"name": f"n{i}", "v": i} for i in range(3)))
    cursor = run("entities.query", limit=1, **arguments)["next_cursor"]
    assert len(ids(run("entities.query", limit=2, cursor=cursor, **arguments))) == 2
    for other in ({"entity_type": "wine"}, {"include_deleted": True}):
        with pytest.raises(InvalidCursor):
            run("entities.query", cursor=cursor, **arguments, **other)
    for wrong in ("", "AAAA", cursor[:-2], cursor + "A", "é"):
        with pytest.raises(InvalidCursor):
            run("entities.query", cursor=wrong, **arguments)
    assert issues_of(run, cursor=cursor, offset=1, **arguments)[0][0] == "$.offset"


def test_a_cursor_of_another_owner_is_refused(run: Call, services: Services, loop: Loop) -> None:
    from tests.support import faces

    other = faces.by_runner(loop, services, "another-owner-of-cursors")
    for caller in (run, other):
        store(caller, {"name": "a"}, {"name": "b"})
    cursor = other("entities.query", limit=1)["next_cursor"]
    with pytest.raises(InvalidCursor):
        run("entities.query", limit=1, cursor=cursor)


@pytest.mark.parametrize("sort_by", ["", "name", "snapshot.", "snapshot." + "x" * 65, "id; DROP", 7])
def test_a_field_that_nothing_is_sorted_by_is_refused(run: Call, sort_by: Any) -> None:
    assert [path for path, _ in issues_of(run, sort_by=sort_by)] == ["$.sort_by"]


def test_an_order_may_be_spelled_otherwise(run: Call) -> None:
    store(run, {"name": "a"}, {"name": "b"})
    arguments = {"sort_by": " submitted_at ", "sort_order": "DESC"}
    assert ids(run("entities.query", **arguments)) == ids(
        run("entities.query", sort_by="created_at", sort_order="desc")
    )
    assert issues_of(run, sort_order="down")[0][0] == "$.sort_order"


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("observations.query", {}), ("observations.query", {"entity_type": "wine"}),
        ("observations.query", {"entity_id": "$one"}),
        ("observations.query", {"created_since": "2020-01-01"}),
        ("relationships.list", {}), ("relationships.list", {"relationship_type": "part of"}),
        ("relationships.list", {"entity_id": "$one"}), ("relationships.list", {"at": "2100-01-01"}),
        ("relationships.list", {"entity_id": "$one", "at_ingested": "2100-01-01"}),
        ("schemas.list", {}), ("schemas.list", {"include_shipped": True}),
    ],
)  # fmt: skip
def test_every_list_goes_on_with_a_cursor(run: Call, name: str, more: dict[str, Any]) -> None:
    """The items have equal times. Pages by cursor tile, and equal pages by offset."""
    key = {"observations.query": "observations", "relationships.list": "relationships"}.get(name, "schemas")
    items = [{"entity_type": f"wine{i % 3 or ''}", "name": f"n{i}"} for i in range(7)]
    links = [{"relationship_type": "PART_OF", "source_index": 0, "target_index": i} for i in range(1, 7)]
    answer = run("store", entities=items, relationships=links, observed_at="2026-01-01")
    more = {name: ids(answer)[0] if value == "$one" else value for name, value in more.items()}
    whole = run(name, **more)
    assert "next_cursor" not in whole
    for limit in (1, 2, 5):
        page = run(name, limit=limit, **more)
        rows = page[key]
        while "next_cursor" in page:
            assert len(page[key]) == limit
            page = run(name, limit=limit, cursor=page["next_cursor"], **more)
            rows += page[key]
        assert rows == whole[key]
        assert run(name, limit=limit, offset=1, **more)[key] == whole[key][1 : 1 + limit]
    first = run(name, limit=1, **more)
    if "next_cursor" in first:
        for wrong, error in ((first["next_cursor"][:-3], InvalidCursor), ("AAAA", InvalidCursor)):
            with pytest.raises(error):
                run(name, limit=1, cursor=wrong, **more)
        with pytest.raises(InvalidInput):
            run(name, limit=1, cursor=first["next_cursor"], offset=1, **more)


AS_OF = {"at": "2100-01-01"}
FAR = times.LATEST + 1
LONG = "x" * (identity.KEY_LIMIT + 21)


@pytest.mark.parametrize(
    ("name", "arguments", "outside"),
    [
        ("entities.query", {}, {"id": LONG, "skip": -1}),
        ("entities.query", {"sort_by": "canonical_name"}, {"key": LONG, "skip": 1 << 63}),
        ("entities.query", AS_OF, {"id": LONG, "skip": -1, "known": FAR}),
        ("observations.query", {}, {"at": FAR, "id": LONG}),
        ("relationships.list", {}, {"at": -FAR, "id": LONG}),
        ("relationships.list", AS_OF, {"known": FAR}),
        ("timeline.list", {}, {"at": FAR, "id": "evt_1"}),
        ("timeline.list", AS_OF, {"known": FAR}),
        ("entities.related", {"entity_id": "$one"}, {"depth": -1, "answered": -1, "entity": LONG}),
        ("entities.related", {"entity_id": "$one", **AS_OF}, {"known": FAR}),
        ("context.retrieve", {"entity_id": "$one", "budget": 500, "unit": "characters"}, {"answered": -1}),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_cursor_with_a_place_outside_of_every_page_is_refused(
    run: Call, name: str, arguments: dict[str, Any], outside: dict[str, Any]
) -> None:
    """The digest of a query is in its cursors, so whoever has one can make others."""
    items = [{"name": f"n{i}", "made_date": "2026-01-31", "note": "x" * 150} for i in range(4)]
    links = [{"relationship_type": "PART_OF", "source_index": 0, "target_index": i} for i in (1, 2, 3)]
    first_id, *_ = ids(
        run("store", entities=[{"entity_type": "wine", **item} for item in items], relationships=links)
    )
    query_arguments = json.loads(json.dumps(arguments).replace("$one", first_id))
    query_arguments |= {} if name == "context.retrieve" else {"limit": 1}
    cursor = run(name, **query_arguments)["next_cursor"]
    place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    digest = place.pop("q")
    assert run(name, **query_arguments, cursor=cursors.encode(lambda: digest, place))
    parts = [{**place, part: value} for part, value in outside.items()]
    for forged in (*parts, {}, dict.fromkeys(place)):
        with pytest.raises(InvalidCursor):
            run(name, **query_arguments, cursor=cursors.encode(lambda: digest, forged))


# Bounds


def test_a_call_that_compares_too_many_entities_is_cut_or_refused(
    loop: Loop, services: Services, owner: str
) -> None:
    limits = Limits(compared_entities=20, compared_at_once=(7, 9))
    run = by_runner(loop, replace(services, limits=limits), owner)
    wine_ids = store(run, *({"name": f"n{i:02d}", "v": i, "last": i > 27} for i in range(30)))
    rare = {"snapshot_filters": {"last": {"op": "eq", "value": True}}}
    page = run("entities.query", filters=rare, sort_by="canonical_name")
    assert (ids(page), page["truncated"], page["scanned"]) == ([], True, 20)
    assert "next_offset" not in page
    assert list(walked(run, filters=rare, sort_by="canonical_name")) == wine_ids[28:]
    for arguments, path in (
        ({"sort_by": "snapshot.v"}, "$.sort_by"),
        ({"filters": rare, "include_total_count": True}, "$.include_total_count"),
        ({"updated_since": "2020-01-01", "include_total_count": True}, "$.include_total_count"),
    ):
        ((where, why),) = issues_of(run, **arguments)
        assert where == path
        assert "filterable" in why or "updated_since" in why
    assert sorted(walked(run, updated_since="2020-01-01", limit=4)) == sorted(wine_ids)
    skipped = run("entities.query", filters=rare, sort_by="canonical_name", offset=1)
    rest = run("entities.query", filters=rare, sort_by="canonical_name", cursor=skipped["next_cursor"])
    assert ids(rest) == wine_ids[29:]


def test_a_call_compares_long_values_up_to_a_limit(loop: Loop, services: Services, owner: str) -> None:
    run = by_runner(loop, replace(services, limits=Limits(compared_characters=100_000)), owner)
    long = [{"name": f"n{i:03d}", "text": f"{'x' * 2_000} {i % 3}"} for i in range(140)]
    wine_ids = store(run, *long)
    wanted = {"text": {"op": "contains_word", "value": "1"}}
    matching_ids = sorted(wine_id for i, wine_id in enumerate(wine_ids) if i % 3 == 1)
    page = run("entities.query", snapshot_filters=wanted)
    assert page["truncated"]
    assert 0 < len(ids(page)) < len(matching_ids)
    assert list(walked(run, snapshot_filters=wanted)) == matching_ids
    assert list(walked(run, snapshot_filters=wanted, limit=7)) == matching_ids
    assert issues_of(run, snapshot_filters=wanted, include_total_count=True)[0][0] == "$.filters"


def test_a_call_as_of_a_time_reduces_entities_up_to_a_limit(
    loop: Loop, services: Services, owner: str
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(reduced_entities=50)), owner)
    wine_ids = store(run, *({"name": f"n{i}"} for i in range(120)))
    page = run("entities.query", at="2100-01-01", limit=500)
    assert (len(ids(page)), page["truncated"], page["scanned"]) == (50, True, 50)
    assert list(walked(run, at="2100-01-01", limit=500)) == sorted(wine_ids)
    assert issues_of(run, at="2100-01-01", include_total_count=True)[0][0] == "$.include_total_count"


def test_a_page_as_of_a_time_reads_the_histories_of_its_entities_together(
    run: Call, queries: list[str]
) -> None:
    named = store(run, *({"name": f"n{i}", "since": "2026-01-02"} for i in range(10)))
    # The schema of today does not name these: their names are those of all their observations.
    unnamed = store(run, *({"tag": f"t{i}", "observed_at": "2026-01-02T00:00:00Z"} for i in range(90)))
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": "string", "tag": "string"}})
    queries.clear()
    for at, expected in (("2100-01-01", sorted(named + unnamed)), ("2026-01-03", sorted(unnamed))):
        queries.clear()
        assert set(ids(run("entities.query", at=at, limit=100))) >= set(expected)
        assert len(queries) <= 8, queries


@pytest.mark.parametrize(
    "more",
    [
        {"sort_by": "canonical_name"}, {"sort_order": "desc"}, {"updated_since": "2020-01-01"},
        {"created_since": "2020-01-01"}, {"include_merged": True}, {"related_to": "ent_" + "0" * 24},
        {"snapshot_filters": {"a": {"op": "eq", "value": 1}}},
    ],
)  # fmt: skip
def test_as_of_a_time_entities_are_listed_by_id_alone(run: Call, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("entities.query", at="2026-01-01", **more)
    assert [issue["path"].rpartition(".")[2] for issue in refused.value.details["issues"]] == list(more)


def test_names_and_values_are_data(run: Call) -> None:
    """Names and values of fields are parameters of a query, never its text."""
    odd = ["a`b", "x' OR true //", "{}", "$owner", "\\", "\x00", '"', "a.b", "\U0001f600", "WAY", "KEY"]
    wine_ids = store(run, {"name": "odd", **{name: name for name in odd}})
    for name in odd:
        wanted = {name: {"op": "contains", "value": name}} if name.strip("\x00") else {}
        try:
            page = run("entities.query", snapshot_filters=wanted, sort_by=f"snapshot.{name}")
        except GraphmemError as exc:
            raise AssertionError(name) from exc
        assert ids(page) == wine_ids


@pytest.mark.parametrize("way", ["asc", "desc"])
def test_a_name_lists_what_bears_it_in_any_asked_state(run: Call, way: str) -> None:
    kept, gone, joined, other = store(
        run, *({"name": name, "external_id": name} for name in ("kept", "gone", "joined", "other"))
    )
    for entity_id in (kept, gone, joined):
        run("entities.correct", entity_id=entity_id, field="name", value="Alte Mühle")
    run("entities.merge", source_entity_id=joined, target_entity_id=other)
    run("entities.delete", entity_id=gone)
    for more, expected in (
        ({}, [kept]),
        ({"include_deleted": True}, [kept, gone]),
        ({"include_merged": True}, [kept, joined]),
        ({"include_merged": True, "include_deleted": True}, [kept, gone, joined]),
        ({"include_merged": True, "entity_type": "unknown"}, []),
    ):
        expected = sorted(expected, reverse=way == "desc")
        assert list(walked(run, name="ALTE mühle", sort_order=way, limit=2, **more)) == expected
        page = run("entities.query", name="alte Mühle", include_total_count=True, limit=1, **more)
        assert page["total"] == len(expected)


@pytest.mark.parametrize(
    "more",
    [
        {"search": "x"}, {"at": "2026-01-01"}, {"sort_by": "updated_at"}, {"created_since": "2020-01-01"},
        {"related_to": "ent_" + "0" * 24}, {"snapshot_filters": {"a": {"op": "eq", "value": 1}}},
        {"by_agent": "me"},
    ],
)  # fmt: skip
def test_a_name_goes_with_types_and_states_alone(run: Call, more: dict[str, Any]) -> None:
    (issue,) = issues_of(run, name="x", **more)
    assert issue[0].endswith(next(iter(more)))
    assert "name" in issue[1]
