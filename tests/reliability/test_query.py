"""Pages of entities against a plain model: random entities, filters, orders, cursors, offsets and times."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import Services
from graphmem.errors import SchemaRefused
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from tests.support import faces
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import LONG, examples
from tests.support.faces import Call
from tests.support.page_model import (
    COMPARED,
    NAMES,
    NEEDLES,
    SEARCHED,
    KnownEntity,
    expected_ids,
    searched_ids,
)
from tests.support.worker_pass import fold_all

TYPES = ("alpha", "beta", "gamma")
SORTS = (
    "entity_id", "canonical_name", "last_observation_at", "observation_count", "created_at", "updated_at",
    "snapshot.f", "snapshot.g",
)  # fmt: skip
VALUE = st.sampled_from([value for value, _ in COMPARED])
FIELD = VALUE | st.lists(VALUE, max_size=2)
ITEM = st.tuples(st.sampled_from(TYPES), st.sampled_from(sorted(NAMES)), st.none() | FIELD, st.none() | FIELD)
TURN = st.tuples(st.sampled_from(["again", "delete", "merge"]), st.integers(0, 50), st.integers(0, 50))
SCALAR = st.sampled_from([value for value, how in COMPARED if how is not None])
FILTER = (
    st.builds(
        lambda op, value: {"op": op, "value": value},
        st.sampled_from(["eq", "gt", "lt", "gte", "lte"]), SCALAR,
    )
    | st.builds(lambda value: {"op": "in", "value": value}, st.lists(SCALAR, min_size=1, max_size=3))
    | st.builds(
        lambda op, value: {"op": op, "value": value},
        st.sampled_from(["contains", "contains_word"]), st.sampled_from(sorted(NEEDLES)),
    )
)  # fmt: skip
LINK = st.tuples(
    st.sampled_from(["PART_OF", "WORKS_AT", "REFERS_TO"]), st.integers(0, 50), st.integers(0, 50)
)
"""Of the relationships in these tests, those of the type REFERS_TO have ended."""
ENTITY_FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "entity_type": st.sampled_from(TYPES),
        "entity_types": st.lists(st.sampled_from(TYPES), max_size=2),
        "include_deleted": st.booleans(),
        "include_merged": st.booleans(),
        "snapshot_filters": st.dictionaries(st.sampled_from("fg"), FILTER, max_size=2),
        "updated_since": st.integers(0, 60),
        "created_since": st.integers(0, 60),
        "related_to": st.integers(0, 50),
        "relationship_types": st.lists(st.sampled_from(["PART_OF", "REFERS_TO"]), max_size=2),
    },
)
QUESTION = st.tuples(
    ENTITY_FILTERS,
    st.sampled_from(SORTS),
    st.sampled_from(["asc", "desc"]),
    st.integers(1, 4),
    st.integers(0, 8),
)
SEARCH = st.tuples(ENTITY_FILTERS, st.sampled_from(sorted(SEARCHED)), st.integers(1, 4), st.integers(0, 8))
"""Filters, what is searched, the length of a page, and an offset."""
DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")


class World:
    """An owner's entities, and what is known of them."""

    def __init__(self, run: Call) -> None:
        self.run = run
        self.known: dict[str, KnownEntity] = {}

    def now(self) -> str:
        return self.run("server.stats")["last_updated"]

    def store(self, items: list[Any]) -> None:
        """Store items in three transactions, each observed on another day."""
        for start, day in enumerate(DAYS):
            batch = [
                {
                    "entity_type": kind, "name": name, "tag": uuid.uuid4().hex, "intent": "create_new",
                    **{key: value for key, value in (("f", f), ("g", g)) if value is not None},
                }
                for kind, name, f, g in items[start::3]
            ]  # fmt: skip
            if not batch:
                continue
            stored = self.run("store", entities=batch, observed_at=day)
            at = self.now()
            for entity, item in zip(stored["entities"], batch, strict=True):
                id_, kind, name = entity["entity_id"], item["entity_type"], item["name"]
                self.known[id_] = KnownEntity(id_, kind, name, at, at, 1, day)

    def turn(self, step: str, first: int, second: int) -> None:
        """Do something to entities, where it can be done."""
        live = [
            candidate for candidate in self.known.values() if not candidate.deleted and candidate.into is None
        ]
        if not live:
            return
        entity, other = live[first % len(live)], live[second % len(live)]
        if step == "again":
            item = {"target_id": entity.id, "h": uuid.uuid4().hex, "observed_at": "2026-01-02"}
            self.run("store", entities=[item])
        elif step == "delete" and len(live) > 2:
            self.run("entities.delete", entity_id=entity.id)
            entity.deleted = True
        elif step == "merge" and entity is not other and entity.type == other.type and len(live) > 2:
            self.run("entities.merge", source_entity_id=entity.id, target_entity_id=other.id)
            entity.into = other.id
            other.updated = self.now()
        else:
            return
        entity.updated = self.now()

    def link(self, links: list[tuple[str, int, int]]) -> None:
        """Relate entities to each other."""
        ids = sorted(self.known)
        for kind, first, second in links:
            source, target = ids[first % len(ids)], ids[second % len(ids)]
            if source == target:
                continue
            ended = {"metadata": {"until": "2001-02-03"}} if kind == "REFERS_TO" else {}
            ends = {"source_entity_id": source, "target_entity_id": target}
            self.run("relationships.create", relationship_type=kind, **ends, **ended)
            if not ended:
                self.known[source].links.add((kind, target))
                self.known[target].links.add((kind, source))

    def merge_links(self) -> None:
        """Give the relationships of merged entities to their survivors."""

        def survivor(entity_id: str) -> str:
            into = self.known[entity_id].into
            return entity_id if into is None else survivor(into)

        links = {(e.id, kind, other) for e in self.known.values() for kind, other in e.links}
        for entity in self.known.values():
            entity.links = set()
        for entity_id, kind, other in links:
            ends = survivor(entity_id), survivor(other)
            if ends[0] != ends[1]:
                self.known[ends[0]].links.add((kind, ends[1]))

    def declare(self, kind: str, fields: str) -> None:
        """Declare fields of a type filterable, and no longer the others."""
        shown = {name: {"type": "string", "filterable": name in fields} for name in "fgh"}
        document = {"fields": shown, "additional_fields": "show", "mismatch": "show"}
        with contextlib.suppress(SchemaRefused):
            # It is so already.
            self.run("schemas.register", entity_type=kind, schema=document)

    def settle(self) -> list[KnownEntity]:
        """Take from the entities themselves what other models check: names, counts, times and fields."""
        page = self.run("entities.query", include_deleted=True, include_merged=True, limit=500)
        rows = {row["entity_id"]: row for row in page["entities"]}
        assert rows.keys() == self.known.keys()
        for entity in self.known.values():
            row = rows[entity.id]
            entity.count, entity.observed = row["observation_count"], row["last_observation_at"]
            entity.fields = {name: row["snapshot"][name] for name in "fg" if name in row["snapshot"]}
            # Of two names of one day that were merged, either may hold.
            entity.name, entity.created = row["canonical_name"], row["created_at"]
            assert row["state"] == ("merged" if entity.into else "deleted" if entity.deleted else "live")
            assert row.get("merged_to_entity_id") == entity.into
        return list(self.known.values())

    def pages(self, arguments: dict[str, Any], **rest: Any) -> Iterator[dict[str, Any]]:
        """Yield every page, by its cursor."""
        return pages_of(self.run, arguments, **rest)

    def filters(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return filters with the times and the ids that their numbers stand for."""
        filters, every = dict(options), list(self.known.values())
        times = sorted({time for entity in every for time in (entity.created, entity.updated)})
        anchors = [entity.id for entity in every if entity.into is None and not entity.deleted]
        for name in ("updated_since", "created_since"):
            if name in filters:
                filters[name] = times[filters[name] % len(times)]
        if "related_to" in filters:
            filters["related_to"] = anchors[filters["related_to"] % len(anchors)]
            return {name: each for name, each in filters.items() if not name.startswith("include")}
        filters.pop("relationship_types", None)
        return filters


def pages_of(run: Call, arguments: dict[str, Any], **rest: Any) -> Iterator[dict[str, Any]]:
    """Yield every page of a query, by its cursor."""
    page = run("entities.query", **arguments, **rest)
    yield page
    while "next_cursor" in page:
        page = run("entities.query", **arguments, **rest, cursor=page["next_cursor"])
        yield page


def ids(page: dict[str, Any]) -> list[str]:
    return [entity["entity_id"] for entity in page["entities"]]


@examples(3)
@given(
    items=st.lists(ITEM, min_size=3, max_size=14),
    turns=st.lists(TURN, max_size=6),
    links=st.lists(LINK, max_size=6),
    questions=st.lists(QUESTION, min_size=8, max_size=8),
    searches=st.lists(SEARCH, min_size=4, max_size=4),
    declared=st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from(TYPES), st.sampled_from(["f", "g", "fg"]))
    ),
    worked=st.booleans(),
)
def test_every_page_is_that_of_a_plain_model(
    loop: Loop,
    services: Services,
    items: list[Any],
    turns: list[Any],
    links: list[Any],
    questions: list[Any],
    searches: list[Any],
    declared: list[Any],
    worked: bool,
) -> None:
    """Whether fields are declared filterable, and when, and whether the worker was there, makes no odds."""
    owner = str(uuid.uuid4())
    world = World(faces.by_runner(loop, services, owner))
    world.store(items[:2])
    for step in range(7):
        for _, kind, fields in (declaration for declaration in declared if declaration[0] == step):
            world.declare(kind, fields)
        if step == 3:
            world.store(items[2:])
            world.link(links)
        for turn in turns[step : step + 1]:
            world.turn(*turn)
    if worked:
        fold_all(loop, services, world.run)
    everything = world.settle()
    world.merge_links()
    for options, sort_by, sort_order, limit, offset in questions:
        filters = world.filters(options)
        wanted = expected_ids(everything, filters, sort_by, sort_order)
        arguments = {"filters": filters, "sort_by": sort_by, "sort_order": sort_order, "limit": limit}
        walked = list(world.pages(arguments))
        message = f"{arguments}"
        assert [entity_id for page in walked for entity_id in ids(page)] == wanted, message
        assert all(len(page["entities"]) == limit for page in walked[:-1]), message
        assert not any("truncated" in page for page in walked), message
        part = world.run("entities.query", **arguments, offset=offset, include_total_count=True)
        assert (ids(part), part["total"]) == (wanted[offset : offset + limit], len(wanted)), message
        assert ("next_cursor" in part) == (offset + limit < len(wanted)), message
    for options, search, limit, offset in searches:
        filters = world.filters(
            {name: each for name, each in options.items() if not name.startswith("include")}
        )
        wanted = searched_ids(everything, filters, search)
        arguments = {"search": search, "filters": filters, "limit": limit}
        walked = [entity_id for page in pages_of(world.run, arguments) for entity_id in ids(page)]
        message = f"{arguments}"
        assert (len(walked), set(walked)) == (len(wanted), wanted), message
        part = world.run("entities.query", **arguments, offset=offset, include_total_count=True)
        assert (ids(part), part["total"]) == (walked[offset : offset + limit], len(wanted)), message
    report = world.run("server.check_snapshots")
    assert report["healthy"], report


@examples(3)
@given(data=st.data())
def test_as_of_a_time_every_page_is_what_was_answered_then(
    loop: Loop, services: Services, data: st.DataObject
) -> None:
    world = World(faces.by_runner(loop, services, str(uuid.uuid4())))
    then: list[tuple[str, dict[str, list[Any]]]] = []
    world.store(data.draw(st.lists(ITEM, min_size=3, max_size=8)))
    for turn in data.draw(st.lists(TURN, min_size=1, max_size=5)):
        every = {
            kind: world.run("entities.query", limit=500, **({"entity_type": kind} if kind else {}))[
                "entities"
            ]
            for kind in ("", *TYPES)
        }
        then.append((world.now(), every))
        world.turn(*turn)
    for now, every in then:
        for kind, wanted in every.items():
            arguments: dict[str, Any] = {"at_ingested": now, **({"entity_type": kind} if kind else {})}
            limit = data.draw(st.integers(1, 4))
            walked = [entity for page in world.pages(arguments, limit=limit) for entity in page["entities"]]
            names = ("entity_id", "canonical_name", "version", "observation_count", "snapshot", "state")
            assert [[entity[name] for name in names] for entity in walked] == [
                [entity[name] for name in names] for entity in wanted
            ]
            part = world.run("entities.query", **arguments, limit=limit, offset=1, include_total_count=True)
            assert (ids(part), part["total"]) == (
                [entity["entity_id"] for entity in wanted[1 : 1 + limit]], len(wanted)
            )  # fmt: skip


def test_pages_tile_while_others_write(loop: Loop, services: Services, owner: str, run: Call) -> None:
    """What is not written meanwhile is met exactly once, in every order."""
    still = [
        {"entity_type": "still", "name": f"n{i % 5}", "tag": f"s{i}", "intent": "create_new", "f": i % 3}
        for i in range(120)
    ]
    moving = [
        {"entity_type": "moving", "name": f"n{i % 5}", "tag": f"m{i}", "intent": "create_new", "f": i % 3}
        for i in range(40)
    ]
    wanted = {entity["entity_id"] for entity in run("store", entities=still)["entities"]}
    moved = [entity["entity_id"] for entity in run("store", entities=moving)["entities"]]
    actor = full_actor(owner, client="test")

    async def ask(name: str, **arguments: Any) -> Any:
        return canonical.decode(await REGISTRY[name].run(services, actor, arguments))

    async def write(done: asyncio.Event) -> None:
        step = 0
        while not done.is_set():
            step += 1
            target = moved[step % len(moved)]
            new = {"entity_type": "moving", "name": f"n{step % 5}", "tag": f"w{step}", "intent": "create_new"}
            await ask("store", entities=[{"target_id": target, "name": f"n{step % 7}", "f": step % 4}, new])
            if step % 3 == 0:
                await ask("entities.delete", entity_id=target)
                await ask("entities.restore", entity_id=target)

    async def walk() -> None:
        done = asyncio.Event()
        writing = asyncio.create_task(write(done))
        try:
            for number, sort_by in enumerate(SORTS):
                filtered = {"snapshot_filters": {"f": {"op": "gte", "value": 0}}}
                for filters in ({}, filtered) if LONG else (filtered if number % 2 else {},):
                    page_ids: list[str] = []
                    arguments = {"sort_by": sort_by, "sort_order": "desc", "limit": 30, "filters": filters}
                    page = await ask("entities.query", **arguments)
                    page_ids += ids(page)
                    while "next_cursor" in page:
                        page = await ask("entities.query", **arguments, cursor=page["next_cursor"])
                        page_ids += ids(page)
                    still_ids = [entity_id for entity_id in page_ids if entity_id in wanted]
                    assert sorted(still_ids) == sorted(wanted), sort_by
        finally:
            done.set()
            await writing

    loop.run(walk())
