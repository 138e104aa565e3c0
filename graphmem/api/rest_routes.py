"""The routes that REST alone has: pages, documents, redirects. Operations have theirs in the registry.

:mod:`graphmem.api.app` adds the routes of :data:`ROUTES`, and :mod:`graphmem.api.openapi` describes them. An
endpoint finds the services of its process at ``request.app.state.services``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from graphmem.api.public import is_public
from graphmem.auth import Scope
from graphmem.auth.rates import RateClass
from graphmem.errors import GraphmemError
from graphmem.observability import metrics
from graphmem.registry import Services

Endpoint = Callable[[Request], Awaitable[Response]]
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is no error. ``media_type`` is empty for an answer without a body."""

    status: int = 200
    media_type: str = JSON
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One route of REST alone.

    Attributes:
        name: the ``operationId``.
        scope: the scope that its caller needs; None: any caller may call it.
        rate_class: the limit that counts it.
        query: the schema of each parameter of the query string.
        bodies: the schema of the body of each media type.
        errors: the errors that it answers beyond those of every route.
    """

    method: str
    path: str
    name: str
    summary: str
    endpoint: Endpoint
    tag: str = "server"
    scope: Scope | None = None
    rate_class: RateClass = RateClass.READ
    answers: tuple[Answer, ...] = (Answer(),)
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    errors: tuple[type[GraphmemError], ...] = ()

    @property
    def is_public(self) -> bool:
        """Whether it needs no credential."""
        return is_public(self.path)


def services_of(request: Request) -> Services:
    """Return the services of the process that answers a request."""
    return request.app.state.services


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
    return Response(orjson.dumps(faces), media_type=JSON)


async def _describe(request: Request) -> Response:
    # That module describes the table below.
    from graphmem.api import openapi

    return Response(openapi.as_yaml(), media_type="application/yaml")


async def _measure(request: Request) -> Response:
    """Answer the metrics. They are about all owners, so they require the scope ADMIN."""
    return Response(services_of(request).metrics.text(), headers={"Content-Type": metrics.CONTENT_TYPE})


_FACES_SCHEMA: Final = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("name", "rest", "mcp", "docs", "ready")},
    "required": ["name", "rest", "mcp", "docs", "ready"],
}

ROUTES: Final = (
    RestRoute(
        "GET", "/", "get_faces", "The paths of the faces.", _name_faces,
        answers=(Answer(schema=_FACES_SCHEMA),),
    ),
    RestRoute(
        "GET", "/openapi.yaml", "get_openapi", "This description.", _describe,
        answers=(Answer(media_type="application/yaml"),),
    ),
    RestRoute(
        "GET", "/metrics", "get_metrics",
        "The metrics of this process in the text format of Prometheus.", _measure,
        scope=Scope.ADMIN, answers=(Answer(media_type="text/plain", schema={"type": "string"}),),
    ),
)  # fmt: skip
"""Every route of REST alone."""
