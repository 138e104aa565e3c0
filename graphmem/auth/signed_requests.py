"""From a signed request to the agent that signed it. Each request counts once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from cachetools import TLRUCache

from graphmem.auth import Actor, SignedAgent
from graphmem.auth.agent_keys import ALGORITHMS, AgentKey, refused
from graphmem.auth.agent_tokens import TOKEN_TYPE, AgentToken
from graphmem.auth.client_rules import canonical_resource
from graphmem.auth.issuers import Issuers
from graphmem.auth.message_signatures import (
    HEADERS,
    WINDOW_SECONDS,
    MessageSignature,
    SignedMessage,
    signed_digests,
)
from graphmem.errors import ServiceBusy
from graphmem.settings import LOOPBACK, Settings

if TYPE_CHECKING:
    from graphmem.auth.authenticator import Caller

REMEMBERED_REQUESTS_LIMIT: Final = 200_000
"""Signed requests that a process remembers. While it has so many, it refuses more, and forgets none early."""
SCHEMES: Final = ("hwk", "jwt")
"""How ``Signature-Key`` names a key: by the key itself, or by a token that has it."""
PATH: Final = "/.well-known/aauth-resource.json"


def resource_document(settings: Settings) -> dict[str, Any]:
    """Return what the service tells agents about signing, at :data:`PATH`."""
    return {
        "issuer": canonical_resource(settings.advertised_url()),
        "client_name": "graphmem",
        "mode": settings.aauth_mode,
        "min_tier": settings.min_tier,
        "signature_window": WINDOW_SECONDS,
        "supported_algs": ALGORITHMS,
        "supported_typ": [TOKEN_TYPE],
        "supported_schemes": SCHEMES,
        "additional_signature_components": ["@query", "content-digest"],
        "jwks_uri": None,
    }


class SignedRequests:
    """Finds who signed the requests to one address, in one process."""

    def __init__(
        self,
        settings: Settings,
        address: str,
        issuers: Issuers | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``address``: what agents sign for, with the path below which the service is reached."""
        parts = urlsplit(canonical_resource(address))
        self._scheme, self._authority, self._prefix = parts.scheme, parts.netloc, parts.path
        # A service of this machine has several names there. They too are not taken from a request.
        is_local = (parts.hostname or "") in LOOPBACK
        port = f":{parts.port}" if parts.port else ""
        local = {f"{name}{port}" for name in ("localhost", "127.0.0.1", "[::1]")} if is_local else set()
        self._authorities = local | {parts.netloc}
        self._is_off, self._is_strict = settings.aauth_mode == "off", settings.aauth_strict
        self._issuers = issuers or Issuers(settings.aauth_issuers)
        self._clock = clock
        # A process that was started again has forgotten what was sent before.
        self._begin = int(clock())
        self._seen: TLRUCache[bytes, float] = TLRUCache(
            REMEMBERED_REQUESTS_LIMIT, lambda _, end, __: end, clock
        )

    async def signed(self, actor: Actor, caller: Caller) -> Actor:
        """Return the actor with the agent that signed its request; unchanged without a signature.

        Raises:
            AgentSignatureInvalid: the request has a header of a signature, and it is not signed rightly.
            ServiceBusy: too many signed requests came within the last minute.
        """
        if self._is_off or not any(name in caller.headers for name in HEADERS):
            return actor
        message = self._message(caller)
        message.has_body = not await caller.body.is_empty()
        now = self._clock()
        signature = MessageSignature.of(message, now)
        key, agent = await self._signer(signature, now)
        base = signature.base(message)
        if not key.has_signed(signature.signature, base):
            raise refused(
                "invalid_signature",
                f"it is not that of {message.method} {message.scheme}://{message.authority}{message.path}",
            )
        if message.has_body or "content-digest" in signature.components:
            await caller.body.expect(signed_digests(message))
        if message.method not in ("GET", "HEAD"):
            self._take(key, base, signature.created)
        return actor.signed(agent)

    def _message(self, caller: Caller) -> SignedMessage:
        path = caller.path.decode("latin-1")
        if not path.startswith(f"{self._prefix}/"):
            path = self._prefix + path
        host = caller.headers.get("host", "").lower()
        return SignedMessage(
            caller.method,
            self._scheme,
            host if host in self._authorities else self._authority,
            path,
            caller.query.decode("latin-1"),
            [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in caller.fields],
        )

    async def _signer(self, signature: MessageSignature, now: float) -> tuple[AgentKey, SignedAgent]:
        if signature.scheme == "hwk":
            members = {name: value for name, value in signature.key_members.items() if isinstance(value, str)}
            key = AgentKey.of(members, is_strict=self._is_strict)
            return key, SignedAgent(key.thumbprint, key.algorithm, "software")
        if signature.scheme != "jwt":
            raise refused("unsupported_scheme", f"Signature-Key has one of the schemes {', '.join(SCHEMES)}")
        token = AgentToken.of(signature.key_members.get("jwt"), now, is_strict=self._is_strict)
        key = token.key
        # A trusted issuer has signed its tokens itself: its name alone is worth nothing.
        is_issued = token.issuer in self._issuers
        if not token.is_by(await self._issuers.key(token.issuer, token.key_id) if is_issued else key):
            who = token.issuer if is_issued else "its own key, and its issuer is not one of the service"
            raise refused("invalid_jwt", f"the token is not signed by {who}")
        return key, SignedAgent(
            key.thumbprint,
            key.algorithm,
            "operator_attested" if is_issued else "software",
            issuer=token.issuer if is_issued else None,
            subject=token.subject if is_issued else None,
            token_id=token.token_id,
            claimed_issuer=None if is_issued else token.issuer,
            claimed_subject=None if is_issued else token.subject,
        )

    def _take(self, key: AgentKey, base: bytes, created: int) -> None:
        """Take a request that changes something, once.

        What was signed decides, not the bytes of the signature: ECDSA has a second signature for each.
        """
        if created < self._begin:
            raise refused("invalid_signature", "created is before the start of the service")
        digest = hashlib.sha256(key.thumbprint.encode() + b"\0" + base).digest()
        self._seen.expire()
        if digest in self._seen:
            raise refused("invalid_signature", "the request was sent before: sign it again, with a new nonce")
        if len(self._seen) >= REMEMBERED_REQUESTS_LIMIT:
            raise ServiceBusy("too many signed requests came in the last minute: try again in a minute")
        self._seen[digest] = created + WINDOW_SECONDS + 1.0
