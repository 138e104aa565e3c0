"""Interpreters that other distributions add by an entry point."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import Any

import pytest

from graphmem.ingest import InterpretationFailed, Proposal, interpreter_for
from graphmem.ingest.document import ParsedDocument
from graphmem.ingest.interpreters import Interpreter, InterpreterOptions, interpreter_table
from graphmem.ingest.proposal import ProposedEntity, ProposedRelationship
from tests.support.proposals import proposal_of, types_and_fields


class Point:
    """An entry point of a test."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name = name
        self._loaded = loaded

    def load(self) -> Any:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Add an entry point."""
    points: list[Point] = []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    interpreter_table._entry_points.cache_clear()
    yield lambda name, loaded: points.append(Point(name, loaded))
    interpreter_table._entry_points.cache_clear()


PROPOSED = Proposal(
    (
        ProposedEntity("Boats", {"name": "Tide", "intent": "x"}),
        ProposedEntity("boats", {" ": None}),
        ProposedEntity("harbour", {"name": "Oslo"}),
    ),
    (ProposedRelationship("LOCATED_AT", 0, 2), ProposedRelationship("LOCATED_AT", 1, 2)),
)


def plugin(result: Any, **more: Any) -> Interpreter:
    class Added(Interpreter):
        def load(self) -> Any:
            def run(document: ParsedDocument, options: InterpreterOptions) -> Any:
                if isinstance(result, Exception):
                    raise result
                return result

            return run

    return Added("boats", 1, ("csv",), "", **more)


def test_an_added_interpreter_reads_its_formats(plug: Any) -> None:
    plug("boats", plugin(PROPOSED))
    proposed = proposal_of("a.csv", "a,b\n1,2\n")
    assert types_and_fields(proposed) == [("boats", {"name": "Tide"}), ("harbour", {"name": "Oslo"})]
    assert [(link.source, link.target) for link in proposed.relationships] == [(0, 1)]
    assert interpreter_for("csv").name == "boats"
    assert interpreter_for("json").name == "rows"


def test_an_added_interpreter_that_is_not_default_needs_its_name(plug: Any) -> None:
    plug("boats", plugin(PROPOSED, by_default=False))
    assert interpreter_for("csv").name == "rows"
    assert interpreter_for("csv", "boats").name == "boats"


@pytest.mark.parametrize(
    "loaded",
    [
        ImportError("no module"),
        "no interpreter",
        Interpreter("rows", 1, ("csv",), "x"),
        Interpreter("boats", 0, ("csv",), "x"),
        Interpreter("boats", 1, ("invented",), "x"),
        Interpreter("boats", 1, ("csv",), "no.such.module"),
        plugin(RuntimeError("inside")),
        plugin(InterpretationFailed("on purpose")),
        plugin("no proposal"),
        plugin(Proposal((ProposedEntity("!", {"a": 1}),))),
        plugin(Proposal((), (ProposedRelationship("EMPLOYS", 0, 0),))),
    ],
    ids=repr,
)
def test_a_broken_interpreter_is_an_error_that_names_it(plug: Any, loaded: Any) -> None:
    plug("boats", loaded)
    with pytest.raises(InterpretationFailed, match="boats"):
        proposal_of("a.csv", "a,b\n1,2\n")
