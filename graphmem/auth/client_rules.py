"""The rules for OAuth clients: what they may register, where their codes go, and what their tokens are for.

A client is registered dynamically (RFC 7591), or its ``client_id`` is the URL of its metadata document
(draft-ietf-oauth-client-id-metadata-document-02). Both kinds obey the same rules. Clients have no secrets:
a code is bound to its client by PKCE (RFC 7636) and by the redirect URI. Nothing here touches the database.
"""

import base64
import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, unquote_plus

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from graphmem.auth.guarded_fetch import DocumentCache, FetchRefused, read_url
from graphmem.auth.uris import DEFAULT_PORTS, read_uri
from graphmem.errors import OAuthClientUnknown, OAuthRefused, validation_message

REDIRECT_URIS_LIMIT: Final = 20
CLIENT_NAME_CHARACTERS_LIMIT: Final = 80
SCOPE_CHARACTERS_LIMIT: Final = 1000
COMBINING_MARKS_LIMIT: Final = 2
"""Combining marks on one character of a name; more would paint over other lines of the page."""

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
APPLICATION_SCHEMES: Final = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf"})
"""Schemes without a dot that MCP clients use. Other applications use a reversed domain (RFC 8252, 7.1)."""
GRANT_TYPES: Final = ("authorization_code", "refresh_token")
RESPONSE_TYPES: Final = ("code",)
TOKEN_ENDPOINT_AUTH_METHODS: Final = ("none",)
CODE_CHALLENGE_METHODS: Final = ("S256",)

ErrorCode = Literal[
    "invalid_request", "invalid_client", "invalid_redirect_uri", "invalid_client_metadata", "invalid_target"
]

_REVERSED_DOMAIN = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+")
_CODE_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_CODE_VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
_HIDDEN_CATEGORIES: Final = frozenset({"Cf", "Cs", "Co", "Cn"})
"""Unicode categories that a name loses: format (bidirectional too), surrogate, private use, unassigned."""


def refused(error: ErrorCode, description: str) -> OAuthRefused:
    """Return the refusal of a client, or of what it asks for, by a code of RFC 6749, 7591 or 8707."""
    kind = OAuthClientUnknown if error == "invalid_client" else OAuthRefused
    return kind(description, error=error)


# Redirect URIs


def check_redirect_uri(uri: str) -> str:
    """Return a redirect URI that a client may register.

    Allowed are ``https``, ``http`` to this computer, the schemes of :data:`APPLICATION_SCHEMES`, and schemes
    that are a reversed domain, such as ``com.example.app``.
    """
    try:
        parts = read_uri(uri)
    except ValueError as exc:
        raise refused("invalid_redirect_uri", f"a redirect URI {exc}") from exc
    text = ""
    if parts.scheme == "https":
        text = "" if parts.host else "a redirect URI has no host"
    elif parts.scheme == "http":
        if parts.host not in LOOPBACK_HOSTS:
            text = (
                "a redirect URI with http must go to localhost, 127.0.0.1 or [::1]; use https for other hosts"
            )
    elif parts.scheme not in APPLICATION_SCHEMES and not _REVERSED_DOMAIN.fullmatch(parts.scheme):
        text = "a redirect URI must use https, http to this computer, or a reversed domain as scheme"
    elif not parts.host and not parts.path.startswith("/"):
        text = "a redirect URI has neither host nor path"
    if text:
        raise refused("invalid_redirect_uri", text)
    return uri


def _usable_redirect_uris(uris: object) -> object:
    """Return those of some redirect URIs that a client may register, or raise the first fault."""
    if not isinstance(uris, list | tuple) or not 0 < len(uris) <= REDIRECT_URIS_LIMIT:
        return uris
    usable: list[str] = []
    faults: list[OAuthRefused] = []
    for uri in uris:
        try:
            usable.append(check_redirect_uri(uri) if isinstance(uri, str) else uri)
        except OAuthRefused as exc:
            faults.append(exc)
    if not usable:
        raise ValueError(str(faults[0]))
    return usable


def redirect_uri_matches(requested: str, registered: Iterable[str]) -> bool:
    """Return whether a requested redirect URI is one that the client registered.

    It is the same text; or both go by ``http`` to the same loopback host, with the same path and query, and
    then the port may differ (RFC 8252, 7.3), because such a client listens on any free port.
    """
    uris = list(registered)
    if requested in uris:
        return True
    place = _loopback_place(requested)
    return place is not None and place in map(_loopback_place, uris)


def _loopback_place(uri: str) -> tuple[str, str, str] | None:
    try:
        parts = read_uri(uri)
    except ValueError:
        return None
    if parts.scheme != "http" or parts.host not in LOOPBACK_HOSTS:
        return None
    return parts.host, parts.path or "/", parts.query


def is_loopback_redirect(uri: str) -> bool:
    """Return whether a redirect URI goes to this computer by ``http``: any program there may listen."""
    return _loopback_place(uri) is not None


def redirect_destination(uri: str) -> str:
    """Return where a redirect URI leads, for people: ``claude.ai``, ``localhost:8787`` or ``cursor:``."""
    parts = read_uri(uri)
    if parts.scheme not in DEFAULT_PORTS:
        return f"{parts.scheme}:"
    standard = parts.port in ("", DEFAULT_PORTS[parts.scheme])
    return parts.host if standard else f"{parts.host}:{parts.port}"


# Metadata of a client


def display_name(text: str) -> str:
    """Return a name as one line without characters that hide or reverse others; a page still escapes it."""
    characters: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", text[: 10 * CLIENT_NAME_CHARACTERS_LIMIT]):
        category = unicodedata.category(character)
        marks = marks + 1 if category.startswith("M") else 0
        if category in _HIDDEN_CATEGORIES or marks > COMBINING_MARKS_LIMIT:
            continue
        characters.append(" " if category[0] in "ZC" else character)
    return " ".join("".join(characters).split())[:CLIENT_NAME_CHARACTERS_LIMIT].strip()


def _checked_scope(scope: str | None) -> str | None:
    if scope is not None and not _SCOPE.fullmatch(scope):
        raise ValueError("must be scopes with one blank between them")
    return scope


def _supported(*values: str) -> BeforeValidator:
    """Keep the supported ones of a list of values; the first one must be among them."""

    def check(requested: object) -> object:
        if not isinstance(requested, list | tuple) or values[0] not in requested:
            raise ValueError(f"must be a list with {values[0]}")
        return tuple(value for value in values if value in requested)

    return BeforeValidator(check)


def _usable_link(text: object) -> str | None:
    """Return an ``https`` URI, or None: what is only shown is no reason to refuse a client."""
    try:
        parts = read_uri(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return str(text) if parts is not None and parts.scheme == "https" and parts.host else None


class ClientMetadata(BaseModel):
    """What is kept of a client. Other members of RFC 7591 are ignored, and so is a redirect URI that may not
    be registered, as long as another one may.

    ``client_name`` is never empty, and fit for display after escaping. ``scope`` is what the client wishes,
    not what it gets.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    redirect_uris: Annotated[tuple[str, ...], BeforeValidator(_usable_redirect_uris)] = Field(
        min_length=1, max_length=REDIRECT_URIS_LIMIT
    )
    client_name: Annotated[str, AfterValidator(display_name)] = ""
    client_uri: Annotated[str | None, BeforeValidator(_usable_link)] = None
    grant_types: Annotated[tuple[str, ...], _supported(*GRANT_TYPES)] = GRANT_TYPES
    response_types: Annotated[tuple[str, ...], _supported(*RESPONSE_TYPES)] = RESPONSE_TYPES
    token_endpoint_auth_method: Literal["none"] = "none"
    scope: Annotated[str | None, AfterValidator(_checked_scope)] = Field(
        None, max_length=SCOPE_CHARACTERS_LIMIT
    )


def registered_client(body: Any) -> ClientMetadata:
    """Return what is kept of a dynamic registration (RFC 7591); the answer to the client says the same. A
    client that wants a secret is registered without one, which RFC 7591 (3.2.1) allows."""
    if not isinstance(body, Mapping):
        raise refused("invalid_client_metadata", "the registration is not a JSON object")
    metadata = _metadata({**body, "token_endpoint_auth_method": "none"})
    return _named(metadata, redirect_destination(metadata.redirect_uris[0]))


def _metadata(members: Mapping[str, Any]) -> ClientMetadata:
    """Return the metadata of a client. A member that is null or an empty text counts as absent."""
    present = {name: value for name, value in members.items() if value is not None and value != ""}
    try:
        return ClientMetadata.model_validate(present)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
        name = str(fault["loc"][0]) if fault["loc"] else "metadata"
        text = f"{name}: {validation_message(fault['msg'])}"
        error = "invalid_redirect_uri" if name == "redirect_uris" else "invalid_client_metadata"
        raise refused(error, text) from exc


def _named(metadata: ClientMetadata, name: str) -> ClientMetadata:
    """Return the metadata with a name, if the client has none of its own that can be shown."""
    return metadata if metadata.client_name else metadata.model_copy(update={"client_name": name})


# Client ID metadata documents


def is_client_id_url(client_id: str) -> bool:
    """Return whether a client id is the URL of a metadata document. Ids that are issued here are not."""
    return client_id.startswith("https://")


def check_client_id_url(client_id: str) -> None:
    """Check a client id that is a URL, as section 3 of the draft wants it."""
    try:
        target = read_url(client_id)
    except FetchRefused as exc:
        raise refused("invalid_client", f"client_id: {exc}") from exc
    path = target.path.partition("?")[0]
    if path == "/":
        raise refused("invalid_client", "client_id: the URL has no path")
    if any(unquote(segment) in (".", "..") for segment in path.split("/")):
        raise refused("invalid_client", "client_id: the URL has a path with . or ..")


def basic_client_id(authorization: str) -> str | None:
    """Return the client id that HTTP Basic names (RFC 6749, 2.3.1), None without HTTP Basic.

    Raises:
        OAuthRefused: the header cannot be read.
    """
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")[0]
        return unquote_plus(name, errors="strict")
    except ValueError:
        raise refused("invalid_client", "the header Authorization: Basic cannot be read") from None


def document_client(client_id: str, document: Mapping[str, Any]) -> ClientMetadata:
    """Return what is kept of a client ID metadata document.

    The redirect URIs need not be of the origin of the document: documents of known clients name loopback and
    the scheme of an application. The consent page shows both hosts.
    """
    if document.get("client_id") != client_id:
        raise refused("invalid_client", "the metadata document does not name its own URL as client_id")
    if "client_secret" in document or "client_secret_expires_at" in document:
        raise refused("invalid_client", "the metadata document has a client_secret")
    methods = document.get("token_endpoint_auth_methods_supported")
    method = document.get("token_endpoint_auth_method") or "none"
    if method != "none" and not (isinstance(methods, list) and "none" in methods):
        text = "the client of the metadata document cannot do without authentication at the token endpoint"
        raise refused("invalid_client", text)
    try:
        metadata = _metadata({**document, "token_endpoint_auth_method": "none"})
    except OAuthRefused as exc:
        raise refused("invalid_client", f"the metadata document is not valid: {exc}") from exc
    host = read_url(client_id).host
    # A document speaks for its own host only: a link to another site would lend that site's name.
    if metadata.client_uri is not None and read_uri(metadata.client_uri).host != host:
        metadata = metadata.model_copy(update={"client_uri": None})
    return _named(metadata, host)


async def document_client_at(documents: DocumentCache[ClientMetadata], client_id: str) -> ClientMetadata:
    check_client_id_url(client_id)
    try:
        return await documents.get(client_id)
    except FetchRefused as exc:
        raise refused("invalid_client", f"client_id: {exc}") from exc


# PKCE


def check_code_challenge(challenge: str | None, method: str | None) -> str:
    if not challenge:
        raise refused("invalid_request", "code_challenge is missing: PKCE is required")
    # A request without method means plain (RFC 7636, 4.3).
    if method != "S256":
        raise refused("invalid_request", "code_challenge_method must be S256")
    if not _CODE_CHALLENGE.fullmatch(challenge):
        raise refused("invalid_request", "code_challenge must be 43 characters of base64url")
    return challenge


def make_code_verifier() -> str:
    return secrets.token_urlsafe(32)


def code_challenge_of(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def challenge_of_sent(verifier: str | None) -> str:
    """Return the challenge of a code verifier that a client sends; empty if it has the wrong form."""
    return code_challenge_of(verifier) if verifier and _CODE_VERIFIER.fullmatch(verifier) else ""


# Resources (RFC 8707)


def canonical_resource(uri: str) -> str:
    """Return a resource in one spelling: host in lower case, no default port, no slash at the end."""
    try:
        parts = read_uri(uri)
    except ValueError as exc:
        raise refused("invalid_target", f"resource {exc}") from exc
    if parts.scheme not in DEFAULT_PORTS or not parts.host:
        raise refused("invalid_target", "resource is not an http or https URI")
    port = f":{parts.port}" if parts.port not in ("", DEFAULT_PORTS[parts.scheme]) else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.host}{port}{parts.path.rstrip('/')}{query}"


def resources_of(public_url: str, toolsets: Iterable[str]) -> frozenset[str]:
    """Return the resources of this instance: REST, MCP, and MCP of each toolset."""
    base = canonical_resource(public_url)
    return frozenset({base, f"{base}/mcp", *(f"{base}/mcp/{name}" for name in toolsets)})


def check_resource(resource: str | None, resources: frozenset[str], default: str) -> str:
    """Return the canonical form of a requested resource, or of ``default`` where none is requested."""
    requested = canonical_resource(default if resource is None else resource)
    if requested not in resources:
        raise refused("invalid_target", "resource is not served here: use the address of /mcp")
    return requested


def resource_covers(granted: str, used: str) -> bool:
    """Return whether a token for one resource is good for another one: the same, or one below it. Both are
    canonical. The base covers all; ``/mcp`` covers its toolsets, but not REST."""
    return used == granted or used.startswith(f"{granted}/")
