"""The statements of requests, without those that other work of the process runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Final

import pytest

from graphmem import cypher
from graphmem.database.driver import Database, round_trips

LOCKS: Final = frozenset({"owner.lock"})
"""Statements of mode write that store nothing: a read takes the lock, to see the last commit whole."""


@contextlib.contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """Note the names of the statements that requests of the block run."""
    names: list[str] = []
    statement = database.statement

    def noting(name: str) -> AbstractContextManager[None]:
        if round_trips.get(None) is not None:
            names.append(name)
        return statement(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "statement", noting)
        yield names


def writes(names: list[str]) -> list[str]:
    """Return those of some statements that write."""
    stored = (each for each in names if each not in LOCKS)
    return [each for each in stored if each == "commit" or cypher.query(each).mode == "write"]
