"""How likely two entities are one: a labelled table of pairs, and what holds of every score."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.duplicates import blocking, name_similarity, similarity
from graphmem.duplicates.similarity import Profile
from graphmem.model import canonical
from tests.support.long_texts import lines_run
from tests.support.walks import walk_over

THRESHOLD = 0.85
SAME = [
    ("person", "John Smith", "Smith, John"),
    ("person", "Jon Smith", "John Smith"),
    ("person", "J. Smith", "John Smith"),
    ("person", "Dr. Ada Lovelace", "ada lovelace"),
    ("person", "Prof. Dr. Hans Müller", "Hans Mueller"),
    ("person", "Ada King Lovelace", "Ada Lovelace"),
    ("person", "John F. Kennedy", "John Fitzgerald Kennedy"),
    ("person", "Catherine Jones", "Katherine Jones"),
    ("person", "Stephen Hawking", "Stephan Hawking"),
    ("person", "Tim Berners-Lee", "Tim Berners Lee"),
    ("person", "Conan O'Brien", "Conan O’Brien"),
    ("person", "José Pérez", "Jose Perez"),
    ("person", "Søren Ødegård", "Soren Odegard"),
    ("person", "Ludwig van Beethoven", "Ludwig Beethoven"),
    ("person", "Friedrich Nietzsche", "Friedrich Nietsche"),
    ("person", "Алексей Сидоров", "Сидоров Алексей"),
    ("person", "Пётр Чайковский", "Петр Чайковский"),
    ("person", "Γιώργος Παπαδόπουλος", "ΓΙΩΡΓΟΣ ΠΑΠΑΔΟΠΟΥΛΟΣ"),
    ("person", "محمّد علي", "محمد علي"),
    ("person", "אַבְרָהָם כהן", "אברהם כהן"),
    ("person", "山田太郎", "山田 太郎"),
    ("person", "김 철수", "김철수"),
    ("company", "Acme Inc.", "ACME"),
    ("company", "Acme Incorporated", "Acme, Inc."),
    ("company", "Siemens AG", "Siemens"),
    ("company", "I.B.M. Corp", "IBM"),
    ("company", "Société Générale S.A.", "Societe Generale"),
    ("company", "ООО Ромашка", "Ромашка"),
    ("company", "株式会社トヨタ", "トヨタ"),
    ("company", "Smith & Sons Ltd", "Smith and Sons Limited"),
    ("company", "Face book", "Facebook"),
    ("document", "Quarterly planning meeting", "Quaterly planning meeting"),
    ("document", "Plan for the Berlin office", "Plan for Berlin Office"),
    ("project", "Apollo 11 Landing", "Apollo 11 - landing"),
    ("project", "コンピューター計画", "コンピュータ計画"),
    ("task", "Renew the domain", "renew domain"),
    ("recipe", "Crème brûlée", "Creme brulee"),
    ("recipe", "🍎 Apple pie", "Apple pie"),
    ("topic", "C++ templates", "C++  Templates"),
]
OTHER = [
    ("recipe", "🍎 Pie", "🍐 Pie"),
    ("topic", "C++", "C#"),
    ("product", "Disney+", "Disney"),
    ("person", "John Smith", "Joan Smith"),
    ("person", "Maria Garcia", "Mario Garcia"),
    ("person", "Daniel Rossi", "Daniela Rossi"),
    ("person", "Ann Lee", "Anna Lee"),
    ("person", "John Smith", "John Smithson"),
    ("person", "John Smith Jr.", "John Smith Sr."),
    ("person", "Henry IV", "Henry VIII"),
    ("person", "Ada", "Ada Lovelace"),
    ("person", "J. S.", "John Smith"),
    ("person", "Anna Berger", "Hanna Berger"),
    ("person", "Ada Lovelace", "Ada Byron"),
    ("person", "Иван Петров", "Иван Сидоров"),
    ("person", "山田太郎", "山田次郎"),
    ("person", "김철수", "김영희"),
    ("person", "Dr. Smith", "Dr. Jones"),
    ("company", "Acme Consulting", "Acme Logistics"),
    ("company", "Acme", "Acme Consulting"),
    ("company", "Deutsche Bank AG", "Deutsche Bahn AG"),
    ("company", "东京大学医学部", "东京大学法学部"),
    ("company", "Studio 54", "Studio 45"),
    ("invoice", "Invoice 12", "Invoice 13"),
    ("document", "Plan A", "Plan B"),
    ("document", "Hepatitis A", "Hepatitis"),
    ("document", "Report 2025", "Report 2026"),
    ("document", "Report", "Report 2026"),
    ("document", "Chapter II", "Chapter III"),
    ("document", "Minutes of the January meeting", "Minutes of the February meeting"),
    ("document", "Version 1.2", "Version 1.2.2"),
    ("task", "Standup Monday", "Standup Tuesday"),
    ("task", "Import customers", "Export customers"),
    ("project", "Mars", "Bars"),
    ("location", "North Berlin", "South Berlin"),
    ("recipe", "Recipe", "Receipt"),
]


def entity(entity_type: str, entity_id: str = "a", /, **fields: Any) -> Profile:
    texts = {name: canonical.encode(value) for name, value in fields.items()}
    shown = str(fields.get("name") or fields.get("title") or f"{entity_type} {entity_id[4:12]}")
    return Profile(entity_id, entity_type, shown, texts)


def score(entity_type: str, left: dict[str, Any], right: dict[str, Any]) -> float:
    """Return the score of two entities, which is the same whichever comes first."""
    a, b = entity(entity_type, "a", **left), entity(entity_type, "b", **right)
    result, turned = similarity.score(a, b), similarity.score(b, a)
    assert result.score == turned.score
    assert [(r.field, r.b, r.a, r.similarity) for r in turned.reasons] == list(result.reasons)
    return result.score


@walk_over("entity_type, name, other_name", SAME)
def test_names_of_one_entity_reach_the_threshold(entity_type: str, name: str, other_name: str) -> None:
    assert score(entity_type, {"name": name}, {"name": other_name}) >= THRESHOLD


@walk_over("entity_type, name, other_name", OTHER)
def test_names_of_two_entities_stay_below_the_threshold(entity_type: str, name: str, other_name: str) -> None:
    assert score(entity_type, {"name": name}, {"name": other_name}) < THRESHOLD


def test_two_letters_that_change_places_are_a_slip() -> None:
    assert score("task", {"name": "Renew the domain"}, {"name": "Renew the domian"}) >= THRESHOLD
    assert score("task", {"name": "Tell Bob"}, {"name": "Tell Bbo"}) < THRESHOLD


def test_among_all_the_names_of_the_table_those_pairs_are_proposed_and_hardly_another() -> None:
    """Precision and recall over every pair of one type that the table's names make."""
    labelled = SAME + OTHER
    profiles = [
        entity(kind, f"ent_{place:020d}{side}", name=name)
        for place, (kind, *pair) in enumerate(labelled)
        for side, name in zip("ab", pair, strict=True)
    ]
    proposals = {(p.a.entity_id, p.b.entity_id) for p in blocking.propose(profiles, THRESHOLD).pairs}
    wanted = {(f"ent_{place:020d}a", f"ent_{place:020d}b") for place in range(len(SAME))}
    # Between rows some names are one on purpose: Smith, John (row 0) is J. Smith and Jon Smith, and so on.
    true = {pair for pair in proposals if _labelled_as_one(pair, labelled)} | (proposals & wanted)
    recall = len(proposals & wanted) / len(wanted)
    precision = len(true) / len(proposals)
    assert recall == 1.0
    assert precision >= 0.95, sorted(proposals - true)


def _labelled_as_one(pair: tuple[str, str], labelled: list[tuple[str, str, str]]) -> bool:
    names_ = [labelled[int(entity_id[4:-1])]["ab".index(entity_id[-1]) + 1] for entity_id in pair]
    groups = (
        {
            "John Smith",
            "Smith, John",
            "Jon Smith",
            "J. Smith",
            "John Smith Jr.",
            "John Smith Sr.",
            "Joan Smith",
        },
        {"Acme Inc.", "ACME", "Acme Incorporated", "Acme, Inc.", "Acme"},
        {"Dr. Ada Lovelace", "ada lovelace", "Ada King Lovelace", "Ada Lovelace"},
    )
    return names_[0] == names_[1] or any(set(names_) <= group for group in groups)


def test_what_is_equal_beside_the_name_makes_it_surer() -> None:
    fields, other_fields = {"name": "J. Smith"}, {"name": "John Smith"}
    alone = score("person", fields, other_fields)
    for field, value, spelling in (
        ("email", "Ada@Example.org", "mailto:ada@example.org"),
        ("phone", "+44 20 7946 0958", "020 79460958"),
        ("url", "https://www.example.org/ada/", "http://example.org/ada"),
        ("external_id", "X-1", " x-1"),
    ):
        assert score("person", {**fields, field: value}, {**other_fields, field: spelling}) > max(alone, 0.98)


@pytest.mark.parametrize(
    ("field", "value", "least", "most"),
    [("email", "info@acme.example", 0.85, 0.9), ("phone", "+49 30 1234567", 0.5, 0.84)],
)
def test_what_is_shared_by_quite_other_names_counts_less(
    field: str, value: str, least: float, most: float
) -> None:
    likelihood = score("person", {"name": "Ada Lovelace", field: value}, {"name": "Bob Jones", field: value})
    assert least <= likelihood <= most
    assert score("person", {field: value}, {"name": "Bob Jones", field: value}) >= 0.95


@pytest.mark.parametrize(
    ("entity_type", "fields", "other_fields"),
    [
        ("person", {"name": "Ada", "email": "a@x.example"}, {"name": "Ada", "email": "b@x.example"}),
        ("person", {"name": "Ada", "born": "1815-12-10"}, {"name": "Ada", "born": "1816"}),
        (
            "event",
            {"title": "Standup", "date_start": "2026-01-30"},
            {"title": "Standup", "date": "2026-01-31"},
        ),
        ("invoice", {"vendor": "Acme", "number": 12}, {"vendor": "Acme", "number": 13}),
        ("invoice", {"vendor": "Acme", "number": 12}, {"vendor": "Apex", "number": 12}),
        ("transaction", {"name": "Rent", "external_id": "1"}, {"name": "Rent", "external_id": "2"}),
        ("concert", {"name": "Requiem", "date": "2026-01-30"}, {"name": "Requiem", "date": "2026-02-02"}),
        ("room", {"name": "Room", "number": 1}, {"name": "Room", "number": 2}),
    ],
)
def test_what_one_thing_cannot_have_twice_rules_a_pair_out(entity_type, fields, other_fields) -> None:
    assert score(entity_type, fields, other_fields) <= similarity.CONFLICT_LIMIT < similarity.LOWEST_THRESHOLD
    assert score(entity_type, fields, fields) >= 0.9


def test_another_email_is_outweighed_by_an_equal_phone() -> None:
    fields = {"name": "Ada Lovelace", "phone": "+44 20 7946 0958", "email": "ada@home.example"}
    assert score("person", fields, {**fields, "email": "ada@work.example"}) == 0.95
    reasons = similarity.score(
        entity("person", "a", **fields), entity("person", "b", **{**fields, "email": "ada@work.example"})
    )
    assert reasons.reasons[-1] == ("email", "ada@home.example", "ada@work.example", 0.0)
    assert "email" not in reasons.matched_fields


def test_a_company_with_another_address_is_below_the_default_threshold() -> None:
    likelihood = score(
        "company", {"name": "Acme", "domain": "acme.de"}, {"name": "Acme", "domain": "acme.com"}
    )
    assert likelihood == similarity.DOUBT_LIMIT < THRESHOLD


@pytest.mark.parametrize(
    ("date", "other_date", "likely"),
    [
        ("2026-01-30", "2026-01-30T09:00:00Z", True),
        ("2026-01-30T23:30:00-05:00", "2026-01-31T04:30:00Z", True),
        ("2026-01", "2026-01-30", True),
        ("2026-01-30T09:00:00Z", "2026-01-30T16:00:00Z", False),
        ("next week", "next week", True),
    ],
)
def test_events_of_one_day_are_likely_one_unless_their_hours_differ(date, other_date, likely) -> None:
    likelihood = score(
        "event", {"title": "Planning", "date_start": date}, {"title": "Planning", "date_start": other_date}
    )
    assert (likelihood >= 0.9) == likely
    assert likelihood >= THRESHOLD


def test_what_one_of_them_leaves_open_is_a_doubt() -> None:
    likelihood = score("event", {"title": "Planning", "date_start": "2026-01-30"}, {"title": "Planning"})
    assert likelihood == name_similarity.OMISSION_LIMIT
    assert (
        score("person", {"name": "John Smith Jr."}, {"name": "John Smith"}) == name_similarity.OMISSION_LIMIT
    )


def test_an_invoice_is_its_number_and_who_sent_it() -> None:
    fields = {"vendor": "Acme GmbH", "number": "INV-7"}
    assert score("invoice", fields, {"vendor": "ACME", "invoice_number": "inv-7"}) >= 0.9


def test_other_names_count_as_well() -> None:
    fields = {"name": "William Henry Gates", "aliases": ["Bill Gates", 7, None, ""]}
    assert score("person", fields, {"name": "Bill Gates"}) >= THRESHOLD


def test_what_has_no_name_is_not_alike_by_what_it_is_called() -> None:
    profile = Profile("ent_00000000aaaa", "note", "note 00000000", {"text": '"x"'})
    other_profile = Profile("ent_00000000bbbb", "note", "note 00000000", {"text": '"x"'})
    assert similarity.score(profile, other_profile).score == 0.0
    assert not blocking.propose([profile, other_profile], 0.5).pairs


def test_a_contact_by_email_may_be_the_person_of_its_name() -> None:
    contact = entity("contact", "ent_contact", name="Ida Berg", email="ida@berg.example")
    person = entity("person", "ent_person", name="Ida Berg")
    (pair,) = blocking.propose([contact, person], THRESHOLD).pairs
    assert pair.ids == ("ent_contact", "ent_person")


FIELDS = st.dictionaries(
    st.sampled_from(sorted(similarity.COMPARED_FIELDS)),
    st.sampled_from(
        ["Ada Lovelace", "Lovelace, A.", "a@x.example", "+49 30 1234567", "2026-01-30", "Acme Inc 7"]
    )
    | st.text(max_size=8)
    | st.integers()
    | st.lists(st.text(max_size=4), max_size=3)
    | st.none(),
    max_size=5,
)


@pytest.mark.parametrize("entity_type", ["person", "company", "event", "invoice", "recipe"])
@given(fields=FIELDS, other_fields=FIELDS)
def test_a_score_is_a_number_from_0_to_1_and_symmetric(entity_type, fields, other_fields) -> None:
    assert 0.0 <= score(entity_type, fields, other_fields) <= 1.0


@pytest.mark.parametrize("entity_type", ["person", "company", "event", "invoice", "recipe"])
@given(fields=FIELDS, other_fields=FIELDS)
def test_no_pair_has_a_score_that_it_may_not_reach(entity_type, fields, other_fields) -> None:
    first, second = entity(entity_type, "ent_a", **fields), entity(entity_type, "ent_b", **other_fields)
    scored = similarity.score(first, second).score
    assert scored < similarity.LOWEST_THRESHOLD or similarity.may_reach(first, second, scored)


def test_what_has_another_name_and_no_equal_value_reaches_nothing() -> None:
    first = entity("person", "ent_a", name="Ada Lovelace", email="ada@x.example", city="London")
    second = entity("person", "ent_b", name="Grace Hopper", email="grace@x.example", city="London")
    assert not similarity.may_reach(first, second, 0.8)


def test_namesakes_with_other_emails_reach_nothing_and_their_names_are_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = entity("person", "ent_a", name="Ada Lovelace", email="ada@x.example")
    second = entity("person", "ent_b", name="Ada Lovelace", email="lovelace@y.example")
    assert similarity.score(first, second).score < 0.9
    monkeypatch.setattr(similarity.name_similarity, "similarity", None)
    assert not similarity.may_reach(first, second, 0.9)


@given(st.lists(FIELDS, max_size=12), st.randoms(use_true_random=False))
def test_proposals_hang_neither_on_order_nor_on_repetition(rows, random) -> None:
    profiles = [entity("person", f"ent_{place:024d}", **fields) for place, fields in enumerate(rows)]
    expected = blocking.propose(profiles, 0.6)
    again = random.sample(profiles, len(profiles)) + profiles[:3]
    assert blocking.propose(again, 0.6) == expected
    around = {profile.entity_id for profile in profiles[:1]}
    own_pairs = [pair for pair in expected.pairs if around & {pair.a.entity_id, pair.b.entity_id}]
    assert blocking.propose(again, 0.6, around).pairs == own_pairs


def test_few_are_all_compared_as_the_score_says() -> None:
    profiles = [
        entity(kind, f"ent_{place:022d}{side}", name=name)
        for place, (kind, *pair) in enumerate(SAME + OTHER)
        for side, name in zip("ab", pair, strict=True)
    ]
    every = {
        (a.entity_id, b.entity_id)
        for a, b in itertools.combinations(profiles, 2)
        if a.entity_type == b.entity_type and similarity.score(a, b).score >= THRESHOLD
    }
    assert {(p.a.entity_id, p.b.entity_id) for p in blocking.propose(profiles, THRESHOLD).pairs} == every


def test_no_more_pairs_are_compared_than_said() -> None:
    profiles = [entity("person", f"ent_{place:024d}", name="Ada Lovelace") for place in range(300)]
    bounded = blocking.propose(profiles, THRESHOLD, pairs_limit=200)
    assert not bounded.complete
    assert bounded.compared <= 200 + blocking.SMALL_BLOCK
    whole = blocking.propose(profiles, THRESHOLD)
    assert whole.complete
    assert whole.compared < 300 * 10


def test_a_slip_is_found_among_thousands() -> None:
    first = ["Anna", "Bela", "Carlos", "Dmitri", "Elena", "Fatima", "Goran", "Hanna", "Igor", "Jana"]
    last = [f"{a}{b}{c}" for a in ("Ber", "Kor", "Mal", "Sten") for b in ("ga", "di", "lu", "ne", "vo")
            for c in ("mann", "sson", "witz", "ello", "enko")]  # fmt: skip
    people = [f"{first_name} {last_name}" for first_name in first for last_name in last]
    profiles = [entity("person", f"ent_{place:024d}", name=name) for place, name in enumerate(people)]
    slip = entity("person", "ent_slip", name="Dmitri Stenlusonn")
    initial = entity("person", "ent_initial", name="E. Kordiwitz")
    proposals = blocking.propose([*profiles, slip, initial], THRESHOLD).pairs
    pairs = {(pair.a.name, pair.b.name) for pair in proposals}
    assert ("Dmitri Stenlusson", "Dmitri Stenlusonn") in pairs
    assert ("Elena Kordiwitz", "E. Kordiwitz") in pairs


@pytest.mark.parametrize("name", ["1 " * 30_000, "1" * 6_000, "Ada " * 5_000])
def test_long_names_are_compared_as_wholes(name: str) -> None:
    profiles = [
        entity("person", f"ent_{place}", name=each) for place, each in enumerate((name, name, name + "a"))
    ]
    proposals: list[blocking.Proposals] = []
    lines = lines_run(lambda _: proposals.append(blocking.propose(profiles, 0.5)), "")
    assert lines < 20_000
    assert [pair.ids for pair in proposals[0].pairs] == [("ent_0", "ent_1")]
