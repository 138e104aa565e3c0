"""Resources, prompts and completion of MCP, as the official client sees them."""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from graphmem.auth import Scope
from graphmem.context import Services
from graphmem.errors import DatabaseUnavailable
from graphmem.mcp import app_view, beside_tools
from graphmem.mcp.resource_updates import ENTITY, RECENT, SCHEMA
from graphmem.mcp.tools import create_server
from graphmem.mcp.toolsets import ARGUMENT_LIMIT, PROMPTS, TOOLSETS, all_tools, prompts_of
from graphmem.registry import REGISTRY
from graphmem.settings import ToolsetName
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.service import Service

PEOPLE = [
    {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"},
    {"entity_type": "person", "name": "Adam Smith"},
    {"entity_type": "event", "title": "Planning meeting with Ada", "start_date": "2026-05-01"},
]
NOBODY = "ent_" + "0" * 24
Talk = Callable[[Client], Awaitable[Any]]
Ask = Callable[..., Any]


def text(read: Any) -> str:
    """Return the text of a resource that was read."""
    (contents,) = read.contents
    assert contents.mime_type == "application/json"
    return contents.text


def said(prompt: Any) -> list[str]:
    """Return the texts of the messages of a prompt."""
    return [message.content.text for message in prompt.messages]


def values(completed: Any) -> list[str]:
    return completed.completion.values


@pytest.fixture
def ask(loop: Loop, services: Services, owner: str) -> Ask:
    """Let the client talk with a server in this process; ``who`` owns the data."""

    def run(
        talk: Talk, *, who: str = owner, toolset: ToolsetName = "core", scopes: Any = None, mode: Any = "auto"
    ) -> Any:
        actor = full_actor(who)
        actor = actor if scopes is None else replace(actor, scopes=frozenset(scopes))

        async def converse() -> Any:
            async with Client(create_server(services, lambda: actor, toolset), mode=mode) as client:
                return await talk(client)

        return loop.run(converse())

    return run


@pytest.fixture
def ids(run: Call) -> list[str]:
    """The ids of the stored people."""
    return [each["entity_id"] for each in run("store", entities=PEOPLE)["entities"]]


@contextlib.asynccontextmanager
async def refused(code: str) -> AsyncIterator[None]:
    """Expect an error of JSON-RPC whose data is the envelope of an error."""
    with pytest.raises(MCPError) as caught:
        yield
    envelope: Any = caught.value.error.data
    assert set(envelope) == {"error_code", "message", "details", "trace_id", "timestamp"}
    assert envelope["error_code"] == code


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_resource_is_the_answer_of_its_operation(ask: Ask, run: Call, ids: list[str], mode: str) -> None:
    async def talk(client: Client) -> Any:
        listed = await client.list_resources()
        templates = (await client.list_resource_templates()).resource_templates
        entity = await client.read_resource(f"graphmem://entity/{ids[0]}")
        types = [await client.read_resource(each.uri) for each in listed.resources]
        return listed, templates, entity, types

    listed, templates, entity, (recent, *types) = ask(talk, mode=mode)
    assert [each.uri_template for each in templates] == [ENTITY, SCHEMA]
    changed = json.loads(text(recent))["changes"]
    assert {each["entity_id"] for each in changed if "entity_id" in each} == set(ids)
    assert changed == run("changes.list", max_characters=20_000)["changes"]
    assert json.loads(text(entity)) == run("entities.get", entity_id=ids[0])
    assert [each.uri for each in listed.resources] == [
        RECENT, "graphmem://schema/event", "graphmem://schema/person"
    ]  # fmt: skip
    assert [json.loads(text(each))["entity_type"] for each in types] == ["event", "person"]
    assert json.loads(text(types[1])) == run("schemas.get", entity_type="person")


def test_a_large_entity_is_bounded(ask: Ask, run: Call) -> None:
    stored = run("store", entities=[{"entity_type": "note", "title": "x", "text": "long " * 20_000}])
    uri = f"graphmem://entity/{stored['entities'][0]['entity_id']}"
    read = text(ask(lambda client: client.read_resource(uri)))
    assert len(read) <= 20_000
    assert json.loads(read)["omitted"]


def test_resources_are_listed_in_pages(ask: Ask, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_tools, "PAGE_SIZE", 2)
    run("store", entities=[{"entity_type": f"kind_{i}", "name": "x"} for i in range(5)])

    async def talk(client: Client) -> list[list[str]]:
        pages, cursor = [], None
        while not pages or cursor:
            page = await client.list_resources(cursor=cursor)
            pages.append([each.uri.rpartition("_")[2] for each in page.resources])
            cursor = page.next_cursor
        async with refused("INVALID_CURSOR"):
            await client.list_resources(cursor="x")
        return pages

    assert ask(talk) == [[RECENT, "0", "1"], ["2", "3"], ["4"]]


def test_what_needs_no_database_is_listed_while_it_starts(
    ask: Ask, services: Services, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed(client: Client) -> Any:
        return [each.uri for each in (await client.list_resources()).resources]

    assert len(ask(listed)) > 1
    monkeypatch.setattr(services.availability, "error", AsyncMock(return_value=DatabaseUnavailable()))
    assert ask(listed) == [RECENT]


def test_what_is_not_there_is_refused_with_an_envelope(ask: Ask, ids: list[str]) -> None:
    async def talk(client: Client) -> None:
        for uri, code in (
            (f"graphmem://entity/{NOBODY}", "RESOURCE_NOT_FOUND"),
            ("graphmem://entity/", "VALIDATION_INVALID_FORMAT"),
            ("graphmem://entity/Ada%20Lovelace", "RESOURCE_NOT_FOUND"),
            ("graphmem://schema/nothing_such", "RESOURCE_NOT_FOUND"),
            ("graphmem://nothing", "NOT_FOUND"),
            ("graphmem://recent/x", "NOT_FOUND"),
            ("file:///etc/passwd", "NOT_FOUND"),
        ):
            async with refused(code):
                await client.read_resource(uri)
        async with refused("NOT_FOUND"):
            await client.get_prompt("nothing")
        for reference, name in (
            (ResourceTemplateReference(uri="graphmem://x/{id}"), "id"),
            (ResourceTemplateReference(uri=ENTITY), "other"),
            (PromptReference(name="what_do_we_know"), "other"),
        ):
            async with refused("NOT_FOUND"):
                await client.complete(reference, {"name": name, "value": "a"})

    ask(talk)


def test_ids_and_names_and_types_are_completed(ask: Ask, ids: list[str]) -> None:
    entity, schema = ResourceTemplateReference(uri=ENTITY), ResourceTemplateReference(uri=SCHEMA)
    prompt = PromptReference(name="what_do_we_know")
    id_texts = ("", "ent_", ids[0][:10], ids[1], "Ada L", "love")

    async def talk(client: Client) -> Any:
        async def completed(reference: Any, name: str, typed: str) -> list[str]:
            return values(await client.complete(reference, {"name": name, "value": typed}))

        return [
            [await completed(entity, "id", typed) for typed in id_texts],
            [await completed(prompt, "about", typed) for typed in ("Ada", "ADAM", "love", "e", "")],
            [await completed(schema, "type", typed) for typed in ("", "per", "no_such_type")],
        ]  # fmt: skip

    by_id, by_name, by_type = ask(talk)
    assert [set(by_id[0]), set(by_id[1])] == [set(ids), set(ids)]
    assert by_id[2:] == [[ids[0]], [ids[1]], [ids[0]], [ids[0]]]
    assert set(by_name[0]) == {"Ada Lovelace", "Adam Smith", "Planning meeting with Ada"}
    assert by_name[1:4] == [["Adam Smith"], ["Ada Lovelace"], []]
    assert len(by_name[4]) == 3
    assert (by_type[0], by_type[1][0], by_type[2]) == (["event", "person"], "person", [])


def test_completion_is_bounded(ask: Ask, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    run("store", entities=[{"entity_type": "person", "name": f"Ada {i}"} for i in range(5)])
    monkeypatch.setattr(beside_tools, "VALUES_LIMIT", 3)
    prompt = PromptReference(name="what_do_we_know")
    for typed in ("", "Ada", "x" * 100_000):
        completed = ask(
            lambda client, typed=typed: client.complete(prompt, {"name": "about", "value": typed})
        )
        assert len(values(completed)) <= 3
        assert completed.completion.has_more == (len(values(completed)) == 3)


def test_another_owner_sees_nothing(ask: Ask, ids: list[str]) -> None:
    entity, prompt = ResourceTemplateReference(uri=ENTITY), PromptReference(name="prepare_for_meeting")

    async def talk(client: Client) -> Any:
        async with refused("RESOURCE_NOT_FOUND"):
            await client.read_resource(f"graphmem://entity/{ids[0]}")
        found = []
        for reference, name, texts in ((entity, "id", ("", "Ada", ids[0])), (prompt, "meeting", ("", "Ada"))):
            for typed in texts:
                found.append(values(await client.complete(reference, {"name": name, "value": typed})))
        found.append([each.uri for each in (await client.list_resources()).resources][1:])
        recent = text(await client.read_resource(RECENT))
        assert json.loads(recent)["changes"] == []
        prepared = await client.get_prompt("prepare_for_meeting", {"meeting": "Planning meeting with Ada"})
        return found, said(prepared)[1]

    found, context = ask(talk, who=str(uuid.uuid4()))
    assert found == [[]] * 6
    assert "2026-05-01" not in context
    assert ids[2] not in context


def test_prompts_ask_for_tools_and_bring_the_context_along(ask: Ask, ids: list[str]) -> None:
    async def talk(client: Client) -> Any:
        listed = (await client.list_prompts()).prompts
        known = await client.get_prompt("what_do_we_know", {"about": "Ada Lovelace"})
        unknown = await client.get_prompt("what_do_we_know", {"about": "Zyx Qwertz"})
        learned = [
            said(await client.get_prompt("store_what_we_learned", arguments))[0]
            for arguments in (None, {"about": "Acme"})
        ]
        meeting = await client.get_prompt("prepare_for_meeting", {"meeting": "Planning  meeting with Ada"})
        for arguments in ({}, {"about": " "}, {"about": "x" * (ARGUMENT_LIMIT + 1)}):
            async with refused("VALIDATION_INVALID_FORMAT"):
                await client.get_prompt("what_do_we_know", arguments)
        return listed, known, unknown, learned, meeting

    listed, known, unknown, learned, meeting = ask(talk)
    assert [each.name for each in listed] == list(PROMPTS)
    request, context = said(known)
    assert "What do we know about Ada Lovelace?" in request
    assert "ada@example.org" in context
    assert "ada@example.org" not in said(unknown)[1]
    assert ("in this conversation." in learned[0], "about Acme." in learned[1]) == (True, True)
    assert "meeting: Planning meeting with Ada." in said(meeting)[0]
    assert "2026-05-01" in said(meeting)[1]


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_names_the_tools_of_its_operations(name: str) -> None:
    prompt = PROMPTS[name]
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", prompt.text)) - {"idempotency_key"}
    assert named == {REGISTRY[operation].tool for operation in prompt.operations} <= set(all_tools())
    assert len(prompt.text) < 1_200


def test_a_toolset_offers_the_prompts_whose_tools_it_answers(ask: Ask) -> None:
    reading = [name for name in PROMPTS if name != "store_what_we_learned"]
    assert {name: list(prompts_of(toolset)) for name, toolset in TOOLSETS.items()} == {
        "core": list(PROMPTS), "full": list(PROMPTS), "readonly": reading, "memory": [],
    }  # fmt: skip

    async def talk(client: Client) -> Any:
        return [each.name for each in (await client.list_prompts()).prompts]

    assert ask(talk, scopes={Scope.READ}) == reading
    assert ask(talk, scopes={Scope.WRITE}) == []


def test_without_the_scope_nothing_is_read(ask: Ask, ids: list[str]) -> None:
    async def talk(client: Client) -> Any:
        listed = (await client.list_resources()).resources
        async with refused("FORBIDDEN"):
            await client.read_resource(f"graphmem://entity/{ids[0]}")
        async with refused("FORBIDDEN"):
            await client.complete(ResourceTemplateReference(uri=ENTITY), {"name": "id", "value": ""})
        async with refused("FORBIDDEN"):
            await client.get_prompt("what_do_we_know", {"about": "Ada"})
        return listed

    assert ask(talk, scopes={Scope.WRITE}) == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_capabilities_say_what_there_is(ask: Ask, mode: str) -> None:
    async def talk(client: Client) -> Any:
        return client.server_capabilities

    offered = ask(talk, mode=mode)
    # Over HTTP a client of today's protocol listens by a request that lasts.
    assert (offered.resources.subscribe, offered.resources.list_changed) == (mode == "auto", False)
    assert (offered.tools.list_changed, offered.prompts.list_changed) == (False, False)
    assert offered.completions is not None
    memory = ask(talk, mode=mode, toolset="memory")
    assert (memory.resources, memory.prompts, memory.completions) == (None, None, None)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_http_answers_the_same(service: Service, loop: Loop, mode: Any) -> None:
    name = f"Grace {uuid.uuid4().hex[:8]}"
    with service.http() as http:
        stored = http.post("/store", json={"entities": [{"entity_type": "person", "name": name}]}).json()
        entity_id = stored["entities"][0]["entity_id"]
        entity = http.get(f"/entities/{entity_id}").json()

    async def converse() -> Any:
        async with Client(service.mcp(), mode=mode) as client:
            listed = [each.uri for each in (await client.list_resources()).resources]
            read = await client.read_resource(f"graphmem://entity/{entity_id}")
            async with refused("RESOURCE_NOT_FOUND"):
                await client.read_resource(f"graphmem://entity/{NOBODY}")
            completed = await client.complete(
                ResourceTemplateReference(uri=ENTITY), {"name": "id", "value": name}
            )
            known = await client.get_prompt("what_do_we_know", {"about": name})
            return listed, text(read), values(completed), said(known)[1]

    listed, read, completed, known = loop.run(converse())
    assert "graphmem://schema/person" in listed
    assert json.loads(read) == entity
    assert completed == [entity_id]
    assert name in known


@pytest.mark.parametrize("toolset", ["core", "readonly"])
def test_a_host_of_apps_finds_the_view_of_three_tools_in_one_document(ask: Ask, toolset: ToolsetName) -> None:
    async def talk(client: Client) -> Any:
        capabilities: Any = client.server_capabilities
        return capabilities, await client.list_tools(), await client.read_resource(app_view.URI)

    capabilities, listed, read = ask(talk, toolset=toolset)
    assert app_view.EXTENSION in capabilities.extensions
    assert {tool.name for tool in listed.tools if tool.meta} == {
        "retrieve_entity_snapshot", "retrieve_related_entities", "list_timeline_events",
    }  # fmt: skip
    assert {tool.meta["ui"]["resourceUri"] for tool in listed.tools if tool.meta} == {app_view.URI}
    (document,) = read.contents
    assert document.mime_type == "text/html;profile=mcp-app"
    assert len(document.text) < 150_000
    # Nothing is left that a browser would load, and nothing that a module alone may say.
    assert not re.search(r"^(import|export) |<link|\bsrc=\"|\burl\(|@import", document.text, re.MULTILINE)
    assert document.text.count("</script") == 1


def test_the_toolset_memory_has_no_view(ask: Ask) -> None:
    async def talk(client: Client) -> Any:
        return client.server_capabilities, await client.list_tools()

    capabilities, listed = ask(talk, toolset="memory")
    assert not capabilities.extensions
    assert not any(tool.meta for tool in listed.tools)
