"""docker/kubernetes.yaml against the schemas of Kubernetes, without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.images import REPOSITORY

pytestmark = pytest.mark.long

KUBERNETES = "1.37"
PACKAGES = """
kubernetes-validate==1.37.0 \\
    --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9
importlib-resources==7.1.0 \\
    --hash=sha256:1bd7b48b4088eddb2cd16382150bb515af0bd2c70128194392725f82ad2c96a1
"""
"""The schemas, and what reads them beside the packages of the tests."""


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the schemas and their validator. The test is skipped where no index has them."""
    folder = tmp_path_factory.mktemp("kubernetes")
    (folder / "packages.txt").write_text(PACKAGES)
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", folder]
    done = subprocess.run(
        [sys.executable, *words, "-r", folder / "packages.txt"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"the schemas of Kubernetes cannot be installed: {done.stderr[-300:]}")
    return folder


def validated(validator: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """Validate a file, strictly: what no schema names is refused."""
    code = "import sys; from kubernetes_validate.__main__ import main; sys.exit(main())"
    words = ["-c", code, "--strict", "-k", KUBERNETES, str(file)]
    environment = os.environ | {"PYTHONPATH": str(validator)}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)


def test_all_of_kubernetes_yaml_is_as_the_schemas_want_it(validator: Path, tmp_path: Path) -> None:
    file = REPOSITORY / "docker" / "kubernetes.yaml"
    done = validated(validator, file)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(file.read_text().replace("readOnlyRootFilesystem", "readOnlyRoot"))
    assert validated(validator, wrong).returncode
