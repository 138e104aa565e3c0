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
_SECURITY: Final = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]

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

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [*message.get("headers", ())]
                present = {name.lower() for name, _ in own}
                message["headers"] = own + [header for header in _SECURITY if header[0] not in present]
                if self.origins:
                    self._allow(MutableHeaders(scope=message), Headers(scope=scope).get("origin"))
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _allow(self, headers: MutableHeaders, origin: str | None) -> None:
        """Allow the page of a listed origin to read the answer."""
        headers.add_vary_header("Origin")
        if origin in self.origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = ", ".join(EXPOSED_HEADERS)


class Options:
    """Answer OPTIONS on a known path: a browser's preflight request never has a credential.

    ``methods`` returns the methods of a path. An unknown path is left to the application.
    """

    def __init__(self, app: ASGIApp, settings: Settings, methods: Methods) -> None:
        self.app = app
        self.origins = frozenset(settings.cors_origins)
        self.methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "OPTIONS":
            await self.app(scope, receive, send)
            return
        methods = sorted(self.methods(scope["path"]))
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
