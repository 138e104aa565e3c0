"""Translates the database driver's errors into those of :mod:`graphmem.errors`."""

import neo4j
import neo4j.exceptions

from graphmem import errors, tables
from graphmem.database.first_runs import CONNECTION_LOST, FIRST_RUN_SECONDS
from graphmem.settings import Settings

DRIVER_ERRORS = (neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError, *CONNECTION_LOST)
"""All that the driver raises; a timeout is an ``OSError``."""
_CODES = tables.read("database/neo4j_codes")
TIMEOUT_CODES = frozenset(_CODES["time_limit"] + _CODES["timeout"])
DEADLOCK_CODE = "Neo.TransientError.Transaction.DeadlockDetected"
"""Transactions waited for each other's locks, and the server rolled this one back. It wrote nothing."""
RACE_CODES = (*_CODES["race"], DEADLOCK_CODE)


class FirstRunTimeout(TimeoutError):
    """The server ended a statement that it ran for the first time since its start."""


def is_time_limit(exc: BaseException) -> bool:
    """Return whether the server ended a statement that exceeded its own time limit."""
    failure = exc.__cause__ if isinstance(exc, FirstRunTimeout) else exc
    return getattr(failure, "code", None) in _CODES["time_limit"]


def translate(exc: BaseException) -> errors.GraphmemError:
    """Return the catalogue's error for an error of the driver, whose own text is never shown to callers."""
    code = getattr(exc, "code", None) or ""
    if isinstance(exc, errors.GraphmemError):
        return exc
    if isinstance(exc, FirstRunTimeout):
        return errors.DatabaseTimeout(
            f"the database did not finish the first run of a statement in {FIRST_RUN_SECONDS:g} seconds: "
            "it plans slowly after its start, or while its machine is busy; try again in a moment"
        )
    if code in TIMEOUT_CODES or isinstance(exc, TimeoutError):
        return errors.DatabaseTimeout()
    if code in _CODES["wrong_type"]:
        return errors.DataDamaged()
    if code == "Neo.ClientError.Schema.ConstraintValidationFailed":
        return errors.ServiceBusy("another request wrote the same at the same time: try again in a moment")
    if code in _CODES["full"]:
        # Of a single transaction, or of all together: only the message names the setting of the limit.
        return errors.DatabaseCrowded() if "transaction.total.max" in str(exc) else errors.DatabaseFull()
    if isinstance(exc, neo4j.exceptions.ConnectionAcquisitionTimeoutError):
        return errors.DatabaseTimeout("every connection to the database is in use: try again in a moment")
    # The database does not answer, or it is up but cannot work now: a full disk, too little memory.
    if isinstance(
        exc,
        (
            neo4j.exceptions.TransientError,
            neo4j.exceptions.DatabaseError,
            neo4j.exceptions.ConnectionPoolError,
            neo4j.exceptions.AuthError,
            *CONNECTION_LOST,
        ),
    ):
        return errors.DatabaseUnavailable()
    return errors.InternalError()


def caller_error(
    exc: BaseException, settings: Settings, *, with_address: bool = True
) -> errors.GraphmemError:
    """Return the error for callers: as :func:`translate`, and of a lost database the message names the fix.
    Only ``with_address`` may it hold the address of the database."""
    error = translate(exc)
    if not isinstance(error, errors.DatabaseUnavailable) or not isinstance(exc, CONNECTION_LOST):
        return error
    if settings.neo4j_uri is not None:
        name = f"the database at {settings.neo4j_address} (NEO4J_URI)" if with_address else "the database"
        return errors.DatabaseUnavailable(
            f"{name} cannot be reached: try again in a moment; if it is down, start it, or correct NEO4J_URI"
        )
    if settings.stop_file.exists():
        return errors.DatabaseUnavailable(
            "the embedded Neo4j was stopped on purpose: `graphmem db start` starts it"
        )
    return errors.DatabaseUnavailable(
        "the embedded Neo4j cannot be reached: try again in a moment, or start it with `graphmem db start`"
    )


def setting_error(exc: BaseException, settings: Settings) -> errors.SetupError | None:
    """Return the error that names the wrong setting, ``None`` if no setting is wrong and waiting may help."""
    if isinstance(exc, neo4j.exceptions.AuthError):
        address = settings.neo4j_address if settings.neo4j_uri else "the embedded address"
        return errors.ConfigurationInvalid(
            f"Neo4j at {address} refuses the user {settings.neo4j_username!r}: check NEO4J_USERNAME and "
            "NEO4J_PASSWORD",
            setting="NEO4J_PASSWORD",
        )
    if isinstance(exc, neo4j.exceptions.ConfigurationError | ValueError):
        return errors.ConfigurationInvalid(f"NEO4J_URI cannot be used: {exc}", setting="NEO4J_URI")
    if getattr(exc, "code", "") == "Neo.ClientError.Database.DatabaseNotFound":
        return errors.ConfigurationInvalid(
            f"Neo4j has no database {settings.neo4j_database!r}: check NEO4J_DATABASE",
            setting="NEO4J_DATABASE",
        )
    return None
