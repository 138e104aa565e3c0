"""Dismissals in dumps: they come back, the newest of a pair decides, and their entities may come later."""

from __future__ import annotations

from typing import Any

from graphmem.context import Services
from graphmem.model.fact_records import ObservationRecord, Record
from graphmem.writing import dismissed_pairs
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import Call


def apollos(run: Call) -> tuple[str, str]:
    """Store two entities of one name; return their ids, the lesser first."""
    items = [{"entity_type": "thing", "intent": "create_new", "name": "Apollo"} for _ in range(2)]
    a, b = sorted(entity["entity_id"] for entity in run("store", entities=items)["entities"])
    return a, b


def proposed(run: Call) -> list[Any]:
    return run("entities.duplicates", include_dismissed=True)["candidates"]


def test_a_dismissal_comes_back_with_all_that_is_said_of_it(run: Call, dumps: Dumps) -> None:
    a, b = apollos(run)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b, reason="twins")
    before, made = proposed(run), dumps.create()
    dumps.wipe()
    dumps.restore(made)
    assert proposed(run) == before
    assert "dismissed" in before[0]
    assert dumps.restore(made).transactions == 0


def test_of_two_histories_the_newest_dismissal_of_a_pair_decides(run: Call, dumps: Dumps) -> None:
    a, b = apollos(run)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    earlier = dumps.create("earlier")
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b, undo=True)
    later = dumps.create("later")
    for order in ((earlier, later), (later, earlier)):
        dumps.wipe()
        for made in order:
            dumps.restore(made)
        assert ["dismissed" in row for row in proposed(run)] == [False]


def test_a_dismissal_may_be_restored_before_its_entities(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str
) -> None:
    a, b = apollos(run)
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    made = dumps.create()
    dumps.wipe()

    def without_observations(record: Record) -> Record | None:
        return None if isinstance(record, ObservationRecord) else record

    dumps.restore(dumps.forge(made, without_observations))
    assert loop.run(dismissed_pairs(services.database.reads(owner), [a, b])) == []
    dumps.restore(made)
    (dismissed,) = loop.run(dismissed_pairs(services.database.reads(owner), [a]))
    assert dismissed.pair == dismissed.survivors == (a, b)


def test_a_dump_without_dismissals_does_not_count_them(run: Call, dumps: Dumps) -> None:
    a, b = apollos(run)
    assert "dismissals" not in dumps.create().manifest.contents["owners"][0]
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    assert dumps.create().manifest.contents["owners"][0]["dismissals"] == 1


def test_a_dismissal_that_ended_a_merge_by_rule_does_so_in_a_restore(run: Call, dumps: Dumps) -> None:
    person = {"entity_type": "person", "name": "Ada Lovelace"}
    a, b = (
        run("store", entities=[item])["entities"][0]["entity_id"]
        for item in (person, {**person, "email": "ada@example.org"})
    )

    def shown() -> list[str]:
        return [run("entities.get", entity_id=entity_id)["entity_id"] for entity_id in (a, b)]

    merged = dumps.create("merged")
    run("entities.dismiss_duplicates", entity_a=a, entity_b=b)
    apart = dumps.create("apart")
    for order, expected in (((merged,), [b, b]), ((apart,), [a, b]), ((merged, apart), [a, b])):
        dumps.wipe()
        for made in order:
            dumps.restore(made)
        assert shown() == expected
