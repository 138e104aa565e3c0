"""What every request passes: the trace, and the credential."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import orjson
import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmem.api.body import Replayed
from graphmem.api.public import is_public
from graphmem.auth import Actor, public_actor
from graphmem.auth import Scope as Right
from graphmem.auth.authenticator import Authenticate, Caller
from graphmem.auth.rates import meter
from graphmem.errors import AuthInvalid, Forbidden, GraphmemError, InternalError, OAuthRefused, ServiceBusy
from graphmem.observability.logs import new_trace_id
from graphmem.observability.metrics import Metrics
from graphmem.observability.tracing import Tracer
from graphmem.settings import Settings

METADATA_PATH = "/.well-known/oauth-protected-resource"

_log = structlog.get_logger("graphmem.http")


def trace_id() -> str:
    """Return the trace id of the request under way."""
    return structlog.contextvars.get_contextvars().get("trace_id", "")


def refusal(error: GraphmemError) -> Response:
    """Return the HTTP answer for an error."""
    envelope = error.envelope(trace_id())
    members = _oauth_members(error) if isinstance(error, OAuthRefused) else {}
    body = orjson.dumps({**members, **envelope}, default=str)
    return Response(body, error.status, media_type="application/json", headers=error.answer_headers())


def _oauth_members(error: OAuthRefused) -> dict[str, str]:
    """Return what RFC 6749 (5.2) wants of an error, in the characters that it allows."""
    description = re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "'", str(error))
    return {"error": error.details.get("error", "invalid_request"), "error_description": description}


def challenged(answer: Response, error: GraphmemError, scope: Scope, settings: Settings) -> Response:
    """Add to a refusal how a client gets a credential: the header ``WWW-Authenticate`` (RFC 6750, RFC 9728).

    Under ``/mcp`` it names the metadata of the resource. Where a scope is missing, it names all scopes that
    the caller needs: those of its credential and the missing one.
    """
    path = scope["path"].removeprefix("/api")
    is_mcp = path == "/mcp" or path.startswith("/mcp/")
    metadata = f"{settings.advertised_url()}{METADATA_PATH}/mcp"
    if error.status == 401 and is_mcp:
        parts = [f'resource_metadata="{metadata}"', 'scope="read write"']
        parts += ['error="invalid_token"'] if isinstance(error, AuthInvalid) else []
        answer.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
    elif isinstance(error, Forbidden) and "needs" in error.details:
        actor = scope.get("state", {}).get("actor")
        scopes = {*(actor.scopes if isinstance(actor, Actor) else ()), error.details["needs"]}
        parts = [
            'error="insufficient_scope"',
            f'scope="{" ".join(each for each in Right if each in scopes)}"',
        ]
        parts += [f'resource_metadata="{metadata}"'] if is_mcp else []
        answer.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
    return answer


class Trace:
    """Give every request a trace id, count it, log it, and answer every fault with an envelope.

    The log line has the method and the path. The query string is left out because it may hold secrets.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, tracer: Tracer) -> None:
        self.app = app
        self.metrics = metrics
        self.tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with self.tracer.request(scope["method"], scope["headers"]):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        trace = self.tracer.trace_id() or new_trace_id()
        started: list[int] = []

        async def send_traced(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message["status"])
                MutableHeaders(scope=message)["X-Trace-Id"] = trace
            await send(message)

        with structlog.contextvars.bound_contextvars(trace_id=trace):
            begin = time.perf_counter()
            try:
                await self.app(scope, receive, send_traced)
            except asyncio.CancelledError:
                # A shutdown cancels requests that take too long. The caller gets an answer.
                if started:
                    raise
                stopping = ServiceBusy("the service is stopping: try again in a moment")
                await refusal(stopping)(scope, receive, send_traced)
            except Exception as exc:
                _log.exception("unexpected fault", method=scope["method"], path=scope["path"][:200])
                if started:
                    raise
                await refusal(exc if isinstance(exc, GraphmemError) else InternalError())(
                    scope, receive, send_traced
                )
            finally:
                # An operation logs its own line. A refusal before any operation is logged here only.
                status = started[0] if started else 0
                self.metrics.response(status)
                self.tracer.answered(status)
                (_log.info if status >= 400 else _log.debug)(
                    "request",
                    method=scope["method"],
                    path=scope["path"][:200],
                    status=status,
                    milliseconds=round((time.perf_counter() - begin) * 1000, 2),
                )


class Gate:
    """Put the actor of the credential into ``state.actor``, or refuse the request."""

    def __init__(self, app: ASGIApp, settings: Settings, authenticate: Authenticate) -> None:
        self.app = app
        self.settings = settings
        self.authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, body = Headers(scope=scope), Replayed(scope, receive, self.settings)
        try:
            if is_public(scope["path"].removeprefix("/api")):
                actor = public_actor()
            else:
                path, query = scope.get("raw_path") or b"", scope.get("query_string", b"")
                caller = Caller(scope["method"], path, query, headers, body.digest)
                with meter().attempt(headers.get("authorization")):
                    actor = await self.authenticate(caller)
            state: dict[str, Any] = scope.setdefault("state", {})
            state["actor"] = actor.named(headers.get("x-client-name", "rest"))
        except GraphmemError as exc:
            await challenged(refusal(exc), exc, scope, self.settings)(scope, receive, send)
            return
        await self.app(scope, body.receive, send)
