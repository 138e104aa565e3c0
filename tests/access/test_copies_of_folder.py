"""Copies that exchange facts through a folder: what they write, what they take, and what they leave."""

from __future__ import annotations

import base64
import os
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmem.auth import ALL_SCOPES, Method
from graphmem.auth.accounts import Accounts, actor_of
from graphmem.context import Services
from graphmem.copies import exchanging, stored_copies
from graphmem.copies.folder import Folder
from graphmem.dump import pages
from graphmem.errors import CopyRefused, Forbidden, InvalidInput, ServiceUnreachable
from graphmem.objects import new_object_store
from graphmem.objects.directory import DirectoryBackend
from graphmem.settings import Settings
from tests.access.conftest import Instance
from tests.access.test_copies import ADA, LETTER, Side
from tests.support.dumps import wipe
from tests.support.event_loop import Loop

Make = Callable[..., Side]
FORGET = "MATCH (account:Account {owner: $owner}) SET account.owner = randomUUID()"


def _makes(loop: Loop, services: Services, root: Path) -> Iterator[Make]:
    """Make accounts as the person at the machine acts for them; a database has one copy of an owner at a
    time, so what it had before is forgotten first."""
    accounts, made = Accounts(services.database), list[Side]()
    known = dict(services.settings)
    settings = Settings.model_construct(**{**known, "data_dir": root})
    own = replace(services, objects=new_object_store(settings, services.keys))

    def forget() -> None:
        for side in made:
            side("copies.leave")
            owner = loop.run(accounts.by_name(side.actor.account_name)).owner
            wipe(loop, services, owner)
            loop.run(services.database.script(FORGET, owner=owner))
        made.clear()

    def make() -> Side:
        forget()
        account = loop.run(accounts.create(f"copy-{uuid.uuid4().hex[:8]}", ["read", "write", "admin"], None))
        made.append(Side(loop, own, actor_of(account, "cli", Method.PROCESS, ALL_SCOPES)))
        return made[0]

    yield make
    forget()


@pytest.fixture
def here(loop: Loop, services: Services, tmp_path: Path) -> Iterator[Make]:
    yield from _makes(loop, services, tmp_path / "here")


@pytest.fixture
def there(instance: Instance, tmp_path: Path) -> Iterator[Make]:
    yield from _makes(instance.loop, instance.services, tmp_path / "there")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


def begun(side: Side, shared: Path) -> str:
    """Have a copy make the folder and exchange facts; return the key."""
    added = side("copies.add", url=f"file:{shared}")
    assert added["copy"]["status"] == "active"
    assert side.exchange()["error"] is None
    return added["key"]


def joined(side: Side, shared: Path, key: str, **arguments: Any) -> Side:
    """Have an account join the folder; return it as it acts from then on."""
    side("copies.join", url=f"file:{shared}", key=key, **arguments)
    account = side.loop.run(Accounts(side.services.database).by_name(side.actor.account_name))
    return Side(side.loop, side.services, actor_of(account, "cli", Method.PROCESS, ALL_SCOPES))


def pair(there: Make, here: Make, shared: Path) -> tuple[Side, Side]:
    """Return two copies of a memory with one entity; the second has joined the folder of the first."""
    desk = there()
    desk("store", entities=[ADA])
    return desk, joined(here(), shared, begun(desk, shared))


def facts(shared: Path, side: Side | None = None) -> list[Path]:
    """Return the pages in the folder, those of one copy, in their order."""
    own = "" if side is None else side("copies.list")["copy_id"]
    return sorted(path for path in (shared / "facts").iterdir() if path.name.startswith(own or "copy_"))


def problem(side: Side) -> str | None:
    (copy,) = side("copies.list")["copies"]
    assert copy["status"] == "active"
    return copy["last_error"]


def store_file(side: Side, letter: bytes) -> str:
    answer = side("store", file_content=base64.b64encode(letter).decode(), mime_type="text/plain")
    return answer["content_hash"]


def test_copies_take_everything_both_ways_and_a_third_joins(there: Make, here: Make, shared: Path) -> None:
    desk = there()
    digest = store_file(desk, LETTER)
    desk("store", entities=[ADA])
    key = begun(desk, shared)
    laptop = joined(here(), shared, key)
    assert laptop.actor.owner == desk.actor.owner
    first = laptop.exchange()
    assert (first["error"], first["sent"], first["files"]) == (None, 0, 1)
    assert laptop.state == desk.state
    assert laptop.content(digest) == LETTER
    # What came by the folder is not written into it again.
    assert len(facts(shared)) == len(facts(shared, desk)) == 1
    letter = store_file(laptop, LETTER * 400_000)
    laptop("store", entities=[{**ADA, "died": 1852}])
    desk("store", entities=[{**ADA, "title": "Countess"}])
    assert (laptop.exchange()["sent"], desk.exchange()["taken"]) == (2, 2)
    assert laptop.exchange()["taken"] == 1
    assert laptop.state == desk.state
    assert desk.content(letter) == LETTER * 400_000
    assert problem(laptop) is problem(desk) is None
    # The desk is lost; what it wrote is in the folder.
    state, owner = laptop.state, laptop.actor.owner
    phone = joined(there(), shared, key)
    assert phone.exchange()["error"] is None
    assert (phone.state, phone.actor.owner) == (state, owner)
    assert phone("server.check_snapshots")["healthy"]
    assert phone.content(letter) == LETTER * 400_000


def test_nothing_in_the_folder_can_be_read_without_the_key(there: Make, shared: Path) -> None:
    desk = there()
    desk("store", entities=[ADA])
    digest = store_file(desk, LETTER)
    begun(desk, shared)
    paths = [path for path in shared.rglob("*") if path.is_file()]
    assert len(facts(shared)) == 1
    for path in paths:
        assert path.stat().st_mode & 0o777 == 0o600
        assert not re.search(b"Ada|Lovelace|entity|owner", path.read_bytes())
        assert digest not in path.name
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in shared.rglob("*") if path.is_dir())


def test_facts_wait_for_those_of_others_that_they_need(
    there: Make, here: Make, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The pages of the one that withdraws come first by their names.
    ids = iter("fa9")
    monkeypatch.setattr(
        stored_copies,
        "new_id",
        lambda kind: f"{kind}_{next(ids) if kind == 'copy' else '0'}{uuid.uuid4().hex[:23]}",
    )
    desk = there()
    stored = desk("store", entities=[ADA])
    key = begun(desk, shared)
    laptop = joined(here(), shared, key)
    laptop.exchange()
    laptop("undo", transaction_id=stored["transaction_id"])
    laptop.exchange()
    state = laptop.state
    (needed,) = facts(shared, desk)
    hidden = needed.rename(shared / "hidden")
    phone = joined(there(), shared, key)
    assert phone.exchange()["taken"] == 0
    assert "waits for copy_f" in (problem(phone) or "")
    hidden.rename(needed)
    assert phone.exchange()["conflicts"] == 0
    assert (phone.state, problem(phone)) == (state, None)


def test_what_is_cut_or_not_there_yet_is_waited_for(
    there: Make, here: Make, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_TRANSACTIONS", 1)
    desk, laptop = pair(there, here, shared)
    assert laptop.exchange()["taken"] == 1
    desk("store", entities=[{**ADA, "died": 1852}])
    digest = store_file(desk, LETTER)
    desk.exchange()
    _, second, *_ = facts(shared)
    (letter,) = (path for path in (shared / "files").rglob("*") if path.is_file())
    for path in (second, letter):
        whole = path.read_bytes()
        for cut in (None, 0, 50, len(whole) - 1):
            path.unlink(missing_ok=True)
            if cut is not None:
                path.write_bytes(whole[:cut])
            laptop.exchange()
            before = laptop.state
            laptop.exchange()
            named = problem(laptop) or ""
            assert "waits for" in named, (path, cut)
            assert "not from" not in named, (path, cut)
            assert laptop.state == before
            laptop("store", entities=[{"entity_type": "thing", "name": f"{path.name} {cut}"}])
            assert laptop.exchange()["sent"] == 1
        path.write_bytes(whole)
    laptop.exchange()
    assert problem(laptop) is None
    desk.exchange()
    assert laptop.state == desk.state
    assert laptop.content(digest) == LETTER


def test_what_is_not_from_the_copies_is_named_and_left(
    there: Make, here: Make, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_TRANSACTIONS", 1)
    desk, laptop = pair(there, here, shared)
    laptop.exchange()
    desk("store", entities=[{**ADA, "died": 1852}])
    desk("store", entities=[{**ADA, "born": 1815}])
    desk.exchange()
    # Pages of another folder of the same copy.
    elsewhere = tmp_path / "elsewhere"
    desk("copies.add", url=f"file:{elsewhere}")
    desk("copies.sync")
    _, second, third = facts(shared)
    wholes = {path: path.read_bytes() for path in (second, third)}
    changed = bytearray(wholes[second])
    changed[40] ^= 1
    before = laptop.state
    for bad in (bytes(changed), os.urandom(5_000), facts(elsewhere)[1].read_bytes(), wholes[third]):
        second.write_bytes(bad)
        laptop.exchange()
        assert f"{second.name} is not from these copies" in (problem(laptop) or "")
        assert laptop.state == before
        assert second.read_bytes() == bad
    second.unlink()
    target = tmp_path / "target"
    target.write_bytes(wholes[second])
    second.symlink_to(target)
    (shared / "facts" / "notes.txt").write_text("hello")
    (shared / "facts" / "pipe").mkdir()
    laptop.exchange()
    for name in (second.name, "notes.txt", "pipe"):
        assert re.search(f"{name}'? is not from these copies", problem(laptop) or "")
    assert laptop.state == before
    # What was damaged is removed by hand, and its copy writes it again.
    second.unlink()
    desk("copies.sync")
    laptop.exchange()
    assert laptop.state == desk.state
    assert (shared / "facts" / "notes.txt").read_text() == "hello"


def test_a_file_that_is_damaged_is_named_and_its_facts_are_tried_again(
    there: Make, here: Make, shared: Path
) -> None:
    desk = there()
    digest = store_file(desk, LETTER * 400_000)
    key = begun(desk, shared)
    (letter,) = (path for path in (shared / "files").rglob("*") if path.is_file())
    whole = letter.read_bytes()
    letter.write_bytes(whole[:-9] + b"x" + whole[-8:])
    laptop = joined(here(), shared, key)
    assert letter.name in (laptop.exchange()["error"] or "")
    letter.write_bytes(whole)
    assert laptop.exchange()["error"] is None
    assert laptop.content(digest) == LETTER * 400_000


@pytest.mark.parametrize("lost", [slice(0, 1), slice(2, 4), slice(5, 6), slice(0, 6)])
def test_pages_that_are_removed_are_written_again_and_no_copy_waits_for_another(
    there: Make, here: Make, shared: Path, monkeypatch: pytest.MonkeyPatch, lost: slice
) -> None:
    monkeypatch.setattr(pages, "PAGE_TRANSACTIONS", 1)
    desk = there()
    stored = desk("store", entities=[ADA])
    key = begun(desk, shared)
    laptop = joined(here(), shared, key)
    for year in range(1811, 1816):
        # Each needs what the other one wrote before.
        laptop.exchange()
        laptop("undo", transaction_id=stored["transaction_id"])
        laptop.exchange()
        desk.exchange()
        stored = desk("store", entities=[{**ADA, "born": year}])
        desk.exchange()
    laptop.exchange()
    of_desk = facts(shared, desk)
    assert len(of_desk) == 6
    for path in of_desk[lost]:
        path.unlink()
    desk.exchange()
    left = {path: path.read_bytes() for path in facts(shared)}
    assert desk.exchange()["sent"] == 0
    assert left == {path: path.read_bytes() for path in facts(shared)}
    state = desk.state
    # The laptop is lost, and another machine reads all from the beginning.
    laptop = joined(here(), shared, key)
    exchanged = laptop.exchange()
    assert (exchanged["error"], exchanged["conflicts"], problem(laptop)) == (None, 0, None)
    assert laptop.state == state


def test_links_in_place_of_folders_are_not_followed(there: Make, shared: Path, tmp_path: Path) -> None:
    desk = there()
    store_file(desk, LETTER)
    begun(desk, shared)
    outside = tmp_path / "outside"
    outside.mkdir()
    (files,) = (path for path in (shared / "files").iterdir())
    for folder in (shared / "files", files, shared / ".incoming", shared / "facts"):
        moved = folder.rename(tmp_path / "moved")
        folder.symlink_to(outside if folder.name != "facts" else moved)
        desk("store", entities=[{**ADA, "note": str(folder)}])
        assert "is a link, which is not followed" in desk.exchange()["error"]
        assert list(outside.iterdir()) == []
        folder.unlink()
        moved.rename(folder)
    assert desk.exchange()["error"] is None
    assert len(facts(shared)) == 2


def test_a_write_that_is_killed_leaves_no_page(
    there: Make, here: Make, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = there()
    desk("store", entities=[ADA])
    key = begun(desk, shared)
    desk("store", entities=[{**ADA, "born": 1815}])

    def killed(*arguments: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(DirectoryBackend, "commit", killed)
        assert desk.exchange()["error"] == "RuntimeError"
    assert len(facts(shared)) == 1
    assert list((shared / ".incoming").iterdir()) == []
    # Killed after the page has its name: it is written again, and changes nothing twice.
    with monkeypatch.context() as patch:
        real = Folder.give

        async def cut(self: Folder, *arguments: Any) -> Any:
            await real(self, *arguments)
            raise ServiceUnreachable

        patch.setattr(Folder, "give", cut)
        assert desk.exchange()["error"]
    wholes = {path: path.read_bytes() for path in facts(shared)}
    assert len(wholes) == 2
    assert desk.exchange()["error"] is None
    assert len(facts(shared)) == 3
    assert wholes == {path: path.read_bytes() for path in wholes}
    desk("store", entities=[{**ADA, "died": 1852}])
    assert desk.exchange()["error"] is None
    laptop = joined(here(), shared, key)
    assert laptop.exchange()["taken"] == 3
    assert laptop.state == desk.state
    assert laptop.exchange()["sent"] == 0


def test_the_worker_looks_into_the_folder_and_writes_only_what_is_new(
    there: Make, here: Make, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanging, "NOTED_SECONDS", (600, 600))
    desk, laptop = pair(there, here, shared)

    def work(side: Side) -> int:
        return side.loop.run(exchanging.exchange_waiting(side.services))

    def row(side: Side) -> Any:
        return side("copies.list")["copies"]

    def unchanged(side: Side) -> None:
        before, files = row(side), {path: path.stat().st_mtime_ns for path in shared.rglob("*")}
        assert work(side) == 0
        assert row(side) == before
        assert {path: path.stat().st_mtime_ns for path in shared.rglob("*")} == files

    assert work(laptop) == 1
    unchanged(laptop)
    unchanged(desk)
    stray = shared / "facts" / "notes.txt"
    stray.write_text("hello")
    assert "notes.txt" in laptop.exchange()["error"]
    unchanged(laptop)
    stray.unlink()
    assert laptop.exchange()["error"] is None
    desk("store", entities=[{**ADA, "born": 1815}])
    laptop("store", entities=[{**ADA, "died": 1852}])
    assert (work(laptop), work(desk), work(laptop)) == (1, 2, 1)
    assert laptop.state == desk.state
    # The disk is away, and comes back.
    away = shared.rename(shared.with_name("away"))
    desk("store", entities=[{**ADA, "title": "Countess"}])
    assert "SERVICE_UNREACHABLE" in desk.exchange()["error"]
    assert not shared.exists()
    away.rename(shared)
    assert (desk.exchange()["sent"], laptop.exchange()["taken"]) == (1, 1)


def test_who_may_exchange_through_a_folder(
    there: Make, here: Make, shared: Path, tmp_path: Path, loop: Loop
) -> None:
    desk = there()
    desk("store", entities=[ADA])
    for method in Method:
        if method not in (Method.PROCESS, Method.SOCKET):
            remote = Side(desk.loop, desk.services, replace(desk.actor, method=method))
            for name in ("copies.add", "copies.join"):
                with pytest.raises(Forbidden, match="person at the machine"):
                    remote(name, url=f"file:{shared}")
    assert not shared.exists()
    assert desk("copies.list")["set_id"] is None
    for url in ("file:", "file:shared", "file:../shared", "file:/tmp/\n", "file:/a\0b"):
        with pytest.raises(InvalidInput):
            desk("copies.add", url=url)
    key = begun(desk, shared)
    laptop = here()
    with pytest.raises(ServiceUnreachable, match="no memory that this key opens"):
        laptop("copies.join", url=f"file:{shared}", key=key[:-1] + ("0" if key[-1] != "0" else "1"))
    with pytest.raises(InvalidInput):
        laptop("copies.join", url=f"file:{shared}", key="gm_sk_abc")
    with pytest.raises(ServiceUnreachable, match="no memory that this key opens"):
        laptop("copies.join", url=f"file:{tmp_path / 'empty'}", key=key)
    with pytest.raises(ServiceUnreachable, match="give the key"):
        laptop("copies.add", url=f"file:{shared}")
    laptop("store", entities=[ADA])
    with pytest.raises(CopyRefused, match="another owner"):
        laptop("copies.add", url=f"file:{shared}", key=key)
    assert len(facts(shared)) == 1


def test_two_memories_are_put_together_only_after_a_look(there: Make, here: Make, shared: Path) -> None:
    desk = there()
    desk("store", entities=[{"entity_type": "company", "name": "Analytical Engines"}])
    key = begun(desk, shared)
    laptop = joined(here(), shared, key)
    laptop("copies.leave")
    laptop("store", entities=[ADA])
    seen = laptop("copies.add", url=f"file:{shared}", key=key)
    assert seen["there"] == {"transactions": 1, "entities": 1, "names": ["Analytical Engines"]}
    assert "key" not in seen
    assert laptop("copies.list")["copies"] == []
    assert laptop("copies.add", url=f"file:{shared}", key=key, confirm=True)["copy"]["status"] == "active"
    laptop.exchange()
    desk.exchange()
    assert laptop.state == desk.state == (desk.state[0], 2)
    assert laptop("copies.list")["set_id"] == desk("copies.list")["set_id"]
    # One that is of the set already is connected at once.
    laptop("copies.leave", copy_id=laptop("copies.list")["copies"][0]["id"])
