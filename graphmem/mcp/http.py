"""MCP over streamable HTTP, at ``/mcp`` and at ``/mcp/<toolset>``.

The toolset is that of the path, else that of the header ``X-MCP-Tools``, else that of the settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Coroutine
from contextvars import ContextVar
from functools import partial
from typing import Any

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from graphmem.api.body import Replayed
from graphmem.auth import Actor, request_actor
from graphmem.auth.rates import measured, meter
from graphmem.context import Services
from graphmem.database.jobs import waited_for
from graphmem.errors import Forbidden, InvalidInput, MethodNotAllowed
from graphmem.mcp.protocol import BATCHED, is_id
from graphmem.mcp.tools import create_server
from graphmem.mcp.toolsets import TOOLSETS, all_tools

HEADER = "X-MCP-Tools"
VERSION_HEADER = "MCP-Protocol-Version"  # the version that has batches has no such header yet
BATCH_LIMIT = 100  # messages of a batch; one of more is refused
PROGRESS_SECONDS = 4.0
_LIST = re.compile(rb"\s*\[")
_EVENTS = (b"content-type", b"text/event-stream")
_actor: ContextVar[Actor] = ContextVar("mcp_actor")


class McpEndpoint:
    """The endpoint as an ASGI application, without sessions.

    The middleware has checked host, origin and credential. Without sessions a GET would stay open for ever
    and a DELETE would have nothing to end: both answer 405.
    """

    def __init__(self, services: Services) -> None:
        self._settings = services.settings
        self._managers = {
            name: StreamableHTTPSessionManager(
                create_server(services, _actor.get, name, is_sandbox=services.settings.sandbox),
                json_response=True,
                stateless=True,
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                max_request_body_size=services.settings.max_body_bytes,
            )
            for name in TOOLSETS
        }

        self._scopes = frozenset(operation.scope for operation in all_tools().values())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the session manager of each toolset, once per application."""
        async with contextlib.AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    def _manager(self, scope: Scope) -> StreamableHTTPSessionManager:
        """Return the session manager of the toolset that a request chooses.

        Raises InvalidInput: the header names no toolset.
        """
        chosen = {str(name): manager for name, manager in self._managers.items()}
        name = scope["path"].rstrip("/").rpartition("/")[2]
        if name not in chosen:
            name = Headers(scope=scope).get(HEADER, self._settings.mcp_tools)
        if name not in chosen:
            raise InvalidInput(
                f"{HEADER} is {name[:100]!r}: the toolsets are {', '.join(chosen)}", toolsets=[*chosen]
            )
        return chosen[name]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A body may hold a file, as an argument of a tool.
        body = Replayed(scope, receive, self._settings, holds_file=True)
        content = await body.read()
        if scope["method"] != "POST":
            raise MethodNotAllowed
        manager = self._manager(scope)
        headers, actor = Headers(scope=scope), request_actor(scope)
        is_limited = not actor.scopes >= self._scopes
        # The package reads each message, which may hold a file: it is read here only where that is of use.
        is_read = is_limited or _LIST.match(content) or b"progressToken" in content
        message: Any = _decoded(content) if is_read else None
        is_list = isinstance(message, list) and 0 < len(message) <= BATCH_LIMIT
        is_batch = is_list and headers.get(VERSION_HEADER, BATCHED) == BATCHED
        token = _progress_token(message) if "text/event-stream" in headers.get("accept", "") else None
        scope, send = _acceptable(scope, send)
        if is_limited:
            for each in message if isinstance(message, list) else [message]:
                _check_scope(actor, each)
        acting = _actor.set(actor.named("mcp") if actor.client == "rest" else actor)
        try:
            with waited_for(Request(scope, body.receive).is_disconnected):
                if is_batch:
                    await _answer_batch(manager, message, scope, send)
                elif token is not None:
                    await _tell_progress(_collected(manager, scope, body.receive), token, send)
                else:
                    await manager.asgi_app(scope, body.receive, send)
        finally:
            _actor.reset(acting)


def _acceptable(scope: Scope, send: Send) -> tuple[Scope, Send]:
    """Return a request that takes JSON, and a sender that answers as the request itself accepts.

    Without a header every type is accepted (RFC 9110, 12.5.1). Some proxies accept an event stream alone: the
    answer is one event then.
    """
    accepted = Headers(scope=scope).get("accept", "").lower()
    types = {each.partition(";")[0].strip() for each in accepted.split(",")}
    is_stream = "text/event-stream" in types and types.isdisjoint(("application/json", "*/*"))
    if accepted.strip() and not is_stream:
        return scope, send
    headers = [each for each in scope["headers"] if each[0] != b"accept"]
    accepting = {**scope, "headers": [*headers, (b"accept", b"application/json")]}
    return accepting, partial(_send_event, send) if is_stream else send


async def _collected(manager: StreamableHTTPSessionManager, scope: Scope, receive: Receive) -> list[Message]:
    """Return what a manager sends to a request."""
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    await manager.asgi_app(scope, receive, keep)
    return messages


def _body(messages: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in messages)


async def _answer_batch(
    manager: StreamableHTTPSessionManager, batch: list[Any], scope: Scope, send: Send
) -> None:
    """Answer a batch of JSON-RPC, as 2025-03-26 has it: a list of the answers, none to notifications."""
    answers: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(each).encode(), "more_body": False}

    for each in batch:  # noqa: B007 (the messages are received one by one)
        with measured(meter().again()):
            answers += filter(None, [_body(await _collected(manager, scope, receive))])
    body = b"[" + b",".join(answers) + b"]" if answers else None
    await Response(body, 200 if body else 202, media_type="application/json")(scope, receive, send)


async def _tell_progress(answer: Coroutine[Any, Any, list[Message]], token: int | str, send: Send) -> None:
    """Send an answer when it is there; where that takes long, as an event after events of progress."""
    task, seconds = asyncio.create_task(answer), 0.0
    try:
        while not (await asyncio.wait({task}, timeout=PROGRESS_SECONDS))[0]:
            if not seconds:
                await send({"type": "http.response.start", "status": 200, "headers": [_EVENTS]})
            seconds += PROGRESS_SECONDS
            params = {"progressToken": token, "progress": seconds, "message": f"{seconds:g} s"}
            notification = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            event = {"type": "http.response.body", "body": orjson.dumps(notification), "more_body": True}
            await _send_event(send, event)
        messages = await task
    finally:
        task.cancel()
    if seconds:
        await _send_event(send, {"type": "http.response.body", "body": _body(messages)})
    for message in () if seconds else messages:
        await send(message)


async def _send_event(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        headers = MutableHeaders(raw=list(message["headers"]))
        if headers.get("content-type", "").startswith("application/json"):
            headers["content-type"] = "text/event-stream"
            del headers["content-length"]
            message = {**message, "headers": headers.raw}
    elif message.get("body"):
        message = {**message, "body": b"event: message\ndata: " + message["body"] + b"\n\n"}
    await send(message)


def _decoded(body: bytes) -> Any:
    """Return the message of a request, None if it is no JSON: the MCP package refuses it."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _progress_token(message: Any) -> int | str | None:
    try:
        token = message["params"]["_meta"]["progressToken"]
    except (LookupError, TypeError):
        return None
    return token if is_id(token) else None


def _check_scope(actor: Actor, request: Any) -> None:
    """Check before an answer begins that the caller has the scope of the tool that a request calls.

    The refusal is then one of HTTP, by which clients ask for a wider token. Where the caller can get none,
    the answer is an error of the tool: clients would open a browser in vain.

    Raises Forbidden: it has not, and may ask for it.
    """
    try:
        called = str(request["params"]["name"]) if request["method"] == "tools/call" else ""
        operation = all_tools().get(called)
    except (LookupError, TypeError):
        return
    if operation is not None and operation.scope in actor.grantable - actor.scopes:
        raise Forbidden(needs=operation.scope, operation=operation.name)
