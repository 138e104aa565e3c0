"""Neither no credential nor that of another account opens anything.

The routes and tools are those of :mod:`tests.support.surface`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from graphmem.api.app import create_app
from graphmem.api.application import PREFIXES
from graphmem.api.public_paths import PUBLIC_PATHS, PUBLIC_PREFIXES
from graphmem.api.rest_routes import ROUTES
from graphmem.arguments import nested_filters
from graphmem.auth import ACCOUNT_HEADER
from graphmem.auth.accounts import Account
from graphmem.auth.credentials import Guard
from graphmem.context import Services
from graphmem.mcp.toolsets import all_tools
from graphmem.registry import REGISTRY, Operation
from tests.access.conftest import Application, Instance
from tests.faces.test_http_edges import Http, envelope, sender
from tests.support import surface
from tests.support.actors import CONNECTION
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.surface import EVERY, GUARDED, OPERATIONS, TOOLS
from tests.support.walks import walk_over

TOKEN = "token-of-the-tests-0123456789abcdefghijklmnop"
PUBLIC = {
    "/", "/health", "/health/ready", "/server-info", "/signed_file", "/mcp/oauth/initiate",
    "/mcp/oauth/authorize", "/mcp/oauth/consent", "/mcp/oauth/token",
    "/mcp/oauth/register", "/mcp/oauth/revoke", "/sandbox/terms",
}  # fmt: skip
VALUES = 1
"""Values of another account that an argument is asked with in an ordinary run."""


# No credential


def test_attacked_routes_are_all_of_the_application(services: Services) -> None:
    assert surface.of_app(create_app(services)) == set(EVERY)


def test_public_paths_are_these_and_no_others() -> None:
    assert (PUBLIC_PATHS, PUBLIC_PREFIXES) == (PUBLIC, ("/.well-known/", "/app/"))
    open_paths = {path for _, path in EVERY} - {path for _, path in GUARDED}
    assert {path for path in open_paths if not path.startswith(PUBLIC_PREFIXES)} == PUBLIC


@pytest.fixture
def guarded(loop: Loop, services: Services) -> Http:
    """A service that wants a token."""
    settings = services.settings.model_copy(update={"bearer_token": SecretStr(TOKEN)})
    return sender(loop, create_app(replace(services, settings=settings)))


@walk_over("method, path", GUARDED)
def test_every_route_without_a_credential_is_401(guarded: Http, method: str, path: str) -> None:
    for prefix in PREFIXES:
        answer = guarded(method, prefix + surface.url(path))
        assert (answer.status_code, envelope(answer)["error_code"]) == (401, "AUTH_REQUIRED")
        assert answer.headers["www-authenticate"].startswith("Bearer")


# The ids of another account


@dataclass
class Two:
    """Two accounts of one instance with a key each. Ada has data; Bob attacks."""

    http: Application
    ada: Account
    ada_key: str
    bob: Account
    bob_key: str
    marker: str = "marker-of-ada-5f0c"
    following: Iterator[int] = field(default_factory=itertools.count)

    def store(self, connection: str) -> None:
        """Store what Ada has, and note her ids."""
        ada = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org",
               "birthday": "1815-12-10", "note": self.marker}  # fmt: skip
        body = {
            "entities": [ada, {"entity_type": "company", "name": "Analytical Engines"}],
            "relationships": [{"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}],
        }
        stored = self.asked("POST", "/store", self.ada_key, json=body)
        self.entity_ids = [item["entity_id"] for item in stored["entities"]]
        (link,) = stored["relationships_created"]
        (event,) = self.asked("GET", "/timeline", self.ada_key)["events"]
        key = self.asked("POST", "/keys", self.ada_key, json={"name": self.marker})["key"]
        self.ids = [
            *self.entity_ids, link["relationship_id"], link["relationship_key"], event["id"], key["key_id"],
            connection, stored["transaction_id"], *(item["observation_id"] for item in stored["entities"]),
        ]  # fmt: skip
        self.secrets = {*self.ids, self.marker, self.ada.id, self.ada.owner}
        self.before = self.state()

    def asked(self, method: str, path: str, key: str, **kwargs: Any) -> dict[str, Any]:
        answer = self.http(method, path, key, **kwargs)
        assert answer.is_success, answer.text
        return answer.json()

    def state(self) -> list[Any]:
        """Return what Ada sees of her data."""
        paths = ["/stats", "/keys", "/mcp/oauth/connections", "/timeline", "/relationships", "/schemas",
                 *(f"/entities/{entity_id}" for entity_id in self.entity_ids)]  # fmt: skip
        seen = [self.asked("GET", path, self.ada_key) for path in paths]
        for key in seen[1]["keys"]:
            del key["last_used_at"]
        return seen

    def values(self, name: str) -> list[Any]:
        """Return Ada's values for an argument of a name, none if it names nothing of hers."""
        texts = {
            "identifier": ["Ada Lovelace", "ada@example.org"], "search": ["Ada Lovelace", self.marker],
            "question": ["who is Ada Lovelace", self.marker], "entity_identifier": ["Ada Lovelace"],
            "keyword": [self.marker],
        }  # fmt: skip
        is_id = name == "id" or name.endswith(("_id", "_key")) or name in texts
        return [*self.ids, *texts.get(name, ())] if is_id and name != "idempotency_key" else []

    def attacks(self, operation: Operation[Any]) -> Iterator[dict[str, Any]]:
        """Yield arguments of an operation in which each argument in turn has each of Ada's values.

        In an ordinary run each argument has ``VALUES`` of them, and the next argument, also that of the next
        operation, has the following ones.
        """
        example = {name: value for name, value in operation.example.items() if not self.values(name)}
        inner = nested_filters(operation.arguments)
        models = [operation.arguments, *([inner] if inner else [])]
        fields = {name: info for model in models for name, info in model.model_fields.items()}
        needed = {name: self.values(name)[0] for name, info in fields.items()
                  if info.is_required() and self.values(name)}  # fmt: skip
        yield example | needed
        for name in fields:
            values = self.values(name)
            if values and not LONG:
                values = [values[next(self.following) % len(values)] for _ in range(VALUES)]
            for value in values:
                yield example | needed | {name: value}

    def check(self, answer: httpx.Response, sent: Any) -> None:
        """Check that an answer to Bob is empty or a refusal, and that neither has what is Ada's."""
        assert answer.status_code in (200, 400, 404), (sent, answer.text)
        seen = {secret for secret in self.secrets if secret in answer.text}
        known = json.dumps(sent) if answer.status_code != 200 else ""
        assert {secret for secret in seen if secret not in known} == set(), (sent, answer.text)


@pytest.fixture(scope="module")
def two(loop: Loop, instance_services: Services) -> Iterator[Two]:
    instance = Instance(loop, replace(instance_services, guard=Guard(instance_services.database)))
    ada, bob = instance.account("ada"), instance.account("bob")
    http = instance.application(limit_reads="", limit_writes="", limit_heavy="", limit_auth="")
    two = Two(http, ada, instance.key(ada), bob, instance.key(bob))
    instance.rows(CONNECTION, account=ada.id, id="con_00000000000000ad", name=two.marker)
    two.store("con_00000000000000ad")
    yield two
    instance.rows("MATCH (grant:OAuthGrant {account_id: $id}) DETACH DELETE grant", id=ada.id)
    instance.close()


@pytest.fixture
def unharmed(two: Two) -> Iterator[None]:
    """Check that Ada's data is as before when the attacks of a test have ended."""
    yield
    assert two.state() == two.before


def test_ids_of_an_account_are_reached_by_the_account_itself(two: Two) -> None:
    for entity_id in two.entity_ids:
        assert two.http("GET", f"/entities/{entity_id}", two.ada_key).status_code == 200
    answer = two.http.tool(two.ada_key, "retrieve_entities")
    assert two.marker in answer.text


@pytest.mark.usefixtures("unharmed")
@walk_over("method, path, name", OPERATIONS, one_of=6)
def test_ids_of_another_account_on_any_route_are_not_there(
    two: Two, method: str, path: str, name: str
) -> None:
    for arguments in two.attacks(REGISTRY[name]):
        address, kwargs = surface.request_of(method, path, arguments)
        answer = two.http(method, address, two.bob_key, **kwargs)
        if name == "relationship_types.register" or REGISTRY[name].scope == "copy":
            assert answer.status_code == 403
        else:
            two.check(answer, arguments)


MEMORY = {
    "create_relations": {"relations": [{"from": "Ada Lovelace", "to": "Analytical Engines",
                                        "relationType": "knows"}]},
    "delete_relations": {"relations": [{"from": "Ada Lovelace", "to": "Analytical Engines",
                                        "relationType": "works at"}]},
    "add_observations": {"observations": [{"entityName": "Ada Lovelace", "contents": ["bob was here"]}]},
    "delete_observations": {"deletions": [{"entityName": "Ada Lovelace", "observations": ["note"]}]},
    "delete_entities": {"entityNames": ["Ada Lovelace", "Analytical Engines"]},
    "create_entities": {"entities": [{"name": "Ada Lovelace", "entityType": "person",
                                      "observations": ["x"]}]},
    "search_nodes": {"query": "Ada Lovelace marker-of-ada-5f0c"},
    "open_nodes": {"names": ["Ada Lovelace", "Analytical Engines"]},
    "read_graph": {},
}  # fmt: skip
"""Calls of the tools of the toolset memory, which name entities and not ids."""


def test_every_tool_that_takes_no_ids_is_called_with_names() -> None:
    assert set(MEMORY) == {tool for tool, operation in all_tools().items() if not operation.routes}


@pytest.mark.long
@pytest.mark.usefixtures("unharmed")
@walk_over("toolset, tool", TOOLS)
def test_ids_of_another_account_by_any_tool_are_not_there(two: Two, toolset: str, tool: str) -> None:
    calls = [MEMORY[tool]] if tool in MEMORY else two.attacks(all_tools()[tool])
    for arguments in calls:
        message = surface.call_of(tool, arguments)
        answer = two.http("POST", f"/mcp/{toolset}", two.bob_key, json=message, headers=surface.MCP_HEADERS)
        result = answer.json()["result"]
        if tool == "register_relationship_type":
            assert json.loads(result["content"][0]["text"])["error_code"] == "FORBIDDEN"
            continue
        # The list of subscriptions repeats the filters that Bob gave in the attacks before.
        given = two.ids if tool == "list_subscriptions" else arguments
        known = json.dumps(given) if result["isError"] or given is two.ids else ""
        assert [each for each in two.secrets if each in answer.text and each not in known] == [], arguments


# An identity in the arguments


CLAIMS = ("user_id", "owner", "owner_id", "account", "account_id", "tenant")
_following_claims = itertools.cycle(CLAIMS)


def claims(quick: int) -> Iterable[str]:
    """Return all claims; in an ordinary run the next ``quick`` of them, so that a walk tries each."""
    return CLAIMS if LONG else itertools.islice(_following_claims, quick)


@pytest.mark.usefixtures("unharmed")
@walk_over("method, path, name", OPERATIONS, one_of=6)
def test_account_in_the_arguments_of_a_route_is_refused_or_ignored(
    two: Two, method: str, path: str, name: str
) -> None:
    values = (two.ada.id, two.ada.owner, "ada")
    for number, claim in enumerate(CLAIMS):
        for value in values if LONG else [values[number % len(values)]]:
            address, kwargs = surface.request_of(method, path, {**REGISTRY[name].example, claim: value})
            answer = two.http(method, address, two.bob_key, **kwargs)
            if REGISTRY[name].scope in ("admin", "copy"):
                assert answer.status_code == 403
                continue
            assert envelope(answer)["error_code"] == "ERR_UNKNOWN_FIELD", (claim, answer.text)
    address, kwargs = surface.request_of(method, path, REGISTRY[name].example)
    if "params" not in kwargs and REGISTRY[name].scope not in ("admin", "copy"):
        # The query of a request with a body is no argument: it is ignored.
        every = [{claim: value} for claim in CLAIMS for value in values]
        at_once = dict(zip(CLAIMS, itertools.cycle(values), strict=False))
        for params in every if LONG else [at_once]:
            two.check(two.http(method, address, two.bob_key, params=params, **kwargs), {})


@pytest.mark.usefixtures("unharmed")
@walk_over("toolset, tool", TOOLS)
def test_account_in_the_arguments_of_a_tool_is_refused(two: Two, toolset: str, tool: str) -> None:
    operation = all_tools()[tool]
    for claim in claims(1):
        arguments = {**(MEMORY.get(tool) or operation.example), claim: two.ada.owner}
        message = surface.call_of(tool, arguments)
        answer = two.http("POST", f"/mcp/{toolset}", two.bob_key, json=message, headers=surface.MCP_HEADERS)
        code = "FORBIDDEN" if operation.scope == "admin" else "ERR_UNKNOWN_FIELD"
        assert code in answer.text, answer.text


@pytest.mark.usefixtures("unharmed")
@walk_over("route", ROUTES)
def test_account_in_the_arguments_of_a_route_without_operation_gives_nothing(two: Two, route: Any) -> None:
    for claim in claims(2):
        claimed = {claim: two.ada.owner}
        answers = [two.http(route.method, route.path, two.bob_key, params=claimed)]
        answers += [two.http(route.method, route.path, two.bob_key, json=claimed)] if route.bodies else []
        for answer in answers:
            assert answer.status_code < 500
            assert "set-cookie" not in answer.headers
            assert [each for each in two.secrets - {two.ada.owner} if each in answer.text] == []


@pytest.mark.parametrize("header", ["X-User-Id", "X-Owner", "X-Account", "X-Forwarded-User", "Remote-User"])
def test_account_in_a_header_is_ignored(two: Two, header: str) -> None:
    for value in (two.ada.id, two.ada.owner, "ada"):
        me = two.http("GET", "/me", two.bob_key, headers={header: value})
        assert two.bob.owner in me.text
        assert not {two.ada.id, two.ada.owner} & {*me.text.split('"')}
        refused = two.http("GET", "/me", two.bob_key, headers={ACCOUNT_HEADER: value})
        assert envelope(refused)["error_code"] == "AUTH_INVALID"


# An address of this machine


LOCAL = {
    "X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": 'for=127.0.0.1;host="localhost"',
    "X-Forwarded-Host": "localhost", "X-Client-IP": "::1", "True-Client-IP": "127.0.0.1",
    "X-Original-Forwarded-For": "127.0.0.1", "Via": "1.1 localhost",
}  # fmt: skip
BINDS = [
    {"host": "0.0.0.0"}, {"host": "::"}, {"host": "192.0.2.1"}, {"env": "production"},
    {"bearer_token": SecretStr(TOKEN)}, {"host": "0.0.0.0", "trusted_proxies": ("127.0.0.1", "::1")},
    {"env": "production", "trusted_proxies": ("127.0.0.1",)},
]  # fmt: skip
"""Settings under which a caller needs a credential. The connection comes from loopback, as by a proxy."""


@walk_over("changes", BINDS)
def test_address_of_this_machine_in_a_header_opens_no_route(
    loop: Loop, services: Services, changes: dict[str, Any]
) -> None:
    """An ordinary run asks all routes with all headers at once, and some routes with each of them."""
    settings = services.settings.model_copy(update=changes | {"allowed_hosts": ("localhost",)})
    http = sender(loop, create_app(replace(services, settings=settings), limited=False))
    for number, headers in enumerate([LOCAL, *({name: value} for name, value in LOCAL.items())]):
        for method, path in GUARDED if LONG or headers is LOCAL else GUARDED[number::20]:
            answer = http(method, surface.url(path), headers=headers)
            refused = answer.status_code, envelope(answer)["error_code"]
            assert refused == (401, "AUTH_REQUIRED"), (path, headers)
