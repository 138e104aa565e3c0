"""HTTP routes, made from the operations of the registry."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from graphmem.api.application import Application, Endpoint
from graphmem.api.body import read_json
from graphmem.api.headers import allowed
from graphmem.api.intake import Intake
from graphmem.api.limits import RateLimits
from graphmem.api.middleware import Gate
from graphmem.api.refusals import refusal
from graphmem.api.rest_routes import ROUTES, RestRoute, services_of
from graphmem.arguments import BODY_METHODS, from_query
from graphmem.auth import Actor, request_actor
from graphmem.auth.authenticator import Authenticate, Authenticator
from graphmem.auth.rates import meter
from graphmem.context import Services
from graphmem.database.jobs import waited_for
from graphmem.errors import Forbidden, InvalidInput, RouteNotFound, SandboxDisabled
from graphmem.mcp.http import McpEndpoint
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY, Face, Operation

MCP_PATHS = [f"{path}{end}" for path in ("/mcp", *(f"/mcp/{name}" for name in TOOLSETS)) for end in ("", "/")]


def create_app(
    services: Services, authenticate: Authenticate | None = None, *, limited: bool = True,
    face: Face = Face.REST,
) -> Application:  # fmt: skip
    """Return the service: every REST operation of the registry, the routes of REST alone, and ``/mcp``.

    The caller opens and closes ``services``. ``authenticate`` returns the actor of a request, by default that
    of its credential. ``limited``: whether callers have rate limits. ``face``: the one whose names of
    operations messages have; the command line gets its own ones in any case.
    """
    if authenticate is None:
        authenticate = Authenticator(
            services.database, services.settings, services.guard, services.credentials
        ).actor
    endpoint = McpEndpoint(services)

    @contextlib.asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    app = Application(lifespan, _no_route)
    app.state.services = services
    intake = Intake(services.settings)
    for operation in REGISTRY.values():
        for method, path in operation.routes:
            app.add(path, _endpoint(path, operation, services, intake, face), [method])
    for route in ROUTES:
        app.add(route.path, _rest_endpoint(route), [route.method])
    for path in MCP_PATHS:
        app.add(path, endpoint)
    app.gate = Gate(
        app.dispatch, services.settings, authenticate, services.metrics, services.tracer, methods=app.methods,
        limits=RateLimits(services.settings) if limited else None,
    )  # fmt: skip
    return app


def _endpoint(
    path: str, operation: Operation[Any], services: Services, intake: Intake, face: Face
) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        services.tracer.route(path)
        actor = request_actor(request.scope)
        # Before the body is read: a request that is refused costs little.
        operation.count(actor)
        operation.check_open(services.settings)
        if operation.takes_file and operation.scope in actor.scopes:
            async with intake.arguments(request, operation.arguments) as raw:
                return await answered(request, actor, raw)
        if request.method in BODY_METHODS:
            return await answered(request, actor, await read_json(request, services.settings))
        query = request.scope["query_string"]
        pairs = request.query_params.multi_items() if query else ()
        return await answered(request, actor, from_query(operation.arguments, pairs))

    async def answered(request: Request, actor: Actor, raw: dict[str, Any]) -> Response:
        for name, value in request.path_params.items():
            if raw.setdefault(name, value) != value:
                message = f"the path has {value!r:.100} and the arguments have another value"
                raise InvalidInput.at(f"$.{name}", message)
        with waited_for(request.is_disconnected):
            named = Face.CLI if actor.client == "cli" else face
            answer = await operation.run(services, actor, raw, named)
        return Response(answer, media_type="application/json")

    return endpoint


def _rest_endpoint(route: RestRoute) -> Endpoint:
    """Return the endpoint of a route of REST alone: it counts, and it wants the scope of the route."""

    async def endpoint(request: Request) -> Response:
        actor = request_actor(request.scope)
        meter().count(route.rate_class, actor)
        if services_of(request).settings.sandbox and not route.sandbox:
            raise SandboxDisabled(operation=route.name)
        if route.scope is not None and route.scope not in actor.scopes:
            raise Forbidden(needs=route.scope, operation=route.path.strip("/"))
        if route.scope is not None:
            await services_of(request).agent_grants.check(actor, route.name, route.scope)
        return await route.load()(request)

    return endpoint


async def _no_route(request: Request) -> Response:
    """Answer 404 for an unknown path or a wrong method, with the methods of the path."""
    path = request.url.path
    methods = request.app.methods(path)
    supported = sorted(methods - {"HEAD"})
    hint = f"use {' or '.join(supported)}" if supported else "GET /openapi.yaml lists every path"
    details = {"method": request.method, "path": path[:200], "supported": supported, "hint": hint}
    answer = refusal(RouteNotFound(**details), request.scope)
    if methods:
        answer.headers["Allow"] = allowed(methods)
    return answer
