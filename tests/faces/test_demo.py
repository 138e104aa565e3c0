"""Where the demo keeps its data: never in anybody's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.cli.demo import BUDGET, MARKER, QUESTIONS, demo_settings, mark
from graphmem.cli.session import Session
from graphmem.errors import ConfigurationInvalid
from graphmem.ingest.own_files import read_request
from tests.contract.snapshots import ROOT
from tests.support.faces import Call


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


ANSWERS = {
    "Where does Maren work?": "Tarnhill Observatory Trust",
    "Who manages the Tarnhill Community Observatory?": "Idris Oyelami-Marsh",
    "What is the status of the primary mirror?": "done",
}


def test_the_example_world_ends_what_ended_and_answers_the_questions_of_the_demo(run: Call) -> None:
    for file in sorted((ROOT / "examples").glob("*.json")):
        run("store", **read_request(file.read_bytes(), file.name))
    (maren,) = run("entities.find", identifier="maren@odegaard-ruiz.example")["entities"]
    for kind, target in (
        ("WORKS_AT", "Tarnhill Observatory Trust"), ("REPORTS_TO", "Beatriz Falcón Iturbe"),
        ("MANAGES", "Write the volunteer handbook"),
    ):  # fmt: skip
        listed = run(
            "relationships.list", source_entity_id=maren["entity_id"], relationship_type=kind, current=True,
            expand_entities=True,
        )  # fmt: skip
        (link,) = listed["relationships"]
        assert run("entities.get", entity_id=link["target_entity_id"])["canonical_name"] == target
    questions = (ROOT / "examples" / QUESTIONS).read_text(encoding="utf-8").splitlines()
    assert questions == [*ANSWERS]
    for question, answer in ANSWERS.items():
        first, *_ = run("context.retrieve", question=question, budget=BUDGET)["lines"]
        assert answer in first, (question, first)
