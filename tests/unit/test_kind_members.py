"""The values that questions for kinds compared are kept as long as their entities do not change."""

from __future__ import annotations

import pytest

from graphmem.search import owner_copy
from graphmem.search.kinds.kind_plans import Member
from graphmem.search.owner_copy import BYTES_PER_MEMBER, KindKey, KindMembers

INVOICES = KindKey(("invoice",), ("status",), "schema")
TASKS = INVOICES._replace(types=("task",))


def member(entity_id: str, status: str = "open") -> Member:
    return Member(entity_id, "invoice", {"status": status})


def test_what_did_not_change_is_not_missing() -> None:
    kept = KindMembers()
    revisions = {"a": 1, "b": 2}
    assert kept.missing(INVOICES, revisions) == ["a", "b"]
    assert kept.put(INVOICES, revisions, [member("a"), member("b")]) == [member("a"), member("b")]
    assert kept.missing(INVOICES, revisions) == []
    assert kept.missing(INVOICES, {"a": 1, "b": 3, "c": 3}) == ["b", "c"]
    assert kept.missing(TASKS, revisions) == kept.missing(INVOICES._replace(schemas="new"), revisions)
    assert kept.missing(TASKS, revisions) == ["a", "b"]


def test_what_is_read_anew_replaces_what_was_kept_and_what_is_gone_is_dropped() -> None:
    kept = KindMembers()
    kept.put(INVOICES, {"a": 1, "b": 2}, [member("a"), member("b")])
    now = {"b": 3, "c": 3}
    assert kept.put(INVOICES, now, [member("b", "paid"), member("c")]) == [member("b", "paid"), member("c")]
    assert kept.missing(INVOICES, now) == []
    assert kept.bytes == 2 * BYTES_PER_MEMBER
    # An entity that was not there when it was read is asked for again.
    assert kept.put(INVOICES, {**now, "d": 4}, []) == [member("b", "paid"), member("c")]
    assert kept.missing(INVOICES, {**now, "d": 4}) == ["d"]
    # As many are left as before, and one of them is another that was not there when it was read.
    assert kept.put(INVOICES, {"b": 3, "d": 4}, []) == [member("b", "paid")]


def test_the_kind_that_was_asked_for_longest_ago_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_copy, "MEMBERS_LIMIT", 3)
    kept, of_contacts = KindMembers(), INVOICES._replace(types=("contact",))
    two = {"a": 1, "b": 1}
    for key in (INVOICES, TASKS):
        kept.put(key, two, [member("a"), member("b")])
    assert (kept.missing(INVOICES, two), kept.missing(TASKS, two)) == (["a", "b"], [])
    many = dict.fromkeys("abcd", 1)
    kept.put(of_contacts, many, [member(each) for each in many])
    assert (kept.missing(of_contacts, many), kept.missing(TASKS, two)) == ([], ["a", "b"])
