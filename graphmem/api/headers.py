"""Headers: the check of Host and Origin, those for browsers, cross-origin requests (CORS), and OPTIONS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Scope

from graphmem.errors import HostRefused
from graphmem.settings import LOOPBACK, Settings

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""What an answer has unless it sets the header itself, as a page does for its own policy."""
_SECURITY: Final = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]

SANDBOX_HEADER: Final = "X-Graphmem-Sandbox"  # the header of every answer of a public sandbox; its value is 1
EXPOSED_HEADERS: Final = (
    "WWW-Authenticate", "Mcp-Session-Id", "X-Trace-Id", "Retry-After", "RateLimit", "RateLimit-Policy",
    SANDBOX_HEADER,
)  # fmt: skip
"""What pages of ``Settings.cors_origins`` may read besides the headers that every page may read."""

_ADDRESS: Final = re.compile(r"[\d.]+|[\da-f:.]*:[\da-f:.]*")
PREFLIGHT_SECONDS: Final = 600  # how long a browser may keep the answer to a preflight request


class SentHeaders(dict[str, str]):
    """The headers of a request, found by any case of their names; of one sent twice, the first.

    ``host`` and ``origin`` sent twice have both values, joined by a comma: they name no host then, and the
    check of hosts refuses the request (RFC 9112, section 3.2).
    """

    @classmethod
    def of(cls, scope: Scope) -> SentHeaders:
        raw: list[tuple[bytes, bytes]] = scope["headers"]
        headers = cls((name.decode("latin-1"), value.decode("latin-1")) for name, value in reversed(raw))
        if len(headers) < len(raw):
            for name in (b"host", b"origin"):
                values = [value.decode("latin-1") for sent, value in raw if sent == name]
                if len(values) > 1:
                    headers[name.decode()] = ",".join(values)
        return headers

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


def allowed(methods: Iterable[str]) -> str:
    """Return the value of ``Allow`` for a path with some methods: OPTIONS is answered on every path."""
    return ", ".join(sorted({*methods, "OPTIONS"}))


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
        methods = {*methods}
        headers = {"Allow": allowed(methods)}
        if sent.get("origin") in self._origins:
            # Any header may be sent: the origin is a listed one, and MCP has headers named by tools.
            # HEAD needs no permission.
            headers |= {
                "Access-Control-Allow-Methods": ", ".join(sorted(methods - {"HEAD"})),
                "Access-Control-Allow-Headers": sent.get("access-control-request-headers", "Authorization"),
                "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
            }
        return Response(status_code=204, headers=headers)


class HostCheck:
    """Refuse requests for foreign hosts, and requests of pages of foreign origins.

    Any web page could reach a service on loopback through a host name that resolves to loopback (DNS
    rebinding). The Host must therefore be an allowed one: loopback, the bound one, that of
    ``Settings.public_url`` or one of ``Settings.allowed_hosts``. The Origin of a page must be of an allowed
    host, or be one of ``Settings.cors_origins``. On loopback each program of this machine has a port: there
    the Origin must have the port of the Host as well.
    """

    def __init__(self, settings: Settings) -> None:
        loopback = LOOPBACK if settings.host in LOOPBACK else LOOPBACK | {settings.host}
        public = urlsplit(settings.public_url or "").netloc
        public_host = {_host(public)} - {""}
        self.hosts = frozenset(settings.allowed_hosts) | loopback | public_host
        self.public = public
        # What a sandbox shows, it shows everybody: a foreign name gives a page nothing.
        is_reached = settings.sandbox or (settings.bearer_token is not None and settings.host not in LOOPBACK)
        # No setting tells by which names others reach it.
        self.any_host = is_reached and not (settings.allowed_hosts or settings.public_url)
        # Probes reach it by an address. A page that does is of that address: rebinding needs a name.
        self.any_address = is_reached and not settings.allowed_hosts
        self.origins = frozenset(settings.cors_origins)

    def check(self, headers: Mapping[str, str]) -> None:
        """Check the headers of a request, by their names in lower case.

        Raises HostRefused: its Host, or the Origin of its page, is a foreign one.
        """
        origin, host = headers.get("origin"), _host(headers.get("host", ""))
        is_own = self.any_host or host in self.hosts or (self.any_address and _ADDRESS.fullmatch(host))
        own = {host} - {""} if is_own else frozenset[str]()
        page = (origin or "").partition("://")[2]
        is_own_page = _host(page) in self.hosts | own and (
            _host(page) not in LOOPBACK
            or page == self.public
            or _port(page) == _port(headers.get("host", ""))
        )
        if origin is not None and origin not in self.origins and not is_own_page:
            message = "the Origin header is that of a foreign page: add it to GRAPHMEM_CORS_ORIGINS"
            raise HostRefused(message, origin=origin[:200])
        if not is_own:
            message = "the Host header names a host that is not served: add it to GRAPHMEM_ALLOWED_HOSTS"
            raise HostRefused(message, host=headers.get("host", "")[:200])


@lru_cache(1_000)
def _host(authority: str) -> str:
    """Return the host of ``host:port``, empty if the text is anything else."""
    try:
        parts = urlsplit(f"//{authority}")
        plain = f"//{authority}" == f"//{parts.netloc}" and "@" not in authority
        return (parts.hostname or "") if plain and parts.port != 0 else ""
    except ValueError:
        return ""


def _port(authority: str) -> int | None:
    """Return the port of ``host:port``, None if it has none or :func:`_host` is empty."""
    return urlsplit(f"//{authority}").port if _host(authority) else None
