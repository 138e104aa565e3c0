"""Tokens of agents: JSON Web Tokens of the type ``aa-agent+jwt``, which bind a name to a key.

An issuer signs the token of an agent, or the agent signs it itself. A token that the agent signed proves that
the agent has the key, and nothing else: its issuer and its subject are what the agent says of itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from graphmem.auth.agent_keys import AgentKey, PrivateAgentKey, decoded, encoded, refused
from graphmem.auth.message_signatures import WINDOW_SECONDS

TOKEN_TYPE: Final = "aa-agent+jwt"
DOCUMENT: Final = "aauth-agent.json"  # the document below ``/.well-known/`` at which an issuer names its keys
TOKEN_CHARACTERS_LIMIT: Final = 8_192
NAME_CHARACTERS_LIMIT: Final = 500  # characters of an issuer, a subject or a token's id
LIFETIME_SECONDS_LIMIT: Final = 86_400
OWN_LIFETIME_SECONDS: Final = 600  # how long a token that an agent signs itself is valid


@dataclass(frozen=True, slots=True)
class AgentToken:
    """A token whose claims are well formed and of this time; its signature is still to be checked."""

    key: AgentKey
    issuer: str
    subject: str
    token_id: str | None
    key_id: str | None
    algorithm: str
    _signed: bytes
    _signature: bytes

    @classmethod
    def of(cls, text: Any, now: float, *, is_strict: bool = False) -> AgentToken:
        """Read a token. ``is_strict``: its algorithms have their own names; see :meth:`AgentKey.of`. Raises
        AgentSignatureInvalid: it is no token of an agent, has expired, or is valid for more than a day."""
        header, claims, signed, signature = _parts(text)
        if header.get("typ") != TOKEN_TYPE or "crit" in header:
            raise refused("invalid_jwt", f"the token has not the type {TOKEN_TYPE}")
        confirmation = claims.get("cnf")
        jwk = confirmation.get("jwk") if isinstance(confirmation, dict) else None
        if not isinstance(jwk, dict):
            raise refused("invalid_jwt", "the token has no cnf.jwk")
        if claims.get("dwk", DOCUMENT) != DOCUMENT:
            raise refused("invalid_jwt", f"dwk of the token is not {DOCUMENT}")
        begin, end = claims.get("iat"), claims.get("exp")
        if type(begin) is not int or type(end) is not int:
            raise refused("invalid_jwt", "the token does not say from when until when it is valid: iat, exp")
        if end <= now:
            raise refused("expired_jwt", "the token has expired")
        not_before = claims.get("nbf", begin)
        if type(not_before) is not int or max(begin, not_before) > now + WINDOW_SECONDS:
            raise refused("invalid_jwt", "the token is of the future")
        if end - begin > LIFETIME_SECONDS_LIMIT:
            raise refused("invalid_jwt", "the token is valid for more than 24 hours")
        return cls(
            AgentKey.of(jwk, is_strict=is_strict),
            _name(claims, "iss"),
            _name(claims, "sub"),
            _name(claims, "jti") if "jti" in claims else None,
            _name(header, "kid") if "kid" in header else None,
            # The older name of the same algorithm.
            "Ed25519" if header.get("alg") == "EdDSA" and not is_strict else str(header.get("alg")),
            signed,
            signature,
        )

    def is_by(self, key: AgentKey) -> bool:
        return self.algorithm == key.algorithm and key.has_signed(self._signature, self._signed)


def own_token(key: PrivateAgentKey, issuer: str, subject: str, now: int) -> str:
    """Return a token that an agent signs itself, valid for ten minutes."""
    header = {"alg": key.public.algorithm, "typ": TOKEN_TYPE, "kid": key.public.thumbprint}
    claims = {
        "iss": issuer,
        "dwk": DOCUMENT,
        "sub": subject,
        "jti": secrets.token_urlsafe(16),
        "cnf": {"jwk": {**key.public.jwk}},
        "iat": now,
        "exp": now + OWN_LIFETIME_SECONDS,
    }
    signed = f"{encoded(orjson.dumps(header))}.{encoded(orjson.dumps(claims))}"
    return f"{signed}.{encoded(key.sign(signed.encode()))}"


def _parts(text: Any) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    if not isinstance(text, str) or len(text) > TOKEN_CHARACTERS_LIMIT or text.count(".") != 2:
        raise refused("invalid_jwt", "there is no token of three parts")
    header, claims, signature = text.split(".")
    try:
        first, second = orjson.loads(decoded(header)), orjson.loads(decoded(claims))
        if isinstance(first, dict) and isinstance(second, dict):
            return first, second, f"{header}.{claims}".encode(), decoded(signature)
    except ValueError:
        pass
    raise refused("invalid_jwt", "the token is damaged")


def _name(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= NAME_CHARACTERS_LIMIT or not value.isprintable():
        raise refused("invalid_jwt", f"{name} of the token is no name")
    return value
