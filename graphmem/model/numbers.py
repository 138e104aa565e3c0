"""Things that have a number of their own, such as invoices, books and accounts: ``numbers.toml`` lists them.

A number that is issued counts with who issued it: the vendor, or oneself towards a customer. Without either,
it identifies alone, until what is said beside it contradicts itself: the day, the partner or the currency.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphmem import tables

VENDOR: Final = "vendor"
CUSTOMER: Final = "customer"
BESIDE: Final = ("date", "counterparty", "currency")  # what may contradict itself beside one number
_SUFFIXES: Final = ("number", "no", "no.", "nr", "nr.", "num", "id", "ref", "code", "#")
"""They make a number of the name of a type: ``order_no``."""


def squeezed(label: str) -> str:
    """Return the name of a field in lower case without blanks, hyphens and underscores; as in queries."""
    return label.lower().replace(" ", "").replace("-", "").replace("_", "")


@dataclass(frozen=True, slots=True)
class Numbered:
    """The numbers of a type."""

    numbers: tuple[str, ...]  # the fields that hold them, the strongest first
    names: Mapping[str, str]  # of these fields and of those that count beside them, :func:`squeezed`
    is_issued: bool  # a number counts with who issued it
    is_dated: bool  # what is said beside a number may contradict itself

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        issuers = ((VENDOR,), (CUSTOMER,), ()) if self.is_issued else ((),)
        return tuple((*issuer, number) for number in self.numbers for issuer in issuers)


def _read() -> dict[str, Numbered]:
    listed = tables.read("model/numbers")
    return {
        entity_type: _numbered(entity_type, group, listed["fields"])
        for group in listed["numbered"]
        for entity_type in group["types"].split()
    }


def _numbered(entity_type: str, group: Mapping[str, Any], fields: Mapping[str, str]) -> Numbered:
    numbers: dict[str, str] = group["numbers"]
    names = {
        squeezed(name): field
        for field, others in (*fields.items(), *numbers.items())
        for name in (field, *others.split())
    }
    names |= {f"{name}.": field for name, field in names.items() if name.endswith(("nr", "no"))}
    names |= {squeezed(name): "date" for name in group.get("dates", "").split()}
    names["date"] = "date" if "dates" in group else ""
    first, *_ = numbers
    of_type = {
        f"{squeezed(name)}{suffix}" for name in (entity_type, entity_type.rstrip("s")) for suffix in _SUFFIXES
    }
    return Numbered(
        tuple(numbers),
        {**dict.fromkeys(of_type, first), **names},
        is_issued=group.get("is_issued", False),
        is_dated=first == "number",
    )


NUMBERED: Final[Mapping[str, Numbered]] = _read()  # the types that have numbers of their own
COMPANIES: Final = frozenset(each for each, numbered in NUMBERED.items() if "vat_number" in numbered.numbers)
FIELDS: Final = frozenset(number for each in NUMBERED.values() for number in each.numbers)
_EVERY = [(each, name, field) for each in NUMBERED.values() for name, field in each.names.items()]
VENDORS: Final = frozenset(name for _, name, field in _EVERY if field == VENDOR)
"""The squeezed names of the fields that say who issued a number."""
NAMES: Final = VENDORS | {name for each, name, field in _EVERY if field in each.numbers}
"""These, and those of the fields that hold a number."""
OF_TABLES: Final = frozenset(
    name for each, name, field in _EVERY if each.is_issued and field in each.numbers and name != "number"
)
"""The names of columns that number the rows of a table, whatever its rows are."""
