"""A real S3 server for tests: that of the environment, a container, or versitygw of this machine.

``python -m tests.support.s3_server`` builds versitygw once, and says so where there is no Go.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import httpx
import platformdirs
import pytest
from botocore.config import Config

from tests.support.database import engine_answers
from tests.support.service import free_port

VERSION = "v1.8.0"
"""The version of docker/compose.yaml."""
MODULE = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
BUILD_SECONDS = 480
START_SECONDS = 60.0
ENDPOINT_VARIABLE = "GRAPHMEM_TEST_S3_ENDPOINT"
LACKING = (
    f"there is no S3 server: set {ENDPOINT_VARIABLE} and AWS_ACCESS_KEY_ID, run a Docker engine, or run "
    "python -m tests.support.s3_server where Go is"
)
ACCESS_KEY, SECRET_KEY = "graphmem-tests", "not-a-secret-of-anybody"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_DEFAULT_REGION": "us-east-1",
}
# The client of each store would read the description of S3 anew, which takes 60 ms of CPU.
botocore.session.create_loader = functools.cache(botocore.session.create_loader)


@dataclass(slots=True)
class S3Server:
    """A server: its address, and the variables with which clients reach it."""

    endpoint: str
    variables: dict[str, str] = field(default_factory=dict)
    _opened: Any = field(init=False, default=None, repr=False)

    def client(self) -> Any:
        """Return a client that does not wait long: always the same, as each new one costs 0.2 s of CPU."""
        if self._opened is None:
            self._opened = self._new_client()
        return self._opened

    def _new_client(self) -> Any:
        given = os.environ | self.variables
        return boto3.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=given.get("AWS_DEFAULT_REGION", "us-east-1"),
            aws_access_key_id=given["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
            config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
        )

    def new_bucket(self) -> str:
        """Make an empty bucket and return its name."""
        name = f"graphmem-{uuid.uuid4().hex}"
        self.client().create_bucket(Bucket=name)
        return name


class Versitygw:
    """A versitygw in a process of its own, which a test may kill and start again."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.server = S3Server(f"http://127.0.0.1:{self._port}", dict(CREDENTIALS))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._folder.mkdir(exist_ok=True)
        options = ["--port", f"127.0.0.1:{self._port}", "--quiet", "--health", "/health"]
        with (self._folder.parent / f"{self._folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._program), *options, "posix", str(self._folder)],
                env={"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
                stdout=log,
                stderr=log,
            )
        _wait_until_up(f"{self.server.endpoint}/health")

    def kill(self) -> None:
        """Kill it: nothing is flushed or closed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(30)
            self._process = None


def versitygw() -> Path | None:
    """Return the program, ``None`` where it is neither on the PATH nor built."""
    built = _build_folder() / "versitygw"
    on_path = shutil.which("versitygw")
    return Path(on_path) if on_path else built if built.exists() else None


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[S3Server | None]:
    """Yield a server, ``None`` where there is none. A server that this starts is stopped at the end.

    Args:
        folder: where versitygw keeps its files.
    """
    if endpoint := os.environ.get(ENDPOINT_VARIABLE):
        yield S3Server(endpoint)
        return
    if engine_answers():
        with _container() as server:
            yield server
        return
    program = versitygw()
    if program is None:
        yield None
        return
    running = Versitygw(program, folder)
    try:
        running.start()
        yield running.server
    finally:
        running.kill()


@contextlib.contextmanager
def required_s3_server(folder: Path) -> Iterator[S3Server]:
    """Yield a server that the environment reaches. The test is skipped where there is none.

    Args:
        folder: where versitygw keeps its files.
    """
    with s3_server(folder) as running, pytest.MonkeyPatch.context() as patch:
        if running is None:
            pytest.skip(LACKING)
        for name, value in running.variables.items():
            patch.setenv(name, value)
        yield running


@contextlib.contextmanager
def _container() -> Iterator[S3Server]:
    from testcontainers.core.container import DockerContainer

    made = (
        DockerContainer(f"versity/versitygw:{VERSION}")
        .with_env("ROOT_ACCESS_KEY", ACCESS_KEY)
        .with_env("ROOT_SECRET_KEY", SECRET_KEY)
        .with_exposed_ports(7070)
        .with_command("--health /health posix /tmp")
    )
    with made as container:
        address = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(7070)}"
        _wait_until_up(f"{address}/health")
        yield S3Server(address, dict(CREDENTIALS))


def _wait_until_up(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url, timeout=5.0, trust_env=False).is_success:
                return
        assert time.monotonic() < deadline, f"no S3 server answers at {url}"
        time.sleep(0.05)


def _build_folder() -> Path:
    return platformdirs.user_cache_path("graphmem-tests", appauthor=False) / f"versitygw-{VERSION}"


def build() -> str:
    """Build versitygw if it is not there and Go is; return a sentence about it."""
    if (there := versitygw()) is not None:
        return f"The S3 server of the tests is {there}."
    if shutil.which("go") is None:
        return "There is no Go here to build versitygw, so the tests with a real S3 server are skipped."
    folder = _build_folder()
    try:
        subprocess.run(
            ["go", "install", MODULE],
            env={**os.environ, "GOBIN": str(folder)},
            check=True,
            timeout=BUILD_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as exc:
        return f"versitygw was not built ({exc}), so the tests with a real S3 server are skipped."
    return f"The S3 server of the tests is built: {folder / 'versitygw'}."


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
