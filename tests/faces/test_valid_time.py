"""Valid time: what the dates within relationships and entities say of when they held."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graphmem.errors import NotFound
from graphmem.model import times
from tests.faces.test_sources import with_file
from tests.support.faces import Call
from tests.support.long_cases import mostly_long
from tests.support.valid_time_model import History, Statement

SINCE_UNTIL = {"since": "2019-03-01", "until": "2022-06-30"}
SPELLINGS: list[dict[str, Any]] = [
    SINCE_UNTIL,
    {"start_date": "2019-03-01", "end_date": "2022-06-30"},
    {"from": "2019-03-01", "to": "2022-06-30"},
    {"Valid From": "1 March 2019", "Valid To": "2022-06"},
    {"startedOn": "2019-03", "leftOn": "2022-06-30"},
    {"joined": "Mar 2019", "left": "2022-06-30T23:59:59.999999Z"},
]
BEGINS, ENDS = "2019-03-01", "2022-06-30T23:59:59Z"
BEFORE, AFTER = "2019-02-28T23:59:59Z", "2022-07-01"


def people(run: Call, number: int = 0) -> tuple[str, str]:
    items = [
        {"entity_type": "person", "name": f"Ines Sorel {number}"},
        {"entity_type": "company", "name": f"Brandt & Sohn {number}"},
    ]
    ids = [item["entity_id"] for item in run("store", entities=items)["entities"]]
    return ids[0], ids[1]


def relate(run: Call, source: str, target: str, **more: Any) -> str:
    ends = {"source_entity_id": source, "target_entity_id": target, "relationship_type": "WORKS_AT"}
    return run("relationships.create", **ends, **more)["relationship_key"]


def is_there(run: Call, source: str, target: str, **clocks: Any) -> bool:
    """Return whether the relationship is there, by every answer that can tell."""
    key = f"WORKS_AT:{source}:{target}"
    listed = run("relationships.list", entity_id=source, include_total_count=True, **clocks)
    every = run("relationships.list", relationship_type="WORKS_AT", include_total_count=True, **clocks)
    related = run("entities.related", entity_id=source, **clocks)
    behind = run("entities.related", entity_id=target, depth=2, **clocks)
    around = run("graph.neighborhood", node_id=target, **clocks)
    pages = (listed, every, related, around)
    try:
        found = run("relationships.get", relationship_id=key, **clocks)["relationship_key"] == key
    except NotFound:
        found = False
    told = {
        found,
        *(key in [each["relationship_key"] for each in page["relationships"]] for page in pages),
        bool(listed["total"]), bool(every["total"]), bool(around["total_count"]), bool(related["total"]),
        target in [entity["entity_id"] for entity in related["entities"]],
        source in [entity["entity_id"] for entity in behind["entities"]],
    }  # fmt: skip
    assert len(told) == 1, told
    return found


def test_a_relationship_is_there_within_its_dates(run: Call) -> None:
    """It was stored today; a day, a month and a year are there to their last moment."""
    a, b = people(run)
    key = relate(run, a, b, metadata=SINCE_UNTIL)
    moments = (BEFORE, BEGINS, ENDS, AFTER)
    assert [is_there(run, a, b, at=at) for at in moments] == [False, True, True, False]
    assert run("relationships.list", entity_id=a)["relationships"][0]["relationship_key"] == key
    for number, metadata in enumerate(SPELLINGS, 1):
        a, b = people(run, number)
        relate(run, a, b, metadata=metadata)
        pages = [run("relationships.list", entity_id=a, at=at) for at in (BEFORE, BEGINS, ENDS, AFTER)]
        assert [len(page["relationships"]) for page in pages] == [0, 1, 1, 0], metadata


def test_an_answer_before_all_is_known_says_so_and_names_keep_their_entities(run: Call) -> None:
    a, b = people(run)
    key = relate(run, a, b, metadata=SINCE_UNTIL)
    then = run("entities.related", entity_id=a, at="2020-06-01")
    assert [entity["canonical_name"] for entity in then["entities"]] == ["Brandt & Sohn 0"]
    assert (then["canonical_name"], then["entities"][0]["snapshot"]) == ("Ines Sorel 0", {})
    assert "hint" not in then
    pages = [
        run("relationships.list", entity_id=a, at=BEFORE),
        run("entities.related", entity_id=a, at=BEFORE),
        run("graph.neighborhood", node_id=a, at=BEFORE),
        run("entities.snapshot", entity_id=a, at=BEFORE),
    ]
    assert all("since" in page["hint"] for page in pages)
    assert "hint" not in run("relationships.list", entity_id=b, filters={"relationship_type": "OWNS"})
    with pytest.raises(NotFound) as refused:
        run("relationships.get", relationship_id=key, at=BEFORE)
    assert "since" in refused.value.details["hint"]


def test_an_entity_that_was_merged_keeps_its_own_name_before_anything_counts(run: Call) -> None:
    a, b = people(run)
    _, other = people(run, 1)
    relate(run, a, b, metadata=SINCE_UNTIL)

    def names() -> list[str]:
        then = run("entities.related", entity_id=a, at="2020-06-01")["entities"]
        return [entity["canonical_name"] for entity in then]

    run("entities.merge", source_entity_id=b, target_entity_id=other)
    assert names() == ["Brandt & Sohn 0"]
    run("entities.unmerge", source_entity_id=b)
    assert names() == ["Brandt & Sohn 0"]
    run("entities.merge", source_entity_id=other, target_entity_id=b)
    assert names() == ["Brandt & Sohn 0"]


@pytest.mark.parametrize(
    ("metadata", "made", "there", "not_there"),
    [
        ({"since": "2019"}, None, ["2019-01-01", "2026-01-01"], ["2018-12-31"]),
        ({"since": "2999"}, None, ["2999-01-01"], ["2026-01-01"]),
        ({"until": "2022"}, None, ["1950-01-01", "2022-12-31"], ["2023-01-01"]),
        ({"until": "2022"}, "2021-05-01", ["2021-05-01", "2022-12-31"], ["2021-04-30", "2023-01-01"]),
        ({}, "2021-05-01", ["2021-05-01", "2026-01-01"], ["2021-04-30"]),
        ({"since": "soon", "to": "Graz"}, "2021-05-01", ["2021-05-01"], ["2021-04-30"]),
        ({"since": "2022", "until": "2019"}, "2020-01-01", ["2022-01-01", "2026-01-01"], ["2021-12-31"]),
    ],
)
def test_the_edges_of_a_relationship(
    run: Call, metadata: dict[str, Any], made: str | None, there: list[str], not_there: list[str]
) -> None:
    a, b = people(run)
    relate(run, a, b, metadata=metadata, **({"observed_at": made} if made else {}))
    assert {at: is_there(run, a, b, at=at) for at in there + not_there} == {
        **dict.fromkeys(there, True), **dict.fromkeys(not_there, False),
    }  # fmt: skip


def test_who_left_and_came_back_was_there_twice(run: Call) -> None:
    a, b = people(run)
    relate(run, a, b, metadata={"since": "2010", "until": "2012", "role": "clerk"}, observed_at="2011-01-01")
    relate(run, a, b, metadata={"since": "2018"}, observed_at="2018-06-01")
    relate(run, a, b, metadata={"until": "2020"}, observed_at="2020-12-01")
    years = {year: is_there(run, a, b, at=f"{year}-03-01") for year in (2009, 2011, 2014, 2019, 2021)}
    assert years == {2009: False, 2011: True, 2014: False, 2019: True, 2021: False}
    (then,) = run("relationships.list", entity_id=a, at="2019-03-01")["relationships"]
    periods = [{"since": "2010", "until": "2012", "role": "clerk"}, {"since": "2018", "until": "2020"}]
    assert then["snapshot"] == {"since": "2018", "until": "2020", "periods": periods}


def test_what_was_known_of_the_dates_decides_at_an_earlier_time_of_recording(run: Call) -> None:
    a, b = people(run)
    relate(run, a, b, metadata={"since": "2019"})
    known = run("server.stats")["last_updated"]
    relate(run, a, b, metadata={"until": "2022"})
    assert is_there(run, a, b, at="2021-01-01")
    assert not is_there(run, a, b, at="2023-01-01")
    assert is_there(run, a, b, at="2023-01-01", at_ingested=known)
    assert not is_there(run, a, b, at="2018-12-31", at_ingested=known)


def test_withdrawn_dates_count_no_more(run: Call) -> None:
    a, b = people(run)
    relate(run, a, b, observed_at="2020-01-01")
    link = {
        "relationship_type": "WORKS_AT", "source_entity_id": a, "target_entity_id": b,
        "metadata": {"since": "2015"},
    }  # fmt: skip
    source_id = run("store", **with_file(b"dates"), entities=[], relationships=[link])["source_id"]
    assert is_there(run, a, b, at="2016-01-01")
    run("sources.withdraw", source_id=source_id, reason="a mistake")
    assert not is_there(run, a, b, at="2016-01-01")
    assert is_there(run, a, b, at="2020-01-01")


def date(day: int) -> str:
    return times.render(times.parse("2020-01-01") + day * times.DAY)[:10]


def fields(statement: Statement) -> dict[str, Any]:
    said = {"since": statement.since, "until": statement.until}
    return {name: date(day) for name, day in said.items() if day is not None}


def statements(dice: random.Random) -> list[Statement]:
    made = sorted(dice.sample(range(31), 4))
    return [Statement(made[0], dice.choice([None, 3, 9]), dice.choice([None, 20]), value="v0")] + [
        Statement(day, dice.choice([None, 4, 12]), dice.choice([None, 8, 25]), f"v{day}") for day in made[1:]
    ]


@pytest.mark.parametrize("seed", mostly_long(range(3), 0))
def test_relationships_of_random_dates_are_there_as_the_plain_model_says(run: Call, seed: int) -> None:
    dice = random.Random(seed)
    a, b = people(run)
    history = History(statements(dice))
    for each in history.statements:
        relate(run, a, b, metadata=fields(each), observed_at=f"{date(each.made)}T00:00:00Z")
    for day in range(-1, 32, 5):
        at = f"{date(day)}T12:00:00Z"
        assert is_there(run, a, b, at=at) is history.is_there(day), (history, day)


def snapshot(run: Call, entity_id: str, **clocks: Any) -> dict[str, Any]:
    return run("entities.snapshot", entity_id=entity_id, **clocks)["snapshot"]


def test_values_of_an_entity_hold_within_the_dates_beside_them(run: Call) -> None:
    person = {"entity_type": "person", "name": "Ines Sorel"}
    kiel = {**person, "address": "Kiel", "since": "2015", "until": "2019-02"}
    entity_id = run("store", entities=[kiel])["entities"][0]["entity_id"]
    run("store", entities=[{**person, "address": "Bremen", "since": "2019-03-01"}])
    run("store", entities=[{**person, "address": "Ulm", "valid_from": "2998"}])
    run("store", entities=[{**person, "phone": "+44 1632 960000"}])
    addresses = {
        at: snapshot(run, entity_id, at=at).get("address")
        for at in (
            "2014-12-31",
            "2015-01-01",
            "2019-02-28T23:00:00Z",
            "2019-03-01",
            "2026-01-01",
            "2998-01-01",
        )
    }
    assert list(addresses.values()) == [None, "Kiel", "Kiel", "Bremen", "Bremen", "Ulm"]
    assert "phone" not in snapshot(run, entity_id, at="2020-01-01")
    run("entities.correct", entity_id=entity_id, field="since", value="2020-02")
    then = {"name": "Ines Sorel", "since": "2015", "until": "2019-02"}
    assert snapshot(run, entity_id, at="2019-06-01") == then
    assert snapshot(run, entity_id, at="2020-03-01")["address"] == "Bremen"


def test_a_value_is_gone_after_its_end_and_the_name_and_the_dates_stay(run: Call) -> None:
    job = {"entity_type": "post", "name": "Clerk", "employer": "Acme", "since": "2019", "until": "2022"}
    entity_id = run("store", entities=[job])["entities"][0]["entity_id"]
    dates = {"name": "Clerk", "since": "2019", "until": "2022"}
    assert snapshot(run, entity_id, at="2020-06-01") == {**dates, "employer": "Acme"}
    assert snapshot(run, entity_id, at="2023-01-01") == dates
    assert snapshot(run, entity_id, at="2018-06-01") == {}
    assert snapshot(run, entity_id)["employer"] == "Acme"
    listed = run("entities.query", entity_type="post", at="2020-06-01")["entities"]
    assert [entity["entity_id"] for entity in listed] == [entity_id]
    assert run("entities.query", entity_type="post", at="2018-06-01")["entities"] == []


def test_a_date_that_says_something_of_a_person_says_not_since_when_its_values_hold(run: Call) -> None:
    person = {"entity_type": "person", "name": "Ines Sorel", "phone": "+44 1632 960000", "joined": "2019"}
    entity_id = run("store", entities=[person])["entities"][0]["entity_id"]
    assert snapshot(run, entity_id, at="2020-01-01") == {}


def test_an_event_is_known_from_its_start_and_keeps_its_values_after_its_end(run: Call) -> None:
    trip = {"entity_type": "event", "title": "Regatta", "start_date": "2021-05-01", "end_date": "2021-05-02"}
    plan = {"entity_type": "event", "title": "Jubilee", "start_date": "2999-05-01", "place": "Lorch"}
    stored = run("store", entities=[{**trip, "place": "Kiel"}, plan])["entities"]
    past, future = (item["entity_id"] for item in stored)
    assert snapshot(run, past, at="2021-04-30") == {}
    assert snapshot(run, past, at="2021-05-01")["place"] == "Kiel"
    assert snapshot(run, past, at="2026-01-01")["place"] == "Kiel"
    now = run("server.stats")["last_updated"]
    assert snapshot(run, future, at=now)["place"] == "Lorch"


@pytest.mark.parametrize("is_registered", [False, True])
def test_values_of_random_dates_hold_as_the_plain_model_says(run: Call, is_registered: bool) -> None:
    if is_registered:
        run("schemas.register", schema={"entity_type": "post", "fields": {"a": {"type": "string"}}})
    for seed in range(4):
        dice = random.Random(seed)
        said, entity_id = statements(dice), ""
        for each in said:
            made = f"{date(each.made)}T00:00:00Z"
            item = {"entity_type": "post", "name": f"post {seed}", "a": each.value, **fields(each)}
            entity_id = run("store", entities=[{**item, "observed_at": made}])["entities"][0]["entity_id"]
        if seed % 2:
            # A correction is made now: long after the days of this test.
            corrected = Statement(100_000, **{dice.choice(["since", "until"]): 10}, kind="correction")
            ((name, value),) = fields(corrected).items()
            run("entities.correct", entity_id=entity_id, field=name, value=value)
            said.append(corrected)
        history = History(said, is_relationship=False)
        for day in range(-1, 32, 3):
            at = f"{date(day)}T12:00:00Z"
            assert snapshot(run, entity_id, at=at).get("a") == history.value(day), (history, day)
