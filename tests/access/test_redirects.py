"""Redirect URIs: which one a client may register, and which request matches it (attacks 11 and 12)."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.auth.client_rules import (
    check_redirect_uri,
    is_loopback_redirect,
    redirect_destination,
    redirect_uri_matches,
    registered_client,
)
from graphmem.errors import OAuthRefused
from tests.support.oauth_clients import refusal
from tests.support.walks import walk_over

REGISTERED = (
    "http://localhost/callback",
    "http://127.0.0.1/callback",
    "http://[::1]/callback",
    "https://claude.ai/api/mcp/auth_callback",
    "cursor://anysphere.cursor-mcp/oauth/callback",
)


@walk_over(
    "requested, matches",
    [
        ("http://localhost:3118/callback", True),
        ("http://127.0.0.1:51763/callback", True),
        ("http://[::1]:51763/callback", True),
        ("http://LOCALHOST:1/callback", True),
        ("https://claude.ai/api/mcp/auth_callback", True),
        ("cursor://anysphere.cursor-mcp/oauth/callback", True),
        ("http://localhost:3118/callback2", False),
        ("http://localhost:3118/callback/", False),
        ("http://localhost:3118/", False),
        ("http://localhost:1/callback?x=1", False),
        ("http://localhost:1/callback#x", False),
        ("http://localhost:99999/callback", False),
        ("http://localhost.evil.com:1/callback", False),
        ("http://localhost.:1/callback", False),
        ("http://localhost:80@evil.com/callback", False),
        ("http://evil@localhost:1/callback", False),
        ("http://evil.com\\@localhost:1/callback", False),
        ("http://evil.com#@localhost:1/callback", False),
        ("http://[::1].evil.com:1/callback", False),
        ("http://127.0.0.1.evil.com/callback", False),
        ("http://127.0.0.2:1/callback", False),
        ("http://127.1:1/callback", False),
        ("http://2130706433:1/callback", False),
        ("http://localhost:1/call\tback", False),
        ("https://localhost:3118/callback", False),
        ("https://claude.ai:8443/api/mcp/auth_callback", False),
        ("https://claude.ai:443/api/mcp/auth_callback", False),
        ("https://claude.ai/api/mcp/auth_callback/", False),
        ("https://claude.ai/api/mcp/auth_callback?x", False),
        ("https://CLAUDE.ai/api/mcp/auth_callback", False),
        ("https://claude.ai.evil.com/api/mcp/auth_callback", False),
        ("cursor://anysphere.cursor-mcp:1/oauth/callback", False),
        ("cursor://anysphere.cursor-mcp/oauth/callback/..", False),
        ("", False),
    ],
)
def test_an_open_redirect_is_no_match_and_a_free_port_of_loopback_is(requested: str, matches: bool) -> None:
    assert redirect_uri_matches(requested, REGISTERED) is matches


def test_a_redirect_to_one_loopback_host_does_not_match_another() -> None:
    hosts = ("localhost", "127.0.0.1", "[::1]")
    for registered in hosts:
        for requested in hosts:
            matches = redirect_uri_matches(f"http://{requested}:2/cb", [f"http://{registered}:1/cb"])
            assert matches is (requested == registered)


def test_an_empty_path_of_loopback_is_the_path_of_a_slash() -> None:
    assert redirect_uri_matches("http://127.0.0.1:33418/", ["http://127.0.0.1"])
    assert redirect_uri_matches("http://127.0.0.1:33418", ["http://127.0.0.1/"])
    assert not redirect_uri_matches("https://app.example.org/", ["https://app.example.org"])


def test_the_port_of_a_host_that_is_not_loopback_is_not_free() -> None:
    assert not redirect_uri_matches("http://app.example.org:2/cb", ["http://app.example.org:1/cb"])
    assert not is_loopback_redirect("http://app.example.org:1/cb")


@given(
    st.text(st.sampled_from("abl1.:/@#?[]%\\ "), max_size=12),
    st.text(st.sampled_from("abl1.:/@#?[]%\\ "), max_size=12),
)
def test_a_redirect_that_matches_has_the_host_and_path_that_were_registered(before: str, after: str) -> None:
    for requested in (
        f"http://{before}localhost{after}/callback",
        f"http://{before}localhost:1/callback{after}",
    ):
        if redirect_uri_matches(requested, ["http://localhost/callback"]):
            url = httpx.URL(requested)
            assert (url.scheme, url.host, url.path, url.query) == ("http", "localhost", "/callback", b"")
            assert (url.userinfo, url.fragment) == (b"", "")


@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai/api/mcp/auth_callback",
        "https://app.example.org:8443/cb?tenant=1",
        "http://localhost:8787/callback",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418",
        "http://[::1]:1/cb",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "vscode://graphmem.extension/callback",
        "vscode-insiders://graphmem.extension/callback",
        "com.example.app:/oauth",
        "com.example.app://oauth/callback",
    ],
)
def test_a_redirect_of_a_known_kind_may_be_registered(uri: str) -> None:
    check_redirect_uri(uri)
    assert registered_client({"redirect_uris": [uri]}).redirect_uris == (uri,)


@walk_over(
    "uri",
    [
        "javascript:alert(1)",
        "JavaScript://example.org/%0aalert(1)",
        "java\tscript:alert(1)",
        " javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:msgbox(1)",
        "file:///etc/passwd",
        "blob:https://example.org/1",
        "about:blank",
        "ftp://example.org/cb",
        "urn:ietf:wg:oauth:2.0:oob",
        "http://evil.example/cb",
        "http://localhost.evil.example/cb",
        "http://0.0.0.0/cb",
        "http://10.0.0.1/cb",
        "https://ok.example/cb#fragment",
        "https://ok.example/cb#",
        "https://user@ok.example/cb",
        "https://ok.example@evil.example/cb",
        "https://evil.example\\@ok.example/cb",
        "https:///cb",
        "https:ok.example/cb",
        "https://",
        "https://ok.example:99999/cb",
        "https://ok.example:port/cb",
        "https://ok.example/\u202ecb",
        "https://ök.example/cb",
        "https://ok.example/c b",
        "https://ok.example/cb\r\nSet-Cookie: a=b",
        "https://*.example.org/cb",
        "cursor:callback",
        "com.example.app:callback",
        "mycustomscheme://callback",
        "/callback",
        "//ok.example/cb",
        "callback",
        "",
        f"https://ok.example/{'a' * 2048}",
    ],
)
def test_a_redirect_that_runs_a_script_or_leads_astray_is_not_registered(uri: str) -> None:
    with pytest.raises(OAuthRefused) as error:
        check_redirect_uri(uri)
    assert refusal(error) == "invalid_redirect_uri"
    for alone in ([uri], [uri, "http://evil.example/other"]):
        with pytest.raises(OAuthRefused) as error:
            registered_client({"redirect_uris": alone})
        assert refusal(error) == "invalid_redirect_uri"
    good = "https://ok.example/cb"
    for beside in ([good, uri], [uri, good]):
        registered = registered_client({"redirect_uris": beside}).redirect_uris
        assert registered == (good,)
        assert not redirect_uri_matches(uri, registered)


@pytest.mark.parametrize(
    ("uri", "destination", "loopback"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "claude.ai", False),
        ("https://App.example.org:8443/cb", "app.example.org:8443", False),
        ("https://xn--80ak6aa92e.com/cb", "xn--80ak6aa92e.com", False),
        ("http://localhost:8787/callback", "localhost:8787", True),
        ("http://127.0.0.1/", "127.0.0.1", True),
        ("http://[::1]:80/cb", "[::1]", True),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor:", False),
        ("com.example.app:/oauth", "com.example.app:", False),
    ],
)
def test_a_page_can_say_where_a_redirect_leads(uri: str, destination: str, loopback: bool) -> None:
    assert (redirect_destination(uri), is_loopback_redirect(uri)) == (destination, loopback)
