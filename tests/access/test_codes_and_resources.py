"""PKCE and resource indicators: who may redeem a code, and what a token is good for."""

from __future__ import annotations

import pytest

from graphmem.auth.client_rules import (
    canonical_resource,
    challenge_of_sent,
    check_code_challenge,
    check_resource,
    code_challenge_of,
    make_code_verifier,
    resource_covers,
    resources_of,
)
from graphmem.errors import OAuthRefused
from tests.support.oauth_clients import refusal

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""The example of RFC 7636, appendix B."""


def test_the_verifier_of_a_challenge_matches_and_another_does_not() -> None:
    assert code_challenge_of(VERIFIER) == CHALLENGE
    assert check_code_challenge(CHALLENGE, "S256") == CHALLENGE
    assert challenge_of_sent(VERIFIER) == CHALLENGE
    made = make_code_verifier()
    assert challenge_of_sent(made) == check_code_challenge(code_challenge_of(made), "S256")
    assert challenge_of_sent(made) != CHALLENGE


@pytest.mark.parametrize(
    "verifier",
    [
        None,
        "",
        CHALLENGE,
        VERIFIER[:-1],
        VERIFIER + "=",
        VERIFIER + "\n",
        VERIFIER[:-1] + "+",
        VERIFIER[:-1] + "ü",
        VERIFIER.lower(),
        VERIFIER * 3,
    ],
)
def test_a_stolen_code_without_its_verifier_is_no_match(verifier: str | None) -> None:
    assert challenge_of_sent(verifier) != CHALLENGE


@pytest.mark.parametrize("length", [42, 43, 128, 129])
def test_a_verifier_has_43_to_128_characters(length: int) -> None:
    verifier = "a" * length
    assert (challenge_of_sent(verifier) == code_challenge_of(verifier)) is (43 <= length <= 128)


@pytest.mark.parametrize(
    ("challenge", "method"),
    [
        (None, "S256"),
        ("", "S256"),
        (CHALLENGE, None),
        (CHALLENGE, "plain"),
        (CHALLENGE, "s256"),
        ("abc", "S256"),
        (CHALLENGE + "=", "S256"),
        (CHALLENGE + "A", "S256"),
        (CHALLENGE + "\n", "S256"),
        (CHALLENGE[:-1] + "+", "S256"),
        (CHALLENGE[:-1] + "/", "S256"),
        (CHALLENGE[:-1] + "é", "S256"),
        ("A" * 42, "S256"),
    ],
)
def test_a_challenge_that_is_missing_plain_or_of_another_form_is_refused(
    challenge: str | None, method: str | None
) -> None:
    with pytest.raises(OAuthRefused) as error:
        check_code_challenge(challenge, method)
    assert refusal(error) == "invalid_request"


BASE = "https://memory.example.org"
RESOURCES = resources_of(f"{BASE}/", ["core", "full"])


def test_the_resources_are_the_base_mcp_and_its_toolsets() -> None:
    assert sorted(RESOURCES) == [BASE, f"{BASE}/mcp", f"{BASE}/mcp/core", f"{BASE}/mcp/full"]
    assert resources_of("http://127.0.0.1:3080/graph/", []) == {
        "http://127.0.0.1:3080/graph",
        "http://127.0.0.1:3080/graph/mcp",
    }


@pytest.mark.parametrize(
    ("resource", "canonical"),
    [
        (None, f"{BASE}/mcp"),
        (BASE, BASE),
        (f"{BASE}/", BASE),
        (f"{BASE}/mcp", f"{BASE}/mcp"),
        (f"{BASE}/mcp/", f"{BASE}/mcp"),
        (f"{BASE}/mcp/core", f"{BASE}/mcp/core"),
        (f"{BASE}:443/mcp", f"{BASE}/mcp"),
        ("HTTPS://Memory.Example.ORG/mcp", f"{BASE}/mcp"),
    ],
)
def test_a_resource_of_this_instance_is_accepted_in_its_canonical_form(
    resource: str | None, canonical: str
) -> None:
    assert check_resource(resource, RESOURCES, f"{BASE}/mcp") == canonical


@pytest.mark.parametrize(
    "resource",
    [
        "",
        "/mcp",
        "memory.example.org/mcp",
        "http://memory.example.org/mcp",
        "https://evil.example/mcp",
        "https://memory.example.org.evil.example/mcp",
        "https://memory.example.org@evil.example/mcp",
        "https://memory.example.org:8443/mcp",
        f"{BASE}/mcp#fragment",
        f"{BASE}/mcp#",
        f"{BASE}/mcp?a=b",
        f"{BASE}/MCP",
        f"{BASE}/mcp/none",
        f"{BASE}/mcp/../mcp",
        f"{BASE}/mcp\\",
        "urn:graphmem",
        "mailto:a@example.org",
    ],
)
def test_a_resource_of_another_server_is_an_invalid_target(resource: str) -> None:
    with pytest.raises(OAuthRefused) as error:
        check_resource(resource, RESOURCES, f"{BASE}/mcp")
    assert refusal(error) == "invalid_target"


def test_a_loopback_address_keeps_its_port_as_a_resource() -> None:
    assert canonical_resource("http://127.0.0.1:3080/mcp/") == "http://127.0.0.1:3080/mcp"
    assert canonical_resource("http://[::1]:80") == "http://[::1]"


@pytest.mark.parametrize(
    ("granted", "used", "covered"),
    [
        (BASE, BASE, True),
        (BASE, f"{BASE}/mcp", True),
        (BASE, f"{BASE}/mcp/core", True),
        (f"{BASE}/mcp", f"{BASE}/mcp", True),
        (f"{BASE}/mcp", f"{BASE}/mcp/core", True),
        (f"{BASE}/mcp/core", f"{BASE}/mcp/core", True),
        (f"{BASE}/mcp", BASE, False),
        (f"{BASE}/mcp/core", f"{BASE}/mcp", False),
        (f"{BASE}/mcp/core", f"{BASE}/mcp/full", False),
        (f"{BASE}/mcp/co", f"{BASE}/mcp/core", False),
        ("https://evil.example", BASE, False),
        ("https://memory.example.or", BASE, False),
    ],
)
def test_a_token_for_one_resource_is_good_below_it_only(granted: str, used: str, covered: bool) -> None:
    assert resource_covers(granted, used) is covered
