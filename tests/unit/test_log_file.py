"""The file of the log: one line for each event, and a new file once the file is large."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from graphmem import settings
from graphmem.observability import logs


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
