"""Issuers of agents' tokens, and their keys: from the settings, or from the issuer's own address."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final, NamedTuple

import structlog

from graphmem.auth.agent_keys import AgentKey, refused
from graphmem.auth.agent_tokens import DOCUMENT
from graphmem.auth.guarded_fetch import KEPT_SECONDS_LIMIT, Fetcher, FetchRefused
from graphmem.errors import AgentSignatureInvalid

Keys = Mapping[str, AgentKey]
"""Keys by their ``kid``."""
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
        """Return a key of a trusted issuer.

        Raises:
            AgentSignatureInvalid: the issuer has no such key, or does not answer.
        """
        keys = self._known(issuer, key_id)
        if keys is None:
            async with self._turns[issuer]:
                keys = self._known(issuer, key_id)
                if keys is None:
                    keys = await self._ask(issuer)
        key = keys.get(key_id or "")
        if key is None:
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
