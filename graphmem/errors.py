"""Every error that graphmem answers, in one place.

GraphmemError                     500  exit 1
├── InvalidInput                  400  exit 2   VALIDATION_INVALID_FORMAT
│   ├── UnknownField                            ERR_UNKNOWN_FIELD
│   ├── InvalidJson                             INVALID_JSON
│   ├── UnsupportedMediaType                    UNSUPPORTED_MEDIA_TYPE
│   ├── InvalidCursor                           INVALID_CURSOR
│   ├── StoreRefused                            ERR_STORE_RESOLUTION_FAILED
│   ├── SchemaRefused                           SCHEMA_VALIDATION_FAILED
│   ├── DumpRefused                             DUMP_REFUSED
│   └── DumpDamaged                             DUMP_DAMAGED
├── PayloadTooLarge               413  exit 2   PAYLOAD_TOO_LARGE
│   └── TransactionTooLarge                     TRANSACTION_TOO_LARGE
├── AuthRequired                  401  exit 3   AUTH_REQUIRED
├── AuthInvalid                   401  exit 3   AUTH_INVALID
├── Forbidden                     403  exit 3   FORBIDDEN
│   ├── HostRefused                             HOST_NOT_ALLOWED
│   └── SandboxDisabled                         SANDBOX_DISABLED
├── RouteNotFound                 404  exit 4   NOT_FOUND
├── MethodNotAllowed              405  exit 4   METHOD_NOT_ALLOWED
├── NotFound                      404  exit 4   RESOURCE_NOT_FOUND
├── IdempotencyMismatch           409  exit 5   ERR_IDEMPOTENCY_MISMATCH
├── DumpConflicts                 409  exit 5   DUMP_CONFLICTS
├── Unavailable                   503  exit 7   retryable
│   ├── DatabaseUnavailable                     DB_CONNECTION_FAILED
│   ├── DatabaseTimeout                         DB_TIMEOUT
│   ├── DatabaseFull                            DB_OUT_OF_MEMORY
│   │   └── DatabaseCrowded
│   ├── DiskFull                                DB_DISK_FULL
│   ├── ServiceBusy                             SERVICE_BUSY
│   ├── ServiceUnreachable                      SERVICE_UNREACHABLE
│   └── EmbeddingUnavailable                    EMBEDDING_UNAVAILABLE
│       └── EmbeddingRefused
├── InternalError                 500  exit 1   INTERNAL_ERROR
└── SetupError                    500  exit 6   (what only a local command meets)
    ├── ConfigurationInvalid                    CONFIGURATION_INVALID
    ├── DataDirectoryRefused                    DATA_DIRECTORY_REFUSED
    ├── EngineFetchFailed                       ENGINE_FETCH_FAILED
    ├── EngineStartFailed                       ENGINE_START_FAILED
    └── MigrationRefused                        MIGRATION_REFUSED

A subclass that names a ``code`` is filed in :data:`CATALOGUE`. The first line of its docstring is its
default message. The envelope is that of the interface: ``error_code``, ``message``, ``details``,
``trace_id``, ``timestamp``, the same on every face.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, ClassVar

from typing_extensions import TypedDict

CATALOGUE: dict[str, type[GraphmemError]] = {}


class Envelope(TypedDict):
    """The one shape of an error answer.

    ``timestamp`` is ISO 8601 in UTC; ``trace_id`` is on every log line of the request.
    """

    error_code: str
    message: str
    details: dict[str, Any]
    trace_id: str
    timestamp: str


class GraphmemError(Exception):
    """Something went wrong."""

    code: ClassVar[str]
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    headers: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        if "code" in vars(cls):
            if cls.code in CATALOGUE:
                raise TypeError(f"error code {cls.code!r} is taken by {CATALOGUE[cls.code].__name__}")
            CATALOGUE[cls.code] = cls

    def __init__(self, message: str = "", **details: Any) -> None:
        super().__init__(message or self.default_message())
        self.details = details
        self.trace_id: str | None = None

    @classmethod
    def default_message(cls) -> str:
        """Return the first paragraph of the class's docstring as one line."""
        return re.sub(r"\s+", " ", (cls.__doc__ or "").strip().partition("\n\n")[0])

    def envelope(self, trace_id: str) -> Envelope:
        """Return the answer that every face gives for this error.

        An error that came from another process keeps the trace id that it has there.
        """
        details = {**self.details, "retryable": True} if self.retryable else self.details
        return {
            "error_code": self.code,
            "message": str(self),
            "details": details,
            "trace_id": self.trace_id or trace_id,
            "timestamp": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }


class InvalidInput(GraphmemError):
    """The arguments do not fit the operation: details.issues names each offending path."""

    code, status, exit_code = "VALIDATION_INVALID_FORMAT", 400, 2


class UnknownField(InvalidInput):
    """An argument is not known to this operation: details.allowed_fields lists those that are."""

    code = "ERR_UNKNOWN_FIELD"


class InvalidJson(InvalidInput):
    """The body is not a JSON object that can be read: details.reason says where it fails."""

    code = "INVALID_JSON"


class UnsupportedMediaType(InvalidInput):
    """The body must be sent as Content-Type: application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class InvalidCursor(InvalidInput):
    """The cursor is none of this query: give next_cursor of the answer before, all else being the same."""

    code = "INVALID_CURSOR"


class StoreRefused(InvalidInput):
    """Nothing was stored: details.issues names each item or relationship that was refused, by index."""

    code = "ERR_STORE_RESOLUTION_FAILED"


class SchemaRefused(InvalidInput):
    """The schema is not valid, or this is how it is already: details.issues names each fault by path."""

    code = "SCHEMA_VALIDATION_FAILED"


class DumpRefused(InvalidInput):
    """The dump cannot be read or written at this path: details.path names it."""

    code = "DUMP_REFUSED"


class DumpDamaged(InvalidInput):
    """The dump is not as it was written, or of a format that this version does not read:
    nothing was restored.
    """

    code = "DUMP_DAMAGED"


class PayloadTooLarge(GraphmemError):
    """The body is larger than details.max_size bytes: split it into several requests."""

    code, status, exit_code = "PAYLOAD_TOO_LARGE", 413, 2


class TransactionTooLarge(PayloadTooLarge):
    """The database cannot hold this in one transaction, and nothing was written: send fewer items, fields or
    relationships at once, or smaller values.
    """

    code = "TRANSACTION_TOO_LARGE"


class AuthRequired(GraphmemError):
    """This service wants a token: send the header Authorization: Bearer <token>."""

    code, status, exit_code = "AUTH_REQUIRED", 401, 3
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": "Bearer"}


class AuthInvalid(GraphmemError):
    """The bearer token is not valid here: check SERVICE_BEARER_TOKEN on both sides."""

    code, status, exit_code = "AUTH_INVALID", 401, 3
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": 'Bearer error="invalid_token"'}


class Forbidden(GraphmemError):
    """The caller lacks the scope that this operation needs."""

    code, status, exit_code = "FORBIDDEN", 403, 3


class HostRefused(Forbidden):
    """The Host or Origin header names a site that this service does not answer for:
    add it to GRAPHMEM_ALLOWED_HOSTS if it should.
    """

    code = "HOST_NOT_ALLOWED"


class SandboxDisabled(Forbidden):
    """This operation is switched off in the public sandbox."""

    code = "SANDBOX_DISABLED"


class RouteNotFound(GraphmemError):
    """There is no such method and path: GET /openapi.yaml lists all that there are."""

    code, status, exit_code = "NOT_FOUND", 404, 4


class MethodNotAllowed(GraphmemError):
    """This path takes POST only."""

    code, status, exit_code = "METHOD_NOT_ALLOWED", 405, 4
    headers: ClassVar[dict[str, str]] = {"Allow": "POST"}


class NotFound(GraphmemError):
    """There is no such thing among the caller's own: details names what was looked for."""

    code, status, exit_code = "RESOURCE_NOT_FOUND", 404, 4


class IdempotencyMismatch(GraphmemError):
    """The idempotency key was used for a request with other content: nothing was written.
    Use a new key, or send the first content again to have its answer replayed.
    """

    code, status, exit_code = "ERR_IDEMPOTENCY_MISMATCH", 409, 5


class DumpConflicts(GraphmemError):
    """Some facts of the dump contradict what is here: what is here stays, all other facts are restored, and
    details.conflicts names them.
    """

    code, status, exit_code = "DUMP_CONFLICTS", 409, 5


class Unavailable(GraphmemError):
    """The service cannot answer just now: try again."""

    status, exit_code, retryable = 503, 7, True
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1"}


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached: try again in a moment."""

    code = "DB_CONNECTION_FAILED"


class DatabaseTimeout(Unavailable):
    """The database did not answer in time: try again, or ask for less."""

    code = "DB_TIMEOUT"


class DatabaseFull(Unavailable):
    """The database ran out of memory for this, and nothing was written: ask for less, or try again."""

    code = "DB_OUT_OF_MEMORY"


class DatabaseCrowded(DatabaseFull):
    """The memory that all transactions of the database share is used up, and nothing was written: try again
    in a moment, or ask for less.
    """


class DiskFull(Unavailable):
    """The disk of the database is nearly full, and nothing was written: free some space there."""

    code = "DB_DISK_FULL"


class ServiceBusy(Unavailable):
    """Too much is waiting already: try again in a moment."""

    code = "SERVICE_BUSY"


class ServiceUnreachable(Unavailable):
    """No service answers at this address: start it with `graphmem serve`, or correct --base-url."""

    code = "SERVICE_UNREACHABLE"


class EmbeddingUnavailable(Unavailable):
    """The service at GRAPHMEM_EMBEDDING_URL does not answer as it should: see that it runs, and its key."""

    code = "EMBEDDING_UNAVAILABLE"


class EmbeddingRefused(EmbeddingUnavailable):
    """The service at GRAPHMEM_EMBEDDING_URL refuses a text."""


class InternalError(GraphmemError):
    """An unexpected fault: it is in the service's log under this trace_id."""

    code, status, exit_code = "INTERNAL_ERROR", 500, 1


class SetupError(GraphmemError):
    """This installation cannot start as it is."""

    status, exit_code = 500, 6


class ConfigurationInvalid(SetupError):
    """A setting is wrong."""

    code = "CONFIGURATION_INVALID"


class DataDirectoryRefused(SetupError):
    """The data directory cannot be used."""

    code = "DATA_DIRECTORY_REFUSED"


class EngineFetchFailed(SetupError):
    """Neo4j could not be fetched."""

    code = "ENGINE_FETCH_FAILED"


class EngineStartFailed(SetupError):
    """Neo4j did not start."""

    code = "ENGINE_START_FAILED"


class MigrationRefused(SetupError):
    """The database's schema does not fit this version of graphmem."""

    code = "MIGRATION_REFUSED"


def validation_message(said: str) -> str:
    """Return what a validator said, without what pydantic puts before it."""
    return said.removeprefix("Value error, ")
