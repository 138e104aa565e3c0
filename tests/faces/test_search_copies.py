"""Copies of owners' entities in memory follow every change, whoever makes it, and answer like a new copy."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import threading
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphmem.context import Services
from graphmem.embedding.local import LocalEmbedder
from graphmem.errors import DatabaseTimeout, InternalError, InvalidCursor, SearchMemoryExceeded, ServiceBusy
from graphmem.model.canonical import decode
from graphmem.registry import REGISTRY
from graphmem.search import owner_copy, search_copies, search_engine, search_results
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import Commit, CopiedEntity, OwnerCopy, is_whole
from graphmem.search.search_copies import SearchCopies
from graphmem.settings import Limits
from graphmem.writing import Writers
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.search_copies import with_copies

MEMORY = 100_000_000
Then = Callable[[OwnerCopy, Callable[[OwnerCopy], Awaitable[Any]]], Awaitable[Any]]
WORDS = ("garden", "harbour", "invoice", "meeting", "painter", "railway")


def ids(answer: dict[str, Any]) -> list[str]:
    return [entity["entity_id"] for entity in answer["entities"]]


def with_new_copies(services: Services, memory: int = MEMORY) -> Services:
    """Return services that have read nothing yet, as those of another process."""
    return with_copies(services, SearchCopies(services.database, memory))


def store(run: Call, *names: str, **more: Any) -> list[str]:
    return ids(run("store", entities=[{"entity_type": "thing", "name": name, **more} for name in names]))


@pytest.fixture
def other(loop: Loop, services: Services, owner: str) -> Call:
    """The operations of another process, which has a copy of its own."""
    return by_runner(loop, with_new_copies(services), owner)


def test_a_copy_follows_what_another_process_writes(run: Call, other: Call) -> None:
    (garden, harbour) = store(run, "A garden", "A harbour")
    assert ids(other("entities.query", search="garden")) == [garden]
    (second,) = store(run, "Another garden")
    assert set(ids(other("entities.query", search="garden"))) == {garden, second}
    run("entities.correct", entity_id=harbour, field="name", value="The garden behind the harbour")
    assert harbour in ids(other("entities.query", search="garden"))
    run("entities.delete", entity_id=garden)
    run("entities.merge", source_entity_id=second, target_entity_id=harbour)
    assert ids(other("entities.query", search="garden")) == [harbour]
    run("entities.restore", entity_id=garden)
    run("entities.unmerge", source_entity_id=second)
    assert set(ids(other("entities.query", search="garden"))) == {garden, second, harbour}


def test_a_copy_follows_a_schema_and_a_withdrawal(run: Call, other: Call) -> None:
    content = base64.b64encode(b"name,note\nWharf,needle in it\n").decode()
    stored = run("store.unstructured", file_content=content, original_filename="a.csv")
    assert other("entities.query", search="needle")["entities"]
    run("sources.withdraw", source_id=stored["source_id"])
    assert other("entities.query", search="needle")["entities"] == []
    run("sources.reinstate", source_id=stored["source_id"])
    assert other("entities.query", search="needle")["entities"]


def test_a_copy_of_an_owner_who_was_erased_is_not_used_for_the_next(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    store(run, "A garden")
    assert run("entities.query", search="garden")["entities"]
    erased = "MATCH (n) WHERE n.owner = $o OR n:Owner AND n.id = $o DETACH DELETE n"
    loop.run(services.database.script(erased, o=owner))
    writers = Writers(services.database, services.settings, services.embedder)
    again = by_runner(loop, replace(services, writers=writers), owner)
    store(again, "A harbour")
    for word, count in (("garden", 0), ("harbour", 1)):
        assert len(again("entities.query", search=word)["entities"]) == count
    loop.run(writers.close())


def test_a_search_finds_each_of_many_writes_at_once(loop: Loop, services: Services, owner: str) -> None:
    """Each writer searches for what it just stored, while others write."""
    actor = full_actor(owner)

    async def write_and_search(number: int) -> list[bool]:
        copies = services if number % 2 else with_new_copies(services)
        hits: list[bool] = []
        for step in range(6):
            word = f"zq{number}x{step}"
            item = {"entity_type": "note", "text": f"It says {word}y once"}
            stored = decode(await REGISTRY["store"].run(services, actor, {"entities": [item]}))
            arguments = {"search": f"says {word}y", "limit": 1}
            answer = decode(await REGISTRY["entities.query"].run(copies, actor, arguments))
            hits.append(ids(answer) == ids(stored))
        return hits

    async def all_at_once() -> list[list[bool]]:
        return await asyncio.gather(*map(write_and_search, range(6)))

    assert loop.run(all_at_once()) == [[True] * 6] * 6


def test_a_copy_that_followed_answers_like_a_new_one(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    entity_ids = store(run, *(f"{first} {second}" for first in WORDS for second in WORDS))
    for place, entity_id in enumerate(entity_ids):
        run("entities.query", search=WORDS[place % 6])
        if place % 3 == 0:
            run("entities.delete", entity_id=entity_id)
        elif place % 3 == 1:
            run("observations.create", entity_id=entity_id, fields={"note": WORDS[(place * 5) % 6]})
    fresh = by_runner(loop, with_new_copies(services), owner)
    for query in (*WORDS, "garden meeting", "where is the railway painter?"):
        old, new = (call("search.explain", search=query, limit=50) for call in (run, fresh))
        for answer in (old, new):
            del answer["milliseconds"]
        assert old == new


def test_scores_depend_on_nothing_that_others_store(run: Call, loop: Loop, services: Services) -> None:
    store(run, "A garden", "A harbour", "The painter of the harbour")
    before = run("search.explain", search="the harbour garden")
    stranger = by_runner(loop, services, str(uuid.uuid4()))
    store(stranger, *(f"Harbour number {number}" for number in range(40)))
    after = run("search.explain", search="the harbour garden")
    for answer in (before, after):
        del answer["milliseconds"]
    assert before == after


def test_meaning_is_compared_exactly_among_near_twins(run: Call) -> None:
    names = [f"Person {number}" for number in range(400)] + ["Buy milk and eggs"]
    for start in range(0, len(names), 200):
        items = [{"entity_type": "note", "name": name} for name in names[start : start + 200]]
        run("store", entities=items, find_duplicates=False)
    explained = run("search.explain", search="person", limit=200)
    matrix = np.array(LocalEmbedder().vectors(names), float)
    vector = np.array(LocalEmbedder().vectors(["person"])[0], float)
    expected = matrix @ vector / np.linalg.norm(matrix, axis=1) / np.linalg.norm(vector)
    (meaning,) = [each for each in explained["strategies"] if each["strategy"] == "meaning"]
    scores = [hit["score"] for hit in meaning["hits"]]
    assert scores == pytest.approx(np.sort(expected)[::-1][: len(scores)].tolist(), abs=1e-6)
    assert (explained["compared"]["one_by_one"], explained["compared"]["by_index"]) == (len(names), False)


def test_a_long_text_is_found_by_what_any_passage_means(run: Call) -> None:
    chatter = "We talked about the weather and the neighbours for a long while. " * 60
    surgery = "The surgeon operated on her broken leg in the hospital. The nurse changed the bandage. " * 7
    note = {"entity_type": "note", "title": "A long evening", "text": f"{chatter}\n{surgery}\n{chatter}"}
    (entity_id,) = ids(run("store", entities=[note]))
    explained = run("search.explain", search="medical treatment")
    (meaning,) = [each for each in explained["strategies"] if each["strategy"] == "meaning"]
    assert [hit["entity_id"] for hit in meaning["hits"]] == [entity_id]
    assert run("server.check_snapshots")["healthy"]


@pytest.mark.parametrize("between", [" ", ", "])
def test_a_text_without_sentence_ends_is_found_by_what_its_end_means(run: Call, between: str) -> None:
    chatter = between.join(["we talked about the weather and the neighbours for a long while"] * 60)
    surgery = between.join(["the surgeon operated on her broken leg in the hospital"] * 6)
    note = {"entity_type": "note", "title": "A long evening", "text": f"{chatter}{between}{surgery}"}
    (entity_id,) = ids(run("store", entities=[note]))
    explained = run("search.explain", search="medical treatment")
    (meaning,) = [each for each in explained["strategies"] if each["strategy"] == "meaning"]
    assert [hit["entity_id"] for hit in meaning["hits"]] == [entity_id]


def test_what_does_not_fit_into_the_memory_is_refused_but_for_names_and_identifiers(
    run: Call, loop: Loop, services: Services, owner: str
) -> None:
    (garden,) = store(run, "A garden", external_id="G-1")
    small = by_runner(loop, with_new_copies(services, 0), owner)
    for name, arguments in (
        ("entities.query", {"search": "garden"}),
        ("entities.query", {"search": "G-1"}),
        ("entities.find", {"identifier": "garden of roses"}),
        ("context.retrieve", {"question": "Which garden?"}),
    ):
        with pytest.raises(SearchMemoryExceeded):
            small(name, **arguments)
    for identifier in (garden, "A garden", "G-1"):
        assert ids(small("entities.find", identifier=identifier)) == [garden]
    assert ids(small("entities.query")) == [garden]


def test_an_owner_that_does_not_fit_into_the_memory_is_not_read_up_to_it(
    run: Call, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(run, *(f"A garden of {number} {'word ' * number}" for number in range(20)))
    pages, page = list[int](), SearchCopies._page

    def counted(*args: Any) -> Any:
        pages.append(1)
        return page(*args)

    monkeypatch.setattr(SearchCopies, "_page", staticmethod(counted))
    monkeypatch.setattr(search_copies, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(search_copies, "TOO_LARGE_SECONDS", 0.0)
    large = with_new_copies(services)
    loop.run(search_of(large, owner, "garden"))
    (copy,) = large.of(SearchCopies)._copies.values()
    copy.documents.compact()
    exact = large.of(SearchCopies).bytes
    for memory, most in ((exact // 3, 1), (exact * 3 // 4, 20)):
        small = with_new_copies(services, memory)
        pages.clear()
        loop.run(search_and_wait(small, owner))
        read_first = len(pages)
        loop.run(search_and_wait(small, owner))
        assert read_first <= most
        assert len(pages) == read_first + 1
    fitting = with_new_copies(services, exact * 2)
    loop.run(search_and_wait(fitting, owner))
    (copy,) = fitting.of(SearchCopies)._copies.values()
    assert len(copy.documents) == 20, "the size of all is not overestimated"


async def search_and_wait(services: Services, owner: str) -> None:
    """Search, and wait until nothing is read into memory any more."""
    with contextlib.suppress(SearchMemoryExceeded):
        await search_of(services, owner, "garden")
    for copy in list(services.of(SearchCopies)._copies.values()):
        if copy.loading is not None:
            await asyncio.wait([copy.loading])


async def allow(event: asyncio.Event) -> None:
    """Set an event in the event loop, where it is waited for."""
    event.set()


def search_of(services: Services, owner: str, words: str) -> Any:
    """Return a search as a coroutine."""
    return REGISTRY["entities.query"].run(services, full_actor(owner), {"search": words})


@pytest.fixture
def may_read(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Have copies read only their first page until this is set."""
    may_read, put = asyncio.Event(), asyncio.to_thread

    async def later(function: Any, *args: Any) -> Any:
        if function is owner_copy.put:
            await may_read.wait()
        return await put(function, *args)

    monkeypatch.setattr(search_copies.asyncio, "to_thread", later)
    return may_read


def test_a_search_waits_for_the_copy(
    loop: Loop, services: Services, owner: str, run: Call, may_read: asyncio.Event
) -> None:
    (garden,) = store(run, "A garden")
    patient = with_new_copies(services)

    async def searches() -> list[dict[str, Any]]:
        waiting = [asyncio.create_task(search_of(patient, owner, "garden")) for _ in range(3)]
        done, _ = await asyncio.wait(waiting, timeout=0.3)
        assert not done
        may_read.set()
        return [decode(await each) for each in waiting]

    for answer in loop.run(searches()):
        assert (ids(answer), "exact" in answer) == ([garden], False)


def test_a_search_that_waited_too_long_is_refused_and_the_copy_is_read_on(
    loop: Loop, services: Services, owner: str, run: Call, may_read: asyncio.Event
) -> None:
    (garden,) = store(run, "A garden", external_id="G-1")
    limited = replace(with_new_copies(services), limits=Limits(copy_wait_seconds=0.2))
    impatient = by_runner(loop, limited, owner)
    for name, arguments in (
        ("entities.query", {"search": "garden"}),
        ("entities.query", {"search": "G-1"}),
        ("entities.find", {"identifier": "garden of roses"}),
        ("context.retrieve", {"question": "Which garden?"}),
    ):
        with pytest.raises(ServiceBusy, match="still being read into memory") as busy:
            impatient(name, **arguments)
        assert (busy.value.retryable, busy.value.headers["Retry-After"]) == (True, "1")
        assert (busy.value.details["entities"], busy.value.details["entities_read"]) == (1, 0)
    assert impatient("server.stats")["search_pending"] == 1
    assert not impatient("server.health")["search_ready"]
    for identifier in (garden, "A garden", "G-1"):
        assert ids(impatient("entities.find", identifier=identifier)) == [garden]
    loop.run(allow(may_read))
    while True:
        try:
            answer = impatient("entities.query", search="garden")
            break
        except ServiceBusy:
            continue
    assert (ids(answer), "exact" in answer) == ([garden], False)
    assert impatient("server.stats")["search_pending"] == 0
    assert impatient("server.health")["search_ready"]


def test_a_copy_that_cannot_be_read_keeps_no_search_waiting(
    loop: Loop, services: Services, owner: str, run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (garden,) = store(run, "A garden")
    monkeypatch.setattr(owner_copy, "FAILED_SECONDS", 0.0)
    failing, read_all = with_new_copies(services), SearchCopies._read_all
    failures: list[type[Exception]] = [DatabaseTimeout, DatabaseTimeout, ValueError]
    is_stuck = asyncio.Event()

    async def fail(*args: Any) -> dict[str, str]:
        if failures:
            raise failures.pop()
        await is_stuck.wait()
        return await read_all(*args)

    monkeypatch.setattr(SearchCopies, "_read_all", fail)
    search = by_runner(loop, failing, owner)
    for _ in range(4):
        with pytest.raises(ServiceBusy, match="could not be read into memory"):
            search("entities.query", search="garden")
    assert not failures
    loop.run(allow(is_stuck))
    while True:
        with contextlib.suppress(ServiceBusy):
            answer = search("entities.query", search="garden")
            break
    assert ids(answer) == [garden]


def test_a_search_compares_its_copy_though_another_one_gives_that_up(
    loop: Loop, services: Services, owner: str, run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (garden,) = store(run, "A garden")
    small, compare = with_new_copies(services), OwnerCopy.compare
    others: list[dict[str, Any]] = []

    async def compare_later(*args: Any) -> Any:
        if not others:
            others.append({})
            small.of(SearchCopies)._memory = 1
            others.append(decode(await search_of(small, owner, "garden")))
            with pytest.raises(SearchMemoryExceeded):
                await search_of(small, owner, "garden")
        return await compare(*args)

    monkeypatch.setattr(OwnerCopy, "compare", compare_later)
    answer = by_runner(loop, small, owner)("entities.query", search="garden")
    assert (ids(answer), "exact" in answer) == ([garden], False)
    assert [ids(other) for other in others[1:]] == [[garden]]


def test_a_copy_that_is_far_behind_is_read_anew_and_answers_exactly(
    run: Call, other: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(run, "A garden")
    assert len(other("entities.query", search="garden")["entities"]) == 1
    monkeypatch.setattr(search_copies, "CHANGED_LIMIT", 2)
    for number in range(5):
        store(run, f"Garden {number}")
    answer = other("entities.query", search="garden")
    assert (len(answer["entities"]), "exact" in answer) == (6, False)


@pytest.mark.parametrize(("count", "words"), [(5, 1), (1, 60)])
def test_many_changes_or_long_ones_are_put_into_a_copy_in_a_thread(
    loop: Loop,
    services: Services,
    owner: str,
    run: Call,
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    words: int,
) -> None:
    """The event loop goes on meanwhile: the change waits for what only it can do."""
    store(run, "A harbour")
    run("entities.query", search="harbour")
    monkeypatch.setattr(search_copies, "INLINE_CHANGES", 4)
    monkeypatch.setattr(search_copies, "INLINE_CHARACTERS", 400)
    change, goes_on, outcomes = owner_copy.change, threading.Event(), list[bool]()

    def change_later(*args: Any, **more: Any) -> None:
        outcomes.append(goes_on.wait(10))
        change(*args, **more)

    monkeypatch.setattr(owner_copy, "change", change_later)
    gardens = store(run, *(f"A garden {number}" for number in range(count)), note="rose " * 2 * words)

    async def search() -> Any:
        waiting = asyncio.create_task(search_of(services, owner, "garden"))
        while not outcomes:
            await asyncio.sleep(0.01)
            if waiting.done():
                break
            goes_on.set()
        return decode(await waiting)

    assert set(gardens) <= set(ids(loop.run(search())))
    assert outcomes == [True]


def test_a_copy_into_which_a_change_failed_is_read_anew(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    store(run, "A harbour")
    run("entities.query", search="harbour")
    (garden,) = store(run, "A garden")
    monkeypatch.setattr(owner_copy, "change", None)
    with pytest.raises(InternalError):
        run("entities.query", search="garden")
    monkeypatch.undo()
    assert ids(run("entities.query", search="garden")) == [garden]


def pages(run: Call, *, first: dict[str, Any], **arguments: Any) -> list[str]:
    """Return the ids of a page and of all that follow it."""
    page, listed = first, ids(first)
    while "next_cursor" in page:
        page = run("entities.query", **arguments, cursor=page["next_cursor"])
        listed += ids(page)
    return listed


def test_a_search_pages_on_behind_its_last_hit_whatever_is_stored(run: Call) -> None:
    """The points of all hits change with what is stored: texts become longer on average."""
    stored = store(run, *(" ".join(["garden", *("rose" for _ in range(number))]) for number in range(30)))
    arguments = {"search": "garden", "limit": 10}
    first = run("entities.query", **arguments)
    store(run, *(f"{number} {' '.join(f'z{word}q' for word in range(40))}" for number in range(9)))
    assert sorted(pages(run, first=first, **arguments)) == sorted(stored)


def test_a_cursor_in_the_order_of_an_index_of_an_earlier_version_is_refused(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(run, *(f"garden {number}x" for number in range(9)))
    place_of, timeless = search_engine._place_of, {"at": search_results.TIMELESS}
    monkeypatch.setattr(search_engine, "_place_of", lambda ranked: {**place_of(ranked), **timeless})
    page = run("entities.query", search="garden", limit=4)
    with pytest.raises(InvalidCursor, match="start again"):
        run("entities.query", search="garden", limit=4, cursor=page["next_cursor"])


def test_the_copy_that_was_used_longest_ago_gives_way(loop: Loop, services: Services) -> None:
    owners = [str(uuid.uuid4()) for _ in range(3)]
    small = with_new_copies(services, 150_000)
    for owner in owners:
        run = by_runner(loop, small, owner)
        store(run, *(f"{first} {second}" for first in WORDS for second in WORDS))
        assert len(run("entities.query", search="garden", limit=50)["entities"]) >= 11
    assert small.of(SearchCopies).bytes <= 150_000
    for owner in owners:
        assert (
            len(by_runner(loop, small, owner)("entities.query", search="garden", limit=50)["entities"]) >= 11
        )


def test_a_search_sums_the_memory_of_the_copies_of_others_once(
    loop: Loop, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = with_new_copies(services, 50_000_000)
    runs = [by_runner(loop, copies, str(uuid.uuid4())) for _ in range(4)]
    for run in runs:
        store(run, "Garden")
        run("entities.query", search="garden")
    sums: list[int] = []

    def counted(kept: SearchCopies) -> int:
        sums.append(sum(copy.bytes for copy in kept._copies.values()))
        return sums[-1]

    monkeypatch.setattr(SearchCopies, "bytes", property(counted))
    runs[0]("entities.query", search="garden")
    assert len(sums) == 1


def test_a_commit_that_is_only_partly_visible_is_read_again() -> None:
    row = CopiedEntity("ent_1", 7, 0, "note", 0, "a", None, None, None)
    assert not is_whole([row], Commit(7, 2))
    assert is_whole([row], Commit(7, 1))
    assert is_whole([row, row._replace(changed=8)], Commit(7, 2))


@pytest.fixture
def before_rows_are_used(monkeypatch: pytest.MonkeyPatch) -> Callable[[Then], None]:
    """Have something happen between the next read of a search and what the search does with its rows."""

    def install(happens: Then) -> None:
        read, then = SearchCopies._read_rows, [happens]

        async def reading(
            self: SearchCopies, owner: str, copy: OwnerCopy, identifiers: dict[str, Any]
        ) -> Any:
            if not then:
                return await read(self, owner, copy, identifiers)
            return await then.pop()(copy, lambda of: read(self, owner, of, identifiers))

        monkeypatch.setattr(SearchCopies, "_read_rows", reading)

    return install


def test_what_is_stored_while_a_copy_is_read_is_found(
    loop: Loop,
    services: Services,
    owner: str,
    run: Call,
    before_rows_are_used: Callable[[Then], None],
    may_read: asyncio.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search of a copy that could not be read may end after it was: its rows do not say what changed."""
    store(run, "A harbour")
    other = with_new_copies(services)
    monkeypatch.setattr(search_copies, "FAILURES_LIMIT", 0)

    async def happens(copy: OwnerCopy, read: Callable[[OwnerCopy], Any]) -> Any:
        assert copy.loading is not None
        may_read.set()
        await asyncio.wait([copy.loading])
        for name in ("A garden", "A railway"):
            items = [{"entity_type": "thing", "name": name}]
            await REGISTRY["store"].run(services, full_actor(owner), {"entities": items})
        return await read(OwnerCopy(model=copy.model))

    before_rows_are_used(happens)
    search = by_runner(loop, other, owner)
    search("entities.query", search="harbour")
    assert [hit["canonical_name"] for hit in search("entities.query", search="garden")["entities"]] == [
        "A garden"
    ]


def test_what_a_search_read_before_replaces_nothing_newer(
    loop: Loop, services: Services, owner: str, run: Call, before_rows_are_used: Callable[[Then], None]
) -> None:
    """Two searches read what changed; the one that read first puts it into the copy last."""
    run("entities.query", search="garden")
    deleted, corrected = store(run, "A garden", "An orchard")

    async def happens(copy: OwnerCopy, read: Callable[[OwnerCopy], Any]) -> Any:
        rows, actor = await read(copy), full_actor(owner)
        await REGISTRY["entities.delete"].run(services, actor, {"entity_id": deleted})
        correction = {"entity_id": corrected, "field": "name", "value": "The painter"}
        await REGISTRY["entities.correct"].run(services, actor, correction)
        await REGISTRY["entities.query"].run(services, actor, {"search": "railway"})
        return rows

    before_rows_are_used(happens)
    run("entities.query", search="garden")
    assert run("search.explain", search="garden")["total"] == 0
    assert ids(run("entities.query", search="painter")) == [corrected]


def test_a_thread_keeps_the_copy_though_its_request_is_cancelled(loop: Loop) -> None:
    copy, has_begun, may_end = OwnerCopy(model="model"), threading.Event(), threading.Event()

    def work(_: SearchCopy) -> None:
        has_begun.set()
        may_end.wait(20)

    async def cancelled() -> bool:
        request = asyncio.create_task(copy.in_thread(work))
        await asyncio.to_thread(has_begun.wait, 20)
        request.cancel()
        await asyncio.sleep(0)
        was_locked = copy.lock.locked()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await request
        return was_locked and not copy.lock.locked()

    assert loop.run(cancelled())
