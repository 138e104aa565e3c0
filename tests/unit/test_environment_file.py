"""The file of variables in the data directory, and the notes that lead from one directory to another."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem import environment_file
from graphmem.cli.agents.hook_transport import NoAnswer, Reach
from graphmem.cli.main import app
from graphmem.doctor.machine import data_directory
from graphmem.errors import ConfigurationInvalid
from graphmem.settings import load

SECRET = "it's $HOME ${HOME} \\ of 32 characters!"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path


def write(folder: Path, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / environment_file.FILE).write_text("".join(f"{line}\n" for line in lines))


def shown(data: Path, *options: str, **environment: str) -> dict[str, tuple[Any, str]]:
    """Return value and origin of each setting, as `graphmem settings` shows them."""
    words = [*options, "--data-dir", str(data), "settings", "--json"]
    result = CliRunner().invoke(app, words, env=environment, catch_exceptions=False)
    answer = json.loads(result.stdout)
    assert answer["file"] == str(data / environment_file.FILE)
    return {row["name"]: (row["value"], row["from"]) for row in answer["settings"]}


def test_the_environment_wins_over_the_file_and_each_setting_says_where_it_comes_from(data: Path) -> None:
    secret = SECRET.replace("\\", "\\\\").replace("'", "\\'")
    write(data, "# a comment", f"NEO4J_PASSWORD='{secret}'", "GRAPHMEM_PORT=4001", "GRAPHMEM_HOST=::1")
    answer = shown(data, "--env", "test", GRAPHMEM_HOST="127.0.0.2", GRAPHMEM_PORT="")
    assert answer["GRAPHMEM_HOST"] == ("127.0.0.2", "environment")
    assert answer["GRAPHMEM_PORT"] == (4001, "file")
    assert answer["GRAPHMEM_ENV"] == ("test", "option")
    assert answer["GRAPHMEM_POOL_SIZE"] == (64, "default")
    assert answer["NEO4J_PASSWORD"] == ("********", "file")
    assert load(data_dir=data).neo4j_password.get_secret_value() == SECRET


def test_the_file_of_another_directory_leaves_nothing_behind(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    write(data / "a", "GRAPHMEM_PORT=4001", "export AWS_ACCESS_KEY_ID=of-a")
    assert load(data_dir=data / "a").port == 4001
    assert os.environ["AWS_ACCESS_KEY_ID"] == "of-a"
    assert load(data_dir=data / "b").port is None
    assert "AWS_ACCESS_KEY_ID" not in os.environ


@pytest.mark.parametrize("line", ["no assignment", "GRAPHMEM_DATA_DIR=/x", "GRAPHMEM_ENV=demo", "X='open"])
def test_a_line_that_cannot_be_is_refused_and_a_hook_stays_silent(data: Path, line: str) -> None:
    write(data, "GRAPHMEM_PORT=4001", line)
    with pytest.raises(ConfigurationInvalid, match=r"graphmem\.env"):
        load(data_dir=data)
    with pytest.raises(NoAnswer, match=r"graphmem\.env"):
        Reach("test", data_dir=str(data)).call("changes.list", {})


def test_a_hook_finds_the_service_that_commands_find(data: Path) -> None:
    write(data / "a", "NEO4J_URI=bolt://nowhere")
    (data / "b").mkdir()
    (data / "b" / environment_file.NOTE).write_text(f"{data / 'a'}\n")
    reach = Reach("test", data_dir=str(data / "b"))
    with pytest.raises(NoAnswer):
        reach.call("changes.list", {})
    assert reach.turns()[0].parent.parent == load(data_dir=data / "b").data_path == data / "a"


def test_notes_are_followed_to_their_end(data: Path) -> None:
    ends = {"a": data / "b", "b": data / "c", "c": data / "c", "round": data / "trip", "trip": data / "round"}
    for name, target in {**ends, "odd": Path("relative")}.items():
        (data / name).mkdir()
        (data / name / environment_file.NOTE).write_text(str(target))
    for name, end in {"a": "c", "b": "c", "c": "c", "odd": "odd", "none": "none"}.items():
        assert environment_file.directory(data / name, "test") == data / end
    assert environment_file.directory(data / "round", "test") in (data / "round", data / "trip")


def test_the_doctor_tells_a_file_that_others_can_read(data: Path) -> None:
    write(data, "NEO4J_PASSWORD=x")
    data.chmod(0o700)
    (data / environment_file.FILE).chmod(0o644)
    findings = data_directory(load(data_dir=data))
    assert isinstance(findings, list)
    assert [(each.status, "chmod 600" in each.fix) for each in findings] == [("fail", True)]
