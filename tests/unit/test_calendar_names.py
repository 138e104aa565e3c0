"""The names of weekdays and months, by language."""

from __future__ import annotations

import pytest

from graphmem.text.languages import LANGUAGES, months, weekdays
from tests.support.walks import walk_over


@walk_over("language", LANGUAGES)
def test_each_language_names_every_weekday_and_every_month(language: str) -> None:
    assert set(weekdays(language).values()) == set(range(7))
    assert set(months(language).values()) == set(range(1, 13))


@pytest.mark.parametrize(
    ("language", "weekday", "number", "month", "count"),
    [
        ("en", "wednesday", 2, "sep", 9), ("de", "samstag", 5, "marz", 3), ("fr", "dimanche", 6, "fevr", 2),
        ("ru", "среда", 2, "июля", 7), ("fi", "torstaina", 3, "tammikuuta", 1),
        ("tr", "sali", 1, "agustos", 8),
    ],
)  # fmt: skip
def test_names_mean_their_numbers(language: str, weekday: str, number: int, month: str, count: int) -> None:
    assert (weekdays(language)[weekday], months(language)[month]) == (number, count)
