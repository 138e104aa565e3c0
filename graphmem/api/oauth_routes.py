"""OAuth 2.1 for clients of MCP and REST: where they ask, get tokens, register and revoke.

``initiate`` and ``token`` speak two dialects on one route: JSON as the interface has it, and the forms of
RFC 6749. All addresses come from ``Settings.advertised_url``, never from the request. The person decides on
the page of :mod:`graphmem.api.oauth_consent`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import orjson
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from graphmem.api.body import read_bytes, read_json
from graphmem.api.refusals import METADATA_PATH
from graphmem.api.rest_routes import FORM, services_of
from graphmem.arguments import Arguments, read
from graphmem.auth import SUPPORTED_SCOPES, Scope, client_rules
from graphmem.auth.accounts import Accounts
from graphmem.auth.client_rules import ClientMetadata
from graphmem.auth.grants import DIRECT_CLIENT, PAGE_CLIENT, Grants, NewRequest, Presented
from graphmem.auth.guarded_fetch import DocumentCache
from graphmem.context import Services
from graphmem.errors import InvalidInput, OAuthRefused, OAuthStateInvalid, PayloadTooLarge
from graphmem.mcp.toolsets import TOOLSETS
from graphmem.reading import answers

PROVIDERS: Final = ("local",)
FORM_BYTES_LIMIT: Final = 65_536
FORM_FIELDS_LIMIT: Final = 40
STATE_CHARACTERS_LIMIT: Final = 2_000


class OAuth:
    """What the OAuth routes of one process share."""

    def __init__(self, services: Services) -> None:
        self.base = services.settings.advertised_url()
        self.grants = Grants(services.database, services.credentials)
        self.accounts = Accounts(services.database)
        self.refresh_grace_seconds = services.settings.oauth_refresh_grace
        self.takes_documents = services.settings.oauth_client_documents
        self.documents = DocumentCache(client_rules.document_client)
        self.resources = client_rules.resources_of(self.base, TOOLSETS)

    async def client(self, client_id: str | None) -> ClientMetadata:
        """Return a client by its id: from its metadata document, or as it was registered.

        Raises OAuthRefused: ``invalid_client``, or ``invalid_request`` without an id.
        """
        if not client_id:
            raise client_rules.refused("invalid_request", "client_id is missing")
        if client_rules.is_client_id_url(client_id):
            if not self.takes_documents:
                message = (
                    "metadata documents are not read here: register the client, and use its new client_id"
                )
                raise client_rules.refused("invalid_client", message)
            return await client_rules.document_client_at(self.documents, client_id)
        metadata = await self.grants.client(client_id)
        if metadata is None:
            raise client_rules.refused("invalid_client", "client_id is unknown: register the client again")
        return metadata


def oauth_of(request: Request) -> OAuth:
    """Return what the OAuth routes of the process share; the first caller makes it."""
    state = request.app.state
    if not hasattr(state, "oauth"):
        state.oauth = OAuth(services_of(request))
    return state.oauth


# Requests


def single_values(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return parameters by name. An empty value counts as absent.

    Raises OAuthRefused: a parameter occurs twice (RFC 6749, 3.1).
    """
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise OAuthRefused(f"the parameter {name[:50]!r} occurs twice", error="invalid_request")
        values[name] = value
    return {name: value for name, value in values.items() if value}


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form in the body of a request.

    Raises OAuthRefused: it is no such form. Raises PayloadTooLarge: it is larger than
    :data:`FORM_BYTES_LIMIT`.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise OAuthRefused(f"the body must be a form: send Content-Type: {FORM}", error="invalid_request")
    body = await read_bytes(request, services_of(request).settings)
    if len(body) > FORM_BYTES_LIMIT:
        raise PayloadTooLarge(size=len(body), max_size=FORM_BYTES_LIMIT)
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=FORM_FIELDS_LIMIT, errors="strict"
        )
    except ValueError:
        raise OAuthRefused("the form cannot be read", error="invalid_request") from None
    return single_values(pairs)


async def _parameters(request: Request) -> tuple[dict[str, str], bool]:
    """Return the parameters of a form or of a JSON object, and whether it is JSON.

    HTTP Basic may name the client in place of ``client_id``. Its password is ignored: no client has a secret.
    """
    is_json = request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM
    if is_json:
        members = await read_json(request, services_of(request).settings)
        texts = {name: value for name, value in members.items() if value is not None}
        if strange := [name for name, value in texts.items() if not isinstance(value, str)]:
            raise OAuthRefused(f"{strange[0][:50]} must be a text", error="invalid_request")
        sent = single_values(texts.items())
    else:
        sent = await form_of(request)
    named = client_rules.basic_client_id(request.headers.get("authorization", ""))
    if named is not None and sent.setdefault("client_id", named) != named:
        raise OAuthRefused("client_id is not the client of the header Authorization", error="invalid_request")
    return sent, is_json


def _needed(sent: dict[str, str], name: str) -> str:
    if name not in sent:
        raise OAuthRefused(f"{name} is missing", error="invalid_request")
    return sent[name]


def requested_scopes(scope: str | None) -> list[str]:
    """Return the scopes of a request that are known here, read and write where there is none."""
    known: list[str] = [each for each in Scope if each in (scope or "").split()]
    return known or [*SUPPORTED_SCOPES]


def redirect(uri: str, status: int, **parameters: str | None) -> Response:
    """Return a redirect to a URI with further parameters; None leaves one out."""
    query = urlencode({name: value for name, value in parameters.items() if value is not None})
    return RedirectResponse(f"{uri}{'&' if '?' in uri else '?'}{query}", status)


class Initiate(Arguments):
    auth_provider: str
    redirect_uri: str
    client_id: str | None = None
    client_name: str | None = None
    scope: str | None = None
    resource: str | None = None
    state: str | None = Field(None, max_length=STATE_CHARACTERS_LIMIT)
    code_challenge: str | None = None
    code_challenge_method: str = "S256"


async def initiate(request: Request) -> Response:
    """Begin a request of a program that speaks JSON; a program without an id of its own may ask too."""
    oauth = oauth_of(request)
    body = read(Initiate, "oauth.initiate", await read_json(request, services_of(request).settings))
    if body.auth_provider not in PROVIDERS:
        message = f"not one of: {', '.join(PROVIDERS)}"
        raise InvalidInput.at("$.auth_provider", message, providers=PROVIDERS)
    if body.client_id is None:
        client_rules.check_redirect_uri(body.redirect_uri)
        name = client_rules.display_name(body.client_name or "")
        name = name or client_rules.redirect_destination(body.redirect_uri)
        can_refresh = True
    else:
        client = await oauth.client(body.client_id)
        _check_redirect(client, body.redirect_uri)
        name, can_refresh = client.client_name, "refresh_token" in client.grant_types
    # Nothing else receives an answer at the address of the page, whatever name it gives itself.
    unnamed = PAGE_CLIENT if body.redirect_uri == f"{oauth.base}/" else DIRECT_CLIENT
    verifier = None if body.code_challenge else client_rules.make_code_verifier()
    challenge = client_rules.code_challenge_of(verifier) if verifier else body.code_challenge
    state = body.state or secrets.token_urlsafe(16)
    secret, expires_at = await oauth.grants.create_request(NewRequest(
        client_id=body.client_id or unnamed, client_name=name, redirect_uri=body.redirect_uri,
        state=state,
        code_challenge=client_rules.check_code_challenge(challenge, body.code_challenge_method),
        resource=client_rules.check_resource(body.resource, oauth.resources, oauth.base),
        scopes=requested_scopes(body.scope), can_refresh=can_refresh,
    ))  # fmt: skip
    answer = {
        "authorization_url": consent_url(oauth, secret),
        "state": state,
        "expires_at": answers.when(expires_at),
    }
    return _json(answer | ({"code_verifier": verifier} if verifier else {}))


def consent_url(oauth: OAuth, secret: str) -> str:
    return f"{oauth.base}/mcp/oauth/consent?{urlencode({'request': secret})}"


def _check_redirect(client: ClientMetadata, redirect_uri: str) -> None:
    if not client_rules.redirect_uri_matches(redirect_uri, client.redirect_uris):
        raise client_rules.refused(
            "invalid_redirect_uri", "redirect_uri is not one that the client registered"
        )


async def authorize(request: Request) -> Response:
    """Begin a request of a client (RFC 6749, 4.1.1), or end it after the person decided: ``code``, ``state``.

    A redirect URI that is not the client's gets no redirect, and errors before it is known neither.
    """
    oauth = oauth_of(request)
    query = single_values(request.query_params.multi_items())
    if "response_type" not in query and {"code", "state"} <= query.keys():
        return await _finish(request, oauth, query["code"], query["state"])
    client = await oauth.client(query.get("client_id"))
    redirect_uri = _needed(query, "redirect_uri")
    _check_redirect(client, redirect_uri)
    try:
        new = _new_request(oauth, client, query, redirect_uri)
    except OAuthRefused as exc:
        return redirect(
            redirect_uri, 302, error=exc.details["error"], error_description=str(exc),
            state=query.get("state"), iss=oauth.base,
        )  # fmt: skip
    secret, _ = await oauth.grants.create_request(new)
    return RedirectResponse(consent_url(oauth, secret), 302)


def _new_request(
    oauth: OAuth, client: ClientMetadata, query: dict[str, str], redirect_uri: str
) -> NewRequest:
    """Return an authorization request, checked.

    Raises OAuthRefused: it is not valid; the client hears of it by a redirect.
    """
    if query.get("response_type") != "code":
        raise OAuthRefused("response_type must be code", error="unsupported_response_type")
    if len(query.get("state", "")) > STATE_CHARACTERS_LIMIT:
        query["state"] = ""
        raise OAuthRefused("state is too long", error="invalid_request")
    return NewRequest(
        client_id=query["client_id"],
        client_name=client.client_name,
        redirect_uri=redirect_uri,
        state=query.get("state"),
        code_challenge=client_rules.check_code_challenge(
            query.get("code_challenge"), query.get("code_challenge_method")
        ),
        resource=client_rules.check_resource(query.get("resource"), oauth.resources, f"{oauth.base}/mcp"),
        scopes=requested_scopes(query.get("scope")),
        can_refresh="refresh_token" in client.grant_types,
    )


async def _finish(request: Request, oauth: OAuth, code: str, secret: str) -> Response:
    """Send the browser in which a person allowed a request back to the client, once."""
    from graphmem.api.oauth_consent import cookie_of

    allowed = await oauth.grants.finish(secret, code, cookie_of(request, oauth, secret))
    if allowed is None:
        raise OAuthStateInvalid(error="invalid_request")
    return redirect(allowed.redirect_uri, 302, code=code, state=allowed.state, iss=oauth.base)


# Tokens


async def token(request: Request) -> Response:
    oauth = oauth_of(request)
    sent, is_json = await _parameters(request)
    grant_type = sent.get("grant_type") or ("authorization_code" if is_json and "code" in sent else "")
    client_id = sent.get("client_id") if is_json else _needed(sent, "client_id")
    await _check_client(oauth, client_id)
    resource = sent.get("resource")
    if resource is not None:
        resource = client_rules.check_resource(resource, oauth.resources, oauth.base)
    if grant_type == "authorization_code":
        code = _needed(sent, "code")
        challenge = client_rules.challenge_of_sent(sent.get("code_verifier"))
        presented = Presented(client_id, resource, None)
        issued = await oauth.grants.redeem(code, challenge, sent.get("redirect_uri"), presented)
    elif grant_type == "refresh_token":
        refresh_token = _needed(sent, "refresh_token")
        scopes: list[str] = sorted(each for each in Scope if each in sent.get("scope", "").split())
        presented = Presented(client_id, resource, scopes or None)
        issued = await oauth.grants.rotate(refresh_token, presented, oauth.refresh_grace_seconds)
    else:
        supported = " or ".join(client_rules.GRANT_TYPES)
        raise OAuthRefused(f"grant_type must be {supported}", error="unsupported_grant_type")
    answer = {
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in,
        "scope": " ".join(issued.scopes),
    }
    return _json(answer | ({"refresh_token": issued.refresh_token} if issued.refresh_token else {}))


async def _check_client(oauth: OAuth, client_id: str | None) -> None:
    """Check that a client is known. What the client sends is compared with the grant later."""
    if (
        client_id is not None
        and client_id not in (DIRECT_CLIENT, PAGE_CLIENT)
        and not client_rules.is_client_id_url(client_id)
    ):
        await oauth.client(client_id)


async def register(request: Request) -> Response:
    """Register a client (RFC 7591)."""
    oauth = oauth_of(request)
    try:
        body = await read_json(request, services_of(request).settings)
    except InvalidInput as exc:
        raise OAuthRefused(str(exc), error="invalid_client_metadata") from exc
    metadata = client_rules.registered_client(body)
    client_id, created_at = await oauth.grants.register(metadata)
    supported = [each for each in SUPPORTED_SCOPES if each in (metadata.scope or "").split()]
    answer = metadata.model_dump(exclude_none=True, mode="json") | {
        "client_id": client_id,
        "client_id_issued_at": created_at // 1_000_000,
        "scope": " ".join(supported or SUPPORTED_SCOPES),
    }
    return _json(answer, 201)


async def revoke(request: Request) -> Response:
    """Revoke a token (RFC 7009). A token that is unknown, or of another client, answers the same."""
    oauth = oauth_of(request)
    sent, _ = await _parameters(request)
    revoked = _needed(sent, "token")
    await _check_client(oauth, sent.get("client_id"))
    await oauth.grants.revoke_token(revoked, sent.get("client_id"))
    return _json({})


# Documents


async def server_metadata(request: Request) -> Response:
    """Answer the metadata of the authorization server (RFC 8414)."""
    oauth = oauth_of(request)
    base = oauth.base
    return _json({
        "issuer": base,
        "authorization_endpoint": f"{base}/mcp/oauth/authorize",
        "token_endpoint": f"{base}/mcp/oauth/token",
        "registration_endpoint": f"{base}/mcp/oauth/register",
        "revocation_endpoint": f"{base}/mcp/oauth/revoke",
        "scopes_supported": SUPPORTED_SCOPES,
        "response_types_supported": client_rules.RESPONSE_TYPES,
        "response_modes_supported": ["query"],
        "grant_types_supported": client_rules.GRANT_TYPES,
        "code_challenge_methods_supported": client_rules.CODE_CHALLENGE_METHODS,
        "token_endpoint_auth_methods_supported": client_rules.TOKEN_ENDPOINT_AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": client_rules.TOKEN_ENDPOINT_AUTH_METHODS,
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": oauth.takes_documents,
    })  # fmt: skip


async def resource_metadata(request: Request) -> Response:
    """Answer the metadata of a resource (RFC 9728), whose path is the end of the request's."""
    base = oauth_of(request).base
    return _json({
        "resource": f"{base}{request.scope['path'].partition(METADATA_PATH)[2]}",
        "authorization_servers": [base],
        "scopes_supported": SUPPORTED_SCOPES,
        "bearer_methods_supported": ["header"],
        "resource_name": "graphmem",
    })  # fmt: skip


def _json(answer: Any, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store", "Pragma": "no-cache"}
    return Response(orjson.dumps(answer), status, media_type="application/json", headers=headers)
