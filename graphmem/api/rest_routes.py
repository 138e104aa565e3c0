"""The routes that REST alone has: pages, documents, redirects, files. Operations have theirs in the registry.

:mod:`graphmem.api.app` adds them, and :mod:`graphmem.api.openapi` describes them. Their functions find the
services by :func:`services_of`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from graphmem.auth import Scope, file_urls, signed_requests
from graphmem.auth.rates import RateClass
from graphmem.context import Services
from graphmem.errors import (
    CursorOfAnotherDatabase,
    DatabaseFull,
    DatabaseTimeout,
    DatabaseUnavailable,
    DumpRefused,
    FileUrlRefused,
    GraphmemError,
    InvalidInput,
    InvalidJson,
    NotFound,
    OAuthClientUnknown,
    OAuthRefused,
    OAuthStateInvalid,
    ObjectDamaged,
    ObjectMissing,
    ObjectStoreUnavailable,
    PayloadTooLarge,
    RangeNotSatisfiable,
    ServiceBusy,
    SubscriptionInactive,
    UnknownField,
    UnsupportedMediaType,
)
from graphmem.mcp.toolsets import TOOLSETS

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
PUBLIC_PATHS: Final = frozenset({
    "/", "/health", "/health/ready", "/server-info", "/signed_file", "/sandbox/terms",
    "/mcp/oauth/initiate", "/mcp/oauth/authorize", "/mcp/oauth/consent", "/mcp/oauth/token",
    "/mcp/oauth/register", "/mcp/oauth/revoke",
})  # fmt: skip
"""The paths, without the prefix ``/api``, of operations and other routes that need no credential."""
STREAM_PATH: Final = "/events/stream"
PUBLIC_PREFIXES: Final = ("/.well-known/", "/app/")
"""No path below them needs a credential: a client that looks for a document gets 404 there, and not 401."""


def is_public(path: str) -> bool:
    """Return whether a path, without the prefix ``/api``, needs no credential."""
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES)


def is_stream(path: str, mcp_method: str | None = None) -> bool:
    """Return whether an answer lasts until its caller goes away.

    Args:
        mcp_method: the header ``Mcp-Method``. The MCP package refuses a request whose body has another one.
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
    """One route of REST alone.

    Attributes:
        name: the ``operationId``.
        endpoint: its function, as ``module:function`` in this folder; imported when a service begins.
        scope: the scope that its caller needs; None: any caller may call it.
        rate_class: the limit that counts it.
        path_parameters: the schema of each parameter of the path.
        query: the schema of each parameter of the query string.
        headers: the schema of each header that it reads.
        bodies: the schema of the body of each media type.
        errors: the errors that it answers beyond those of every route.
        is_oauth: whether its errors have the members of RFC 6749 beside those of the envelope.
        is_page: whether the browser of a person opens it: its errors are pages for whoever accepts one.
        sandbox: whether the public sandbox allows it.
    """

    method: str
    path: str
    name: str
    summary: str
    tag: str = "server"
    scope: Scope | None = None
    rate_class: RateClass = RateClass.READ
    answers: tuple[Answer, ...] = (Answer(),)
    path_parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    headers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    errors: tuple[type[GraphmemError], ...] = ()
    is_oauth: bool = False
    is_page: bool = False
    sandbox: bool = True
    endpoint: str = field(kw_only=True)

    def load(self) -> Callable[[Request], Awaitable[Response]]:
        module, _, function = self.endpoint.partition(":")
        return getattr(importlib.import_module(f"graphmem.api.{module}"), function)

    @property
    def is_public(self) -> bool:
        return is_public(self.path)


def services_of(request: Request) -> Services:
    return request.app.state.services


_FACES_SCHEMA: Final = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("name", "rest", "mcp", "docs", "ready")},
    "required": ["name", "rest", "mcp", "docs", "ready"],
}


_DATABASE: Final = (DatabaseUnavailable, DatabaseTimeout, DatabaseFull)
_REFUSALS: Final = (OAuthRefused, OAuthClientUnknown, InvalidInput, PayloadTooLarge, *_DATABASE)
_PAGE: Final = "text/html"
_OBJECT: Final = {"type": "object", "additionalProperties": True}
_TEXT: Final = {"type": "string"}


_OAUTH_TEXTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "auth_provider": {"enum": ["local"]},
    "response_type": {"enum": ["code"]},
    "grant_type": {"enum": ["authorization_code", "refresh_token"]},
    "redirect_uri": {"format": "uri"},
    "resource": {"format": "uri"},
    "state": {"maxLength": 2_000},
    "code_challenge": {"pattern": "^[A-Za-z0-9_-]{43}$"},
    "code_challenge_method": {"enum": ["S256"]},
    "code_verifier": {"pattern": "^[A-Za-z0-9._~-]{43,128}$"},
    "decision": {"enum": ["allow", "deny"]},
    "client_id": {"description": "HTTP Basic may name it in its place."},
}
"""What the parameters of OAuth are, beside texts, by name."""


def _texts(*names: str) -> dict[str, dict[str, Any]]:
    return {name: {**_TEXT, **_OAUTH_TEXTS.get(name, {})} for name in names}


def _body(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": _texts(*names)} | ({"required": [*required]} if required else {})


_TOKEN_BODY: Final = _body(
    "grant_type", "code", "code_verifier", "redirect_uri", "client_id", "resource", "refresh_token", "scope"
) | {"anyOf": [{"required": ["code"]}, {"required": ["refresh_token"]}]}
_URIS: Final = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 20}
_REGISTRATION: Final = {**_OBJECT, "properties": {"redirect_uris": _URIS}, "required": ["redirect_uris"]}
_REVOKE_BODY: Final = _body("token", "token_type_hint", "client_id", required=("token",))
_RESOURCES: Final = ("", "/mcp", *(f"/mcp/{name}" for name in TOOLSETS))
"""The paths that are resources of their own."""
_SERVER: Final = ("oauth-authorization-server", "oauth-authorization-server/mcp", "openid-configuration")
"""Where clients look for the metadata of the authorization server; some take the address of MCP for it."""
_OAUTH: Final = (
    RestRoute(
        "POST", "/mcp/oauth/initiate", "oauth_initiate", "Begin the OAuth flow of a program.",
        "oauth", sandbox=False, rate_class=RateClass.AUTH, endpoint="oauth_routes:initiate",
        answers=(Answer(schema=_OBJECT),),
        bodies={JSON: _body(
            "auth_provider", "redirect_uri", "client_id", "client_name", "scope", "resource", "state",
            "code_challenge", "code_challenge_method", required=("auth_provider", "redirect_uri"),
        )},
        errors=(*_REFUSALS, UnknownField, InvalidJson, UnsupportedMediaType), is_oauth=True,
    ),
    RestRoute(
        "GET", "/mcp/oauth/authorize", "oauth_authorize",
        "Begin the OAuth flow of a client (RFC 6749, 4.1.1), or end it with code and state.",
        "oauth", sandbox=False, rate_class=RateClass.AUTH, endpoint="oauth_routes:authorize",
        answers=(Answer(302, ""),),
        query=_texts(
            "response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge",
            "code_challenge_method", "resource", "code",
        ),
        errors=(*_REFUSALS, OAuthStateInvalid), is_oauth=True, is_page=True,
    ),
    RestRoute(
        "GET", "/mcp/oauth/consent", "oauth_show_consent", "The page on which a person allows or denies.",
        "oauth", sandbox=False, rate_class=RateClass.AUTH, endpoint="oauth_consent:show",
        answers=(Answer(200, _PAGE, _TEXT), Answer(400, _PAGE, _TEXT)), query=_texts("request"),
        errors=_DATABASE, is_page=True,
    ),
    RestRoute(
        "POST", "/mcp/oauth/consent", "oauth_decide", "Allow or deny, from the page's own form.",
        "oauth", sandbox=False, rate_class=RateClass.AUTH, endpoint="oauth_consent:decide",
        answers=(Answer(303, ""), Answer(400, _PAGE, _TEXT), Answer(403, _PAGE, _TEXT)),
        bodies={FORM: _body(
            "request", "csrf", "decision", "name", "secret", required=("request", "csrf", "decision")
        )},
        errors=(PayloadTooLarge, *_DATABASE), is_page=True,
    ),
    RestRoute(
        "POST", "/mcp/oauth/token", "oauth_token", "Exchange a code or a refresh token for tokens.",
        "oauth", sandbox=False, rate_class=RateClass.AUTH, endpoint="oauth_routes:token",
        answers=(Answer(schema=_OBJECT),),
        bodies={FORM: {**_TOKEN_BODY, "required": ["grant_type"]}, JSON: _TOKEN_BODY},
        errors=(*_REFUSALS, InvalidJson, UnsupportedMediaType),
        is_oauth=True,
    ),
    RestRoute(
        "POST", "/mcp/oauth/register", "oauth_register", "Register an OAuth client (RFC 7591).",
        "oauth", sandbox=False, rate_class=RateClass.REGISTRATION, endpoint="oauth_routes:register",
        answers=(Answer(201, schema=_OBJECT),), bodies={JSON: _REGISTRATION}, errors=_REFUSALS, is_oauth=True,
    ),
    RestRoute(
        "POST", "/mcp/oauth/revoke", "oauth_revoke", "Revoke a token (RFC 7009).",
        "oauth", sandbox=False, rate_class=RateClass.AUTH, endpoint="oauth_routes:revoke",
        answers=(Answer(schema=_OBJECT),),
        bodies={FORM: _REVOKE_BODY, JSON: _REVOKE_BODY},
        errors=(*_REFUSALS, InvalidJson, UnsupportedMediaType), is_oauth=True,
    ),
    *(
        RestRoute(
            "GET", f"/.well-known/oauth-protected-resource{path}", f"oauth_resource{path.replace('/', '_')}",
            f"The metadata of {path or 'the base'} as a resource (RFC 9728).", "oauth", sandbox=False,
            answers=(Answer(schema=_OBJECT),), endpoint="oauth_routes:resource_metadata",
        )
        for path in _RESOURCES
    ),
    *(
        RestRoute(
            "GET", f"/.well-known/{name}", re.sub(r"\W", "_", name),
            "The metadata of the authorization server (RFC 8414).", "oauth", sandbox=False,
            answers=(Answer(schema=_OBJECT),), endpoint="oauth_routes:server_metadata",
        )
        for name in _SERVER
    ),
    RestRoute(
        "GET", signed_requests.PATH, "aauth_resource", "How agents sign their requests.", "oauth",
        answers=(Answer(schema=_OBJECT),), endpoint="rest_endpoints:describe_signing",
    ),
)  # fmt: skip

_BYTES: Final = {"type": "string", "format": "binary"}
_FILE: Final = (
    *(
        Answer(status, media_type, _BYTES)
        for status in (200, 206)
        for media_type in ("application/octet-stream", "text/plain", "*/*")
    ),
    Answer(304, ""),
)
"""The answers with the bytes of a file: all of them, a range, and none because the caller has them.

Their media type is that of the file, whatever it is.
"""
_FILE_ERRORS: Final = (
    NotFound, RangeNotSatisfiable, ObjectMissing, ObjectDamaged, ObjectStoreUnavailable, *_DATABASE
)  # fmt: skip
_FILES: Final = (
    RestRoute(
        "GET", "/sources/{source_id}/content", "get_source_content", "The bytes of a stored file.",
        "sources", scope=Scope.READ, answers=_FILE, endpoint="downloads:content",
        path_parameters=_texts("source_id"), headers=_texts("Range", "If-None-Match", "If-Range"),
        errors=_FILE_ERRORS,
    ),
    RestRoute(
        "GET", file_urls.PATH, "get_signed_file", "The bytes of the file of a signed URL.",
        "sources", answers=_FILE, endpoint="downloads:signed_content",
        query=_texts(*file_urls.PARAMETERS, "signature"),
        headers=_texts("Range", "If-None-Match", "If-Range"), errors=(FileUrlRefused, *_FILE_ERRORS),
    ),
)  # fmt: skip

_FINDINGS: Final = {
    "type": "object", "required": ["ok", "findings"], "properties": {
        "ok": {"type": "boolean"},
        "findings": {"type": "array", "items": {
            "type": "object", "required": ["check", "status", "what", "fix"],
            "properties": {**_texts("check", "what", "fix"), "status": {"enum": ["ok", "warn", "fail"]}},
        }},
    },
}  # fmt: skip
_STREAM: Final = RestRoute(
    "GET", STREAM_PATH, "stream_changes", "The changes as they come, as server-sent events.",
    "changes", scope=Scope.READ, answers=(Answer(200, "text/event-stream", _TEXT),),
    query={
        **_texts("event_type", "entity_type", "entity_id", "field", "after", "subscription_id"),
        **_texts("by_account", "by_key", "by_client", "by_agent"), "values": {"type": "boolean"},
    },
    headers=_texts("Last-Event-ID"), endpoint="event_stream:stream",
    errors=(
        CursorOfAnotherDatabase, NotFound, SubscriptionInactive, ServiceBusy, InvalidInput, UnknownField,
        *_DATABASE,
    ),
)  # fmt: skip
ROUTES: Final = (
    _STREAM,
    RestRoute(
        "GET", "/", "get_faces", "The paths of the faces; for a browser, the page at which a person looks.",
        answers=(Answer(schema=_FACES_SCHEMA), Answer(200, _PAGE, _TEXT), Answer(304, "")),
        headers=_texts("If-None-Match"), endpoint="rest_endpoints:name_faces",
    ),
    RestRoute(
        "GET", "/app/{version}/{folder}/{file}", "get_page_file", "A file that the page at `/` loads.",
        answers=(
            *(Answer(200, each, _TEXT) for each in ("text/javascript", "text/css", "image/svg+xml")),
            Answer(304, ""),
        ),
        path_parameters=_texts("version", "folder", "file"), headers=_texts("If-None-Match"),
        errors=(NotFound,), endpoint="rest_endpoints:send_page_file",
    ),
    RestRoute(
        "GET", "/openapi.yaml", "get_openapi", "This description.",
        answers=(Answer(media_type="application/yaml"),), endpoint="rest_endpoints:describe",
    ),
    *_OAUTH,
    *_FILES,
    RestRoute(
        "GET", "/metrics", "get_metrics",
        "The metrics of this process in the text format of Prometheus.",
        scope=Scope.ADMIN, answers=(Answer(media_type="text/plain", schema=_TEXT),),
        endpoint="rest_endpoints:measure",
    ),
    RestRoute(
        "GET", "/doctor", "get_findings",
        "What `graphmem doctor` finds on the machine of the service, with the way to mend each fault.",
        scope=Scope.ADMIN, rate_class=RateClass.HEAVY, sandbox=False, answers=(Answer(schema=_FINDINGS),),
        endpoint="rest_endpoints:examine",
    ),
    RestRoute(
        "POST", "/backup", "create_backup",
        "A backup of all owners with their files, or of those named, as `graphmem backup restore` takes it.",
        scope=Scope.ADMIN, rate_class=RateClass.HEAVY, sandbox=False, endpoint="backup_stream:back_up",
        answers=(Answer(200, "application/octet-stream", _BYTES),),
        bodies={JSON: {"type": "object", "additionalProperties": False, "required": ["files"], "properties": {
            "owners": {"type": "array", "items": {"type": "string"}}, "files": {"type": "boolean"},
        }}},
        errors=(
            DumpRefused, ObjectStoreUnavailable, PayloadTooLarge, InvalidInput, InvalidJson,
            UnknownField, UnsupportedMediaType, *_DATABASE,
        ),
    ),
)  # fmt: skip

_BY_METHOD_AND_PATH: Final = {(route.method, route.path): route for route in ROUTES}


def route_of(method: str, path: str) -> RestRoute | None:
    """Return the route of REST alone that a request has, with or without the prefix ``/api``."""
    return _BY_METHOD_AND_PATH.get((method, path.removeprefix("/api")))
