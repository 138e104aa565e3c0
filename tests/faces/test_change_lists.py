"""Lists of changes by type and entity: they have what the list of all has, and find what is rare at once."""

from __future__ import annotations

from typing import Any

from graphmem.changes import change_pages
from graphmem.changes.change_pages import NewestFirst
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.checking import rule_dates
from graphmem.model import times
from graphmem.registry import Context, Services
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.statements import counted, writes
from tests.support.worker_pass import fold_all


def test_a_list_by_type_or_entity_has_the_cursors_of_the_list_of_all(
    loop: Loop, services: Services, owner: str
) -> None:
    call = by_runner(loop, services, owner)

    def store(**numbers: int) -> dict[str, str]:
        items: list[dict[str, Any]] = [
            {"entity_type": kind, "title": kind, "number": number} for kind, number in numbers.items()
        ]
        entities = call("store", entities=items)["entities"]
        return {each["entity_id"]: kind for each, kind in zip(entities, numbers, strict=True)}

    kinds = store(task=1, chore=1, errand=1)
    # Within a transaction changes stand by the id of their entity: those of the others would come before.
    entity_id, kind = max(kinds.items())
    # The others change in a transaction that lists of this entity or its type leave out.
    store(**{other: 2 for other in kinds.values() if other != kind})
    store(task=2, chore=2, errand=2)
    every = call("changes.list")["changes"]
    own = [each for each in every if each.get("entity_id") == entity_id]
    assert [each["event_type"] for each in own] == ["entity.updated", "entity.created"]
    for wanted in ({"entity_id": entity_id}, {"event_types": ["entity.created", "entity.updated"]}):
        assert call("changes.list", entity_type=kind, **wanted)["changes"] == own


def test_changes_of_a_rare_type_are_found_behind_those_of_others(
    loop: Loop, services: Services, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    call("store", entities=[{"entity_type": "chore", "title": "sweep"}])
    for number in range(3):
        call("store", entities=[{"entity_type": "note", "title": f"note {number}"}])

    def newest(entity_type: str) -> list[str]:
        wanted = WantedChanges(entity_types=frozenset([entity_type]))
        request = NewestFirst(wanted, times.EARLIEST, times.LATEST, None, count=20, transactions=1)
        context = Context(full_actor(owner), services)
        return [each.kind for each in loop.run(change_pages.newest_first(context, request)).changes]

    assert newest("chore")[-1] in ("entity.created", "schema.registered")
    assert newest("chroe") == []
    page = call("changes.list", entity_type="chroe")
    assert (page["changes"], "next_cursor" in page) == ([], False)


def test_changes_are_told_while_a_changed_rule_is_dated_anew_and_reading_does_none_of_it(
    loop: Loop, services: Services, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    rules = [["title"], ["isbn", "title"]]
    for names in rules:
        call(
            "schemas.register", entity_type="book",
            schema={"fields": {"title": "string", "isbn": "string"}, "canonical_name_fields": names},
        )  # fmt: skip
    # Nothing waits to be folded: reading would have dated anew.
    fold_all(loop, services, call)
    after = call("changes.list")["resume_cursor"]
    call("store", entities=[{"entity_type": "book", "title": f"Dune {number}"} for number in range(3)])
    with counted(services.database) as statements:
        answer = call("changes.list", after=after)
    assert [each["event_type"] for each in answer["changes"]] == ["entity.created"] * 3
    assert "changes_pending" not in answer
    assert len(statements) <= 6, statements
    assert not writes(statements)


def test_changes_wait_for_the_worker_where_a_withdrawal_makes_dates_uncertain(
    loop: Loop, services: Services, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    call("store", entities=[{"entity_type": "book", "title": "Emma"}])
    after = call("changes.list")["resume_cursor"]
    call("store", entities=[{"entity_type": "book", "title": "Dune"}])
    # So a turn leaves an owner that folds a withdrawal in after other writes.
    uncertain = (
        "MATCH (o:Owner {id: $owner}) SET o.undated = o.revision, o.unordered = true, o.refolding = true"
    )
    loop.run(services.database.script(uncertain, owner=owner))
    with counted(services.database) as statements:
        answer = call("changes.list", after=after)
    assert (answer["changes"], answer["changes_pending"]) == ([], True)
    assert len(statements) <= 6, statements
    assert not writes(statements)
    loop.run(rule_dates.mend_undated(services.database, owner, services.writers))
    told = call("changes.list", after=after)
    assert [each["event_type"] for each in told["changes"]] == ["entity.created"]
    assert "changes_pending" not in told
