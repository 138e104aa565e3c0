"""Every exception of the driver becomes one of the catalogue, and none shows what the driver said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import neo4j.exceptions
import pytest

from graphmem.database import driver_errors
from graphmem.database.driver_errors import caller_error, setting_error, translate
from graphmem.errors import (
    DatabaseCrowded,
    DatabaseFull,
    DatabaseTimeout,
    DatabaseUnavailable,
    DataDamaged,
    InternalError,
    Unavailable,
)
from graphmem.settings import Settings, load
from tests.support.walks import walk_over

SECRET = "what only the log may say"
ROOTS = (neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError)
OWN_FAULTS = {
    "ClientError", "CypherSyntaxError", "CypherTypeError", "ConstraintError", "Forbidden", "Neo4jError",
    "DriverError", "SessionError", "TransactionError", "TransactionNestingError", "ResultError",
    "ResultFailedError", "ResultConsumedError", "ResultNotSingleError", "BrokenRecordError",
    "ConfigurationError", "AuthConfigurationError", "CertificateConfigurationError",
    "UnsupportedServerProduct",
}  # fmt: skip
"""Those that mean a fault of our own. Every other one is the database's, and may pass."""


def classes(*roots: type[Exception]) -> Iterator[type[Exception]]:
    """Yield the exceptions of the driver."""
    for root in roots:
        yield root
        yield from classes(*root.__subclasses__())


def hydrated(code: str) -> Exception:
    """Return the error that the driver makes of a code of the server."""
    return neo4j.exceptions.Neo4jError._hydrate_neo4j(code=code, message=SECRET)


def class_name(kind: type[Exception]) -> str:
    return kind.__name__


def test_a_connection_whose_read_was_ended_in_the_middle_counts_as_lost() -> None:
    # CPython says so of a buffer that somebody looks into; the driver enlarges one for each message.
    buffer = bytearray(1)
    with memoryview(buffer), pytest.raises(BufferError) as ended:
        buffer += b"x"
    assert isinstance(translate(ended.value), DatabaseUnavailable)
    assert isinstance(ended.value, driver_errors.DRIVER_ERRORS)


@walk_over("kind", sorted(set(classes(*ROOTS)), key=class_name))
def test_an_exception_of_the_driver_is_a_fault_of_ours_or_may_pass(kind: type[Exception]) -> None:
    error = translate(kind(SECRET))
    assert isinstance(error, InternalError if kind.__name__ in OWN_FAULTS else Unavailable)
    assert SECRET not in str(error.envelope("t"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("Neo.ClientError.Transaction.TransactionTimedOut", DatabaseTimeout),
        ("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", DatabaseTimeout),
        ("Neo.TransientError.Transaction.LockAcquisitionTimeout", DatabaseTimeout),
        ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", DatabaseFull),
        ("Neo.TransientError.Transaction.DeadlockDetected", Unavailable),
        ("Neo.DatabaseError.General.UnknownError", Unavailable),
        ("Neo.ClientError.Statement.TypeError", DataDamaged),
        ("Neo.ClientError.Statement.SyntaxError", InternalError),
    ],
)
def test_a_code_of_the_server_is_what_it_says(code: str, kind: type[Exception]) -> None:
    assert isinstance(translate(hydrated(code)), kind)


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("db.memory.transaction.max", DatabaseFull),
        ("db.memory.transaction.total.max", DatabaseCrowded),
        ("dbms.memory.transaction.total.max", DatabaseCrowded),
    ],
)
def test_memory_that_others_take_is_told_from_a_limit_of_its_own(setting: str, kind: type[Exception]) -> None:
    # Neo4j 5.26's own words.
    sentence = "The allocation of an extra 2.3 MiB would use more than the limit 60.0 MiB."
    error = neo4j.exceptions.Neo4jError._hydrate_neo4j(
        code="Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        message=f"{sentence} Currently using 58.0 MiB. {setting} threshold reached",
    )
    our_error = translate(error)
    assert (type(our_error), our_error.code, our_error.retryable) == (kind, "DB_OUT_OF_MEMORY", True)


@pytest.mark.parametrize("exc", [OSError(SECRET), TimeoutError(SECRET), ConnectionResetError(SECRET)])
def test_a_fault_of_the_network_may_pass(exc: Exception) -> None:
    assert isinstance(translate(exc), Unavailable)


@pytest.mark.parametrize(
    ("exc", "setting", "word"),
    [
        (neo4j.exceptions.AuthError("no"), "NEO4J_PASSWORD", "refuses the user 'reader'"),
        (neo4j.exceptions.ConfigurationError("no scheme"), "NEO4J_URI", "no scheme"),
        (ValueError("no port"), "NEO4J_URI", "no port"),
        (hydrated("Neo.ClientError.Database.DatabaseNotFound"), "NEO4J_DATABASE", "no database 'absent'"),
        (hydrated("Neo.ClientError.Statement.SyntaxError"), None, ""),
        (neo4j.exceptions.ServiceUnavailable("gone"), None, ""),
    ],
)
def test_a_start_that_fails_names_the_setting_that_is_wrong(
    exc: Exception, setting: str | None, word: str
) -> None:
    settings = load(neo4j_uri="bolt://db:7687", neo4j_username="reader", neo4j_database="absent")
    error = setting_error(exc, settings)
    assert (error and error.details) == (setting and {"setting": setting})
    assert word in str(error)


def lost(settings: Settings, exc: Exception | None = None, *, with_address: bool = True) -> str:
    """Return the message for callers of a database that is not there."""
    exc = exc or neo4j.exceptions.ServiceUnavailable(SECRET)
    error = caller_error(exc, settings, with_address=with_address)
    assert (type(error), error.details) == (DatabaseUnavailable, {})
    return str(error)


def test_the_message_of_a_lost_embedded_database_names_the_command_that_starts_it(tmp_path: Path) -> None:
    settings = load(env="test", data_dir=tmp_path).model_copy(update={"neo4j_uri": None})
    assert lost(settings) == lost(settings, ConnectionResetError(SECRET))
    assert lost(settings).endswith("try again in a moment, or start it with `graphmem db start`")
    settings.stop_file.touch()
    assert lost(settings) == "the embedded Neo4j was stopped on purpose: `graphmem db start` starts it"


def test_the_message_of_another_lost_database_names_its_address_and_its_setting(tmp_path: Path) -> None:
    settings = load(env="test", data_dir=tmp_path, neo4j_uri="bolt://graph.example:7687")
    assert "bolt://graph.example:7687 (NEO4J_URI) cannot be reached" in lost(settings)
    assert "graph.example" not in lost(settings, with_address=False)
    assert "correct NEO4J_URI" in lost(settings, with_address=False)


def test_the_message_of_a_database_that_answers_an_error_names_no_start_of_it(tmp_path: Path) -> None:
    settings = load(env="test", data_dir=tmp_path).model_copy(update={"neo4j_uri": None})
    error = hydrated("Neo.DatabaseError.General.UnknownError")
    assert lost(settings, error) == DatabaseUnavailable.default_message()
