"""Toolsets of MCP: which tools a client lists, which it may call, and how it chooses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters

from graphmem.auth import Scope
from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.mcp.tools import create_server
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.settings import Settings, ToolsetName
from tests.faces.test_http_edges import envelope
from tests.support.actors import full_actor
from tests.support.commands import command, environment
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.service import Service

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
Ask = Callable[[ToolsetName, str, dict[str, Any]], tuple[bool, dict[str, Any]]]


@pytest.fixture
def ask(loop: Loop, services: Services, owner: str) -> Ask:
    """Call a tool of a server with a toolset; return whether it failed, and the answer."""

    async def send(name: ToolsetName, tool: str, arguments: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        async with Client(create_server(services, lambda: full_actor(owner), name)) as client:
            answer: Any = await client.call_tool(tool, arguments)
            body = canonical.decode(answer.content[0].text)
            assert answer.structured_content == (None if name == "full" and answer.is_error else body)
            return answer.is_error, body

    return lambda name, tool, arguments: loop.run(send(name, tool, arguments))


@pytest.mark.parametrize("name", TOOLSETS)
def test_a_server_lists_its_toolset_and_says_its_instructions(
    loop: Loop, services: Services, owner: str, name: ToolsetName
) -> None:
    async def listed() -> tuple[list[str], str | None]:
        async with Client(create_server(services, lambda: full_actor(owner), name), mode="legacy") as client:
            return [tool.name for tool in (await client.list_tools()).tools], client.instructions

    tools, instructions = loop.run(listed())
    assert tools == list(TOOLSETS[name].tools())
    assert instructions == TOOLSETS[name].instructions


def test_core_answers_a_tool_that_it_does_not_list(ask: Ask) -> None:
    assert "get_stats" not in TOOLSETS["core"].tools()
    failed, answer = ask("core", "get_stats", {})
    assert (failed, answer["total_entities"]) == (False, 0)


def test_readonly_refuses_what_writes_and_says_which_toolset_has_it(ask: Ask) -> None:
    failed, answer = ask("readonly", "store", {"entities": [{"entity_type": "person", "name": "Ada"}]})
    assert (failed, answer["error_code"]) == (True, "FORBIDDEN")
    assert answer["details"] == {"tool": "store", "toolset": "readonly", "toolsets": ["core", "full"]}
    assert "the toolset core or full has it" in answer["message"]
    assert ask("readonly", "get_stats", {})[1]["total_entities"] == 0


@pytest.mark.parametrize("name", TOOLSETS)
def test_a_tool_that_is_not_there_is_not_found(ask: Ask, name: ToolsetName) -> None:
    failed, answer = ask(name, "nothing", {})
    assert (failed, answer["error_code"]) == (True, "NOT_FOUND")
    assert "store" in answer["details"]["tools"]


def test_structured_content_fits_the_schema_that_is_listed(
    loop: Loop, services: Services, owner: str
) -> None:
    """A client that validates errors too, as the TypeScript SDK does, would hide their message."""

    async def schema_and_answer() -> list[Any]:
        async with Client(create_server(services, lambda: full_actor(owner), "full")) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            arguments = {"relationship_id": "rel_0"}
            answer: Any = await client.call_tool("retrieve_relationship", arguments)
            return [schemas["retrieve_relationship"], answer]

    schema, answer = loop.run(schema_and_answer())
    assert schema["required"]
    assert (answer.is_error, answer.structured_content) == (True, None)
    assert canonical.decode(answer.content[0].text)["error_code"] == "RESOURCE_NOT_FOUND"


def test_what_is_idempotent_changes_nothing_the_second_time(run: Call) -> None:
    idempotent = {
        name
        for name, operation in REGISTRY.items()
        if operation.idempotent and operation.scope is not Scope.READ and operation.tool
    }
    answer = run("store", entities=[
        {"entity_type": "person", "name": "Ada"}, {"entity_type": "person", "name": "Ada L."},
        {"entity_type": "company", "name": "Acme"},
    ], relationships=[{"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 2}])  # fmt: skip
    ada, other, _ = (entity["entity_id"] for entity in answer["entities"])
    key = answer["relationships_created"][0]["relationship_key"]
    run("schemas.register", schema={"entity_type": "wine", "fields": {"name": {"type": "string"}}})
    source_id = run("store", file_content="YWJj", original_filename="abc.txt")["source_id"]
    reading = run(
        "interpretations.create", source_id=source_id, entities=[{"entity_type": "note", "title": "x"}]
    )
    interpretation = {"interpretation_id": reading["interpretation_id"]}
    run("store", entities=[{"target_id": ada, "page": page} for page in (1, 2)])
    split = {
        "source_entity_id": ada, "observation_field_equals": {"field": "page", "value": 1},
        "new_entity": {"entity_type": "person", "canonical_name": "Ada K."},
    }  # fmt: skip
    split_id = run("entities.split", **split)["split_id"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("entities.unsplit", {"split_id": split_id}),
        ("entities.split", split),
        ("interpretations.withdraw", interpretation),
        ("interpretations.reinstate", interpretation),
        ("agents.quarantine", {"by_key": "bot"}),
        ("agents.release", {"by_key": "bot"}),
        ("writings.withdraw", {"transaction_id": answer["transaction_id"]}),
        ("writings.reinstate", {"transaction_id": answer["transaction_id"]}),
        ("sources.withdraw", {"source_id": source_id}),
        ("sources.reinstate", {"source_id": source_id}),
        ("relationships.delete", {"relationship_key": key}),
        ("relationships.restore", {"relationship_key": key}),
        ("entities.delete", {"entity_id": ada}),
        ("entities.restore", {"entity_id": ada}),
        ("entities.merge", {"source_entity_id": other, "target_entity_id": ada}),
        ("entities.unmerge", {"source_entity_id": other}),
        ("entities.dismiss_duplicates", {"entity_a": ada, "entity_b": other}),
        ("schemas.update", {"entity_type": "wine", "new_fields": {"year": "number"}}),
        ("relationship_types.register", dict(REGISTRY["relationship_types.register"].example)),
        ("server.check_snapshots", {"auto_fix": True}),
    ]
    assert {name for name, _ in calls} == idempotent
    for name, arguments in calls:
        run(name, **arguments)
        before = run("server.stats")
        with contextlib.suppress(GraphmemError):
            run(name, **arguments)
        # A worker of another process may fold types again meanwhile.
        assert run("server.stats") | {"types_pending": before["types_pending"]} == before, name


# Over HTTP


def names(answer: httpx.Response) -> list[str]:
    return [tool["name"] for tool in answer.json()["result"]["tools"]]


@pytest.mark.parametrize("prefix", ["", "/api"])
def test_the_path_chooses_before_the_header_and_the_header_before_the_settings(
    guarded: Service, prefix: str
) -> None:
    choices: list[tuple[str, str | None, ToolsetName]] = [
        ("/mcp", None, "core"),
        ("/mcp", "readonly", "readonly"),
        ("/mcp/full", None, "full"),
        ("/mcp/core", "full", "core"),
    ]
    with guarded.http() as http:
        for path, header, toolset in choices:
            headers = ACCEPT | ({"X-MCP-Tools": header} if header else {})
            answer = http.post(prefix + path, json=LIST, headers=headers)
            assert names(answer) == list(TOOLSETS[toolset].tools()), (path, header)


def test_a_toolset_that_is_not_there_is_refused(guarded: Service) -> None:
    with guarded.http() as http:
        by_header = envelope(http.post("/mcp", json=LIST, headers={**ACCEPT, "X-MCP-Tools": "all"}))
        by_path = envelope(http.post("/mcp/all", json=LIST, headers=ACCEPT))
    assert by_header["error_code"] == "VALIDATION_INVALID_FORMAT"
    assert by_header["details"] == {"toolsets": list(TOOLSETS)}
    assert by_path["error_code"] == "NOT_FOUND"


@pytest.mark.parametrize("path", [f"/mcp/{name}" for name in TOOLSETS])
def test_the_path_of_a_toolset_wants_the_token_and_takes_post_only(guarded: Service, path: str) -> None:
    with httpx.Client(base_url=guarded.url) as http:
        assert http.post(path, json=LIST, headers=ACCEPT).status_code == 401
        answer = http.get(path, headers=guarded.headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, POST")


# Over stdio


@pytest.mark.parametrize(
    ("words", "toolset"), [([], "readonly"), (["--tools", "full"], "full")], ids=["variable", "option"]
)
def test_the_option_chooses_before_the_variable(
    loop: Loop, settings: Settings, tmp_path: Path, owner: str, words: list[str], toolset: ToolsetName
) -> None:
    program, *rest = command(owner, "mcp", *words)
    where = environment(settings, tmp_path, GRAPHMEM_MCP_TOOLS="readonly")

    async def listed() -> list[str]:
        async with Client(StdioServerParameters(command=program, args=rest, env=where)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert loop.run(listed()) == list(TOOLSETS[toolset].tools())
