"""What the tests of reliability share: a local service on the database of this run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.settings import Settings
from tests.support.local_service import local_settings, started_for


@pytest.fixture
def local(
    settings: Settings, tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    """The settings of a local service; it is stopped at the end."""
    chosen = local_settings(settings, tmp_path / "data")
    with started_for(monkeypatch, owner, chosen):
        yield chosen


@pytest.fixture
def spawned(
    settings: Settings, tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    """The settings of a local service that is started as for users; it is stopped at the end."""
    chosen = local_settings(settings, tmp_path / "data")
    with started_for(monkeypatch, owner, chosen, spawned=True):
        yield chosen
