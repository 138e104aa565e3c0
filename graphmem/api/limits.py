"""Rate limits of one process: for each credential, and for each address that sends none.

The windows move: a request counts for the length of its window, and then no more. Requests over the Unix
socket are not limited. The headers ``RateLimit`` and ``RateLimit-Policy`` have the form of the IETF's
draft-ietf-httpapi-ratelimit-headers-11. A caller that goes on although it is refused waits for each further
refusal, so that a flood of refused requests costs little.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from cachetools import LRUCache
from starlette.datastructures import Headers
from starlette.types import Scope

from graphmem.auth import Actor, Method, tokens
from graphmem.auth.rates import Meter, RateClass
from graphmem.errors import AgentSignatureInvalid, GraphmemError, RateLimited
from graphmem.setting_values import RateLimit, parsed_limits
from graphmem.settings import Settings

KEYS_LIMIT: Final = 20_000
"""Credentials, and addresses, that are counted. Of more, the one that was idle longest is forgotten."""
KNOWN_LIMIT: Final = 10_000  # credentials that are known to be good
FAILURES: Final = "failures"  # the name of the limit of failed attempts to authenticate
REFUSALS_SECONDS: Final = 10  # seconds for which the refusals of an address are counted
PROMPT_REFUSALS: Final = 20  # refusals in that time that are answered at once
COUNTED_REFUSALS: Final = 120  # refusals in that time that are counted: the last of them waits longest
REFUSAL_STEP_SECONDS, REFUSAL_DELAY_SECONDS_MAX = 0.01, 1.0
"""How much longer each further refusal waits than the one before, and how long a refusal waits at most."""

Clock = Callable[[], float]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

IPV6_PREFIX_BITS = 64
"""Bits of an IPv6 address that count as one caller: who has one address has all of its /64."""


class Windows:
    """The moments of the requests of each key: the name of a limit, and who is limited."""

    def __init__(self, keys_limit: int = KEYS_LIMIT, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._moments: LRUCache[tuple[str, str, int], deque[float]] = LRUCache(keys_limit)

    def __len__(self) -> int:
        return len(self._moments)

    def take(self, key: tuple[str, str], limit: int, seconds: float) -> bool:
        """Add a request to a key, unless it had ``limit`` in the last ``seconds``."""
        now = self._clock()
        moments = self._current((*key, limit), now - seconds)
        if len(moments) >= limit:
            return False
        moments.append(now)
        return True

    def left(self, key: tuple[str, str], limit: int, seconds: float) -> tuple[int, int]:
        """Return how many requests a key has left, and in how many seconds it has more."""
        now = self._clock()
        moments = self._current((*key, limit), now - seconds)
        return limit - len(moments), math.ceil((moments[0] if moments else now) + seconds - now)

    def _current(self, key: tuple[str, str, int], since: float) -> deque[float]:
        moments = self._moments.get(key)
        if moments is None:
            moments = self._moments[key] = deque()
        while moments and moments[0] <= since:
            moments.popleft()
        return moments


class Policy:
    """A limit with its name, such as ``read``; ``header`` is the value of ``RateLimit-Policy``.

    ``windows`` have for each item its name in headers, how many requests it allows, and in how many seconds.
    """

    def __init__(self, name: str, items: Sequence[RateLimit]) -> None:
        self.name = name
        self.items = items
        self.windows = [
            (name if len(items) == 1 else f"{name}-{item.seconds}s", item.requests, item.seconds)
            for item in items
        ]
        self.header = ", ".join(f'"{each}";q={amount};w={seconds}' for each, amount, seconds in self.windows)


class Usage(NamedTuple):
    """What is left of a limit: for each item the requests, and the seconds until there are more."""

    policy: Policy
    left: list[tuple[int, int]]

    @property
    def header(self) -> str:
        """The value of ``RateLimit``."""
        pairs = zip(self.policy.windows, self.left, strict=True)
        return ", ".join(f'"{name}";r={requests};t={seconds}' for (name, *_), (requests, seconds) in pairs)

    def refusal(self) -> RateLimited:
        exhausted = [
            (item, seconds)
            for item, (requests, seconds) in zip(self.policy.items, self.left, strict=True)
            if requests < 1
        ]
        item, seconds = max(exhausted, key=lambda pair: pair[1], default=(self.policy.items[0], 1))
        return RateLimited(
            f"the limit of {self.policy.name} requests is {item}: wait {seconds} seconds"
            if self.policy.name != FAILURES
            else f"too many attempts to authenticate failed (the limit is {item}): wait {seconds} seconds",
            limit=self.policy.name,
            allowed=str(item),
            retry_after=max(1, seconds),
        )


class RateLimits:
    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        named = {
            RateClass.READ: settings.limit_reads,
            RateClass.WRITE: settings.limit_writes,
            RateClass.HEAVY: settings.limit_heavy,
            RateClass.AUTH: settings.limit_auth,
            RateClass.REGISTRATION: settings.limit_registrations,
            RateClass.REPORT: settings.limit_reports,
            FAILURES: settings.limit_failures,
        }
        self._policies = {
            name: Policy(str(name), items) for name, text in named.items() if (items := parsed_limits(text))
        }
        # Apart, so that a flood from many addresses forgets no credential.
        self._credentials = Windows(clock=clock)
        self._addresses = Windows(clock=clock)
        self._refusals = Windows(clock=clock)
        self._known: LRUCache[str, bool] = LRUCache(KNOWN_LIMIT)
        token = settings.bearer_token
        self._always_known = digest_of(f"Bearer {token.get_secret_value()}") if token else ""
        self.trusted = frozenset(settings.trusted_proxies)

    def take(self, rate_class: RateClass, actor: Actor, address: str) -> tuple[bool, Usage] | None:
        """Take a request of a class from what its caller has left.

        Returns whether there was one left, and what is left now; ``None`` if the class has no limit.
        """
        policy = self._policies.get(rate_class)
        if policy is None:
            return None
        if _has_credential(actor):
            windows, key = self._credentials, f"{actor.owner}/{actor.method}/{actor.credential}"
        else:
            windows, key = self._addresses, network(address)
        is_left = all(windows.take((name, key), *window) for name, *window in policy.windows)
        return is_left, self._usage(windows, policy, key)

    def failures(self, address: str) -> Usage | None:
        """Return what is left of the failures of an address, ``None`` if they have no limit."""
        policy = self._policies.get(FAILURES)
        return policy and self._usage(self._addresses, policy, network(address))

    def failed(self, address: str, digest: str = "") -> None:
        """Count a failed attempt of an address to authenticate, and forget a credential that failed."""
        self._known.pop(digest, None)
        policy = self._policies.get(FAILURES)
        for name, *window in policy.windows if policy else ():
            self._addresses.take((name, network(address)), *window)

    def refusal_delay(self, address: str) -> float:
        """Count a refusal of an address, and return the seconds that its answer waits."""
        window = ("", network(address)), COUNTED_REFUSALS, REFUSALS_SECONDS
        self._refusals.take(*window)
        refusals = COUNTED_REFUSALS - self._refusals.left(*window)[0]
        return min(REFUSAL_DELAY_SECONDS_MAX, REFUSAL_STEP_SECONDS * max(0, refusals - PROMPT_REFUSALS))

    def is_known(self, digest: str) -> bool:
        """Return whether a credential was good when it was last tried, or is the token of the settings."""
        return digest in self._known or digest == self._always_known

    def succeeded(self, digest: str) -> None:
        self._known[digest] = True

    @staticmethod
    def _usage(windows: Windows, policy: Policy, key: str) -> Usage:
        return Usage(policy, [windows.left((name, key), *window) for name, *window in policy.windows])


@dataclass(slots=True)
class RequestMeter(Meter):
    """The meter of one request. ``usage`` is that of the limit that counted it."""

    limits: RateLimits
    scope: Scope
    usage: Usage | None = None
    is_counted: bool = field(default=False, init=False)
    is_refused: bool = field(default=False, init=False)

    @property
    def address(self) -> str:
        """The address of the caller, or the network that counts as one caller."""
        return network(caller_address(self.scope, self.limits.trusted))

    def count(self, rate_class: RateClass, actor: Actor) -> None:
        if self.is_counted:
            return
        self.is_counted = True
        outcome = self.limits.take(rate_class, actor, "" if _has_credential(actor) else self.address)
        if outcome is not None:
            is_left, self.usage = outcome
            if not is_left:
                self.is_refused = True
                raise self.usage.refusal()

    def again(self) -> Meter:
        return replace(self, usage=None)

    @contextlib.contextmanager
    def attempt(self, authorization: str | None) -> Iterator[None]:
        """Refuse an attempt of an address that failed too often, before anything is looked up."""
        if authorization is None:
            yield
            return
        digest = digest_of(authorization)
        if not self.limits.is_known(digest):
            failures = self.limits.failures(self.address)
            if failures is not None and any(requests < 1 for requests, _ in failures.left):
                self.usage, self.is_refused = failures, True
                raise failures.refusal()
        try:
            yield
        except AgentSignatureInvalid:
            # The credential is looked up first, so it is good: the failure counts for the address alone.
            self.limits.failed(self.address)
            self.limits.succeeded(digest)
            raise
        except GraphmemError as exc:
            if exc.status == 401:
                self.limits.failed(self.address, digest)
            raise
        self.limits.succeeded(digest)

    async def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the limit for the answer. The refusals of a flood wait here."""
        if self.usage is None:
            return []
        if self.is_refused:
            await asyncio.sleep(self.limits.refusal_delay(self.address))
        policy, usage = self.usage.policy.header, self.usage.header
        return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", usage.encode())]


def _has_credential(actor: Actor) -> bool:
    """Return whether a caller counts by its credential. In a sandbox nobody has one."""
    return bool(actor.owner) and actor.method is not Method.SANDBOX


def digest_of(authorization: str) -> str:
    """Return the digest by which the credential of an ``Authorization`` header is remembered."""
    return tokens.digest(authorization.partition(" ")[2].strip())


def caller_address(scope: Scope, trusted: frozenset[str]) -> str:
    """Return the address of the caller of a request.

    It is that of the connection. If that is one of the ``trusted`` proxies, it is the last address of
    ``X-Forwarded-For`` that is not: what stands before it, anybody may have written.
    """
    client = scope.get("client")
    address = client[0] if client else ""
    if (connected := _parsed(address)) is not None:
        # An IPv4 address within IPv6 as IPv4, without zone.
        address = str(connected)
    if address not in trusted:
        return address
    for hop in reversed(",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")):
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
