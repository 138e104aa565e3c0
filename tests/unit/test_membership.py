"""Membership: which entities count for which survivor, and which transactions changed what it shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from types import FrameType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import membership, times
from graphmem.model.membership import Membership, MergeFact, Touches

ENTITIES = ("a", "b", "c", "d", "e")
MOMENT = st.integers(1, 12)


def facts(moment: st.SearchStrategy[tuple[int, int]]) -> st.SearchStrategy[list[MergeFact]]:
    """Draw merges and unmerges; ``moment`` gives (observed, recorded)."""
    fact = st.builds(
        lambda subject, into, moment, number: MergeFact(
            subject, moment[0], moment[1], f"obs_{number:04d}", into
        ),
        st.sampled_from(ENTITIES),
        st.none() | st.sampled_from(ENTITIES),
        moment,
        st.integers(0, 9_999),
    )
    return st.lists(fact, max_size=12, unique_by=lambda fact: fact.observation_id)


IN_ORDER = facts(MOMENT.map(lambda moment: (moment, moment)))
ANY_ORDER = facts(st.tuples(MOMENT, MOMENT))


def in_order(touched: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(touched))


TOUCHES = st.dictionaries(
    st.sampled_from(ENTITIES),
    # Hypothesis parses the text of a lambda, and CPython 3.11 may refuse to while another thread parses.
    st.lists(st.tuples(MOMENT, MOMENT), max_size=8, unique_by=itemgetter(0)).map(in_order),
)
CLOCK = MOMENT | st.just(times.LATEST)


def changes_by_definition(
    merges: Membership, entity_id: str, touches: Touches, at: int, at_ingested: int
) -> set[int]:
    """Compare what shows each touched entity just before and just after each transaction."""
    changed = set()
    for subject_id, touched in touches.items():
        for recorded, observed in touched:
            if observed > at or recorded > at_ingested:
                continue
            known = [merges.merged_into(at, recorded - 1), merges.merged_into(at, recorded)]
            if subject_id == entity_id or entity_id in {
                membership.survivor(subject_id, merged_into) for merged_into in known
            }:
                changed.add(recorded)
    return changed


@given(IN_ORDER | ANY_ORDER, TOUCHES, CLOCK, CLOCK)
def test_changes_are_the_transactions_that_touched_a_member_while_it_counted(
    merge_facts: list[MergeFact], touches: Touches, at: int, at_ingested: int
) -> None:
    merges = Membership.of(merge_facts)
    for entity_id in ENTITIES:
        expected = changes_by_definition(merges, entity_id, touches, at, at_ingested)
        assert merges.changes(entity_id, touches, at, at_ingested) == expected
        members = {
            member_id: touches[member_id]
            for member_id in merges.member_ids(entity_id, at)
            if member_id in touches
        }
        assert merges.changes(entity_id, members, at, at_ingested) == expected


@given(ANY_ORDER)
def test_members_and_survivors_agree(merge_facts: list[MergeFact]) -> None:
    merged_into = Membership.of(merge_facts).merged_into()
    survivors = {membership.survivor(entity_id, merged_into) for entity_id in ENTITIES}
    assert sorted(
        entity_id for root in survivors for entity_id in membership.members(root, merged_into)
    ) == list(ENTITIES)


def test_a_merge_that_would_close_a_circle_has_no_effect() -> None:
    circle = [("a", "b"), ("c", "a"), ("a", "c")]
    merges = Membership.of(
        MergeFact(subject, at, at, "obs", into) for at, (subject, into) in enumerate(circle)
    )
    assert merges.merged_into() == {"a": "b", "c": "a"}


@pytest.mark.parametrize(
    ("merged_into", "key"),
    [
        ({}, "WORKS_AT:ent_a:ent_b"),
        ({"ent_a": "ent_c", "ent_c": "ent_d"}, "WORKS_AT:ent_d:ent_b"),
        ({"ent_a": "ent_b"}, "WORKS_AT:ent_b:ent_b"),
    ],
)
def test_a_relationship_counts_for_the_survivors_of_its_ends(merged_into: dict[str, str], key: str) -> None:
    assert membership.surviving_key("WORKS_AT:ent_a:ent_b", merged_into) == key


def test_the_work_for_changes_is_that_of_touches_plus_that_of_merges() -> None:
    def work(transactions: int, merges: int) -> int:
        turns = [
            MergeFact("a", at, at, f"obs_{at:04d}", "b" if number % 2 else None)
            for number, at in enumerate(range(1, 2 * merges, 2))
        ]
        touches = {entity_id: tuple((at, at) for at in range(1, transactions)) for entity_id in ("a", "b")}
        return opcodes(lambda: Membership.of(turns).changes("b", touches))

    few_merges, few_touches = work(2_000, 1), work(1, 400)
    assert work(2_000, 400) <= 2 * (few_merges + few_touches)


def opcodes(run: Callable[[], Any]) -> int:
    """Return how many instructions of Python a call executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


class Withdrawal(NamedTuple):
    """Observations of a subject do not count from ``recorded_at`` on, or count again."""

    recorded_at: int
    id: str
    kind: str


def subject_toggles(exclusions: list[Withdrawal]) -> tuple[int, ...]:
    """Return when a subject was withdrawn, reinstated, and so on, as ``write/exclude.cypher`` does."""
    toggles: list[int] = []
    for exclusion in sorted(exclusions):
        if (exclusion.kind == "exclude") is (len(toggles) % 2 == 0):
            toggles.append(exclusion.recorded_at)
    return tuple(toggles)


WITHDRAWALS = st.lists(
    st.builds(
        lambda kind, moment, number: Withdrawal(moment, f"exc_{number:03d}", kind),
        st.sampled_from(["exclude", "include"]),
        MOMENT,
        st.integers(0, 999),
    ),
    max_size=6,
    unique_by=lambda exclusion: exclusion.id,
)


def is_withdrawn(exclusions: list[Withdrawal], moment: int) -> bool:
    """Return whether the newest withdrawal of a subject withdraws it."""
    known = sorted(each for each in exclusions if each.recorded_at <= moment)
    newest = max(known, key=lambda each: (each.recorded_at, each.id), default=None)
    return newest is not None and newest.kind == "exclude"


@given(subjects=st.lists(WITHDRAWALS, max_size=3), recorded_at=MOMENT)
def test_an_observation_counts_while_none_of_its_subjects_is_excluded(
    subjects: list[list[Withdrawal]], recorded_at: int
) -> None:
    times_of_subjects = [subject_toggles(each) for each in subjects]
    toggles = membership.toggles(recorded_at, times_of_subjects)
    assert list(toggles) == sorted(set(toggles))
    for moment in range(recorded_at, 14):
        expected = not any(is_withdrawn(each, moment) for each in subjects)
        assert membership.counts(toggles, moment) is expected


@given(merge_facts=ANY_ORDER, toggles=st.lists(MOMENT, max_size=3, unique=True), at=CLOCK)
def test_an_excluded_merge_counts_in_spans_as_it_does_at_each_time(
    merge_facts: list[MergeFact], toggles: list[int], at: int
) -> None:
    excluded = [
        fact._replace(toggles=tuple(sorted(each for each in toggles if each >= fact.recorded_at)))
        if number % 2 else fact
        for number, fact in enumerate(merge_facts)
    ]  # fmt: skip
    merges = Membership.of(excluded)
    for moment in range(1, 14):
        merged_into = merges.merged_into(at, moment)
        for entity_id in ENTITIES:
            counted = {
                span.member_id
                for span in merges.spans(at).get(entity_id, ())
                if span.start <= moment < span.end
            }
            assert counted == set(membership.members(entity_id, merged_into)) - {entity_id} or (
                entity_id in merged_into
            )
