"""All settings: name, default, description and environment variable.

A command makes one frozen :class:`Settings` and passes it on; it is never a global. The text below a setting
is its row in the table of ``docs/reference.md``.
"""

import os
import re
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from graphmem import environment_file
from graphmem import setting_values as values
from graphmem.errors import ConfigurationInvalid, DiskFull, validation_message
from graphmem.setting_values import TierName, ToolsetName

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
LOCAL_ACCOUNT = "00000000-0000-0000-0000-000000000000"
"""The id of the account of this machine's user, which the first start makes: the nil UUID."""
DEFAULT_OWNER = LOCAL_ACCOUNT
"""The owner of the data of the local account."""

TOKEN_LENGTH_MIN = 32
"""Least number of characters of a bearer token."""

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


def _named(name: str, default: Any) -> Any:
    """Declare a setting whose variable lacks the prefix."""
    return Field(default=default, validation_alias=AliasChoices(name))


def _shared(default: Any, name: str | None = None) -> Any:
    """Declare a setting that changes answers: a command is answered by a service with the same value only."""
    alias = AliasChoices(name) if name else None
    return Field(default=default, validation_alias=alias, json_schema_extra={"shared": True})


class Settings(BaseSettings):
    """The settings of one process. The variable is ``GRAPHMEM_`` and the field's name unless noted."""

    model_config = SettingsConfigDict(
        env_prefix="GRAPHMEM_", env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    env: Literal["development", "production", "demo", "test", "sandbox"] = "development"
    """The instance: it selects the default port and the default data directory. `sandbox` turns
    GRAPHMEM_SANDBOX on.
    """
    data_dir: Path | None = None
    """Directory of the database, its password and the logs. Default: one per env in the platform's directory
    for user data.
    """
    cache_dir: Path | None = None
    """Directory of downloaded Neo4j files. Default: the user's cache directory."""
    host: str = "127.0.0.1"
    """Address that `graphmem serve` binds."""
    port: values.Port | None = None
    """Port that `graphmem serve` binds. Default: 3080, in production 3180."""
    base_url: str | None = None
    """Address of a running service. The command line then sends its requests there."""
    public_url: values.Url | None = None
    """Address at which others reach this service, such as that of a proxy; `/server-info` tells it. Default:
    GRAPHMEM_BASE_URL, else the address that is bound.
    """
    allowed_hosts: values.Texts = ()
    """Host names that the service accepts besides loopback names and that of GRAPHMEM_PUBLIC_URL, separated
    by commas. Default: none; every name if a token is set, another address than loopback is bound, and
    GRAPHMEM_PUBLIC_URL is not set.
    """
    cors_origins: values.Origins = ()
    """Origins whose web pages may call the service, such as https://app.example.org, separated by commas.
    Default: none but the pages of the service's own hosts.
    """
    webhook_allow: values.Origins = ()
    """Origins to which webhooks may go whatever their address, such as http://127.0.0.1:9000, separated by
    commas: whoever may subscribe reaches them. Default: none; every other webhook goes to public addresses.
    """
    bearer_token: SecretStr | None = _named("SERVICE_BEARER_TOKEN", None)
    """Token that callers must send; at least 32 characters."""
    root_key: SecretStr | None = None
    """The root key of a sealed instance: its 24 words, or 64 hexadecimal digits. Default: the file that
    `graphmem init --encrypt` wrote, or the keyring.
    """
    root_key_dir: Path | None = None
    """Directory of the files of root keys, outside the data directory. Default: `keys` in the user's
    directory for configuration.
    """
    key_file: Path | None = None
    """File of the data keys of a sealed instance, which its root key wraps. Default: `keys.json` in the data
    directory. All processes of one instance need the same file.
    """
    aauth_mode: Literal["off", "verify", "required"] = _named("SERVICE_AAUTH_MODE", "verify")
    """What becomes of signatures of agents: off ignores them, verify refuses a wrong one, required refuses
    writes without one too.
    """
    aauth_strict: bool = _named("SERVICE_AAUTH_STRICT", False)
    """Whether keys and tokens of agents must name their algorithm, Ed25519 or ES256. Else a key without
    `alg`, or with EdDSA, is for the algorithm of its curve.
    """
    min_tier: TierName = _named("SERVICE_MIN_TIER", "anonymous")
    """Least tier of a caller that writes: anonymous, unverified_client (a client with a name), software (an
    agent that signs) or operator_attested (one for which an issuer vouches).
    """
    aauth_issuers: values.Issuers = _named("SERVICE_AAUTH_ISSUERS", "")
    """Issuers of agents' tokens that are trusted: a JSON object, or the file that has it, with the JWKS of
    each issuer, or null where the issuer's own address names its keys. Default: none.
    """
    agent_key: str | None = None
    """Key with which this program signs what it sends, as an agent: a file with a private JSON Web Key, or a
    name that `graphmem auth keygen` keeps. Default: none, nothing is signed.
    """
    agent_token: Path | None = None
    """File with the token that an issuer gave the agent; it is read each time."""
    agent_subject: values.AgentSubject | None = None
    """Name that the agent gives itself where it has no token of an issuer, such as aauth:planner@example.org.
    """
    neo4j_uri: values.Neo4jUrl | None = _shared(None, "NEO4J_URI")
    """Address of a Neo4j server (bolt://, neo4j://, neo4j+s://). Default: the embedded Neo4j."""
    neo4j_username: str = _shared("neo4j", "NEO4J_USERNAME")
    """User name at NEO4J_URI."""
    neo4j_password: SecretStr = _shared(SecretStr(""), "NEO4J_PASSWORD")
    """Password at NEO4J_URI."""
    neo4j_database: str = _shared("neo4j", "NEO4J_DATABASE")
    """Database at NEO4J_URI."""
    neo4j_version: str = "5.26"
    """Version of the embedded Neo4j."""
    neo4j_heap: str = "512m"
    """Heap of the embedded Neo4j."""
    neo4j_page_cache: str = "128m"
    """Page cache of the embedded Neo4j."""
    neo4j_start_timeout: values.Seconds = 120.0
    """Seconds that the embedded Neo4j may take to start."""
    disk_reserve: Annotated[int, Field(ge=0)] = 256_000_000
    """Bytes that writes leave free on the disk of the embedded Neo4j, which fails on a full disk."""
    backup_days: Annotated[int, Field(ge=0)] = 7
    """Days after the last backup, or after the database was made, from which `graphmem status` and `graphmem
    doctor` say that a backup is due; 0: never.
    """
    pool_size: values.Count = 64
    """Largest number of connections of one process to Neo4j."""
    heavy_queries: values.Count | None = None
    """Searches, walks and scans that one process runs at once. Default: one less than the cores."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 10_000_000
    """Largest JSON body in bytes, without the file that it holds; a larger one is refused with 413."""
    limit_reads: values.RateLimits = "60000/minute"
    """Reads of one credential, or of one address that sends none, such as 600/minute; several limits are
    separated by `;`; off: no limit. Each process counts for itself.
    """
    limit_writes: values.RateLimits = "30000/minute"
    """Writes, likewise."""
    limit_heavy: values.RateLimits = "12000/minute"
    """Searches, walks, context and scans, likewise."""
    limit_auth: values.RateLimits = "120/minute"
    """Requests of one address to the OAuth routes, likewise."""
    limit_registrations: values.RateLimits = "10/minute"
    """Registrations of OAuth clients by one address, likewise."""
    limit_failures: values.RateLimits = "60/minute"
    """Failed attempts of one address to authenticate, likewise. Beyond it only credentials that have been
    good before are tried.
    """
    oauth_client_documents: bool = True
    """Whether an OAuth client may be known by the address of its metadata document, which the service then
    fetches. Turn it off where there is no way out; clients then register.
    """
    trusted_proxies: values.Proxies = ()
    """Addresses of proxies whose X-Forwarded-For names the caller for the limits, separated by commas.
    Default: none; the address of the connection counts.
    """
    limit_reports: values.RateLimits = "5/minute"
    """Reports of abuse by one address, in a public sandbox."""
    max_file_bytes: values.FileBytes = 52_428_800
    """Largest file in bytes; a larger one is refused with 413."""
    sandbox: bool = _shared(False)
    """Be a public sandbox: every caller is one shared account, what one visitor could spoil for others is
    refused, and all data is wiped every Sunday at 00:00 UTC. Its limits are stricter unless they are set. It
    starts on an empty database or on that of a sandbox, and on no other.
    """
    sandbox_contact: Annotated[str, Field(max_length=200)] | None = None
    """E-mail address for abuse, which the sandbox's terms name."""
    sandbox_seed: Path | None = None
    """Folder of JSON files that a sandbox stores after each wipe. Default: the examples."""
    merge_rules_off: values.MergeRules = _shared(())
    """Alternatives of identity rules by which no entity is merged, as type:fields, such as person:name or
    event:title, separated by commas. Default: none; every alternative merges.
    """
    embedding_url: values.Url | None = _shared(None)
    """Address of a service that makes vectors of 256 dimensions (POST …/embeddings). Default: a small model
    in this process.
    """
    embedding_model: values.Name = _shared("text-embedding-3-small")
    """Model that GRAPHMEM_EMBEDDING_URL is asked for."""
    embedding_key: SecretStr | None = _shared(None)
    """Key for GRAPHMEM_EMBEDDING_URL, sent as a bearer token."""
    embedding_timeout: values.Seconds = 10.0
    """Seconds that GRAPHMEM_EMBEDDING_URL may take, retries included."""
    embedding_floor: Annotated[float, Field(ge=-1, le=1)] = _shared(0.3)
    """Least cosine similarity at which vectors of GRAPHMEM_EMBEDDING_URL count as related."""
    search_memory: values.Count = 512
    """Megabytes for copies of owners' entities in memory, which searches compare whole: about 1 for 1,000
    entities of 25 words, 20 for 1,000 of 2,500 words. Searches of an owner who does not fit are refused. The
    text of files takes up to half as much besides, about 100 for 1,000 documents of 20
    pages.
    """
    search_disk: values.Count = 8_192
    """Megabytes for the files of these copies, in `search` of the data directory: about 1 for 2,000 entities
    of 25 words. An owner whose copy takes more than 8 MB is searched in such a file with little memory, and
    at once after a restart. Beyond it, the files that were used longest ago are removed, to be made anew. A
    sealed instance has none.
    """
    llm_url: values.Url | None = _shared(None)
    """Address of a service with a language model (POST …/chat/completions, with JSON schemas) that may read
    files. Their text is sent there. Default: none; files are read by rules alone.
    """
    llm_model: values.Name | None = _shared(None)
    """Model that GRAPHMEM_LLM_URL is asked for; needed with it."""
    llm_key: SecretStr | None = _shared(None)
    """Key for GRAPHMEM_LLM_URL, sent as a bearer token."""
    llm_input_characters: Annotated[int, Field(ge=1_000)] = _shared(20_000)
    """Characters of a document in one call of the language model; a longer one is cut into pieces."""
    llm_output_tokens: Annotated[int, Field(ge=256)] = _shared(8_000)
    """Tokens that one answer of the language model may have."""
    llm_calls: values.Count = _shared(50)
    """Calls of the language model for one document. What is longer is not read, and a warning says so."""
    llm_timeout: values.Seconds = 120.0
    """Seconds that one call of the language model may take, retries included."""
    objects_bucket: values.Bucket | None = _shared(None)
    """Bucket of S3, or of a store that speaks its protocol, that keeps the bytes of files. Credentials are
    found as by every AWS program, such as in AWS_ACCESS_KEY_ID. Default: the directory `objects` of the data
    directory.
    """
    objects_prefix: values.BucketFolder = _shared("")
    """Folder in the bucket; instances must not share one."""
    objects_endpoint: values.StoreUrl | None = _shared(None)
    """Address of the store. Default: that of AWS."""
    objects_region: str | None = _shared(None)
    """Region of the bucket. Default: as for every AWS program."""
    objects_path_style: bool | None = _shared(None)
    """Put the bucket into the path of requests, not into the host name. Default: true with
    GRAPHMEM_OBJECTS_ENDPOINT.
    """
    objects_encryption: Literal["AES256", "aws:kms"] | None = _shared(None)
    """How the store is asked to encrypt objects: AES256 or aws:kms."""
    objects_kms_key: str | None = _shared(None)
    """Id of the key for aws:kms."""
    interpret_files: bool = _shared(True)
    """Whether files that are stored alone are interpreted at once."""
    phone_region: values.Country | None = _shared(None)
    """Country of phone numbers without a country code in a look-up, such as DE."""
    time_zone: values.TimeZone = _shared("UTC")
    """Time zone of the days in a question, such as Europe/Berlin: "due today". A request over REST may name
    another with `Prefer: timezone=Asia/Tokyo`.
    """
    mcp_tools: ToolsetName = "core"
    """Tools that MCP lists unless the client chooses: core, full, readonly or memory."""
    file_roots: values.Directories = ()
    """Directories of this machine below which `file_path` may name a file, separated by commas. Default:
    none. Commands, and MCP over stdio, read the files of their user themselves.
    """
    confine: Literal["auto", "require", "off"] = "auto"
    """Confinement of the processes that parse files: auto confines them where the system can, require refuses
    files where it cannot, off leaves them unconfined.
    """
    max_waiting: values.Count = 2_000
    """Writes that may wait for one owner; more are refused with 503."""
    body_timeout: values.Seconds = 30.0
    """Seconds that a client may take to send a body."""
    shutdown_seconds: values.Seconds = 20.0
    """Seconds that running requests may take to finish once the service is told to stop."""
    receipts: Literal["off", "mcp", "all"] = "off"
    """Receipts of what contexts, searches and look-ups tell: off, mcp (to agents, hooks too) or all."""
    receipts_days: values.Count = 90
    """Days for which receipts are kept."""
    receipts_mb: values.Count = 200
    """Megabytes of receipts of one owner; beyond it the oldest are dropped."""
    offline: bool = False
    """Run commands in their own process, without the local service."""
    update_index: str = "https://pypi.org"
    """Address of the package index that `graphmem update check` asks, or off."""
    service_idle_seconds: Annotated[float, Field(ge=0)] = 1800.0
    """Seconds without a request after which the local service ends by itself; 0: it stays."""
    practice: bool = True
    """Once nobody has called the service for a minute, run 200 stores that are rolled back: the first stores
    are then as quick as later ones. It takes some 15 s of a core after each start.
    """
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""
    log_json: bool = False
    """Write the log to the console too, as JSON lines."""

    # Nobody sets what follows: these are settings so that tests can.
    neo4j_fast_start: bool = False
    acquisition_timeout: values.Seconds = 5.0
    connection_timeout: values.Seconds = 5.0
    read_timeout: values.Seconds = 10.0
    write_timeout: values.Seconds = 30.0
    heavy_wait: values.Seconds = 15.0
    retry_seconds: values.Seconds = 8.0
    oauth_refresh_grace: float = 10.0
    objects_connect_timeout: values.Seconds = 3.0
    objects_read_timeout: values.Seconds = 10.0
    objects_attempts: int = 3

    @cached_property
    def merge_rules_off_by_type(self) -> dict[str, frozenset[str]]:
        pairs = [rule.split(":", 1) for rule in self.merge_rules_off]
        return {
            entity_type: frozenset(basis for each, basis in pairs if each == entity_type)
            for entity_type, _ in pairs
        }

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
        return (self.cache_dir or platformdirs.user_cache_path("graphmem", appauthor=False)).absolute()

    @property
    def objects_path(self) -> Path:
        """The directory of the local object store, and of files on their way to the bucket."""
        return self.data_path / "objects"

    @property
    def search_path(self) -> Path:
        """The directory of the files that searches compare."""
        return self.data_path / "search"

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

    def check_token(self) -> None:
        """Refuse a token where the instance is sealed; ConfigurationInvalid."""
        if self.bearer_token is not None and self.keys_path.exists():
            raise ConfigurationInvalid(
                "this instance is sealed, so its token is derived from its root key: unset "
                "SERVICE_BEARER_TOKEN, and give callers the token that `graphmem auth mcp-token` prints",
                setting="SERVICE_BEARER_TOKEN",
            )

    def check_disk(self) -> None:
        """Raise ``DiskFull`` where the disk of the embedded database has less than ``disk_reserve`` free.

        A Neo4j that cannot write stops, and answers no reads either, until it is started with more space.
        """
        if self.neo4j_uri is None:
            free = shutil.disk_usage(self.data_path).free
            if free < self.disk_reserve:
                raise DiskFull(free_bytes=free, needed_bytes=self.disk_reserve, in_doubt=False)

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
    copy_wait_seconds: float = 45.0  # how long a search waits for an owner's entities that are being read
    passages_wait_seconds: float = 2.0  # how long it waits for the passages of files
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
