"""More entities of one name than the rule compares: nothing is merged under this name."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.model import rule_merges
from tests.support.faces import Call
from tests.support.rule_merging import ADA, Audited, file_of, home_of, homes, shown_as, store


def ada(number: int) -> dict[str, Any]:
    """Return one of many who have one name."""
    return {**ADA, "email": f"{number}@example.org"}


def test_one_too_many_ends_a_merge_at_once(
    run: Call, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_merges, "BEARERS_LIMIT", 3)
    by_name = home_of(run, ADA)
    store(run, {"target_id": by_name, "email": ada(0)["email"]})
    # Their addresses say that the others are others.
    (first, *_) = [home_of(run, ada(number)) for number in range(3)]
    assert shown_as(run, by_name) == [first]
    home_of(run, ada(3))
    assert shown_as(run, by_name) == [by_name]
    assert home_of(run, ADA) == by_name
    assert audited(True) == {}


@pytest.mark.long  # 240 people: a smaller limit is not that of workers of other processes, which fold too
def test_too_many_of_whom_some_are_withdrawn_are_counted_whole(run: Call, audited: Audited) -> None:
    limit = rule_merges.BEARERS_LIMIT
    by_name = home_of(run, ADA)
    store(run, {"target_id": by_name, "email": ada(0)["email"]})
    store(run, *(ada(number) for number in range(limit)), find_duplicates=False)
    (fitting,) = homes(store(run, ada(0)))
    file_of_many, _ = file_of(run, *(ada(number) for number in range(limit + 1, limit + 21)))
    file_of_one, _ = file_of(run, ada(limit))
    assert shown_as(run, by_name) == [by_name]
    run("sources.withdraw", source_id=file_of_many)
    # One too many are left, and fewer of those that a turn reads at first.
    assert shown_as(run, by_name) == [by_name]
    assert audited(False) == {}
    run("sources.reinstate", source_id=file_of_many)
    run("sources.withdraw", source_id=file_of_one)
    assert shown_as(run, by_name) == [by_name]
    run("sources.withdraw", source_id=file_of_many)
    assert shown_as(run, by_name) == [fitting]
    assert audited(False) == {}
