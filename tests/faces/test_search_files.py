"""Large copies live in files: a start goes on from them, and reads what changed since."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmem.auth.erasing import erase_closed
from graphmem.context import Services
from graphmem.model import times
from graphmem.search import copy_files, owner_copy, search_copies
from graphmem.search.copy_files import CopyFiles
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.owner_copy import OwnerCopy
from graphmem.search.search_copies import SearchCopies
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.search_copies import with_copies

WORDS = ("garden", "harbour", "invoice", "meeting", "painter", "railway")


def ids(answer: dict[str, Any]) -> list[str]:
    return [entity["entity_id"] for entity in answer["entities"]]


def store(run: Call, *names: str) -> list[str]:
    return ids(run("store", entities=[{"entity_type": "thing", "name": name} for name in names]))


@pytest.fixture(autouse=True)
def every_copy_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_copy, "FILE_LEAST_BYTES", 1_000)
    monkeypatch.setattr(copy_files, "CHANGES_LEAST", 3)


@pytest.fixture
def files(tmp_path: Path) -> CopyFiles:
    return CopyFiles(tmp_path / "search", 100_000_000)


@pytest.fixture
def started(loop: Loop, services: Services, files: CopyFiles) -> Callable[[], Services]:
    """Return a function that starts the services anew over the same files."""

    def start() -> Services:
        return with_copies(services, SearchCopies(services.database, 100_000_000, files))

    return start


@pytest.fixture
def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of how the rows of entities were read: ``copy`` for a page of all, ``follow`` for one."""
    rows = list[str]()
    page, read = SearchCopies._page, SearchCopies._read_rows

    def paged(*args: Any) -> Any:
        rows.append("copy")
        return page(*args)

    async def following(*args: Any) -> Any:
        answer = await read(*args)
        rows.extend("follow" for _ in answer.documents)
        return answer

    monkeypatch.setattr(SearchCopies, "_page", staticmethod(paged))
    monkeypatch.setattr(SearchCopies, "_read_rows", following)
    return rows


def copy_in(services: Services) -> OwnerCopy:
    (copy,) = services.of(SearchCopies)._copies.values()
    return copy


def settle(loop: Loop, services: Services) -> None:
    """Wait until no copy is being written."""

    async def wait() -> None:
        for copy in list(services.of(SearchCopies)._copies.values()):
            if copy.writing is not None:
                await copy.writing

    loop.run(wait())


def test_a_start_goes_on_from_the_file(
    run: Call, loop: Loop, owner: str, started: Callable[[], Services], read_rows: list[str]
) -> None:
    stored = [store(run, f"{word} {number}")[0] for word in WORDS for number in range(5)]
    first = by_runner(loop, before := started(), owner)
    answers = [first("entities.query", search=word, limit=50) for word in WORDS]
    assert copy_in(before).documents.bytes_in_file > 0
    assert "copy" in read_rows
    loop.run(before.of(SearchCopies).close())
    store(run, "another garden")
    run("entities.delete", entity_id=stored[7])
    read_rows.clear()
    second = by_runner(loop, after := started(), owner)
    found = [ids(second("entities.query", search=word, limit=50)) for word in WORDS]
    # What the last commit in the file wrote, what is new, and what was deleted.
    assert read_rows == ["follow"] * 3
    assert copy_in(after).documents.bytes_in_file > 0
    assert len(found[0]) == 6
    assert found[1] == [each for each in ids(answers[1]) if each != stored[7]]
    assert found[2:] == [ids(each) for each in answers[2:]]


def test_what_changed_is_written_when_the_service_ends_if_it_is_much(
    run: Call, loop: Loop, owner: str, started: Callable[[], Services], read_rows: list[str]
) -> None:
    store(run, *(f"{word} {number}" for word in WORDS for number in range(50)))
    orchards = set[str]()
    first = by_runner(loop, before := started(), owner)
    first("entities.query", search="garden")
    for number in range(4):
        orchards |= {*store(run, f"new orchard {number}")}
    first("entities.query", search="orchard")
    assert copy_in(before).documents.changed == 4
    loop.run(before.of(SearchCopies).close())
    read_rows.clear()
    second = by_runner(loop, started(), owner)
    assert {*ids(second("entities.query", search="orchard", limit=4))} == orchards
    assert read_rows == ["follow"]


def test_a_copy_that_grows_is_written_beside_the_requests(
    run: Call, loop: Loop, owner: str, started: Callable[[], Services], monkeypatch: pytest.MonkeyPatch
) -> None:
    store(run, *(f"{word} {number}" for word in WORDS for number in range(5)))
    here = by_runner(loop, services := started(), owner)
    here("entities.query", search="garden")
    monkeypatch.setattr(copy_files, "CHANGES_MOST", 9)
    for number in range(4):
        store(run, *(f"orchard {number}x{more}" for more in range(5)))
        assert len(ids(here("entities.query", search="orchard", limit=50))) == 5 * (number + 1)
    settle(loop, services)
    assert copy_in(services).documents.changed < 10
    assert len(ids(here("entities.query", search="orchard", limit=50))) == 20


def test_a_file_ahead_of_the_database_is_not_used(
    run: Call, loop: Loop, services: Services, owner: str, started: Callable[[], Services], files: CopyFiles
) -> None:
    """Somebody went back to an older state of the database, and others wrote since."""
    store(run, *(f"{word} {number}" for word in WORDS for number in range(5)))
    (lost,) = store(run, "a lost garden")
    by_runner(loop, before := started(), owner)("entities.query", search="garden")
    assert copy_in(before).documents.bytes_in_file > 0
    forget = "MATCH (n:Entity {id: $id}) DETACH DELETE n"
    loop.run(services.database.script(forget, id=lost))
    store(run, "a new garden")
    second = by_runner(loop, after := started(), owner)
    found = ids(second("entities.query", search="garden", limit=50))
    assert lost not in found
    assert len(found) == 6
    assert copy_in(after).documents.number_of(lost) is None


def test_the_file_of_an_erased_owner_is_removed(
    run: Call, loop: Loop, services: Services, owner: str, started: Callable[[], Services], files: CopyFiles
) -> None:
    store(run, *(f"{word} {number}" for word in WORDS for number in range(5)))
    by_runner(loop, here := started(), owner)("entities.query", search="garden")
    other = str(uuid.uuid4())
    store(by_runner(loop, services, other), *(f"{word} {number}" for word in WORDS for number in range(5)))
    by_runner(loop, here, other)("entities.query", search="garden")
    assert {each for each, _ in files.owners()} == {owner, other}
    loop.run(services.database.write("owner.close", owner, erased_at=times.now()))
    loop.run(erase_closed(services.database, owner))
    loop.run(started().of(SearchCopies).erase_unowned())
    assert {each for each, _ in files.owners()} == {other}
    loop.run(here.of(SearchCopies).erase(other))
    assert list(files.owners()) == []
    assert not here.of(SearchCopies).bytes


def test_the_search_of_an_owner_without_data_removes_no_files(
    loop: Loop, owner: str, started: Callable[[], Services], monkeypatch: pytest.MonkeyPatch
) -> None:
    erased = list[str]()
    monkeypatch.setattr(CopyFiles, "erase", lambda files, name: erased.append(name))
    here = started()
    assert not ids(by_runner(loop, here, owner)("entities.query", search="garden"))
    assert erased == []
    assert not here.of(SearchCopies)._copies


def test_without_a_disk_a_copy_is_in_memory(
    run: Call, loop: Loop, owner: str, services: Services, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    files = CopyFiles(tmp_path / "file" / "search", 10**9)
    here = with_copies(services, SearchCopies(services.database, 100_000_000, files))
    store(run, *(f"{word} {number}" for word in WORDS for number in range(5)))
    search = by_runner(loop, here, owner)
    for _ in range(2):
        assert len(ids(search("entities.query", search="garden", limit=50))) == 5
        store(run, "another harbour")
        settle(loop, here)
    assert copy_in(here).documents.bytes_in_file == 0
    loop.run(here.of(SearchCopies).close())


def test_an_owner_far_larger_than_the_memory_is_searched(
    run: Call, loop: Loop, services: Services, owner: str, files: CopyFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    for word in WORDS:
        store(run, *(f"{word} {number} {'word ' * number}" for number in range(50)))
    monkeypatch.setattr(search_copies, "ROWS_AT_ONCE", 20)
    peaks, put = list[int](), owner_copy.put

    def noting(documents: SearchCopy, *args: Any) -> None:
        put(documents, *args)
        peaks.append(documents.bytes)

    monkeypatch.setattr(owner_copy, "put", noting)
    here = with_copies(services, SearchCopies(services.database, 100_000, files))
    search = by_runner(loop, here, owner)
    answer = search("entities.query", search="garden", limit=100)
    assert len(ids(answer)) == 50
    assert "exact" not in answer
    documents = copy_in(here).documents
    assert documents.bytes < 60_000
    assert max(peaks) < 100_000 < documents.bytes_in_file


def test_two_processes_share_the_file_that_one_of_them_wrote(
    run: Call,
    loop: Loop,
    owner: str,
    started: Callable[[], Services],
    read_rows: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store(run, *(f"{word} {number}" for word in WORDS for number in range(5)))
    first, second = started(), started()
    searches = [by_runner(loop, each, owner) for each in (first, second)]
    for search in searches:
        search("entities.query", search="garden")
    assert read_rows.count("copy") == 1, "the second one maps what the first one wrote"
    monkeypatch.setattr(copy_files, "CHANGES_MOST", 9)
    for number in range(4):
        store(run, *(f"orchard {number}x{more}" for more in range(5)))
        for services, search in zip((first, second), searches, strict=True):
            assert len(ids(search("entities.query", search="orchard", limit=50))) == 5 * (number + 1)
            settle(loop, services)
    found = [ids(search("entities.query", search="orchard", limit=50)) for search in searches]
    assert found[0] == found[1]
    assert len(found[0]) == 20
    marks = [copy_in(each).filed for each in (first, second)]
    assert read_rows.count("copy") == 1
    assert marks[0] is not None
    assert marks[0].revision > 2
