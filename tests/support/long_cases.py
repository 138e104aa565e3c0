"""Which cases of a test run in every run, where each starts and kills a process and all defend one thing."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, Final

import pytest

FACES: Final = ("rest", "mcp", "cli")
"""The faces of the fixture ``call`` (tests/conftest.py)."""


def mostly_long(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the cases for ``pytest.mark.parametrize``: all but the ``quick`` ones are marked ``long``."""
    known = list(cases)
    assert set(quick) <= set(known), f"{set(quick) - set(known)} are no cases"
    return [case if case in quick else _long(case) for case in known]


def _long(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.long)


def leave_faces_to_long_runs(items: Iterable[pytest.Item]) -> None:
    """Mark the cases of each test that uses ``call`` as long but those of a face, which its name chooses.

    So each face has a third of the tests, and what a test tries is the same in every run.
    """
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and (face := callspec.params.get("call")) in FACES:
            others = sorted(entry for entry in callspec.indices.items() if entry[0] != "call")
            name = f"{item.location[0]} {getattr(item, 'originalname', '')} {others}"
            if FACES[zlib.crc32(name.encode()) % len(FACES)] != face:
                item.add_marker(pytest.mark.long)
