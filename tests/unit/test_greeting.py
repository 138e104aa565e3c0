"""For which differences of settings a caller refuses a local service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphmem.service import calling, greeting
from graphmem.settings import Settings, variable


def test_the_name_of_the_instance_makes_no_difference_in_one_data_directory(tmp_path: Path) -> None:
    """A demo in a named directory is asked by a command that names the directory alone."""
    demo = greeting.identity(Settings(env="demo", data_dir=tmp_path))
    assert greeting.differences(Settings(data_dir=tmp_path), demo) == []


def test_a_setting_that_changes_answers_is_named_with_both_values(tmp_path: Path) -> None:
    serving = greeting.identity(Settings(data_dir=tmp_path))
    assert greeting.differences(Settings(data_dir=tmp_path, phone_region="DE"), serving) == [
        "GRAPHMEM_PHONE_REGION is DE for this command and not set for the service"
    ]


def test_what_changes_answers_is_shared_with_a_service() -> None:
    """A setting that is added here or not: does a command that has another value need another answer?"""
    marks = {name: info.json_schema_extra for name, info in Settings.model_fields.items()}
    shared = {name for name, mark in marks.items() if mark == {"shared": True}}
    assert shared == {
        "embedder", "embedding_floor", "embedding_key", "embedding_model", "embedding_url",
        "interpret_files", "llm_calls", "llm_input_characters", "llm_key", "llm_model",
        "llm_output_tokens", "llm_url", "merge_rules_off", "neo4j_database", "neo4j_password", "neo4j_uri",
        "neo4j_username", "objects_bucket", "objects_encryption", "objects_endpoint", "objects_kms_key",
        "objects_path_style", "objects_prefix", "objects_region", "phone_region", "sandbox", "time_zone",
    }  # fmt: skip
    assert len(marks) == 99


def test_a_rule_that_is_switched_off_for_a_command_alone_is_named(tmp_path: Path) -> None:
    serving = greeting.identity(Settings(data_dir=tmp_path))
    asking = Settings(data_dir=tmp_path, merge_rules_off=("person:name",))
    assert [text.split(" is ")[0] for text in greeting.differences(asking, serving)] == [
        variable("merge_rules_off")
    ]


def test_the_account_at_a_database_counts_only_where_a_server_is_named(tmp_path: Path) -> None:
    def named(**overrides: str) -> list[str]:
        own = Settings(data_dir=tmp_path, neo4j_uri=overrides.pop("uri", None))
        serving = greeting.identity(own.model_copy(update=overrides))
        return [text.split(" is ")[0] for text in greeting.differences(own, serving)]

    assert named(neo4j_database="other") == []
    assert named(uri="bolt://a:1", neo4j_database="other") == ["NEO4J_DATABASE"]


def test_credentials_in_addresses_are_told_by_their_hash_alone(tmp_path: Path) -> None:
    def greeted(word: str) -> dict[str, Any]:
        url = f"https://user:{word}@models.example.org/v1?api-key={word}"
        return greeting.identity(
            Settings(
                data_dir=tmp_path, llm_url=url, llm_model="m", embedding_url=url,
            )
        )  # fmt: skip

    assert "hunter2" not in json.dumps(greeted("hunter2"))
    own = Settings(data_dir=tmp_path, embedding_url="https://user:other@models.example.org/v1")
    assert any("GRAPHMEM_EMBEDDING_URL" in text for text in greeting.differences(own, greeted("hunter2")))
    assert greeted("hunter2")["settings"] != greeted("hunter3")["settings"]


def test_a_service_in_the_background_is_told_no_setting_that_nobody_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    monkeypatch.setenv("GRAPHMEM_PHONE_REGION", "DE")
    handed = calling.environment(Settings(data_dir=tmp_path, port=3099))
    own = {variable(name) for name in Settings.model_fields} & handed.keys()
    assert own == {"GRAPHMEM_DATA_DIR", "GRAPHMEM_PORT", "GRAPHMEM_PHONE_REGION"}
