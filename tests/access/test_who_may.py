"""Who may what: every operation by every kind of caller on every face, against what operations declare.

:func:`decision` reads the declarations and nothing else. A call that is allowed has an unknown argument: it
is refused after all rights were looked at, so that nothing changes what the next call meets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from typer.testing import CliRunner

from graphmem.api.rest_routes import ROUTES, RestRoute
from graphmem.auth import Scope, client_rules
from graphmem.auth.accounts import Account, Proof
from graphmem.auth.agent_keys import PrivateAgentKey
from graphmem.auth.credentials import Guard
from graphmem.auth.grants import Grants, NewRequest, Presented
from graphmem.cli import main
from graphmem.context import Services
from graphmem.mcp import memory_tools
from graphmem.registry import REGISTRY, Face, Operation
from graphmem.service import wire
from graphmem.service.calling import account_headers
from graphmem.service.front import Front, create_local_app
from tests.access.conftest import Application, Instance
from tests.access.test_signing import ADDRESS
from tests.faces.example_data import filled, stored_examples
from tests.faces.parity_rows import with_stored_ids
from tests.support import surface
from tests.support.agents import Request, signed
from tests.support.commands import UNLIMITED, environment
from tests.support.event_loop import Loop
from tests.support.faces import argv, share_services
from tests.support.figures import Figures
from tests.support.walks import walk_over

READ, WRITE, ADMIN, COPY, KEYS = Scope
EVERY: Final = frozenset(Scope) - {COPY}
REFUSALS: Final = {
    "AUTH_REQUIRED", "AUTH_INVALID", "FORBIDDEN", "WRITER_QUARANTINED", "CAPABILITY_DENIED",
    "SANDBOX_DISABLED",
}  # fmt: skip
UNKNOWN: Final = {"who_may": "x"}
EXPIRED: Final = 1


@dataclass(frozen=True)
class Caller:
    """A kind of caller: what it may by its credential, and by the grants of the agent that signs."""

    may: frozenset[Scope] = EVERY
    refused: str = ""
    is_quarantined: bool = False
    granted: tuple[str, tuple[str, ...]] | None = None
    is_sandbox: bool = False
    faces: tuple[str, ...] = ("rest", "mcp")


HERE: Final = ("socket", "cli")
SIGNED: Final = ("rest", "mcp", "socket")
CALLERS: Final[dict[str, Caller]] = {
    "none": Caller(refused="AUTH_REQUIRED", faces=SIGNED),
    "expired": Caller(refused="AUTH_INVALID"),
    "child of expired": Caller(refused="AUTH_INVALID"),
    "revoked": Caller(refused="AUTH_INVALID"),
    "child of revoked": Caller(refused="AUTH_INVALID"),
    **{
        f"{prefix}{name}": Caller(may)
        for name, may in {
            "reader": frozenset({READ}), "writer": frozenset({READ, WRITE, KEYS}), "admin": EVERY,
        }.items()
        for prefix in ("", "child of ")
    },
    "quarantined": Caller(is_quarantined=True),
    "child of quarantined": Caller(is_quarantined=True),
    **{
        f"oauth {' '.join(scopes)}": Caller(frozenset(scopes))
        for scopes in (
            (READ,), (WRITE,), (READ, WRITE), (READ, WRITE, KEYS), (READ, WRITE, ADMIN),
            (READ, WRITE, ADMIN, KEYS),
        )
    },
    **{
        " ".join(("agent", op or "without a grant", *types)): Caller(granted=(op, types), faces=SIGNED)
        for op, types in (
            ("*", ()), ("read", ()), ("write", ()), ("store", ()), ("entities.get", ()), ("keys.create", ()),
            ("*", ("unicorn",)), ("", ()),
        )
    },
    "agent suspended": Caller(granted=("", ()), faces=SIGNED),
    "agent revoked": Caller(granted=("", ()), faces=SIGNED),
    "sandbox": Caller(frozenset({READ, WRITE, KEYS}), is_sandbox=True, faces=("rest", "mcp", *HERE)),
    "local": Caller(EVERY | {COPY}, faces=HERE),
    "account of a reader": Caller(frozenset({READ}), faces=HERE),
    "account of a writer": Caller(frozenset({READ, WRITE, COPY, KEYS}), faces=HERE),
}  # fmt: skip
EVERY_OPERATION: Final = {
    **REGISTRY,
    **memory_tools.OPERATIONS,
    **{each.name: each for each in ROUTES if each.scope},
}


def decision(operation: Operation[Any] | RestRoute, caller: Caller, face: str) -> str:
    """Return the code with which the declarations refuse a call; empty: they allow it."""
    # The socket wants its secret for everything.
    is_answered = face == "rest" or (face == "socket" and caller is not CALLERS["none"])
    if is_answered and isinstance(operation, Operation) and operation.public:
        return ""
    if caller.refused:
        return caller.refused
    if caller.is_sandbox and not operation.sandbox:
        return "SANDBOX_DISABLED"
    # An agent signs with whatever the request has: over the socket, with all that this machine's user may.
    may = caller.may | ({COPY} if face == "socket" and caller.granted is not None else set())
    if operation.scope not in may:
        return "FORBIDDEN"
    is_kept = isinstance(operation, RestRoute) or operation.scope is READ or operation.withheld
    if caller.is_quarantined and not is_kept:
        return "WRITER_QUARANTINED"
    if caller.granted is not None:
        op, types = caller.granted
        kind = "read" if operation.scope is READ else "write"
        # No argument of an example is of the types that a grant names here.
        if types or op not in ("*", kind, operation.name) or operation.scope in (KEYS, COPY):
            return "CAPABILITY_DENIED"
    return ""


def cells() -> Iterator[tuple[str, str, str]]:
    """Yield each face, caller and operation that there is."""
    for name, operation in EVERY_OPERATION.items():
        faces = operation.faces if isinstance(operation, Operation) else Face.REST
        offered = {"rest": Face.REST in faces, "mcp": Face.MCP in faces, "cli": Face.CLI in faces,
                   "socket": name in REGISTRY}  # fmt: skip
        for title, caller in CALLERS.items():
            for face in caller.faces:
                # What a route of REST alone answers may be a stream.
                is_answered = isinstance(operation, Operation) or decision(operation, caller, face)
                if offered[face] and is_answered:
                    yield face, title, name


CELLS: Final = list(cells())


@dataclass
class World:
    """An instance with every kind of caller, whose examples are stored for the account that they share."""

    instance: Instance
    folder: Path
    account: Account
    bearers: dict[str, str] = field(default_factory=dict)
    agents: dict[str, PrivateAgentKey] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    """A transaction of each caller that is in quarantine."""

    def __post_init__(self) -> None:
        settings: dict[str, Any] = {**UNLIMITED, "public_url": ADDRESS}
        self.http = self.instance.application(**settings)
        self.sandbox = self.instance.application(**settings, sandbox=True)
        services = self.instance.services
        closed = replace(services, settings=services.settings.model_copy(update={"sandbox": True}))
        self.sockets = {
            is_closed: self._socket(each) for is_closed, each in ((False, services), (True, closed))
        }
        self.services = {False: services, True: closed}

    def _socket(self, services: Services) -> Application:
        path = self.folder / "socket"
        wire.secret_file(path).write_text("secret", "ascii")

        async def opened() -> Front:
            front = Front(services.settings, path)
            front.ready(create_local_app(services))
            return front

        return Application(self.instance.loop, self.instance.loop.run(opened()))

    def make(self) -> None:
        """Make the callers."""
        instance, account = self.instance, self.account
        create = partial(instance.accounts.create_key, account.id, account.owner)

        def key(title: str, *scopes: Scope, expires_at: int | None = None) -> str:
            secret, made = instance.loop.run(create(title, scopes, expires_at))
            child, _ = instance.loop.run(create(f"child of {title}", scopes, None, made.key_id))
            self.bearers |= {title: secret, f"child of {title}": child}
            return made.key_id

        key("reader", READ)
        key("writer", READ, WRITE)
        key("admin", READ, WRITE, ADMIN)
        key("expired", READ, WRITE, ADMIN, expires_at=EXPIRED)
        instance.loop.run(instance.accounts.revoke_key(account.id, key("revoked", READ, WRITE, ADMIN), "end"))
        quarantined = key("quarantined", READ, WRITE, ADMIN)
        self.known = stored_examples(instance.loop, instance.services, account.owner, self._as_admin)
        own = {"relationship_type": "WALKS", "source_entity_id": "$ada", "target_entity_id": "$acme"}
        self._as("admin", "relationships.create", filled(own, self.known))
        for title in ("quarantined", "child of quarantined"):
            stored = self._as(title, "store", {"entities": [{"entity_type": "note", "name": f"By {title}"}]})
            self.written[title] = stored["transaction_id"]
        self._as("admin", "agents.quarantine", {"by_key": quarantined})
        for title in CALLERS:
            if title.startswith("oauth "):
                self.bearers[title] = instance.loop.run(self._token(title.split()[1:]))
            if title.startswith("agent "):
                self.agents[title] = PrivateAgentKey.generated("Ed25519")
                self._grant(title)

    def _grant(self, title: str) -> None:
        op, types = CALLERS[title].granted or ("", ())
        if title == "agent without a grant":
            return
        granted = self._as("admin", "agents.grant", {
            "label": title, "thumbprint": self.agents[title].public.thumbprint,
            "capabilities": [{"op": op or "*", "entity_types": types}],
        })["grant"]["grant_id"]  # fmt: skip
        if not op:
            verb = "suspend" if title == "agent suspended" else "revoke"
            self._as("admin", f"agents.{verb}", {"grant_id": granted})

    async def _token(self, scopes: list[str]) -> str:
        grants = Grants(self.instance.services.database)
        challenge = client_rules.code_challenge_of("v" * 43)
        resource = client_rules.canonical_resource(ADDRESS)
        request = NewRequest("client", "Client", ADDRESS, "s", challenge, resource, scopes, True)
        waiting, _ = await grants.create_request(request)
        code = await grants.allow(waiting, Proof(self.account), scopes, "browser")
        assert code
        issued = await grants.redeem(code, challenge, None, Presented(None, None, None))
        return issued.access_token

    def _as(self, title: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self.rest(title, REGISTRY[name], arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def _as_admin(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._as("admin", name, arguments)

    def example(self, title: str, operation: Operation[Any]) -> dict[str, Any]:
        if operation.name == "undo" and title in self.written:
            return {"transaction_id": self.written[title]}
        return filled(with_stored_ids(dict(operation.example)), self.known)

    def _sent(self, app: Application, title: str, method: str, path: str, **sent: Any) -> httpx.Response:
        """Send a request as a caller: with its bearer, or signed by its agent."""
        headers = sent.pop("headers", {})
        if title not in self.agents:
            return app(method, path, self.bearers.get(title), headers=headers, **sent)
        path, _, query = str(httpx.Request(method, path, params=sent.get("params")).url).partition("?")
        body = sent.get("content", "").encode()
        request = signed(
            self.agents[title], Request(method, path, query, body), authority="localhost", scheme="http"
        )
        headers |= dict(request.headers)
        return app(
            method, f"{path}?{query}" if query else path, self.bearers["admin"], content=body, headers=headers
        )

    def rest(
        self, title: str, operation: Operation[Any] | RestRoute, arguments: dict[str, Any]
    ) -> httpx.Response:
        app = self.sandbox if CALLERS[title].is_sandbox else self.http
        if isinstance(operation, RestRoute):
            return self._sent(app, title, operation.method, surface.url(operation.path))
        path, sent = surface.request_of(*operation.routes[0], arguments)
        return self._sent(app, title, operation.routes[0][0], path, **sent)

    def mcp(self, title: str, operation: Operation[Any], arguments: dict[str, Any]) -> httpx.Response:
        toolset = "full" if operation.name in REGISTRY else "memory"
        content = json.dumps(surface.call_of(operation.tool, arguments))
        headers = {**surface.MCP_HEADERS, "Content-Type": "application/json"}
        app = self.sandbox if CALLERS[title].is_sandbox else self.http
        return self._sent(app, title, "POST", f"/mcp/{toolset}", content=content, headers=headers)

    def socket(self, title: str, operation: Operation[Any], arguments: dict[str, Any]) -> httpx.Response:
        headers = {"Content-Type": "application/json", **account_headers(self._account(title))}
        if title != "none":
            headers[wire.SECRET_HEADER] = "secret"
        app = self.sockets[CALLERS[title].is_sandbox]
        method, url, body = wire.request_of(operation.routes[0], arguments)
        return self._sent(app, title, method, url, content=(body or b"").decode(), headers=headers)

    def _account(self, title: str) -> str | None:
        if title.startswith("account of"):
            return title.rpartition(" ")[2]
        return self.account.name if title in self.agents else None

    def cli(self, title: str, operation: Operation[Any], arguments: dict[str, Any]) -> str:
        services = self.services[CALLERS[title].is_sandbox]
        account = self._account(title)
        words = ([] if account is None else ["--account", account]) + argv(operation.name, arguments)
        with pytest.MonkeyPatch.context() as patch:
            share_services(patch, self.instance.loop, services)
            variables = environment(services.settings, services.settings.data_path)
            result = CliRunner().invoke(main.app, words, env=variables)
        if result.exit_code == 0:
            return ""
        return json.loads(result.stderr[result.stderr.rindex('{"error_code"') :])["error_code"]


def code_of(answer: httpx.Response | str) -> str:
    """Return the code of an answer, also of one of MCP; empty: it is no error."""
    if isinstance(answer, str):
        return answer
    body = answer.json()
    if "result" in body:
        is_error = body["result"].get("isError")
        body = json.loads(body["result"]["content"][0]["text"]) if is_error else {}
    return body.get("error_code", "")


@pytest.fixture(scope="module")
def world(
    loop: Loop, instance_services: Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    instance = Instance(loop, replace(instance_services, guard=Guard(instance_services.database)))
    account = instance.account("ada", [READ, WRITE, ADMIN])
    instance.account("reader", [READ])
    instance.account("writer", [READ, WRITE])
    world = World(instance, tmp_path_factory.mktemp("who"), account)
    world.make()
    yield world
    instance.rows("MATCH (n:OAuthGrant {account_id: $id}) DETACH DELETE n", id=account.id)
    instance.close()


def test_every_operation_and_face_is_in_the_walk(figures: Figures) -> None:
    operations = {name for _, _, name in CELLS}
    figures(f"{len(CALLERS)} callers × {len(operations)} operations × 4 faces: {len(CELLS)} calls")
    walked = {(face, name) for face, _, name in CELLS}
    for name, operation in REGISTRY.items():
        for flag, face in ((Face.REST, "rest"), (Face.MCP, "mcp"), (Face.CLI, "cli")):
            assert (flag in operation.faces) is ((face, name) in walked)
    assert {decision(EVERY_OPERATION[name], CALLERS[title], face) for face, title, name in CELLS} == {
        "",
        *REFUSALS,
    }


@walk_over("face, title, name", CELLS, one_of=12)
def test_a_caller_may_what_the_declarations_say(world: World, face: str, title: str, name: str) -> None:
    operation, caller = EVERY_OPERATION[name], CALLERS[title]
    expected = decision(operation, caller, face)
    call: Callable[..., httpx.Response | str] = getattr(world, face)
    arguments: dict[str, Any] = UNKNOWN
    if isinstance(operation, Operation) and (
        operation.example or name == "undo" or (face == "cli" and expected)
    ):
        # A writer of data, or a grant of types, decides on what arguments say. Commands have no unknown ones.
        decides = caller.is_quarantined or (expected and caller.granted) or face == "cli"
        arguments = world.example(title, operation) if decides else UNKNOWN
    if face == "cli" and not expected and operation.scope is not READ:
        return
    code = code_of(call(title, operation, arguments))
    assert (code if code in REFUSALS else "") == expected, code
