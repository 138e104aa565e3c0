"""``graphmem update check`` and ``graphmem scripts``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from graphmem import __version__
from graphmem.auth import guarded_fetch
from graphmem.cli import update
from graphmem.cli.main import app

Asked = Callable[[str], list[list[str]]]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Let processes print a text; return their command lines."""

    def prepare(stdout: str) -> list[list[str]]:
        lines: list[list[str]] = []

        def run(words: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
            lines.append(list(words))
            return subprocess.CompletedProcess(words, 3, stdout, "ERROR: no network\n")

        monkeypatch.setattr(subprocess, "run", run)
        return lines

    return prepare


def checked(**environ: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["update", "check", "--json"], env=environ)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[str]]:
    """Let the package index answer a document, or be out of reach for None; return the addresses asked."""

    def prepare(document: Any) -> list[str]:
        addresses: list[str] = []

        def reply(request: httpx.Request) -> httpx.Response:
            addresses.append(f"https://{request.headers['host']}{request.url.path}")
            return httpx.Response(200, stream=httpx.ByteStream(json.dumps(document).encode()), headers=JSON)

        async def resolve(host: str) -> list[str]:
            if document is None:
                raise OSError
            return ["93.184.216.34"]

        made = partial(guarded_fetch.Fetcher, resolve=resolve, connections=lambda: httpx.MockTransport(reply))
        monkeypatch.setattr("graphmem.auth.guarded_fetch.Fetcher", made)
        return addresses

    return prepare


def released(*versions: str, yanked: str = "", **urls: str) -> dict[str, Any]:
    files = {version: [{"yanked": version == yanked, "filename": "x" * 9_000}] for version in versions}
    return {"info": {"release_url": "https://index/latest", "project_urls": urls or None}, "releases": files}


def test_a_newer_version_is_told_with_the_command_that_installs_it(index: Callable[..., list[str]]) -> None:
    versions = ("99.9.1", "0.0.1", "99.10.0", "99.11.0", __version__, "100.0.0rc1")
    addresses = index({**released(*versions, yanked="99.11.0"), "more": None})
    answer = checked(GRAPHMEM_UPDATE_INDEX="https://packages.example.com/")
    assert (answer["newest"], answer["newer"]) == ("99.10.0", ["99.10.0", "99.9.1"])
    assert (answer["installed_with"], "git -C" in answer["update"]) == ("checkout", True)
    assert answer["changes"] == "https://index/latest"
    assert addresses == ["https://packages.example.com/pypi/graphmem/json"]
    addresses = index(released("99.0", Changelog="https://example.com/changes"))
    assert (checked()["changes"], addresses) == (
        "https://example.com/changes", ["https://pypi.org/pypi/graphmem/json"],
    )  # fmt: skip
    index(released(__version__))
    assert (checked()["newest"], checked()["update"]) == (__version__, None)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (None, "pypi.org does not resolve"),
        ({}, "something else"),
        ({"releases": []}, "something else"),
        (released(), "no version"),
    ],
)
def test_an_index_that_does_not_answer_is_no_fault(
    document: Any, said: str, index: Callable[..., list[str]]
) -> None:
    index(document)
    assert said in checked()["message"]


def test_an_index_that_is_off_or_of_the_internal_network_is_not_asked(
    index: Callable[..., list[str]],
) -> None:
    addresses = index(released("99.0"))
    assert "not asked" in checked(GRAPHMEM_UPDATE_INDEX="off")["message"]
    assert "IP address" in checked(GRAPHMEM_UPDATE_INDEX="https://10.0.0.1")["message"]
    assert addresses == []


def test_the_command_that_updates_is_that_of_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "checkout", lambda: None)
    pip, uv = (SimpleNamespace(read_text=lambda _, name=name: f"{name}\n") for name in ("pip", "uv"))
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: pip)
    for prefix, way, words in (
        ("/home/ada/.local/share/pipx/venvs/graphmem", "pipx", "pipx upgrade graphmem"),
        ("/home/ada/.local/share/uv/tools/graphmem", "uv tool", "uv tool upgrade graphmem"),
        ("/home/ada/.cache/uv/archive-v0/x", "uvx", "uvx --refresh graphmem --version"),
        ("/home/ada/.venv", "pip", f"{sys.executable} -m pip install --upgrade graphmem"),
    ):
        monkeypatch.setattr(sys, "prefix", prefix)
        assert update._installed() == (way, words)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: uv)
    by_uv = f"uv pip install --python {sys.executable} --upgrade graphmem"
    assert update._installed() == ("uv", by_uv)


def test_scripts_are_the_targets_of_a_checkout_and_run_by_make(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed = json.loads(CliRunner().invoke(app, ["scripts", "--json"]).stdout)
    assert listed["test"] == "Run the test suite on a real Neo4j"
    lines = asked("")
    assert CliRunner().invoke(app, ["scripts", "test"]).exit_code == 3
    assert CliRunner().invoke(app, ["scripts", "rm -rf"]).exit_code == 2
    assert [words[:2] + words[3:] for words in lines] == [["make", "-C", "test"]]
    monkeypatch.setattr(update, "checkout", lambda: None)
    assert "take a checkout" in CliRunner().invoke(app, ["scripts"], env={"COLUMNS": "200"}).stderr
