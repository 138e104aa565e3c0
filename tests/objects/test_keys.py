"""Keys of objects: no owner leaves its segment, and two owners never share one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.objects.keys import object_key, owner_of, owner_segment, parse_key
from tests.contract.snapshots import ROOT
from tests.support.walks import walk_over

GOLDEN = json.loads((ROOT / "tests" / "unit" / "golden.json").read_text("utf-8"))["object_owner_segments"]
OWNERS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=255)
DIGEST = "0123456789abcdef" * 4


@walk_over("owner, segment", GOLDEN)
def test_the_segment_of_an_owner_never_changes(owner: str, segment: str) -> None:
    assert owner_segment(owner) == segment
    assert owner_of(segment) == (None if "." in segment else owner)


@given(OWNERS)
@example("." * 255)
def test_a_segment_is_safe_as_a_name_of_a_file(owner: str) -> None:
    segment = owner_segment(owner)
    assert re.fullmatch(r"[a-z0-9_%-][a-z0-9_%.-]{0,119}", segment)
    assert segment not in (".", "..")
    if "." not in segment:
        assert owner_of(segment) == owner


@given(OWNERS, OWNERS)
@example("Ada", "ada")
@example("x" * 121, "X" * 121)
@example("x" * 121, "x" * 122)
def test_two_owners_have_two_segments_even_without_case(first: str, second: str) -> None:
    assert (owner_segment(first).casefold() == owner_segment(second).casefold()) == (first == second)


@pytest.mark.parametrize("owner", ["", "x" * 256, "\ud800"])
def test_an_owner_that_cannot_have_objects_is_refused(owner: str) -> None:
    with pytest.raises(ValueError):
        owner_segment(owner)


@pytest.mark.parametrize("segment", ["", "a.b", "%2E", "%zz", "%41", "%61", "A", "%ff", "a/b"])
def test_a_segment_that_is_not_written_here_has_no_owner(segment: str) -> None:
    assert owner_of(segment) == ("A" if segment == "%41" else None)


def test_a_key_is_read_back() -> None:
    key = object_key("Ada/Ö", DIGEST)
    assert key == f"%41da%2f%c3%96/01/{DIGEST}"
    assert parse_key(key) == ("%41da%2f%c3%96", DIGEST)
    assert Path("/root", key).resolve() == Path("/root", key)


@pytest.mark.parametrize(
    "key", ["", DIGEST, f"ada/{DIGEST}", f"ada/02/{DIGEST}", f"a/b/01/{DIGEST}", f"ada/01/{DIGEST[:-1]}"]
)
def test_what_is_no_key_is_not_read(key: str) -> None:
    assert parse_key(key) is None
