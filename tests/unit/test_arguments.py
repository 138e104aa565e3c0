"""Arguments: one name inside for the spellings outside, filters in their place or beside it, no silence."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from graphmem.arguments import (
    ISSUES_LIMIT,
    Arguments,
    EntityId,
    Limit,
    Moment,
    Offset,
    Spelled,
    Total,
    from_query,
    nested_filters,
    path,
    read,
    spellings,
)
from graphmem.errors import InvalidInput, UnknownField
from graphmem.model import times
from graphmem.operations.observations import QueryObservations
from tests.support.walks import walk_over


class Filters(Arguments):
    """Which things."""

    kind: str | None = None
    kinds: Annotated[list[str], Spelled("kind_list")] = Field(default=[], max_length=3)
    since: Annotated[Moment | None, Spelled("updated_since")] = None
    until: Annotated[Moment | None, Spelled("updated_until")] = None


class Query(Arguments):
    """What a query takes."""

    filters: Filters = Filters()
    limit: Limit = 100
    offset: Offset = 0
    total: Annotated[Total, Spelled("include_total_count", "with_total")] = False


class Fetch(Arguments):
    """What an operation without filters takes."""

    entity_id: Annotated[EntityId, Spelled("id", "entityId")]
    names: list[str] = Field(default=[])


def fault(model: type[Arguments], raw: dict[str, Any]) -> InvalidInput:
    """Return the error that refuses these arguments."""
    with pytest.raises(InvalidInput) as refused:
        read(model, "some.operation", raw)
    assert refused.value.details["operation"] == "some.operation"
    return refused.value


def paths(error: InvalidInput) -> list[str]:
    """Return the places that an error names."""
    return [issue["path"] for issue in error.details["issues"]]


@pytest.mark.parametrize("spelled", ["entity_id", "id", "entityId"])
def test_every_spelling_of_an_argument_is_that_argument(spelled):
    arguments = read(Fetch, "", {spelled: "ent_1"})
    assert arguments.entity_id == "ent_1"
    assert arguments.sent() == {"entity_id": "ent_1"}


def test_what_was_not_given_is_not_given():
    arguments = read(Query, "", {"offset": 0})
    assert (arguments.limit, arguments.sent()) == (100, {"offset": 0})


def test_null_is_not_given_and_what_is_falsy_is():
    assert read(Filters, "", {"kind": None, "kinds": [], "updated_since": None}).sent() == {"kinds": []}
    assert read(Filters, "", {"kind": "", "until": "1970-01-01"}).sent() == {"kind": "", "until": 0}
    assert read(Query, "", {"offset": 0, "total": False}).sent() == {"offset": 0, "total": False}


@pytest.mark.parametrize(
    "raw",
    [
        {"filters": {"kind": "a", "kinds": ["b"], "until": "1970-01-01"}},
        {"filters": {"kind": "a"}, "kinds": ["b"], "updated_until": "1970-01-01"},
        {"kind": "a", "kind_list": ["b"], "filters": {"updated_until": "1970-01-01"}},
        {"kind": "a", "kinds": ["b"], "until": "1970-01-01"},
        {"kind": "a", "filters": {"kind": "a", "kind_list": ["b"]}, "until": "1970-01-01"},
    ],
    ids=range(5),
)
def test_filters_stand_inside_or_beside(raw):
    arguments = read(Query, "", raw)
    assert arguments.filters == Filters.model_construct(kind="a", kinds=["b"], until=0, since=None)


def test_the_spellings_of_a_model_are_those_of_its_filters_too():
    assert spellings(Fetch) == {
        "entity_id": "entity_id",
        "id": "entity_id",
        "entityId": "entity_id",
        "names": "names",
    }
    assert spellings(Query) == {
        "filters": "filters", "limit": "limit", "offset": "offset",
        "total": "total", "include_total_count": "total", "with_total": "total",
        "kind": "filters.kind", "kinds": "filters.kinds", "kind_list": "filters.kinds",
        "since": "filters.since", "updated_since": "filters.since",
        "until": "filters.until", "updated_until": "filters.until",
    }  # fmt: skip
    assert (nested_filters(Query), nested_filters(Fetch)) == (Filters, None)


def test_a_spelling_of_an_argument_that_may_be_null_is_seen():
    assert spellings(Filters)["updated_since"] == "since"
    for raw in ({"updated_since": "1970-01-01"}, {"filters": {"updated_since": "1970-01-01"}}):
        assert read(Query, "", raw).filters.since == 0


def test_observations_take_updated_since():
    for raw in ({"updated_since": "1970-01-01"}, {"filters": {"updated_since": "1970-01-01"}}):
        assert read(QueryObservations, "", raw).filters.created_since == 0


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"total": True, "include_total_count": False}, "$.include_total_count"),
        ({"with_total": False, "total": True}, "$.total"),
        ({"filters": {"kind": "a"}, "kind": "b"}, "$.kind"),
        ({"kind": "b", "filters": {"kind": "a"}}, "$.filters.kind"),
        ({"kinds": ["a"], "kind_list": ["b"]}, "$.kind_list"),
        ({"filters": {"kinds": ["a"], "kind_list": ["b"]}}, "$.filters.kind_list"),
    ],
    ids=range(6),
)
def test_two_spellings_that_say_different_things_are_refused(raw, place):
    error = fault(Query, raw)
    assert (type(error), paths(error)) == (InvalidInput, [place])
    assert "is given twice, with different values" in str(error)


def test_two_spellings_that_say_the_same_are_taken():
    assert read(Query, "", {"total": True, "with_total": True, "filters": {"kind": "a"}, "kind": "a"}).total


def test_an_unknown_field_is_refused_with_those_that_are_known():
    error = fault(Fetch, {"entity_id": "a", "nmaes": ["b"], "ID": "c"})
    assert isinstance(error, UnknownField)
    assert error.code == "ERR_UNKNOWN_FIELD"
    assert error.details["unknown_fields"] == ["nmaes", "ID"]
    assert error.details["json_paths"] == ["$.nmaes", "$.ID"]
    assert error.details["allowed_fields"] == ["entityId", "entity_id", "id", "names"]
    assert str(error) == "$.nmaes: there is no nmaes: did you mean names?"


def test_an_unknown_filter_is_refused_with_its_place():
    error = fault(Query, {"filters": {"colour": "red"}, "kind": "a"})
    assert isinstance(error, UnknownField)
    assert (error.details["unknown_fields"], error.details["json_paths"]) == (
        ["colour"],
        ["$.filters.colour"],
    )
    assert set(error.details["allowed_fields"]) == set(spellings(Query))


def test_an_unknown_field_hides_no_other_fault():
    error = fault(Query, {"colour": 1, "limit": 0, "total": True, "with_total": False})
    assert isinstance(error, UnknownField)
    assert sorted(paths(error)) == ["$.colour", "$.limit", "$.with_total"]


@pytest.mark.parametrize("name", ["filters", "x" * 1_000, "", "a b", "$", "\N{SNOWMAN}"], ids=ascii)
def test_an_unknown_field_of_any_name_is_told(name):
    error = fault(Fetch, {"entity_id": "a", name: 1})
    assert isinstance(error, UnknownField)
    assert error.details["unknown_fields"] == [name[:200]]


def test_an_unknown_field_is_told_as_it_was_spelled():
    assert fault(Fetch, {"entity_id": "a", "filters.x": 1}).details["unknown_fields"] == ["filters.x"]


def test_a_dotted_name_is_unknown():
    error = fault(Query, {"filters.kind": "a"})
    assert isinstance(error, UnknownField)
    assert (error.details["unknown_fields"], error.details["json_paths"]) == (
        ["filters.kind"],
        ["$.filters.kind"],
    )


def test_the_dotted_name_of_a_real_filter_is_unknown():
    assert isinstance(fault(QueryObservations, {"filters.entity_type": "person"}), UnknownField)
    assert read(QueryObservations, "", {"entity_type": "person"}).filters.entity_type == "person"


def test_a_request_with_more_names_than_any_operation_takes_is_refused_with_a_hundred_of_them():
    error = fault(Fetch, {"id": "a", **{f"name{number}": 1 for number in range(ISSUES_LIMIT)}})
    assert isinstance(error, UnknownField)
    assert error.details["unknown_fields"] == [f"name{number}" for number in range(ISSUES_LIMIT)]
    assert paths(error) == ["$"]


def test_filters_with_more_names_than_any_object_has_are_refused_once():
    error = fault(Query, {"filters": {f"name{number}": 1 for number in range(ISSUES_LIMIT + 1)}})
    assert paths(error) == ["$.filters"]
    assert "101 members" in str(error)


@pytest.mark.parametrize("filters", ["kind", 1, [], ["kind"]], ids=ascii)
def test_filters_that_are_no_object_are_refused(filters):
    assert paths(fault(Query, {"filters": filters, "kind": "a"})) == ["$.filters"]


@pytest.mark.parametrize("limit", [1, 500, "10", 10.0], ids=ascii)
def test_a_limit_is_from_1_to_500(limit):
    assert read(Query, "", {"limit": limit}).limit == int(limit)


@walk_over(
    "limit",
    [0, 501, -1, 10**400, True, False, 1e999, -1e999, 1.5, "", "x", "1e2", "true", [10], {}],
)
def test_another_limit_is_refused_with_its_place(limit):
    error = fault(Query, {"limit": limit})
    assert paths(error) == ["$.limit"]
    assert str(error).startswith("$.limit: ")


@pytest.mark.parametrize("offset", [-1, 1_000_000_001, True, 1e999, "many"], ids=ascii)
def test_another_offset_is_refused(offset):
    assert paths(fault(Query, {"offset": offset})) == ["$.offset"]


@pytest.mark.parametrize(
    "moment", ["", "soon", 1769850000, True, None.__class__, "2026-02-30", "2026-01-31T24:00Z"]
)
def test_a_time_that_is_none_is_refused(moment):
    assert paths(fault(Query, {"until": moment})) == ["$.filters.until"]


def test_a_time_is_microseconds_inside():
    arguments = read(Query, "", {"until": "2026-01-31T10:00:00+01:00", "since": "2026-01-31"})
    assert arguments.filters.until == times.parse("2026-01-31T09:00:00Z")
    assert arguments.filters.since == times.parse("2026-01-31")


def test_all_faults_are_told_at_once_and_the_message_counts_them():
    error = fault(Query, {"limit": 0, "offset": -1, "until": "soon", "kinds": ["a", "b", "c", 4]})
    assert sorted(paths(error)) == ["$.filters.kinds", "$.filters.until", "$.limit", "$.offset"] or sorted(
        paths(error)
    ) == ["$.filters.kinds[3]", "$.filters.until", "$.limit", "$.offset"]
    assert str(error).endswith("(and 3 more)")


def test_a_fault_does_not_repeat_what_was_given():
    secret = "the secret of the caller"
    assert secret not in str(fault(Query, {"limit": secret})) + repr(fault(Query, {"until": secret}).details)


@pytest.mark.parametrize(
    ("pairs", "raw"),
    [
        ([], {}),
        ([("limit", "10"), ("kind", "a,b")], {"limit": "10", "kind": "a,b"}),
        ([("kinds", "a"), ("kinds", "b")], {"kinds": ["a", "b"]}),
        ([("kinds", "a, b,,c ")], {"kinds": ["a", "b", "c"]}),
        (
            [("kind_list", "a"), ("limit", "1"), ("kind_list", "b,c")],
            {"kind_list": ["a", "b", "c"], "limit": "1"},
        ),
        ([("kinds", "")], {"kinds": []}),
        ([("limit", "1"), ("limit", "1")], {"limit": "1"}),
        ([("unknown", "1,2")], {"unknown": "1,2"}),
    ],
    ids=range(8),
)
def test_a_query_string_holds_lists_by_repetition_or_commas(pairs, raw):
    assert from_query(Query, pairs) == raw


def test_a_query_string_that_says_two_things_is_refused():
    with pytest.raises(InvalidInput) as refused:
        from_query(Query, [("limit", "1"), ("limit", "2")])
    assert paths(refused.value) == ["$.limit"]


def test_a_query_string_is_read_as_a_body_is():
    arguments = read(Query, "", from_query(Query, [("kinds", "a,b"), ("limit", "7"), ("total", "true")]))
    assert arguments == read(Query, "", {"filters": {"kinds": ["a", "b"]}, "limit": 7, "total": True})


@pytest.mark.parametrize(
    ("loc", "text"),
    [
        ((), "$"),
        (("a",), "$.a"),
        (("entities", 0, "name"), "$.entities[0].name"),
        (("x" * 300,), "$." + "x" * 200),
    ],
)
def test_a_place_is_a_json_path(loc, text):
    assert path(loc) == text
