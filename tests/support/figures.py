"""What a test measured: shown at once with ``-s``, and for all tests together when the run ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

NAME = "figure"
"""The property of a test's report that carries a line of figures, from a worker process too."""
Figures = Callable[[str], None]


def recorder(record_property: Callable[[str, object], None]) -> Figures:
    """Return a function that records a line of figures of the running test."""

    def figures(line: str) -> None:
        record_property(NAME, line)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    return figures


def lines(stats: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the figures in pytest's reports, each test's under its name."""
    for report in [*stats.get("passed", []), *stats.get("failed", [])]:
        figures = [str(value) for name, value in report.user_properties if name == NAME]
        if figures:
            yield report.nodeid
            yield from (f"  {line}" for line in figures)
