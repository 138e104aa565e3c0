"""The embedded database: a real Neo4j Community server, one per data directory, on loopback only.

Every process that needs the database calls :func:`ensure`: the first one fetches and starts the server,
detached, the others attach to it, and it stays up until :func:`stop`. Whether it is ready is for the
caller's probe to say, as this package does not speak bolt.

Every function raises :class:`DataDirectoryRefused` where the data directory cannot be used: a file cannot be
read or written, instance.json is damaged, or a newer graphmem made it.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import psutil

from graphmem.errors import ConfigurationInvalid, DataDirectoryRefused, EngineStartFailed, SetupError
from graphmem.neo4j_local import archive, engine_jars, private_files, server_process
from graphmem.neo4j_local.engine_jars import Progress as Progress
from graphmem.neo4j_local.engine_jars import fetch as fetch
from graphmem.neo4j_local.engine_jars import lacking as lacking
from graphmem.neo4j_local.instance import Facts, Instance, InstanceLogin
from graphmem.neo4j_local.jar_list import read
from graphmem.neo4j_local.server_process import java_version as java_version
from graphmem.settings import Settings

Probe = Callable[[InstanceLogin], None]
"""Returns once the database answers; raises anything while it does not, a SetupError to give up at once."""

PORT_MOVES = 3
POLL_SECONDS = 0.1
LINES = 20  # lines of the logs that an error shows


class InstanceStatus(NamedTuple):
    """What is known of an instance without asking its database; sizes in bytes, None: not known."""

    running: bool
    data_dir: Path
    log_file: Path
    pid: int | None = None
    version: str | None = None
    uri: str | None = None
    browser_url: str | None = None
    started_at: datetime | None = None
    resident_bytes: int | None = None
    disk_bytes: int = 0


class _Died(Exception):
    """The server's process ended before it was ready."""


def ensure(
    settings: Settings, probe: Probe, progress: Progress | None = None, *, requested: bool = True
) -> InstanceLogin:
    """Return how to reach the server of ``settings.data_path``; fetch and start it if it does not run.

    Any number of processes may call this at once: there will be one server. The start may take
    ``settings.neo4j_start_timeout`` seconds, without the first download. ``requested``: a person asks for the
    server now, so it is started even if it was stopped on purpose.

    Raises:
        ConfigurationInvalid: no such Neo4j version, or a platform that it does not run on.
        EngineFetchFailed: the jars could not be fetched; what had arrived is kept.
        EngineStartFailed: the server ended or did not answer in time; the message holds its own last lines.
            Or it was stopped on purpose, and is not ``requested``.
    """
    _refuse_windows()
    with _instance(settings) as instance:
        try:
            process = server_process.find(instance, search=False)
            if process and (ready := _attach(instance, process, probe)):
                return ready
            class_path = engine_jars.fetch(settings, progress)
            deadline = time.monotonic() + settings.neo4j_start_timeout
            with instance.lock(settings.neo4j_start_timeout):
                if requested:
                    instance.stop_file.unlink(missing_ok=True)
                elif instance.stop_file.exists():
                    raise EngineStartFailed(
                        "Neo4j was stopped on purpose: run `graphmem db start` to start it again"
                    )
                connection = _attach_or_start(settings, instance, class_path, probe, deadline)
                archive.make_in_background(class_path, instance.home)
                return connection
        except filelock.Timeout as exc:
            raise EngineStartFailed(
                f"another process has been starting Neo4j in {instance.root} for "
                f"{settings.neo4j_start_timeout:.0f} s: wait for it, or raise GRAPHMEM_NEO4J_START_TIMEOUT"
            ) from exc


def launch(settings: Settings, progress: Progress | None = None) -> bool:
    """Start the server's process if it does not run, and do not wait until it answers: :func:`ensure` does.

    So the caller can do something else while the server starts. If it runs, or another process is starting
    it, nothing is done, and the answer is ``False``. It raises what :func:`ensure` raises.
    """
    _refuse_windows()
    with _instance(settings) as instance:
        if server_process.find(instance, search=False):
            return False
        class_path = engine_jars.fetch(settings, progress)
        with contextlib.suppress(filelock.Timeout), instance.lock(timeout=0):
            instance.stop_file.unlink(missing_ok=True)
            if server_process.find(instance) is None:
                _spawn(settings, instance, class_path, avoid=set())
                return True
    return False


def stop(
    settings: Settings, timeout: float = 30.0, *, only: int | None = None, on_purpose: bool = False
) -> bool:
    """Stop the server, killing it after ``timeout`` seconds; False if none was running.

    If another process is starting it, that start is awaited for at most ``timeout`` seconds.

    Args:
        only: stop this process only: a server that was started in its place is left alone.
        on_purpose: running services do not restart it until somebody requests it.
    """
    with _instance(settings) as instance:
        if not instance.root.exists():
            return False
        try:
            with instance.lock(timeout):
                return _stop(instance, timeout, only, on_purpose)
        except filelock.Timeout:
            return _stop(instance, timeout, only, on_purpose)


def stopped(settings: Settings) -> bool:
    """Return whether the server was stopped on purpose, and has not been requested since."""
    return os.path.exists(Instance(settings).stop_file)


def exists(settings: Settings) -> bool:
    """Return whether the data directory holds a database, of whatever origin. It need not run."""
    with _instance(settings) as instance:
        return instance.facts() is not None or instance.databases.exists()


def status(settings: Settings) -> InstanceStatus:
    with _instance(settings) as instance:
        known: dict[str, Any] = {"disk_bytes": private_files.disk_bytes(instance.root)}
        facts, process = instance.facts(), server_process.find(instance)
        if facts:
            connection = instance.connection(facts)
            known |= {"version": facts.release, "uri": connection.uri, "browser_url": connection.browser_url}
    if process:
        try:
            with process.oneshot():
                known |= {
                    "pid": process.pid,
                    "started_at": datetime.fromtimestamp(process.create_time(), UTC),
                    "resident_bytes": process.memory_info().rss,
                }
        except psutil.NoSuchProcess:
            process = None
    return InstanceStatus(process is not None, instance.root, instance.log, **known)


def running(settings: Settings) -> int | None:
    """Return the process id of the server that was started last, if it runs."""
    with _instance(settings) as instance:
        process = server_process.find(instance, search=False)
    return process.pid if process else None


def info(settings: Settings) -> InstanceLogin:
    """Return how to reach the instance, whether it runs or not; refused if it was never started."""
    with _instance(settings) as instance:
        if (facts := instance.facts()) is None:
            raise DataDirectoryRefused(
                f"there is no database in {instance.root} yet: run `graphmem db start`"
            )
        return instance.connection(facts)


def store_bytes(settings: Settings) -> int:
    """Return the bytes of the database on the disk, with its transaction log, as far as they can be seen."""
    return private_files.disk_bytes(Instance(settings).home / "data")


def paged_bytes(settings: Settings) -> int:
    """Return the bytes of the database that its page cache serves: without the logs."""
    return private_files.disk_bytes(Instance(settings).databases)


@contextlib.contextmanager
def _instance(settings: Settings) -> Iterator[Instance]:
    """Yield the files of the data directory. Errors of the file system are those of the directory."""
    instance = Instance(settings)
    with private_files.used_as_data(instance.root):
        yield instance


def _attach(instance: Instance, process: psutil.Process, probe: Probe) -> InstanceLogin | None:
    """Try a server once that may be running well; None if it does not answer."""
    facts = instance.facts()
    if facts is None or not server_process.listens(process, facts.bolt_port, facts.http_port):
        return None
    connection = instance.connection(facts)
    return connection if _fault(probe, connection) is None else None


def _fault(probe: Probe, connection: InstanceLogin) -> Exception | None:
    try:
        probe(connection)
    except SetupError:
        raise
    except Exception as exc:
        return exc
    return None


def _attach_or_start(
    settings: Settings, instance: Instance, class_path: list[Path], probe: Probe, deadline: float
) -> InstanceLogin:
    """Wait for the server that runs, or start one. The caller holds the lock."""
    if (process := server_process.find(instance)) and (facts := instance.facts()):
        try:
            return _wait(instance, process, facts, probe, deadline)
        except _Died:  # it was being stopped, or fell over while somebody else waited for it
            pass
    avoid: set[int] = set()
    for _ in range(PORT_MOVES):
        offset = instance.log.stat().st_size if instance.log.exists() else 0
        process, facts = _spawn(settings, instance, class_path, avoid)
        try:
            return _wait(instance, process, facts, probe, deadline)
        except _Died as exc:
            log_lines = _last_lines(instance, offset)
            if any("Address already in use" in line or "BindException" in line for line in log_lines):
                avoid |= {facts.bolt_port, facts.http_port}
                continue
            raise server_process.start_failed("Neo4j ended while it was starting", log_lines) from exc
    raise EngineStartFailed(
        f"{PORT_MOVES} times another program took the ports that were chosen for Neo4j: try again"
    )


def _spawn(
    settings: Settings, instance: Instance, class_path: list[Path], avoid: set[int]
) -> tuple[psutil.Process, Facts]:
    """Start the server's process, on other ports than those to ``avoid``. The caller holds the lock."""
    lock = read(settings.neo4j_version)
    facts = instance.prepare(settings, lock, class_path, avoid)
    return server_process.spawn(instance, lock), facts


def _wait(
    instance: Instance, process: psutil.Process, facts: Facts, probe: Probe, deadline: float
) -> InstanceLogin:
    """Wait until the server has its ports open and the probe succeeds."""
    connection = instance.connection(facts)
    last: Exception | None = None
    while time.monotonic() < deadline:
        if not server_process.is_alive(process):
            raise _Died
        listens = server_process.listens(process, facts.bolt_port, facts.http_port)
        if listens and (last := _fault(probe, connection)) is None:
            return connection
        time.sleep(POLL_SECONDS)
    # It is not killed: after a crash it may be replaying its log, and would have to begin again.
    raise server_process.start_failed(
        f"Neo4j (process {process.pid}) runs but does not answer yet. Try again in a moment, raise "
        "GRAPHMEM_NEO4J_START_TIMEOUT, or stop it with `graphmem db stop`",
        _last_lines(instance),
    ) from last


def _last_lines(instance: Instance, offset: int = 0) -> list[str]:
    """Return the server's last lines, its log's from byte ``offset`` on, then those of Java itself."""
    log = private_files.tail(instance.log, LINES, offset)
    return [*log, *private_files.tail(instance.console, LINES)][-LINES:]


def _stop(instance: Instance, timeout: float, only: int | None, on_purpose: bool) -> bool:
    process = server_process.find(instance)
    if only is not None and (process is None or process.pid != only):
        return False
    if on_purpose:
        # Before it ends, else a service starts it again. On a full disk it is stopped all the same.
        with contextlib.suppress(OSError):
            instance.stop_file.touch(mode=0o600)
    if process is None:
        instance.run_file.unlink(missing_ok=True)
        return False
    server_process.stop(instance, process, timeout)
    return True


def _refuse_windows() -> None:
    if sys.platform == "win32":
        raise ConfigurationInvalid(
            "the embedded Neo4j runs on Linux and macOS: set NEO4J_URI to a server of your own",
            setting="NEO4J_URI",
        )
