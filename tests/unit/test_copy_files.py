"""Files of copies: they answer as memory does, and whatever is wrong with one is ignored."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.search import compaction, copy_arrays, copy_files, search_ranking, terms
from graphmem.search.copy_arrays import EntityText
from graphmem.search.copy_files import CopyFiles
from graphmem.search.entity_copy import DIMENSIONS, SearchCopy
from graphmem.search.owner_copy import Mark
from tests.support.examples import examples
from tests.support.long_cases import mostly_long
from tests.unit.test_search_copy import was_changed

KEY = "owner", "model"
MARK = Mark("node", 7, 3)
WORDS = ("alpha", "alphas", "beta", "walking", "walked", "zoë", "京", "house", "is", "the", "of", "where")
DOCUMENTS = st.builds(
    EntityText,
    id=st.sampled_from([f"ent_{number}" for number in range(12)]),
    type=st.sampled_from(["note", "task", "person"]),
    at=st.integers(0, 10**15),
    text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join),
    vectors=st.none() | st.integers(0, 99).map(lambda seed: vectors_of(seed)),
    is_pending=st.booleans(),
    version=st.tuples(st.integers(1, 9), st.integers(0, 9)),
    fields=st.sampled_from([(), ("name",), ("licensePlate", "name")]),
    thread=st.sampled_from([None, "a", "b"]),
)
STEPS = st.lists(st.tuples(st.sampled_from(["put", "put", "remove", "file"]), DOCUMENTS), max_size=30)


def vectors_of(seed: int) -> bytes:
    values = np.random.default_rng(seed).integers(-127, 128, DIMENSIONS * (1 + seed % 3))
    return values.astype(np.int8).tobytes()


@pytest.fixture
def files(tmp_path: Path) -> CopyFiles:
    return CopyFiles(tmp_path / "search", 100_000_000)


def copy_of(count: int, start: int = 0) -> SearchCopy:
    copy = SearchCopy()
    copy.put(
        EntityText(
            f"ent_{n:04}", "note", n, f"word{n} {WORDS[n % 6]} the house", vectors_of(n), version=(n + 1, 0)
        )
        for n in range(start, start + count)
    )
    return copy


def written(files: CopyFiles, copy: SearchCopy, mark: Mark | None = MARK) -> SearchCopy:
    made = files.write(copy.begin_compaction(), KEY, mark, {})
    copy.become(made)
    assert made is not None
    return made


def all_of(copy: SearchCopy) -> dict[str, Any]:
    """Return all that a copy answers, in the terms of ids."""
    vector = [float(n % 7 - 3) for n in range(DIMENSIONS)]
    alive = sorted((entity_id, number) for number, entity_id in enumerate(copy.ids) if copy.alive[number])
    order = np.array([number for _, number in alive], np.int64)
    ids = [f"ent_{number}" for number in range(12)]
    questions = [
        terms.of_question(text, copy.languages) for text in ("walks alpha", "the house", "plate zoë", "京")
    ]
    matches = [search_ranking.match_words(copy, each) for each in questions]
    rankings = [
        search_ranking.rank(
            copy, match, vector, floor=0.3, among=copy.of_types([]), named={"ent_3": 1.0},
            fixed={"ent_4": 2.0}, newest_first=is_newest_first,
        )
        for match in matches for is_newest_first in (False, True)
    ]  # fmt: skip
    return {
        "ids": [entity_id for entity_id, _ in alive],
        "count": len(copy),
        "known": [copy.number_of(each) is not None for each in ids],
        "numbers": [int(number) >= 0 for number in copy.numbers_of(ids)],
        "one_by_one": [copy.number_of(each) for each in ids]
        == [None if number < 0 else number for number in copy.numbers_of(ids).tolist()],
        "times": copy.times_of(ids),
        "versions": [copy.version_of(each) for each in ids],
        "types": sorted(copy.types),
        "of_types": [copy.of_types([name])[order].tolist() for name in ("note", "task", "gone")],
        "revisions": dict(sorted(copy.revisions_of_types(["note", "task"]).items())),
        "pending": copy.pending_count,
        "languages": copy.languages,
        "lengths": copy.lengths[order].tolist(),
        "similarities": copy.similarities(vector)[order].tolist(),
        "beginnings": copy.beginnings(order).tolist(),
        "neighbours": copy.of_neighbours(copy.times.astype(float))[order].tolist(),
        "having": [copy.has_any(each, ["alpha", "walks"], 0xFFFF) for each in ids],
        "postings": [
            sorted(
                (copy.ids[number], count)
                for number, count in zip(each.documents.tolist(), each.counts.tolist(), strict=True)
                if copy.alive[number]
            )
            for each in copy.postings([["alpha", "beta"], ["plate"], ["gone"], ["京", "zoë"]])
        ],
        "inflections": sorted(copy.terms.inflections("en", "walks")) if "walked" in copy.terms else None,
        "found": [
            [(each.ids[n], float(each.points[n]), float(each.scores["text"][n])) for n in each.first(50)]
            for each in rankings
        ],
    }  # fmt: skip


@examples(60)
@given(steps=STEPS, at_once=st.sampled_from([2, 5, 10_000]), stemmed=st.booleans())
def test_a_copy_in_a_file_answers_as_one_in_memory(
    steps: list[tuple[str, EntityText]], at_once: int, stemmed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = CopyFiles(tmp_path_factory.mktemp("search"), 100_000_000)
    copy, documents = SearchCopy(), dict[str, EntityText]()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DOCUMENTS_AT_ONCE", "POSTINGS_AT_ONCE", "TERMS_AT_ONCE"):
            patch.setattr(compaction, name, at_once)
        patch.setattr(copy_arrays, "ROOM", at_once)
        for step, document in steps:
            if not was_changed(copy, documents, step, document) and documents:
                written(files, copy)
                opened = files.open(KEY, None)
                assert opened is not None
                copy = opened.documents
                assert copy.bytes_in_file > 0
            if stemmed:
                copy.terms.inflections("en", "walks")
    fresh = SearchCopy()
    fresh.put(documents.values())
    in_file, in_memory = all_of(copy), all_of(fresh)
    for name, value in in_memory.items():
        assert name == "inflections" or in_file[name] == value, name
    copy.compact()
    fresh.compact()
    assert all_of(copy) == all_of(fresh)


def test_what_changes_while_a_file_is_written_is_in_the_copy_afterwards(files: CopyFiles) -> None:
    copy, fresh = copy_of(50), copy_of(50)
    before = copy.begin_compaction()
    for each in (copy, fresh):
        each.remove("ent_0007")
        each.put([EntityText("ent_0003", "task", 9, "walking the alpha", None, version=(60, 0))])
        each.put([EntityText("ent_0100", "task", 9, "new words", None, version=(61, 0))])
    copy.become(files.write(before, KEY, MARK, {}))
    assert copy.bytes_in_file > 0
    assert all_of(copy) == all_of(fresh)
    opened = files.open(KEY, None)
    assert opened is not None
    assert len(opened.documents) == 50
    assert opened.documents.number_of("ent_0100") is None
    assert (opened.newest, opened.mark) == ("ent_0049", Mark("node", 7, 3))


def test_what_the_newest_commit_wrote_is_read_again(files: CopyFiles) -> None:
    written(files, copy_of(5), Mark("node", 90, 3))
    opened = files.open(KEY, None)
    assert opened is not None
    assert (opened.newest, opened.mark) == ("ent_0004", Mark("node", 4, 3))


def test_a_copy_in_a_file_takes_memory_for_what_changed_alone(files: CopyFiles) -> None:
    copy = copy_of(3_000)
    in_memory = copy.bytes
    written(files, copy)
    assert copy.bytes < in_memory / 100
    assert copy.bytes_in_file > 1_000_000
    copy.put([EntityText(f"ent_x{n}", "note", n, "alpha", vectors_of(n)) for n in range(100)])
    assert copy.changed == 100
    assert 20_000 < copy.bytes < in_memory / 10


def test_only_its_user_may_read_a_file(files: CopyFiles, tmp_path: Path) -> None:
    written(files, copy_of(5))
    path = files.path(KEY)
    modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert "owner" not in str(path.relative_to(tmp_path))


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _other_bytes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.index(b"word1")
    data[place] ^= 1
    path.write_bytes(data)


def _no_header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def _nonsense(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(100_000))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [_cut, _empty, _other_bytes, _no_header, _nonsense, _folder])
def test_a_damaged_file_is_ignored(files: CopyFiles, damage: Callable[[Path], None]) -> None:
    copy = copy_of(50)
    written(files, copy)
    damage(files.path(KEY))
    assert files.open(KEY, None) is None
    list(files.owners())
    if files.path(KEY).is_dir():
        files.path(KEY).rmdir()
    written(files, copy_of(50))
    opened = files.open(KEY, None)
    assert opened is not None
    assert len(opened.documents) == 50


def test_a_file_of_another_version_model_or_format_is_ignored(
    files: CopyFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(files, copy_of(5))
    assert files.open(("owner", "other model"), None) is None
    other = files.path(("owner", "other model"))
    os.rename(files.path(KEY), other)
    assert files.open(("owner", "other model"), None) is None
    os.rename(other, files.path(KEY))
    for name, value in (("FORMAT", 0), ("__version__", "0.0.1")):
        with monkeypatch.context() as patch:
            patch.setattr(copy_files, name, value)
            assert files.open(KEY, None) is None
    assert files.open(KEY, None) is not None


def test_a_file_that_goes_no_further_is_of_no_use(files: CopyFiles) -> None:
    written(files, copy_of(9))
    assert files.open(KEY, Mark("node", 6, 0)) is not None
    assert files.open(KEY, Mark("node", 7, 0)) is None


def test_what_no_disk_takes_stays_in_memory(
    files: CopyFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_of(5)
    tmp_path.joinpath("file").touch()
    assert (
        CopyFiles(tmp_path / "file" / "search", 10**9).write(copy.begin_compaction(), KEY, MARK, {}) is None
    )
    assert CopyFiles(tmp_path / "search", 100).write(copy.begin_compaction(), KEY, MARK, {}) is None
    written(files, copy)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "no space")

    copy.put([EntityText("ent_x", "note", 0, "alpha", None)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        made = files.write(copy.begin_compaction(), KEY, MARK, {})
    copy.become(made)
    assert made is None
    assert copy.number_of("ent_x") is not None
    assert [each.name for each in files.path(KEY).parent.iterdir()] == [files.path(KEY).name]
    opened = files.open(KEY, None)
    assert opened is not None
    assert len(opened.documents) == 5


def test_the_file_that_was_used_longest_ago_gives_way(files: CopyFiles) -> None:
    keys = [(f"owner{n}", "model") for n in range(3)]
    for place, key in enumerate(keys[:2]):
        files.write(copy_of(200).begin_compaction(), key, MARK, {})
        os.utime(files.path(key), (place, place))
    files.used(keys[0])
    files.limit = 3 * 200 * 700
    size = files.path(keys[0]).stat().st_blocks * 512
    files.limit = 2 * size + size // 2
    assert files.write(copy_of(200).begin_compaction(), keys[2], MARK, {}) is not None
    assert [files.path(key).exists() for key in keys] == [True, False, True]
    files.limit = size // 2
    assert files.write(copy_of(200).begin_compaction(), keys[2], MARK, {}) is None
    assert files.path(keys[0]).exists(), "a copy that never fits takes the place of none"


def test_the_files_of_an_owner_are_erased(files: CopyFiles) -> None:
    written(files, copy_of(5))
    files.write(copy_of(5).begin_compaction(), ("other", "model"), MARK, {})
    assert sorted(files.owners()) == [("other", "node"), ("owner", "node")]
    files.erase("owner")
    assert not files.path(KEY).parent.exists()
    assert list(files.owners()) == [("other", "node")]
    files.erase("owner")


def test_the_file_of_another_model_goes_once_there_is_a_new_one(files: CopyFiles) -> None:
    other = "owner", "other model"
    files.write(copy_of(5).begin_compaction(), other, MARK, {})
    written(files, copy_of(5))
    assert (files.path(KEY).exists(), files.path(other).exists()) == (True, False)


WRITER = """
import sys, time
from pathlib import Path
from graphmem.search import copy_arrays
from graphmem.search.copy_files import CopyFiles
from graphmem.search.owner_copy import Mark
from tests.unit.test_copy_files import KEY, copy_of

files, extend = CopyFiles(Path(sys.argv[1]), 10**9), copy_arrays._FileArray.extend
count = 0

def slowly(array, values):
    global count
    extend(array, values)
    count += 1
    if count == int(sys.argv[2]):
        print("half", flush=True)
        time.sleep(60)

copy_arrays._FileArray.extend = slowly
files.write(copy_of(300).begin_compaction(), KEY, Mark("node", 400, 0), {})
"""


@pytest.fixture
def half_written(files: CopyFiles, tmp_path: Path) -> Iterator[Callable[[int], subprocess.Popen[str]]]:
    """Return a function that has another process write the file of a copy, up to one of its blocks."""
    running = list[subprocess.Popen[str]]()

    def begin(block: int) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path / "search"), str(block)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("block", mostly_long([1, 9, 15], 9))
def test_a_process_that_is_killed_while_it_writes_leaves_the_older_file(
    files: CopyFiles, half_written: Callable[[int], subprocess.Popen[str]], block: int
) -> None:
    written(files, copy_of(50))
    process = half_written(block)
    process.send_signal(signal.SIGKILL)
    process.wait()
    opened = files.open(KEY, None)
    assert opened is not None
    assert all_of(opened.documents) == all_of(copy_of(50))
    assert len(list(files.path(KEY).parent.iterdir())) == 2
    written(files, copy_of(60))
    assert len(list(files.path(KEY).parent.iterdir())) == 1
    opened = files.open(KEY, None)
    assert opened is not None
    assert len(opened.documents) == 60


def test_two_processes_do_not_write_one_file_at_the_same_time(
    files: CopyFiles, half_written: Callable[[int], subprocess.Popen[str]]
) -> None:
    copy = copy_of(50)
    written(files, copy)
    half_written(5)
    copy.put([EntityText("ent_x", "note", 0, "alpha", None, version=(99, 0))])
    start = time.monotonic()
    own = written(files, copy)
    assert time.monotonic() - start < 10
    assert own.bytes_in_file > 0
    assert own.number_of("ent_x") is not None
    opened = files.open(KEY, None)
    assert opened is not None
    assert opened.documents.number_of("ent_x") is None
    assert all_of(opened.documents) == all_of(copy_of(50))
