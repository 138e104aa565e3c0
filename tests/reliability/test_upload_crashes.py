"""A process is killed while files are stored: each file is there whole or not at all, and once.

Kills at a time of chance are ``long``, and so are most of the places at which a process dies. A place on each
side of the commit runs always, and one of an upload.
"""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import httpx
import pytest

from graphmem.checking.unused_objects import Removal, remove_unreferenced
from graphmem.context import Services
from graphmem.model import ids, times
from graphmem.objects import ObjectStore
from graphmem.settings import Settings
from tests.reliability.test_failpoints import Doom, doom, healthy
from tests.support import failpoints
from tests.support import service as running_services
from tests.support.commands import OWNER_BY_TOKEN
from tests.support.event_loop import Loop
from tests.support.faces import Call
from tests.support.figures import Figures
from tests.support.forked_services import forks
from tests.support.killed_services import until
from tests.support.long_cases import mostly_long
from tests.support.object_places import ObjectPlace, directory_place, sha256, whole
from tests.support.service import Service, until_end

__all__ = ["doom"]

CLIENTS = 4
ACKNOWLEDGED = 24
SECOND = 1_000_000
DAYS_AGO = (1_000_000, 1_000_000)
KINDS = ("json", "json with entity", "form", "form with entity", "alone")
"""How a file is sent: ``alone`` is the route for files alone."""
NOT, DONE = False, True
PLACES = {
    "before:write.look": NOT,
    "before:write.turn": NOT,
    "after:write.turn": NOT,
    "after:commit": DONE,
    "before:answer": DONE,
}
"""Where a process dies that has put the bytes; the owner was written by another process before."""


@dataclass(slots=True)
class SentFile:
    """A file that a client sent, and its answer."""

    number: str
    kind: str
    content: bytes
    answer: dict[str, Any] | None = None

    @property
    def content_hash(self) -> str:
        """The hash of its bytes."""
        return sha256(self.content)

    @property
    def name(self) -> str:
        """Its name, which no other file has."""
        return f"{self.number}.bin"

    @property
    def has_entity(self) -> bool:
        """Whether an entity of the same name is stored with it."""
        return self.kind.endswith("with entity")

    def send(self, http: httpx.Client) -> httpx.Response:
        """Send it, always under the same keys."""
        arguments: dict[str, Any] = {"original_filename": self.name, "idempotency_key": f"store {self.name}"}
        if self.kind != "alone":
            arguments["file_idempotency_key"] = f"file {self.name}"
        if self.has_entity:
            arguments["entities"] = [{"entity_type": "thing", "name": self.name}]
        if self.kind.startswith("form"):
            form = {"arguments": json.dumps(arguments)}
            return http.post("/store", data=form, files={"file": (self.name, self.content)})
        arguments["file_content"] = base64.b64encode(self.content).decode()
        return http.post("/store/unstructured" if self.kind == "alone" else "/store", json=arguments)


@dataclass(slots=True)
class Uploads:
    """Clients that store files until the service is gone."""

    url: str
    headers: dict[str, str]
    dice: random.Random
    sent: list[SentFile] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)

    def run(self, client: int) -> None:
        """Store one file after the other; some have the bytes of the one before."""
        content = b""
        with httpx.Client(base_url=self.url, headers=self.headers, timeout=60.0) as http:
            for number in range(10_000):
                if number % 5 != 4:
                    content = self.dice.randbytes(self.dice.choice((100, 300_000, 3_000_000)))
                file = SentFile(f"{client}-{number}", KINDS[(client + number) % len(KINDS)], content)
                self.sent.append(file)
                try:
                    answer = file.send(http)
                except httpx.TransportError:
                    return
                if not answer.is_success:
                    self.faults.append(answer.text)
                    return
                file.answer = answer.json()
                if sum(each.answer is not None for each in self.sent) >= ACKNOWLEDGED:
                    self.reached.set()


@contextmanager
def half_sent(service: Service, kind: str) -> Iterator[None]:
    """Send the first 2 MB of a file of 3 MB, and wait with the others."""
    address = urlsplit(service.url)
    if kind == "form":
        mime = "multipart/form-data; boundary=b"
        first = b'--b\r\nContent-Disposition: form-data; name="file"; filename="half"\r\n\r\n'
    else:
        mime, first = "application/json", b'{"file_content": "'
    head = f"POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Type: {mime}\r\nContent-Length: 3000000\r\n"
    head += f"Authorization: {service.headers['Authorization']}\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(head.encode() + first + b"A" * 2_000_000)
        yield


@pytest.fixture
def service(settings: Settings, tmp_path: Path, owner: str) -> Service:
    """A service that takes the bearer token for the owner; it is not up yet."""
    return start(settings, tmp_path, owner)


def start(settings: Settings, folder: Path, owner: str) -> Service:
    """Start a service in a folder."""
    started = running_services.start(settings, folder, OWNER_BY_TOKEN)
    started.headers["Authorization"] = f"Bearer {owner}"
    return started


def objects_of(place: ObjectPlace, owner: str, files: list[SentFile]) -> dict[str, bytes]:
    """Return the objects of a place by their hashes, those that are of none of the files by their names."""
    hashes = {place.name(owner, file.content_hash): file.content_hash for file in files}
    names = {path.name for path in place.settings.objects_path.glob("[!.]*/*/*")}

    async def read(store: ObjectStore) -> dict[str, bytes]:
        return {hashes[name]: await whole(store, owner, hashes[name]) for name in names & hashes.keys()}

    return dict.fromkeys(names - hashes.keys(), b"") | place.run(read)


def make_old(folder: Path) -> None:
    """Have the grace time of all objects and of all unfinished puts pass."""
    for path in (folder / "objects").rglob("*"):
        os.utime(path, DAYS_AGO)


def command(settings: Settings, folder: Path, owner: str, *words: str, exits: int = 0) -> dict[str, Any]:
    """Run a command that prints JSON and exits with ``exits``; return what it prints."""
    console = folder / "console"
    before = len(console.read_bytes()) if console.exists() else 0
    code = forks().start(settings, folder, *words, "--json", owner=owner).wait()
    printed = console.read_bytes()[before:].decode()
    assert code == exits, printed
    # The console has the lines of the log as well, before the answer and after it.
    answer, _ = json.JSONDecoder().raw_decode(printed, printed.index("{"))
    return answer


@pytest.fixture
def stores(loop: Loop, services: Services, owner: str) -> Callable[[], int]:
    """How many transactions of the owner stored something. Others end interpretations."""
    query: LiteralString = "MATCH (t:Transaction {owner: $o, operation: 'store'}) RETURN count(t) AS count"
    return lambda: loop.run(services.database.script(query, o=owner))[0]["count"]


def check_files(files: list[SentFile], http: httpx.Client, owner: str) -> set[str]:
    """Check that each file is there whole or not at all; return the hashes of those that are there."""
    kept = set[str]()
    for file in files:
        source_id = ids.source_id(owner, file.content_hash)
        source = http.get(f"/sources/{source_id}")
        names = [each["name"] for each in source.json()["names"]] if source.is_success else []
        assert names.count(file.name) <= 1
        is_there = file.name in names
        things = http.post("/entities/query", json={"search": file.name, "entity_type": "thing"}).json()
        stored = [each for each in things["entities"] if each["canonical_name"] == file.name]
        assert len(stored) == (is_there and file.has_entity), file.name
        if file.answer is not None:
            assert is_there, f"{file.name} was acknowledged"
            assert file.answer["source_id"] == source_id
        if is_there:
            assert http.get(f"/sources/{source_id}/content").content == file.content
            kept.add(file.content_hash)
    return kept


def repeat(files: list[SentFile], http: httpx.Client, owner: str) -> None:
    """Send all files again: what was acknowledged is answered as before, and each file has one source."""
    for file in files:
        answer = file.send(http).json()
        assert answer["source_id"] == ids.source_id(owner, file.content_hash)
        if file.answer is not None:
            assert answer["replayed"]
            assert answer["transaction_id"] == file.answer["transaction_id"]
        file.answer = answer
    kept = check_files(files, http, owner)
    stats = http.get("/stats").json()
    assert stats["sources_count"] == len(kept)
    assert stats["total_entities"] == sum(file.has_entity for file in files)


@pytest.mark.long
def test_files_outlive_a_kill_of_the_service(
    settings: Settings,
    tmp_path: Path,
    owner: str,
    service: Service,
    services: Services,
    rest: Call,
    stores: Callable[[], int],
    figures: Figures,
) -> None:
    uploads = Uploads(service.url, service.headers, random.Random(7))
    with until_end(service), half_sent(service, "form"), half_sent(service, "json"):
        threads = [threading.Thread(target=uploads.run, args=(client,)) for client in range(CLIENTS)]
        for thread in threads:
            thread.start()
        assert uploads.reached.wait(120), uploads.faults
        time.sleep(random.uniform(0, 0.3))
        service.send(signal.SIGKILL)
        service.wait()
        for thread in threads:
            thread.join()
    assert not uploads.faults
    files = uploads.sent
    acknowledged = sum(file.answer is not None for file in files)
    place = directory_place(tmp_path, services.keys)
    with until_end(start(settings, tmp_path, owner)) as again, again.http() as http:
        kept = check_files(files, http, owner)
        objects = objects_of(place, owner, files)
        assert {digest: sha256(content) for digest, content in objects.items()} == {d: d for d in objects}
        unused = objects.keys() - kept
        assert command(settings, tmp_path, owner, "storage", "gc")["recent"] == len(objects)
        make_old(tmp_path)
        gone = command(settings, tmp_path, owner, "storage", "gc")
        assert (gone["removed"], gone["used"], gone["objects_without_sources"]) == (len(unused), len(kept), 0)
        assert objects_of(place, owner, files).keys() == kept
        assert not list((tmp_path / "objects/.incoming").iterdir())
        repeat(files, http, owner)
        assert stores() == len(files)
        make_old(tmp_path)
        gone = command(settings, tmp_path, owner, "storage", "gc")
        assert (gone["removed"], gone["used"]) == (0, len({file.content_hash for file in files}))
    findings = command(settings, tmp_path, owner, "doctor", "--deep")["findings"]
    assert [finding for finding in findings if finding["status"] == "fail"] == []
    assert healthy(rest)
    figures(f"files {len(files)} acknowledged {acknowledged} objects {len(objects)} unused {len(unused)}")


def collected(loop: Loop, services: Services, folder: Path) -> Removal:
    """Remove what nothing refers to, as if the grace time had passed."""

    async def work() -> Removal:
        store = directory_place(folder, services.keys).open()
        try:
            soon = times.now() + 60 * SECOND
            return await remove_unreferenced(services.database, store, soon, dry_run=False)
        finally:
            await store.close()

    return loop.run(work())


@pytest.mark.parametrize(
    ("place", "kind"),
    mostly_long(
        product(PLACES, ["json with entity", "form with entity", "alone"]),
        ("after:write.turn", "alone"),
        ("after:commit", "form with entity"),
    ),
)
def test_a_file_that_was_not_acknowledged_is_there_whole_or_not_at_all(
    doom: Doom,
    rest: Call,
    loop: Loop,
    services: Services,
    owner: str,
    stores: Callable[[], int],
    place: str,
    kind: str,
) -> None:
    rest("store", entities=[{"entity_type": "other", "name": "first"}], file_content="Zmlyc3Q=")
    file = SentFile("1", kind, random.Random(place).randbytes(200_000))
    doom.dies_while(place, file.send)
    kept = objects_of(directory_place(doom.folder, services.keys), owner, [file])
    assert kept == {file.content_hash: file.content}
    done = PLACES[place]
    with until_end(start(doom.settings, doom.folder, owner)) as again, again.http() as http:
        assert check_files([file], http, owner) == ({file.content_hash} if done else set())
        removal = collected(loop, services, doom.folder)
        assert (removal.removed.objects, removal.used.objects) == (not done, done)
        assert file.send(http).json()["replayed"] is done
        assert file.send(http).json()["replayed"] is True
        assert check_files([file], http, owner) == {file.content_hash}
    assert stores() == 2
    removal = collected(loop, services, doom.folder)
    assert (removal.removed.objects, removal.used.objects) == (0, 1)
    assert healthy(rest)


FILES = 40
UPLOAD_PLACES = ("before:write.look@5", "before:write.turn@5", "after:write.turn@5", "before:answer@5")


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """A directory of files; two have the same bytes. No parser reads them, so that an upload exits with 1."""
    folder = tmp_path / "scans"
    (folder / "more").mkdir(parents=True)
    for number in range(FILES):
        (folder / f"more/{number:02}.bin").write_bytes(bytes([number % (FILES - 1)]) * 1_000)
    return folder


def check_scans(answer: dict[str, Any], rest: Call, stores: Callable[[], int]) -> None:
    """Check that each file of the directory is there once."""
    assert (answer["stored"] + answer["stored_before"], answer["failed"]) == (FILES, 0)
    source_ids = {row["source_id"] for row in answer["files"]}
    assert source_ids == {source["source_id"] for source in rest("sources.list", limit=100)["sources"]}
    named = [rest("sources.get", source_id=source_id)["names"] for source_id in source_ids]
    names = sorted(each["name"] for names in named for each in names)
    assert names == [f"more/{number:02}.bin" for number in range(FILES)]
    assert (rest("server.stats")["sources_count"], stores()) == (FILES - 1, FILES)
    assert healthy(rest)


@pytest.mark.long
def test_an_upload_that_was_killed_ends_with_each_file_once(
    settings: Settings, tmp_path: Path, owner: str, rest: Call, stores: Callable[[], int], scans: Path
) -> None:
    # Each file takes a while, so that the upload has not ended before it is killed.
    slow: dict[str, Any] = {"GRAPHMEM_FAILPOINTS": "before:write.look=sleep:0.3"}
    killed = forks().start(settings, tmp_path, "upload", str(scans), owner=owner, **slow)
    until(lambda: stores() >= 3 or killed.poll() is not None)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL, (tmp_path / "console").read_text()
    before = stores()
    answer = command(settings, tmp_path, owner, "upload", str(scans), exits=1)
    assert 3 <= before == answer["stored_before"] < FILES
    check_scans(answer, rest, stores)


@pytest.mark.parametrize("place", mostly_long(UPLOAD_PLACES, "after:write.turn@5"))
def test_an_upload_whose_service_was_killed_ends_with_each_file_once(
    settings: Settings,
    tmp_path: Path,
    owner: str,
    rest: Call,
    stores: Callable[[], int],
    scans: Path,
    place: str,
) -> None:
    port = running_services.free_port()
    words = ("--base-url", f"http://127.0.0.1:{port}", "upload", str(scans))
    step, _, number = place.partition("@")
    armed: dict[str, Any] = {"GRAPHMEM_FAILPOINTS": f"{step}=exit@{number}"}
    dying = running_services.start(settings, tmp_path, owner, port, **armed)
    running_services.until_listening(port)
    failed = forks().start(settings, tmp_path, *words, owner=owner)
    assert failed.wait() not in (0, 1, failpoints.KILLED), "1 is the code of an upload that ended"
    assert dying.wait() == failpoints.KILLED
    before = stores()
    with until_end(running_services.start(settings, tmp_path, owner, port)):
        answer = command(settings, tmp_path, owner, *words, exits=1)
    assert 0 < before == answer["stored_before"] < FILES
    check_scans(answer, rest, stores)
