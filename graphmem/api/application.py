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

PREFIXES = ("", "/api")  # every path is served under each of these
Endpoint = Callable[[Request], Awaitable[Response]]


class Application(FastAPI):
    """The routes of a service, found in a table, and the gate before them.

    FastAPI tries its 250 patterns one after the other. A request over HTTP is dispatched here instead, by a
    look into the table. State, routes with their patterns, and lifespan are those of FastAPI.

    ``gate``: what every request over HTTP passes; by default nothing.
    """

    def __init__(
        self, lifespan: Callable[[Any], AbstractAsyncContextManager[None]], no_route: Endpoint
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
        self._table.add(routes[0])

    def methods(self, path: str) -> set[str]:
        """Return the methods of a path besides OPTIONS, none for an unknown path."""
        return {method for route, _ in self._table.matching(path) for method in route.methods or ("POST",)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.gate(scope, receive, send)

    async def dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the endpoint of its path; raises GraphmemError: the endpoint refuses it."""
        match = self._table.find(scope["method"], scope["path"])
        if match is None:
            answer: ASGIApp = await self._no_route(Request(scope, receive))
        else:
            route, scope["path_params"] = match
            answer = (
                route.endpoint if route.methods is None else await route.endpoint(Request(scope, receive))
            )
        await answer(scope, receive, send)


class Table:
    """Routes by path and method. A path without a place is found at once, before every path with one."""

    def __init__(self) -> None:
        self._fixed: dict[str, list[Route]] = {}
        self._placed: dict[tuple[int, str], list[Route]] = {}
        """By the number of segments and the first one."""

    def add(self, route: Route) -> None:
        if route.param_convertors:
            self._placed.setdefault(_beginning(route.path), []).append(route)
        else:
            self._fixed.setdefault(route.path, []).append(route)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """Return a route and the values in its path. One without methods gets every method."""
        for route, values in self.matching(path):
            if route.methods is None or method in route.methods:
                return route, values
        return None

    def matching(self, path: str) -> Iterator[tuple[Route, dict[str, str]]]:
        if path.startswith("/api/"):
            path = path[4:]
        for route in self._fixed.get(path, ()):
            yield route, {}
        for route in self._placed.get(_beginning(path), ()):
            if (match := route.path_regex.match(path)) is not None:
                yield route, match.groupdict()


def _beginning(path: str) -> tuple[int, str]:
    segments = path.split("/", 2)
    return path.count("/"), segments[1] if len(segments) > 1 else ""
