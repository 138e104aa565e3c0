"""The fold: the same in any order and any batches, and always what the plain model says."""

from __future__ import annotations

import json
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import canonical, ids, reduction, times
from graphmem.model.reduction import Fold, Observation
from tests.support.reduction_model import View, view

NAMES = ["name", "town", "age", "canonical_name"]
VALUES = st.none() | st.integers(-3, 3) | st.sampled_from(["Ada", "", "null", 1.0, [None], {"b": 1, "a": 2}])
FIELDS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
# Few times, so that equal ones are common; those far apart, so that digits are compared as numbers are.
MOMENTS = st.sampled_from([times.EARLIEST, -1, 0, 1, 999, 1_000, times.LATEST]) | st.integers(-5, 5)
DRAFTS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["value", "value", "value", "correction"]),
            "observed_at": MOMENTS,
            "recorded_at": st.integers(1, 6),
            "fields": FIELDS,
        }
    ),
    max_size=10,
)


@st.composite
def histories(draw) -> list[dict]:
    """Return observations of one entity, as the plain model takes them."""
    numbers = draw(st.permutations(range(10)))
    drafts = draw(DRAFTS)
    return [
        {"id": ids.unplaced_observation_id("txn", number), **draft}
        for number, draft in zip(numbers, drafts, strict=False)
    ]


def observation(fact: dict) -> Observation:
    """Return the product's form of an observation."""
    return Observation(
        id=fact["id"],
        subject_id="ent_" + "a" * 24,
        entity_type="person",
        kind=fact["kind"],
        observed_at=fact["observed_at"],
        recorded_at=fact["recorded_at"],
        fields={name: canonical.encode(value) for name, value in fact["fields"].items()},
        transaction_id=f"txn_{fact['recorded_at']}",
    )


def folded(facts: list[dict], known: Fold | None = None) -> Fold:
    """Return the fold of observations, one after the other."""
    return reduce(reduction.fold, map(observation, facts), known or {})


def fact_at(at: int, number: int, kind: str = "value", **fields) -> dict:
    """Return one observation."""
    return {
        "id": f"obs_{number:032x}",
        "kind": kind,
        "observed_at": at,
        "recorded_at": number,
        "fields": fields,
    }


def shown(facts: list[dict]) -> dict:
    """Return the snapshot that the fold gives."""
    return {name: json.loads(winner.value) for name, winner in reduction.snapshot_fields(folded(facts))}


@given(histories())
def test_fold_equals_the_plain_model(facts):
    expected = view(facts)
    winners = reduction.snapshot_fields(folded(facts))
    assert {name: json.loads(winner.value) for name, winner in winners} == expected.snapshot
    assert {name: winner.observation_id for name, winner in winners} == expected.provenance


@given(histories(), MOMENTS, st.integers(0, 7))
def test_fold_of_what_is_visible_equals_the_plain_model_of_all(facts, at, at_ingested):
    visible = [fact for fact in facts if fact["observed_at"] <= at and fact["recorded_at"] <= at_ingested]
    expected = view(facts, at=at, at_ingested=at_ingested)
    assert shown(visible) == expected.snapshot
    assert expected.observation_count == len(visible)
    assert expected.version == len({fact["recorded_at"] for fact in visible})
    assert expected.last_observation_at == max((fact["observed_at"] for fact in visible), default=None)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(facts, random):
    assert folded(random.sample(facts, len(facts))) == folded(facts)


@given(histories(), st.integers(0, 10))
def test_batches_do_not_matter(facts, cut):
    assert folded(facts[cut:], folded(facts[:cut])) == folded(facts)


@given(histories(), histories())
def test_folds_of_parts_are_joined_by_their_greatest_winners(facts, more):
    parts = folded(facts), folded(more)
    joined = {name: max(part[name] for part in parts if name in part) for name in {*parts[0], *parts[1]}}
    assert joined == folded(facts + more)


@given(histories())
def test_what_arrives_twice_changes_nothing(facts):
    assert folded(facts + facts) == folded(facts)
    assert view(facts + facts) == view(facts)


@given(histories())
def test_the_same_observations_give_the_same_bytes(facts):
    def snapshot(ordered):
        return canonical.assemble(
            (name, winner.value) for name, winner in reduction.snapshot_fields(folded(ordered))
        )

    assert snapshot(facts) == snapshot(facts[::-1]) == canonical.encode(view(facts).snapshot)


def test_folding_leaves_what_was_known_as_it_was():
    known = folded([fact_at(1, 1, name="Ada")])
    before = dict(known)
    reduction.fold(known, observation(fact_at(2, 2, name="Grace", town="London")))
    assert known == before


def test_the_later_time_wins_whenever_it_arrives():
    assert shown([fact_at(2, 1, name="new"), fact_at(1, 2, name="old")]) == {"name": "new"}


def test_at_equal_times_the_greater_id_wins():
    assert shown([fact_at(1, 2, name="second"), fact_at(1, 1, name="first")]) == {"name": "second"}


def test_at_equal_times_the_later_item_of_a_request_wins():
    facts = [
        {**fact_at(1, 1, name=index), "id": ids.unplaced_observation_id("txn_x", index)}
        for index in (9, 10, 255, 256)
    ]
    assert shown(facts[::-1]) == {"name": 256}


def test_a_correction_wins_over_what_was_observed_later():
    facts = [fact_at(1, 1, "correction", name="right"), fact_at(9, 2, name="wrong")]
    assert shown(facts) == shown(facts[::-1]) == {"name": "right"}


def test_of_two_corrections_the_later_one_wins():
    assert shown([fact_at(5, 1, "correction", name="last"), fact_at(1, 2, "correction", name="first")]) == {
        "name": "last"
    }


@pytest.mark.parametrize("kind", ["value", "correction"])
def test_a_winning_null_clears_the_field(kind):
    assert shown([fact_at(1, 1, name="Ada", town="London"), fact_at(2, 2, kind, name=None)]) == {
        "town": "London"
    }


def test_a_field_that_was_cleared_does_not_come_back_by_an_older_value():
    facts = [fact_at(3, 1, name=None), fact_at(2, 2, name="older")]
    assert shown(facts) == shown(facts[::-1]) == {}
    assert set(folded(facts)) == {"name"}


def test_a_field_that_was_cleared_comes_back_by_a_later_value():
    assert shown([fact_at(1, 1, name=None), fact_at(2, 2, name="Ada")]) == {"name": "Ada"}


def test_only_null_itself_clears_a_field():
    fields = {"a": "null", "b": "", "c": 0, "d": False, "e": [], "f": {}, "g": [None]}
    assert shown([fact_at(1, 1, **fields)]) == fields


def test_each_field_has_a_winner_of_its_own():
    facts = [fact_at(1, 1, name="Ada", town="London"), fact_at(2, 2, town="Paris", age=36)]
    assert view(facts).provenance == {
        "name": facts[0]["id"], "town": facts[1]["id"], "age": facts[1]["id"],
    }  # fmt: skip
    assert {name: winner.observation_id for name, winner in folded(facts).items()} == view(facts).provenance


def test_the_canonical_name_is_folded_and_not_shown():
    facts = [fact_at(1, 1, canonical_name="Ada", age=36)]
    assert set(folded(facts)) == {"canonical_name", "age"}
    assert shown(facts) == {"age": 36}


def test_the_fields_of_a_snapshot_are_in_canonical_order():
    winners = reduction.snapshot_fields(
        folded([fact_at(1, 1, kind="value", **{"\ufb33": 1, "\U0001f600": 2, "b": 3, "B": 4})])
    )
    assert [name for name, _ in winners] == ["B", "b", "\U0001f600", "\ufb33"]


def test_plain_model_of_nothing_is_empty():
    assert view([]) == View({}, {}, 0, 0, None)


def test_plain_model_takes_times_as_they_are_answered():
    facts = [
        {**fact_at(1, 1, name="new"), "observed_at": "2026-01-31T09:00:00.000000Z"},
        {**fact_at(2, 2, name="old"), "observed_at": "0965-01-31T09:00:00.000000Z"},
    ]
    assert view(facts).snapshot == {"name": "new"}
    assert view(facts, at="1000-01-01T00:00:00.000000Z").snapshot == {"name": "old"}
