"""All errors that graphmem answers.

A class with a ``code`` is entered in :data:`CATALOGUE`, which ``docs/reference.md`` shows with the status
over HTTP and the exit code of commands. Its docstring is its default message.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Self

from typing_extensions import TypedDict

CATALOGUE: dict[str, type[GraphmemError]] = {}

EXIT_CODES: Final = {400: 2, 413: 2, 416: 2, 401: 3, 403: 3, 404: 4, 405: 4, 409: 5, 410: 5, 429: 7, 503: 7}
"""The exit code of commands by status, for an error that names none of its own."""


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

    def __init_subclass__(cls, code: str = "", status: int = 0, exit_code: int = 0) -> None:
        if status:
            cls.status, cls.exit_code = status, exit_code or EXIT_CODES[status]
        if code:
            if code in CATALOGUE:
                raise TypeError(f"error code {code!r} is taken by {CATALOGUE[code].__name__}")
            cls.code = code
            CATALOGUE[code] = cls

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
        return " ".join((cls.__doc__ or "").split())

    def answer_headers(self) -> dict[str, str]:
        return dict(self.headers)

    def envelope(self, trace_id: str) -> Envelope:
        """Return the answer of every face for this error.

        An error that a service answered to a client keeps the trace id of the service.
        """
        return {
            "error_code": self.code,
            "message": str(self),
            "details": {**self.details, "retryable": True} if self.retryable else self.details,
            "trace_id": self.trace_id or trace_id,
            "timestamp": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }


# fmt: off
# One blank line lies between two errors, so that they read as a table.
class InvalidInput(GraphmemError, code="VALIDATION_INVALID_FORMAT", status=400):
    """An argument is not valid: details.issues names the path of each and what is wrong with it."""

    @classmethod
    def at(cls, path: str, message: str, **details: Any) -> Self:
        """Return the error of one argument, of which this is its one issue."""
        return cls(f"{path}: {message}", **details, issues=[{"path": path, "message": message}])

class UnknownField(InvalidInput, code="ERR_UNKNOWN_FIELD"):
    """The operation has no argument of this name: details.allowed_fields lists its arguments."""

class InvalidJson(InvalidInput, code="INVALID_JSON"):
    """The body is not a valid JSON object: details.reason says why."""

class UnsupportedMediaType(InvalidInput, code="UNSUPPORTED_MEDIA_TYPE"):
    """The media type of the body is not supported: send Content-Type: application/json."""

class InvalidCursor(InvalidInput, code="INVALID_CURSOR"):
    """The cursor is of another query: send next_cursor of the last answer with the same arguments."""

class CursorOfAnotherDatabase(GraphmemError, code="CURSOR_OF_ANOTHER_DATABASE", status=409):
    """The cursor is of other data: read what is known now, then go on from its resume_cursor."""

class InvalidDelivery(InvalidInput, code="INVALID_DELIVERY"):
    """Changes cannot be delivered so: a webhook needs an https URL of a public host, and sse takes none."""

class SubscriptionInactive(GraphmemError, code="SUBSCRIPTION_INACTIVE", status=410):
    """The subscription sleeps, and details.last_error says why: POST /subscribe with its id wakes it."""

class FileContentInvalid(InvalidInput, code="FILE_CONTENT_INVALID"):
    """The file cannot be read from the request: send its bytes in base64 (RFC 4648), at least one byte."""

class FileEmpty(FileContentInvalid, code="FILE_EMPTY"):
    """The file is empty: give one with at least one byte."""

class FileUnreadable(InvalidInput, code="FILE_UNREADABLE"):
    """The file cannot be read: check its permissions."""

class FileIsDirectory(FileUnreadable, code="FILE_IS_DIRECTORY"):
    """The path is that of a directory: name a file in it."""

class FileNotParsed(InvalidInput, code="FILE_NOT_PARSED"):
    """No parser can read the file: details.reason is unsupported, damaged, encrypted, empty, too_large,
    limit_exceeded, timed_out or crashed."""

class StoreRefused(InvalidInput, code="ERR_STORE_RESOLUTION_FAILED"):
    """Nothing was stored: details.issues names each item or relationship that was refused, by index."""

class SchemaRefused(InvalidInput, code="SCHEMA_VALIDATION_FAILED"):
    """The schema is not valid, or it equals the current one: details.issues names each fault by path."""

class DumpRefused(InvalidInput, code="DUMP_REFUSED"):
    """The dump cannot be read or written: details.path names its file."""

class DumpDamaged(InvalidInput, code="DUMP_DAMAGED"):
    """The dump is damaged, or this version does not read its format: nothing was restored."""

class PayloadTooLarge(GraphmemError, code="PAYLOAD_TOO_LARGE", status=413):
    """The body is larger than details.max_size bytes: split it into several requests."""

class FileTooLarge(PayloadTooLarge, code="INGESTION_FILE_TOO_LARGE"):
    """The file is larger than details.max_size bytes: split it into several files."""

class TransactionTooLarge(PayloadTooLarge, code="TRANSACTION_TOO_LARGE"):
    """The request needs more memory than one transaction of the database has, and nothing was written:
    send fewer items, fields or relationships at once, or smaller values."""

class RangeNotSatisfiable(GraphmemError, code="RANGE_NOT_SATISFIABLE", status=416):
    """The file has none of the requested bytes: details.size is how many it has."""
    headers: ClassVar[dict[str, str]] = {"Content-Range": ""}

    def answer_headers(self) -> dict[str, str]:
        return {"Content-Range": f"bytes */{self.details['size']}"}

class AuthRequired(GraphmemError, code="AUTH_REQUIRED", status=401):
    """The service requires a credential: send the header Authorization: Bearer <token>, with an API key, an
    OAuth access token or SERVICE_BEARER_TOKEN."""
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": "Bearer"}

class AuthInvalid(GraphmemError, code="AUTH_INVALID", status=401):
    """The bearer token is wrong, revoked or expired: send a valid API key or access token, or compare
    SERVICE_BEARER_TOKEN of the client and the service."""
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": 'Bearer error="invalid_token"'}

class AgentSignatureInvalid(GraphmemError, code="AAUTH_SIGNATURE_INVALID", status=401):
    """The signature of the agent is refused, and nothing was done: details.reason says why. Sign the request
    anew, or leave out Signature, Signature-Input and Signature-Key."""
    headers: ClassVar[dict[str, str]] = {"Signature-Error": ""}

    def answer_headers(self) -> dict[str, str]:
        """Return ``Signature-Error`` with the reason, and what the signature must cover."""
        error = f"error={self.details.get('reason', 'invalid_signature')}"
        if needed := self.details.get("required_input"):
            listed = " ".join(f'"{name}"' for name in needed)
            error += f", required_input=({listed})"
        return {"Signature-Error": error}

class AgentSignatureRequired(GraphmemError, code="AAUTH_REQUIRED", status=401):
    """The service takes writes of agents that sign only, by SERVICE_AAUTH_MODE=required: make a key with
    `graphmem auth keygen`, and name it in GRAPHMEM_AGENT_KEY."""

class OAuthRefused(GraphmemError, code="OAUTH_REFUSED", status=400):
    """The OAuth request is refused: details.error is the code of RFC 6749, 7591 or 8707."""

class OAuthClientUnknown(OAuthRefused, code="OAUTH_CLIENT_UNKNOWN", status=401):
    """No OAuth client has this client_id: register the client again."""

class OAuthStateInvalid(OAuthRefused, code="OAUTH_STATE_INVALID"):
    """The authorization request has ended, or this browser did not begin it: start again in the client."""

class LoginFailed(GraphmemError, code="LOGIN_FAILED", status=401):
    """The login at the service failed, and nothing was kept: run `graphmem auth login` again."""

class Forbidden(GraphmemError, code="FORBIDDEN", status=403):
    """The caller lacks the scope of this operation: use a credential that has it; details.needs names it."""

class AttributionRequired(Forbidden, code="ATTRIBUTION_REQUIRED"):
    """The service takes writes of better known agents only: details.min_tier is the least tier, and
    details.current_tier that of the caller."""

class WriterQuarantined(Forbidden, code="WRITER_QUARANTINED"):
    """The writer is in quarantine: what it stores is kept and does not count, and no other change is taken
    from it. Another writer of the account ends that with POST /agents/release."""

class CapabilityDenied(Forbidden, code="CAPABILITY_DENIED"):
    """The grants of the agent do not cover this call: details.operation and details.entity_types say what it
    touches, as far as the arguments show it. GET /agents/grants lists the grants."""

class FileUrlRefused(Forbidden, code="FILE_URL_REFUSED"):
    """The URL of the file is not valid: it was not made by this service, was changed, or is that of a
    disabled account. Make a new one with GET /get_file_url."""

class HostRefused(Forbidden, code="HOST_NOT_ALLOWED"):
    """The Host header names a host that the service does not serve: add it to GRAPHMEM_ALLOWED_HOSTS. Or the
    Origin header is that of a foreign page: add it to GRAPHMEM_CORS_ORIGINS."""

class SandboxDisabled(Forbidden, code="SANDBOX_DISABLED"):
    """This public sandbox disables the operation: the terms at /sandbox/terms say what it offers."""

class FilePathRefused(Forbidden, code="FILE_PATH_REFUSED"):
    """The service may read no such file: `file_path` names one below the directories of
    GRAPHMEM_FILE_ROOTS on the machine of the service. Send the file itself as file_content."""

class RouteNotFound(GraphmemError, code="NOT_FOUND", status=404):
    """The service has no such method and path: GET /openapi.yaml lists all."""

class MethodNotAllowed(GraphmemError, code="METHOD_NOT_ALLOWED", status=405):
    """The path accepts only POST."""
    headers: ClassVar[dict[str, str]] = {"Allow": "OPTIONS, POST"}

class NotFound(GraphmemError, code="RESOURCE_NOT_FOUND", status=404):
    """There is no such object, or it belongs to another owner: details names it."""

class FileMissing(NotFound, code="FILE_NOT_FOUND"):
    """There is no such file on this machine."""

class IdempotencyMismatch(GraphmemError, code="ERR_IDEMPOTENCY_MISMATCH", status=409):
    """The idempotency key was used before with other content, and nothing was written:
    use a new key, or send the first content again to get its answer."""

class VersionConflict(GraphmemError, code="VERSION_CONFLICT", status=409):
    """The entity has another version than expected_version, and nothing was written: read it again, and send
    the change with details.current_version if it still applies."""

class EntityAmbiguous(GraphmemError, code="ENTITY_AMBIGUOUS", status=409, exit_code=8):
    """Several entities have this name, so the command needs the id of one: details.candidates lists them."""

class SourceAmbiguous(GraphmemError, code="SOURCE_AMBIGUOUS", status=409, exit_code=8):
    """Several files were stored under this name: give the id of one of details.candidates."""

class AccountConflict(GraphmemError, code="ACCOUNT_CONFLICT", status=409):
    """The change of an account contradicts another one, and nothing was written."""

class KeyHasChildren(GraphmemError, code="KEY_HAS_CHILDREN", status=409):
    """The key made other keys or connections, which are in force; details.keys names the keys. Nothing was
    revoked. Send `children`: with `end` they end with it, with `keep` they stay."""

class DumpConflicts(GraphmemError, code="DUMP_CONFLICTS", status=409):
    """Some facts of the dump contradict stored facts: details.conflicts names them. The stored facts stay,
    and all other facts are restored."""

class RateLimited(GraphmemError, code="RATE_LIMITED", status=429):
    """The caller has sent too many requests of a kind: wait details.retry_after seconds."""
    retryable = True
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1", "RateLimit": "", "RateLimit-Policy": ""}

    def answer_headers(self) -> dict[str, str]:
        """Return ``Retry-After`` with whole seconds. The face adds the headers of the limit."""
        return {"Retry-After": str(self.details.get("retry_after", 1))}

class Unavailable(GraphmemError, status=503):
    """The service cannot answer at the moment: try again."""
    retryable = True
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1"}

class DatabaseUnavailable(Unavailable, code="DB_CONNECTION_FAILED"):
    """The database cannot be reached: try again in a moment."""

class DatabaseTimeout(Unavailable, code="DB_TIMEOUT"):
    """The database did not answer in time: try again, or ask for less."""

class DatabaseFull(Unavailable, code="DB_OUT_OF_MEMORY"):
    """The database has too little memory for this request, and nothing was written:
    ask for less, or try again."""

class DatabaseCrowded(DatabaseFull):
    """The transactions of the database use all memory that they share, and nothing was written:
    try again in a moment, or ask for less."""

class DiskFull(Unavailable, code="DB_DISK_FULL"):
    """The disk of the database is nearly full, and nothing was written: free some space on it."""

class ObjectStoreUnavailable(Unavailable, code="OBJECT_STORE_UNAVAILABLE"):
    """The store of files does not answer, and no bytes were stored or read: try again in a moment;
    `graphmem doctor` says what is wrong with it."""

class ObjectStoreFull(ObjectStoreUnavailable):
    """The store of files has no space left, and no bytes were stored: free some space on its disk, or raise
    its quota."""

class ObjectStoreRefused(ObjectStoreUnavailable):
    """The store of files refuses the service, and no bytes were stored or read: correct the rights of its
    directory, or the bucket and credentials; details.reason says what it refuses."""

class ParserUnconfined(Unavailable, code="PARSER_UNCONFINED"):
    """GRAPHMEM_CONFINE is require, and this system cannot confine the process that parses: no file was read.
    details.lacking says why; use a Linux with Landlock and seccomp, or set GRAPHMEM_CONFINE to auto."""

class ServiceBusy(Unavailable, code="SERVICE_BUSY"):
    """Too many requests are waiting: try again in a moment."""

class SearchMemoryExceeded(Unavailable, code="SEARCH_MEMORY_EXCEEDED"):
    """The entities of this owner take more than GRAPHMEM_SEARCH_MEMORY, and no file in GRAPHMEM_SEARCH_DISK
    has them: raise one of these, and start the service again. A sealed instance has no such files."""

class ServiceUnreachable(Unavailable, code="SERVICE_UNREACHABLE"):
    """No service answers at this address: start it with `graphmem serve`, or correct --base-url."""

class EmbeddingUnavailable(Unavailable, code="EMBEDDING_UNAVAILABLE"):
    """The service at GRAPHMEM_EMBEDDING_URL does not answer with vectors: check that it runs, and its key."""

class EmbeddingRefused(EmbeddingUnavailable):
    """The service at GRAPHMEM_EMBEDDING_URL refuses a text."""

class LanguageModelUnavailable(Unavailable, code="LANGUAGE_MODEL_UNAVAILABLE"):
    """The service at GRAPHMEM_LLM_URL does not answer: check that it runs, and its key."""

# The request is right, and the service lacks what it needs to answer it.
class Damaged(GraphmemError, status=503):
    """What is stored is damaged, and trying again does not help."""

class ObjectMissing(Damaged, code="OBJECT_MISSING"):
    """The bytes of a stored file are missing, and trying again does not help: store the same file again, or
    restore it from a backup."""

class ObjectDamaged(Damaged, code="OBJECT_DAMAGED"):
    """The bytes of a stored file are not those that were stored, and none are answered as a whole: store the
    same file again, or restore it from a backup."""

class DataDamaged(Damaged, code="DATA_DAMAGED"):
    """What is stored is damaged, and trying again does not help: POST /health_check_snapshots says what
    differs from the facts, and repairs with auto_fix what is derived from them."""

class DecryptionFailed(Damaged, code="DECRYPTION_FAILED"):
    """What is sealed cannot be opened: it was changed, or belongs elsewhere, or its key was destroyed."""

class KeyDestroyed(DecryptionFailed):
    """The key was destroyed with the data of its owner: details.owner is the owner."""

class InternalError(GraphmemError, code="INTERNAL_ERROR"):
    """An unexpected fault: the log of the service has it under this trace_id."""

class SetupError(GraphmemError, status=503, exit_code=6):
    """The installation cannot start, or lacks what it had when it started."""

class ConfigurationInvalid(SetupError, code="CONFIGURATION_INVALID"):
    """A setting is not valid."""

class DataDirectoryRefused(SetupError, code="DATA_DIRECTORY_REFUSED"):
    """The data directory cannot be used."""

class CredentialsRefused(SetupError, code="CREDENTIALS_REFUSED"):
    """The credentials that `graphmem auth login` keeps cannot be read or written."""

class EncryptionKeyMissing(SetupError, code="ENCRYPTION_KEY_MISSING"):
    """This instance is sealed, and its root key is not on this machine: details.needed is the id of the key;
    `graphmem encryption restore` makes it of its 24 words."""

class EncryptionKeyInvalid(SetupError, code="ENCRYPTION_KEY_INVALID"):
    """The root key is not that of this instance, or cannot be used."""

class EngineFetchFailed(SetupError, code="ENGINE_FETCH_FAILED"):
    """Neo4j could not be downloaded."""

class EngineStartFailed(SetupError, code="ENGINE_START_FAILED"):
    """Neo4j did not start."""

class SandboxMismatch(SetupError, code="SANDBOX_MISMATCH"):
    """The database is that of a public sandbox, which is wiped every week: name another database or data
    directory, or set GRAPHMEM_SANDBOX to serve it."""

class MigrationRefused(SetupError, code="MIGRATION_REFUSED"):
    """The database's schema does not fit this version of graphmem."""
# fmt: on


def validation_message(message: str) -> str:
    """Return the message of a validator without the prefix of pydantic."""
    return message.removeprefix("Value error, ")
