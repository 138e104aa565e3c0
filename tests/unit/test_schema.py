"""Schema documents: how they are read, what they decide, and what they find."""

from __future__ import annotations

import pytest
from hypothesis import given

from graphmem.model import canonical, identity, schema
from graphmem.model.ranks import ObservationSource
from graphmem.model.rules import PLAIN, Converter, Rules, convert
from graphmem.model.schema import SchemaDocument, SchemaInvalid
from graphmem.model.schema.shapes import FIELDS_LIMIT, TEXT_LIMIT
from tests.support.schemas import DOCUMENTS, WINE, wine
from tests.support.walks import walk_over


def refused(raw: object, reducer_config: object = None) -> set[tuple[str, str]]:
    with pytest.raises(SchemaInvalid) as invalid:
        schema.parse("wine", raw, reducer_config)
    return {(issue["path"].removeprefix("$.schema"), issue["code"]) for issue in invalid.value.issues}


# Reading a document


def test_the_spellings_of_a_document_say_the_same():
    plain = {"fields": {"a": {"type": "array", "merge": "merge_array"}, "b": "number"}}
    listed = {
        "fields": [
            {"field_name": "a", "field_type": "array", "reducer_strategy": "merge_array"},
            {"field_name": "b", "field_type": "number", "required": None},
        ]
    }
    bare = {"entity_type": " Wine", "fields": {"a": "array", "b": {"type": "number"}}}
    config = {"merge_policies": {"a": {"strategy": "merge_array", "tie_breaker": "observed_at"}}}
    assert schema.parse("wine", plain) == schema.parse("wine", listed) == schema.parse("wine", bare, config)


def test_what_is_registered_hides_unless_it_says_otherwise():
    document = wine()
    assert (document.additional_fields, document.mismatch) == ("hide", "hide")
    assert document.mismatch_of("year") == "hide"
    assert document.mismatch_of("bottled") == "show"


@walk_over(
    "raw, path, code",
    [
        ([], "", "ERR_FORMAT"),
        ({"fields": 7}, ".fields", "ERR_FORMAT"),
        ({"fields": {"a": "text"}}, ".fields.a.type", "ERR_FORMAT"),
        ({"fields": {"a": {}}}, ".fields.a.type", "ERR_FORMAT"),
        ({"fields": {"a": {"type": "string", "merg": "x"}}}, ".fields.a.merg", "ERR_UNKNOWN_KEY"),
        ({"fields": {"a": {"type": "string", "required": 1}}}, ".fields.a.required", "ERR_FORMAT"),
        ({"fields": {"a": {"type": "string", "field_type": "date"}}}, ".fields.a.field_type",
         "ERR_GIVEN_TWICE"),
        ({"fields": {"a" * 65: "string"}}, ".fields." + "a" * 64, "ERR_FIELD_NAME"),
        ({"fields": {"": "string"}}, ".fields.", "ERR_FIELD_NAME"),
        ({"fields": {"canonical_name": "string"}}, ".fields.canonical_name", "ERR_FIELD_NAME"),
        ({"fields": [{"field_type": "string"}]}, ".fields[0]", "ERR_FIELD_NAME"),
        ({"fields": ["a"]}, ".fields[0]", "ERR_FORMAT"),
        ({"fields": [{"field_name": "a", "field_type": "date"}] * 2}, ".fields[1]", "ERR_GIVEN_TWICE"),
        ({"fields": {f"f{i}": "string" for i in range(FIELDS_LIMIT + 1)}}, ".fields", "ERR_TOO_LARGE"),
        ({"description": "x" * 10_001}, ".description", "ERR_FORMAT"),
        ({"store_warnings": "x" * TEXT_LIMIT}, "", "ERR_TOO_LARGE"),
        ({"fields": {"a": {"type": "string", "description": "\ud800"}}}, ".fields.a.description",
         "ERR_FORMAT"),
        ({"entity_type": "beer"}, ".entity_type", "ERR_GIVEN_TWICE"),
        ({"entity_type": "9"}, ".entity_type", "ERR_ENTITY_TYPE"),
        ({"colour": "red"}, ".colour", "ERR_UNKNOWN_KEY"),
        ({"additional_fields": "drop"}, ".additional_fields", "ERR_FORMAT"),
        ({"aliases": ["wines", "9"]}, ".aliases[1]", "ERR_ENTITY_TYPE"),
        ({"hidden_fields": ["a", "a"]}, ".hidden_fields", "ERR_GIVEN_TWICE"),
        ({"fields": {"a": "string"}, "hidden_fields": ["a"]}, ".hidden_fields", "ERR_GIVEN_TWICE"),
        ({"temporal_fields": [{"field": "a"}]}, ".temporal_fields[0].field", "ERR_NO_SUCH_FIELD"),
        ({"temporal_fields": [{"field": "a", "event_type": "a b"}]}, ".temporal_fields[0].event_type",
         "ERR_FORMAT"),
        ({"observation_source_priority": ["robot"]}, ".observation_source_priority[0]", "ERR_FORMAT"),
        ({"observation_source_priority": ["human"] * 2}, ".observation_source_priority", "ERR_GIVEN_TWICE"),
        ({"canonical_name_fields": ["a"]}, ".canonical_name_fields", "ERR_NO_SUCH_FIELD"),
        ({"fields": {"a": "array"}, "canonical_name_fields": ["a"]}, ".canonical_name_fields",
         "ERR_IDENTITY"),
        ({"canonical_name_fields": [{"composite": []}]}, ".canonical_name_fields[0]", "ERR_IDENTITY"),
        ({"canonical_name_fields": [{"composite": ["a", "a"]}]}, ".canonical_name_fields[0]", "ERR_IDENTITY"),
        ({"canonical_name_fields": [7]}, ".canonical_name_fields[0]", "ERR_IDENTITY"),
        ({"identity_opt_out": "yes"}, ".identity_opt_out", "ERR_FORMAT"),
        ({"fields": {"a": "string"}, "canonical_name_fields": ["a"],
          "identity_opt_out": "heuristic_canonical_name"}, ".identity_opt_out", "ERR_IDENTITY"),
        ({"fields": {"a": {"type": "string", "merge": "merge_array"}}}, ".fields.a.merge",
         "ERR_MERGE_POLICY"),
        ({"fields": {"intent": "string"}}, ".fields.intent", "ERR_FIELD_NAME"),
        ({"fields": {"a": 7}}, ".fields.a", "ERR_FORMAT"),
        ({"fields": {"a": "string"}, "canonical_name_fields": [["a"], ["a"]]}, ".canonical_name_fields[1]",
         "ERR_GIVEN_TWICE"),
        ({"fields": {"content": "string"}, "canonical_name_fields": ["content"]}, ".canonical_name_fields",
         "ERR_IDENTITY"),
        ({"hidden_fields": [f"h{i}" for i in range(FIELDS_LIMIT + 1)]}, ".hidden_fields", "ERR_FORMAT"),
        ({"fields": {f"f{i}": "string" for i in range(21)},
          "canonical_name_fields": [[f"f{i}"] for i in range(21)]},
         ".canonical_name_fields", "ERR_TOO_LARGE"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_its_place(raw: object, path: str, code: str):
    assert refused(raw) == {(path, code)}


@walk_over(
    "kind, constraints, path, code",
    [
        ("number", {"min": "1"}, ".min", "ERR_FORMAT"),
        ("number", {"min": True}, ".min", "ERR_FORMAT"),
        ("number", {"min": 2, "max": 1}, ".min", "ERR_CONSTRAINTS"),
        ("string", {"max": 1}, "", "ERR_CONSTRAINTS"),
        ("number", {"pattern": "1"}, ".pattern", "ERR_CONSTRAINTS"),
        ("string", {"pattern": "("}, ".pattern", "ERR_PATTERN"),
        ("string", {"pattern": "(?=a)"}, ".pattern", "ERR_PATTERN"),
        ("string", {"pattern": r"(a)\1"}, ".pattern", "ERR_PATTERN"),
        ("string", {"pattern": "((a{1000}){1000}){1000}"}, ".pattern", "ERR_PATTERN"),
        ("string", {"pattern": "a" * 201}, ".pattern", "ERR_FORMAT"),
        ("string", {"enum": []}, ".enum", "ERR_FORMAT"),
        ("string", {"enum": [{}]}, ".enum[0]", "ERR_FORMAT"),
        ("string", {"enum": ["x" * 1001]}, ".enum[0]", "ERR_FORMAT"),
        ("string", {"banned": ["x"] * 501}, ".banned", "ERR_FORMAT"),
        ("string", {"least": 1}, ".least", "ERR_UNKNOWN_KEY"),
    ],
)
def test_a_fault_of_constraints_is_named_by_its_place(kind: str, constraints: object, path: str, code: str):
    fields = {"a": {"type": kind, "constraints": constraints}}
    assert refused({"fields": fields}) == {(f".fields.a.constraints{path}", code)}


@pytest.mark.parametrize(
    ("config", "path", "code"),
    [
        ({"merge_policies": {"b": "last_write"}}, ".merge_policies.b", "ERR_NO_SUCH_FIELD"),
        ({"merge_policies": {"a": "newest"}}, ".merge_policies.a", "ERR_MERGE_POLICY"),
        ({"merge_policies": {"a": {"strategy": ["last_write"]}}}, ".merge_policies.a", "ERR_MERGE_POLICY"),
        ({"merge_policies": {"a": {"strategy": "last_write", "tie_breaker": "source_priority"}}},
         ".merge_policies.a.tie_breaker", "ERR_MERGE_POLICY"),
        ({"merge_policies": {"a": {"strategy": "most_specific", "x": 1}}}, ".merge_policies.a.x",
         "ERR_UNKNOWN_KEY"),
        ({"policies": {}}, ".policies", "ERR_UNKNOWN_KEY"),
        ({"observation_source_priority": ["robot"]}, ".observation_source_priority[0]", "ERR_FORMAT"),
        (7, "", "ERR_FORMAT"),
    ],
)  # fmt: skip
def test_a_fault_of_the_reducer_config_is_named_by_its_place(config: object, path: str, code: str):
    assert refused({"fields": {"a": "string"}}, config) == {(f"$.reducer_config{path}", code)}


def test_a_reducer_config_that_contradicts_the_document_is_refused():
    raw = {
        "fields": {"a": {"type": "number", "merge": "last_write"}},
        "observation_source_priority": ["human", "sensor"],
    }
    config = {"merge_policies": {"a": "most_specific"}, "observation_source_priority": ["sensor", "human"]}
    assert refused(raw, config) == {
        ("$.reducer_config.merge_policies.a", "ERR_GIVEN_TWICE"),
        ("$.reducer_config.observation_source_priority", "ERR_GIVEN_TWICE"),
    }


@pytest.mark.parametrize(
    "converter",
    [
        "to_upper",
        7,
        {"function": ["number_to_string"]},
        {"function": "number_to_string", "from": "date"},
        {"function": "number_to_string", "to": "number"},
        {"function": "number_to_string", "deterministic": False},
        {"function": "number_to_string", "speed": 1},
    ],
)
def test_a_converter_that_is_not_what_it_says_is_refused(converter: object):
    issues = refused({"fields": {"a": {"type": "string", "converters": [converter]}}})
    assert {path.partition("[0]")[0] for path, _ in issues} == {".fields.a.converters"}


def test_converters_are_their_functions():
    long = {"from": "number", "to": "date", "function": "timestamp_ms_to_iso", "deterministic": True}
    document = schema.parse(
        "wine", {"fields": {"a": {"type": "date", "converters": [long, "timestamp_s_to_iso"]}}}
    )
    assert document.fields["a"].converters == ("timestamp_ms_to_iso", "timestamp_s_to_iso")


@pytest.mark.parametrize(
    ("converter", "count", "date"),
    [
        ("timestamp_s_to_iso", 1_769_853_600, "2026-01-31T10:00:00.000000Z"),
        ("timestamp_ms_to_iso", 1_769_853_600_250, "2026-01-31T10:00:00.250000Z"),
        ("timestamp_nanos_to_iso", 1_769_853_600_000_001_999, "2026-01-31T10:00:00.000001Z"),
        ("timestamp_s_to_iso", 1e300, None),
        ("timestamp_s_to_iso", True, None),
        ("timestamp_s_to_iso", "1769853600", None),
    ],
)
def test_a_converter_of_times_takes_numbers_that_are_times(
    converter: Converter, count: object, date: str | None
):
    converted = convert(canonical.encode(count), "date", (converter,))
    assert converted == (date and canonical.encode(date))


def test_every_fault_is_told_of_and_no_more_than_a_hundred():
    both = {"fields": {"a": "text", "b": {"type": "string", "x": 1}}, "colour": 1}
    assert len(refused(both)) == 3
    assert len(refused({"fields": {f"f{i}": "text" for i in range(300)}})) == 100


@pytest.mark.parametrize(
    ("raw", "path", "instead"),
    [
        ({"query_synonyms": {"vin": ["wine"]}}, "$.schema.query_synonyms", "use aliases"),
        ({"name_collision_policy": "reject"}, "$.schema.name_collision_policy", "use canonical_name_fields"),
        ({"fields": {"a": {"type": "string", "preserveCase": True}}}, "$.schema.fields.a.preserveCase",
         "values keep their case"),
    ],
)  # fmt: skip
def test_key_without_effect_is_refused_with_what_to_use(raw: dict[str, object], path: str, instead: str):
    with pytest.raises(SchemaInvalid) as invalid:
        schema.parse("wine", {"fields": {}, **raw})
    (issue,) = invalid.value.issues
    assert (issue["path"], issue["code"]) == (path, "ERR_UNKNOWN_KEY")
    assert instead in issue["message"]


def test_stored_document_with_keys_without_effect_is_read_as_it_is_and_updated():
    raw = canonical.decode(wine().text)
    raw["fields"]["name"]["preserveCase"] = True
    raw |= {"query_synonyms": {"vin": ["wine"]}, "name_collision_policy": "reject"}
    stored = SchemaDocument.read(canonical.encode(raw))
    assert stored.text == canonical.encode(raw)
    assert stored.rules == wine().rules
    change = schema.update("wine", new_fields={"colour": "string"})
    grown = schema.decide(schema.Active("1.0", stored), None, change).document
    assert grown.as_json()["query_synonyms"] == {"vin": ["wine"]}
    assert grown.as_json()["fields"]["name"]["preserveCase"] is True
    assert schema.warnings_of(grown) == []


def test_converters_of_a_field_that_shows_any_value_are_warned_of():
    idle = {"type": "number", "converters": ["string_to_number"], "mismatch": "show"}
    shown = schema.parse("wine", {"fields": {"a": idle}})
    assert [warning["path"] for warning in schema.warnings_of(shown)] == ["$.fields.a.converters"]
    assert schema.warnings_of(wine()) == []


@given(DOCUMENTS)
def test_a_document_is_what_its_text_says(raw: dict[str, object]):
    document = schema.parse("wine", raw)
    assert SchemaDocument.read(document.text) == document
    assert schema.parse("wine", canonical.decode(document.text)) == document
    assert SchemaDocument.read(document.text).text == document.text


# What a document decides


@given(DOCUMENTS)
def test_a_document_that_shows_all_and_writes_last_is_plain(raw: dict):
    fields = {
        name: {n: v for n, v in declaration.items() if n not in ("merge", "mismatch", "filterable")}
        for name, declaration in raw["fields"].items()
    }
    shown = {"additional_fields": "show", "mismatch": "show", "hidden_fields": []}
    document = schema.parse("wine", {**raw, **shown, "fields": fields})
    assert document.rules == PLAIN
    assert document.rules.key == ""


@given(DOCUMENTS)
def test_rules_show_what_the_document_shows(raw: dict):
    document = schema.parse("wine", raw)
    rules = document.rules
    for name in ("a", "b", "x", "y", "nowhere"):
        assert rules.shows(name) == document.shows(name)


def test_the_rules_of_a_document():
    assert wine().rules == Rules(
        policies={"grapes": "merge_array", "price": "highest_priority"},
        types={"name": "string", "year": "number", "price": "number"},
        converters={"price": ("string_to_number",)},
        only=frozenset(WINE["fields"]),
    )
    opened = wine(additional_fields="show", hidden_fields=["secret"], mismatch="show").rules
    assert (opened.only, opened.hidden, opened.types) == (None, frozenset({"secret"}), {})


def test_an_order_of_writers_matters_only_where_a_policy_asks_for_it():
    order: list[ObservationSource] = ["human", "sensor"]
    assert wine(observation_source_priority=order).rules.sources == {"human": 2, "sensor": 1}
    plain = {"fields": {"a": "string"}, "observation_source_priority": order}
    assert schema.parse("wine", plain).rules.sources is None


@pytest.mark.parametrize(
    ("name_fields", "alternatives"),
    [
        (["name", "year"], (("name", "year"),)),
        (["name"], (("name",),)),
        ([{"composite": ["name", "year"]}, "name"], (("name", "year"), ("name",))),
        (["canonical_name"], (("canonical_name",),)),
        ([], None),
        (None, None),
    ],
)
def test_what_identifies_an_entity(name_fields: object, alternatives: identity.Alternatives | None):
    assert wine(canonical_name_fields=name_fields).alternatives() == alternatives


def test_a_type_can_go_back_to_the_general_order():
    document = schema.parse("event", {"fields": {}, "identity_opt_out": "heuristic_canonical_name"})
    assert document.alternatives() == identity.GENERAL[:-1]
    assert document.alternatives() != identity.rule("event")[:-1]


# What it finds


def findings(document: SchemaDocument, **values: object) -> list[tuple[str, str, bool]]:
    texts = {name: canonical.encode(value) for name, value in values.items()}
    return [(finding.code, finding.field, finding.refused) for finding in document.findings(texts)]


def test_what_is_as_declared_is_not_told_of():
    assert findings(wine(), name="x", year=1990, grapes=["a"], price=1, bottled="2026-01-31") == []
    assert findings(wine(), name="x", year=None, grapes=None, bottled=None, canonical_name="X") == []


def test_what_is_not_as_declared_is_told_of_by_field():
    assert findings(wine(), year="old", bottled="soon", colour=1, price="12", grapes="a") == [
        ("TYPE_MISMATCH", "bottled", False),
        ("UNKNOWN_FIELD", "colour", False),
        ("MISSING_REQUIRED_FIELD", "name", False),
        ("TYPE_MISMATCH", "price", False),
        ("TYPE_MISMATCH", "year", False),
    ]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("year", "old", "snapshots hide it"),
        ("price", "12", "snapshots show it converted"),
        ("grapes", '["a"]', "snapshots show it converted"),
        ("bottled", 7, "snapshots show it unchanged"),
    ],
)
def test_a_mismatch_says_what_became_of_the_value(field: str, value: object, words: str):
    (finding,) = wine().findings({"name": '"x"', field: canonical.encode(value)})
    assert (finding.code, finding.field) == ("TYPE_MISMATCH", field)
    assert words in finding.message


def test_a_field_is_unknown_only_where_it_is_hidden():
    opened = wine(additional_fields="show", hidden_fields=["secret"])
    assert findings(opened, name="x", colour=1) == []
    assert findings(opened, name="x", secret=1) == [("UNKNOWN_FIELD", "secret", False)]


@walk_over(
    "kind, constraints, fine, broken",
    [
        ("number", {"min": 1, "max": 2.5}, [1, 1.0, 2.5], [0, 2.6, -(10**30), 10**400]),
        ("string", {"enum": ["a", "b"]}, ["a"], ["A", "", "ab"]),
        ("number", {"enum": [1, 2.0]}, [1, 1.0, 2], [3, 0]),
        ("boolean", {"enum": [1]}, [], [True]),
        ("boolean", {"banned": [True]}, [False], [True]),
        ("string", {"banned": ["n/a"]}, ["", "N/A"], ["n/a"]),
        ("string", {"pattern": r"^[0-9]{3}$"}, ["123"], ["12", "1234", "123\n"]),
        ("string", {"pattern": "b"}, ["abc", "b" + "a" * 999], ["ac", "b" + "a" * 1000]),
        ("date", {"pattern": "^2026"}, ["2026-01-31"], ["2025-01-31"]),
        ("array", {"banned": ["a"]}, [["a"]], []),
    ],
)
def test_constraints(kind: str, constraints: dict, fine: list, broken: list):
    for policy in ("warn", "reject"):
        raw = {
            "fields": {"a": {"type": kind, "constraints": constraints}},
            "constraint_violation_policy": policy,
        }
        document = schema.parse("wine", raw)
        assert [findings(document, a=value) for value in fine] == [[]] * len(fine)
        expected = [("CONSTRAINT_VIOLATION", "a", policy == "reject")]
        assert [findings(document, a=value) for value in broken] == [expected] * len(broken)


def test_constraints_are_held_against_the_value_that_is_shown():
    document = wine()
    assert findings(document, name="x", year="1700") == [
        ("TYPE_MISMATCH", "year", False), ("CONSTRAINT_VIOLATION", "year", False),
    ]  # fmt: skip
    assert findings(document, name="x", year="MDCC") == [("TYPE_MISMATCH", "year", False)]


def test_no_pattern_takes_more_than_linear_time():
    raw = {"fields": {"a": {"type": "string", "constraints": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}}}
    document = schema.parse("wine", raw)
    # An engine that tries one way after another does not come to the end of it.
    assert findings(document, a="a" * 1000) == [("CONSTRAINT_VIOLATION", "a", False)]
