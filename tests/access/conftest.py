"""Instances with accounts for tests that make keys and passwords.

The first key or password of an account that is not disabled turns authentication on for every open service on
its database. The services of these tests alone see that (tests/support/open_services.py), and one process has
all of these tests, so each of them begins without such an account.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import httpx
import pytest
from cachetools import TTLCache
from typer.testing import CliRunner, Result

from graphmem.api.app import create_app
from graphmem.auth import agent_grants, credentials
from graphmem.auth.accounts import Account, Accounts
from graphmem.auth.agent_grants import AgentGrants
from graphmem.auth.authenticator import Authenticate
from graphmem.auth.credentials import CredentialCache, Guard
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.model import times
from graphmem.runtime import open_services
from graphmem.settings import LOCAL_ACCOUNT, Settings
from tests.support.commands import environment
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner, share_services
from tests.support.lifespans import lifespan
from tests.support.open_services import CREATED, VARIABLE, noting
from tests.support.refusals import seconds_until_refused
from tests.support.scheduling import OF_ACCOUNTS, OF_OWN

Command = Callable[..., Result]
HOUR = 3_600_000_000
"""Microseconds of an hour."""
WITHIN_SECONDS = 5.0
"""A change of who may call holds in all processes within so many seconds."""
MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


@dataclass
class Application:
    """An HTTP application as one process has it, with a memory of credentials of its own."""

    loop: Loop
    app: Any

    def __call__(self, method: str, path: str, key: str | None = None, **kwargs: Any) -> httpx.Response:
        """Send a request with a bearer token."""
        headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **kwargs.pop("headers", {})}
        return self.loop.run(self._send(method, path, headers=headers, **kwargs))

    async def _send(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as http:
            return await http.request(method, path, **kwargs)

    def tool(self, key: str | None, name: str, **arguments: Any) -> httpx.Response:
        """Call an MCP tool over HTTP."""
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self("POST", "/mcp/full", key, json=body, headers=MCP_HEADERS)


@dataclass
class Instance:
    """An instance with accounts."""

    loop: Loop
    services: Services
    is_alone: bool = False
    """Whether no other process has accounts in its database."""
    running: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def accounts(self) -> Accounts:
        return Accounts(self.services.database)

    def account(self, name: str, scopes: Sequence[str] = ("read", "write")) -> Account:
        """Create an account."""
        return self.loop.run(self.accounts.create(name, scopes, None))

    def key(
        self, account: Account, scopes: Sequence[str] = ("read", "write"), expires_at: int | None = None
    ) -> str:
        """Create an API key."""
        return self.loop.run(
            self.accounts.create_key(account.id, account.owner, "of a test", scopes, expires_at)
        )[0]

    @property
    def names(self) -> list[str]:
        """The names of its accounts as they are listed, without those of other processes."""
        known = {LOCAL_ACCOUNT, *CREATED}
        return [each.name for each in self.loop.run(self.accounts.all()) if each.id in known]

    def rows(self, query: Any, **params: Any) -> list[dict[str, Any]]:
        """Run a statement of Cypher."""
        return self.loop.run(self.services.database.script(query, **params))

    def by_owner(self, owner: str) -> Call:
        """Return the operations as an owner runs them in process."""
        return by_runner(self.loop, self.services, owner)

    def application(self, authenticate: Authenticate | None = None, **settings: Any) -> Application:
        """Return an HTTP application with some settings, as a process of its own has it."""
        changed = self.services.settings.model_copy(update=settings)
        guard, credentials = Guard(self.services.database), CredentialCache()
        services = replace(
            self.services, settings=changed, guard=guard, credentials=credentials,
            agent_grants=AgentGrants(self.services.database, self.services.type_aliases),
        )  # fmt: skip
        app = create_app(services, authenticate)
        self.running.enter_context(lifespan(self.loop, app))
        return Application(self.loop, app)

    def end(self) -> None:
        """End the applications."""
        self.running.close()

    def close(self) -> None:
        """End the applications and erase the accounts, without those of other processes."""
        self.end()
        own = "MATCH (a:Account) WHERE ($is_alone OR a.name = 'local' OR a.id IN $created) "
        chosen = {"is_alone": self.is_alone, "created": CREATED}
        self.rows(
            own + "MATCH (a)-->(n:ApiKey|OneTimeCode|AgentGrant|Subscription) DETACH DELETE n", **chosen
        )
        self.rows(own + "AND a.name <> 'local' DETACH DELETE a", **chosen)
        self.rows("MATCH (a:Account {name: 'local'}) REMOVE a.password, a.disabled")
        CREATED.clear()


@contextlib.contextmanager
def opened(settings: Settings, loop: Loop) -> Iterator[Services]:
    """Open services."""
    services = open_services(settings)
    yield loop.run(services.__aenter__())
    loop.run(services.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def instance_services(instance_settings: Settings, loop: Loop) -> Iterator[Services]:
    """The services of the instance with accounts."""
    with opened(instance_settings, loop) as services:
        yield services


@pytest.fixture(scope="session")
def own_services(own_settings: Settings, loop: Loop) -> Iterator[Services]:
    """The services of an instance with accounts whose database has nothing else."""
    with opened(own_settings, loop) as services:
        yield services


@pytest.fixture(autouse=True)
def one_process(request: pytest.FixtureRequest) -> None:
    """Fail a test that uses an instance with accounts in a file that any process may take."""
    path, _, _ = request.node.nodeid.partition("::")
    has_accounts = not {"instance", "instance_settings"}.isdisjoint(request.fixturenames)
    assert not has_accounts or path in OF_ACCOUNTS | OF_OWN, f"OF_ACCOUNTS lacks {path}"


@pytest.fixture(scope="module", autouse=True)
def guarded_by_accounts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have the accounts of a file guard all services that its tests open or start."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.nodeid in OF_ACCOUNTS | OF_OWN:
            patch.delenv(VARIABLE)
            patch.setattr(Accounts, "create", noting(Accounts.create))
        yield


@pytest.fixture
def instance(request: pytest.FixtureRequest, loop: Loop) -> Iterator[Instance]:
    """An instance whose only account is the local one, without a key and a password."""
    is_alone = request.path.relative_to(request.config.rootpath).as_posix() in OF_OWN
    services: Services = request.getfixturevalue("own_services" if is_alone else "instance_services")
    made = Instance(loop, replace(services, guard=Guard(services.database)), is_alone)
    yield made
    made.close()


@pytest.fixture
def command(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on the instance."""
    share_services(monkeypatch, instance.loop, instance.services)
    settings = instance.services.settings
    variables = environment(settings, settings.data_path)

    def run(*words: str, stdin: str = "") -> Result:
        return CliRunner().invoke(app, [*words], input=stdin, env=variables)

    return run


@pytest.fixture
def forward(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Put the clock forward by microseconds."""
    real, ahead = times.now, [0]
    monkeypatch.setattr(times, "now", lambda: real() + ahead[0])

    def put(microseconds: int) -> None:
        ahead[0] += microseconds

    return put


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Put the clock of credentials that authenticators remember forward by seconds. It stands still else."""
    ahead = [0.0]
    cache = partial(TTLCache, timer=lambda: ahead[0])
    monkeypatch.setattr(credentials, "TTLCache", cache)
    monkeypatch.setattr(agent_grants, "TTLCache", cache)

    def put(seconds: float) -> None:
        ahead[0] += seconds

    return put


def seconds_until_401(application: Application, *request: Any) -> float:
    """Return for how many seconds a request was still answered. It is sent for twice as long as allowed."""

    async def status() -> int:
        return application(*request).status_code

    return asyncio.run(seconds_until_refused(status, 2 * WITHIN_SECONDS))


@dataclass(frozen=True)
class Person:
    """A person with an account and its password."""

    account: Account
    password: str

    @property
    def name(self) -> str:
        return self.account.name


@contextlib.contextmanager
def person(loop: Loop, services: Services, name: str, scopes: Sequence[str]) -> Iterator[Person]:
    """Have an account with a password."""
    accounts, password = Accounts(services.database), "correct horse battery staple"
    account = loop.run(accounts.create(f"{name}-{uuid.uuid4().hex[:8]}", scopes, password))
    yield Person(account, password)
    loop.run(accounts.delete(account.name))


@pytest.fixture
def alice(instance_services: Services, loop: Loop) -> Iterator[Person]:
    """A person who may read and write."""
    with person(loop, instance_services, "alice", ["read", "write"]) as alice:
        yield alice


@pytest.fixture
def bob(instance_services: Services, loop: Loop) -> Iterator[Person]:
    """Another person, who may read only."""
    with person(loop, instance_services, "bob", ["read"]) as bob:
        yield bob
