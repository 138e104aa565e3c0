"""What a store means, whichever face it came through."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import IdempotencyMismatch, InvalidInput, StoreRefused
from graphmem.registry import REGISTRY
from tests.faces.conftest import Together
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.walks import walk_over

ADA = {"entity_type": "person", "name": "Ada Lovelace", "born": 1815}
ACME = {"entity_type": "company", "name": "Acme"}
AT = "2026-01-31T09:00:00Z"
NOBODY = "ent_" + "0" * 24


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def issues(run: Call, **arguments: Any) -> list[dict[str, Any]]:
    with pytest.raises(StoreRefused) as refused:
        run("store", **arguments)
    assert run("server.stats")["sequence"] == 0
    return refused.value.details["issues"]


# One observation, or several


def test_the_same_observation_at_a_given_time_is_one(run: Call) -> None:
    first = run("store", entities=[ADA], observed_at=AT)
    again = run("store", entities=[ADA], observed_at=AT)
    (entity,), (repeat,) = first["entities"], again["entities"]
    assert (repeat["observation_id"], repeat["version"]) == (entity["observation_id"], 1)
    assert (entity["deduplicated"], repeat["deduplicated"], again["replayed"]) == (False, True, False)
    assert again["observations_created"] == 0
    assert run("server.stats")["total_observations"] == 1
    assert run("entities.get", entity_id=entity["entity_id"])["observation_count"] == 1


def test_the_same_observation_twice_in_one_request_is_one(run: Call) -> None:
    answer = run("store", entities=[{**ADA, "observed_at": AT}] * 2)
    assert [item["deduplicated"] for item in answer["entities"]] == [False, True]
    assert (answer["entities_created"], answer["observations_created"]) == (1, 1)
    assert run("server.stats")["total_observations"] == 1


@pytest.mark.parametrize(
    "more",
    [
        {"observed_at": "2026-01-31T09:00:00.000001Z"},
        {"born": 1816},
        {"born": 1815.0},
        {"source_priority": 7},
        {"observation_source": "human"},
        {"specificity_score": 0.5},
    ],
)
def test_an_observation_that_differs_in_anything_is_another(run: Call, more: dict[str, Any]) -> None:
    run("store", entities=[{**ADA, "observed_at": AT}])
    (item,) = run("store", entities=[{**ADA, "observed_at": AT, **more}])["entities"]
    assert (item["deduplicated"], item["version"]) == (False, 2)


def test_the_same_time_in_another_zone_is_the_same_observation(run: Call) -> None:
    run("store", entities=[ADA], observed_at=AT)
    (item,) = run("store", entities=[ADA], observed_at="2026-01-31T11:30:00+02:30")["entities"]
    assert item["deduplicated"]


def test_an_older_observation_that_comes_later_does_not_win(run: Call) -> None:
    run("store", entities=[{**ADA, "mood": "new", "observed_at": "2026-02-01"}])
    (item,) = run("store", entities=[{**ADA, "mood": "old", "observed_at": "2026-01-01"}])["entities"]
    assert (item["entity_snapshot_after"]["mood"], item["version"]) == ("new", 2)


def test_one_entity_named_twice_in_a_request_loses_nothing(run: Call) -> None:
    answer = run("store", entities=[{**ADA, "a": 1, "both": 1}, {**ADA, "b": 2, "both": 2}])
    first_entry, second_entry = answer["entities"]
    assert first_entry["entity_id"] == second_entry["entity_id"]
    assert (first_entry["version"], second_entry["version"]) == (1, 1)
    assert (answer["entities_created"], answer["observations_created"]) == (1, 2)
    entity = run("entities.get", entity_id=first_entry["entity_id"])
    assert entity["snapshot"] == {"name": "Ada Lovelace", "born": 1815, "a": 1, "b": 2, "both": 2}
    assert (entity["version"], entity["observation_count"]) == (1, 2)


def test_a_replay_of_one_entity_named_twice_answers_as_the_first_time(run: Call) -> None:
    twice = [{**ADA, "a": 1}, {**ADA, "b": 2}]
    first = run("store", entities=twice, idempotency_key="k")
    again = run("store", entities=twice, idempotency_key="k")
    assert again["entities"] == [{**item, "deduplicated": True} for item in first["entities"]]


def test_a_replay_answers_the_snapshot_as_of_its_transaction(run: Call) -> None:
    first = run("store", entities=[{**ADA, "observed_at": "2026-01-01"}], idempotency_key="k")
    run("store", entities=[{**ADA, "born": 0, "name": "Ada Lovelace", "observed_at": "2025-01-01"}])
    run("store", entities=[{**ADA, "born": 1, "full_name": "Countess", "observed_at": "2026-01-02"}])
    again = run("store", entities=[{**ADA, "observed_at": "2026-01-01"}], idempotency_key="k")
    assert again["entities"][0]["entity_snapshot_after"] == first["entities"][0]["entity_snapshot_after"]
    assert again["recorded_at"] == first["recorded_at"]


# Many at once


def test_thirty_requests_at_once_on_one_entity_lose_nothing(together: Together, run: Call) -> None:
    answers = together(
        "store", [{"entities": [{"entity_type": "thing", "name": "x", f"f{i}": i}]} for i in range(30)]
    )
    items = [answer["entities"][0] for answer in answers]
    assert Counter(item["action"] for item in items) == {"created": 1, "matched_existing": 29}
    assert sorted(item["version"] for item in items) == list(range(1, 31))
    for i, item in enumerate(items):
        # Each answer is the state as of its own transaction, so it has as many fields as its version says.
        assert item["entity_snapshot_after"][f"f{i}"] == i
        assert len(item["entity_snapshot_after"]) == item["version"] + 1
    assert len({answer["recorded_at"] for answer in answers}) == 30
    entity = run("entities.get", entity_id=items[0]["entity_id"])
    assert entity["snapshot"] == {"name": "x", **{f"f{i}": i for i in range(30)}}
    stats = run("server.stats")
    assert (stats["sequence"], stats["total_observations"], stats["total_entities"]) == (30, 30, 1)


def test_the_order_of_an_owners_transactions_has_no_gap(
    together: Together, run: Call, services: Services, loop: Loop, owner: str
) -> None:
    together("store", [{"entities": [{"entity_type": "thing", "name": f"n{i % 4}"}]} for i in range(12)])
    run("store", entities=[ADA])
    query = "MATCH (t:Transaction) WHERE t.owner = $o RETURN t.sequence AS n, t.recorded_at AS r"
    rows = sorted((row["n"], row["r"]) for row in loop.run(services.database.script(query, o=owner)))
    assert [n for n, _ in rows] == list(range(1, 14))
    assert [r for _, r in rows] == sorted({r for _, r in rows})


def test_one_key_in_many_requests_at_once_is_written_once(together: Together, run: Call) -> None:
    same = {"entities": [ADA], "idempotency_key": "k"}
    other = {"entities": [{**ADA, "born": 1}], "idempotency_key": "k"}
    outcomes = together("store", [same] * 16 + [other] * 6)
    refused = [outcome for outcome in outcomes if isinstance(outcome, IdempotencyMismatch)]
    answered = [outcome for outcome in outcomes if isinstance(outcome, dict)]
    # Whichever came first holds the key.
    assert {len(answered), len(refused)} == {16, 6}
    assert sorted(answer["replayed"] for answer in answered) == [False] + [True] * (len(answered) - 1)
    assert len({answer["transaction_id"] for answer in answered}) == 1
    assert run("server.stats")["total_observations"] == 1


def test_requests_that_share_a_commit_have_their_own_refusals(together: Together, run: Call) -> None:
    good = {"entities": [ADA]}
    bad = {"entities": [{"target_id": NOBODY, "a": 1}]}
    outcomes = together("store", [good, bad, good, bad])
    assert [isinstance(outcome, StoreRefused) for outcome in outcomes] == [False, True, False, True]
    assert run("server.stats")["sequence"] == 2


# Keys


def test_spellings_of_the_same_request_share_a_key(run: Call) -> None:
    run("store", entities=[ADA], observed_at="2026-01-31T09:00:00Z", idempotency_key="k")
    again = run("store", entities=[ADA], observed_at="2026-01-31T10:00:00+01:00", idempotency_key="k")
    assert again["replayed"]


@pytest.mark.parametrize(
    "other",
    [
        {"entities": [{**ADA, "born": 1815.0}]},
        {"entities": [{**ADA, "born": True}]},
        {"entities": [ADA, ACME]},
        {"entities": [ADA], "observed_at": AT},
        {"entities": [ADA], "source_priority": 1},
        {"entities": [ADA], "observation_source": "human"},
    ],
)
def test_a_key_is_refused_for_anything_else(run: Call, other: dict[str, Any]) -> None:
    run("store", entities=[ADA], idempotency_key="k")
    with pytest.raises(IdempotencyMismatch):
        run("store", **other, idempotency_key="k")


def test_a_key_of_a_store_is_not_one_of_an_observation(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA], idempotency_key="k"))
    with pytest.raises(IdempotencyMismatch):
        run("observations.create", entity_id=entity_id, fields={"a": 1}, idempotency_key="k")


def test_a_refused_request_leaves_its_key_free(run: Call) -> None:
    with pytest.raises(StoreRefused):
        run("store", entities=[{"target_id": NOBODY, "a": 1}], idempotency_key="k")
    assert not run("store", entities=[ADA], idempotency_key="k")["replayed"]


KEYED = [
    name for name, operation in REGISTRY.items() if "idempotency_key" in operation.arguments.model_fields
]


@walk_over("name", KEYED)
def test_what_takes_a_key_writes_and_says_that_it_may_conflict(name: str) -> None:
    operation = REGISTRY[name]
    assert (operation.scope, IdempotencyMismatch in operation.errors) == ("write", True)


# Plans


def test_a_plan_leaves_no_trace_in_the_database(
    run: Call, services: Services, loop: Loop, owner: str
) -> None:
    run("store", entities=[ADA], commit=False, idempotency_key="k", observed_at=AT)
    for label in ("Entity", "Observation", "Transaction", "Schema", "Count", "Identifier", "Agent"):
        query = f"MATCH (n:{label}) WHERE n.owner = $o RETURN count(n) AS n"
        assert loop.run(services.database.script(query, o=owner)) == [{"n": 0}], label
    query = "MATCH (n:Owner {id: $o}) RETURN count(n) AS n"
    assert loop.run(services.database.script(query, o=owner)) == [{"n": 0}]


def test_a_plan_answers_as_the_real_thing_does(run: Call) -> None:
    run("store", entities=[{**ACME, "observed_at": "2026-01-01"}])
    request = {
        "entities": [ADA, ACME, {**ADA, "more": 1}],
        "relationships": [{"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}],
        "observed_at": AT,
    }
    before = run("server.stats")
    plan = run("store", **request, commit=False)
    assert run("server.stats") == before
    real = run("store", **request)
    assert [item.pop("action") for item in plan["entities"]] == [
        "would_create",
        "would_match_existing",
        "would_match_existing",
    ]
    for item in real["entities"]:
        del item["action"]
    differ = ("commit", "transaction_id", "recorded_at")
    assert {k: v for k, v in plan.items() if k not in differ} == {
        k: v for k, v in real.items() if k not in differ
    }


def test_a_plan_does_not_take_its_key(run: Call) -> None:
    run("store", entities=[ADA], idempotency_key="k", commit=False)
    assert not run("store", entities=[ACME], idempotency_key="k")["replayed"]


def test_a_plan_is_refused_as_the_real_thing_is(run: Call) -> None:
    assert issues(run, entities=[{"target_id": NOBODY, "a": 1}], commit=False) == issues(
        run, entities=[{"target_id": NOBODY, "a": 1}]
    )


# Refused


@walk_over("item, code, path", [
        ("text", "ERR_ITEM_NOT_OBJECT", ""),
        (None, "ERR_ITEM_NOT_OBJECT", ""),
        ({"entity_type": "9lives", "a": 1}, "ERR_ENTITY_TYPE", ".entity_type"),
        ({"entity_type": 7, "a": 1}, "ERR_ENTITY_TYPE", ".entity_type"),
        ({"entity_type": "x" * 65, "a": 1}, "ERR_ENTITY_TYPE", ".entity_type"),
        ({"entity_type": "person"}, "ERR_EMPTY_ITEM", ""),
        ({"entity_type": "person", "canonical_name": "  "}, "ERR_CANONICAL_NAME", ".canonical_name"),
        ({"entity_type": "person", "canonical_name": 7, "a": 1}, "ERR_CANONICAL_NAME", ".canonical_name"),
        ({"entity_type": "person", "data": {"a": 1}}, "ERR_NESTED_FIELDS", ".data"),
        ({"entity_type": "person", "": 1, "a": 1}, "ERR_FIELD_NAME", "."),
        ({"entity_type": "person", "f" * 65: 1, "a": 1}, "ERR_FIELD_NAME", "." + "f" * 64),
        ({"entity_type": "person", "a": [{"b": float("nan")}]}, "ERR_VALUE", ".a[0].b"),
        ({"entity_type": "person", "a": "\ud800"}, "ERR_VALUE", ".a"),
        ({"entity_type": "person", "a": 1, "observed_at": "soon"}, "ERR_OBSERVED_AT", ".observed_at"),
        ({"entity_type": "person", "a": 1, "observed_at": 7}, "ERR_OBSERVED_AT", ".observed_at"),
        ({"entity_type": "person", "a": 1, "observed_at": "2999-01-01"}, "ERR_OBSERVED_AT", ".observed_at"),
        ({"entity_type": "person", "a": 1, "source_priority": "1"}, "ERR_NUMBER", ".source_priority"),
        ({"entity_type": "person", "a": 1, "source_priority": 10**400}, "ERR_NUMBER", ".source_priority"),
        ({"entity_type": "person", "a": 1, "specificity_score": 1.5}, "ERR_NUMBER", ".specificity_score"),
        ({"entity_type": "person", "a": 1, "observation_source": "me"},
         "ERR_OBSERVATION_SOURCE", ".observation_source"),
        ({"target_id": "ent_1", "a": 1}, "ERR_ENTITY_ID_FORMAT", ".target_id"),
        ({"target_id": NOBODY, "a": 1}, "ERR_TARGET_NOT_FOUND", ".target_id"),
        ({"entity_type": "person", "intent": "guess", "a": 1}, "ERR_INTENT", ".intent"),
        ({"entity_type": "person", "intent": "create_new", "target_id": NOBODY, "a": 1}, "ERR_INTENT", ""),
    ])  # fmt: skip
def test_a_bad_item_is_refused_by_index_with_the_reason(run: Call, item: Any, code: str, path: str) -> None:
    (issue,) = issues(run, entities=[ADA, item])
    assert (issue["index"], issue["code"], issue["path"]) == (1, code, f"$.entities[1]{path}")
    assert issue["message"]


def test_every_fault_of_a_request_is_told_at_once(run: Call) -> None:
    faults = issues(
        run,
        entities=[{"name": "x"}, ADA, {"entity_type": "person"}],
        relationships=[{"relationship_type": "☃", "source_index": 1, "target_index": 9}],
    )
    assert [issue["path"] for issue in faults] == [
        "$.entities[0].entity_type",
        "$.entities[2]",
        "$.relationships[0].relationship_type",
        "$.relationships[0].target_index",
    ]


def test_a_target_of_another_type_is_refused(run: Call) -> None:
    (entity_id,) = ids(run("store", entities=[ADA]))
    with pytest.raises(StoreRefused) as refused:
        run("store", entities=[{"target_id": entity_id, "entity_type": "company", "a": 1}])
    assert refused.value.details["issues"][0]["code"] == "ERR_TARGET_TYPE"


@pytest.mark.parametrize(
    "arguments",
    [
        {"entities": []},
        {"entities": {}},
        {"entities": [ADA] * 1001},
        {"entities": [ADA], "relationships": [{}]},
        {"entities": [ADA], "idempotency_key": ""},
        {"entities": [ADA], "idempotency_key": "k" * 256},
        {"entities": [ADA], "observed_at": "2999-01-01"},
        {"entities": [ADA], "source_priority": "nan"},
        {"entities": [ADA], "observation_source": "me"},
        {"entities": [ADA], "owner": "someone"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(run: Call, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("store", **arguments)
    assert all(issue["path"].startswith("$.") for issue in refused.value.details["issues"])
    assert run("server.stats")["sequence"] == 0


def test_a_reserved_name_among_the_fields_of_an_observation_is_refused(call: Call) -> None:
    (item,) = call("store", entities=[{"entity_type": "thing", "name": "a"}])["entities"]
    fields = {"observed_at": "2026-01-31", "target_id": item["entity_id"], "canonical_name": "b"}
    with pytest.raises(InvalidInput) as refused:
        call("observations.create", entity_id=item["entity_id"], fields=fields)
    named = [issue["path"] for issue in refused.value.details["issues"]]
    assert named == ["$.fields.observed_at", "$.fields.target_id"]
    assert call("entities.get", entity_id=item["entity_id"])["version"] == 1
