"""Download Neo4j's jars from Maven Central or a mirror.

jgo's Maven client downloads a jar into a temporary directory. The jar is compared with the lock's SHA-256 and
only then renamed into place, so that an incomplete file never looks complete. Proxies and certificates come
from the usual environment variables, mirrors from the section ``[repositories]`` in jgo's own configuration
file.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path

import requests
import structlog
from jgo.config import GlobalSettings
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import MavenContext, PythonResolver

from graphmem.errors import EngineFetchFailed
from graphmem.neo4j_local import private_files
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
    for url in _repositories().values():
        try:
            answer = requests.head(
                f"{url.rstrip('/')}/{path}", timeout=HEAD_TIMEOUT_SECONDS, allow_redirects=True
            )
            if answer.ok:
                return ""
        except requests.RequestException as exc:
            reason = _reason(exc)
    return reason


def fetch_all(jars: list[Jar], scratch: Path, home: Path, report: Callable[[int], None]) -> None:
    """Download jars into ``scratch``, and move what is verified into ``home``; else EngineFetchFailed.
    ``report`` is called with the bytes so far; by several threads, one at a time."""
    lock, done, reported = threading.Lock(), 0, 0

    def add(size: int) -> None:
        nonlocal done, reported
        with lock:
            done += size
            if done - reported >= PROGRESS_STEP_BYTES:
                reported = done
                report(done)

    resolver = PythonResolver(progress_callback=lambda name, size: nullcontext(add))
    with ThreadPoolExecutor(THREADS, "fetch") as pool:
        tasks = [pool.submit(_fetch_jar, jar, resolver, scratch, home) for jar in jars]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch_jar(jar: Jar, resolver: PythonResolver, scratch: Path, home: Path) -> None:
    """Download a jar and move it into place. One that fails is repeated twice, one that differs once."""
    differs = False
    for attempt in range(1, DOWNLOAD_ATTEMPTS + 1):
        context = MavenContext(
            resolver=resolver, repo_cache=scratch / f"{attempt}", remote_repos=_repositories(),
            timeout=SILENCE_TIMEOUT_SECONDS,
        )  # fmt: skip
        component = context.project(jar.group, jar.artifact).at_version(jar.version)
        try:
            path = resolver.download(component.artifact(jar.classifier))
        except (requests.RequestException, RuntimeError) as exc:  # RuntimeError: no repository has it
            if attempt == DOWNLOAD_ATTEMPTS:
                raise EngineFetchFailed(
                    f"Neo4j could not be fetched ({jar.name}): {_reason(exc)}. Check the network and "
                    "https_proxy and run this again, finished downloads are kept; or set NEO4J_URI to a "
                    "server of your own",
                    jar=jar.name,
                ) from exc
            time.sleep(0.5 * attempt)
            continue
        assert path is not None
        if (actual := private_files.sha256(path)) == jar.sha256:
            path.replace(home / jar.name)
            return
        log.warning("engine.jar_differs", jar=jar.name, expected=jar.sha256, actual=actual)
        path.unlink()
        if differs or attempt == DOWNLOAD_ATTEMPTS:
            raise EngineFetchFailed(
                f"{jar.name} arrived with another content than this graphmem was released with, and was "
                "removed. Check the proxy or mirror between this machine and Maven Central, or upgrade "
                "graphmem",
                jar=jar.name,
                expected=jar.sha256,
                actual=actual,
            )
        differs = True


def _repositories() -> dict[str, str]:
    return {"central": MAVEN_CENTRAL_URL, **GlobalSettings.load().repositories}


def _reason(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "the server did not answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "no repository has it" if isinstance(error, RuntimeError) else str(error)
