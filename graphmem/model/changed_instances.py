"""Changes of single instances of a calendar series that stand in another file than the series.

The other file adds one field to the series for each such instance: the name of the field has the time at
which the instance would take place, and the value is the time at which it does, or :data:`CANCELLED`. The
lists of instances stay as their file has them; the timeline has the times that count. So the files may come
in either order, and what is withdrawn has no effect.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from graphmem.model import canonical, dates

CANCELLED: Final = "cancelled"
_ONE, _LATER = "instance ", "instances from "
ENDS: Final[Mapping[str, str]] = {"date_end": "date_start", "due_date": "start_date"}
"""Fields of the first instance that go with its start."""
_FIELDS: Final = frozenset({*ENDS, *ENDS.values(), "instance_dates"})


class Change(NamedTuple):
    """``at`` is the time in microseconds, ``day`` its text where it is a day; ``shift`` moves the later ones.

    Without ``is_of_later`` only the instance at this time is changed. Where ``shift`` is ``None``, no later
    one takes place.
    """

    at: int
    day: str | None
    is_of_later: bool
    shift: timedelta | None


def field_name(recurrence_id: str, *, is_of_later: bool) -> str:
    return f"{_LATER if is_of_later else _ONE}{recurrence_id}"


def changes(values: Iterable[tuple[str, str]]) -> list[Change]:
    """Return the changes that a series with some fields (canonical JSON) has, by time."""
    listed: list[Change] = []
    for name, value in values:
        if not name.startswith((_ONE, _LATER)) or value == "null":
            continue
        is_of_later = name.startswith(_LATER)
        instance, text = name.removeprefix(_LATER if is_of_later else _ONE), canonical.decode(value)
        moment, start = dates.parse(instance), dates.parse(text) if isinstance(text, str) else None
        if moment is not None:
            shift = None if start is None else timedelta(microseconds=start.at - moment.at)
            day = instance if moment.precision == "day" else None
            listed.append(Change(moment.at, day, is_of_later, shift))
    return sorted(listed, key=lambda change: change.at)


def taking_place(listed: Sequence[Change], name: str, text: str, start: str) -> str | None:
    """Return when a time of an instance that begins at ``start`` takes place, if it does in this entry."""
    written = dates.parse(start)
    if written is None or name not in _FIELDS:
        return text
    begun: Change | None = None
    for change in listed:
        if change.at == written.at or (change.day is not None and start.startswith(change.day)):
            return None
        if change.is_of_later and change.at < written.at:
            begun = change
    if begun is None:
        return text
    try:
        moved = None if begun.shift is None else datetime.fromisoformat(text) + begun.shift
    except (ValueError, OverflowError):
        return text
    return None if moved is None else moved.isoformat() if "T" in text else moved.date().isoformat()
