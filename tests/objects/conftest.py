"""The places whose stores keep one contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.object_places import ObjectPlace, directory_place, s3_place
from tests.support.s3_server import S3Server, Versitygw, required_s3_server, versitygw


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server for all tests."""
    with required_s3_server(tmp_path_factory.mktemp("s3") / "files") as running:
        yield running


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Versitygw]:
    """An S3 server that a test may kill."""
    program = versitygw()
    if program is None:
        pytest.skip("there is no versitygw here to kill: run python -m tests.support.s3_server where Go is")
    running = Versitygw(program, tmp_path / "victim")
    running.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running.server.variables.items():
            patch.setenv(name, value)
        yield running
    running.kill()


@pytest.fixture
def local(tmp_path: Path) -> ObjectPlace:
    """An object store in a directory."""
    return directory_place(tmp_path / "data")


@pytest.fixture(
    params=["directory", "s3", "sealed directory", pytest.param("sealed s3", marks=pytest.mark.long)]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectPlace:
    """An empty object store: in a directory, and in a bucket; plain, and sealed."""
    if request.param.endswith("directory"):
        plain = directory_place(tmp_path / "data")
    else:
        plain = s3_place(request.getfixturevalue("server"), tmp_path / "data")
    return plain.sealed() if request.param.startswith("sealed") else plain
