"""Services that are up in a fraction of a second: forks of a process that has everything imported.

Run as a module it reads requests from stdin, one JSON object a line, and writes an answer a line. A request
with ``words`` starts a ``graphmem`` command, and the answer is its ``pid``; ``{"wait": pid}`` waits for its
end, and the answer is its exit ``code``.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from graphmem.settings import Settings
from tests.support.service import environment, no_work


class Forks:
    """The process that forks, seen from a test."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked_services"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._living: set[int] = set()

    def start(
        self,
        settings: Settings,
        folder: Path,
        *words: str,
        worker: bool = False,
        clock: int = 0,
        **variables: str,
    ) -> int:
        """Start a command; return its process id.

        Args:
            worker: whether the worker of a service does its work.
            clock: how many microseconds its clock is ahead.
        """
        environ = environment(settings, folder, **variables)
        options = {"environ": environ, "console": str(folder / "console"), "worker": worker, "clock": clock}
        pid = self._ask({"words": words, **options})["pid"]
        self._living.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        """Return the exit code of a command once it has ended, negative for a signal."""
        code = self._ask({"wait": pid})["code"]
        self._living.discard(pid)
        return code

    def kill(self, pid: int) -> None:
        """Kill a command."""
        os.kill(pid, signal.SIGKILL)
        self.wait(pid)

    def close(self) -> None:
        """End all commands, and the process that forks."""
        for pid in list(self._living):
            self.kill(pid)
        with self._process:
            pass

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def _start(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    console = os.open(request["console"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(console, number)
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["graphmem", *request["words"]]
    from graphmem import worker
    from graphmem.cli.main import main
    from graphmem.model import times
    from tests.support import reached_outcomes

    reached_outcomes.install_if_wanted()

    real, ahead = times.now, request["clock"]
    times.now = lambda: real() + ahead
    if not request["worker"]:
        worker.work = no_work
    try:
        main()
    except SystemExit as exc:
        os._exit(exc.code if isinstance(exc.code, int) else 1)
    os._exit(0)


def main() -> None:
    """Read requests until stdin ends, and answer each."""
    from graphmem import auth
    from tests.support.service import owner_by_token

    auth.authenticate = owner_by_token
    for module in ("api.app", "cli.main", "cli.serve", "dump", "runtime", "worker"):
        importlib.import_module(f"graphmem.{module}")
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = {"code": os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])}
        else:
            answer = {"pid": _start(request)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
