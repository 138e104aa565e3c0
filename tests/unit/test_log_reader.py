"""``graphmem logs``: lines of all logs by time, with filters, from rotated files, and as they come."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.cli.main import app
from graphmem.settings import Settings, load

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
NEO4J = """
2026-11-05 10:00:02.500+0000 INFO  Started.
2026-11-05 10:00:04.000+0000 WARN  It is slow
\tat org.neo4j.Main
"""


def line(event: str, at: str, level: str = "info", **more: Any) -> str:
    return json.dumps({"event": event, "level": level, "timestamp": f"2026-11-05T{at}Z", **more}) + "\n"


@pytest.fixture
def chosen(tmp_path: Path) -> Settings:
    """An instance with logs, of which the oldest was rotated twice."""
    for folder in ("logs", "service", "neo4j/logs"):
        (tmp_path / folder).mkdir(parents=True)
    log = tmp_path / "logs" / "graphmem.log"
    log.write_text(line("store", "10:00:03.000001", trace_id=TRACE) + line("fault", "10:00:05", "error"))
    Path(f"{log}.1").write_text(line("second", "10:00:01.5"))
    Path(f"{log}.2").write_text(line("first", "09:00:00.000000") + '{"event": "cut sho\n')
    (tmp_path / "neo4j" / "logs" / "neo4j.log").write_text(NEO4J)
    console = "2026-11-05T10:00:05.000000Z [error    ] fault  trace_id=1\nTraceback\n  File\n"
    (tmp_path / "service" / "embedded.console").write_text(console)
    return load(data_dir=tmp_path)


def shown(chosen: Settings, *words: str) -> list[str]:
    result = CliRunner().invoke(
        app, ["logs", "--json", *words], env={"GRAPHMEM_DATA_DIR": str(chosen.data_path)}
    )
    assert result.exit_code == 0, result.output
    return [json.loads(each)["event"] for each in result.stdout.splitlines()]


def test_the_lines_of_all_logs_come_by_time_with_those_of_rotated_files(chosen: Settings) -> None:
    every = [
        "first",
        '{"event": "cut sho',
        "second",
        "Started.",
        "store",
        "It is slow",
        "\tat org.neo4j.Main",
    ]
    assert shown(chosen) == [*every, "fault", "Traceback", "  File"]
    assert shown(chosen, "-n", "3") == ["fault", "Traceback", "  File"]


def test_filters_leave_the_lines_that_are_wanted(chosen: Settings) -> None:
    problems = ["It is slow", "\tat org.neo4j.Main", "fault", "Traceback", "  File"]
    for words, expected in (
        (("--level", "warning"), problems),
        (("--level", "error", "-n", "1"), ["  File"]),
        (("--trace", TRACE[:8]), ["store"]),
        (("--log", "neo4j"), ["Started.", "It is slow", "\tat org.neo4j.Main"]),
        (("--log", "service"), ["Traceback", "  File"]),
        (("--since", "2026-11-05T10:00:05Z"), ["fault", "Traceback", "  File"]),
        (("--since", "2027-01-01"), []),
    ):
        assert shown(chosen, *words) == expected, words


def test_people_see_one_line_each_and_the_exception_below(chosen: Settings) -> None:
    log = chosen.data_path / "logs" / "graphmem.log"
    log.write_text(line("broken", "11:00:00", "error", exception="Traceback:\n  File x", trace_id="7"))
    result = CliRunner().invoke(app, ["logs", "-n", "1"], env={"GRAPHMEM_DATA_DIR": str(chosen.data_path)})
    first, *rest = result.stdout.splitlines()
    assert first == "2026-11-05 11:00:00Z graphmem error   broken trace_id=7"
    assert rest == ["    Traceback:", "      File x"]


def test_lines_are_followed_over_the_change_to_a_new_file(
    chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = chosen.data_path / "logs" / "graphmem.log"

    def append(text: str) -> None:
        with log.open("a") as file:
            file.write(text)

    def replace() -> None:
        append(line("last", "10:00:08"))
        log.rename(f"{log}.1")
        log.write_text(line("new", "10:00:09"))

    parts = line("added", "10:00:06") + '{"event": "half', f'", {line("x", "10:00:07")[1:]}'
    steps = iter([lambda: append(parts[0]), lambda: append(parts[1]), replace])

    def turn(_: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(time, "sleep", turn)
    result = CliRunner().invoke(
        app, ["logs", "--json", "-n", "0", "--follow"], env={"GRAPHMEM_DATA_DIR": str(chosen.data_path)}
    )
    assert [json.loads(each)["event"] for each in result.stdout.splitlines()] == ["added", "x", "last", "new"]
