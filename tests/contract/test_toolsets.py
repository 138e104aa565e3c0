"""What the toolsets of MCP promise: their tools, their size, and how arguments are described."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

import graphmem.runtime  # noqa: F401  (fills the registry)
from graphmem.arguments import Spelled, nested_filters
from graphmem.auth import Scope
from graphmem.mcp import memory_tools
from graphmem.mcp.protocol import recorded
from graphmem.mcp.tools import SAID_BY_NAME, defaults_of, described, shortened, untitled
from graphmem.mcp.toolsets import CORE, TOOLSETS, all_tools, having
from graphmem.registry import REGISTRY, Face
from graphmem.settings import ToolsetName, variable
from tests.contract.snapshots import ROOT
from tests.support.walks import walk_over

BYTES_LIMITS: dict[ToolsetName, int] = {"core": 25_000, "full": 300_000, "readonly": 52_000, "memory": 8_000}
"""Bytes of the list of tools and of the instructions; four bytes are about one token."""
NAMES = list(TOOLSETS)
ARGUMENTS = {"target_id", "created_since"}
DESTRUCTIVE = {
    "agents.quarantine": "quarantines", "undo": "undo", "writings.withdraw": "withdrawals",
    "entities.correct": "corrections", "entities.delete": "deletions", "entities.merge": "merges",
    "entities.split": "splits", "entities.unmerge": "their undoing", "entities.unsplit": "their undoing",
    "interpretations.withdraw": "withdrawals", "memory.delete_entities": "of entities",
    "memory.delete_observations": "in the toolset memory of observations",
    "memory.delete_relations": "relationships",
    "relationships.delete": "deletions", "schemas.register": "changes of schemas",
    "schemas.update": "changes of schemas", "sources.withdraw": "withdrawals",
}  # fmt: skip
"""The operations that take something from what reads show, each with its word in the docs."""
"""The arguments that the guidance of core tools names."""


def listed(name: ToolsetName) -> list[dict[str, Any]]:
    """Return the tools of a toolset as a client gets them."""
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in described(name)]


def tool_of(name: str) -> dict[str, Any]:
    """Return a tool as a client of the last toolset that has it gets it."""
    (tool,) = [entry for entry in listed(having(name)[-1]) if entry["name"] == name]
    return tool


def spellings(model: Any) -> set[str]:
    """Return the other spellings of the arguments of an operation."""
    marks = (mark for info in model.model_fields.values() for mark in info.metadata)
    own = {name for mark in marks if isinstance(mark, Spelled) for name in mark.names}
    inner = nested_filters(model)
    return own | (spellings(inner) if inner else set())


def test_the_settings_know_the_toolsets() -> None:
    assert tuple(TOOLSETS) == get_args(ToolsetName)
    reference = (ROOT / "docs" / "reference.md").read_text()
    row = next(line for line in reference.splitlines() if f"`{variable('mcp_tools')}`" in line)
    assert all(name in row for name in TOOLSETS)


@pytest.mark.parametrize("name", NAMES)
def test_a_toolset_fits_its_bytes(name: ToolsetName) -> None:
    tools = json.dumps({"tools": listed(name)}, ensure_ascii=False, separators=(",", ":"))
    assert len(tools.encode()) + len(TOOLSETS[name].instructions.encode()) <= BYTES_LIMITS[name]


def test_prompts_and_templates_fit_the_tokens_that_the_docs_say() -> None:
    page = (ROOT / "docs/agents.md").read_text()
    (tokens,) = re.findall(r"Prompts and templates together\ntake under (\d+) tokens", page)
    lists = [recorded("core")["lists"][method] for method in ("prompts/list", "resources/templates/list")]
    sizes = [len(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode()) for each in lists]
    assert sum(sizes) <= 4 * int(tokens)


BOUNDED = {
    "auth.session": "one account",
    "auth.whoami": "one account",
    "context.retrieve": "it has a budget of its own",
    "entities.delete": "one id and one name",
    "entities.dismiss_duplicates": "two ids, and those of the facts about the pair",
    "entities.restore": "one id and one name",
    "entities.unmerge": "two ids and counts",
    "entities.unsplit": "ids",
    "files.parse": "a page of the file of the request",
    "memory.add_observations": "what the request holds",
    "memory.create_entities": "what the request holds",
    "memory.create_relations": "what the request holds",
    "memory.delete_entities": "names of the request",
    "memory.delete_observations": "names of the request",
    "memory.delete_relations": "two counts",
    "relationship_types.register": "one type, whose description is limited",
    "relationship_types.rename": "two names",
    "relationships.create_many": "ids for what the request holds, and no metadata",
    "relationships.delete": "ids",
    "relationships.restore": "ids",
    "server.info": "addresses",
    "sources.url": "one URL",
    "subscriptions.remove": "one id",
    "timeline.get": "one event",
}
"""Operations whose answers do not grow with what is stored, each with the reason."""


def test_every_answer_that_may_grow_has_a_budget() -> None:
    operations = [operation for name in NAMES for operation in TOOLSETS[name].tools().values()]
    without = {each.name for each in operations if "max_characters" not in defaults_of(each)}
    assert without == BOUNDED.keys()


@pytest.mark.parametrize("name", NAMES)
def test_a_toolset_names_operations_that_are_tools(name: ToolsetName) -> None:
    operations = TOOLSETS[name].operations or ()
    known = REGISTRY | memory_tools.OPERATIONS
    assert [
        operation
        for operation in operations
        if operation not in known or Face.MCP not in known[operation].faces
    ] == []
    assert len(set(operations)) == len(operations)


def test_core_is_about_ten_tools_and_full_is_all() -> None:
    assert len(TOOLSETS["core"].tools()) == len(CORE) <= 12
    # An agent that is told to join two entities can do it, and undo it.
    assert {"merge_entities", "unmerge_entities"} <= set(TOOLSETS["core"].tools())
    assert set(TOOLSETS["full"].tools()) == {o.tool for o in REGISTRY.values() if Face.MCP in o.faces}


def test_readonly_is_every_tool_that_only_reads() -> None:
    reads = {o.tool for o in REGISTRY.values() if Face.MCP in o.faces and o.scope is Scope.READ}
    assert set(TOOLSETS["readonly"].tools()) == reads
    assert having("store") == ["core", "full"]


@pytest.mark.parametrize("name", NAMES)
def test_only_full_lists_the_schemas_of_answers(name: ToolsetName) -> None:
    assert all(("outputSchema" in tool) == (name == "full") for tool in listed(name))


@pytest.mark.parametrize("name", NAMES)
def test_instructions_name_tools_that_there_are(name: ToolsetName) -> None:
    instructions = TOOLSETS[name].instructions
    named = set(re.findall(r"`(\w+)`", instructions)) - {"idempotency_key", "include_text", "omitted"}
    assert named <= set(all_tools())
    assert name == "core" or named <= set(TOOLSETS[name].tools())


@pytest.mark.parametrize("name", CORE)
def test_a_core_tool_says_when_to_use_it_and_when_not_with_an_example(name: str) -> None:
    operation = REGISTRY[name]
    (tool,) = [entry for entry in listed("core") if entry["name"] == operation.tool]
    description, guidance, example = tool["description"].rsplit("\n\n", 2)
    assert description == operation.description
    assert re.match(r"Use it .*\. Not .*\.", guidance)
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", guidance)) - ARGUMENTS <= set(all_tools())
    whole = json.dumps(operation.example)
    shown = json.loads(example.removeprefix("Example: "))
    assert shown == json.loads(re.sub(r"\b(ent_)[0-9a-f]{24}", r"\1…", whole)) != {}


def test_no_tool_cites_a_rest_path() -> None:
    assert (
        re.findall(r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S*", json.dumps([listed(name) for name in NAMES]))
        == []
    )


@walk_over("tool", all_tools())
def test_a_tool_s_annotations_are_those_of_its_operation(tool: str) -> None:
    operation = all_tools()[tool]
    assert tool_of(tool)["annotations"] == {
        "readOnlyHint": operation.scope is Scope.READ,
        "destructiveHint": operation.destructive,
        "idempotentHint": operation.idempotent,
        "openWorldHint": False,
    }


def test_what_takes_something_from_what_reads_show_is_destructive() -> None:
    operations = REGISTRY | memory_tools.OPERATIONS
    assert {name for name, operation in operations.items() if operation.destructive} == DESTRUCTIVE.keys()


NUMBERS = {"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "nine": 9}


def test_docs_have_the_size_of_each_toolset() -> None:
    page = (ROOT / "docs/agents.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    sizes = re.findall(r"^\| `(\w+)` \|.*\| under ([\d,]+) tokens \|", page, re.MULTILINE)
    assert {name: int(size.replace(",", "")) for name, size in sizes} == {
        name: limit // 4 for name, limit in BYTES_LIMITS.items()
    }
    for name in ("core", "memory"):
        assert NUMBERS[rows[name]] == len(TOOLSETS[name].tools())
    readme = (ROOT / "README.md").read_text()
    (number,) = re.findall(r"The client lists (\w+) tools", readme)
    assert NUMBERS[number] == len(TOOLSETS["core"].tools())


def test_docs_say_which_tools_neither_rest_nor_the_command_line_have() -> None:
    alone = {tool for tool, operation in all_tools().items() if operation.faces == Face.MCP}
    assert alone == set(TOOLSETS["memory"].tools())
    assert "nine tools of the [toolset memory]" in (ROOT / "docs/agents.md").read_text()


def test_docs_name_every_kind_of_destructive_tool() -> None:
    page = (ROOT / "docs/agents.md").read_text()
    (row,) = (line for line in page.splitlines() if line.startswith("| `destructiveHint`"))
    assert {word for word in DESTRUCTIVE.values() if word not in row} == set()


@pytest.mark.parametrize("name", ["entities.delete", "relationships.delete"])
def test_a_deletion_says_that_it_can_be_restored(name: str) -> None:
    assert "can be restored" in REGISTRY[name].description


@walk_over("tool", all_tools())
def test_other_spellings_of_arguments_are_not_shown(tool: str) -> None:
    operation = all_tools()[tool]
    shown = tool_of(tool)
    properties = set(shown["inputSchema"]["properties"])
    for definition in shown["inputSchema"].get("$defs", {}).values():
        properties |= set(definition.get("properties", ()))
    assert properties & spellings(operation.arguments) == set()


@walk_over("tool", all_tools())
def test_a_shortened_schema_has_the_same_arguments(tool: str) -> None:
    whole = all_tools()[tool].arguments.model_json_schema()
    short = shortened(whole)
    assert set(short["properties"]) == set(whole["properties"])
    assert short.get("required") == whole.get("required")
    assert set(short.get("$defs", ())) == set(whole.get("$defs", ()))
    assert short["additionalProperties"] is False
    undescribed = [
        name
        for name, part in short["properties"].items()
        if not {"description", "$ref"} & part.keys() and name not in SAID_BY_NAME
    ]
    assert undescribed == []


def test_a_schema_is_shortened_without_losing_what_it_allows() -> None:
    whole = {
        "title": "T",
        "description": "The arguments.",
        "properties": {
            "title": {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}], "default": None},
            "sizes": {"type": "array", "items": {"title": "Size", "type": "integer"}, "default": []},
            "limit": {"title": "Limit", "type": "integer", "default": 100},
            "fields": {"anyOf": [{"type": "object"}, {"type": "array"}, {"type": "null"}], "default": None},
        },
        "type": "object",
    }
    assert shortened(whole) == {
        "properties": {
            "title": {"type": "string", "maxLength": 9},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "limit": {"type": "integer", "default": 100},
            "fields": {"anyOf": [{"type": "object"}, {"type": "array"}]},
        },
        "type": "object",
    }


def test_a_schema_of_answers_loses_its_titles_and_nothing_else() -> None:
    whole = {
        "title": "Page",
        "$defs": {"Hit": {"title": "Hit", "properties": {"title": {"title": "Title", "type": "string"}}}},
        "properties": {
            "lines": {
                "title": "Lines",
                "anyOf": [{"title": "Text", "type": "string"}, {"$ref": "#/$defs/Hit"}],
            },
            "others": {"type": "array", "items": {"title": "Other", "type": "integer"}},
        },
        "required": ["title"],
    }
    assert untitled(whole) == {
        "$defs": {"Hit": {"properties": {"title": {"type": "string"}}}},
        "properties": {
            "lines": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Hit"}]},
            "others": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["title"],
    }
