"""The OAuth flow as a client and a person's browser go through it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from graphmem.auth.client_rules import code_challenge_of

VERIFIER = "v" * 43
REDIRECT = "http://localhost:7777/callback"


@dataclass
class Flow:
    """A client that registered, and the browser of a person. ``http`` follows no redirect."""

    http: httpx.AsyncClient
    base: str
    client_id: str = ""
    page: httpx.Response | None = None
    cookie: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    async def register(self, **changes: Any) -> httpx.Response:
        body = {"client_name": "Test client", "redirect_uris": [REDIRECT]} | changes
        answer = await self.http.post("/mcp/oauth/register", json=body)
        if answer.status_code == 201:
            self.client_id = answer.json()["client_id"]
        return answer

    async def authorize(self, **changes: str | None) -> httpx.Response:
        query: dict[str, str | None] = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": REDIRECT, "state": "st&te",
            "code_challenge": code_challenge_of(VERIFIER), "code_challenge_method": "S256",
            "resource": f"{self.base}/mcp",
        } | changes  # fmt: skip
        params = {name: value for name, value in query.items() if value is not None}
        return await self.http.get("/mcp/oauth/authorize", params=params)

    async def open(self, url: str) -> httpx.Response:
        """Open the consent page in the browser."""
        self.page = await self.http.get(url)
        self.cookie = self.page.headers.get("set-cookie", "").partition(";")[0]
        inputs = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', self.page.text)
        self.fields = {name: html.unescape(value) for name, value in inputs}
        return self.page

    async def decide(
        self, decision: str = "allow", name: str = "", secret: str = "", **changes: Any
    ) -> httpx.Response:
        """Send the form of the page."""
        data = self.fields | {"decision": decision, "name": name, "secret": secret}
        headers = {"Cookie": self.cookie, "Origin": self.base} | changes.pop("headers", {})
        data |= changes
        headers = {header: value for header, value in headers.items() if value}
        return await self.http.post("/mcp/oauth/consent", data=data, headers=headers)

    async def allow(self, name: str, secret: str, **changes: str | None) -> dict[str, str]:
        """Go through the flow; return the parameters of the redirect to the client."""
        answer = await self.authorize(**changes)
        assert answer.status_code == 302, answer.text
        await self.open(answer.headers["location"])
        decided = await self.decide("allow", name, secret)
        assert decided.status_code == 303, decided.text
        back = await self.http.get(decided.headers["location"], headers={"Cookie": self.cookie})
        assert back.status_code == 302, back.text
        return parameters(back)

    async def token(self, **fields: Any) -> httpx.Response:
        data = {
            "grant_type": "authorization_code", "client_id": self.client_id, "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
        } | fields  # fmt: skip
        return await self.http.post(
            "/mcp/oauth/token", data={name: value for name, value in data.items() if value is not None}
        )

    async def refresh(self, token: str, **fields: Any) -> httpx.Response:
        return await self.token(
            grant_type="refresh_token", refresh_token=token, redirect_uri=None, code_verifier=None, **fields
        )


def parameters(answer: httpx.Response) -> dict[str, str]:
    """Return the parameters of a redirect."""
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
