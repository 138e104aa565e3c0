"""Parity: every operation gives the same answer and the same error through every face.

A row is tried through each of them on the same owner's data, and compared with what the registry's own
runner says. A new operation is called with the example of its declaration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
import yaml
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.types import TextContent
from typer.testing import CliRunner

from graphmem import worker
from graphmem.api import openapi
from graphmem.api.app import create_app
from graphmem.arguments import BODY_METHODS
from graphmem.auth import Actor, accounts
from graphmem.cli.main import app as cli
from graphmem.cli.session import Session
from graphmem.client import Client
from graphmem.context import Services
from graphmem.errors import CATALOGUE, GraphmemError
from graphmem.mcp.tools import create_server, defaults_of
from graphmem.model import canonical
from graphmem.registry import REGISTRY, Face, reworded
from graphmem.settings import Settings
from tests.faces.example_data import bring_connection, bring_subscription, filled, stored_examples
from tests.faces.parity_rows import BETWEEN_COPIES, MAY_DIFFER, ROWS, Row
from tests.support.actors import always, full_actor
from tests.support.commands import command, environment
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import argv, flat, in_query, share_services
from tests.support.long_cases import mostly_long
from tests.support.service import Service

Outcome = tuple[Any, ...]
Outcomes = dict[int, list[Outcome]]


def answered(row: Row, body: bytes | str) -> Outcome:
    answer = canonical.decode(body)
    return "ok", json.dumps(
        {name: value for name, value in answer.items() if name not in MAY_DIFFER.get(row.name, ())},
        sort_keys=True,
    )


def refused(body: bytes | str) -> Outcome:
    envelope = canonical.decode(body)
    assert set(envelope) == {"error_code", "message", "details", "trace_id", "timestamp"}
    assert re.fullmatch(r"[0-9a-f]{32}", envelope["trace_id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", envelope["timestamp"])
    return envelope["error_code"], envelope["message"], json.dumps(envelope["details"], sort_keys=True)


@dataclass(frozen=True)
class World:
    """The data that every face is asked about."""

    loop: Loop
    services: Services
    settings: Settings
    service: Service
    rows: list[Row]
    one_of: int = 1
    """A face is asked one of so many rows."""

    @property
    def actor(self) -> Actor:
        return full_actor(self.service.owner, client="test")

    async def bring_back(self, row: Row) -> None:
        """Bring back the connection or subscription that a row names, so that every face may end it."""
        if row.name == "connections.revoke" and not row.code:
            await bring_connection(self.services, self.service.owner)
        if row.name in ("subscriptions.add", "subscriptions.remove") and not row.code:
            await bring_subscription(self.services, self.service.owner)

    def each(self, face: Face, ask: Callable[[Row], list[Outcome]]) -> Outcomes:
        return {i: ask(row) for i, row in self.asked(face)}

    def asked(self, face: Face) -> Iterator[tuple[int, Row]]:
        """Yield the rows that a face is asked, with their places."""
        for i, row in enumerate(self.rows):
            if face in REGISTRY[row.name].faces and i % self.one_of == 0:
                yield i, row


@pytest.fixture(scope="session")
def world(loop: Loop, services: Services, settings: Settings, service: Service) -> World:
    actor = full_actor(service.owner, client="test")

    def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return canonical.decode(loop.run(REGISTRY[name].run(services, actor, arguments)))

    known = stored_examples(loop, services, service.owner, run)
    rows = [replace(row, arguments=filled(row.arguments, known)) for row in ROWS]
    for row in rows:
        # What writes is written once here; each face then repeats it, and hears the same.
        if REGISTRY[row.name].scope != "read" and not row.code:
            run(row.name, row.arguments)
    # What those changed is folded again now, and not by some worker between two faces.
    while run("server.stats", {})["types_pending"]:
        loop.run(worker.refold_stale(services, service.owner))
    return World(loop, services, settings, service, rows)


def by_runner(world: World, face: Face = Face.REST) -> Outcomes:
    """Run every row without a face, with the arguments that ``face`` adds to a call."""

    def ask(row: Row) -> list[Outcome]:
        operation = REGISTRY[row.name]
        arguments = {**(defaults_of(operation) if face is Face.MCP else {}), **row.arguments}
        world.loop.run(world.bring_back(row))
        try:
            return [
                answered(row, world.loop.run(operation.run(world.services, world.actor, arguments, face)))
            ]
        except GraphmemError as exc:
            return [refused(json.dumps(exc.envelope("0" * 32)))]

    return world.each(Face.REST, ask)


# REST


def requests(row: Row) -> list[tuple[str, str, dict[str, Any]]]:
    """Return each way to ask for a row over HTTP: every route that can say it, bare or under /api.

    A long run asks both for each row.
    """
    calls: list[tuple[str, str, dict[str, Any]]] = []
    prefixes = ("", "/api") if LONG else (("", "/api")[(len(row.name) + bool(row.code)) % 2],)
    for method, path in REGISTRY[row.name].routes:
        arguments = row.arguments if method in BODY_METHODS else flat(row.arguments)
        places = re.findall(r"{(\w+)}", path)
        if not set(places) <= set(flat(row.arguments)):
            continue
        rest = {name: value for name, value in arguments.items() if name not in places}
        url = path.format_map({name: quote(flat(row.arguments)[name], safe="") for name in places})
        if method not in BODY_METHODS:
            sent = {"params": {n: in_query(v) for n, v in rest.items()}}
        else:
            sent = {"content": json.dumps(rest), "headers": {"Content-Type": "application/json"}}
        calls += [(method, prefix + url, sent) for prefix in prefixes]
    assert calls, f"{row.name} has no route that can say {row.arguments}"
    return calls


def outcome_of(row: Row, answer: httpx.Response) -> Outcome:
    if answer.is_success:
        assert answer.status_code == 200
        return answered(row, answer.content)
    outcome = refused(answer.content)
    assert answer.status_code == CATALOGUE[outcome[0]].status
    assert answer.headers["x-trace-id"] == answer.json()["trace_id"]
    return outcome


def by_asgi(world: World) -> Outcomes:
    app = create_app(world.services, always(world.actor))

    async def ask(row: Row) -> list[Outcome]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            outcomes: list[Outcome] = []
            for method, url, sent in requests(row):
                await world.bring_back(row)
                outcomes.append(outcome_of(row, await http.request(method, url, **sent)))
            return outcomes

    return world.each(Face.REST, lambda row: world.loop.run(ask(row)))


def by_wire(world: World) -> Outcomes:
    def send(http: httpx.Client, row: Row) -> Iterator[Outcome]:
        for method, url, sent in requests(row):
            world.loop.run(world.bring_back(row))
            yield outcome_of(row, http.request(method, url, **sent))

    with world.service.http() as http:
        return world.each(Face.REST, lambda row: [*send(http, row)])


# MCP


async def ask_tools(world: World, client: McpClient) -> Outcomes:
    async def ask(row: Row) -> list[Outcome]:
        await world.bring_back(row)
        answer = await client.call_tool(REGISTRY[row.name].tool, row.arguments)
        (content,) = answer.content
        assert isinstance(content, TextContent)
        text = content.text
        if answer.structured_content is not None or not answer.is_error:
            assert json.dumps(canonical.decode(text)) == json.dumps(answer.structured_content)
        return [refused(text) if answer.is_error else answered(row, text)]

    return {i: await ask(row) for i, row in world.asked(Face.MCP)}


def in_memory(mode: Any) -> Callable[[World], Outcomes]:
    async def every(world: World) -> Outcomes:
        server = create_server(world.services, lambda: world.actor, "full")
        async with McpClient(server, mode=mode) as client:
            return await ask_tools(world, client)

    return lambda world: world.loop.run(every(world))


def by_mcp_http(mode: Any, path: str) -> Callable[[World], Outcomes]:
    async def every(world: World) -> Outcomes:
        async with McpClient(world.service.mcp(path), mode=mode) as client:
            return await ask_tools(world, client)

    return lambda world: world.loop.run(every(world))


def by_stdio(mode: Any) -> Callable[[World], Outcomes]:
    async def every(world: World) -> Outcomes:
        program, *words = command(world.service.owner, "mcp")
        where = environment(world.settings, world.settings.data_path / "stdio")
        async with McpClient(
            StdioServerParameters(command=program, args=words, env=where), mode=mode
        ) as client:
            return await ask_tools(world, client)

    return lambda world: world.loop.run(every(world))


# The command line


def by_commands(*words: str) -> Callable[[World], Outcomes]:
    def every(world: World) -> Outcomes:
        where = environment(world.settings, world.settings.data_path)
        options = [word.format(url=world.service.url) for word in words]

        def ask(row: Row) -> list[Outcome]:
            if row.not_in_cli:
                return []
            world.loop.run(world.bring_back(row))
            result = CliRunner().invoke(cli, [*options, *argv(row.name, row.arguments)], env=where)
            # A service names commands to the client `cli` alone, and that of these tests has another name.
            stdout, stderr = (reworded(text, Face.CLI) for text in (result.stdout, result.stderr))
            if result.exit_code == 0:
                return [answered(row, stdout)]
            assert not stdout
            outcome = refused(stderr)
            assert result.exit_code == CATALOGUE[outcome[0]].exit_code
            return [outcome]

        with pytest.MonkeyPatch.context() as patch:
            share_services(patch, world.loop, world.services)
            patch.setattr(accounts, "local_actor", lambda *_: world.actor)
            # What the command line writes is of another kind of writer, and so it is other content.
            patch.setattr(
                Session, "remote", lambda _, base_url, __: Client(base_url, world.service.token, "test")
            )
            return world.each(Face.CLI, ask)

    return every


FACES: dict[str, Callable[[World], Outcomes]] = {
    "rest": by_asgi,
    "rest-wire": by_wire,
    "mcp": in_memory("auto"),
    "mcp-legacy": in_memory("legacy"),
    "mcp-http": by_mcp_http("auto", "/mcp/full"),
    "mcp-http-legacy": by_mcp_http("legacy", "/mcp"),
    "mcp-stdio": by_stdio("auto"),
    "mcp-stdio-legacy": by_stdio("legacy"),
    "cli": by_commands(),
    "cli-base-url": by_commands("--base-url", "{url}"),
}

LONG_FACES = frozenset({"rest", "mcp", "cli", "mcp-http-legacy", "mcp-stdio-legacy"})
ONE_OF: Final = {} if LONG else {"mcp-legacy": 5, "mcp-stdio": 5, "cli-base-url": 3}
"""Faces that an ordinary run asks one of so many rows: other faces are asked all, with the same code."""


@pytest.fixture(scope="session")
def expected_by_face(world: World) -> dict[Face, Outcomes]:
    return {face: by_runner(world, face) for face in (Face.REST, Face.MCP, Face.CLI)}


@pytest.fixture(
    scope="session",
    params=[
        # Every run compares today's protocol as it is sent, and the former one in memory.
        pytest.param(name, marks=pytest.mark.long if name in LONG_FACES else ())
        for name in FACES
    ],
)
def face(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def outcomes(face: str, world: World, expected: Outcomes) -> Outcomes:
    return FACES[face](replace(world, one_of=ONE_OF.get(face, 1)))


@pytest.fixture(scope="session")
def expected(face: str, expected_by_face: dict[Face, Outcomes]) -> Outcomes:
    return expected_by_face[Face[face.partition("-")[0].upper()]]


def test_every_operation_has_a_row_that_succeeds_and_one_that_fails() -> None:
    for name in REGISTRY:
        # Those of a sandbox fail, as the service of these tests is none. A key is rotated once, each row is
        # asked several times: tests/access/test_keys.py rotates keys.
        # The service of these tests has no other copy: tests/access/test_copies.py has two databases.
        rows_fail = name.startswith(("sandbox.", "keys.rotate")) or name in BETWEEN_COPIES
        kinds = {True} if rows_fail else {False, True}
        assert {bool(row.code) for row in ROWS if row.name == name} == kinds, name


def test_every_call_gives_what_its_row_says(expected_by_face: dict[Face, Outcomes]) -> None:
    outcomes = expected_by_face[Face.REST]
    assert not {
        f"{row.name} {i}": outcomes[i]
        for i, row in enumerate(ROWS)
        if [outcome[0] for outcome in outcomes[i]] != [row.code or "ok"]
    }


def test_a_face_says_what_the_runner_says(outcomes: Outcomes, expected: Outcomes) -> None:
    # All rows that differ, each with both answers: a row can fail without the others.
    assert not {
        f"{ROWS[i].name} {i}": (each, expected[i])
        for i, each in outcomes.items()
        if any(outcome != expected[i][0] for outcome in each)
    }


def test_no_answer_of_a_tool_cites_a_route(expected_by_face: dict[Face, Outcomes]) -> None:
    text = json.dumps(list(expected_by_face[Face.MCP].values()))
    assert re.findall(r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S*", text) == []


def test_every_face_was_asked_every_row_that_it_has(face: str, outcomes: Outcomes) -> None:
    # A command line has no options but its own, and some operations are no tool.
    rows = ROWS[:: ONE_OF.get(face, 1)]
    rows_of_face = [row for row in rows if not row.not_in_cli and Face.MCP in REGISTRY[row.name].faces]
    assert sum(map(bool, outcomes.values())) >= len(rows_of_face)


@pytest.mark.parametrize("text", ["é", " ", "\\", "'", "+", "a b", "x" * 200, "%41", "?x", "#x"])
def test_any_id_reaches_the_operation_through_the_client(world: World, text: str) -> None:
    expected = by_runner(world_of(world, text), Face.CLI)
    assert by_commands("--base-url", "{url}")(world_of(world, text)) == expected
    assert expected[0][0][0] == "RESOURCE_NOT_FOUND"


@pytest.mark.parametrize("text", ["a/b", "..", ".", "/", "../stats"])
def test_an_id_that_is_a_path_reaches_nothing_else(world: World, text: str) -> None:
    (outcome,) = by_commands("--base-url", "{url}")(world_of(world, text))[0]
    assert outcome[0] in ("RESOURCE_NOT_FOUND", "NOT_FOUND")


def world_of(world: World, source_id: str) -> World:
    return World(
        world.loop,
        world.services,
        world.settings,
        world.service,
        [Row("sources.get", {"source_id": source_id})],
    )


@pytest.mark.parametrize("prefix", mostly_long(["", "/api"], "/api"))
def test_the_description_is_served(world: World, prefix: str) -> None:
    with world.service.http() as http:
        answer, as_json = http.get(f"{prefix}/openapi.yaml"), http.get(f"{prefix}/openapi.json")
    assert yaml.safe_load(answer.content) == openapi.document() == as_json.json()


def test_tools_are_listed_with_their_schemas(world: World) -> None:
    async def listed() -> dict[str, Any]:
        async with McpClient(world.service.mcp("/mcp/full")) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = world.loop.run(listed())
    assert set(tools) == {operation.tool for operation in REGISTRY.values() if Face.MCP in operation.faces}
    assert all(tool.output_schema and tool.description for tool in tools.values())
