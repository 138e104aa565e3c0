"""What a sample of observations suggests for a schema."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical, discovery, schema
from graphmem.reading import schema_candidates
from graphmem.reading.schema_candidates import VALUE_CHARACTERS, SampledObservation
from tests.support.walks import walk_over

WHEN = ["2026-01-31", "2026-02-01", "2026-02-02", "2026-02-03", "2026-02-04"]


def sample(
    *rows: Mapping[str, object], kind: str = "value", basis: str | None = "name"
) -> list[SampledObservation]:
    """Observations of an entity each."""
    return [
        SampledObservation(
            f"ent_{i}",
            kind,
            basis,
            list(row),
            [canonical.encode(value)[:VALUE_CHARACTERS] for value in row.values()],
        )
        for i, row in enumerate(rows)
    ]


def document(**fields: object) -> schema.SchemaDocument:
    return schema.parse("thing", {"fields": fields})


def suggested(
    rows: list[SampledObservation], known: schema.SchemaDocument | None = None, **limits: float
) -> dict[str, str]:
    candidates = schema_candidates.candidates("thing", known, rows, **{"min_confidence": 0.0, **limits})  # pyright: ignore
    return {candidate["field_name"]: candidate["recommended_type"] for candidate in candidates}


def recommendations_of(
    rows: list[SampledObservation], known: schema.SchemaDocument | None = None
) -> list[tuple[str, str, str]]:
    recommendations = schema_candidates.recommendations("thing", known, rows)
    return [
        (recommendation["kind"], recommendation["field_name"], recommendation["recommended_type"])
        for recommendation in recommendations
    ]


@walk_over(
    "value, looks",
    [
        ([], ("array", "array")),
        ({}, ("object", "object")),
        (True, ("boolean", "boolean")),
        (1, ("number", "integer")),
        (-1.5, ("number", "decimal")),
        (1e300, ("number", "decimal")),
        ("", ("string", "text")),
        ("2026-01-31", ("date", "date")),
        ("2026-01-31T09:00:00Z", ("date", "time")),
        ("ada@example.org", ("string", "email")),
        ("https://example.org/x", ("string", "url")),
        ("01234567-89ab-cdef-0123-456789abcdef", ("string", "uuid")),
        ("0049", ("string", "numeric")),
        ("x" * 100, ("string", "text")),
        ('"' * 40, ("string", "text")),
        (10**100, ("number", "integer")),
    ],
)
def test_a_value_looks_like_this_by_its_beginning(value: object, looks: tuple[str, str]):
    assert schema_candidates.type_and_format(canonical.encode(value)[:VALUE_CHARACTERS]) == looks


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(
        st.characters(codec="utf-8")), st.dates().map(str)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)  # fmt: skip


@given(VALUES)
def test_the_beginning_of_a_value_tells_its_type(value: object):
    text = canonical.encode(value)
    assert schema_candidates.type_and_format(text[:VALUE_CHARACTERS])[0] == discovery.shape_of(value)


@walk_over(
    "values, kind",
    [
        (["a", "b"], "string"),
        ([1, 2.5], "number"),
        (WHEN, "date"),
        ([*WHEN, "soon"], "string"),
        ([1, "one"], "string"),
        ([True, 1], "string"),
        ([1, WHEN[0]], "string"),
        ([["a"], ["b"], "c"], "array"),
        ([{}, {}, []], "object"),
        ([[], {}], "array"),
        ([None, 1], "number"),
    ],
)
def test_the_type_that_fits(values: list, kind: str):
    rows = sample(*({"x": value} for value in values))
    assert suggested(rows, min_frequency=1) == {"x": kind}


def test_a_candidate_is_seen_often_enough_and_not_declared():
    rows = sample(*({"a": 1, "b": i, "canonical_name": "x", "rare": None if i else 1} for i in range(5)))
    assert suggested(rows) == {"a": "number", "b": "number"}
    assert suggested(rows, document(a="number")) == {"b": "number"}
    assert suggested(rows, min_frequency=6) == {}
    assert suggested(rows, min_frequency=1) == {"a": "number", "b": "number", "rare": "number"}
    assert suggested([]) == {}


def test_a_candidate_has_the_confidence_that_is_asked_for():
    rows = sample(
        *({"due_date": day, "x": value} for day, value in zip(WHEN, [1, "a", 2, "b", 3], strict=True))
    )
    assert suggested(rows) == {"due_date": "date", "x": "string"}
    assert suggested(rows, min_confidence=0.8) == {"due_date": "date"}


def test_confidence_grows_with_type_format_name_and_number():
    def confidence(name: str, values: list) -> float:
        rows = sample(*({name: value} for value in values))
        (candidate,) = schema_candidates.candidates("thing", None, rows, min_frequency=1, min_confidence=0)
        return candidate["confidence"]

    assert confidence("due_date", WHEN * 2) == 1.0
    assert confidence("x", WHEN * 2) == pytest.approx(0.925)
    assert confidence("x", WHEN) == pytest.approx(0.875)
    assert confidence("x", [*WHEN, *WHEN[:4], WHEN[0] + "T10:00:00Z"]) == pytest.approx(0.9)
    assert confidence("x", [1, "a", 2, "b"]) == pytest.approx(0.25 + 0.125 + 0.075 + 0.04)


def test_a_candidate_says_what_was_seen():
    rows = sample({"x": "a@b.cd"}, {"x": "e@f.gh"}, {"x": 1})
    (candidate,) = schema_candidates.candidates("thing", None, rows, min_frequency=1, min_confidence=0)
    assert candidate == {
        "entity_type": "thing", "field_name": "x", "frequency": 3, "entity_count": 3,
        "confidence": pytest.approx(0.5 * 2 / 3 + 0.25 * 2 / 3 + 0.075 + 0.03, abs=1e-4),
        "recommended_type": "string", "types": {"number": 1, "string": 2}, "format": "email",
    }  # fmt: skip


@given(st.permutations(sample(*({"a": i % 3, "b": str(i), "é": [i]} for i in range(8)))))
def test_the_order_of_the_sample_does_not_matter(rows: list[SampledObservation]):
    expected = schema_candidates.recommendations("thing", None, sorted(rows))
    assert schema_candidates.recommendations("thing", None, rows) == expected


def test_a_field_declared_as_what_its_values_are_not():
    rows = sample(*({"a": value, "b": 1} for value in ["x", "y", "z", 1, 2]), kind="correction")
    assert recommendations_of(rows, document(a="number", b="number")) == [("change_type", "a", "string")]
    assert recommendations_of(rows, document(a="string", b="number")) == []
    union = {"type": "array", "merge": "merge_array"}
    assert recommendations_of(rows, document(a=union, b="number")) == []
    assert recommendations_of(rows[:4], document(a="number", b="number")) == []


def test_a_field_that_is_always_there_could_be_required():
    rows = sample(*({"a": "x", "b": None if i == 2 else "y"} for i in range(5)))
    assert recommendations_of(rows, document(a="string", b="string")) == [("require_field", "a", "string")]
    required = {"type": "string", "required": True}
    assert recommendations_of(rows, document(a=required, b="string")) == []
    # A correction says one field, so it says nothing of the others.
    corrected = [*rows, *sample({"b": "z"}, kind="correction")]
    assert recommendations_of(corrected, document(a="string", b="string")) == [
        ("require_field", "a", "string")
    ]


def test_what_nothing_identifies_could_be_identified_by_a_field_of_its_own():
    rows = sample(*({"isbn": f"i{i}", "shelf": "A"} for i in range(4)), basis="content")
    known = document(isbn="string", shelf="string")
    assert recommendations_of(rows, known) == [("identity", "isbn", "string")]
    (recommendation,) = schema_candidates.recommendations("thing", known, rows)
    assert recommendation["change"] == {"entity_type": "thing", "canonical_name_fields": ["isbn"]}
    (first, *_) = schema_candidates.recommendations("thing", None, rows)
    assert first["change"]["new_fields"] == {"isbn": {"type": "string"}}
    assert recommendations_of(sample(*({"isbn": f"i{i}"} for i in range(4))), document(isbn="string")) == []
    long = sample(*({"isbn": f"{i}" + "x" * 80} for i in range(4)), basis="content")
    assert recommendations_of(long, document(isbn="string")) == []
    named = schema.parse("thing", {"fields": {"isbn": "string"}, "canonical_name_fields": ["isbn"]})
    assert recommendations_of(rows, named) == []


def test_every_recommendation_can_be_made():
    rows = sample(*({"n": i, "a": "x", "isbn": f"i{i}"} for i in range(6)), basis="content")
    known = document(a="number")
    active = schema.Active("1.0", known)
    recommendations = schema_candidates.recommendations("thing", known, rows)
    assert {recommendation["kind"] for recommendation in recommendations} == {
        "add_field",
        "change_type",
        "require_field",
        "identity",
    }
    for recommendation in recommendations:
        change = dict(recommendation["change"])
        assert change.pop("entity_type") == "thing"
        update = schema.update("thing", new_fields=change.pop("new_fields", None), settings=change)
        assert schema.decide(active, {}, update).version != "1.0"
