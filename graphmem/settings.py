"""All settings: name, default and environment variable. ``settings.toml`` says what each is for.

A command makes one frozen :class:`Settings` and passes it on; it is never a global.
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
    data_dir: Path | None = None
    cache_dir: Path | None = None
    host: str = "127.0.0.1"
    port: values.Port | None = None
    base_url: str | None = None
    public_url: values.Url | None = None
    allowed_hosts: values.Texts = ()
    cors_origins: values.Origins = ()
    webhook_allow: values.Origins = ()
    bearer_token: SecretStr | None = _named("SERVICE_BEARER_TOKEN", None)
    root_key: SecretStr | None = None
    root_key_dir: Path | None = None
    key_file: Path | None = None
    aauth_mode: Literal["off", "verify", "required"] = _named("SERVICE_AAUTH_MODE", "verify")
    aauth_strict: bool = _named("SERVICE_AAUTH_STRICT", False)
    min_tier: TierName = _named("SERVICE_MIN_TIER", "anonymous")
    aauth_issuers: values.Issuers = _named("SERVICE_AAUTH_ISSUERS", "")
    agent_key: str | None = None
    agent_token: Path | None = None
    agent_subject: values.AgentSubject | None = None
    neo4j_uri: values.Neo4jUrl | None = _shared(None, "NEO4J_URI")
    neo4j_username: str = _shared("neo4j", "NEO4J_USERNAME")
    neo4j_password: SecretStr = _shared(SecretStr(""), "NEO4J_PASSWORD")
    neo4j_database: str = _shared("neo4j", "NEO4J_DATABASE")
    neo4j_version: str = "5.26"
    neo4j_heap: str = "512m"
    neo4j_page_cache: str = "128m"
    neo4j_start_timeout: values.Seconds = 120.0
    disk_reserve: Annotated[int, Field(ge=0)] = 256_000_000
    backup_days: Annotated[int, Field(ge=0)] = 7
    pool_size: values.Count = 64
    heavy_queries: values.Count | None = None
    max_body_bytes: Annotated[int, Field(ge=1024)] = 10_000_000
    limit_reads: values.RateLimits = "60000/minute"
    limit_writes: values.RateLimits = "30000/minute"
    limit_heavy: values.RateLimits = "12000/minute"
    limit_auth: values.RateLimits = "120/minute"
    limit_registrations: values.RateLimits = "10/minute"
    limit_failures: values.RateLimits = "60/minute"
    oauth_client_documents: bool = True
    trusted_proxies: values.Proxies = ()
    limit_reports: values.RateLimits = "5/minute"
    max_file_bytes: values.FileBytes = 52_428_800
    sandbox: bool = _shared(False)
    sandbox_contact: Annotated[str, Field(max_length=200)] | None = None
    sandbox_seed: Path | None = None
    merge_rules_off: values.MergeRules = _shared(())
    embedder: values.LocalModel | None = _shared(None)
    embedding_url: values.Url | None = _shared(None)
    embedding_model: values.Name = _shared("text-embedding-3-small")
    embedding_key: SecretStr | None = _shared(None)
    embedding_timeout: values.Seconds = 10.0
    embedding_floor: Annotated[float, Field(ge=-1, le=1)] = _shared(0.3)
    search_memory: values.Count = 512
    search_disk: values.Count = 8_192
    llm_url: values.Url | None = _shared(None)
    llm_model: values.Name | None = _shared(None)
    llm_key: SecretStr | None = _shared(None)
    llm_input_characters: Annotated[int, Field(ge=1_000)] = _shared(20_000)
    llm_output_tokens: Annotated[int, Field(ge=256)] = _shared(8_000)
    llm_calls: values.Count = _shared(50)
    llm_timeout: values.Seconds = 120.0
    objects_bucket: values.Bucket | None = _shared(None)
    objects_prefix: values.BucketFolder = _shared("")
    objects_endpoint: values.StoreUrl | None = _shared(None)
    objects_region: str | None = _shared(None)
    objects_path_style: bool | None = _shared(None)
    objects_encryption: Literal["AES256", "aws:kms"] | None = _shared(None)
    objects_kms_key: str | None = _shared(None)
    interpret_files: bool = _shared(True)
    phone_region: values.Country | None = _shared(None)
    time_zone: values.TimeZone = _shared("UTC")
    mcp_tools: ToolsetName = "core"
    file_roots: values.Directories = ()
    confine: Literal["auto", "require", "off"] = "auto"
    max_waiting: values.Count = 2_000
    body_timeout: values.Seconds = 30.0
    shutdown_seconds: values.Seconds = 20.0
    receipts: Literal["off", "mcp", "all"] = "off"
    receipts_days: values.Count = 90
    receipts_mb: values.Count = 200
    offline: bool = False
    update_index: str = "https://pypi.org"
    service_idle_seconds: Annotated[float, Field(ge=0)] = 1800.0
    practice: bool = True
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_json: bool = False

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
        if self.embedder is not None and self.embedding_url is not None:
            raise ValueError("GRAPHMEM_EMBEDDER and GRAPHMEM_EMBEDDING_URL both name a model: unset one")
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
