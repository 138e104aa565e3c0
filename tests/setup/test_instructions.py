"""`graphmem instructions`: the lines for agents in files that people write."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphmem.cli.agents.agent_table import TEXT, agents
from graphmem.cli.agents.config_files import BEGIN, END
from graphmem.mcp.toolsets import TOOLSETS
from tests.setup.conftest import Run
from tests.support.long_cases import mostly_long

WITH_FILES = [name for name, agent in agents().items() if "instructions" in agent.row]
TEXTS = ["# My rules\n\nBe brief.", "# My rules\n", "a\r\nb\r\n", "\n\n", ""]


@pytest.mark.parametrize("name", mostly_long(WITH_FILES, "claude-code", "codex"))
def test_install_adds_the_lines_to_every_kind_of_file_and_undo_gives_the_bytes_back(
    home: Path, run: Run, name: str
) -> None:
    row = agents()[name].row["instructions"]
    for scope in {"user", "project"} & set(row):
        file = (home if scope == "user" else home / "project") / row[scope]
        file.parent.mkdir(parents=True, exist_ok=True)
        words = ("instructions", "install", name, "--scope", scope)
        for text in TEXTS:
            file.write_bytes(text.encode())
            assert run(*words).exit_code == 0
            after = file.read_bytes().decode()
            assert after.startswith(text)
            assert after.count(BEGIN) == after.count(END) == 1
            assert run("instructions", "check", name, "--scope", scope).exit_code == 0
            assert "as asked" in run(*words).output
            assert run(*words, "--undo").exit_code == 0
            assert file.read_bytes().decode() == text
        file.unlink()
        assert run(*words).exit_code == 0
        # Rules of a project's folder are read always, not on request.
        assert file.read_text().startswith(row.get("front", BEGIN) if scope == "project" else BEGIN)
        assert run(*words, "--undo").exit_code == 0
        assert not file.exists()


def test_lines_of_an_earlier_version_are_replaced_where_they_stand(home: Path, run: Run) -> None:
    file = home / "project/AGENTS.md"
    old = f"# Mine\n\n<!-- graphmem: begin -->\nold\n{END}\n\n## Also mine\n"
    file.write_text(old)
    assert "outdated" in run("instructions", "check", "codex").output
    assert run("instructions", "check", "codex").exit_code == 1
    assert run("instructions", "install", "codex").exit_code == 0
    text = file.read_text()
    assert "old" not in text
    assert text.index("# Mine") < text.index(BEGIN) < text.index("## Also mine")
    file.write_text(text + "written later\n")
    assert run("instructions", "install", "codex", "--undo").exit_code == 0
    assert file.read_text() == "# Mine\n\n## Also mine\nwritten later\n"


def test_a_file_with_one_marker_is_refused(home: Path, run: Run) -> None:
    file = home / "project/AGENTS.md"
    file.write_text(f"{BEGIN}\nmine\n")
    assert run("instructions", "install", "codex").exit_code == 1
    assert file.read_text() == f"{BEGIN}\nmine\n"


def test_a_file_that_several_agents_read_is_written_once(home: Path, run: Run) -> None:
    rows = json.loads(run("instructions", "install", "codex", "zed", "opencode", "--json").output)["agents"]
    assert [row["result"] for row in rows] == ["added"]


def test_the_lines_name_tools_that_a_client_lists(run: Run) -> None:
    printed = run("instructions", "print").output
    named = set(re.findall(r"`(\w+)`", TEXT.read_text())) - {"graphmem"}
    assert TEXT.read_text().strip() in printed
    assert named <= set(TOOLSETS["core"].tools())
