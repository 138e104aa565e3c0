"""The grammar of items: what is taken, and every fault told with its place, all of them at once."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical, identity, ids, times
from graphmem.model.items import ISSUES_LIMIT, RESERVED, Defaults, Item, ItemReader
from graphmem.model.links import DEFAULT_PRIORITY
from tests.support.walks import walk_over

OWNER = "00000000-0000-0000-0000-000000000000"
TRANSACTION = "txn_" + "0" * 32
TARGET = "ent_" + "a" * 24
ADA = {"entity_type": "person", "name": "Ada"}


def reader(**defaults: Any) -> ItemReader:
    """Return a reader of one request."""
    return ItemReader(OWNER, TRANSACTION, Defaults(**defaults))


def taken(raw: Any, index: int = 0, **defaults: Any) -> Item:
    """Return what an item says, which has no fault."""
    read = reader(**defaults)
    item = read.item(index, raw)
    assert read.issues == []
    assert item is not None
    return item


def faults(raw: Any, index: int = 0) -> list[tuple[str, str]]:
    """Return code and path of each fault of an item that is refused."""
    read = reader()
    assert read.item(index, raw) is None
    assert all(issue.get("index") == index and issue["message"] for issue in read.issues)
    return [(issue["code"], issue["path"]) for issue in read.issues]


def nested(levels: int) -> Any:
    """Return that many lists in each other."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_an_item_is_its_reserved_keys_and_its_fields():
    item = taken({
        "entity_type": " People ",
        "canonical_name": "Ada L.",
        "observed_at": "2026-01-31",
        "source_priority": 7,
        "observation_source": "human",
        "specificity_score": 0.25,
        "intent": None,
        "target_id": None,
        "email": "ada@example.org",
        "born": "1815-12-10",
        "died": None,
    })  # fmt: skip
    assert item.entity_type == "person"
    assert item.basis == "email"
    assert item.entity_id == identity.identify(OWNER, "person", {"email": "ada@example.org"}).entity_id
    assert item.fields == {
        "canonical_name": '"Ada L."', "email": '"ada@example.org"', "born": '"1815-12-10"', "died": "null",
    }  # fmt: skip
    assert item.shapes == {"email": "string", "born": "date", "died": None}
    assert item.observed_at == times.parse("2026-01-31")
    assert (item.priority, item.specificity, item.observation_source) == (7.0, 0.25, "human")


def test_what_an_item_does_not_say_stands_on_the_request():
    item = taken(ADA, observed_at=5, priority=-2.5, observation_source="sync")
    assert (item.observed_at, item.priority, item.observation_source) == (5, -2.5, "sync")


def test_what_nobody_says_has_a_default():
    item = taken(ADA)
    assert (item.observed_at, item.priority, item.specificity) == (None, DEFAULT_PRIORITY, 1.0)
    assert (item.observation_source, DEFAULT_PRIORITY) == ("llm_summary", 100.0)


def test_null_under_a_reserved_key_is_nothing_said():
    nulls = dict.fromkeys(RESERVED - {"entity_type", "canonical_name"})
    assert taken({**nulls, **ADA}, observed_at=5, priority=1.0) == taken(ADA, observed_at=5, priority=1.0)


def test_no_reserved_key_is_a_field():
    item = taken({**ADA, "observation_source": "sensor", "source_priority": 1, "specificity_score": 0})
    assert set(item.fields) == {"name"}


def test_an_item_with_nothing_but_a_canonical_name_is_enough():
    item = taken({"entity_type": "person", "canonical_name": "Ada"})
    assert (item.basis, dict(item.fields), dict(item.shapes)) == (
        "canonical_name",
        {"canonical_name": '"Ada"'},
        {},
    )


def test_a_canonical_name_is_taken_back_by_null():
    item = taken({"entity_type": "person", "target_id": TARGET, "canonical_name": None})
    assert dict(item.fields) == {"canonical_name": "null"}


def test_a_canonical_name_of_null_identifies_nothing():
    item = taken({"entity_type": "recipe", "canonical_name": None, "serves": 4})
    assert (item.basis, set(item.fields)) == ("content", {"canonical_name", "serves"})


@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_blank_canonical_name_is_refused(blank):
    assert faults({**ADA, "canonical_name": blank}) == [
        ("ERR_CANONICAL_NAME", "$.entities[0].canonical_name")
    ]


def test_a_target_id_names_the_entity_outright():
    item = taken({**ADA, "target_id": TARGET})
    assert (item.entity_id, item.basis, item.entity_type) == (TARGET, "target_id", "person")


def test_a_target_id_needs_no_type():
    assert taken({"target_id": TARGET, "name": "Ada"}).entity_type is None


def test_create_new_is_an_entity_of_its_own_each_time():
    raw = {**ADA, "intent": "create_new"}
    first, second = taken(raw, 0), taken(raw, 1)
    assert first.basis == second.basis == "new"
    assert len({first.entity_id, second.entity_id, taken(ADA).entity_id}) == 3
    assert first.entity_id == taken(raw, 0).entity_id


@given(st.permutations(["name", "email", "town"]))
def test_the_order_of_fields_does_not_matter(names):
    fields = {"name": "Ada", "email": "ada@example.org", "town": "London"}
    assert taken({"entity_type": "person", **{name: fields[name] for name in names}}) == taken(
        {
            "entity_type": "person",
            **fields,
        }
    )


def test_values_are_kept_as_they_were_given():
    item = taken(
        {"entity_type": "recipe", "a": "  e\u0301 ", "b": 1.0, "c": 2**60, "d": [{"z": 1, "y": None}]}
    )
    assert dict(item.fields) == {
        "a": '"  e\u0301 "', "b": "1.0", "c": str(2**60), "d": '[{"y":null,"z":1}]',
    }  # fmt: skip


@pytest.mark.parametrize("raw", [None, 1, "person", True, [], [ADA], 1.5], ids=ascii)
def test_an_item_that_is_no_object_is_refused(raw):
    assert faults(raw, 3) == [("ERR_ITEM_NOT_OBJECT", "$.entities[3]")]


REFUSED: list[tuple[dict[Any, Any], str, str]] = [
    ({"entity_type": None}, "ERR_ENTITY_TYPE", ".entity_type"),
    ({"entity_type": 5}, "ERR_ENTITY_TYPE", ".entity_type"),
    ({"entity_type": ["person"]}, "ERR_ENTITY_TYPE", ".entity_type"),
    ({"entity_type": ""}, "ERR_ENTITY_TYPE", ".entity_type"),
    ({"entity_type": "a.b"}, "ERR_ENTITY_TYPE", ".entity_type"),
    ({"entity_type": "x" * 65}, "ERR_ENTITY_TYPE", ".entity_type"),
    ({"canonical_name": 5}, "ERR_CANONICAL_NAME", ".canonical_name"),
    ({"canonical_name": ["Ada"]}, "ERR_CANONICAL_NAME", ".canonical_name"),
    ({"canonical_name": False}, "ERR_CANONICAL_NAME", ".canonical_name"),
    ({"target_id": ""}, "ERR_ENTITY_ID_FORMAT", ".target_id"),
    ({"target_id": 5}, "ERR_ENTITY_ID_FORMAT", ".target_id"),
    ({"target_id": "ent_" + "A" * 24}, "ERR_ENTITY_ID_FORMAT", ".target_id"),
    ({"target_id": "ent_" + "a" * 23}, "ERR_ENTITY_ID_FORMAT", ".target_id"),
    ({"target_id": TARGET + "\n"}, "ERR_ENTITY_ID_FORMAT", ".target_id"),
    ({"intent": ""}, "ERR_INTENT", ".intent"),
    ({"intent": "update"}, "ERR_INTENT", ".intent"),
    ({"intent": True}, "ERR_INTENT", ".intent"),
    ({"intent": ["create_new"]}, "ERR_INTENT", ".intent"),
    ({"intent": "create_new", "target_id": TARGET}, "ERR_INTENT", ""),
    ({"observed_at": ""}, "ERR_OBSERVED_AT", ".observed_at"),
    ({"observed_at": 1769850000}, "ERR_OBSERVED_AT", ".observed_at"),
    ({"observed_at": False}, "ERR_OBSERVED_AT", ".observed_at"),
    ({"observed_at": "2026-02-30"}, "ERR_OBSERVED_AT", ".observed_at"),
    ({"observed_at": "2026-01-31T09:00:00.1234567Z"}, "ERR_OBSERVED_AT", ".observed_at"),
    ({"observed_at": "9999-01-01"}, "ERR_OBSERVED_AT", ".observed_at"),
    *[({"source_priority": bad}, "ERR_NUMBER", ".source_priority")
      for bad in (10**400, -(10**400), 1.1e15, -1.1e15, math.nan, math.inf, -math.inf, True, "5", [], {})],
    *[({"specificity_score": bad}, "ERR_NUMBER", ".specificity_score")
      for bad in (1.0000001, -0.0000001, 2, -1, 10**400, math.nan, math.inf, True, False, "1", [1])],
    ({"observation_source": "rumour"}, "ERR_OBSERVATION_SOURCE", ".observation_source"),
    ({"observation_source": "Sensor"}, "ERR_OBSERVATION_SOURCE", ".observation_source"),
    ({"observation_source": 1}, "ERR_OBSERVATION_SOURCE", ".observation_source"),
    ({"observation_source": ["sensor"]}, "ERR_OBSERVATION_SOURCE", ".observation_source"),
    ({"observation_source": {"a": 1}}, "ERR_OBSERVATION_SOURCE", ".observation_source"),
    ({"": 1}, "ERR_FIELD_NAME", "."),
    ({"x" * 65: 1}, "ERR_FIELD_NAME", "." + "x" * 64),
    ({5: 1}, "ERR_FIELD_NAME", ".5"),
    ({None: 1}, "ERR_FIELD_NAME", ".None"),
    ({"\ud800": 1}, "ERR_FIELD_NAME", ""),
    ({"\ud800" * 65: 1}, "ERR_FIELD_NAME", "." + "?" * 64),
    ({"a": math.nan}, "ERR_VALUE", ".a"),
    ({"a": {"b": [1, math.inf]}}, "ERR_VALUE", ".a.b[1]"),
    ({"a": ["\ud800"]}, "ERR_VALUE", ".a[0]"),
    ({"a": {"\ud800": 1}}, "ERR_VALUE", ".a"),
    ({"a": 10**4300}, "ERR_VALUE", ".a"),
    ({"a": nested(101)}, "ERR_VALUE", ".a" + "[0]" * 100),
    ({"a": nested(129)}, "ERR_VALUE", ".a" + "[0]" * 100),
    ({"a": {"b": nested(100)}}, "ERR_VALUE", ".a.b" + "[0]" * 99),
]  # fmt: skip


@walk_over("change, code, path", REFUSED)
def test_a_fault_is_told_with_its_code_and_place(change, code, path):
    assert faults({**ADA, **change}, 2) == [(code, "$.entities[2]" + path)]


@pytest.mark.parametrize("source", ["", 0, False, [], {}], ids=ascii)
def test_a_blank_observation_source_is_refused(source):
    assert faults({**ADA, "observation_source": source}) == [
        ("ERR_OBSERVATION_SOURCE", "$.entities[0].observation_source")
    ]


def test_an_item_that_says_nothing_is_refused():
    assert faults({"entity_type": "person"}) == [("ERR_EMPTY_ITEM", "$.entities[0]")]


def test_an_item_without_a_type_is_refused():
    assert faults({"name": "Ada"}) == [("ERR_ENTITY_TYPE", "$.entities[0].entity_type")]


@pytest.mark.parametrize("wrapper", ["attributes", "properties", "fields", "data", "snapshot"])
def test_fields_in_a_wrapper_are_refused_with_a_hint(wrapper):
    read = reader()
    assert read.item(1, {"entity_type": "person", wrapper: {"name": "Ada"}}) is None
    (issue,) = read.issues
    assert (issue["code"], issue["path"]) == ("ERR_NESTED_FIELDS", f"$.entities[1].{wrapper}")
    assert f"move those of {wrapper} up one level" in issue["message"]


def test_an_item_with_its_fields_in_a_wrapper_is_no_item():
    assert reader().item(0, {"entity_type": "person", "data": {"name": "Ada"}}) is None


@pytest.mark.parametrize("raw", [{"data": {"a": 1}, "name": "Ada"}, {"data": "text"}, {"details": {"a": 1}}])
def test_a_field_that_only_looks_like_a_wrapper_is_a_field(raw):
    assert set(taken({"entity_type": "recipe", **raw}).fields) == set(raw)


def test_all_faults_of_an_item_are_told_at_once():
    item_faults = faults({
        "entity_type": "a.b",
        "canonical_name": 5,
        "target_id": "nope",
        "intent": "update",
        "observed_at": "soon",
        "source_priority": math.nan,
        "observation_source": "rumour",
        "specificity_score": 2,
        "": 1,
        "a": math.nan,
        "b": "\ud800",
    })  # fmt: skip
    assert sorted(item_faults) == sorted(
        [
            ("ERR_FIELD_NAME", "$.entities[0]."),
            ("ERR_VALUE", "$.entities[0].a"),
            ("ERR_VALUE", "$.entities[0].b"),
            ("ERR_CANONICAL_NAME", "$.entities[0].canonical_name"),
            ("ERR_ENTITY_TYPE", "$.entities[0].entity_type"),
            ("ERR_INTENT", "$.entities[0].intent"),
            ("ERR_ENTITY_ID_FORMAT", "$.entities[0].target_id"),
            ("ERR_OBSERVED_AT", "$.entities[0].observed_at"),
            ("ERR_NUMBER", "$.entities[0].source_priority"),
            ("ERR_NUMBER", "$.entities[0].specificity_score"),
            ("ERR_OBSERVATION_SOURCE", "$.entities[0].observation_source"),
        ]
    )


def test_the_faults_of_all_items_are_told_at_once():
    read = reader()
    items = [read.item(index, raw) for index, raw in enumerate([{}, ADA, None, {"entity_type": "person"}])]
    assert [item is not None for item in items] == [False, True, False, False]
    assert [issue.get("index") for issue in read.issues] == [0, 0, 2, 3]


@pytest.mark.parametrize("fields", [{"canonical_name": 5}, {"": 1}], ids=ascii)
def test_one_fault_is_told_once(fields):
    assert len(faults({"entity_type": "person", **fields})) == 1


@pytest.mark.parametrize("ahead", [times.FUTURE_LIMIT_MICROSECONDS - 60_000_000, 0])
def test_an_observation_may_lie_a_little_ahead_of_the_clock(ahead):
    moment = times.render(times.now() + ahead)
    assert taken({**ADA, "observed_at": moment}).observed_at == times.parse(moment)


def test_an_observation_may_not_lie_in_the_future():
    moment = times.render(times.now() + times.FUTURE_LIMIT_MICROSECONDS + 60_000_000)
    assert faults({**ADA, "observed_at": moment}) == [("ERR_OBSERVED_AT", "$.entities[0].observed_at")]


@pytest.mark.parametrize(
    ("number", "kept"), [(1e15, 1e15), (-1e15, -1e15), (0, 0.0), (-0.0, 0.0), (10**15, 1e15), (0.1, 0.1)]
)
def test_a_priority_is_kept_as_a_float(number, kept):
    priority = taken({**ADA, "source_priority": number}).priority
    assert (type(priority), repr(priority)) == (float, repr(kept))


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(RESERVED)) | st.text(max_size=3), JSONISH, max_size=8))
def test_no_input_raises_and_what_is_refused_says_why(raw):
    read = reader()
    item = read.item(0, raw)
    assert (item is None) == bool(read.issues)
    if item is not None:
        assert ids.ENTITY_ID.fullmatch(item.entity_id)
        assert item.fields


def test_a_value_of_100_levels_is_taken():
    assert canonical.VALUE_DEPTH == 100
    assert taken({**ADA, "deep": nested(100)}).fields["deep"] == "[" * 100 + "1" + "]" * 100


def test_a_value_of_100_levels_is_taken_where_the_content_identifies():
    assert taken({"entity_type": "recipe", "deep": nested(100)}).basis == "content"


def test_a_request_with_values_of_100_levels_has_a_hash():
    deep = {"deep": nested(100)}
    request = {"entities": [{**ADA, **deep}], "relationships": [{"metadata": deep}]}
    assert len(ids.request_hash("store", request)) == 64


def test_a_value_of_101_levels_is_refused_whatever_identifies():
    for about in ({"entity_type": "recipe"}, {"target_id": TARGET}, {**ADA, "intent": "create_new"}):
        assert faults({**about, "deep": nested(101)}) == [("ERR_VALUE", "$.entities[0].deep" + "[0]" * 100)]


def test_no_more_than_a_hundred_faults_of_a_request_are_told():
    read = reader()
    for index in range(ISSUES_LIMIT + 1):
        assert read.item(index, "no object") is None
    assert [issue.get("index") for issue in read.issues] == list(range(ISSUES_LIMIT))


def test_a_fault_that_is_not_told_any_more_refuses_its_part_too():
    read = reader()
    items: list[dict[str, Any]] = [
        {}, {"name": "Ada"}, {**ADA, "": 1}, {**ADA, "observed_at": "x"}, {"entity_type": "person"},
    ]  # fmt: skip
    links: list[dict[str, Any]] = [
        {"relationship_type": "knows"},
        {"relationship_type": "!", "source_index": 9},
    ]
    for index in range(ISSUES_LIMIT):
        read.item(index, "no object")
    assert [read.item(ISSUES_LIMIT, raw) for raw in items] == [None] * len(items)
    assert [read.link(0, raw, 1) for raw in links] == [None] * len(links)
    assert len(read.issues) == ISSUES_LIMIT
    assert read.item(ISSUES_LIMIT, ADA) is not None


def test_an_item_is_identified_by_the_registered_schema_of_its_type():
    registered = {"wine": (("label", "year"), (identity.CONTENT,))}
    read = ItemReader(OWNER, TRANSACTION, alternatives=registered.get)
    wine = {"entity_type": "wine", "label": "Ternmoon", "year": 2019, "name": "a name"}
    item, same, other = (read.item(0, {**wine, **more}) for more in ({}, {"name": "x"}, {"year": 2020}))
    assert item is not None
    assert same is not None
    assert other is not None
    assert (item.basis, item.entity_id) == ("label+year", same.entity_id)
    assert other.entity_id != item.entity_id
    assert taken(wine).basis == "name"
