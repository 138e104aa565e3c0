"""Near spellings: which known name a caller probably meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.text import spelling
from tests.support.walks import walk_over


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("persn", "person"),
        ("preson", "person"),
        ("perzon", "person"),
        ("persons", "person"),
        ("rol", "role"),
        ("statuss", "status"),
        ("descrption", "description"),
        ("desciptoin", "description"),
    ],
)
def test_a_misspelling_has_a_near_name(name: str, known: str) -> None:
    assert spelling.nearest(name, ["zebra", known, "other"]) == known


@walk_over(
    "name, known",
    [
        ("role", "role"),
        ("city", "cite"),
        ("line_1", "line_2"),
        ("line_1", "line"),
        ("age", "page"),
        ("id", "ids"),
        ("email", "phone"),
        ("status", "station"),
        ("likes", "supplies_to"),
        ("", "a"),
    ],
)
def test_another_name_is_not_near(name: str, known: str) -> None:
    assert spelling.nearest(name, [known]) is None


def test_of_several_near_names_the_nearest_is_proposed_then_the_first() -> None:
    assert spelling.nearest("description", ["descriptor_n", "descriptino", "zoo"]) == "descriptino"
    assert spelling.nearest("statue", ["status", "statues"]) == "statues"


@given(st.text(max_size=12), st.text(max_size=12))
def test_nearness_has_no_direction(name: str, other: str) -> None:
    assert (spelling.nearest(name, [other]) is None) == (spelling.nearest(other, [name]) is None)
