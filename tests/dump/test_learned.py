"""When a copy learned of a fact of another one: that is what `at_ingested` means there, and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, LiteralString, cast

import pytest

from graphmem.context import Services
from graphmem.errors import NotFound
from graphmem.interpretation import make_passages
from graphmem.model import times
from tests.support.copies import Copies, Copy, facts_hash
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.event_loop import Loop
from tests.support.faces import Call

AT = "2020-01-01T00:00:00Z"
ADA = {"entity_type": "person", "name": "Ada", "email": "ada@example.org", "born": 1815}
KING = {"entity_type": "person", "name": "Ada King", "born": 1816}
ENGINES = {"entity_type": "company", "name": "Engines"}
LINK = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
Learn = Callable[..., Copy]


@pytest.fixture
def learn(copies: Copies) -> Learn:
    """Have a copy take all that another one has, and open it."""

    def learn(there: Copy, here: Copy, *, joins: bool = False) -> Copy:
        copies.put(there)
        made = copies.all_pages()
        copies.put(here)
        for page in made:
            assert copies.unite(page, there.name, joins=joins).conflicts == []
        return here

    return learn


def now() -> str:
    return times.render(times.now())


def shown(call: Call, entity_id: str, **clock: Any) -> dict[str, Any] | None:
    """Return the snapshot of an entity as of a time, ``None`` if it is not known then."""
    try:
        answer = call("entities.snapshot", entity_id=entity_id, **clock)
    except NotFound:
        return None
    assert answer["snapshot"] or answer["canonical_name"].endswith(entity_id[4:12]), answer
    return answer["snapshot"] or None


def test_a_fact_is_known_from_when_the_copy_learned_of_it(run: Call, copies: Copies, learn: Learn) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    stored = run("store", entities=[ADA, ENGINES], relationships=[LINK], observed_at=AT)
    ada, engines = (each["entity_id"] for each in stored["entities"])
    (key,) = (each["relationship_key"] for each in stored["relationships_created"])
    between = now()

    def answers(clock: dict[str, str]) -> tuple[Any, ...]:
        related = run("relationships.list", source_entity_id=ada, **clock)["relationships"]
        neighbours = run("entities.related", entity_id=ada, **clock) if shown(run, ada, **clock) else None
        listed = run("entities.query", entity_type="person", **clock)["entities"]
        return (
            shown(run, ada, **clock), [each["relationship_key"] for each in related],
            [each["entity_id"] for each in listed], neighbours and neighbours["entities"],
        )  # fmt: skip

    known = answers({"at_ingested": between})
    assert (known[1], known[2]) == ([key], [ada])
    assert [each["entity_id"] for each in known[3]] == [engines]
    before = answers({"at": AT}), answers({"at": AT, "at_ingested": now()})
    learn(there, here)
    assert answers({"at_ingested": between}) == (None, [], [], None)
    assert answers({"at": AT, "at_ingested": between}) == (None, [], [], None)
    assert answers({"at_ingested": now()}) == known
    assert (answers({"at": AT}), answers({"at": AT, "at_ingested": now()})) == before
    (observation,) = run("observations.query", entity_id=engines)["observations"]
    assert observation["recorded_at"] < between < observation["learned_at"] < now()
    # What is written here afterwards is known from then on, and a page that comes again changes nothing.
    run("store", entities=[{"target_id": ada, "died": 1852}])
    later = now()
    learn(there, here)
    assert answers({"at_ingested": between}) == (None, [], [], None)
    assert shown(run, ada, at_ingested=later) == {
        "name": "Ada",
        "email": "ada@example.org",
        "born": 1815,
        "died": 1852,
    }
    assert run("server.check_snapshots")["healthy"]
    # The copy that wrote it knew it all the time.
    copies.put(there)
    assert answers({"at_ingested": between}) == known


def test_a_copy_that_joins_and_a_restored_dump_answer_as_their_source(
    run: Call, dumps: Dumps, copies: Copies, learn: Learn
) -> None:
    dumps.with_files = False
    there, here, joined = Copy("there"), Copy("here"), Copy("joined")
    copies.put(there)
    store_rich_example(run)
    learn(there, here)
    run("store", entities=[KING])
    made, answers, facts = dumps.create(), all_answers(run), facts_hash(dumps)
    learn(here, joined, joins=True)
    # The root of a dump has the times.
    assert dumps.root(dumps.create("joined")) == dumps.root(made)
    assert all_answers(run) == answers
    dumps.wipe()
    restored = dumps.restore(made)
    assert (restored.conflict_count, restored.transactions) == (0, answers["stats"]["sequence"])
    assert dumps.root(dumps.create("again")) == dumps.root(made)
    assert all_answers(run) == answers
    assert run("server.check_snapshots")["healthy"]
    # A copy that learned of the same at another time is no contradiction, and keeps its times.
    learn(here, there)
    assert facts_hash(dumps) == facts
    theirs = dumps.root(dumps.create("theirs"))
    assert theirs != dumps.root(made)
    again = dumps.restore(made)
    assert (again.conflict_count, again.transactions, again.observations) == (0, 0, 0)
    assert dumps.root(dumps.create("theirs again")) == theirs


def test_what_both_recorded_is_known_from_the_first_of_both(
    run: Call, dumps: Dumps, copies: Copies, learn: Learn
) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    (ada,) = (each["entity_id"] for each in run("store", entities=[ADA], observed_at=AT)["entities"])
    first = now()
    copies.put(here)
    run("store", entities=[ADA], observed_at=AT)
    second = now()
    learn(there, here)
    made = dumps.create()
    for _ in range(2):
        assert shown(run, ada, at_ingested=first) is None
        assert shown(run, ada, at_ingested=second)
        assert run("server.check_snapshots")["healthy"]
        (observation,) = run("observations.query", entity_id=ada)["observations"]
        assert observation["recorded_at"] < first < observation["learned_at"] < second
        dumps.wipe()
        dumps.restore(made)
    copies.open = None
    learn(here, there)
    assert shown(run, ada, at_ingested=first)
    (observation,) = run("observations.query", entity_id=ada)["observations"]
    assert "learned_at" not in observation


def test_merges_splits_and_dismissals_are_known_when_they_are_learned(
    run: Call, copies: Copies, learn: Learn
) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    stored = run("store", entities=[ADA, KING, {"entity_type": "person", "name": "Byron"}], observed_at=AT)
    ada, king, byron = (each["entity_id"] for each in stored["entities"])
    run("store", entities=[{"target_id": ada, "title": "Countess"}])
    learn(there, here)
    copies.put(there)
    both = now()
    run("entities.merge", source_entity_id=king, target_entity_id=ada)
    run("entities.dismiss_duplicates", entity_a=ada, entity_b=byron)
    moved = run(
        "entities.split", source_entity_id=ada,
        observation_field_equals={"field": "title", "value": "Countess"},
        new_entity={"entity_type": "person", "canonical_name": "Other"},
    )["new_entity_id"]  # fmt: skip
    merged = now()

    def survivor(moment: str) -> str:
        return run("entities.snapshot", entity_id=king, at_ingested=moment)["entity_id"]

    assert (survivor(both), survivor(merged)) == (king, ada)
    assert shown(run, moved, at_ingested=merged) == {"title": "Countess"}
    learn(there, here)
    assert (survivor(both), survivor(merged), survivor(now())) == (king, king, ada)
    assert shown(run, moved, at_ingested=both) is None
    assert shown(run, moved, at_ingested=merged) is None
    assert "title" in (shown(run, ada, at_ingested=merged) or {})
    assert shown(run, moved, at_ingested=now()) == {"title": "Countess"}
    assert run("server.check_snapshots")["healthy"]
    late = learn(there, Copy("late"))
    assert shown(run, moved, at_ingested=merged) is None
    assert shown(run, moved, at_ingested=now()) == {"title": "Countess"}
    assert late.name == "late"


def knowledge(run: Call, entity_ids: Sequence[str], **clock: Any) -> list[Any]:
    """Return what answers say now, or said as of a time."""
    listed = run("entities.query", entity_type="person", **clock)["entities"]
    related = run("relationships.list", **clock)["relationships"]
    return [
        [shown(run, each, **clock) for each in entity_ids],
        [each["version"] for each in listed], sorted(each["entity_id"] for each in listed),
        sorted((each["relationship_key"], each["snapshot"].get("since")) for each in related),
    ]  # fmt: skip


def test_a_copy_answers_what_it_knew_of_withdrawals_their_end_and_splits(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str, copies: Copies, learn: Learn
) -> None:
    dumps.with_files = False
    there, here = Copy("there"), Copy("here")
    answers = dict[str, list[tuple[str, list[Any]]]](there=[], here=[])
    copies.put(there)
    stored = run("store", entities=[ADA, KING, ENGINES], relationships=[LINK | {"target_index": 2}])
    ids = [each["entity_id"] for each in stored["entities"]]
    letter = base64.b64encode(b"Dear Ada, the Engine works").decode()
    item, link = {"target_id": ids[0], "seen": 1}, {**LINK, "metadata": {"since": 1833}}
    filed = run(
        "store", entities=[item, {**ENGINES, "seen": 1}], relationships=[link], file_content=letter,
        mime_type="text/plain",
    )  # fmt: skip

    def say(*, learns: bool = True) -> None:
        answers["there"].append((now(), knowledge(run, ids)))
        if learns:
            learn(there, here)
            answers["here"].append((now(), knowledge(run, ids)))
            copies.put(there)

    say()
    run("sources.withdraw", source_id=filed["source_id"])
    say(learns=False)
    copies.put(here)
    answers["here"].append((now(), knowledge(run, ids)))
    # Both are withdrawn: that of the transaction is known here before that of the file.
    run("writings.withdraw", transaction_id=filed["transaction_id"])
    answers["here"].append((now(), knowledge(run, ids)))
    copies.put(there)
    say()
    run("sources.reinstate", source_id=filed["source_id"])
    say()
    learn(here, there)
    run("writings.reinstate", transaction_id=filed["transaction_id"])
    say()
    part = run(
        "entities.split", source_entity_id=ids[0], observation_field_equals={"field": "seen", "value": 1},
        new_entity={"entity_type": "person", "canonical_name": "Other"},
    )  # fmt: skip
    ids.append(part["new_entity_id"])
    say()
    run("entities.unsplit", split_id=part["split_id"])
    say()

    def compare() -> None:
        assert run("server.check_snapshots")["healthy"]
        name = copies.open.name if copies.open else "here"
        for moment, said in answers[name]:
            assert knowledge(run, ids[: len(said[0])], at_ingested=moment) == said, (name, moment)

    compare()
    copies.put(here)
    compare()
    # A check mends what is noted by the clock of this copy.
    for property_ in ("excluded_learned", "learned_at"):
        damage = (
            f"MATCH ()-[seen:OBSERVED]->(o:Observation {{owner: $owner}}) WHERE seen.excluded IS NOT NULL "
            f"SET seen.{property_} = null"
        )
        loop.run(services.database.script(cast("LiteralString", damage), owner=owner))
        assert not run("server.check_snapshots")["healthy"]
        assert run("server.check_snapshots", auto_fix=True)["healthy"]
    damage = "MATCH (source:Source {owner: $owner}) SET source.excluded_learned = [1]"
    loop.run(services.database.script(damage, owner=owner))
    report = run("server.check_snapshots", auto_fix=True)
    named = [each["what"] for row in report["stale_snapshots"] for each in row["differences"]]
    assert any(what.startswith("learned") for what in named), named
    compare()
    made = dumps.create()
    dumps.wipe()
    dumps.restore(made)
    compare()


def test_of_what_is_learned_in_another_order_what_was_recorded_last_decides(
    run: Call, copies: Copies
) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    filed = run("store", entities=[{**ADA, "seen": 1}], file_content="YQ==")
    ada, source = filed["entities"][0]["entity_id"], filed["source_id"]
    run("sources.withdraw", source_id=source)
    between = now()
    run("sources.reinstate", source_id=source)
    stored, withdrawn, reinstated = copies.all_pages(limit=1)
    copies.put(here)
    copies.unite(stored)
    moments = [now()]
    for page in (reinstated, withdrawn):
        copies.unite(page)
        moments.append(now())
    assert shown(run, ada, at_ingested=between) is None
    assert all(shown(run, ada, at_ingested=moment) for moment in moments)
    # What was in force between counts in versions as where it was recorded.
    versions = [run("entities.snapshot", entity_id=ada, **clock)["version"] for clock in ({}, {"at": now()})]
    assert versions == [3, 3]
    assert run("server.check_snapshots")["healthy"]


def test_the_text_of_a_file_is_found_from_when_it_was_learned(
    run: Call, copies: Copies, learn: Learn, loop: Loop, services: Services, owner: str
) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    letter = base64.b64encode(b"Dear Ada, the Engine works").decode()
    source_id = run("store", file_content=letter, mime_type="text/plain")["source_id"]
    known = now()
    learn(there, here)
    while loop.run(make_passages(services, owner)):
        pass
    for moment, total in ((AT, 0), (known, 0), (now(), 1)):
        assert run("sources.search", search="Engine", at_ingested=moment)["total"] == total, moment
    copies.put(there)
    run("sources.withdraw", source_id=source_id)
    withdrawn = now()
    learn(there, here)
    for moment, total in ((withdrawn, 1), (now(), 0)):
        assert run("sources.search", search="Engine", at_ingested=moment)["total"] == total, moment


def test_what_changed_and_what_was_answered_is_the_same_in_every_copy(
    run: Call, copies: Copies, learn: Learn
) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    stored = run("store", entities=[ADA, ENGINES], relationships=[LINK], idempotency_key="first")
    ada, _ = (each["entity_id"] for each in stored["entities"])
    run("entities.correct", entity_id=ada, field="born", value=1816)
    run("entities.merge", source_entity_id=run("store", entities=[KING])["entities"][0]["entity_id"],
        target_entity_id=ada)  # fmt: skip

    def changes() -> list[Any]:
        listed = run("changes.list", limit=100)["changes"]
        return [{name: each[name] for name in each if name != "cursor"} for each in listed]

    again: dict[str, Any] = {"entities": [ADA, ENGINES], "relationships": [LINK], "idempotency_key": "first"}
    expected, replayed = changes(), run("store", **again)
    copies.put(here)
    run("store", entities=[{"entity_type": "note", "text": "of this copy"}])
    learn(there, here)
    kept = [
        each for each in changes() if each["transaction_id"] in {one["transaction_id"] for one in expected}
    ]
    assert kept == expected
    assert run("store", **again) == replayed
