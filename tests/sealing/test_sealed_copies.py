"""A sealed and an open copy exchange facts: each stores them in its own way."""

from __future__ import annotations

from typing import Any

from graphmem.context import Services
from tests.support.copies import Copies, without_own
from tests.support.dumps import all_answers, store_rich_example, wipe
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner


def answers(run: Call) -> dict[str, Any]:
    assert run("server.check_snapshots")["healthy"]
    # Each copy learned of the facts at other times.
    return {name: without_own(each) for name, each in all_answers(run).items() if " at_ingested " not in name}


def test_a_sealed_and_an_open_copy_exchange_facts(
    loop: Loop, services: Services, sealed_services: Services, owner: str
) -> None:
    sealed, opened = (Copies(loop, each, owner) for each in (sealed_services, services))
    run_sealed, run_open = (by_runner(loop, each, owner) for each in (sealed_services, services))
    ids = store_rich_example(run_sealed)
    before, made = answers(run_sealed), sealed.all_pages(limit=9)
    wipe(loop, sealed_services, owner)
    for page in made:
        opened.unite(page, "sealed")
    assert answers(run_open) == before
    run_open("store", entities=[{"target_id": ids["ada"], "title": "Countess of Lovelace"}])
    before, made = answers(run_open), opened.all_pages(limit=9)
    wipe(loop, services, owner)
    for page in made:
        sealed.unite(page, "open")
    assert answers(run_sealed) == before
    wipe(loop, sealed_services, owner)
