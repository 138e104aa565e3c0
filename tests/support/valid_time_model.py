"""A plain model of valid time: what statements with dates of their own come to on a day, by brute force.

It goes through all statements for every question, and shares no code with the product. Days are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LONG_AGO = -1_000_000


@dataclass(frozen=True)
class Statement:
    """One observation: the day on which it was made, what it says, and its dates; ``until`` is a last day.

    ``value``: what it says of the field, ``None`` if nothing. ``kind``: ``value`` or ``correction``.
    """

    made: int
    since: int | None = None
    until: int | None = None
    value: Any = None
    kind: str = "value"

    @property
    def is_dated(self) -> bool:
        """Whether it says since when or until when."""
        return (self.since, self.until) != (None, None)


@dataclass(frozen=True)
class History:
    """The statements about one relationship, or about one entity, the oldest first; none of equal days."""

    statements: Sequence[Statement]
    is_relationship: bool = True

    def corrected(self, name: str) -> int | None:
        """Return the date that the last correction of a start or an end says."""
        said = [getattr(each, name) for each in self.statements if each.kind == "correction"]
        return next((date for date in reversed(said) if date is not None), None)

    def since(self, statement: Statement) -> int | None:
        """Return the day from which on a statement holds; ``None``: from the day on which it was made."""
        if not statement.is_dated:
            return None
        starts = [self._date(each, "since") for each in self.statements if each.is_dated]
        since, until = self._date(statement, "since"), self._date(statement, "until")
        if since is not None or until is None:
            return since
        before = [start for start in starts if start is not None and start <= until]
        return max(before) if before else LONG_AGO if until < statement.made else None

    def _date(self, statement: Statement, name: str) -> int | None:
        corrected = self.corrected(name)
        return getattr(statement, name) if corrected is None else corrected

    def until(self, statement: Statement) -> int | None:
        """Return the last day on which a statement holds, as the last one of its start says."""
        since = self.since(statement)
        same = [each for each in self.in_order if each.is_dated and self.since(each) == since]
        until = next((each.until for each in reversed(same) if each.until is not None), None)
        until = until if self.corrected("until") is None else self.corrected("until")
        return None if until is None or (since is not None and until < since) else until

    @property
    def in_order(self) -> list[Statement]:
        """The statements, the one that wins last."""
        return sorted(self.statements, key=lambda each: (each.kind == "correction", each.made))

    def counted(self, day: int) -> list[Statement]:
        """Return the statements that count on a day, the one that wins last."""
        counted: list[Statement] = []
        for statement in self.in_order:
            since = self.since(statement)
            has_begun = statement.made <= day if since is None else since <= day
            if has_begun or (statement.made <= day and not self.is_relationship):
                counted.append(statement)
        return counted

    def is_there(self, day: int) -> bool:
        """Return whether a relationship is there on a day."""
        counted = self.counted(day)
        if all(each.kind == "correction" for each in counted):
            return False
        dated = [each for each in counted if each.is_dated]
        starts = [start for each in dated if (start := self._date(each, "since")) is not None]
        ends = [end for each in dated if (end := self._date(each, "until")) is not None]
        is_over = bool(ends) and ends[-1] < day and not (starts and starts[-1] > ends[-1])
        return not is_over and (self.corrected("since") or day) <= day

    def value(self, day: int) -> Any:
        """Return what the field of an entity is on a day."""
        for statement in reversed(self.counted(day)):
            since, until = self.since(statement), self.until(statement) if statement.is_dated else None
            held = not statement.is_dated or (statement.made if since is None else since) <= day
            if statement.value is not None and held and (until is None or day <= until):
                return statement.value
        return None
