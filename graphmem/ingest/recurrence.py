"""The instances of an entry of a calendar that repeats, within a horizon that depends on the file alone.

Of more than :data:`INSTANCES_LIMIT` instances, those from the reference on are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final

HORIZON_DAYS: Final = 400
INSTANCES_LIMIT: Final = 90  # instances of one entry; an entity has at most 100 events in the timeline
STEPS_LIMIT: Final = 20_000  # instances of one rule that are looked at: 50 years of days
UNTIL = re.compile(r"UNTIL=([0-9TZ]+)", re.IGNORECASE)
FREQUENCY = re.compile(r"FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;|\Z)", re.IGNORECASE)
NO_INTERVAL = re.compile(r"INTERVAL=0*(?:;|\Z)", re.IGNORECASE)
Moment = date | datetime


def instances(
    start: Moment, rules: Iterable[str], added: Iterable[Moment], left_out: Sequence[Moment],
    rules_left_out: Iterable[str], since: tuple[Moment, Moment] | None, parted: Iterable[Moment],
    reference: str,
) -> tuple[Moment | None, list[Moment]]:  # fmt: skip
    """Return the first instance, ``None`` if there is none, and the instances within the horizon.

    Times may be days, times in a zone, or times without one.

    Args:
        since: an instance, and when it takes place instead: only later instances, moved as this one is.
        parted: the instances from which on other entries say when the later ones take place.
        reference: a time in ISO 8601; an empty text stands for the start.

    Raises:
        ValueError: a rule cannot be read, or repeats more often than daily or for too long.
    """
    zone = start.tzinfo if isinstance(start, datetime) else None

    def local(moment: Moment) -> datetime:
        """Return a time in the clock of the series, without its zone."""
        if not isinstance(moment, datetime):
            return datetime.combine(moment, time())
        is_moved = zone is not None and moment.tzinfo is not None
        return (moment.astimezone(zone) if is_moved else moment).replace(tzinfo=None)

    def as_start(moment: datetime) -> Moment:
        return moment.replace(tzinfo=zone) if isinstance(start, datetime) else moment.date()

    base = local(start)
    middle = datetime.fromisoformat(reference[:10]) if reference else base
    now, horizon = max(base, middle), timedelta(days=HORIZON_DAYS)
    begin, end = max(base, middle - horizon), now + horizon
    moments = {
        base,
        *map(local, added),
        *(each for rule in rules for each in _of_rule(rule, base, end, local)),
    }
    no_moments = {*map(local, left_out)}
    no_moments.update(each for rule in rules_left_out for each in _of_rule(rule, base, end, local))
    days = {moment for moment in left_out if not isinstance(moment, datetime)}
    least, moved = map(local, since) if since else (datetime.min, datetime.min)
    limit = min((moment for moment in map(local, parted) if moment > least), default=datetime.max)
    kept = sorted(
        moment + (moved - least)
        for moment in moments
        if moment not in no_moments and moment.date() not in days and least <= moment < limit
    )
    near = [moment for moment in kept if begin <= moment <= end]
    later = next((place for place, moment in enumerate(near) if moment >= now), len(near))
    first = max(0, min(later, len(near) - INSTANCES_LIMIT))
    return as_start(kept[0]) if kept else None, [*map(as_start, near[first : first + INSTANCES_LIMIT])]


def _of_rule(
    rule: str, base: datetime, end: datetime, local: Callable[[Moment], datetime]
) -> Iterator[datetime]:
    from dateutil.rrule import rrulestr

    if FREQUENCY.search(rule) is None or NO_INTERVAL.search(rule) is not None:
        raise ValueError("it repeats more often than daily")
    # The end of a rule is in the clock of the series; a day is its end.
    if (until := UNTIL.search(rule)) is not None:
        is_day = "T" not in until[1].upper()
        last = f"{until[1]}T235959" if is_day else f"{local(datetime.fromisoformat(until[1])):%Y%m%dT%H%M%S}"
        rule = UNTIL.sub(f"UNTIL={last}", rule)
    for step, moment in enumerate(rrulestr(rule, dtstart=base)):
        if moment > end:
            return
        if step >= STEPS_LIMIT:
            raise ValueError("it repeats too often")
        yield moment
