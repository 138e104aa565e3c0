"""Copies over REST: databases of one owner exchange facts and files, each once, whatever ends an exchange."""

from __future__ import annotations

import base64
import contextlib
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphmem.auth import ALL_SCOPES, Actor, Method
from graphmem.auth.accounts import Accounts, actor_of
from graphmem.cli.main import app
from graphmem.context import Services
from graphmem.copies import exchanging, stored_copies
from graphmem.copies.remote_copy import RemoteCopy
from graphmem.dump import pages
from graphmem.errors import (
    CopyBehind,
    CopyRefused,
    Forbidden,
    InvalidInput,
    NotFound,
    ReadingCopy,
    ServiceUnreachable,
)
from graphmem.model import canonical, times
from graphmem.model.fact_table import BY_NAME
from graphmem.objects import new_object_store
from graphmem.operations import copied_facts
from graphmem.registry import REGISTRY
from graphmem.settings import Settings
from tests.access.conftest import Instance
from tests.support import failpoints
from tests.support.commands import environment
from tests.support.copies import without_own
from tests.support.dumps import all_answers, store_rich_example, wipe
from tests.support.event_loop import Loop
from tests.support.faces import share_services
from tests.support.forked_services import forks
from tests.support.sealed_services import sealed_services_beside
from tests.support.service import Service, start, until_end

ADA = {"entity_type": "person", "name": "Ada Lovelace", "email": "ada@example.org"}
LETTER = b"Dear Ada"


@dataclass
class Side:
    """An account of one of the two instances."""

    loop: Loop
    services: Services
    actor: Actor

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return canonical.decode(self.loop.run(REGISTRY[name].run(self.services, self.actor, arguments)))

    @property
    def state(self) -> tuple[str, int]:
        stats = self("server.stats")
        return stats["state_hash"], stats["total_observations"]

    def content(self, content_hash: str) -> bytes:
        """Return the bytes of a file that this copy has."""

        async def read() -> bytes:
            chunks = self.services.objects.read(self.actor.owner, content_hash)
            return b"".join([chunk async for chunk in chunks])

        return self.loop.run(read())

    def exchange(self) -> dict[str, Any]:
        """Exchange facts now with the only copy that is known."""
        (exchanged,) = self("copies.sync")["exchanges"]
        return exchanged


@dataclass
class There(Side):
    """The instance that is called, with its service and a key of the account with the scope ``copy``."""

    url: str
    key: str


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, own_services: Services) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("copies")
    with until_end(start(own_services.settings, folder, "nobody")) as started:
        yield started


@pytest.fixture
def there(instance: Instance, service: Service) -> There:
    account = instance.account(f"there-{uuid.uuid4().hex[:8]}")
    key = instance.key(account, ["copy"])
    actor = actor_of(account, "rest", Method.KEY)
    # The object store of the service.
    known = instance.services.settings
    settings = Settings.model_construct(**{**dict(known), "data_dir": service.folder})
    objects = new_object_store(settings, instance.services.keys)
    return There(instance.loop, replace(instance.services, objects=objects), actor, service.url, key)


@pytest.fixture
def here(loop: Loop, services: Services) -> Iterator[Callable[[], Side]]:
    """Make an account of the database of this run, as the person at this machine acts for it."""
    accounts, made = Accounts(services.database), list[Side]()

    def make() -> Side:
        name = f"here-{uuid.uuid4().hex[:8]}"
        account = loop.run(accounts.create(name, ["read", "write", "admin"], None))
        side = Side(loop, services, actor_of(account, "cli", Method.PROCESS, ALL_SCOPES))
        made.append(side)
        return side

    yield make
    for side in made:
        with contextlib.suppress(NotFound):
            account = loop.run(accounts.by_name(side.actor.account_name))
            wipe(loop, services, account.owner)


def joined(side: Side, there: There, **arguments: Any) -> Side:
    """Have an account join a copy; return it as it acts from then on."""
    side("copies.join", url=there.url, key=there.key, name="laptop", **arguments)
    account = side.loop.run(Accounts(side.services.database).by_name(side.actor.account_name))
    return Side(side.loop, side.services, actor_of(account, "cli", Method.PROCESS, ALL_SCOPES))


def test_a_copy_that_joins_takes_everything_and_both_go_on(there: There, here: Callable[[], Side]) -> None:
    store_rich_example(there)
    laptop = joined(here(), there)
    assert laptop.actor.owner == there.actor.owner
    first = laptop.exchange()
    assert first["error"] is None
    assert (first["sent"], first["taken"]) == (0, there("server.stats")["sequence"])
    assert laptop.state == there.state
    (source, *_) = laptop("sources.list")["sources"]
    assert source["content_hash"]
    # Both write, and both have it.
    laptop("store", entities=[{**ADA, "died": 1852}])
    there("store", entities=[{**ADA, "title": "Countess"}])
    second = laptop.exchange()
    assert (second["sent"], second["taken"]) == (1, 1)
    assert laptop.state == there.state
    assert {"died", "title"} <= laptop("entities.find", identifier="ada@example.org")["entities"][0][
        "snapshot"
    ].keys()
    for side in (laptop, there):
        assert side("server.check_snapshots")["healthy"]
    # Nothing comes a second time.
    third = laptop.exchange()
    assert (third["sent"], third["taken"], third["files"]) == (0, 0, 0)
    status = laptop("copies.list")
    assert (status["waiting"], status["reads_from"], status["copies"][0]["last_error"]) == (0, None, None)
    assert status["behind_seconds"] < 60
    (copy,) = there("copies.list")["copies"]
    assert (copy["peer_name"], copy["status"], copy["taken"], "url" in copy) == ("laptop", "active", 1, False)


def test_files_come_with_the_facts_both_ways_or_later(
    there: There, here: Callable[[], Side], loop: Loop
) -> None:
    of_there = there("store", file_content=base64.b64encode(LETTER).decode(), mime_type="text/plain")
    laptop = joined(here(), there)
    assert laptop.exchange()["files"] == 1
    assert laptop.content(of_there["content_hash"]) == LETTER
    of_laptop = laptop("store", file_content=base64.b64encode(LETTER * 9).decode(), mime_type="text/plain")
    assert laptop.exchange()["files"] == 1
    assert there.content(of_laptop["content_hash"]) == LETTER * 9
    # Of a file whose bytes nobody has, the facts come.
    for each in (there, laptop):
        loop.run(each.services.objects.delete(each.actor.owner, of_there["content_hash"]))
    there("store", file_content=base64.b64encode(LETTER).decode(), mime_type="text/plain", entities=[ADA])
    loop.run(there.services.objects.delete(there.actor.owner, of_there["content_hash"]))
    assert (laptop.exchange()["files"], laptop.state) == (0, there.state)


KINDS = ("exclusion", "dismissal", "split", "renaming")


def know_fewer_kinds(patch: pytest.MonkeyPatch) -> None:
    """Have this process be of a version that knows only some kinds of facts."""
    known = {name: kind for name, kind in BY_NAME.items() if name not in KINDS}
    for module in (pages, exchanging, copied_facts):
        patch.setattr(module, "BY_NAME", known)


def the_same(one: Side, other: Side) -> bool:
    first, second = (without_own(all_answers(side)) for side in (one, other))
    for answers in (first, second):
        for name in [each for each in answers if " at_ingested " in each]:
            del answers[name]  # each learned of the facts at another time
    assert first == second
    return one("server.check_snapshots")["healthy"] and other("server.check_snapshots")["healthy"]


def test_facts_of_new_kinds_are_taken_after_an_update(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    store_rich_example(there)
    laptop = joined(here(), there)
    with monkeypatch.context() as patch:
        know_fewer_kinds(patch)
        for _ in range(2):
            assert laptop.exchange()["error"] is None
            (copy,) = laptop("copies.list")["copies"]
            assert copy["last_error"].endswith("kinds dismissal, exclusion, renaming, split")
        assert laptop.exchange()["taken"] == 0
    assert laptop.exchange()["error"] is None
    assert laptop("copies.list")["copies"][0]["last_error"] is None
    assert the_same(laptop, there)
    assert laptop.exchange()["taken"] == 0


def test_facts_of_new_kinds_are_sent_again_after_an_update_there(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = joined(here(), there)
    store_rich_example(laptop)
    callee, names = there_as_copy(there), {"GET": "copies.facts", "POST": "copies.take"}

    async def ask(self: RemoteCopy, method: str, path: str, **arguments: Any) -> Any:
        """Answer as a service of an older version, in this process."""
        if path != exchanging.FACTS:
            return await real(self, method, path, **arguments)
        with monkeypatch.context() as patch:
            know_fewer_kinds(patch)
            answer = await REGISTRY[names[method]].run(callee.services, callee.actor, arguments)
        return canonical.decode(answer)

    real = RemoteCopy.ask
    with monkeypatch.context() as patch:
        patch.setattr(RemoteCopy, "ask", ask)
        for _ in range(2):
            assert laptop.exchange()["error"] is None
            assert "update the other copy" in laptop("copies.list")["copies"][0]["last_error"]
        assert laptop.exchange()["sent"] == 0
    assert laptop.exchange()["error"] is None
    assert laptop("copies.list")["copies"][0]["last_error"] is None
    assert the_same(laptop, there)
    assert laptop.exchange()["sent"] == 0


def test_files_stay_there_until_they_are_asked_for(there: There, here: Callable[[], Side]) -> None:
    there("store", file_content=base64.b64encode(LETTER).decode(), mime_type="text/plain")
    laptop = joined(here(), there, files="later")
    assert (laptop.exchange()["files"], laptop.state) == (0, there.state)


def test_an_exchange_that_is_cut_goes_on_where_it_was(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        there("store", entities=[{"entity_type": "thing", "name": f"there {number}"}])
    laptop = joined(here(), there)
    monkeypatch.setattr(pages, "PAGE_TRANSACTIONS", 2)
    for number in range(5):
        laptop("store", entities=[{"entity_type": "thing", "name": f"here {number}"}])
    real, calls = RemoteCopy.ask, [0]

    async def ask(self: RemoteCopy, method: str, path: str, **arguments: Any) -> Any:
        answer = await real(self, method, path, **arguments)
        calls[0] += 1
        if calls[0] % 3 == 2:
            # The answer is lost.
            raise ServiceUnreachable
        return answer

    monkeypatch.setattr(RemoteCopy, "ask", ask)
    failed = 0
    for _ in range(20):
        exchanged = laptop.exchange()
        if exchanged["error"] is None:
            break
        failed += 1
        assert laptop("copies.list")["copies"][0]["last_error"].startswith("SERVICE_UNREACHABLE")
    assert 1 < failed < 20
    assert laptop.state == there.state == (laptop.state[0], 12)
    assert laptop("server.stats")["sequence"] == there("server.stats")["sequence"] == 12


def test_a_copy_knows_what_its_source_knew_when_it_joined_and_then_what_it_learned(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(side: Side, moment: str) -> set[str]:
        listed = side("entities.query", entity_type="thing", at_ingested=moment)["entities"]
        return {each["canonical_name"] for each in listed}

    def store(side: Side, name: str) -> str:
        side("store", entities=[{"entity_type": "thing", "name": name}])
        return times.render(times.now())

    moments = [store(there, str(number)) for number in range(5)]
    laptop = joined(here(), there)
    real = exchanging.unite

    async def unite(*to: Any, **how: Any) -> Any:
        """Take two transactions of the page; then the process is killed."""
        services, owner, page, *by_copy = to
        (batch,) = page.batches
        page = page._replace(batches=[replace(batch, parts=batch.parts[:2])])
        await real(services, owner, page, *by_copy, **how)
        raise ServiceUnreachable

    with monkeypatch.context() as patch:
        patch.setattr(exchanging, "unite", unite)
        assert laptop.exchange()["error"]
    moments.append(store(laptop, "of the laptop"))
    assert laptop.exchange()["error"] is None
    there("copies.list")
    moments.append(store(there, "last"))
    before = times.render(times.now())
    assert laptop.exchange()["error"] is None
    for moment in moments[:5]:
        assert known(laptop, moment) == known(there, moment)
    assert known(laptop, moments[1]) == {"0", "1"}
    all_names = {*map(str, range(5)), "of the laptop", "last"}
    assert known(there, before) == all_names
    assert known(laptop, before) == all_names - {"last"}
    assert known(laptop, times.render(times.now())) == all_names
    assert known(there, moments[5]) == all_names - {"of the laptop", "last"}


def test_what_contradicts_is_listed_on_both_sides(there: There, here: Callable[[], Side]) -> None:
    laptop = joined(here(), there)
    for side, kind in ((there, "string"), (laptop, "number")):
        side("schemas.register", schema={"entity_type": "wine", "fields": {"name": {"type": kind}}})
        side("store", entities=[{"entity_type": "thing", "name": kind}], idempotency_key="k")
    laptop.exchange()
    for side in (laptop, there):
        lost = {row["what"]: row for row in side("copies.conflicts")["conflicts"]}
        assert lost.keys() == {"schema", "idempotency_key"}
        assert lost["schema"]["name"] == "wine 1.0"
        assert side("schemas.get", entity_type="wine")["fields"]["name"]["type"] == "string"
    assert laptop.state == there.state


def test_a_clock_that_is_ahead_makes_its_facts_wait(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = joined(here(), there)
    laptop("store", entities=[ADA])
    laptop.exchange()
    real = times.now
    with monkeypatch.context() as patch:
        patch.setattr(times, "now", lambda: real() + 2 * times.DAY)
        laptop("store", entities=[{**ADA, "born": 1815}])
    exchanged = laptop.exchange()
    assert "clock that is more than 24 hours ahead" in exchanged["error"]
    assert laptop("copies.list")["copies"][0]["last_error"].startswith("CLOCK_AHEAD")
    assert there.state[1] == 1


def test_who_may_be_a_copy(there: There, here: Callable[[], Side], instance: Instance) -> None:
    laptop = here()
    for url in ("http://memory.example.org", "ftp://127.0.0.1", "https://ada@memory.example.org", "x"):
        with pytest.raises(InvalidInput):
            laptop("copies.join", url=url, key=there.key)
    with pytest.raises(ServiceUnreachable):
        laptop("copies.join", url="http://127.0.0.1:9", key=there.key)
    account = instance.account("reader")
    with pytest.raises(Forbidden):
        laptop("copies.join", url=there.url, key=instance.key(account, ["read", "write"]))
    stranger = {"copy_id": "copy_of_nobody"}
    for name, arguments in (
        ("copies.facts", stranger),
        ("copies.take", {**stranger, "data": "", "sha256": "0" * 64}),
        ("copies.file", {**stranger, "content_hash": "0" * 64}),
    ):
        with pytest.raises(CopyRefused):
            there_as_copy(there)(name, **arguments)
    # Whose account has facts cannot take over another owner.
    laptop("store", entities=[ADA])
    with pytest.raises(CopyRefused, match="copies add"):
        laptop("copies.join", url=there.url, key=there.key)
    with pytest.raises(CopyRefused, match="another owner"):
        laptop("copies.add", url=there.url, key=there.key)
    assert there("copies.list")["copies"] == []


def there_as_copy(there: There) -> Side:
    account = there.loop.run(Accounts(there.services.database).by_name(there.actor.account_name))
    return Side(there.loop, there.services, actor_of(account, "rest", Method.KEY, ["copy"]))


def test_two_memories_become_one_only_if_both_sides_say_so(
    there: There, here: Callable[[], Side], loop: Loop
) -> None:
    laptop = joined(here(), there)
    laptop("copies.leave")
    there("copies.leave")
    laptop("store", entities=[ADA])
    there("store", entities=[{"entity_type": "company", "name": "Analytical Engines"}])
    seen = laptop("copies.add", url=there.url, key=there.key)
    assert seen["here"] == {"transactions": 1, "entities": 1, "names": ["Ada Lovelace"]}
    assert seen["there"] == {"transactions": 1, "entities": 1, "names": ["Analytical Engines"]}
    assert there("copies.list")["copies"] == laptop("copies.list")["copies"] == []
    added = laptop("copies.add", url=there.url, key=there.key, name="laptop", confirm=True)
    assert added["copy"]["status"] == "asked"
    assert "accepts first" in laptop.exchange()["error"]
    assert there.state[1] == laptop.state[1] == 1
    (asking,) = there("copies.list")["copies"]
    assert (asking["status"], asking["peer_name"]) == ("asks", "laptop")
    there("copies.accept", copy_id=asking["id"])
    assert laptop.exchange()["error"] is None
    assert there.state == laptop.state == (laptop.state[0], 2)
    assert laptop("copies.list")["set_id"] == there("copies.list")["set_id"]


def test_a_reading_copy_takes_no_writes_and_says_where_to_write(
    there: There, here: Callable[[], Side]
) -> None:
    there("store", entities=[ADA])
    phone = joined(here(), there, read_only=True)
    assert "copy" not in phone("server.stats")
    for _ in range(2):
        with pytest.raises(ReadingCopy) as refused:
            phone("store", entities=[ADA])
        assert refused.value.details == {"reads_from": there.url}
        assert (phone.exchange()["sent"], phone.state) == (0, there.state)
        there("store", entities=[{**ADA, "born": 1815}])
    assert phone("copies.list")["reads_from"] == there.url
    # Each answer says how old it is, and none is older than the caller allows.
    age = phone("server.stats", max_behind=60)["copy"]
    assert age["behind_seconds"] < 60
    phone.services.read_as_of[phone.actor.owner] -= 120 * times.SECOND
    assert phone("entities.query")["copy"]["behind_seconds"] >= 120
    for wrong, kind in ((60, CopyBehind), ("soon", InvalidInput), ("nan", InvalidInput)):
        with pytest.raises(kind):
            phone("entities.query", max_behind=wrong)
    phone.exchange()
    assert phone("entities.query", max_behind="60")["copy"]["behind_seconds"] < 60
    phone("copies.leave")
    phone("store", entities=[{**ADA, "died": 1852}])


def test_what_came_by_a_copy_is_taken_back(there: There, here: Callable[[], Side]) -> None:
    laptop = joined(here(), there)
    there("store", entities=[ADA])
    for year in (1814, 1813):
        laptop("store", entities=[{**ADA, "born": year}])
    laptop.exchange()
    (copy,) = there("copies.list")["copies"]
    undone = there("undo", by_copy=copy["peer"], last=9)["undone"]
    assert len(undone) == 2
    (found,) = there("entities.find", identifier="ada@example.org")["entities"]
    assert "born" not in found["snapshot"]
    laptop.exchange()
    assert laptop.state == there.state


def test_an_exchange_is_paused_and_ended(there: There, here: Callable[[], Side]) -> None:
    laptop = joined(here(), there)
    laptop("store", entities=[ADA])
    (copy,) = laptop("copies.list")["copies"]
    laptop("copies.pause", copy_id=copy["id"])
    assert laptop("copies.sync")["exchanges"] == []
    laptop("copies.accept", copy_id=copy["id"])
    assert laptop.exchange()["sent"] == 1
    (calling,) = there("copies.list")["copies"]
    there("copies.pause", copy_id=calling["id"])
    laptop("store", entities=[{**ADA, "born": 1815}])
    assert "paused" in laptop.exchange()["error"]
    assert there("copies.leave", copy_id=calling["id"])["removed"] == 1
    assert "not, or no more, known" in laptop.exchange()["error"]
    assert laptop("copies.list")["copies"][0]["status"] == "refused"
    assert laptop("copies.leave")["removed"] == 1
    with pytest.raises(NotFound):
        laptop("copies.pause", copy_id=copy["id"])
    assert laptop("copies.list")["set_id"] is None
    assert laptop.state[1] == 2


def test_a_sealed_and_an_open_instance_exchange_facts_and_files(
    there: There, services: Services, settings: Settings, loop: Loop, tmp_path: Path
) -> None:
    for name in ("Ada", "Byron"):
        there("store", entities=[{"entity_type": "person", "name": name}])
    there("store", file_content=base64.b64encode(LETTER).decode(), mime_type="text/plain", entities=[ADA])
    opened = sealed_services_beside(settings, tmp_path)
    sealed = loop.run(opened.__aenter__())
    name = f"sealed-{uuid.uuid4().hex[:8]}"
    account = loop.run(Accounts(sealed.database).create(name, ["read", "write", "admin"], None))
    try:
        laptop = joined(Side(loop, sealed, actor_of(account, "cli", Method.PROCESS, ALL_SCOPES)), there)
        first = laptop.exchange()
        assert (first["error"], first["taken"], first["files"]) == (None, 3, 1)
        for side in (there, laptop):
            side("store", entities=[{**ADA, "title": side.actor.client}], idempotency_key="k")
        assert (laptop.exchange()["sent"], laptop.state) == (1, there.state)
        assert [row["name"] for row in laptop("copies.conflicts")["conflicts"]] == ["k"]
        assert laptop("server.check_snapshots")["healthy"]
        assert laptop("copies.list")["copies"][0]["peer_name"] == there.url
        # Without the keys, neither the address nor the key of the other copy is to be read.
        rows = loop.run(
            services.database.script(
                "MATCH (n:Copy) RETURN coalesce(n.url, '') + coalesce(n.copy_key, '') AS text"
            )
        )
        assert not any(there.url in row["text"] or there.key in row["text"] for row in rows)
    finally:
        wipe(loop, sealed, there.actor.owner)
        loop.run(opened.__aexit__(None, None, None))


def test_a_full_disk_stops_an_exchange_until_there_is_space(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    there("store", entities=[ADA])
    laptop = joined(here(), there)
    chosen = laptop.services.settings
    full = chosen.model_copy(update={"neo4j_uri": None, "disk_reserve": 1 << 60})
    with monkeypatch.context() as patch:
        patch.setattr(laptop.services.writers, "settings", full)
        assert laptop.exchange()["error"].startswith("DB_DISK_FULL")
        assert laptop("copies.list")["copies"][0]["last_error"].startswith("DB_DISK_FULL")
    assert (laptop.exchange()["error"], laptop.state) == (None, there.state)


def test_an_erasure_tells_the_copies(
    there: There, here: Callable[[], Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = joined(here(), there)
    laptop("store", entities=[ADA])
    laptop.exchange()
    for name, url in {"unreachable": "http://127.0.0.1:9", "caller": None}.items():
        link = stored_copies.link_new(
            laptop.services, laptop.actor, None, f"copy_{name}", name, "active", url=url
        )
        laptop.loop.run(link)
    share_services(monkeypatch, laptop.loop, laptop.services)
    settings = laptop.services.settings
    words = ["account", "delete", laptop.actor.account_name, "--with-data", "--yes", "--json"]
    erased = CliRunner().invoke(app, words, env=environment(settings, settings.data_path))
    answer = json.loads(erased.stdout)
    assert (answer["transactions"], answer["copies_told"]) == (1, [there.url])
    assert answer["copies_not_told"] == ["unreachable", "caller"]
    # Nothing is erased there, and a person is told what to do.
    (copy,) = there("copies.list")["copies"]
    assert (copy["status"], there.state[1]) == ("refused", 1)
    assert "the data was erased there, and not here" in copy["last_error"]


def test_the_worker_exchanges_what_is_new_and_writes_nothing_else(
    there: There, here: Callable[[], Side], loop: Loop
) -> None:
    laptop = joined(here(), there)
    there("store", entities=[ADA])
    assert loop.run(exchanging.exchange_waiting(laptop.services)) == 1
    (before,) = laptop("copies.list")["copies"]
    assert loop.run(exchanging.exchange_waiting(laptop.services)) == 0
    assert laptop("copies.list")["copies"] == [before]
    there("store", entities=[{**ADA, "born": 1815}])
    laptop("store", entities=[{**ADA, "died": 1852}])
    assert loop.run(exchanging.exchange_waiting(laptop.services)) == 2
    assert laptop.state == there.state


STEPS = ("dump.present", "write.look", "write.turn", "copy.merged", "copy.note")


@pytest.mark.long  # it starts 20 commands
@pytest.mark.timeout(1200)
def test_an_exchange_that_is_killed_again_and_again_goes_on(
    there: There, here: Callable[[], Side], tmp_path: Path
) -> None:
    laptop = joined(here(), there)
    killed = 0
    for number in range(20):
        for side, name in ((there, "there"), (laptop, "here")):
            side(
                "store",
                entities=[{**ADA, name: number}, {"entity_type": "thing", "name": f"{name} {number}"}],
            )
        step = f"{('before', 'after')[number % 2]}:{STEPS[number // 2 % len(STEPS)]}"
        command = forks().start(
            laptop.services.settings, tmp_path, "copies", "sync", owner=laptop.actor.account,
            GRAPHMEM_FAILPOINTS=f"{step}=exit@{1 + number // 10}",
        )  # fmt: skip
        killed += command.wait(120) == failpoints.KILLED
        # The one that was killed has the copy for a lease.
        (copy,) = laptop("copies.list")["copies"]
        laptop("copies.pause", copy_id=copy["id"])
        laptop("copies.accept", copy_id=copy["id"])
    assert killed >= 15
    assert laptop.exchange()["error"] is None
    assert laptop.state == there.state == (there.state[0], 80)
    for side in (laptop, there):
        assert side("server.check_snapshots")["healthy"]
