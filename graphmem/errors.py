"""All errors that graphmem answers.

A subclass with a ``code`` of its own is entered in :data:`CATALOGUE`, which ``docs/reference.md`` shows with
the status over HTTP and the exit code of commands. What a class does not say is as in the class above. The
first paragraph of its docstring is its default message. Every face answers the same envelope: ``error_code``,
``message``, ``details``, ``trace_id``, ``timestamp``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, ClassVar

from typing_extensions import TypedDict

CATALOGUE: dict[str, type[GraphmemError]] = {}
"""The error class of each code."""


class Envelope(TypedDict):
    """The error answer.

    ``timestamp`` is ISO 8601 in UTC. ``trace_id`` is on every log line of the request.
    """

    error_code: str
    message: str
    details: dict[str, Any]
    trace_id: str
    timestamp: str


class GraphmemError(Exception):
    """The request failed."""

    code: ClassVar[str]
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    headers: ClassVar[dict[str, str]] = {}
    """The headers of every answer with this error; :meth:`answer_headers` returns those of one."""

    def __init_subclass__(cls) -> None:
        if "code" in vars(cls):
            if cls.code in CATALOGUE:
                raise TypeError(f"error code {cls.code!r} is taken by {CATALOGUE[cls.code].__name__}")
            CATALOGUE[cls.code] = cls

    def __init__(self, message: str = "", **details: Any) -> None:
        super().__init__(message or self.default_message())
        self.details = details
        self.trace_id: str | None = None

    @staticmethod
    def of(envelope: Any) -> GraphmemError:
        """Return the error that an envelope tells; one of an unknown code is an :class:`InternalError`.

        Raises:
            ValueError: it is no envelope.
        """
        try:
            kind = CATALOGUE.get(envelope["error_code"], InternalError)
            error = kind(envelope["message"], **envelope["details"])
            error.trace_id = envelope["trace_id"]
        except (KeyError, TypeError) as exc:
            raise ValueError("this is no envelope of an error") from exc
        return error

    @classmethod
    def default_message(cls) -> str:
        """Return the first paragraph of the class's docstring as one line."""
        return re.sub(r"\s+", " ", (cls.__doc__ or "").strip().partition("\n\n")[0])

    def answer_headers(self) -> dict[str, str]:
        """Return the headers of the HTTP answer."""
        return dict(self.headers)

    def envelope(self, trace_id: str) -> Envelope:
        """Return the answer of every face for this error.

        An error that a service answered to a client keeps the trace id of the service.
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
    """An argument is not valid: details.issues names the path of each and what is wrong with it."""

    code, status, exit_code = "VALIDATION_INVALID_FORMAT", 400, 2


class UnknownField(InvalidInput):
    """The operation has no argument of this name: details.allowed_fields lists its arguments."""

    code = "ERR_UNKNOWN_FIELD"


class InvalidJson(InvalidInput):
    """The body is not a valid JSON object: details.reason says why."""

    code = "INVALID_JSON"


class UnsupportedMediaType(InvalidInput):
    """The media type of the body is not supported: send Content-Type: application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class InvalidCursor(InvalidInput):
    """The cursor is of another query: send next_cursor of the last answer with the same arguments."""

    code = "INVALID_CURSOR"


class CursorOfAnotherDatabase(GraphmemError):
    """The cursor is of other data: read what is known now, then go on from its resume_cursor."""

    code, status, exit_code = "CURSOR_OF_ANOTHER_DATABASE", 409, 5


class InvalidDelivery(InvalidInput):
    """Changes cannot be delivered so: a webhook needs an https URL of a public host, and sse takes none."""

    code = "INVALID_DELIVERY"


class SubscriptionInactive(GraphmemError):
    """The subscription sleeps, and details.last_error says why: POST /subscribe with its id wakes it."""

    code, status, exit_code = "SUBSCRIPTION_INACTIVE", 410, 5


class FileContentInvalid(InvalidInput):
    """The file cannot be read from the request: send its bytes in base64 (RFC 4648), at least one byte."""

    code = "FILE_CONTENT_INVALID"


class FileEmpty(FileContentInvalid):
    """The file is empty: give one with at least one byte."""

    code = "FILE_EMPTY"


class FileUnreadable(InvalidInput):
    """The file cannot be read: check its permissions."""

    code = "FILE_UNREADABLE"


class FileIsDirectory(FileUnreadable):
    """The path is that of a directory: name a file in it."""

    code = "FILE_IS_DIRECTORY"


class FileNotParsed(InvalidInput):
    """No parser can read the file: details.reason is unsupported, damaged, encrypted, empty, too_large,
    limit_exceeded, timed_out or crashed.
    """

    code = "FILE_NOT_PARSED"


class StoreRefused(InvalidInput):
    """Nothing was stored: details.issues names each item or relationship that was refused, by index."""

    code = "ERR_STORE_RESOLUTION_FAILED"


class SchemaRefused(InvalidInput):
    """The schema is not valid, or it equals the current one: details.issues names each fault by path."""

    code = "SCHEMA_VALIDATION_FAILED"


class DumpRefused(InvalidInput):
    """The dump cannot be read or written: details.path names its file."""

    code = "DUMP_REFUSED"


class DumpDamaged(InvalidInput):
    """The dump is damaged, or this version does not read its format: nothing was restored."""

    code = "DUMP_DAMAGED"


class PayloadTooLarge(GraphmemError):
    """The body is larger than details.max_size bytes: split it into several requests."""

    code, status, exit_code = "PAYLOAD_TOO_LARGE", 413, 2


class FileTooLarge(PayloadTooLarge):
    """The file is larger than details.max_size bytes: split it into several files."""

    code = "INGESTION_FILE_TOO_LARGE"


class TransactionTooLarge(PayloadTooLarge):
    """The request needs more memory than one transaction of the database has, and nothing was written:
    send fewer items, fields or relationships at once, or smaller values.
    """

    code = "TRANSACTION_TOO_LARGE"


class RangeNotSatisfiable(GraphmemError):
    """The file has none of the requested bytes: details.size is how many it has."""

    code, status, exit_code = "RANGE_NOT_SATISFIABLE", 416, 2
    headers: ClassVar[dict[str, str]] = {"Content-Range": ""}

    def answer_headers(self) -> dict[str, str]:
        """Return ``Content-Range`` with the size of the file."""
        return {"Content-Range": f"bytes */{self.details['size']}"}


class AuthRequired(GraphmemError):
    """The service requires a credential: send the header Authorization: Bearer <token>, with an API key, an
    OAuth access token or SERVICE_BEARER_TOKEN.
    """

    code, status, exit_code = "AUTH_REQUIRED", 401, 3
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": "Bearer"}


class AuthInvalid(GraphmemError):
    """The bearer token is wrong, revoked or expired: send a valid API key or access token, or compare
    SERVICE_BEARER_TOKEN of the client and the service.
    """

    code, status, exit_code = "AUTH_INVALID", 401, 3
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": 'Bearer error="invalid_token"'}


class AgentSignatureInvalid(GraphmemError):
    """The signature of the agent is refused, and nothing was done: details.reason says why. Sign the request
    anew, or leave out Signature, Signature-Input and Signature-Key.
    """

    code, status, exit_code = "AAUTH_SIGNATURE_INVALID", 401, 3
    headers: ClassVar[dict[str, str]] = {"Signature-Error": ""}

    def answer_headers(self) -> dict[str, str]:
        """Return ``Signature-Error`` with the reason, and what the signature must cover."""
        error = f"error={self.details.get('reason', 'invalid_signature')}"
        if needed := self.details.get("required_input"):
            listed = " ".join(f'"{name}"' for name in needed)
            error += f", required_input=({listed})"
        return {"Signature-Error": error}


class AgentSignatureRequired(GraphmemError):
    """The service takes writes of agents that sign only, by SERVICE_AAUTH_MODE=required: make a key with
    `graphmem auth keygen`, and name it in GRAPHMEM_AGENT_KEY.
    """

    code, status, exit_code = "AAUTH_REQUIRED", 401, 3


class OAuthRefused(GraphmemError):
    """The OAuth request is refused: details.error is the code of RFC 6749, 7591 or 8707."""

    code, status, exit_code = "OAUTH_REFUSED", 400, 2


class OAuthClientUnknown(OAuthRefused):
    """No OAuth client has this client_id: register the client again."""

    code, status, exit_code = "OAUTH_CLIENT_UNKNOWN", 401, 3


class OAuthStateInvalid(OAuthRefused):
    """The authorization request has ended, or this browser did not begin it: start again in the client."""

    code = "OAUTH_STATE_INVALID"


class LoginFailed(GraphmemError):
    """The login at the service failed, and nothing was kept: run `graphmem auth login` again."""

    code, status, exit_code = "LOGIN_FAILED", 401, 3


class Forbidden(GraphmemError):
    """The caller lacks the scope of this operation: use a credential that has it; details.needs names it."""

    code, status, exit_code = "FORBIDDEN", 403, 3


class AttributionRequired(Forbidden):
    """The service takes writes of better known agents only: details.min_tier is the least tier, and
    details.current_tier that of the caller.
    """

    code = "ATTRIBUTION_REQUIRED"


class WriterQuarantined(Forbidden):
    """The writer is in quarantine: what it stores is kept and does not count, and no other change is taken
    from it. Another writer of the account ends that with POST /agents/release.
    """

    code = "WRITER_QUARANTINED"


class CapabilityDenied(Forbidden):
    """The grants of the agent do not cover this call: details.operation and details.entity_types say what it
    touches, as far as the arguments show it. GET /agents/grants lists the grants.
    """

    code = "CAPABILITY_DENIED"


class FileUrlRefused(Forbidden):
    """The URL of the file is not valid: it was not made by this service, was changed, or is that of a
    disabled account. Make a new one with GET /get_file_url.
    """

    code = "FILE_URL_REFUSED"


class HostRefused(Forbidden):
    """The Host header names a host that the service does not serve: add it to GRAPHMEM_ALLOWED_HOSTS. Or the
    Origin header is that of a foreign page: add it to GRAPHMEM_CORS_ORIGINS.
    """

    code = "HOST_NOT_ALLOWED"


class SandboxDisabled(Forbidden):
    """This public sandbox disables the operation: the terms at /sandbox/terms say what it offers."""

    code = "SANDBOX_DISABLED"


class FilePathRefused(Forbidden):
    """The service may read no such file: `file_path` names one below the directories of
    GRAPHMEM_FILE_ROOTS on the machine of the service. Send the file itself as file_content.
    """

    code = "FILE_PATH_REFUSED"


class RouteNotFound(GraphmemError):
    """The service has no such method and path: GET /openapi.yaml lists all."""

    code, status, exit_code = "NOT_FOUND", 404, 4


class MethodNotAllowed(GraphmemError):
    """The path accepts only POST."""

    code, status, exit_code = "METHOD_NOT_ALLOWED", 405, 4
    headers: ClassVar[dict[str, str]] = {"Allow": "OPTIONS, POST"}


class NotFound(GraphmemError):
    """There is no such object, or it belongs to another owner: details names it."""

    code, status, exit_code = "RESOURCE_NOT_FOUND", 404, 4


class FileMissing(NotFound):
    """There is no such file on this machine."""

    code = "FILE_NOT_FOUND"


class IdempotencyMismatch(GraphmemError):
    """The idempotency key was used before with other content, and nothing was written:
    use a new key, or send the first content again to get its answer.
    """

    code, status, exit_code = "ERR_IDEMPOTENCY_MISMATCH", 409, 5


class VersionConflict(GraphmemError):
    """The entity has another version than expected_version, and nothing was written: read it again, and send
    the change with details.current_version if it still applies.
    """

    code, status, exit_code = "VERSION_CONFLICT", 409, 5


class EntityAmbiguous(GraphmemError):
    """Several entities have this name, so the command needs the id of one: details.candidates lists them."""

    code, status, exit_code = "ENTITY_AMBIGUOUS", 409, 8


class SourceAmbiguous(GraphmemError):
    """Several files were stored under this name: give the id of one of details.candidates."""

    code, status, exit_code = "SOURCE_AMBIGUOUS", 409, 8


class AccountConflict(GraphmemError):
    """The change of an account contradicts another one, and nothing was written."""

    code, status, exit_code = "ACCOUNT_CONFLICT", 409, 5


class KeyHasChildren(GraphmemError):
    """The key made other keys or connections, which are in force; details.keys names the keys. Nothing was
    revoked. Send `children`: with `end` they end with it, with `keep` they stay.
    """

    code, status, exit_code = "KEY_HAS_CHILDREN", 409, 5


class DumpConflicts(GraphmemError):
    """Some facts of the dump contradict stored facts: details.conflicts names them. The stored facts stay,
    and all other facts are restored.
    """

    code, status, exit_code = "DUMP_CONFLICTS", 409, 5


class RateLimited(GraphmemError):
    """The caller has sent too many requests of a kind: wait details.retry_after seconds."""

    code, status, exit_code, retryable = "RATE_LIMITED", 429, 7, True
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1", "RateLimit": "", "RateLimit-Policy": ""}

    def answer_headers(self) -> dict[str, str]:
        """Return ``Retry-After`` with whole seconds. The face adds the headers of the limit."""
        return {"Retry-After": str(self.details.get("retry_after", 1))}


class Unavailable(GraphmemError):
    """The service cannot answer at the moment: try again."""

    status, exit_code, retryable = 503, 7, True
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1"}


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached: try again in a moment."""

    code = "DB_CONNECTION_FAILED"


class DatabaseTimeout(Unavailable):
    """The database did not answer in time: try again, or ask for less."""

    code = "DB_TIMEOUT"


class DatabaseFull(Unavailable):
    """The database has too little memory for this request, and nothing was written:
    ask for less, or try again.
    """

    code = "DB_OUT_OF_MEMORY"


class DatabaseCrowded(DatabaseFull):
    """The transactions of the database use all memory that they share, and nothing was written:
    try again in a moment, or ask for less.
    """


class DiskFull(Unavailable):
    """The disk of the database is nearly full, and nothing was written: free some space on it."""

    code = "DB_DISK_FULL"


class ObjectStoreUnavailable(Unavailable):
    """The store of files does not answer, and no bytes were stored or read: try again in a moment;
    `graphmem doctor` says what is wrong with it.
    """

    code = "OBJECT_STORE_UNAVAILABLE"


class ObjectStoreFull(ObjectStoreUnavailable):
    """The store of files has no space left, and no bytes were stored: free some space on its disk, or raise
    its quota.
    """


class ObjectStoreRefused(ObjectStoreUnavailable):
    """The store of files refuses the service, and no bytes were stored or read: correct the rights of its
    directory, or the bucket and credentials; details.reason says what it refuses.
    """


class ParserUnconfined(Unavailable):
    """GRAPHMEM_CONFINE is require, and this system cannot confine the process that parses: no file was read.
    details.lacking says why; use a Linux with Landlock and seccomp, or set GRAPHMEM_CONFINE to auto.
    """

    code = "PARSER_UNCONFINED"


class ServiceBusy(Unavailable):
    """Too many requests are waiting: try again in a moment."""

    code = "SERVICE_BUSY"


class SearchMemoryExceeded(Unavailable):
    """The entities of this owner take more than GRAPHMEM_SEARCH_MEMORY, and a sealed instance searches in
    memory alone: raise it, and start the service again.
    """

    code = "SEARCH_MEMORY_EXCEEDED"


class ServiceUnreachable(Unavailable):
    """No service answers at this address: start it with `graphmem serve`, or correct --base-url."""

    code = "SERVICE_UNREACHABLE"


class EmbeddingUnavailable(Unavailable):
    """The service at GRAPHMEM_EMBEDDING_URL does not answer with vectors: check that it runs, and its key."""

    code = "EMBEDDING_UNAVAILABLE"


class EmbeddingRefused(EmbeddingUnavailable):
    """The service at GRAPHMEM_EMBEDDING_URL refuses a text."""


class LanguageModelUnavailable(Unavailable):
    """The service at GRAPHMEM_LLM_URL does not answer: check that it runs, and its key."""

    code = "LANGUAGE_MODEL_UNAVAILABLE"


class Damaged(GraphmemError):
    """What is stored is damaged, and trying again does not help."""

    # The request is right, and the service lacks what it needs to answer it.
    status, exit_code = 503, 7


class ObjectMissing(Damaged):
    """The bytes of a stored file are missing, and trying again does not help: store the same file again, or
    restore it from a backup.
    """

    code = "OBJECT_MISSING"


class ObjectDamaged(Damaged):
    """The bytes of a stored file are not those that were stored, and none are answered as a whole: store the
    same file again, or restore it from a backup.
    """

    code = "OBJECT_DAMAGED"


class DataDamaged(Damaged):
    """What is stored is damaged, and trying again does not help: POST /health_check_snapshots says what
    differs from the facts, and repairs with auto_fix what is derived from them.
    """

    code = "DATA_DAMAGED"


class DecryptionFailed(Damaged):
    """What is sealed cannot be opened: it was changed, or belongs elsewhere, or its key was destroyed."""

    code = "DECRYPTION_FAILED"


class KeyDestroyed(DecryptionFailed):
    """The key was destroyed with the data of its owner: details.owner is the owner."""


class InternalError(GraphmemError):
    """An unexpected fault: the log of the service has it under this trace_id."""

    code, status, exit_code = "INTERNAL_ERROR", 500, 1


class SetupError(GraphmemError):
    """The installation cannot start, or lacks what it had when it started."""

    status, exit_code = 503, 6


class ConfigurationInvalid(SetupError):
    """A setting is not valid."""

    code = "CONFIGURATION_INVALID"


class DataDirectoryRefused(SetupError):
    """The data directory cannot be used."""

    code = "DATA_DIRECTORY_REFUSED"


class CredentialsRefused(SetupError):
    """The credentials that `graphmem auth login` keeps cannot be read or written."""

    code = "CREDENTIALS_REFUSED"


class EncryptionKeyMissing(SetupError):
    """This instance is sealed, and its root key is not on this machine: details.needed is the id of the key;
    `graphmem encryption restore` makes it of its 24 words.
    """

    code = "ENCRYPTION_KEY_MISSING"


class EncryptionKeyInvalid(SetupError):
    """The root key is not that of this instance, or cannot be used."""

    code = "ENCRYPTION_KEY_INVALID"


class EngineFetchFailed(SetupError):
    """Neo4j could not be downloaded."""

    code = "ENGINE_FETCH_FAILED"


class EngineStartFailed(SetupError):
    """Neo4j did not start."""

    code = "ENGINE_START_FAILED"


class SandboxMismatch(SetupError):
    """The database is that of a public sandbox, which is wiped every week: name another database or data
    directory, or set GRAPHMEM_SANDBOX to serve it.
    """

    code = "SANDBOX_MISMATCH"


class MigrationRefused(SetupError):
    """The database's schema does not fit this version of graphmem."""

    code = "MIGRATION_REFUSED"


def validation_message(message: str) -> str:
    """Return the message of a validator without the prefix of pydantic."""
    return message.removeprefix("Value error, ")
