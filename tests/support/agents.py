"""Agents that sign as any library does: the parts of a signature are put together here, right or wrong."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from graphmem.auth import Actor, local_actor
from graphmem.auth.agent_keys import PrivateAgentKey, encoded, refused
from graphmem.auth.authenticator import Caller
from graphmem.auth.message_signatures import SignedMessage
from graphmem.auth.signed_requests import Issuers, SignedRequests
from graphmem.settings import Settings

ISSUER = "https://agents.example"
SUBJECT = "aauth:planner@agents.example"
Headers = list[tuple[str, str]]
_nonces = itertools.count()


def digest_of(body: bytes, name: str = "sha-256") -> str:
    """Return the value of ``Content-Digest``."""
    digest = hashlib.new(name.replace("-", ""), body).digest()
    return f"{name}=:{base64.b64encode(digest).decode()}:"


def hwk(key: PrivateAgentKey, **changes: Any) -> str:
    """Return ``Signature-Key`` with the key itself."""
    members = {**key.public.jwk, **changes}
    return "hwk;" + ";".join(f'{name}="{value}"' for name, value in members.items() if value is not None)


@dataclass
class Issuer:
    """An issuer of tokens."""

    key: PrivateAgentKey = field(default_factory=lambda: PrivateAgentKey.generated("Ed25519"))
    key_id: str = "k1"

    @property
    def jwks(self) -> dict[str, Any]:
        post_quantum = {"kty": "AKP", "alg": "ML-DSA-44", "kid": "pq"}
        return {"keys": [{**self.key.public.jwk, "kid": self.key_id}, post_quantum]}

    def token(
        self, agent: PrivateAgentKey, now: float, header: Mapping[str, Any] | None = None, **claims: Any
    ) -> str:
        """Return a token of an agent; a member that is None is left out."""
        own = {"alg": self.key.public.algorithm, "typ": "aa-agent+jwt", "kid": self.key_id}
        named = {
            "iss": ISSUER, "sub": SUBJECT, "dwk": "aauth-agent.json", "jti": "t-1", "iat": int(now),
            "exp": int(now) + 600, "cnf": {"jwk": {**agent.public.jwk}},
        }  # fmt: skip
        parts = [
            encoded(json.dumps({n: v for n, v in part.items() if v is not None}).encode())
            for part in ({**own, **(header or {})}, {**named, **claims})
        ]
        signed = ".".join(parts)
        return f"{signed}.{encoded(self.key.sign(signed.encode()))}"


@dataclass
class Request:
    """A request on its way, which an attacker may change."""

    method: str = "POST"
    path: str = "/store"
    query: str = ""
    body: bytes = b'{"a":1}'
    headers: Headers = field(default_factory=list)

    def set(self, name: str, value: str) -> None:
        """Replace a header."""
        self.drop(name)
        self.headers.append((name, value))

    def drop(self, name: str) -> None:
        self.headers = [(each, value) for each, value in self.headers if each != name]

    def get(self, name: str) -> str:
        return next(value for each, value in self.headers if each == name)

    async def is_empty(self) -> bool:
        return not self.body

    async def expect(self, digests: Mapping[str, bytes]) -> None:
        for name, digest in digests.items():
            if hashlib.new(name, self.body).digest() != digest:
                raise refused("invalid_signature", "the body differs")

    @property
    def caller(self) -> Caller:
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]
        return Caller(
            self.method, self.path.encode("latin-1"), self.query.encode("latin-1"),
            httpx.Headers(fields), fields, self,
        )  # fmt: skip


def signed(
    key: PrivateAgentKey,
    request: Request,
    key_header: str | None = None,
    *,
    authority: str = "mem.example",
    scheme: str = "https",
    label: str = "sig",
    components: Sequence[str] | None = None,
    created: int | None = None,
    parameters: str = "",
) -> Request:
    """Sign a request. ``components`` and ``parameters`` are what the signature has, be it right or wrong."""
    covered = ["@method", "@authority", "@path", "signature-key"]
    covered += ["@query"] if request.query else []
    covered += ["content-digest"] if request.body else []
    if request.body:
        request.headers.append(("content-digest", digest_of(request.body)))
    request.headers.append(("signature-key", f"{label}={key_header or hwk(key)}"))
    made = int(time.time()) if created is None else created
    listed = " ".join(f'"{name}"' for name in (covered if components is None else components))
    text = f'({listed});created={made};nonce="{next(_nonces)}"{parameters}'
    message = SignedMessage(
        request.method, scheme, authority, request.path, request.query, request.headers, bool(request.body)
    )
    base = message.base(covered if components is None else components, text)
    request.headers.append(("signature-input", f"{label}={text}"))
    signature = base64.b64encode(key.sign(base)).decode()
    request.headers.append(("signature", f"{label}=:{signature}:"))
    return request


class Service:
    """A service that knows one issuer. Its clock stands."""

    def __init__(self, address: str = "https://mem.example", *, now: float = 0.0, **settings: Any) -> None:
        self.issuer = Issuer()
        self.now = now or time.time()
        trusted = json.dumps({ISSUER: self.issuer.jwks})
        chosen = Settings(aauth_issuers=trusted, **settings)
        self.begin = self.now - 3600
        self.requests = SignedRequests(chosen, address, Issuers(chosen.aauth_issuers), lambda: self.begin)
        self.begin = self.now
        self.unsigned = local_actor("rest")

    async def actor(self, request: Request) -> Actor:
        return await self.requests.signed(self.unsigned, request.caller)
