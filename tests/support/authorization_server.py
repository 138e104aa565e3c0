"""A small service with a strict OAuth authorization server, over real HTTP, whose answers a test can change.

It can do what graphmem's own cannot: expire tokens at once, name a wrong issuer or resource, and count how
often a token is refused and each refresh token is sent.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit


@dataclass
class Grant:
    """What a person allowed: ``query`` is that of the authorization request."""

    query: dict[str, str]
    ended: bool = False
    tokens: set[str] = field(default_factory=set)
    refresh_token: str = ""


@dataclass
class AuthorizationServer:
    """The state of the service, and what tests may change of its answers."""

    url: str = ""
    lifetime: int = 900
    issuer_in_redirect: str | None = None
    resource: str | None = None
    decision: str = "allow"
    delay: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, Grant] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    refreshes: Counter[str] = field(default_factory=Counter)
    secrets: list[str] = field(default_factory=list)
    refused: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def secret(self, prefix: str) -> str:
        """Return a new secret, and remember it."""
        self.secrets.append(prefix + secrets.token_urlsafe(32))
        return self.secrets[-1]

    def expire(self) -> None:
        """End every access token, as time does."""
        for grant in self.grants:
            grant.tokens.clear()

    def get(self, path: str, query: dict[str, str], bearer: str) -> tuple[int, Any]:
        if path == "/.well-known/oauth-protected-resource":
            return 200, {"resource": self.resource or self.url, "authorization_servers": [self.url]}
        if path == "/.well-known/oauth-authorization-server":
            return 200, {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
                "revocation_endpoint": f"{self.url}/revoke",
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
                **self.metadata,
            }
        if path == "/authorize":
            return self.authorize(query)
        if path == "/me":
            if any(bearer in grant.tokens and not grant.ended for grant in self.grants):
                return 200, {"account": "ada", "scopes": ["read"]}
            self.refused += 1
            return 401, _envelope("AUTH_INVALID")
        return 404, _envelope("NOT_FOUND")

    def authorize(self, query: dict[str, str]) -> tuple[int, Any]:
        uri = urlsplit(query["redirect_uri"])
        registered = self.clients[query["client_id"]]["redirect_uris"]
        assert f"http://{uri.hostname}{uri.path}" in registered
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        assert query["resource"] == self.url
        answer = {"state": query["state"], "iss": self.issuer_in_redirect or self.url}
        if self.decision == "deny":
            answer |= {"error": "access_denied", "error_description": "the person said no"}
        else:
            answer["code"] = self.secret("code_")
            self.codes[answer["code"]] = Grant(query)
        return 302, f"{query['redirect_uri']}?{urlencode(answer)}"

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == "/register":
            client_id = f"client_{len(self.clients)}"
            self.clients[client_id] = body
            return 201, {**body, "client_id": client_id}
        if path == "/token":
            redeem = self.redeem if body["grant_type"] == "authorization_code" else self.renew
            return redeem(body)
        if path == "/revoke":
            for grant in self.grants:
                grant.ended |= body["token"] == grant.refresh_token
            return 200, {}
        return 404, _envelope("NOT_FOUND")

    def redeem(self, body: dict[str, Any]) -> tuple[int, Any]:
        grant = self.codes.pop(body["code"], None)
        digest = hashlib.sha256(body["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        same = ("redirect_uri", "client_id", "resource")
        if grant is None or grant.query["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant", "error_description": "the code is not good"}
        if any(grant.query[name] != body[name] for name in same):
            return 400, {"error": "invalid_grant", "error_description": "it differs from the request"}
        self.grants.append(grant)
        return self.issue(grant)

    def renew(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.refreshes[body["refresh_token"]] += 1
        time.sleep(self.delay)
        for grant in self.grants:
            if grant.refresh_token == body["refresh_token"] and not grant.ended:
                assert body["client_id"] == grant.query["client_id"]
                return self.issue(grant)
        # It was used before, so one of its two users stole it.
        for grant in self.grants:
            grant.ended = True
        return 400, {"error": "invalid_grant", "error_description": "it was used before"}

    def issue(self, grant: Grant) -> tuple[int, Any]:
        token, grant.refresh_token = self.secret("gm_at_"), self.secret("gm_rt_")
        grant.tokens.add(token)
        return 200, {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": self.lifetime,
            "refresh_token": grant.refresh_token,
            "scope": grant.query["scope"],
        }


@contextlib.contextmanager
def authorization_server() -> Iterator[AuthorizationServer]:
    """Serve one on a free port."""
    state = AuthorizationServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
            with state.lock:
                self.answer(*state.get(parts.path, dict(parse_qsl(parts.query)), bearer))

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            is_json = "json" in self.headers["Content-Type"]
            with state.lock:
                self.answer(*state.post(self.path, json.loads(text) if is_json else dict(parse_qsl(text))))

        def answer(self, status: int, content: Any) -> None:
            body = b"" if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            if isinstance(content, str):
                self.send_header("Location", content)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield state
        server.shutdown()
        thread.join()


def _envelope(code: str) -> dict[str, Any]:
    return {"error_code": code, "message": code, "details": {}, "trace_id": "0", "timestamp": ""}
