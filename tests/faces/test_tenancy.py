"""Two owners see nothing of each other: walked over the registry, so that later operations are covered."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import pytest

from graphmem.arguments import nested_filters
from graphmem.context import Services
from graphmem.errors import GraphmemError, UnknownField
from graphmem.reading import cursors
from graphmem.registry import REGISTRY
from tests.support import faces
from tests.support.actors import CONNECTION, DISABLED_ACCOUNT
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call
from tests.support.walks import walk_over

ADA = {
    "entity_type": "person",
    "name": "Ada Lovelace",
    "email": "ada@example.org",
    "birthday": "1815-12-10",
    "observed_at": "2026-01-01",
}
ACME = {"entity_type": "company", "name": "Acme", "observed_at": "2026-01-01"}
WORKS = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
KEY = "key-of-alice"
STEERING = (
    "name` = 1 OR 1=1 //", "secret' OR true RETURN 1 //", '"})) MATCH (n) DETACH DELETE n //', "$owner", "\\",
    "name} AS x UNION MATCH (n) RETURN n //",
)  # fmt: skip
"""Names and values that would be Cypher, if they were not data."""

PLAIN = {
    "additional_fields", "aliases", "canonical_name_fields", "constraint_violation_policy", "description",
    "fields_to_remove", "filters", "identity_opt_out", "inverse", "merge_reason", "metadata", "mismatch",
    "observation_source_priority", "reason", "reducer_config", "schema_version", "scopes", "status",
    "temporal_fields", "value",
}  # fmt: skip
"""Arguments that take a text and name nothing of anybody's. Others are asked with Alice's ids and names."""


@dataclass
class Alice:
    """Another owner's data: secrets, and values with which others may call operations."""

    owner: str = field(default_factory=lambda: str(uuid.uuid4()))
    marker: str = field(default_factory=lambda: f"marker-{uuid.uuid4().hex}")
    connection: str = field(default_factory=lambda: f"con_{uuid.uuid4().hex[:16]}")
    """The id of an OAuth connection."""
    secrets: set[str] = field(default_factory=set)
    values: dict[str, list[Any]] = field(default_factory=dict)
    along: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Arguments that another one needs beside it."""

    def store(self, run: Call) -> None:
        """Store, and note every id of what was stored."""
        request = {"entities": [{**ADA, "secret": self.marker}, ACME], "relationships": [WORKS]}
        answer = run("store", **request, idempotency_key=KEY)
        ada, acme = (item["entity_id"] for item in answer["entities"])
        (link,) = answer["relationships_created"]
        observation_ids = [item["observation_id"] for item in answer["entities"]]
        (event,) = run("timeline.list")["events"]
        key_id = run("keys.create", name=self.marker)["key"]["key_id"]
        url = "https://hooks.example.org/alice"
        subscription = run("subscriptions.add", webhook_url=url)["subscription_id"]
        self.secrets = {
            subscription, url, self.marker, self.owner, ada, acme, *observation_ids, answer["transaction_id"],
            link["relationship_key"], link["relationship_id"], link["observation_id"], event["id"], key_id,
            self.connection,
        }  # fmt: skip
        ends = {"relationship_type": "WORKS_AT", "source_index": 0, "target_entity_id": acme}
        ends_by_id = {"relationship_type": "WORKS_AT", "source_entity_id": ada, "target_entity_id": acme}
        self.along = {"entity_identifier": {"entity_type": "person"}, "relationship_type": ends_by_id}
        self.values = {
            "relationship_id": [link["relationship_id"], link["relationship_key"]],
            "relationship_key": [link["relationship_key"]],
            "relationship_type": ["WORKS_AT"],
            "source_entity_id": [ada],
            "node_id": [ada, acme, link["relationship_id"], "src_" + "0" * 32],
            "cursor": [
                "",
                "ada",
                cursors.encode(lambda: "0" * 24, {"depth": 1, "entity": ada, "answered": 0}),
                cursors.encode(lambda: "0" * 24, {"at": 0, "id": event["id"]}),
            ],
            "target_entity_id": [acme],
            "entity_id": [ada, acme],
            "observation_id": observation_ids,
            "event_id": [event["id"]],
            "key_id": [key_id],
            "subscription_id": [subscription],
            "id": [self.connection],
            "connection_id": [self.connection],
            "event_type": ["Birthday"],
            "source_id": ["src_" + "0" * 32],
            "entity_type": ["person"],
            "entity_types": [["person", "company"]],
            "identifier": [
                ada,
                ada.upper(),
                "Ada Lovelace",
                "ada@example.org",
                self.marker,
                observation_ids[0],
            ],
            "search": [ada, "Ada Lovelace", "ada@example.org", self.marker, "countess of computing"],
            "question": ["who is Ada Lovelace", "ada@example.org", self.marker, "countess of computing", ada],
            "entity_identifier": [ada, "Ada Lovelace"],
            "field": ["secret", "name"],
            # The address of another copy, at which nobody listens.
            "url": ["http://127.0.0.1:1"],
            "fields": [{"x": 1}],
            "keyword": ["pers", self.marker],
            "schema": [{"entity_type": "person", "fields": {"x": "string"}}],
            "new_fields": [{"x": "string"}],
            "relationship_types": [["WORKS_AT"]],
            "idempotency_key": [KEY],
            "sort_by": ["snapshot.secret", "canonical_name", *(f"snapshot.{text}" for text in STEERING)],
            "snapshot_filters": [
                {"secret": {"op": "contains", "value": self.marker}},
                {"name": {"op": "in", "value": ["Ada Lovelace"]}},
                *({text: {"op": "eq", "value": text}} for text in STEERING),
            ],
            "entities": [
                [{"entity_type": "thing", "name": "mine"}],
                [{"target_id": ada, "x": 1}],
                [{**ADA, "secret": "mine"}, ACME],
            ],
            "relationships": [[ends_by_id], [ends], [{**ends_by_id, "target_entity_id": ada}]],
        }


@pytest.fixture(scope="module")
def alice(loop: Loop, services: Services) -> Alice:
    alice = Alice()
    loop.run(services.database.script(DISABLED_ACCOUNT, id=alice.owner))
    connection = {"account": alice.owner, "id": alice.connection, "name": alice.marker}
    loop.run(services.database.script(CONNECTION, **connection))
    alice.store(faces.by_runner(loop, services, alice.owner))
    return alice


def takes_text(schema: dict[str, Any]) -> bool:
    """Return whether a value may hold any text, by its JSON Schema."""
    if "anyOf" in schema:
        return any(map(takes_text, schema["anyOf"]))
    if schema.get("type") == "array":
        return takes_text(schema.get("items", {}))
    kind = schema.get("type", "object")
    return kind == "object" or (kind == "string" and not {"enum", "const", "format"} & schema.keys())


@cache
def properties(name: str) -> list[dict[str, Any]]:
    """Return the JSON Schemas of the arguments of an operation, and of its filters."""
    model = REGISTRY[name].arguments
    models = [model, *filter(None, [nested_filters(model)])]
    return [each.model_json_schema(by_alias=False)["properties"] for each in models]


def values(alice: Alice, name: str, argument: str) -> list[Any]:
    """Return Alice's values for an argument of an operation."""
    if argument in alice.values:
        return alice.values[argument]
    schemas = [each[argument] for each in properties(name) if argument in each]
    if argument in PLAIN or not any(map(takes_text, schemas)):
        return []
    texts = [*sorted(alice.secrets), "Ada Lovelace"]
    return [[text] for text in texts] if any(s.get("type") == "array" for s in schemas) else texts


def needed_value(alice: Alice, name: str, argument: str) -> Any:
    """Return a value of a required argument: of Alice's, else that of the example."""
    return (values(alice, name, argument) or [REGISTRY[name].example.get(argument, 1)])[0]


def names(name: str) -> dict[str, bool]:
    """Return every argument of an operation, those of its filters too, and whether it is required."""
    model = REGISTRY[name].arguments
    inner = nested_filters(model)
    required = {n: info.is_required() for n, info in (inner.model_fields if inner else {}).items()}
    return {**required, **{n: info.is_required() for n, info in model.model_fields.items()}}


def questions(name: str, alice: Alice) -> Iterator[dict[str, Any]]:
    """Yield arguments of an operation, with each of Alice's values of each argument."""
    arguments = names(name)
    needed = {n: needed_value(alice, name, n) for n, required in arguments.items() if required}
    yield needed
    for argument in arguments:
        along = {n: value for n, value in alice.along.get(argument, {}).items() if n in arguments}
        for value in values(alice, name, argument):
            yield {**needed, **along, argument: value}


def leaks(alice: Alice, answer_text: str, arguments: dict[str, Any] | None = None) -> set[str]:
    """Return Alice's secrets in the text of an answer, except those that the arguments hold."""
    ends = ("relationship_type", "source_entity_id", "target_entity_id")
    # A key is made of the ends that were asked with.
    known = json.dumps([arguments, ":".join(str((arguments or {}).get(end)) for end in ends)])
    return {
        secret
        for secret in alice.secrets
        if secret in answer_text and (arguments is None or secret not in known)
    }


@dataclass(frozen=True)
class Bob:
    """Callers who are not Alice, by a face.

    Attributes:
        same_names: whether they stored what she stored.
        questions: how many questions an operation is asked; None for all.
        one_of: of so many of these one is asked.
    """

    same_names: bool
    questions: int | None
    one_of: int
    of_owner: Callable[[str], Call]

    def call(self) -> Call:
        """Return the operations of an owner who did nothing else."""
        call = self.of_owner(str(uuid.uuid4()))
        if self.same_names:
            call("store", entities=[ADA, ACME], relationships=[WORKS])
        return call


def one_of(*, same_names: bool) -> int:
    return 1 if LONG else 2 if same_names else 4


# The faces answer as the runner does (test_parity.py): where Bob has nothing, the runner alone is asked, and
# in an ordinary run a part of the questions. The others are asked a few in an ordinary run.
CALLERS = [("run", False), ("run", True), ("rest", True), ("mcp", True)]


@pytest.fixture(params=[*CALLERS[:-1], pytest.param(CALLERS[-1], marks=pytest.mark.long)], ids=str)
def bob(request: pytest.FixtureRequest, loop: Loop, services: Services, app: Any) -> Bob:
    face, same_names = request.param
    ways = {
        "run": partial(faces.by_runner, loop, services),
        "rest": partial(faces.by_rest, loop, app),
        "mcp": partial(faces.by_mcp, loop, services),
    }
    return Bob(same_names, None if face == "run" or LONG else 3, one_of(same_names=same_names), ways[face])


def test_every_argument_of_an_operation_that_takes_a_text_is_asked_with_or_plain(alice: Alice) -> None:
    covered = {n for name in REGISTRY for n in names(name) if values(alice, name, n)}
    assert {"entity_id", "relationship_key", "cursor", "search", "question", "event_id"} <= covered
    assert {n for name in REGISTRY for n in names(name)} >= PLAIN


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, True), ({}, True), ({"type": "array", "items": {"type": "string"}}, True),
        ({"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]}, True), ({"type": "object"}, True),
        ({"type": "integer"}, False), ({"type": "string", "enum": ["a"]}, False),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}, False),
    ],
)  # fmt: skip
def test_argument_that_may_hold_any_text_is_known_by_its_schema(schema: Any, expected: bool) -> None:
    assert takes_text(schema) is expected


@walk_over("name", REGISTRY)
def test_nothing_of_another_owner_is_seen(bob: Bob, alice: Alice, name: str) -> None:
    call = bob.call()
    for arguments in itertools.islice(questions(name, alice), 0, bob.questions, bob.one_of):
        status, answer_text = outcome(call, name, arguments)
        # A path names a file of the machine: whoever's it is, and whether it is there, it is refused alike.
        expected = (200, 400, 403, 404) if "file_path" in arguments else (200, 400, 404, 409)
        assert status in (*expected, 503 if "url" in arguments else 200), (arguments, answer_text)
        assert not leaks(alice, answer_text, None if status == 200 else arguments), arguments


def outcome(bob: Call, name: str, arguments: dict[str, Any]) -> tuple[int, str]:
    try:
        return 200, json.dumps(bob(name, **arguments))
    except GraphmemError as exc:
        return exc.status, json.dumps([str(exc), exc.details])


@walk_over("name", REGISTRY)
def test_nothing_of_another_owner_is_changed(loop: Loop, services: Services, alice: Alice, name: str) -> None:
    run = faces.by_runner(loop, services, str(uuid.uuid4()))
    hers = faces.by_runner(loop, services, alice.owner)
    entity_ids = alice.values["entity_id"]

    def state() -> list[Any]:
        entities = [hers("entities.get", entity_id=entity_id) for entity_id in entity_ids]
        lists = [hers(f"{noun}.list") for noun in ("keys", "connections", "subscriptions")]
        return [hers("server.stats"), *lists, *entities]

    before = state()
    assert [each["connectionId"] for each in before[2]["connections"]] == [alice.connection]
    for arguments in itertools.islice(questions(name, alice), 0, None, 1 if LONG else 3):
        outcome(run, name, arguments)
    assert state() == before


def test_an_entity_of_another_owner_is_not_there(call: Call, alice: Alice) -> None:
    (ada, _) = alice.values["entity_id"]
    for name, more in (
        ("entities.get", {}), ("entities.snapshot", {}), ("entities.snapshot", {"at": "2027-01-01"}),
        ("entities.provenance", {"field": "secret"}), ("relationships.list", {}), ("entities.related", {}),
        ("observations.create", {"fields": {"x": 1}}), ("observations.query", {}),
    ):  # fmt: skip
        with pytest.raises(GraphmemError) as missing:
            call(name, entity_id=ada, **more)
        assert (missing.value.code, missing.value.details) == ("RESOURCE_NOT_FOUND", {"entity_id": ada})


def test_the_same_content_of_two_owners_has_other_ids(run: Call, alice: Alice) -> None:
    answer = run(
        "store", entities=[{**ADA, "secret": alice.marker}, ACME], relationships=[WORKS], idempotency_key=KEY
    )
    assert (answer["replayed"], answer["entities_created"], answer["observations_created"]) == (False, 2, 2)
    answer_text = json.dumps(answer)
    assert leaks(alice, answer_text) == {alice.marker}


@pytest.mark.parametrize("claim", ["owner", "user_id", "owner_id", "tenant"])
def test_an_argument_that_claims_an_owner_is_refused_by_every_operation(
    run: Call, alice: Alice, claim: str
) -> None:
    for name in REGISTRY:
        needed = next(questions(name, alice))
        with pytest.raises(UnknownField) as refused:
            run(name, **needed, **{claim: alice.owner})
        assert claim in str(refused.value.details), name
