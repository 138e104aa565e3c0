"""What an MCP server offers beside its tools: resources, prompts, and completion of what they take.

Each answer is that of an operation, with its scope, limits, errors and log line. So nobody reads, or is
proposed, what is another owner's.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import mcp_types as types
import structlog
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from graphmem.arguments import PAGE_LIMIT
from graphmem.auth import Actor, Scope
from graphmem.changes.change_feed import ChangeFeed
from graphmem.context import Services
from graphmem.errors import (
    AuthInvalid,
    AuthRequired,
    CursorOfAnotherDatabase,
    Forbidden,
    GraphmemError,
    RouteNotFound,
)
from graphmem.mcp import app_view
from graphmem.mcp.resource_updates import ENTITY, OPERATION, RECENT, RETRY_SECONDS, SCHEMA, Watch
from graphmem.mcp.toolsets import TABLE, Toolset, context_text, prompts_of
from graphmem.model import canonical
from graphmem.model.comparison import fold_text
from graphmem.observability.logs import new_trace_id
from graphmem.registry import REGISTRY, Face

PAGE_SIZE: Final = 50  # resources that one page lists
CHARACTERS_LIMIT: Final = 20_000  # characters of one resource, as of the answer of a tool
VALUES_LIMIT: Final = 100  # values of one completion; MCP allows no more
TYPED_LIMIT: Final = 200  # characters of a typed text that is searched for
MIME_TYPE: Final = "application/json"
"""A resource is the JSON that REST answers: programs can parse it, and it has the ids and the provenance.

The same in sentences goes with a prompt.
"""
_PART_OF_ID: Final = re.compile(r"(ent_[0-9a-f]{0,24})?", re.ASCII)


class ResourceKind(NamedTuple):
    """The operation that reads a resource, and its argument that the URI of a template has."""

    operation: str
    argument: str
    description: str


KINDS: Final = {uri: ResourceKind(**row) for uri, row in TABLE["resources"].items()}
"""The kinds of resources by their URI or their template."""
RECENT_RESOURCE: Final = types.Resource(
    uri=RECENT, name="recent", description=KINDS[RECENT].description, mime_type=MIME_TYPE
)
"""The resource that is listed without the database."""


@contextlib.contextmanager
def traced(services: Services) -> Iterator[str]:
    """Give the trace id of the message under way, and bind it to the log lines of the block."""
    bound = structlog.contextvars.get_contextvars()
    trace = services.tracer.trace_id() or bound.get("trace_id") or new_trace_id()
    with structlog.contextvars.bound_contextvars(trace_id=trace):
        yield trace


def refusal(error: GraphmemError, trace: str) -> MCPError:
    """Return an error of JSON-RPC whose data is an envelope. What is not there is a wrong parameter."""
    code = types.INVALID_PARAMS if error.status in (400, 404) else types.INTERNAL_ERROR
    return MCPError(code, str(error), dict(error.envelope(trace)))


class BesideTools:
    """The resources, prompts and completions of one server. ``actor`` returns who sent the message."""

    def __init__(self, services: Services, actor: Callable[[], Actor], toolset: Toolset) -> None:
        self._services = services
        self._actor = actor
        self._prompts = prompts_of(toolset)

    def add_to(self, server: Server[Any]) -> None:
        """Let a server answer the methods; a toolset with no prompt has no use for the rest either.

        There are no sessions: a client listens by a request that lasts.
        """
        if not self._prompts:
            return
        page, answer = types.PaginatedRequestParams, server.add_request_handler
        answer("resources/templates/list", page, self._list_templates)
        answer("prompts/list", page, self._list_prompts)
        answer("resources/list", page, partial(self._answered, self._list_resources))
        answer("resources/read", types.ReadResourceRequestParams, partial(self._answered, self._read))
        answer("prompts/get", types.GetPromptRequestParams, partial(self._answered, self._get_prompt))
        answer("completion/complete", types.CompleteRequestParams, partial(self._answered, self._complete))
        answer("subscriptions/listen", types.SubscriptionsListenRequestParams, self._listen)

    async def _answered(self, handler: Callable[[Any], Awaitable[Any]], message: Any, params: Any) -> Any:
        with traced(self._services) as trace:
            try:
                return await handler(params)
            except GraphmemError as exc:
                raise refusal(exc, trace) from exc

    async def _run(self, name: str, **arguments: Any) -> bytes:
        return await REGISTRY[name].run(self._services, self._actor(), arguments, Face.MCP)

    async def _list_templates(self, message: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[
            types.ResourceTemplate(
                name=template.split("/")[2],
                uri_template=template,
                description=kind.description,
                mime_type=MIME_TYPE,
            )
            for template, kind in KINDS.items()
            if kind.argument
        ])  # fmt: skip

    async def _list_resources(self, params: types.PaginatedRequestParams) -> types.ListResourcesResult:
        """List what changed and the schemas in use. Entities have a template alone, because they are many.

        While the database starts, what changed is listed alone: clients list at their start, and wait for it.
        """
        if Scope.READ not in self._actor().scopes:
            return types.ListResourcesResult(resources=[])
        page: dict[str, Any] = {"schemas": []}
        if not await self._services.availability.error():
            page = canonical.decode(await self._run("schemas.list", cursor=params.cursor, limit=PAGE_SIZE))
        names = [schema["entity_type"] for schema in page["schemas"]]
        resources = [
            types.Resource(
                uri=SCHEMA.replace("{type}", quote(name, safe="")),
                name=f"schema of {name}",
                mime_type=MIME_TYPE,
            )
            for name in names
        ]
        if params.cursor is None:
            resources.insert(0, RECENT_RESOURCE)
        return types.ListResourcesResult(resources=resources, next_cursor=page.get("next_cursor"))

    async def _read(self, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri == app_view.URI:
            view = types.TextResourceContents(
                uri=params.uri, mime_type=app_view.MIME_TYPE, text=app_view.document()
            )
            return types.ReadResourceResult(contents=[view])
        for template, kind in KINDS.items():
            start = template.partition("{")[0]
            if params.uri.startswith(start) if kind.argument else params.uri == start:
                arguments = {kind.argument: unquote(params.uri.removeprefix(start))} if kind.argument else {}
                body = await self._run(kind.operation, **arguments, max_characters=CHARACTERS_LIMIT)
                contents = types.TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=body.decode())
                return types.ReadResourceResult(contents=[contents])
        raise RouteNotFound(f"the server has no resource {params.uri[:100]!r}", templates=[*KINDS])

    async def _list_prompts(self, message: Any, params: Any) -> types.ListPromptsResult:
        scopes = self._actor().scopes
        return types.ListPromptsResult(prompts=[
            types.Prompt(name=name, description=prompt.description, arguments=[
                types.PromptArgument(
                    name=prompt.argument,
                    description=prompt.argument_description,
                    required=prompt.is_required,
                )
            ])
            for name, prompt in self._prompts.items()
            if all(REGISTRY[operation].scope in scopes for operation in prompt.operations)
        ])  # fmt: skip

    async def _get_prompt(self, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise RouteNotFound(f"the server has no prompt {params.name[:100]!r}", prompts=[*self._prompts])
        about = prompt.about(params.arguments or {})
        phrase = about if prompt.is_required or not about else f" about {about}"
        texts = [prompt.text.replace("{about}", phrase)]
        if prompt.context_tokens:
            body = await self._run("context.retrieve", question=about, budget=prompt.context_tokens)
            texts.append(context_text(canonical.decode(body)))
        contents = [types.TextContent(type="text", text=text) for text in texts]
        return types.GetPromptResult(
            description=prompt.description,
            messages=[types.PromptMessage(role="user", content=content) for content in contents],
        )

    async def _complete(self, params: types.CompleteRequestParams) -> types.CompleteResult:
        reference, argument = params.ref, params.argument.name
        typed = params.argument.value.strip()[:TYPED_LIMIT]
        named = reference.uri if isinstance(reference, types.ResourceTemplateReference) else reference.name
        if (named, argument) == (SCHEMA, "type"):
            values = await self._types(typed.lower())
        elif (named, argument) == (ENTITY, "id"):
            values = [entity["entity_id"] for entity in await self._entities(typed)]
        elif named in self._prompts and argument == self._prompts[named].argument:
            values = [entity["canonical_name"] for entity in await self._entities(typed)]
        else:
            raise RouteNotFound(f"the server has no {named[:100]!r} with the argument {argument[:100]!r}")
        values = list(dict.fromkeys(value for value in values if value))
        # Of entities no more are read than are proposed, so a full answer may have left some out.
        return types.CompleteResult(
            completion=types.Completion(values=values[:VALUES_LIMIT], has_more=len(values) >= VALUES_LIMIT)
        )

    async def _entities(self, typed: str) -> list[dict[str, Any]]:
        """Return the newest entities whose ids begin with a text, or else the entities that it names."""
        by = {"search": typed}
        if _PART_OF_ID.fullmatch(typed):
            by = {"sort_by": "last_observation_at", "sort_order": "desc"}
        body = await self._run("entities.query", **by, include_snapshots=False, limit=VALUES_LIMIT)
        entities = canonical.decode(body)["entities"]
        if "search" not in by:
            return [entity for entity in entities if entity["entity_id"].startswith(typed)]
        begun = re.compile(rf"\b{re.escape(fold_text(typed))}")
        # A search also answers what resembles a text without having it in its name.
        return [
            entity
            for entity in entities
            if "match" not in entity or begun.search(fold_text(entity["canonical_name"] or ""))
        ]

    async def _types(self, typed: str) -> list[str]:
        """Return the entity types with a text in their name. Shipped ones that are not in use need a text."""
        body = await self._run(
            "schemas.list", keyword=typed or None, include_shipped=bool(typed), limit=PAGE_LIMIT
        )
        names = [schema["entity_type"] for schema in canonical.decode(body)["schemas"]]
        return sorted((n for n in names if typed in n), key=lambda name: (not name.startswith(typed), name))

    async def _listen(self, message: Any, params: types.SubscriptionsListenRequestParams) -> Any:
        """Tell of changes until the client ends the request, its credential ends, or the process stops."""
        uris, bus = params.notifications.resource_subscriptions or [], InMemorySubscriptionBus()
        handler, feed = ListenHandler(bus), self._services.of(ChangeFeed)

        async def tell(watch: Watch) -> None:
            try:
                await self._tell(watch, uris, lambda uri: bus.publish(ResourceUpdated(uri=uri)))
            finally:
                handler.close()

        async def begin(_: Any) -> Watch:
            feed.check_room()
            return await self._follow(Watch())

        watch = await self._answered(begin, message, params)
        with feed.watching(self._actor().owner):
            telling = asyncio.create_task(tell(watch))
            try:
                return await handler(message, params)
            finally:
                telling.cancel()

    async def _follow(self, watch: Watch, uris: Collection[str] = ()) -> Watch:
        """Ask what changed, or at first from which place on."""
        watch.take(canonical.decode(await self._run(OPERATION, **watch.arguments)), uris)
        return watch

    async def _tell(
        self, watch: Watch, uris: Collection[str], tell: Callable[[str], Awaitable[None]]
    ) -> None:
        while not self._services.of(ChangeFeed).is_ending:
            try:
                await self._follow(watch, uris)
            except GraphmemError as exc:
                watch.fail(exc, uris)
                await asyncio.sleep(RETRY_SECONDS)
            try:
                await self._services.agent_grants.check_again(self._actor(), OPERATION)
            except (AuthInvalid, AuthRequired, CursorOfAnotherDatabase, Forbidden):
                return
            for uri in watch.changed:
                await tell(uri)
