"""Facts of another copy that come late: what they would have changed in their time is derived again."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from graphmem.dump.pages import Page
from tests.support.copies import Copies, Copy
from tests.support.faces import Call

ADA: dict[str, Any] = {"entity_type": "person", "name": "Ada", "email": "ada@example.org"}
BYRON: dict[str, Any] = {"entity_type": "person", "name": "Byron", "email": "byron@example.org"}


def test_a_withdrawal_is_counted_for_the_survivor_of_its_time(run: Call, copies: Copies) -> None:
    here, there = Copy("here"), Copy("there")
    copies.put(here)
    ada, byron = (each["entity_id"] for each in run("store", entities=[ADA, BYRON])["entities"])
    source_id = run("store", entities=[{**BYRON, "born": 1788}], file_content="YQ==")["source_id"]
    (page,) = copies.all_pages()
    copies.put(there)
    copies.unite(page, "here")
    copies.put(here)
    run("entities.merge", source_entity_id=byron, target_entity_id=ada)
    copies.put(there)
    run("sources.withdraw", source_id=source_id)
    (late,) = copies.all_pages(after=2)
    copies.put(here)
    run("entities.unmerge", source_entity_id=byron)
    copies.unite(late, "there")
    assert run("server.check_snapshots")["healthy"]


def test_what_was_withdrawn_before_it_came_is_counted_as_where_it_came_before(
    run: Call, copies: Copies
) -> None:
    here, there = Copy("here"), Copy("there")
    file = {"file_content": "YQ==", "mime_type": "text/plain"}
    link = {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1}
    copies.put(here)
    run("store", entities=[ADA, BYRON], relationships=[link])
    source_id = run("store", entities=[{**ADA, "born": 1815}], **file)["source_id"]
    (page,) = copies.all_pages()
    copies.put(there)
    copies.unite(page, "here")
    run(
        "store",
        entities=[{**ADA, "died": 1852}, BYRON],
        relationships=[{**link, "metadata": {"since": 1833}}],
        **file,
    )
    (late,) = copies.all_pages(after=2)
    copies.put(here)
    run("sources.withdraw", source_id=source_id)
    copies.unite(late, "there")
    assert run("server.check_snapshots")["healthy"]
    run("sources.reinstate", source_id=source_id)
    assert run("server.check_snapshots")["healthy"]


def test_a_version_of_a_schema_that_says_again_what_an_earlier_one_said_is_the_active_one(
    run: Call, copies: Copies
) -> None:
    here, there = Copy("here"), Copy("there")
    copies.put(there)
    for kind in ("number", "string", "number"):
        run("schemas.register", schema={"entity_type": "wine", "fields": {"year": {"type": kind}}})
    answer = run("schemas.get", entity_type="wine")
    first = copies.all_pages(limit=1)[0]
    rest = copies.all_pages(after=first.last)
    copies.put(here)
    for page in (first, *rest):
        copies.unite(page, "there")
    assert run("schemas.get", entity_type="wine")["schema_version"] == answer["schema_version"] == "3.0"


def test_an_observation_whose_first_transaction_comes_on_a_later_page_is_sound_meanwhile(
    run: Call, copies: Copies
) -> None:
    first, there, here = Copy("first"), Copy("there"), Copy("here")
    item = {**ADA, "observed_at": "2020-01-01T00:00:00Z"}
    copies.put(first)
    transaction_id = run("store", entities=[item])["transaction_id"]
    (page,) = copies.all_pages()
    copies.put(there)
    run("store", entities=[item])
    copies.unite(page, "first")
    pages = copies.all_pages(limit=1)
    copies.put(here)
    for each in pages:
        copies.unite(each, "there")
        assert run("server.check_snapshots")["healthy"]
    (observation,) = run("observations.query")["observations"]
    assert observation["transaction_id"] == transaction_id


def test_the_winner_of_a_key_that_three_copies_gave_is_the_same_in_every_order(
    run: Call, copies: Copies
) -> None:
    pages = list[Page]()
    for name in ("first", "second", "third"):
        copies.put(Copy(name))
        run("store", entities=[{**ADA, "by": name}], idempotency_key="k")
        pages += copies.all_pages()
    conflicts = list[Any]()
    for number, order in enumerate((pages, pages[::-1])):
        copies.put(Copy(str(number)))
        for page in order:
            copies.unite(page, "there")
        conflicts.append(run("copies.conflicts")["conflicts"])
    assert len(conflicts[0]) == 2
    assert conflicts[0] == conflicts[1]


def schema(entity_type: str, version: str, kind: str = "number", **more: Any) -> dict[str, Any]:
    """Return a version of a schema whose field is of a kind."""
    fields = {"year": {"type": kind}}
    return {"entity_type": entity_type, "fields": fields, "schema_version": version, **more}


BOTTLE: dict[str, Any] = {"aliases": ["bottle"]}
SCHEMAS = [
    pytest.param(
        [schema("wine", "1.0"), schema("wine", "1.0", "string"), schema("wine", "1.0")],
        id="the last document is the first one",
    ),
    pytest.param(
        [schema("wine", "1.0", "string"), schema("wine", "1.0"), schema("wine", "1.0")],
        id="two have one document",
    ),
    pytest.param(
        [schema("wine", "2.0", **BOTTLE), schema("flask", "1.0", **BOTTLE), schema("wine", "1.0", **BOTTLE)],
        id="an earlier version has the other name too",
    ),
    pytest.param(
        [schema("wine", "1.0", **BOTTLE), schema("flask", "1.0", **BOTTLE), schema("flask", "2.0")],
        id="a later version gives the other name up",
    ),
]


@pytest.mark.parametrize("schemas", SCHEMAS)
def test_the_schemas_that_count_and_those_that_do_not_are_the_same_in_every_order(
    run: Call, copies: Copies, schemas: list[dict[str, Any]]
) -> None:
    pages = list[Page]()
    for number, each in enumerate(schemas):
        copies.put(Copy(f"writer {number}"))
        run("schemas.register", schema=each)
        pages += copies.all_pages()
    answers = list[Any]()
    for number, order in enumerate(permutations(pages)):
        # What a copy has, it passes on.
        copies.put(Copy(f"{number}"))
        for page in order:
            copies.unite(page, "there")
        passed_on = copies.all_pages(limit=1)
        answers.append(run("copies.conflicts")["conflicts"])
        copies.put(Copy(f"behind {number}"))
        for page in passed_on:
            copies.unite(page, "there")
        answers.append(run("copies.conflicts")["conflicts"])
    assert all(answer == answers[0] for answer in answers), answers
