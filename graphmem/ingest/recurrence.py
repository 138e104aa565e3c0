"""The instances of an entry of a calendar that repeats, within a horizon.

The horizon depends on the file alone: it goes from :data:`HORIZON_DAYS` before a reference to as many days
after it, or after the first instance where that is later. Of more than :data:`INSTANCES_LIMIT` instances,
those from the reference on are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final, NamedTuple

HORIZON_DAYS: Final = 400
INSTANCES_LIMIT: Final = 90
"""Instances of one entry; an entity has at most 100 events in the timeline."""
STEPS_LIMIT: Final = 20_000
"""Instances of one rule that are looked at: 50 years of days."""
UNTIL = re.compile(r"UNTIL=([0-9TZ]+)", re.IGNORECASE)
FREQUENCY = re.compile(r"FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;|\Z)", re.IGNORECASE)
NO_INTERVAL = re.compile(r"INTERVAL=0*(?:;|\Z)", re.IGNORECASE)
Moment = date | datetime


class Series(NamedTuple):
    """An entry that repeats. Its times may be days, times in a zone, or times without one."""

    start: Moment
    rules: list[str]
    added: list[Moment]
    left_out: list[Moment]
    rules_left_out: list[str]
    since: tuple[Moment, Moment] | None = None
    """An instance, and when it takes place instead: only later instances, moved as this one is."""
    parted: Sequence[Moment] = ()
    """The instances from which on other entries say when the later ones take place."""

    def instances(self, reference: str) -> tuple[Moment | None, list[Moment]]:
        """Return the first instance, ``None`` if there is none, and the instances within the horizon.

        Args:
            reference: a time in ISO 8601; an empty text stands for the start.

        Raises:
            ValueError: a rule cannot be read, or repeats more often than daily or for too long.
        """
        base = self._local(self.start)
        left_out = {self._local(moment) for moment in self.left_out}
        days = {moment for moment in self.left_out if not isinstance(moment, datetime)}
        middle = datetime.fromisoformat(reference[:10]) if reference else base
        now, horizon = max(base, middle), timedelta(days=HORIZON_DAYS)
        begin, end = max(base, middle - horizon), now + horizon
        moments = {base, *(self._local(moment) for moment in self.added)}
        for rule in self.rules:
            moments.update(self._of_rule(rule, base, end))
        for rule in self.rules_left_out:
            left_out.update(self._of_rule(rule, base, end))
        least, moved = map(self._local, self.since) if self.since else (datetime.min, datetime.min)
        parted = (self._local(moment) for moment in self.parted)
        limit = min((moment for moment in parted if moment > least), default=datetime.max)
        kept = sorted(
            moment + (moved - least)
            for moment in moments
            if moment not in left_out and moment.date() not in days and least <= moment < limit
        )
        near = [moment for moment in kept if begin <= moment <= end]
        later = next((place for place, moment in enumerate(near) if moment >= now), len(near))
        first = max(0, min(later, len(near) - INSTANCES_LIMIT))
        return self._as_start(kept[0]) if kept else None, [
            self._as_start(moment) for moment in near[first : first + INSTANCES_LIMIT]
        ]

    def _of_rule(self, rule: str, base: datetime, end: datetime) -> Iterator[datetime]:
        from dateutil.rrule import rrulestr

        if FREQUENCY.search(rule) is None or NO_INTERVAL.search(rule) is not None:
            raise ValueError("it repeats more often than daily")
        for step, moment in enumerate(rrulestr(UNTIL.sub(self._until, rule), dtstart=base)):
            if moment > end:
                return
            if step >= STEPS_LIMIT:
                raise ValueError("it repeats too often")
            yield moment

    def _until(self, match: re.Match[str]) -> str:
        """Return the end of a rule in the clock of the series; a day is its end."""
        if "T" not in match[1].upper():
            return f"UNTIL={match[1]}T235959"
        return f"UNTIL={self._local(datetime.fromisoformat(match[1])):%Y%m%dT%H%M%S}"

    def _local(self, moment: Moment) -> datetime:
        """Return a time in the clock of the series, without its zone."""
        if not isinstance(moment, datetime):
            return datetime.combine(moment, time())
        zone = self.start.tzinfo if isinstance(self.start, datetime) else None
        if zone is not None and moment.tzinfo is not None:
            moment = moment.astimezone(zone)
        return moment.replace(tzinfo=None)

    def _as_start(self, local: datetime) -> Moment:
        if not isinstance(self.start, datetime):
            return local.date()
        return local.replace(tzinfo=self.start.tzinfo)
