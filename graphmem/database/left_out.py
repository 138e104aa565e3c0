"""What an answer leaves out because it is stored damaged, each with the reason.

A read runs as if everything were sound. If that fails, it runs once more and checks the rows that it reads:
a list leaves out the rows that are damaged, and another read says which row it is.
"""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict

from graphmem.errors import DataDamaged, DecryptionFailed

LISTED_LIMIT: Final = 20
"""Damaged things that an answer names; the check of snapshots names all."""

MET_DAMAGE: Final = (DecryptionFailed, TypeError, ValueError, LookupError, AttributeError)
"""What a read raises that works with damaged rows."""

R = TypeVar("R")
T = TypeVar("T")


class LeftOutEntity(TypedDict):
    """What an answer leaves out, or compares by its words alone, because it is stored damaged, and why.

    ``entity_id`` is the id of an entity, or of a relationship, an observation or a file.
    """

    entity_id: str
    reason: str


@dataclass(slots=True)
class Damage:
    """The damage that one read meets.

    Attributes:
        drops: rows that are damaged are left out; else the read is refused.
        is_checking: the rows that are read are checked.
        reasons: why each thing is left out, by id.
        torn: rows whose parts did not fit together. A commit may have fallen between; a row that is read
            alike once more is damaged.
    """

    drops: bool
    is_checking: bool = False
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
        unopened = next(_unopened(row), None)
        wrong = [
            name for name, hint in get_type_hints(type(row)).items() if not holds(hint, getattr(row, name))
        ]
        if unopened is not None:
            reason = str(unopened)
        elif wrong:
            reason = f"stored with a wrong type: {', '.join(wrong)}"
        elif fault := getattr(row, "fault", None):
            reason = fault
        elif (is_whole := getattr(row, "is_whole", None)) is not None and not is_whole():
            known, self.torn[row[0]] = self.torn.get(row[0]), row
            if known != row:
                return row
            reason = "its stored parts do not fit together"
        else:
            return row
        if not self.drops:
            raise unopened or DataDamaged(_message(row[0], reason), id=row[0])
        self.reasons.setdefault(str(row[0]), f"{reason}: `graphmem rebuild` mends what is derived")
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


def left_out_if_damaged(row_class: type[R]) -> type[R]:
    """Mark a row class: its first column is an id, and lists leave out what is damaged."""
    row_class.has_own_damage = True  # pyright: ignore[reportAttributeAccessIssue]
    return row_class


def is_left_out_if_damaged(row_class: type) -> bool:
    return hasattr(row_class, "has_own_damage")


def kept(row: R) -> R:
    """Return a row that is read, or what of it may be used.

    Raises:
        DataDamaged, DecryptionFailed: it is damaged. A list of rows leaves it out.
    """
    damage = checking()
    if damage is None:
        return row
    if (usable := damage.kept(row)) is None:
        raise refused(str(row[0]))  # pyright: ignore[reportIndexIssue]
    return usable


def each_sound(make: Callable[[Any], R], values: Iterable[Any], row_class: type) -> list[R]:
    """Return a row for each of some values, without those that are damaged."""
    damage = checking()
    if damage is None:
        return [make(value) for value in values]
    rows: list[R] = []
    for value in values:
        with suppress(*([DataDamaged] if damage.drops else [])):
            row = make(value)
            rows.append(kept(row) if is_left_out_if_damaged(row_class) else row)
    return rows


def refuse_unopened(value: R) -> R:
    """Return what was read of a sealed instance.

    Raises:
        DecryptionFailed: something in it does not open, and was not left out.
    """
    if checking() is not None and (unopened := next(_unopened(value), None)) is not None:
        raise unopened
    return value


def _unopened(value: Any) -> Iterator[DecryptionFailed]:
    if isinstance(value, DecryptionFailed):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _unopened(each)


def holds(annotation: Any, value: Any) -> bool:
    """Return whether a value has the type of an annotation, all of its items too."""
    if annotation is Any:
        return True
    arguments, origin = get_args(annotation), get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(holds(each, value) for each in arguments)
    if origin is list:
        return isinstance(value, list) and all(holds(arguments[0], each) for each in value)
    if origin is not None:
        return isinstance(value, origin)
    return isinstance(value, int | float if annotation is float else annotation)
