"""The service keeps to its OpenAPI description: no fault, no other status, no other answer."""

from __future__ import annotations

import functools
import uuid
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from graphmem.api import openapi
from graphmem.api.app import MCP_PATHS
from graphmem.registry import REGISTRY
from tests.support import surface
from tests.support.dumps import store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import by_rest
from tests.support.walks import walk_over

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance,
]  # fmt: skip
LASTING = "GET /events/stream"
"""Its answer lasts: tests/faces/test_event_stream.py reads it."""
OPERATIONS = sorted(
    {f"{method} {path}" for method, path in surface.EVERY if path not in MCP_PATHS} - {LASTING}
)
QUICK, DEEP, SEEDED = 2, 300, 60
"""Requests of an operation: in each run, in a long run, and those of a seed that met a fault once."""
HEALTH_CHECKS: list[Any] = list(HealthCheck)
THINGS = ("entity_id", "source_entity_id", "target_entity_id")


@functools.cache
def described() -> dict[str, APIOperation]:
    """Return the operations of the description, which takes seconds to make."""
    schema = schemathesis.openapi.from_dict(openapi.document())
    operations = (result.ok() for result in schema.get_all_operations() if isinstance(result, Ok))
    return {f"{each.method.upper()} {each.path}": each for each in operations}


class World:
    """An owner who has some of everything, and a client that asks for it."""

    def __init__(self, loop: Loop, app: Any, owner: str) -> None:
        self.loop, self.app, self.owner = loop, app, owner
        self.headers = {"Authorization": f"Bearer {owner}"}
        call = by_rest(loop, app, owner)
        self.entities = sorted(store_rich_example(call).values())
        relationship = call("relationships.list")["relationships"][0]
        event = call("store", entities=[{"entity_type": "task", "title": "t", "due_date": "2026-01-01"}])
        self.known = {
            "relationship_key": relationship["relationship_key"],
            "relationship_id": relationship["relationship_key"],
            "entity_type": "wine",
            "event_id": call("timeline.list")["events"][0]["id"],
            "observation_id": event["entities"][0]["observation_id"],
            "key_id": call("keys.create", name="of a test")["key"]["key_id"],
            "subscription_id": call("subscriptions.add", delivery_method="sse")["subscription_id"],
            "grant_id": call("agents.grant", **REGISTRY["agents.grant"].example)["grant"]["grant_id"],
        }

    def known_things(self, arguments: Any, pick: int) -> Any:
        """Return arguments in which each name is that of something stored; ``pick`` chooses the entities."""
        if not isinstance(arguments, dict):
            return arguments
        known = self.known | {
            name: self.entities[(pick + place) % len(self.entities)] for place, name in enumerate(THINGS)
        }
        return {
            name: known[name] if name in known and isinstance(value, str) else self.known_things(value, pick)
            for name, value in arguments.items()
        }

    def ask(self, case: schemathesis.Case) -> httpx.Response:
        """Send a case."""
        sent = case.as_transport_kwargs(base_url="http://localhost")
        sent.pop("cookies", None)
        if isinstance(sent.get("data"), str | bytes):
            sent["content"] = sent.pop("data")
        if sent.get("files"):
            parts = sent["files"].items() if isinstance(sent["files"], dict) else sent["files"]
            sent["files"] = [(name, _sendable(part)) for name, part in parts]

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            headers = {**(sent.pop("headers", None) or {}), **self.headers}
            async with httpx.AsyncClient(transport=transport) as http:
                answer = await http.request(headers=headers, timeout=60.0, **sent)
                # The checks look at the body of the request, which is a stream if it is a form.
                await answer.request.aread()
                return answer

        return self.loop.run(send())


def _sendable(part: Any) -> Any:
    """Return a part of a form; what the client cannot send, such as a number, becomes a text."""
    if isinstance(part, tuple):
        name, content, *rest = part
        return (name, _sendable(content), *rest)
    return part if isinstance(part, str | bytes) else str(part)


@pytest.fixture(scope="module")
def world(loop: Loop, services: Any) -> World:
    """One world for all cases. A case may change its state; later answers must fit the description too."""
    from graphmem.api.app import create_app
    from graphmem.auth import Actor
    from graphmem.auth.authenticator import Caller
    from tests.support.actors import DISABLED_ACCOUNT, full_actor

    owner = str(uuid.uuid4())
    loop.run(services.database.script(DISABLED_ACCOUNT, id=owner))

    async def authenticate(caller: Caller) -> Actor:
        return full_actor(caller.headers.get("authorization", "").removeprefix("Bearer ") or owner)

    return World(loop, create_app(services, authenticate), owner)


def holds(world: World, name: str, examples: int, seed: int | None = None) -> None:
    """Call an operation with many arguments; each answer must fit its description."""
    operation = described()[name]
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    cases = st.one_of(*(operation.as_strategy(mode) for mode in modes))

    @given(case=cases, pick=st.none() | st.integers(0, 9))
    @hypothesis_settings(
        max_examples=examples,
        deadline=None,
        derandomize=seed is None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=HEALTH_CHECKS,
    )
    def ask(case: schemathesis.Case, pick: int | None) -> None:
        if pick is not None:
            case.body = world.known_things(case.body, pick)
            for part in (case.path_parameters, case.query):
                part.update(world.known_things(dict(part), pick))
        if name == "POST /backup" and isinstance(case.body, dict) and case.body.get("owners", []) == []:
            # Of all owners, it would read what tests of sealed instances write into the same database.
            case.body["owners"] = [world.owner]
        try:
            answer = world.ask(case)
        except httpx.InvalidURL:
            # Longer than this client sends.
            return
        case.validate_response(answer, checks=CHECKS)

    (ask if seed is None else hypothesis.seed(seed)(ask))()


def test_what_answers_over_http_is_described() -> None:
    assert {*OPERATIONS, LASTING} == described().keys()


@walk_over("name", OPERATIONS, one_of=2)
def test_an_operation_answers_as_it_is_described(world: World, name: str) -> None:
    holds(world, name, QUICK)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_answers_as_it_is_described_whatever_it_is_asked(world: World, name: str) -> None:
    holds(world, name, DEEP)
    holds(world, name, SEEDED, seed=2)


def test_generated_clients_find_one_name_for_each_model_and_operation() -> None:
    document = openapi.document()
    models = document["components"]["schemas"]
    # Generators name an object that stands within a model by both names.
    inner = [
        f"{name}{''.join(word.title() for word in member.split('_'))}"
        for name, model in models.items()
        for member, part in model.get("properties", {}).items()
        if part.get("type") == "object" or "enum" in part
    ]
    assert {*inner} & models.keys() == set()
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len({*ids}) == len(ids)
    assert [each for each in ids if each[-1].isdigit()] == []
