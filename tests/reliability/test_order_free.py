"""The same observations in any order, in batches of any size, and by many writers at once: one outcome."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import Services
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.expected_answers import exactly
from tests.support.faces import by_runner

WRITERS = 8
MOMENTS = st.sampled_from(["1965-05-05T05:05:05.5Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"])
VALUES = st.sampled_from([None, 1, 1.0, "1", " x", True, [], ["x", 1], '["y"]', {"k": 1}, 86400])
ITEMS = st.fixed_dictionaries(
    {
        "entity_type": st.sampled_from(["thing", "gadget"]),
        "name": st.sampled_from(["Ada", "Bo"]),
        "observed_at": MOMENTS,
    },
    optional={
        **dict.fromkeys(("a", "b", "c", "ç"), VALUES),
        "source_priority": st.sampled_from([100, 99.5, -1]),
        "specificity_score": st.sampled_from([0, 0.5]),
        "observation_source": st.sampled_from(["sensor", "human"]),
    },
)
PAIRS = [(kind, name) for kind in ("thing", "gadget") for name in ("Ada", "Bo")]
LINKS = st.builds(
    lambda kind, ends, role, moment: (kind, *ends, role, moment),
    st.sampled_from(["WORKS_AT", "PART_OF"]),
    st.permutations(PAIRS).map(lambda order: (order[0], order[1])),
    st.none() | VALUES,
    MOMENTS,
)
SCHEMA = {
    "entity_type": "thing",
    "fields": {
        "name": {"type": "string"},
        "a": {"type": "string"},
        "b": {"type": "number", "merge": "most_specific"},
        "c": {"type": "array", "merge": "merge_array"},
        "ç": {"type": "boolean", "merge": "highest_priority"},
    },
}
Named = tuple[str, str]
Request = tuple[str, dict[str, Any]]


def requests(items: list[dict[str, Any]], links: list[Any], shuffle: random.Random) -> list[Request]:
    """Return the observations as stores and relationships, in random order and batches."""
    rest, calls = list(items), list[Request]()
    shuffle.shuffle(rest)
    while rest:
        size = shuffle.choice([1, 1, 2, 3, len(rest)])
        calls.append(("store", {"entities": rest[:size]}))
        rest = rest[size:]
    for link in links:
        calls.insert(shuffle.randint(0, len(calls)), ("store", related(*link)))
    return calls


def related(
    kind: str, source: tuple[str, str], target: tuple[str, str], role: Any, at: str
) -> dict[str, Any]:
    """Return a store of one relationship, with the two entities so that they are there."""
    ends = [{"entity_type": kind, "name": name, "observed_at": at} for kind, name in (source, target)]
    link = {"relationship_type": kind, "source_index": 0, "target_index": 1, "metadata": {"role": role}}
    return {"entities": ends, "relationships": [link], "observed_at": at}


class Owner:
    """What an owner has, and how it comes there."""

    def __init__(self, loop: Loop, services: Services) -> None:
        self.loop, self.services = loop, services
        self.id = str(uuid.uuid4())
        self.run = by_runner(loop, services, self.id)

    def one_by_one(self, calls: list[Request]) -> None:
        """Write one request after the other."""
        for name, arguments in calls:
            self.run(name, **arguments)

    def at_once(self, calls: list[Request]) -> None:
        """Write by several writers at the same time, each its share in its order."""
        actor = full_actor(self.id, client="test")

        async def writer(share: list[Request]) -> None:
            for name, arguments in share:
                await REGISTRY[name].run(self.services, actor, arguments)

        async def every() -> None:
            await asyncio.gather(*(writer(calls[start::WRITERS]) for start in range(WRITERS)))

        self.loop.run(every())

    def state(self) -> dict[str, str]:
        """Return everything that does not say when, or in how many transactions, it was recorded."""
        entities = self.run("entities.query", limit=500)["entities"]
        edges = self.run("relationships.list", limit=500)["relationships"]
        stats = self.run("server.stats")
        answers = {row.get("entity_id") or row["relationship_key"]: timeless(row) for row in entities + edges}
        counted = {name: count for name, count in stats.items() if name.startswith(("total_", "state_hash"))}
        return {**answers, "stats": exactly(counted)}

    def wipe(self) -> None:
        """Remove everything, so that the same facts can be stored again under the same ids."""
        subject_ids = "MATCH (n:Entity|Relationship {owner: $o})-[:HAS_HISTORY]->(h:History) DETACH DELETE h"
        everything = "MATCH (n) WHERE n.owner = $o OR n.id = $o DETACH DELETE n"
        for script in (subject_ids, everything):
            self.loop.run(self.services.database.script(script, o=self.id))


def timeless(answer: dict[str, Any]) -> str:
    """Return an answer as text, without what tells of the one run."""
    return exactly({name: value for name, value in answer.items() if name not in ("created_at", "version")})


@examples(4)
@given(
    items=st.lists(ITEMS, min_size=2, max_size=15),
    links=st.lists(LINKS, max_size=4),
    typed=st.booleans(),
    seeds=st.tuples(st.integers(0, 2**32), st.integers(0, 2**32)),
)
def test_order_and_writers_leave_no_trace(
    loop: Loop,
    services: Services,
    items: list[dict[str, Any]],
    links: list[Any],
    typed: bool,
    seeds: tuple[int, int],
) -> None:
    owner = Owner(loop, services)
    # Which items are one request is part of what is observed: of two values at one time, the later item wins.
    calls = requests(items, links, random.Random(seeds[0]))
    ways: list[Callable[[list[Request]], None]] = [owner.one_by_one, owner.at_once]
    states: list[dict[str, str]] = []
    for seed, write in zip(seeds, ways, strict=True):
        if typed:
            owner.run("schemas.register", schema=SCHEMA)
        write(random.Random(seed).sample(calls, len(calls)))
        states.append(owner.state())
        owner.wipe()
    assert states[0] == states[1]


@examples(4)
@given(
    items=st.lists(ITEMS, min_size=2, max_size=10),
    links=st.lists(LINKS, max_size=4),
    schema_at=st.integers(0, 20),
    seed=st.integers(0, 2**32),
)
def test_two_owners_with_the_same_facts_have_the_same_snapshots(
    loop: Loop, services: Services, items: list[dict[str, Any]], links: list[Any], schema_at: int, seed: int
) -> None:
    """A schema may come before, between or after what it is about: snapshots are under today's."""
    # Equal times are decided by ids, which differ between owners.
    items = [{**item, "observed_at": f"2026-01-01T00:00:{place:02d}Z"} for place, item in enumerate(items)]
    links = [(*link[:-1], f"2026-01-02T00:00:{place:02d}Z") for place, link in enumerate(links)]
    outcomes = []
    for shuffled in (random.Random(seed), random.Random(seed + 1)):
        owner = Owner(loop, services)
        calls = requests(items, links, shuffled)
        place = schema_at % (len(calls) + 1) if outcomes else 0
        calls.insert(place, ("schemas.register", {"schema": SCHEMA}))
        owner.one_by_one(calls)
        outcomes.append(snapshots(owner))
    assert outcomes[0] == outcomes[1]


def snapshots(owner: Owner) -> list[str]:
    """Return the snapshots of an owner, each field with what its winners say; without any id."""
    listed = owner.run("observations.query", limit=500)["observations"]
    observations = {
        observation["id"]: [observation["observed_at"], observation["fields"], observation["source_priority"]]
        for observation in listed
    }
    rows = []
    for entity in owner.run("entities.query", limit=500)["entities"]:
        winners = {
            name: sorted(exactly(observations[each]) for each in ids.split(","))
            for name, ids in entity["provenance"].items()
        }
        rows.append(exactly([entity["entity_type"], entity["canonical_name"], entity["snapshot"], winners]))
    return sorted(rows)
