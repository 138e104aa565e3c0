"""The power is cut: what was acknowledged is on the disk, and what is on the disk is whole."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphmem import dump, environment_file
from graphmem.context import Services
from graphmem.errors import DumpRefused
from graphmem.neo4j_local import backup_record
from graphmem.neo4j_local.private_files import flush, new_file, write_private
from graphmem.objects import directory
from graphmem.sealing import InstanceKeys, RootKey
from graphmem.sealing.root_key import keep_root_key, stored_root_key
from graphmem.settings import load
from tests.reliability.test_upload_crashes import SentFile, Uploads, repeat
from tests.support.event_loop import Loop
from tests.support.faces import by_runner
from tests.support.figures import Figures
from tests.support.killed_services import CrashReport, audit, kill_under_load, until
from tests.support.object_places import OWNER, directory_place, parts, sha256, whole
from tests.support.power import PowerDisk, PoweredService, await_end, power_disk

CONTENT = b"The lighthouse opens in May." * 10_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PowerDisk]:
    """A small disk."""
    with power_disk(tmp_path, 64) as made:
        yield made


Check = Callable[[], object]


def make_keys(folder: Path) -> Check:
    """Make the keys of a sealed instance, and of two owners."""
    root = RootKey.new()
    settings = load(env="test", data_dir=folder / "data", root_key_dir=folder / "root")
    keep_root_key(settings, root, "file")
    keys = InstanceKeys.create(settings.keys_path, root)
    made = [keys.of(owner) for owner in ("ada", "grace")]
    gone = keys.destroy("grace")

    def check() -> None:
        again = InstanceKeys(settings.keys_path, stored_root_key(settings, root.id))
        assert again.find(made[0].id) == made[0]
        assert again.record().destroyed == gone

    return check


def write_settings(folder: Path) -> Check:
    """Write the file of an environment, once and again."""
    for value in ("1", "2"):
        path = folder / environment_file.FILE
        write_private(path, environment_file.changed(folder, {"GRAPHMEM_HEAVY_QUERIES": value}))
    return lambda: environment_file.read(folder)["GRAPHMEM_HEAVY_QUERIES"] == "2"


def write_dumps(folder: Path) -> Check:
    """Write a file as dumps are written, replace it, and note it among the backups."""
    settings = load(env="test", data_dir=folder)
    path = backup_record.folder(settings) / "a.dump"
    for content in (b"first", CONTENT):
        with new_file(path, True, DumpRefused) as file:
            file.write(content)
        backup_record.note(settings, path, root="")
    return lambda: path.read_bytes() == CONTENT and len(backup_record.backups(settings)) == 1


def put_objects(folder: Path) -> Check:
    """Put a file, and one of which another process has put the bytes and not yet flushed the name."""
    place = directory_place(folder)
    other = CONTENT[1:]

    place.run(lambda store: store.put(OWNER, parts(CONTENT)))
    prepared, holds = folder / "prepared", directory._holds
    with prepared.open("wb") as file:
        file.write(other)
        flush(file)

    def renamed_meanwhile(path: Path, staged: Any) -> bool:
        os.replace(prepared, path)
        return holds(path, staged)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directory, "_holds", renamed_meanwhile)
        place.run(lambda store: store.put(OWNER, parts(other)))

    def check() -> bool:
        read = [place.run(lambda store, c=each: whole(store, OWNER, sha256(c))) for each in (CONTENT, other)]
        return read == [CONTENT, other]

    return check


@pytest.mark.parametrize("write", [make_keys, write_settings, write_dumps, put_objects])
def test_what_was_written_before_the_power_is_cut_is_there(
    disk: PowerDisk, write: Callable[[Path], Check]
) -> None:
    check = write(disk.folder)
    disk.cut()
    disk.restart()
    assert check() in (None, True)


def test_what_was_not_flushed_is_lost(disk: PowerDisk) -> None:
    (disk.folder / "file").write_bytes(CONTENT)
    disk.cut()
    disk.restart()
    assert not (disk.folder / "file").exists()


# A whole instance

CLIENTS = 3
CUTS = int(os.environ.get("GRAPHMEM_TEST_CUTS", "50"))
LONGEST_SECONDS = {"uploads": 3.0, "dump": 6.0, "move": 12.0, "restore": 8.0, "start": 25.0, "stores": 3.0}
"""What is under way when the power is cut, and before how many seconds of it that is."""


@dataclass
class Cuts:
    """An instance whose power is cut again and again, and what must be there after each cut."""

    victims: PoweredService
    dice: random.Random
    loop: Loop
    services: Services
    folder: Path
    kept: dict[str, str] = field(default_factory=dict)
    """The state hash of each owner that nobody writes to any more."""
    told: str = ""
    """What there is to say of the last cut."""
    ended: Counter[str] = field(default_factory=Counter)
    """How often the work had ended before the power was cut."""

    def __call__(self, work: str, number: int) -> None:
        """Cut the power once, and check everything."""
        self.told = ""
        {
            "stores": self.stores, "move": self.move, "start": self.start,
        }.get(work, partial(self.files, work=work))(number)  # fmt: skip
        for owner, state_hash in self.kept.items():
            assert self.stats(owner)["state_hash"] == state_hash, owner
        self.check_objects()

    def http(self, owner: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {owner}"}
        return httpx.Client(base_url=self.victims.url, headers=headers, timeout=300.0)

    def stats(self, owner: str) -> dict[str, Any]:
        with self.http(owner) as http:
            return http.get("/stats").raise_for_status().json()

    def stores(self, number: int) -> None:
        """Cut while clients write and read all that there is."""
        report = asyncio.run(kill_under_load(self.victims, "power", CLIENTS, 3.0, self.dice))
        assert not report.wrong, report.wrong
        self.told = str(report)
        for owner in report.owners:
            self.keep(owner)

    def files(self, number: int, work: str) -> None:
        """Cut while clients store files and entities, and a dump is written or restored beside them."""
        owner = str(uuid.uuid4())
        uploads = Uploads(self.victims.url, {"Authorization": f"Bearer {owner}"}, self.dice)
        clients = [
            threading.Thread(target=uploads.run, args=(CLIENTS * number + each,)) for each in range(CLIENTS)
        ]
        dumped, restored = self.victims.disk.folder / f"{number}.dump", self.folder / f"{number}.dump"
        words, restored_owner, state_hash = ("backup", "create", str(dumped)), "", ""
        if work == "restore":
            words = ("backup", "restore", str(restored))
            restored_owner, state_hash = self.dump_to_restore(restored)
        first = SentFile(f"{number}-first", "json with entity", str(number).encode())
        uploads.sent.append(first)
        with self.http(owner) as http:
            until(lambda: self.is_stored(first, http), 900)
        for client in clients:
            client.start()
        if work != "uploads":
            self.victims.command(*words)
        time.sleep(self.dice.uniform(0, LONGEST_SECONDS[work]))
        self.cut(work)
        for client in clients:
            client.join()
        with self.http(owner) as http:
            until(lambda: all(self.is_stored(file, http) for file in uploads.sent[:5]), 900)
            repeat(uploads.sent, http, owner)
        self.told = f"acknowledged {sum(file.answer is not None for file in uploads.sent)}"
        self.keep(owner)
        if work == "dump" and (self.victims.ended or dumped.exists()):
            self.finished("backup", "verify", str(dumped))
            dumped.unlink()
        if work == "restore":
            # What was restored before the cut is there, and the rest is added.
            self.finished(*words)
            assert self.stats(restored_owner)["state_hash"] == state_hash
            self.keep(restored_owner)

    def is_stored(self, file: SentFile, http: httpx.Client) -> bool:
        """Send a file; return whether it is stored. On a busy machine, a first run may end with 503."""
        answer = file.send(http)
        file.answer = answer.json() if answer.is_success else file.answer
        return answer.is_success

    def cut(self, work: str) -> None:
        """Cut the power, and start again."""
        self.victims.kill("power")
        self.ended[work] += self.victims.ended
        self.victims.up()

    def keep(self, owner: str) -> None:
        """Check what an owner has, who writes no more, and have it compared after each later cut."""
        report = CrashReport()
        asyncio.run(audit(report, self.victims.url, owner))
        assert not report.wrong, report.wrong
        self.kept[owner] = self.stats(owner)["state_hash"]

    def check_objects(self) -> None:
        """Check that each object is whole; those of a sealed instance were read and compared."""
        if self.victims.root is None:
            for path in self.victims.settings.objects_path.glob("[!.]*/*/*"):
                assert sha256(path.read_bytes()) == path.name

    def dump_to_restore(self, path: Path) -> tuple[str, str]:
        """Write a dump of an owner of another instance; return the owner with its state hash."""
        owner = str(uuid.uuid4())
        call = by_runner(self.loop, self.services, owner)
        for number in range(30):
            items = [{"entity_type": "thing", "name": f"{number} {n}", "n": n} for n in range(20)]
            text = base64.b64encode(self.dice.randbytes(50_000)).decode()
            call("store", entities=items, file_content=text, original_filename=f"{number}.bin")
        services = self.services
        made = dump.create(services.database, path, [owner], objects=services.objects, keys=services.keys)
        self.loop.run(made)
        return owner, call("server.stats")["state_hash"]

    def move(self, number: int) -> None:
        """Cut while the data is moved to another directory: one of both is whole; then move it there."""
        target = self.victims.disk.folder / ("data" if self.victims.folder.name != "data" else "data-2")
        words = ("storage", "move", str(target))
        self.victims.stop()
        process = self.victims.command(*words)
        await_end(process, self.dice.uniform(0.5, LONGEST_SECONDS["move"]))
        self.cut("move")
        if self.victims.folder != target:
            self.victims.stop()
            self.finished(*words)
            self.victims.start()
            self.victims.up()
        assert self.victims.folder == target

    def start(self, number: int) -> None:
        """Cut while service and database start, and replay what the cut before left."""
        self.victims.kill("power")
        time.sleep(self.dice.uniform(0, LONGEST_SECONDS["start"]))
        self.cut("start")

    def finished(self, *words: str) -> None:
        """Run a command to its end."""
        process = self.victims.command(*words)
        assert process.wait(600) == 0, self.victims.console.read_text()[-2000:]
        self.victims.beside.remove(process)


@pytest.fixture
def whole_disk(tmp_path: Path) -> Iterator[PowerDisk]:
    """A disk for an instance."""
    with power_disk(tmp_path) as made:
        yield made


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("kind", ["in clear", "sealed"])
def test_an_instance_loses_nothing_acknowledged_when_the_power_is_cut(
    whole_disk: PowerDisk, loop: Loop, services: Services, tmp_path: Path, figures: Figures, kind: str
) -> None:
    victims = PoweredService(whole_disk, RootKey.new() if kind == "sealed" else None)
    cuts = Cuts(victims, random.Random(kind), loop, services, tmp_path)
    try:
        victims.start()
        victims.up()
        for number in range(CUTS // 2):
            begin, work = time.monotonic(), [*LONGEST_SECONDS][number % len(LONGEST_SECONDS)]
            cuts(work, number)
            figures(f"{kind} {number:2} {work:8} {time.monotonic() - begin:5.1f} s {cuts.told}")
    finally:
        victims.close()
    figures(f"{kind}: {CUTS // 2} cuts, ended before the cut: {dict(cuts.ended)}")
