"""A database at ``NEO4J_URI`` that does not answer."""

from __future__ import annotations

import asyncio
import time

import pytest

from graphmem.database import availability
from graphmem.errors import ConfigurationInvalid, DatabaseUnavailable
from graphmem.runtime import open_services
from graphmem.settings import load


def test_a_silent_database_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "TOLD_EVERY_SECONDS", 0.1)
    settings = load(neo4j_uri="neo4j://127.0.0.1:1/?policy=x", neo4j_password="hidden")
    messages: list[str] = []

    async def opened() -> None:
        async with open_services(settings, remote_seconds=0.5, waiting=messages.append):
            raise AssertionError("there is no such database")

    begin = time.monotonic()
    with pytest.raises(DatabaseUnavailable) as error:
        asyncio.run(opened())
    assert time.monotonic() - begin < 30
    for text in (str(error.value), *messages):
        assert "neo4j://127.0.0.1:1 (NEO4J_URI)" in text
        assert "hidden" not in text
    assert len(messages) == 4
    assert error.value.details == {"address": "neo4j://127.0.0.1:1", "setting": "NEO4J_URI"}


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigurationInvalid, match="NEO4J_PASSWORD") as error:
        load(neo4j_uri="bolt://ada:secret@127.0.0.1:1")
    assert "secret" not in str(error.value)
