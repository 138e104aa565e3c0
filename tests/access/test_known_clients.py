"""The redirects, registrations and metadata documents of Claude, Claude Code, Cursor, VS Code and ChatGPT."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from graphmem.auth.client_rules import (
    redirect_uri_matches,
    registered_client,
)
from tests.support.oauth_clients import fetched_client


class KnownClient(NamedTuple):
    """How a client presents itself, and which redirects it then asks for.

    ``document`` is its metadata document, or its registration if it has no ``client_id``.
    """

    name: str
    document: dict[str, Any]
    redirects: tuple[str, ...]
    strangers: tuple[str, ...] = ("https://evil.example/cb", "http://evil.example:3118/callback")


CLAUDE_CALLBACKS = ("https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback")
CURSOR_CALLBACKS = (
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "https://www.cursor.com/agents/mcp/oauth/callback",
    "http://localhost:8787/callback",
)
VS_CODE_CALLBACKS = (
    "https://insiders.vscode.dev/redirect",
    "https://vscode.dev/redirect",
    "http://127.0.0.1/",
    "http://127.0.0.1:33418/",
)
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
BOTH_GRANTS = ["authorization_code", "refresh_token"]
KNOWN_CLIENTS = {
    "Claude.ai by registration": KnownClient(
        "Claude",
        {
            "client_name": "Claude",
            "redirect_uris": [CLAUDE_CALLBACKS[0]],
            "grant_types": BOTH_GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "client_secret_post",
            "scope": "read write",
        },
        CLAUDE_CALLBACKS[:1],
        (CLAUDE_CALLBACKS[1],),
    ),
    "Claude.ai by document": KnownClient(
        "Claude",
        {
            "client_id": "https://claude.ai/oauth/mcp-client-metadata",
            "client_name": "Claude",
            "redirect_uris": list(CLAUDE_CALLBACKS),
            "token_endpoint_auth_method": "none",
        },
        CLAUDE_CALLBACKS,
        ("https://claude.ai/api/mcp/auth_callback/",),
    ),
    "Claude Code by document": KnownClient(
        "Claude Code",
        {
            "client_id": "https://claude.ai/oauth/claude-code-client-metadata",
            "client_name": "Claude Code",
            "client_uri": "https://claude.ai",
            "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
            "grant_types": BOTH_GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        },
        ("http://localhost:3118/callback", "http://127.0.0.1:52163/callback", "http://localhost/callback"),
        ("http://localhost:3118/other", "http://[::1]:3118/callback", "https://localhost:3118/callback"),
    ),
    "Claude Code by registration": KnownClient(
        "Claude Code (graphmem)",
        {
            "client_name": "Claude Code (graphmem)",
            "redirect_uris": ["http://localhost:3118/callback"],
            "grant_types": BOTH_GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        },
        ("http://localhost:3118/callback", "http://localhost:40123/callback"),
    ),
    "Cursor by registration": KnownClient(
        "Cursor",
        {
            "client_name": "Cursor",
            "redirect_uris": list(CURSOR_CALLBACKS),
            "grant_types": BOTH_GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": "read write admin",
        },
        CURSOR_CALLBACKS,
        ("cursor://another.extension/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback2"),
    ),
    "VS Code by document": KnownClient(
        "Visual Studio Code",
        {
            "client_id": "https://vscode.dev/oauth/client-metadata.json",
            "client_name": "Visual Studio Code",
            "client_uri": "https://code.visualstudio.com",
            "redirect_uris": [*VS_CODE_CALLBACKS, "http://127.0.0.1:33418"],
            "grant_types": [*BOTH_GRANTS, DEVICE_CODE],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        },
        (*VS_CODE_CALLBACKS, "http://127.0.0.1:33418", "http://127.0.0.1:59656/", "http://127.0.0.1:59656"),
        ("http://localhost:33418/", "https://vscode.dev/redirect/other"),
    ),
    "VS Code by registration": KnownClient(
        "Visual Studio Code",
        {
            "client_name": "Visual Studio Code",
            "client_uri": "https://code.visualstudio.com",
            "redirect_uris": list(VS_CODE_CALLBACKS),
            "grant_types": [*BOTH_GRANTS, DEVICE_CODE],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        },
        (*VS_CODE_CALLBACKS, "http://127.0.0.1:59656/"),
    ),
    "ChatGPT by document": KnownClient(
        "ChatGPT",
        {
            "client_id": "https://chatgpt.com/oauth/kDmjx77UnKOM/client.json",
            "client_name": "ChatGPT",
            "client_uri": "https://chatgpt.com/",
            "logo_uri": "https://persistent.oaistatic.com/sonic/misc/openai-logo.png",
            "redirect_uris": ["https://chatgpt.com/connector/oauth/kDmjx77UnKOM"],
            "grant_types": BOTH_GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
            "token_endpoint_auth_signing_alg": "RS256",
            "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
        },
        ("https://chatgpt.com/connector/oauth/kDmjx77UnKOM",),
        (
            "https://chatgpt.com/connector/oauth/another",
            "https://chatgpt.com/connector_platform_oauth_redirect",
        ),
    ),
    "ChatGPT by registration": KnownClient(
        "ChatGPT",
        {
            "client_name": "ChatGPT",
            "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
            "grant_types": BOTH_GRANTS,
            "response_types": ["code"],
            "token_endpoint_auth_method": "client_secret_basic",
        },
        ("https://chatgpt.com/connector_platform_oauth_redirect",),
    ),
}


@pytest.fixture(params=KNOWN_CLIENTS.values(), ids=list(KNOWN_CLIENTS))
def known(request: pytest.FixtureRequest) -> KnownClient:
    """Each known client in turn."""
    return request.param


def test_a_known_client_is_accepted_with_its_redirects_and_no_others(known: KnownClient) -> None:
    client_id = known.document.get("client_id")
    client = fetched_client(client_id, known.document) if client_id else registered_client(known.document)
    assert client.client_name == known.name
    assert client.token_endpoint_auth_method == "none"
    assert client.grant_types == ("authorization_code", "refresh_token")
    assert client.scope == known.document.get("scope")
    for redirect in known.redirects:
        assert redirect_uri_matches(redirect, client.redirect_uris)
    for redirect in known.strangers:
        assert not redirect_uri_matches(redirect, client.redirect_uris)
