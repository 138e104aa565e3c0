"""What every request passes before its endpoint: one gate, which looks once and passes on.

All requests of a process run in one thread. If one account sends many at once, a request of another account
would wait at each of its steps for all of them. So while several accounts are present, each has a share of
the requests that run, and the others of its requests wait here, first come, first served. An account that is
alone has the whole process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
import time
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from zoneinfo import ZoneInfo

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmem.api.body import Replayed, drained, inflated
from graphmem.api.headers import SANDBOX_HEADER, BrowserHeaders, HostCheck, SentHeaders
from graphmem.api.limits import RateLimits, RequestMeter
from graphmem.api.public_paths import is_public
from graphmem.api.refusals import challenged, refusal
from graphmem.api.rest_routes import is_stream
from graphmem.auth import HOOK_HEADER, Actor, Method, public_actor
from graphmem.auth import Scope as AuthScope
from graphmem.auth.authenticator import Authenticate, Caller
from graphmem.auth.message_signatures import HEADERS as SIGNATURE_HEADERS
from graphmem.auth.rates import Meter, measured
from graphmem.database.admission import Admission
from graphmem.errors import CursorOfAnotherDatabase, Forbidden, GraphmemError, InternalError, ServiceBusy
from graphmem.model import times
from graphmem.observability.logs import new_trace_id
from graphmem.observability.metrics import Metrics
from graphmem.observability.tracing import Tracer
from graphmem.receipts.collected import BY_HOOK
from graphmem.settings import Settings

PLACES: Final = 8  # requests that run at once while several accounts are present
PLACES_MIN: Final = 2  # requests of each account that run at once, however many accounts are present
PRESENCE_SECONDS: Final = 1.0  # seconds for which an account is present after the start of its last request


class Turns(Admission):
    """The requests that run in one process, and those that wait for their turn, however long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(PLACES, math.inf, math.inf)
        self._clock = clock
        self._seen: dict[str, float] = {}
        """When the last request of each account that is present began, the earliest first."""

    def turn(self, account: str) -> AbstractAsyncContextManager[None]:
        """Wait until a request of the account may run, and hold its place for the block."""
        now = self._clock()
        self._seen.pop(account, None)
        self._seen[account] = now
        for name, seen in list(self._seen.items()):
            if seen > now - PRESENCE_SECONDS:
                break
            if not self._running[name]:
                del self._seen[name]
        return self.place(account)

    def _is_free(self, owner: str) -> bool:
        present = len(self._seen)
        return present < 2 or self._running[owner] < max(PLACES_MIN, PLACES // present)


_log = structlog.get_logger("graphmem.http")
_stdlib_log = logging.getLogger("graphmem.http")
_ID = re.compile(r"[a-z]{2,4}_[0-9a-f]{8,64}", re.ASCII)  # ids, which the log may have


_ZONE = re.compile(r"(?:^|[\s,;])timezone=\"?([\w/+-]{1,64})", re.ASCII | re.IGNORECASE)


def _preferred_zone(headers: SentHeaders) -> ZoneInfo | None:
    """Return the time zone that a request prefers (RFC 7240), ``None`` if it names none that is known."""
    name = _ZONE.search(headers.get("prefer", ""))
    with contextlib.suppress(KeyError, OSError, ValueError):
        return times.zone_of(name[1]) if name else None
    return None


class Gate:
    """Trace a request, check its host, its credential and its limits, and answer every fault of it.

    The log line has the method and the path. The query string is left out because it may hold secrets.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, authenticate: Authenticate, metrics: Metrics, tracer: Tracer,
        *, methods: Callable[[str], Collection[str]], limits: RateLimits | None,
    ) -> None:  # fmt: skip
        """``methods`` returns the methods of a path. Without ``limits`` nobody is limited or takes turns."""
        self._app = app
        self._settings = settings
        self._authenticate = authenticate
        self._metrics = metrics
        self._tracer = tracer
        self._methods = methods
        self._limits = limits
        self._hosts = HostCheck(settings)
        self._browsers = BrowserHeaders(settings)
        self._every = [(SANDBOX_HEADER.lower().encode(), b"1")] if settings.sandbox else []
        self._turns = None if limits is None else Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = SentHeaders.of(scope)
        meter = Meter() if self._limits is None else RequestMeter(self._limits, scope)
        with self._tracer.request(scope["method"], scope["headers"]), measured(meter):
            trace = self._tracer.trace_id() or new_trace_id()
            answer = _Answer(
                send, [*self._every, (b"x-trace-id", trace.encode())], self._browsers, headers.get("origin"),
                meter,
            )  # fmt: skip
            bound = structlog.contextvars.bind_contextvars(trace_id=trace)
            begin = time.perf_counter()
            try:
                await self._pass(scope, headers, Replayed(scope, receive, self._settings), answer, meter)
            except asyncio.CancelledError:
                # A shutdown cancels requests that take too long. The caller gets an answer.
                if answer.status:
                    raise
                stopping = ServiceBusy("the service is stopping: try again in a moment")
                await refusal(stopping, scope)(scope, receive, answer.send)
            except Exception as exc:
                _log.exception("unexpected fault", method=scope["method"], path=self._logged_path(scope))
                if answer.status:
                    raise
                error = exc if isinstance(exc, GraphmemError) else InternalError()
                await refusal(error, scope)(scope, receive, answer.send)
            finally:
                self._ended(scope, answer.status, begin)
                structlog.contextvars.reset_contextvars(**bound)

    async def _pass(
        self, scope: Scope, headers: SentHeaders, body: Replayed, answer: _Answer, meter: Meter
    ) -> None:
        """Answer a request, or refuse it. A fault that is no refusal, or comes too late, is raised."""
        try:
            self._hosts.check(headers)
            if scope["method"] == "OPTIONS" and (methods := self._methods(scope["path"])):
                await self._browsers.preflight(methods, headers)(scope, body.receive, answer.send)
                return
            actor = await self._actor(scope, headers, body, meter)
            scope.setdefault("state", {})["actor"] = actor
            lasts = is_stream(scope["path"], headers.get("mcp-method"))
            times.ZONE.set(_preferred_zone(headers))
            BY_HOOK.set(headers.get(HOOK_HEADER.lower()) is not None)
            receive = inflated(scope, body.receive, headers.get("content-encoding", ""))
            if self._turns is None or not actor.account or lasts:
                await self._app(scope, receive, answer.send)
            else:
                # Everybody in a sandbox is one account: there the addresses take turns.
                is_shared = actor.method is Method.SANDBOX
                async with self._turns.turn(meter.address if is_shared else actor.account):
                    await self._app(scope, receive, answer.send)
        except GraphmemError as exc:
            if answer.status:
                raise
            refused = challenged(refusal(exc, scope), exc, scope, self._settings)
            await drained(refused, scope)(scope, body.receive, answer.send)

    async def _actor(self, scope: Scope, headers: SentHeaders, body: Replayed, meter: Meter) -> Actor:
        """Return the actor of the credential. A read that takes long checks the credential again."""
        if is_public(scope["path"].removeprefix("/api")):
            actor = public_actor()
        else:
            path, query = scope.get("raw_path") or b"", scope.get("query_string", b"")
            caller = Caller(scope["method"], path, query, headers, scope["headers"], body)
            with meter.attempt(headers.get("authorization")):
                actor = await self._authenticate(caller)
            meter.credential_holds = partial(self._check_again, caller, actor.owner)
        return actor.named(headers.get("x-client-name", "rest"))

    async def _check_again(self, caller: Caller, owner: str, needed: AuthScope) -> None:
        """Check that the credential of a request that lasts still holds, and is of the same owner.

        The signature of an agent is for a moment: it was checked when the request came.

        Raises:
            AuthInvalid, AuthRequired, Forbidden: it does not, or has lost the scope.
            CursorOfAnotherDatabase: the caller has other data now, as a sandbox was wiped.
        """
        kept = ((name, value) for name, value in caller.headers.items() if name not in SIGNATURE_HEADERS)
        actor = await self._authenticate(replace(caller, headers=SentHeaders(kept)))
        if needed not in actor.scopes:
            raise Forbidden(needs=needed)
        if actor.owner != owner:
            raise CursorOfAnotherDatabase

    def _ended(self, scope: Scope, status: int, begin: float) -> None:
        self._metrics.responses(str(status)).inc()
        self._tracer.answered(status)
        # An operation logs its own line. A refusal before any operation is logged here only.
        if status >= 400 or _stdlib_log.isEnabledFor(logging.DEBUG):
            (_log.info if status >= 400 else _log.debug)(
                "request", method=scope["method"], path=self._logged_path(scope), status=status,
                milliseconds=round((time.perf_counter() - begin) * 1000, 2),
            )  # fmt: skip

    def _logged_path(self, scope: Scope) -> str:
        """Return the path of a request with dots in place of what is no id, as it may be a stored value.

        Of a path that no operation has, nothing is logged: it may be a secret.
        """
        path = scope["path"]
        if "path_params" not in scope:
            # It was refused before it had a route.
            first, slash, _ = path[1:].partition("/")
            return "/…" if not self._methods(path) else f"/{first[:50]}/…" if slash else path[:50]
        for name, value in scope["path_params"].items():
            text = str(value)
            if text and name != "entity_type" and not _ID.fullmatch(text):
                path = path.replace(text, "…")
        return path[:200]


@dataclass(slots=True)
class _Answer:
    """Sends the answer of one request with the headers of every answer. ``status`` is 0 until it begins."""

    _send: Send
    _every: list[tuple[bytes, bytes]]
    _browsers: BrowserHeaders
    _origin: str | None
    _meter: Meter
    status: int = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers: list[Any] = [*message.get("headers", ())]
            if isinstance(self._meter, RequestMeter):
                headers += await self._meter.headers()
            headers += self._every
            message["headers"] = self._browsers.completed(headers, self._origin)
        await self._send(message)
