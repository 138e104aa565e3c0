"""The routes of REST alone, and the one list of what needs no credential."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from mcp import Client

from graphmem.api.application import PREFIXES
from graphmem.api.openapi import document
from graphmem.api.public_paths import PUBLIC_PATHS, PUBLIC_PREFIXES, is_public
from graphmem.api.rest_routes import ROUTES
from graphmem.auth import ALL_SCOPES, Scope
from graphmem.context import Services
from graphmem.mcp.tools import create_server
from graphmem.registry import REGISTRY, Face
from tests.faces.test_http_edges import sender
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.walks import walk_over

DECLARED = {path: operation.public for operation in REGISTRY.values() for _, path in operation.routes}
PATHS = sorted({*DECLARED, *(route.path for route in ROUTES), *PUBLIC_PATHS})


def test_public_operations_and_routes_are_those_of_the_constant() -> None:
    operations = {path for path, public in DECLARED.items() if public}
    public = {route.path for route in ROUTES if is_public(route.path)}
    routes = {path for path in public if not path.startswith(PUBLIC_PREFIXES)}
    assert operations | routes == PUBLIC_PATHS
    assert not any(is_public(path) for path, public in DECLARED.items() if not public)


@walk_over("path", PATHS)
def test_a_path_needs_a_credential_unless_the_constant_names_it(loop: Loop, app: Any, path: str) -> None:
    methods = {method for operation in REGISTRY.values() for method, each in operation.routes if each == path}
    methods |= {route.method for route in ROUTES if route.path == path}
    http = sender(loop, app)
    for method in sorted(methods):
        for prefix in PREFIXES:
            answer = http(method, prefix + re.sub(r"{\w+}", "x", path))
            is_refused = answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer")
            assert is_refused == (not is_public(path)), (method, path, answer.text)


def test_every_route_is_described_with_its_refusals() -> None:
    paths = document()["paths"]
    declared = {
        (method.lower(), path)
        for operation in REGISTRY.values() if Face.REST in operation.faces
        for method, path in operation.routes
    } | {(route.method.lower(), route.path) for route in ROUTES}  # fmt: skip
    assert {(method, path) for path, methods in paths.items() for method in methods} == declared
    for path, methods in paths.items():
        for described in methods.values():
            wanted = {"403", "503"} if is_public(path) else {"401", "403", "503"}
            assert wanted <= set(described["responses"]), path
            limited = path not in ("/health", "/health/ready")
            assert not limited or "429" in described["responses"], path
            assert (described.get("security") == []) == is_public(path), path


def test_no_parameter_of_a_path_may_be_null() -> None:
    operations = [described for methods in document()["paths"].values() for described in methods.values()]
    in_path = [
        each for described in operations for each in described.get("parameters", ()) if each["in"] == "path"
    ]
    assert in_path
    assert not [each["name"] for each in in_path if "'null'" in str(each["schema"])]


def test_tools_that_the_scopes_do_not_allow_are_not_listed(loop: Loop, services: Services) -> None:
    async def listed(scopes: frozenset[Scope]) -> set[str]:
        actor = replace(full_actor("nobody"), scopes=scopes)
        async with Client(create_server(services, lambda: actor, "full")) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    every, reading = loop.run(listed(ALL_SCOPES)), loop.run(listed(frozenset({Scope.READ})))
    hidden = {operation.tool for operation in REGISTRY.values() if operation.scope is not Scope.READ}
    assert reading == every - hidden
    assert "store" in every - reading
