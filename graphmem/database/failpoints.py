"""Places at which a test has a process die, fail or stand still: before and after each step that leaves it.

Such a step is a statement to the database, a commit, or an answer to a caller. ``GRAPHMEM_FAILPOINTS`` arms
some of them, in a test's environment only: ``before:write.turn=exit,after:commit=sleep:0.5@3``. What follows
the ``@`` says at which time it happens; once, at the first, unless it is said.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from graphmem import cypher
from graphmem.errors import ConfigurationInvalid, InternalError
from graphmem.settings import Settings

Side = Literal["before", "after"]
KILLED = 137
"""The exit code of a process that dies here: that of one that was killed."""
COMMIT, SCRIPT, ANSWER = "commit", "script", "answer"

_SHAPE = re.compile(r"(before|after):([\w.]+)=(exit|raise|sleep:(\d+(?:\.\d+)?))(?:@(\d+))?")


@dataclass(slots=True)
class _Armed:
    """What happens at a place, and how often it must be reached before."""

    act: Callable[[], None]
    left: int


_armed: dict[tuple[str, str], list[_Armed]] = {}
"""Of the whole process: what it does to a process concerns all of it. Empty but in tests."""


def places() -> list[str]:
    """Return every place that can be armed."""
    steps = [*cypher.names(), COMMIT, SCRIPT]
    return [f"before:{ANSWER}", *(f"{side}:{step}" for step in steps for side in ("before", "after"))]


def arm(settings: Settings) -> None:
    """Arm what the settings name, and nothing else.

    Raises:
        ConfigurationInvalid: it is no test's environment, or there is no such place or act.
    """
    _armed.clear()
    if not settings.failpoints:
        return
    if settings.env != "test":
        raise _refused("failpoints are for tests: unset GRAPHMEM_FAILPOINTS, or set GRAPHMEM_ENV=test")
    known = set(places())
    for said in settings.failpoints.split(","):
        match = _SHAPE.fullmatch(said.strip())
        if match is None or f"{match[1]}:{match[2]}" not in known:
            raise _refused(f"there is no failpoint {said.strip()!r:.100}: such as before:write.turn=exit")
        acts = {"exit": _exit, "raise": _raise}
        act = acts.get(match[3]) or _sleeper(float(match[4]))
        _armed.setdefault((match[1], match[2]), []).append(_Armed(act, int(match[5] or 1)))


def reach(side: Side, step: str) -> None:
    """Do what is armed at a place, if anything is."""
    if not _armed:
        return
    for armed in _armed.get((side, step), ()):
        armed.left -= 1
        if armed.left == 0:
            armed.act()


def _exit() -> None:
    # No block is left and nothing is flushed: as if it were killed.
    os._exit(KILLED)


def _raise() -> None:
    raise InternalError("a failpoint was reached")


def _sleeper(seconds: float) -> Callable[[], None]:
    # The whole process stands still, as one that is stopped does.
    return lambda: time.sleep(seconds)


def _refused(message: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(message, setting="GRAPHMEM_FAILPOINTS")
