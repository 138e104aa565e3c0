"""The keys of issuers: those of the settings, and those that an issuer names at its own address."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from graphmem.auth.guarded_fetch import FetchedDocument, Fetcher, FetchRefused
from graphmem.auth.signed_requests import Issuers
from graphmem.errors import AgentSignatureInvalid
from tests.support.agents import ISSUER, Issuer

METADATA = f"{ISSUER}/.well-known/aauth-agent.json"
JWKS = f"{ISSUER}/keys.json"


class Web(Fetcher):
    """Answers documents, and counts what is fetched."""

    def __init__(self, kept_seconds: float, **documents: Any) -> None:
        super().__init__()
        self.kept_seconds = kept_seconds
        self.documents: dict[str, Any] = {METADATA: {"issuer": ISSUER, "jwks_uri": JWKS}, **documents}
        self.fetched: list[str] = []

    async def fetch_json(self, url: str) -> FetchedDocument:
        self.fetched.append(url)
        if url not in self.documents:
            raise FetchRefused("status", "it answered 404")
        return FetchedDocument(self.documents[url], self.kept_seconds)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def asking(web: Web) -> tuple[Issuers, Clock]:
    return Issuers(json.dumps({ISSUER: None}), web, clock := Clock()), clock


def has(issuers: Issuers, key_id: str | None = "k1") -> bool:
    try:
        asyncio.run(issuers.key(ISSUER, key_id))
    except AgentSignatureInvalid as refused:
        return refused.details["reason"] != "unknown_key"
    return True


def test_keys_of_the_settings_are_taken_without_a_question() -> None:
    jwks = Issuer().jwks
    twice = {"keys": [*jwks["keys"], {**jwks["keys"][0], "kid": "x"}, {**jwks["keys"][0], "kid": "x"}]}
    issuers = Issuers(json.dumps({ISSUER: twice}), web := Web(300))
    assert [has(issuers, key_id) for key_id in ("k1", "pq", "x", None)] == [True, False, False, False]
    assert web.fetched == []
    assert ISSUER in issuers
    assert "https://other.example" not in issuers


def test_an_issuer_is_asked_once_and_its_keys_are_kept() -> None:
    issuers, clock = asking(web := Web(300, **{JWKS: Issuer().jwks}))
    assert ISSUER in issuers
    assert has(issuers)
    clock.now = 299.0
    assert has(issuers)
    assert web.fetched == [METADATA, JWKS]
    clock.now = 301.0
    assert has(issuers)
    assert web.fetched == [METADATA, JWKS] * 2


@pytest.mark.parametrize(("kept_seconds", "until"), [(0, 60), (10**6, 86_400)])
def test_keys_are_kept_for_a_minute_at_least_and_a_day_at_most(kept_seconds: float, until: float) -> None:
    issuers, clock = asking(web := Web(kept_seconds, **{JWKS: Issuer().jwks}))
    for clock.now in (0.0, until - 1):
        assert has(issuers)
    assert len(web.fetched) == 2
    clock.now = until
    assert has(issuers)
    assert len(web.fetched) == 4


def test_an_unknown_key_is_asked_for_once_a_minute() -> None:
    issuers, clock = asking(web := Web(3600, **{JWKS: Issuer().jwks}))
    assert not has(issuers, "new")
    assert not has(issuers, "new")
    assert len(web.fetched) == 2
    web.documents[JWKS] = Issuer(key_id="new").jwks
    clock.now = 59.0
    assert not has(issuers, "new")
    clock.now = 60.0
    assert has(issuers, "new")
    assert not has(issuers, "k1")


@pytest.mark.parametrize("metadata", [None, {"issuer": "https://other.example", "jwks_uri": JWKS}, {}])
def test_an_issuer_that_fails_is_asked_again_after_a_minute(metadata: Any) -> None:
    issuers, clock = asking(web := Web(300, **{JWKS: Issuer().jwks}))
    right = web.documents.pop(METADATA)
    if metadata is not None:
        web.documents[METADATA] = metadata
    assert not has(issuers)
    web.documents[METADATA] = right
    clock.now = 59.0
    assert not has(issuers)
    assert web.fetched == [METADATA]
    clock.now = 60.0
    assert has(issuers)


def test_a_failure_leaves_the_keys_until_they_end() -> None:
    issuers, clock = asking(web := Web(300, **{JWKS: Issuer().jwks}))
    assert has(issuers)
    del web.documents[JWKS]
    clock.now = 100.0
    assert not has(issuers, "new")
    assert has(issuers)
    clock.now = 301.0
    assert not has(issuers)


def test_callers_at_once_share_a_fetch() -> None:
    issuers, _ = asking(web := Web(300, **{JWKS: Issuer().jwks}))

    async def ask() -> None:
        await asyncio.gather(*(issuers.key(ISSUER, "k1") for _ in range(5)))

    asyncio.run(ask())
    assert web.fetched == [METADATA, JWKS]
