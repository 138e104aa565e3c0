"""MCP over streamable HTTP, at exactly ``/mcp``."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextvars import ContextVar

import orjson
import structlog
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from graphmem.auth import Actor, request_actor
from graphmem.errors import MethodNotAllowed
from graphmem.mcp.tools import create_server
from graphmem.registry import Services

_actor: ContextVar[Actor] = ContextVar("mcp_actor")


class McpEndpoint:
    """The endpoint as an ASGI application, without sessions.

    The middleware has checked host, origin and credential. Without sessions a GET would stay open for ever
    and a DELETE would have nothing to end: both answer 405.
    """

    def __init__(self, services: Services) -> None:
        self._manager = StreamableHTTPSessionManager(
            create_server(services, _actor.get),
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=services.settings.max_body_bytes,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the session manager, once per application."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            error = MethodNotAllowed()
            trace = structlog.contextvars.get_contextvars().get("trace_id", "")
            body = orjson.dumps(error.envelope(trace))
            answer = Response(body, error.status, media_type="application/json", headers=error.headers)
            await answer(scope, receive, send)
            return
        actor = request_actor(scope)
        token = _actor.set(actor.named("mcp") if actor.client == "rest" else actor)
        try:
            await self._manager.asgi_app(scope, receive, send)
        finally:
            _actor.reset(token)
