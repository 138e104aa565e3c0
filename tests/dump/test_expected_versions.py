"""A write that expected a version of an entity, while another copy had written to it: both copies list it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.model import times
from tests.support.copies import Copies, Copy
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import Call

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}


@pytest.fixture
def apart(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str
) -> tuple[Copies, Copy, Copy, str]:
    """Two copies that know one entity, which has version 1."""
    copies, first, second = Copies(loop, services, owner), Copy("a"), Copy("b")
    copies.put(first)
    entity_id = run("store", entities=[ADA])["entities"][0]["entity_id"]
    send(copies, first, second)
    return copies, first, second, entity_id


def send(copies: Copies, source: Copy, target: Copy) -> None:
    copies.put(source)
    pages = copies.all_pages(without=target.name)
    copies.put(target)
    for page in pages:
        copies.unite(page, source.name)


def conflicts(run: Call) -> list[dict[str, Any]]:
    return run("copies.conflicts")["conflicts"]


@pytest.mark.parametrize("expecting_first", [False, True])
def test_an_expected_version_that_was_written_elsewhere_before_is_listed_on_both_sides(
    run: Call, apart: tuple[Copies, Copy, Copy, str], monkeypatch: pytest.MonkeyPatch, expecting_first: bool
) -> None:
    copies, first, second, entity_id = apart
    write: dict[str, Callable[[], Any]] = {
        "a": lambda: run(
            "entities.correct", entity_id=entity_id, field="born", value=1815, expected_version=1
        ),
        "b": lambda: run("store", entities=[{"target_id": entity_id, "born": 1816}]),
    }
    real, made = times.now, dict[str, str]()
    for copy in (first, second) if expecting_first else (second, first):
        # In the other order of writing, the clock of one is behind.
        behind = times.DAY if copy is second else 0
        monkeypatch.setattr(times, "now", lambda behind=behind: real() - behind)
        copies.put(copy)
        made[copy.name] = write[copy.name]()["transaction_id"]
    monkeypatch.setattr(times, "now", real)
    assert conflicts(run) == []
    send(copies, second, first)
    (at_first,) = conflicts(run)
    send(copies, first, second)
    (at_second,) = conflicts(run)
    assert at_first == at_second
    assert (at_first["what"], at_first["name"]) == ("expected_version", entity_id)
    assert (at_first["transaction_id"], at_first["winner"]) == (made["a"], made["b"])
    for copy in (first, second):
        copies.put(copy)
        assert conflicts(run) == [at_first]


def test_an_expected_version_that_was_written_elsewhere_later_is_none(
    run: Call, apart: tuple[Copies, Copy, Copy, str]
) -> None:
    copies, first, second, entity_id = apart
    copies.put(first)
    run("entities.correct", entity_id=entity_id, field="born", value=1815, expected_version=1)
    run("store", entities=[{"target_id": entity_id, "title": "Countess", "expected_version": 2}])
    copies.put(second)
    run("store", entities=[{"target_id": entity_id, "born": 1816}])
    for source, target in ((first, second), (second, first)):
        send(copies, source, target)
        assert conflicts(run) == []
