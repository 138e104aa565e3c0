"""The routes that REST alone has: pages, documents, redirects, files. Operations have theirs in the registry.

:mod:`graphmem.api.app` adds them, and :mod:`graphmem.api.openapi` describes them. Their functions find the
services by :func:`services_of`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from graphmem import errors, tables
from graphmem.api.public_paths import is_public
from graphmem.auth import Scope
from graphmem.auth.rates import RateClass
from graphmem.context import Services
from graphmem.errors import GraphmemError

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
STREAM_PATH: Final = "/events/stream"


def is_stream(path: str, mcp_method: str | None = None) -> bool:
    """Return whether an answer lasts until its caller goes away.

    ``mcp_method``: the header ``Mcp-Method``. The MCP package refuses a request whose body has another one.
    """
    first = path.removeprefix("/api")
    is_mcp = first == "/mcp" or first.startswith("/mcp/")
    return first == STREAM_PATH or (is_mcp and mcp_method == "subscriptions/listen")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is no error. ``media_type`` is empty for an answer without a body."""

    status: int = 200
    media_type: str = JSON
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One route of REST alone."""

    method: str
    path: str
    name: str  # the ``operationId``
    summary: str
    tag: str = "server"
    scope: Scope | None = None  # the scope that its caller needs; None: any caller may call it
    rate_class: RateClass = RateClass.READ  # the limit that counts it
    answers: tuple[Answer, ...] = (Answer(),)
    # The schemas of parameters of the path and of the query string, of headers, and of bodies by media type.
    path_parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    headers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    errors: tuple[type[GraphmemError], ...] = ()  # the errors that it answers beyond those of every route
    is_oauth: bool = False  # whether its errors have the members of RFC 6749 beside those of the envelope
    # Whether the browser of a person opens it: its errors are pages for whoever accepts one.
    is_page: bool = False
    sandbox: bool = True  # whether the public sandbox allows it
    # Its function, as ``module:function`` in this folder; imported when a service begins.
    endpoint: str = field(kw_only=True)

    def load(self) -> Callable[[Request], Awaitable[Response]]:
        module, _, function = self.endpoint.partition(":")
        return getattr(importlib.import_module(f"graphmem.api.{module}"), function)

    @property
    def is_public(self) -> bool:
        return is_public(self.path)


def services_of(request: Request) -> Services:
    return request.app.state.services


_TABLE: Final[Mapping[str, Any]] = tables.read("api/rest_routes")


def _texts(names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of each parameter: a text, but for what the table says of it."""
    return {name: {"type": "string", **_TABLE["parameters"].get(name, {})} for name in names}


def _schema(name: str) -> dict[str, Any]:
    schema = dict(_TABLE["schemas"][name])
    members = schema.pop("members", None)
    return {"type": "object", "properties": _texts(members), **schema} if members else schema


def _errors(names: Sequence[str]) -> Iterator[type[GraphmemError]]:
    """Yield the errors of some names, each of which may also be that of several errors."""
    for name in names:
        if name in _TABLE["errors"]:
            yield from _errors(_TABLE["errors"][name])
        else:
            yield getattr(errors, name)


def _route(row: Mapping[str, Any]) -> RestRoute:
    answers = (Answer(status, kind, *map(_schema, schema)) for status, kind, *schema in row["answers"])
    made: dict[str, Any] = {
        **row,
        "answers": tuple(answers),
        "path_parameters": _texts(re.findall(r"{(\w+)}", row["path"])),
        "query": _texts(row.get("query", ())),
        "headers": _texts(row.get("headers", ())),
        "bodies": {media_type: _schema(name) for media_type, name in row.get("bodies", {}).items()},
        "errors": tuple(_errors(row.get("errors", ()))),
        "scope": Scope(row["scope"]) if "scope" in row else None,
        "rate_class": RateClass(row.get("rate_class", RateClass.READ)),
    }
    return RestRoute(**made)


ROUTES: Final = tuple(map(_route, _TABLE["routes"]))

_BY_METHOD_AND_PATH: Final = {(route.method, route.path): route for route in ROUTES}


def route_of(method: str, path: str) -> RestRoute | None:
    """Return the route of REST alone that a request has, with or without the prefix ``/api``."""
    return _BY_METHOD_AND_PATH.get((method, path.removeprefix("/api")))
