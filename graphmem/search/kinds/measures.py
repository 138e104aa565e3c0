"""What is asked of the values of a kind: the most or the least, the sum or the mean, by currency and unit."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.times_in_words import moment
from graphmem.text import words

FIELDS: Final = lexicon.fields("measures")  # fields of numbers by what they say: the earlier ones count more
_SIGNS: Final = {
    sign: code for code, signs in lexicon.fields("currencies").items() for sign in (code, *signs)
}
UNIT_FIELDS: Final = ("currency", "unit")  # fields that have the unit of the other ones
_QUANTITY = re.compile(r"([^\d\s.,+-]*)\s*([+-]?\d[\d.,' ]*)\s*([^\d]*)")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,' ]\d{3})+")
DATE: Final = "date"  # the unit of dates


class Measure(NamedTuple):
    """What is asked of the values of a kind, and the words that say so.

    Attributes:
        how: ``max``, ``min``, ``sum`` or ``average``.
        about: what the fields say, such as amount or time; empty if other words say it.
        most: how many of the first ones are asked for.
        first: the place of the first one: 2 of "the second largest".
    """

    how: str
    about: str
    words: str
    most: int = 1
    first: int = 1


class Quantity(NamedTuple):
    """A number with its unit; that of a date is its first microsecond."""

    number: Decimal
    unit: str

    @property
    def text(self) -> str:
        number = self.number.quantize(Decimal("0.01")).normalize()
        return f"{number:f} {self.unit}".strip()


class Limit(NamedTuple):
    """Words such as "over 2000 EUR": a value is to have more than the quantity, or less."""

    words: str
    is_more: bool
    quantity: Quantity

    def holds(self, other: Quantity | None) -> bool:
        if other is None or (self.quantity.unit and self.quantity.unit != other.unit) or other.unit == DATE:
            return False
        number = self.quantity.number
        return other.number > number if self.is_more else other.number < number


def quantity(field: str, values: Mapping[str, Any]) -> Quantity | None:
    """Return the quantity that a field has, ``None`` if its value is none, or may be several ones."""
    value = values.get(field)
    beside = next((str(values[name]) for name in UNIT_FIELDS if values.get(name)), "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Quantity(Decimal(str(value)), _unit(beside))
    if not isinstance(value, str):
        return None
    if (date := moment(value)) is not None:
        return Quantity(Decimal(date.start), DATE)
    written = _QUANTITY.fullmatch(value.strip())
    if written is None or (written[1] and written[3]):
        return None
    unit = _unit(written[1] or written[3] or beside)
    number = _number(written[2].strip(), is_money=unit in _SIGNS.values())
    return None if number is None else Quantity(number, unit)


def _unit(text: str) -> str:
    text = text.strip()
    return _SIGNS.get(text.lower(), text)


def is_money(quantity: Quantity) -> bool:
    return quantity.unit in _SIGNS.values()


def _number(text: str, *, is_money: bool) -> Decimal | None:
    """Return a number of which the separators tell thousands and decimals, else ``None``. One separator
    before three digits is one of thousands in an amount of money, else a decimal point."""
    last = max(text.rfind("."), text.rfind(","))
    separators = set(text) & {".", ",", "'", " "}
    is_whole = bool(_THOUSANDS.fullmatch(text)) and (is_money or text.count(text[last]) > 1 or last < 0)
    if not separators or is_whole:
        return Decimal(re.sub(r"[.,' ]", "", text)) if len(separators) < 2 else None
    if last < 0 or text.count(text[last]) > 1:
        return None
    whole, decimals = re.sub(r"[.,' ]", "", text[:last]), text[last + 1 :]
    return Decimal(f"{whole}.{decimals}") if decimals.isdecimal() else None


class Measured(NamedTuple):
    """The field of a type whose values are measured, and which words of a question ask for it."""

    field: str
    words: frozenset[str]


def measured(
    measure: Measure, fields: Collection[str], timed: Sequence[str], rest: Sequence[str]
) -> Measured | None:
    """Return the field of a type that a measure is of: what other words say, else what the measure says.

    Args:
        timed: the fields that say when something was or is.
    """
    best, most = Measured("", frozenset()), 0
    for name in sorted(fields):
        label = words.tokens(name.replace("_", " "))
        same = [(word, each) for word in rest for each in label if question_words.is_same(word, each)]
        labels = {word for word in rest if not question_words.labels([word]).isdisjoint(label)}
        telling = frozenset({*labels, *(word for word, _ in same)})
        count = len(telling) + len({each for _, each in same})
        if count > most:
            best, most = Measured(name, telling), count
    if most:
        return best
    named = [*listed(FIELDS[measure.about or "amount"], fields), *(timed if measure.about == "time" else ())]
    return Measured(named[0], frozenset()) if named else None


def listed(names: Iterable[str], fields: Collection[str]) -> list[str]:
    """Return the fields of some names as words compare, in the order of the names."""
    by_name = {"_".join(words.tokens(name)): name for name in sorted(fields, reverse=True)}
    return [by_name[name] for name in names if name in by_name]


def extremes(measure: Measure, quantities: Mapping[str, Quantity]) -> list[str]:
    """Return the ids that have the most or the least, best first; those of the most common unit alone."""
    units = [each.unit for each in quantities.values()]
    common = max(sorted(set(units)), key=units.count, default="")
    among = [each for each, quantity in quantities.items() if quantity.unit == common]
    return sorted(among, key=lambda each: quantities[each].number * (1 if measure.how == "min" else -1))


def totals(measure: Measure, quantities: Iterable[Quantity]) -> list[Quantity]:
    """Return the sum or the mean of each unit; dates have none."""
    by_unit: dict[str, list[Decimal]] = {}
    for each in quantities:
        by_unit.setdefault(each.unit, []).append(each.number)
    return [
        Quantity(sum(numbers, Decimal()) / (len(numbers) if measure.how == "average" else 1), unit)
        for unit, numbers in sorted(by_unit.items())
        if unit != DATE
    ]
