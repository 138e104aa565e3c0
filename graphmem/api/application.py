"""The ASGI application: a gate that every request passes, and a table that finds its endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from graphmem import __version__

PREFIXES = ("", "/api")
"""Every path is served under each of these."""
Endpoint = Callable[[Request], Awaitable[Response]]


class Application(FastAPI):
    """The routes of a service, found in a table, and the gate before them.

    FastAPI tries its 250 patterns one after the other. A request over HTTP is dispatched here instead, by a
    look into the table. State, list of routes and lifespan are those of FastAPI.

    Attributes:
        gate: what every request over HTTP passes; by default nothing.
    """

    def __init__(
        self,
        lifespan: Callable[[Any], AbstractAsyncContextManager[None]],
        no_route: Endpoint,
    ) -> None:
        """``no_route``: what answers an unknown path."""
        super().__init__(
            title="graphmem",
            version=__version__,
            lifespan=lifespan,
            openapi_url=None,
            redirect_slashes=False,
            # FastAPI's own spans would send paths and query strings, with ids in them, to collectors.
            telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        )
        self.gate: ASGIApp = self.dispatch
        self._no_route = no_route
        self._table = Table()

    def add(self, path: str, endpoint: Endpoint | ASGIApp, methods: list[str] | None = None) -> None:
        """Add a route; without methods, ``endpoint`` is an ASGI application that gets every method."""
        routes = [Route(prefix + path, endpoint, methods=methods) for prefix in PREFIXES]
        self.router.routes.extend(routes)
        self._table.add(path, endpoint, routes[0].methods)

    def methods(self, path: str) -> set[str]:
        """Return the methods of a path besides OPTIONS, none for an unknown path."""
        return {method for methods in self._table.methods_of(path) for method in methods or ("POST",)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.gate(scope, receive, send)

    async def dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the endpoint of its path.

        Raises:
            GraphmemError: the endpoint refuses it.
        """
        match = self._table.find(scope["method"], scope["path"])
        if match is None:
            answer: ASGIApp = await self._no_route(Request(scope, receive))
        else:
            endpoint, scope["path_params"], is_application = match
            answer = endpoint if is_application else await endpoint(Request(scope, receive))
        await answer(scope, receive, send)


class Table:
    """Endpoints by path and method. A path without a place is found at once, before every path with one."""

    def __init__(self) -> None:
        self._fixed: dict[str, list[_Entry]] = {}
        self._placed: dict[tuple[int, str], list[_Entry]] = {}
        """By the number of segments and the first one."""

    def add(self, path: str, endpoint: Any, methods: set[str] | None) -> None:
        entry = _Entry(path, endpoint, methods)
        if entry.places:
            self._placed.setdefault((len(entry.segments), entry.segments[1]), []).append(entry)
        else:
            self._fixed.setdefault(path, []).append(entry)

    def find(self, method: str, path: str) -> tuple[Any, dict[str, str], bool] | None:
        """Return an endpoint, the values in its path, and whether it is an ASGI application."""
        for entry, values in self._matching(path):
            if entry.methods is None or method in entry.methods:
                return entry.endpoint, values, entry.methods is None
        return None

    def methods_of(self, path: str) -> Iterator[set[str] | None]:
        return (entry.methods for entry, _ in self._matching(path))

    def _matching(self, path: str) -> Iterator[tuple[_Entry, dict[str, str]]]:
        if path.startswith("/api/"):
            path = path[4:]
        for entry in self._fixed.get(path, ()):
            yield entry, {}
        segments = path.split("/")
        for entry in self._placed.get((len(segments), segments[1] if len(segments) > 1 else ""), ()):
            if (values := entry.values(segments)) is not None:
                yield entry, values


class _Entry:
    """An endpoint with the segments of its path, of which some are places for values."""

    def __init__(self, path: str, endpoint: Any, methods: set[str] | None) -> None:
        self.endpoint = endpoint
        self.methods = methods
        self.segments = path.split("/")
        self.places = {i: part[1:-1] for i, part in enumerate(self.segments) if part.startswith("{")}

    def values(self, segments: list[str]) -> dict[str, str] | None:
        for i, (own, sent) in enumerate(zip(self.segments, segments, strict=True)):
            if own != sent and (i not in self.places or not sent):
                return None
        return {name: segments[i] for i, name in self.places.items()}
