"""Failpoints: places at which a test makes the process exit, raise or sleep.

They lie before and after each step that leaves the process: a statement to the database, a commit, and an
answer to a caller. ``GRAPHMEM_FAILPOINTS`` arms some of them, in the test environment only, as in
``before:write.turn=exit,after:commit=sleep:0.5@3``. With ``@3`` the action happens once, at the third pass;
without it, at the first.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import Literal

from graphmem import cypher
from graphmem.errors import ConfigurationInvalid, InternalError
from graphmem.settings import Settings

Side = Literal["before", "after"]
KILLED = 137
"""Exit code of a process that exits at a failpoint: the code of a killed process."""
COMMIT, SCRIPT, ANSWER = "commit", "script", "answer"

_SHAPE = re.compile(r"(before|after):([\w.]+)=(exit|raise|sleep:(\d+(?:\.\d+)?))(?:@(\d+))?")


@dataclass(slots=True)
class _Armed:
    """An armed failpoint: its action, and how many passes are left until the action happens."""

    action: str
    seconds: float
    passes_left: int


_armed: dict[tuple[str, str], list[_Armed]] = {}
"""The armed failpoints of this process, by side and step. Empty outside of tests."""


def places() -> list[str]:
    """Return the names of all failpoints, such as ``before:write.turn``."""
    steps = [*sorted({step_of(name) for name in cypher.names()}), COMMIT, SCRIPT]
    return [f"before:{ANSWER}", *(f"{side}:{step}" for step in steps for side in ("before", "after"))]


def step_of(query: str) -> str:
    return query.partition("[")[0]


def arm(settings: Settings) -> None:
    """Arm the failpoints that the settings name; disarm all others.

    Raises:
        ConfigurationInvalid: the environment is not ``test``, or a name or an action is unknown.
    """
    _armed.clear()
    if not settings.failpoints:
        return
    if settings.env != "test":
        raise _refused("failpoints are for tests: unset GRAPHMEM_FAILPOINTS, or set GRAPHMEM_ENV=test")
    known = set(places())
    for text in settings.failpoints.split(","):
        match = _SHAPE.fullmatch(text.strip())
        if match is None or f"{match[1]}:{match[2]}" not in known:
            raise _refused(
                f"there is no failpoint {text.strip()!r:.100}: write it as in before:write.turn=exit"
            )
        armed = _Armed(match[3], float(match[4] or 0), int(match[5] or 1))
        _armed.setdefault((match[1], match[2]), []).append(armed)


def reach(side: Side, step: str) -> None:
    """Pass a failpoint: do the actions that are armed there and due."""
    if not _armed:
        return
    passed = _armed.get((side, step_of(step)), ())
    # All are counted first: an action that raises must not keep the others from being counted.
    for armed in passed:
        armed.passes_left -= 1
    for armed in passed:
        if armed.passes_left == 0:
            _act(armed.action, armed.seconds)


def _act(action: str, seconds: float) -> None:
    if action == "exit":
        # No `finally` runs and no file is flushed, as when the process is killed.
        os._exit(KILLED)
    if action == "raise":
        raise InternalError("a failpoint was reached")
    # It blocks the whole process, event loop included, as SIGSTOP does.
    time.sleep(seconds)


def _refused(message: str) -> ConfigurationInvalid:
    return ConfigurationInvalid(message, setting="GRAPHMEM_FAILPOINTS")
