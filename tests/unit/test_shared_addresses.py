"""Who shares an e-mail address: which names and birthdays contradict each other, and the ids of the parts."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model import ids, shared_addresses
from graphmem.model.shared_addresses import Form, Parting

ONE_NAME = [
    ("nils holmvik", "holmvik nils"), ("nils holmvik", "holmvik, nils"), ("nils holmvik", "n. holmvik"),
    ("nils holmvik", "niels holmvik"), ("nils holmvik", "nils"), ("nils holmvik", "holmvik"),
    ("berit holmvik", "berit larsen"), ("dr. nils holmvik", "nils holmvik"), ("bill grant", "william grant"),
    ("jürgen maier", "jurgen maier"), ("jürgen maier", "juergen maier"), ("alex kim", "alexandra kim"),
    ("anna maria holm", "maria holm"), ("юлия иванова", "yulia ivanova"),
]  # fmt: skip
TWO_NAMES = [
    ("nils holmvik", "berit holmvik"), ("holmvik berit", "nils holmvik"), ("nils holmvik", "b. holmvik"),
    ("tim berg", "eva berg"), ("山田 太郎", "山田 花子"), ("王伟", "王芳"), ("김 민수", "김 지우"),
    ("anna", "bo larsen"), ("юлия иванова", "пётр иванов"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "other"), ONE_NAME)
def test_names_of_one_person_contradict_nothing(name: str, other: str) -> None:
    assert not shared_addresses.names_contradict(name, other)
    assert not shared_addresses.names_contradict(other, name)


@pytest.mark.parametrize(("name", "other"), TWO_NAMES)
def test_given_names_that_are_two_contradict_each_other(name: str, other: str) -> None:
    assert shared_addresses.names_contradict(name, other)
    assert shared_addresses.names_contradict(other, name)


@pytest.mark.parametrize(
    ("birthday", "other", "contradicts"),
    [
        ("1950-01-02", "1950-01-02", False), ("1950-01-02", "1950-02-01", False),
        ("1950-01-02", "1950-01-03", True), ("1950-01-02", "1980-01-02", True),
        ("1950-01-02", "1950", False), ("1950-01-02", "2 january 1950", False),
    ],
)  # fmt: skip
def test_full_birthdays_contradict_each_other_unless_day_and_month_are_exchanged(
    birthday: str, other: str, contradicts: bool
) -> None:
    forms = Form(None, birthday), Form(None, other)
    assert (shared_addresses.contradiction(*forms) is not None) is contradicts


def parting(*forms: tuple[str | None, str | None], address: str = "post@holmvik.example") -> Parting:
    return Parting.of_forms("owner", "person", address, [Form(*form) for form in forms])


def test_the_ids_of_parts_are_those_of_the_address_with_the_name_or_the_birthday() -> None:
    """Golden: these ids stay."""
    assert parting(("nils holmvik", None), ("berit holmvik", "1952-02-02")).parts == {
        Form("nils holmvik", None): ids.entity_id(
            "owner", "person", "email+name", ["post@holmvik.example", "nils holmvik"]
        ),
        Form("berit holmvik", "1952-02-02"): min(
            ids.entity_id("owner", "person", "email+name", ["post@holmvik.example", "berit holmvik"]),
            ids.entity_id("owner", "person", "email+birthday", ["post@holmvik.example", "1952-02-02"]),
        ),
    }
    assert parting(("nils holmvik", None), ("berit holmvik", None)).ids == [
        "ent_6e5f6a7c2046aeae08ff35f0",
        "ent_b83b141c6a06dc3aca944410",
    ]


def test_one_person_shares_with_nobody() -> None:
    assert not parting(("nils holmvik", None), ("n. holmvik", None), ("nils holmvik", "1950-01-02")).is_shared


def test_people_of_one_name_have_the_ids_of_their_birthdays() -> None:
    father, son, nobody = (
        ("nils holmvik", "1950-01-02"),
        ("nils holmvik", "1980-03-04"),
        ("nils holmvik", None),
    )
    parts = parting(father, son, nobody).parts
    assert parts[Form(*nobody)] is None
    assert [parts[Form(*each)] for each in (father, son)] == [
        ids.entity_id("owner", "person", "email+birthday", ["post@holmvik.example", each[1]])
        for each in (father, son)
    ]


FORMS = st.tuples(
    st.none()
    | st.sampled_from(["nils holmvik", "n. holmvik", "nora holmvik", "berit holmvik", "berit berg", "bo"]),
    st.none() | st.sampled_from(["1950-01-02", "1950-02-01", "1980-03-04"]),
).filter(any)


@given(st.lists(FORMS, max_size=8), st.randoms())
def test_no_order_counts_and_no_part_holds_a_contradiction(
    forms: list[tuple[str | None, str | None]], random: object
) -> None:
    made = parting(*forms)
    assert parting(*reversed(forms)).parts == made.parts
    assert Parting.of_text(made.text) == made
    for form, part in made.parts.items():
        for other, other_part in made.parts.items():
            if part is not None and part == other_part:
                assert shared_addresses.contradiction(form, other) is None
    if not made.is_shared:
        pairs = permutations(made.parts, 2)
        assert all(shared_addresses.contradiction(*pair) is None for pair in pairs)
