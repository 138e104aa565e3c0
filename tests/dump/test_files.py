"""The bytes of files in dumps: written, verified, restored before their sources, or left out."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.dump import container
from graphmem.dump.records import FILE_CHUNK_BYTES, FileChunk
from graphmem.errors import DumpDamaged, ObjectMissing, ObjectStoreUnavailable
from graphmem.model.fact_records import Record, SourceRecord
from graphmem.objects import ObjectStore, new_object_store
from graphmem.settings import Settings
from tests.faces.test_sources import with_file
from tests.support.commands import environment
from tests.support.dumps import Dumps
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.object_places import ObjectPlace, directory_place, s3_place
from tests.support.s3_server import S3Server, required_s3_server

LARGE = os.urandom(FILE_CHUNK_BYTES + 9)
SMALL = b"Dear Ada,\nyours, Charles"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An S3 server for all tests."""
    with required_s3_server(tmp_path_factory.mktemp("s3") / "files") as running:
        yield running


@pytest.fixture
def place(services: Services, tmp_path: Path) -> ObjectPlace:
    """An object store of this test."""
    return directory_place(tmp_path / "data", services.keys)


@pytest.fixture
def objects(loop: Loop, place: ObjectPlace) -> Iterator[ObjectStore]:
    store = place.open()
    yield store
    loop.run(store.close())


@pytest.fixture
def files(loop: Loop, services: Services, owner: str, tmp_path: Path, objects: ObjectStore) -> Dumps:
    """Dumps of this test's owner, whose files are in an object store of this test."""
    return Dumps(loop, replace(services, objects=objects), owner, tmp_path)


@pytest.fixture
def run(files: Dumps) -> Call:
    return by_runner(files.loop, files.services, files.owner)


@pytest.fixture
def stored(run: Call) -> dict[str, str]:
    """Store two files, one of them twice; return the ids of their sources."""
    large = run("store", **with_file(LARGE, "large.bin"))["source_id"]
    small = run("store", entities=[{"entity_type": "note", "title": "n"}], **with_file(SMALL))["source_id"]
    run("store", **with_file(LARGE, "copy.bin"))
    return {"large": large, "small": small}


def erase(files: Dumps) -> None:
    """Delete everything of the owner, objects included."""
    files.wipe()
    files.loop.run(files.services.objects.erase(files.owner))


def bytes_of(files: Dumps, data: bytes) -> bytes:
    async def joined() -> bytes:
        digest = hashlib.sha256(data).hexdigest()
        return b"".join([chunk async for chunk in files.services.objects.read(files.owner, digest)])

    return files.loop.run(joined())


@pytest.mark.parametrize("kind", ["directory", "s3"])
def test_files_come_back_from_a_dump_byte_for_byte(
    kind: str, request: pytest.FixtureRequest, loop: Loop, services: Services, owner: str, tmp_path: Path
) -> None:
    place = directory_place(tmp_path / "data", services.keys)
    if kind == "s3":
        place = s3_place(request.getfixturevalue("server"), tmp_path / "data", keys=services.keys)
    objects = place.open()
    files = Dumps(loop, replace(services, objects=objects), owner, tmp_path)
    run = by_runner(loop, files.services, owner)
    run("store", **with_file(LARGE))
    run("store", **with_file(SMALL))
    before = run("sources.list")
    made = files.create()
    erase(files)
    restored = files.restore(made)
    assert (restored.files, restored.missing_files.count, restored.conflict_count) == (2, 0, 0)
    assert (bytes_of(files, LARGE), bytes_of(files, SMALL)) == (LARGE, SMALL)
    assert run("sources.list") == before
    assert files.root(files.create("again")) == files.root(made)
    loop.run(objects.close())


def test_a_dump_has_each_file_once_after_its_first_source(files: Dumps, stored: dict[str, str]) -> None:
    made = files.create()
    names = [
        record.name if isinstance(record, SourceRecord) else len(base64.b64decode(record.data))
        for record in files.records(made)
        if isinstance(record, SourceRecord | FileChunk)
    ]
    assert names == ["large.bin", FILE_CHUNK_BYTES, 9, "letter.txt", len(SMALL), "copy.bin"]
    (contents,) = made.manifest.contents["owners"]
    assert (contents["files"], contents["file_bytes"]) == (2, len(LARGE) + len(SMALL))
    verified = files.verify(made.path)
    assert (verified.header.files, verified.missing_files) == (True, 0)


def test_the_bytes_of_a_file_are_stored_before_its_source(
    files: Dumps, stored: dict[str, str], run: Call, tmp_path: Path
) -> None:
    made = files.create()
    erase(files)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "objects").write_text("a file where the directory should be")
    broken = new_object_store(directory_place(tmp_path / "broken").settings)
    with pytest.raises(ObjectStoreUnavailable):
        files.restore(made, objects=broken)
    assert run("sources.list")["sources"] == []
    assert files.restore(made).files == 2
    assert len(run("sources.list")["sources"]) == 2


def test_restoring_again_replaces_a_damaged_object(
    files: Dumps, stored: dict[str, str], place: ObjectPlace
) -> None:
    made = files.create()
    place.overwrite(files.owner, hashlib.sha256(LARGE).hexdigest(), b"damaged")
    restored = files.restore(made)
    assert (restored.transactions, restored.files) == (0, 2)
    assert bytes_of(files, LARGE) == LARGE


def test_a_dump_without_files_says_so_and_which_are_missing(files: Dumps, stored: dict[str, str]) -> None:
    files.with_files = False
    made = files.create()
    assert not any(isinstance(record, FileChunk) for record in files.records(made))
    verified = files.verify(made.path)
    assert (verified.header.files, verified.missing_files) == (False, 2)
    assert "files" not in made.manifest.contents["owners"][0]
    # The object store has the bytes still.
    assert files.restore(made).missing_files.count == 0
    erase(files)
    for dry_run in (True, False):
        restored = files.restore(made, dry_run=dry_run)
        assert (restored.files, restored.missing_files.count, restored.conflict_count) == (0, 2, 0)
        listed = {(file.source_id, file.name) for file in restored.missing_files.listed}
        assert listed == {(stored["large"], "large.bin"), (stored["small"], "letter.txt")}
    with pytest.raises(ObjectMissing):
        bytes_of(files, SMALL)


def test_a_plan_writes_no_object(files: Dumps, stored: dict[str, str]) -> None:
    made = files.create()
    erase(files)
    planned = files.restore(made, dry_run=True)
    assert (planned.files, planned.missing_files.count) == (2, 0)
    assert not files.loop.run(files.services.objects.exists(files.owner, hashlib.sha256(SMALL).hexdigest()))


@pytest.mark.parametrize("damage", ["missing", "damaged", "shorter"])
def test_a_file_that_cannot_be_read_is_left_out_and_named(
    files: Dumps, stored: dict[str, str], place: ObjectPlace, damage: str
) -> None:
    path = place.path(files.owner, hashlib.sha256(LARGE).hexdigest())
    if damage == "missing":
        path.unlink()
    else:
        kept = path.read_bytes()
        path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]) if damage == "damaged" else kept[:-1])
    made = files.create()
    (missing,) = made.missing_files.listed
    assert (missing.source_id, missing.owner) == (stored["large"], files.owner)
    assert missing.reason == ("OBJECT_MISSING" if damage == "missing" else "OBJECT_DAMAGED")
    assert files.verify(made.path).missing_files == 1
    erase(files)
    assert [file.name for file in files.restore(made).missing_files.listed] == ["large.bin"]
    assert bytes_of(files, SMALL) == SMALL


def test_a_dump_is_refused_if_the_object_store_is_down(
    files: Dumps, stored: dict[str, str], place: ObjectPlace
) -> None:
    place.settings.objects_path.rename(place.settings.data_path / "elsewhere")
    with pytest.raises(ObjectStoreUnavailable):
        files.create("down")
    assert not (files.folder / "down").exists()


def test_a_dump_with_a_changed_file_is_refused_before_anything_is_restored(
    files: Dumps, stored: dict[str, str], run: Call
) -> None:
    made = files.create()

    def change(record: Record) -> Record | None:
        if isinstance(record, FileChunk) and record.offset:
            return record.model_copy(update={"data": base64.b64encode(b"x" * 9).decode()})
        return record

    forged = files.forge(made, change)
    erase(files)
    for work in (lambda: files.verify(forged), lambda: files.restore(forged)):
        with pytest.raises(DumpDamaged, match="their hash differs"):
            work()
    assert run("sources.list")["sources"] == []
    assert not files.loop.run(files.services.objects.exists(files.owner, hashlib.sha256(SMALL).hexdigest()))


@pytest.mark.parametrize("lost", [0, FILE_CHUNK_BYTES])
def test_a_dump_that_lacks_a_chunk_is_refused(files: Dumps, stored: dict[str, str], lost: int) -> None:
    made = files.create()

    def change(record: Record) -> Record | None:
        is_lost = isinstance(record, FileChunk) and record.offset == lost and len(record.data) != 32
        return None if is_lost else record

    with pytest.raises(DumpDamaged):
        files.verify(files.forge(made, change))


def test_bytes_that_the_header_denies_are_refused(
    files: Dumps, stored: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = files.create()
    real = container.DumpWriter.__init__
    monkeypatch.setattr(
        container.DumpWriter, "__init__", lambda self, file, **_: real(self, file, files=False)
    )
    with pytest.raises(DumpDamaged, match="no bytes of files"):
        files.verify(files.create("denied").path)
    assert files.verify(made.path).header.files


def test_progress_counts_the_bytes_of_files(files: Dumps, stored: dict[str, str]) -> None:
    calls: list[tuple[str, int, int | None]] = []
    made = files.create()
    files.restore(made, lambda *call: calls.append(call))
    totals = [total for stage, _, total in calls if stage == "files" and total is not None]
    assert totals == [sum(done for stage, done, _ in calls if stage == "files")] == [len(LARGE) + len(SMALL)]


def test_a_large_file_is_never_whole_in_memory(files: Dumps, run: Call) -> None:
    size = 48 << 20
    data = os.urandom(size)
    run("store", **with_file(data))
    expected = hashlib.sha256(data).hexdigest()
    del data
    made = files.create()
    erase(files)

    def peak(work: Callable[[], object]) -> int:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    try:
        # Some twenty copies of a chunk, however large the file is.
        assert peak(lambda: files.restore(made)) < 30 << 20
        assert peak(lambda: files.create("again")) < 30 << 20
    finally:
        tracemalloc.stop()
    assert files.loop.run(files.services.objects.size(files.owner, expected)) == size


# The command


@pytest.fixture
def command(settings: Settings, place: ObjectPlace) -> Callable[..., Result]:
    """Run a command as a person would, on the object store of this test."""
    variables = environment(settings, place.settings.data_path)
    return lambda *words: CliRunner().invoke(app, ["backup", *map(str, words)], env=variables)


@pytest.mark.parametrize(("source", "target"), [("directory", "s3"), ("s3", "directory")])
def test_files_move_from_one_kind_of_object_store_to_the_other(
    source: str,
    target: str,
    server: S3Server,
    loop: Loop,
    services: Services,
    settings: Settings,
    owner: str,
    tmp_path: Path,
) -> None:
    places = {
        "directory": directory_place(tmp_path / "directory", services.keys),
        "s3": s3_place(server, tmp_path / "s3", keys=services.keys),
    }

    def command(kind: str, *words: str) -> dict[str, Any]:
        variables = environment(settings, places[kind].settings.data_path) | places[kind].variables
        shown = CliRunner().invoke(app, ["backup", *words, "--json"], env=variables)
        assert shown.exit_code == 0, shown.output
        return json.loads(shown.stdout)

    stores = {kind: place.open() for kind, place in places.items()}
    at_source = Dumps(loop, replace(services, objects=stores[source]), owner, tmp_path)
    at_target = Dumps(loop, replace(services, objects=stores[target]), owner, tmp_path)
    run = by_runner(loop, at_source.services, owner)
    run("store", **with_file(LARGE))
    run("store", **with_file(SMALL))
    before, path = run("sources.list"), str(tmp_path / "moved.dump")
    command(source, "create", path, "--owner", owner)
    erase(at_source)
    restored = command(target, "restore", path)
    assert (restored["files"], restored["files_missing"], restored["conflicts"]) == (2, 0, 0)
    assert (bytes_of(at_target, LARGE), bytes_of(at_target, SMALL)) == (LARGE, SMALL)
    with pytest.raises(ObjectMissing):
        bytes_of(at_source, SMALL)
    assert by_runner(loop, at_target.services, owner)("sources.list") == before
    again = command(target, "create", str(tmp_path / "again.dump"), "--owner", owner)
    assert (at_target.root(Path(again["path"])), again["files_missing"]) == (at_source.root(Path(path)), 0)
    for store in stores.values():
        loop.run(store.close())


def test_the_commands_say_what_they_do_with_files(
    command: Callable[..., Result], files: Dumps, stored: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.dump"
    made = json.loads(command("create", path, "--owner", files.owner, "--json").stdout)
    assert (made["files"], made["file_bytes"], made["files_missing"]) == (2, len(LARGE) + len(SMALL), 0)
    verified = json.loads(command("verify", path, "--json").stdout)
    assert (verified["files"], verified["files_missing"]) == (2, 0)
    erase(files)
    restored = json.loads(command("restore", path, "--json").stdout)
    assert (restored["files"], restored["files_missing"]) == (2, 0)
    assert bytes_of(files, LARGE) == LARGE

    bare = tmp_path / "bare.dump"
    shown = command("create", bare, "--owner", files.owner, "--without-files")
    assert "does not hold their bytes: back up the object store as well" in " ".join(shown.stderr.split())
    verified = json.loads(command("verify", bare, "--json").stdout)
    assert (verified["files"], verified["files_missing"]) == (0, 2)
    erase(files)
    shown = command("restore", bare)
    assert shown.exit_code == 0
    assert "neither in the dump nor in the object store" in " ".join(shown.stderr.split())
    assert f"{stored['large']} large.bin" in shown.stderr


def test_a_backup_names_the_files_that_it_lacks(
    command: Callable[..., Result], files: Dumps, stored: dict[str, str], place: ObjectPlace, tmp_path: Path
) -> None:
    place.path(files.owner, hashlib.sha256(SMALL).hexdigest()).unlink()
    shown = command("create", tmp_path / "a.dump", "--owner", files.owner)
    assert shown.exit_code == 0
    assert "missing or damaged in the object store" in " ".join(shown.stderr.split())
    assert stored["small"] in shown.stderr
    answer = json.loads(command("create", tmp_path / "b.dump", "--owner", files.owner, "--json").stdout)
    assert answer["files_missing"] == 1
    assert [file["source_id"] for file in answer["missing_files"]] == [stored["small"]]
