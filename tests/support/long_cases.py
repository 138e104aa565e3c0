"""Which cases of a test run in every run, where each starts and kills a process and all defend one thing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_long(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the cases for ``pytest.mark.parametrize``: all but the ``quick`` ones are marked ``long``."""
    known = list(cases)
    assert set(quick) <= set(known), f"{set(quick) - set(known)} are no cases"
    return [case if case in quick else _long(case) for case in known]


def _long(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.long)
