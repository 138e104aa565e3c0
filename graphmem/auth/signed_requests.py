"""From a signed request to the agent that signed it. Each request counts once."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import structlog
from cachetools import TLRUCache

from graphmem.auth import Actor, SignedAgent, message_signatures
from graphmem.auth.agent_keys import ALGORITHMS, AgentKey, refused
from graphmem.auth.agent_tokens import DOCUMENT, TOKEN_TYPE, AgentToken
from graphmem.auth.client_rules import canonical_resource
from graphmem.auth.guarded_fetch import KEPT_SECONDS_LIMIT, Fetcher, FetchRefused
from graphmem.errors import AgentSignatureInvalid, ServiceBusy
from graphmem.settings import LOOPBACK, Settings

if TYPE_CHECKING:
    from graphmem.auth.authenticator import Caller


Keys = Mapping[str, AgentKey]  # keys by their ``kid``
ASKED_AGAIN_SECONDS: Final = 60.0
"""An issuer is asked for its keys at most once in so many seconds, also after a failure."""

_log = structlog.get_logger("graphmem.auth")


class _Answer(NamedTuple):
    """The keys of an issuer that was asked at ``begin``; after ``end`` they are no longer used."""

    keys: Keys
    begin: float
    end: float


class Issuers:
    """The issuers that this service trusts. Nobody else is asked for keys: a token cannot name an address."""

    def __init__(
        self, text: str, fetcher: Fetcher | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``text`` is the JSON of the setting: the JWKS of each issuer, or null where it is asked for it."""
        trusted: dict[str, Any] = json.loads(text or "{}")
        # An issuer whose keys the settings name has been asked for good, any other one never yet.
        self._answers = {
            issuer: _Answer({}, -inf, -inf) if jwks is None else _Answer(_keys(jwks), inf, inf)
            for issuer, jwks in trusted.items()
        }
        self._fetcher = fetcher or Fetcher()
        self._clock = clock
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def __contains__(self, issuer: str) -> bool:
        return issuer in self._answers

    async def key(self, issuer: str, key_id: str | None) -> AgentKey:
        """Return a key of a trusted issuer. Raises AgentSignatureInvalid: it has none such, or does not
        answer."""
        keys = self._known(issuer, key_id)
        if keys is None:
            async with self._turns[issuer]:
                keys = self._known(issuer, key_id)
                if keys is None:
                    keys = await self._ask(issuer)
        if (key := keys.get(key_id or "")) is None:
            raise refused("unknown_key", f"{issuer} has no key of the token's kid")
        return key

    def _known(self, issuer: str, key_id: str | None) -> Keys | None:
        """Return the keys of the last answer; None if the issuer is to be asked, as for a new key."""
        answer, now = self._answers[issuer], self._clock()
        keys = answer.keys if now < answer.end else {}
        is_asked = key_id not in keys and now - answer.begin >= ASKED_AGAIN_SECONDS
        return None if is_asked else keys

    async def _ask(self, issuer: str) -> Keys:
        """Fetch the keys of an issuer. After a failure those that it named before are used to their end."""
        before, now = self._answers[issuer], self._clock()
        try:
            document = await self._fetcher.fetch_json(f"{issuer}/.well-known/{DOCUMENT}")
            if document.members.get("issuer") != issuer:
                raise FetchRefused("document", f"the document of {issuer} is that of another issuer")
            jwks = await self._fetcher.fetch_json(str(document.members.get("jwks_uri")))
            kept = min(max(jwks.kept_seconds, ASKED_AGAIN_SECONDS), KEPT_SECONDS_LIMIT)
            answer = _Answer(_keys(jwks.members), now, now + kept)
        except FetchRefused as exc:
            _log.warning("the keys of an issuer cannot be fetched", issuer=issuer, reason=str(exc))
            answer = _Answer(before.keys if now < before.end else {}, now, before.end)
        self._answers[issuer] = answer
        return answer.keys


def _keys(jwks: Mapping[str, Any]) -> Keys:
    """Return the keys of a JWKS without those of other algorithms, and those whose ``kid`` is not unique."""
    keys: dict[str, AgentKey] = {}
    listed = jwks.get("keys")
    members = [jwk for jwk in listed if isinstance(jwk, dict)] if isinstance(listed, list) else []
    key_ids = [jwk.get("kid") for jwk in members]
    for jwk, key_id in zip(members, key_ids, strict=True):
        if isinstance(key_id, str) and key_id and key_ids.count(key_id) == 1:
            try:
                keys[key_id] = AgentKey.of(jwk)
            except AgentSignatureInvalid:
                continue
    return keys


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
        "signature_window": message_signatures.WINDOW_SECONDS,
        "supported_algs": ALGORITHMS,
        "supported_typ": [TOKEN_TYPE],
        "supported_schemes": SCHEMES,
        "additional_signature_components": ["@query", "content-digest"],
        "jwks_uri": None,
    }


class SignedRequests:
    """Finds who signed the requests to one address, in one process."""

    def __init__(
        self, settings: Settings, address: str, issuers: Issuers | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
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
        if self._is_off or not any(name in caller.headers for name in message_signatures.HEADERS):
            return actor
        path, host = caller.path.decode("latin-1"), caller.headers.get("host", "").lower()
        message = message_signatures.SignedMessage(
            caller.method, self._scheme, host if host in self._authorities else self._authority,
            path if path.startswith(f"{self._prefix}/") else self._prefix + path,
            caller.query.decode("latin-1"),
            [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in caller.fields],
            has_body=not await caller.body.is_empty(),
        )  # fmt: skip
        now = self._clock()
        signature = message_signatures.MessageSignature.of(message, now)
        key, agent = await self._signer(signature, now)
        base = message.base(signature.components, signature.parameters)
        if not key.has_signed(signature.signature, base):
            raise refused(
                "invalid_signature",
                f"it is not that of {message.method} {message.scheme}://{message.authority}{message.path}",
            )
        if message.has_body or "content-digest" in signature.components:
            await caller.body.expect(message_signatures.signed_digests(message))
        if message.method not in ("GET", "HEAD"):
            self._take(key, base, signature.created)
        return actor.signed(agent)

    async def _signer(
        self, signature: message_signatures.MessageSignature, now: float
    ) -> tuple[AgentKey, SignedAgent]:
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
            key.thumbprint, key.algorithm, "operator_attested" if is_issued else "software",
            issuer=token.issuer if is_issued else None, subject=token.subject if is_issued else None,
            token_id=token.token_id, claimed_issuer=None if is_issued else token.issuer,
            claimed_subject=None if is_issued else token.subject,
        )  # fmt: skip

    def _take(self, key: AgentKey, base: bytes, created: int) -> None:
        """Take a request that changes something, once. ECDSA has a second signature for what was signed."""
        if created < self._begin:
            raise refused("invalid_signature", "created is before the start of the service")
        digest = hashlib.sha256(key.thumbprint.encode() + b"\0" + base).digest()
        self._seen.expire()
        if digest in self._seen:
            raise refused("invalid_signature", "the request was sent before: sign it again, with a new nonce")
        if len(self._seen) >= REMEMBERED_REQUESTS_LIMIT:
            raise ServiceBusy("too many signed requests came in the last minute: try again in a minute")
        self._seen[digest] = created + message_signatures.WINDOW_SECONDS + 1.0
