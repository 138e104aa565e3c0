"""Statements that the server has run since it started, as far as one process knows.

Neo4j plans a statement when the statement first runs. Shortly after the server's start that takes many times
as long as later: up to 11 s on a busy machine. So a first run may take longer than the statement's own limit.
"""

import math
from typing import Final

import neo4j.exceptions

FIRST_RUN_SECONDS: Final = 60.0  # seconds that the first run of a statement may take, its planning included

TEXTS_LIMIT: Final = 1_000
"""Texts that are remembered. A new relationship type makes new texts of the queries that name the types."""

TRANSACTION: Final = "transaction"
"""Stands for the statements of an explicit transaction: its limit is set before they are known."""

# The driver meets a BufferError where an earlier read of a connection was ended in the middle.
CONNECTION_LOST = (neo4j.exceptions.ServiceUnavailable, neo4j.exceptions.SessionExpired, OSError, BufferError)
"""The errors of a server that is not there: it does not listen, or its connections broke."""


class FirstRuns:
    """The texts that have run on the present server.

    A lost connection may mean that the server restarted, so all texts are forgotten then. A service sends
    statements all the time (its worker, its watch over the database), so it meets the lost connection.
    Beyond :data:`TEXTS_LIMIT` the text whose last run is oldest is forgotten: its next run has more time.
    """

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        """In the order of their last runs."""
        self._planned_slowly: dict[str, float] = {}
        """When planning a text ended that took long, by the monotonic clock. Older ends are dropped."""
        self.lost_seconds = 0.0
        """Seconds of statements that exceeded their limits because they were planned."""
        self.server_life = 0
        """Counts how often a connection was lost."""

    def expects(self, text: str) -> bool:
        """Return whether the next run of this text may be the first one."""
        return text not in self._texts

    def planned_slowly(self, text: str, at: float) -> None:
        """Remember that planning a text took long and ended ``at`` a time of the monotonic clock."""
        recent = {known: end for known, end in self._planned_slowly.items() if end > at - FIRST_RUN_SECONDS}
        self._planned_slowly = recent | {text: at}

    def was_planned_since(self, start: float, text: str) -> bool:
        """Return whether planning a text took long and ended after ``start``, for any caller."""
        return self._planned_slowly.get(text, -math.inf) > start

    def forget(self, text: str) -> None:
        """Let the next run of a text take as long as a first run."""
        self._texts.pop(text, None)

    def finished(self, text: str, server_life: int) -> None:
        """Remember a run that began in this ``server_life`` and succeeded."""
        if server_life == self.server_life:
            self._texts.pop(text, None)
            self._texts[text] = None
            if len(self._texts) > TEXTS_LIMIT:
                del self._texts[next(iter(self._texts))]

    def failed(self, exc: BaseException) -> None:
        """Forget every text if the error says that a connection was lost."""
        if isinstance(exc, CONNECTION_LOST):
            self._texts.clear()
            self.server_life += 1
