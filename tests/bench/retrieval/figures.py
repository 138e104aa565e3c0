"""The figures of a run: by set and measure, of the half for reporting and of that for choosing weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from tests.bench.retrieval.metrics import mean
from tests.bench.retrieval.sets import Half


@dataclass(slots=True)
class Row:
    """One measure of one set; the values are those of single questions, or one figure of all."""

    set_name: str
    measure: str
    kind: str
    graphmem: dict[Half, list[float]] = field(default_factory=lambda: {"tuning": [], "reporting": []})
    baseline: dict[Half, list[float]] = field(default_factory=lambda: {"tuning": [], "reporting": []})

    def summary(self) -> dict[str, Any]:
        """Return the mean of each half; ``baseline`` is plain BM25, or simple keys for people."""
        answer: dict[str, Any] = {"set": self.set_name, "measure": self.measure, "kind": self.kind}
        for half in ("reporting", "tuning"):
            ours, baseline = self.graphmem[half], self.baseline[half]
            answer[half] = {
                "count": len(ours),
                "graphmem": round(mean(ours), 4) if ours else None,
                "baseline": round(mean(baseline), 4) if baseline else None,
            }
        return answer


class Figures:
    """All rows: measures in the order of their first values, each followed by its kinds of questions."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, Row]] = {}

    def add(
        self,
        set_name: str,
        measure: str,
        half: Half,
        graphmem: float,
        baseline: float | None = None,
        *,
        kind: str = "",
    ) -> None:
        """Add a value, and that of the baseline for the same question.

        Args:
            kind: the kind of the question; its values have a row of their own besides.
        """
        rows = self._rows.setdefault((set_name, measure), {})
        for part in ("", kind) if kind else ("",):
            row = rows.setdefault(part, Row(set_name, measure, part))
            row.graphmem[half].append(graphmem)
            if baseline is not None:
                row.baseline[half].append(baseline)

    def summaries(self) -> list[dict[str, Any]]:
        """Return all rows as ``--json`` prints them."""
        return [rows[kind].summary() for rows in self._rows.values() for kind in sorted(rows)]

    def table(self) -> Table:
        """Return all rows as a table."""
        table = Table(title="Finding, beside plain BM25 (people: beside simple keys)", title_justify="left")
        for name in ("set", "measure"):
            table.add_column(name)
        for name in ("n", "graphmem", "baseline", "ratio", "tuning half: n", "graphmem", "baseline"):
            table.add_column(name, justify="right")
        for row in self.summaries():
            reporting, tuning = row["reporting"], row["tuning"]
            table.add_row(
                row["set"],
                f"  {row['kind']}" if row["kind"] else row["measure"],
                str(reporting["count"]),
                _shown(reporting["graphmem"]),
                _shown(reporting["baseline"]),
                f"{reporting['graphmem'] / reporting['baseline']:.2f}" if reporting["baseline"] else "",
                str(tuning["count"] or ""),
                _shown(tuning["graphmem"]),
                _shown(tuning["baseline"]),
            )
        return table


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
