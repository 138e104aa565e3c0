"""Download Neo4j's jars from Maven Central or a mirror.

jgo's Maven client downloads a jar into a temporary directory. The jar is compared with the lock's SHA-256 and
only then renamed into place, so that an incomplete file never looks complete. Proxies and certificates come
from the usual environment variables, mirrors from the section ``[repositories]`` in jgo's own configuration
file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import requests
import structlog
from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import MavenContext, PythonResolver

from graphmem.errors import EngineFetchFailed
from graphmem.neo4j_local import private_files
from graphmem.neo4j_local.engine_jars import Progress
from graphmem.neo4j_local.jar_list import Jar

THREADS = 4
DOWNLOAD_ATTEMPTS = 3
SILENCE_TIMEOUT_SECONDS = 30  # without a byte
HEAD_TIMEOUT_SECONDS = 5  # to check whether a file could be fetched
PROGRESS_STEP_BYTES = 1 << 18

log = structlog.get_logger()


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


def fetch_all(jars: list[Jar], scratch: Path, home: Path, meter: DownloadMeter) -> None:
    """Download jars into ``scratch``, and move what is verified into ``home``; else EngineFetchFailed."""
    repositories = {"central": MAVEN_CENTRAL_URL, **GlobalSettings.load().repositories}
    with ThreadPoolExecutor(THREADS, "fetch") as pool:
        tasks = [pool.submit(_fetch_jar, jar, repositories, scratch, home, meter) for jar in jars]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch_jar(
    jar: Jar, repositories: dict[str, str], scratch: Path, home: Path, meter: DownloadMeter
) -> None:
    """Download a jar and move it into place. A jar that arrives damaged is downloaded once more."""
    for attempt in range(2):
        with meter.of(jar) as resolver:
            path = _download(jar, resolver, repositories, scratch / f"{attempt}")
        if (actual := private_files.sha256(path)) == jar.sha256:
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


class DownloadMeter:
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
