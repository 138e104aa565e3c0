"""Agents that sign what they send, over REST and MCP: the thumbprint of the key stands on what they write."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from graphmem.api.app import create_app
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.context import Services
from tests.access.conftest import Application, Instance
from tests.faces.test_http_edges import JSON, Http, envelope, sender
from tests.support import surface
from tests.support.agents import Issuer, Request, hwk, signed
from tests.support.event_loop import Loop
from tests.support.surface import GUARDED
from tests.support.walks import walk_over

AGENT = PrivateAgentKey.generated("Ed25519")
P256 = PrivateAgentKey.generated("ES256")
ISSUER = Issuer()
TRUSTED = json.dumps({"https://agents.example": ISSUER.jwks})
TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"
ADDRESS = "http://localhost"
SMALL = 20_000
"""The limit of bodies in these tests, so that a file of some kilobytes is a large one."""


def issued(**claims: Any) -> str:
    """Return ``Signature-Key`` with a token of the issuer."""
    return f'jwt;jwt="{ISSUER.token(AGENT, time.time(), **claims)}"'


def body_of(name: str) -> bytes:
    item = {"entity_type": "person", "name": name, "observed_at": "2026-11-01T00:00:00Z"}
    return json.dumps({"entities": [item]}).encode()


class Agent:
    """A program with a bearer token and a key, which signs what it sends."""

    def __init__(self, http: Application, bearer: str | None, key: PrivateAgentKey = AGENT) -> None:
        self.http, self.bearer, self.key = http, bearer, key

    def signed(self, method: str, path: str, body: bytes = b"", **more: Any) -> Request:
        more = {"authority": "localhost", "scheme": "http", **more}
        headers = [("content-type", "application/json")]
        return signed(self.key, Request(method, path, body=body, headers=headers), **more)

    def send(self, request: Request, **more: str) -> httpx.Response:
        headers = {**dict(request.headers), **more}
        return self.http(request.method, request.path, self.bearer, content=request.body, headers=headers)

    def store(self, name: str, **more: Any) -> httpx.Response:
        return self.send(self.signed("POST", "/store", body_of(name), **more))

    def tool(self, name: str, is_signed: bool = True) -> httpx.Response:
        params = {"name": "store", "arguments": json.loads(body_of(name))}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body, accept = json.dumps(call).encode(), "application/json, text/event-stream"
        request = self.signed("POST", "/mcp", body)
        if not is_signed:
            request.headers = [("content-type", "application/json")]
        return self.send(request, accept=accept)


@pytest.fixture
def bearer(instance: Instance) -> str:
    return instance.key(instance.account("ada"))


@pytest.fixture
def agent(instance: Instance, bearer: str) -> Agent:
    return Agent(instance.application(public_url=ADDRESS, aauth_issuers=TRUSTED), bearer)


@pytest.fixture(autouse=True)
def written(instance: Instance) -> Iterator[None]:
    """Forget what the tests wrote, so that each finds its own agents."""
    yield
    instance.rows("MATCH (o:Observation) WHERE o.agent <> 'anonymous' SET o.agent = 'earlier'")


def agents_of(instance: Instance, name: str) -> list[str]:
    """Return who wrote observations of the name."""
    rows = instance.rows(
        "MATCH (o:Observation) WHERE $name IN o.values RETURN o.agent AS agent ORDER BY agent",
        name=json.dumps(name),
    )
    return [row["agent"] for row in rows]


def test_what_an_agent_writes_has_its_thumbprint_over_rest_and_mcp(instance: Instance, agent: Agent) -> None:
    assert agent.store("Ada Rest").status_code == 200
    assert agent.tool("Ada Tool").status_code == 200
    assert agent.store("Ada Token", key_header=issued()).status_code == 200
    for name in ("Ada Rest", "Ada Tool", "Ada Token"):
        assert agents_of(instance, name) == [AGENT.public.thumbprint]


def test_an_observation_of_another_agent_is_another_one(instance: Instance, agent: Agent) -> None:
    agent.store("Ada Twice")
    Agent(agent.http, agent.bearer, P256).store("Ada Twice")
    agent.http("POST", "/store", agent.bearer, content=body_of("Ada Twice"), headers=JSON)
    agent.store("Ada Twice")
    thumbprints = {AGENT.public.thumbprint, P256.public.thumbprint}
    assert set(agents_of(instance, "Ada Twice")) == {*thumbprints, "anonymous"}
    assert len(agents_of(instance, "Ada Twice")) == 3


def test_an_open_service_takes_signatures_too(instance: Instance) -> None:
    instance.rows("MATCH (n:ApiKey) DETACH DELETE n")
    agent = Agent(instance.application(public_url=ADDRESS), None)
    assert agent.store("Ada Open").status_code == 200
    assert agents_of(instance, "Ada Open") == [AGENT.public.thumbprint]


def test_a_request_is_taken_once(instance: Instance, agent: Agent) -> None:
    request = agent.signed("POST", "/store", body_of("Ada Again"))
    assert agent.send(request).status_code == 200
    again = agent.send(request)
    assert envelope(again)["error_code"] == "AAUTH_SIGNATURE_INVALID"
    assert again.headers["signature-error"] == "error=invalid_signature"


@pytest.mark.parametrize("path", ["/store", "/mcp"])
def test_a_wrong_signature_is_no_missing_one(instance: Instance, agent: Agent, path: str) -> None:
    request = agent.signed("POST", path, body_of("Ada Wrong"))
    request.body = body_of("Ada Changed")
    answer = agent.send(request)
    assert envelope(answer)["error_code"] == "AAUTH_SIGNATURE_INVALID"
    assert answer.headers["signature-error"] == "error=invalid_signature"
    # The bearer token is good: no client has to ask for another one.
    assert "www-authenticate" not in answer.headers
    assert agents_of(instance, "Ada Changed") == agents_of(instance, "Ada Wrong") == []


def test_a_service_may_require_that_writers_sign(instance: Instance, bearer: str) -> None:
    agent = Agent(instance.application(public_url=ADDRESS, aauth_mode="required"), bearer)
    refused = agent.http("POST", "/store", bearer, content=body_of("Ada Unsigned"), headers=JSON)
    assert envelope(refused)["error_code"] == "AAUTH_REQUIRED"
    assert "AAUTH_REQUIRED" in agent.tool("Ada Unsigned", is_signed=False).text
    assert agents_of(instance, "Ada Unsigned") == []
    assert agent.http("GET", "/stats", bearer).status_code == 200
    assert agent.store("Ada Signed").status_code == 200
    assert agent.tool("Ada Signed").json()["result"].get("isError") is not True
    # Whoever manages the whole instance is no exception.
    http = instance.application(public_url=ADDRESS, aauth_mode="required", bearer_token=SecretStr(TOKEN))
    body = {"relationship_type": "REVIEWS", "description": "The source judges the target."}
    refused = http("POST", "/relationship_types", TOKEN, json=body)
    assert envelope(refused)["error_code"] == "AAUTH_REQUIRED"


def test_a_service_may_require_that_an_issuer_vouches(instance: Instance, bearer: str) -> None:
    http = instance.application(public_url=ADDRESS, min_tier="operator_attested", aauth_issuers=TRUSTED)
    agent = Agent(http, bearer)
    for tier, answer in {
        "anonymous": agent.http("POST", "/store", bearer, content=body_of("A"), headers=JSON),
        "unverified_client": agent.http(
            "POST", "/store", bearer, content=body_of("A"), headers={**JSON, "X-Client-Name": "bot"}
        ),
        "software": agent.store("A"),
    }.items():
        error = envelope(answer)
        assert error["error_code"] == "ATTRIBUTION_REQUIRED"
        assert error["details"] == {"current_tier": tier, "min_tier": "operator_attested"}
    assert agent.store("Ada Attested", key_header=issued()).status_code == 200


def test_a_large_file_is_compared_while_it_is_read(instance: Instance, bearer: str) -> None:
    agent = Agent(instance.application(public_url=ADDRESS, max_body_bytes=SMALL), bearer)

    def body(letter: bytes) -> bytes:
        file = {"file_content": base64.b64encode(letter * 2 * SMALL).decode(), "original_filename": "a.txt"}
        return json.dumps({"entities": [], **file, "mime_type": "text/plain"}).encode()

    request = agent.signed("POST", "/store", body(b"a"))
    request.body = body(b"b")
    before = len(instance.rows("MATCH (s:Source) RETURN s.id AS id"))
    answer = agent.send(request)
    assert (answer.status_code, envelope(answer)["error_code"]) == (401, "AAUTH_SIGNATURE_INVALID")
    assert len(instance.rows("MATCH (s:Source) RETURN s.id AS id")) == before
    assert agent.send(agent.signed("POST", "/store", body(b"a"))).status_code == 200
    assert len(instance.rows("MATCH (s:Source) RETURN s.id AS id")) == before + 1


def test_agents_read_how_to_sign(instance: Instance) -> None:
    http = instance.application(public_url="https://mem.example", aauth_mode="required")
    document = http("GET", "/.well-known/aauth-resource.json", headers={"Host": "localhost"}).json()
    assert document["issuer"] == "https://mem.example"
    assert (document["mode"], document["signature_window"]) == ("required", 60)
    assert document["supported_algs"] == ["Ed25519", "ES256"]
    assert document["supported_typ"] == ["aa-agent+jwt"]


@pytest.fixture
def guarded(loop: Loop, services: Services) -> Http:
    """A service that wants a token."""
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN)})
    return sender(loop, create_app(replace(services, settings=settings)))


@walk_over("method, path", GUARDED, one_of=5)
def test_every_guarded_route_refuses_a_broken_signature(guarded: Http, method: str, path: str) -> None:
    for header in ("Signature", "Signature-Input", "Signature-Key"):
        headers = {"Authorization": f"Bearer {TOKEN}", header: f"sig={hwk(AGENT)}"}
        answer = guarded(method, surface.url(path), headers=headers)
        assert (answer.status_code, envelope(answer)["error_code"]) == (401, "AAUTH_SIGNATURE_INVALID")
