"""Files that are interpreted by rule: when they are stored, by the worker, and again."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem import interpretation
from graphmem.interpretation import runs, writing
from graphmem.registry import Services
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call

PEOPLE = b"entity_type,name,email\nperson,Ada Lovelace,ada@example.org\nperson,Charles Babbage,\n"


def test_a_table_becomes_entities_when_it_is_stored(run: Call) -> None:
    answer = run("store", **with_file(PEOPLE, "people.csv", mime_type="text/csv"))
    started = answer["interpretation"]
    assert (started["status"], started["interpreter"], started["entities_created"]) == (
        "completed",
        "rows",
        2,
    )
    (ada,) = run("entities.find", identifier="ada@example.org")["entities"]
    provenance = run("entities.provenance", entity_id=ada["entity_id"], field="email")
    (place,) = provenance["places"]
    assert (place["row"], place["quote"]) == (2, "ada@example.org")
    assert place["source_id"] == answer["source_id"]
    observation = provenance["observations"][0]
    assert observation["interpretation_id"] == started["interpretation_id"]
    assert observation["observation_source"] == "import"


def test_what_is_stored_with_entities_is_not_interpreted(run: Call) -> None:
    answer = run("store", entities=[{"entity_type": "person", "name": "Ada"}], **with_file(PEOPLE, "p.csv"))
    assert "interpretation" not in answer
    assert run("interpretations.list")["interpretations"] == []


def test_a_file_that_cannot_be_read_is_stored_and_its_interpretation_fails(run: Call) -> None:
    answer = run("store", **with_file(b"\x00\x01\x02 no format", "x.bin"))
    started = answer["interpretation"]
    assert started["status"] == "failed"
    assert started["error_message"]
    assert run("sources.get", source_id=answer["source_id"])["observation_count"] == 0


def test_the_same_bytes_are_interpreted_once(run: Call) -> None:
    first = run("store", **with_file(PEOPLE, "people.csv"))
    again = run("store", **with_file(PEOPLE, "copy.csv"))
    assert again["interpretation"] == first["interpretation"]
    assert len(run("interpretations.list")["interpretations"]) == 1


def test_a_relationship_whose_ends_are_one_entity_here_is_left_out(run: Call) -> None:
    lines = (
        '{"type":"entity","name":"Ada","entityType":"person","observations":[]}',
        '{"type":"entity","name":"Ada L.","entityType":"person","observations":[]}',
        '{"type":"relation","from":"Ada","to":"Ada L.","relationType":"knows"}',
    )
    people = run("store", entities=[{"entity_type": "person", "name": name} for name in ("Ada", "Ada L.")])
    ada, other = (item["entity_id"] for item in people["entities"])
    assert ada != other
    run("entities.merge", source_entity_id=other, target_entity_id=ada)
    answer = run("store", **with_file("\n".join(lines).encode(), "memory.jsonl"))
    assert answer["interpretation"]["status"] == "completed", answer["interpretation"]


def table(rows: int) -> bytes:
    """Return a table of people."""
    lines = [f"person,Person {number},p{number}@example.org" for number in range(rows)]
    return "\n".join(["entity_type,name,email", *lines]).encode()


def drained(loop: Loop, services: Services) -> None:
    """Run the interpretations that wait."""
    while loop.run(interpretation.run_next(services)):
        pass


def test_a_large_table_is_left_to_the_worker(run: Call, loop: Loop, services: Services) -> None:
    answer = run("store", **with_file(table(1_200), "many.csv"))
    started = answer["interpretation"]
    assert (started["status"], started["interpreter"], started["entities_created"]) == ("pending", "rows", 0)
    drained(loop, services)
    done = run("interpretations.get", interpretation_id=started["interpretation_id"])
    assert (done["status"], done["entities_created"], done["observations_created"]) == (
        "completed",
        1_200,
        1_200,
    )
    assert done["attempts"] == 1
    page = run("entities.query", entity_type="person", include_total_count=True, limit=1)
    assert page["total"] == 1_200


def test_a_run_that_was_cut_off_is_run_again_with_one_effect(
    run: Call, loop: Loop, services: Services, monkeypatch: Any
) -> None:
    answer = run("store", **with_file(table(1_200), "many.csv"))
    monkeypatch.setattr(runs, "LEASE_SECONDS", 0.0)

    class ProcessEnded(Exception):
        """It stands for the end of the process: nothing may catch it."""

    async def cut(*args: Any, **more: Any) -> None:
        raise ProcessEnded

    monkeypatch.setattr(writing, "end", cut)
    with pytest.raises(ProcessEnded):
        loop.run(interpretation.run_next(services))
    monkeypatch.undo()
    drained(loop, services)
    done = run("interpretations.get", interpretation_id=answer["interpretation"]["interpretation_id"])
    assert (done["status"], done["observations_created"], done["attempts"]) == ("completed", 1_200, 2)
    assert run("server.stats")["total_observations"] == 1_200
