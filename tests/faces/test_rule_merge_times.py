"""When merges by rule hold: from the transaction that makes one until the one that ends it."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound
from graphmem.reading import recomputed
from graphmem.storing import acceptance
from graphmem.writing import writers
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.rule_merging import (
    ADA,
    ADA_BY_EMAIL,
    OTHER_ADA,
    Audited,
    before,
    file_of,
    home_of,
    shown_as,
    store,
)
from tests.support.statements import counted
from tests.support.worker_pass import fold_withdrawn


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have withdrawals wait for the worker."""
    monkeypatch.setattr(acceptance, "APPLIED_AT_ONCE", 0)


def changed(run: Call, name: str, **arguments: Any) -> str:
    """Call an operation; return when it was recorded."""
    return run(name, **arguments)["recorded_at"]


def holds(run: Call, entity_id: str, into: str, start: str, until: str | None = None) -> bool:
    """Return whether an entity leads to another from one time until before another, and else to itself."""
    expected = {before(start): entity_id, start: into}
    if until is not None:
        expected |= {before(until): into, until: entity_id}
    return all(shown_as(run, entity_id, at_ingested=moment) == [shown] for moment, shown in expected.items())


def test_a_merge_holds_from_the_transaction_that_makes_it_until_the_one_that_ends_it(
    run: Call, audited: Audited
) -> None:
    by_name = home_of(run, ADA)
    start = changed(run, "store", entities=[ADA_BY_EMAIL])
    (by_email,) = shown_as(run, by_name)
    end = changed(run, "store", entities=[OTHER_ADA])
    assert by_email != by_name
    assert holds(run, by_name, by_email, start, end)
    assert audited(False) == {}


def test_a_merge_holds_for_every_time_of_observation(run: Call) -> None:
    by_name = home_of(run, {**ADA, "town": "Bath", "observed_at": "1990-01-01"})
    by_email = home_of(run, {**ADA_BY_EMAIL, "town": "Rome", "observed_at": "1995-01-01"})
    for at, town in (("1992-01-01", "Bath"), ("1996-01-01", "Rome")):
        entity = run("entities.snapshot", entity_id=by_name, at=at)
        assert (entity["entity_id"], entity["snapshot"]["town"]) == (by_email, town)
    end = changed(run, "store", entities=[OTHER_ADA])
    assert shown_as(run, by_name, at="1992-01-01") == [by_name]
    assert shown_as(run, by_name, at="1992-01-01", at_ingested=before(end)) == [by_email]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_withdrawal_makes_and_ends_merges_when_it_is_recorded(
    run: Call, loop: Loop, services: Services, audited: Audited, request: pytest.FixtureRequest, is_late: bool
) -> None:
    if is_late:
        request.getfixturevalue("waiting")
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    file, _ = file_of(run, OTHER_ADA)
    start = changed(run, "sources.withdraw", source_id=file)
    if is_late:
        assert shown_as(run, by_name) == [by_name]
        fold_withdrawn(loop, services, run)
    end = changed(run, "sources.reinstate", source_id=file)
    if is_late:
        assert shown_as(run, by_name) == [by_email]
        fold_withdrawn(loop, services, run)
    assert shown_as(run, by_name) == [by_name]
    assert holds(run, by_name, by_email, start, end)
    assert audited(False) == {}


@pytest.mark.usefixtures("waiting")
def test_a_late_merge_by_rule_leaves_later_changes_as_they_are(
    run: Call, loop: Loop, services: Services, audited: Audited
) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    file, _ = file_of(run, OTHER_ADA)
    start = changed(run, "sources.withdraw", source_id=file)
    last = changed(run, "store", entities=[{**ADA_BY_EMAIL, "town": "London"}])
    fold_withdrawn(loop, services, run)
    assert holds(run, by_name, by_email, start)
    assert len(run("entities.query", updated_since=last)["entities"]) == 1
    assert audited(True) == {}


@pytest.mark.usefixtures("waiting")
def test_a_version_counts_a_withdrawal_once_however_late_its_parts_are_folded(
    run: Call, loop: Loop, services: Services, audited: Audited
) -> None:
    king = {**ADA, "name": "Augusta King"}
    by_email = home_of(run, ADA_BY_EMAIL)
    store(run, {"target_id": by_email, "name": "Augusta King"})
    ada, augusta = home_of(run, ADA), home_of(run, king)
    file, others = file_of(run, OTHER_ADA, {**king, "email": "augusta@example.com"})
    assert shown_as(run, ada, augusta) == [ada, augusta]
    run("sources.withdraw", source_id=file)
    with pytest.raises(NotFound):
        # What is read is folded first: the other one waits.
        run("entities.get", entity_id=others[0])
    store(run, {**ADA_BY_EMAIL, "town": "London"})
    fold_withdrawn(loop, services, run)
    assert shown_as(run, ada, augusta) == [by_email] * 2
    assert audited(True) == {}


@pytest.mark.usefixtures("waiting")
def test_a_late_merge_by_rule_counts_what_was_said_of_its_member_since_then(
    run: Call, loop: Loop, services: Services, audited: Audited
) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    file, _ = file_of(run, OTHER_ADA, {**ADA_BY_EMAIL, "town": "Bath"})
    run("sources.withdraw", source_id=file)
    run("entities.correct", entity_id=by_name, field="town", value="London")
    fold_withdrawn(loop, services, run)
    assert shown_as(run, by_name) == [by_email]
    assert audited(True) == {}


def test_a_withdrawal_that_is_folded_in_parts_leaves_no_merge_that_it_ends_itself(
    run: Call, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "REFOLDED_LIMIT", 1)
    # What has the lesser id is folded first.
    items = [{**ADA, "email": f"{each}@example.org"} for each in ("other", "another")]
    first, second = sorted(items, key=lambda item: store(run, item, commit=False)[0]["entity_id"])
    by_name, _ = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    store(run, {"target_id": by_name, "birthday": "1815-12-10"})
    store(run, second)
    file, _ = file_of(run, first, {**second, "birthday": "1990-01-01"})
    assert shown_as(run, by_name) == [by_name]
    moment = changed(run, "sources.withdraw", source_id=file)
    assert shown_as(run, by_name) == [by_name]
    assert shown_as(run, by_name, at_ingested=moment) == [by_name]
    assert audited(True) == {}


@pytest.mark.usefixtures("waiting")
def test_withdrawals_that_wait_together_make_merges_each_at_its_own_time(
    run: Call, loop: Loop, services: Services, audited: Audited
) -> None:
    bob = {**ADA, "name": "Robert Miller"}
    ada, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    robert, by_other_email = home_of(run, bob), home_of(run, {**bob, "email": "robert@example.org"})
    files = [file_of(run, item)[0] for item in (OTHER_ADA, {**bob, "email": "robert@example.com"})]
    starts = [changed(run, "sources.withdraw", source_id=file) for file in files]
    fold_withdrawn(loop, services, run)
    assert holds(run, ada, by_email, starts[0])
    assert holds(run, robert, by_other_email, starts[1])
    assert audited(True) == {}


@pytest.mark.usefixtures("waiting")
def test_what_was_so_before_a_withdrawal_was_folded_in_is_known_afterwards(
    run: Call, loop: Loop, services: Services, audited: Audited
) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    file, _ = file_of(run, OTHER_ADA)
    start = changed(run, "sources.withdraw", source_id=file)
    end = changed(run, "store", entities=[{**ADA, "email": "third@example.com"}])
    fold_withdrawn(loop, services, run)
    assert shown_as(run, by_name) == [by_name]
    assert holds(run, by_name, by_email, start, end)
    assert audited(True) == {}


@pytest.mark.usefixtures("waiting")
def test_a_withdrawal_that_is_undone_before_it_was_folded_in_held_for_a_while(
    run: Call, loop: Loop, services: Services, audited: Audited
) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    file, _ = file_of(run, OTHER_ADA)
    start, end = (changed(run, f"sources.{each}", source_id=file) for each in ("withdraw", "reinstate"))
    fold_withdrawn(loop, services, run)
    assert shown_as(run, by_name) == [by_name]
    assert holds(run, by_name, by_email, start, end)
    assert audited(True) == {}


def test_a_page_that_needs_too_much_evidence_is_refused_and_says_what_to_do(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    start = run("server.stats")["last_updated"]
    monkeypatch.setattr(recomputed, "EVIDENCE_LIMIT", 1)
    with pytest.raises(InvalidInput, match=r"at most 1 pieces of evidence.*give a smaller limit"):
        shown_as(run, by_name, at_ingested=start)
    assert shown_as(run, by_name) == [by_email]
    monkeypatch.setattr(recomputed, "EVIDENCE_LIMIT", 2)
    assert shown_as(run, by_name, at_ingested=start) == [by_email]


@pytest.mark.usefixtures("waiting")
def test_changes_are_told_and_earlier_times_are_right_before_a_withdrawal_is_folded_in(run: Call) -> None:
    by_name, by_email = home_of(run, ADA), home_of(run, ADA_BY_EMAIL)
    file, _ = file_of(run, OTHER_ADA)
    after = run("changes.list")["resume_cursor"]
    start = changed(run, "sources.withdraw", source_id=file)
    end = changed(run, "store", entities=[{**ADA, "email": "third@example.com"}])
    answer = run("changes.list", after=after)
    assert {"source.withdrawn", "entity.created"} <= {each["event_type"] for each in answer["changes"]}
    assert "changes_pending" not in answer
    assert holds(run, by_name, by_email, start, end)


def test_a_page_of_an_earlier_time_costs_its_statements_however_many_are_merged(
    run: Call, services: Services
) -> None:
    names = [
        f"{given} {surname}er" for given in ("Ada", "Adam", "Emma", "Emil") for surname in ("Mill", "Bak")
    ]
    people = [{"entity_type": "person", "name": name} for name in names]
    people += [{**each, "email": f"{number}@example.org"} for number, each in enumerate(people)]
    run("store", entities=people, find_duplicates=False)
    known_at = run("server.stats")["last_updated"]
    page = {"entity_type": "person", "limit": 100}
    with counted(services.database) as statements:
        then = run("entities.query", **page, at_ingested=known_at)["entities"]
    assert len(statements) <= 8, statements
    now = run("entities.query", **page)["entities"]
    # "Ada" may be a slip of "Adam", so that only half of them are merged by the name.
    assert len(now) == len(names) + 4
    assert [each["entity_id"] for each in then] == [each["entity_id"] for each in now]
