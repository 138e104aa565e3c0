"""A plain model of valid time: what statements with dates of their own come to on a day, by brute force.

It goes through all statements for every question, and shares no code with the product. Days are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LONG_AGO, FOREVER = -1_000_000, 1_000_000


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

    def start(self, statement: Statement) -> int | None:
        """Return the start that a statement says; a correction replaces that of the last period."""
        corrections = [each for each in self.in_order if each.kind == "correction" and each.since is not None]
        starts = [each.since for each in self.statements if each.kind == "value" and each.since is not None]
        is_last = statement.kind == "correction" or statement.since == max(starts, default=None)
        if corrections and statement.since is not None and is_last:
            return corrections[-1].since
        return statement.since

    def period(self, statement: Statement) -> int | None:
        """Return the start of the period of a statement: its own, or the last one before its end."""
        if (start := self.start(statement)) is not None or statement.until is None:
            return start
        starts = [start for each in self.statements if (start := self.start(each)) is not None]
        return max((each for each in starts if each <= statement.until), default=None)

    def since(self, statement: Statement) -> int | None:
        """Return the day from which on a statement holds; ``None``: from the day on which it was made."""
        since = self.period(statement)
        if since is None and statement.until is not None and statement.until < statement.made:
            return LONG_AGO
        return since

    def until(self, statement: Statement) -> int | None:
        """Return the last day on which a statement holds, as the last one of its period says."""
        if not statement.is_dated:
            return None
        since = self.period(statement)
        same = [each for each in self.in_order if each.is_dated and self.period(each) == since]
        until = next((each.until for each in reversed(same) if each.until is not None), None)
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
        ends = [self.until(each) for each in counted if each.is_dated]
        return not ends or any(end is None or day <= end for end in ends)

    def shown(self) -> list[Statement]:
        """Return the statements that say what is shown without a time, the one that wins last.

        Those without dates, and those of the period without an end, else of the one that ends last.
        """
        ends = {each: self.until(each) for each in self.statements if each.is_dated}
        lasts = {each: FOREVER if end is None else end for each, end in ends.items()}
        last = max(lasts.values(), default=FOREVER)
        return [each for each in self.in_order if lasts.get(each, last) == last]

    def value(self, day: int) -> Any:
        """Return what the field of an entity is on a day."""
        for statement in reversed(self.counted(day)):
            since, until = self.since(statement), self.until(statement)
            held = not statement.is_dated or (statement.made if since is None else since) <= day
            if statement.value is not None and held and (until is None or day <= until):
                return statement.value
        return None
