"""Who calls: from a credential to an :class:`Actor`.

A face extracts the credential and names its actor; nothing below a face has a default actor. Today there is
one owner and one credential, the service's bearer token. A network address never gives a right.
"""

from __future__ import annotations

import enum
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphmem.errors import AuthInvalid, AuthRequired, InternalError
from graphmem.settings import DEFAULT_OWNER, Settings

CLIENT_NAME_LIMIT = 100
"""Characters of a client's name that are kept."""


class Scope(enum.StrEnum):
    """What an actor may do."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    """Operations on the whole database, of all owners. The local command line and the token have it."""


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the owner of the data, the scopes, the agent that writes and its client program.

    ``agent`` is the thumbprint of the agent's key, ``anonymous`` without a key. ``client`` is the name that
    the program gives itself. It is stored with what the program writes and proves nothing.
    """

    owner: str
    scopes: frozenset[Scope]
    agent: str = "anonymous"
    client: str = "unknown"

    def named(self, client: str) -> Actor:
        """Return the actor with the name of its client program."""
        return replace(self, client=client[:CLIENT_NAME_LIMIT]) if client else self


def local_actor(client: str) -> Actor:
    """Return the actor of a person at this machine: the default owner with every scope.

    It is for faces that only this machine's user reaches: the command line, MCP over stdio, and a service
    on loopback in development.
    """
    return Actor(owner=DEFAULT_OWNER, scopes=ALL_SCOPES, client=client)


def public_actor() -> Actor:
    """Return the actor of a public operation: it may read, and it owns nothing."""
    return Actor(owner="", scopes=frozenset({Scope.READ}))


def authenticate(settings: Settings, authorization: str | None) -> Actor:
    """Return the actor of an ``Authorization`` header.

    Raises:
        AuthRequired: no header was sent, and a token is set or the bind is not loopback in development.
        AuthInvalid: the header does not hold the token. A wrong token is never taken for no token.
    """
    expected = settings.bearer_token
    if authorization is None:
        if expected is None and settings.is_local_only:
            return local_actor("rest")
        raise AuthRequired
    scheme, _, token = authorization.partition(" ")
    # As bytes: hmac.compare_digest raises TypeError for text outside ASCII.
    sent = token.strip().encode(errors="surrogateescape")
    right = expected.get_secret_value().encode() if expected else b""
    if scheme.lower() != "bearer" or not right or not hmac.compare_digest(sent, right):
        raise AuthInvalid
    return Actor(owner=DEFAULT_OWNER, scopes=ALL_SCOPES, client="rest")


def request_actor(scope: Mapping[str, Any]) -> Actor:
    """Return the actor that the gate put into an ASGI scope, at ``state.actor``.

    Raises:
        InternalError: there is none. A request that went round the gate is never answered.
    """
    actor = scope.get("state", {}).get("actor")
    if not isinstance(actor, Actor):
        raise InternalError("the request has no actor: it did not pass the gate")
    return actor
