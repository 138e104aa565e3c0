"""What else than a name says that two records are of one person, and what says that they are not."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.duplicates import blocking, persons, similarity
from graphmem.duplicates.similarity import Profile
from graphmem.model import canonical
from graphmem.model.person_names import are_forms_of_one_name
from tests.support.walks import walk_over

DAY = "1971-04-23"
HOME = {"address": "12 Mill Road", "postcode": "S20 6DW", "city": "Leeds"}


def person(entity_id: str = "a", /, **fields: Any) -> Profile:
    texts = {name: canonical.encode(value) for name, value in fields.items()}
    return Profile(entity_id, "person", str(fields.get("name", "")), texts)


def score(left: dict[str, Any], right: dict[str, Any]) -> float:
    """Return the score of two persons, which is the same whichever comes first."""
    result = similarity.score(person("a", **left), person("b", **right))
    turned = similarity.score(person("b", **right), person("a", **left))
    assert result.score == turned.score
    assert [(r.field, r.b, r.a, r.similarity) for r in turned.reasons] == list(result.reasons)
    return result.score


@walk_over(
    "text, day",
    [
        ("1971-04-23", DAY), ("19710423", DAY), ("23/04/1971", DAY), ("04/23/1971", DAY), ("23.4.1971", DAY),
        ("23 April 1971", DAY), ("1971-04-23T00:00:00Z", DAY), ("02/04/1971", "1971-04-02"), ("1971", "1971"),
        ("in spring", "in spring"),
    ],
)  # fmt: skip
def test_a_birthday_is_read_in_its_usual_notations(text: str, day: str) -> None:
    assert persons.read_day(text) == day


@pytest.mark.parametrize(
    ("other", "agreement"),
    [
        ("1971-04-23", "equal"), ("1971-04-28", "near"), ("1917-04-23", "near"), ("1971-04-32", "near"),
        ("1971-04", None), ("1971", None), ("1972", "different"), ("1980-11-02", "different"),
        ("1971-05-27", "different"),
    ],
)  # fmt: skip
def test_birthdays_with_one_slip_are_near(other: str, agreement: str | None) -> None:
    assert persons.compare_days(DAY, other) == persons.compare_days(other, DAY) == agreement


def test_day_and_month_exchanged_are_one_slip() -> None:
    assert persons.compare_days("1971-04-09", "1971-09-04") == "near"


def test_an_equal_birthday_is_evidence() -> None:
    fields, other = {"name": "Gary Hornwater"}, {"name": "Ggaary Ohrnwaetr"}
    assert score(fields, other) < 0.8
    assert score({**fields, "birthday": DAY}, {**other, "born": "19710423"}) >= 0.9


def test_a_slip_in_a_birthday_is_doubt_and_no_veto() -> None:
    fields = {"name": "Ada Lovelace"}
    slip = score({**fields, "birthday": DAY}, {**fields, "birthday": "1971-04-28"})
    assert slip == persons.DAY_SLIP_LIMIT < score(fields, fields)
    # Something else that is equal outweighs the slip.
    assert score({**fields, "birthday": DAY, **HOME}, {**fields, "birthday": "1971-04-28", **HOME}) > 0.95


def test_another_birthday_is_strong_evidence_against() -> None:
    fields = {"name": "Ada Lovelace", "birthday": DAY}
    other = {"name": "Ada Lovelace", "birthday": "1985-11-02"}
    assert score(fields, other) <= similarity.CONFLICT_LIMIT
    assert score({**fields, **HOME}, {**other, **HOME}) == similarity.CONFLICT_LIMIT
    # Father and son may share home, number and name: such a pair stays below the default threshold.
    shared = {**HOME, "phone": "+44 20 7946 0958"}
    assert score({**fields, **shared}, {**other, **shared}) == persons.DAY_CONFLICT_LIMIT < 0.85


def test_a_home_is_evidence_and_another_home_is_a_doubt() -> None:
    fields, other = {"name": "Gary Hornwater"}, {"name": "Ggaary Ohrnwaetr"}
    assert score({**fields, **HOME}, {**other, **HOME}) >= 0.9
    away = {"address": "9 High Street", "postcode": "B1 1AA", "city": "Bath"}
    namesake = score({"name": "Ada Lovelace", **HOME}, {"name": "Ada Lovelace", **away})
    assert 0.7 < namesake < score({"name": "Ada Lovelace"}, {"name": "Ada Lovelace"})


@pytest.mark.parametrize("shared", [HOME, {**HOME, "birthday": DAY}, {**HOME, "phone": "+44 20 7946 0958"}])
@pytest.mark.parametrize("other", ["Mark Hornwater", "Hornwater", "Fatima Okafor"])
def test_who_lives_together_is_not_one_person(shared: dict[str, str], other: str) -> None:
    likely = score({"name": "Fiona Hornwater", **shared}, {"name": other, **shared})
    if other == "Hornwater" and "birthday" in shared:
        assert likely >= 0.9
    else:
        assert likely <= persons.RELATIVES_LIMIT


def test_a_person_who_married_keeps_birthday_and_number() -> None:
    fields = {"name": "Ada Byron", "birthday": DAY, "phone": "+44 20 7946 0958"}
    assert score(fields, {**fields, "name": "Ada Lovelace"}) >= 0.9
    assert score({"name": "Ada Byron", "birthday": "1971"}, {"name": "Ada King", "birthday": "1971"}) < 0.8


def test_a_slip_in_an_email_address_is_no_other_address() -> None:
    fields = {"name": "Ada Lovelace", "email": "ada.lovelace@example.org"}
    assert score(fields, {**fields, "email": "ada.lovelcae@example.org"}) >= 0.9
    assert score(fields, {**fields, "email": "ada.king@example.org"}) == similarity.CONFLICT_LIMIT
    numbered = {"name": "Ada Lovelace", "email": "lovelace17@example.org"}
    assert score(numbered, {**numbered, "email": "lovelace18@example.org"}) == similarity.CONFLICT_LIMIT


def test_an_equal_birthday_outweighs_another_email_address() -> None:
    fields = {"name": "Ada Lovelace", "email": "ada@home.example", "birthday": DAY}
    assert score(fields, {**fields, "email": "ada@work.example"}) == 0.95


@pytest.mark.parametrize(
    ("name", "other"),
    [("Bill Gates", "William Gates"), ("Kate Bush", "Catherine Bush"), ("Bob Ray", "Rob Ray")],
)
def test_nicknames_are_forms_of_one_name(name: str, other: str) -> None:
    assert score({"name": name}, {"name": other}) >= 0.9
    assert are_forms_of_one_name(*(text.split()[0].lower() for text in (name, other)))


def test_other_given_names_are_no_forms_of_one_name() -> None:
    assert not are_forms_of_one_name("mark", "mary")
    assert not are_forms_of_one_name("ada", "ada")


def test_birthdays_and_homes_are_compared_of_persons_alone() -> None:
    texts = {"name": '"Acme"', "address": '"12 Mill Road"', "birthday": '"1971-04-23"'}
    assert set(Profile("a", "company", "Acme", texts).values) == {"name"}


def test_the_reasons_name_the_birthday_and_the_home() -> None:
    fields = {"name": "Ada Lovelace", "birthday": DAY, **HOME}
    scored = similarity.score(person("a", **fields), person("b", **{**fields, "address": "12 Mil Road"}))
    by_field = {reason.field: reason.similarity for reason in scored.reasons}
    assert by_field == {"name": 1.0, "birthday": 1.0, "postcode": 1.0, "city": 1.0, "address": 0.7}
    assert "birthday" in scored.matched_fields


def test_an_equal_birthday_makes_misspelt_names_meet_among_thousands() -> None:
    """No word of the two names sounds alike, and they are far apart in the order of names."""
    others = [
        person(f"ent_{place:020d}", name=f"Person{place} Name{place}", birthday=f"{1900 + place % 90}-01-01")
        for place in range(2_000)
    ]
    first = person("ent_x", name="Gary Hornwater", birthday=DAY)
    second = person("ent_y", name="Ggaary Ohrnwaetr", birthday=DAY)
    proposals = blocking.propose([*others, first, second], 0.85)
    assert {(pair.a.entity_id, pair.b.entity_id) for pair in proposals.pairs} >= {("ent_x", "ent_y")}
    # A day that many have is no reason to compare all of them.
    assert proposals.compared < 2_000 * 22
