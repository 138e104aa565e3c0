"""For which differences of settings a caller refuses a local service."""

from __future__ import annotations

from pathlib import Path

from graphmem.service import greeting
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


def test_every_setting_says_whether_a_service_must_share_it() -> None:
    marks = {name: info.json_schema_extra for name, info in Settings.model_fields.items()}
    assert {
        name for name, mark in marks.items() if mark not in ({"shared": True}, {"shared": False})
    } == set()


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
