"""Who is asking: from a credential to an :class:`Actor`.

Faces only extract the credential. For now there is one credential, the service's bearer token, and one
owner; no right ever comes from an address.
"""

from __future__ import annotations

import enum
import hmac
from dataclasses import dataclass, replace

from graphmem.errors import AuthInvalid, AuthRequired
from graphmem.settings import DEFAULT_OWNER, Settings


class Scope(enum.StrEnum):
    """What an actor may do."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    """What concerns the whole database: for now held by the local command line and by the service's token."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: whose data it is, which agent writes, and what it may do.

    ``agent`` is the thumbprint of its key, ``anonymous`` without one; ``client`` is the name that a
    program gives itself, which is kept with what it writes and proves nothing.
    """

    owner: str = DEFAULT_OWNER
    agent: str = "anonymous"
    client: str = "unknown"
    scopes: frozenset[Scope] = frozenset(Scope)

    def named(self, client: str) -> Actor:
        """Return the actor under the name of its client program, cut at 100 characters."""
        return replace(self, client=client[:100]) if client else self


def authenticate(settings: Settings, authorization: str | None) -> Actor:
    """Return the actor of an ``Authorization`` header.

    Raises:
        AuthRequired: a token is needed and none was sent.
        AuthInvalid: what was sent is not the token; nobody is anonymous by sending a wrong one.
    """
    expected = settings.bearer_token
    if authorization is None:
        if expected is None:
            return Actor()
        raise AuthRequired
    scheme, _, token = authorization.partition(" ")
    # Compared as bytes: the text comparison refuses what is not ASCII with an exception of its own.
    given = token.strip().encode(errors="surrogateescape")
    right = expected.get_secret_value().encode() if expected else b""
    if scheme.lower() != "bearer" or not right or not hmac.compare_digest(given, right):
        raise AuthInvalid
    return Actor()
