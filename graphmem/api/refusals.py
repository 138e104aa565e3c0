"""What an error is over HTTP: the envelope, the members of RFC 6749 beside it, a page, a challenge."""

from __future__ import annotations

import re
import secrets
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import orjson
import structlog
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from graphmem import errors, tables
from graphmem.api.rest_routes import route_of
from graphmem.auth import SUPPORTED_SCOPES, Actor
from graphmem.settings import Settings

if TYPE_CHECKING:
    import jinja2


def page(template: str, status: int, form_action: str = "'none'", **values: Any) -> Response:
    """Return a page. ``form_action`` is the source of its policy to which its form may lead."""
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; form-action {form_action}; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    text = _template(template).render(nonce=nonce, **values)
    return Response(text, status, media_type="text/html", headers={
        "Content-Security-Policy": policy,
        # With no-referrer, browsers send the form with `Origin: null`.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    })  # fmt: skip


@cache
def _template(name: str) -> jinja2.Template:
    # Not above: few processes answer a page.
    import jinja2

    loader = jinja2.PackageLoader("graphmem.api", "pages")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined).get_template(
        name
    )


METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
OAUTH_ERRORS: Final = {429: "temporarily_unavailable", 500: "server_error", 503: "temporarily_unavailable"}
"""The ``error`` of an answer that is no refusal of the OAuth rules, by its status; else ``invalid_request``.

RFC 6749 names both in 4.1.2.1 and has no code in 5.2 for a server that cannot answer now. ``slow_down`` (RFC
8628, 3.5) is for clients that poll for a device. Clients keep their tokens after a code that they know; many
take an unknown code for a fault of the server, and ask the person again.
"""

_CAUSES: Final = tables.read("api/page_texts")["causes"]
"""What a page says of an error, by its code."""


class OAuthEnvelope(errors.Envelope):
    """The error answer of a route of OAuth: the envelope with the members of RFC 6749 (5.2)."""

    error: str
    error_description: str


def trace_id() -> str:
    return structlog.contextvars.get_contextvars().get("trace_id", "")


def refusal(error: errors.GraphmemError, scope: Scope) -> Response:
    """Return the HTTP answer for an error of a request.

    It is the envelope, on a route of OAuth with the members of RFC 6749. A route for browsers answers a page
    to whoever accepts one.
    """
    route = route_of(scope["method"], scope["path"])
    if route is not None and route.is_page and accepts_pages(scope):
        answer = _page(error)
        answer.headers.update(error.answer_headers())
        return answer
    has_members = isinstance(error, errors.OAuthRefused) or (route is not None and route.is_oauth)
    members: dict[str, str] = {}
    if has_members:
        # In the characters that RFC 6749 (5.2) allows.
        description = re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "'", str(error))
        members = {"error": _oauth_error(error), "error_description": description}
    body = orjson.dumps({**members, **error.envelope(trace_id())}, default=str)
    return Response(body, error.status, media_type="application/json", headers=error.answer_headers())


def _oauth_error(error: errors.GraphmemError) -> str:
    """Return the code of RFC 6749, 7591 or 8707 for an error."""
    return error.details.get("error") or OAUTH_ERRORS.get(error.status, "invalid_request")


def accepts_pages(scope: Scope) -> bool:
    """Return whether a request says that it accepts ``text/html``, as browsers do and programs do not."""
    accepted = ",".join(Headers(scope=scope).getlist("accept")).lower()
    for media_range in accepted.split(","):
        media_type, _, parameters = media_range.partition(";")
        if media_type.strip() == "text/html":
            return re.search(r"(^|;)\s*q\s*=\s*0(\.0*)?\s*(;|$)", parameters) is None
    return False


def _page(error: errors.GraphmemError) -> Response:
    code = _oauth_error(error)
    return page(
        "error.html", error.status,
        cause=_CAUSES.get(error.code) or _CAUSES.get(code) or "graphmem cannot answer this request.",
        wait=error.details.get("retry_after", 10) if error.retryable else None,
        is_own_fault=error.status == 500,
        code=code, description=str(error), trace_id=trace_id(),
    )  # fmt: skip


def challenged(answer: Response, error: errors.GraphmemError, scope: Scope, settings: Settings) -> Response:
    """Add to a refusal how a client gets a credential: the header ``WWW-Authenticate`` (RFC 6750, RFC 9728).

    Under ``/mcp`` it names the metadata of the resource. Where a scope is missing that the caller may ask
    for, it names all scopes that the caller needs, never ``admin``: those of its credential, and that one.
    """
    path = scope["path"].removeprefix("/api")
    is_mcp = path == "/mcp" or path.startswith("/mcp/")
    metadata = f"{settings.advertised_url()}{METADATA_PATH}/mcp"
    if error.status == 401 and is_mcp and not isinstance(error, errors.AgentSignatureInvalid):
        parts = [f'resource_metadata="{metadata}"', 'scope="read write"']
        parts += ['error="invalid_token"'] if isinstance(error, errors.AuthInvalid) else []
        answer.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
    elif isinstance(error, errors.Forbidden) and "needs" in error.details:
        actor = scope.get("state", {}).get("actor")
        if not isinstance(actor, Actor) or error.details["needs"] not in actor.grantable:
            return answer
        scopes = {*actor.scopes, error.details["needs"]}
        named = " ".join(each for each in SUPPORTED_SCOPES if each in scopes)
        parts = ['error="insufficient_scope"', f'scope="{named}"']
        parts += [f'resource_metadata="{metadata}"'] if is_mcp else []
        answer.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
    return answer
