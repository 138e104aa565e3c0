"""The toolset memory answers as the reference MCP memory server does, on graphmem's data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from mcp import Client

from graphmem.context import Services
from graphmem.mcp import memory_graph
from graphmem.mcp.memory_tools import OPERATIONS
from graphmem.mcp.tools import create_server
from graphmem.runtime import open_services
from graphmem.settings import Settings
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.statements import counted

Tool = Callable[..., dict[str, Any]]
ADA = {"name": "Ada Lovelace", "entityType": "person", "observations": ["Likes tea", "Writes programmes"]}
ACME = {"name": "Acme", "entityType": "Organisation (old)", "observations": []}
WORKS = {"from": "Ada Lovelace", "to": "Acme", "relationType": "works_at"}


class Failed(Exception):
    """A tool failed; the text is the message."""


@pytest.fixture
def memory(loop: Loop, services: Services, owner: str) -> Tool:
    """Call a tool of the toolset memory; return its structured content, after comparing its text with it."""

    async def send(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        async with Client(create_server(services, lambda: full_actor(owner), "memory")) as client:
            answer: Any = await client.call_tool(tool, arguments)
        content, text = answer.structured_content, answer.content[0].text
        if answer.is_error:
            raise Failed(content["message"])
        parts = {"entities", "relations", "results"} & content.keys()
        part = parts.pop() if tool.startswith(("create", "add")) else None
        assert (
            text == content["message"]
            if "message" in content
            else json.loads(text) == content.get(part, content)
        )
        return content

    return lambda tool, **arguments: loop.run(send(tool, arguments))


@pytest.fixture
def other(settings: Settings, owner: str) -> Iterator[Tool]:
    """Call a tool of the toolset memory in another process: with services and an event loop of its own."""
    loop = Loop()
    opened = open_services(settings)
    services = loop.run(opened.__aenter__())

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return json.loads(loop.run(OPERATIONS[f"memory.{tool}"].run(services, full_actor(owner), arguments)))

    yield call
    loop.run(opened.__aexit__(None, None, None))
    loop.close()


@pytest.fixture
def statements(services: Services) -> Iterator[list[str]]:
    """The names of the statements that requests send."""
    with counted(services.database) as names:
        yield names


def needed(statements: list[str]) -> list[str]:
    """Return some statements without those that a process sends from time to time."""
    occasional = {"relationship_type.all", "relationship_type.of_owner", "exclusion.pending"}
    return [name for name in statements if name not in occasional]


def by_name(graph: dict[str, Any]) -> dict[str, Any]:
    return {entity["name"]: entity for entity in graph["entities"]}


def test_a_graph_is_read_as_it_was_created(memory: Tool) -> None:
    odd = [
        {"name": "Żółw  42", "entityType": "C++ library", "observations": ["a", "a", " b ", "", "ü\n\t\"'"]},
        {"name": "2026-01-31", "entityType": "note", "observations": ["x" * 5_000]},
        {"name": "Kick-off", "entityType": "Events", "observations": ["On Monday"]},
    ]
    assert memory("create_entities", entities=[ADA, ACME, *odd]) == {"entities": [ADA, ACME, *odd]}
    relations = [
        WORKS,
        {"from": "Ada Lovelace", "to": "Acme", "relationType": "WORKS_AT"},
        {"from": "Acme", "to": "Ada Lovelace", "relationType": "бачить"},
        {"from": "Ada Lovelace", "to": "Kick-off", "relationType": "likes"},
        {"from": "Ada Lovelace", "to": "Kick-off", "relationType": "attends"},
    ]
    assert memory("create_relations", relations=relations) == {"relations": relations}
    graph = memory("read_graph")
    assert by_name(graph) == {entity["name"]: entity for entity in [ADA, ACME, *odd]}
    assert sorted(graph["relations"], key=str) == sorted(relations, key=str)
    assert set(graph) == {"entities", "relations"}


def test_what_exists_is_not_created_again(memory: Tool) -> None:
    memory("create_entities", entities=[ADA, ACME])
    other = {**ADA, "entityType": "company", "observations": ["Other"]}
    new = {"name": "New", "entityType": "thing", "observations": []}
    assert memory("create_entities", entities=[other, new, new]) == {"entities": [new]}
    assert by_name(memory("read_graph"))["Ada Lovelace"] == ADA
    assert memory("create_relations", relations=[WORKS, WORKS]) == {"relations": [WORKS]}
    assert memory("create_relations", relations=[WORKS]) == {"relations": []}


def test_observations_are_added_once_and_deleted(memory: Tool) -> None:
    memory("create_entities", entities=[ADA])
    added = memory("add_observations", observations=[
        {"entityName": "Ada Lovelace", "contents": ["Likes tea", "Lives in Ockham"]},
        {"entityName": "Ada Lovelace", "contents": ["Lives in Ockham", "Sings"]},
    ])  # fmt: skip
    assert added == {"results": [
        {"entityName": "Ada Lovelace", "addedObservations": ["Lives in Ockham"]},
        {"entityName": "Ada Lovelace", "addedObservations": ["Sings"]},
    ]}  # fmt: skip
    gone = [{"entityName": "Ada Lovelace", "observations": ["Writes programmes", "Sings"]}]
    assert memory("delete_observations", deletions=gone) == {
        "success": True, "message": "Observations deleted successfully",
    }  # fmt: skip
    again = [*gone, {"entityName": "Nobody", "observations": ["x"]}]
    assert memory("delete_observations", deletions=again)["message"] == (
        "Deleted 0 of 3 observations. Entities not found: Nobody"
    )
    opened = memory("open_nodes", names=["ada  LOVELACE", "Nobody"])
    assert opened["entities"] == [{**ADA, "observations": ["Likes tea", "Lives in Ockham"]}]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_relations", {"relations": [{**WORKS, "to": "Nobody"}]}),
        ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}),
    ],
)
def test_an_entity_that_is_not_there_is_named_and_nothing_is_stored(
    memory: Tool, run: Call, tool: str, arguments: dict[str, Any]
) -> None:
    memory("create_entities", entities=[ADA])
    before = run("server.stats")
    with pytest.raises(Failed, match="Entity with name Nobody not found"):
        memory(tool, **arguments)
    assert run("server.stats") == before


def test_relations_are_deleted_one_by_one(memory: Tool) -> None:
    memory("create_entities", entities=[ADA, ACME])
    likes, knows = ({**WORKS, "relationType": kind} for kind in ("likes", "knows"))
    memory("create_relations", relations=[likes, knows])
    deleted = memory("delete_relations", relations=[likes])
    assert deleted == {"success": True, "message": "Relations deleted successfully"}
    assert memory("read_graph")["relations"] == [knows]
    missing = [likes, {**knows, "to": "Nobody"}]
    assert memory("delete_relations", relations=missing)["message"] == (
        "Deleted 0 of 2 relations. The rest matched nothing."
    )
    memory("delete_relations", relations=[knows])
    assert memory("read_graph")["relations"] == []
    assert memory("create_relations", relations=[likes]) == {"relations": [likes]}
    assert memory("read_graph")["relations"] == [likes]


@pytest.mark.parametrize("end", [{"until": "2020-12-31"}, {"ended": True, "note": "sold"}])
def test_a_relation_that_has_ended_is_left_out_until_it_is_created_again(
    memory: Tool, run: Call, end: dict[str, Any]
) -> None:
    memory("create_entities", entities=[ADA, ACME])
    admires, hosts = ({**WORKS, "relationType": kind} for kind in ("admires", "hosts"))
    memory("create_relations", relations=[WORKS, admires, hosts])
    links = {link["relationship_type"]: link for link in run("relationships.list")["relationships"]}
    ends = ("relationship_type", "source_entity_id", "target_entity_id")
    for link in links.values():
        run("relationships.create", **{name: link[name] for name in ends}, metadata=end)
    assert [len(links), memory("read_graph")["relations"]] == [2, []]
    for answer in (memory("open_nodes", names=["Acme"]), memory("search_nodes", query="tea")):
        assert (answer["relations"], answer["hint"]) == ([], "relations that have ended are left out: 3")
    again = memory("create_relations", relations=[admires, admires, WORKS])
    assert again == {"relations": [admires, WORKS]}
    answer = memory("read_graph")
    assert sorted(each["relationType"] for each in answer["relations"]) == ["admires", "works_at"]
    assert "hint" not in answer
    assert memory("create_relations", relations=[admires, WORKS]) == {"relations": []}
    kept = {
        link["relationship_type"]: link["snapshot"] for link in run("relationships.list")["relationships"]
    }
    assert {name: value for name, value in end.items() if name == "note"}.items() <= kept["WORKS_AT"].items()


def test_deleting_a_relation_makes_no_other_current(memory: Tool, run: Call) -> None:
    memory("create_entities", entities=[ADA, ACME])
    admires, hosts = ({**WORKS, "relationType": kind} for kind in ("admires", "hosts"))
    memory("create_relations", relations=[admires, hosts])
    (link,) = run("relationships.list")["relationships"]
    ends = ("relationship_type", "source_entity_id", "target_entity_id")
    run("relationships.create", **{name: link[name] for name in ends}, metadata={"until": "2020"})
    memory("delete_relations", relations=[admires])
    answer = memory("read_graph")
    assert (answer["relations"], answer["hint"]) == ([], "relations that have ended are left out: 1")


def test_a_deleted_entity_comes_back_without_its_relations(memory: Tool) -> None:
    memory("create_entities", entities=[ADA, ACME])
    memory("create_relations", relations=[WORKS])
    deleted = memory("delete_entities", entityNames=["Ada Lovelace", "Nobody"])
    assert deleted["message"] == "Deleted 1 of 2 entities. Not found: Nobody"
    assert memory("read_graph") == {"entities": [ACME], "relations": []}
    back = {**ADA, "observations": ["Is back"]}
    assert memory("create_entities", entities=[back]) == {"entities": [back]}
    graph = memory("read_graph")
    assert (by_name(graph)["Ada Lovelace"], graph["relations"]) == (back, [])


def test_a_search_finds_words_and_types_with_the_relations_around(memory: Tool) -> None:
    memory("create_entities", entities=[ADA, ACME])
    memory("create_relations", relations=[WORKS])
    for query in ("tea", "lovelace", "person"):
        graph = memory("search_nodes", query=query)
        assert "Ada Lovelace" in by_name(graph), query
        assert graph["relations"] == [WORKS], query
    assert memory("search_nodes", query=" ") == memory("read_graph")
    opened = memory("open_nodes", names=["Acme"])
    assert opened == {"entities": [ACME], "relations": [WORKS]}


def test_additions_at_the_same_time_are_all_kept(
    loop: Loop, services: Services, owner: str, memory: Tool
) -> None:
    memory("create_entities", entities=[ADA])
    texts = [f"Fact {number}" for number in range(10)]

    async def together() -> None:
        async with Client(create_server(services, lambda: full_actor(owner), "memory")) as client:
            calls = ([{"entityName": "Ada Lovelace", "contents": [text]}] for text in texts)
            await asyncio.gather(*(client.call_tool("add_observations", {"observations": o}) for o in calls))

    loop.run(together())
    assert set(by_name(memory("read_graph"))["Ada Lovelace"]["observations"]) == {
        *ADA["observations"],
        *texts,
    }


def observed(*texts: str, of: str = "Ada Lovelace") -> dict[str, Any]:
    return {"observations": [{"entityName": of, "contents": [*texts]}]}


ADMIRES, HOSTS = ({**WORKS, "relationType": kind} for kind in ("admires", "hosts"))
BOB, OTHER_BOB = ({"name": "Bob", "entityType": "person", "observations": [text]} for text in "ab")


@pytest.mark.parametrize(
    ("before", "ours", "theirs", "shown"),
    [
        (
            [],
            ("add_observations", observed("One")),
            ("add_observations", observed("Two")),
            {"Ada Lovelace": [*ADA["observations"], "Two", "One"]},
        ),
        (
            [],
            (
                "delete_observations",
                {"deletions": [{"entityName": "Ada Lovelace", "observations": ["Likes tea"]}]},
            ),
            ("add_observations", observed("Two")),
            {"Ada Lovelace": ["Writes programmes", "Two"]},
        ),
        (
            [],
            ("create_entities", {"entities": [BOB]}),
            ("create_entities", {"entities": [OTHER_BOB]}),
            {"Bob": ["b"]},
        ),
        (
            [("create_entities", {"entities": [BOB]}), ("delete_entities", {"entityNames": ["Bob"]})],
            ("create_entities", {"entities": [{**BOB, "observations": ["back"]}]}),
            ("create_entities", {"entities": [OTHER_BOB]}),
            {"Bob": ["b"]},
        ),
        (
            [],
            ("create_relations", {"relations": [ADMIRES]}),
            ("create_relations", {"relations": [HOSTS]}),
            ["admires", "hosts"],
        ),
        (
            [("create_relations", {"relations": [ADMIRES]})],
            ("delete_relations", {"relations": [ADMIRES]}),
            ("create_relations", {"relations": [HOSTS]}),
            ["hosts"],
        ),
    ],
    ids=["added", "deleted", "created", "back", "related", "unrelated"],
)
def test_what_two_processes_write_at_the_same_time_is_all_shown(
    services: Services,
    memory: Tool,
    other: Tool,
    monkeypatch: pytest.MonkeyPatch,
    before: list[tuple[str, dict[str, Any]]],
    ours: tuple[str, dict[str, Any]],
    theirs: tuple[str, dict[str, Any]],
    shown: Any,
) -> None:
    memory("create_entities", entities=[ADA, ACME])
    for tool, arguments in before:
        memory(tool, **arguments)
    submit = services.writers.submit
    pending = [theirs]

    async def beaten(request: Any) -> Any:
        # Between the look of one process and its write, the other looks and writes.
        if pending:
            tool, arguments = pending.pop()
            await asyncio.to_thread(other, tool, **arguments)
        return await submit(request)

    monkeypatch.setattr(services.writers, "submit", beaten)
    memory(ours[0], **ours[1])
    assert not pending
    graph = memory("read_graph")
    if isinstance(shown, list):
        assert sorted(relation["relationType"] for relation in graph["relations"]) == shown
    else:
        assert {name: by_name(graph)[name]["observations"] for name in shown} == shown


def test_a_deleted_person_whose_name_another_has_by_a_rule_is_created(memory: Tool) -> None:
    """A rule merges the new entity with one of another spelling: no version of it can be expected."""
    memory("create_entities", entities=[{**ADA, "name": "Lovelace, Ada"}])
    assert memory("create_entities", entities=[ADA]) == {"entities": [ADA]}
    assert by_name(memory("open_nodes", names=["Lovelace, Ada"]))


def test_many_relations_are_created_and_deleted_in_few_statements(
    memory: Tool, statements: list[str]
) -> None:
    names = ["hub", *(f"spoke {number}" for number in range(200))]
    memory("create_entities", entities=[{**ACME, "name": name} for name in names])
    relations = [{"from": "hub", "to": name, "relationType": "holds"} for name in names[1:]]
    for tool in ("create_relations", "delete_relations"):
        statements.clear()
        memory(tool, relations=relations)
        assert len(needed(statements)) <= 5, statements
    assert memory("read_graph")["relations"] == []


def test_a_hub_is_opened_only_as_far_as_its_answer_has_room(
    memory: Tool, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["hub", *(f"spoke {number}" for number in range(200))]
    memory("create_entities", entities=[{**ACME, "name": name} for name in names])
    memory(
        "create_relations",
        relations=[{"from": "hub", "to": name, "relationType": "holds"} for name in names[1:]],
    )
    monkeypatch.setattr(memory_graph, "PAGE_LIMIT", 20)
    statements.clear()
    part = memory("open_nodes", names=["hub"], max_characters=800)
    assert len(needed(statements)) <= 3, statements
    assert 0 < len(part["relations"]) < 10
    assert "more relations are not counted" in part["hint"]
    whole = memory("open_nodes", names=["hub"], max_characters=40_000)
    assert ("hint" in whole, len(whole["relations"])) == (False, 200)


def test_what_other_tools_stored_is_read_and_extended(memory: Tool, run: Call) -> None:
    run("store", entities=[
        {"entity_type": "person", "name": "Ada Lovelace", "role": "Analyst", "age": 36},
        {"entity_type": "event", "title": "Kick-off"},
    ], relationships=[{"relationship_type": "REFERS_TO", "source_index": 1, "target_index": 0}])  # fmt: skip
    graph = memory("read_graph")
    assert by_name(graph) == {
        "Ada Lovelace": {
            "name": "Ada Lovelace",
            "entityType": "person",
            "observations": ["age: 36", "role: Analyst"],
        },
        "Kick-off": {"name": "Kick-off", "entityType": "event", "observations": ["title: Kick-off"]},
    }
    assert graph["relations"] == [{"from": "Kick-off", "to": "Ada Lovelace", "relationType": "REFERS_TO"}]
    memory("add_observations", observations=[{"entityName": "Ada Lovelace", "contents": ["Likes tea"]}])
    entity = by_name(memory("open_nodes", names=["Ada Lovelace"]))["Ada Lovelace"]
    assert entity["observations"] == ["Likes tea", "age: 36", "role: Analyst"]
    (ada,) = run("entities.find", identifier="Ada Lovelace")["entities"]
    assert (ada["snapshot"]["role"], ada["snapshot"]["observations"]) == ("Analyst", ["Likes tea"])


def test_observations_that_a_correction_holds_are_not_said_to_be_added(memory: Tool, run: Call) -> None:
    memory("create_entities", entities=[ADA])
    (ada,) = run("entities.find", identifier="Ada Lovelace")["entities"]
    run("entities.correct", entity_id=ada["entity_id"], field="observations", value=["Only this"])
    with pytest.raises(Failed, match="held by a correction"):
        memory("add_observations", observations=[{"entityName": "Ada Lovelace", "contents": ["More"]}])


def test_other_tools_are_refused_and_unknown_arguments_too(memory: Tool) -> None:
    with pytest.raises(Failed, match="the toolset core or full has it"):
        memory("store", entities=[ADA])
    with pytest.raises(Failed):
        memory("create_entities", entities=[{"name": " ", "entityType": "person", "observations": []}])
    with pytest.raises(Failed):
        memory("open_nodes", nodes=["Ada"])


def test_a_graph_stays_within_a_size_and_says_what_it_leaves_out(memory: Tool) -> None:
    names = [f"entity {i:03}" for i in range(60)]
    texts = ["some words " * 50]
    memory(
        "create_entities",
        entities=[{"name": name, "entityType": "thing", "observations": texts} for name in names],
    )
    pairs = [*pairwise(names)]
    memory(
        "create_relations",
        relations=[{"from": a, "to": b, "relationType": "precedes"} for a, b in pairs],
    )
    cut = memory("read_graph")
    enough = int(cut["hint"].split()[-1])
    whole = memory("read_graph", max_characters=enough)
    assert (len(whole["entities"]), len(whole["relations"]), "hint" in whole) == (60, 59, False)
    count = len(cut["entities"])
    assert 20 < count < 60
    assert cut["entities"] == whole["entities"][:count]
    kept = {entity["name"] for entity in cut["entities"]}
    assert cut["relations"] == [each for each in whole["relations"] if {each["from"], each["to"]} <= kept]
    left_out = 59 - len(cut["relations"])
    assert cut["hint"].startswith(f"{60 - count} entities, {left_out} relations left out")
    assert len(memory("open_nodes", names=names, max_characters=2_000)["entities"]) < 5
    assert len(memory("search_nodes", query="words", max_characters=2_000)["entities"]) < 5


def test_all_pages_of_a_graph_are_read_up_to_its_limit(memory: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_graph, "PAGE_LIMIT", 2)
    names = ["hub", *"abcde"]
    memory("create_entities", entities=[{**ACME, "name": name} for name in names])
    memory(
        "create_relations",
        relations=[{"from": "hub", "to": name, "relationType": "holds"} for name in names[1:]],
    )
    whole = memory("read_graph")
    assert sorted(by_name(whole)) == sorted(names)
    assert {relation["to"] for relation in whole["relations"]} == set(names[1:])
    assert "hint" not in whole
    assert len(memory("open_nodes", names=names)["relations"]) == 5
    monkeypatch.setattr(memory_graph, "NODES_LIMIT", 3)
    part = memory("read_graph")
    assert len(part["entities"]) == 3
    assert "larger than this answer" in part["hint"]


def test_a_search_that_answers_a_part_says_so(memory: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    memory("create_entities", entities=[{**ACME, "name": f"Blue {name}"} for name in "abc"])
    monkeypatch.setattr(memory_graph, "SEARCH_LIMIT", 3)
    assert "hint" not in memory("search_nodes", query="blue")
    monkeypatch.setattr(memory_graph, "SEARCH_LIMIT", 2)
    part = memory("search_nodes", query="blue")
    assert len(part["entities"]) == 2
    assert "more entities fit than the 2 best here" in part["hint"]


def test_names_of_more_entities_than_one_call_reads_are_refused(
    memory: Tool, run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [{"entity_type": "person", "name": "Ada", "email": f"{i}@example.org"} for i in range(3)]
    run("store", entities=people)
    monkeypatch.setattr(memory_graph, "HITS_LIMIT", 2)
    with pytest.raises(Failed, match="give fewer names at once"):
        memory("open_nodes", names=["Ada"])


def test_creating_nothing_creates_nothing_and_deleting_all_says_so(memory: Tool) -> None:
    assert memory("create_entities", entities=[])["entities"] == []
    memory("create_entities", entities=[ADA, ACME])
    deleted = memory("delete_entities", entityNames=[ADA["name"], ACME["name"]])
    assert deleted == {"success": True, "message": "Entities deleted successfully"}
    assert memory("read_graph")["entities"] == []
