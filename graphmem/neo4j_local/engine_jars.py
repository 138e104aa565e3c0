"""Neo4j's jars in the cache, which all instances of a user share. The committed lock is the class path."""

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import filelock

from graphmem.errors import EngineFetchFailed
from graphmem.neo4j_local import private_files
from graphmem.neo4j_local.jar_list import Jar, Lock, read
from graphmem.settings import Settings

Progress = Callable[[str, int, int], None]
"""Called with a label, the bytes so far and the bytes in total; by several threads, one at a time."""

FETCH_LOCK_TIMEOUT_SECONDS = 1800.0  # to wait for another process that fetches the same engine


def directory(settings: Settings) -> Path:
    return settings.cache_path / f"neo4j-{read(settings.neo4j_version).release}"


def fetch(settings: Settings, progress: Progress | None = None) -> list[Path]:
    """Fetch the jars that the cache lacks; return the verified class path. A complete cache needs no network.

    A file is compared by SHA-256 if it is new or was touched since, otherwise by size and modification time.

    Raises:
        ConfigurationInvalid: no lock is shipped for ``settings.neo4j_version``.
        EngineFetchFailed: no network, no space, no permission, or a file that differs from the lock.
    """
    lock, home = read(settings.neo4j_version), directory(settings)
    try:
        if _lacking(home, lock):
            private_files.private_directory(home)
            with filelock.FileLock(
                home.with_suffix(home.suffix + ".lock"), FETCH_LOCK_TIMEOUT_SECONDS, poll_interval=0.2
            ):
                _complete(home, lock, progress or (lambda label, done, total: None))
    except filelock.Timeout as exc:
        raise EngineFetchFailed(
            f"another process has been fetching Neo4j into {home} for "
            f"{FETCH_LOCK_TIMEOUT_SECONDS / 60:.0f} minutes: end it and run this again"
        ) from exc
    except OSError as exc:
        raise EngineFetchFailed(
            f"Neo4j {lock.release} could not be kept in {private_files.cause(exc, home)} (GRAPHMEM_CACHE_DIR)"
        ) from exc
    return [home / jar.name for jar in lock.jars]


def lacking(settings: Settings, *, rehash: bool = False) -> tuple[str, Path, list[Jar]]:
    """Return the release, the directory of its jars, and the jars that would have to be fetched.

    ``rehash``: compare every jar by SHA-256.

    Raises:
        ConfigurationInvalid: no lock is shipped for ``settings.neo4j_version``.
    """
    lock, home = read(settings.neo4j_version), directory(settings)
    return lock.release, home, _lacking(home, lock, rehash)


def _complete(home: Path, lock: Lock, progress: Progress) -> None:
    """Fetch the jars that are lacking. The caller holds the engine's lock."""
    for stale in home.glob(".partial-*"):  # left by a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    lacking = _lacking(home, lock)
    needed, free = sum(jar.size for jar in lacking), shutil.disk_usage(home).free
    if needed > free:
        raise EngineFetchFailed(
            f"Neo4j {lock.release} needs {needed / 1e6:.0f} MB in {home} and {free / 1e6:.0f} MB are free: "
            "free some space, or set GRAPHMEM_CACHE_DIR to another disk"
        )
    if lacking:
        for archive in home.glob("*.jsa"):  # it was made of jars that are about to change
            archive.unlink()
        # Its libraries take longer to load than all else that the start of a server needs.
        from graphmem.neo4j_local import download

        with tempfile.TemporaryDirectory(prefix=".partial-", dir=home, ignore_cleanup_errors=True) as scratch:
            report = partial(progress, f"Neo4j {lock.release}")
            download.fetch_all(lacking, Path(scratch), home, lambda done: report(min(done, needed), needed))
            report(needed, needed)
    verified = {jar.name: [jar.sha256, (home / jar.name).stat().st_mtime_ns] for jar in lock.jars}
    private_files.write_private(home / "verified.json", json.dumps(verified, indent=0))


def _lacking(home: Path, lock: Lock, rehash: bool = False) -> list[Jar]:
    try:
        verified = {} if rehash else json.loads((home / "verified.json").read_text())
    except (FileNotFoundError, ValueError):
        verified = {}
    return [jar for jar in lock.jars if not _is_good(home / jar.name, jar, verified.get(jar.name))]


def _is_good(path: Path, jar: Jar, verified: object) -> bool:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return False
    if stat.st_size != jar.size:
        return False
    return verified == [jar.sha256, stat.st_mtime_ns] or private_files.sha256(path) == jar.sha256
