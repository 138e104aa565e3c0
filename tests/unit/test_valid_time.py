"""Which observations count at a time by their own dates, against a plain model."""

from __future__ import annotations

import random

import pytest

from graphmem.model import ending, period_folds, reduction, times, valid_time
from graphmem.model.reduction import Observation
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


def observation(statement: Statement, number: int, subject_id: str) -> Observation:
    fields = {"role": f'"{number}"'}
    fields |= {} if statement.since is None else {"since": f'"{date(statement.since)}"'}
    fields |= {} if statement.until is None else {"until": f'"{date(statement.until)}"'}
    at = START + statement.made * times.DAY
    kind = "correction" if statement.kind == "correction" else "value"
    return Observation(f"{number:03}", subject_id, "", kind, at, at, fields, "")


def test_what_a_relationship_shows_is_what_the_plain_model_says_in_any_order() -> None:
    dice = random.Random(11)
    for _ in range(300):
        statements = [
            Statement(
                made,
                dice.choice([None, dice.randint(0, 30)]),
                dice.choice([None, dice.randint(0, 30)]),
                kind=dice.choice(["value", "value", "value", "correction"]),
            )
            for made in sorted(dice.sample(range(31), dice.randint(1, 5)))
        ]
        numbered = [(each, place) for place, each in enumerate(statements)]
        observations = {each: observation(each, place, "A:b:c") for each, place in numbered}
        expected: dict[str, str] = {}
        for each in History(statements).shown():
            expected |= observations[each].fields
        for _ in range(3):
            shown: reduction.Fold = {}
            for each in dice.sample(statements, len(statements)):
                shown = period_folds.fold(shown, observations[each])
            texts = {name: winner.value for name, winner in shown.items() if name != ending.PERIODS}
            assert texts == expected, statements
            if isinstance(shown, period_folds.PeriodFold) and shown.text:
                assert period_folds.PeriodFold.of_text(shown.text, is_relationship=True).shown == shown.shown


def test_a_subject_keeps_its_latest_parts_in_any_order() -> None:
    statements = [Statement(day, since=day, until=day) for day in range(period_folds.PARTS_LIMIT + 20)]
    folds = []
    for order in (statements, statements[::-1]):
        shown: reduction.Fold = {}
        for each in order:
            shown = period_folds.fold(shown, observation(each, each.made, "A:b:c"))
        assert isinstance(shown, period_folds.PeriodFold)
        assert len(shown.parts) == period_folds.PARTS_LIMIT
        folds.append(shown.shown)
    assert folds[0] == folds[1]
    assert folds[0]["until"].value == f'"{date(statements[-1].made)}"'
