"""The locks of dependencies: one version of each package with its hashes, and all that the product needs."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def locked(name: str) -> dict[str, Requirement]:
    """Return the packages of a lock, by name; a package without a hash fails the test."""
    text = (ROOT / "locks" / name).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    packages = {}
    for line in lines:
        requirement = Requirement(line.partition("--hash")[0])
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", line), f"{requirement.name} has no hash"
        assert [each.operator for each in requirement.specifier] == ["=="], f"{requirement} is not pinned"
        assert requirement.url is None, f"{requirement.name} comes from elsewhere than the registry"
        packages[canonicalize_name(requirement.name)] = requirement
    return packages


@pytest.mark.parametrize(
    ("lock", "groups"),
    [("requirements.lock", [PROJECT["project"]["dependencies"]]),
     ("requirements-dev.lock", [PROJECT["project"]["dependencies"], PROJECT["dependency-groups"]["dev"]])],
)  # fmt: skip
def test_each_dependency_is_locked_to_one_version_with_hashes(lock: str, groups: list[list[str]]) -> None:
    packages = locked(lock)
    for text in (each for group in groups for each in group):
        asked = Requirement(text)
        (version,) = (each.version for each in packages[canonicalize_name(asked.name)].specifier)
        assert asked.specifier.contains(version), f"{asked} is not the locked {version}"


def test_the_development_tools_are_locked_beside_the_same_versions() -> None:
    packages, beside = locked("requirements.lock"), locked("requirements-dev.lock")
    assert {name: beside[name].specifier for name in packages} == {
        name: each.specifier for name, each in packages.items()
    }


@pytest.mark.parametrize(("uv", "lines"), [("", 1), ("/usr/bin/uv", 0)])
def test_an_installation_without_uv_names_it_in_one_line(tmp_path: Path, uv: str, lines: int) -> None:
    plan = ["make", "-n", f"UV={uv}", f"VENV={tmp_path}/venv", f"{tmp_path}/venv/installed"]
    steps = subprocess.run(plan, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sum("uv is not installed" in step and "pip install uv" in step for step in steps) == lines
