"""A setting that cannot be is refused before anything starts, with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphmem.cli.main import app
from graphmem.doctor.finding import Finding, redact
from graphmem.errors import ConfigurationInvalid
from graphmem.setting_values import parsed_limits
from graphmem.settings import load, without_url_secrets


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("GRAPHMEM_PORT", "tcp://10.0.0.1:3080", "enableServiceLinks: false"),
        ("GRAPHMEM_PORT", "many", "integer"),
        ("NEO4J_URI", "http://localhost:7474", "bolt://host:7687"),
        ("NEO4J_URI", "localhost:7687", "bolt://host:7687"),
        ("NEO4J_URI", "bolt://", "bolt://host:7687"),
        ("SERVICE_BEARER_TOKEN", "short", "needs 32"),
        ("SERVICE_BEARER_TOKEN", "a token of more than thirty-two characters", "without spaces"),
        ("SERVICE_BEARER_TOKEN", "é" * 32, "ASCII"),
        ("GRAPHMEM_MERGE_RULES_OFF", "person", "such as person:name"),
        ("GRAPHMEM_MERGE_RULES_OFF", "person:", "such as person:name"),
        ("GRAPHMEM_MERGE_RULES_OFF", "Person:name", "such as person:name"),
        ("GRAPHMEM_MERGE_RULES_OFF", "person:name;event:title", "such as person:name"),
    ],
)
def test_a_setting_that_cannot_be_says_what_can(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationInvalid) as caught:
        load()
    assert words in str(caught.value)
    assert variable in str(caught.value)


@pytest.mark.parametrize(
    "uri", ["bolt://h", "bolt+s://h:1", "neo4j://h", "neo4j+s://h", "neo4j+ssc://h:7687"]
)
def test_every_way_to_reach_a_neo4j_is_taken(monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    monkeypatch.setenv("NEO4J_URI", uri)
    assert load().neo4j_uri == uri


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("600/minute", [("600 per 1 minute", 60)]),
        ("10/second;600 per 5 Minutes", [("10 per 1 second", 1), ("600 per 5 minute", 300)]),
        (" 5 / 2 hours , 100/day", [("5 per 2 hour", 7_200), ("100 per 1 day", 86_400)]),
        ("off", []),
        ("", []),
    ],
)
def test_a_rate_limit_is_requests_in_a_time(text: str, limits: list[tuple[str, int]]) -> None:
    assert [(str(limit), limit.seconds) for limit in parsed_limits(text)] == limits
    assert load(limit_reads=text).limit_reads == text


@pytest.mark.parametrize(
    "text", ["many", "0/minute", "10", "10/fortnight", "10/0 minutes", "10/minute;", "-1/day"]
)
def test_what_is_no_rate_limit_says_how_one_is_written(text: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="is no limit: write for example 600/minute"):
        load(limit_reads=text)


def test_a_port_may_be_given_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEM_PORT", "3999")
    assert load().service_port == 3999


def test_the_alternatives_that_are_off_are_told_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().merge_rules_off_by_type == {}
    monkeypatch.setenv("GRAPHMEM_MERGE_RULES_OFF", " person:name, person:name+birthday ,event:title,")
    assert load().merge_rules_off_by_type == {
        "person": frozenset({"name", "name+birthday"}), "event": frozenset({"title"}),
    }  # fmt: skip


def test_a_data_directory_has_one_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for name in ("data", "link", "x/../data", "x/../link"):
        assert load(data_dir=tmp_path / name).data_path == tmp_path / "data"
    assert load(data_dir=tmp_path / "round").data_path == tmp_path / "round"


@pytest.mark.parametrize(
    ("overrides", "url"),
    [
        ({}, "http://127.0.0.1:9"),
        ({"host": "::1"}, "http://[::1]:9"),
        ({"base_url": "http://inside:3080"}, "http://inside:3080"),
        ({"base_url": "http://inside:3080", "public_url": "https://m.example/"}, "https://m.example"),
    ],
)
def test_a_service_says_where_others_reach_it(overrides: dict[str, str], url: str) -> None:
    assert load(**overrides).advertised_url(9) == url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@h.example/v1", "https://…@h.example/v1"),
        ("https://h.example/v1?api-key=abc&v=1#f", "https://h.example/v1?…&…#f"),
        ("it says no at bolt://neo4j:p@h:7687: why", "it says no at bolt://…@h:7687: why"),
        ("https://h.example/a@b", "https://h.example/a@b"),
        ("write to a@b.example?x=1", "write to a@b.example?x=1"),
    ],
)
def test_urls_are_shown_without_their_credentials(url: str, shown: str) -> None:
    assert without_url_secrets(url) == shown


def test_no_secret_is_shown_by_settings_or_the_doctor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = "https://me:hunter2@models.example/v1?key=hunter2"
    monkeypatch.setenv("GRAPHMEM_LLM_URL", url)
    monkeypatch.setenv("GRAPHMEM_LLM_MODEL", "m")
    monkeypatch.setenv("GRAPHMEM_LLM_KEY", "hunter3-of-the-model")
    for form in ([], ["--json"]):
        shown = CliRunner().invoke(app, ["--data-dir", str(tmp_path), "settings", *form])
        assert shown.exit_code == 0
        assert "hunter" not in shown.output
        assert "models.example" in shown.output
    (finding,) = redact([Finding("x", "fail", f"{url} refuses hunter3-of-the-model")], load())
    assert "hunter" not in finding.what
