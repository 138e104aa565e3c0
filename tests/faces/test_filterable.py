"""Fields that a schema declares filterable: their stored values, and how filters and orders read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphmem.context import Services
from tests.faces.test_query import FIELD, WINE, ids, store, walked
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.worker_pass import fold_all


def registered(run: Call, loop: Loop, services: Services, *fields: str) -> None:
    document = {**WINE, "mismatch": "show", "fields": {"name": "string", **dict.fromkeys(fields, FIELD)}}
    run("schemas.register", schema=document)
    fold_all(loop, services, run)


def kept(run: Call, loop: Loop, services: Services, owner: str) -> dict[str, list[tuple[str, str]]]:
    """Return the filterable values that the database holds, by entity."""
    rows = loop.run(
        services.database.script(
            "MATCH (n:FieldValue {owner: $owner}) "
            "RETURN n.entity_id AS id, n.field AS field, n.value AS value ORDER BY id, field, value",
            owner=owner,
        )
    )
    values_by_entity: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        values_by_entity.setdefault(row["id"], []).append((row["field"], row["value"]))
    return values_by_entity


def test_a_filterable_field_is_found_without_reading_the_others(
    run: Call, loop: Loop, services: Services
) -> None:
    registered(run, loop, services, "code", "year")
    wine_ids = store(run, *({"name": f"n{i}", "code": f"C {i:03d}", "year": i % 10} for i in range(200)))
    for wanted, positions, most in (
        ({"code": {"op": "eq", "value": "c 007"}}, [7], 1),
        ({"code": {"op": "contains", "value": "199"}}, [199], 200),
        ({"code": {"op": "gt", "value": "C 197"}}, [198, 199], 3),
        ({"year": {"op": "eq", "value": 3.0}, "code": {"op": "lt", "value": "C 020"}}, [3, 13], 20),
    ):
        page = run("entities.query", entity_type="wine", snapshot_filters=wanted)
        assert ids(page) == sorted(wine_ids[i] for i in positions)
        assert len(positions) <= page["scanned"] <= most
    by_year = {"entity_type": "wine", "sort_by": "snapshot.year", "sort_order": "desc"}
    first = run("entities.query", **by_year, limit=20, include_total_count=True)
    assert ids(first) == sorted(wine_ids[9::10], reverse=True)
    assert first["total"] == 200
    assert len(list(walked(run, **by_year, limit=7))) == 200
    # Another type's entities are in no index: all of them are compared.
    store(run, {"name": "x", "code": "C 007"}, kind="beer")
    both = run("entities.query", snapshot_filters={"code": {"op": "eq", "value": "c 007"}})
    assert (len(ids(both)), both["scanned"]) == (2, 201)


def test_what_is_declared_later_is_read_from_the_index_once_all_is_folded(
    run: Call, loop: Loop, services: Services
) -> None:
    wine_ids = store(run, *({"name": f"n{i}", "code": f"C{i}"} for i in range(30)))
    document = {**WINE, "mismatch": "show", "fields": {"name": "string", "code": FIELD}}
    run("schemas.register", schema=document)
    query = {"entity_type": "wine", "snapshot_filters": {"code": {"op": "eq", "value": "c7"}}}
    before = run("entities.query", **query)
    assert (ids(before), before["scanned"]) == ([wine_ids[7]], 30)
    fold_all(loop, services, run)
    after = run("entities.query", **query)
    assert (ids(after), after["scanned"]) == ([wine_ids[7]], 1)
    run("schemas.update", entity_type="wine", new_fields={"code": {"type": "string", "filterable": False}})
    fold_all(loop, services, run)
    again = run("entities.query", **query)
    assert (ids(again), again["scanned"]) == ([wine_ids[7]], 30)


def test_filterable_values_follow_the_entity(run: Call, loop: Loop, services: Services, owner: str) -> None:
    registered(run, loop, services, "code")
    a, b = store(run, {"name": "a", "code": "X"}, {"name": "b", "code": ["y", 1, "Y"]})
    held = {a: [("code", "2x")], b: [("code", "e02" + "50001" + "1"), ("code", "e2y"), ("code", "~")]}
    assert kept(run, loop, services, owner) == held
    run("entities.correct", entity_id=a, field="code", value="z")
    assert kept(run, loop, services, owner)[a] == [("code", "2z")]
    run("entities.delete", entity_id=a)
    assert a not in kept(run, loop, services, owner)
    run("entities.restore", entity_id=a)
    run("entities.merge", source_entity_id=b, target_entity_id=a)
    assert list(kept(run, loop, services, owner)) == [a]
    run("entities.unmerge", source_entity_id=b)
    assert kept(run, loop, services, owner) == {**held, a: [("code", "2z")]}
    run("entities.correct", entity_id=a, field="code", value=[f"v{i}" for i in range(200)])
    assert kept(run, loop, services, owner)[a] == [("code", "f"), ("code", "~")]
    page = run("entities.query", entity_type="wine", snapshot_filters={"code": {"op": "eq", "value": "V199"}})
    assert ids(page) == [a]
    assert run("server.check_snapshots")["healthy"]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("MATCH (n:FieldValue {owner: $owner}) DETACH DELETE n", "values"),
        ("MATCH (n:FieldValue {owner: $owner}) SET n.value = '2other'", "values"),
        ("MATCH (n:FieldValue {owner: $owner}) SET n.entity_id = 'ent_0'", "values"),
        ("MATCH (n:FieldValue {owner: $owner}) SET n.type = 'beer'", "values"),
        ("MATCH (e:Entity {owner: $owner})-[:HAS_VALUE]->(n) CREATE (e)-[:HAS_VALUE]->(:FieldValue "
         "{owner: $owner, type: 'wine', field: 'gone', value: '2x', entity_id: e.id})", "values"),
        ("MATCH (e:Entity {owner: $owner}) SET e.name_key = 'other'", "name_key"),
        ("MATCH (e:Entity {owner: $owner}) SET e.updated_at = 1", "updated_at"),
        ("MATCH (e:Entity {owner: $owner}) SET e.unlisted = e.type", "unlisted"),
    ],
    ids=range(8),
)  # fmt: skip
def test_damage_is_told_and_mended(
    run: Call, loop: Loop, services: Services, owner: str, damage: Any, what: str
) -> None:
    registered(run, loop, services, "code")
    (a,) = store(run, {"name": "a", "code": "x"})
    before = kept(run, loop, services, owner)
    loop.run(services.database.script(damage, owner=owner))
    report = run("server.check_snapshots")
    assert not report["healthy"]
    assert what in json.dumps(report["stale_snapshots"])
    assert run("server.check_snapshots", auto_fix=True)["fixed"] >= 1
    assert run("server.check_snapshots")["healthy"]
    assert kept(run, loop, services, owner) == before
    query = {"entity_type": "wine", "snapshot_filters": {"code": {"op": "eq", "value": "X"}}}
    assert ids(run("entities.query", **query)) == [a]
