"""Whether a database is that of a public sandbox: a mark that is set once, at the first start.

A sandbox shows its data to everybody and wipes it. So it starts only on a database that was empty when a
sandbox marked it, and everything else refuses such a database: no setting publishes or wipes anybody's data.
The mark is the node of the migration 0. Its uniqueness lets two first starts at the same time agree.
"""

from __future__ import annotations

from typing import Final

from graphmem.database.driver import Database
from graphmem.errors import SandboxMismatch
from graphmem.model import times

SANDBOX: Final = "sandbox"
ORDINARY: Final = "ordinary"


async def kind_of(database: Database) -> str | None:
    """Return the mark of a database; None if nothing, or only an older version, has started on it."""
    rows = await database.script("MATCH (n:Migration {version: 0}) RETURN n.name AS kind")
    return rows[0]["kind"] if rows else None


async def claim(database: Database, *, is_sandbox: bool) -> None:
    """Mark a database that has no mark; refuse one of the other kind.

    Raises:
        SandboxMismatch: it is of the other kind, or a sandbox found data without a mark.
    """
    kind = await kind_of(database)
    if kind is None and is_sandbox and await _has_data(database):
        raise SandboxMismatch(
            "a sandbox starts on an empty database only, and this one has data: name another database or "
            "data directory, or unset GRAPHMEM_SANDBOX and GRAPHMEM_ENV"
        )
    if kind is None:
        rows = await database.script(
            "MERGE (n:Migration {version: 0}) "
            "ON CREATE SET n.name = $kind, n.checksum = '', n.applied_at = $at RETURN n.name AS kind",
            kind=SANDBOX if is_sandbox else ORDINARY,
            at=times.now(),
        )
        kind = rows[0]["kind"]
    if is_sandbox and kind != SANDBOX:
        raise SandboxMismatch(
            "this database is no sandbox, and a sandbox would publish and wipe it: name another database or "
            "data directory, or unset GRAPHMEM_SANDBOX and GRAPHMEM_ENV"
        )
    if not is_sandbox and kind == SANDBOX:
        raise SandboxMismatch


async def _has_data(database: Database) -> bool:
    rows = await database.script("MATCH (n) WHERE NOT n:Migration RETURN true AS found LIMIT 1")
    return bool(rows)
