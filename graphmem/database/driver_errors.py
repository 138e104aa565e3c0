"""The database driver's errors as those of :mod:`graphmem.errors`."""

from __future__ import annotations

import neo4j
import neo4j.exceptions

from graphmem.database.first_runs import FIRST_RUN_SECONDS
from graphmem.errors import (
    ConfigurationInvalid,
    DatabaseCrowded,
    DatabaseFull,
    DatabaseTimeout,
    DatabaseUnavailable,
    GraphmemError,
    InternalError,
    SetupError,
)
from graphmem.settings import Settings

TIMEOUT_CODES = frozenset({
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
    "Neo.ClientError.Transaction.LockClientStopped",
    "Neo.ClientError.Transaction.TransactionTerminated",
    "Neo.TransientError.Transaction.LockAcquisitionTimeout",
    "Neo.TransientError.Transaction.Terminated",
})  # fmt: skip


_FULL = frozenset({
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
    "Neo.TransientError.General.TransactionMemoryLimit",
    "Neo.TransientError.General.OutOfMemoryError",
    "Neo.TransientError.General.TransactionOutOfMemoryError",
})  # fmt: skip
"""What was asked for does not fit: it was rolled back for certain, and fails again if it is tried again."""
_SHARED = "transaction.total.max"
"""How the settings end that bound what all transactions take together: Neo4j has one code for them and for
the bound of a single one, and names the setting in its message."""


class FirstRunTimeout(TimeoutError):
    """The server ended a statement that it ran for the first time since its start."""


def translate(exc: BaseException) -> GraphmemError:
    """Return the catalogue's error for one of the driver's; the text of a driver's error is never shown."""
    code = getattr(exc, "code", None) or ""
    if isinstance(exc, GraphmemError):
        return exc
    if isinstance(exc, FirstRunTimeout):
        return DatabaseTimeout(
            f"the database did not finish the first run of a statement in {FIRST_RUN_SECONDS:g} seconds: "
            "after its start, or while its machine is busy, it plans slowly; try again in a moment"
        )
    if code in TIMEOUT_CODES or isinstance(exc, TimeoutError):
        return DatabaseTimeout()
    if code in _FULL:
        return DatabaseCrowded() if _SHARED in str(exc) else DatabaseFull()
    if isinstance(exc, neo4j.exceptions.ConnectionAcquisitionTimeoutError):
        return DatabaseTimeout("every connection to the database is in use: try again in a moment")
    # Out of disk, memory or sync: the database is there and cannot work now.
    if isinstance(
        exc,
        neo4j.exceptions.TransientError
        | neo4j.exceptions.DatabaseError
        | neo4j.exceptions.ServiceUnavailable
        | neo4j.exceptions.SessionExpired
        | neo4j.exceptions.ConnectionPoolError
        | neo4j.exceptions.AuthError
        | OSError
        | TimeoutError,
    ):
        return DatabaseUnavailable()
    return InternalError()


def refused(exc: BaseException, settings: Settings) -> SetupError | None:
    """Return the error of a setting that makes this database unusable, ``None`` if waiting may help."""
    if isinstance(exc, neo4j.exceptions.AuthError):
        return ConfigurationInvalid(
            f"Neo4j at {settings.neo4j_uri or 'the embedded address'} refuses the user "
            f"{settings.neo4j_username!r}: check NEO4J_USERNAME and NEO4J_PASSWORD",
            setting="NEO4J_PASSWORD",
        )
    if isinstance(exc, neo4j.exceptions.ConfigurationError | ValueError):
        return ConfigurationInvalid(f"NEO4J_URI cannot be used: {exc}", setting="NEO4J_URI")
    if getattr(exc, "code", "") == "Neo.ClientError.Database.DatabaseNotFound":
        return ConfigurationInvalid(
            f"Neo4j has no database {settings.neo4j_database!r}: check NEO4J_DATABASE",
            setting="NEO4J_DATABASE",
        )
    return None
