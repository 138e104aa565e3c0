"""Context for an agent: what is known, most useful first, within a budget, the same for the same state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest

from graphmem import cypher
from graphmem.context import Services
from graphmem.errors import InvalidCursor, InvalidInput, NotFound
from graphmem.model import times
from graphmem.operations.context import BUDGET_MAXIMUM, BUDGET_MINIMUM
from graphmem.search.context import context_ranking as domain
from graphmem.search.context import token_counts
from graphmem.search.context.context_lines import OBSERVATIONS_LIMIT
from tests.support.event_loop import Loop
from tests.support.faces import Call

PEOPLE = {
    "entities": [
        {
            "entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org", "born": 1815,
            "observed_at": "2026-01-01T00:00:00Z",
        },
        {
            "entity_type": "company", "name": "Analytical Engines", "city": "London",
            "observed_at": "2026-01-02T00:00:00Z",
        },
        {
            "entity_type": "person", "name": "Charles Babbage", "city": "Cambridge",
            "observed_at": "2026-01-03T00:00:00Z",
        },
    ],
    "relationships": [
        {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1},
        {"relationship_type": "OWNS", "source_index": 2, "target_index": 1},
    ],
}  # fmt: skip


@pytest.fixture
def ids(run: Call) -> dict[str, str]:
    entities = run("store", **PEOPLE)["entities"]
    return {entity["canonical_name"]: entity["entity_id"] for entity in entities}


def lines(page: dict[str, Any]) -> list[tuple[str, str, Any]]:
    return [(line["entity_name"], line["field"], line["value"]) for line in page["lines"]]


def pages(run: Call, **arguments: Any) -> Iterator[dict[str, Any]]:
    page = run("context.retrieve", format="fields", **arguments)
    yield page
    while "next_cursor" in page:
        page = run("context.retrieve", format="fields", **arguments, cursor=page["next_cursor"])
        yield page


def spent(page: dict[str, Any], unit: str = "tokens") -> int:
    text = json.dumps(page, ensure_ascii=False, separators=(",", ":"))
    return token_counts.cost(text, unit)  # type: ignore[arg-type]


def test_a_question_is_answered_by_what_it_names(run: Call, ids: dict[str, str]) -> None:
    page = run("context.retrieve", format="fields", question="Where does Ada Lovelace work?")
    triples = lines(page)
    assert {name for name, _, _ in triples[:4]} == {"Ada Lovelace"}
    assert ("Ada Lovelace", "WORKS_AT", "Analytical Engines") in triples[:5]
    # What is known of where she works is told as well, after what is known of her.
    assert ("Analytical Engines", "city", "London") in triples
    works = next(line for line in page["lines"] if line["field"] == "WORKS_AT")
    assert works["direction"] == "outgoing"
    known = {entity["entity"]: entity for entity in page["entities"]}
    assert known[works["related_entity"]]["entity_id"] == ids["Analytical Engines"]
    assert known[works["entity"]] == {
        "entity": works["entity"], "entity_id": ids["Ada Lovelace"], "entity_type": "person",
        "canonical_name": "Ada Lovelace",
    }  # fmt: skip
    assert triples[0][1] == "WORKS_AT"
    assert works["observation_id"].startswith("obs_")
    assert page["total"] == len(page["lines"])
    assert page["used"] == spent(page) <= page["budget"] == 2_000


def test_the_field_that_is_asked_for_comes_first(run: Call) -> None:
    run("store", **PEOPLE)
    page = run("context.retrieve", format="fields", question="Ada Lovelace's email")
    assert lines(page)[0] == ("Ada Lovelace", "email", "ada@example.org")
    first = page["lines"][0]
    assert first["observed_at"] == "2026-01-01T00:00:00.000000Z"
    (ada,) = (entity for entity in page["entities"] if entity["entity"] == first["entity"])
    provenance = run("entities.provenance", entity_id=ada["entity_id"], field="email")
    assert provenance["observation_ids"] == [first["observation_id"]]


def test_an_entity_is_asked_about_by_id(run: Call) -> None:
    entities = run("store", **PEOPLE)["entities"]
    page = run("context.retrieve", format="fields", entity_id=entities[2]["entity_id"])
    assert lines(page)[:3] == [
        ("Charles Babbage", "name", "Charles Babbage"),
        ("Charles Babbage", "city", "Cambridge"),
        ("Charles Babbage", "OWNS", "Analytical Engines"),
    ]
    with pytest.raises(NotFound):
        run("context.retrieve", format="fields", entity_id="ent_" + "0" * 24)
    with pytest.raises(InvalidInput, match=r"\$\.question"):
        run("context.retrieve")


def test_a_value_of_now_is_told_and_superseded_ones_are_no_lines(run: Call) -> None:
    (entity,) = run("store", entities=[{"entity_type": "person", "name": "Ada", "city": "London"}])[
        "entities"
    ]
    arguments = {"entity_id": entity["entity_id"]}
    run("store", entities=[{"target_id": entity["entity_id"], "city": "Paris", "born": None}])
    assert [
        value
        for _, field, value in lines(run("context.retrieve", format="fields", **arguments))
        if field == "city"
    ] == ["Paris"]
    run("entities.delete", **arguments)
    with pytest.raises(NotFound):
        run("context.retrieve", format="fields", **arguments)
    assert run("context.retrieve", format="fields", question="Ada")["lines"] == []
    run("entities.restore", **arguments)
    assert ("Ada", "city", "Paris") in lines(run("context.retrieve", format="fields", question="Ada"))


def test_a_value_that_is_contested_says_so(run: Call) -> None:
    ada = {"entity_type": "person", "name": "Ada", "observed_at": "2026-01-01T00:00:00Z"}
    (entity,) = run("store", entities=[{**ada, "city": "London", "tags": ["a"]}])["entities"]
    arguments = {"entity_id": entity["entity_id"]}
    about = {"target_id": entity["entity_id"]}

    def city() -> dict[str, Any]:
        (city_line,) = (
            line
            for line in run("context.retrieve", format="fields", **arguments)["lines"]
            if line["field"] == "city"
        )
        return city_line

    assert "contested" not in city()
    # What is older and other was superseded: that is no contradiction.
    run("store", entities=[{**about, "city": "Paris", "observed_at": "2025-01-01T00:00:00Z"}])
    run("store", entities=[{**about, "city": "Rome", "observed_at": "2026-02-01T00:00:00Z"}])
    assert (city()["value"], "contested" in city()) == ("Rome", False)
    # Two at one time, and what is newer than a correction, are.
    (other,) = run(
        "store",
        entities=[{**about, "city": "Oslo", "observed_at": "2026-02-01T00:00:00Z"}],
        observation_source="sensor",
    )["entities"]
    at_one_time = city()
    assert {at_one_time["value"], at_one_time["contested"][0]["value"]} == {"Rome", "Oslo"}
    run("entities.correct", **arguments, field="city", value="Bonn")
    assert "contested" not in city()
    run("store", entities=[{**about, "city": "Kiel"}])
    corrected = city()
    assert corrected["value"] == "Bonn"
    assert [claim["value"] for claim in corrected["contested"]] == ["Kiel"]
    assert other["observation_id"] != corrected["contested"][0]["observation_id"]


def test_a_value_of_the_day_of_a_correction_contests_it_and_one_of_the_day_before_does_not(run: Call) -> None:
    ada = {"entity_type": "person", "name": "Ada", "observed_at": "2020-01-01"}
    (entity,) = run("store", entities=[{**ada, "city": "London"}])["entities"]
    about = {"entity_id": entity["entity_id"]}
    run("entities.correct", **about, field="city", value="Bonn")
    now = run("entities.snapshot", **about)["last_observation_at"]
    day_before = (date.fromisoformat(now[:10]) - timedelta(days=1)).isoformat()
    answers = [
        run("store", entities=[{**ada, "city": city, "observed_at": day}])
        for city, day in (("Kiel", now[:10]), ("Rome", day_before))
    ]
    codes = [[each["code"] for each in answer["store_warnings"]] for answer in answers]
    assert codes == [["HELD_BY_CORRECTION"], []]
    (line,) = (x for x in run("context.retrieve", format="fields", **about)["lines"] if x["field"] == "city")
    assert (line["value"], [each["value"] for each in line["contested"]]) == ("Bonn", ["Kiel"])


def test_values_of_merged_entities_at_one_time_contest_each_other(run: Call) -> None:
    items = [
        {"entity_type": "person", "name": name, "city": city, "observed_at": "2026-01-01T00:00:00Z"}
        for name, city in (("Ada", "London"), ("A. Lovelace", "Paris"))
    ]
    survivor, other = (item["entity_id"] for item in run("store", entities=items)["entities"])
    run("entities.merge", source_entity_id=other, target_entity_id=survivor)
    page = run("context.retrieve", format="fields", entity_id=other)
    by_field = {line["field"]: line for line in page["lines"]}
    assert [entity["entity_id"] for entity in page["entities"]] == [survivor]
    assert {by_field["city"]["value"], by_field["city"]["contested"][0]["value"]} == {"London", "Paris"}


@pytest.mark.parametrize(("unit", "budget"), [("tokens", 500), ("tokens", 2_000), ("characters", 1_200)])
def test_no_page_is_over_its_budget_and_pages_tile(run: Call, unit: str, budget: int) -> None:
    notes = [
        {
            "entity_type": "note",
            "title": f"Budget {i}",
            "body": "The budget of the spring. " * i,
            "地名": "東京" * i,
        }
        for i in range(12)
    ]
    run("store", entities=notes)
    arguments = {"question": "budget of the spring", "unit": unit}
    whole = run("context.retrieve", format="fields", **arguments, budget=BUDGET_MAXIMUM)
    assert "next_cursor" not in whole
    parts = list(pages(run, **arguments, budget=budget))
    assert len(parts) > 2
    for page in parts:
        assert page["lines"]
        assert page["used"] == spent(page, unit) <= budget
    fields = [(line["entity_name"], line["field"]) for page in parts for line in page["lines"]]
    assert fields == [(line["entity_name"], line["field"]) for line in whole["lines"]]
    for page in parts:
        mentioned = {entity["entity"] for entity in page["entities"]}
        assert {line["entity"] for line in page["lines"]} == mentioned == set(range(1, len(mentioned) + 1))


def test_a_long_value_is_cut_around_what_is_asked(run: Call) -> None:
    body = "lorem ipsum " * 300 + "the password of the vault is swordfish " + "dolor sit " * 300
    run("store", entities=[{"entity_type": "note", "title": "Vault", "body": body}])
    page = run("context.retrieve", format="fields", question="vault swordfish")
    (body_line,) = (line for line in page["lines"] if line["field"] == "body")
    assert body_line["cut"] is True
    assert "swordfish" in body_line["value"]
    assert len(body_line["value"]) <= domain.VALUE_LIMIT + 2


def test_a_line_that_fits_into_no_budget_is_said(run: Call) -> None:
    name = "字" * 60
    (note,) = run(
        "store", entities=[{"entity_type": "note", "title": name * 9, name: name * 9, "number": 10**30}]
    )["entities"]
    page = run("context.retrieve", format="fields", entity_id=note["entity_id"], budget=BUDGET_MINIMUM)
    assert page["lines"] or "raise the budget" in page["hint"]
    assert page["used"] <= BUDGET_MINIMUM


def test_the_same_state_gives_the_same_answer(run: Call) -> None:
    run("store", **PEOPLE)
    arguments = {"question": "who works in London for Charles Babbage"}
    assert run("context.retrieve", format="fields", **arguments) == run(
        "context.retrieve", format="fields", **arguments
    )


def test_a_question_that_names_nothing_has_no_lines(run: Call) -> None:
    run("store", **PEOPLE)
    page = run("context.retrieve", format="fields", question="qqzzxx wwvvkk")
    assert (page["lines"], page["total"]) == ([], 0)
    assert "no name" in page["hint"]
    narrowed = run("context.retrieve", format="fields", question="Ada Lovelace", entity_type="task")
    assert narrowed["lines"] == []
    for strange in (
        "'; MATCH (n) DETACH DELETE n",
        '+ - && || ! ( ) { } [ ] ^ " ~ * ? : \\ /',
        "a" * 10_000,
    ):
        assert run("context.retrieve", format="fields", question=strange)["used"] <= 2_000


def test_a_cursor_is_good_for_its_question_alone(run: Call) -> None:
    run("store", **PEOPLE)
    page = run("context.retrieve", format="fields", question="Ada Lovelace", budget=BUDGET_MINIMUM)
    # Another budget is another page of the same lines.
    more = run(
        "context.retrieve", format="fields", question="Ada Lovelace", cursor=page["next_cursor"], budget=4_000
    )
    assert len(page["lines"]) + len(more["lines"]) == page["total"]
    with pytest.raises(InvalidCursor):
        run("context.retrieve", format="fields", question="Charles", cursor=page["next_cursor"])


def test_what_is_read_does_not_grow_with_history(
    loop: Loop, services: Services, run: Call, owner: str
) -> None:
    (entity,) = run("store", entities=[{"entity_type": "person", "name": "Ada", "n": 0}])["entities"]
    arguments: dict[str, Any] = {
        "entity_ids": [entity["entity_id"]],
        "newest": OBSERVATIONS_LIMIT,
        "relationships": 25,
        "characters": 300,
        "words": ["ada"],
        "origins": 3,
    }

    def hits() -> int:
        text = "PROFILE " + cypher.query("context.gather").text

        async def profiled() -> dict[str, Any]:
            async with services.database._driver.session() as session:
                bounds = {"earliest": 0, "day": 1, "before": times.LATEST, "every": False}
                params = cypher.bind("context.gather", {**arguments, **bounds}, owner)
                return (await (await session.run(text, params)).consume()).profile or {}

        def total(node: dict[str, Any]) -> int:
            return node.get("dbHits", 0) + sum(map(total, node.get("children", [])))

        return total(loop.run(profiled()))

    def more(count: int) -> None:
        items = [{"target_id": entity["entity_id"], "n": n} for n in range(count)]
        run("store", entities=items, find_duplicates=False)

    more(2 * OBSERVATIONS_LIMIT)
    before = hits()
    assert before < 40 * OBSERVATIONS_LIMIT
    more(900)
    assert hits() <= before + OBSERVATIONS_LIMIT
