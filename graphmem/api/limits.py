"""Rate limits of one process: for each credential, and for each address that sends none.

The windows move: a request counts for the length of its window, and then no more. Requests over the Unix
socket are not limited. The headers ``RateLimit`` and ``RateLimit-Policy`` have the form of the IETF's
draft-ietf-httpapi-ratelimit-headers-11. A caller that goes on although it is refused waits for each further
refusal, so that a flood of refused requests costs little.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from limits import RateLimitItem
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphmem.api.addresses import caller_address, network
from graphmem.auth import Actor, tokens
from graphmem.auth.rates import Meter, RateClass, measured
from graphmem.errors import GraphmemError, RateLimited
from graphmem.settings import Settings, parsed_limits

KEYS_LIMIT: Final = 20_000
"""Credentials, and addresses, that are counted. Of more, the one that was idle longest is forgotten."""
KNOWN_LIMIT: Final = 10_000
"""Credentials that are known to be good."""
FAILURES: Final = "failures"
"""The name of the limit of failed attempts to authenticate."""
REFUSALS_SECONDS: Final = 10
"""Seconds for which the refusals of an address are counted."""
PROMPT_REFUSALS: Final = 20
"""Refusals in that time that are answered at once."""
COUNTED_REFUSALS: Final = 120
"""Refusals in that time that are counted: the last of them waits longest."""
REFUSAL_STEP_SECONDS, REFUSAL_DELAY_SECONDS_MAX = 0.01, 1.0
"""How much longer each further refusal waits than the one before, and how long a refusal waits at most."""

Clock = Callable[[], float]


class Windows(MemoryStorage):
    """The moments of the requests of each key, for the moving windows of the library.

    The library's own storage keeps every key for ever, and starts threads that walk through all of them.
    """

    def __init__(self, keys_limit: int = KEYS_LIMIT, clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._keys_limit = keys_limit
        self._clock = clock
        self._moments: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._moments)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Add requests to a key, unless it then had more than ``limit`` in the last ``expiry`` seconds."""
        now = self._clock()
        moments = self._current(key, now - expiry)
        if len(moments) + amount > limit:
            return False
        moments.extend([now] * amount)
        return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Return the moment of the oldest request in the last ``expiry`` seconds, and their number."""
        now = self._clock()
        moments = self._current(key, now - expiry)
        return (moments[0] if moments else now), len(moments)

    def _current(self, key: str, since: float) -> deque[float]:
        moments = self._moments.get(key)
        if moments is None:
            moments = self._moments[key] = deque()
            if len(self._moments) > self._keys_limit:
                self._moments.popitem(last=False)
        self._moments.move_to_end(key)
        while moments and moments[0] <= since:
            moments.popleft()
        return moments


@dataclass(frozen=True, slots=True)
class Policy:
    """A limit with its name, such as ``read``. It has one item for each of its windows."""

    name: str
    items: tuple[RateLimitItem, ...]

    @property
    def names(self) -> list[str]:
        """The name of each item in headers."""
        if len(self.items) == 1:
            return [self.name]
        return [f"{self.name}-{item.get_expiry()}s" for item in self.items]

    @property
    def header(self) -> str:
        """The value of ``RateLimit-Policy``: requests, and seconds of the window."""
        pairs = zip(self.names, self.items, strict=True)
        return ", ".join(f'"{name}";q={item.amount};w={item.get_expiry()}' for name, item in pairs)


@dataclass(frozen=True, slots=True)
class Usage:
    """What is left of a limit: for each item the requests, and the seconds until there are more."""

    policy: Policy
    left: tuple[tuple[int, int], ...]

    @property
    def header(self) -> str:
        """The value of ``RateLimit``."""
        pairs = zip(self.policy.names, self.left, strict=True)
        return ", ".join(f'"{name}";r={requests};t={seconds}' for name, (requests, seconds) in pairs)

    def refusal(self) -> RateLimited:
        """Return the error for a request that the limit refuses."""
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
    """The limits of one process, and what is left of them for each caller."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        named = {
            RateClass.READ: settings.limit_reads,
            RateClass.WRITE: settings.limit_writes,
            RateClass.HEAVY: settings.limit_heavy,
            RateClass.AUTH: settings.limit_auth,
            RateClass.REGISTRATION: settings.limit_registrations,
            FAILURES: settings.limit_failures,
        }
        self._policies = {
            name: Policy(str(name), items) for name, text in named.items() if (items := parsed_limits(text))
        }
        self._clock = clock
        # Apart, so that a flood from many addresses forgets no credential.
        self._credentials = MovingWindowRateLimiter(Windows(clock=clock))
        self._addresses = MovingWindowRateLimiter(Windows(clock=clock))
        self._refusals = Windows(clock=clock)
        self._known: OrderedDict[str, None] = OrderedDict()
        token = settings.bearer_token
        self._always_known = digest_of(f"Bearer {token.get_secret_value()}") if token else ""

    def take(self, rate_class: RateClass, actor: Actor, address: str) -> tuple[bool, Usage] | None:
        """Take a request of a class from what its caller has left.

        Returns whether there was one left, and what is left now; ``None`` if the class has no limit.
        """
        policy = self._policies.get(rate_class)
        if policy is None:
            return None
        if actor.owner:
            limiter, key = self._credentials, f"{actor.owner}/{actor.method}/{actor.credential}"
        else:
            limiter, key = self._addresses, network(address)
        taken = all(limiter.hit(item, rate_class, key) for item in policy.items)
        return taken, self._usage(limiter, policy, key)

    def failures(self, address: str) -> Usage | None:
        """Return what is left of the failures of an address, ``None`` if they have no limit."""
        policy = self._policies.get(FAILURES)
        return policy and self._usage(self._addresses, policy, network(address))

    def failed(self, address: str, digest: str) -> None:
        """Count a failed attempt of an address to authenticate."""
        self._known.pop(digest, None)
        policy = self._policies.get(FAILURES)
        for item in policy.items if policy else ():
            self._addresses.hit(item, FAILURES, network(address))

    def refusal_delay(self, address: str) -> float:
        """Count a refusal of an address, and return the seconds that its answer waits."""
        self._refusals.acquire_entry(network(address), COUNTED_REFUSALS, REFUSALS_SECONDS)
        _, refusals = self._refusals.get_moving_window(network(address), COUNTED_REFUSALS, REFUSALS_SECONDS)
        return min(REFUSAL_DELAY_SECONDS_MAX, REFUSAL_STEP_SECONDS * max(0, refusals - PROMPT_REFUSALS))

    def is_known(self, digest: str) -> bool:
        """Return whether a credential was good when it was last tried, or is the token of the settings."""
        return digest in self._known or digest == self._always_known

    def succeeded(self, digest: str) -> None:
        """Remember that a credential is good."""
        self._known[digest] = None
        self._known.move_to_end(digest)
        if len(self._known) > KNOWN_LIMIT:
            self._known.popitem(last=False)

    def _usage(self, limiter: MovingWindowRateLimiter, policy: Policy, key: str) -> Usage:
        stats = [limiter.get_window_stats(item, policy.name, key) for item in policy.items]
        now = self._clock()
        return Usage(policy, tuple((each.remaining, math.ceil(each.reset_time - now)) for each in stats))


@dataclass(slots=True)
class RequestMeter(Meter):
    """The meter of one request. ``usage`` is that of the limit that counted it."""

    limits: RateLimits
    address: str
    usage: Usage | None = None
    is_counted: bool = field(default=False, init=False)
    is_refused: bool = field(default=False, init=False)

    def count(self, rate_class: RateClass, actor: Actor) -> None:
        """Count the request for its caller."""
        if self.is_counted:
            return
        self.is_counted = True
        taken = self.limits.take(rate_class, actor, self.address)
        if taken is not None:
            is_left, self.usage = taken
            if not is_left:
                self.is_refused = True
                raise self.usage.refusal()

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
        except GraphmemError as exc:
            if exc.status == 401:
                self.limits.failed(self.address, digest)
            raise
        self.limits.succeeded(digest)


class RateLimiting:
    """Give every request a meter, and every counted answer the headers of its limit."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.limits = RateLimits(settings)
        self.trusted = frozenset(settings.trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        meter = RequestMeter(self.limits, caller_address(scope, self.trusted))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and meter.usage is not None:
                if meter.is_refused:
                    await asyncio.sleep(self.limits.refusal_delay(meter.address))
                usage = meter.usage
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"ratelimit-policy", usage.policy.header.encode()),
                    (b"ratelimit", usage.header.encode()),
                ]
            await send(message)

        with measured(meter):
            await self.app(scope, receive, send_with_headers)


def digest_of(authorization: str) -> str:
    """Return the digest by which the credential of an ``Authorization`` header is remembered."""
    return tokens.digest(authorization.partition(" ")[2].strip())
