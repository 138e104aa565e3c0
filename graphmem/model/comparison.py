"""The typed order of snapshot values, which filters and sorts share.

A value is a number, a time, a text or a boolean, in this order; a string that is an ISO 8601 date or time is
a time, a date alone its first moment in UTC. Numbers compare exactly, whatever their size; texts as
identities do (NFKC, case folded, white space collapsed), by code point. Null, lists and objects have no place
in the order. A value of one kind never equals, precedes or follows one of another in a filter.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, get_args

from graphmem.model import canonical, identity, ranks, times
from graphmem.model.identity import fold_text

Op = Literal["eq", "in", "gt", "lt", "gte", "lte", "contains", "contains_word"]
OPS: Final = get_args(Op)
KEY_DIGITS: Final = 150  # significant digits of a number in its key

_NUMBER, _TIME, _TEXT, _BOOLEAN = range(4)
_EXACT: Final = Context(prec=10_000)
_COMPLEMENT = str.maketrans("0123456789", "9876543210")


class Typed(NamedTuple):
    """A value with its kind; two of one kind compare as their values do."""

    kind: int
    value: Any


def typed(value: Any) -> Typed | None:
    if isinstance(value, bool):
        return Typed(_BOOLEAN, value)
    if isinstance(value, int | float):
        return Typed(_NUMBER, value)
    if isinstance(value, str):
        return Typed(_TIME, times.parse(value)) if times.is_time(value) else Typed(_TEXT, fold_text(value))
    return None


def sort_key(value: Any) -> str | None:
    """Return a text, short enough for an index, that sorts as the value does among all kinds, if it may.

    Numbers that share their first 150 digits, and texts their first 200 characters, are in arbitrary order.
    """
    typed_value = typed(value)
    if typed_value is None:
        return None
    if typed_value.kind == _NUMBER:
        return f"{typed_value.kind}{_number_key(typed_value.value)}"
    if typed_value.kind == _TIME:
        return f"{typed_value.kind}{ranks.time_rank(typed_value.value)}"
    if typed_value.kind == _BOOLEAN:
        return f"{typed_value.kind}{int(typed_value.value)}"
    return f"{typed_value.kind}{identity.index_key(typed_value.value)}"


def _number_key(number: float) -> str:
    """Return the sign, the exponent and the digits of a number: such texts sort as numbers do."""
    sign, digits, exponent = Decimal(number).normalize(_EXACT).as_tuple()
    if not any(digits):
        return "1"
    assert isinstance(exponent, int)
    place = f"{len(digits) + exponent + 50_000:05d}"
    text = place + "".join(map(str, digits[:KEY_DIGITS]))
    # Of two negative numbers the one with the greater digits comes first, also where one begins the other.
    return f"0{text.translate(_COMPLEMENT)}~" if sign else f"2{text}"


def index_keys(value: Any) -> list[str]:
    """Return the keys under which an index holds the value of a field.

    A value has its :func:`sort_key`, or :data:`LACKING` if it has no place in the order. A list has
    :data:`LACKING` and the marked keys of its elements, or :data:`MANY_ELEMENTS` in place of these.
    """
    if not isinstance(value, list):
        return [sort_key(value) or LACKING]
    keys = {f"{ELEMENT}{key}" for element in value if (key := sort_key(element)) is not None}
    return [LACKING, *(sorted(keys) if len(keys) <= INDEXED_ELEMENTS_LIMIT else [MANY_ELEMENTS])]


LACKING: Final = "~"
ELEMENT: Final = "e"
MANY_ELEMENTS: Final = "f"
INDEXED_ELEMENTS_LIMIT: Final = 100
"""Distinct elements of a list that an index holds; a longer list has one mark."""
EXACT_KEY_LENGTH: Final = identity.KEY_LIMIT  # a longer key is cut and may stand for several texts


@dataclass(frozen=True)
class Filter:
    """A condition on the value of one field."""

    field: str
    op: Op
    value: Any  # a decoded JSON value; a list of such values for ``in``

    @cached_property
    def _test(self) -> Callable[[Any], bool]:
        if self.op in ("contains", "contains_word"):
            text, whole = fold_text(self.value), self.op == "contains_word"
            return lambda value: isinstance(value, str) and _contains(fold_text(value), text, whole)
        if self.op in ("eq", "in"):
            values = self.value if self.op == "in" else [self.value]
            among = {typed(value) for value in values}
            return lambda value: (typed_value := typed(value)) is not None and typed_value in among
        bound, compare = typed(self.value), _COMPARE[self.op]
        assert bound is not None
        return lambda value: (
            (typed_value := typed(value)) is not None
            and typed_value.kind == bound.kind
            and compare(typed_value.value, bound.value)
        )

    @property
    def keys(self) -> list[str] | None:
        """The index keys of all matching values, and maybe of others; ``None`` for ops with ranges."""
        if self.op not in ("eq", "in"):
            return None
        keys = filter(None, map(sort_key, self.value if self.op == "in" else [self.value]))
        return sorted({index_key for key in keys for index_key in (key, f"{ELEMENT}{key}")} | {MANY_ELEMENTS})

    @property
    def ranges(self) -> list[list[str]]:
        """Ranges of index keys with all matching values, and maybe others: (from, to, substring of the key).
        Keys that are cut match by what is left of them."""
        if self.op in ("contains", "contains_word"):
            # The key of a time does not hold its text.
            texts = [[f"{mark}{_TEXT}", f"{mark}{_BOOLEAN}", fold_text(self.value)] for mark in ("", ELEMENT)]
            times_ = [[f"{mark}{_TIME}", f"{mark}{_TEXT}", ""] for mark in ("", ELEMENT)]
            return [*texts, *times_, [MANY_ELEMENTS, LACKING, ""]]
        scalar, key = typed(self.value), sort_key(self.value)
        assert scalar is not None
        assert key is not None
        key = key[: EXACT_KEY_LENGTH + 1]
        if self.op in ("gt", "gte"):
            return [[key, str(scalar.kind + 1), ""]]
        return [[str(scalar.kind), key + LAST_CHARACTER, ""]]

    def matches(self, value: Any) -> bool:
        """Return whether a decoded JSON value matches; a list matches if one of its elements does. ``gt``,
        ``lt``, ``gte`` and ``lte`` match no list."""
        if isinstance(value, list):
            return self.op not in _COMPARE and any(map(self._test, value))
        return self._test(value)


_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": lambda left, right: left > right,
    "lt": lambda left, right: left < right,
    "gte": lambda left, right: left >= right,
    "lte": lambda left, right: left <= right,
}


def problem(op: Any, value: Any) -> tuple[str, str] | None:
    """Return what is wrong with a filter as (``op`` or ``value``, message)."""
    if op not in OPS:
        return "op", f"an op is one of {', '.join(OPS)}"
    if op == "in":
        if not isinstance(value, list) or not 0 < len(value) <= IN_LIMIT:
            return "value", f"in takes a list of 1 to {IN_LIMIT} values"
        return None if all(typed(element) for element in value) else ("value", _SCALAR)
    if op in ("contains", "contains_word"):
        if not isinstance(value, str) or not fold_text(value):
            return "value", f"{op} takes a text that is not blank"
        return None
    return None if typed(value) else ("value", _SCALAR)


LAST_CHARACTER: Final = "\U0010ffff"  # the greatest character
IN_LIMIT: Final = 100  # values that ``in`` takes
_SCALAR: Final = "a string, a number or a boolean"


def matches_all(filters: Mapping[str, Filter], texts: Mapping[str, str]) -> bool:
    return all(
        name in texts and condition.matches(canonical.decode(texts[name]))
        for name, condition in filters.items()
    )


def _contains(text: str, part: str, whole: bool) -> bool:
    start = text.find(part)
    while whole and start >= 0:
        end = start + len(part)
        if not (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])):
            return True
        start = text.find(part, start + 1)
    return start >= 0


def _in_word(character: str) -> bool:
    return bool(character) and (character.isalnum() or unicodedata.category(character)[0] == "M")
