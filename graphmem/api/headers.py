"""Headers for browsers on every answer, cross-origin requests (CORS), and the answer to OPTIONS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmem.settings import Settings

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""What an answer has unless it sets the header itself, as a page does for its own policy."""

EXPOSED_HEADERS: Final = (
    "WWW-Authenticate", "Mcp-Session-Id", "X-Trace-Id", "Retry-After", "RateLimit", "RateLimit-Policy",
)  # fmt: skip
"""What pages of ``Settings.cors_origins`` may read besides the headers that every page may read."""

PREFLIGHT_SECONDS: Final = 600
"""How long a browser may keep the answer to a preflight request."""

Methods = Callable[[str], Iterable[str]]


class BrowserHeaders:
    """Set the headers for browsers on every answer, refusals included."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.origins = frozenset(settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        origin = Headers(scope=scope).get("origin")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if self.origins:
                    headers.add_vary_header("Origin")
                if origin in self.origins:
                    headers["Access-Control-Allow-Origin"] = origin
                    headers["Access-Control-Expose-Headers"] = ", ".join(EXPOSED_HEADERS)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class Options:
    """Answer OPTIONS on a known path: a browser's preflight request never has a credential.

    ``methods`` returns the methods of a path. An unknown path is left to the application.
    """

    def __init__(self, app: ASGIApp, settings: Settings, methods: Methods) -> None:
        self.app = app
        self.origins = frozenset(settings.cors_origins)
        self.methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods = (
            sorted(self.methods(scope["path"]))
            if scope["type"] == "http" and scope["method"] == "OPTIONS"
            else []
        )
        if not methods:
            await self.app(scope, receive, send)
            return
        headers = {"Allow": ", ".join([*methods, "OPTIONS"])}
        request = Headers(scope=scope)
        if request.get("origin") in self.origins:
            # Any header may be sent: the origin is a listed one, and MCP has headers named by tools.
            headers |= {
                "Access-Control-Allow-Methods": ", ".join(methods),
                "Access-Control-Allow-Headers": request.get(
                    "access-control-request-headers", "Authorization"
                ),
                "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
            }
        await Response(status_code=204, headers=headers)(scope, receive, send)
