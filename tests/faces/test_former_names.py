"""Names and identifiers that an entity had, or that what is merged into it has, lead to it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faces import Call
from tests.support.rule_merging import Audited

NORDLICHT = {"entity_type": "company", "name": "Nordlicht Software", "external_id": "C-900", "founded": 1990}


@pytest.fixture
def renamed(run: Call) -> str:
    """A company that was renamed, beside another one with a similar name."""
    stored = run("store", entities=[NORDLICHT, {"entity_type": "company", "name": "Software Park"}])
    entity_id: str = stored["entities"][0]["entity_id"]
    run(
        "observations.create", entity_id=entity_id,
        fields={"name": "Polaris", "canonical_name": "Polaris", "external_id": "C-901"},
    )  # fmt: skip
    return entity_id


def named(answer: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the entities that a text names, and whether formerly."""
    return [
        (each["canonical_name"], each.get("formerly", False))
        for each in answer["entities"]
        if "match" not in each
    ]


@pytest.mark.parametrize(
    ("text", "mode", "is_former"),
    [
        ("Nordlicht Software", "name", True),
        ("Where is Nordlicht Software?", "name", True),
        ("C-900", "identifier", True),
        ("Polaris", "name", False),
        ("Was Nordlicht Software renamed to Polaris?", "name", False),
    ],
)
def test_a_former_name_leads_to_the_entity(
    run: Call, renamed: str, audited: Audited, text: str, mode: str, is_former: bool
) -> None:
    answer = run("entities.find", identifier=text)
    assert (answer["match_mode"], named(answer)) == (mode, [("Polaris", is_former)])
    assert not audited(True)


def test_a_current_bearer_comes_before_a_former_one(run: Call, renamed: str) -> None:
    run("store", entities=[{"entity_type": "product", "name": "Nordlicht Software"}])
    for text in ("Nordlicht Software", "who runs Nordlicht Software now?"):
        answer = run("entities.find", identifier=text)
        assert named(answer) == [("Nordlicht Software", False), ("Polaris", True)]
    listed = run("entities.query", search="who runs Nordlicht Software now?")["entities"]
    assert [each["canonical_name"] for each in listed][:2] == ["Nordlicht Software", "Polaris"]
    assert [each.get("formerly") for each in listed[:2]] == [None, True]


def test_a_context_says_the_former_name(run: Call, renamed: str) -> None:
    text = run("context.retrieve", question="When was Nordlicht Software founded?")["lines"]
    assert text[0].startswith("Polaris (formerly Nordlicht Software, company, ")
    page = run("context.retrieve", question="Where is Nordlicht Software?", format="fields")
    assert page["entities"][0]["formerly"] == "Nordlicht Software"


def test_a_name_that_it_bears_again_is_no_former_one(run: Call, renamed: str, audited: Audited) -> None:
    run("observations.create", entity_id=renamed, fields={"canonical_name": "Nordlicht Software"})
    assert named(run("entities.find", identifier="Is Nordlicht Software here?")) == [
        ("Nordlicht Software", False)
    ]
    assert not audited(True)


def test_what_came_late_of_an_earlier_time_is_a_former_name(
    run: Call, renamed: str, audited: Audited
) -> None:
    run(
        "observations.create", entity_id=renamed, observed_at="2001-01-01",
        fields={"canonical_name": "Softwarehaus Nord"},
    )  # fmt: skip
    assert named(run("entities.find", identifier="Softwarehaus Nord")) == [("Polaris", True)]
    assert not audited(True)


def test_a_name_whose_observations_were_withdrawn_is_none(run: Call, audited: Audited) -> None:
    wrong = {"file_content": "YWJj", "mime_type": "text/plain", "original_filename": "abc.txt"}
    first = run("store", entities=[{**NORDLICHT, "observed_at": "2020-01-01"}], **wrong)
    entity_id = first["entities"][0]["entity_id"]
    run("observations.create", entity_id=entity_id, fields={"name": "Polaris", "canonical_name": "Polaris"})
    assert named(run("entities.find", identifier="Nordlicht Software")) == [("Polaris", True)]
    run("sources.withdraw", source_id=first["source_id"])
    assert named(run("entities.find", identifier="Nordlicht Software")) == []
    assert entity_id not in audited(True)
    run("sources.reinstate", source_id=first["source_id"])
    assert named(run("entities.find", identifier="Nordlicht Software")) == [("Polaris", True)]


def test_a_name_that_the_schema_does_not_show_leads_to_the_entity_and_the_check_finds_it_sound(
    run: Call, audited: Audited
) -> None:
    schema = {"entity_type": "firm", "fields": {"name": {"type": "string"}}}
    run("schemas.register", schema=schema)
    for item in ({"name": "Polaris", "email": "post@polaris.example"}, {"name": "Vega", "founded": 1990}):
        run("store", entities=[{"entity_type": "firm", **item}])
    assert not audited(False)
    assert not audited(True)
    found = run("entities.find", identifier="post@polaris.example")
    assert (found["match_mode"], named(found)) == ("identifier", [("Polaris", True)])


def test_all_names_of_members_lead_to_the_survivor(run: Call, audited: Audited) -> None:
    people = [{"entity_type": "person", "name": name} for name in ("Annika Berglund", "Anika Berglund")]
    target, source = (each["entity_id"] for each in run("store", entities=people)["entities"])
    run("entities.merge", source_entity_id=source, target_entity_id=target)
    shown = run("entities.get", entity_id=target)["canonical_name"]
    for name in ("Annika Berglund", "Anika Berglund"):
        answer = run("entities.find", identifier=name)
        assert (answer["match_mode"], named(answer)) == ("name", [(shown, name != shown)])
    assert not audited(True)
    run("entities.unmerge", source_entity_id=source)
    for name in ("Annika Berglund", "Anika Berglund"):
        assert named(run("entities.find", identifier=name)) == [(name, False)]
    assert not audited(True)


def test_a_context_begins_with_what_had_the_name_and_not_with_what_mentions_it(
    run: Call, renamed: str
) -> None:
    person = {"entity_type": "person", "name": "Ida Roos", "employer": "Nordlicht Software"}
    stored = run("store", entities=[person])["entities"][0]
    run(
        "relationships.create", relationship_type="WORKS_AT",
        source_entity_id=stored["entity_id"], target_entity_id=renamed,
    )  # fmt: skip
    lines = run("context.retrieve", question="Nordlicht Software")["lines"]
    assert lines[0].startswith("Polaris (formerly Nordlicht Software")
