"""A local service on the database of this run, for an owner of its own."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from graphmem.registry import REGISTRY
from graphmem.service import calling
from graphmem.service.place import Place, is_locked, make_folder, place
from graphmem.settings import Settings, load
from tests.support.commands import LOCAL_SERVICE, command
from tests.support.forked_services import ForkedProcess, forks
from tests.support.sealed_database import key_settings

WAIT_SECONDS = 110.0
"""The longest that any wait of these tests may take."""


def local_settings(settings: Settings, folder: Path, **overrides: object) -> Settings:
    """Return settings for a local service of ``folder`` on the database of this run."""
    reached = {
        "neo4j_uri": settings.neo4j_uri,
        "neo4j_username": settings.neo4j_username,
        "neo4j_password": settings.neo4j_password.get_secret_value(),
        **key_settings(settings),
    }
    return load(**{"env": "test", "data_dir": folder, "shutdown_seconds": 5.0, **reached, **overrides})


@contextlib.contextmanager
def started_for(
    monkeypatch: pytest.MonkeyPatch, owner: str, *several: Settings, spawned: bool = False
) -> Iterator[None]:
    """Let this process start local services for ``owner``; stop those of the settings at the end.

    They are forked, which takes a tenth of the time of a start; ``spawned`` has them started as for users.
    """
    monkeypatch.setattr(calling, "COMMAND", command(owner, LOCAL_SERVICE))
    if not spawned:
        monkeypatch.setattr(calling, "start", functools.partial(_fork, owner))
    try:
        yield
    finally:
        for settings in several:
            calling.stop(settings)
            assert not is_locked(place(settings))
        for child in calling._children:
            child.wait(WAIT_SECONDS)


def _fork(owner: str, settings: Settings, where: Place) -> ForkedProcess:
    """Start a local service, in place of ``calling.start``."""
    make_folder(where)
    child = forks().start_local_service(calling.environment(settings), where.console, owner)
    calling._children.append(cast(Any, child))
    return child


def call_service(local: Settings, name: str, raw: Mapping[str, Any]) -> Any:
    """Return the answer of an operation as the local service gives it."""
    return json.loads(calling.call(local, REGISTRY[name].routes[0], raw, "test"))


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition does not come to hold"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; children of this process are reaped."""
    for child in calling._children:
        child.poll()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
