"""The requests that wait for a turn of a writer, and the outcome of each."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import GraphmemError, InternalError
from graphmem.writing.state import State
from graphmem.writing.write_requests import Receipt, WriteRequest

IN_DOUBT = "the database did not acknowledge this write, so it may or may not be written: "
SETTLED = frozenset({"committed", "nothing"})
"""The outcomes after which a turn is over; see :data:`graphmem.observability.metrics.TURNS`."""


@dataclass(slots=True)
class Waiting:
    """A request that waits for a turn, with the trace, span and round trips of the call that brought it."""

    request: WriteRequest
    answer: asyncio.Future[Receipt]
    trace_id: str
    round_trips: list[int] | None
    deadline: float  # when it is refused if no turn has taken it, in seconds of the event loop
    characters: int  # those of its values
    span: Any
    in_doubt: bool = False  # a write of it was not answered: an error from then on must say so

    def fail(self, exc: Exception) -> None:
        """Answer it with an error, unless it is answered, or its caller has left."""
        if self.answer.done():
            return
        error = exc if isinstance(exc, GraphmemError) else InternalError()
        if self.in_doubt:
            error = type(error)(IN_DOUBT + self.request.again, **{**error.details, "in_doubt": True})
        self.answer.set_exception(error)


@dataclass(slots=True)
class Decided:
    """The outcome of each request of a turn; callers hear of it once it is durable."""

    state: State
    batch: list[Waiting]
    outcomes: list[Receipt | GraphmemError] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        return self.state.new.is_written

    def answer(self) -> str:
        """Answer each request whose caller still waits; return the outcome of the turn."""
        for waiting, outcome in zip(self.batch, self.outcomes, strict=True):
            if waiting.answer.done():
                continue
            if isinstance(outcome, Receipt):
                waiting.answer.set_result(outcome)
            else:
                waiting.answer.set_exception(outcome)
        return "committed" if self.writes else "nothing"
