"""Which resources changed: what a client over stdio is told that subscribed to them.

Nothing here imports the operations, the database or the MCP package.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote

from graphmem.errors import CursorOfAnotherDatabase, GraphmemError

ENTITY, SCHEMA, RECENT = "graphmem://entity/{id}", "graphmem://schema/{type}", "graphmem://recent"
OPERATION, ROUTE = "changes.list", ("GET", "/changes")  # the operation that says what changed
WAIT_SECONDS: Final = 5
"""Seconds that one call waits for a change. A service that is told to stop waits for the call."""
RETRY_SECONDS: Final = 1.0  # seconds until the next call after one that failed
ALL: Final = "graphmem://"
_ENTITIES: Final = ("entity_id", "merged_into", "split_into")


class Watch:
    """Follows what changes by calls of :data:`OPERATION`, from the first one on.

    ``arguments`` are those of the next call, ``changed`` are the URIs to tell of after the last one.
    """

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {"limit": 1}
        self.changed: list[str] = []

    def take(self, page: Mapping[str, Any], uris: Collection[str]) -> None:
        """Take the answer of a call; ``uris`` are those of which somebody wants to know."""
        is_first = "after" not in self.arguments
        self.arguments = {"after": page.get("resume_cursor", ""), "wait_seconds": WAIT_SECONDS}
        self.changed = [] if is_first else sorted(_touched(page["changes"]) & {*uris, ALL})
        if ALL in self.changed:
            self.changed = sorted(uris)

    def fail(self, error: GraphmemError, uris: Collection[str]) -> None:
        """Take the error of a call. Where the database is another one, all may be changed."""
        self.changed = []
        if error.code == CursorOfAnotherDatabase.code:
            self.arguments, self.changed = {"limit": 1}, sorted(uris)


def _touched(changes: Collection[Mapping[str, Any]]) -> set[str]:
    touched = {RECENT} if changes else set[str]()
    for change in changes:
        if change["event_type"] == "database.restored":
            touched.add(ALL)
        if change["event_type"].startswith("schema."):
            touched.add(SCHEMA.replace("{type}", quote(change["entity_type"], safe="")))
        touched |= {ENTITY.replace("{id}", change[name]) for name in _ENTITIES if name in change}
    return touched
