"""Download Neo4j's jars from Maven Central or a mirror of it.

A jar is downloaded into a temporary directory, compared with the SHA-256 of the lock and only then renamed
into place, so that an incomplete file never looks complete. Proxies and certificates come from the usual
environment variables.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import httpx
import structlog

from graphmem.errors import EngineFetchFailed
from graphmem.neo4j_local import private_files
from graphmem.neo4j_local.engine_jars import Progress
from graphmem.neo4j_local.jar_list import Jar

THREADS = 4
DOWNLOAD_ATTEMPTS = 3
SILENCE_TIMEOUT_SECONDS = 30  # without a byte
HEAD_TIMEOUT_SECONDS = 5  # to check whether a file could be fetched
CHUNK_BYTES = 1 << 16
PROGRESS_STEP_BYTES = 1 << 18

log = structlog.get_logger()


def unreachable(jar: Jar, repository: str) -> str:
    """Return why a jar could not be fetched now, empty if it could. The check fetches nothing."""
    try:
        with _client(repository, HEAD_TIMEOUT_SECONDS) as http:
            http.head(jar.path).raise_for_status()
    except httpx.HTTPError as exc:
        return _reason(exc)
    return ""


def fetch_all(jars: list[Jar], repository: str, scratch: Path, home: Path, meter: DownloadMeter) -> None:
    """Download jars into ``scratch``, and move what is verified into ``home``; else EngineFetchFailed."""
    with (
        _client(repository, SILENCE_TIMEOUT_SECONDS) as http,
        ThreadPoolExecutor(THREADS, "fetch") as pool,
    ):
        tasks = [pool.submit(_fetch_jar, jar, http, scratch / jar.name, home, meter) for jar in jars]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _client(repository: str, seconds: float) -> httpx.Client:
    return httpx.Client(base_url=repository, timeout=seconds, follow_redirects=True)


def _fetch_jar(jar: Jar, http: httpx.Client, path: Path, home: Path, meter: DownloadMeter) -> None:
    """Download a jar and move it into place. A jar that arrives damaged is downloaded once more."""
    for _ in range(2):
        with meter.of(jar) as add:
            _download(jar, http, path, add)
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


def _download(jar: Jar, http: httpx.Client, path: Path, add: Callable[[int], None]) -> None:
    """Download a jar to ``path``, unverified. A failed download is repeated twice."""
    for attempt in range(1, DOWNLOAD_ATTEMPTS + 1):
        try:
            return _receive(jar, http, path, add)
        except httpx.HTTPError as exc:
            if attempt == DOWNLOAD_ATTEMPTS:
                raise EngineFetchFailed(
                    f"Neo4j could not be fetched ({jar.name}): {_reason(exc)}. Check the network and "
                    "https_proxy and run this again, finished downloads are kept; or set NEO4J_URI to a "
                    "server of your own",
                    jar=jar.name,
                ) from exc
            time.sleep(0.5 * attempt)
    raise AssertionError("unreachable")


def _receive(jar: Jar, http: httpx.Client, path: Path, add: Callable[[int], None]) -> None:
    with http.stream("GET", jar.path) as answer, path.open("wb") as file:
        answer.raise_for_status()
        for chunk in answer.iter_bytes(CHUNK_BYTES):
            file.write(chunk)
            add(len(chunk))


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "the server did not answer in time"
    if isinstance(error, httpx.HTTPStatusError):
        return f"the repository answers {error.response.status_code}"
    return "no connection"


class DownloadMeter:
    """Adds up the bytes that all threads have received, and reports them."""

    def __init__(self, label: str, total: int, progress: Progress) -> None:
        self._label, self._total, self._progress = label, total, progress
        self._lock, self._done, self._reported = threading.Lock(), 0, 0

    @contextmanager
    def of(self, jar: Jar) -> Iterator[Callable[[int], None]]:
        """Yield what counts the bytes of a jar. Afterwards the jar counts for exactly its size."""
        received = 0

        def add(size: int) -> None:
            nonlocal received
            received += size
            self._add(size)

        yield add
        self._add(jar.size - received)

    def _add(self, size: int) -> None:
        with self._lock:
            self._done += size
            if self._done - self._reported >= PROGRESS_STEP_BYTES or self._done == self._total:
                self._reported = self._done
                self._progress(self._label, min(self._done, self._total), self._total)
