"""The page on which a person allows or denies what a client asks for.

The person proves an account on the page itself, so there is no session. Only the POST of the page's own form
grants: it carries an HMAC of the request under the secret in a cookie that no other site can send.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from graphmem import tables
from graphmem.api.oauth_routes import OAuth, form_of, oauth_of, redirect
from graphmem.api.refusals import page
from graphmem.auth import Scope, client_rules, grants, tokens
from graphmem.errors import OAuthRefused

_SCOPES: Final = tables.read("api/page_texts")["scopes"]
_TEXTS: Final = tables.read("api/page_texts")["consent"]


def _cookie_name(oauth: OAuth, secret: str) -> str:
    # One for each request, so that two pages of one browser do not disturb each other.
    prefix = "__Host-" if oauth.base.startswith("https://") else ""
    return f"{prefix}graphmem-{tokens.digest(secret)[:12]}"


def cookie_of(request: Request, oauth: OAuth, secret: str) -> str:
    """Return the secret of the browser that shows the page of a request, empty without one."""
    return request.cookies.get(_cookie_name(oauth, secret), "")


def _csrf(cookie: str, secret: str) -> str:
    return hmac.new(cookie.encode(), secret.encode(), hashlib.sha256).hexdigest()


async def show(request: Request) -> Response:
    """Show what a client asks for. Nothing is granted, whatever the query string says."""
    oauth = oauth_of(request)
    secret = request.query_params.get("request", "")
    waiting = await oauth.grants.request(secret) if secret else None
    if waiting is None:
        return _message(_TEXTS["ended"], 400)
    cookie = cookie_of(request, oauth, secret) or secrets.token_urlsafe(32)
    return _page(oauth, waiting, secret, cookie)


async def decide(request: Request) -> Response:
    oauth = oauth_of(request)
    try:
        form = await form_of(request)
    except OAuthRefused as exc:
        return _message(f"The form cannot be read: {exc}.", 400)
    secret = form.get("request", "")
    cookie = cookie_of(request, oauth, secret)
    origin = request.headers.get("origin")
    base = urlsplit(oauth.base)
    is_own = origin is None or origin == f"{base.scheme}://{base.netloc}".lower()
    sent = form.get("csrf", "").encode()
    if not cookie or not is_own or not hmac.compare_digest(sent, _csrf(cookie, secret).encode()):
        return _message(_TEXTS["forged"], 403)
    if form.get("decision") != "allow":
        denied = await oauth.grants.deny(secret)
        if denied is None:
            return _message(_TEXTS["ended"], 400)
        return redirect(
            denied.redirect_uri, 303, error="access_denied", error_description="the person denied it",
            state=denied.state, iss=oauth.base,
        )  # fmt: skip
    return await _allow(oauth, form, secret, cookie)


async def _allow(oauth: OAuth, form: dict[str, str], secret: str, cookie: str) -> Response:
    waiting = await oauth.grants.count_attempt(secret)
    if waiting is None:
        return _message(_TEXTS["ended"], 400)
    name = form.get("name", "")
    proof = await oauth.accounts.prove(name, form.get("secret", ""))

    def refused(reason: str) -> Response:
        return _page(oauth, waiting, secret, cookie, reason, name)

    if proof is None:
        return refused(_TEXTS["unproven"])
    if Scope.KEYS in waiting.scopes and proof.key is not None:
        return refused(_TEXTS["no_key"])
    if not (scopes := grants.granted_scopes(waiting.scopes, proof)):
        return refused(_TEXTS["not_allowed"])
    code = await oauth.grants.allow(secret, proof, scopes, cookie)
    if code is None:
        return _message(_TEXTS["ended"], 400)
    return redirect(f"{oauth.base}/mcp/oauth/authorize", 303, code=code, state=secret)


def _page(
    oauth: OAuth, waiting: grants.AuthorizationRequest, secret: str, cookie: str, error: str = "",
    name: str = "",
) -> Response:  # fmt: skip
    """Return the page of a request. ``name``: that of the account as it was entered."""
    client_host = (
        client_rules.redirect_destination(waiting.client_id)
        if client_rules.is_client_id_url(waiting.client_id)
        else ""
    )
    answer = page(
        "consent.html", 403 if error else 200, f"'self' {_form_target(waiting.redirect_uri)}",
        action=f"{oauth.base}/mcp/oauth/consent", instance=urlsplit(oauth.base).netloc,
        client_name=waiting.client_name, client_host=client_host,
        destination=client_rules.redirect_destination(waiting.redirect_uri),
        is_loopback=client_rules.is_loopback_redirect(waiting.redirect_uri),
        scopes=[_SCOPES[scope] for scope in waiting.scopes], is_admin=Scope.ADMIN in waiting.scopes,
        keys_minutes=grants.KEYS_SECONDS // 60 if Scope.KEYS in waiting.scopes else 0,
        resource=waiting.resource, days=grants.REFRESH_SECONDS // 86_400, request=secret,
        csrf=_csrf(cookie, secret), error=error, account_name=name,
    )  # fmt: skip
    answer.set_cookie(
        _cookie_name(oauth, secret), cookie, max_age=grants.REQUEST_SECONDS, path="/", httponly=True,
        samesite="strict", secure=oauth.base.startswith("https://"),
    )  # fmt: skip
    return answer


def _message(text: str, status: int) -> Response:
    return page("message.html", status, text=text)


def _form_target(redirect_uri: str) -> str:
    """Return the source of ``form-action`` for a redirect URI: browsers hold redirects of forms to it."""
    parts = urlsplit(redirect_uri)
    if parts.scheme not in ("http", "https") or "[" in parts.netloc:
        # A policy cannot name the address of IPv6, nor the host of an application's scheme.
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"
