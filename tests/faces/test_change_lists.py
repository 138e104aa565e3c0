"""Lists of changes by type and entity: they have what the list of all has, and find what is rare at once."""

from __future__ import annotations

from typing import Any

from graphmem.changes import change_pages
from graphmem.changes.change_pages import NewestFirst
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.model import times
from graphmem.registry import Context, Services
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import by_runner


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
