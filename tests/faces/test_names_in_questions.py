"""What a question names answers: by whole names, by parts of names, and by relationships."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.walks import walk_over

PEOPLE: dict[str, dict[str, Any]] = {
    "Tom Ek": {"aliases": ["Tommy"], "note": "paints boats"},
    "Priya Shah": {"phone": "+44 20 7946 0018"},
    "Jane Doe": {"title": "director"},
    "Otto Lind": {},
    "Rose Hill": {},
    "Old Boss": {},
    "Will Ash": {},
    "An": {},
}
OTHERS = (
    {"entity_type": "company", "name": "Acme Robots"},
    {
        "entity_type": "note",
        "title": "Dinner",
        "text": "Tom wants roses for the garden and Priya brings wine",
    },
    {"entity_type": "task", "title": "Call the painter", "text": "about the boats"},
    {"entity_type": "place", "name": "York"},
    {"entity_type": "book", "name": "New York Stories"},
)
NAMES = [*PEOPLE, "Acme Robots"]
LINKS = (
    ("Tom Ek", "REPORTS_TO", "Jane Doe", None),
    ("Tom Ek", "REPORTS_TO", "Old Boss", {"until": "2020-12-31"}),
    ("Priya Shah", "REPORTS_TO", "Tom Ek", None),
    ("Otto Lind", "WORKS_AT", "Acme Robots", None),
)


@pytest.fixture
def world(run: Call) -> Call:
    people = [{"entity_type": "person", "name": name, **fields} for name, fields in PEOPLE.items()]
    links = [
        {
            "relationship_type": kind,
            "source_index": NAMES.index(source),
            "target_index": NAMES.index(target),
            **({"metadata": metadata} if metadata else {}),
        }
        for source, kind, target, metadata in LINKS
    ]  # fmt: skip
    run("store", entities=[*people, *OTHERS], relationships=links, find_duplicates=False)
    return run


def found(answer: dict[str, Any]) -> list[str]:
    return [item["canonical_name"] for item in answer["entities"]]


@walk_over(
    "question, mode, names",
    [
        ("Tom", "name_part", ["Tom Ek"]),
        ("tommy", "name", ["Tom Ek"]),
        ("Is Tommy here?", "name", ["Tom Ek"]),
        ("What is Priya's phone number?", "name_part", ["Priya Shah"]),
        ("what is priya shah's phone number", "name", ["Priya Shah"]),
        ("Do Tom and Priya know each other?", "name_part", ["Priya Shah", "Tom Ek"]),
        ("ek tom", "name_part", ["Tom Ek"]),
        ("Who has the phone +44 20 7946 0018?", "identifier", ["Priya Shah"]),
        ("Which robots does Acme build?", "name_part", ["Acme Robots"]),
        ("Tom's boss", "relationship", ["Jane Doe", "Tom Ek"]),
        ("who is tom's boss", "relationship", ["Jane Doe", "Tom Ek"]),
        ("Who was Tom's former boss?", "relationship", ["Old Boss", "Tom Ek"]),
        ("Wann hat Priya Geburtstag?", "name_part", ["Priya Shah"]),
        ("Wer ist Toms Chef?", "relationship", ["Jane Doe", "Tom Ek"]),
        ("Wie lautet Otto Linds Telefonnummer?", "name_part", ["Otto Lind"]),
        ("Who reports to Tom?", "relationship", ["Priya Shah", "Tom Ek"]),
        ("Who works at Acme Robots?", "relationship", ["Otto Lind", "Acme Robots"]),
        ("Where does Otto work?", "relationship", ["Acme Robots", "Otto Lind"]),
        ("What is Will's phone number?", "name_part", ["Will Ash"]),
        ("Where is An now?", "name", ["An"]),
    ],
)
def test_what_a_question_names_answers(world: Call, question: str, mode: str, names: list[str]) -> None:
    answer = world("entities.find", identifier=question)
    assert (answer["match_mode"], sorted(found(answer))) == (mode, sorted(names))


@pytest.mark.parametrize(
    ("question", "mode", "names", "field"),
    [
        ("Where is Peggy?", "name_part", ["Margaret Ash"], "also_known_as"),
        ("what is weston's phone number", "name_part", ["Margaret Ash"], "former_names"),
        ("Peggy Ash", "name_part", ["Margaret Ash"], "canonical_name"),
        ("Peggy Weston", "name_part", ["Margaret Ash"], "also_known_as"),
        ("Does Margaret know Tom?", "name_part", ["Margaret Ash", "Tom Ek"], "canonical_name"),
        ("Who is Peggy's boss?", "relationship", ["Otto Lind", "Margaret Ash"], "also_known_as"),
        ("Which boats does Northern buy?", "name_part", ["NBC"], "legal_name"),
        ("is it northern", "text", [], None),
        ("Peggy Smith", "text", [], None),
        ("is that the harbour", "text", [], None),
    ],
)
def test_a_part_of_an_alias_names_as_a_part_of_the_name(
    world: Call, question: str, mode: str, names: list[str], field: str | None
) -> None:
    margaret = {
        "entity_type": "person", "name": "Margaret Ash", "also_known_as": "Peggy Mae",
        "former_names": ["Mabel Weston"], "note": "sails to the northern harbour with Smith",
    }  # fmt: skip
    company = {"entity_type": "company", "name": "NBC", "legal_name": "Northern Boat Company"}
    otto = {"entity_type": "person", "name": "Otto Lind"}
    links = [{"relationship_type": "REPORTS_TO", "source_index": 0, "target_index": 2}]
    world("store", entities=[margaret, company, otto], relationships=links, find_duplicates=False)
    answer = world("entities.find", identifier=question)
    named = [item for item in answer["entities"] if item.get("match") != "resemblance"]
    assert sorted(found({"entities": named})) == sorted(names)
    if names:
        assert answer["match_mode"] == mode
        assert [item.get("matched_field") for item in named if item["matched"] == "name_part"][:1] == [field]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who works at Acme Robots?", ["Otto Lind", "Acme Robots"]),
        ("Is Tommy a friend of Rose, who has a hill?", ["Tom Ek", "Rose Hill"]),
    ],
)
def test_relationships_come_first_then_whole_names_then_parts(
    world: Call, question: str, names: list[str]
) -> None:
    """Whatever other words of the question they have."""
    assert found(world("entities.find", identifier=question)) == names
    assert found(world("entities.query", search=question))[: len(names)] == names


@walk_over(
    "question",
    [
        "Tom Smith",
        "tom smith",
        "Barack Ek",
        "rose garden",
        "who paints boats",
        "Which boss is best?",
        "Call Smith",
    ],
)
def test_somebody_else_is_not_named(world: Call, question: str) -> None:
    answer = world("entities.find", identifier=question)
    assert answer["match_mode"] in ("text", "meaning", "none")
    assert {item["match"] for item in answer["entities"]} <= {"resemblance"}


@pytest.mark.parametrize(
    "question", ["bob@example.org, please", "Who is bob@example.org?", "what is ent_0123456789abcdef01234567"]
)
def test_an_address_that_nobody_has_is_answered_by_nothing_similar(run: Call, question: str) -> None:
    letter = {"entity_type": "note", "title": "Bob", "text": "what is the example of bob, in org, please"}
    kept, _ = run("store", entities=[{**letter, "sent": question}, letter])["entities"]
    assert found(run("entities.find", identifier=question)) == [kept["canonical_name"]]
    run("entities.delete", entity_id=kept["entity_id"])
    assert found(run("entities.find", identifier=question)) == []


def test_a_search_for_an_identifier_answers_nothing_similar(run: Call) -> None:
    run("store", entities=[{"entity_type": "invoice", "number": "INV-2023-001", "phone": "+49 30 123456"}])
    for text in ("INV-2023-002", "INV-2023-00", "INV-2023-0010", "+49 30 123457", "030 123457"):
        assert found(run("entities.query", search=text)) == []
    for text in ("INV-2023-001", "inv 2023 001", "+49 30 123456"):
        assert len(found(run("entities.query", search=text))) == 1


@pytest.mark.parametrize(
    ("question", "mode", "name"),
    [
        # The only name has a hyphen.
        ("Où habite Jean-Pierre ?", "name_part", "Jean-Pierre Roux"),
        ("Does Jean-Pierre sail?", "name_part", "Jean-Pierre Roux"),
        # Every word is written as a name.
        ("North Face", "name_part", "The North Face"),
        ("Müller & Söhne", "name_part", "Müller & Söhne GmbH"),
        ("Mueller & Soehne", "near_name", "Müller & Söhne GmbH"),
        ("トヨタ", "name_part", "株式会社トヨタ"),
        # "&" joins two words of one name, or two names.
        ("müller & söhne", "text", None),
        ("Müller & Partner", "text", None),
        ("jean-pierre & müller", "name_part", "Jean-Pierre Roux"),
    ],
)
def test_names_of_several_words_are_read_as_one(
    run: Call, question: str, mode: str, name: str | None
) -> None:
    people = [{"entity_type": "person", "name": each} for each in ("Jean-Pierre Roux", "Anna Müller")]
    companies = [
        {"entity_type": "company", "name": each}
        for each in ("The North Face", "Müller & Söhne GmbH", "株式会社トヨタ")
    ]
    run("store", entities=[*people, *companies], find_duplicates=False)
    answer = run("entities.find", identifier=question)
    named = [each["canonical_name"] for each in answer["entities"] if each.get("match") != "resemblance"]
    assert (answer["match_mode"], name in named, bool(named)) == (mode, bool(name), bool(name))
    assert "&" not in question or "jean" in question or "Anna Müller" not in named


def test_a_name_within_a_longer_name_names_nothing(world: Call) -> None:
    assert found(world("entities.find", identifier="who wrote New York Stories?")) == ["New York Stories"]
    assert found(world("entities.find", identifier="how far is York?")) == ["York"]


def test_what_only_resembles_stands_apart_and_is_marked(world: Call) -> None:
    answer = world("entities.find", identifier="Is Tom painting boats?")
    assert found(answer) == ["Tom Ek"]
    assert (answer["total"], "match" in answer, "hint" in answer) == (1, False, False)
    (first,) = answer["entities"]
    matched = first["matched"], first["matched_by"], first["matched_field"], first["score"]
    assert matched == ("name_part", "Tom", "canonical_name", 1.0)
    assert {item["match"] for item in answer["resembling"]} == {"resemblance"}
    assert "Dinner" not in [item["canonical_name"] for item in answer["resembling"]]


def test_one_who_is_named_by_a_relationship_says_by_which(world: Call) -> None:
    boss, tom = world("entities.find", identifier="Who is Tom's boss?")["entities"]
    assert (boss["canonical_name"], boss["matched"], boss["matched_by"]) == (
        "Jane Doe",
        "relationship",
        "Tom, boss",
    )
    assert (boss["relationship_type"], boss["related_to"]) == ("REPORTS_TO", tom["entity_id"])


def test_a_search_has_what_is_named_first_and_marks_the_rest(world: Call) -> None:
    page = world("entities.query", search="Who is Tom's boss?", include_total_count=True)
    assert found(page)[:2] == ["Jane Doe", "Tom Ek"]
    assert [item.get("matched") for item in page["entities"][:2]] == ["relationship", "name_part"]
    assert all(item["match"] == "resemblance" for item in page["entities"][2:])
    first = world("entities.query", search="Who is Tom's boss?", limit=1)
    second = world("entities.query", search="Who is Tom's boss?", limit=1, cursor=first["next_cursor"])
    assert [*found(first), *found(second)] == ["Jane Doe", "Tom Ek"]
    filters = {"note": {"op": "contains", "value": "boats"}}
    assert found(world("entities.query", search="Who is Tom's boss?", snapshot_filters=filters)) == ["Tom Ek"]
    explained = world("search.explain", search="Who is Tom's boss?")["entities"]
    assert [each["matched"][0] for each in explained[:2]] == ["relationship", "name_part"]
    boats = world("entities.query", search="boats")["entities"]
    assert boats
    assert all(item["match"] == "resemblance" for item in boats)


def test_a_context_is_about_whom_a_part_of_a_name_names(world: Call) -> None:
    lines = world("context.retrieve", question="What is Priya's phone number?", budget=500)["lines"]
    assert lines[0].startswith("Priya Shah")
    assert "phone: +44 20 7946 0018" in lines[0]


def test_the_newest_comes_first_of_what_a_question_does_not_name(world: Call) -> None:
    for day, city in (("2026-01-01", "Oslo"), ("2026-03-01", "Rome")):
        fact = {"entity_type": "fact", "name": f"Home {city}", "text": f"Tom moved home to {city}"}
        world("store", entities=[fact], observed_at=f"{day}T00:00:00Z", find_duplicates=False)
    page = world("entities.query", search="Where did Tom move home to?", newest_first=True)
    assert found(page)[:3] == ["Tom Ek", "Home Rome", "Home Oslo"]


@walk_over(
    "question, names",
    [
        ("phone of Dr. Hofer", []),
        ("Telefon von Frau Dr. Hofer", []),
        ("Prof. Hofer", []),
        ("Dr.", []),
        ("phone of Dr. Finch", ["Dr. Aurelia Finch"]),
        ("Where does Mrs. Finch live?", ["Dr. Aurelia Finch"]),
        ("phone of Priya K. Larsen", []),
        ("phone of Priya K. today", []),
        ("Priya S.'s phone", ["Priya Shah"]),
        ("phone of J. Doe", ["Jane Doe"]),
        ("phone of K. Doe", []),
        ("Frau Robots", []),
        ("R. Acme", []),
        ("Call J. Shah", []),
    ],
)
def test_a_title_or_another_initial_names_nobody(world: Call, question: str, names: list[str]) -> None:
    finch = {"entity_type": "person", "name": "Dr. Aurelia Finch", "phone": "+47 400 00 901"}
    world("store", entities=[finch, {"entity_type": "person", "name": "Prof. Ida Nord"}])
    answer = world("entities.find", identifier=question)
    named = [item for item in answer["entities"] if item.get("match") != "resemblance"]
    assert found({"entities": named}) == names


def test_which_of_several_bears_a_title_is_said_by_the_name_or_marked(world: Call) -> None:
    people = [
        {"entity_type": "person", "name": name}
        for name in ("Dr. Bo Kvam", "Siri Kvam", "Liv Aune", "Ola Aune")
    ]
    world("store", entities=people, find_duplicates=False)
    (named,) = world("entities.find", identifier="phone of Dr. Kvam")["entities"]
    assert (named["canonical_name"], "match" in named) == ("Dr. Bo Kvam", False)
    found = world("entities.find", identifier="phone of Dr. Aune")
    assert (found["match"], {each["match"] for each in found["entities"]}) == ("resemblance", {"resemblance"})
    assert 'nothing that is stored says "dr"' in found["hint"]
