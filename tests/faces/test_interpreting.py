"""Files that are interpreted by rule: when they are stored, by the worker, and again."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from graphmem import interpretation
from graphmem.context import Services
from graphmem.errors import IdempotencyMismatch, InvalidInput, NotFound, ObjectStoreUnavailable
from graphmem.interpretation import readings, runs, writing
from tests.faces.conftest import Command
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.faulty_database import faulty_services
from tests.support.language_model import running_language_model
from tests.support.worker_pass import fold_all

PEOPLE = b"entity_type,name,email\nperson,Ada Lovelace,ada@example.org\nperson,Charles Babbage,\n"


pytestmark = pytest.mark.usefixtures("own_interpretations")


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


def test_an_interpretation_is_repeated_by_its_id(run: Call) -> None:
    answer = run("store", **with_file(PEOPLE, "people.csv"))
    first = answer["interpretation"]["interpretation_id"]
    configured = {"interpretation_config": {"entity_type": "customer"}}
    second = run("interpretations.run", source_id=answer["source_id"], **configured)
    assert run("server.stats")["total_interpretations"] == 2
    again = run("interpretations.run", interpretation_id=first, force=True)
    assert (again["source_id"], again["unchanged"]) == (answer["source_id"], False)
    assert again["interpretation_config"] == {}
    repeated = run("interpretations.run", interpretation_id=second["interpretation_id"], force=True)
    assert repeated["interpretation_config"] == configured["interpretation_config"]
    for wrong in ({}, {"source_id": answer["source_id"], "interpretation_id": first}):
        with pytest.raises(InvalidInput):
            run("interpretations.run", **wrong)
    with pytest.raises(NotFound):
        run("interpretations.run", interpretation_id="int_" + "0" * 24)


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


def make_due(loop: Loop, services: Services, owner: str) -> None:
    """Make what waits of an owner due now, also what was postponed."""
    due = "MATCH (n:Interpretation) WHERE n.owner = $o AND n.due_at IS NOT NULL SET n.due_at = 0"
    loop.run(services.database.script(due, o=owner))


def drained(run: Call, loop: Loop, services: Services, owner: str) -> None:
    """Interpret what waits until nothing of the owner does."""
    for _ in range(100):
        waiting = run("interpretations.list")["interpretations"]
        if not any(row["status"] in ("pending", "running") for row in waiting):
            return
        make_due(loop, services, owner)
        loop.run(interpretation.run_next(services))


def test_a_large_table_is_left_to_the_worker(run: Call, loop: Loop, services: Services, owner: str) -> None:
    answer = run("store", **with_file(table(600), "many.csv"))
    started = answer["interpretation"]
    assert (started["status"], started["interpreter"], started["entities_created"]) == ("pending", "rows", 0)
    drained(run, loop, services, owner)
    done = run("interpretations.get", interpretation_id=started["interpretation_id"])
    assert (done["status"], done["entities_created"], done["observations_created"]) == (
        "completed",
        600,
        600,
    )
    assert done["attempts"] >= 1
    page = run("entities.query", entity_type="person", include_total_count=True, limit=1)
    assert page["total"] == 600


@pytest.mark.parametrize("others", [0, 600])
def test_what_the_writes_of_a_file_warn_of_is_kept_with_its_interpretation(
    run: Call, loop: Loop, services: Services, owner: str, others: int
) -> None:
    shared = ["person,Kaja Moen,info@yard.example", "person,Sindre Foss,info@yard.example"]
    data = "\n".join([table(others).decode(), *shared, ""])
    started = run("store", **with_file(data.encode(), "crew.csv"))["interpretation"]
    drained(run, loop, services, owner)
    done = run("interpretations.get", interpretation_id=started["interpretation_id"])
    [warning] = [each for each in done["warnings"] if each.startswith("SHARED_IDENTIFIER")]
    assert "2 people (kaja moen, sindre foss) share the e-mail address" in warning
    assert [warning] == done["warnings"] == started.get("warnings", done["warnings"])
    assert done == {**done, **run("interpretations.list")["interpretations"][0]}


def test_relationships_of_a_large_file_connect_entities_of_different_transactions(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    count = writing.CHUNK + 1
    entity = '{"type":"entity","name":"Person %d","entityType":"person","observations":[]}'
    relation = '{"type":"relation","from":"Person %d","to":"Person %d","relationType":"knows"}'
    lines = [entity % number for number in range(count)]
    lines += [relation % (number, count - 1 - number) for number in range(count - 1) if number != count // 2]
    run("store", **with_file("\n".join(lines).encode(), "memory.jsonl"))
    drained(run, loop, services, owner)
    (row,) = run("interpretations.list")["interpretations"]
    assert (row["status"], row["entities_created"], row["relationships_created"]) == (
        "completed",
        count,
        count - 2,
    )
    first, last = (
        run("entities.find", identifier=f"Person {number}")["entities"][0]["entity_id"]
        for number in (0, count - 1)
    )
    (link,) = run("relationships.list", entity_id=first, direction="outgoing")["relationships"]
    assert (link["source_entity_id"], link["target_entity_id"]) == (first, last)


class ProcessEnded(Exception):
    """It stands for the end of the process: nothing may catch it."""


def cut_off(run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpret the file of the owner, and end the process before the interpretation ends.

    A busy database postpones an attempt, as it would in a service: then the worker tries it again.
    """

    async def end_process(*args: Any, **more: Any) -> None:
        raise ProcessEnded

    with monkeypatch.context() as patched:
        patched.setattr(writing, "end", end_process)
        for _ in range(5):
            make_due(loop, services, owner)
            try:
                loop.run(interpretation.run_next(services))
            except ProcessEnded:
                return
    pytest.fail(f"no attempt wrote the whole file: {run('interpretations.list')['interpretations']}")


def test_a_run_that_was_cut_off_is_run_again_with_one_effect(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run("store", **with_file(table(600), "many.csv"))
    cut_off(run, loop, services, owner, monkeypatch)
    drained(run, loop, services, owner)
    done = run("interpretations.get", interpretation_id=answer["interpretation"]["interpretation_id"])
    assert (done["status"], done["observations_created"]) == ("completed", 600)
    assert done["attempts"] >= 2
    assert run("server.stats")["total_observations"] == 600


def test_an_interpretation_that_fails_again_for_the_same_reason_is_no_new_one(run: Call) -> None:
    file = with_file(b"\x00\x01\x02 nothing reads this", "odd.bin")
    first = run("store", **file, idempotency_key="a")
    assert first["interpretation"]["status"] == "failed"
    for more in ({"idempotency_key": "a"}, {"idempotency_key": "b"}, {}):
        again = run("store", **file, **more)
        assert again["interpretation"] == first["interpretation"]
    assert run("interpretations.run", source_id=first["source_id"])["unchanged"]
    assert len(run("interpretations.list")["interpretations"]) == 1
    forced = run("interpretations.run", source_id=first["source_id"], force=True)
    assert (forced["status"], forced["run"]) == ("failed", 1)


def test_a_repeat_of_an_interpretation_with_its_key_is_no_further_run(run: Call) -> None:
    source_id = run("store", **with_file(PEOPLE, "people.csv"))["source_id"]
    request = {"source_id": source_id, "force": True, "idempotency_key": "once"}
    first = run("interpretations.run", **request)
    again = run("interpretations.run", **request)
    assert (first["run"], first["replayed"], first["unchanged"]) == (1, False, False)
    assert again == {**first, "replayed": True}
    other = run("store", **with_file(b"entity_type,name\nperson,Eve\n", "eve.csv"))["source_id"]
    with pytest.raises(IdempotencyMismatch):
        run("interpretations.run", **{**request, "source_id": other})
    assert run("interpretations.run", **{**request, "idempotency_key": "twice"})["run"] == 2


def test_a_key_whose_request_ended_early_makes_its_interpretation(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_id = run("store", **with_file(PEOPLE, "people.csv"))["source_id"]
    request = {"source_id": source_id, "force": True, "idempotency_key": "once"}

    async def fail(*args: Any) -> None:
        raise ObjectStoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(runs, "_write", fail)
        with pytest.raises(ObjectStoreUnavailable):
            run("interpretations.run", **request)
    again = run("interpretations.run", **request)
    assert (again["run"], again["status"], again["replayed"]) == (1, "completed", False)


def test_what_a_failed_interpretation_made_does_not_count(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: Any
) -> None:
    answer = run("store", **with_file(table(600), "many.csv"))
    row_id = answer["interpretation"]["interpretation_id"]
    before = run("server.stats")["state_hash"]
    cut_off(run, loop, services, owner, monkeypatch)
    running = run("interpretations.get", interpretation_id=row_id)
    assert running["observations_created"] == 600, "the progress is told"
    assert running["status"] == "running"
    often = "MATCH (n:Interpretation {id: $id}) SET n.attempts = $attempts"
    loop.run(services.database.script(often, id=row_id, attempts=runs.ATTEMPTS_LIMIT))
    drained(run, loop, services, owner)
    failed = run("interpretations.get", interpretation_id=row_id)
    assert (failed["status"], failed["withdrawn"]) == ("failed", True)
    assert (failed["observations_created"], failed["entities_created"]) == (600, 600)
    # The worker of another process may have found that it failed, and fold what it made a moment later.
    fold_all(loop, services, run)
    stats = run("server.stats")
    assert (stats["state_hash"], stats["total_entities"], stats["total_observations"]) == (before, 0, 0)
    assert run("server.check_snapshots")["healthy"]


@pytest.mark.parametrize(
    ("attempts", "line", "status"),
    [
        (runs.ATTEMPTS_LIMIT - 2, "an interpretation is tried again later", "pending"),
        (runs.ATTEMPTS_LIMIT - 1, "the last attempt of an interpretation failed", "failed"),
    ],
)
def test_the_log_says_whether_an_interpretation_is_tried_again(
    run: Call,
    loop: Loop,
    services: Services,
    owner: str,
    monkeypatch: pytest.MonkeyPatch,
    attempts: int,
    line: str,
    status: str,
) -> None:
    async def unavailable(*args: Any) -> None:
        raise ObjectStoreUnavailable("the bucket is away")

    script = "MATCH (n:Interpretation {id: $id}) SET n.attempts = $attempts"
    row_id, events = "", list[str]()
    for rows in range(600, 605):
        row_id = run("store", **with_file(table(rows), "many.csv"))["interpretation"]["interpretation_id"]
        loop.run(services.database.script(script, id=row_id, attempts=attempts))
        make_due(loop, services, owner)
        with capture_logs() as lines, monkeypatch.context() as patched:
            patched.setattr(readings, "read", unavailable)
            loop.run(interpretation.run_next(services))
        if events := [each["event"] for each in lines if each.get("id") == row_id]:
            break
        # The worker of another process serves all owners, and was faster: again with another file.
    assert events == [line]
    assert run("interpretations.get", interpretation_id=row_id)["status"] == status


def test_the_same_interpreter_on_the_same_bytes_changes_nothing(run: Call) -> None:
    stored = run("store", **with_file(PEOPLE, "people.csv"))
    before = run("server.stats")
    again = run("interpretations.run", source_id=stored["source_id"])
    assert (again["unchanged"], again["success"]) == (True, True)
    assert again["interpretation_id"] == stored["interpretation"]["interpretation_id"]
    assert run("server.stats") == before


def test_the_runs_of_a_source_are_read_once_to_interpret_it_again(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    stored = run("store", **with_file(PEOPLE, "people.csv"))
    with faulty_services(loop, services) as (faulty, database):
        database.names.clear()
        by_runner(loop, faulty, owner)("interpretations.run", source_id=stored["source_id"])
        assert database.names.count("interpretation.page_by_source") == 1


def test_a_file_is_interpreted_by_another_configuration(run: Call) -> None:
    stored = run("store", **with_file(b"name,city\nAda,London\n", "x.csv"))
    config = {"entity_type": "person"}
    again = run("interpretations.run", source_id=stored["source_id"], interpretation_config=config)
    assert (again["unchanged"], again["run"], again["interpretation_config"]) == (False, 0, config)
    (ada,) = run("entities.query", entity_type="person")["entities"]
    assert ada["snapshot"]["city"] == "London"


def test_a_new_reading_withdraws_the_earlier_one_and_no_reading_of_a_caller(run: Call) -> None:
    stored = run("store", **with_file(b"name,city\nAda,London\n", "x.csv"))
    source_id = stored["source_id"]
    note = {"entity_type": "note", "title": "by a caller"}
    by_caller = run("interpretations.create", source_id=source_id, entities=[note])
    before = run("server.stats")
    (record,) = run("entities.query", entity_type="record")["entities"]
    config = {"entity_type": "person"}
    again = run("interpretations.run", source_id=source_id, interpretation_config=config)
    first = stored["interpretation"]["interpretation_id"]
    withdrawn = {
        row["interpretation_id"]: row["withdrawn"]
        for row in run("interpretations.list", source_id=source_id)["interpretations"]
    }
    assert withdrawn == {
        first: True, by_caller["interpretation_id"]: False, again["interpretation_id"]: False,
    }  # fmt: skip
    assert run("entities.query", entity_type="record")["entities"] == []
    with pytest.raises(NotFound):
        run("entities.get", entity_id=record["entity_id"])
    assert run("server.stats")["total_entities"] == before["total_entities"]
    run("interpretations.reinstate", interpretation_id=first)
    assert [row["entity_id"] for row in run("entities.query", entity_type="record")["entities"]] == [
        record["entity_id"]
    ]


def test_a_reading_that_fails_leaves_the_earlier_one(run: Call) -> None:
    stored = run("store", **with_file(PEOPLE, "people.csv"))
    run("interpretations.run", source_id=stored["source_id"], interpreter="nobody")
    first, *_ = run("interpretations.list", status="completed")["interpretations"]
    assert first["withdrawn"] is False
    assert run("entities.query", entity_type="person", include_total_count=True)["total"] == 2


def test_a_withdrawn_reading_is_read_again_on_request(run: Call) -> None:
    stored = run("store", **with_file(PEOPLE, "people.csv"))
    run("interpretations.withdraw", interpretation_id=stored["interpretation"]["interpretation_id"])
    assert run("entities.query", entity_type="person")["entities"] == []
    again = run("interpretations.run", source_id=stored["source_id"])
    assert (again["unchanged"], again["run"], again["status"]) == (False, 1, "completed")
    assert run("entities.query", entity_type="person", include_total_count=True)["total"] == 2


def test_an_interpreter_that_is_not_there_fails_with_a_reason(run: Call) -> None:
    stored = run("store", **with_file(PEOPLE, "people.csv"))
    failed = run("interpretations.run", source_id=stored["source_id"], interpreter="nobody")
    assert (failed["success"], failed["status"]) == (False, "failed")
    assert "nobody" in failed["error_message"]


def test_what_nobody_has_interpreted_is_interpreted_by_command(command: Command, run: Call) -> None:
    entities = [{"entity_type": "person", "name": "Ada"}]
    source_ids = {
        run("store", entities=entities, **with_file(data, "x.csv"))["source_id"]
        for data in (PEOPLE, b"name\nGrace\n", b"\x00\x01\x02")
    }
    assert command("interpret")[0] != 0
    code, out, _ = command("interpret", "--uninterpreted", "--dry-run", "--json")
    assert (code, {row["source_id"] for row in json.loads(out)["interpretations"]}) == (0, source_ids)
    code, out, _ = command("interpret", "--uninterpreted", "--json")
    answer = json.loads(out)
    assert (code, answer["completed"], answer["failed"]) == (1, 2, 1)
    code, out, _ = command("interpret", "--uninterpreted", "--json")
    assert (code, json.loads(out)["interpretations"]) == (0, [])
    code, out, err = command("interpret", *source_ids)
    assert (code, "2 completed" in out, "1 failed" in out, bool(err)) == (1, True, True, True)


def test_prose_is_read_by_a_language_model_where_one_is_configured(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    with running_language_model() as model:
        model.reads = lambda text: {
            "entities": [{
                "entity_type": "person",
                "fields": [{"name": "name", "value": "Ada Lovelace", "quote": "Ada Lovelace"}],
            }],
            "relationships": [],
        }  # fmt: skip
        configured = model.settings()
        update = {name: getattr(configured, name) for name in ("llm_url", "llm_model", "llm_key")}
        settings = services.settings.model_copy(update=update)
        with_model = dataclasses.replace(services, settings=settings)
        by_model = by_runner(loop, with_model, owner)
        answer = by_model("store", **with_file(b"Dear Ada Lovelace,\nyours", "letter.txt"))
        assert answer["interpretation"]["status"] == "pending"
        assert model.requests == []
        table = by_model("store", **with_file(b"entity_type,name\nthing,Engine\n", "things.csv"))
        drained(by_model, loop, with_model, owner)
        assert len(model.requests) == 1
    row = run("interpretations.get", interpretation_id=answer["interpretation"]["interpretation_id"])
    assert (row["status"], row["interpreter"], row["model"]) == (
        "completed", "language_model", settings.llm_model,
    )  # fmt: skip
    assert run("interpretations.list", source_id=table["source_id"])["interpretations"][0]["interpreter"] == (
        "rows"
    )
    (ada,) = run("entities.find", identifier="Ada Lovelace", entity_type="person")["entities"]
    provenance = run("entities.provenance", entity_id=ada["entity_id"], field="name")
    assert provenance["observations"][0]["observation_source"] == "llm_summary"
    (place,) = provenance["places"]
    assert (place["start"], place["quote"]) == (5, "Ada Lovelace")
