"""The OpenAPI description of the REST API, made from the registry."""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from graphmem import __version__, errors
from graphmem.api.refusals import OAuthEnvelope
from graphmem.api.rest_routes import ROUTES, RestRoute
from graphmem.arguments import BODY_METHODS, nested_filters, shown_names
from graphmem.errors import Envelope, Forbidden, GraphmemError, HostRefused, RateLimited, SandboxDisabled
from graphmem.mcp.tools import joined
from graphmem.registry import REGISTRY, Operation, Scope

REF = "#/components/schemas/{model}"
ERRORS_OF_ALL = (
    errors.InvalidInput, errors.UnknownField, errors.InternalError, errors.DatabaseUnavailable,
    errors.DatabaseTimeout, errors.DatabaseFull, errors.ServiceBusy, HostRefused,
)  # fmt: skip
ERRORS_OF_SIGNERS = (errors.AuthRequired, errors.AuthInvalid, errors.AgentSignatureInvalid)
ERRORS_OF_CREDENTIALS = (*ERRORS_OF_SIGNERS, errors.CapabilityDenied, Forbidden)
_STATUSES = {
    200: "OK", 201: "Created", 206: "Partial Content", 302: "Found", 303: "See Other", 304: "Not Modified",
    400: "", 403: "",
}  # fmt: skip
ERRORS_OF_BODIES = (errors.InvalidJson, errors.UnsupportedMediaType, errors.PayloadTooLarge)


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document. Every path is also served under ``/api``."""
    components: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for operation in REGISTRY.values():
        for position, (method, path) in enumerate(operation.routes):
            described = _describe(operation, method, path, position, components)
            paths.setdefault(path, {})[method.lower()] = described
    components["OAuthError"] = TypeAdapter(OAuthEnvelope).json_schema()
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _describe_rest(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "graphmem",
            "version": __version__,
            "description": "Observations in, snapshots with provenance out. Every path is also under /api.",
        },
        "security": [{"bearer": []}, {}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(components.items())),
        },
    }


@cache
def as_yaml() -> bytes:
    # Not above: few processes describe themselves.
    import yaml

    return yaml.safe_dump(document(), sort_keys=False, allow_unicode=True, width=110).encode()


def _describe_rest(route: RestRoute) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.name, "summary": route.summary, "tags": [route.tag],
    }  # fmt: skip
    places = {"path": route.path_parameters, "query": route.query, "header": route.headers}
    parameters = [
        _parameter(name, copy.deepcopy(dict(schema)), place, place == "path")
        for place, schemas in places.items()
        for name, schema in schemas.items()
    ]
    if parameters:
        described["parameters"] = parameters
    if route.bodies:
        content = {
            media_type: {"schema": copy.deepcopy(dict(schema))} for media_type, schema in route.bodies.items()
        }
        described["requestBody"] = {"required": True, "content": content}
    described["responses"] = {}
    for answer in route.answers:
        known = described["responses"].setdefault(
            str(answer.status), {"description": _STATUSES[answer.status]}
        )
        if answer.media_type:
            schema = {"schema": copy.deepcopy(dict(answer.schema))} if answer.schema else {}
            known.setdefault("content", {})[answer.media_type] = schema
    refusals: list[type[GraphmemError]] = [HostRefused, errors.InternalError, RateLimited, errors.ServiceBusy]
    refusals += route.errors
    refusals += () if route.sandbox else (SandboxDisabled,)
    refusals += () if route.is_public else ERRORS_OF_SIGNERS
    refusals += (Forbidden,) if route.scope is not None else ()
    for status, refused in _refusals(*refusals, model="OAuthError" if route.is_oauth else "Error").items():
        if route.is_page:
            refused["content"]["text/html"] = {"schema": {"type": "string"}}
        known = described["responses"].setdefault(status, refused)
        known["content"] = refused["content"] | known.get("content", {})
        known["description"] = refused["description"]
    if route.is_public:
        described["security"] = []
    return described


def _describe(
    operation: Operation[Any], method: str, path: str, position: int, components: dict[str, Any]
) -> dict[str, Any]:
    name = operation.name.replace(".", "_")
    in_path = re.findall(r"{(\w+)}", path)
    described: dict[str, Any] = {
        # Generated clients make a function of it: another address has its method and its words.
        "operationId": name if position == 0 else "_".join([method.lower(), *re.findall(r"\w+", path)]),
        "summary": operation.summary,
        "description": operation.description,
        "tags": [operation.name.partition(".")[0]],
    }
    model = _arguments(operation.arguments, components)
    parameters = [_parameter(n, joined(model["properties"].get(n, {})), "path", True) for n in in_path]
    if method not in BODY_METHODS:
        parameters += _query(operation, model, in_path)
    else:
        reference = {"$ref": REF.format(model=operation.arguments.__name__)}
        content: dict[str, Any] = {"application/json": {"schema": reference}}
        if operation.takes_file:
            content["multipart/form-data"] = {"schema": _form(reference)}
        described["requestBody"] = {"required": bool(model.get("required")), "content": content}
    if parameters:
        described["parameters"] = parameters
    described["responses"] = _responses(operation, method, components)
    if operation.public:
        described["security"] = []
    return described


def _form(reference: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a form with a file. The arguments are one part of it, or a part each."""
    return {
        "type": "object",
        "description": "The file, and the arguments: as JSON in one part, or each in a part of its own name.",
        "properties": {
            "file": {"type": "string", "contentMediaType": "application/octet-stream"},
            "arguments": reference,
        },
        "additionalProperties": True,
    }


def _arguments(model: type[BaseModel], components: dict[str, Any]) -> dict[str, Any]:
    _, schema = models_json_schema([(model, "validation")], ref_template=REF)
    for name, part in schema.get("$defs", {}).items():
        components[name] = _as_read(part)
    described = components[model.__name__]
    if filters := nested_filters(model):
        # Filters may stand beside the other arguments.
        beside = _as_read(filters.model_json_schema(ref_template=REF)["properties"])
        described["properties"] |= {n: p for n, p in beside.items() if n not in described["properties"]}
    return described


_BOOLEAN: dict[str, Any] = {"anyOf": [{"type": "boolean"}, {"type": "integer", "enum": [0, 1]}]}
_BOTH_PLACES: dict[str, Any] = {
    "properties": {"cursor": {"type": "string"}, "offset": {"type": "integer", "minimum": 1}},
    "required": ["cursor", "offset"],
}


def _as_read(schema: Any) -> Any:
    """Return a schema of arguments as they are read: a boolean may be 0 or 1, and a page has one place."""
    if isinstance(schema, list):
        return [_as_read(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    read = {keyword: _as_read(part) for keyword, part in cast("dict[str, Any]", schema).items()}
    if read.get("type") == "boolean":
        read = {**_BOOLEAN, **{keyword: part for keyword, part in read.items() if keyword != "type"}}
    if {"cursor", "offset"} <= read.get("properties", {}).keys():
        read["not"] = _BOTH_PLACES
    return read


def _query(operation: Operation[Any], model: dict[str, Any], in_path: list[str]) -> list[dict[str, Any]]:
    filters = nested_filters(operation.arguments)
    properties: dict[str, Any] = {
        n: p for n, p in model["properties"].items() if not (filters and n == "filters")
    }
    required = set(model.get("required", ()))
    names = shown_names(operation.arguments)
    return [
        _parameter(names.get(n, n), p, "query", n in required)
        for n, p in properties.items()
        if n not in in_path
    ]


def _parameter(name: str, schema: dict[str, Any], place: str, required: bool) -> dict[str, Any]:
    plain = {key: value for key, value in schema.items() if key not in ("description", "title", "required")}
    parameter = {"name": name, "in": place, "required": required, "schema": plain}
    if schema.get("type") == "array":
        parameter |= {"style": "form", "explode": False}
    description = schema.get("description", "") + (" Not beside `offset`." if name == "cursor" else "")
    return parameter | ({"description": description} if description else {})


def _responses(operation: Operation[Any], method: str, components: dict[str, Any]) -> dict[str, Any]:
    result = operation.result.json_schema(mode="serialization", ref_template=REF)
    components.update(result.pop("$defs", {}))
    responses: dict[str, Any] = {
        "200": {"description": "OK", "content": {"application/json": {"schema": result}}}
    }
    components.setdefault("Error", TypeAdapter(Envelope).json_schema())
    refusals: list[type[GraphmemError]] = [*ERRORS_OF_ALL, *operation.errors]
    refusals += ERRORS_OF_BODIES if method in BODY_METHODS else ()
    refusals += () if operation.public else ERRORS_OF_CREDENTIALS
    # Too many failed attempts to authenticate are refused as well.
    refusals += (RateLimited,) if operation.limited or not operation.public else ()
    refusals += () if operation.sandbox else (SandboxDisabled,)
    if operation.scope in (Scope.WRITE, Scope.KEYS):
        refusals += (errors.DiskFull, errors.TransactionTooLarge)
    if operation.scope is not Scope.READ:
        refusals += (errors.AgentSignatureRequired, errors.AttributionRequired)
    return responses | _refusals(*refusals)


def _refusals(*kinds: type[GraphmemError], model: str = "Error") -> dict[str, Any]:
    """Return the descriptions of error answers by status. ``model`` is the schema of their bodies."""
    responses: dict[str, Any] = {}
    for error in sorted(set(kinds), key=lambda e: (e.status, e.code)):
        known = responses.setdefault(str(error.status), {
            "description": "",
            "content": {"application/json": {"schema": {"$ref": REF.format(model=model)}}},
        })  # fmt: skip
        known["description"] += f"`{error.code}`: {error.default_message()}\n\n"
        if error.headers:
            headers = {header: {"schema": {"type": "string"}} for header in error.headers}
            known.setdefault("headers", {}).update(headers)
    return responses
