"""What the worker writes beside a turn that commits meanwhile: what the turn wrote stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, LiteralString

import pytest

from graphmem.context import Services
from graphmem.worker import EMBEDDED_LIMIT
from tests.support.blocked import until_blocked
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.sealed_database import opened

Beside = Callable[..., list[dict[str, Any]]]
"""``beside(change, params, name, owner, **rest)``: what a query answers that met a change under way."""
NEWER = "SET meaning.of = 'newer', meaning.model = 'm', meaning.packed = null"
"""What a turn writes of another text, whose vector is made later."""


@pytest.fixture
def beside(loop: Loop, services: Services) -> Beside:
    """Run a query that begins while a change is made and not committed, and ends after it is."""

    async def run(
        change: LiteralString, params: dict[str, Any], name: str, owner: str | None, rest: dict[str, Any]
    ) -> list[dict[str, Any]]:
        async with services.database._driver.session() as session:
            tx = await session.begin_transaction()
            await (await tx.run(change, params)).consume()
            task = asyncio.create_task(services.database.write(name, owner, **rest))
            await until_blocked(services.database, name)
            await tx.commit()
        return await task

    return lambda change, params, name, owner, **rest: loop.run(run(change, params, name, owner, rest))


@pytest.fixture
def subject_id(run: Call) -> str:
    """An entity that means something."""
    return run("store", entities=[{"entity_type": "thing", "name": "buy milk"}])["entities"][0]["entity_id"]


def meaning(loop: Loop, services: Services, subject_id: str) -> dict[str, Any] | None:
    text: LiteralString = (
        "MATCH (meaning:Meaning {entity_id: $subject_id}) "
        "RETURN properties(meaning) AS properties, labels(meaning) AS labels"
    )
    rows = loop.run(services.database.script(text, subject_id=subject_id))
    if not rows:
        return None
    (row,) = opened(services, rows, rows[0]["properties"]["owner"])
    return {**row["properties"], "labels": row["labels"]}


@pytest.mark.parametrize("goes", [False, True])
def test_a_vector_of_what_was_said_before_is_not_set(
    loop: Loop, services: Services, beside: Beside, subject_id: str, goes: bool
) -> None:
    before = meaning(loop, services, subject_id)
    assert before is not None
    vectors = {"was": before["of"], "of": before["of"], "packed": before["packed"]}
    rows = [{"id": subject_id, "owner": before["owner"], **vectors}]
    late = {"model": "late", "rows": rows, "owners": [before["owner"]]}
    change: LiteralString = "MATCH (meaning:Meaning {entity_id: $subject_id}) " + (
        "DELETE meaning" if goes else NEWER
    )
    assert beside(change, {"subject_id": subject_id}, "meaning.set", None, **late) == [{"done": 0}]
    after = meaning(loop, services, subject_id)
    if goes:
        assert after is None
    else:
        assert after is not None
        assert after["model"] != late["model"]
        # A worker of another process may have worked out what waits meanwhile.
        kept = {key: before[key] for key in ("entity_id", "owner", "type")}
        newer = {**kept, "of": "newer", "model": "m", "labels": ["Meaning"]}
        assert after in (newer, {**after, "model": before["model"]})


def test_rules_that_came_meanwhile_are_still_to_be_folded_by(
    loop: Loop, services: Services, beside: Beside, run: Call, owner: str
) -> None:
    run("schemas.register", entity_type="thing", schema={"fields": {"n": {"type": "number"}}})
    head: LiteralString = "MATCH (schema:Schema {owner: $owner, head: 'thing'}) "
    # Workers of other processes fold what waits with the value true.
    change: LiteralString = head + "SET schema.projection = 'newer', schema.pending = 'here'"
    (row,) = loop.run(services.database.script(head + "RETURN schema.projection AS projection", owner=owner))
    rows = beside(
        change, {"owner": owner}, "schema.folded", owner, type="thing", projection=row["projection"]
    )
    assert rows == []
    (row,) = loop.run(services.database.script(head + "RETURN schema.pending AS pending", owner=owner))
    assert row["pending"] == "here"


def test_two_workers_seldom_make_the_same_vectors(
    loop: Loop, services: Services, owner: str, run: Call
) -> None:
    things = [{"entity_type": "thing", "name": f"thing {number}"} for number in range(3 * EMBEDDED_LIMIT)]
    run("store", entities=things, find_duplicates=False)
    older: LiteralString = "MATCH (meaning:Meaning {owner: $owner}) SET meaning.model = 'another'"
    loop.run(services.database.script(older, owner=owner))
    model, reads = services.embedder.model, services.database.reads(None)

    def taken() -> set[str]:
        waiting = reads.only(
            "meaning.waiting", list[list[Any]], model=model, only=owner, limit=EMBEDDED_LIMIT
        )
        return {each[0] for each in loop.run(waiting)}

    one, other = taken(), taken()
    assert len(one) == len(other) == EMBEDDED_LIMIT
    assert len(one & other) < EMBEDDED_LIMIT
