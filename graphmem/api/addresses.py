"""The address of a caller, for rate limits alone: it never gives a right."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.types import Scope

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

IPV6_PREFIX_BITS = 64
"""Bits of an IPv6 address that count as one caller: who has one address has all of its /64."""


def caller_address(scope: Scope, trusted: frozenset[str]) -> str:
    """Return the address of the caller of a request.

    It is that of the connection. If that is one of the ``trusted`` proxies, it is the last address of
    ``X-Forwarded-For`` that is not: what stands before it, anybody may have written.
    """
    client = scope.get("client")
    address = plain_address(client[0]) if client else ""
    if address not in trusted:
        return address
    forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
    for hop in reversed(forwarded.split(",")):
        parsed = _parsed(hop)
        if parsed is None:
            break
        address = str(parsed)
        if address not in trusted:
            break
    return address


def network(address: str) -> str:
    """Return the network whose requests are counted together: the /64 of an IPv6 address."""
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(parsed), IPV6_PREFIX_BITS), strict=False))
    return address


def plain_address(text: str) -> str:
    """Return an address in its one spelling: an IPv4 address within IPv6 as IPv4, without zone."""
    parsed = _parsed(text)
    return text if parsed is None else str(parsed)


@lru_cache(10_000)
def _parsed(text: str) -> Address | None:
    """Return the address of ``address``, ``address:port`` or ``[address]:port``, ``None`` of other text."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed
