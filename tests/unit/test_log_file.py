"""The file of the log: one line for each event, and a new file once the file is large."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from graphmem import settings
from graphmem.auth import tokens
from graphmem.observability import logs
from tests.support.canaries import leaks
from tests.support.killed_services import until


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a log whose file is replaced after 2,000 bytes."""
    monkeypatch.setattr(logs, "FILE_BYTES", 2_000)
    logs.configure(settings.load(env="test"), tmp_path, console_level="critical")
    yield tmp_path
    logs.configure(settings.load(env="test", log_level="warning"), None)


def test_a_large_log_goes_on_in_a_new_file(folder: Path) -> None:
    for i in range(100):
        structlog.get_logger("test").info("an event", number=i, text="x" * 20)
    full = [folder / f"{logs.FILE}.{i}" for i in range(logs.FILES_KEPT, 0, -1)]
    files = [*full, folder / logs.FILE]
    assert sorted(folder.iterdir()) == sorted(files)
    assert all(2_000 <= file.stat().st_size < 2_400 for file in full)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(100 - len(lines), 100))


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / logs.FILE).read_text().splitlines()]


def test_the_line_of_an_operation_is_written_beside_it_and_before_later_lines(folder: Path) -> None:
    (folder / logs.FILE).touch()
    with structlog.contextvars.bound_contextvars(trace_id="t"):
        logs.operation("stats", {"outcome": "ok", "owner": "o"})
    assert not lines_of(folder)
    structlog.get_logger("test").info("an event")
    assert [line["event"] for line in lines_of(folder)] == ["stats", "an event"]
    assert lines_of(folder)[0].keys() == lines_of(folder)[1].keys() | {"outcome", "owner", "trace_id"}
    logs.operation("store", {"outcome": "ok"})
    until(lambda: len(lines_of(folder)) == 3)


def test_what_cannot_be_written_harms_neither_its_caller_nor_later_lines(folder: Path) -> None:
    unfit = logging.LogRecord("library", logging.WARNING, __file__, 1, "%d", ("no number",), None)
    for handler in logging.getLogger().handlers:
        # The handler of pytest, which is there as well, raises.
        if isinstance(handler, logs._Writer):
            handler.handle(unfit)
    structlog.get_logger("test").warning("no JSON", key={(1, 2): 3})
    logs.operation("stats", {"outcome": Unshown()})
    logs.operation("store", {"outcome": "ok"})
    until(lambda: len(lines_of(folder)) == 3)
    assert [line["event"] for line in lines_of(folder)] == ["no JSON", "stats", "store"]
    assert [line.get("unrenderable") for line in lines_of(folder)] == ["TypeError", "RuntimeError", None]


class Unshown:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


def test_a_secret_behind_a_line_break_is_not_logged(folder: Path) -> None:
    secret = tokens.make("gm_ak_")
    structlog.get_logger("test").warning("refused", reason=f"by\n{secret}")
    assert lines_of(folder)[0]["reason"] == "by\ngm_ak_[redacted]"


@pytest.mark.parametrize(("end", "kept"), [("", True), ("raise ValueError", True), ("kill()", False)])
def test_the_end_of_a_process_writes_what_waits_and_a_crash_loses_a_moment(
    tmp_path: Path, end: str, kept: bool
) -> None:
    program = f"""
import os, pathlib, signal, time
from graphmem import settings
from graphmem.observability import logs
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
logs.configure(settings.load(env="test"), pathlib.Path({str(tmp_path)!r}))
logs.operation("first", {{}})
time.sleep(4 * logs.WAIT_SECONDS)
logs.operation("last", {{}})
{end}
"""
    subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=60)
    assert [line["event"] for line in lines_of(tmp_path)] == ["first", *(["last"] if kept else [])]


def test_a_value_that_json_has_not_is_logged_as_python_shows_it(folder: Path) -> None:
    structlog.get_logger("test").info("an event", number=2**70, text="\ud800", thing={1: Path("x")})
    (line,) = lines_of(folder)
    assert (line["number"], line["thing"]) == (2**70, {"1": "PosixPath('x')"})


def test_a_secret_that_somebody_logs_is_redacted(folder: Path) -> None:
    secret = tokens.make(tokens.KEY_PREFIX)
    log = structlog.get_logger("test")
    log.info("an event", header=f"Bearer {secret}", nested={"key": secret})
    log.error("a fault", exc_info=ValueError(secret))
    text = (folder / logs.FILE).read_text()
    assert (secret in text, text.count("gm_sk_[redacted]")) == (False, 3)
    assert not list(leaks(folder))


def test_a_secret_in_a_log_fails_the_run(tmp_path: Path) -> None:
    log = tmp_path / "neo4j" / "query.log"
    log.parent.mkdir()
    log.write_text(f"ok\nRETURN '{tokens.make(tokens.ACCESS_PREFIX)}'\n")
    assert len(list(leaks(tmp_path))) == 1
    # The run itself ends with the same search.
    log.unlink()
