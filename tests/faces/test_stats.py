"""The statistics of an owner: they cost the same however much there is, and their numbers are exact."""

from __future__ import annotations

import base64
import uuid
from importlib import resources
from pathlib import Path
from typing import Any, LiteralString, cast

from graphmem import cypher
from graphmem.context import Services
from graphmem.model import state_hash
from tests.faces.test_health import in_database
from tests.support.audits import differences
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.statements import counted

COUNTED = ("total_events", "sources_count", "total_interpretations")
NODES: LiteralString = (
    "RETURN COUNT { MATCH (n:TimelineEvent {owner: $owner}) WHERE n.listed_at IS NOT NULL } AS events, "
    "COUNT { MATCH (n:Source {owner: $owner}) } AS sources, "
    "COUNT { MATCH (n:Interpretation {owner: $owner}) } AS interpretations"
)
OWNER: LiteralString = "MATCH (owner:Owner {id: $owner}) "


def fill(run: Call, events: int, files: int) -> list[str]:
    """Store as many tasks with a date, and files that are read; return the ids of the tasks."""
    tasks = [{"entity_type": "task", "title": f"{n}", "due_date": "2026-05-01"} for n in range(events)]
    stored = run("store", entities=tasks, find_duplicates=False)["entities"]
    for number in range(files):
        content = base64.b64encode(f"name,email\nAda,{number}@example.org\n".encode()).decode()
        run("store", file_content=content, original_filename="people.csv", mime_type="text/csv")
    return [each["entity_id"] for each in stored]


def numbers(run: Call) -> list[int]:
    stats = run("server.stats")
    return [stats[name] for name in COUNTED]


def nodes(loop: Loop, services: Services, owner: str) -> list[int]:
    """Return how many listed events, sources and interpretations there are."""
    return [*in_database(loop, services, owner, NODES)[0].values()]


def hits(loop: Loop, services: Services, owner: str) -> int:
    """Return how often the statistics ask the store."""
    text = "PROFILE " + services.database.query_text("owner.stats", None)
    params = {"empty": state_hash.EMPTY, "model": services.embedder.model}

    async def profiled() -> dict[str, Any]:
        async with services.database._driver.session() as session:
            result = await session.run(cast("LiteralString", text), cypher.bind("owner.stats", params, owner))
            return (await result.consume()).profile or {}

    def of(plan: dict[str, Any]) -> int:
        return plan.get("dbHits", 0) + sum(map(of, plan.get("children", [])))

    return of(loop.run(profiled()))


def test_stats_cost_the_same_however_many_events_and_files_there_are(loop: Loop, services: Services) -> None:
    costs = list[tuple[list[str], int]]()
    for events, files in ((10, 2), (300, 8)):
        owner = str(uuid.uuid4())
        run = by_runner(loop, services, owner)
        fill(run, events, files)
        with counted(services.database) as statements:
            assert numbers(run) == [events, files, files]
        costs.append((statements, hits(loop, services, owner)))
    assert costs[0] == costs[1]


def test_the_numbers_of_stats_are_exact_whatever_is_written(
    loop: Loop, services: Services, owner: str, run: Call, tmp_path: Path
) -> None:
    dumps = Dumps(loop, services, owner, tmp_path)
    first, second, third, *_ = fill(run, 5, 2)
    run("interpretations.run", source_id=run("sources.list")["sources"][0]["source_id"], force=True)
    assert numbers(run) == nodes(loop, services, owner) == [5, 2, 3]
    run("entities.delete", entity_id=first)
    assert numbers(run) == nodes(loop, services, owner) == [4, 2, 3]
    run("entities.restore", entity_id=first)
    run("entities.correct", entity_id=second, field="due_date", value="2026-06-01")
    assert numbers(run) == nodes(loop, services, owner) == [5, 2, 3]
    run("entities.merge", source_entity_id=second, target_entity_id=third)
    assert numbers(run) == nodes(loop, services, owner) == [4, 2, 3]
    run("schemas.register", schema={"entity_type": "task", "fields": {"title": {"type": "string"}}})
    run("entities.query", entity_type="task")
    assert numbers(run) == nodes(loop, services, owner)
    before = numbers(run)
    made = dumps.create()
    dumps.wipe()
    assert numbers(run) == [0, 0, 0]
    dumps.restore(made)
    assert numbers(run) == nodes(loop, services, owner)
    assert numbers(run)[:2] == before[:2]
    assert not differences(loop, services, owner, deep=False)


def test_the_check_names_and_mends_wrong_numbers_and_a_migration_sets_them(
    loop: Loop, services: Services, owner: str, run: Call
) -> None:
    fill(run, 3, 1)
    for wrong in (7, "text"):
        in_database(loop, services, owner, OWNER + "SET owner.events = $wrong", wrong=wrong)
        report = run("server.check_snapshots")
        (stale,) = (each for each in report["stale_snapshots"] if each["id"] == "owner")
        assert stale["differences"] == [
            {"what": "events, sources and interpretations", "stored": [wrong, 1, 1], "derived": [3, 1, 1]}
        ]
        # A wrong number hinders no write.
        task = run(
            "store", entities=[{"entity_type": "task", "title": f"{wrong} t", "due_date": "2026-05-02"}]
        )
        run("entities.delete", entity_id=task["entities"][0]["entity_id"])
        run("server.check_snapshots", auto_fix=True)
        assert numbers(run) == [3, 1, 1]
    migration = resources.files(cypher).joinpath("migrations/V0037__counted.cypher").read_text()
    in_database(
        loop,
        services,
        owner,
        OWNER + "SET owner.events = null, owner.sources = null, owner.interpretations = null",
    )
    # Those of other tests have other numbers meanwhile: the batch begins right before this owner.
    alone = cast("LiteralString", migration.replace("LIMIT 100", "LIMIT 1"))
    in_database(loop, services, owner, alone, after=owner[:-1])
    assert numbers(run) == [3, 1, 1]
    assert not differences(loop, services, owner, deep=True)
