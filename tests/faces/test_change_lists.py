"""Lists of changes by type and entity: they have what the list of all has, and find what is rare at once."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from graphmem.changes import change_pages, recorded_transactions
from graphmem.changes.change import Change
from graphmem.changes.change_pages import NewestFirst
from graphmem.changes.derived_changes import changes_of
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context, Services
from graphmem.errors import GraphmemError
from graphmem.model import times
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call, by_runner
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
        changes, _ = loop.run(change_pages.newest_first(context, request))
        return [each.kind for each in changes]

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


def write_at_random(call: Call, seed: int, size: int) -> None:
    """Store tasks and notes with links, and merge, change, delete, restore and split off some of them."""
    choices = random.Random(seed)
    merged, deleted = list[str](), list[str]()
    call("schemas.register", entity_type="task", schema={"fields": {"title": {"type": "string"}}})
    items = [{"entity_type": ("task", "note")[n % 2], "title": f"title {n}"} for n in range(size)]
    stored = [each["entity_id"] for each in call("store", entities=items, find_duplicates=False)["entities"]]
    for number in range(4 * size):
        one, other = choices.sample([*stored[number % 2 :: 2]], 2)
        pair = {"source_entity_id": one, "target_entity_id": other}
        kind = choices.choice(
            ["merge", "unmerge", "delete", "restore", "update", "update", "link", "correct"]
        )
        try:
            if kind == "merge":
                call("entities.merge", **pair)
                merged.append(one)
            elif kind == "unmerge" and merged:
                call("entities.unmerge", source_entity_id=choices.choice(merged))
            elif kind == "delete":
                call("entities.delete", entity_id=one)
                deleted.append(one)
            elif kind == "restore" and deleted:
                call("entities.restore", entity_id=choices.choice(deleted))
            elif kind == "update":
                both = [{"target_id": each, "state": number} for each in (one, choices.choice(stored))]
                call("store", entities=both)
            elif kind == "link":
                call("relationships.create", relationship_type="PART_OF", **pair)
            elif kind == "correct":
                call("entities.correct", entity_id=other, field="title", value=f"corrected {number}")
        except GraphmemError:
            # What is merged or deleted already stays so.
            continue


def test_changes_of_many_transactions_are_those_of_each_alone(
    loop: Loop, services: Services, owner: str
) -> None:
    call = by_runner(loop, services, owner)
    write_at_random(call, 7, 16 if LONG else 10)
    context = Context(full_actor(owner), services)

    async def compared() -> tuple[list[Change], list[Change]]:
        stretch = await recorded_transactions.since(context, 0, 1_000, 1_000)
        together, kept = await changes_of(context, stretch.transactions)
        assert kept == stretch.transactions
        alone = [change for each in kept for change in (await changes_of(context, [each], is_whole=False))[0]]
        return together, alone

    together, alone = loop.run(compared())
    assert {each.kind for each in together} >= {
        "entity.merged", "entity.unmerged", "entity.deleted", "entity.restored", "entity.updated",
        "entity.corrected", "relationship.created",
    }  # fmt: skip
    assert together == alone


def test_pages_of_changes_take_few_statements_and_tile_whatever_was_merged(
    loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not LONG:
        monkeypatch.setattr(change_pages, "RARE_ENTITIES", 40)
    call = by_runner(loop, services, owner)
    write_at_random(call, 8, 12 if LONG else 8)
    tasks = [{"entity_type": "task", "title": f"more {n}"} for n in range(change_pages.RARE_ENTITIES + 1)]
    stored = call("store", entities=tasks, find_duplicates=False)["entities"]
    for one, other in zip(stored[:12:2], stored[1:12:2], strict=True):
        pair = {"source_entity_id": one["entity_id"], "target_entity_id": other["entity_id"]}
        call("entities.merge", **pair)
    oldest_first = call("changes.list", after="", limit=500)["changes"]
    types = {each["entity_id"]: each["entity_type"] for each in oldest_first if "entity_id" in each}
    filters: list[dict[str, Any]] = [
        {}, {"entity_type": "task"}, {"entity_type": "note"}, {"event_types": ["entity.merged"]}
    ]  # fmt: skip
    for wanted in filters:
        kept = [each for each in oldest_first if is_wanted(each, types, **wanted)]
        pages, cursor = list[dict[str, Any]](), {}
        while True:
            with counted(services.database) as statements:
                page = call("changes.list", limit=20, **wanted, **cursor)
            assert len(statements) <= REGISTRY["changes.list"].statements, statements
            assert not writes(statements)
            pages += page["changes"]
            if "next_cursor" not in page:
                break
            assert page["next_cursor"] != cursor.get("cursor"), "each page gets on"
            cursor = {"cursor": page["next_cursor"]}
        assert pages == kept[::-1]


def is_wanted(
    change: dict[str, Any], types: Mapping[str, str], entity_type: str = "", event_types: Sequence[str] = ()
) -> bool:
    """Return whether a list has a change. Relationships are between entities of one type."""
    if event_types:
        return change["event_type"] in event_types
    subject = change.get("source_entity_id", "")
    return not entity_type or entity_type == change.get("entity_type", types.get(subject))
