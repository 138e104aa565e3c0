"""For which differences of settings a caller refuses a local service."""

from __future__ import annotations

from pathlib import Path

from graphmem.service import greeting
from graphmem.settings import Settings


def test_the_name_of_the_instance_makes_no_difference_in_one_data_directory(tmp_path: Path) -> None:
    """A demo in a named directory is asked by a command that names the directory alone."""
    demo = greeting.identity(Settings(env="demo", data_dir=tmp_path))
    assert greeting.differences(Settings(data_dir=tmp_path), demo) == []


def test_a_setting_that_changes_answers_is_named_with_both_values(tmp_path: Path) -> None:
    serving = greeting.identity(Settings(data_dir=tmp_path))
    assert greeting.differences(Settings(data_dir=tmp_path, phone_region="DE"), serving) == [
        "GRAPHMEM_PHONE_REGION is DE for this command and not set for the service"
    ]
