"""`graphmem mcp` as a thin client of the local service, as the official client of MCP sees it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceTemplateReference

from graphmem.mcp.resource_updates import ENTITY, RECENT, SCHEMA
from graphmem.mcp.toolsets import PROMPTS, TOOLSETS, ToolsetName
from graphmem.service import calling, greeting
from graphmem.service.place import is_locked, place
from graphmem.settings import Settings
from tests.support.commands import command, environment
from tests.support.event_loop import Loop
from tests.support.local_service import call_service, wait_for
from tests.support.long_cases import mostly_long
from tests.support.mcp_conversation import TOOLS, opening

ADA = {"entity_type": "person", "name": "Ada Lovelace"}
STORE = {"entities": [ADA], "idempotency_key": "first"}
Mode = Literal["auto", "legacy"]
Talk = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def talk(local: Settings, owner: str, loop: Loop) -> Callable[..., Any]:
    """Let the official client talk with `graphmem mcp`, started with ``words`` and ``variables``."""

    def run(talk: Talk, *words: str, mode: Mode = "auto", hear: Any = None, **variables: str) -> Any:
        async def converse() -> Any:
            program, *arguments = command(owner, *(words or ("mcp",)))
            environ = environment(local, local.data_path, GRAPHMEM_SHUTDOWN_SECONDS="5", **variables)
            server = StdioServerParameters(command=program, args=arguments, env=environ)
            async with Client(server, mode=mode, message_handler=hear) as client:
                return await talk(client)

        return loop.run(converse())

    return run


def is_running(local: Settings) -> bool:
    return is_locked(place(local))


def total(local: Settings) -> int:
    return call_service(local, "server.stats", {})["total_entities"]


@pytest.mark.parametrize("mode", mostly_long(["auto", "legacy"], "auto"))
def test_with_nothing_running_it_lists_and_then_stores(
    local: Settings, talk: Callable[..., Any], mode: Mode
) -> None:
    messages: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        messages.append(message or "")

    async def conversation(client: Client) -> Any:
        names = [tool.name for tool in (await client.list_tools()).tools]
        resources = [each.uri for each in (await client.list_resources()).resources]
        ready = (calling.greet(place(local)) or {}).get("state") == greeting.READY
        assert resources == [RECENT]
        stored = await client.call_tool("store", STORE, progress_callback=progress)
        refused = await client.call_tool("store", {"entitties": []})
        return names, ready, stored, refused

    assert not is_running(local)
    names, ready, stored, refused = talk(conversation, mode=mode)
    assert (names, ready) == (list(TOOLSETS["core"].tools()), False)
    assert stored.structured_content["entities_created"] == 1
    assert json.loads(stored.content[0].text) == stored.structured_content
    assert messages
    assert all("…" in line for line in messages)
    assert (refused.is_error, refused.structured_content["error_code"]) == (True, "ERR_UNKNOWN_FIELD")
    assert total(local) == 1


@pytest.mark.parametrize("mode", mostly_long(["auto", "legacy"], "auto"))
def test_resources_prompts_and_completion_are_answered(
    local: Settings, talk: Callable[..., Any], mode: Mode
) -> None:
    async def conversation(client: Client) -> Any:
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        templates = [
            each.uri_template for each in (await client.list_resource_templates()).resource_templates
        ]
        stored: Any = await client.call_tool("store", STORE)
        entity_id = stored.structured_content["entities"][0]["entity_id"]
        listed = [each.uri for each in (await client.list_resources()).resources]
        read: Any = await client.read_resource(f"graphmem://entity/{entity_id}")
        reference = ResourceTemplateReference(uri=ENTITY)
        completed = await client.complete(reference, {"name": "id", "value": "Ada"})
        known: Any = await client.get_prompt("what_do_we_know", {"about": "Ada Lovelace"})
        with pytest.raises(MCPError) as refused:
            await client.read_resource("graphmem://schema/nothing")
        assert (prompts, templates) == (list(PROMPTS), [ENTITY, SCHEMA])
        assert listed == [RECENT, "graphmem://schema/person"]
        assert json.loads(read.contents[0].text)["entity_id"] == entity_id
        assert completed.completion.values == [entity_id]
        assert "Ada Lovelace" in known.messages[1].content.text
        return refused.value.error.data

    assert talk(conversation, mode=mode)["error_code"] == "RESOURCE_NOT_FOUND"


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", mostly_long(["auto", "legacy"], "legacy"))
def test_a_client_is_told_of_the_resources_that_it_subscribed_to(
    local: Settings, talk: Callable[..., Any], mode: Mode
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.put_nowait(message.params.uri)

    async def conversation(client: Client) -> None:
        others = {"entities": [{**ADA, "name": name} for name in ("Alan Turing", "Grace Hopper")]}
        stored: Any = (await client.call_tool("store", others)).structured_content
        alan, grace = (ENTITY.replace("{id}", each["entity_id"]) for each in stored["entities"])

        async def change(uri: str) -> None:
            entity = {"target_id": uri.rpartition("/")[2], "entity_type": "person", "city": "Wilmslow"}
            assert not (await client.call_tool("store", {"entities": [entity]})).is_error

        if mode == "legacy":
            await client.subscribe_resource(alan)
            await client.subscribe_resource(RECENT)
            await change(grace)
            assert await heard.get() == RECENT
            await client.unsubscribe_resource(RECENT)
            await change(alan)
            assert await heard.get() == alan
            return
        async with client.listen(resource_subscriptions=[alan]) as subscription:
            await change(grace)
            await change(alan)
            assert await anext(aiter(subscription)) == ResourceUpdated(uri=alan)

    talk(conversation, mode=mode, hear=hear)


def test_after_the_service_was_killed_the_next_call_starts_it(
    local: Settings, talk: Callable[..., Any]
) -> None:
    async def conversation(client: Client) -> Any:
        await client.call_tool("store", STORE)
        greeted = calling.greet(place(local))
        assert greeted is not None
        os.kill(greeted["pid"], signal.SIGKILL)
        wait_for(lambda: not is_running(local))
        return await client.call_tool("store", STORE)

    again = talk(conversation)
    assert again.structured_content["replayed"]
    assert total(local) == 1


@pytest.mark.parametrize("toolset", mostly_long(["readonly", "memory"], "readonly"))
def test_closed_toolsets_refuse_what_they_do_not_list(
    local: Settings, talk: Callable[..., Any], toolset: ToolsetName
) -> None:
    async def conversation(client: Client) -> Any:
        names = [tool.name for tool in (await client.list_tools()).tools]
        return names, await client.call_tool("store", STORE)

    calling.ensure(local)
    names, refused = talk(conversation, "mcp", "--tools", toolset)
    assert names == list(TOOLSETS[toolset].tools())
    assert (refused.is_error, refused.structured_content["error_code"]) == (True, "FORBIDDEN")
    assert total(local) == 0


def test_where_commands_run_offline_it_calls_the_service(local: Settings, talk: Callable[..., Any]) -> None:
    async def conversation(client: Client) -> Any:
        return await client.call_tool("store", STORE)

    stored = talk(conversation, "--offline", "mcp")
    assert stored.structured_content["entities_created"] == 1
    assert is_running(local)


def test_other_settings_of_a_running_service_are_told_to_the_call(
    local: Settings, talk: Callable[..., Any]
) -> None:
    async def conversation(client: Client) -> Any:
        return await client.call_tool("store", STORE)

    calling.ensure(local)
    refused = talk(conversation, GRAPHMEM_PHONE_REGION="DE")
    assert refused.structured_content["error_code"] == "CONFIGURATION_INVALID"
    assert "GRAPHMEM_PHONE_REGION is DE" in refused.structured_content["message"]
    assert total(local) == 0


def piped(local: Settings, owner: str, messages: list[Any]) -> list[Any]:
    """Return what `graphmem mcp` answers to messages, one a line, before its stdin ends."""
    ended = subprocess.run(
        command(owner, "mcp"),
        input="".join(f"{json.dumps(message)}\n" for message in messages),
        env=environment(local, local.data_path, GRAPHMEM_SHUTDOWN_SECONDS="5"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_a_pipe_of_messages_is_answered_after_its_end(local: Settings, owner: str) -> None:
    calling.ensure(local)
    call = {"method": "tools/call", "params": {"name": "store", "arguments": STORE}}
    messages = [{"jsonrpc": "2.0", "id": i, **m} for i, m in enumerate([opening("2025-06-18"), TOOLS, call])]
    answers = piped(local, owner, messages)
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert answers[2]["result"]["structuredContent"]["entities_created"] == 1


def test_a_batch_is_answered_by_one_list_in_the_version_that_has_it(local: Settings, owner: str) -> None:
    calling.ensure(local)
    call = {"method": "tools/call", "params": {"name": "store", "arguments": STORE}}
    notification = {"method": "notifications/initialized"}
    sent = [{"id": 1, **call}, notification, {"id": "two", **TOOLS}, {"id": 3, "method": "nothing"}]
    batch = [{"jsonrpc": "2.0", **each} for each in sent]
    for version, is_one in (("2025-03-26", True), ("2025-06-18", False)):
        first, *rest = piped(local, owner, [{"jsonrpc": "2.0", "id": 0, **opening(version)}, batch])
        assert first["result"]["protocolVersion"] == version
        if is_one:
            (answers,) = rest
            known = {each["id"]: each for each in answers}
            assert set(known) == {1, "two", 3}
            assert known[1]["result"]["structuredContent"]["entities_created"] == 1
            assert (len(known["two"]["result"]["tools"]) > 5, known[3]["error"]["code"]) == (True, -32601)
        else:
            assert [each["error"]["code"] for each in rest] == [-32600]
