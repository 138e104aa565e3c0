"""HTTP routes, made from the operations of the registry."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphmem import __version__
from graphmem.api import openapi
from graphmem.api.body import Bounded, read_json
from graphmem.api.headers import BrowserHeaders, Options
from graphmem.api.hosts import HostCheck
from graphmem.api.middleware import Gate, Trace, refusal
from graphmem.arguments import BODY_METHODS, from_query
from graphmem.auth import Scope, request_actor
from graphmem.auth.authenticator import Authenticate, Authenticator
from graphmem.auth.rates import RateClass, meter
from graphmem.database import failpoints
from graphmem.errors import Forbidden, GraphmemError, InternalError, InvalidInput, RouteNotFound
from graphmem.mcp.http import McpEndpoint
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.observability import metrics
from graphmem.registry import REGISTRY, Face, Operation, Services

PREFIXES = ("", "/api")
"""Every path is served under each of these."""
MCP_PATHS = ("/mcp", *(f"/mcp/{name}" for name in TOOLSETS))


def create_app(
    services: Services, authenticate: Authenticate | None = None, *, limited: bool = True
) -> FastAPI:
    """Return the service: every REST operation of the registry, ``/openapi.yaml``, ``/metrics`` and ``/mcp``.

    The caller opens and closes ``services``. ``authenticate`` returns the actor of a request, by default that
    of its credential. ``limited``: whether callers have rate limits.
    """
    authenticate = authenticate or Authenticator(services.database, services.settings).actor
    endpoint = McpEndpoint(services)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    app = FastAPI(
        title="graphmem",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,
        redirect_slashes=False,
        # FastAPI's own spans would send paths and query strings, with ids in them, to collectors.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    for method, path, operation in sorted(_routes(), key=_static_first):
        _add(app, method, path, _endpoint(path, operation, services))
    _add(app, "GET", "/", _counted(_name_faces))
    _add(app, "GET", "/openapi.yaml", _counted(_describe))
    _add(app, "GET", "/metrics", _counted(_measure(services)))
    bounded = Bounded(endpoint, services.settings)
    app.router.routes.extend(Route(prefix + path, bounded) for prefix in PREFIXES for path in MCP_PATHS)
    app.add_exception_handler(GraphmemError, _refused)
    app.add_exception_handler(HTTPException, _no_route)
    public = frozenset(
        path for operation in REGISTRY.values() if operation.public for _, path in operation.routes
    )
    public |= {"/"}
    app.add_middleware(Gate, settings=services.settings, public=public, authenticate=authenticate)
    if limited:
        # Not above: a local service limits nobody, and starts sooner without the library.
        from graphmem.api.limits import RateLimiting

        app.add_middleware(RateLimiting, settings=services.settings)
    app.add_middleware(Options, settings=services.settings, methods=lambda path: _methods(app, path))
    app.add_middleware(HostCheck, settings=services.settings)
    app.add_middleware(Trace, metrics=services.metrics, tracer=services.tracer)
    # The last is the outermost: it sees the refusals of all others.
    app.add_middleware(BrowserHeaders, settings=services.settings)
    return app


def _routes() -> Iterator[tuple[str, str, Operation[Any]]]:
    for operation in REGISTRY.values():
        if Face.REST in operation.faces:
            yield from ((method, path, operation) for method, path in operation.routes)


def _static_first(route: tuple[str, str, Operation[Any]]) -> list[bool]:
    """Sort key of routes: ``/entities/duplicates`` must be tried before ``/entities/{entity_id}``."""
    return [segment.startswith("{") for segment in route[1].split("/")]


def _add(app: FastAPI, method: str, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
    for prefix in PREFIXES:
        app.router.routes.append(Route(prefix + path, endpoint, methods=[method]))


def _endpoint(
    path: str, operation: Operation[Any], services: Services
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        services.tracer.route(path)
        # Before the body is read: a request that is refused costs little.
        operation.count(request_actor(request.scope))
        if request.method in BODY_METHODS:
            raw = await read_json(request, services.settings)
        else:
            raw = from_query(operation.arguments, request.query_params.multi_items())
        for name, value in request.path_params.items():
            if raw.setdefault(name, value) != value:
                message = f"the path has {value!r:.100} and the arguments have another value"
                raise InvalidInput(f"$.{name}: {message}", issues=[{"path": f"$.{name}", "message": message}])
        answer = await operation.run(services, request_actor(request.scope), raw, Face.REST)
        failpoints.reach("before", failpoints.ANSWER)
        return Response(answer, media_type="application/json")

    return endpoint


def _counted(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that counts its requests as reads."""

    async def counted(request: Request) -> Response:
        meter().count(RateClass.READ, request_actor(request.scope))
        return await endpoint(request)

    return counted


def _measure(services: Services) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of the metrics. They are about all owners, so they require the scope ADMIN."""

    async def endpoint(request: Request) -> Response:
        if Scope.ADMIN not in request_actor(request.scope).scopes:
            raise Forbidden(needs=Scope.ADMIN, operation="metrics")
        return Response(services.metrics.text(), headers={"Content-Type": metrics.CONTENT_TYPE})

    return endpoint


async def _name_faces(request: Request) -> Response:
    """Answer the paths of the faces, for callers who know the address only."""
    prefix = request.url.path.rstrip("/")
    faces = {
        "name": "graphmem",
        "rest": f"{prefix}/",
        "mcp": f"{prefix}/mcp",
        "docs": f"{prefix}/openapi.yaml",
        "ready": f"{prefix}/health/ready",
    }
    return Response(orjson.dumps(faces), media_type="application/json")


async def _describe(request: Request) -> Response:
    return Response(openapi.as_yaml(), media_type="application/yaml")


async def _refused(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, GraphmemError)
    return refusal(exc)


async def _no_route(request: Request, exc: Exception) -> Response:
    """Answer 404 for an unknown path or a wrong method, with the methods of the path."""
    assert isinstance(exc, HTTPException)
    if exc.status_code not in (404, 405):
        return refusal(InternalError())
    path = request.url.path
    supported = sorted(_methods(request.app, path))
    hint = f"use {' or '.join(supported)}" if supported else "GET /openapi.yaml lists every path"
    details = {"method": request.method, "path": path[:200], "supported": supported, "hint": hint}
    return refusal(RouteNotFound(**details))


def _methods(app: FastAPI, path: str) -> set[str]:
    """Return the methods of a path, none for an unknown path."""
    routes = [route for route in app.router.routes if isinstance(route, Route)]
    return {
        method for route in routes if route.path_regex.match(path) for method in route.methods or ("POST",)
    } - {"HEAD"}
