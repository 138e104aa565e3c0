"""Messages and hints name operations as their face does: by route, by tool or by command."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.client import Client
from graphmem.errors import GraphmemError, NotFound
from graphmem.registry import REGISTRY, Face, reworded, reworded_error
from tests.support.faces import Call
from tests.support.service import Service

ROUTE = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /[a-z0-9_/{}-]+")
NOBODY = "rel_" + "0" * 24
WINE = {"entity_type": "wine", "fields": {"name": {"type": "string"}, "year": "number"}}


def unregistered(call: Call) -> dict[str, Any]:
    return call("schemas.update", entity_type="nothing_known", new_fields={"a": "string"})


def no_relationship(call: Call) -> dict[str, Any]:
    return call("relationships.get", relationship_id=NOBODY)


def nothing_to_delete(call: Call) -> dict[str, Any]:
    return call("relationships.delete", relationship_key=f"WORKS_AT:ent_{'0' * 24}:ent_{'1' * 24}")


def undeclared_field(call: Call) -> dict[str, Any]:
    call("schemas.register", schema=WINE)
    return call("store", entities=[{"entity_type": "wine", "name": "a", "colour": "red"}])


def wrong_type(call: Call) -> dict[str, Any]:
    call("schemas.register", schema=WINE)
    return call("store", entities=[{"entity_type": "wine", "name": "a", "year": "last"}])


def deleted_entity(call: Call) -> dict[str, Any]:
    entity = {"entity_type": "person", "name": "Ada"}
    ada = call("store", entities=[entity])["entities"][0]["entity_id"]
    with contextlib.suppress(NotFound):
        call("entities.delete", entity_id=ada)
    return call("store", entities=[{**entity, "role": "x"}])


def unknown_relationship_type(call: Call) -> dict[str, Any]:
    return call("relationships.list", relationship_type="WHATEVER_THIS_IS")


CITED: dict[Callable[[Call], dict[str, Any]], str] = {
    unregistered: "schemas.register",
    no_relationship: "relationships.list",
    nothing_to_delete: "relationships.list",
    undeclared_field: "schemas.update",
    wrong_type: "schemas.update",
    deleted_entity: "entities.restore",
    unknown_relationship_type: "relationship_types.list",
}
"""Calls whose answer or error cites an operation."""


def answer_text(cause: Callable[[Call], dict[str, Any]], call: Call) -> str:
    """Return the answer or the error of a call as text."""
    try:
        return json.dumps(cause(call))
    except GraphmemError as exc:
        return json.dumps([str(exc), exc.details])


@pytest.mark.parametrize("cause", CITED)
def test_an_operation_is_named_as_the_face_names_it(
    request: pytest.FixtureRequest, cause: Callable[[Call], dict[str, Any]]
) -> None:
    operation = REGISTRY[CITED[cause]]
    method, path = operation.routes[0]
    names = {
        "rest": f"{method} {path}",
        "mcp": f"`{operation.tool}`",
        "cli": f"`graphmem {' '.join(operation.command)}`",
    }
    for face, name in names.items():
        text = answer_text(cause, request.getfixturevalue(face))
        assert name in text, face
        assert [other for other in names.values() if other != name and other in text] == []
        assert bool(ROUTE.search(text)) == (face == "rest")


def test_the_command_line_names_commands_of_a_service_too(service: Service) -> None:
    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        with Client(service.url, service.token, "cli") as client:
            return json.loads(client.call(REGISTRY[name].routes[0], arguments))

    for cause in (no_relationship, undeclared_field):
        text = answer_text(cause, call)
        assert f"`graphmem {' '.join(REGISTRY[CITED[cause]].command)}`" in text
        assert not ROUTE.search(text)


def test_stored_text_is_never_reworded(call: Call) -> None:
    note = {
        "entity_type": "note",
        "title": "POST /store",
        "text": "GET /entities and POST /list_observations",
    }
    entity = call("store", entities=[note])["entities"][0]
    assert call("entities.get", entity_id=entity["entity_id"])["snapshot"]["text"] == note["text"]
    assert (
        call("entities.query", search="observations")["entities"][0]["snapshot"]
        == entity["entity_snapshot_after"]
        == {"title": note["title"], "text": note["text"]}
    )


def test_callers_of_several_faces_may_get_the_same_error() -> None:
    """A turn that fails gives one error to all that wait for it."""
    error = NotFound("there is none: see POST /list_relationships", hint="call GET /entities")
    error.trace_id = "1"
    texts = {}
    for face in (Face.CLI, Face.MCP, Face.REST):
        worded = reworded_error(error, face)
        texts[face] = (str(worded), worded.details["hint"])
        assert (type(worded), worded.trace_id) == (NotFound, "1")
    assert texts[Face.REST] == ("there is none: see POST /list_relationships", "call GET /entities")
    assert texts[Face.MCP] == ("there is none: see `list_relationships`", "call `retrieve_entities`")
    assert "`graphmem relationships list`" in texts[Face.CLI][0]
    assert (str(error), error.details["hint"]) == texts[Face.REST]


def cited() -> Iterator[str]:
    """Yield the routes that texts of the code cite. A string that is a route alone declares it."""
    for file in Path(graphmem.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if not re.search(r"(?:GET|POST|PUT|PATCH|DELETE) /", text):
            continue
        tree = ast.parse(text)
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                yield from (route for route in ROUTE.findall(node.value) if route != node.value)


def test_every_cited_route_has_a_name_on_each_face() -> None:
    # REST alone has these.
    routes = set(cited()) - {"GET /openapi", "GET /sandbox/terms", "POST /sandbox/report"}
    assert {"POST /register_schema", "POST /list_relationships"} <= routes
    for route in routes:
        for face in (Face.MCP, Face.CLI):
            assert reworded(route, face) != route, route
