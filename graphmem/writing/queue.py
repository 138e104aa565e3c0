"""The requests that wait for a turn of a writer, and the outcome of each."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

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
from graphmem.writing.receipt import Receipt
from graphmem.writing.requests import WriteRequest
from graphmem.writing.state import State

IN_DOUBT = (
    "the database did not acknowledge this write, so it may or may not be written: "
    "send it again with the same idempotency_key"
)
SETTLED = frozenset({"committed", "nothing"})
"""The outcomes after which a turn is over; see :data:`graphmem.observability.metrics.TURNS`."""


_log = structlog.get_logger("graphmem.writer")


@dataclass(slots=True)
class Waiting:
    """A request that waits for a turn, with the trace, span and round trips of the call that brought it.

    Attributes:
        deadline: when it is refused if no turn has taken it, in seconds of the event loop.
        characters: characters of the values that it brings.
        in_doubt: a write of it was not answered: an error from then on must say so.
        look_for_duplicates: whether its turn looks for likely duplicates; false once that has failed.
    """

    request: WriteRequest
    answer: asyncio.Future[Receipt]
    trace_id: str
    round_trips: list[int] | None
    deadline: float
    characters: int
    span: Any
    in_doubt: bool = False
    look_for_duplicates: bool = True

    def fail(self, exc: Exception) -> None:
        """Answer it with an error, unless it is answered, or its caller has left."""
        if self.answer.done():
            return
        error = exc if isinstance(exc, GraphmemError) else InternalError()
        if self.in_doubt:
            error = type(error)(IN_DOUBT, **{**error.details, "in_doubt": True})
        self.answer.set_exception(error)


class WrittenTurn(NamedTuple):
    """The row of ``write.turn``.

    ``near`` and ``profiles`` stay lists, see ``duplicate/_near.cypher``: the facts are written when they are
    read, and a mistake in them must not fail the turn.
    """

    sequence: int
    near: list[Any]
    profiles: list[Any]


@dataclass(slots=True)
class Decided:
    """The outcome of each request of a turn; callers hear of it once it is durable."""

    state: State
    batch: list[Waiting]
    outcomes: list[Receipt | GraphmemError] = field(default_factory=list)
    created: list[dict[str, Profile]] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.state.transaction_rows or self.state.added or self.state.changed_heads)

    def probes(self, limit: int) -> list[dict[str, Any]]:
        """Return where to look for duplicates of what the requests create that ask for it.

        Of a request that creates more than ``limit`` entities, none are looked for.
        A bug there must not keep facts from being written: it is logged, and that request looks for none.
        """
        probes: list[dict[str, Any]] = []
        for waiting, outcome in zip(self.batch, self.outcomes, strict=True):
            created: dict[str, Profile] = {}
            asks = waiting.look_for_duplicates and waiting.request.finds_duplicates
            if asks and isinstance(outcome, Receipt) and not outcome.replayed:
                try:
                    created = duplicate_probe.created(outcome)
                    if len(created) > limit:
                        created = {}
                    probes += duplicate_probe.probes(created)
                except Exception:
                    _log.exception("making the probes for duplicates failed")
                    created = {}
            self.created.append(created)
        return probes

    def probing(self) -> list[Waiting]:
        """Return the requests that have probes."""
        return [waiting for waiting, created in zip(self.batch, self.created, strict=False) if created]

    def add_neighbours(self, written: WrittenTurn) -> None:
        """Add the neighbours that the turn read to the receipts."""
        for index, (outcome, created) in enumerate(zip(self.outcomes, self.created, strict=True)):
            if created and isinstance(outcome, Receipt):
                try:
                    neighbours = duplicate_probe.neighbours(created, written.near, written.profiles)
                    self.outcomes[index] = replace(outcome, neighbours=neighbours)
                except Exception:
                    # The facts are written by now.
                    _log.exception("reading what the probes for duplicates found failed")

    def answer(self) -> str:
        """Answer each request whose caller still waits; return the outcome of the turn."""
        for waiting, outcome in zip(self.batch, self.outcomes, strict=True):
            if waiting.answer.done():
                continue
            if isinstance(outcome, Receipt):
                looked = waiting.look_for_duplicates
                waiting.answer.set_result(
                    outcome if looked else replace(outcome, looked_for_duplicates=False)
                )
            else:
                waiting.answer.set_exception(outcome)
        return "committed" if self.writes else "nothing"


def can_skip_probes(probing: list[Waiting], exc: Unavailable) -> bool:
    """Stop looking for duplicates where that may be why a write failed; return whether to write again at
    once.

    A silent database is not asked again for that reason. One whose memory is used up by others is asked again
    later, as without probes.
    """
    silent = isinstance(exc, DatabaseTimeout) and not getattr(exc.__cause__, "code", None)
    if silent or not isinstance(exc, DatabaseFull | DatabaseTimeout):
        return False
    for waiting in probing:
        waiting.look_for_duplicates = False
    return bool(probing) and not isinstance(exc, DatabaseCrowded)
