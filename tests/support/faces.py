"""Call an operation through each face, with one signature: ``face(owner)("entities.get", entity_id=…)``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, get_origin
from urllib.parse import quote

import httpx
from mcp import Client as McpClient
from typer.testing import CliRunner

from graphmem import runtime
from graphmem.arguments import BODY_METHODS
from graphmem.auth import accounts
from graphmem.cli import in_process
from graphmem.cli.main import app as cli
from graphmem.context import Services
from graphmem.errors import CATALOGUE, GraphmemError
from graphmem.mcp.tools import create_server
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.settings import Settings
from tests.support.actors import full_actor
from tests.support.event_loop import Loop

Call = Callable[..., dict[str, Any]]


def raised(envelope: dict[str, Any]) -> GraphmemError:
    """Return the error that an envelope tells, after checking that it is a whole one."""
    assert set(envelope) == {"error_code", "message", "details", "trace_id", "timestamp"}, envelope
    assert envelope["trace_id"], envelope
    return CATALOGUE[envelope["error_code"]](envelope["message"], **envelope["details"])


def by_runner(loop: Loop, services: Services, owner: str, client: str = "test") -> Call:
    """Call the registry itself."""

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        actor = full_actor(owner, client=client)
        return canonical.decode(loop.run(REGISTRY[name].run(services, actor, arguments)))

    return call


def by_rest(loop: Loop, app: Any, owner: str) -> Call:
    """Call over HTTP, the first route of the operation."""

    async def send(name: str, arguments: dict[str, Any]) -> httpx.Response:
        method, path = REGISTRY[name].routes[0]
        rest = dict(arguments)
        for part in [part for part in path.split("/") if part.startswith("{")]:
            path = path.replace(part, quote(str(rest.pop(part[1:-1])), safe=""))
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {owner}", "X-Client-Name": "test"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as http:
            if method not in BODY_METHODS:
                params = {k: in_query(v) for k, v in rest.items()}
                return await http.request(method, path, params=params)
            headers = {"Content-Type": "application/json"}
            return await http.request(method, path, content=json.dumps(rest), headers=headers)

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = loop.run(send(name, arguments))
        body = canonical.decode(answer.content)
        if answer.is_success:
            return body
        error = raised(body)
        assert answer.status_code == error.status
        raise error

    return call


def in_query(value: Any) -> Any:
    """Return a value as a query string has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict) else value


def by_mcp(loop: Loop, services: Services, owner: str) -> Call:
    """Call a tool with the SDK's own client."""

    async def send(name: str, arguments: dict[str, Any]) -> Any:
        server = create_server(services, lambda: full_actor(owner, client="test"))
        async with McpClient(server) as client:
            return await client.call_tool(REGISTRY[name].tool, arguments)

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = loop.run(send(name, arguments))
        body = canonical.decode(answer.content[0].text)
        assert body == answer.structured_content
        if answer.is_error:
            raise raised(body)
        return body

    return call


def share_services(monkeypatch: Any, loop: Loop, services: Services) -> None:
    """Let the commands of this process use the services of this run.

    A command of its own opens the database and checks the migrations, which takes longer than most commands.
    """
    open_services = runtime.open_services

    @contextlib.asynccontextmanager
    async def shared(settings: Settings, *args: Any, **kwargs: Any) -> AsyncIterator[Services]:
        if loop.is_current() and settings.neo4j_uri == services.settings.neo4j_uri:
            yield services
        else:
            async with open_services(settings, *args, **kwargs) as opened:
                yield opened

    monkeypatch.setattr(runtime, "open_services", shared)
    monkeypatch.setattr(in_process, "run_async", loop.run)


def by_cli(loop: Loop, services: Services, monkeypatch: Any, owner: str) -> Call:
    """Call a command, in this process, on the same database."""
    settings = services.settings
    share_services(monkeypatch, loop, services)
    monkeypatch.setattr(accounts, "local_actor", lambda *_: full_actor(owner, client="test"))
    environment = {
        "NEO4J_URI": settings.neo4j_uri,
        "NEO4J_USERNAME": settings.neo4j_username,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
        "GRAPHMEM_DATA_DIR": str(settings.data_path),
    }

    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        result = CliRunner().invoke(cli, argv(name, arguments), env=environment)
        if result.exit_code == 0:
            return canonical.decode(result.stdout)
        assert not result.stdout, result.stdout
        assert result.stderr, result.exception
        error = raised(canonical.decode(result.stderr))
        assert result.exit_code == error.exit_code
        raise error

    return call


def argv(name: str, arguments: dict[str, Any]) -> list[str]:
    """Return the command line of a call: required plain arguments by position, the others as options."""
    operation = REGISTRY[name]
    words = [*operation.command, "--json"]
    positional: list[str] = []
    for key, value in flat(arguments).items():
        info = operation.arguments.model_fields.get(key)
        option = f"--{key.replace('_', '-')}"
        if info is not None and get_origin(info.annotation) is None and info.annotation is Any:
            words += [option, json.dumps(value)]
        elif isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, dict) or (
            isinstance(value, list) and any(not isinstance(v, str) for v in value)
        ):
            words += [option, json.dumps(value)]
        elif isinstance(value, list):
            words += [word for element in value for word in (option, element)]
        elif info is not None and info.is_required():
            positional.append(str(value))
        else:
            words += [option, str(value)]
    return [*words, "--", *positional]


def flat(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the filters beside the others, as a command line has them."""
    return {**arguments.get("filters", {}), **{k: v for k, v in arguments.items() if k != "filters"}}
