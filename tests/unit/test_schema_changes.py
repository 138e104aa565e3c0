"""How schemas change: decided on the state that is written to, so that nothing that was added is lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical, schema
from graphmem.model.rules import Rules
from graphmem.model.schema import Active, SchemaInvalid, UnknownType
from graphmem.model.schema.shapes import FIELDS_LIMIT, TEXT_LIMIT
from tests.support.schemas import DOCUMENTS, NAMES, WINE, wine
from tests.support.walks import walk_over


def registered(active: Active | None = None, version: str | None = None, **more: object) -> Active:
    return schema.decide(active, None, schema.registration(wine(**more), version))


def updated(
    active: Active | None, seen: dict | None = None, kind: str = "wine", **arguments: object
) -> Active:
    return schema.decide(active, seen, schema.update(kind, **arguments))  # pyright: ignore[reportArgumentType]


@contextmanager
def refuses(path: str = "$", code: str = "ERR_SCHEMA_UNCHANGED") -> Iterator[None]:
    with pytest.raises(SchemaInvalid) as invalid:
        yield
    assert [(issue["path"], issue["code"]) for issue in invalid.value.issues] == [(path, code)]


def test_versions_are_counted_by_what_changes():
    first = registered()
    assert (first.version, first.removed) == ("1.0", ())
    assert first.added == tuple(sorted(WINE["fields"]))
    more = registered(first, fields={**WINE["fields"], "colour": "string"})
    assert (more.version, more.added) == ("1.1", ("colour",))
    assert registered(more).version == "2.0"
    assert registered(more).removed == ("colour",)
    assert registered(first, canonical_name_fields=["name"]).version == "2.0"
    assert registered(first, description="x").version == "1.1"
    retyped = {**WINE["fields"], "price": "string"}
    assert registered(first, fields=retyped).version == "2.0"
    assert registered(registered(additional_fields="show")).version == "2.0"


def test_a_version_asked_for_must_be_greater():
    first = registered(version="3.4")
    assert first.version == "3.4"
    assert registered(first, version="3.10", description="x").version == "3.10"
    with refuses(path="$.schema_version", code="ERR_SCHEMA_VERSION"):
        registered(first, version="3.4", description="x")
    for bad in ("1", "1.0.0", "v1.0", "01.0", "0.1", "1.٣", "1.1234567"):
        with refuses(path="$.schema_version", code="ERR_SCHEMA_VERSION"):
            registered(version=bad)


def test_registering_the_same_again_changes_nothing():
    with refuses():
        registered(registered())


def test_an_update_adds_and_removes():
    first = registered(temporal_fields=[{"field": "bottled"}])
    more = updated(first, new_fields={"colour": "string"})
    assert (more.version, more.added, more.removed) == ("1.1", ("colour",), ())
    less = updated(more, remove=["bottled"])
    assert (less.version, less.removed) == ("2.0", ("bottled",))
    assert less.document.hidden_fields == ("bottled",)
    assert less.document.temporal_fields == ()
    again = updated(less, new_fields=[{"field_name": "bottled", "field_type": "date"}])
    assert again.document.hidden_fields == ()
    assert again.version == "2.1"


def test_an_update_that_changes_nothing_is_refused():
    first = registered()
    with refuses():
        updated(first, new_fields={"name": {"type": "string", "required": True}})
    with refuses():
        updated(first, new_fields={})
    with refuses():
        updated(first, settings={"canonical_name_fields": ["name", "year"]})


@walk_over(
    "arguments, path, code",
    [
        ({"remove": ["nose"]}, "$.fields_to_remove", "ERR_NO_SUCH_FIELD"),
        ({"remove": "nose"}, "$.fields_to_remove", "ERR_FORMAT"),
        ({"remove": [7]}, "$.fields_to_remove[0]", "ERR_FIELD_NAME"),
        ({"remove": ["name"]}, "$.canonical_name_fields", "ERR_NO_SUCH_FIELD"),
        ({"remove": ["year"], "new_fields": {"year": "number"}}, "$.fields_to_remove", "ERR_GIVEN_TWICE"),
        ({"new_fields": {"a": "text"}}, "$.new_fields.a.type", "ERR_FORMAT"),
        ({"new_fields": [{"field_name": "a"}]}, "$.new_fields[0].type", "ERR_FORMAT"),
        ({"new_fields": {"\ud800": "string"}}, "$.new_fields.?", "ERR_FIELD_NAME"),
        ({"new_fields": {"grapes": {"type": "array", "merge": "last_write"}, "year": "string"},
          "settings": {"canonical_name_fields": ["grapes"]}}, "$.canonical_name_fields", "ERR_IDENTITY"),
        ({"settings": {"colour": 1}}, "$.colour", "ERR_UNKNOWN_KEY"),
    ],
)  # fmt: skip
def test_a_fault_of_an_update_is_named_by_its_place(arguments: dict, path: str, code: str):
    with refuses(path=path, code=code):
        updated(registered(), **arguments)


def test_an_update_that_makes_a_schema_too_large_is_refused():
    fields = {f"f{number}": "string" for number in range(FIELDS_LIMIT)}
    with refuses(path="$.fields", code="ERR_TOO_LARGE"):
        updated(registered(fields=fields, canonical_name_fields=None), new_fields={"more": "string"})
    with refuses(path="$.hidden_fields", code="ERR_TOO_LARGE"):
        updated(registered(hidden_fields=[f"h{number}" for number in range(FIELDS_LIMIT)]), remove=["price"])
    listed = [f"{number:01000}" for number in range(TEXT_LIMIT // 2_000)]
    half = {"type": "string", "constraints": {"enum": listed}}
    with refuses(code="ERR_TOO_LARGE"):
        updated(registered(fields={"a": half}, canonical_name_fields=None), new_fields={"b": half})


def test_a_field_declared_anew_keeps_what_is_not_said_of_it():
    fields = {"a": {"type": "number", "required": True, "constraints": {"min": 1}, "description": "x"}}
    first = registered(fields=fields, canonical_name_fields=None)
    loose = updated(first, new_fields={"a": {"type": "number", "required": False}}).document.fields["a"]
    assert loose.as_json() == {"type": "number", "constraints": {"min": 1}, "description": "x"}
    # Its constraints were those of the former type.
    other = updated(first, new_fields={"a": "string"}).document.fields["a"]
    assert other.as_json() == {"type": "string", "required": True, "description": "x"}


def test_an_update_of_what_was_discovered_hides_nothing_else():
    seen = {"a": frozenset({"string"}), "b": frozenset({"number", "string"}), "c": frozenset[str]()}
    active = updated(None, seen, "thing", new_fields={"a": "number", "d": "date"})
    assert (active.version, active.added) == ("1.0", ("a", "d"))
    rules = active.document.rules
    assert (rules.only, rules.types) == (None, {"a": "number", "d": "date"})
    assert all(active.document.shows(name) for name in "abcdz")
    less = updated(active, seen, "thing", remove=["b"])
    assert not less.document.shows("b")
    assert less.document.shows("z")


def test_an_update_of_a_shipped_type_goes_on_from_it():
    active = updated(None, None, "event", new_fields={"venue": "string"})
    assert (active.version, active.added) == ("1.1", ("venue",))
    assert {"title", "date_start", "venue"} <= set(active.document.fields)
    assert active.document.rules == Rules(types={"venue": "string"})
    firm = updated(None, None, "event", new_fields={"date_start": "date"}).document
    assert (firm.mismatch_of("date_start"), firm.mismatch_of("title")) == ("hide", "show")


def test_nothing_is_known_of_a_type_that_was_never_seen():
    with pytest.raises(UnknownType):
        updated(None, None, "wine", new_fields={"a": "string"})
    assert schema.effective("wine", None, None) is None


def test_a_change_of_identity_replaces_the_other_kind():
    first = registered()
    general = updated(first, settings={"identity_opt_out": "heuristic_canonical_name"})
    assert (general.version, general.document.canonical_name_fields) == ("2.0", ())
    named = updated(general, settings={"canonical_name_fields": ["name"]})
    assert (named.document.opted_out, named.document.alternatives()) == (False, (("name",),))


@given(st.lists(st.dictionaries(NAMES, st.just("string"), min_size=1), min_size=1, max_size=4), st.randoms())
def test_updates_in_any_order_lose_nothing_that_was_added(additions: list[dict[str, str]], chance):
    """Changes are made without knowing of each other; each is decided on what the others left."""
    changes = [schema.update("thing", new_fields=fields) for fields in additions]
    chance.shuffle(changes)
    active = schema.decide(None, None, schema.registration(schema.parse("thing", {"fields": {}})))
    for change in changes:
        if set(change.fields) <= set(active.document.fields):
            with refuses():
                schema.decide(active, {}, change)
        else:
            active = schema.decide(active, {}, change)
    assert set(active.document.fields) == {name for fields in additions for name in fields}


def test_what_one_adds_and_another_removes_does_not_depend_on_a_stale_view():
    first = registered(canonical_name_fields=None)
    add, remove = (
        schema.update("wine", new_fields={"colour": "string"}),
        schema.update("wine", remove=["price"]),
    )
    outcomes = set()
    for order in itertools.permutations([add, remove]):
        active = first
        for change in order:
            active = schema.decide(active, None, change)
        outcomes.add(active.document.text)
    assert len(outcomes) == 1


@given(DOCUMENTS)
def test_a_change_is_plain_json(raw: dict):
    for change in (
        schema.registration(schema.parse("wine", raw), "1.5"),
        schema.update("wine", new_fields=raw["fields"] or {"a": "string"}, remove=["q"]),
    ):
        assert canonical.decode(canonical.encode(change.as_json())) == change.as_json()
