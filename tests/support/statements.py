"""The statements of requests, without those that other work of the process runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import pytest

from graphmem import cypher
from graphmem.database.driver import Database, round_trips

LOCKS: Final = frozenset({"owner.lock"})
"""Statements of mode write that store nothing: a read takes the lock, to see the last commit whole."""


@contextlib.contextmanager
def counted(database: Database, *, of_requests: bool = True) -> Iterator[list[str]]:
    """Note the names of the statements that the block runs, in the order of their ends.

    A statement that failed and is tried again counts once: it may fail because its planning took long, or
    because the memory of the database is short. No test decides that.

    Args:
        of_requests: whether only the statements of requests count, not those of other work of the process.
    """
    names: list[str] = []
    statement = database.statement

    @contextlib.contextmanager
    def noting(name: str) -> Iterator[None]:
        counts = name != "explain" and (not of_requests or round_trips.get(None) is not None)
        with statement(name):
            yield
        if counts:
            names.append(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "statement", noting)
        yield names


def writes(names: list[str]) -> list[str]:
    """Return those of some statements that write."""
    stored = (each for each in names if each not in LOCKS)
    return [each for each in stored if each == "commit" or cypher.query(each).mode == "write"]
