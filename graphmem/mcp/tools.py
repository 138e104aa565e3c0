"""MCP tools, made from the operations of the registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, cast

import mcp_types as types
import orjson
import structlog
from mcp.server.context import CallNext, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server

from graphmem import __version__
from graphmem.auth import Actor, Scope
from graphmem.auth.rates import RateClass, meter
from graphmem.context import Services
from graphmem.errors import Forbidden, GraphmemError, RateLimited, RouteNotFound
from graphmem.mcp import app_view, memory_tools
from graphmem.mcp.beside_tools import BesideTools, refusal, traced
from graphmem.mcp.toolsets import CORE, TABLE, TOOLSETS, all_tools, having
from graphmem.model import canonical
from graphmem.registry import Face, Operation
from graphmem.sandbox.terms import instructions_of
from graphmem.settings import ToolsetName

_NAMED = frozenset({"properties", "$defs"})  # the keywords whose keys are names
_PARTS = frozenset({"items", "additionalProperties"})  # the keywords that may hold a schema
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})  # the keywords that hold a list of schemas
_TRIVIAL: Final = [(keyword, value) for keyword, values in TABLE["trivial"].items() for value in values]
SAID_BY_NAME: Final = frozenset(TABLE["said_by_name"])
_EXAMPLE_ID: Final = re.compile(r"\b(ent_)[0-9a-f]{24}\b")
_NULL = {"type": "null"}


def shortened(schema: dict[str, Any], *, with_null: bool = False) -> dict[str, Any]:
    """Return a JSON Schema of arguments in fewer words.

    Left out are titles, the descriptions of whole models and of the items of lists, that a text is not
    empty, what a name says, defaults that are null, empty, zero or false, and null as an alternative: an
    argument that may be null may also be left out. ``with_null``: hosts with strict schemas send all.
    """
    reduced = _reduced(schema, partial(_short, with_null=with_null))
    short = {name: part for name, part in reduced.items() if name != "description"}
    for model in short.get("$defs", {}).values():
        # What refers to the model is described.
        model.pop("description", None)
    for model in (short, *short.get("$defs", {}).values()):
        for name in model.get("properties", {}).keys() & SAID_BY_NAME:
            model["properties"][name].pop("description", None)
    return short


def untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema of answers without titles: each repeats the name of a field or a model."""
    return _reduced(schema, lambda part: {key: value for key, value in part.items() if key != "title"})


def _reduced(schema: dict[str, Any], reduce: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return a schema after a function has reduced the keywords of it and of each schema in it."""
    kept: dict[str, Any] = {}
    for keyword, value in reduce(schema).items():
        if keyword in _NAMED:
            kept[keyword] = {name: _reduced(part, reduce) for name, part in value.items()}
        elif keyword in _PARTS and isinstance(value, dict):
            kept[keyword] = _reduced(cast("dict[str, Any]", value), reduce)
        elif keyword in _LISTS:
            kept[keyword] = [_reduced(part, reduce) for part in value]
        else:
            kept[keyword] = value
    return kept


def _short(schema: dict[str, Any], *, with_null: bool) -> dict[str, Any]:
    kept = {
        keyword: value
        for keyword, value in joined(schema, with_null=with_null).items()
        if keyword != "title"
        and (keyword, value) not in _TRIVIAL
        and not (keyword == "default" and (value in (None, [], False) or isinstance(value, dict)))
    }
    if isinstance(kept.get("items"), dict):
        # The list is described; its items are of one plain type or have a model of their own.
        kept["items"] = {key: value for key, value in kept["items"].items() if key != "description"}
    return kept


def joined(schema: dict[str, Any], *, with_null: bool = False) -> dict[str, Any]:
    """Return a schema with or without null among its alternatives.

    Where one alternative is left, the schema's own keywords win over those of the alternative.
    """
    parts: list[dict[str, Any]] = schema.get("anyOf", [])
    others = [part for part in parts if part != _NULL]
    if len(others) == len(parts):
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    joined = {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}
    if with_null and "anyOf" in joined:
        joined["anyOf"] = [*joined["anyOf"], _NULL]
    elif with_null:
        joined |= {"type": [joined["type"], "null"]}
        joined |= {"enum": [*joined["enum"], None]} if "enum" in joined else {}
    return joined


DEFAULTS: Final[Mapping[str, Any]] = {"provenance": "none", "max_characters": 20_000}
"""Arguments that MCP gives where the caller does not, in every operation that takes them.

REST and the command line answer everything by default. The context of an agent is small: it gets names,
values and entity ids first, and asks for observations where it needs them.
"""
EXCEPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "provenance": frozenset({"entities.get", "entities.snapshot"}),
    "max_characters": frozenset({"context.retrieve"}),
}
"""Operations that keep their own default of an argument.

Who reads one entity asks where its values come from. A context has a budget of its own.
"""

HEAVY: Final = frozenset({"prompts/get", "completion/complete"})  # the messages beside tool calls that search


def defaults_of(operation: Operation[Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in DEFAULTS.items()
        if name in operation.arguments.model_fields and operation.name not in EXCEPTIONS.get(name, ())
    }


def _describe(operation: Operation[Any], output_schema: bool) -> types.Tool:
    schema = shortened(operation.arguments.model_json_schema(), with_null=operation.name == "store")
    for name, value in defaults_of(operation).items():
        schema["properties"][name]["default"] = value
    description = operation.description
    if operation.name in CORE:
        # A model may send a whole id of an example as if it were one of this memory.
        example = _EXAMPLE_ID.sub(r"\1…", orjson.dumps(operation.example).decode())
        description += f"\n\n{CORE[operation.name]}\n\nExample: {example}"
    return types.Tool(
        name=operation.tool,
        title=operation.tool.replace("_", " ").capitalize(),
        description=description,
        input_schema=schema,
        output_schema=untitled(operation.result.json_schema(mode="serialization")) if output_schema else None,
        annotations=types.ToolAnnotations(
            read_only_hint=operation.scope is Scope.READ,
            destructive_hint=operation.destructive,
            idempotent_hint=operation.idempotent,
            open_world_hint=False,
        ),
        _meta=app_view.META if operation.name in app_view.TOOLS else None,
    )


@cache
def described(name: ToolsetName) -> tuple[types.Tool, ...]:
    """Return the descriptions of a toolset's tools. They are made once, because that takes long."""
    toolset = TOOLSETS[name]
    return tuple(_describe(operation, toolset.output_schemas) for operation in toolset.tools().values())


def _operation(name: ToolsetName, tool: str) -> Operation[Any]:
    """Return the operation of a tool, as a toolset answers it.

    Raises RouteNotFound: no toolset has the tool. Raises Forbidden: the toolset refuses the tool.
    """
    operation = all_tools().get(tool)
    if operation is None:
        raise RouteNotFound(f"the server has no tool {tool[:100]!r}", tools=sorted(all_tools()))
    toolset = TOOLSETS[name]
    if toolset.is_closed and tool not in toolset.tools():
        others = having(tool)
        message = f"the toolset {name} has no tool {tool}: the toolset {' or '.join(others)} has it"
        raise Forbidden(message, tool=tool, toolset=name, toolsets=others)
    return operation


class _McpServer(Server[Any]):
    """A server whose lists do not change while a client is connected, so that `listChanged` is false.

    What it lists depends on the toolset and on the scopes of the credential, and it is the client that
    changes either. A new type adds its schema to the resources; clients list these when they look for one.
    """

    def get_capabilities(self, *arguments: Any, **named: Any) -> types.ServerCapabilities:
        offered = super().get_capabilities(*arguments, **named)
        for part in filter(None, (offered.tools, offered.prompts, offered.resources)):
            part.list_changed = False
        if offered.resources:
            offered.extensions = {app_view.EXTENSION: {}}
        return offered


def create_server(
    services: Services, actor: Callable[[], Actor], toolset: ToolsetName | None = None, *,
    is_sandbox: bool = False,
) -> Server[Any]:  # fmt: skip
    """Return an MCP server over ``services``.

    Args:
        actor: returns the actor of the running call.
        toolset: the tools that it lists; by default those of the settings.
        is_sandbox: whether it tells clients at the start that everything is public and wiped, and leaves out
            the tools that are closed there.
    """
    name = toolset or services.settings.mcp_tools

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        scopes, operations = actor().scopes, TOOLSETS[name].tools()
        listed = {tool for tool, operation in operations.items() if operation.scope in scopes}
        if is_sandbox:
            listed = {tool for tool in listed if operations[tool].sandbox}
        return types.ListToolsResult(tools=[tool for tool in described(name) if tool.name in listed])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        with traced(services) as trace:
            try:
                operation = _operation(name, params.name)
                arguments = {**defaults_of(operation), **(params.arguments or {})}
                body = await operation.run(services, actor(), arguments, Face.MCP)
                failed = False
            except GraphmemError as exc:
                body, failed = orjson.dumps(exc.envelope(trace), default=str), True
        # canonical.decode keeps integers of any size exact.
        answer = canonical.decode(body)
        is_memory = not failed and having(params.name) == ["memory"]
        text = memory_tools.text(params.name, answer) if is_memory else body.decode()
        # A listed schema is that of answers. Clients refuse an error that does not fit it, its text included.
        is_text_only = failed and TOOLSETS[name].output_schemas
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content=None if is_text_only else answer,
            is_error=failed,
        )

    server = _McpServer(
        "graphmem",
        version=__version__,
        instructions=instructions_of(TOOLSETS[name].instructions, is_sandbox=is_sandbox),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    BesideTools(services, actor, TOOLSETS[name]).add_to(server)
    server.middleware.append(_counting(actor))
    return server


def _counting(actor: Callable[[], Actor]) -> ServerMiddleware[Any]:
    """Return what counts a message for its caller. A tool call counts as its operation."""

    async def count(ctx: ServerRequestContext[Any], call_next: CallNext) -> Any:
        if ctx.method != "tools/call":
            try:
                meter().count(RateClass.HEAVY if ctx.method in HEAVY else RateClass.READ, actor())
            except RateLimited as exc:
                raise refusal(exc, structlog.contextvars.get_contextvars().get("trace_id", "")) from exc
        return await call_next(ctx)

    return count
