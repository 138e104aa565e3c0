"""Failpoints: places at which a test makes a process exit, raise or sleep.

They lie before and after each step that leaves the process: a statement to the database and a commit, and
before an answer to a caller. ``before:write.turn=exit,after:commit=sleep:0.5@3`` arms two of them. With
``@3`` the action happens once, at the third pass; without it, at the first. A command that a test starts arms
those of :data:`VARIABLE`.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from graphmem import cypher
from graphmem.database.driver import Database
from graphmem.errors import InternalError
from graphmem.registry import Operation

VARIABLE = "GRAPHMEM_FAILPOINTS"
Side = Literal["before", "after"]
KILLED = 137
"""Exit code of a process that exits at a failpoint: the code of a killed process."""
COMMIT, SCRIPT, ANSWER = "commit", "script", "answer"

_SHAPE = re.compile(r"(before|after):([\w.]+)=(exit|raise|sleep:(\d+(?:\.\d+)?))(?:@(\d+))?")
_STATEMENT, _RUN = Database.statement, Operation.run


@dataclass(slots=True)
class _Armed:
    """An armed failpoint: its action, and how many passes are left until the action happens."""

    action: str
    seconds: float
    passes_left: int


_armed: dict[tuple[str, str], list[_Armed]] = {}
"""The armed failpoints of this process, by side and step."""


def places() -> list[str]:
    """Return the names of all failpoints, such as ``before:write.turn``."""
    steps = [*sorted({step_of(name) for name in cypher.names()}), COMMIT, SCRIPT]
    return [f"before:{ANSWER}", *(f"{side}:{step}" for step in steps for side in ("before", "after"))]


def step_of(query: str) -> str:
    """Return the step of a query, which all its forms share."""
    return query.partition("[")[0]


def arm_from_environment() -> None:
    """Arm the failpoints of the environment of a command that a test starts."""
    arm(os.environ.pop(VARIABLE, ""))


def arm(text: str = "") -> None:
    """Arm the failpoints that a text names; disarm all others.

    Raises:
        ValueError: a name or an action is unknown.
    """
    _armed.clear()
    known = set(places()) if text else set()
    for each in filter(None, text.split(",")):
        match = _SHAPE.fullmatch(each)
        if match is None or f"{match[1]}:{match[2]}" not in known:
            raise ValueError(f"there is no failpoint {each!r}: write it as in before:write.turn=exit")
        armed = _Armed(match[3], float(match[4] or 0), int(match[5] or 1))
        _armed.setdefault((match[1], match[2]), []).append(armed)
    changed: Any = (_statement, _run) if _armed else (_STATEMENT, _RUN)
    Database.statement, Operation.run = changed


def reach(side: Side, step: str) -> None:
    """Pass a failpoint: do the actions that are armed there and due."""
    passed = _armed.get((side, step_of(step)), ())
    # All are counted first: an action that raises must not keep the others from being counted.
    for armed in passed:
        armed.passes_left -= 1
    for armed in passed:
        if armed.passes_left == 0:
            _act(armed)


def _act(armed: _Armed) -> None:
    if armed.action == "exit":
        # No `finally` runs and no file is flushed, as when the process is killed.
        os._exit(KILLED)
    if armed.action == "raise":
        raise InternalError("a failpoint was reached")
    # It blocks the whole process, event loop included, as SIGSTOP does.
    time.sleep(armed.seconds)


@contextlib.contextmanager
def _statement(database: Database, name: str) -> Iterator[None]:
    reach("before", name)
    with _STATEMENT(database, name):
        yield
    reach("after", name)


async def _run(operation: Any, *args: Any, **kwargs: Any) -> Any:
    answer = await _RUN(operation, *args, **kwargs)
    reach("before", ANSWER)
    return answer
