"""The text of files: found by words, meaning, names and identifiers, below entities that say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import InvalidInput, NotFound
from graphmem.ingest import passages
from graphmem.interpretation import make_passages, source_passages
from graphmem.search import passage_search
from tests.faces.test_sources import with_file
from tests.support.event_loop import Loop
from tests.support.faces import Call

Script = Callable[..., list[dict[str, Any]]]

CV = b"""Mia Falk

Engineer in Oslo, mia.falk@example.org

Experience

Since 2019 she leads the battery telemetry team at Voltaq. Before that she built charging stations.

Hobbies

She restores wooden boats, and sails to the islands in summer.
"""
LETTER = b"""Dear Tom Berger,

the landlord has agreed to repair the boiler before winter. The deposit of 1,900 euros is returned once
the keys are handed over. The invoice has the number INV-2026-0417.
"""


@pytest.fixture
def script(loop: Loop, services: Services, owner: str) -> Script:
    """Run a statement on the database itself, behind the service's back."""
    return lambda text, **params: loop.run(services.database.script(text, owner=owner, **params))


@pytest.fixture
def files(run: Call) -> dict[str, str]:
    """The ids of two files that were stored."""
    stored = {
        "cv.txt": run("store", **with_file(CV, "cv.txt")),
        "letter.txt": run("store", **with_file(LETTER, "letter.txt", mime_type="text/plain")),
    }
    return {name: answer["source_id"] for name, answer in stored.items()}


def searched(run: Call, **arguments: Any) -> list[str]:
    return [each["source_id"] for each in run("sources.search", **arguments)["passages"]]


def test_what_files_say_is_found_by_every_way_to_ask(run: Call, files: dict[str, str]) -> None:
    (first, *_) = run("sources.search", search="Who leads the battery telemetry team?")["passages"]
    assert (first["source_id"], first["original_filename"]) == (files["cv.txt"], "cv.txt")
    assert "leads the battery telemetry team at Voltaq" in first["quote"]
    text = run("sources.get", source_id=files["cv.txt"], include_text=True)["document"]["text"]
    assert "battery telemetry" in text[first["start"] : first["end"]]
    assert text[: first["start"]].count("\n") + 1 == first["line"]
    looked_up = run("entities.find", identifier="battery telemetry team")
    assert looked_up["passages"][0]["source_id"] == files["cv.txt"]
    assert "`passages` of files have it" in run("entities.find", identifier="INV-2026-0417")["hint"]
    page = run("entities.query", search="battery telemetry")
    assert page["passages"][0]["source_id"] == files["cv.txt"]
    (line, *_) = run("context.retrieve", question="Who leads the battery telemetry team?")["lines"]
    assert line.startswith("cv.txt, line 1 (file, src_")
    assert "leads the battery telemetry team" in line
    fields = run("context.retrieve", question="Who leads the battery telemetry team?", format="fields")
    assert fields["passages"][0]["source_id"] == files["cv.txt"]
    assert [each["source_id"] for each in run("sources.list", search="telemetry battery")["sources"]] == [
        files["cv.txt"]
    ]


def test_identifiers_and_meaning_are_found(run: Call, files: dict[str, str]) -> None:
    assert searched(run, search="INV-2026-0417") == [files["letter.txt"]]
    assert searched(run, search="INV-2026-0418") == []
    assert run("entities.find", identifier="INV-2026-0417")["passages"][0]["source_id"] == files["letter.txt"]
    note = run("store", **with_file(b"The physician prescribed penicillin for the infection.", "note.txt"))
    assert searched(run, search="medicine from the doctor") == [note["source_id"]]
    assert searched(run, search="quarterly dividend of the brewery") == []


def test_a_file_mentions_an_entity_whichever_came_first(run: Call, files: dict[str, str]) -> None:
    assert run("sources.search", search="boiler deposit")["passages"][0]["mentions"] == []
    tom = run("store", entities=[{"entity_type": "person", "name": "Tom Berger", "aliases": ["Tommy B"]}])
    (tom_id,) = (item["entity_id"] for item in tom["entities"])
    (passage,) = run("sources.search", search="boiler deposit")["passages"]
    assert [(each["entity_id"], each["words"]) for each in passage["mentions"]] == [(tom_id, "Tom Berger")]
    run("store", **with_file(b"Tommy B sold his bicycle to a neighbour.", "note.txt"))
    found = run("sources.search", entity_id=tom_id)
    assert {each["original_filename"] for each in found["passages"]} == {"letter.txt", "note.txt"}
    assert searched(run, entity_id=tom_id, search="bicycle")[0] not in files.values()
    lines = run("context.retrieve", question="What do the documents say about Tom Berger?")["lines"]
    assert [line.split(",")[0] for line in lines[:2]] == ["note.txt", "letter.txt"] or [
        line.split(",")[0] for line in lines[:2]
    ] == ["letter.txt", "note.txt"]


def test_the_name_of_a_file_is_found_and_mentions_nobody(run: Call) -> None:
    pages = "\n\n".join(f"Paragraph {number} is about the weather. " * 20 for number in range(40))
    named = run("store", **with_file(pages.encode(), "Mia Falk INV-77.txt"))["source_id"]
    note = run("store", **with_file(b"The bicycle is lent to Mia Falk.", "note.txt"))["source_id"]
    (mia,) = run("store", entities=[{"entity_type": "person", "name": "Mia Falk"}])["entities"]
    assert searched(run, entity_id=mia["entity_id"]) == [note]
    assert set(searched(run, search="INV-77")) == {named}


def test_an_entity_that_says_it_itself_stands_first(run: Call, files: dict[str, str]) -> None:
    run(
        "store",
        entities=[{"entity_type": "person", "name": "Mia Falk", "employer": "Voltaq", "city": "Oslo"}],
    )
    lines = run("context.retrieve", question="Where does Mia Falk work?")["lines"]
    assert "employer: Voltaq" in lines[0]
    lines = run("context.retrieve", question="Which boats does Mia Falk restore?")["lines"]
    assert lines[0].startswith("cv.txt")
    assert "wooden boats" in lines[0]


def test_withdrawn_and_earlier_states(run: Call, files: dict[str, str]) -> None:
    before = run("sources.get", source_id=files["cv.txt"])["created_at"]
    question = {"search": "battery telemetry"}
    withdrawn = run("sources.withdraw", source_id=files["cv.txt"])
    assert searched(run, **question) == []
    assert run("sources.list", search="battery telemetry")["sources"] == []
    assert searched(run, **question, at_ingested=before) == [files["cv.txt"]]
    assert searched(run, **question, at_ingested="2020-01-01T00:00:00Z") == []
    run("sources.reinstate", source_id=files["cv.txt"])
    assert searched(run, **question) == [files["cv.txt"]], withdrawn


def test_passages_are_made_anew_and_for_sources_that_nobody_interpreted(
    run: Call, services: Services, loop: Loop, owner: str, script: Script
) -> None:
    answer = run("store", entities=[{"entity_type": "person", "name": "Mia"}], **with_file(CV, "cv.txt"))
    assert searched(run, search="wooden boats") == []
    while loop.run(make_passages(services, owner)):
        pass
    assert searched(run, search="wooden boats") == [answer["source_id"]]
    script("MATCH (s:Source {owner: $owner}) SET s.reader = 'plain_text 0, division 0'")
    script("MATCH (p:Passages {owner: $owner}) SET p.texts = ['other'], p.places = [0, 5, 0, 1]")
    while loop.run(make_passages(services, owner)):
        pass
    assert searched(run, search="wooden boats") == [answer["source_id"]]


def test_a_phone_number_mentions_its_person_however_it_is_written(run: Call) -> None:
    person = {"entity_type": "person", "name": "Lea Horn", "phone": "+49301234567"}
    lea = run("store", entities=[person])["entities"][0]["entity_id"]
    for number, written in enumerate(("+49 30 1234567", "030 1234567", "030/1234567", "+49301234567")):
        text = f"Whoever finds the keys calls {written} in the evening ({number})."
        file = run("store", **with_file(text.encode(), f"{number}.txt"))["source_id"]
        assert file in searched(run, entity_id=lea, limit=50), written
    run("store", **with_file(b"Whoever finds the dog calls +49 30 7654321.", "dog.txt"))
    assert len(searched(run, entity_id=lea, limit=50)) == 4


def test_vectors_of_another_model_are_left_out_until_they_are_made_anew(
    run: Call, services: Services, loop: Loop, owner: str, script: Script
) -> None:
    text = b"The physician prescribed penicillin for the infection."
    source_id = run("store", **with_file(text, "note.txt"))["source_id"]
    for label in ("Source", "Passages"):
        script(f"MATCH (n:{label} {{owner: $owner}}) SET n.reader = 'plain_text 1, division 1, other'")
    assert searched(run, search="medicine from the doctor") == []
    assert searched(run, search="penicillin") == [source_id]
    while loop.run(make_passages(services, owner)):
        pass
    assert searched(run, search="medicine from the doctor") == [source_id]


def test_a_search_tells_of_a_text_that_goes_on_behind_its_passages(
    run: Call, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "hint" not in run("sources.search", search="wooden boats")
    for module in (passages, source_passages, passage_search):
        monkeypatch.setattr(module, "TEXT_CHARACTERS", 60)
    run("store", **with_file(b"x" + CV, "long.txt"))
    hint = run("sources.search", search="wooden boats")["hint"]
    assert hint == "of 1 files only the first 60 characters are searched"


def test_many_passages_of_a_large_file_are_found(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    text = (
        "The kestrel hovers over the quarry all summer long, and nobody in Brno-Žabovřesky has seen it.\n\n"
        * 20_000
    )
    stored = run("store", **with_file(text.encode(), "birds.txt", mime_type="text/plain"))
    while loop.run(make_passages(services, owner)):
        pass
    hits = run("sources.search", search="kestrel quarry", limit=50)["passages"]
    assert {hit["source_id"] for hit in hits} == {stored["source_id"]}
    assert len({hit["start"] for hit in hits}) == len(hits) == 50


def test_text_and_place_of_a_passage_are_of_one_division(
    run: Call, files: dict[str, str], script: Script
) -> None:
    assert searched(run, search="wooden boats") == [files["cv.txt"]]
    script(
        "MATCH (p:Passages {owner: $owner, source_id: $id}) SET p.texts = ['old wooden boats'], "
        "p.places = [7, 23, 0, 3]",
        id=files["cv.txt"],
    )
    (found,) = run("sources.search", search="wooden boats")["passages"]
    assert (found["quote"], found["start"], found["end"], found["line"]) == ("old wooden boats", 7, 23, 3)


@pytest.mark.parametrize(
    "damage",
    [
        "MATCH (p:Passages {owner: $owner}) SET p.texts = ['other']",
        "MATCH (p:Passages {owner: $owner}) DETACH DELETE p",
        "MATCH (p:Passages {owner: $owner}) SET p.owner = 'somebody'",
    ],
)
def test_damage_is_named_and_mended(
    run: Call, services: Services, loop: Loop, owner: str, script: Script, damage: str
) -> None:
    source_id = run("store", **with_file(CV, "cv.txt"))["source_id"]
    assert run("server.check_snapshots")["healthy"]
    script(damage)
    health = run("server.check_snapshots")
    assert not health["healthy"]
    assert source_id in str(health)
    run("server.check_snapshots", auto_fix=True)
    while loop.run(make_passages(services, owner)):
        pass
    assert run("server.check_snapshots")["healthy"]
    assert searched(run, search="wooden boats") == [source_id]


def test_a_receipt_says_what_a_file_was_understood_as(run: Call) -> None:
    table = b"name,email,entity_type\nAda Ek,ada@example.org,person\nBo Lind,bo@example.org,person\n"
    started = run("store", **with_file(table, "people.csv", mime_type="text/csv"))["interpretation"]
    assert (started["entities_by_type"], started["passages"]) == ({"person": 2}, 1)


def test_what_is_wrong_is_refused(run: Call) -> None:
    with pytest.raises(InvalidInput):
        run("sources.search")
    with pytest.raises(NotFound):
        run("sources.search", entity_id="ent_" + "0" * 24)
    assert run("sources.search", search="anything")["hint"] == "no passage of a file fits"
