"""All settings: name, default, description and environment variable.

A command makes one frozen :class:`Settings` and passes it on; it is never a global. The table of settings in
``docs/reference.md`` is generated from this class.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from graphmem import environment_file
from graphmem.errors import ConfigurationInvalid, validation_message

if TYPE_CHECKING:
    from limits import RateLimitItem

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
LOCAL_ACCOUNT = "00000000-0000-0000-0000-000000000000"
"""The id of the account of this machine's user, which the first start makes: the nil UUID."""
DEFAULT_OWNER = LOCAL_ACCOUNT
"""The owner of the data of the local account."""

TOKEN_LENGTH_MIN = 32
"""Least number of characters of a bearer token."""

TierName = Literal["anonymous", "unverified_client", "software", "operator_attested"]
"""How well the writer of a request is known, from the least on."""

ToolsetName = Literal["core", "full", "readonly", "memory"]
"""The toolsets of MCP; ``graphmem/mcp/toolsets.py`` says what each of them has."""

_URL_SECRETS: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=[?&])[^=&#\s]+=[^&#\s]+")


def without_url_secrets(text: str) -> str:
    """Return a text with ``…`` in place of user and password, and of the query parameters, of its URLs."""
    return _URL_SECRETS.sub("…", text) if "://" in text else text


SANDBOX_DEFAULTS: Final[dict[str, Any]] = {
    "limit_reads": "600/minute",
    "limit_writes": "30/minute",
    "limit_heavy": "120/minute",
    "max_body_bytes": 1_000_000,
    "max_file_bytes": 5_000_000,
    "max_waiting": 200,
}
"""The defaults of a public sandbox that differ from those of other instances."""

KEY_FILE: Final = "keys.json"
"""The usual name of the key file of a sealed instance, in its data directory."""

Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0)]


def _split(value: Any) -> Any:
    """Return the parts of a text that commas separate."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def _check_limits(text: str) -> str:
    parsed_limits(text)
    return text


RateLimits = Annotated[str, AfterValidator(_check_limits)]
Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


def _own(name: str | None = None, *, is_shared: bool = False, **kwargs: Any) -> Any:
    """Declare a setting of this process alone. ``name``: its variable, where it lacks the prefix."""
    alias = AliasChoices(name) if name else None
    return Field(validation_alias=alias, json_schema_extra={"shared": is_shared}, **kwargs)


def _shared(name: str | None = None, **kwargs: Any) -> Any:
    """Declare a setting that changes answers: a command is answered by a service with the same value only."""
    return _own(name, is_shared=True, **kwargs)


class Settings(BaseSettings):
    """The settings of one process. The variable is ``GRAPHMEM_`` and the field's name unless noted."""

    model_config = SettingsConfigDict(
        env_prefix="GRAPHMEM_", env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    env: Literal["development", "production", "demo", "test", "sandbox"] = _own(
        default="development",
        description="The instance: it selects the default port and the default data directory. `sandbox` "
        "turns GRAPHMEM_SANDBOX on.",
    )
    data_dir: Path | None = _own(
        default=None,
        description="Directory of the database, its password and the logs. "
        "Default: one per env in the platform's directory for user data.",
    )
    cache_dir: Path | None = _own(
        default=None, description="Directory of downloaded Neo4j files. Default: the user's cache directory."
    )
    host: str = _own(default="127.0.0.1", description="Address that `graphmem serve` binds.")
    port: Port | None = _own(
        default=None, description="Port that `graphmem serve` binds. Default: 3080, in production 3180."
    )
    base_url: str | None = _own(
        default=None,
        description="Address of a running service. The command line then sends its requests there.",
    )
    public_url: str | None = _own(
        default=None,
        pattern="^https?://",
        description="Address at which others reach this service, such as that of a proxy; `/server-info` "
        "tells it. "
        "Default: GRAPHMEM_BASE_URL, else the address that is bound.",
    )
    allowed_hosts: Texts = _own(
        default=(),
        description="Host names that the service accepts besides loopback names and that of "
        "GRAPHMEM_PUBLIC_URL, separated by commas. Default: none; every name if a token is set, another "
        "address than loopback is bound, and GRAPHMEM_PUBLIC_URL is not set.",
    )
    cors_origins: Texts = _own(
        default=(),
        description="Origins whose web pages may call the service, such as https://app.example.org, "
        "separated by commas. Default: none but the pages of the service's own hosts.",
    )
    bearer_token: SecretStr | None = _own(
        "SERVICE_BEARER_TOKEN",
        default=None,
        description="Token that callers must send; at least 32 characters.",
    )
    root_key: SecretStr | None = _own(
        default=None,
        description="The root key of a sealed instance: its 24 words, or 64 hexadecimal digits. Default: the "
        "file that `graphmem init --encrypt` wrote, or the keyring.",
    )
    root_key_dir: Path | None = _own(
        default=None,
        description="Directory of the files of root keys, outside the data directory. Default: `keys` in the "
        "user's directory for configuration.",
    )
    key_file: Path | None = _own(
        default=None,
        description="File of the data keys of a sealed instance, which its root key wraps. Default: "
        "`keys.json` in the data directory. All processes of one instance need the same file.",
    )
    aauth_mode: Literal["off", "verify", "required"] = _own(
        "SERVICE_AAUTH_MODE",
        default="verify",
        description="What becomes of signatures of agents: off ignores them, verify refuses a wrong one, "
        "required refuses writes without one too.",
    )
    aauth_strict: bool = _own(
        "SERVICE_AAUTH_STRICT",
        default=False,
        description="Whether keys and tokens of agents must name their algorithm, Ed25519 or ES256. Else a "
        "key without `alg`, or with EdDSA, is for the algorithm of its curve.",
    )
    min_tier: TierName = _own(
        "SERVICE_MIN_TIER",
        default="anonymous",
        description="Least tier of a caller that writes: anonymous, unverified_client (a client with a "
        "name), software (an agent that signs) or operator_attested (one for which an issuer vouches).",
    )
    aauth_issuers: str = _own(
        "SERVICE_AAUTH_ISSUERS",
        default="",
        description="Issuers of agents' tokens that are trusted: a JSON object, or the file that has it, "
        "with the JWKS of each issuer, or null where the issuer's own address names its keys. Default: none.",
    )
    agent_key: str | None = _own(
        default=None,
        description="Key with which this program signs what it sends, as an agent: a file with a private "
        "JSON Web Key, or a name that `graphmem auth keygen` keeps. Default: none, nothing is signed.",
    )
    agent_token: Path | None = _own(
        default=None, description="File with the token that an issuer gave the agent; it is read each time."
    )
    agent_subject: str | None = _own(
        default=None,
        pattern=r"^[a-zA-Z0-9:._+-]{1,200}@[a-z0-9.-]{1,200}$",
        description="Name that the agent gives itself where it has no token of an issuer, such as "
        "aauth:planner@example.org.",
    )
    neo4j_uri: str | None = _shared(
        "NEO4J_URI",
        default=None,
        description="Address of a Neo4j server (bolt://, neo4j://, neo4j+s://). Default: the embedded Neo4j.",
    )
    neo4j_username: str = _shared("NEO4J_USERNAME", default="neo4j", description="User name at NEO4J_URI.")
    neo4j_password: SecretStr = _shared(
        "NEO4J_PASSWORD", default=SecretStr(""), description="Password at NEO4J_URI."
    )
    neo4j_database: str = _shared("NEO4J_DATABASE", default="neo4j", description="Database at NEO4J_URI.")
    neo4j_version: str = _own(default="5.26", description="Version of the embedded Neo4j.")
    neo4j_heap: str = _own(default="512m", description="Heap of the embedded Neo4j.")
    neo4j_page_cache: str = _own(default="128m", description="Page cache of the embedded Neo4j.")
    neo4j_start_timeout: Seconds = _own(
        default=120.0, description="Seconds that the embedded Neo4j may take to start."
    )
    neo4j_fast_start: bool = _own(
        default=False,
        description="Run the embedded Neo4j with Java's quick compiler only: it starts sooner and runs "
        "slower.",
    )
    disk_reserve: int = _own(
        default=256_000_000,
        ge=0,
        description="Bytes that writes leave free on the disk of the embedded Neo4j, which fails on a "
        "full disk.",
    )
    backup_days: int = _own(
        default=7,
        ge=0,
        description="Days after the last backup, or after the database was made, from which "
        "`graphmem status` and `graphmem doctor` say that a backup is due; 0: never.",
    )
    pool_size: int = _own(
        default=64, ge=1, description="Largest number of connections of one process to Neo4j."
    )
    acquisition_timeout: Seconds = _own(
        default=5.0, description="Seconds that a request waits for a free connection to Neo4j."
    )
    connection_timeout: Seconds = _own(default=5.0, description="Seconds to open a connection to Neo4j.")
    read_timeout: Seconds = _own(default=10.0, description="Seconds that one read may take in Neo4j.")
    write_timeout: Seconds = _own(default=30.0, description="Seconds that one write may take in Neo4j.")
    heavy_queries: int | None = _own(
        default=None,
        ge=1,
        description="Searches, walks and scans that one process runs at once. Default: one less than the "
        "cores.",
    )
    heavy_wait: Seconds = _own(
        default=15.0,
        description="Seconds that a further one of them waits for its turn before it is refused with 503. "
        "Accounts take turns; at most 1,000 wait.",
    )
    retry_seconds: Seconds = _own(
        default=8.0, description="Seconds for which a request is tried again while Neo4j fails."
    )
    max_body_bytes: int = _own(
        default=10_000_000,
        ge=1024,
        description="Largest JSON body in bytes, without the file that it holds; a larger one is refused "
        "with 413.",
    )
    limit_reads: RateLimits = _own(
        default="60000/minute",
        description="Reads of one credential, or of one address that sends none, such as 600/minute; "
        "several limits are separated by `;`; off: no limit. Each process counts for itself.",
    )
    limit_writes: RateLimits = _own(default="30000/minute", description="Writes, likewise.")
    limit_heavy: RateLimits = _own(
        default="12000/minute", description="Searches, walks, context and scans, likewise."
    )
    limit_auth: RateLimits = _own(
        default="120/minute", description="Requests of one address to the OAuth routes, likewise."
    )
    limit_registrations: RateLimits = _own(
        default="10/minute", description="Registrations of OAuth clients by one address, likewise."
    )
    limit_failures: RateLimits = _own(
        default="60/minute",
        description="Failed attempts of one address to authenticate, likewise. Beyond it only credentials "
        "that have been good before are tried.",
    )
    oauth_refresh_grace: float = _own(
        default=10.0,
        ge=0,
        le=60,
        description="Seconds for which a refresh token that was just used gives tokens again: two windows of "
        "one client may refresh at once, and an answer may be lost. After them its use ends the connection. "
        "0: at once.",
    )
    oauth_client_documents: bool = _own(
        default=True,
        description="Whether an OAuth client may be known by the address of its metadata document, which the "
        "service then fetches. Turn it off where there is no way out; clients then register.",
    )
    trusted_proxies: Texts = _own(
        default=(),
        description="Addresses of proxies whose X-Forwarded-For names the caller for the limits, separated "
        "by commas. Default: none; the address of the connection counts.",
    )
    limit_reports: RateLimits = _own(
        default="5/minute", description="Reports of abuse by one address, in a public sandbox."
    )
    max_file_bytes: int = _own(
        default=52_428_800,
        ge=1024,
        le=52_428_800,
        description="Largest file in bytes; a larger one is refused with 413.",
    )
    sandbox: bool = _shared(
        default=False,
        description="Be a public sandbox: every caller is one shared account, what one visitor could spoil "
        "for others is refused, and all data is wiped every Sunday at 00:00 UTC. Its limits are stricter "
        "unless they are set. It starts on an empty database or on that of a sandbox, and on no other.",
    )
    sandbox_contact: str | None = _own(
        default=None, max_length=200, description="E-mail address for abuse, which the sandbox's terms name."
    )
    sandbox_seed: Path | None = _own(
        default=None,
        description="Folder of JSON files that a sandbox stores after each wipe. Default: the examples.",
    )
    merge_rules_off: Texts = _shared(
        default=(),
        description="Alternatives of identity rules by which no entity is merged, as type:fields, such as "
        "person:name or event:title, separated by commas. Default: none; every alternative merges.",
    )
    embedding_url: str | None = _shared(
        default=None,
        pattern="^https?://",
        description="Address of a service that makes vectors of 256 dimensions (POST …/embeddings). "
        "Default: a small model in this process.",
    )
    embedding_model: str = _shared(
        default="text-embedding-3-small",
        min_length=1,
        max_length=200,
        description="Model that GRAPHMEM_EMBEDDING_URL is asked for.",
    )
    embedding_key: SecretStr | None = _shared(
        default=None, description="Key for GRAPHMEM_EMBEDDING_URL, sent as a bearer token."
    )
    embedding_timeout: Seconds = _own(
        default=10.0, description="Seconds that GRAPHMEM_EMBEDDING_URL may take, retries included."
    )
    embedding_floor: float = _shared(
        default=0.3,
        ge=-1,
        le=1,
        description="Least cosine similarity at which vectors of GRAPHMEM_EMBEDDING_URL count as related.",
    )
    search_memory: int = _own(
        default=512,
        ge=1,
        description="Megabytes for copies of owners' entities in memory, which searches compare whole: about "
        "1 for 1,000 entities of 25 words, 20 for 1,000 of 2,500 words. The indexes of the database answer "
        "for an owner who does not fit. The text of files takes up to half as much besides, about 100 for "
        "1,000 documents of 20 pages.",
    )
    llm_url: str | None = _shared(
        default=None,
        pattern="^https?://",
        description="Address of a service with a language model (POST …/chat/completions, with JSON schemas) "
        "that may read files. Their text is sent there. Default: none; files are read by rules alone.",
    )
    llm_model: str | None = _shared(
        default=None,
        min_length=1,
        max_length=200,
        description="Model that GRAPHMEM_LLM_URL is asked for; needed with it.",
    )
    llm_key: SecretStr | None = _shared(
        default=None, description="Key for GRAPHMEM_LLM_URL, sent as a bearer token."
    )
    llm_input_characters: int = _shared(
        default=20_000,
        ge=1_000,
        description="Characters of a document in one call of the language model; a longer one is cut into "
        "pieces.",
    )
    llm_output_tokens: int = _shared(
        default=8_000, ge=256, description="Tokens that one answer of the language model may have."
    )
    llm_calls: int = _shared(
        default=50,
        ge=1,
        description="Calls of the language model for one document. What is longer is not read, and a "
        "warning says so.",
    )
    llm_timeout: Seconds = _own(
        default=120.0, description="Seconds that one call of the language model may take, retries included."
    )
    objects_bucket: str | None = _shared(
        default=None,
        min_length=1,
        max_length=255,
        description="Bucket of S3, or of a store that speaks its protocol, that keeps the bytes of files. "
        "Credentials are found as by every AWS program, such as in AWS_ACCESS_KEY_ID. "
        "Default: the directory `objects` of the data directory.",
    )
    objects_prefix: str = _shared(
        default="", max_length=500, description="Folder in the bucket; instances must not share one."
    )
    objects_endpoint: str | None = _shared(
        default=None, pattern="^https?://", description="Address of the store. Default: that of AWS."
    )
    objects_region: str | None = _shared(
        default=None, description="Region of the bucket. Default: as for every AWS program."
    )
    objects_path_style: bool | None = _shared(
        default=None,
        description="Put the bucket into the path of requests, not into the host name. Default: true with "
        "GRAPHMEM_OBJECTS_ENDPOINT.",
    )
    objects_encryption: Literal["AES256", "aws:kms"] | None = _shared(
        default=None, description="How the store is asked to encrypt objects: AES256 or aws:kms."
    )
    objects_kms_key: str | None = _shared(default=None, description="Id of the key for aws:kms.")
    objects_connect_timeout: Seconds = _own(
        default=3.0, description="Seconds to open a connection to the bucket."
    )
    objects_read_timeout: Seconds = _own(
        default=10.0, description="Seconds that the bucket may send nothing."
    )
    objects_attempts: int = _own(
        default=3, ge=1, le=20, description="Times that a request to the bucket is sent at most."
    )
    interpret_files: bool = _shared(
        default=True, description="Whether files that are stored alone are interpreted at once."
    )
    phone_region: str | None = _shared(
        default=None,
        pattern="^[A-Z]{2}$",
        description="Country of phone numbers without a country code in a look-up, such as DE.",
    )
    mcp_tools: ToolsetName = _own(
        default="core",
        description="Tools that MCP lists unless the client chooses: core, full, readonly or memory.",
    )
    file_roots: Texts = _own(
        default=(),
        description="Directories of this machine below which `file_path` may name a file, separated by "
        "commas. Default: none. Commands, and MCP over stdio, read the files of their user themselves.",
    )
    confine: Literal["auto", "require", "off"] = _own(
        default="auto",
        description="Confinement of the processes that parse files: auto confines them where the system can, "
        "require refuses files where it cannot, off leaves them unconfined.",
    )
    max_waiting: int = _own(
        default=2_000, ge=1, description="Writes that may wait for one owner; more are refused with 503."
    )
    body_timeout: Seconds = _own(default=30.0, description="Seconds that a client may take to send a body.")
    shutdown_seconds: Seconds = _own(
        default=20.0,
        description="Seconds that running requests may take to finish once the service is told to stop.",
    )
    offline: bool = _own(
        default=False,
        description="Run commands in their own process, without the local service.",
    )
    update_index: str = _own(
        default="https://pypi.org",
        description="Address of the package index that `graphmem update check` asks, or off.",
    )
    service_idle_seconds: float = _own(
        default=1800.0,
        ge=0,
        description="Seconds without a request after which the local service ends by itself; 0: it stays.",
    )
    failpoints: str = _shared(
        default="",
        description="Places where this process dies, fails or waits, for tests; refused unless "
        "GRAPHMEM_ENV is test.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = _own(
        default="info", description="Lowest level that is logged."
    )
    log_json: bool = _own(default=False, description="Write the log to the console too, as JSON lines.")

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[a-z0-9.\[\]_:-]+", origin):
                raise ValueError(
                    f"{origin[:100]!r} is no origin: write scheme, host and port as a browser sends them in "
                    "lower case, such as https://app.example.org, without a path; * and null are refused"
                )
        return value

    @field_validator("aauth_issuers")
    @classmethod
    def _check_issuers(cls, value: str) -> str:
        """Return the JSON of the issuers, read if it is in a file."""
        text = value.strip()
        if not text:
            return ""
        try:
            issuers = json.loads(text if text.startswith("{") else Path(text).read_text("utf-8"))
        except (OSError, ValueError) as exc:
            raise ValueError(f"this is neither a JSON object nor a file that has one: {exc}") from None
        if not isinstance(issuers, dict):
            raise ValueError("write an object: the JWKS, or null, by the address of each issuer")
        for issuer, keys in issuers.items():
            if not re.fullmatch(r"https://[a-z0-9.-]+", issuer):
                raise ValueError(
                    f"{issuer[:100]!r} is no issuer: write https:// and a host name in lower case"
                )
            if keys is not None and not (isinstance(keys, dict) and isinstance(keys.get("keys"), list)):
                raise ValueError(f"{issuer} has no JWKS: write an object with the list keys, or null")
        return json.dumps(issuers)

    @field_validator("objects_endpoint")
    @classmethod
    def _check_endpoint(cls, value: str | None) -> str | None:
        if value is not None and "@" in urlsplit(value).netloc:
            raise ValueError(
                "credentials do not stand in the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        return value

    @field_validator("objects_prefix")
    @classmethod
    def _check_prefix(cls, value: str) -> str:
        odd_names = {".", ".."} & set(value.split("/"))
        if value.startswith("/") or not value.isprintable() or odd_names:
            raise ValueError(f"{value[:100]!r} is no folder of a bucket: write for example graphmem/")
        return f"{value.rstrip('/')}/" if value else ""

    @field_validator("merge_rules_off")
    @classmethod
    def _check_rules(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for rule in value:
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}:[^:]+", rule):
                raise ValueError(f"{rule[:100]!r} is no alternative: write type:fields, such as person:name")
        return value

    @cached_property
    def merge_rules_off_by_type(self) -> dict[str, frozenset[str]]:
        """The alternatives by which no entity is merged, by type."""
        pairs = [rule.split(":", 1) for rule in self.merge_rules_off]
        return {
            entity_type: frozenset(basis for each, basis in pairs if each == entity_type)
            for entity_type, _ in pairs
        }

    @field_validator("file_roots")
    @classmethod
    def _check_roots(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for root in value:
            if not os.path.isabs(root) or os.path.normpath(root) != root.rstrip("/"):
                raise ValueError(f"{root[:100]!r} is no directory below /: write its absolute path")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(str(ip_address(text)) for text in value)
        except ValueError as exc:
            raise ValueError(f"{exc}: name each proxy by its IP address") from None

    @field_validator("port", mode="before")
    @classmethod
    def _check_port(cls, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("tcp://"):
            raise ValueError(
                "Kubernetes sets this variable for a service named graphmem: set enableServiceLinks: "
                "false in the "
                "pod, or set GRAPHMEM_PORT to a number"
            )
        return value

    @field_validator("neo4j_uri")
    @classmethod
    def _check_uri(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"(bolt|neo4j)(\+s|\+ssc)?://[^/]", value):
            raise ValueError(
                "the address must look like bolt://host:7687 or neo4j://host:7687, with +s for TLS (neo4j+s://host)"
            )
        if value is not None and "@" in urlsplit(value).netloc:
            raise ValueError(
                "user and password do not stand in the address: set NEO4J_USERNAME and NEO4J_PASSWORD"
            )
        return value

    @model_validator(mode="after")
    def _apply_sandbox(self) -> Self:
        """Apply the defaults of a sandbox to the settings that nobody set."""
        if self.env == "sandbox" and "sandbox" in self.model_fields_set and not self.sandbox:
            raise ValueError(
                "GRAPHMEM_ENV=sandbox is a sandbox: unset GRAPHMEM_SANDBOX, or choose another env"
            )
        if self.env == "sandbox" or self.sandbox:
            unset = {name: SANDBOX_DEFAULTS[name] for name in SANDBOX_DEFAULTS.keys() - self.model_fields_set}
            for name, value in {"sandbox": True, **unset}.items():
                # The model is frozen for everybody else.
                object.__setattr__(self, name, value)
        return self

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        token = self.bearer_token.get_secret_value() if self.bearer_token else None
        if token is not None and len(token) < TOKEN_LENGTH_MIN:
            raise ValueError(
                f"SERVICE_BEARER_TOKEN has {len(token)} characters and needs {TOKEN_LENGTH_MIN}: "
                'make one with python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
            )
        if token is not None and (not token.isascii() or not token.isprintable() or " " in token):
            raise ValueError("SERVICE_BEARER_TOKEN must be ASCII letters, digits and signs, without spaces")
        if self.llm_url is not None and self.llm_model is None:
            raise ValueError("GRAPHMEM_LLM_URL needs the name of its model: set GRAPHMEM_LLM_MODEL")
        if self.objects_kms_key is not None and self.objects_encryption != "aws:kms":
            raise ValueError("GRAPHMEM_OBJECTS_KMS_KEY needs GRAPHMEM_OBJECTS_ENCRYPTION=aws:kms")
        return self

    @property
    def service_port(self) -> int:
        """The port to bind: ``port``, else 3080, in production 3180."""
        if self.port is not None:
            return self.port
        return 3180 if self.env == "production" else 3080

    @property
    def near_host(self) -> str:
        """The address at which this machine reaches the service that binds ``host``."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)

    def authority(self, port: int | None = None) -> str:
        """Return ``host:port`` as in a URL, IPv6 in brackets. ``port`` replaces the one of the settings."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.service_port if port is None else port}"

    def advertised_url(self, port: int | None = None) -> str:
        """Return the address that the service tells callers. ``port``: the bound one, if 0 was set."""
        url = self.public_url or self.base_url
        return url.rstrip("/") if url else f"http://{self.authority(port)}"

    @cached_property
    def data_path(self) -> Path:
        """The real path of the data directory, where a note in the one that is named may lead elsewhere.

        The embedded Neo4j is identified by this path.
        """
        return environment_file.directory(self.data_dir, self.env)

    @property
    def stop_file(self) -> Path:
        """The file that exists while the embedded Neo4j is down because somebody stopped it on purpose."""
        return self.data_path / "stopped"

    @property
    def cache_path(self) -> Path:
        """The directory of downloaded files."""
        return (self.cache_dir or platformdirs.user_cache_path("graphmem", appauthor=False)).absolute()

    @property
    def objects_path(self) -> Path:
        """The directory of the local object store, and of files on their way to the bucket."""
        return self.data_path / "objects"

    @property
    def keys_path(self) -> Path:
        """The key file of a sealed instance. An instance is sealed if it exists."""
        return (self.key_file or self.data_path / KEY_FILE).absolute()

    @property
    def neo4j_address(self) -> str:
        """``NEO4J_URI`` for messages: scheme, host and port."""
        parts = urlsplit(self.neo4j_uri or "")
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_local_only(self) -> bool:
        """Whether only this machine reaches the service, so that it may be served without a token."""
        return self.host in LOOPBACK and self.env != "production"

    @property
    def may_be_open(self) -> bool:
        """Whether callers need no credential as long as no account has a password or an API key.

        A sandbox asks nobody for a credential, whatever is set.
        """
        return self.sandbox or (self.bearer_token is None and self.is_local_only)

    def check_bind(self, *, guarded: bool = False) -> None:
        """Raise ConfigurationInvalid if others need no credential. ``guarded``: an account has one."""
        if self.bearer_token is None and not guarded and not self.is_local_only and not self.sandbox:
            raise ConfigurationInvalid(
                f"without a credential graphmem serves only 127.0.0.1 in development, not {self.host} in "
                f"{self.env}: set SERVICE_BEARER_TOKEN to at least {TOKEN_LENGTH_MIN} characters, or make an "
                "API key first with `graphmem auth keys create`",
                setting="SERVICE_BEARER_TOKEN",
            )


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one answer may look at. Nobody sets these: they are fields so that tests can lower them."""

    search_list: int = 500  # entities in the list of one search strategy
    # Entities with the words of an identifier that one search compares with it.
    search_identified: int = 5_000
    search_meaning: int = 50  # entities that meaning lists at least, where so many are similar enough
    # How long a search waits for the copy of an owner's entities that is being read, where the index may
    # answer.
    copy_wait_seconds: float = 2.0
    # How long it waits where the owner has at most ``compared_exactly`` entities.
    exact_wait_seconds: float = 45.0
    # An owner with at most so many entities has them compared without the index.
    compared_one_by_one: int = 2_000
    compared_exactly: int = 100_000  # of an owner with at most so many entities, meaning misses none
    compared_unindexed: int = 2_000  # vectors outside the vector index that one search compares; others wait
    # The index is read for an owner who has at least one of so many vectors in it. To compare a vector that
    # is read from its node costs as much as 20 in the index.
    index_share: int = 20
    index_rows: int = 500  # rows that are taken from the index at first
    # Rows that are taken from the index at last, of more than ``compared_exactly``.
    index_rows_approximate: int = 20_000
    probed_entities: int = 200  # entities that one store creates; of more, no likely duplicates are listed
    recomputed_entities: int = 2_000  # entities that one page of the timeline as of a time recomputes
    # Entities of a type with a new schema that one page of the timeline folds again.
    refolded_entities: int = 500
    # Relationships that a walk of several steps reads. Its origin's are always read.
    walk_relationships: int = 50_000
    walk_at_once: int = 2_000  # relationships that a walk reads in one round trip
    rows_at_once: int = 200  # relationships that a walk answers with their rows in the same round trip
    # An entity with more relationships is reached by a walk but not passed through.
    hub_relationships: int = 1_000
    page_relationships: int = 5_000  # relationships that one page of related entities names
    compared_entities: int = 20_000  # entities that one page compares with filters
    # Characters of values that one page reads of entities whose values were cut short.
    compared_characters: int = 40_000_000
    # Entities that each read of a page along an index takes; the last number is that of all further reads.
    # The first reads are small: a frequent value needs few.
    compared_at_once: tuple[int, ...] = (500, 2_000, 5_000)
    reduced_entities: int = 2_000  # entities that one page as of a time reduces
    # Entities that one call compares for duplicates; more are compared in stretches, in the order of names.
    duplicate_entities: int = 20_000
    duplicate_rows: int = 2_500  # entities, or names, that one read of such a call takes


LIMITS: Final = Limits()


def load(**overrides: Any) -> Settings:
    """Read the settings: ``overrides`` but for None, the environment, then the file in the data directory.

    ConfigurationInvalid names what is not valid.
    """
    chosen = {name: value for name, value in overrides.items() if value is not None}
    _apply_file(chosen)
    try:
        return Settings(**chosen)
    except ValidationError as exc:
        issues = []
        for error in exc.errors(include_url=False, include_input=False, include_context=False):
            name = str(error["loc"][0]) if error["loc"] else ""
            path = variable(name) if name in Settings.model_fields else name
            issues.append({"path": path, "message": validation_message(error["msg"])})
        listed = "; ".join(": ".join(filter(None, (i["path"], i["message"]))) for i in issues)
        raise ConfigurationInvalid(f"a setting is not valid: {listed}", issues=issues) from exc


def _apply_file(overrides: dict[str, Any]) -> None:
    """Let the file of the data directory stand in for variables that are not set."""
    named = {name.upper(): value for name, value in os.environ.items()}
    env = overrides.get("env") or named.get("GRAPHMEM_ENV") or "development"
    folder = environment_file.directory(overrides.get("data_dir") or named.get("GRAPHMEM_DATA_DIR"), env)
    try:
        environment_file.apply(folder)
    except (OSError, ValueError) as exc:
        path = folder / environment_file.FILE
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise ConfigurationInvalid(f"the environment file {path} cannot be used: {reason}") from exc


def parsed_limits(text: str) -> tuple[RateLimitItem, ...]:
    """Return the limits in a setting, none for an empty text and ``off``; ValueError: it is no limit."""
    from limits import parse_many

    if text in ("", "off"):
        return ()
    try:
        items = tuple(parse_many(text))
    except ValueError:
        items = ()
    if not items or any(item.amount < 1 for item in items):
        raise ValueError(
            f"{text[:100]!r} is no limit: write for example 600/minute, 10/second;600/minute or off"
        )
    return items


def shared_settings(settings: Settings) -> dict[str, Any]:
    """Return the values in which a command and its service must agree, by environment variable.

    User, password and database count where ``NEO4J_URI`` names a server.
    """
    return {
        variable(name): getattr(settings, name)
        for name, info in Settings.model_fields.items()
        if info.json_schema_extra == {"shared": True}
        if settings.neo4j_uri or not name.startswith("neo4j_")
    }


def variable(name: str) -> str:
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"GRAPHMEM_{name.upper()}"
