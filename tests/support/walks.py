"""A test that walks over many cases, as ``pytest.mark.parametrize`` does, and is one test.

A test of its own costs some 10 ms of CPU, whatever it checks, and each process of a run collects it. So many
cases that take less are one walk. They share the fixtures of the test: none may disturb the next.
"""

from __future__ import annotations

import functools
import inspect
import math
import random
from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from tests.support.examples import LONG

SECONDS: Final = 1200
"""The longest that a walk may take, unless its test says another time."""
SHOWN: Final = 10
"""Failures that are shown whole. Of the others only the cases are named."""


Walked = Callable[[Callable[..., None]], Callable[..., None]]


def walk_over(names: str, cases: Iterable[Any], *, one_of: int = 1) -> Walked:
    """Have a test check every case, and fail once with all cases that failed.

    Args:
        names: the arguments of the test that a case gives, with commas between.
        cases: a value each, or a tuple where there are several names.
        one_of: an ordinary run checks one of so many cases, the same in each; a long run checks all.
    """
    arguments = [name.strip() for name in names.split(",")]
    known = [case if len(arguments) > 1 else (case,) for case in cases]
    assert known, f"no case of {names}"
    if one_of > 1 and not LONG:
        known = random.Random(names).sample(known, math.ceil(len(known) / one_of))

    def walked(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        fixtures = [kept for name, kept in signature.parameters.items() if name not in arguments]

        @functools.wraps(test)
        def walk(**values: Any) -> None:
            failures: list[tuple[str, str]] = []
            for case in known:
                try:
                    test(**values, **dict(zip(arguments, case, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:
                    shown = pytest.ExceptionInfo.from_exception(failure).getrepr(style="short")
                    failures.append(("-".join(map(_short, case)), str(shown)))
            if failures:
                told = [", ".join(name for name, _ in failures), *map("\n".join, failures[:SHOWN])]
                pytest.fail(
                    f"{len(failures)} of {len(known)} cases failed: " + "\n\n".join(told), pytrace=False
                )

        walk.__signature__ = signature.replace(parameters=fixtures)  # pyright: ignore[reportAttributeAccessIssue]
        return pytest.mark.timeout(SECONDS)(walk)

    return walked


def _short(value: Any) -> str:
    return " ".join(map(_short, value)) if isinstance(value, tuple) else str(value)[:100]
