"""Large values and large requests: bounded answers, clear refusals, and never a part of a write."""

from __future__ import annotations

import pytest

from graphmem.errors import TransactionTooLarge
from tests.support.faces import Call

MEGABYTE = "x" * 1_000_000


def test_a_page_of_large_values_ends_early_and_goes_on_at_its_next_offset(run: Call) -> None:
    for i in range(12):
        run("store", entities=[{"entity_type": "blob", "name": f"n{i}", "text": MEGABYTE}])
    for name, key in (("entities.query", "entities"), ("observations.query", "observations")):
        seen: list[str] = []
        offset, pages = 0, 0
        while True:
            page = run(name, filters={"entity_type": "blob"}, offset=offset)
            seen += [item.get("entity_id") for item in page[key]]
            pages += 1
            if not page.get("truncated"):
                break
            offset = page["next_offset"]
        assert pages > 1
        assert len(seen) == len(set(seen)) == 12


def test_related_names_all_and_shows_what_fits(run: Call) -> None:
    names = [f"n{i}" for i in range(10)]
    blob_ids = [
        run("store", entities=[{"entity_type": "blob", "name": name, "text": MEGABYTE}])["entities"][0][
            "entity_id"
        ]
        for name in names
    ]
    hub = run("store", entities=[{"entity_type": "hub", "name": "h"}], relationships=[
        {"relationship_type": "OWNS", "source_index": 0, "target_entity_id": blob_id} for blob_id in blob_ids
    ])["entities"][0]["entity_id"]  # fmt: skip
    answer = run("entities.related", entity_id=hub)
    assert answer["total"] == 10
    assert answer["truncated"]
    assert 0 < len(answer["entities"]) < 10


def test_an_answer_of_many_items_of_one_large_entity_stays_bounded(run: Call) -> None:
    run("store", entities=[{"entity_type": "blob", "name": "n", "text": MEGABYTE}])
    answer = run("store", entities=[{"entity_type": "blob", "name": "n", "k": i} for i in range(20)])
    shown = [i for i, entity in enumerate(answer["entities"]) if "entity_snapshot_after" in entity]
    assert shown == [19]


def test_what_does_not_fit_into_a_transaction_is_refused_whole(run: Call) -> None:
    wide = {f"field{i}": "0123456789" for i in range(100)}
    items = [{"entity_type": "wide", "name": f"n{i}", **wide} for i in range(1_000)]
    before = run("server.stats")
    with pytest.raises(TransactionTooLarge) as refused:
        run("store", entities=items)
    assert refused.value.details == {"in_doubt": False}
    assert run("server.stats") == before
    assert len(run("store", entities=items[:300])["entities"]) == 300


def test_the_origin_of_a_walk_is_never_cut_in_silence(run: Call) -> None:
    kinds = ("OWNS", "MANAGES", "REFERS_TO", "PART_OF", "WORKS_AT", "FUNDED_BY", "EMBEDS", "CORRECTS")
    spokes = [{"entity_type": "spoke", "name": f"s{i}"} for i in range(200)]
    hub = run("store", entities=[{"entity_type": "hub", "name": "h"}, *spokes], relationships=[
        {"relationship_type": kind, "source_index": 0, "target_index": 1 + i}
        for kind in kinds for i in range(200)
    ])["entities"][0]["entity_id"]  # fmt: skip
    whole = run("entities.related", entity_id=hub, limit=500, include_entities=False)
    assert (whole["total"], whole["truncated"], len(whole["relationships"])) == (200, False, 1_600)
    part = run("entities.related", entity_id=hub, limit=50)
    assert (part["total"], part["truncated"], len(part["entities"])) == (200, True, 50)
    assert part["left_out"] == {"entities": 150, "relationships": 1_200, "unexplored": 0, "at_least": False}
