"""A watch over the event loop of a run: a callback that uses long CPU fails its test.

Meanwhile no other request goes on. The CPU of the thread is measured, not the clock on the wall, so that busy
neighbours do not count. Three things keep out failures by chance: the time of the garbage collector is taken
off; a callback counts from the second time on that it takes long, as the first one imports modules and fills
caches; and the limit is stretched where the machine is slow just then, which a loop of known work tells that
is run at once in the same thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tests.support.examples import LONG

CPU_SECONDS_LIMIT: Final = 0.05 if LONG else 0.5
"""Seconds of its thread's CPU that one callback may use. An ordinary run must pass on any machine beside any
load, which slows single callbacks more than the known work behind them: it finds gross faults alone.
"""
_WORK: Final = 200_000
_WORK_SECONDS: Final = 0.01
"""What the known work takes on a machine that is not slow."""
_LINKS_LIMIT: Final = 40

offences: Final[list[str]] = []
"""What the callbacks of the test that runs did."""

EXCEPTIONS: Final[dict[str, str]] = {
    "accept": "the items of a large store (1,000 entities, 4,000 fields) are read at once on the loop",
    "OwnerWriter.turn": "the outcome of a turn of many items is decided, and made parameters, on the loop",
}
"""Functions in whose callbacks long CPU is known, each with its reason. The list may only shrink."""

Places = tuple[str, ...]


class LoopWatch:
    """Measures the callbacks of one event loop, and adds those that take long to ``told``."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        told: list[str] = offences,
        limit_seconds: float = CPU_SECONDS_LIMIT,
    ) -> None:
        self._told, self._limit = told, limit_seconds
        self._loop = loop
        self._seen: Counter[tuple[Places, Places]] = Counter()
        self._collected = threading.local()

    @contextlib.contextmanager
    def watching(self) -> Iterator[LoopWatch]:
        """Watch until the end of the block."""
        run, watch = asyncio.Handle._run, self

        def measured(self: asyncio.Handle) -> None:
            if self._loop is not watch._loop:
                run(self)
                return
            callback: Any = self._callback
            before, start = places(callback), watch._cpu()
            run(self)
            used = watch._cpu() - start
            if used > watch._limit:
                watch._note(used, before, places(callback))

        asyncio.Handle._run = measured
        gc.callbacks.append(self._on_collection)
        try:
            yield self
        finally:
            asyncio.Handle._run = run
            gc.callbacks.remove(self._on_collection)

    def _cpu(self) -> float:
        """Return the CPU of this thread without that of the garbage collector."""
        return time.thread_time() - getattr(self._collected, "seconds", 0.0)

    def _on_collection(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collected.start = time.thread_time()
        elif hasattr(self._collected, "start"):
            seconds = time.thread_time() - self._collected.start
            self._collected.seconds = getattr(self._collected, "seconds", 0.0) + seconds

    def _note(self, used: float, before: Places, after: Places) -> None:
        start = self._cpu()
        for _ in range(_WORK):
            pass
        slowness = max(1.0, (self._cpu() - start) / _WORK_SECONDS)
        if used <= self._limit * slowness:
            return
        self._seen[before, after] += 1
        if self._seen[before, after] > 1 and EXCEPTIONS.keys().isdisjoint(before + after):
            self._told.append(
                f"{used * 1000:.0f} ms of CPU in one callback (the machine is slower by {slowness:.1f}), "
                f"which began in {' > '.join(before)} and ended in {' > '.join(after)}"
            )


def places(callback: Any) -> Places:
    """Return the names of the coroutines that a callback goes on with, the outermost first."""
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return (getattr(callback, "__qualname__", type(callback).__name__),)
    names: list[str] = []
    link: Any = task.get_coro()
    while link is not None and len(names) < _LINKS_LIMIT:
        names.append(getattr(link, "__qualname__", type(link).__name__))
        link = getattr(link, "cr_await", None) or getattr(link, "ag_await", None)
    return tuple(names)
