"""The check of Host and Origin, which every request passes before its credential is read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from graphmem.errors import HostRefused
from graphmem.settings import LOOPBACK, Settings


class HostCheck:
    """Refuse requests for foreign hosts, and requests of pages of foreign origins.

    Without a token, any web page could reach a service on loopback through a host name that resolves to
    loopback (DNS rebinding). The Host must therefore be an allowed one: loopback, the bound one, that of
    ``Settings.public_url`` or one of ``Settings.allowed_hosts``. The Origin of a page must be of an allowed
    host, or be one of ``Settings.cors_origins``.
    """

    def __init__(self, settings: Settings) -> None:
        loopback = LOOPBACK if settings.host in LOOPBACK else LOOPBACK | {settings.host}
        public_host = {_host(urlsplit(settings.public_url).netloc)} - {""} if settings.public_url else set()
        self.hosts = frozenset(settings.allowed_hosts) | loopback | public_host
        self.any_host = settings.bearer_token is not None and not settings.allowed_hosts
        self.origins = frozenset(settings.cors_origins)

    def check(self, headers: Mapping[str, str]) -> None:
        """Check the headers of a request, by their names in lower case.

        Raises:
            HostRefused: its Host, or the Origin of its page, is a foreign one.
        """
        origin = headers.get("origin")
        own = {_host(headers.get("host", ""))} - {""} if self.any_host else frozenset[str]()
        if (
            origin is not None
            and origin not in self.origins
            and _host(origin.partition("://")[2]) not in self.hosts | own
        ):
            raise HostRefused(origin=origin[:200])
        if not self.any_host and _host(headers.get("host", "")) not in self.hosts:
            raise HostRefused(host=headers.get("host", "")[:200])


@lru_cache(1_000)
def _host(authority: str) -> str:
    """Return the host of ``host:port``, empty if the text is anything else."""
    try:
        parts = urlsplit(f"//{authority}")
        plain = f"//{authority}" == f"//{parts.netloc}" and "@" not in authority
        return (parts.hostname or "") if plain and parts.port != 0 else ""
    except ValueError:
        return ""
