"""What every request passes: the trace, and the credential."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmem.api.body import Replayed, drained
from graphmem.api.public import is_public
from graphmem.api.refusals import challenged, refusal
from graphmem.auth import public_actor
from graphmem.auth.authenticator import Authenticate, Caller
from graphmem.auth.rates import meter
from graphmem.errors import GraphmemError, InternalError, ServiceBusy
from graphmem.observability.logs import new_trace_id
from graphmem.observability.metrics import Metrics
from graphmem.observability.tracing import Tracer
from graphmem.settings import Settings

_log = structlog.get_logger("graphmem.http")
_stdlib_log = logging.getLogger("graphmem.http")


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
                message["headers"] = [*message.get("headers", ()), (b"x-trace-id", trace.encode())]
            await send(message)

        bound = structlog.contextvars.bind_contextvars(trace_id=trace)
        begin = time.perf_counter()
        try:
            await self.app(scope, receive, send_traced)
        except asyncio.CancelledError:
            # A shutdown cancels requests that take too long. The caller gets an answer.
            if started:
                raise
            stopping = ServiceBusy("the service is stopping: try again in a moment")
            await refusal(stopping, scope)(scope, receive, send_traced)
        except Exception as exc:
            _log.exception("unexpected fault", method=scope["method"], path=scope["path"][:200])
            if started:
                raise
            error = exc if isinstance(exc, GraphmemError) else InternalError()
            await refusal(error, scope)(scope, receive, send_traced)
        finally:
            status = started[0] if started else 0
            self.metrics.response(status)
            self.tracer.answered(status)
            # An operation logs its own line. A refusal before any operation is logged here only.
            if status >= 400 or _stdlib_log.isEnabledFor(logging.DEBUG):
                (_log.info if status >= 400 else _log.debug)(
                    "request",
                    method=scope["method"],
                    path=scope["path"][:200],
                    status=status,
                    milliseconds=round((time.perf_counter() - begin) * 1000, 2),
                )
            structlog.contextvars.reset_contextvars(**bound)


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
            answer = challenged(refusal(exc, scope), exc, scope, self.settings)
            await drained(answer, scope)(scope, receive, send)
            return
        await self.app(scope, body.receive, send)
