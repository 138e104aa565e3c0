"""The console of `graphmem serve` with GRAPHMEM_LOG_JSON has lines of JSON, and nothing else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVE = [sys.executable, "-m", "graphmem", "serve"]


@contextmanager
def port_that_refuses() -> Iterator[int]:
    """Yield a port that is bound, and at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a service that logs JSON."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GRAPHMEM_", "NEO4J_"))}
    own = {
        "GRAPHMEM_LOG_JSON": "true",
        "GRAPHMEM_DATA_DIR": str(folder),
        "NEO4J_PASSWORD": "a-password",
        "GRAPHMEM_ENV": "test",
    }
    return kept | own | variables


def test_what_a_start_waits_for_is_logged(tmp_path: Path) -> None:
    with port_that_refuses() as port:
        variables = {"NEO4J_URI": f"bolt://127.0.0.1:{port}", "GRAPHMEM_PORT": "0"}
        _read_until_it_waits(environment(tmp_path, **variables))


def _read_until_it_waits(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        SERVE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout
        try:
            for line in process.stdout:
                event = json.loads(line)
                if event["event"].startswith("waiting for the database at bolt://127.0.0.1"):
                    break
            else:
                raise AssertionError("it ended, and said nothing of what it waits for")
            assert (event["level"], event["logger"]) == ("warning", "graphmem.runtime")
        finally:
            process.terminate()
        for line in process.stdout:
            json.loads(line)


def test_an_error_that_ends_a_start_is_a_line_of_json(tmp_path: Path) -> None:
    with port_that_refuses() as port:
        variables = {"NEO4J_URI": "bolt://127.0.0.1:1", "GRAPHMEM_PORT": str(port)}
        done = subprocess.run(SERVE, env=environment(tmp_path, **variables), capture_output=True, text=True)
    assert done.returncode
    (line,) = (done.stdout + done.stderr).splitlines()
    error = json.loads(line)
    assert error["error_code"] == "CONFIGURATION_INVALID"
    assert "--port" in error["message"]
