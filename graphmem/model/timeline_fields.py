"""The timeline: which fields of an entity are times, and the events of their values.

If the registered schema of a type declares temporal fields, only those are times. Otherwise the name of a
field decides: the names below, names with their endings (``due_date``, ``sentAt``) and ``date_…``. Either way
the value must be a date or a list of dates (:mod:`graphmem.model.dates`): a number, a postal code, an amount
or a bare year gives no event. Bookkeeping names (``created_at``) are times only if a schema declares them.

Events are a pure function of an entity's fold and the rules of its type.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from graphmem import tables
from graphmem.model import canonical, dates, ids, merged_arrays
from graphmem.model.dates import Precision
from graphmem.model.reduction import Fold, Winner
from graphmem.model.rules import Rules

EVENTS_LIMIT: Final = 100
"""Events of one entity: the first ones in the order of its fields, then of their lists."""

_TABLE: Final = tables.read("model/times")
TIME_NAMES: Final = frozenset(_TABLE["names"].split())
"""Names of fields that are times, as :func:`folded` spells them."""
NAME_ENDINGS: Final = tuple(_TABLE["endings"].split())  # endings of further field names that are times
NAME_BEGINNING: Final = "date_"
BOOKKEEPING_NAMES: Final = frozenset(_TABLE["bookkeeping"].split())
"""Names of bookkeeping: they do not say when something happened."""
BY_TYPE: Final = {
    (kind, name): event_type
    for kind, event_types in _TABLE["event_types"].items()
    for event_type, names in event_types.items()
    for name in names.split()
}
_BY_NAME: Final = {"invoice_date": "InvoiceIssued", "date_due": "InvoiceDue"}

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])", re.ASCII)
_BREAK = re.compile(r"[\W_]+")


class DatedEvent(NamedTuple):
    """A time of an entity: ``at`` in microseconds, ``text`` as it was written, by which observation."""

    id: str
    event_type: str
    field: str
    at: int
    text: str
    precision: Precision
    observation_id: str


def events(owner: str, entity_id: str, entity_type: str, fold: Fold, rules: Rules) -> dict[str, DatedEvent]:
    """Return the events of an entity by id, :data:`EVENTS_LIMIT` at most, of its fold with its members."""
    by_id: dict[str, DatedEvent] = {}
    changes = changes_of_series((name, winner.value) for name, winner in fold.items())
    for name in sorted(filter(lambda field: is_temporal(field, rules), fold), key=canonical.name_order):
        for stated, observation_id in _texts(fold[name]):
            text: str | None = stated
            if changes:
                begin = fold.get(ENDS.get(name, ""))
                start = next((each for each, _ in _texts(begin)), stated) if begin else stated
                text = taking_place(changes, name, stated, start)
            written = None if text is None else dates.parse(text)
            if text is None or written is None:
                continue
            event_id = ids.event_id(owner, entity_id, name, text)
            kind = rules.temporal.get(name) or event_type(entity_type, name)
            event = DatedEvent(event_id, kind, name, written.at, text, written.precision, observation_id)
            by_id.setdefault(event_id, event)
            if len(by_id) == EVENTS_LIMIT:
                return by_id
    return by_id


def is_temporal(name: str, rules: Rules) -> bool:
    return name in rules.temporal if rules.temporal else _is_time(name)


def event_type(entity_type: str, name: str) -> str:
    """Return the default type of the events of a field, such as ``StartDate``."""
    known = folded(name)
    type_name = BY_TYPE.get((entity_type, known)) or _BY_NAME.get(known)
    return type_name or "".join(part[:1].upper() + part[1:] for part in known.split("_")) or name


@lru_cache(maxsize=4096)
def _is_time(name: str) -> bool:
    known = folded(name)
    if known in BOOKKEEPING_NAMES:
        return False
    return known in TIME_NAMES or known.endswith(NAME_ENDINGS) or known.startswith(NAME_BEGINNING)


def folded(name: str) -> str:
    """Return a field's name as ``due_date``: of ``dueDate``, ``Due-Date`` and ``due date`` alike."""
    return _BREAK.sub("_", _HUMP.sub("_", name)).strip("_").lower()


def _texts(winner: Winner) -> Iterator[tuple[str, str]]:
    if winner.value.startswith('"'):
        yield canonical.decode(winner.value), winner.observation_id
    elif winner.value.startswith("["):
        elements = canonical.decode(winner.value)
        sources = merged_arrays.observations(winner) or [winner.observation_id] * len(elements)
        for element, observation_id in zip(elements, sources, strict=True):
            if isinstance(element, str):
                yield element, observation_id


# Changes of single instances of a calendar series that stand in another file than the series. That file adds
# a field to the series for each: its name has the time at which the instance would take place, its value the
# time at which it does. So the files may come in either order, and what is withdrawn has no effect.
CANCELLED: Final = "cancelled"
_ONE, _LATER = "instance ", "instances from "
ENDS: Final[Mapping[str, str]] = {"date_end": "date_start", "due_date": "start_date"}
"""Fields of the first instance that go with its start."""
_FIELDS_OF_INSTANCES: Final = frozenset({*ENDS, *ENDS.values(), "instance_dates"})


class Change(NamedTuple):
    """A change of an instance of a series, which is a field of the series.

    ``at`` is the time in microseconds, ``day`` its text where it is a day; ``shift`` moves the later ones.

    Without ``is_of_later`` only the instance at this time is changed. Where ``shift`` is ``None``, no later
    one takes place.
    """

    at: int
    day: str | None
    is_of_later: bool
    shift: timedelta | None


def name_of_change(recurrence_id: str, *, is_of_later: bool) -> str:
    return f"{_LATER if is_of_later else _ONE}{recurrence_id}"


def changes_of_series(values: Iterable[tuple[str, str]]) -> list[Change]:
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
    if written is None or name not in _FIELDS_OF_INSTANCES:
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
