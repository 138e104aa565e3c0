"""When the metadata of a relationship says that it ended."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.model import canonical, ending, times
from tests.support.walks import walk_over


def ended(metadata: dict[str, Any], now: str) -> Any:
    fields = [(name, canonical.encode(value)) for name, value in metadata.items()]
    value = ending.ended(fields, times.parse(now))
    return None if value is None else canonical.decode(value)


@walk_over(
    "value, last, first",
    [
        ("2024-03-31", "2024-03-31T23:59:59.999999Z", "2024-04-01"),
        ("2024-03-31T12:00:00Z", "2024-03-31T11:59:59.999999Z", "2024-03-31T12:00:00Z"),
        ("2024-03-31T12:00:00+02:00", "2024-03-31T09:59:59Z", "2024-03-31T10:00:00Z"),
        ("31 March 2024", "2024-03-31T23:59:59Z", "2024-04-01"),
        ("2024-03", "2024-03-31T23:59:59.999999Z", "2024-04-01"),
        ("2024/12", "2024-12-31T23:59:59.999999Z", "2025-01-01"),
        ("March 2024", "2024-03-31T23:59:59Z", "2024-04-01"),
        ("Dec. 2024", "2024-12-31T23:59:59Z", "2025-01-01"),
        ("2024", "2024-12-31T23:59:59.999999Z", "2025-01-01"),
        (2024, "2024-12-31T23:59:59.999999Z", "2025-01-01"),
        (" 2024 ", "2024-12-31T23:59:59Z", "2025-01-01"),
    ],
)
def test_an_end_is_past_from_the_first_instant_after_it(value: Any, last: str, first: str) -> None:
    assert ended({"until": value}, last) is None
    assert ended({"until": value}, first) == value


@walk_over(
    "name",
    [
        "until", "end_date", "ended_at", "valid_to", "valid_until", "to", "left_on", "endDate", "End date",
        "VALID-TO", "date_end", "ended", "expires_at", "end",
    ],
)  # fmt: skip
def test_the_usual_names_of_an_end_are_known_in_any_spelling(name: str) -> None:
    assert ended({name: "2020-01-31", "role": "CEO"}, "2026-01-01") == "2020-01-31"


@walk_over(
    "metadata",
    [
        {}, {"since": "2020-01-31"}, {"role": "2020"}, {"until": "2999-01-31"}, {"until": None},
        {"to": "Berlin"}, {"until": "further notice"}, {"until": "2024-13"}, {"until": "2024-02-30"},
        {"until": ["2020"]}, {"until": {"year": 2020}}, {"until": ""}, {"left": 3}, {"to": 20240131},
        {"ended": False}, {"current": True}, {"active": "false"}, {"until": "9999"}, {"until": -2024},
        {"until": 2020.5}, {"until": "Foo 2020"}, {"start_date": "2020-01-01"}, {"until": True},
    ],
)  # fmt: skip
def test_a_relationship_is_current_unless_its_metadata_says_that_it_ended(metadata: dict[str, Any]) -> None:
    assert ended(metadata, "2026-01-01") is None


@pytest.mark.parametrize("metadata", [{"ended": True}, {"is_current": False}, {"active": False}])
def test_an_end_without_a_time_has_always_passed(metadata: dict[str, Any]) -> None:
    assert ended(metadata, "0001-01-01") in metadata.values()


def test_of_several_ends_the_earliest_counts() -> None:
    metadata = {"valid_until": "2030", "end_date": "2020-05-01", "left": "2021"}
    assert ended(metadata, "2026-01-01") == "2020-05-01"
    assert ended(metadata, "2020-05-01") is None
