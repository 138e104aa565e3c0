"""Merges by rule at random: every order and batching of the same facts comes to one end state."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest

from graphmem.auth import Actor
from graphmem.errors import GraphmemError
from graphmem.model import canonical, person_names
from graphmem.reading import snapshot_check
from graphmem.registry import REGISTRY, Context, Services
from tests.support.actors import full_actor
from tests.support.event_loop import Loop

NAMES = ("Tom King", "Tom King", "King, Thomas", "T. King", "Tom Kign", "Ada King", None)
BIRTHDAYS = ("1815-12-10", "1816-01-01", None, None)
EMAILS = ("a@example.org", "b@example.org", "c@example.org", None, None, None)
STEPS = 14
"""Requests of one history."""


@pytest.fixture
def names_limit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every second seed compare few names of one group, so that the number is met again and again."""
    if seed % 2:
        monkeypatch.setattr(person_names, "LIMIT", 6)


def random_item(rng: random.Random) -> dict[str, Any]:
    """Return a person or a contact that something identifies."""
    fields = {"name": rng.choice(NAMES), "birthday": rng.choice(BIRTHDAYS), "email": rng.choice(EMAILS)}
    kept = {name: value for name, value in fields.items() if value is not None}
    if not {"name", "email"} & kept.keys():
        return random_item(rng)
    return {"entity_type": "person", **kept, "note": rng.randrange(1_000_000)}


class Owner:
    """An owner of its own, with the entities that it stored."""

    def __init__(self, services: Services, loop: Loop) -> None:
        self.services, self.loop = services, loop
        self.actor: Actor = full_actor(str(uuid.uuid4()), client="test")
        self.homes: list[str] = []

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation."""
        return canonical.decode(self.loop.run(REGISTRY[name].run(self.services, self.actor, arguments)))

    def store(self, items: list[dict[str, Any]], **more: Any) -> list[str]:
        """Store items; return the entity that each is about, whatever that is merged into."""
        stored = self.call("store", entities=items, **more)["entities"]
        homes = [entry.get("home_entity_id", entry["entity_id"]) for entry in stored]
        self.homes = list(dict.fromkeys([*self.homes, *homes]))
        return homes

    def survivor(self, entity_id: str) -> str:
        """Return the entity that an id leads to."""
        return self.call("entities.get", entity_id=entity_id, include_deleted=True)["entity_id"]

    def differences(self) -> dict[str, Any]:
        """Return what is stored otherwise than the facts come to."""
        context = Context(self.actor, self.services)
        report = self.loop.run(snapshot_check.audit(context, fix=False, deep=True))
        assert report.settled
        return report.stale


def in_batches(items: list[Any], rng: random.Random) -> list[list[Any]]:
    """Cut a list at random."""
    batches: list[list[Any]] = []
    for item in items:
        if not batches or rng.random() < 0.5:
            batches.append([])
        batches[-1].append(item)
    return batches


@pytest.mark.usefixtures("names_limit")
@pytest.mark.parametrize("seed", range(4))
def test_every_order_and_batching_of_stores_comes_to_one_end_state(
    services: Services, loop: Loop, seed: int
) -> None:
    rng = random.Random(seed)
    items = [random_item(rng) for _ in range(STEPS)]
    states = []
    for _ in range(3):
        order = rng.sample(range(len(items)), len(items))
        owner = Owner(services, loop)
        homes: dict[int, str] = {}
        for batch in in_batches(order, rng):
            homes.update(zip(batch, owner.store([items[place] for place in batch]), strict=True))
        survivors = {place: owner.survivor(home) for place, home in homes.items()}
        first: dict[str, int] = {}
        for place in sorted(homes):
            first.setdefault(homes[place], place)
        states.append([first[survivors[place]] for place in sorted(homes)])
        assert owner.differences() == {}
    assert states[0] == states[1] == states[2]


@pytest.mark.usefixtures("names_limit")
@pytest.mark.parametrize("seed", range(12))
def test_random_histories_are_what_their_facts_come_to(services: Services, loop: Loop, seed: int) -> None:
    rng, owner, files = random.Random(seed), Owner(services, loop), list[str]()
    refused: list[GraphmemError] = []
    for _ in range(STEPS):
        step = rng.choice(
            ["store", "store", "store", "extend", "new", "merge", "unmerge", "turn", "file", "withdraw"]
        )
        entity_id, other = (rng.choice(owner.homes or [""]) for _ in range(2))
        item = random_item(rng)
        try:
            if step == "store" or not owner.homes:
                owner.store([random_item(rng) for _ in range(rng.randrange(1, 4))])
            elif step == "extend":
                del item["entity_type"]
                owner.store([{**item, "target_id": entity_id}])
            elif step == "new":
                owner.store([{**item, "intent": "create_new"}])
            elif step == "merge":
                owner.call("entities.merge", source_entity_id=entity_id, target_entity_id=other)
            elif step == "unmerge":
                owner.call("entities.unmerge", entity_id=entity_id)
            elif step == "turn":
                owner.call(rng.choice(["entities.delete", "entities.restore"]), entity_id=entity_id)
            elif step == "file":
                content = uuid.uuid4().hex
                answer = owner.call("store", entities=[item], file_content=content, mime_type="text/plain")
                files.append(answer["source_id"])
            elif files:
                owner.call(rng.choice(["sources.withdraw", "sources.reinstate"]), source_id=rng.choice(files))
        except GraphmemError as exc:
            refused.append(exc)
        for home in owner.homes:
            owner.survivor(home)
    assert all(each.status < 500 for each in refused)
    assert owner.differences() == {}
