"""HTTP routes, made from the operations of the registry."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graphmem import __version__
from graphmem.api.body import Bounded, drained, read_json
from graphmem.api.headers import BrowserHeaders, Options
from graphmem.api.hosts import HostCheck
from graphmem.api.intake import Intake
from graphmem.api.middleware import Gate, Trace
from graphmem.api.refusals import challenged, refusal
from graphmem.api.rest_routes import ROUTES, Endpoint, RestRoute
from graphmem.api.turns import TakingTurns
from graphmem.arguments import BODY_METHODS, from_query
from graphmem.auth import request_actor
from graphmem.auth.authenticator import Authenticate, Authenticator
from graphmem.auth.rates import meter
from graphmem.database import failpoints
from graphmem.errors import Forbidden, GraphmemError, InternalError, InvalidInput, RouteNotFound
from graphmem.mcp.http import McpEndpoint
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY, Face, Operation, Services

PREFIXES = ("", "/api")
"""Every path is served under each of these."""
MCP_PATHS = ("/mcp", *(f"/mcp/{name}" for name in TOOLSETS))


def create_app(
    services: Services, authenticate: Authenticate | None = None, *, limited: bool = True
) -> FastAPI:
    """Return the service: every REST operation of the registry, the routes of REST alone, and ``/mcp``.

    The caller opens and closes ``services``. ``authenticate`` returns the actor of a request, by default that
    of its credential. ``limited``: whether callers have rate limits.
    """
    if authenticate is None:
        authenticate = Authenticator(
            services.database, services.settings, services.guard, services.credentials
        ).actor
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
    app.state.services = services
    intake = Intake(services.settings)
    for method, path, operation in sorted(_routes(), key=_static_first):
        _add(app, method, path, _endpoint(path, operation, services, intake))
    for route in ROUTES:
        _add(app, route.method, route.path, _rest_endpoint(route))
    bounded = Bounded(endpoint, services.settings)
    app.router.routes.extend(Route(prefix + path, bounded) for prefix in PREFIXES for path in MCP_PATHS)
    app.add_exception_handler(GraphmemError, _refused)
    app.add_exception_handler(HTTPException, _no_route)
    if limited:
        app.add_middleware(TakingTurns)
    app.add_middleware(Gate, settings=services.settings, authenticate=authenticate)
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


def _add(app: FastAPI, method: str, path: str, endpoint: Endpoint) -> None:
    for prefix in PREFIXES:
        app.router.routes.append(Route(prefix + path, endpoint, methods=[method]))


def _endpoint(path: str, operation: Operation[Any], services: Services, intake: Intake) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        services.tracer.route(path)
        actor = request_actor(request.scope)
        # Before the body is read: a request that is refused costs little.
        operation.count(actor)
        if operation.takes_file and operation.scope in actor.scopes:
            async with intake.arguments(request, operation.arguments) as raw:
                return await answered(request, raw)
        if request.method in BODY_METHODS:
            return await answered(request, await read_json(request, services.settings))
        return await answered(request, from_query(operation.arguments, request.query_params.multi_items()))

    async def answered(request: Request, raw: dict[str, Any]) -> Response:
        for name, value in request.path_params.items():
            if raw.setdefault(name, value) != value:
                message = f"the path has {value!r:.100} and the arguments have another value"
                raise InvalidInput(f"$.{name}: {message}", issues=[{"path": f"$.{name}", "message": message}])
        answer = await operation.run(services, request_actor(request.scope), raw, Face.REST)
        failpoints.reach("before", failpoints.ANSWER)
        return Response(answer, media_type="application/json")

    return endpoint


def _rest_endpoint(route: RestRoute) -> Endpoint:
    """Return the endpoint of a route of REST alone: it counts, and it wants the scope of the route."""

    async def endpoint(request: Request) -> Response:
        actor = request_actor(request.scope)
        meter().count(route.rate_class, actor)
        if route.scope is not None and route.scope not in actor.scopes:
            raise Forbidden(needs=route.scope, operation=route.path.strip("/"))
        return await route.endpoint(request)

    return endpoint


async def _refused(request: Request, exc: Exception) -> Any:
    assert isinstance(exc, GraphmemError)
    settings = request.app.state.services.settings
    return drained(challenged(refusal(exc, request.scope), exc, request.scope, settings), request.scope)


async def _no_route(request: Request, exc: Exception) -> Response:
    """Answer 404 for an unknown path or a wrong method, with the methods of the path."""
    assert isinstance(exc, HTTPException)
    if exc.status_code not in (404, 405):
        return refusal(InternalError(), request.scope)
    path = request.url.path
    supported = sorted(_methods(request.app, path))
    hint = f"use {' or '.join(supported)}" if supported else "GET /openapi.yaml lists every path"
    details = {"method": request.method, "path": path[:200], "supported": supported, "hint": hint}
    return refusal(RouteNotFound(**details), request.scope)


def _methods(app: FastAPI, path: str) -> set[str]:
    """Return the methods of a path, none for an unknown path."""
    routes = [route for route in app.router.routes if isinstance(route, Route)]
    return {
        method for route in routes if route.path_regex.match(path) for method in route.methods or ("POST",)
    } - {"HEAD"}
