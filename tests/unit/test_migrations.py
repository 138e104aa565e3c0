"""What a start waits for: the indexes that the migrations make, and no others, while they grow."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any, cast

import pytest

from graphmem.database import migrations
from graphmem.errors import MigrationRefused


class GrowingIndexes:
    """A database whose indexes are in other states at every look."""

    def __init__(self, looks: Iterable[list[tuple[str, str, float]]]) -> None:
        self.looks = iter(looks)

    async def script(self, text: str, **params: Any) -> list[dict[str, Any]]:
        return [dict(zip(("name", "state", "percent"), index, strict=True)) for index in next(self.looks)]


def wait(*looks: list[tuple[str, str, float]], for_ever: Iterable[Any] = ()) -> None:
    asyncio.run(migrations._wait_for_indexes(cast("Any", GrowingIndexes(itertools.chain(looks, for_ever)))))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look is a second after the one before."""
    seconds = [0]

    async def tick(_: float) -> None:
        seconds[0] += 1

    monkeypatch.setattr(migrations.asyncio, "sleep", tick)
    monkeypatch.setattr(migrations.time, "monotonic", lambda: float(seconds[0]))


def test_the_indexes_are_those_that_the_migrations_leave() -> None:
    assert {"owner_id", "entity_by_type", "meaning_changed"} <= migrations.indexes().keys()
    dropped = {"entity_text", "entity_words", "meaning_vector", "meaning_fresh"}
    assert not dropped & migrations.indexes().keys(), "they are dropped by later ones"


def test_indexes_of_others_are_not_waited_for() -> None:
    wait([("mine", "FAILED", 0.0), ("yours", "POPULATING", 3.0)])
    others = ("mine", "FAILED", 0.0)
    wait([("owner_id", "POPULATING", 3.0), others], [others])


def test_an_index_that_cannot_be_made_is_reported() -> None:
    with pytest.raises(MigrationRefused, match="could not make the index owner_id"):
        wait([("owner_id", "FAILED", 0.0)])


def test_a_growing_index_is_waited_for_and_a_stalled_one_is_reported() -> None:
    wait(*([("meaning_changed", "POPULATING", i / 100)] for i in range(5_000)), [])
    with pytest.raises(MigrationRefused, match="no progress with the index meaning_changed") as error:
        wait(for_ever=itertools.repeat([("meaning_changed", "POPULATING", 7.0)]))
    assert error.value.details == {"index": "meaning_changed"}
