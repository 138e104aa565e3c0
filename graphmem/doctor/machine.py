"""Checks of this machine: settings, directories, disk, the files of Neo4j, memory."""

import difflib
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from graphmem import __version__, neo4j_local
from graphmem.doctor.finding import Finding, Found, fail, ok, warn
from graphmem.environment_file import FILE
from graphmem.errors import ConfigurationInvalid, SetupError
from graphmem.neo4j_local import backup_record
from graphmem.neo4j_local.unfinished import unfinished
from graphmem.observability import tracing
from graphmem.settings import LOOPBACK, Settings, variable

PREFIXES = ("GRAPHMEM_", "SERVICE_", "NEO4J_")
FREE_BYTES_MIN = 256_000_000
FREE_BYTES_ADVISED = 2_000_000_000
"""Below the minimum a database may stop writing at any moment: its transaction log alone takes 256 MB."""
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def versions() -> Finding:
    parts = f"graphmem {__version__}, Python {platform.python_version()}, driver {version('neo4j')}"
    return ok(f"{parts}, {platform.system()} {platform.machine()}")


def variables(environment: Mapping[str, str]) -> list[Finding]:
    """Find variables with the prefix of a setting that are not settings. Their values are not read."""
    known = [variable(name) for name in Settings.model_fields]
    findings = []
    for name in sorted(environment):
        if not name.startswith(PREFIXES) or name.startswith("GRAPHMEM_TEST_") or name in known:
            continue
        longer = [setting for setting in known if setting.startswith(name)]
        near = longer or difflib.get_close_matches(name, known, 1, 0.7)
        fix = f"Rename it to {near[0]}, or remove it." if near else "Remove it."
        findings.append(warn(f"{name} is set but is not a setting: it has no effect", fix))
    return findings


def contradictions(settings: Settings, environment: Mapping[str, str]) -> list[Finding]:
    findings = [*_of_database(settings), *_of_others(settings), *_of_traces(environment)]
    return findings or [ok(f"the settings are valid ({settings.env})")]


def _of_database(settings: Settings) -> Iterator[Finding]:
    set_names = settings.model_fields_set
    if settings.neo4j_uri is None:
        idle = set_names & {"neo4j_username", "neo4j_password", "neo4j_database"}
        fix = "Set NEO4J_URI to use a server of your own, or remove them."
        where = "NEO4J_URI is not set, so the embedded Neo4j is used"
    else:
        idle = set_names & {"neo4j_version", "neo4j_heap", "neo4j_page_cache", "neo4j_fast_start"}
        fix = "Remove them: they apply to the embedded Neo4j."
        where = "NEO4J_URI names a server of your own"
        if not settings.neo4j_password.get_secret_value():
            yield warn("NEO4J_URI is set without NEO4J_PASSWORD", "Set NEO4J_PASSWORD.")
    if idle:
        names = ", ".join(sorted(map(variable, idle)))
        yield warn(f"{names} have no effect: {where}", fix)


def _of_others(settings: Settings) -> Iterator[Finding]:
    for needed in ("embedding_url", "llm_url", "objects_bucket"):
        group = needed.partition("_")[0]
        used = {needed, "embedding_floor"} if settings.embedder else {needed}
        idle = {name for name in settings.model_fields_set if name.startswith(f"{group}_")} - used
        if getattr(settings, needed) is None and idle:
            names = ", ".join(sorted(map(variable, idle)))
            what = f"{names} have no effect without {variable(needed)}"
            yield warn(what, f"Set {variable(needed)}, or remove them.")
    for name in ("base_url", "public_url"):
        host = urlsplit(getattr(settings, name) or "").hostname or ""
        if host and settings.allowed_hosts and host not in {*settings.allowed_hosts, *LOOPBACK}:
            what = f"{variable(name)} names {host}, which is not in GRAPHMEM_ALLOWED_HOSTS: it is refused"
            yield fail(what, f"Add {host} to GRAPHMEM_ALLOWED_HOSTS.")


def _of_traces(environment: Mapping[str, str]) -> Iterator[Finding]:
    names = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = next((environment[name] for name in names if environment.get(name)), "http/protobuf")
    if tracing.is_enabled(environment) and protocol != "http/protobuf":
        what = f"the environment selects {protocol:.20} for traces, and graphmem sends http/protobuf"
        yield warn(what, "Set the endpoint to the HTTP port of the collector, usually 4318.")


def access(settings: Settings, guarded: bool = False) -> Finding:
    """Check that no other is served without a credential. ``guarded``: an account has a password or a key."""
    try:
        settings.check_bind(guarded=guarded)
    except ConfigurationInvalid as exc:
        fix = "Set SERVICE_BEARER_TOKEN, make a key with graphmem auth keys create, or serve 127.0.0.1 only."
        return fail(str(exc), fix)
    base = urlsplit(settings.public_url or settings.base_url or "")
    needs_credential = guarded or settings.bearer_token is not None
    if needs_credential and base.scheme == "http" and base.hostname not in LOOPBACK:
        what = f"credentials are sent to {base.hostname} without encryption"
        return warn(what, "Put a TLS proxy in front of the service, and set its https address.")
    if settings.bearer_token:
        return ok(f"a token is set; the service binds {settings.authority()}")
    if guarded:
        return ok(f"a key or a password guards the instance; the service binds {settings.authority()}")
    return ok("no token, key or password is set; the service binds loopback only")


def data_directory(settings: Settings) -> Found:
    """Check that the data directory exists or can be made, is writable, and is private."""
    path, findings = settings.data_path, []
    near = _nearest(path)
    own = f"Give this user access to {path}, or set GRAPHMEM_DATA_DIR to another directory."
    if not os.path.isdir(near):
        return fail(f"{near} is not a directory", own)
    if not os.access(near, os.W_OK | os.X_OK):
        return fail(f"{near} cannot be written by this user", own)
    if near != path:
        return ok(f"{path} does not exist yet and can be made")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        findings.append(warn(f"other users can read or enter {path}", f"Run chmod 700 {path}."))
    for name, secret in (("neo4j/password", "password of the database"), (FILE, "environment file")):
        file = path / name
        if file.exists() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            findings.append(fail(f"other users can read the {secret} in {file}", f"Run chmod 600 {file}."))
    if begun := unfinished(path):
        what = f"graphmem {begun['command']} was not finished in {path}"
        findings.append(fail(what, f"Run graphmem {begun['command']} again: it goes on."))
    return findings or [ok(f"{path} exists, is private and can be written")]


def disk(settings: Settings) -> Found:
    path = settings.data_path
    free = shutil.disk_usage(_nearest(path)).free
    used = neo4j_local.store_bytes(settings) if settings.neo4j_uri is None else 0
    advised_bytes = max(FREE_BYTES_ADVISED, used // 5) if settings.neo4j_uri is None else FREE_BYTES_MIN
    text = f"{_mb(free)} are free at {path}, and the database takes {_mb(used)}"
    fix = "Free some space there, or set GRAPHMEM_DATA_DIR to a larger disk."
    if free < FREE_BYTES_MIN:
        return fail(f"{text}: it may stop writing at any moment", fix)
    if free < advised_bytes:
        return warn(f"{text}: {_mb(advised_bytes)} are advised", fix)
    return ok(text)


def backup(settings: Settings) -> Finding:
    """Check that the last backup of all facts is not older than wanted."""
    made = next((backup for backup in backup_record.backups(settings) if not backup.owners), None)
    what = f"the last one was made at {made.created_at}" if made else "graphmem has made none"
    if since := backup_record.due_since(settings, datetime.now(UTC)):
        return warn(f"{what}: one is due since {since:%Y-%m-%d}", "Run graphmem backup create.")
    return ok(what)


def encryption(settings: Settings) -> list[Finding]:
    """Check that the keys of a sealed instance open here; nothing is found where it is not sealed."""
    from graphmem.sealing import keys_of

    try:
        keys = keys_of(settings)
    except SetupError as exc:
        return [fail(str(exc), "Put the root key or the key file back: docs/encryption.md says how.")]
    if keys is None:
        return []
    return [ok(f"files and backups are sealed with the root key {keys.record().root_key}")]


def engine(settings: Settings, deep: bool) -> Found:
    """Check that the embedded Neo4j can start: Java, and its files or the download of them."""
    try:
        java = neo4j_local.java_version()
        release, home, lacking = neo4j_local.lacking(settings, rehash=deep)
    except SetupError as exc:
        return fail(str(exc), "Set NEO4J_URI, or install the packages of graphmem again.")
    if not lacking:
        how = "verified byte by byte" if deep else "verified at download"
        return ok(f"Neo4j {release} in {home}, {how}; Java {java}")
    size = sum(jar.size for jar in lacking)
    what = f"{len(lacking)} files of Neo4j {release} ({_mb(size)}) are missing in {home}"
    free = shutil.disk_usage(_nearest(home)).free
    if free < size:
        fix = "Free some space there, or set GRAPHMEM_CACHE_DIR to another disk."
        return fail(f"{what}, where {_mb(free)} are free", fix)
    from graphmem.neo4j_local.download import unreachable  # loads libraries that nothing else needs

    if refused := unreachable(lacking[0]):
        fix = "Let this machine reach Maven Central (https_proxy), or set NEO4J_URI to a server of your own."
        return fail(f"{what}, and cannot be downloaded: {refused}", fix)
    return ok(f"{what}: the first start downloads them; Java {java}")


def memory(settings: Settings) -> Found:
    """Check that the memory of the embedded Neo4j fits the machine and the size of the store."""
    sizes = {name: bytes_of(getattr(settings, name)) for name in ("neo4j_heap", "neo4j_page_cache")}
    odd = [name for name, size in sizes.items() if size is None]
    if odd:
        return fail(f"{variable(odd[0])} is not a size", f"Set {variable(odd[0])} to a size such as 512m.")
    heap, cache = (size or 0 for size in sizes.values())
    total, store = psutil.virtual_memory().total, neo4j_local.paged_bytes(settings)
    text = f"heap {_mb(heap)}, page cache {_mb(cache)}, store {_mb(store)}, machine {_mb(total)}"
    if heap + cache > total * 0.8:
        fix = "Lower GRAPHMEM_NEO4J_HEAP or GRAPHMEM_NEO4J_PAGE_CACHE."
        return fail(f"{text}: Neo4j may use more than the machine has", fix)
    if store > 2 * cache:
        most = min(store, int(total * 0.6) - heap)
        if most > cache:
            fix = f"Set GRAPHMEM_NEO4J_PAGE_CACHE to {max(most // 1024**2, 1)}m and restart the database."
            return warn(f"{text}: most of the store is read from the disk", fix)
    return ok(text)


def bytes_of(size: str) -> int | None:
    """Return the bytes of a size in Java's notation, ``None`` if the text is not a size."""
    match = re.fullmatch(r"(\d+)([kmg]?)", size.strip().lower())
    return int(match[1]) * _SIZES[match[2]] if match else None


def _nearest(path: Path) -> Path:
    # Path.exists raises below a directory that this user may not search.
    return next(parent for parent in (path, *path.parents) if os.path.exists(parent))


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
