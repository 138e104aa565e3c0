"""One event loop for the whole run, in a thread: a connection of the driver belongs to one loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.support.loop_watch import LoopWatch

T = TypeVar("T")
LIMIT = 300.0
"""Seconds that one coroutine of a test may take on a busy machine: half of what the whole test may."""


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with LoopWatch(self._loop).watching():
            self._loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T], limit: float = LIMIT) -> T:
        """Return what a coroutine returns; raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(limit)

    def is_current(self) -> bool:
        """Return whether the caller runs in this loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def close(self) -> None:
        """Cancel what still runs, such as the watcher of sse_starlette, and end the thread."""
        self.run(_cancel_rest())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


async def _cancel_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.wait_for(asyncio.gather(*rest, return_exceptions=True), 10)
