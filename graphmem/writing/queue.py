"""What waits for a turn of a writer, and what the turn decided about it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from graphmem.errors import (
    DatabaseCrowded,
    DatabaseFull,
    DatabaseTimeout,
    GraphmemError,
    InternalError,
    Unavailable,
)
from graphmem.matching.similarity import Profile
from graphmem.writing import duplicate_probe
from graphmem.writing.requests import Receipt, WriteRequest
from graphmem.writing.state import State

IN_DOUBT = (
    "the database did not acknowledge this write, and whether it was written is not known yet: "
    "send it again with the same idempotency_key"
)
SETTLED = frozenset({"committed", "nothing"})
"""What becomes of a turn that need not be taken again; see :data:`graphmem.observability.metrics.TURNS`."""


_log = structlog.get_logger("graphmem.writer")


@dataclass(slots=True)
class Waiting:
    """A request that waits, with trace, span and count of round trips of the call that brought it.

    ``in_doubt``: a write of it was not answered, and whatever ends it from then on must say so.
    ``near``: what stands near what it creates is looked for, if it asks for that.
    """

    request: WriteRequest
    answer: asyncio.Future[Receipt]
    trace_id: str
    round_trips: list[int] | None
    deadline: float
    weight: int
    span: Any
    in_doubt: bool = False
    near: bool = True

    def fail(self, exc: Exception) -> None:
        """Answer it with an error, unless it is answered or nobody waits for it any more."""
        if self.answer.done():
            return
        error = exc if isinstance(exc, GraphmemError) else InternalError()
        if self.in_doubt:
            error = type(error)(IN_DOUBT, **{**error.details, "in_doubt": True})
        self.answer.set_exception(error)


@dataclass(slots=True)
class Decided:
    """The verdicts of a turn, told only once what they say is durable."""

    state: State
    batch: list[Waiting]
    outcomes: list[Receipt | GraphmemError] = field(default_factory=list)
    created: list[dict[str, Profile]] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.state.rows or self.state.added or self.state.touched_heads)

    def probes(self) -> list[dict[str, Any]]:
        """Return where to look near what was created by those requests that ask for it.

        A fault of ours there must not keep anything from being written: that request is told nothing.
        """
        probes: list[dict[str, Any]] = []
        for waiting, outcome in zip(self.batch, self.outcomes, strict=True):
            created: dict[str, Profile] = {}
            asks = waiting.near and waiting.request.find_duplicates and waiting.request.commit
            if asks and isinstance(outcome, Receipt) and not outcome.replayed:
                try:
                    created = duplicate_probe.created(outcome)
                    if len(created) > duplicate_probe.LOOKED_FOR:
                        created = {}
                    probes += duplicate_probe.probes(created)
                except Exception:
                    _log.exception("what to look for near a new entity could not be said")
                    created = {}
            self.created.append(created)
        return probes

    def probing(self) -> list[Waiting]:
        """Return the requests for which it is looked."""
        return [waiting for waiting, created in zip(self.batch, self.created, strict=False) if created]

    def written(self, row: Mapping[str, Any]) -> None:
        """Take in what the statement that wrote the turn answered."""
        for index, (outcome, created) in enumerate(zip(self.outcomes, self.created, strict=True)):
            if created and isinstance(outcome, Receipt):
                try:
                    self.outcomes[index] = replace(outcome, near=duplicate_probe.near(created, row))
                except Exception:
                    # It is written by now.
                    _log.exception("what stands near a new entity could not be read")

    def answer(self) -> str:
        """Tell each request whose caller still waits what became of it; return what the turn came to."""
        for waiting, outcome in zip(self.batch, self.outcomes, strict=True):
            if waiting.answer.done():
                continue
            if isinstance(outcome, Receipt):
                waiting.answer.set_result(outcome if waiting.near else replace(outcome, looked=False))
            else:
                waiting.answer.set_exception(outcome)
        return "committed" if self.writes else "nothing"


def look_no_more(probing: list[Waiting], exc: Unavailable) -> bool:
    """Return whether to write at once without looking for duplicates: that alone may have failed.

    A database that is silent is not asked more often for it, and one that is crowded not sooner.
    """
    silent = isinstance(exc, DatabaseTimeout) and not getattr(exc.__cause__, "code", None)
    if silent or not isinstance(exc, DatabaseFull | DatabaseTimeout):
        return False
    for waiting in probing:
        waiting.near = False
    return bool(probing) and not isinstance(exc, DatabaseCrowded)
