"""Damaged rows: lists go on after them, and a check says what is to be done about damaged facts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final, LiteralString

import pytest

from graphmem.context import Context, Services
from graphmem.errors import AuthInvalid, DataDamaged
from graphmem.operations.server import health_of
from graphmem.reading.snapshot_check import audit
from tests.faces.test_damaged_vectors import put
from tests.faces.test_sources import with_file
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.long_cases import mostly_long
from tests.support.walks import walk_over

PEOPLE: Final = 5
DAMAGE: LiteralString = (
    "MATCH (n) WHERE n.owner = $owner AND $label IN labels(n) AND n.id IN $ids SET n[$name] = $value"
)
LISTS: dict[str, tuple[str, dict[str, Any], str, str, str, Any]] = {
    "by id": ("entities.query", {}, "entities", "Entity", "values", 7),
    "by a property": ("entities.query", {"sort_by": "canonical_name"}, "entities", "Entity", "values", 7),
    "by a value": ("entities.query", {"sort_by": "snapshot.born"}, "entities", "Entity", "winners", 7),
    "observations": ("observations.query", {}, "observations", "Observation", "values", 7),
    "relationships": ("relationships.list", {}, "relationships", "Relationship", "values", 7),
    "current relationships": (
        "relationships.list", {"current": True}, "relationships", "Relationship", "values", 7,
    ),
    "events": ("timeline.list", {}, "events", "TimelineEvent", "text", 7),
    "events without a date": ("timeline.list", {}, "events", "TimelineEvent", "text", "text"),
    "runs": ("interpretations.list", {}, "interpretations", "Interpretation", "started_at", "x"),
}  # fmt: skip


@pytest.fixture
def stored(run: Call) -> None:
    people = [{"entity_type": "person", "name": f"Ada {n}", "born": f"18{n}5-01-01"} for n in range(PEOPLE)]
    links = [
        {"relationship_type": "KNOWS", "source_index": n, "target_index": (n + 1) % PEOPLE}
        for n in range(PEOPLE)
    ]
    answer = run("store", entities=people, relationships=links)
    known = [each["entity_id"] for each in answer["entities"]]
    for n in range(PEOPLE):
        source = run("store", entities=[{"target_id": known[n], "letter": n}], **with_file(b"letter %d" % n))
        run(
            "interpretations.create",
            source_id=source["source_id"],
            entities=[{"target_id": known[n], "read": n}],
        )


def pages(run: Call, name: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    page = run(name, **arguments)
    yield page
    while "next_cursor" in page:
        page = run(name, **arguments, cursor=page["next_cursor"])
        yield page


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("case", LISTS)
def test_a_list_goes_on_after_pages_of_which_each_row_is_damaged(
    case: str, run: Call, loop: Loop, services: Services, owner: str
) -> None:
    name, arguments, member, label, column, value = LISTS[case]
    before = [each for page in pages(run, name, limit=1, **arguments) for each in page[member]]
    damaged = [text for each in before[1:4] for text in each.values() if isinstance(text, str)]
    put(loop, services, DAMAGE, owner=owner, label=label, ids=damaged, name=column, value=value)
    for limit in (1, 2):
        found = list(pages(run, name, limit=limit, **arguments))
        assert [each for page in found for each in page[member]] == [before[0], *before[4:]]
        assert len({each["entity_id"] for page in found for each in page.get("left_out", ())}) == 3


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("checked", mostly_long([7, "text"], "text"))
def test_a_context_leaves_out_an_entity_whose_parts_do_not_fit(
    run: Call, loop: Loop, services: Services, owner: str, checked: Any
) -> None:
    ids = [each["entity_id"] for each in run("entities.query", sort_by="canonical_name")["entities"]]
    by_id: LiteralString = "MATCH (n:Entity {id: $id}) SET n.check = $checked"
    put(loop, services, by_id, id=ids[1], checked=checked)
    answer = run("context.retrieve", question="Who is Ada 0, and whom does Ada 0 know?")
    assert any("Ada 0" in str(line) for line in answer["lines"])
    assert [each["entity_id"] for each in answer["left_out"]] == [ids[1]]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("size", mostly_long([None, "text"], "text"))
def test_a_damaged_size_ends_no_page(
    run: Call, loop: Loop, services: Services, owner: str, size: Any
) -> None:
    before = run("entities.query")["entities"]
    put(loop, services, "MATCH (n:Entity {owner: $owner}) SET n.size = $size", owner=owner, size=size)
    assert run("entities.query")["entities"] == before


@pytest.mark.usefixtures("stored")
@walk_over(
    "label, name, value",
    [
        ("Entity", "live", "text"), ("Entity", "live", None), ("Entity", "type", 7), ("Entity", "type", None),
        ("Relationship", "last_observation_at", "text"), ("Relationship", "last_observation_at", None),
        ("Relationship", "version", "text"), ("Relationship", "type", None),
        ("Entity", "type", "company"), ("Relationship", "type", "OTHER"),
        ("Entity", "type", ["text"]), ("Entity", "id", "ent_0"), ("Entity", "id", None),
        ("Relationship", "key", None), ("Relationship", "turn", ["text"]),
        ("Relationship", "target", "ent_0"), ("Identifier", "kind", 7),
        ("TimelineEvent", "id", None), ("Count", "type", 7),
    ],
    one_of=3,
)  # fmt: skip
def test_a_check_mends_what_its_order_or_its_types_would_leave_out(
    run: Call, loop: Loop, services: Services, owner: str, label: str, name: str, value: Any
) -> None:
    context = Context(full_actor(owner), services)
    reads = ("entities.query", "relationships.list", "schemas.list", "server.stats")
    before = [run(read) for read in reads]
    damage: LiteralString = (
        "MATCH (n) WHERE n.owner = $owner AND $label IN labels(n) WITH n LIMIT 1 SET n[$name] = $value"
    )
    put(loop, services, damage, owner=owner, label=label, name=name, value=value)
    assert not health_of(loop.run(audit(context, fix=False)))["healthy"]
    assert health_of(loop.run(audit(context, fix=True)))["healthy"]
    assert health_of(loop.run(audit(context, fix=False)))["healthy"]
    assert [run(read) for read in reads] == before


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("damage", "read", "arguments"),
    [
        ("MATCH (n:Entity {owner: $owner}) SET n.ranks = []", "entities.contested", {}),
        ("MATCH (n:Observation {owner: $owner}) SET n.values = []", "changes.list", {}),
        ("MATCH (n:Entity {owner: $owner}) SET n.listed = 7", "entities.query", {"search": "Ada"}),
        (
            "MATCH (n:Source {owner: $owner}) SET n.content_hash = 'text'",
            "sources.get",
            {"include_text": True},
        ),
        ("MATCH (:Entity {owner: $owner})-[r:KNOWS]->() SET r.key = r.key + '0'", "entities.related", {}),
    ],
)
def test_no_read_of_what_is_damaged_is_a_500(
    run: Call, loop: Loop, services: Services, owner: str, damage: LiteralString, read: str, arguments: Any
) -> None:
    place = {
        "sources.get": {"source_id": run("sources.list")["sources"][0]["source_id"]},
        "entities.related": {"entity_id": run("entities.query")["entities"][0]["entity_id"]},
    }
    put(loop, services, damage, owner=owner)
    with contextlib.suppress(DataDamaged):
        assert run(read, **arguments, **place.get(read, {}))["left_out"]


def test_a_check_names_a_long_value_of_which_the_end_is_damaged(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    run("store", entities=[{"entity_type": "note", "name": "Ada", "text": "x" * 1_000}])
    damage: LiteralString = (
        "MATCH (n:Entity {owner: $owner}) SET n.values = [value IN n.values | replace(value, 'xx\"', 'xy\"')]"
    )
    put(loop, services, damage, owner=owner)
    checked = run("server.check_snapshots")
    assert [each["what"] for each in checked["stale_snapshots"][0]["differences"]] == ["field text"]
    assert run("server.check_snapshots", auto_fix=True)["healthy"]


@pytest.mark.usefixtures("stored")
def test_a_check_takes_nothing_away_from_an_owner_whose_clock_is_behind(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    before = run("entities.query")
    put(loop, services, "MATCH (n:Owner {id: $owner}) SET n.recorded_at = 0", owner=owner)
    with pytest.raises(DataDamaged, match=owner):
        loop.run(audit(Context(full_actor(owner), services), fix=True, deep=True))
    assert run("entities.query") == before


@pytest.mark.usefixtures("stored")
def test_a_check_says_what_to_do_about_a_damaged_fact_and_that_mends_it(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    context = Context(full_actor(owner), services)
    (fact, *_) = run("observations.query", filters={"entity_type": "person"})["observations"]
    by_id: LiteralString = "MATCH (n:Observation {id: $id})"
    put(loop, services, f"{by_id} SET n.values = 7", id=fact["id"])
    for fix in (False, True):
        health = health_of(loop.run(audit(context, fix=fix, deep=True)))
        assert not health["healthy"]
        assert fact["id"] in {each["id"] for each in health["stale_snapshots"]}
        assert "Restore a backup" in health["message"]
    put(loop, services, f"{by_id} DETACH DELETE n", id=fact["id"])
    assert health_of(loop.run(audit(context, fix=True, deep=True)))["healthy"]
    assert health_of(loop.run(audit(context, fix=False, deep=True)))["healthy"]
    assert "auto_fix repairs them" in _of_a_derived_difference(loop, services, owner)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("value", mostly_long([7, None, "text"], None))
def test_changes_are_listed_without_the_key_of_their_owner_and_a_check_mends_it(
    run: Call, loop: Loop, services: Services, owner: str, value: Any
) -> None:
    def changes() -> list[dict[str, Any]]:
        return [{**each, "cursor": ""} for each in run("changes.list")["changes"]]

    before = changes()
    put(loop, services, "MATCH (n:Owner {id: $owner}) SET n.node_key = $value", owner=owner, value=value)
    assert changes() == before
    (named,) = run("server.check_snapshots")["stale_snapshots"]
    assert [each["what"] for each in named["differences"]] == ["node_key"]
    assert run("server.check_snapshots", auto_fix=True)["healthy"]
    assert changes() == before
    last = before[0]["transaction_id"]
    after = run("changes.list", after=run("changes.list")["changes"][-1]["cursor"], limit=100)
    assert after["changes"][-1]["transaction_id"] == last


def _of_a_derived_difference(loop: Loop, services: Services, owner: str) -> str:
    put(loop, services, "MATCH (n:Entity {owner: $owner}) SET n.name = 'other'", owner=owner)
    return health_of(loop.run(audit(Context(full_actor(owner), services), fix=False)))["message"]


@pytest.mark.parametrize("value", ["text", None, [1]])
@pytest.mark.parametrize("name", ["sequence", "revision", "recorded_at", "state_hash"])
def test_a_write_to_an_owner_whose_node_is_damaged_fails_before_it_commits(
    run: Call, loop: Loop, services: Services, owner: str, name: str, value: Any
) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    count: LiteralString = "MATCH (n:Transaction {owner: $owner}) RETURN count(*) AS written"
    owner_node: LiteralString = "MATCH (n:Owner {id: $owner})"
    before = loop.run(services.database.script(f"{owner_node} RETURN properties(n) AS stored", owner=owner))
    put(loop, services, f"{owner_node} SET n[$name] = $value", owner=owner, name=name, value=value)
    is_refused = False
    try:
        # The database refuses revisions of entities that are texts, and takes that of the owner.
        run("store", **with_file(b"a letter"))
    except DataDamaged:
        is_refused = True
    except AuthInvalid:
        # An owner without a revision is being erased.
        is_refused = (name, value) == ("revision", None)
    assert is_refused is (name != "state_hash")
    (row,) = loop.run(services.database.script(count, owner=owner))
    assert (row["written"] == 1) is is_refused
    put(
        loop,
        services,
        f"{owner_node} SET n[$name] = $value",
        owner=owner,
        name=name,
        value=before[0]["stored"][name],
    )
    if is_refused:
        assert run("store", entities=[{"entity_type": "person", "name": "Grace"}])["success"]
