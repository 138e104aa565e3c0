"""Everything that answers over HTTP, from the registry and the tables: tests attack what is added unasked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from starlette.routing import Route

from graphmem.api.app import MCP_PATHS
from graphmem.api.application import PREFIXES
from graphmem.api.rest_routes import JSON, ROUTES, is_public
from graphmem.arguments import BODY_METHODS
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY
from tests.support.faces import in_query

OPERATIONS: Final = sorted(
    (method, path, operation.name) for operation in REGISTRY.values() for method, path in operation.routes
)
"""The routes of operations: method, path, and the name of the operation."""

EVERY: Final = sorted(
    {(method, path) for method, path, _ in OPERATIONS}
    | {(route.method, route.path) for route in ROUTES}
    | {("POST", path) for path in MCP_PATHS}
)
"""Every method and path, without the prefix ``/api``."""

GUARDED: Final = [(method, path) for method, path in EVERY if not is_public(path)]
"""Those that need a credential."""

WITH_BODY: Final = sorted(
    {(method, path, JSON) for method, path, _ in OPERATIONS if method in BODY_METHODS}
    | {("POST", path, JSON) for path in MCP_PATHS}
    | {(route.method, route.path, media_type) for route in ROUTES for media_type in route.bodies}
)
"""Those that take a body, with each media type of it."""

TOOLS: Final = sorted((toolset, tool) for toolset, kind in TOOLSETS.items() for tool in kind.tools())
"""The tools that each toolset lists."""

MCP_HEADERS: Final = {"Accept": "application/json, text/event-stream"}


def of_app(app: Any) -> set[tuple[str, str]]:
    """Return every method and path of an application, without the prefix ``/api``."""
    return {
        (method, path)
        for route in app.router.routes
        if isinstance(route, Route)
        for method in (route.methods or {"POST"}) - {"HEAD"}
        for path in [route.path.removeprefix(PREFIXES[1])]
    }


def url(path: str, value: str = "x") -> str:
    """Return a path with a value in each of its places."""
    return re.sub(r"{\w+}", quote(value, safe=""), path)


def request_of(method: str, path: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the address of a request, and the body or the query as httpx takes it."""
    rest = dict(arguments)
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(str(rest.pop(name, "x")), safe=""))
    if method in BODY_METHODS:
        return path, {"content": json.dumps(rest), "headers": {"Content-Type": JSON}}
    return path, {"params": {name: in_query(value) for name, value in rest.items()}}


def call_of(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that calls a tool."""
    params = {"name": tool, "arguments": dict(arguments)}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
