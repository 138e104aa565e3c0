"""What a survivor shows by each version of the rule of merges: stored merges fold as they did, for ever."""

from __future__ import annotations

import pytest

from graphmem.model import facts, reduction
from graphmem.model.reduction import Winner

NEWER, OLDER = "0.000000000000000009", "0.000000000000000001"
TARGET = {"dose": Winner(OLDER, "obs_1", '"zinc"'), "name": Winner(OLDER, "obs_1", '"Dr. Hallen"')}
SOURCE = {
    "dose": Winner(NEWER, "obs_2", "null"),
    "name": Winner(NEWER, "obs_2", '"Dr Halen"'),
    "canonical_name": Winner(NEWER, "obs_2", '"Halen"'),
    "ward": Winner(OLDER, "obs_2", "7"),
}
THIRD = {"ward": Winner(NEWER, "obs_3", "null"), "dose": Winner(OLDER, "obs_0", '"iron"')}


def merged(rules: dict[str, str], into: dict[str, str] | None = None) -> dict[str, str]:
    folds = {"a": TARGET, "b": SOURCE, "c": THIRD}
    fold = reduction.merged_fold("a", folds, into or {"b": "a", "c": "a"}, rules)
    return {name: winner.value for name, winner in sorted(fold.items())}


@pytest.mark.parametrize(
    ("rules", "into", "shown"),
    [
        ({}, None, ("null", "null", '"Dr Halen"', '"Halen"')),
        ({"b": "2", "c": "2"}, None, ('"zinc"', "7", '"Dr. Hallen"', None)),
        ({"b": "2.000000000000000005", "c": "2"}, None, ('"zinc"', "7", '"Dr Halen"', '"Halen"')),
        # By version 1 below version 2: what is merged into the source first is one with it.
        ({"b": "2"}, {"b": "a", "c": "b"}, ('"zinc"', "null", '"Dr. Hallen"', None)),
        ({"c": "2"}, {"b": "a", "c": "b"}, ('"zinc"', "7", '"Dr Halen"', '"Halen"')),
    ],
)
def test_a_survivor_shows_these_values(
    rules: dict[str, str], into: dict[str, str] | None, shown: tuple[str | None, ...]
) -> None:
    values = merged(rules, into)
    assert tuple(map(values.get, ("dose", "ward", "name", "canonical_name"))) == shown


def test_the_rule_of_a_merge_follows_from_its_fields() -> None:
    into = {"into": '"ent_1"'}
    assert facts.merge_rule("merge", into, 5) is None
    assert facts.merge_rule("merge", {**into, "rule_version": "2"}, 5) == "2"
    named = {**into, "rule_version": "2", "name_from": '"source"'}
    assert facts.merge_rule("merge", named, 5) == "2.062135596800000005"
    assert facts.merge_rule("unmerge", {}, 5) is None
