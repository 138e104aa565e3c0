"""OAuth 2.1 as the command line speaks it: discovery, registration, codes, renewal, revocation.

A service names its authorization server (RFC 9728), and that names its endpoints (RFC 8414). This client is
registered dynamically (RFC 7591) and has no secret: a code is bound to it by PKCE (RFC 7636), and its tokens
are for the one service (RFC 8707). Messages never hold a token, a code or a verifier.

What sends a request raises :class:`LoginFailed` where the server refuses or its answer is wrong, and
:class:`ServiceUnreachable` where it does not answer.
"""

import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import httpx

from graphmem.client.logins import Login, Secrets
from graphmem.errors import LoginFailed, ServiceUnreachable

CLIENT_NAME: Final = "graphmem command line"
REDIRECT_PATH: Final = "/callback"
TIMEOUT_SECONDS: Final = 30.0
PROTECTED_RESOURCE: Final = "/.well-known/oauth-protected-resource"
AUTHORIZATION_SERVER: Final = "/.well-known/oauth-authorization-server"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TEXT_LIMIT: Final = 200  # characters of a text of the service that a message shows


class GrantEnded(Exception):
    """The authorization server does not take the refresh token: it is used, revoked or expired."""


@dataclass(frozen=True, slots=True)
class Server:
    """The authorization server of one service, and what its tokens are for."""

    issuer: str
    resource: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None
    revocation_endpoint: str | None
    sends_issuer: bool


@dataclass(frozen=True, slots=True)
class Authorization:
    """One authorization request: the address of the consent page, and what binds the answer to it."""

    url: str = field(repr=False)
    client_id: str
    redirect_uri: str
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    scopes: tuple[str, ...]


def http_client() -> httpx.Client:
    """Return what sends the requests of this module. It follows no redirect, as that could leak a token."""
    return httpx.Client(timeout=TIMEOUT_SECONDS, headers={"Accept": "application/json"})


def discover(http: httpx.Client, address: str) -> Server:
    """Return the authorization server of the service at an address. What both say of themselves must fit."""
    _check_endpoint(address, "the address of the service")
    protected = _document(http, address, PROTECTED_RESOURCE)
    if protected is None:
        raise LoginFailed(
            f"{address} offers no login by OAuth: make an API key at the service with `graphmem auth keys "
            "create`, and keep it here with `graphmem auth login --key`"
        )
    resource, issuers = protected.get("resource"), protected.get("authorization_servers")
    if not isinstance(resource, str) or not _covers(resource, address):
        raise LoginFailed(
            f"the service at {address} says that its address is {resource!r:.200}: use that as "
            "--base-url, or correct GRAPHMEM_PUBLIC_URL of the service"
        )
    issuer = issuers[0] if isinstance(issuers, list) and issuers else None
    document = _document(http, issuer, AUTHORIZATION_SERVER) if isinstance(issuer, str) else None
    if not isinstance(issuer, str) or document is None or document.get("issuer") != issuer:
        raise LoginFailed(f"the authorization server {issuer!r:.200} of {address} does not describe itself")
    if "S256" not in document.get("code_challenge_methods_supported", ()):
        raise LoginFailed(f"the authorization server {issuer} does not offer PKCE with S256")
    return Server(
        issuer=issuer,
        resource=resource,
        authorization_endpoint=_endpoint(document, "authorization_endpoint", required=True) or "",
        token_endpoint=_endpoint(document, "token_endpoint", required=True) or "",
        registration_endpoint=_endpoint(document, "registration_endpoint"),
        revocation_endpoint=_endpoint(document, "revocation_endpoint"),
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


def register(http: httpx.Client, server: Server) -> str:
    if server.registration_endpoint is None:
        raise LoginFailed(f"{server.issuer} registers no clients: use `graphmem auth login --key`")
    metadata = {
        "client_name": CLIENT_NAME,
        # A login adds a free port, which RFC 8252 (7.3) allows.
        "redirect_uris": [f"http://127.0.0.1{REDIRECT_PATH}"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    answer = _sent(http, "POST", server.registration_endpoint, json=metadata)
    client_id = _object(answer).get("client_id")
    if not answer.is_success or not isinstance(client_id, str):
        raise _refused(answer, "register this command line")
    return client_id


def begin(server: Server, client_id: str, port: int, scopes: Sequence[str]) -> Authorization:
    """Return a new authorization request whose answer goes to a port of this machine."""
    from graphmem.auth.client_rules import code_challenge_of, make_code_verifier

    state, verifier = secrets.token_urlsafe(32), make_code_verifier()
    redirect_uri = f"http://127.0.0.1:{port}{REDIRECT_PATH}"
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(scopes),
        "state": state,
        "code_challenge": code_challenge_of(verifier),
        "code_challenge_method": "S256",
        "resource": server.resource,
    }
    separator = "&" if "?" in server.authorization_endpoint else "?"
    url = f"{server.authorization_endpoint}{separator}{urlencode(query)}"
    return Authorization(url, client_id, redirect_uri, state, verifier, tuple(scopes))


def is_answer_to(authorization: Authorization, parameters: Mapping[str, str]) -> bool:
    """Return whether the parameters of a redirect have the ``state`` of an authorization request."""
    return hmac.compare_digest(parameters.get("state", "").encode(), authorization.state.encode())


def code_of(server: Server, authorization: Authorization, parameters: Mapping[str, str]) -> str:
    """Return the code in the parameters of a redirect. Raises LoginFailed: it is the answer to another
    request or of another server (RFC 9207), or the person or the server refused."""
    if not is_answer_to(authorization, parameters):
        raise LoginFailed("the redirect answers another login (its state differs): run the command again")
    issuer = parameters.get("iss")
    if issuer != server.issuer and (issuer is not None or server.sends_issuer):
        raise LoginFailed(
            f"the redirect does not come from {server.issuer} (its iss differs): log in again, and only on "
            "the page that the command opens"
        )
    if "error" in parameters:
        text = _shown(parameters.get("error_description") or parameters["error"])
        raise LoginFailed(f"the service did not allow it: {text}", error=parameters["error"][:_TEXT_LIMIT])
    if not parameters.get("code"):
        raise LoginFailed("the redirect has no code: run the command again")
    return parameters["code"]


def redeem(http: httpx.Client, server: Server, authorization: Authorization, code: str) -> dict[str, Any]:
    """Return what a login has of the tokens for a code, which is good once, for a minute."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": authorization.redirect_uri,
        "client_id": authorization.client_id,
        "code_verifier": authorization.verifier,
        "resource": server.resource,
    }
    answer = _sent(http, "POST", server.token_endpoint, data=form)
    if not answer.is_success:
        raise _refused(answer, "give a token for the code")
    return _tokens(answer, authorization.scopes, None)


def renew(http: httpx.Client, login: Login) -> dict[str, Any]:
    """Return new tokens for the refresh token of a login, which is good for this once. GrantEnded: the server
    does not take the refresh token."""
    form = {
        "grant_type": "refresh_token",
        "refresh_token": login.secrets.refresh_token,
        "client_id": login.client_id,
        "resource": login.resource,
    }
    answer = _sent(http, "POST", str(login.token_endpoint), data=form)
    if not answer.is_success:
        if _object(answer).get("error") in ("invalid_grant", "invalid_client"):
            raise GrantEnded
        raise _refused(answer, "renew the token")
    return _tokens(answer, login.scopes, login.secrets.refresh_token)


def revoke(http: httpx.Client, login: Login) -> bool:
    """Revoke the tokens of a login at the service (RFC 7009). Returns whether the service did."""
    if login.revocation_endpoint is None:
        return False
    token = login.secrets.refresh_token or login.secrets.token
    hint = "refresh_token" if login.secrets.refresh_token else "access_token"
    form = {"token": token, "token_type_hint": hint, "client_id": login.client_id}
    return _sent(http, "POST", login.revocation_endpoint, data=form).is_success


def _tokens(answer: httpx.Response, scopes: tuple[str, ...], refresh_token: str | None) -> dict[str, Any]:
    """Return the tokens of an answer as a login has them, by default with these scopes and refresh token."""
    members = _object(answer)
    token, seconds = members.get("access_token"), members.get("expires_in")
    if not isinstance(token, str) or str(members.get("token_type", "")).lower() != "bearer":
        raise LoginFailed("the service answered no bearer token")
    allowed = members.get("scope")
    return {
        "secrets": Secrets(token, members.get("refresh_token") or refresh_token),
        "scopes": tuple(allowed.split()) if isinstance(allowed, str) else scopes,
        "expires_at": int(time.time() + seconds) if isinstance(seconds, int | float) else None,
    }


def _document(http: httpx.Client, identifier: str, well_known: str) -> Mapping[str, Any] | None:
    """Return a metadata document; None if there is none at any of its places."""
    _check_endpoint(identifier, "the authorization server")
    url = httpx.URL(identifier)
    path = url.path.rstrip("/")
    # It may be before the path, after it, and at the root of the host.
    for place in dict.fromkeys((f"{well_known}{path}", f"{path}{well_known}", well_known)):
        answer = _sent(http, "GET", str(url.copy_with(path=place, query=None, fragment=None)))
        if answer.is_success and (members := _object(answer)):
            return members
    return None


def _covers(resource: str, address: str) -> bool:
    try:
        whole, part = httpx.URL(resource), httpx.URL(address)
    except httpx.InvalidURL:
        return False
    if (whole.scheme, whole.host, whole.port) != (part.scheme, part.host, part.port):
        return False
    return f"{part.path.rstrip('/')}/".startswith(f"{whole.path.rstrip('/')}/")


def _endpoint(document: Mapping[str, Any], name: str, required: bool = False) -> str | None:
    url = document.get(name)
    if url is None and not required:
        return None
    _check_endpoint(str(url), f"its {name}")
    return str(url)


def _check_endpoint(url: str, name: str) -> None:
    """Refuse an address that is neither ``https`` nor ``http`` to this machine: others could read tokens."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise LoginFailed(f"{name} {url!r:.200} is no URL") from None
    if parts.scheme == "https" or (parts.scheme == "http" and parts.host in _LOOPBACK):
        return
    raise LoginFailed(
        f"{name} {url!r:.200} is not https: others could read the tokens on their way. Serve it behind a "
        "proxy with TLS and log in there, or log in on the machine of the service"
    )


def _sent(http: httpx.Client, method: str, url: str, **options: Any) -> httpx.Response:
    try:
        return http.request(method, url, **options)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        place = httpx.URL(url).copy_with(query=None)
        raise ServiceUnreachable(
            f"nobody answers at {place}: start the service with `graphmem serve`, or correct --base-url",
            base_url=str(place),
            reason=type(exc).__name__,
        ) from exc


def _object(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        members = answer.json()
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def _refused(answer: httpx.Response, purpose: str) -> LoginFailed:
    members = _object(answer)
    error = _shown(str(members.get("error", answer.status_code)))
    text = _shown(str(members.get("error_description") or members.get("message") or "without a reason"))
    return LoginFailed(f"the service did not {purpose} ({error}): {text}", error=error)


def _shown(text: str) -> str:
    """Return a text of the service as one short line."""
    return "".join(c if c.isprintable() else " " for c in text[:_TEXT_LIMIT])
