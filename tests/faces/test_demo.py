"""Where the demo keeps its data: never in anybody's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.cli.demo import MARKER, demo_settings, mark
from graphmem.cli.session import Session
from graphmem.errors import ConfigurationInvalid


def test_the_demo_uses_the_data_directory_that_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(tmp_path / "data"))
    settings, _ = demo_settings(Session())
    assert (settings.env, settings.data_path) == ("demo", tmp_path / "data")


def test_the_demo_uses_the_option_before_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(tmp_path / "data"))
    settings, _ = demo_settings(Session(overrides={"data_dir": tmp_path / "other"}))
    assert settings.data_path == tmp_path / "other"


def test_the_demo_refuses_a_directory_with_other_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "neo4j").mkdir()
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(tmp_path))
    with pytest.raises(ConfigurationInvalid, match="GRAPHMEM_DATA_DIR"):
        demo_settings(Session())
    assert not (tmp_path / MARKER).exists()


def test_the_demo_runs_again_in_its_own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHMEM_DATA_DIR", str(tmp_path))
    settings, _ = demo_settings(Session())
    mark(settings)
    (tmp_path / "neo4j").mkdir()
    assert demo_settings(Session())[0].data_path == tmp_path


def test_the_demo_names_the_variables_that_it_does_not_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://db.example:7687")
    monkeypatch.setenv("GRAPHMEM_BASE_URL", "http://memory.example")
    settings, ignored = demo_settings(Session())
    assert (settings.neo4j_uri, settings.base_url) == (None, None)
    assert ignored == ["NEO4J_URI", "GRAPHMEM_BASE_URL"]
