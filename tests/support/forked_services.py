"""Commands that are up in a fraction of a second: forks of a process that has everything imported.

Run as a module it reads requests from stdin, one JSON object a line, and writes an answer a line. A request
with ``words`` starts a ``graphmem`` command, and the answer is its ``pid``. The answer to ``{"poll": pid}``
is its exit ``code``, null while it runs.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmem.settings import Settings
from tests.support import failpoints, oauth_changes, open_services, quick_passwords, reached_outcomes
from tests.support.commands import LOCAL_SERVICE, OWNER_BY_TOKEN, environment, no_work, owner_by_token
from tests.support.sealed_database import of_client

POLL_SECONDS = 0.02


@dataclass
class ForkedProcess:
    """A command that was forked, with what tests use of ``subprocess.Popen``."""

    pid: int
    forks: Forks = field(repr=False)
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self.forks.ask({"poll": self.pid})["code"]
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once the process has ended.

        Raises:
            subprocess.TimeoutExpired: it runs after ``timeout`` seconds.
        """
        begin = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() - begin > timeout:
                raise subprocess.TimeoutExpired(f"forked process {self.pid}", timeout)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)


class Forks:
    """The process that forks, seen from a test."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked_services"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(
        self,
        settings: Settings,
        folder: Path,
        *words: str,
        owner: str = OWNER_BY_TOKEN,
        worker: bool | Sequence[str] = False,
        clock: int = 0,
        oauth: Mapping[str, Any] | None = None,
        interprets_for: str | None = None,
        console: Path | None = None,
        **variables: Any,
    ) -> ForkedProcess:
        """Start a command, which appends what it prints to ``console``, by default a file in the folder.

        Args:
            worker: whether the worker of a service does its work, or the kinds of work that it does.
            clock: how many microseconds its clock is ahead.
            oauth: arguments of ``tests.support.oauth_changes.install``.
            interprets_for: the owner whose files its worker interprets, where tests share the database.
        """
        if "--base-url" in words:
            variables = of_client(settings) | variables
        environ = environment(settings, folder, **variables)
        return self._fork(
            words, environ, console or folder / "console",
            owner=owner, worker=worker, clock=clock, oauth=oauth, interprets_for=interprets_for,
        )  # fmt: skip

    def start_local_service(self, environ: Mapping[str, str], console: Path, owner: str) -> ForkedProcess:
        """Start a local service."""
        return self._fork([LOCAL_SERVICE], environ, console, owner=owner, worker=False, clock=0)

    def close(self) -> None:
        """End all commands, and the process that forks."""
        with self._process:
            pass

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._process.stdin
        assert self._process.stdout
        with self._lock:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def _fork(
        self, words: Sequence[str], environ: Mapping[str, str], console: Path, **options: Any
    ) -> ForkedProcess:
        request = {"words": words, "environ": dict(environ), "console": str(console), **options}
        return ForkedProcess(self.ask(request)["pid"], self)


@functools.cache
def forks() -> Forks:
    """Return the process that forks for all tests of this process; it ends with this process."""
    made = Forks()
    atexit.register(made.close)
    return made


async def no_plan(*_: Any) -> None:
    """Plan no query that nobody has asked for."""


def _start(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    console = os.open(request["console"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(console, number)
    os.environ.clear()
    os.environ.update(request["environ"])
    code: Any = 0
    try:
        _run(**request)
    except SystemExit as exc:
        code = exc.code
    except BaseException:
        traceback.print_exc()
        code = 1
    # The interpreter would write out what is printed at its end; this process ends before.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _run(
    words: list[str],
    owner: str,
    worker: bool | list[str],
    clock: int,
    oauth: dict[str, Any] | None = None,
    interprets_for: str | None = None,
    **_: Any,
) -> None:
    """Run a command in this process."""
    from graphmem import auth, settings
    from graphmem import worker as work
    from graphmem.auth.authenticator import Authenticator
    from graphmem.cli.main import main
    from graphmem.database.planning import Planning
    from graphmem.interpretation import runs
    from graphmem.model import times
    from graphmem.service import process, serving

    reached_outcomes.install_if_wanted()
    failpoints.arm_from_environment()
    real = times.now
    times.now = lambda: real() + clock
    # Each service would have the server plan its queries beforehand, all of them in the end. Neo4j keeps such
    # plans beside those of the statements themselves, so a test would wait for both.
    Planning._plan = no_plan  # pyright: ignore[reportAttributeAccessIssue]
    # As the name is where it is used: a worker that runs after all takes the work of other tests.
    assert serving.work is work.work
    if not worker:
        serving.work = no_work
    else:
        # The copies that are due are those of tests of other processes.
        named = {kind.name for kind in work.KINDS} - {"copies"} if worker is True else {*worker}
        work.KINDS = tuple(kind for kind in work.KINDS if kind.name in named)
    if interprets_for is not None:
        claim = functools.partial(runs.claim_next, only_owner=interprets_for)
        runs.claim_next = claim
    if oauth is not None:
        oauth_changes.install(**oauth)
    if owner == OWNER_BY_TOKEN:
        Authenticator.actor = owner_by_token  # pyright: ignore[reportAttributeAccessIssue]
    else:
        auth.DEFAULT_OWNER = settings.DEFAULT_OWNER = owner
        auth.LOCAL_ACCOUNT = settings.LOCAL_ACCOUNT = owner
    if words == [LOCAL_SERVICE]:
        os.setsid()
        return process.main()
    sys.argv = ["graphmem", *words]
    return main()


def main() -> None:
    """Read requests until stdin ends, and answer each; then end what was started."""
    for module in ("api.app", "cli.main", "cli.serve", "dump", "runtime", "service.serving", "worker"):
        importlib.import_module(f"graphmem.{module}")
    quick_passwords.hash_with(quick_passwords.QUICK_COST)
    open_services.leave_open()
    # A collection would write to what the forks share, and so copy it.
    gc.freeze()
    running: set[int] = set()
    codes: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        for pid in list(running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                running.remove(pid)
                codes[pid] = os.waitstatus_to_exitcode(status)
        if "poll" in request:
            answer = {"code": codes.get(request["poll"])}
        else:
            answer = {"pid": _start(request)}
            running.add(answer["pid"])
            # The id may have been that of a process that ended.
            codes.pop(answer["pid"], None)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
