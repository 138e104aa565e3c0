"""A sealed instance answers as another, has nothing in clear in its database, and reads nothing wrong."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.errors import DecryptionFailed, GraphmemError, InvalidInput, SearchMemoryExceeded
from graphmem.interpretation import make_passages
from graphmem.sealing.instance_keys import INSTANCE
from graphmem.search.search_copies import SearchCopies
from graphmem.worker import make_vectors
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call, by_runner
from tests.support.search_copies import with_copies
from tests.support.worker_pass import fold_stale

CANARY = "zephyrquartz"
QUESTIONS = (
    "Ada",
    "Countess",
    "ada@example.org",
    "1971",
    "Who works at Analytical Engines?",
    "cedar and plum",
)


@pytest.fixture
def run(loop: Loop, sealed_services: Services, owner: str) -> Call:
    return by_runner(loop, sealed_services, owner)


def found(call: Call) -> dict[str, Any]:
    """Return what searches, look-ups, contexts and lists answer to what is stored."""
    answers: dict[str, Any] = {}
    for question in QUESTIONS if LONG else QUESTIONS[::2]:
        answers[f"search {question}"] = call("entities.query", search=question)
        answers[f"context {question}"] = call("context.retrieve", question=question)
        answers[f"find {question}"] = call("entities.find", identifier=question)
        answers[f"sources {question}"] = call("sources.list", search=question)
    for order in ("canonical_name", "snapshot.born", *(("snapshot.name", "entity_id") if LONG else ())):
        for way in ("asc", "desc"):
            answers[f"{order} {way}"] = call("entities.query", sort_by=order, sort_order=way, limit=3)
    for operator, value in (("eq", 1815), ("gt", 1800), ("in", [1815, 1816])):
        filters = {"born": {"op": operator, "value": value}}
        answers[f"{operator} {value}"] = call("entities.query", filters={"snapshot_filters": filters})
    return answers


def test_a_sealed_instance_answers_as_another(
    loop: Loop, services: Services, sealed_services: Services, owner: str, tmp_path: Path
) -> None:
    plain = Dumps(loop, services, owner, tmp_path)
    call = by_runner(loop, services, owner)
    store_rich_example(call)
    while call("server.stats")["types_pending"]:
        # What a changed schema makes stale is said of each list.
        fold_stale(loop, services, call)
    before, found_before = all_answers(call), found(call)
    made = plain.create()
    plain.wipe()
    sealed = Dumps(loop, sealed_services, owner, tmp_path)
    sealed.restore(made)
    call = by_runner(loop, sealed_services, owner)
    while loop.run(make_vectors(sealed_services, owner)) + loop.run(make_passages(sealed_services, owner)):
        pass
    assert all_answers(call) == before
    report = call("server.check_snapshots")
    assert report["healthy"], report
    for question, answer in found(call).items():
        assert answer == found_before[question], question
    back = sealed.create("sealed")
    sealed.wipe()
    plain.restore(back, keys=sealed_services.keys)
    assert all_answers(by_runner(loop, services, owner)) == before


def stored(loop: Loop, services: Services, owner: str) -> dict[str, str]:
    """Return all properties of the nodes of an owner, and of their edges, by label or type and name."""
    script = (
        "MATCH (n) WHERE n.owner = $owner OPTIONAL MATCH (n)-[r]-() "
        "RETURN labels(n)[0] AS label, properties(n) AS node, type(r) AS type, properties(r) AS edge"
    )
    texts: dict[str, str] = {}
    for row in loop.run(services.database.script(script, owner=owner)):
        for kind, properties in ((row["label"], row["node"]), (row["type"], row["edge"] or {})):
            for name, value in properties.items():
                texts[f"{kind}.{name}"] = texts.get(f"{kind}.{name}", "") + str(value).lower()
    return texts


def test_no_value_name_or_text_is_in_the_database(
    run: Call, loop: Loop, sealed_services: Services, owner: str
) -> None:
    item = {
        "entity_type": "person",
        "name": f"Ada {CANARY}",
        "email": f"{CANARY}@example.org",
        "note": CANARY,
    }
    link = {"relationship_type": "KNOWS", "source_index": 0, "target_index": 1, "metadata": {"how": CANARY}}
    answer = run(
        "store",
        entities=[
            item,
            {"entity_type": "person", "name": "Eve", "aliases": [CANARY], "born": f"1815 {CANARY}"},
        ],
        relationships=[link],
        idempotency_key=CANARY,
    )
    ada, eve = (each["entity_id"] for each in answer["entities"])
    run("entities.correct", entity_id=eve, field="note", value=CANARY)
    run("entities.dismiss_duplicates", entity_a=ada, entity_b=eve, reason=CANARY)
    run("entities.merge", source_entity_id=eve, target_entity_id=ada, merge_reason=CANARY)
    file = base64.b64encode(f"The {CANARY} sings.".encode()).decode()
    source = run(
        "store", file_content=file, original_filename=f"{CANARY}.txt", file_idempotency_key=CANARY,
        entities=[{"entity_type": "event", "title": CANARY, "date": "2026-01-02",
                   "spans": {"title": {"line": 1, "quote": CANARY}}}],
    )["source_id"]  # fmt: skip
    table = base64.b64encode(f"entity_type,name,x\nperson,{CANARY},{CANARY}\n".encode()).decode()
    run("store", file_content=table, original_filename="people.csv")
    run(
        "interpretations.create",
        source_id=source,
        entities=[{"entity_type": "note", "title": CANARY}],
        interpreter=CANARY,
        interpreter_version=CANARY,
        interpretation_config={"prompt": CANARY},
        model=CANARY,
    )
    run("sources.withdraw", source_id=source, reason=CANARY)
    named = by_runner(loop, sealed_services, owner, client=CANARY)
    named("store", entities=[{"entity_type": "note", "title": CANARY}])
    loop.run(make_vectors(sealed_services, owner))
    loop.run(make_passages(sealed_services, owner))
    assert named("entities.query", search=CANARY)["entities"]
    assert run("sources.search", search=CANARY) is not None

    def written(**writer: str) -> int:
        return len(run("observations.query", **writer)["observations"])

    assert written(by_client=CANARY) == 1
    assert written(by_client="another") == 0
    run("writings.withdraw", by_client=CANARY, since="2020-01-01", until="2100-01-01", reason=CANARY)
    assert written(by_client=CANARY) == 0
    texts = stored(loop, sealed_services, owner)
    assert "🔒" in texts["Entity.values"]
    assert [name for name, text in texts.items() if CANARY in text] == []
    run("writings.reinstate", by_client=CANARY, since="2020-01-01", until="2100-01-01")
    assert written(by_client=CANARY) == 1


def test_a_message_of_a_conversation_with_a_long_name_is_found(run: Call) -> None:
    messages = [
        {"entity_type": "message", "id": str(number), "conversation": f"{'c' * 200} {number}",
         "text": "The looms are late."}
        for number in range(3)
    ]  # fmt: skip
    run("store", entities=messages)
    assert len(run("entities.query", search="looms")["entities"]) == 3


def test_fields_with_names_like_those_that_sealing_uses_stay(
    run: Call, loop: Loop, sealed_services: Services, owner: str, tmp_path: Path
) -> None:
    names = ["🔒", "🔒@x", "🔒@x🔒abc", "a|b", "wrt_" + "b" * 55, "wrt_" + "1" * 45]
    item = {"entity_type": "gadget", "name": "g", "born_on": "1815-12-10", **dict.fromkeys(names, "v")}
    other = {"entity_type": "gadget", "name": "h"}
    link = {
        "relationship_type": "KNOWS",
        "source_index": 0,
        "target_index": 1,
        "metadata": dict.fromkeys(names, "v"),
    }
    gadget = run("store", entities=[item, other], relationships=[link])["entities"][0]["entity_id"]
    now = run("entities.snapshot", entity_id=gadget)["snapshot"]
    assert {name: now[name] for name in names} == dict.fromkeys(names, "v")
    assert run("entities.snapshot", entity_id=gadget, at="2100-01-01")["snapshot"] == now
    (observation,) = run("observations.query", entity_id=gadget)["observations"]
    assert set(names) < set(observation["fields"])
    assert run("entities.query", entity_type="gadget", at="2100-01-01")["entities"][0]["snapshot"]
    assert all(f"'{name}'" in str(run("changes.list", limit=100)) for name in names)
    before = all_answers(run)
    dumps = Dumps(loop, sealed_services, owner, tmp_path)
    made = dumps.create()
    dumps.wipe()
    dumps.restore(made)
    assert all_answers(run) == before
    mark = sealed_services.keys.first_of(INSTANCE).mark  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.raises(InvalidInput):
        run("store", entities=[{"entity_type": "gadget", "name": "i", f"🔒{mark}x": "v"}])
    assert run("server.check_snapshots")["healthy"]


def change(loop: Loop, services: Services, entity_id: str, values: list[str]) -> None:
    script = "MATCH (n:Entity {id: $id}) SET n.values = $values"
    loop.run(services.database.script(script, id=entity_id, values=values))


def test_values_that_were_moved_in_the_database_are_answered_as_an_error(
    run: Call, loop: Loop, sealed_services: Services
) -> None:
    people = [{"entity_type": "person", "name": name, "title": f"T{name}"} for name in ("Ada", "Eve")]
    ada, eve = (each["entity_id"] for each in run("store", entities=people)["entities"])
    script = "MATCH (n:Entity) WHERE n.id IN $ids RETURN n.id AS id, n.values AS values"
    values = {
        row["id"]: row["values"] for row in loop.run(sealed_services.database.script(script, ids=[ada, eve]))
    }
    for wrong, error in (
        (values[eve], DecryptionFailed),
        ([*values[ada][:-1], values[ada][-1][:-4]], DecryptionFailed),
        (values[ada][::-1], GraphmemError),
    ):
        change(loop, sealed_services, ada, wrong)
        with pytest.raises(error) as refused:
            run("entities.snapshot", entity_id=ada)
        if error is DecryptionFailed:
            assert ada in str(refused.value)
    change(loop, sealed_services, ada, values[ada])
    assert run("entities.snapshot", entity_id=ada)["snapshot"]["title"] == "TAda"


def test_what_was_put_back_to_an_older_state_is_an_error_or_named_by_the_check(
    run: Call, loop: Loop, sealed_services: Services
) -> None:
    script = sealed_services.database.script
    (ada,) = run("store", entities=[{"entity_type": "person", "name": "Ada", "email": "ada@example.org"}])[
        "entities"
    ]
    (older,) = loop.run(
        script("MATCH (n:Entity {id: $id}) RETURN properties(n) AS kept", id=ada["entity_id"])
    )
    run("entities.correct", entity_id=ada["entity_id"], field="name", value="Countess")
    (newer,) = loop.run(
        script("MATCH (n:Entity {id: $id}) RETURN properties(n) AS kept", id=ada["entity_id"])
    )
    for name in ("values", "canonical_name", "sealed_text"):
        for kept in (older, newer):
            put = "MATCH (n:Entity {id: $id}) SET n[$name] = $value"
            loop.run(script(put, id=ada["entity_id"], name=name, value=kept["kept"][name]))
            report = run("server.check_snapshots")
            assert report["healthy"] == (kept is newer), name
            if name == "values" and kept is older:
                with pytest.raises(GraphmemError, match=ada["entity_id"]):
                    run("entities.snapshot", entity_id=ada["entity_id"])


@pytest.mark.parametrize("is_sealed", [False, True])
def test_an_identifier_within_a_text_is_found_in_clear_and_sealed_alike(
    loop: Loop, services: Services, sealed_services: Services, owner: str, is_sealed: bool
) -> None:
    run = by_runner(loop, sealed_services if is_sealed else services, owner)
    texts = (
        "Please pay INV-2024-001 soon.",
        "INV-2024-001-B came",
        "001, 2024 and INV",
        "We met on 8 May 2024",
    )
    items = [{"entity_type": "note", "canonical_name": text[:3], "text": text} for text in texts]
    items.append({"entity_type": "note", "canonical_name": "Long", "text": f"inv 2024 001 {'word ' * 900}"})
    run("store", entities=items, find_duplicates=False)
    found_by = {
        question: {each["canonical_name"] for each in run("entities.query", search=question)["entities"]}
        for question in ("INV-2024-001", "INV-2024-002", "2024-05-08", "Status of INV-2024-001?")
    }
    assert found_by["INV-2024-001"] == {"Ple", "Long"}
    assert (found_by["INV-2024-002"], found_by["2024-05-08"]) == (set(), {"We"})
    assert {"Ple", "Long"} <= found_by["Status of INV-2024-001?"]
    explained = run("search.explain", search="INV-2024-001")
    assert [sum(each["parts"].values()) for each in explained["entities"]] == [
        each["points"] for each in explained["entities"]
    ]


def test_an_owner_that_does_not_fit_into_memory_is_refused_and_not_answered_in_part(
    loop: Loop, sealed_services: Services, owner: str
) -> None:
    small = with_copies(sealed_services, SearchCopies(sealed_services.database, 1))
    run = by_runner(loop, small, owner)
    run("store", entities=[{"entity_type": "person", "name": f"Ada {number}"} for number in range(20)])
    for name, arguments in (
        ("entities.query", {"search": "Ada"}),
        ("entities.find", {"identifier": "a@b.org"}),
    ):
        with pytest.raises(SearchMemoryExceeded):
            run(name, **arguments)
    loop.run(small.of(SearchCopies).close())
