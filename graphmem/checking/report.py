"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from graphmem.checking.stretch import AuditDifference, Stretch

REPORTED_LIMIT: Final = 200  # entities and relationships whose differences a report lists; all are counted


@dataclass(slots=True)
class Report:
    """The result of an audit."""

    checked: int = 0
    unchecked: int = 0  # what commits changed during every read
    stale: dict[str, list[AuditDifference]] = field(default_factory=dict)
    stale_count: int = 0
    counted: set[str] = field(default_factory=set)  # what ``stale_count`` counts already
    fixed: int = 0
    settled: bool = True  # counters and the state hash could be compared
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    hash: int = 0

    def note(self, differences: list[AuditDifference]) -> None:
        """Add the differences of one entity or relationship; the first are listed, all are counted."""
        if not differences:
            return
        subject_id = differences[0].subject_id
        self.stale_count += subject_id not in self.counted
        if subject_id in self.stale or len(self.stale) < REPORTED_LIMIT:
            self.stale.setdefault(subject_id, []).extend(differences)

    def add(self, stretch: Stretch) -> None:
        self.checked += len(stretch.subject_ids) - len(stretch.unchecked)
        self.unchecked += len(stretch.unchecked)
        self.hash += stretch.hash
        for key, counted in stretch.counts.items():
            known = self.counts.setdefault(key, [0, 0, 0, 0])
            self.counts[key] = [total + more for total, more in zip(known, counted, strict=True)]
        for subject_id in stretch.subject_ids:
            if subject_id not in stretch.unchecked:
                self.note(stretch.differences.get(subject_id, []))
        self.fixed += stretch.mended

    @property
    def sums(self) -> list[Any]:
        """What was counted, as JSON: :meth:`of_sums` takes it, for an audit that goes on."""
        counts = [[*key, *numbers] for key, numbers in self.counts.items()]
        return [self.checked, self.unchecked, self.stale_count, self.fixed, hex(self.hash), counts]

    @classmethod
    def of_sums(cls, sums: list[Any], *, settled: bool) -> Report:
        checked, unchecked, stale_count, fixed, text, counts = sums
        by_type = {(kind, name): numbers for kind, name, *numbers in counts}
        return cls(
            checked, unchecked, stale_count=stale_count, fixed=fixed, settled=settled, counts=by_type,
            hash=int(text, 16),
        )  # fmt: skip
