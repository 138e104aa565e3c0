"""What the tests of reliability share: a local service, and services whose database fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.settings import Settings
from tests.support.event_loop import Loop
from tests.support.local_service import local_settings, started_for
from tests.support.proxied_services import RETRY, Faulty, behind_proxy


@pytest.fixture
def local(
    settings: Settings, tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    """The settings of a local service; it is stopped at the end."""
    service_settings = local_settings(settings, tmp_path / "data")
    with started_for(monkeypatch, owner, service_settings):
        yield service_settings


@pytest.fixture
def spawned(
    settings: Settings, tmp_path: Path, owner: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    """The settings of a local service that is started as for users; it is stopped at the end."""
    service_settings = local_settings(settings, tmp_path / "data")
    with started_for(monkeypatch, owner, service_settings, spawned=True):
        yield service_settings


@pytest.fixture
def patient(settings: Settings, planned: None) -> Settings:
    """Settings that wait for little."""
    return settings.model_copy(
        update={
            "retry_seconds": RETRY,
            "acquisition_timeout": 1.0,
            "connection_timeout": 1.0,
            "read_timeout": 2.0,
            "write_timeout": 2.0,
        }
    )


@pytest.fixture
def faulty(loop: Loop, patient: Settings, owner: str) -> Iterator[Faulty]:
    """Services whose database is behind a proxy."""
    with behind_proxy(loop, patient, owner) as services:
        yield services
