"""Several periods of one relationship, or of the values of one entity: which is shown, at every time."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.database import migrations
from tests.faces.test_sources import with_file
from tests.faces.test_valid_time import is_there, people, relate, snapshot
from tests.support.audits import differences
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call

NOW, THEN = {"since": "2023-02-01"}, {"since": "2019-01-01", "until": "2020-06-30"}
SPELLINGS: list[tuple[dict[str, str], dict[str, str]]] = [
    (NOW, THEN),
    ({"from": "2023-02-01"}, {"from": "2019-01-01", "to": "2020-06-30"}),
    ({"start_date": "2023-02-01"}, {"start_date": "2019-01-01", "end_date": "2020-06-30"}),
    ({"Valid From": "1 February 2023"}, {"Valid From": "2019", "Valid To": "2020-06"}),
    ({"since": "2023"}, {"from": "2019", "to": "2020"}),
]
YEARS = ("2018-06-01", "2019-06-01", "2021-06-01", "2024-06-01")


def shown(run: Call, entity_id: str, **more: Any) -> list[dict[str, Any]]:
    """Return the metadata of the relationships of an entity, without the list of periods."""
    listed = run("relationships.list", entity_id=entity_id, **more)["relationships"]
    return [{name: value for name, value in each["snapshot"].items() if name != "periods"} for each in listed]


@pytest.mark.parametrize(("current", "former"), SPELLINGS)
def test_an_earlier_period_that_is_told_later_does_not_end_the_current_one(
    run: Call, current: dict[str, str], former: dict[str, str]
) -> None:
    a, b = people(run)
    relate(run, a, b, metadata=current)
    relate(run, a, b, metadata=former)
    assert [shown(run, a, at=at) for at in YEARS] == [[], [former], [], [current]]
    assert shown(run, a, current=True) == shown(run, a) == [current]
    (listed,) = run("relationships.list", entity_id=a)["relationships"]
    assert listed["snapshot"]["periods"] == [former, current]
    (then,) = run("relationships.list", entity_id=a, at="2024-06-01")["relationships"]
    assert then["snapshot"]["periods"] == [former, current]
    assert [is_there(run, a, b, at=at) for at in YEARS] == [False, True, False, True]


@pytest.mark.parametrize("way", ["one store", "batch", "reversed"])
def test_two_periods_of_one_store_are_both_shown_at_their_times(run: Call, way: str) -> None:
    a, b = people(run)
    links = [
        {"relationship_type": "WORKS_AT", "source_entity_id": a, "target_entity_id": b, "metadata": metadata}
        for metadata in ((THEN, NOW) if way == "reversed" else (NOW, THEN))
    ]
    if way == "batch":
        run("relationships.create_many", relationships=links)
    else:
        run("store", entities=[{"entity_type": "note", "title": way}], relationships=links)
    assert [shown(run, a, at=at) for at in YEARS] == [[], [THEN], [], [NOW]]
    assert shown(run, a, current=True) == [NOW]


def test_three_periods_in_any_order_give_the_same(run: Call) -> None:
    told = [{"since": "2010", "until": "2012", "role": "clerk"}, {"since": "2018"}, {"until": "2020"}]
    for number, order in enumerate([*permutations(told)][:: 1 if LONG else 2]):
        a, b = people(run, number)
        for place, metadata in enumerate(order):
            relate(run, a, b, metadata=metadata, observed_at=f"2021-01-0{place + 1}")
        assert shown(run, a) == [{"since": "2018", "until": "2020"}], order
        years = [is_there(run, a, b, at=f"{year}-03-01") for year in (2009, 2011, 2014, 2019, 2021)]
        assert years == [False, True, False, True, False]


def test_two_roles_at_once_are_two(run: Call) -> None:
    a, b = people(run)
    first, second = {"role": "CEO", "since": "2020"}, {"role": "board member", "since": "2021"}
    relate(run, a, b, metadata=first)
    relate(run, a, b, metadata=second)
    for clocks in ({}, {"at": "2024-01-01"}):
        (both,) = run("relationships.list", entity_id=a, **clocks)["relationships"]
        assert both["snapshot"] == {**second, "periods": [first, second]}
    assert shown(run, a, at="2020-06-01") == [first]


def test_an_open_period_outlasts_one_that_ended_within_it(run: Call) -> None:
    a, b = people(run)
    relate(run, a, b, metadata={"role": "CEO", "since": "2020"})
    relate(run, a, b, metadata={"role": "board member", "since": "2021", "until": "2022"})
    assert shown(run, a, current=True) == [{"role": "CEO", "since": "2020"}]
    assert is_there(run, a, b, at="2024-01-01")


def test_who_is_told_to_have_left_later_has_left(run: Call) -> None:
    a, b = people(run)
    for metadata in (NOW, THEN, {"until": "2024"}):
        relate(run, a, b, metadata=metadata)
    assert shown(run, a, current=True) == []
    assert shown(run, a) == [{**NOW, "until": "2024"}]
    assert [is_there(run, a, b, at=at) for at in ("2019-06-01", "2024-06-01", "2025-01-01")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("is_registered", [False, True])
def test_withdrawn_periods_are_shown_no_more_and_the_audit_agrees(
    run: Call, loop: Loop, services: Services, owner: str, is_registered: bool
) -> None:
    if is_registered:
        run("schemas.register", schema={"entity_type": "person", "fields": {"address": {"type": "string"}}})
    a, b = people(run)
    link = {"relationship_type": "WORKS_AT", "source_entity_id": a, "target_entity_id": b, "metadata": NOW}
    item = {"entity_type": "person", "name": "Ines Sorel 0", "address": "Kiel", **NOW}
    told = run("store", **with_file(b"dates"), entities=[item], relationships=[link])
    relate(run, a, b, metadata=THEN)
    run("store", entities=[{**item, "address": "Bremen", "since": "", **THEN}])
    assert (shown(run, a), snapshot(run, a)["address"]) == ([NOW], "Kiel")
    for deep in (False, True):
        assert not any(differences(loop, services, owner, deep=deep).values())
    run("sources.withdraw", source_id=told["source_id"], reason="a mistake")
    assert (shown(run, a), snapshot(run, a)["address"]) == ([THEN], "Bremen")
    assert shown(run, a, current=True) == []
    for deep in (False, True):
        assert not any(differences(loop, services, owner, deep=deep).values())


def store(run: Call, **fields: Any) -> str:
    item = {"entity_type": "person", "name": "Ines Sorel", **fields}
    return run("store", entities=[item])["entities"][0]["entity_id"]


@pytest.mark.parametrize(("current", "former"), [each for each in SPELLINGS if "start_date" not in each[0]])
def test_an_earlier_address_that_is_told_later_is_not_the_current_one(
    run: Call, current: dict[str, str], former: dict[str, str]
) -> None:
    entity_id = store(run, address="Kiel", **current)
    store(run, address="Bremen", **former)
    name = {"name": "Ines Sorel"}
    assert snapshot(run, entity_id) == {**name, "address": "Kiel", **current}
    at = [snapshot(run, entity_id, at=at) for at in YEARS[1:]]
    assert at == [
        {**name, "address": "Bremen", **former}, {**name, **former}, {**name, "address": "Kiel", **current}
    ]  # fmt: skip


def test_an_address_without_dates_is_newer_than_one_that_ended_before(run: Call) -> None:
    entity_id = store(run, address="Kiel")
    store(run, address="Bremen", **THEN)
    assert snapshot(run, entity_id)["address"] == "Kiel"
    store(run, address="Ulm", since="2024")
    assert snapshot(run, entity_id)["address"] == "Ulm"


def test_what_an_earlier_version_folded_is_folded_by_periods(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    a, b = people(run)
    for metadata in (NOW, THEN):
        relate(run, a, b, metadata=metadata)
        run("store", entities=[{"entity_type": "person", "name": "Ines Sorel 0", "city": "Kiel", **metadata}])
    older = (
        "MATCH (thing:Entity|Relationship) WHERE thing.owner = $o AND thing.parts IS NOT NULL "
        "SET thing.parts = null, thing.check = null, thing.values = [each IN thing.values | "
        "CASE WHEN each CONTAINS '2023' THEN '\"2019-01-01\"' ELSE each END]"
    )
    loop.run(services.database.script(older, o=owner))
    (migration,) = (each for each in migrations.shipped() if each.name == "periods")
    for statement in migration.statements:
        own = statement.replace("> $after", f"> $after AND owner = '{owner}'")
        own = own.replace(
            "AND owner", "AND relationship.owner" if "(relationship" in own else "AND entity.owner"
        )
        loop.run(migrations._in_batches(services.database, migration, own))  # pyright: ignore
    loop.run(services.writers.refold_withdrawn(owner, 1_000))
    assert (shown(run, a), snapshot(run, a)["since"]) == ([NOW], NOW["since"])


def test_questions_are_answered_by_the_period_that_they_ask_for(run: Call) -> None:
    a, b = people(run)
    relate(run, a, b, metadata=NOW)
    relate(run, a, b, metadata=THEN)

    def first(question: str) -> str:
        lines = run("context.retrieve", question=question)["lines"]
        return next(part for line in lines for part in line.split("; ") if "WORKS_AT" in part)

    assert "formerly" not in first("Who works at Brandt & Sohn 0?")
    assert "since: 2023-02-01" in first("Who works at Brandt & Sohn 0?")
    assert "2020-06-30" not in first("Where does Ines Sorel 0 work?")
    assert "since: 2019-01-01, until: 2020-06-30" in first("Where did Ines Sorel 0 work in 2019?")
    assert "since: 2023-02-01" in first("Where did Ines Sorel 0 work in 2024?")


def test_a_role_that_replaces_another_names_it(run: Call) -> None:
    a, b = people(run)
    ends = {"relationship_type": "WORKS_AT", "source_entity_id": a, "target_entity_id": b}

    def warnings(**metadata: str) -> list[tuple[str, str]]:
        told = run("relationships.create", **ends, metadata=metadata)["store_warnings"]
        assert all("CEO" in each["message"] for each in told)
        return [(each["code"], each["field"]) for each in told]

    assert warnings(role="CEO", since="2020") == []
    assert warnings(role="CEO", since="2020", note="again") == []
    assert warnings(role="board member", since="2021") == []
    assert warnings(role="chair", since="2020") == [("ROLE_REPLACED", "role")]
    a, b = people(run, 1)
    ends |= {"source_entity_id": a, "target_entity_id": b}
    assert warnings(role="CEO") == []
    assert warnings(role="board member") == [("ROLE_REPLACED", "role")]
