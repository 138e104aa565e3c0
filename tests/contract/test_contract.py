"""What the public contract says of operations, errors and the service."""

from __future__ import annotations

import json
import re

from typer.testing import CliRunner

from graphmem import arguments, tables
from graphmem.api.openapi import document
from graphmem.api.public_paths import is_public
from graphmem.api.rest_routes import ROUTES
from graphmem.arguments import Arguments
from graphmem.cli.main import app
from graphmem.errors import CATALOGUE, SandboxDisabled, SetupError
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.registry import REGISTRY, Face, Operation
from graphmem.settings import Settings, variable
from tests.contract import snapshots
from tests.support.walks import walk_over

OPERATIONS = list(REGISTRY.values())
STATUSES = {200, 201, 400, 401, 403, 404, 409, 410, 413, 429, 500, 503}
"""Those of the interface; 405 is for GET and DELETE at /mcp alone."""
REDIRECTS = {"/mcp/oauth/authorize": {302}, "/mcp/oauth/consent": {302, 303}}
"""The statuses of the routes that a browser follows."""
BYTES = {path: {206, 304, 416} for path in ("/signed_file", "/sources/{source_id}/content")}
BYTES |= {path: {304} for path in ("/", "/app/{version}/{folder}/{file}")}
"""The statuses of the routes that answer the bytes of files, also those of the page."""


def test_the_snapshots_and_the_reference_are_current() -> None:
    assert snapshots.stale() == []


def test_every_setting_but_those_of_tests_stands_in_the_reference() -> None:
    page = snapshots.REFERENCE.read_text(encoding="utf-8")
    assert tables.read("settings").keys() <= Settings.model_fields.keys()
    assert {name for name in Settings.model_fields if f"`{variable(name)}`" not in page} == {
        "neo4j_fast_start", "acquisition_timeout", "connection_timeout", "read_timeout", "write_timeout",
        "heavy_wait", "retry_seconds", "oauth_refresh_grace", "objects_connect_timeout",
        "objects_read_timeout", "objects_attempts",
    }  # fmt: skip


def test_the_table_of_faces_has_a_row_for_each_operation() -> None:
    assert tables.read("operations/faces").keys() == REGISTRY.keys()


def test_the_table_of_arguments_is_of_classes_of_arguments() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    assert tables.read("arguments").keys() <= {kind.__name__ for kind in below(Arguments)}


@walk_over("operation", OPERATIONS)
def test_an_operation_is_on_every_face_or_says_why_not(operation: Operation) -> None:
    assert (operation.faces is Face.ALL) == (not operation.reason)


@walk_over("operation", OPERATIONS)
def test_an_operation_says_what_it_does_and_what_its_arguments_are(operation: Operation) -> None:
    assert operation.summary.endswith(".")
    schema = operation.arguments.model_json_schema()
    undescribed = [name for name, field in schema.get("properties", {}).items() if not _described(field)]
    assert undescribed == []


def _described(field: dict) -> bool:
    return (
        bool(field.get("description"))
        or "$ref" in field
        or any("description" in p for p in field.get("anyOf", ()))
    )


def test_operations_are_listed_by_name() -> None:
    assert list(REGISTRY) == sorted(REGISTRY)


@walk_over("operation", OPERATIONS)
def test_the_example_of_an_operation_fits_its_arguments(operation: Operation) -> None:
    arguments.read(operation.arguments, operation.name, operation.example)


def test_names_of_tools_commands_and_routes_are_unique() -> None:
    for names in (
        [o.tool for o in OPERATIONS if o.tool],
        [o.command for o in OPERATIONS if o.command],
        [route for o in OPERATIONS for route in o.routes],
    ):
        assert len(names) == len(set(names))


def test_a_name_in_the_description_of_the_api_means_one_shape() -> None:
    shapes: dict[str, set[str]] = {}
    for operation in OPERATIONS:
        answer = operation.result.json_schema(mode="serialization")
        for described in (answer, operation.arguments.model_json_schema()):
            for name, shape in described.get("$defs", {}).items():
                shapes.setdefault(name, set()).add(json.dumps(shape, sort_keys=True))
    assert [name for name, found in shapes.items() if len(found) > 1] == []


def test_every_documented_status_is_one_of_the_interface() -> None:
    for path, item in document()["paths"].items():
        answered = {int(status) for described in item.values() for status in described["responses"]}
        assert answered <= STATUSES | (REDIRECTS | BYTES).get(path, set()), path


def test_every_error_has_a_status_of_the_interface() -> None:
    of_services = [e for e in CATALOGUE.values() if not issubclass(e, SetupError)]
    assert {e.status for e in of_services} - {405, 416} <= STATUSES


@walk_over("operation", [o for o in OPERATIONS if o.command])
def test_the_help_of_a_command_has_an_example(operation: Operation) -> None:
    shown = CliRunner().invoke(app, [*operation.command, "--help"]).stdout
    assert re.search(r"Example", shown)


def test_each_toolset_has_the_metadata_of_a_resource_of_its_own() -> None:
    paths = {route.path for route in ROUTES}
    assert paths >= {f"/.well-known/oauth-protected-resource/mcp/{name}" for name in TOOLSETS}


def test_the_interface_of_this_version_is_all_there() -> None:
    routes = {f"{method} {path}" for o in OPERATIONS for method, path in o.routes}
    wanted = {
        "POST /store", "POST /entities/query", "GET /entities/{entity_id}", "POST /get_entity_snapshot",
        "GET /entities/{entity_id}/observations", "POST /list_observations", "GET /observations",
        "POST /observations/query", "POST /observations/create", "POST /get_field_provenance",
        "POST /retrieve_entity_by_identifier", "GET /entities/{entity_id}/relationships",
        "POST /retrieve_related_entities", "GET /schemas", "GET /schemas/{entity_type}", "GET /stats",
        "POST /register_schema", "POST /update_schema_incremental", "POST /analyze_schema_candidates",
        "POST /get_schema_recommendations",
        "GET /health", "GET /server-info",
    }  # fmt: skip
    assert wanted <= routes


def test_the_description_names_what_the_gate_and_the_registry_refuse() -> None:
    closed = {r for o in OPERATIONS if not o.sandbox or SandboxDisabled in o.errors for r in o.routes}
    closed |= {(route.method, route.path) for route in ROUTES if not route.sandbox}
    for path, item in document()["paths"].items():
        for method, described in item.items():
            codes = {
                status: set(re.findall(r"`([A-Z_]+)`:", answer["description"]))
                for status, answer in described["responses"].items()
            }
            assert "HOST_NOT_ALLOWED" in codes["403"], path
            assert ("AUTH_REQUIRED" in codes.get("401", ())) != is_public(path), path
            assert ("SANDBOX_DISABLED" in codes["403"]) == ((method.upper(), path) in closed), path
            if not is_public(path) and path not in ("/openapi.yaml", "/openapi.json"):
                assert "FORBIDDEN" in codes["403"], path
