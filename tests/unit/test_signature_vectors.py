"""Vectors of others: those of Project Wycheproof and of ed25519-speccheck (both Apache 2.0)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphmem.auth.agent_keys import AgentKey, encoded
from graphmem.errors import AgentSignatureInvalid

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "signature_vectors.json").read_text()
)
WEAK_KEYS = {0, 1, 10, 11}
"""The vectors of speccheck whose key is a point of small order, or not in its one form."""


@pytest.mark.parametrize(("name", "count"), [("ed25519", 151), ("es256", 262)])
def test_signatures_of_wycheproof_are_accepted_and_refused_as_it_says(name: str, count: int) -> None:
    answers: list[tuple[int, bool, bool]] = []
    for group in VECTORS[name]:
        key = AgentKey.of(group["jwk"])
        for number, message, signature, is_valid in group["tests"]:
            found = key.has_signed(bytes.fromhex(signature), bytes.fromhex(message))
            answers.append((number, found, is_valid))
    assert len(answers) == count
    assert [answer for answer in answers if answer[1] is not answer[2]] == []


def test_keys_of_small_order_are_refused() -> None:
    refused = set()
    for number, vector in enumerate(VECTORS["speccheck"]):
        try:
            AgentKey.of(ed25519_jwk(bytes.fromhex(vector["pub_key"])))
        except AgentSignatureInvalid:
            refused.add(number)
    assert refused == WEAK_KEYS


@pytest.mark.parametrize("is_negative", [False, True])
def test_a_key_for_which_one_signature_fits_every_message_is_refused(is_negative: bool) -> None:
    neutral = (1 | is_negative << 255).to_bytes(32, "little")
    with pytest.raises(AgentSignatureInvalid, match="no point of its curve"):
        AgentKey.of(ed25519_jwk(neutral))


def ed25519_jwk(point: bytes) -> dict[str, str]:
    return {"kty": "OKP", "crv": "Ed25519", "alg": "Ed25519", "x": encoded(point)}
