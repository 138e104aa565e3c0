"""What the socket of a local service answers: the greeting at once, all else once the service is ready.

Who knows the secret of the socket is the local account, or the account that a header names. Requests need no
other credential, and they have no rate limits. Bodies have no limit of size.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hmac
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from graphmem.cli.agents import hook_call, hook_events
from graphmem.cli.agents.hook_transport import NoAnswer, Reach
from graphmem.errors import AuthRequired, GraphmemError
from graphmem.observability.logs import new_trace_id
from graphmem.service import greeting, wire
from graphmem.settings import Settings

if TYPE_CHECKING:
    from graphmem.api.application import Application
    from graphmem.context import Services

Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

BODY_BYTES_LIMIT = 2_000_000_000


class Front:
    """The ASGI application of the socket, while the service starts, serves and ends."""

    def __init__(self, settings: Settings, socket: Path, serves: str | None = None) -> None:
        """``serves``: the address of `graphmem serve` if it has the socket; a signal stops it."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._identity = greeting.identity(settings) | {
            "pid": os.getpid(),
            "socket": str(socket),
            "started_at": now,
            "serves": serves,
        }
        self._secret = wire.secret_headers(socket)
        self.doing = "starting the local service"
        self.stopped = asyncio.Event()
        """Set once somebody asks the service to stop."""
        self.is_asked_to_stop = False  # by a command, not by a signal
        self.failure_read = asyncio.Event()
        """Set once a caller has read why the start failed."""
        self.was_used = False  # by a request other than that for the greeting
        self.requests = 0
        """Requests under way, without those for the greeting."""
        self._app: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._error: Mapping[str, Any] | None = None
        self._settings = settings
        self._used = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request ended; 0 while one is under way."""
        return 0.0 if self.requests else time.monotonic() - self._used

    @property
    def is_ready(self) -> bool:
        return self._app.done() and self._error is None

    def fetching(self, what: str, done: int, total: int) -> None:
        """Tell that the database is being fetched; ``done`` and ``total`` are bytes."""
        self.doing = f"fetching {what}: {done / 1e6:.0f} of {total / 1e6:.0f} MB"
        if done >= total:
            self.doing = "starting the database"

    def ready(self, app: Any) -> None:
        """Let all requests through to ``app``."""
        self._used = time.monotonic()
        self._app.set_result(app)
        # What agents told while no service was there.
        self._delivering = asyncio.create_task(self._deliver(self._reach("graphmem")))

    def fail(self, error: GraphmemError, trace_id: str) -> None:
        self._error = envelope = error.envelope(trace_id)
        self._app.set_result(lambda scope, receive, send: _answer(send, error.status, envelope))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the local service does not speak {scope['type']}")
        secret = self._secret.get(wire.SECRET_HEADER, "").encode()
        sent = dict(scope["headers"]).get(wire.SECRET_HEADER.lower().encode(), b"")
        if scope["path"] == greeting.PATH:
            await _answer(send, 200, self.greeting())
            if self._error:
                self.failure_read.set()
        elif scope["path"] == greeting.STOP_PATH and scope["method"] == "POST":
            if self._identity["serves"] is None:
                self.is_asked_to_stop = True
                self.stopped.set()
            await _answer(send, 200, self.greeting())
        elif not (secret and hmac.compare_digest(sent, secret)):
            error = AuthRequired(f"this socket wants the secret beside it in the header {wire.SECRET_HEADER}")
            await _answer(send, error.status, error.envelope(new_trace_id()))
        elif scope["path"] == hook_call.PATH and not self.is_ready:
            await _answer(send, 503, self.greeting())
        else:
            self.requests += 1
            self.was_used = True
            try:
                if scope["path"] == hook_call.PATH:
                    await self._hook(receive, send)
                else:
                    await (await asyncio.shield(self._app))(scope, receive, send)
            finally:
                self.requests -= 1
                self._used = time.monotonic()

    async def _hook(self, receive: Receive, send: Send) -> None:
        """Do what a hook of an agent asks for. It hears first that the service does not hang."""
        body, message = b"", {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
        )
        hook, text, turns = orjson.loads(body), "", None
        with contextlib.suppress(Exception):
            event = json.loads(hook["stdin"] or "{}")
            reach = self._reach(hook["agent"], hook["account"], hook_call.SECONDS[hook["kind"]])
            text, turns = await asyncio.to_thread(
                hook_events.answer, hook["kind"], reach, {"cwd": hook["folder"], **event}
            )
        await send({"type": "http.response.body", "body": text.encode()})
        await self._deliver(turns)

    async def _deliver(self, turns: Reach | None) -> None:
        with contextlib.suppress(NoAnswer, OSError):
            await asyncio.to_thread(hook_events.deliver, turns)

    def _reach(self, agent: str, account: str | None = None, seconds: float | None = None) -> Reach:
        """Return how hooks that run in this process call it: over its own socket, as every program does."""
        keys = self._app.result().state.services.keys
        return Reach(agent, account=account, settings=self._settings, keys=keys, seconds=seconds)

    def greeting(self) -> dict[str, Any]:
        state = greeting.STARTING
        if self.stopped.is_set():
            state = greeting.STOPPING
        elif self._app.done():
            state = greeting.FAILED if self._error else greeting.READY
        changing = {"state": state, "doing": self.doing, "requests": self.requests, "error": self._error}
        return {**self._identity, **changing, "idle_seconds": round(self.idle_seconds, 1)}


def create_local_app(services: Services) -> Application:
    """Return the HTTP application for the socket. Its messages name operations as the command line does."""
    from graphmem.api.app import create_app
    from graphmem.auth import ACCOUNT_HEADER, Actor, Method
    from graphmem.auth.authenticator import Caller
    from graphmem.auth.shared_account import person_actor
    from graphmem.auth.signed_requests import SignedRequests
    from graphmem.registry import Face

    signatures = SignedRequests(services.settings, wire.SOCKET_URL)

    async def authenticate(caller: Caller) -> Actor:
        account = caller.headers.get(ACCOUNT_HEADER)
        # Who knows the secret of the socket is the local account, which may act as every other one.
        name = None if account is None else unquote(account)
        actor = await person_actor(services.database, services.settings, name, "rest", Method.SOCKET)
        return await signatures.signed(actor, caller)

    unlimited = services.settings.model_copy(update={"max_body_bytes": BODY_BYTES_LIMIT})
    services = dataclasses.replace(services, settings=unlimited)
    return create_app(services, authenticate, limited=False, face=Face.CLI)


async def _answer(send: Send, status: int, answer: Mapping[str, Any]) -> None:
    body = orjson.dumps(answer, default=str)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
