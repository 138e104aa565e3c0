"""Dates and amounts as the columns of a table write them: ``31/08/2026``, ``28.02.26``, ``1.284,50``.

One cell often leaves the order of day and month and the sign of decimals open; its column tells them, or
other columns of the table. A column that leaves it open stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphmem.ingest.tables import table
from graphmem.model import dates

_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})")
_AMOUNT = re.compile(r"[+-]?\d{1,3}(?:([.,' \u00a0])\d{3})*(?:[.,]\d+)?|[+-]?\d+(?:[.,]\d+)?")
_MONEY = re.compile(
    r"(?:[A-Z]{3}|[€$£¥])?\s*[-+(]?\d[\d.,' \u00a0]*[.,]\d{2}\)?\s*(?:[A-Z]{3}|[€$£¥]|kr\.?|zł|Kč)?"
)
_LABELS = {name: {*listed.split()} for name, listed in table("field_names")["labels"].items()}
_CENTURY = 70  # years of two digits from here on are of the last century


@dataclass
class ColumnForms:
    """How the columns of a table write dates and amounts.

    Attributes:
        days_first: by column of dates, whether the day comes before the month.
        decimals: by column of amounts, the sign of decimals.
        open_dates: the columns of dates that leave it open, each with a value.
    """

    days_first: dict[str, bool] = field(default_factory=dict[str, bool])
    decimals: dict[str, str] = field(default_factory=dict[str, str])
    open_dates: dict[str, str] = field(default_factory=dict[str, str])

    def value(self, column: str, value: Any) -> Any:
        """Return a value as ISO 8601 or as a number, where its column says which it is."""
        if not isinstance(value, str):
            return value
        text = value.strip()
        if (day_first := self.days_first.get(column)) is not None and (written := _DATE.fullmatch(text)):
            day, month = (written[1], written[3]) if day_first else (written[3], written[1])
            century = ("19" if int(written[4]) >= _CENTURY else "20") if len(written[4]) == 2 else ""
            iso = f"{century}{written[4]}-{int(month):02}-{int(day):02}"
            return iso if dates.parse(iso) is not None else value
        if (decimal := self.decimals.get(column)) is not None and _AMOUNT.fullmatch(text):
            whole, _, rest = text.partition(decimal)
            whole = re.sub(r"[.,' \u00a0]", "", whole)
            return float(f"{whole}.{rest}") if rest else int(whole)
        return value


def forms_of(rows: Iterable[Mapping[str, Any]]) -> ColumnForms:
    """Return how the columns of a table write dates and amounts."""
    columns: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and value.strip():
                columns.setdefault(name, []).append(value.strip())
    forms = ColumnForms()
    undecided: list[str] = []
    for name, texts in columns.items():
        days = [day for text in texts if (day := _DATE.fullmatch(text)) is not None]
        if len(days) == len(texts):
            is_day_first = any(int(day[1]) > 12 or day[2] == "." for day in days)
            is_month_first = any(int(day[3]) > 12 for day in days)
            if is_day_first != is_month_first:
                forms.days_first[name] = is_day_first
            elif not is_day_first:
                undecided.append(name)
        elif all(map(_AMOUNT.fullmatch, texts)) and (decimal := _decimal_of(texts)):
            forms.decimals[name] = decimal
    decided = set(forms.days_first.values())
    for name in undecided:
        if len(decided) == 1:
            forms.days_first[name] = next(iter(decided))
        else:
            forms.open_dates[name] = columns[name][0]
    return forms


def _decimal_of(texts: Iterable[str]) -> str:
    """Return the sign of decimals of a column, empty if it has none, or another one for sure."""
    signs: set[str] = set()
    for text in texts:
        last = max(text.rfind("."), text.rfind(","))
        others = set(text[: max(last, 0)]) & {".", ",", "'", " ", "\u00a0"}
        if last < 0 or text[last] in others:
            continue
        if others or (text[last] == "," and len(text) - last != 4):
            signs.add(text[last])
    return signs.pop() if len(signs) == 1 else ""


def is_booking(values: Iterable[Any]) -> bool:
    """Return whether a row is a booking of an account: it has a day, an amount, and a text beside these."""
    kinds = {_kind(value) for value in values}
    return {"day", "amount", "text"} <= kinds


def is_sum(values: Iterable[Any]) -> bool:
    """Return whether a row has the sums of the rows above it, or a balance: a word for that, and amounts.

    A balance has a day as well.
    """
    filled = [value for value in values if value not in (None, "")]
    named = {each: each.strip().rstrip(":").lower().replace(" ", "_") for each in filled if type(each) is str}
    words = {each: name for each, name in named.items() if name in _LABELS["sums"] | _LABELS["balances"]}
    kinds = {_kind(value) for value in filled if type(value) is not str or value not in words}
    is_balance = not _LABELS["balances"].isdisjoint(words.values())
    return len(words) == 1 and "amount" in kinds and not kinds - {"amount", "", "day" if is_balance else ""}


def are_bookings(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> bool:
    """Return whether a table lists bookings: most rows are some, and a column is called as amounts are.

    A column of names that all differ names other things.
    """
    names = [row["name"] for row in rows if row.get("name")]
    if len(names) > 1 and len({*map(str, names)}) == len(names):
        return False
    named = {word for column in columns for word in (column, *column.split("_"))}
    bookings = sum(is_booking(row.values()) for row in rows)
    return 2 * bookings > len(rows) and not named.isdisjoint(_LABELS["amounts"])


def _kind(value: Any) -> str:
    if isinstance(value, bool | dict | list) or value is None:
        return ""
    text = str(value).strip()
    if dates.parse(text) is not None or _DATE.fullmatch(text):
        return "day"
    if isinstance(value, int | float) or _MONEY.fullmatch(text) or _AMOUNT.fullmatch(text):
        return "amount"
    return "text" if any(map(str.isalpha, text)) else ""
