"""Jobs: work on all data of an owner, in pages. One runs at a time, as long as somebody waits for it.

A lease in the database says who runs a job of an owner. If its process is killed, another one may begin when
the lease has run out.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from graphmem.database.driver import Database
from graphmem.errors import DatabaseFull, GraphmemError, ServiceBusy, TransactionTooLarge
from graphmem.model import times

LEASE_SECONDS: Final = 30.0
"""Seconds for which a caller has a job after its last sign of life: others wait so long for a killed one."""
_RENEWALS: Final = 3
"""How often a lease is renewed before it would run out: one renewal that fails loses nothing."""
_LOOKS: Final = 12  # how often who waits for a lease asks for it in that time
T = TypeVar("T")
R = TypeVar("R")


async def _waits() -> bool:
    return False


_is_gone: ContextVar[Callable[[], Awaitable[bool]]] = ContextVar("is_gone", default=_waits)


@contextlib.contextmanager
def waited_for(is_gone: Callable[[], Awaitable[bool]]) -> Iterator[None]:
    """Have the jobs of the block end at their next page once ``is_gone`` says that the caller is gone."""
    token = _is_gone.set(is_gone)
    try:
        yield
    finally:
        _is_gone.reset(token)


async def caller_is_gone() -> bool:
    """Return whether the caller of this request has hung up; False where nobody knows."""
    return await _is_gone.get()()


async def within(pages: AsyncIterator[Any], seconds: float) -> bool:
    """Go through the pages of a job; begin none that might end after so many seconds, but one at least.

    Returns:
        Whether there are no more pages.

    Raises:
        asyncio.CancelledError: the caller is gone.
    """
    begin = before = time.monotonic()
    longest = 0.0
    async for _ in pages:
        now = time.monotonic()
        longest, before = max(longest, now - before), now
        if await caller_is_gone():
            raise asyncio.CancelledError
        if now - begin + longest > seconds:
            return False
    return True


@dataclass(slots=True)
class Lease:
    """The lease of a caller; ``is_kept``: it is left to run out, so that ``holder`` may hand it on.
    ``last_holder`` is who had it before."""

    holder: str
    last_holder: str | None = None
    is_kept: bool = False


@contextlib.asynccontextmanager
async def single_flight(
    database: Database, owner: str, former: str = "", *, waits: bool = False
) -> AsyncIterator[Lease]:
    """Be the one who runs a job of an owner; raises ServiceBusy: one runs, and this does not wait for it.
    ``former``: the holder of the lease that is handed on."""
    lease = Lease(secrets.token_hex(8))
    take = partial(_take, database, owner, former, lease.holder)
    while True:
        is_free, lease.last_holder = await take(LEASE_SECONDS)
        if is_free:
            break
        if not waits:
            raise ServiceBusy("all data of this owner is being checked or erased: try again in a moment")
        await asyncio.sleep(LEASE_SECONDS / _LOOKS)
    try:
        async with renewed(take, LEASE_SECONDS):
            yield lease
    finally:
        if not lease.is_kept:
            with contextlib.suppress(GraphmemError):
                await take(0)


@contextlib.asynccontextmanager
async def renewed(take: Callable[[float], Awaitable[object]], seconds: float) -> AsyncIterator[None]:
    """Take a lease again and again while the block runs, each time for so many seconds."""
    ended = asyncio.Event()

    async def renew() -> None:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), seconds / _RENEWALS)
                return
            with contextlib.suppress(GraphmemError):
                await take(seconds)

    renewal = asyncio.create_task(renew())
    try:
        yield
    finally:
        # A statement that is under way would take the lease again after it was given back.
        ended.set()
        await renewal


async def _take(
    database: Database, owner: str, former: str, holder: str, seconds: float
) -> tuple[bool, str | None]:
    now = times.now()
    return await database.writes(owner).only(
        "owner.lease", tuple[bool, str | None], former=former, holder=holder, now=now,
        until=now + round(seconds * times.SECOND),
    )  # fmt: skip


async def in_halves(
    items: list[T],
    work: Callable[[list[T]], Awaitable[R]],
    too_much: tuple[type[Exception], ...] = (DatabaseFull, TransactionTooLarge),
) -> list[R]:
    """Call ``work`` with all items; if they are too many, with each half, and so on.

    ``too_much`` are the errors that ``work`` raises for too many items; that of a single item is raised.
    It returns the results of the parts, in the order of the items.
    """
    try:
        return [await work(items)]
    except too_much:
        if len(items) < 2:
            raise
    half = len(items) // 2
    return [*await in_halves(items[:half], work, too_much), *await in_halves(items[half:], work, too_much)]
