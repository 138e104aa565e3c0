"""``merge_array``: the union of the values of the observations with the greatest priority, each element once.

A correction outranks every other observation and replaces the union. Elements are in the order in which they
were first seen (observed_at, observation id, index in the list), whatever their order of arrival. A null has
no elements; where the greatest priority has nothing but nulls, the union is empty. A list in a string
(``'["a"]'``) is that list, any other value is one element (contract, section 2).

In a fold the rank of such a field is its precedence, then one mark for each element, joined by ``;``.
"""

from typing import Any, Final

from graphmem.model import canonical, ranks
from graphmem.model.rules import convert

_MARK: Final = "U"  # the first letter of the rank of a union; no other rank has it
_NOTHING: Final = "-"
"""In place of an element's index: the union is empty, and this is the newest observation without elements."""

UnionWinner = tuple[str, str, str]  # rank, observation ids (joined by commas) and value, as a fold holds them


def is_union(rank: str) -> bool:
    return rank.startswith(_MARK)


def corrected_at(rank: str) -> int | None:
    """Return the time of the correction that made a union, in microseconds; ``None`` if none did."""
    precedence, time, *_ = f"{rank}..".split(".")
    return ranks.time_of(time) if precedence == f"{_MARK}1" else None


def claim(
    observation_id: str, value: str, *, correction: bool, observed_at: int, priority: float
) -> UnionWinner:
    time = ranks.time_rank(observed_at)
    number = ranks.number_rank(priority)
    precedence = f"{_MARK}1.{time}.{observation_id}" if correction else f"{_MARK}0.{number}"
    elements: dict[str, str] = {}
    for index, element in enumerate(_elements(value)):
        elements.setdefault(canonical.encode(element), f"{time}.{observation_id}.{index:06x}")
    return _winner(precedence, elements, f"{time}.{observation_id}.{_NOTHING}")


def union(winner: UnionWinner, other: UnionWinner) -> UnionWinner:
    """Return the winner with the greater precedence, or the union of two with the same."""
    precedence, marks = _marks(winner)
    others_precedence, others_marks = _marks(other)
    if precedence != others_precedence:
        return winner if precedence > others_precedence else other
    elements: dict[str, str] = {}
    nothing = ""
    for element, mark in (*marks, *others_marks):
        if element is None:
            nothing = max(nothing, mark)
        else:
            elements[element] = min(elements.get(element, mark), mark)
    return _winner(precedence, elements, nothing)


def observations(winner: UnionWinner) -> list[str]:
    """Return the observation that each element of a union comes from."""
    if not is_union(winner[0]):
        return []
    marks = [mark.split(".") for mark in winner[0].split(";")[1:]]
    return [observation_id for _, observation_id, place in marks if place != _NOTHING]


def _winner(precedence: str, elements: dict[str, str], nothing: str) -> UnionWinner:
    ordered = sorted(elements.items(), key=lambda pair: pair[1])
    marks = [mark for _, mark in ordered] or [nothing]
    ids = dict.fromkeys(mark.split(".")[1] for mark in marks)
    return ";".join((precedence, *marks)), ",".join(ids), f"[{','.join(element for element, _ in ordered)}]"


def _marks(winner: UnionWinner) -> tuple[str, list[tuple[str | None, str]]]:
    precedence, *marks = winner[0].split(";")
    if marks[0].endswith(_NOTHING):
        return precedence, [(None, marks[0])]
    elements = [canonical.encode(element) for element in canonical.decode(winner[2])]
    return precedence, list(zip(elements, marks, strict=True))


def _elements(value: str) -> list[Any]:
    text = convert(value, "array") if value != "null" else "[]"
    elements = [canonical.decode(value)] if text is None else canonical.decode(text)
    return [element for element in elements if element is not None]
