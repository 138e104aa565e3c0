"""Headers for browsers on every answer, cross-origin requests (CORS), and the answer to OPTIONS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Scope

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


class SentHeaders(dict[str, str]):
    """The headers of a request, found by any case of their names; of one sent twice, the first."""

    @classmethod
    def of(cls, scope: Scope) -> SentHeaders:
        """Return the headers of a request."""
        raw: list[tuple[bytes, bytes]] = scope["headers"]
        return cls((name.decode("latin-1"), value.decode("latin-1")) for name, value in reversed(raw))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a header."""
        return super().get(name.lower(), default)


class BrowserHeaders:
    """The headers for browsers on every answer, and the answer to OPTIONS."""

    def __init__(self, settings: Settings) -> None:
        self._origins = frozenset(settings.cors_origins)

    def completed(self, own: list[tuple[bytes, bytes]], origin: str | None) -> list[tuple[bytes, bytes]]:
        """Return the headers of an answer with those for browsers. A page of a listed origin may read it."""
        present = {name for name, _ in own}
        headers = own + [header for header in _SECURITY if header[0] not in present]
        if self._origins:
            mutable = MutableHeaders(raw=headers)
            mutable.add_vary_header("Origin")
            if origin in self._origins:
                mutable["Access-Control-Allow-Origin"] = origin
                mutable["Access-Control-Expose-Headers"] = ", ".join(EXPOSED_HEADERS)
        return headers

    def preflight(self, methods: Iterable[str], sent: SentHeaders) -> Response:
        """Return the answer to OPTIONS: a browser's preflight request never has a credential."""
        allowed = sorted(methods)
        headers = {"Allow": ", ".join([*allowed, "OPTIONS"])}
        if sent.get("origin") in self._origins:
            # Any header may be sent: the origin is a listed one, and MCP has headers named by tools.
            headers |= {
                "Access-Control-Allow-Methods": ", ".join(allowed),
                "Access-Control-Allow-Headers": sent.get("access-control-request-headers", "Authorization"),
                "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
            }
        return Response(status_code=204, headers=headers)
