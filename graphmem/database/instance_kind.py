"""Whether a database is that of a public sandbox, or of a sealed instance: a mark that is set once.

A sandbox shows its data to everybody and wipes it. So it starts only on a database that was empty when a
sandbox marked it, and everything else refuses such a database: no setting publishes or wipes anybody's data.
A sealed instance never goes on in clear because its key file is not found, and seals nothing beside files in
clear: the mark has the id of the instance whose keys it needs.

The mark is the node of the migration 0. Its uniqueness lets two first starts at the same time agree.
"""

from typing import Final

from graphmem.database.driver import Database
from graphmem.errors import ConfigurationInvalid, EncryptionKeyMissing, SandboxMismatch
from graphmem.model import times

SANDBOX: Final = "sandbox"
ORDINARY: Final = "ordinary"


async def claim(database: Database, *, is_sandbox: bool, sealed: str | None = None) -> None:
    """Mark a database that has no mark; refuse one of the other kind.

    ``sealed``: the id of the sealed instance, None where it is not sealed.

    Raises:
        SandboxMismatch: it is of the other kind, or a sandbox found data without a mark.
        EncryptionKeyMissing: it is that of a sealed instance, whose key file is another one, or not here.
        ConfigurationInvalid: it has facts of an instance that is not sealed.
    """
    rows = await database.script("MATCH (n:Migration {version: 0}) RETURN n.name AS kind, n.sealed AS sealed")
    kind, marked = (rows[0]["kind"], rows[0]["sealed"]) if rows else (None, None)
    has_data = "MATCH (n) WHERE NOT n:Migration RETURN true AS found LIMIT 1"
    if kind is None and is_sandbox and await database.script(has_data):
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
    if sealed != marked:
        await _claim_sealed(database, sealed, marked)


async def _claim_sealed(database: Database, sealed: str | None, marked: str | None) -> None:
    """Mark a database without facts as that of a sealed instance; refuse every other one."""
    if marked is not None:
        raise EncryptionKeyMissing(
            f"this database belongs to the sealed instance {marked}, and "
            + (f"these keys are those of {sealed}" if sealed else "its key file is not here")
            + ": put a copy of its key file in its place (`graphmem encryption status` says where), or set "
            "GRAPHMEM_KEY_FILE to it",
            instance=marked,
        )
    if await database.script("MATCH (n:Owner) RETURN n.id AS found LIMIT 1"):
        raise ConfigurationInvalid(
            "this database has facts of an instance that is not sealed: write a backup without the key "
            "file, and restore it into a new sealed instance"
        )
    # A write before the read takes the lock of the node: of two instances that claim it, the first has it.
    rows = await database.script(
        "MATCH (n:Migration {version: 0}) SET n.seals_rows = true WITH n "
        "SET n.sealed = coalesce(n.sealed, $sealed) RETURN n.sealed AS sealed",
        sealed=sealed,
    )
    if rows[0]["sealed"] != sealed:
        await _claim_sealed(database, sealed, rows[0]["sealed"])


async def sealed_as(database: Database) -> tuple[str | None, bool, bool]:
    """Return the id of the sealed instance that a database belongs to, and whether its values are sealed, and
    what belongs to its accounts as this version seals it. The first sealed instances sealed files alone."""
    (row,) = await database.script(
        "OPTIONAL MATCH (n:Migration {version: 0}) RETURN n.sealed AS sealed, "
        "coalesce(n.seals_rows, false) AS rows, coalesce(n.seals_accounts, false) AS accounts"
    )
    return row["sealed"], row["rows"], row["accounts"]


async def note_sealed_accounts(database: Database) -> None:
    """Note that what belongs to the accounts of a database is sealed as this version seals it. The note is in
    the database, so that an older copy of the database has none."""
    await database.script("MATCH (n:Migration {version: 0}) SET n.seals_accounts = true")
