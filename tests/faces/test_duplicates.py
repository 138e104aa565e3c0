"""Proposals of duplicates: the list of pairs, and the candidates in the answer of a store."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.database.queries import Queries
from graphmem.duplicates import blocking, duplicate_pages
from graphmem.errors import DatabaseTimeout, InvalidInput, NotFound
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from graphmem.settings import Limits
from graphmem.text import identifiers
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner


def person(name: str, **fields: Any) -> dict[str, Any]:
    return {"entity_type": "person", "name": name, **fields}


def ids(answer: dict[str, Any]) -> list[str]:
    return [entry["entity_id"] for entry in answer["entities"]]


def pairs(answer: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset((pair["entity_a"], pair["entity_b"])) for pair in answer["candidates"]}


def test_a_likely_pair_is_listed_with_its_reasons(run: Call) -> None:
    items = [
        person("Ada Lovelace", email="ada@example.org"),
        person("Lovelace, Ada"),
        person("Charles Babbage"),
        {"entity_type": "company", "name": "Ada Lovelace"},
    ]
    ada, again, *_ = ids(run("store", entities=items))
    run("observations.create", entity_id=again, fields={"town": "London"})
    answer = run("entities.duplicates", entity_type="people")
    (pair,) = answer["candidates"]
    assert [pair["entity_a"], pair["entity_b"]] == sorted((ada, again))
    names = {pair["entity_a"]: pair["canonical_name_a"], pair["entity_b"]: pair["canonical_name_b"]}
    assert names == {ada: "Ada Lovelace", again: "Lovelace, Ada"}
    assert (pair["entity_type"], pair["score"], pair["matched_fields"]) == ("person", 0.97, ["name"])
    a, b = (names[pair[end]] for end in ("entity_a", "entity_b"))
    assert pair["reasons"] == [{"field": "name", "a": a, "b": b, "similarity": 0.99}]
    # The one of which more is known remains.
    arguments = {"source_entity_id": ada, "target_entity_id": again}
    assert pair["merge"] == {"operation": "entities.merge", "arguments": arguments}
    assert (answer["total"], answer["scanned"], answer["truncated"]) == (1, 3, False)


def test_duplicates_are_not_an_entity_of_that_id(rest: Call) -> None:
    assert rest("entities.duplicates")["candidates"] == []
    with pytest.raises(NotFound):
        rest("entities.get", entity_id="duplicate")


def test_every_type_is_compared_with_itself_where_none_is_named(run: Call) -> None:
    items = [
        {"entity_type": kind, "intent": "create_new", "name": "Apollo"}
        for kind in ("person", "project")
        for _ in range(2)
    ]
    a, b, c, d = ids(run("store", entities=items))
    assert pairs(run("entities.duplicates")) == {frozenset((a, b)), frozenset((c, d))}


def test_the_likeliest_come_first_and_pages_tile(run: Call) -> None:
    items = [{"entity_type": "thing", "intent": "create_new", "name": "Apollo", "phone": phone}
             for phone in ("111 111 111", "111111111", "222 222 222", None)]  # fmt: skip
    run("store", entities=items)
    whole = run("entities.duplicates")
    assert (whole["total"], len(whole["candidates"])) == (6, 6)
    scores = [pair["score"] for pair in whole["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]
    keys = [(-pair["score"], pair["entity_a"], pair["entity_b"]) for pair in whole["candidates"]]
    assert keys == sorted(keys)
    candidates, offset = [], 0
    while offset is not None:
        page = run("entities.duplicates", limit=4, offset=offset)
        candidates += page["candidates"]
        offset = page.get("next_offset")
    assert candidates == whole["candidates"]
    assert run("entities.duplicates", offset=6)["candidates"] == []
    assert run("entities.duplicates", threshold=0.98)["total"] == 1


def test_duplicates_of_one_entity_are_the_pairs_that_have_it(run: Call) -> None:
    items = [{"entity_type": "thing", "intent": "create_new", "name": name}
             for name in ("Apollo", "Apollo", "Gemini", "Gemini")]  # fmt: skip
    a, b, *_ = ids(run("store", entities=items))
    assert pairs(run("entities.duplicates", entity_id=a)) == {frozenset((a, b))}
    assert run("entities.duplicates", entity_id=a, entity_type="person")["candidates"] == []
    with pytest.raises(NotFound):
        run("entities.duplicates", entity_id="ent_" + "0" * 24)


def test_a_deleted_entity_is_no_duplicate(run: Call) -> None:
    items = [{"entity_type": "thing", "intent": "create_new", "name": "Apollo"} for _ in range(2)]
    a, b = ids(run("store", entities=items))
    run("entities.delete", entity_id=b)
    assert run("entities.duplicates")["candidates"] == []
    with pytest.raises(NotFound):
        run("entities.duplicates", entity_id=b)
    run("entities.restore", entity_id=b)
    assert pairs(run("entities.duplicates")) == {frozenset((a, b))}


def test_duplicates_that_the_proposed_call_merges_are_no_pair_any_more(run: Call) -> None:
    items = [{"entity_type": "thing", "intent": "create_new", "name": "Apollo"} for _ in range(3)]
    every = ids(run("store", entities=items))
    (merge, *_) = [pair["merge"] for pair in run("entities.duplicates")["candidates"]]
    run(merge["operation"], **merge["arguments"])
    merged, into = merge["arguments"]["source_entity_id"], merge["arguments"]["target_entity_id"]
    (left,) = set(every) - {merged, into}
    assert pairs(run("entities.duplicates")) == {frozenset((into, left))}
    # Who is merged is asked for by the one that it is merged into.
    assert pairs(run("entities.duplicates", entity_id=merged)) == {frozenset((into, left))}
    (entry,) = run("store", entities=[{"entity_type": "thing", "name": "Apollo"}])["entities"]
    assert {candidate["entity_id"] for candidate in entry["duplicate_candidates"]} == {into, left}
    run("entities.unmerge", source_entity_id=merged)
    assert run("entities.duplicates")["total"] == 6


def test_duplicates_are_compared_by_their_current_values(run: Call) -> None:
    a, b = ids(
        run("store", entities=[person("Ada", email="a@x.example"), person("Ada", email="b@x.example")])
    )
    assert run("entities.duplicates")["candidates"] == []
    run("entities.correct", entity_id=b, field="email", value="A@x.example")
    (pair,) = run("entities.duplicates")["candidates"]
    assert {pair["entity_a"], pair["entity_b"]} == {a, b}
    assert pair["matched_fields"] == ["email", "name"]


@pytest.mark.parametrize("arguments", [{"threshold": "0.4"}, {"threshold": "nan"}, {"limit": "501"}])
def test_arguments_that_do_not_fit_are_refused(call: Call, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        call("entities.duplicates", **arguments)


@pytest.mark.parametrize("characters", [10, 1_900, 5_000, 150_000])
def test_an_entity_of_any_size_is_compared_by_its_short_values(run: Call, characters: int) -> None:
    def thing(name: str, url: str, before: int, behind: int) -> dict[str, Any]:
        notes = {"a_note": "x" * before, "zz_note": "y" * behind}
        return {"entity_type": "thing", "intent": "create_new", "name": name, "url": url, **notes}

    short, long = "https://example.org/apollo", f"https://example.org/{'u' * 1_000}"
    a, b, *_ = ids(run("store", entities=[
        thing("Apollo", short, characters, 5), thing("Apollo", short, 5, characters),
        thing("Saturn", long, characters, 5), thing("Comet", long, 5, characters),
    ]))  # fmt: skip
    (pair,) = run("entities.duplicates")["candidates"]
    assert {pair["entity_a"], pair["entity_b"]} == {a, b}
    assert pair["matched_fields"] == ["name", "url"]


def test_a_very_large_value_is_not_compared_and_does_no_harm(run: Call) -> None:
    note = {"entity_type": "note", "intent": "create_new", "title": "Minutes of May"}
    items = [{**note, "text": "x" * 300_000}, {**note, "url": "u" * 5_000}]
    a, b = ids(run("store", entities=items))
    assert pairs(run("entities.duplicates")) == {frozenset((a, b))}


@pytest.mark.parametrize("size", [4, 7, 23])
def test_a_large_type_is_compared_in_parts_that_go_on_by_cursor(
    loop: Loop, services: Services, owner: str, size: int
) -> None:
    limits = Limits(duplicate_entities=6, duplicate_rows=3)
    run = by_runner(loop, replace(services, limits=limits), owner)
    letters = "abcdefghijklmnopqrstuvwxyz"
    items = [{"entity_type": "thing", "name": f"{letter * 6} thing"} for letter in letters[:size]]
    # Neighbours in the order of names, and two that an identifier joins across it.
    items += [
        {"entity_type": "thing", "name": "thing, aaaaaa"},
        {"entity_type": "thing", "name": "dddddd thinng"},
    ]
    items += [{"entity_type": "thing", "id": side, "name": f"{side} end", "phone": "030 1234567"}
              for side in ("aa", "zz")]  # fmt: skip
    items += [{"entity_type": "other", "name": f"{letter * 6} thing"} for letter in letters]
    thing_ids = ids(run("store", entities=items))
    first, fourth, (moved, slip, low, high) = thing_ids[0], thing_ids[3], thing_ids[size : size + 4]
    candidate_pairs: set[frozenset[str]] = set()
    cursor: dict[str, str] = {}
    answer: dict[str, Any] = {"truncated": True}
    while answer["truncated"]:
        answer = run("entities.duplicates", entity_type="thing", threshold=0.7, **cursor)
        candidate_pairs |= pairs(answer)
        assert answer["truncated"] == ("next_cursor" in answer)
        if answer["truncated"]:
            cursor = {"cursor": answer["next_cursor"]}
    assert bool(cursor) == (size + 4 > 6)
    assert {frozenset((first, moved)), frozenset((fourth, slip)), frozenset((low, high))} == candidate_pairs


def test_many_types_are_read_in_pages(loop: Loop, services: Services, owner: str) -> None:
    run = by_runner(loop, replace(services, limits=Limits(duplicate_rows=3)), owner)
    counts = {"a": 1, "b": 2, "c": 7, "d": 3, "e": 1}
    items = [{"entity_type": kind, "intent": "create_new", "name": "Apollo"}
             for kind, count in counts.items() for _ in range(count)]  # fmt: skip
    run("store", entities=items)
    answer = run("entities.duplicates", limit=200)
    assert (answer["scanned"], answer["total"]) == (14, 1 + 21 + 3)


def test_tokens_are_never_looked_up(run: Call) -> None:
    run("store", entities=[person("John Smith")])
    assert "tokens" not in identifiers.KINDS
    assert run("entities.find", identifier="John Smith")["total"] == 1
    # The words of "Smith, John" are those of "John Smith": parts of his name, not the name.
    assert run("entities.find", identifier="Smith, John")["match_mode"] == "name_part"
    run("store", entities=[person("Zoe Adams")])
    assert run("entities.find", identifier="adams zoe")["match_mode"] == "name_part"


# What a store says


def test_a_store_names_the_likely_duplicates_of_what_it_creates(run: Call) -> None:
    known = run("store", entities=[person("Ada Lovelace", email="ada@example.org"), person("Alan Turing")])
    (entry,) = run("store", entities=[person("Lovelace, Ada")])["entities"]
    assert entry["action"] == "created"
    assert entry["duplicate_candidates"] == [{
        "entity_id": ids(known)[0],
        "canonical_name": "Ada Lovelace",
        "score": 0.97,
        "reasons": [{"field": "name", "a": "Lovelace, Ada", "b": "Ada Lovelace", "similarity": 0.99}],
    }]  # fmt: skip
    assert not any("duplicate_candidates" in entry for entry in known["entities"])


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (
            person("Ada Lovelace", email="ada@example.org"),
            {**person("Ada Lovelace"), "intent": "create_new"},
        ),
        (person("Ada Lovelace"), person("Dr. Ada Lovelace")),
        (person("Ada Lovelace"), person("Ada Lovelacce")),
        (
            {"entity_type": "room", "name": "Zeta", "phone": "+44 123456"},
            {"entity_type": "room", "phone": "+44 123456"},
        ),
        ({"entity_type": "company", "name": "Acme"}, {"entity_type": "company", "name": "Acme Inc."}),
        ({"entity_type": "company", "name": "Acme Inc."}, {"entity_type": "company", "name": "Acme"}),
    ],
    ids=range(6),
)
def test_duplicates_of_a_new_entity_are_found_by_identifiers_words_and_neighbours(
    run: Call, known: Any, new: Any
) -> None:
    known_id = ids(run("store", entities=[known, *(person(f"Person {n}") for n in range(20))]))[0]
    (entry,) = run("store", entities=[new])["entities"]
    assert [candidate["entity_id"] for candidate in entry["duplicate_candidates"]] == [known_id]


def test_two_duplicates_in_one_store_name_each_other(run: Call) -> None:
    twin = {**person("Ada Lovelace"), "intent": "create_new"}
    items = [person("Ada Lovelace", email="ada@example.org"), twin, person("Bo")]
    ada, again, bo = run("store", entities=items)["entities"]
    assert [candidate["entity_id"] for candidate in ada["duplicate_candidates"]] == [again["entity_id"]]
    assert [candidate["entity_id"] for candidate in again["duplicate_candidates"]] == [ada["entity_id"]]
    assert "duplicate_candidates" not in bo


def test_many_created_entities_are_compared_beside_the_event_loop(
    run: Call, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = duplicate_pages.COMPARED_IN_LOOP + 1
    propose, on_loop = blocking.propose, list[bool]()

    def noted(*arguments: Any) -> blocking.Proposals:
        on_loop.append(loop.is_current())
        return propose(*arguments)

    monkeypatch.setattr(blocking, "propose", noted)
    run("store", entities=[person(f"Ada Lovelace {place}") for place in range(created)])
    assert on_loop == [False] * created


def test_only_a_created_entity_names_duplicates_and_five_at_most(run: Call) -> None:
    run("store", entities=[{**person("Ada Lovelace"), "intent": "create_new"} for _ in range(8)])
    answer = run("store", entities=[person("Ada Lovelace"), person("Ada Lovelace", town="London")])
    created, matched = answer["entities"]
    assert (created["action"], matched["action"]) == ("created", "matched_existing")
    assert len(created["duplicate_candidates"]) == 5
    assert "duplicate_candidates" not in matched


def test_a_plan_names_duplicates_and_writes_nothing(run: Call) -> None:
    (known,) = ids(run("store", entities=[person("Ada Lovelace")]))
    (entry,) = run("store", entities=[person("Ada  Lovelace", email="a@x.example")], commit=False)["entities"]
    assert entry["action"] == "would_create"
    assert [candidate["entity_id"] for candidate in entry["duplicate_candidates"]] == [known]
    assert run("server.stats")["total_entities"] == 1


def test_a_store_without_duplicates_is_replayed_with_duplicates(run: Call) -> None:
    twin = {**person("Ada Lovelace"), "intent": "create_new"}
    request = {"entities": [twin], "idempotency_key": "k"}
    run("store", entities=[person("Ada Lovelace", email="ada@example.org")])
    first = run("store", **request, find_duplicates=False)
    assert "duplicate_candidates" not in first["entities"][0]
    again = run("store", **request)
    assert again["replayed"]
    assert again["entities"][0]["duplicate_candidates"], "a repeat looks for them anew"


def test_a_store_of_very_many_entities_warns_that_it_looked_for_no_duplicates(
    loop: Loop, services: Services, owner: str
) -> None:
    run = by_runner(loop, replace(services, limits=Limits(probed_entities=2)), owner)
    twins = [{**person("Ada Lovelace"), "intent": "create_new"} for _ in range(3)]
    assert "duplicate_candidates" in run("store", entities=twins[:2])["entities"][0]
    answer = run("store", entities=twins)
    assert [warning["code"] for warning in answer["store_warnings"]] == ["DUPLICATES_NOT_LOOKED_FOR"]
    message = answer["store_warnings"][0]["message"]
    assert message.endswith("; `graphmem entities find-duplicates` lists them")
    assert not any("duplicate_candidates" in entry for entry in answer["entities"])


def test_a_fault_in_comparing_duplicates_fails_no_store(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any) -> Any:
        raise RuntimeError("a fault of ours")

    run("store", entities=[person("Ada Lovelace", email="ada@example.org")])
    monkeypatch.setattr(blocking, "propose", failing)
    answer = run("store", entities=[person("Ada Lovelace", email="ada@example.net")])
    assert answer["success"]
    codes = [warning["code"] for warning in answer["store_warnings"]]
    assert codes == ["SAME_NAME", "DUPLICATES_NOT_LOOKED_FOR"]
    assert run("entities.get", entity_id=ids(answer)[0])["canonical_name"] == "Ada Lovelace"


@pytest.mark.parametrize("part", ["created", "parameters"])
def test_a_fault_in_reading_for_duplicates_fails_no_store(
    run: Call, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def failing(*arguments: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(duplicate_pages, part, failing)
    answer = run("store", entities=[person("Ada Lovelace")])
    assert [warning["code"] for warning in answer["store_warnings"]] == ["DUPLICATES_NOT_LOOKED_FOR"]
    assert run("entities.get", entity_id=ids(answer)[0])["canonical_name"] == "Ada Lovelace"


def test_a_plan_warns_when_the_database_finds_no_duplicates_in_time(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Queries.rows

    async def failing(self: Queries, name: Any, /, **params: Any) -> Any:
        if name == "duplicate.near":
            raise DatabaseTimeout
        return await rows(self, name, **params)

    monkeypatch.setattr(Queries, "rows", failing)
    planned = run("store", entities=[person("Ada Lovelace")], commit=False)
    assert [warning["code"] for warning in planned["store_warnings"]] == ["DUPLICATES_NOT_LOOKED_FOR"]


def test_the_first_store_after_a_start_waits_for_its_look(
    loop: Loop, run: Call, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, database = Queries.rows, services.database

    async def slow(self: Queries, name: Any, /, **params: Any) -> Any:
        await asyncio.sleep(1.0 if name == "duplicate.near" else 0.0)
        return await rows(self, name, **params)

    run("store", entities=[person("Ada Lovelace", email="ada@x.example")])
    # As after a start: the server has planned the statement, and has not run it.
    for name in ("duplicate.near", "dismissal.of_entities"):
        database.first_runs.forget(database.query_text(name))
    loop.run(database.planning.plan_stores())
    database.planning.planned.set()
    monkeypatch.setattr(Queries, "rows", slow)
    monkeypatch.setattr(duplicate_pages, "LOOK_SECONDS", 0.5)
    twin = {**person("Ada Lovelace", email="ada@x.example"), "intent": "create_new"}
    codes = [warning["code"] for warning in run("store", entities=[twin]).get("store_warnings", [])]
    assert "DUPLICATES_NOT_LOOKED_FOR" not in codes


def test_stores_that_share_a_turn_name_the_duplicates_of_their_own_entities(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    known = ids(run("store", entities=[person("Ada Lovelace", email="ada@x.example")]))
    actor = full_actor(owner)

    async def together() -> list[dict[str, Any]]:
        requests = [
            {"entities": [{**person("Ada Lovelace"), "intent": "create_new"}]},
            {"entities": [person("Ada  Lovelace", phone="+44 1234567")], "find_duplicates": False},
            {"entities": [person("Somebody else", phone="+44 7654321")]},
            {"entities": [{**person("Lovelace, Ada"), "intent": "create_new"}]},
        ]
        answers = await asyncio.gather(
            *(REGISTRY["store"].run(services, actor, request) for request in requests)
        )
        return [canonical.decode(answer)["entities"][0] for answer in answers]

    first, silent, other, last = loop.run(together())
    candidates = [
        {candidate["entity_id"] for candidate in entry.get("duplicate_candidates", [])}
        for entry in (first, last)
    ]
    every = {*known, first["entity_id"], silent["entity_id"], last["entity_id"]}
    assert candidates == [every - {first["entity_id"]}, every - {last["entity_id"]}]
    assert not {"duplicate_candidates"} & (silent.keys() | other.keys())


def test_duplicates_that_a_store_names_do_not_depend_on_its_turn(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    near = ids(
        run("store", entities=[person("Ada Lovelace"), person("Ada Lovelaca"), person("Ada Lovelacb")])
    )
    many = [person(f"Number{i} Of{i} Many{i}") for i in range(60)]
    actor = full_actor(owner)

    async def together() -> list[list[dict[str, Any]]]:
        requests = [{"entities": [person("Ada Lovelacc")]}, {"entities": many}]
        answers = await asyncio.gather(
            *(REGISTRY["store"].run(services, actor, request) for request in requests)
        )
        return [canonical.decode(answer)["entities"] for answer in answers]

    before = run("server.stats")["sequence"]
    (entry,), _ = loop.run(together())
    assert {candidate["entity_id"] for candidate in entry["duplicate_candidates"]} == set(near)
    assert run("server.stats")["sequence"] == before + 2


def test_entities_of_another_owner_are_never_named_as_duplicates(
    run: Call, loop: Loop, services: Services
) -> None:
    by_runner(loop, services, str(uuid.uuid4()))(
        "store", entities=[person("Ada Lovelace", phone="+44 1234567")]
    )
    (entry,) = run("store", entities=[person("Ada Lovelace", phone="+44 1234567")])["entities"]
    assert "duplicate_candidates" not in entry
    assert run("entities.duplicates")["candidates"] == []


NILS = {"entity_type": "person", "name": "Nils Holmvik", "email": "post@holmvik.example"}
BERIT = {**NILS, "name": "Berit Holmvik"}


def test_people_whom_an_address_parted_are_listed_and_not_proposed(run: Call) -> None:
    parted = [run("store", entities=[each])["entities"][0]["entity_id"] for each in (NILS, BERIT)]
    ids = {each["entity_id"] for each in run("entities.query", entity_type="person")["entities"]}
    assert not run("entities.duplicates", threshold=0.5)["candidates"]
    (pair,) = run("entities.duplicates", parted=True)["candidates"]
    assert {pair["entity_a"], pair["entity_b"]} == ids
    assert run("entities.duplicates", parted=True, entity_id=parted[1])["candidates"] == [pair]
    run("entities.dismiss_duplicates", entity_a=pair["entity_a"], entity_b=pair["entity_b"], reason="two")
    assert not run("entities.duplicates", parted=True)["candidates"]


def test_what_a_number_without_issuer_parted_is_listed_by_any_name_of_its_fields(run: Call) -> None:
    beside = {"entity_type": "invoice", "Invoice No": "R-17", "currency": "EUR"}
    days = ("2026-01-02", "2026-03-04", "2026-05-06")
    run("store", entities=[{**beside, "issue_date": day} for day in days])
    # Another number, and the same one of an issuer, are with none of them.
    run("store", entities=[{**beside, "Invoice No": "R-18", "issue_date": days[0]}])
    run("store", entities=[{**beside, "vendor": "Acme", "issue_date": "2026-07-08"}])
    invoices = run("entities.query", entity_type="invoice", include_snapshots=True)["entities"]
    by_day = {
        each["snapshot"]["issue_date"]: each["entity_id"]
        for each in invoices
        if each["snapshot"]["Invoice No"] == "R-17"
    }
    parted = run("entities.duplicates", parted=True)["candidates"]
    assert {(pair["entity_a"], pair["entity_b"]) for pair in parted} == {
        tuple(sorted(pair)) for pair in combinations([by_day[day] for day in days], 2)
    }
    assert run("entities.duplicates", parted=True, entity_type="invoice")["candidates"] == parted
    assert not run("entities.duplicates", parted=True, entity_type="person")["candidates"]


def test_people_at_one_address_whose_names_are_near_are_proposed(run: Call) -> None:
    for name in ("Berit Holmvik", "Nils Holmvik", "Neils Holmvik"):
        run("store", entities=[{**NILS, "name": name, "email": "info@holmvik.example"}])
    (pair,) = run("entities.duplicates", threshold=0.8)["candidates"]
    assert {pair["canonical_name_a"], pair["canonical_name_b"]} == {"Nils Holmvik", "Neils Holmvik"}


def test_a_company_is_proposed_as_one_with_the_customer_of_its_name(run: Call) -> None:
    types = ("customer", "company", "organization")
    stored = [run("store", entities=[{"entity_type": each, "name": "Kern Logistik"}]) for each in types]
    assert [len(each["entities"][0].get("duplicate_candidates", ())) for each in stored] == [0, 1, 2]
    assert len(run("entities.duplicates")["candidates"]) == 3
    assert len(run("entities.duplicates", entity_type="customer")["candidates"]) == 2
    customer = stored[0]["entities"][0]["entity_id"]
    (pair, *_) = run("entities.duplicates", entity_id=customer)["candidates"]
    run("entities.merge", **pair["merge"]["arguments"])
    assert len(run("entities.duplicates")["candidates"]) == 1
