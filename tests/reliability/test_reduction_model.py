"""Folded snapshot = recomputed snapshot = the plain model, on the real server, for random observations.

Orders, batches, concurrency, times with ties, both clocks.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import Services
from graphmem.model import canonical, times
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.examples import examples
from tests.support.faces import by_runner
from tests.support.reduction_model import view

VALUES = st.sampled_from([None, 1, 1.0, "1", True, "a", [1], {"b": 2}, -0.0, 10**30])
MOMENTS = st.sampled_from([
    "0001-01-01T00:00:00Z", "1965-05-05T05:05:05.5Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z",
    "2026-06-01T12:00:00Z",
])  # fmt: skip
ITEMS = st.fixed_dictionaries(
    {"fields": st.dictionaries(st.sampled_from(["a", "b", "ç", "😀", "z z"]), VALUES, min_size=1)},
    optional={"observed_at": MOMENTS, "canonical_name": st.sampled_from(["First", "Second"])},
)


def item(observation: dict[str, Any]) -> dict[str, Any]:
    """Return an item about the one entity of a case."""
    rest = {name: value for name, value in observation.items() if name != "fields"}
    return {"entity_type": "thing", "id": "the one", **observation["fields"], **rest}


def store(loop: Loop, services: Services, owner: str, batches: list[list[dict[str, Any]]]) -> str:
    """Store batches at the same time; return the entity's id."""
    actor = full_actor(owner, client="test")

    async def all_at_once() -> list[bytes]:
        calls = [REGISTRY["store"].run(services, actor, {"entities": batch}) for batch in batches]
        return await asyncio.gather(*calls)

    answers = [canonical.decode(body) for body in loop.run(all_at_once())]
    (entity_id,) = {entity["entity_id"] for answer in answers for entity in answer["entities"]}
    return entity_id


def batched(items: list[dict[str, Any]], shuffle: random.Random) -> list[list[dict[str, Any]]]:
    """Return the items in random order and random batches."""
    rest, batches = list(items), []
    shuffle.shuffle(rest)
    while rest:
        size = shuffle.randint(1, 4)
        batches.append(rest[:size])
        rest = rest[size:]
    return batches


def exactly(value: Any) -> str:
    """Return a value as text, in which 1, 1.0 and true differ."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def facts(observations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return listed observations as the plain model takes them."""
    return [
        {
            **observation,
            "fields": observation["fields"]
            | ({"canonical_name": observation["canonical_name"]} if "canonical_name" in observation else {}),
        }
        for observation in observations
    ]


@examples(5)
@given(observations=st.lists(ITEMS, min_size=1, max_size=12), seed=st.integers(0, 2**32), data=st.data())
def test_folded_and_recomputed_snapshots_equal_the_plain_model(
    loop: Loop, services: Services, observations: list[dict[str, Any]], seed: int, data: st.DataObject
) -> None:
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    entity_id = store(
        loop,
        services,
        owner,
        batched([item(observation) for observation in observations], random.Random(seed)),
    )
    listed = run("observations.query", filters={"entity_id": entity_id}, limit=500)["observations"]
    known = facts(listed)
    clocks = st.none() | st.sampled_from(
        sorted({observation[k] for observation in listed for k in ("observed_at", "recorded_at")})
    )
    cuts = [(None, None), (times.render(times.LATEST), None), (data.draw(clocks), data.draw(clocks))]
    for at, at_ingested in cuts:
        given_cuts = {"at": at, "at_ingested": at_ingested}
        answer = run("entities.snapshot", entity_id=entity_id, **{k: v for k, v in given_cuts.items() if v})
        wanted = view(known, at, at_ingested)
        assert exactly(answer["snapshot"]) == exactly(wanted.snapshot)
        assert answer["provenance"] == wanted.provenance
        assert answer["observation_count"] == wanted.observation_count
        assert answer["version"] == wanted.version
        assert answer["last_observation_at"] == wanted.last_observation_at


@examples(5)
@given(observations=st.lists(ITEMS, min_size=1, max_size=12), seed=st.integers(0, 2**32))
def test_nothing_that_was_acknowledged_is_missing(
    loop: Loop, services: Services, observations: list[dict[str, Any]], seed: int
) -> None:
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    # One request each: within a request, an item that contradicts an earlier one of its time is another fact.
    batches = [[item(observation)] for observation in observations]
    random.Random(seed).shuffle(batches)
    entity_id = store(loop, services, owner, batches)
    listed = run("observations.query", filters={"entity_id": entity_id}, limit=500, include_total_count=True)
    # What has a time of its own is one fact however often it is said; what has none is another each time.
    timed = {exactly(observation) for observation in observations if "observed_at" in observation}
    untimed = [exactly(observation) for observation in observations if "observed_at" not in observation]
    assert listed["total"] == len(listed["observations"]) == len(timed) + len(untimed)
    assert run("server.stats")["total_observations"] == listed["total"]


@examples(3)
@given(
    observations=st.lists(
        ITEMS.map(lambda observation: {"observed_at": "2026-01-01T00:00:00Z", **observation}),
        min_size=2,
        max_size=12,
    ),
    seeds=st.tuples(st.integers(0, 2**32), st.integers(0, 2**32)),
)
def test_the_order_of_arrival_does_not_matter(
    loop: Loop, services: Services, observations: list[dict[str, Any]], seeds: tuple[int, int]
) -> None:
    owner = str(uuid.uuid4())
    run = by_runner(loop, services, owner)
    answers = []
    batches = batched([item(observation) for observation in observations], random.Random(seeds[0]))
    for seed in seeds:
        entity_id = store(loop, services, owner, random.Random(seed).sample(batches, len(batches)))
        answer = run("entities.get", entity_id=entity_id)
        # When it was recorded is of the one run, and so is how many transactions it came in.
        answers.append(exactly({k: v for k, v in answer.items() if k not in ("created_at", "version")}))
        wipe(loop, services, owner, entity_id)
    assert answers[0] == answers[1]


def wipe(loop: Loop, services: Services, owner: str, entity_id: str) -> None:
    """Remove all that an owner has, so that the same facts can be stored again under the same ids."""
    loop.run(services.database.script("MATCH (n) WHERE n.owner = $o OR n.id = $o DETACH DELETE n", o=owner))
    loop.run(
        services.database.script(
            "MATCH (n:History {home: $subject_id}) DETACH DELETE n", subject_id=entity_id
        )
    )
