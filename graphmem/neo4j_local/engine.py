"""Fetch Neo4j's jars by the committed lock and keep them in the cache, shared by all instances of a user.

jgo's Maven client downloads a jar into a temporary directory. The jar is compared with the lock's SHA-256 and
only then renamed into place, so that an incomplete file never looks complete. No dependencies are resolved:
the lock is the class path. Proxies and certificates come from the usual environment variables, mirrors from
the section ``[repositories]`` in jgo's own configuration file.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import filelock
import requests
import structlog
from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import MavenContext, PythonResolver

from graphmem.errors import EngineFetchFailed
from graphmem.neo4j_local import files
from graphmem.neo4j_local.lock import Jar, Lock, read
from graphmem.settings import Settings

Progress = Callable[[str, int, int], None]
"""Called with a label, the bytes so far and the bytes in total; by several threads, one at a time."""

THREADS = 4
DOWNLOAD_ATTEMPTS = 3
SILENCE_TIMEOUT_SECONDS = 30  # without a byte
HEAD_TIMEOUT_SECONDS = 5  # to check whether a file could be fetched
FETCH_LOCK_TIMEOUT_SECONDS = 1800.0  # to wait for another process that fetches the same engine
PROGRESS_STEP_BYTES = 1 << 18

log = structlog.get_logger()


def directory(settings: Settings) -> Path:
    """Return the directory of this engine's jars. It need not exist."""
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
            files.private_directory(home)
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
            f"Neo4j {lock.release} could not be kept in {files.cause(exc, home)} (GRAPHMEM_CACHE_DIR)"
        ) from exc
    return [home / jar.name for jar in lock.jars]


def lacking(settings: Settings, *, rehash: bool = False) -> tuple[str, Path, list[Jar]]:
    """Return the release, the directory of its jars, and the jars that would have to be fetched.

    ``rehash``: compare every jar by SHA-256.

    Raises:
        ConfigurationInvalid: no lock is shipped for ``settings.neo4j_version``.
    """
    lock, home = read(settings.neo4j_version), directory(settings)
    if rehash:
        wrong = [
            jar
            for jar in lock.jars
            if not (home / jar.name).is_file() or _sha256(home / jar.name) != jar.sha256
        ]
        return lock.release, home, wrong
    return lock.release, home, _lacking(home, lock)


def unreachable(jar: Jar) -> str:
    """Return why a jar could not be fetched now, empty if it could. The check fetches nothing."""
    path = f"{jar.group.replace('.', '/')}/{jar.artifact}/{jar.version}/{jar.name}"
    reason = "no repository has it"
    for url in {"central": MAVEN_CENTRAL_URL, **GlobalSettings.load().repositories}.values():
        try:
            answer = requests.head(
                f"{url.rstrip('/')}/{path}", timeout=HEAD_TIMEOUT_SECONDS, allow_redirects=True
            )
            if answer.ok:
                return ""
        except requests.RequestException as exc:
            reason = _reason(exc)
    return reason


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
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=home, ignore_cleanup_errors=True) as scratch:
            _download_all(lacking, Path(scratch), home, _Meter(f"Neo4j {lock.release}", needed, progress))
    _write_marker(home, lock)


def _download_all(jars: list[Jar], scratch: Path, home: Path, meter: _Meter) -> None:
    repositories = {"central": MAVEN_CENTRAL_URL, **GlobalSettings.load().repositories}
    with ThreadPoolExecutor(THREADS, "fetch") as pool:
        tasks = [pool.submit(_fetch_jar, jar, repositories, scratch, home, meter) for jar in jars]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch_jar(jar: Jar, repositories: dict[str, str], scratch: Path, home: Path, meter: _Meter) -> None:
    """Download a jar and move it into place. A jar that arrives damaged is downloaded once more."""
    for attempt in range(2):
        with meter.of(jar) as resolver:
            path = _download(jar, resolver, repositories, scratch / f"{attempt}")
        if (actual := _sha256(path)) == jar.sha256:
            path.replace(home / jar.name)
            return
        log.warning("engine.jar_differs", jar=jar.name, expected=jar.sha256, actual=actual)
        path.unlink()
    raise EngineFetchFailed(
        f"{jar.name} arrived twice with another content than this graphmem was released with, and was "
        "removed. Check the proxy or mirror between this machine and Maven Central, or upgrade graphmem",
        jar=jar.name,
        expected=jar.sha256,
        actual=actual,  # pyright: ignore[reportPossiblyUnboundVariable]
    )


def _download(jar: Jar, resolver: PythonResolver, repositories: dict[str, str], scratch: Path) -> Path:
    """Download a jar and return its path, unverified. A failed download is repeated twice."""
    for attempt in range(1, DOWNLOAD_ATTEMPTS + 1):
        context = MavenContext(
            resolver=resolver,
            repo_cache=scratch / f"{attempt}",
            remote_repos=repositories,
            timeout=SILENCE_TIMEOUT_SECONDS,
        )
        component = context.project(jar.group, jar.artifact).at_version(jar.version)
        try:
            path = resolver.download(component.artifact(jar.classifier))
            assert path is not None
            return path
        except (requests.RequestException, RuntimeError) as exc:  # RuntimeError: no repository has it
            if attempt == DOWNLOAD_ATTEMPTS:
                raise EngineFetchFailed(
                    f"Neo4j could not be fetched ({jar.name}): {_reason(exc)}. Check the network and "
                    "https_proxy and run this again, finished downloads are kept; or set NEO4J_URI to a "
                    "server of your own",
                    jar=jar.name,
                ) from exc
            time.sleep(0.5 * attempt)
    raise AssertionError("unreachable")


def _reason(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "the server did not answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "no repository has it" if isinstance(error, RuntimeError) else str(error)


class _Meter:
    """Adds up the bytes that all threads have received, and reports them."""

    def __init__(self, label: str, total: int, progress: Progress) -> None:
        self._label, self._total, self._progress = label, total, progress
        self._lock, self._done, self._reported = threading.Lock(), 0, 0

    @contextmanager
    def of(self, jar: Jar) -> Iterator[PythonResolver]:
        """Yield a resolver whose downloads are counted. Afterwards the jar counts for exactly its size."""
        received = 0

        @contextmanager
        def count(filename: str, total: int) -> Iterator[Callable[[int], None]]:
            def add(size: int) -> None:
                nonlocal received
                received += size
                self._add(size)

            yield add

        callback: Callable[[str, int], AbstractContextManager[Callable[[int], None]]] = count
        yield PythonResolver(progress_callback=callback)
        self._add(jar.size - received)

    def _add(self, size: int) -> None:
        with self._lock:
            self._done += size
            if self._done - self._reported >= PROGRESS_STEP_BYTES or self._done == self._total:
                self._reported = self._done
                self._progress(self._label, min(self._done, self._total), self._total)


def _lacking(home: Path, lock: Lock) -> list[Jar]:
    """Return the jars that are absent, incomplete or different from the lock."""
    try:
        verified = json.loads((home / "verified.json").read_text())
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
    return verified == [jar.sha256, stat.st_mtime_ns] or _sha256(path) == jar.sha256


def _write_marker(home: Path, lock: Lock) -> None:
    verified = {jar.name: [jar.sha256, (home / jar.name).stat().st_mtime_ns] for jar in lock.jars}
    files.write_private(home / "verified.json", json.dumps(verified, indent=0))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
