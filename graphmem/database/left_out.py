"""What an answer leaves out because it is stored damaged, each with the reason.

A read runs as if everything were sound. If that fails, it runs once more and checks the rows that it reads:
a list leaves out the rows that are damaged, and another read says which row it is.
"""

import re
import types
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict

from graphmem.errors import DataDamaged, DecryptionFailed
from graphmem.model import canonical

LISTED_LIMIT: Final = 20  # damaged things that an answer names; the check of snapshots names all

MET_DAMAGE: Final = (DecryptionFailed, TypeError, ValueError, LookupError, AttributeError)
"""What a read raises that works with damaged rows."""

Json: TypeAlias = Annotated[str, "JSON"]  # a column that holds JSON
UNNAMED: Final = "what this reads"  # what an error names whose row has no id
_ID: Final = re.compile(r"[a-z]{3}_[0-9a-f]{20}")

R = TypeVar("R")
T = TypeVar("T")


class LeftOutEntity(TypedDict):
    """What an answer leaves out, or compares by its words alone, because it is stored damaged, and why.

    ``entity_id`` is the id of an entity, or of a relationship, an observation or a file.
    """

    entity_id: str
    reason: str


class SoundRows(list[R]):
    """Rows without those that are damaged; ``read`` has these too."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[R] = []


def as_read(rows: Sequence[R]) -> Sequence[R]:
    """Return rows with those that were left out of them: a cursor goes on after the last of these."""
    return rows.read if isinstance(rows, SoundRows) else rows


@dataclass(slots=True)
class Damage:
    """The damage that one read meets.

    Attributes:
        drops: rows that are damaged are left out; else the read is refused.
        is_checking: the rows that are read are checked.
        keeps_unopened: the error of a sealed value that does not open stands in its place.
        reasons: why each thing is left out, by id.
        torn: rows whose parts did not fit together. A commit may have fallen between; a row that is read
            alike once more is damaged.
    """

    drops: bool
    is_checking: bool = False
    keeps_unopened: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    torn: dict[str, Any] = field(default_factory=dict)

    @property
    def listed(self) -> list[LeftOutEntity]:
        first = list(self.reasons.items())[:LISTED_LIMIT]
        return [{"entity_id": subject_id, "reason": reason} for subject_id, reason in first]

    def kept(self, row: Any) -> Any:
        """Return a row if it is sound, or what of a damaged row may be used; None: the row is left out.

        Raises:
            DataDamaged, DecryptionFailed: it is damaged, and the read leaves nothing out.
        """
        values = [getattr(row, name) for name in _hints(type(row))]
        unopened = next(_unopened(values), None)
        subject_id = next(_ids(values), UNNAMED)
        if unopened is not None:
            reason = str(unopened)
        elif wrong := wrong_types(row):
            reason = wrong
        elif fault := getattr(row, "fault", None):
            reason = fault
        elif (is_whole := getattr(row, "is_whole", None)) is not None and not is_whole():
            known, self.torn[subject_id] = self.torn.get(subject_id), row
            if known != row:
                return row
            reason = "its stored parts do not fit together"
        else:
            return row
        if not self.drops:
            raise unopened or DataDamaged(_message(subject_id, reason), id=subject_id)
        self.reasons.setdefault(subject_id, f"{reason}: `graphmem rebuild` mends what is derived")
        without_damage = getattr(row, "without_damage", None)
        return None if without_damage is None else without_damage()


_current: ContextVar[Damage | None] = ContextVar("damage", default=None)


@contextmanager
def noting(damage: Damage) -> Iterator[None]:
    """Have the reads of a block meet this damage."""
    token = _current.set(damage)
    try:
        yield
    finally:
        _current.reset(token)


def keeping_unopened() -> AbstractContextManager[None]:
    """Have the error of a sealed value that does not open stand in its place, in what a block reads."""
    return noting(Damage(drops=False, keeps_unopened=True))


async def without_damaged(read: Callable[[], Awaitable[T]]) -> tuple[T, dict[str, str]]:
    """Return what a read answers and, if it meets damage, why rows of it are left out, by id."""
    try:
        return await read(), {}
    except MET_DAMAGE:
        damage = Damage(drops=True, is_checking=True)
        with noting(damage):
            return await read(), damage.reasons


def current() -> Damage | None:
    """Return the damage that the read under way meets; None outside of one."""
    return _current.get()


def checking() -> Damage | None:
    """Return the damage that the read under way meets if it checks its rows."""
    damage = _current.get()
    return damage if damage is not None and damage.is_checking else None


def note(subject_id: str, reason: str) -> None:
    """Note that the answer under way leaves something out."""
    if (damage := _current.get()) is not None:
        damage.reasons.setdefault(subject_id, reason)


def refused(subject_id: str) -> DataDamaged:
    """Return the error of what is stored with parts that do not fit together."""
    return DataDamaged(_message(subject_id, "its stored parts do not fit together"), id=subject_id)


def _message(subject_id: str, reason: str) -> str:
    return (
        f"{subject_id} is damaged in the database ({reason}): POST /health_check_snapshots says what differs "
        "from the facts, and repairs with auto_fix what is derived from them"
    )


def kept(make: Callable[[Any], R], value: Any) -> R:
    """Return the row that is made of a value, or what of it may be used. Raises DataDamaged,
    DecryptionFailed: it is damaged. A list of rows leaves it out."""
    damage = checking()
    if damage is None:
        return make(value)
    subject_id = next(_ids(value.values() if isinstance(value, dict) else value), UNNAMED)
    try:
        row = make(value)
    except (TypeError, LookupError) as exc:
        damage.reasons.setdefault(subject_id, "its stored parts do not fit together")
        raise refused(subject_id) from exc
    if (usable := damage.kept(row)) is None:
        raise refused(subject_id)
    return usable


def each_sound(make: Callable[[Any], R], values: Iterable[Any]) -> list[R]:
    """Return a row for each of some values, without those that are damaged."""
    damage = checking()
    if damage is None:
        return [make(value) for value in values]
    rows = SoundRows[R]()
    for value in values:
        with suppress(*([DataDamaged] if damage.drops else [])):
            rows.append(kept(make, value))
            rows.read.append(rows[-1])
            continue
        with suppress(TypeError, LookupError, DataDamaged):
            rows.read.append(make(value))
    return rows


def sound(annotation: Any, value: R) -> R:
    """Return the only column of a row; raises DataDamaged: it is of another type than is expected."""
    if checking() is not None and not holds(annotation, value):
        raise DataDamaged(_message(UNNAMED, "stored with a wrong type"))
    return value


def refuse_unopened(value: R) -> R:
    """Return what was read; raises DecryptionFailed: something in it does not open, and was not left out."""
    if checking() is not None and (unopened := next(_unopened(value), None)) is not None:
        raise unopened
    return value


def _unopened(value: Any) -> Iterator[DecryptionFailed]:
    if isinstance(value, DecryptionFailed):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _unopened(each)


@cache
def _hints(row_class: type) -> dict[str, Any]:
    hints = get_type_hints(row_class, include_extras=True)
    return {name: hint for name, hint in hints.items() if name in getattr(row_class, "_fields", hints)}


def wrong_types(row: Any) -> str | None:
    """Say which values of a row are of another type than their columns; None: none."""
    hints = _hints(type(row))
    wrong = [name for name, hint in hints.items() if not holds(hint, getattr(row, name))]
    if not wrong and {"fields", "values"} <= hints.keys() and len(row.fields or ()) != len(row.values or ()):
        wrong = ["fields", "values"]
    return f"stored with a wrong type: {', '.join(wrong)}" if wrong else None


def without_wrong_types(row: Any) -> Any:
    """Return a row with nothing in the place of values of a wrong type, but for ids and names of types."""
    return row._replace(**{
        name: None if holds(hint, None) else (get_origin(hint) or hint)()
        for name, hint in _hints(type(row)).items() if hint is not str and not holds(hint, getattr(row, name))
    })  # fmt: skip


def _ids(values: Any) -> Iterator[str]:
    """Yield the texts of a row that are ids, or keys of relationships."""
    for each in values if isinstance(values, Iterable) else ():
        if isinstance(each, str) and _ID.search(each):
            yield each


def holds(annotation: Any, value: Any) -> bool:
    """Return whether a value has the type of an annotation, all of its items too."""
    if annotation is Any:
        return True
    if annotation == Json:
        return isinstance(value, str) and canonical.is_json(value)
    arguments, origin = get_args(annotation), get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(holds(each, value) for each in arguments)
    if origin is list:
        return isinstance(value, list) and all(holds(arguments[0], each) for each in value)
    if origin is tuple:
        # The driver answers lists.
        is_row = isinstance(value, list | tuple)
        return is_row and (Ellipsis in arguments or all(map(holds, arguments, value)))
    expected = origin or (int | float if annotation is float else annotation)
    return not isinstance(expected, type | types.UnionType) or isinstance(value, expected)
