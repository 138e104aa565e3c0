"""What is kept of a client: registrations and client ID metadata documents."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.auth.client_rules import (
    CLIENT_NAME_CHARACTERS_LIMIT,
    REDIRECT_URIS_LIMIT,
    ClientMetadata,
    basic_client_id,
    check_client_id_url,
    display_name,
    document_client,
    document_client_at,
    is_client_id_url,
    redirect_uri_matches,
    registered_client,
)
from graphmem.auth.guarded_fetch import DocumentCache
from graphmem.errors import OAuthRefused
from tests.support.oauth_clients import DESCRIPTION, fetched_client, refusal
from tests.support.walks import walk_over

DOCUMENT_URL = "https://app.example.org/oauth/client.json"


def test_a_registration_keeps_the_members_that_are_used_and_ignores_the_rest() -> None:
    client = registered_client({
        "redirect_uris": ["https://app.example.org/cb"],
        "client_name": "  An\tapplication ",
        "client_uri": "https://app.example.org/",
        "logo_uri": "javascript:alert(1)",
        "scope": "read write offline_access",
        "grant_types": ["authorization_code", *["client_credentials"] * 100, "refresh_token"],
        "response_types": ["code", "token"],
        "token_endpoint_auth_method": "client_secret_post",
        "application_type": "web",
        "client_id": "chosen by the client",
        "client_secret": "chosen by the client",
        "software_statement": None,
        "contacts": None,
    })  # fmt: skip
    stored = client.model_dump_json(exclude_none=True)
    assert orjson.loads(stored) == {
        "redirect_uris": ["https://app.example.org/cb"],
        "client_name": "An application",
        "client_uri": "https://app.example.org/",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": "read write offline_access",
    }
    assert ClientMetadata.model_validate_json(stored) == client


def test_a_registration_of_redirects_alone_gets_defaults() -> None:
    client = registered_client({"redirect_uris": ["http://localhost:8787/cb"], "scope": "", "client_uri": ""})
    assert client.client_name == "localhost:8787"
    assert client.grant_types == ("authorization_code", "refresh_token")
    assert (client.scope, client.client_uri) == (None, None)


def test_a_client_that_wants_no_refresh_tokens_has_none() -> None:
    body = {"redirect_uris": ["https://app.example.org/cb"], "grant_types": ["authorization_code"]}
    assert registered_client(body).grant_types == ("authorization_code",)


@walk_over(
    "members, error_code",
    [
        ({"redirect_uris": None}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": "https://app.example.org/cb"}, "invalid_redirect_uri"),
        ({"redirect_uris": [1]}, "invalid_redirect_uri"),
        ({"redirect_uris": {"a": "https://app.example.org/cb"}}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://a.example/"] * (REDIRECT_URIS_LIMIT + 1)}, "invalid_redirect_uri"),
        ({"client_name": 1}, "invalid_client_metadata"),
        ({"client_name": ["a"]}, "invalid_client_metadata"),
        ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"grant_types": ["refresh_token"]}, "invalid_client_metadata"),
        ({"grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"grant_types": [["authorization_code"]]}, "invalid_client_metadata"),
        ({"response_types": ["token"]}, "invalid_client_metadata"),
        ({"response_types": []}, "invalid_client_metadata"),
        ({"scope": ["read"]}, "invalid_client_metadata"),
        ({"scope": 'read "write"'}, "invalid_client_metadata"),
        ({"scope": "read\nwrite"}, "invalid_client_metadata"),
        ({"scope": "r" * 1001}, "invalid_client_metadata"),
    ],
)
def test_a_registration_that_breaks_a_rule_is_refused(members: dict[str, Any], error_code: str) -> None:
    with pytest.raises(OAuthRefused) as error:
        registered_client({"redirect_uris": ["https://app.example.org/cb"], **members})
    assert refusal(error) == error_code


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = (
    "redirect_uris",
    "client_name",
    "client_uri",
    "grant_types",
    "response_types",
    "token_endpoint_auth_method",
    "token_endpoint_auth_methods_supported",
    "scope",
)


@given(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(MEMBERS, JSON)))
def test_any_json_is_a_client_or_a_refusal(body: Any) -> None:
    reads = [lambda: registered_client(body)]
    if isinstance(body, dict):
        valid = {"redirect_uris": ["https://app.example.org/cb"], "client_id": DOCUMENT_URL}
        reads += [
            lambda: registered_client(valid | body),
            lambda: document_client(DOCUMENT_URL, valid | body),
        ]
    for read in reads:
        client: ClientMetadata | str
        try:
            client = read()
        except OAuthRefused as exc:
            client = str(exc)
        if isinstance(client, str):
            assert DESCRIPTION.fullmatch(client)
        else:
            assert client.client_name == display_name(client.client_name) != ""
            assert ClientMetadata.model_validate_json(client.model_dump_json()) == client


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("Claude Code", "Claude Code"),
        ("  two \t lines\r\nof text ", "two lines of text"),
        ("evil\u202egnp.exe", "evilgnp.exe"),
        ("a\u2066b\u2069c\u200bd\u200de\ufeff", "abcde"),
        ("a\u2028b\u2029c", "a b c"),
        ("nul\x00esc\x1b[31m\x7f", "nul esc [31m"),
        ("pri\ue000vate\U000e0041", "private"),
        ("Cafe\u0301", "Café"),
        ("z" + "\u0301" * 40 + "o", "ź\u0301\u0301o"),
        ("日本語 クライアント", "日本語 クライアント"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("\u202e\u200b", ""),
        ("n" * 500, "n" * CLIENT_NAME_CHARACTERS_LIMIT),
    ],
)
def test_a_name_is_shown_on_one_line_without_characters_that_hide_others(sent: str, shown: str) -> None:
    assert display_name(sent) == shown


@pytest.mark.parametrize(
    "client_id",
    [
        "http://app.example.org/oauth/client.json",
        "https://app.example.org",
        "https://app.example.org/",
        "https://app.example.org/?a=b",
        "https://app.example.org/a/../client.json",
        "https://app.example.org/a/./client.json",
        "https://app.example.org/a/%2e%2E/client.json",
        "https://app.example.org/oauth/client.json#a",
        "https://user:secret@app.example.org/oauth/client.json",
        "https://app.example.org:8443/oauth/client.json",
        "https://localhost/client.json",
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
    ],
)
def test_a_client_id_that_is_no_url_of_a_document_is_refused(client_id: str) -> None:
    with pytest.raises(OAuthRefused) as error:
        check_client_id_url(client_id)
    assert refusal(error) == "invalid_client"


def test_a_client_id_is_a_url_or_was_issued() -> None:
    assert is_client_id_url(DOCUMENT_URL)
    assert not is_client_id_url("gm_client_1")
    check_client_id_url(DOCUMENT_URL)
    check_client_id_url("https://app.example.org:443/client.json?version=2")


DOCUMENT = {
    "client_id": DOCUMENT_URL,
    "client_name": "An application",
    "client_uri": "https://app.example.org/",
    "redirect_uris": ["http://localhost/callback"],
}


def test_a_metadata_document_is_read_by_the_rules_of_a_registration() -> None:
    client = document_client(DOCUMENT_URL, DOCUMENT)
    assert (client.client_name, client.client_uri) == ("An application", "https://app.example.org/")
    assert client.redirect_uris == ("http://localhost/callback",)
    assert (
        document_client(DOCUMENT_URL, {**DOCUMENT, "client_name": "\u200b"}).client_name == "app.example.org"
    )


def test_a_metadata_document_cannot_link_to_another_site() -> None:
    assert document_client(DOCUMENT_URL, {**DOCUMENT, "client_uri": "https://claude.ai/"}).client_uri is None


@walk_over(
    "members",
    [
        {"client_id": "https://app.example.org/oauth/other.json"},
        {"client_id": "https://app.example.org:443/oauth/client.json"},
        {"client_id": "https://APP.example.org/oauth/client.json"},
        {"client_id": None},
        {"redirect_uris": None},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["http://evil.example/cb"]},
        {"client_secret": "secret"},
        {"client_secret_expires_at": 0},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        },
        {"grant_types": ["client_credentials"]},
        {"client_name": 5},
    ],
)
def test_a_metadata_document_that_breaks_a_rule_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(OAuthRefused) as error:
        document_client(DOCUMENT_URL, {**DOCUMENT, **members})
    assert refusal(error) == "invalid_client"


def test_a_client_is_fetched_by_its_id() -> None:
    assert fetched_client(DOCUMENT_URL, DOCUMENT).client_name == "An application"


@pytest.mark.parametrize(
    ("client_id", "document", "address"),
    [
        (DOCUMENT_URL, DOCUMENT, "127.0.0.1"),
        (DOCUMENT_URL, DOCUMENT, "169.254.169.254"),
        (DOCUMENT_URL, {**DOCUMENT, "client_id": "https://claude.ai/client.json"}, "93.184.216.34"),
        (DOCUMENT_URL, [], "93.184.216.34"),
        ("https://app.example.org/", {**DOCUMENT, "client_id": "https://app.example.org/"}, "93.184.216.34"),
        (
            "https://app.example.org/a/../b",
            {**DOCUMENT, "client_id": "https://app.example.org/a/../b"},
            "93.184.216.34",
        ),
    ],
)
def test_a_client_that_cannot_be_fetched_is_an_invalid_client(
    client_id: str, document: Any, address: str
) -> None:
    with pytest.raises(OAuthRefused) as error:
        fetched_client(client_id, document, address)
    assert refusal(error) == "invalid_client"


def test_a_cache_of_documents_begins_empty_and_refuses_what_is_no_url() -> None:
    with pytest.raises(OAuthRefused) as error:
        asyncio.run(document_client_at(DocumentCache(document_client), "https://localhost/client.json"))
    assert refusal(error) == "invalid_client"


def test_one_redirect_uri_that_may_not_be_registered_refuses_no_other() -> None:
    good = ["windsurf://codeium.windsurf/oauth", "http://localhost:8787/cb", "https://claude.ai/cb"]
    bad = ["javascript:alert(1)", "http://evil.example/cb", "https://a.example/#fragment", "data:text/html,x"]
    client = registered_client({"redirect_uris": [bad[0], good[0], bad[1], good[1], bad[2], good[2], bad[3]]})
    assert client.redirect_uris == tuple(good)
    for uri in bad:
        assert not redirect_uri_matches(uri, client.redirect_uris)
    for uris in (bad, [], [7], [*good, 7], good * 7):
        with pytest.raises(OAuthRefused) as refused:
            registered_client({"redirect_uris": uris})
        assert refused.value.details["error"] == "invalid_redirect_uri"


@pytest.mark.parametrize(
    ("header", "client_id"),
    [("Basic Y2xpZW50X2E6", "client_a"), ("basic Y2xpZW50X2E6c2VjcmV0", "client_a"), ("Bearer x", None),
     ("", None),
     ("Basic aHR0cHMlM0ElMkYlMkZhLmV4YW1wbGUlMkZjOg==", "https://a.example/c")],
)  # fmt: skip
def test_http_basic_names_a_client(header: str, client_id: str | None) -> None:
    assert basic_client_id(header) == client_id
