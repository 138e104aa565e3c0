"""Pages of facts of one owner, taken in any order: the same state, without an audit of everything."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import zstandard

from graphmem.dump import pages
from graphmem.errors import PageDamaged
from tests.dump.test_union import other
from tests.support.copies import Copies, Copy, facts_hash, without_own
from tests.support.dumps import Dumps, all_answers, store_rich_example
from tests.support.faces import Call


def audited(run: Call) -> dict[str, Any]:
    """Return how the check of everything ends, which finds nothing to repair."""
    answer = run("server.check_snapshots")
    assert answer["healthy"], answer
    return answer


@pytest.mark.parametrize("limit", [500, 3])
def test_pages_bring_everything(run: Call, dumps: Dumps, copies: Copies, limit: int) -> None:
    dumps.with_files = False
    store_rich_example(run)
    before, root = all_answers(run), dumps.root(dumps.create())
    made = copies.all_pages(limit=limit)
    dumps.wipe()
    for page in made:
        copies.unite(page, joins=True)
    assert dumps.root(dumps.create()) == root
    audited(run)
    after = all_answers(run)
    assert {name: after[name] for name in before} == before
    for page in made:
        again = copies.unite(page)
        assert (again.transactions, again.observations, again.conflicts) == (0, 0, [])
    assert dumps.root(dumps.create()) == root


def test_two_histories_come_to_one_state_in_either_order(run: Call, dumps: Dumps, copies: Copies) -> None:
    dumps.with_files = False
    store_rich_example(run)
    rich = copies.all_pages(limit=4)
    dumps.wipe()
    other(run)
    of_other = copies.all_pages(limit=1)
    for page in rich:
        copies.unite(page)
    audited(run)
    root, stats = facts_hash(dumps), run("server.stats")
    dumps.wipe()
    for first, second in zip(rich, of_other * 9, strict=False):
        copies.unite(first)
        copies.unite(second)
    for page in (*of_other, *rich):
        copies.unite(page)
    audited(run)
    assert run("server.stats")["state_hash"] == stats["state_hash"]
    assert facts_hash(dumps) == root


def test_an_observation_comes_with_the_first_transaction_that_a_copy_has_of_it(
    run: Call, dumps: Dumps, copies: Copies
) -> None:
    """An older transaction of another copy recorded it too, but comes last in the order of this one."""
    ada = {"entity_type": "person", "name": "Ada", "observed_at": "2020-01-01T00:00:00Z"}
    run("store", entities=[ada])
    older = copies.all_pages()
    dumps.wipe()
    link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
    run("store", entities=[ada, {"entity_type": "company", "name": "Engines"}], relationships=[link])
    for page in older:
        copies.unite(page)
    before, made = all_answers(run), copies.all_pages(limit=1)
    for pages_of in (made, copies.all_pages()):
        dumps.wipe()
        assert [conflict for page in pages_of for conflict in copies.unite(page).conflicts] == []
        audited(run)
        after = all_answers(run)
        for name in before:
            # This copy learned of the facts at other times.
            assert " at_ingested " in name or without_own(after[name]) == without_own(before[name]), name


def test_a_page_repeats_what_was_withdrawn_here_and_withdraws_something(run: Call, copies: Copies) -> None:
    ada = {"entity_type": "person", "name": "Ada", "born": 1815, "observed_at": "2020-01-01T00:00:00Z"}
    first, second = Copy("first"), Copy("second")
    copies.put(first)
    stored, file = run("store", entities=[ada]), run("store", file_content="YQ==", mime_type="text/plain")
    begin = copies.all_pages()
    run("sources.withdraw", source_id=file["source_id"])
    run("store", entities=[ada])
    news = copies.all_pages(after=begin[-1].last)
    copies.put(second)
    for page in begin:
        copies.unite(page)
    run("writings.withdraw", transaction_id=stored["transaction_id"])
    for page in news:
        copies.unite(page)
    audited(run)
    (found,) = run("entities.query")["entities"]
    assert found["snapshot"]["born"] == 1815


def test_a_damaged_page_is_refused_whole(run: Call, copies: Copies, owner: str) -> None:
    run("store", entities=[{"entity_type": "person", "name": "Ada"}])
    (page,) = copies.all_pages()
    for data, sha256, of_owner in (
        (page.data[:-8], page.sha256, owner),
        (page.data, page.sha256[::-1], owner),
        ("no base64", page.sha256, owner),
        (page.data, page.sha256, "another"),
    ):
        with pytest.raises(PageDamaged):
            pages.read(of_owner, data, sha256)
    # Some kilobytes that would take more memory than a page may.
    large = base64.b64encode(zstandard.compress(bytes(pages.PAGE_BYTES_LIMIT + 1))).decode()
    with pytest.raises(PageDamaged, match="announces"):
        pages.read(owner, large, page.sha256)
