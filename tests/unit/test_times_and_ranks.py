"""Times and ranks: what is written sorts as what it says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import ranks, times
from tests.support.walks import walk_over

MICROS = st.integers(times.EARLIEST, times.LATEST)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
POLICIES = ("last_write", "highest_priority", "most_specific")
SOURCES = (*get_args(ranks.ObservationSource), None)
OBSERVATIONS = st.fixed_dictionaries(
    {
        "correction": st.booleans(),
        "observed_at": st.sampled_from([0, 1, -1, times.EARLIEST, times.LATEST]) | MICROS,
        "priority": st.sampled_from([100.0, 0.0, -0.0, -1.0, 0.1]) | st.floats(-1e15, 1e15),
        "specificity": st.sampled_from([1.0, 0.5, 0.0]) | st.floats(0, 1),
        "observation_source": st.sampled_from(SOURCES),
    }
)


def order(policy, observation) -> tuple:
    """Return what a rank stands for, as a tuple: the table in the docstring of ``ranks``."""
    source = len(SOURCES) - SOURCES.index(observation["observation_source"])
    by_policy = {
        "last_write": (),
        "highest_priority": (observation["priority"], source),
        "most_specific": (observation["specificity"], observation["priority"], source),
    }
    return (observation["correction"], *by_policy[policy], observation["observed_at"])


@pytest.mark.parametrize("policy", POLICIES)
@given(OBSERVATIONS, OBSERVATIONS)
def test_ranks_compare_as_the_observations_do(policy, observation, other_observation):
    left, right = ranks.rank(policy, **observation), ranks.rank(policy, **other_observation)
    assert (left < right) == (order(policy, observation) < order(policy, other_observation))
    assert (left == right) == (order(policy, observation) == order(policy, other_observation))


@pytest.mark.parametrize("policy", POLICIES)
@given(OBSERVATIONS)
def test_a_correction_comes_before_every_other_observation(policy, observation):
    best = {"observed_at": times.LATEST, "priority": 1e15, "specificity": 1.0, "observation_source": "sensor"}
    corrected = ranks.rank(policy, **{**observation, "correction": True})
    assert corrected > ranks.rank(policy, correction=False, **best)


@given(MICROS, MICROS)
def test_ranks_of_times_compare_as_times_do(moment, other_moment):
    left, right = ranks.time_rank(moment), ranks.time_rank(other_moment)
    assert len(left) == len(right) == 18
    assert (left < right, left == right) == (moment < other_moment, moment == other_moment)


@given(NUMBERS, NUMBERS)
def test_ranks_of_numbers_compare_as_numbers_do(number, other_number):
    left, right = ranks.number_rank(number), ranks.number_rank(other_number)
    assert len(left) == len(right) == 16
    assert (left < right, left == right) == (number < other_number, number == other_number)


@given(st.lists(NUMBERS, max_size=30))
def test_numbers_sorted_by_rank_are_sorted(numbers):
    assert sorted(numbers, key=ranks.number_rank) == sorted(numbers)


def test_the_sources_rank_from_sensor_down_to_none():
    assert [ranks.source_rank(source) for source in SOURCES] == [6, 5, 4, 3, 2, 1, 0]


@given(MICROS)
def test_a_rendered_time_is_parsed_as_itself(micros):
    text = times.render(micros)
    assert times.parse(text) == micros
    assert times.is_time(text)


@given(MICROS, MICROS)
def test_rendered_times_sort_as_times_do(moment, other_moment):
    left, right = times.render(moment), times.render(other_moment)
    assert len(left) == len(right) == len("2026-01-31T09:00:00.000000Z")
    assert (left < right, left == right) == (moment < other_moment, moment == other_moment)


@given(
    st.datetimes(
        min_value=datetime(1, 1, 2),
        max_value=datetime(9999, 12, 30),
        timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    )
)
def test_a_time_with_an_offset_is_what_the_standard_library_says(moment):
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert times.parse(moment.isoformat()) == expected
    assert times.parse(moment.isoformat(sep=" ").upper()) == expected


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_a_time_without_a_zone_is_utc(moment):
    assert times.parse(moment.isoformat()) == times.parse(f"{moment.isoformat()}Z")


@given(st.dates(min_value=date(1, 1, 1)))
def test_a_date_alone_is_its_first_moment_in_utc(day):
    assert times.parse(day.isoformat()) == times.parse(f"{day.isoformat()}T00:00:00Z")


REFUSED = [
    ("2026-01-31T09:00:00.0000001Z", "finer than a microsecond"),
    ("2026-01-31T09:00:00.1234567Z", "finer than a microsecond"),
    ("0000-01-01T00:00:00Z", "no such time"),
    ("2026-00-01", "no such time"),
    ("2026-13-01", "no such time"),
    ("2026-02-30", "no such time"),
    ("1900-02-29", "no such time"),
    ("2026-01-31T24:00:00Z", "no such time"),
    ("2026-01-31T09:60Z", "no such time"),
    ("2016-12-31T23:59:60Z", "no such time"),
    ("2026-01-31T09:00:00+24:00", "no such time zone"),
    ("2026-01-31T09:00:00+24", "no such time zone"),
    ("2026-01-31T09:00:00+01:60", "no such time zone"),
    ("0001-01-01T00:00:00+00:01", "outside the years 1 to 9999"),
    ("9999-12-31T23:59:59-00:01", "outside the years 1 to 9999"),
    ("9999-12-31T23:59:59.999999-23:59", "outside the years 1 to 9999"),
]
NO_TIMES = [
    "", " ", "2026", "1769850000", "1769850000000000", "20260131", "2026-01", "2026-1-31", "26-01-31",
    "2026-031",
    "2026-W05-6", "2026/01/31", "31.01.2026", "2026-01-31T", "2026-01-31T09", "2026-01-31T09Z", "2026-01-31Z",
    "2026-01-31T09:00:00.", "2026-01-31T09:00.5Z", "2026-01-31T09:00:00+0", "2026-01-31T09:00:00+5",
    "2026-01-31T09:00:00+05:", "2026-01-31T09:00:00+05:3", "2026-01-31T09:00:00+053", "2026-01-31+05",
    "2026-01-31T09:00:00 UTC", "2026-01-31X09:00:00Z", "+2026-01-31", "-2026-01-31", "12026-01-31",
    "２０２６-01-31", "2026-01-31T09:00:00Z2026-01-31", "now", "Sat, 31 Jan 2026 09:00:00 GMT",
]  # fmt: skip


@walk_over("text, reason", REFUSED)
def test_a_time_that_does_not_exist_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        times.parse(text)
    assert not times.is_time(text)


@walk_over("text", NO_TIMES)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="not an ISO 8601 time such as"):
        times.parse(text)
    assert not times.is_time(text)


@pytest.mark.parametrize(
    "text",
    ["2026-01-31", "2026-01-31T09:00Z", "2026-01-31 09:00:00+01:00", "2026-01-31T09:00:00+05", "0001-01-01"],
)
def test_discovery_knows_dates_and_times(text):
    assert times.is_time(text)


@pytest.mark.parametrize(
    "text", [" 2026-01-31", "2026-01-31T09:00:00." + "0" * 30 + "Z", "2026-01-31 was cold"]
)
def test_discovery_takes_only_the_bare_shape_of_a_time(text):
    assert not times.is_time(text)


@pytest.mark.parametrize("text", ["2026-01-31 ", "2026-01-31\n", "2026-01-31T09:00:00Z\t"], ids=ascii)
def test_discovery_takes_no_white_space_after_a_time(text):
    assert not times.is_time(text)


def test_the_clock_is_within_the_range_and_moves_forward():
    first, second = times.now(), times.now()
    assert times.EARLIEST < first <= second < times.LATEST
