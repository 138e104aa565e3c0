"""The image, run beside a database of this machine, and a client of its service."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from graphmem import neo4j_local
from tests.support.containers import Container, Specification
from tests.support.images import REPOSITORY, Image
from tests.support.service import free_port

TOKEN = "token-of-the-tests-0123456789abcdef0123456789"
GRACE = 40.0
"""Seconds until an engine kills what it has told to stop, in compose.yaml and kubernetes.yaml."""
READY_SECONDS = 300.0
USER = 10001
DRAWER = REPOSITORY / "tests" / "data" / "drawer"


class Running:
    """The image beside a database. Its volume is ``data``, which is made unless it is there."""

    def __init__(self, image: Image, folder: Path, login: neo4j_local.InstanceLogin) -> None:
        self.image, self.port, self.data = image, free_port(), folder / "data"
        self.data.mkdir(mode=0o700, exist_ok=True)
        subprocess.run(["chown", "--recursive", f"{USER}:{USER}", self.data], check=True)
        self.container = Container("graphmem", folder, self._specification(login))
        self.http = self.client(TOKEN)

    def _specification(self, login: neo4j_local.InstanceLogin) -> Specification:
        ours = {
            "GRAPHMEM_PORT": str(self.port), "GRAPHMEM_LOG_JSON": "true", "SERVICE_BEARER_TOKEN": TOKEN,
            "NEO4J_URI": login.uri, "NEO4J_USERNAME": login.username, "NEO4J_PASSWORD": login.password,
        }  # fmt: skip
        (volume,) = self.image.configuration["Volumes"]
        return Specification(
            below=self.image.root,
            command=self.image.command,
            environment=self.image.environment | ours,
            user=self.image.configuration["User"],
            directory=self.image.configuration["WorkingDir"],
            volumes=[(self.data, volume, True)],
            tmpfs=["/tmp"],
        )

    def client(self, token: str) -> httpx.Client:
        """Return a client with a credential, which the caller closes."""
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=60.0)

    def until_ready(self) -> float:
        """Wait until the health check of the image says that it is healthy; return the seconds."""
        return self.until(lambda: not self.container.execute(*self.image.health_check).returncode)

    def until(self, condition: Callable[[], bool]) -> float:
        """Wait until a condition holds, while the container runs; return the seconds."""
        begun = time.monotonic()
        while not condition():
            assert self.container.is_running, self.container.output
            assert time.monotonic() < begun + READY_SECONDS, self.container.output
            time.sleep(0.2)
        return time.monotonic() - begun

    def execute(self, *command: str, stdin: Path = Path(os.devnull)) -> str:
        """Run a command in the container, which must succeed; return what it printed."""
        done = self.container.execute(*command, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def command(self, *words: str) -> Any:
        """Run a command of graphmem in the container; return its answer, read as JSON."""
        return json.loads(self.execute("graphmem", "--json", *words))

    def post(self, path: str, **arguments: Any) -> dict[str, Any]:
        answer = self.http.post(path, **arguments)
        assert answer.is_success, answer.text
        return answer.json()

    def close(self) -> None:
        """Kill it, if it runs."""
        self.http.close()
        self.container.kill()


LOOK = """
import json, pathlib
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
written = {}
for folder in ("/", "/opt/graphmem", "/etc", "/usr/bin", "/var/tmp", "/dev", "/data", "/tmp"):
    try:
        pathlib.Path(folder, "probe").write_text("x")
        pathlib.Path(folder, "probe").unlink()
        written[folder] = True
    except OSError as exc:
        written[folder] = exc.errno
print(json.dumps([status, written]))
"""


def assert_no_privileges(container: Container) -> None:
    """Assert that a container is the image's user, has no capability, and writes to its two folders alone."""
    done = container.execute("python", "-c", LOOK)
    status, written = json.loads(done.stdout)
    assert status["Uid"].split() == status["Gid"].split() == [str(USER)] * 4
    assert {status[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {""}
    assert status["NoNewPrivs"] == "1"
    assert {folder for folder, answer in written.items() if answer is True} == {"/data", "/tmp"}
