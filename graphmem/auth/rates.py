"""What rate limits count: classes of operations, and the meter of the request under way.

A face sets a meter for each request of the callers that it limits (:mod:`graphmem.api.limits`). Without a
meter nothing is counted: so it is for requests over the Unix socket, and for commands in process.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final

from graphmem.auth import Actor, Scope


class RateClass(enum.StrEnum):
    """What has a limit of its own for each caller."""

    READ = "read"
    WRITE = "write"
    HEAVY = "heavy"
    """Reads that look at far more than they answer: searches, walks, context, scans."""
    AUTH = "auth"
    """Requests of the OAuth routes."""
    REGISTRATION = "registration"
    REPORT = "report"
    """Reports of abuse, in a public sandbox."""


async def _holds(_: Scope) -> None:
    return


class Meter:
    """Counts nothing. A face whose callers are limited has its own meter. ``credential_holds`` checks again
    that the credential of the request holds and has a scope."""

    credential_holds: Callable[[Scope], Awaitable[None]] = staticmethod(_holds)

    @property
    def address(self) -> str:
        """The address of the caller, or its network of 64 bits; empty where nobody is limited."""
        return ""

    def count(self, rate_class: RateClass, actor: Actor) -> None:
        """Count a request once, for its credential or address. Raises RateLimited: none of the class is
        left."""

    def again(self) -> Meter:
        """Return the meter of a further message of the same request, which counts as a request does."""
        return self

    def attempt(self, authorization: str | None) -> AbstractContextManager[None]:
        """Count an attempt with a header if the block refuses it by 401. Raises RateLimited: too many
        failed."""
        return contextlib.nullcontext()


_UNLIMITED: Final = Meter()
_meter: Final[ContextVar[Meter]] = ContextVar("meter", default=_UNLIMITED)


def meter() -> Meter:
    return _meter.get()


@contextlib.contextmanager
def measured(by: Meter) -> Iterator[None]:
    token = _meter.set(by)
    try:
        yield
    finally:
        _meter.reset(token)
