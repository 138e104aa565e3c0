"""An observation that comes again from another transaction: the edge is a fact, and a dump has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.dump import CreateResult
from graphmem.errors import InternalError
from graphmem.model.fact_records import ObservationRecord, Record, Repeat, TransactionRecord
from tests.support import failpoints
from tests.support.copies import Copies, Copy
from tests.support.dumps import Dumps, all_answers
from tests.support.event_loop import Loop
from tests.support.faces import Call

AT, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
ACME = {"entity_type": "company", "name": "Acme"}
LINK = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
BOTH: dict[str, Any] = {"entities": [ADA, ACME], "relationships": [LINK], "observed_at": AT}
Repeats = Callable[[], list[list[str]]]


@pytest.fixture
def repeats(loop: Loop, services: Services, owner: str) -> Repeats:
    """The pairs of an observation and a transaction that recorded it again, in the order of time."""
    query: Any = (
        "MATCH (o:Observation {owner: $o})-[:also_in]->(t:Transaction) "
        "RETURN o.id AS id, t.id AS transaction_id ORDER BY t.sequence, o.id"
    )
    return lambda: [list(row.values()) for row in loop.run(services.database.script(query, o=owner))]


def dumped(dumps: Dumps, made: CreateResult) -> list[list[str]]:
    """Return the repeats of a dump."""
    pairs, transaction_id = [], ""
    for record in dumps.records(made):
        if isinstance(record, TransactionRecord):
            transaction_id = record.id
        elif isinstance(record, Repeat):
            pairs.append([record.id, transaction_id])
    return pairs


def store_again(run: Call) -> list[list[str]]:
    """Store an entity and a relationship again and again; return the repeats that this makes."""
    first = run("store", **BOTH)
    ada, acme = (item["observation_id"] for item in first["entities"])
    twice = run("store", entities=[ADA, ADA], observed_at=AT)["transaction_id"]
    all_again = run("store", **BOTH)
    (link,) = (edge["observation_id"] for edge in all_again["relationships_created"])
    partly: dict[str, Any] = {"entities": [ADA, {**ADA, "observed_at": LATER}], "observed_at": AT}
    last, _ = (run("store", **partly, idempotency_key="k")["transaction_id"] for _ in range(2))
    again = [[each, all_again["transaction_id"]] for each in sorted((ada, acme, link))]
    return [[ada, twice], *again, [ada, last]]


def test_an_observation_is_linked_to_each_transaction_that_recorded_it_again(
    run: Call, repeats: Repeats
) -> None:
    assert store_again(run) == repeats()
    stats = run("server.stats")
    assert (stats["total_observations"], stats["sequence"]) == (3, 4)
    assert run("server.check_snapshots")["healthy"]


def test_new_observations_and_replays_repeat_nothing(run: Call, repeats: Repeats) -> None:
    for _ in range(2):
        run("store", entities=[ADA], idempotency_key="k")
        run("store", entities=[ADA])
    run("store", entities=[ADA, ADA], observed_at=AT)
    assert repeats() == []


def test_repeats_come_back_from_a_dump(run: Call, dumps: Dumps, repeats: Repeats) -> None:
    store_again(run)
    before, pairs, made = all_answers(run), repeats(), dumps.create()
    assert (made.owners[0].counts["repeats"], sorted(dumped(dumps, made))) == (len(pairs), sorted(pairs))
    dumps.wipe()
    dumps.restore(made)
    assert (all_answers(run), repeats()) == (before, pairs)
    again = dumps.create("again")
    assert dumps.root(again) == dumps.root(made)
    known = dumps.restore(made)
    assert (known.transactions, known.observations, known.conflict_count) == (0, 0, 0)
    assert repeats() == pairs
    run("server.check_snapshots", auto_fix=True)
    assert repeats() == pairs


def test_in_the_union_of_two_histories_an_observation_of_both_has_both_transactions(
    run: Call, dumps: Dumps, repeats: Repeats
) -> None:
    run("store", **BOTH)
    first_dump = dumps.create("first")
    dumps.wipe()
    second = run("store", entities=[ADA], observed_at=AT)
    ada = second["entities"][0]["observation_id"]
    other = dumps.create("other")
    dumps.restore(first_dump)
    # The first of both recorded it, in whatever order they come.
    assert repeats() == [[ada, second["transaction_id"]]]
    union = dumps.create("union")
    dumps.wipe()
    dumps.restore(first_dump)
    dumps.restore(union)
    assert repeats() == [[ada, second["transaction_id"]]]
    for made in (first_dump, other, union):
        dumps.restore(made)
    assert repeats() == [[ada, second["transaction_id"]]]
    assert run("server.check_snapshots")["healthy"]


def test_the_first_transaction_has_an_observation_of_two_copies_where_the_page_was_cut(
    run: Call, repeats: Repeats, copies: Copies
) -> None:
    there, here = Copy("there"), Copy("here")
    copies.put(there)
    run("store", **BOTH)
    (page,) = copies.all_pages()
    copies.put(here)
    second = run("store", entities=[ADA], observed_at=AT)
    failpoints.arm("before:dump.settle_first=raise")
    try:
        with pytest.raises(InternalError):
            copies.unite(page)
    finally:
        failpoints.arm()
    copies.unite(page)
    assert repeats() == [[second["entities"][0]["observation_id"], second["transaction_id"]]]
    assert run("server.check_snapshots")["healthy"]


def test_a_repeat_may_stand_before_its_observation(run: Call, dumps: Dumps, repeats: Repeats) -> None:
    run("store", entities=[ADA], observed_at=AT)
    first_dump = dumps.create("first")
    dumps.wipe()
    second = run("store", entities=[ADA], observed_at=AT)
    ada = second["entities"][0]["observation_id"]
    dumps.restore(first_dump)
    union = dumps.create("union")
    pair = {type(each): each for each in dumps.records(union) if getattr(each, "id", "") == ada}

    def swapped(record: Record) -> Record:
        """Put the repeat where the observation is, as dumps have it that an earlier version made."""
        if getattr(record, "id", "") != ada:
            return record
        return pair[Repeat if isinstance(record, ObservationRecord) else ObservationRecord]

    earlier = dumps.forge(union, swapped)
    dumps.wipe()
    planned = dumps.restore(earlier, dry_run=True)
    restored = dumps.restore(earlier)
    assert repeats() == [[ada, second["transaction_id"]]]
    assert (planned.observations, planned.transactions) == (restored.observations, restored.transactions)
    assert dumps.root(dumps.create("again")) == dumps.root(union)
    assert run("server.check_snapshots")["healthy"]


def test_repeats_and_withdrawals_of_one_batch_are_both_restored(
    run: Call, dumps: Dumps, repeats: Repeats
) -> None:
    source_id = run("store", entities=[ADA], observed_at=AT, file_content="YWJj")["source_id"]
    run("store", entities=[ADA], observed_at=AT)
    older = dumps.create("older")
    run("store", entities=[ADA], observed_at=AT)
    run("sources.withdraw", source_id=source_id)
    pairs, newer = repeats(), dumps.create("newer")
    assert len(pairs) == 1
    dumps.wipe()
    dumps.restore(older)
    assert repeats() == []
    dumps.restore(newer)
    assert repeats() == pairs
    assert dumps.root(dumps.create("again")) == dumps.root(newer)
    assert run("server.check_snapshots")["healthy"]


def test_a_restore_that_was_cut_short_adds_what_is_missing(
    run: Call, dumps: Dumps, repeats: Repeats, loop: Loop, services: Services, owner: str
) -> None:
    store_again(run)
    pairs, made = repeats(), dumps.create()
    lost: Any = "MATCH (:Observation {owner: $o})-[r:also_in]->() WITH r LIMIT 2 DELETE r"
    loop.run(services.database.script(lost, o=owner))
    assert len(repeats()) == len(pairs) - 2
    dumps.restore(made)
    assert repeats() == pairs
