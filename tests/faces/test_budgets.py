"""The budget ``max_characters``: answers stay within it, pages tile, and what is left out is said."""

from __future__ import annotations

import json
import random
from typing import Any

import orjson
import pytest

from graphmem.errors import InvalidInput
from graphmem.mcp.tools import DEFAULTS
from graphmem.registry import REGISTRY
from tests.support.examples import LONG
from tests.support.faces import Call
from tests.support.walks import walk_over

COUNT = 40
BUDGETED = {
    name for name, operation in REGISTRY.items() if "max_characters" in operation.arguments.model_fields
}
HUB = {"entity_type": "company", "name": "Acme"}
LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "entities.query": ("entities", {"entity_type": "task", "sort_by": "canonical_name"}),
    "entities.related": ("entities", {"entity_id": "$hub"}),
    "graph.neighborhood": ("relationships", {"node_id": "$hub"}),
    "observations.query": ("observations", {"entity_type": "task"}),
    "relationships.list": ("relationships", {"entity_id": "$hub", "expand_entities": True}),
    "schemas.list": ("schemas", {"include_shipped": True}),
    "timeline.list": ("events", {"entity_type": "task"}),
}
"""Lists that go on: the list of the answer, and the arguments of a call."""
WAYS = [(name, "cursor") for name in LISTS if name != "graph.neighborhood"] + [
    (name, "offset")
    for name in ("entities.query", "graph.neighborhood", "observations.query", "relationships.list")
]
"""How each list goes on."""
KEYS = ("entity_id", "relationship_key", "id", "entity_type")


def items(seed: int) -> list[dict[str, Any]]:
    """Return tasks with texts of very different lengths."""
    chance = random.Random(seed)
    return [
        {
            "entity_type": "task", "title": f"task {i}", "due_date": f"2026-03-{i % 28 + 1:02}",
            "notes": "é\n\x00😀x" * int(chance.paretovariate(0.9)),
        }
        for i in range(COUNT)
    ]  # fmt: skip


@pytest.fixture
def hub(run: Call) -> str:
    """A company that is related to tasks of many sizes."""
    links = [
        {"relationship_type": "RELATED_TO", "source_index": COUNT, "target_index": i} for i in range(COUNT)
    ]
    answer = run("store", entities=[*items(1), HUB], relationships=links)
    return answer["entities"][COUNT]["entity_id"]


def filled(arguments: dict[str, Any], hub: str) -> dict[str, Any]:
    return {name: hub if value == "$hub" else value for name, value in arguments.items()}


def size(answer: dict[str, Any]) -> int:
    """Return the characters of an answer as the registry writes it."""
    return len(orjson.dumps(answer).decode())


def keys(part: list[dict[str, Any]]) -> list[str]:
    return [next(item[key] for key in KEYS if key in item) for item in part]


@walk_over("name, by", WAYS)
def test_pages_within_a_budget_tile(run: Call, hub: str, name: str, by: str) -> None:
    member, arguments = LISTS[name]
    arguments = filled(arguments, hub)
    place = {"cursor": "next_cursor", "offset": "next_offset"}[by]
    everything = run(name, **arguments)
    whole = keys(everything[member])
    assert len(whole) > 10
    for budget in (2_500, 6_001, 20_000) if LONG else (2_500, 20_000):
        seen: list[str] = []
        more: dict[str, Any] = {}
        counts: list[int] = []
        while True:
            page = run(name, **arguments, **more, max_characters=budget)
            assert size(page) <= budget
            seen += keys(page[member])
            counts.append(len(page[member]))
            if place not in page:
                break
            assert "answers what follows" in page["omitted"]["hint"]
            more = {by: page[place]}
        assert seen == whole, (budget, counts)
        assert (len(counts) > 1) == (size(everything) > budget)
    assert run(name, **arguments, max_characters=10_000_000) == everything


def test_a_budget_is_used(run: Call, hub: str) -> None:
    """An estimate that is too careful would cost a caller more calls."""
    task = {"entity_type": "task", "fields": ["title"]}
    page = run("entities.query", **task, max_characters=6_000)
    assert 4_800 < size(page) <= 6_000
    assert page["omitted"]["left_out"] == {"entities": COUNT - len(page["entities"])}
    assert (page["limit"], page["truncated"]) == (100, True)
    assert page["next_offset"] == len(page["entities"])
    assert "next_cursor" in page["omitted"]["hint"]


def test_a_search_goes_on_by_its_cursor(run: Call, hub: str) -> None:
    search = {"search": "task", "fields": ["title"]}
    whole = keys(run("entities.query", **search)["entities"])
    page = run("entities.query", **search, max_characters=4_000)
    rest = run("entities.query", **search, cursor=page["next_cursor"])
    assert keys(page["entities"]) + keys(rest["entities"]) == whole
    assert "next_cursor" in page["omitted"]["hint"]


def test_a_look_up_says_how_many_hits_it_leaves_out(run: Call) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada", "email": f"{i}@x.org"} for i in range(9)])
    page = run("entities.find", identifier="Ada", max_characters=2_000)
    assert page["total"] == 9
    assert page["omitted"]["left_out"] == {"entities": 9 - len(page["entities"])}
    assert "max_characters" in page["omitted"]["hint"]
    assert size(page) <= 2_000


def test_what_a_walk_leaves_out_is_counted_with_what_follows(run: Call, hub: str) -> None:
    page = run("entities.related", entity_id=hub, max_characters=9_000)
    assert page["truncated"]
    assert page["left_out"]["entities"] == COUNT - len(page["entities"])
    bare = run("entities.related", entity_id=hub, max_characters=9_000, include_entities=False)
    assert size(bare) <= 9_000
    rest = run("entities.related", entity_id=hub, include_entities=False, cursor=bare["next_cursor"])
    assert len(bare["relationships"]) + len(rest["relationships"]) == COUNT


LARGE = {
    "entity_type": "note", "title": "Large", "short": "kept", "text": "x" * 30_000, "other": "é\x00" * 4_000,
    "list": list(range(5_000)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("entities.get", {"entity_id": "$hub"}),
        ("entities.snapshot", {"entity_id": "$hub", "expand_provenance": True}),
        ("entities.find", {"identifier": "$hub"}),
        ("entities.query", {"entity_type": "note"}),
        ("observations.query", {"entity_id": "$hub"}),
        ("graph.neighborhood", {"node_id": "$hub", "include_observations": True}),
    ],
)
def test_one_large_thing_has_its_longest_values_shortened(
    run: Call, name: str, arguments: dict[str, Any]
) -> None:
    note = run("store", entities=[LARGE])["entities"][0]["entity_id"]
    for budget in (3_000, 20_000):
        answer = run(name, **filled(arguments, note), max_characters=budget)
        assert budget // 2 < size(answer) <= budget
        omitted = answer["omitted"]
        assert set(omitted["shortened"]) == {"text", "other", "list"}
        text = json.dumps(answer, ensure_ascii=False)
        assert '"kept"' in text
        assert "… [30000 characters]" in text
        (needed,) = [int(word) for word in omitted["hint"].split() if word.isdigit()]
        whole = run(name, **filled(arguments, note), max_characters=needed)
        assert whole == run(name, **filled(arguments, note))


def test_a_thing_of_very_many_fields_loses_its_last_ones_and_says_so(run: Call) -> None:
    fields = {f"field_{i:03}": "some words" * 6 for i in range(300)}
    note = run("store", entities=[{"entity_type": "note", "title": "Wide", **fields}])["entities"][0]
    snapshot = run("entities.snapshot", entity_id=note["entity_id"], max_characters=3_000)
    assert size(snapshot) <= 3_000
    assert len(snapshot["snapshot"]) + snapshot["omitted"]["left_out"]["snapshot"] == 301
    assert set(snapshot["provenance"]) == set(snapshot["snapshot"])
    assert set(snapshot["omitted"]["shortened"]) <= {"canonical_name", *snapshot["snapshot"]}


def test_a_budget_that_nothing_fits_names_one_that_does(run: Call) -> None:
    note = run("store", entities=[{"entity_type": "n" * 64, "name": "x" * 900}])["entities"][0]["entity_id"]
    with pytest.raises(InvalidInput) as refused:
        run("entities.get", entity_id=note, max_characters=500)
    (issue,) = refused.value.details["issues"]
    assert issue["path"] == "$.max_characters"
    least = int(issue["message"].split()[-3])
    assert size(run("entities.get", entity_id=note, max_characters=least)) <= least


@walk_over("wrong", [499, 0, -1, True, "many"])
@walk_over("name", sorted(BUDGETED))
def test_a_budget_is_validated(run: Call, name: str, wrong: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        run(name, **{**REGISTRY[name].example, "max_characters": wrong})
    assert refused.value.details["issues"][0]["path"] == "$.max_characters"


def test_context_takes_a_budget_in_characters_beside_its_own(run: Call, hub: str) -> None:
    about = {"entity_id": hub}
    page = run("context.retrieve", format="fields", **about, max_characters=1_500)
    assert size(page) <= 1_500
    assert (page["unit"], page["budget"]) == ("characters", 1_500)
    rest = run("context.retrieve", format="fields", **about, budget=100_000, cursor=page["next_cursor"])
    whole = run("context.retrieve", format="fields", **about, budget=100_000)
    assert len(page["lines"]) + len(rest["lines"]) == len(whole["lines"])
    assert run("context.retrieve", **about, max_characters=100_000) == run("context.retrieve", **about)


def test_a_store_answers_ids_rather_than_what_it_was_sent(run: Call, mcp: Call) -> None:
    arguments = {"entities": items(2), "idempotency_key": "budget"}
    whole = run("store", **arguments)
    for budget, has_snapshots in ((size(whole) - 100, True), (12_000, False), (500, False)):
        answer = run("store", **arguments, max_characters=budget)
        ids = [(entry["entity_id"], entry["observation_id"]) for entry in answer["entities"]]
        assert ids == [(entry["entity_id"], entry["observation_id"]) for entry in whole["entities"]]
        assert any("entity_snapshot_after" in entry for entry in answer["entities"]) == has_snapshots
        assert has_snapshots == ("left_out" not in answer["omitted"]) == ("shortened" in answer["omitted"])
        assert size(answer) <= max(budget, COUNT * 400)
    assert size(mcp("store", **arguments)) <= DEFAULTS["max_characters"]


def test_a_correction_of_a_large_thing_answers_within_its_size(run: Call) -> None:
    note = run("store", entities=[LARGE])["entities"][0]["entity_id"]
    change = {"entity_id": note, "max_characters": 2_000}
    corrected = run("entities.correct", **change, field="short", value="corrected")
    assert size(corrected) <= 2_000
    assert corrected["snapshot"]["short"] == "corrected"
    assert set(corrected["omitted"]["shortened"]) == {"text", "other", "list"}
    observed = run("observations.create", **change, fields={"short": "again"})
    assert size(observed) <= 2_000


def test_proposals_that_are_costly_to_make_go_on_by_offset(run: Call) -> None:
    names = ("Ada Lovelace", "Ada Lovelase", "Adda Lovelace", "Ada Lovelance", "Lovelace Ada", "Ada Lovlace")
    run("store", entities=[{"entity_type": "person", "name": name} for name in names])
    pairs = {"entity_type": "person", "threshold": 0.5}
    whole = run("entities.duplicates", **pairs)["candidates"]
    assert len(whole) > 10
    seen: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = run("entities.duplicates", **pairs, offset=offset, max_characters=3_000)
        assert size(page) <= 3_000
        seen += page["candidates"]
        assert ("omitted" in page) == ("next_offset" in page)
        offset = page.get("next_offset")
    assert seen == whole


def test_an_explanation_and_a_history_stay_within_a_size(run: Call, hub: str) -> None:
    explained = run("search.explain", search="task", max_characters=5_000)
    assert size(explained) <= 5_000
    assert explained["omitted"]["left_out"]["entities"] == COUNT - len(explained["entities"])
    note = run("store", entities=[LARGE])["entities"][0]["entity_id"]
    for i in range(20):
        run("observations.create", entity_id=note, fields={"text": f"{i}" * 5_000})
    provenance = run("entities.provenance", entity_id=note, field="text", max_characters=2_000)
    assert size(provenance) <= 2_000
    assert provenance["omitted"]["shortened"]
    link = run("relationships.list", entity_id=hub, limit=1)["relationships"][0]
    key = link["relationship_key"]
    ends = {name: link[name] for name in ("relationship_type", "source_entity_id", "target_entity_id")}
    run("relationships.create", **ends, metadata={"note": "x" * 9_000})
    history = run("relationships.snapshot", relationship_key=key, max_characters=3_000)
    assert size(history) <= 3_000
    assert history["omitted"]["shortened"] == ["note"]


def test_lists_of_types_and_schemas_stay_within_a_size(run: Call, owner: str) -> None:
    stem = f"LISTED_{owner[:8].upper()}"
    for i in range(12):
        run("relationship_types.register", relationship_type=f"{stem}_{i:02}", description="words" * (i + 1))
    # The types of other tests, on the same database, are left out: they may come between two pages.
    whole = run("relationship_types.list", keyword=stem)["relationship_types"]
    assert len(whole) == 12
    seen: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = run("relationship_types.list", keyword=stem, offset=offset, max_characters=1_500)
        assert size(page) <= 1_500 < size({"relationship_types": whole})
        seen += page["relationship_types"]
        offset = page.get("next_offset")
    assert seen == whole
    fields = {f"field_{i:03}": {"type": "string", "description": "some words" * 6} for i in range(200)}
    registered = run(
        "schemas.register", schema={"entity_type": "wide", "fields": fields}, max_characters=4_000
    )
    assert size(registered) <= 4_000
    assert registered["transaction_id"]
    described = run("schemas.get", entity_type="wide", max_characters=4_000)
    assert size(described) <= 4_000
    assert len(described["fields"]) + described["omitted"]["left_out"]["fields"] == 200
    updated = run("schemas.update", entity_type="wide", new_fields={"more": "number"}, max_characters=2_000)
    assert size(updated) <= 2_000
    assert updated["fields_added"] == ["more"]


def test_proposals_and_counts_stay_within_a_size(run: Call) -> None:
    wide = {f"field_{i:03}": "a text" for i in range(100)}
    run("store", entities=[{"entity_type": "bare", "name": f"{i}", **wide} for i in range(10)])
    run("store", entities=[{"entity_type": f"kind_{i:03}", "name": "Ada"} for i in range(100)])
    run("schemas.register", schema={"entity_type": "bare", "fields": {"name": {"type": "string"}}})
    for name, arguments, member in (
        ("schemas.analyze", {"entity_type": "bare"}, "candidates"),
        ("schemas.recommend", {"entity_type": "bare"}, "recommendations"),
        ("server.stats", {}, "entities_by_type"),
    ):
        whole, answer = run(name, **arguments), run(name, **arguments, max_characters=2_500)
        assert size(answer) <= 2_500 < size(whole)
        assert len(answer[member]) + answer["omitted"]["left_out"].get(member, 0) == len(whole[member])


def test_one_relationship_stays_within_a_size(run: Call, hub: str) -> None:
    link = run("relationships.list", entity_id=hub, limit=1)["relationships"][0]
    ends = {name: link[name] for name in ("relationship_type", "source_entity_id", "target_entity_id")}
    made = run("relationships.create", **ends, metadata={"note": "x" * 9_000}, max_characters=2_000)
    assert size(made) <= 2_000
    answer = run("relationships.get", relationship_id=link["relationship_key"], max_characters=2_000)
    assert size(answer) <= 2_000
    assert made["omitted"]["shortened"] == answer["omitted"]["shortened"] == ["note"]


# Faces


def test_an_agent_gets_a_budget_and_others_none(run: Call, mcp: Call, rest: Call) -> None:
    run("store", entities=[LARGE])
    budget: int = DEFAULTS["max_characters"]
    whole = rest("entities.query", entity_type="note")
    assert "omitted" not in whole
    assert size(whole) > budget
    answer = mcp("entities.query", entity_type="note")
    assert budget // 2 < size(answer) <= budget
    assert answer["omitted"]["shortened"]
    assert "omitted" not in mcp("entities.query", entity_type="note", max_characters=None)


def test_every_face_takes_a_budget(call: Call, hub: str) -> None:
    page = call("entities.query", entity_type="task", max_characters=5_000)
    assert page["omitted"]["left_out"]["entities"] == COUNT - len(page["entities"])
