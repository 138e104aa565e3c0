"""What the command line imports: operations, models and the database only where a command needs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from graphmem.cli import main
from graphmem.service.place import lock, make_folder, place
from graphmem.settings import Settings, ToolsetName
from tests.support.imports import HEAVY, imported, imported_by
from tests.support.mcp_conversation import TOOLS, opening

RESIDENT_BYTES_LIMIT = 60_000_000


@pytest.fixture
def occupied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data directory whose lock is held by this process: nobody starts a service there."""
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.delenv("GRAPHMEM_OFFLINE", raising=False)
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(tmp_path))
    service_place = place(Settings(data_dir=tmp_path))
    make_folder(service_place)
    handle = lock(service_place)
    assert handle is not None
    yield tmp_path
    os.close(handle)


@pytest.mark.parametrize("words", [["--help"], ["entities", "--help"], ["store", "--help"]])
def test_help_imports_neither_operations_nor_settings(words: list[str]) -> None:
    modules, answer = imported(*words)
    assert not modules & (HEAVY | {"graphmem.settings"})
    assert answer


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_the_shortest_answers_import_no_models(word: str) -> None:
    modules, _ = imported(word)
    assert not modules & {"pydantic", "asyncio", "importlib.metadata", "rich.progress"}


def test_libraries_of_languages_are_imported_by_the_first_question_only() -> None:
    assert "Stemmer" not in imported_by("import graphmem.registry")
    asked = "from graphmem.search import terms; terms.of_question('what did she sell in May')"
    assert "Stemmer" not in imported_by(asked)
    assert "Stemmer" in imported_by("from graphmem.text import languages; languages.stems('en', ['sold'])")


def test_the_handshake_of_mcp_imports_neither_operations_nor_the_mcp_package(occupied: Path) -> None:
    messages = [{"jsonrpc": "2.0", "id": i, **m} for i, m in enumerate([opening("2025-06-18"), TOOLS])]
    modules, answer = imported("mcp", stdin="".join(f"{json.dumps(message)}\n" for message in messages))
    assert not modules & HEAVY
    assert [json.loads(line)["id"] for line in answer.splitlines()] == [0, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_mcp_with_its_tools_listed_is_resident_in_60_mb(occupied: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "graphmem", "mcp", "--tools", "full"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    for number, message in enumerate([opening("2025-06-18"), TOOLS]):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **message}).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]
    status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    process.stdin.close()
    process.wait(30)
    process.stdout.close()
    (resident,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert int(resident) * 1024 < RESIDENT_BYTES_LIMIT


def test_the_command_line_takes_the_names_that_the_settings_take() -> None:
    assert get_args(main.Toolset) == get_args(ToolsetName)
    assert get_args(main.Env) == get_args(Settings.model_fields["env"].annotation)
