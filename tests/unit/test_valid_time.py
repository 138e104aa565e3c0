"""Which observations count at a time by their own dates, against a plain model."""

from __future__ import annotations

import random

import pytest

from graphmem.model import times, valid_time
from graphmem.model.valid_time import Dated
from tests.support.valid_time_model import History, Statement

START = times.parse("2020-01-01")


def date(day: int) -> str:
    return times.render(START + day * times.DAY)[:10]


def dated(statement: Statement, number: int, at: int) -> Dated:
    fields = {"role": '"x"'}
    fields |= {} if statement.since is None else {"since": f'"{date(statement.since)}"'}
    fields |= {} if statement.until is None else {"until": f'"{date(statement.until)}"'}
    made = START + statement.made * times.DAY
    is_correction = statement.kind == "correction"
    return Dated(valid_time.dates_of(fields), is_correction, made <= at, made, (made, f"{number:03}"))


@pytest.mark.parametrize("is_relationship", [True, False])
def test_what_counts_on_a_day_is_what_the_plain_model_says(is_relationship: bool) -> None:
    dice = random.Random(7)
    there = 0
    for _ in range(80):
        statements = [
            Statement(
                made,
                dice.choice([None, dice.randint(0, 30)]),
                dice.choice([None, dice.randint(0, 30)]),
                kind=dice.choice(["value", "value", "value", "correction"]),
            )
            for made in sorted(dice.sample(range(31), dice.randint(1, 5)))
        ]
        history = History(statements, is_relationship)
        for day in range(-1, 32):
            at = START + day * times.DAY + times.DAY // 2
            groups = [dated(each, i, at) for i, each in enumerate(statements)]
            seen = [group for group in groups if group.dates or group.by_then]
            weighed = valid_time.weighed(seen, at, is_relationship=is_relationship)
            counted = {group.newest for group, counts in zip(seen, weighed.counted, strict=True) if counts}
            expected = {
                group.newest
                for group, statement in zip(groups, statements, strict=True)
                if statement in history.counted(day)
            }
            assert counted == expected, (statements, day)
            if is_relationship and counted:
                assert weighed.is_there is history.is_there(day) or not _is_made(history, day)
                there += weighed.is_there
    assert there > 300 or not is_relationship


def _is_made(history: History, day: int) -> bool:
    """Return whether a statement that creates the relationship counts: the model asks for it as well."""
    return any(each.kind == "value" for each in history.counted(day))
