"""Withdrawing a source: what was stored with it does not count any more, until it is reinstated."""

from __future__ import annotations

import uuid
from operator import itemgetter
from typing import Any, LiteralString

import pytest

from graphmem import worker
from graphmem.context import Services
from graphmem.errors import IdempotencyMismatch, InvalidCursor, InvalidInput, NotFound
from graphmem.registry import REGISTRY
from graphmem.storing import acceptance
from graphmem.writing import forms
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.exclusion_plans import as_difference, difference, listed, planned
from tests.support.faces import Call, by_runner
from tests.support.worker_pass import fold_withdrawn

ACME = {"entity_type": "company", "name": "Acme"}
WORKS = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
OLD, NEW = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"


def person(**fields: Any) -> dict[str, Any]:
    """Return an observation of one person."""
    return {"entity_type": "person", "email": "ada@example.com", **fields}


def is_sound(run: Call) -> bool:
    """Return whether all that is stored is what the facts come to."""
    report = run("server.check_snapshots")
    assert report["stale_snapshots"] == []
    return report["healthy"] and report["counts_compared"]


def state(run: Call) -> tuple[Any, ...]:
    """Return what answers show now, without versions and times of recording."""
    entities = run("entities.query", include_deleted=True, include_merged=True)["entities"]
    links = run("relationships.list", include_deleted=True)["relationships"]
    events = run("timeline.list")["events"]
    stats = run("server.stats")
    return (
        [(each["entity_id"], each["state"], each["canonical_name"], each["snapshot"], each["provenance"],
          each["observation_count"], each["last_observation_at"]) for each in entities],
        [(each["relationship_key"], each["is_live"], each["snapshot"], each["observation_count"])
         for each in links],
        [(each["id"], each["observation_id"]) for each in events],
        stats["state_hash"], stats["total_entities"], stats["total_observations"],
    )  # fmt: skip


def test_a_withdrawn_source_counts_nowhere_and_counts_again(run: Call) -> None:
    first = run("store", entities=[person(name="Ada", city="Bath", observed_at=OLD)])
    ada = first["entities"][0]["entity_id"]
    before = state(run)
    items = [person(city="Turin", born="1815-12-10"), ACME]
    filed = run("store", entities=items, relationships=[WORKS], observed_at=NEW, **with_file())
    source_id, acme = filed["source_id"], filed["entities"][1]["entity_id"]
    after = state(run)
    known = filed["recorded_at"]

    answer = run("sources.withdraw", source_id=source_id, reason="a draft")
    assert (answer["state"], answer["observations"], answer["pending"]) == ("withdrawn", 3, 0)
    assert state(run) == before
    entity = run("entities.snapshot", entity_id=ada)
    assert entity["snapshot"]["city"] == "Bath"
    assert (entity["version"], entity["observation_count"]) == (3, 1)
    for name in ("entities.get", "entities.snapshot"):
        with pytest.raises(NotFound):
            run(name, entity_id=acme)
    key = filed["relationships_created"][0]["relationship_key"]
    for include in (True, False):
        with pytest.raises(NotFound):
            run("relationships.snapshot", relationship_key=key, include_deleted=include)
    assert run("entities.find", identifier="Acme")["entities"] == []
    assert run("entities.query", search="Turin")["entities"] == []
    assert is_sound(run)

    then = run("entities.snapshot", entity_id=ada, at_ingested=known)
    assert then["snapshot"]["city"] == "Turin"
    assert run("entities.snapshot", entity_id=acme, at_ingested=known)["canonical_name"] == "Acme"
    now = run("entities.snapshot", entity_id=ada, at_ingested=answer["recorded_at"])
    assert now["snapshot"] == entity["snapshot"]
    assert (now["version"], now["observation_count"]) == (3, 1)
    with pytest.raises(NotFound):
        run("entities.snapshot", entity_id=acme, at_ingested=answer["recorded_at"])

    again = run("sources.reinstate", source_id=source_id)
    assert (again["state"], again["pending"]) == ("counting", 0)
    assert state(run) == after
    assert run("entities.get", entity_id=acme)["version"] == 3
    assert is_sound(run)
    past = run("entities.snapshot", entity_id=ada, at_ingested=answer["recorded_at"])
    assert past["snapshot"]["city"] == "Bath"


def test_withdrawing_twice_and_unknown_sources_are_refused(run: Call) -> None:
    source_id = run("store", entities=[ACME], **with_file())["source_id"]
    with pytest.raises(NotFound, match="is not withdrawn"):
        run("sources.reinstate", source_id=source_id)
    first = run("sources.withdraw", source_id=source_id, idempotency_key="k")
    with pytest.raises(NotFound, match="is withdrawn already"):
        run("sources.withdraw", source_id=source_id)
    repeated = run("sources.withdraw", source_id=source_id, idempotency_key="k")
    assert repeated == {**first, "replayed": True}
    with pytest.raises(IdempotencyMismatch):
        run("sources.withdraw", source_id=source_id, reason="else", idempotency_key="k")
    with pytest.raises(NotFound):
        run("sources.withdraw", source_id="src_" + 24 * "0")


def test_what_is_stored_with_a_withdrawn_source_waits_for_its_reinstatement(run: Call) -> None:
    source_id = run("store", entities=[person()], **with_file())["source_id"]
    run("sources.withdraw", source_id=source_id)
    late = run("store", entities=[ACME, person(city="Bath")], relationships=[WORKS], **with_file())
    acme = late["entities"][0]["entity_id"]
    assert [each["code"] for each in late["store_warnings"]] == ["SOURCE_WITHDRAWN"]
    assert run("entities.query")["entities"] == []
    with pytest.raises(NotFound):
        run("observations.create", entity_id=acme, fields={"city": "Rome"})
    with pytest.raises(InvalidInput):
        run("relationships.create", relationship_type="WORKS_AT", source_entity_id=acme,
            target_entity_id=late["entities"][1]["entity_id"])  # fmt: skip
    assert is_sound(run)
    assert run("sources.get", source_id=source_id)["withdrawn"]
    assert [each["withdrawn"] for each in run("sources.list")["sources"]] == [True]
    read = run("interpretations.run", source_id=source_id)
    assert any("/reinstate" in warning for warning in read["warnings"])
    direct = run("store", entities=[ACME])
    assert direct["entities"][0]["action"] == "created"
    assert [each["entity_id"] for each in run("entities.query")["entities"]] == [acme]
    run("sources.reinstate", source_id=source_id)
    assert not run("sources.get", source_id=source_id)["withdrawn"]
    assert run("entities.get", entity_id=acme)["observation_count"] == 2
    assert run("relationships.list")["relationships"][0]["is_live"]
    assert is_sound(run)


def test_answers_from_indexes_say_what_waits_and_reads_of_a_thing_do_not_wait(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = [{"entity_type": "thing", "name": f"n{number}"} for number in range(3)]
    monkeypatch.setattr(acceptance, "APPLIED_AT_ONCE", 0)
    waiting: list[int | None] = []
    for _ in range(5):
        run = by_runner(loop, services, str(uuid.uuid4()))
        filed = run("store", entities=[*things, person(city="Bath")], **with_file())
        ada = filed["entities"][3]["entity_id"]
        run("store", entities=[person(city="Rome", observed_at=OLD)])
        answer = run("sources.withdraw", source_id=filed["source_id"])
        waiting = [answer["pending"], run("server.stats").get("pending")]
        assert run("entities.snapshot", entity_id=ada)["snapshot"]["city"] == "Rome"
        with pytest.raises(NotFound):
            run("entities.get", entity_id=filed["entities"][0]["entity_id"])
        waiting.append(run("observations.query").get("pending"))
        # The worker of another process may fold some, or all, before: it serves all owners.
        if waiting == [4, 4, 2]:
            break
    else:
        pytest.fail(f"the worker of another process was faster each time: {waiting}")
    fold_withdrawn(loop, services, run)
    assert "pending" not in run("server.stats")
    assert [each["entity_id"] for each in run("entities.query")["entities"]] == [ada]
    assert is_sound(run)


def test_a_withdrawal_of_more_than_one_transaction_can_note_goes_on_after_it(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [{"name": f"n{number}"} for number in range(5)]
    things = [{"entity_type": "thing", **name} for name in names]
    links = [{"relationship_type": "PART_OF", "source_index": 0, "target_index": number} for number in (1, 2)]
    monkeypatch.setattr(forms, "STAMPED_LIMIT", 2)
    pending: list[int | None] = []
    for _ in range(5):
        owner = str(uuid.uuid4())
        run = by_runner(loop, services, owner)
        filed = run("store", entities=things, relationships=links, **with_file())
        before = state(run)
        with monkeypatch.context() as patched:
            # As if the process had died after the transaction of the withdrawal.
            patched.setattr(acceptance, "APPLIED_AT_ONCE", 0)
            answer = run("sources.withdraw", source_id=filed["source_id"])
        assert answer["observations"] == 7
        # Five observations are not noted yet, two entities are not folded again.
        pending = [answer["pending"], run("server.stats").get("pending")]
        # What is written meanwhile is folded from what counts.
        run("store", entities=[{**thing, "n": 1} for thing in things])
        folded = loop.run(services.writers.refold_withdrawn(owner, worker.WITHDRAWN_LIMIT))
        # The worker of another process may be faster: it serves all owners.
        if pending == [5 + 2, 5 + 2] and folded >= 5:
            break
    else:
        pytest.fail(f"the worker of another process was faster each time: {pending}")
    assert "pending" not in run("server.stats")
    snapshots = [each["snapshot"] for each in run("entities.query")["entities"]]
    assert sorted(snapshots, key=itemgetter("name")) == [{**each, "n": 1} for each in names]
    assert run("relationships.list")["relationships"] == []
    assert is_sound(run)
    with monkeypatch.context() as patched:
        patched.setattr(acceptance, "APPLIED_AT_ONCE", 0)
        run("sources.reinstate", source_id=filed["source_id"])
        # The second change of the same file starts from its first observation.
        run("sources.withdraw", source_id=filed["source_id"])
    answer = run("sources.reinstate", source_id=filed["source_id"])
    assert answer["pending"] == 0
    assert state(run)[1] == before[1]
    assert is_sound(run)


def test_each_answer_from_indexes_says_what_waits_and_nothing_once_nothing_waits(
    run: Call, loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = run("store", entities=[person(name="Ada")])["entities"][0]["entity_id"]
    filed = run("store", entities=[person(city="Bath"), ACME], relationships=[WORKS], **with_file())
    calls: dict[str, dict[str, Any]] = {
        "entities.query": {"search": "Ada"},
        "entities.find": {"identifier": "Ada"},
        "entities.related": {"entity_id": ada},
        "graph.neighborhood": {"node_id": ada},
        "relationships.list": {},
        "timeline.list": {},
        "context.retrieve": {"question": "where does Ada live?"},
        "observations.query": {},
        "entities.history": {"entity_id": ada},
        "server.stats": {},
        "schemas.list": {},
        "sources.list": {},
        "interpretations.list": {},
    }
    assert calls.keys() == {each.name for each in REGISTRY.values() if each.indexed}
    monkeypatch.setattr(acceptance, "APPLIED_AT_ONCE", 0)
    # The worker of another process serves all owners, and may be faster than some reads: they come again.
    unsaid = [*calls]
    for verb in ("withdraw", "reinstate") * 10:
        run(f"sources.{verb}", source_id=filed["source_id"])
        unsaid = [name for name in unsaid if not run(name, **calls[name]).get("pending")]
        if not unsaid:
            break
    assert unsaid == []
    while run("server.stats").get("pending"):
        fold_withdrawn(loop, services, run)
    assert [name for name, call in calls.items() if "pending" in run(name, **call)] == []


def test_deletions_and_merges_of_what_is_withdrawn_keep_their_meaning(run: Call) -> None:
    filed = run("store", entities=[ACME, person()], relationships=[WORKS], **with_file())
    acme, ada = (each["entity_id"] for each in filed["entities"])
    run("entities.delete", entity_id=acme)
    other = run("store", entities=[person(email="b@example.com", city="Rome")])["entities"][0]["entity_id"]
    run("entities.merge", source_entity_id=ada, target_entity_id=other)
    run("sources.withdraw", source_id=filed["source_id"])
    assert is_sound(run)
    entities = run("entities.query", include_deleted=True, include_merged=True)["entities"]
    assert [each["entity_id"] for each in entities] == [other]
    with pytest.raises(NotFound):
        run("entities.get", entity_id=acme, include_deleted=True)
    run("store", entities=[{**ACME, "city": "Turin"}])
    assert run("entities.query")["entities"] == run("entities.query")["entities"]
    assert is_sound(run)
    run("sources.reinstate", source_id=filed["source_id"])
    assert run("entities.get", entity_id=ada)["entity_id"] == other
    assert is_sound(run)


def test_relationships_as_of_a_time_are_those_of_an_entity_that_its_snapshot_shows(run: Call) -> None:
    filed = run("store", entities=[{**ACME, "observed_at": OLD}, person(observed_at=OLD)], **with_file())
    acme, ada = (each["entity_id"] for each in filed["entities"])
    run("store", entities=[{"target_id": acme, "city": "Turin", "observed_at": NEW}])
    other = run("store", entities=[person(email="b@example.com", city="Rome")])["entities"][0]["entity_id"]
    run("entities.merge", source_entity_id=other, target_entity_id=ada)
    run("sources.withdraw", source_id=filed["source_id"])
    for entity_id, at, is_shown in (
        (acme, "2020-06-01", False),
        (acme, NEW, True),
        (ada, "2999-01-01", True),
    ):
        for name in ("entities.snapshot", "relationships.list"):
            for more in ({}, {"include_deleted": True}):
                if is_shown:
                    run(name, entity_id=entity_id, at=at, **more)
                    continue
                with pytest.raises(NotFound):
                    run(name, entity_id=entity_id, at=at, **more)


def test_a_dry_run_answers_what_would_change_and_writes_nothing(run: Call) -> None:
    first = run("store", entities=[person(name="Ada", city="Bath", observed_at=OLD)])
    ada, bath = first["entities"][0]["entity_id"], first["entities"][0]["observation_id"]
    items = [person(city="Turin", born="1815-12-10"), ACME]
    filed = run("store", entities=items, relationships=[WORKS], observed_at=NEW, **with_file())
    source_id, acme = filed["source_id"], filed["entities"][1]["entity_id"]
    direct = run(
        "relationships.create", relationship_type="RELATED_TO", source_entity_id=acme, target_entity_id=ada
    )
    before, everything = listed(run), state(run)

    answer = run("sources.withdraw", source_id=source_id, dry_run=True)
    assert answer == run("sources.withdraw", source_id=source_id, commit=False)
    assert answer["counts"] == {"observations": 3, "entities": 2, "relationships": 1, "receipts": 0}
    assert (answer["state"], answer["observations"], answer["dry_run"]) == ("withdrawn", 3, True)
    changes = {each["entity_id"]: each for each in answer["entities"]}
    assert changes[acme]["change"] == "disappears"
    assert {each["relationship_key"]: each["change"] for each in answer["relationships"]} == {
        filed["relationships_created"][0]["relationship_key"]: "disappears",
        direct["relationship_key"]: "disappears",
    }
    assert changes[ada]["change"] == "changes"
    by_field = {each["field"]: each for each in changes[ada]["fields"]}
    assert (by_field["born"]["new_value"], by_field["born"]["winner"]) == (None, None)
    city = by_field["city"]
    assert (city["old_value"], city["new_value"], city["winner"]["observation_id"]) == ("Turin", "Bath", bath)
    assert city["winner"]["source_id"] is None
    assert (listed(run), state(run)) == (before, everything)

    plan = planned(run, "sources.withdraw", limit=1, source_id=source_id)
    run("sources.withdraw", source_id=source_id)
    after = listed(run)
    assert as_difference(plan) == difference(before, after)
    plan = planned(run, "sources.reinstate", limit=1, source_id=source_id)
    assert plan[acme]["change"] == "appears"
    (born,) = [each for each in plan[ada]["fields"] if each["field"] == "born"]
    assert born["winner"]["source_id"] == source_id
    run("sources.reinstate", source_id=source_id)
    assert as_difference(plan) == difference(after, listed(run))
    assert is_sound(run)


def test_a_dry_run_refuses_what_would_be_refused(run: Call) -> None:
    source_id = run("store", entities=[ACME], **with_file())["source_id"]
    with pytest.raises(NotFound, match="is not withdrawn"):
        run("sources.reinstate", source_id=source_id, dry_run=True)
    with pytest.raises(NotFound):
        run("sources.withdraw", source_id="src_" + 24 * "0", dry_run=True)
    cursor = run("sources.withdraw", source_id=source_id, dry_run=True, limit=1).get("next_cursor", "x")
    with pytest.raises(InvalidCursor):
        run("sources.reinstate", source_id=source_id, dry_run=True, cursor=cursor)
    run("sources.withdraw", source_id=source_id)
    with pytest.raises(NotFound, match="is withdrawn already"):
        run("sources.withdraw", source_id=source_id, dry_run=True)


def test_an_observation_that_does_not_count_names_what_was_withdrawn(run: Call) -> None:
    filed = run("store", entities=[ACME], **with_file())
    source_id, observation_id = filed["source_id"], filed["entities"][0]["observation_id"]
    run("store", entities=[{**ACME, "city": "Turin"}])
    (named,) = run("observations.query", observation_id=observation_id)["observations"]
    assert "exclusions" not in named
    known = run("store", entities=[person()])["recorded_at"]
    answer = run("sources.withdraw", source_id=source_id, reason="a draft")
    expected = [{
        "exclusion_id": answer["exclusion_id"], "subject_kind": "source", "subject_id": source_id,
        "since": answer["recorded_at"], "reason": "a draft",
    }]  # fmt: skip
    (named,) = run("observations.query", observation_id=observation_id)["observations"]
    assert named["exclusions"] == expected
    listed_rows = run("observations.query", include_excluded=True)["observations"]
    assert {row["id"]: row.get("exclusions") for row in listed_rows}[observation_id] == expected
    assert sum("exclusions" in row for row in listed_rows) == 1
    entity_id = filed["entities"][0]["entity_id"]
    past = run("entities.provenance", entity_id=entity_id, field="name", at_ingested=known)
    by_id = {row["id"]: row.get("exclusions") for row in past["observations"]}
    assert by_id.get(observation_id, expected) == expected
    run("sources.reinstate", source_id=source_id)
    (named,) = run("observations.query", observation_id=observation_id)["observations"]
    assert "exclusions" not in named


def test_an_observation_names_each_of_its_exclusions(run: Call) -> None:
    source_id = run("store.unstructured", **with_file())["source_id"]
    made = run("interpretations.create", source_id=source_id, entities=[ACME])
    observation_id = made["entities"][0]["observation_id"]
    first = run("interpretations.withdraw", interpretation_id=made["interpretation_id"])
    second = run("sources.withdraw", source_id=source_id)
    (named,) = run("observations.query", observation_id=observation_id)["observations"]
    assert [each["exclusion_id"] for each in named["exclusions"]] == [
        first["exclusion_id"], second["exclusion_id"],
    ]  # fmt: skip
    run("sources.reinstate", source_id=source_id)
    (named,) = run("observations.query", observation_id=observation_id)["observations"]
    assert [each["subject_kind"] for each in named["exclusions"]] == ["interpretation"]


DAMAGES: dict[str, LiteralString] = {
    "an observation does not note it": (
        "MATCH (o:Observation {owner: $owner, source_id: $source_id})<-[seen:OBSERVED]-() "
        "REMOVE o.excluded, seen.excluded"
    ),
    "an edge does not note it": (
        "MATCH (:Observation {owner: $owner, source_id: $source_id})<-[seen:OBSERVED]-() REMOVE seen.excluded"
    ),
    "an observation that counts notes it": (
        "MATCH (o:Observation {owner: $owner, source_id: $source_id}) WITH collect(o.id) AS ids "
        "MATCH (o:Observation {owner: $owner})<-[seen:OBSERVED]-() WHERE NOT o.id IN ids "
        "SET o.excluded = [o.recorded_at], seen.excluded = [o.recorded_at]"
    ),
    "the source does not note it": "MATCH (s:Source {owner: $owner, id: $source_id}) REMOVE s.excluded",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_check_names_and_mends_what_is_noted_wrongly_on_observations(
    run: Call, loop: Loop, services: Services, owner: str, damage: str
) -> None:
    run("store", entities=[person(name="Ada", city="Bath", observed_at=OLD)])
    filed = run(
        "store", entities=[person(city="Turin"), ACME], relationships=[WORKS], observed_at=NEW, **with_file()
    )
    run("sources.withdraw", source_id=filed["source_id"])
    expected = state(run)
    assert is_sound(run)

    loop.run(services.database.script(DAMAGES[damage], owner=owner, source_id=filed["source_id"]))
    report = run("server.check_snapshots")
    assert not report["healthy"]
    named = [each["what"] for row in report["stale_snapshots"] for each in row["differences"]]
    assert any(what.startswith("excluded") for what in named), named
    assert not run("server.check_snapshots")["healthy"]

    fixed = run("server.check_snapshots", auto_fix=True)
    assert fixed["healthy"], fixed
    assert fixed["fixed"]
    assert is_sound(run)
    assert state(run) == expected
