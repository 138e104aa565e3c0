"""Search: words in many scripts, meaning, how they are fused; what is acknowledged is found at once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.embedding import meaning
from graphmem.embedding.local import LocalEmbedder
from graphmem.embedding.meaning import COMPONENT_LIMIT, Vector
from graphmem.errors import EmbeddingUnavailable, InvalidCursor, InvalidInput
from graphmem.settings import Limits
from graphmem.worker import claim, make_vectors
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.walks import walk_over

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
Script = Callable[..., Any]


@pytest.fixture
def script(loop: Loop, services: Services, owner: str) -> Script:
    """Run a statement on the database itself, behind the service's back."""
    return lambda text, **params: loop.run(services.database.script(text, owner=owner, **params))


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["entity_id"] for item in answer["entities"]]


def store(run: Call, *items: dict[str, Any]) -> list[str]:
    return ids(run("store", entities=[{"entity_type": "thing", **item} for item in items]))


def by(explained: dict[str, Any], strategy: str) -> list[str]:
    """Return what a strategy found, best first."""
    (answer,) = [entry for entry in explained["strategies"] if entry["strategy"] == strategy]
    return [hit["entity_id"] for hit in answer["hits"]]


def hits_by_words(run: Call, words: str) -> list[str]:
    return by(run("search.explain", search=words), "text")


# Words


@pytest.mark.parametrize(
    ("text", "found_by", "not_by"),
    [
        ("Weekly planning", ["planning", "WEEKLY", "plan", "planning weekly"], ["annin", "plant"]),
        ("café noir", ["cafe", "CAFÉ", "cafe\u0301", "noir café", "caf", "Café*"], ["coffee"]),
        ("Zürich Straße Øresund", ["zurich", "STRASSE", "oresund", "Zür"], ["z rich"]),
        ("東京タワーの会議", ["東京", "タワー", "会議", "京タ"], ["京東", "大阪"]),
        ("서울에서 만나요", ["서울", "만나", "에서"], ["부산", "울서"]),
        ("Москва ёлка", ["москва", "ЕЛКА", "ёлка", "мос"], ["москвич"]),
        ("สวัสดีครับ", ["สวัสดี", "ครับ"], ["ดส", "รส"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"], ["नम स्ते"]),
        ("می‌خواهم بروم", ["می‌خواهم", "میخواهم", "بروم"], ["خواهم"]),
        ("O'Neil & Sons", ["oneil", "O’Neil", "o'neil sons"], ["neil"]),
        ("ada@example.org", ["ada@example.org", "example.org", "ada", "org"], ["org.example", "ada.org"]),
        ("budget_2026 v1.2", ["budget_2026", "budget", "2026", "v1.2"], ["2026_budget"]),
        ("x" * 300, ["x" * 300, "x" * 64, "x" * 10], ["y"]),
    ],
)
def test_words_are_found_in_every_script(
    run: Call, text: str, found_by: list[str], not_by: list[str]
) -> None:
    (entity_id, _) = store(run, {"name": "one", "note": text}, {"name": "another"})
    for words in found_by:
        assert hits_by_words(run, words) == [entity_id], words
    for words in not_by:
        assert hits_by_words(run, words) == [], words


def test_any_word_matches_and_more_of_them_match_better(run: Call) -> None:
    first, second = store(
        run,
        {"name": "A", "note": "three four", "deep": {"a": ["five", {"b": "six"}]}},
        {"name": "B", "note": "four"},
    )
    assert hits_by_words(run, "four A six") == [first, second]
    assert hits_by_words(run, "four seven") == [second, first]
    assert hits_by_words(run, "seven") == []


def test_a_piece_of_several_words_is_best_where_all_of_it_is(run: Call) -> None:
    whole, part = store(
        run, {"name": "A", "note": "the check list of many other things"}, {"name": "B", "note": "check"}
    )
    assert hits_by_words(run, "check-list") == [whole, part]


def test_words_of_an_address_must_stand_in_a_row_in_one_value(run: Call) -> None:
    (entity_id,) = store(run, {"name": "one two", "note": "three four", "mail": "ada@example.org"})
    assert hits_by_words(run, "ada@example.org") == [entity_id]
    assert hits_by_words(run, "bob@example.org") == hits_by_words(run, "ada@four.org") == []


def test_only_strings_are_words_and_only_those_that_are_shown(run: Call) -> None:
    (entity_id,) = store(run, {"name": "one", "n": 1843, "gone": "vanished", "b": True})
    assert hits_by_words(run, "1843") == hits_by_words(run, "true") == []
    assert hits_by_words(run, "vanished") == [entity_id]
    run("entities.correct", entity_id=entity_id, field="gone", value=None)
    assert hits_by_words(run, "vanished") == []
    fields = {"name": {"type": "string"}}
    run("schemas.register", schema={"entity_type": "thing", "fields": fields, "additional_fields": "hide"})
    run("observations.create", entity_id=entity_id, fields={"hidden": "invisible"})
    assert hits_by_words(run, "invisible") == []


def test_of_equal_words_a_name_and_a_short_text_come_first(run: Call) -> None:
    long, named, short = store(
        run,
        {"name": "a", "note": "budget " + "other words " * 50},
        {"name": "budget"},
        {"name": "c", "note": "the budget"},
    )
    assert hits_by_words(run, "budget") == [named, short, long]


ODD = [
    "*", "?", "~", '"', "\\", "\\*", "+-&|!(){}[]^\"~*?:\\/", "AND", "OR", "NOT", "a AND", "(",
    "a^9",     "/.*/", "text:x", "owner:\"x\"", "+owner:x", "[a TO z]", "{* TO *}", "a~0.1",
    "\x1f\x7f\x9b", "\u202e",
    "' OR 1=1 //", "$owner", "`n`", "x" * 10_000, "wort " * 2_000, "é" * 5_000, "東" * 5_000, "a* b* c*",
    "௰", "½",
    "\U0001f600", "ࡰ", "\ufffd", "null", "true", "|", "a | b",
]  # fmt: skip


@walk_over("query", ODD)
def test_any_query_is_answered_without_entities_of_other_owners(
    query: str, run: Call, loop: Loop, services: Services
) -> None:
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    store(stranger, {"name": query + " ours", "note": "text x a b AND OR NOT wort owner null true é 東"})
    answer = run("search.explain", search=query)
    assert (answer["entities"], answer["total"]) == ([], 0)
    assert run("entities.find", identifier=query)["entities"] == []


def test_signs_of_the_index_syntax_mean_nothing_in_a_query(call: Call) -> None:
    store(call, {"name": "alpha"}, {"name": "beta"})
    for query in ("alpha OR beta", "(alpha", "alpha AND", "-beta alpha", "alph?", "/alph.*/", "*:*"):
        assert call("search.explain", search=query)["semantic"] == "ready"
    assert len(hits_by_words(call, "alpha OR beta")) == len(hits_by_words(call, "-beta alpha")) == 2


@pytest.mark.parametrize(
    "body", [rb'{"identifier": "\ud800"}', b'{"identifier": "\xff"}', b'{"identifier": 7}']
)
def test_what_is_no_text_is_refused(loop: Loop, app: Any, owner: str, body: bytes) -> None:
    import httpx

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {owner}", "Content-Type": "application/json"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.post("/retrieve_entity_by_identifier", content=body, headers=headers)

    assert loop.run(send()).status_code == 400


# Meaning


def test_what_means_the_same_is_found_and_what_does_not_is_not(run: Call) -> None:
    trip, milk, bug = store(
        run,
        {"name": "Trip to Lisbon", "note": "flights booked, hotel near Alfama"},
        {"name": "Buy milk and eggs", "note": "groceries"},
        {"name": "Fix the login bug", "note": "users cannot sign in"},
    )
    for query, wanted in (
        ("grocery shopping", milk),
        ("authentication failure", bug),
        ("hotel booking", trip),
    ):
        assert by(run("search.explain", search=query), "meaning")[:1] == [wanted], query
    for query in ("volcano eruption", "symphony orchestra", "quantum chromodynamics", "xyzzy"):
        assert by(run("search.explain", search=query), "meaning") == [], query


def test_the_vectors_of_a_text_are_the_same_wherever_they_are_made() -> None:
    texts = ["Ada Lovelace", "東京", "", " ", "\x00", "x " * 900, *(f"text {i}" for i in range(300))]
    first, second = LocalEmbedder(), LocalEmbedder()
    together = first.vectors(texts)
    assert [second.vectors([text])[0] for text in texts] == together
    assert together[2] is None
    for vector in together:
        if vector is not None:
            assert len(vector) == meaning.DIMENSIONS
            assert max(map(abs, vector)) == COMPONENT_LIMIT


def test_a_search_by_meaning_finds_no_entity_of_another_owner(
    run: Call, loop: Loop, services: Services
) -> None:
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    hers = store(stranger, {"name": "Buy milk and eggs"})
    assert run("search.explain", search="grocery shopping milk")["entities"] == []
    (mine,) = store(run, {"name": "Milk and bread"})
    assert by(run("search.explain", search="buy milk"), "meaning") == [mine]
    assert by(stranger("search.explain", search="buy milk"), "meaning") == hers


def test_owners_whose_ids_share_parts_see_nothing_of_each_other(loop: Loop, services: Services) -> None:
    first = str(uuid.uuid4())
    parts = first.split("-")
    ids_ = [first, "-".join([*parts[:4], uuid.uuid4().hex[:12]]), "-".join([parts[0][::-1], *parts[1:]])]
    runs = [by_runner(loop, services, owner) for owner in ids_]
    ids_by_owner = [store(run, {"name": "Shared words"}) for run in runs]
    for run, mine in zip(runs, ids_by_owner, strict=True):
        explained = run("search.explain", search="shared words")
        assert by(explained, "text") == by(explained, "meaning") == by(explained, "exact") == mine


@pytest.mark.parametrize("newest_first", [False, True])
def test_the_points_are_the_sum_of_their_parts(
    run: Call, loop: Loop, services: Services, owner: str, newest_first: bool
) -> None:
    both, named, expenses = store(
        run,
        {"name": "Budget meeting", "note": "finance meeting"},
        {"name": "Planning", "aliases": ["budget meeting"]},
        {"name": "Discussion of expenses", "note": "a gathering about the finances and the spending plan"},
    )
    explained = run("search.explain", search="budget meeting", newest_first=newest_first)
    assert by(explained, "exact") == [both, named]
    for entity in explained["entities"]:
        assert sum(entity["parts"].values()) == pytest.approx(entity["points"], abs=1e-8)
        assert ("exact" in entity["parts"]) == ("exact" in entity["ranks"])
    assert set(ids(explained)[:2]) == {both, named}
    assert explained["total"] == len(explained["entities"])
    assert explained["entities"][0]["matched"] == ["name", "text", "meaning"] or newest_first
    following = run("search.explain", search="budget meeting", newest_first=newest_first, offset=1, limit=1)
    assert following["entities"] == explained["entities"][1:2]
    assert expenses in ids(explained) or expenses not in by(explained, "meaning")


def test_each_part_of_the_points_is_what_the_order_says(run: Call) -> None:
    store(
        run,
        {"name": "Budget meeting", "note": "finance meeting"},
        {"name": "Planning", "aliases": ["budget meeting"]},
        {"name": "A meeting of gardeners", "note": "about roses"},
        *({"name": name} for name in ("A harbour", "A railway", "A painter")),
    )
    explained = run("search.explain", search="budget meeting")
    best = max(entity["scores"].get("text", 0) for entity in explained["entities"])
    for entity in explained["entities"]:
        parts, scores = entity["parts"], entity["scores"]
        assert parts.get("meaning", 0) == scores.get("meaning", 0)
        assert parts.get("text", 0) == pytest.approx(0.5 * scores.get("text", 0) / best, abs=2e-6)
    parts = {entity["canonical_name"]: entity["parts"] for entity in explained["entities"]}
    assert (parts["Budget meeting"]["name"], "name" in parts["Planning"]) == (0.2, False)
    assert 0 < parts["A meeting of gardeners"]["name"] < 0.1
    assert parts["Budget meeting"]["exact"] > parts["Planning"]["exact"] > 4
    assert "exact" not in parts["A meeting of gardeners"]


def test_what_is_raised_as_the_newest_says_by_how_much(run: Call) -> None:
    for number in range(3):
        store(run, {"name": f"Lena lives in town {number}"})
    plain = run("search.explain", search="where does Lena live")["entities"]
    raised = run("search.explain", search="where does Lena live", newest_first=True)["entities"]
    assert not any("newest_first" in entity["parts"] for entity in plain)
    assert all(entity["parts"]["newest_first"] > 0 for entity in raised)


def test_an_entity_that_is_named_in_two_ways_is_listed_once(run: Call) -> None:
    (boss, tom) = ids(run("store", entities=[
        {"entity_type": "person", "name": "Mara Holt", "email": "mara@example.org"},
        {"entity_type": "person", "name": "Tom Ek"},
    ]))  # fmt: skip
    run("relationships.create", relationship_type="REPORTS_TO", source_entity_id=tom, target_entity_id=boss)
    explained = run("search.explain", search="Is Mara Holt Tom Ek's boss?")
    (exact,) = [each for each in explained["strategies"] if each["strategy"] == "exact"]
    assert [hit["entity_id"] for hit in exact["hits"]] == [boss, tom]
    assert [hit["rank"] for hit in exact["hits"]] == [1, 2]
    assert exact["found"] == 2
    first = explained["entities"][0]
    assert (first["entity_id"], first["ranks"]["exact"], first["matched"][0]) == (boss, 1, "relationship")


def test_a_message_is_found_by_what_was_said_just_before_and_after_it(run: Call) -> None:
    said = ("Which quay was it, Ole?", "The one by the old crane.", "Oh, that one.", "Good night then.")
    messages = [
        {
            "entity_type": "message", "message_id": f"m{i}", "conversation": "Ole and Siv", "text": text,
            "sent_at": f"2026-03-01T10:0{i}:00Z", "observed_at": f"2026-03-01T10:0{i}:00Z",
        }
        for i, text in enumerate(said)
    ]  # fmt: skip
    alone = {**messages[1], "message_id": "m9", "conversation": "Ann and Bea", "text": "By a new crane too."}
    stored = run("store", entities=[*messages, alone])["entities"]
    by_words = {
        row["entity_id"]: row["parts"].get("text", 0)
        for row in run("search.explain", search="quay")["entities"]
    }
    scores = [by_words.get(entity["entity_id"], 0) for entity in stored]
    assert scores[0] > scores[1] > 0
    assert not any(scores[2:])


def test_a_type_narrows_every_strategy_before_its_limit(run: Call) -> None:
    items = [{"entity_type": kind, "name": "Blue guitar lessons"} for kind in ("thing", "gadget", "widget")]
    entity_ids = ids(run("store", entities=items))
    explained = run("search.explain", search="guitar", filters={"entity_types": ["gadget"]}, limit=1)
    for strategy in ("text", "meaning"):
        assert by(explained, strategy) == [entity_ids[1]]
    assert run("search.explain", search="guitar", filters={"entity_type": "unicorn"})["entities"] == []


# At once


def everywhere(run: Call, entity_id: str, *, name: str, email: str, word: str, paraphrase: str) -> list[bool]:
    """Return whether an entity is found by id, identifier, name, text and meaning."""
    ways = [("entities.find", entity_id), ("entities.find", email), ("entities.find", name)]
    hits = [entity_id in ids(run(way, identifier=what)) for way, what in ways]
    explained = run("search.explain", search=word), run("search.explain", search=paraphrase)
    return [*hits, entity_id in by(explained[0], "text"), entity_id in by(explained[1], "meaning")]


def test_an_acknowledged_entity_is_found_at_once_in_every_way(run: Call) -> None:
    milk = {"name": "Milk and eggs", "email": "milk@example.org", "note": "groceries to buy"}
    arguments = {
        "name": "milk and eggs",
        "email": "MILK@example.org",
        "word": "groceries",
        "paraphrase": "grocery shopping",
    }
    (milk_id,) = store(run, milk)
    (other_id,) = store(run, {"name": "Something else"})
    assert everywhere(run, milk_id, **arguments) == [True] * 5
    run("entities.correct", entity_id=milk_id, field="note", value="a song about the sea")
    run("entities.correct", entity_id=milk_id, field="name", value="Sea song")
    # The name that it had leads to it still.
    assert everywhere(run, milk_id, **arguments) == [True, True, True, False, False]
    assert by(run("search.explain", search="music about the ocean"), "meaning") == [milk_id]
    run("entities.correct", entity_id=milk_id, field="name", value=milk["name"])
    run("entities.correct", entity_id=milk_id, field="note", value=milk["note"])
    assert everywhere(run, milk_id, **arguments) == [True] * 5
    run("entities.delete", entity_id=milk_id)
    assert everywhere(run, milk_id, **arguments) == [False] * 5
    run("entities.restore", entity_id=milk_id)
    assert everywhere(run, milk_id, **arguments) == [True] * 5
    run("entities.merge", source_entity_id=milk_id, target_entity_id=other_id)
    assert everywhere(run, milk_id, **arguments) == [False] * 5
    # Its id, and all that names it, leads to what it is merged into.
    assert everywhere(run, other_id, **{**arguments, "paraphrase": "milk and eggs"}) == [True] * 5
    run("entities.unmerge", source_entity_id=milk_id)
    assert everywhere(run, milk_id, **arguments) == [True] * 5
    assert run("server.check_snapshots")["healthy"]


def test_a_field_that_a_schema_hides_is_found_only_when_it_is_declared_again(
    run: Call, loop: Loop, services: Services
) -> None:
    (entity_id,) = store(run, {"name": "one", "note": "needle"})
    schema = {"entity_type": "thing", "fields": {"name": "string"}, "additional_fields": "hide"}
    run("schemas.register", schema=schema)
    run("entities.get", entity_id=entity_id)
    assert hits_by_words(run, "needle") == []
    run("schemas.update", entity_type="thing", new_fields={"note": "string"})
    run("entities.get", entity_id=entity_id)
    assert hits_by_words(run, "needle") == [entity_id]
    assert run("server.check_snapshots")["healthy"]


# Vectors of a model


class Older(LocalEmbedder):
    """The same model under another name."""

    model = "older"


def test_vectors_of_another_model_are_made_anew_and_pending_until_then(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    older = replace(services, embedder=Older())
    loop.run(claim(services))
    (entity_id,) = store(run, {"name": "Milk and eggs"})
    older_run = by_runner(loop, older, owner)
    explained = older_run("search.explain", search="grocery shopping milk")
    assert (explained["semantic"], by(explained, "meaning")) == ("pending", [])
    assert older_run("entities.find", identifier="grocery shopping")["semantic"] == "pending"
    assert (older_run("server.stats")["semantic_pending"], run("server.stats")["semantic_pending"]) == (1, 0)
    assert older_run("server.check_snapshots")["healthy"]
    assert loop.run(make_vectors(older, owner)) == 0, "the model in use is another one"
    loop.run(claim(older))
    while older_run("server.stats")["semantic_pending"]:
        loop.run(make_vectors(older, owner))
    explained = older_run("search.explain", search="grocery shopping milk")
    assert (explained["semantic"], by(explained, "meaning")) == ("ready", [entity_id])
    loop.run(claim(services))
    while run("server.stats")["semantic_pending"]:
        loop.run(make_vectors(services, owner))
    assert by(run("search.explain", search="grocery shopping milk"), "meaning") == [entity_id]


def test_vectors_of_passages_that_were_divided_otherwise_are_made_anew(
    run: Call, loop: Loop, services: Services, owner: str, script: Script
) -> None:
    """An earlier version cut a sentence after 2,000 characters, and called its model so."""
    loop.run(claim(services))
    store(run, {"name": "A long evening", "note": "we talked about the weather " * 100})
    earlier = "wordllama l2_supercat 256, lower case, passages"
    packed = "MATCH (n:Meaning {owner: $owner}) RETURN n.packed AS packed"
    (row,) = script(packed)
    script("MATCH (n:Meaning {owner: $owner}) SET n.packed = $old, n.model = $model",
           old=row["packed"][: 2 * 256], model=earlier)  # fmt: skip
    script("MATCH (n:Model {use: 'meaning'}) SET n.model = $model", model=earlier)
    # The worker of any process may make the vectors anew at any time from here on.
    assert run("server.check_snapshots")["healthy"]
    loop.run(claim(services))
    while run("server.stats")["semantic_pending"]:
        loop.run(make_vectors(services, owner))
    assert script(packed) == [row]
    assert run("server.check_snapshots")["healthy"]
    assert run("search.explain", search="rain")["semantic"] == "ready"


DAMAGES = {
    "its text": ("MATCH (n:Entity {id: $id}) SET n.text = 'other'", "text"),
    "no meaning": ("MATCH (n:Meaning {entity_id: $id}) DELETE n", "meaning"),
    "no vector": ("MATCH (n:Meaning {entity_id: $id}) SET n.packed = null", "meaning"),
    "what it is of": ("MATCH (n:Meaning {entity_id: $id}) SET n.of = 'x'", "meaning"),
    "its owner": ("MATCH (n:Meaning {entity_id: $id}) SET n.owner = 'x'", "meaning"),
    "one too many": (
        "CREATE (:Meaning {entity_id: $gone, owner: $owner, type: 'thing', of: 'x', model: 'y'})",
        "meaning",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_to_what_is_searched_is_named_and_mended(run: Call, script: Script, damage: str) -> None:
    entity_id, gone = store(run, {"name": "Milk and eggs"}, {"name": "Gone"})
    run("entities.delete", entity_id=gone)
    before = hits_by_words(run, "milk"), by(run("search.explain", search="buy milk"), "meaning")
    statement, what = DAMAGES[damage]
    script(statement, id=entity_id, gone=gone)
    report = run("server.check_snapshots")
    assert what in {each["what"] for stale in report["stale_snapshots"] for each in stale["differences"]}
    assert run("server.check_snapshots", auto_fix=True)["healthy"]
    assert run("server.check_snapshots")["stale"] == 0
    assert (hits_by_words(run, "milk"), by(run("search.explain", search="buy milk"), "meaning")) == before


def test_an_answer_says_when_meaning_could_not_be_searched(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    class Broken:
        model, at_once, floor = LocalEmbedder.model, False, 0.3

        async def embed(self, texts: Any) -> list[Vector | None]:
            raise EmbeddingUnavailable("it is down")

    (entity_id,) = store(run, {"name": "Milk and eggs"})
    broken_run = by_runner(loop, replace(services, embedder=Broken()), owner)
    explained = broken_run("search.explain", search="milk")
    assert (explained["semantic"], by(explained, "text")) == ("unavailable", [entity_id])
    assert "it is down" in json.dumps(explained["left_out"])
    missed = broken_run("entities.find", identifier="grocery shopping")
    assert (missed["semantic"], missed["match_mode"]) == ("unavailable", "none")


def test_the_text_for_search_is_the_folded_strings_of_an_entity(run: Call, script: Script) -> None:
    (entity_id,) = store(run, {"name": "Ada L.", "note": ["Café", {"deep": "O'Neil"}], "n": 3})
    (row,) = script("MATCH (n:Entity {id: $id}) RETURN n.text AS text", id=entity_id)
    assert row["text"] == "ada l | cafe | oneil"


# In a query


def test_a_query_may_search_and_pages_through_what_is_found(run: Call) -> None:
    items = [
        {"entity_type": kind, "name": f"Blue guitar {i}"} for i in range(3) for kind in ("thing", "gadget")
    ]
    entity_ids = ids(run("store", entities=[*items, {"entity_type": "thing", "name": "Cheese"}]))
    page = run("entities.query", search="blue guitar", include_total_count=True)
    assert (set(ids(page)), page["total"], page["semantic"]) == (set(entity_ids[:6]), 6, "ready")
    assert page["applied_search_strategies"] == ["exact", "text", "meaning"]
    explained = run("search.explain", search="blue guitar")
    assert ids(page) == ids(explained)
    parts = [ids(run("entities.query", search="blue guitar", limit=2, offset=k)) for k in (0, 2, 4, 6)]
    assert parts == [ids(page)[k : k + 2] for k in (0, 2, 4)] + [[]]
    narrowed = run("entities.query", search="guitar", entity_type="gadget", include_snapshots=False)
    assert set(ids(narrowed)) == set(entity_ids[1:6:2])
    assert "snapshot" not in narrowed["entities"][0]


def in_pages(run: Call, **arguments: Any) -> list[list[str]]:
    """Return the ids of each page of a query, by cursor."""
    page = run("entities.query", **arguments)
    pages = [ids(page)]
    while "next_cursor" in page:
        page = run("entities.query", **arguments, cursor=page["next_cursor"])
        pages.append(ids(page))
    return pages


def test_a_cursor_pages_through_a_search(run: Call, loop: Loop, services: Services, owner: str) -> None:
    store(run, *({"name": f"Blue guitar {number}"} for number in range(7)), {"name": "Cheese"})
    every = ids(run("entities.query", search="blue guitar", limit=50))
    assert len(every) == 7
    assert in_pages(run, search="blue guitar", limit=3) == [every[:3], every[3:6], every[6:]]
    page = run("entities.query", search="blue guitar", limit=3)
    # What comes meanwhile moves nothing behind the cursor.
    store(run, {"name": "Blue guitar blue guitar"})
    rest = ids(run("entities.query", search="blue guitar", limit=50, cursor=page["next_cursor"]))
    assert set(every[3:]) <= set(rest) | set(every[:3])
    for arguments in ({"search": "guitar"}, {"search": "blue guitar", "entity_type": "thing"}):
        with pytest.raises(InvalidCursor):
            run("entities.query", limit=3, cursor=page["next_cursor"], **arguments)
    with pytest.raises(InvalidInput):
        run("entities.query", search="blue guitar", cursor=page["next_cursor"], offset=1)


def test_filters_narrow_a_search(run: Call, loop: Loop, services: Services, owner: str) -> None:
    states = ("new", "used")
    items = [{"name": f"Blue guitar {n}", "price": n, "state": states[n % 2]} for n in range(9)]
    entity_ids = store(run, *items, {"name": "A piano", "price": 5})
    order = ids(run("entities.query", search="blue guitar"))
    used = [entity_id for entity_id in order if entity_id in entity_ids[1:9:2]]
    filters = {"snapshot_filters": {"state": {"op": "eq", "value": "used"}}}
    page = run("entities.query", search="blue guitar", filters=filters, include_total_count=True)
    assert (ids(page), page["total"], page["scanned"]) == (used, 4, 9)
    assert in_pages(run, search="blue guitar", filters=filters, limit=3) == [used[:3], used[3:]]
    assert ids(run("entities.query", search="blue guitar", filters=filters, offset=1, limit=2)) == used[1:3]
    cheap = {"snapshot_filters": {"price": {"op": "lt", "value": 2}}}
    assert set(ids(run("entities.query", search="blue guitar", filters=cheap))) == set(entity_ids[:2])
    since = {"created_since": run("entities.get", entity_id=entity_ids[3])["created_at"]}
    later = store(run, {"name": "Blue guitar of tomorrow"})
    recent = ids(run("entities.query", search="blue guitar", filters=since))
    assert set(recent) == {*entity_ids[:9], *later}
    never = {"created_since": "2999-01-01"}
    assert ids(run("entities.query", search="blue guitar", filters=never)) == []


def test_a_search_with_filters_goes_on_where_one_call_ends(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    entity_ids = store(run, *({"name": f"Blue guitar {n}", "n": n} for n in range(12)))
    limits = Limits(compared_entities=5, compared_at_once=(2, 3))
    limited = by_runner(loop, replace(services, limits=limits), owner)
    filters = {"snapshot_filters": {"n": {"op": "gte", "value": 10}}}
    pages = in_pages(limited, search="blue guitar", filters=filters)
    assert len(pages) == 3
    assert {entity_id for page in pages for entity_id in page} == set(entity_ids[10:])
    assert limited("entities.query", search="blue guitar", filters=filters)["truncated"]


def test_the_newest_of_what_contradicts_comes_first_where_it_is_asked_for(run: Call) -> None:
    says = (
        "Tom lives in Oslo now",
        "Tom moved to a house at the harbour of Bergen and lives there with his dog",
        "Tom lives in Paris these days",
    )
    items = [
        {"entity_type": "note", "text": text, "observed_at": f"202{year}-03-01T00:00:00Z"}
        for text, year in zip(says, (4, 6, 5), strict=True)
    ]
    oslo, bergen, paris, _ = ids(
        run("store", entities=[*items, {"entity_type": "note", "text": "Ann paints"}])
    )
    answer = run("entities.query", search="Where does Tom live?", newest_first=True)
    assert ids(answer)[:3] == [bergen, paris, oslo]
    assert in_pages(run, search="Where does Tom live?", newest_first=True, limit=2)[0] == [bergen, paris]
    assert ids(run("entities.query", search="Where does Tom live?"))[:3] != [bergen, paris, oslo]
    explained = run("search.explain", search="Where does Tom live?", newest_first=True)
    assert ids(explained)[:3] == [bergen, paris, oslo]
    plain = run("search.explain", search="Where does Tom live?")
    assert "newest_first" in explained["order"]
    assert "newest_first" not in plain["order"]
    points, best = [entity["points"] for entity in explained["entities"]], plain["entities"][0]["points"]
    assert best + 1 > points[0] > points[1] > points[2] > best


def test_other_spellings_search_as_well(run: Call) -> None:
    (entity_id,) = store(run, {"name": "Blue guitar"})
    for spelled in ("search", "query", "search_query"):
        assert ids(run("entities.query", **{spelled: "guitar"})) == [entity_id]


@pytest.mark.parametrize(
    "more",
    [
        {"sort_by": "canonical_name"}, {"sort_order": "desc"}, {"include_deleted": True},
        {"include_merged": True},
    ],
)  # fmt: skip
def test_a_search_is_not_mixed_with_what_it_does_not_look_at(run: Call, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        run("entities.query", search="x", **more)
    (issue,) = refused.value.details["issues"]
    assert issue["path"].endswith(next(iter(more)))
    assert "search" in issue["message"]
