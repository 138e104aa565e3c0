"""One slip of the pen finds a name, and what only resembles a question stands apart."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.search.context.context_sheets import APART
from tests.support.faces import Call
from tests.support.walks import walk_over

ENTITIES = (
    {"entity_type": "note", "title": "Keyboard layout", "text": "the shortcuts that everybody learns"},
    {"entity_type": "note", "title": "Keyboard cleaning", "text": "with a soft brush"},
    {"entity_type": "task", "title": "Bicycle repair", "text": "at the shop beside the station"},
    {"entity_type": "project", "name": "Kubernetes upgrade"},
    {"entity_type": "person", "name": "Annika Berglund", "phone": "+46 8 123 456 78"},
    {"entity_type": "person", "name": "Piet Jansen", "note": "grows tulips"},
    {"entity_type": "company", "name": "Fjordline", "order_number": "FJ-20231"},
    {"entity_type": "note", "title": "Phone list", "text": "the phone of the office stands in the hall"},
)


@pytest.fixture
def world(run: Call) -> Call:
    run("store", entities=list(ENTITIES), find_duplicates=False)
    return run


def named(answer: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [
        (each["canonical_name"], each.get("match"))
        for each in answer["entities"]
        if each.get("match") != "resemblance"
    ]


@walk_over(
    "question, names",
    [
        ("keybord layout", ["Keyboard layout"]),
        ("who repairs the bycicle", ["Bicycle repair"]),
        ("Kubernets upgrade", ["Kubernetes upgrade"]),
        ("What is Anika's phone number?", ["Annika Berglund"]),
        ("Berglunt", ["Annika Berglund"]),
        ("When does Fjrodline sail?", ["Fjordline"]),
        # Two slips, short words, somebody else, words that are known.
        ("kybrd layout", []),
        ("Piett", []),
        ("Where does Anika Larsen live?", []),
        ("bicycles", []),
        # Identifiers mean themselves alone.
        ("FJ-20232", []),
        ("Is FJ-20232 from Fjordlin?", []),
    ],
)
def test_one_slip_in_a_word_finds_the_name(world: Call, question: str, names: list[str]) -> None:
    answer = world("entities.find", identifier=question)
    near = [name for name, match in named(answer) if match == "near_name"]
    assert near == names
    if names:
        assert (answer["match"], answer["match_mode"]) == ("near_name", "near_name")
        assert "slip" in answer["hint"]
        assert world("context.retrieve", question=question)["match"] == "near_name"
        first = world("entities.query", search=question)["entities"][0]
        assert (first["canonical_name"], first["match"]) == (names[0], "near_name")


def test_a_name_as_it_is_written_leaves_no_room_for_near_ones(world: Call) -> None:
    world("store", entities=[{"entity_type": "person", "name": "Anika Berglund"}], find_duplicates=False)
    for question in ("Anika Berglund", "Does Anika know the bycicle shop?"):
        assert named(world("entities.find", identifier=question)) == [("Anika Berglund", None)]


def test_rows_of_a_search_say_what_only_resembles(world: Call) -> None:
    rows = world("entities.query", search="Which pets do we have?")["entities"]
    assert {each.get("match") for each in rows} <= {"resemblance"}
    rows = world("entities.query", search="shortcuts that everybody learns")["entities"]
    assert (rows[0]["canonical_name"], rows[0]["match"]) == ("Keyboard layout", "resemblance")
    assert "match" not in world("entities.query", entity_type="note")["entities"][0]


def test_a_context_has_apart_what_only_resembles(world: Call) -> None:
    page = world("context.retrieve", question="Which phone of the office does Annika Berglund have?")
    assert page["lines"][0].startswith("Annika Berglund (")
    apart = page["lines"].index(APART)
    assert [line.split(" (")[0] for line in page["lines"][apart + 1 :]] == ["Phone list"]
    fields = world(
        "context.retrieve", question="Which phone of the office does Annika Berglund have?", format="fields"
    )
    marked = [(line["entity_name"], line.get("match")) for line in fields["lines"]]
    assert marked[0] == ("Annika Berglund", None)
    assert {match for name, match in marked if name == "Phone list"} == {"resemblance"}


def test_a_context_of_a_question_that_nothing_resembles_is_empty(world: Call) -> None:
    page = world(
        "context.retrieve",
        question="Which insurance policy covers hail damage of greenhouses?",
    )
    assert (page["lines"], "hint" in page) == ([], True)
    page = world("context.retrieve", question="Which insurance covers hail damage beside the station?")
    assert page["match"] == "resemblance"
