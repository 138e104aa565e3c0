"""Receipts: what was told to whom, what became of it, and whether it would be told the same today."""

from __future__ import annotations

import re
import shlex
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

import graphmem
from graphmem.auth import Actor, Method, Scope
from graphmem.context import Services
from graphmem.errors import NotFound
from graphmem.model import canonical, times
from graphmem.model.canonical import encode as json
from graphmem.receipts import recording
from graphmem.registry import REGISTRY, Face
from graphmem.search.context import context_lines
from tests.faces.conftest import Command
from tests.support.actors import DISABLED_ACCOUNT, full_actor
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner
from tests.support.figures import Figures
from tests.support.statements import counted

Ask = Callable[..., bytes]
ROOT: Final = Path(__file__).parents[2]
WORKS = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}


def person(name: str = "Ada Lovelace", **fields: Any) -> dict[str, Any]:
    email = f"{name.split()[0].lower()}@example.org"
    return {"entity_type": "person", "name": name, "email": email, **fields}


@pytest.fixture
def ask(loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask as an agent over MCP, with receipts on; return the bytes of the answer. The receipt is written."""
    monkeypatch.setattr(services.receipts, "mode", "mcp")

    def send(name: str, client: str = "agent", face: Face = Face.MCP, **arguments: Any) -> bytes:
        body = loop.run(REGISTRY[name].run(services, full_actor(owner, client), arguments, face))
        loop.run(services.receipts.flush())
        return body

    return send


def newest(run: Call) -> str:
    return run("receipts.list", limit=1)["receipts"][0]["receipt_id"]


def states(run: Call, receipt_id: str) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return what became of what a receipt tells, by field and observation."""
    behind = run("receipts.get", receipt_id=receipt_id)["behind"]
    return {
        (each["field"], each["observation_id"]): (each["state"], each["transaction_id"]) for each in behind
    }


def test_a_receipt_has_what_was_told_to_the_byte(run: Call, ask: Ask) -> None:
    stored = run(
        "store",
        entities=[person(city="London"), {"entity_type": "company", "name": "Acme"}],
        relationships=[WORKS],
    )
    ada = stored["entities"][0]["entity_id"]
    for name, arguments, question in (
        ("context.retrieve", {"question": "Where does Ada Lovelace live?"}, "Where does Ada Lovelace live?"),
        ("context.retrieve", {"entity_id": ada, "format": "fields", "provenance": "none"}, ada),
        ("entities.find", {"identifier": "ada@example.org", "provenance": "none"}, "ada@example.org"),
        ("entities.query", {"search": "Ada", "fields": ["city"], "provenance": "none"}, "Ada"),
        ("entities.get", {"entity_id": ada}, ada),
        ("relationships.list", {"entity_id": ada, "provenance": "none"}, ada),
    ):  # fmt: skip
        body = ask(name, **arguments)
        listed = run("receipts.list", limit=1)["receipts"][0]
        assert (listed["operation"], listed["question"], listed["face"]) == (name, question, "mcp")
        receipt = run("receipts.get", receipt_id=listed["receipt_id"])
        assert receipt["answer"].encode() == body
        assert receipt["arguments"] == arguments
        assert receipt["provenance"]["client"] == "agent"
        assert {each["state"] for each in receipt["behind"]} == {"unchanged"}
        assert run("receipts.replay", receipt_id=listed["receipt_id"])["differences"] == []
    with pytest.raises(NotFound):
        run("receipts.get", receipt_id="rcp_" + 32 * "0")


EXPECTED: Final = (
    "corrected", "replaced", "added", "withdrawn", "deleted", "split", "parted", "erased", "schema",
    "reinstated", "time", "due",
)  # fmt: skip
"""The ways in which an answer changes, each by one change that :class:`World` makes by hand."""


class World:
    """People, things and tasks of which an agent is told, and changes whose effect on answers is known."""

    def __init__(self, run: Call, ask: Ask, loop: Loop, services: Services, owner: str) -> None:
        self.run, self.ask, self.loop, self.services, self.owner = run, ask, loop, services, owner
        self.told: dict[str, tuple[str, bytes]] = {}
        self.expected: dict[str, tuple[list[tuple[Any, ...]], str]] = {}

    def tell(self, key: str, name: str, **arguments: Any) -> None:
        """Ask, and note the receipt and the bytes of the answer under a key."""
        body = self.ask(name, **arguments)
        self.told[key] = newest(self.run), body

    def store(self, **item: Any) -> dict[str, Any]:
        answer = self.run("store", entities=[item])
        return {**answer["entities"][0], "transaction_id": answer["transaction_id"]}

    def tell_of(self, way: str, number: int) -> Callable[[], None]:
        """Tell of something; return what changes it in a way, and notes which difference is expected."""
        key, name = f"{way} {number}", f"{way.title()} Nr{number}"
        email = {"email": f"{way}{number}@example.org"}
        made = getattr(self, f"_{way}")(key, name, {"entity_type": "person", "name": name, **email})

        def change() -> None:
            self.expected[key] = made()

        return change

    def _get(self, key: str, item: dict[str, Any], **arguments: Any) -> str:
        entity_id = self.store(**item)["entity_id"]
        self.tell(key, "entities.get", entity_id=entity_id, provenance="none", **arguments)
        return entity_id

    def _corrected(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self._get(key, {**item, "city": "Bath"})

        def change() -> Any:
            done = self.run("entities.correct", entity_id=entity_id, field="city", value="Hull")
            return [("city", "Bath", "Hull", "corrected", done["transaction_id"])], "corrected"

        return change

    def _replaced(self, key: str, name: str, item: dict[str, Any]) -> Any:
        self._get(key, {**item, "city": "Bath"})

        def change() -> Any:
            done = self.store(**item, city="York")
            again = ((name, item[name], item[name]) for name in ("name", "email"))
            rows = [*again, ("city", "Bath", "York")]
            return [(*row, "new_facts", done["transaction_id"]) for row in rows], "replaced"

        return change

    def _added(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self._get(key, item)

        def change() -> Any:
            done = self.run("store", entities=[{"target_id": entity_id, "phone": "+44 20"}])
            return [("phone", None, "+44 20", "new_facts", done["transaction_id"])], "unchanged"

        return change

    def _withdrawn(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self.store(**item)["entity_id"]
        wrong = self.run("store", entities=[{"target_id": entity_id, "city": "Rome"}])
        self.tell(key, "entities.get", entity_id=entity_id, provenance="none", fields=["city"])

        def change() -> Any:
            done = self.run("writings.withdraw", transaction_id=wrong["transaction_id"])
            return [("city", "Rome", None, "withdrawn", done["transaction_id"])], "withdrawn"

        return change

    def _reinstated(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self.store(**item)["entity_id"]
        wrong = self.run("store", entities=[{"target_id": entity_id, "city": "Rome"}])
        self.run("writings.withdraw", transaction_id=wrong["transaction_id"])
        self.tell(key, "entities.get", entity_id=entity_id, provenance="none")

        def change() -> Any:
            done = self.run("writings.reinstate", transaction_id=wrong["transaction_id"])
            return [("city", None, "Rome", "reinstated", done["transaction_id"])], "unchanged"

        return change

    def _deleted(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self._get(key, item)

        def change() -> Any:
            self.run("entities.delete", entity_id=entity_id)
            (done,) = self.run("changes.list", entity_id=entity_id, event_type="entity.deleted")["changes"]
            gone = [(name, item[name], None, "deleted", done["transaction_id"]) for name in ("name", "email")]
            return gone, "deleted"

        return change

    def _split(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self.store(**item)["entity_id"]
        self.run("store", entities=[{"target_id": entity_id, "desk": 7, "floor": 2}])
        self.tell(key, "entities.get", entity_id=entity_id, provenance="none", fields=["desk"])

        def change() -> Any:
            done = self.run(
                "entities.split", source_entity_id=entity_id,
                observation_field_equals={"field": "desk", "value": 7},
                new_entity={"entity_type": "person", "canonical_name": f"Other {name}"},
            )  # fmt: skip
            return [("desk", 7, None, "split", done["transaction_id"])], "split"

        return change

    def _parted(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self._get(key, {**item, "phone": "+45 91"}, fields=["phone"])

        def change() -> Any:
            done = self.store(**{**item, "name": "Berit Holmvik"})
            assert done["entity_id"] != entity_id
            rows = [("phone", "+45 91"), ("name", name)]
            return [(*row, None, "parted", done["transaction_id"]) for row in rows], "parted"

        return change

    def _erased(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_id = self._get(key, item)

        def change() -> Any:
            self.loop.run(self.services.database.script(DISABLED_ACCOUNT, id=self.owner))
            writes = self.services.database.writes(self.owner)
            self.loop.run(writes.rows("owner.erase_entity", entity_id=entity_id, name=self.owner))
            return [(field, item[field], None, "erased", None) for field in ("name", "email")], "erased"

        return change

    def _schema(self, key: str, name: str, item: dict[str, Any]) -> Any:
        entity_type = key.replace(" ", "_")
        self._get(key, {"entity_type": entity_type, "canonical_name": name, "price": "12"}, fields=["price"])

        def change() -> Any:
            schema = {"entity_type": entity_type, "fields": {"price": "number"}}
            done = self.run("schemas.register", schema=schema)
            return [("price", "12", 12, "schema", done["transaction_id"])], "unchanged"

        return change

    def _time(self, key: str, name: str, item: dict[str, Any]) -> Any:
        company = {"entity_type": "company", "name": f"{name} Ltd"}
        until = times.render(times.now() + 2 * times.DAY)[:10]
        works = {**WORKS, "metadata": {"until": until}}
        stored = self.run("store", entities=[item, company], relationships=[works])
        link = stored["relationships_created"][0]["relationship_key"]
        entity_id, acme = (each["entity_id"] for each in stored["entities"])
        self.tell(key, "context.retrieve", entity_id=entity_id)

        def change() -> Any:
            then = ["WORKS_AT", "outgoing", acme, {"until": until}, None]
            assert link
            return [("", then, [*then[:-1], f'"{until}"'], "time", None)], "unchanged"

        return change

    def _due(self, key: str, name: str, item: dict[str, Any]) -> Any:
        due = times.render(times.now() + 2 * times.DAY)[:10]
        self.store(entity_type="task", title="Tax return", status="open", due_date=due)
        self.tell(key, "entities.query", search="overdue tasks", provenance="none", fields=["due_date"])

        def change() -> Any:
            rows = [("due_date", due), ("title", "Tax return")]
            return [(name, None, value, "time", None) for name, value in rows], "unchanged"

        return change


def later(monkeypatch: pytest.MonkeyPatch, microseconds: int) -> None:
    now = times.now
    monkeypatch.setattr(times, "now", lambda: now() + microseconds)


def check(world: World) -> int:
    """Compare each receipt with what was told, and what is told now with what is expected; return how many
    differences were right."""
    right = 0
    for key, (receipt_id, body) in world.told.items():
        receipt = world.run("receipts.get", receipt_id=receipt_id)
        assert receipt["answer"].encode() == body, key
        if key not in world.expected:
            continue
        differences, state = world.expected[key]
        replay = world.run("receipts.replay", receipt_id=receipt_id)
        assert not replay["same"], key
        members = ("field", "then", "now", "cause", "transaction_id")
        told = [tuple(each[name] for name in members) for each in replay["differences"]]
        assert sorted(map(json, told)) == sorted(map(json, differences)), key
        assert state in {each["state"] for each in receipt["behind"]} or not receipt["behind"], key
        right += len(differences)
    return right


def test_each_difference_has_its_cause(
    run: Call, ask: Ask, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(run, ask, loop, services, owner)
    changes = [world.tell_of(way, 0) for way in EXPECTED]
    for change in changes:
        change()
    later(monkeypatch, 10 * times.DAY)
    assert check(world) >= len(EXPECTED)


def test_another_ranking_is_named_as_the_cause(run: Call, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = run("store", entities=[person(), {"entity_type": "company", "name": "Acme", "city": "Hull"}],
                 relationships=[WORKS])  # fmt: skip
    ada, acme = (each["entity_id"] for each in stored["entities"])
    ask("context.retrieve", entity_id=ada)
    monkeypatch.setattr(recording, "ranking", lambda: "another")
    assert run("receipts.replay", receipt_id=newest(run))["differences"] == []
    monkeypatch.setattr(context_lines, "RELATED_LIMIT", 0)
    differences = run("receipts.replay", receipt_id=newest(run))["differences"]
    members = ("subject", "field", "then", "now", "cause")
    # The line of Ada has its name still.
    told = [tuple(each[name] for name in members) for each in differences]
    assert told == [(acme, "city", "Hull", None, "ranking")]


FACES: Final = (Face.MCP, Face.REST, Face.CLI)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_whoever_was_told_a_poisoned_value_is_listed_and_nobody_else(
    loop: Loop,
    services: Services,
    owner: str,
    run: Call,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    face: Face,
) -> None:
    monkeypatch.setattr(services.receipts, "mode", "all")
    names = ("Ada", "Ben", "Cleo", "Dora")
    ids = [
        each["entity_id"]
        for each in run("store", entities=[person(each, city="Bath") for each in names])["entities"]
    ]
    poison = by_runner(loop, services, owner, client="poison")
    poison("store", entities=[{"target_id": ids[0], "city": "Nowhere"}, {"target_id": ids[1], "job": "spy"}])
    told = {
        "context": ("context.retrieve", {"question": "Where does Ada live?"}),
        "lookup": ("entities.get", {"entity_id": ids[0], "provenance": "none"}),
        "search": ("entities.query", {"search": "spy", "provenance": "none"}),
        "find": ("entities.find", {"identifier": "ben@example.org", "provenance": "none"}),
    }
    not_told = {
        "other": ("entities.get", {"entity_id": ids[2]}),
        "field": ("entities.get", {"entity_id": ids[1], "fields": ["city"], "provenance": "none"}),
        "budget": ("entities.query", {"entity_type": "person", "max_characters": 800, "provenance": "none",
                                      "sort_by": "snapshot.name", "sort_order": "desc"}),
        "nothing": ("entities.find", {"identifier": "nobody@example.org"}),
    }  # fmt: skip
    for client, (name, arguments) in {**told, **not_told}.items():
        body = ask(name, client=client, face=face, **arguments)
        assert (b"Nowhere" in body or b"spy" in body.replace(b'"words":"spy"', b"")) == (client in told), (
            client
        )
    every = run("receipts.list")["receipts"]
    assert {each["provenance"]["client"] for each in every} == {*told, *not_told}
    for of in ("poison", newest_transaction(run, "poison")):
        listed = run("receipts.list", of=of, include_total_count=True)
        assert {each["provenance"]["client"] for each in listed["receipts"]} == {*told}
        assert listed["total"] == len(told)
    preview = run("writings.withdraw", by_client="poison", dry_run=True)
    assert preview["counts"]["receipts"] == len(told)
    by_runner(loop, services, owner, client="late")("store", entities=[person("Eve", city="Rome")])
    assert run("writings.withdraw", by_client="late", dry_run=True)["counts"]["receipts"] == 0
    begin = run("changes.list", event_type="receipt.affected")["changes"]
    assert begin == []
    done = run("writings.withdraw", by_client="poison")
    affected = run("changes.list", event_type="receipt.affected")["changes"]
    assert {(each["entity_id"], each["receipts"], each["transaction_id"]) for each in affected} == {
        (ids[0], 2, done["transaction_id"]), (ids[1], 2, done["transaction_id"]),
    }  # fmt: skip
    assert run("changes.list", event_type="entity.updated", limit=2)["changes"]
    about = run("receipts.list", about=ids[1])["receipts"]
    assert {each["provenance"]["client"] for each in about} == {"search", "find", "field"}
    assert len(run("receipts.list", by="search")["receipts"]) == 1


@pytest.mark.parametrize("clock", [{}, {"at": "2999-01-01"}])
def test_who_named_the_entities_at_the_other_ends_counts(
    run: Call, ask: Ask, services: Services, monkeypatch: pytest.MonkeyPatch, clock: dict[str, str]
) -> None:
    monkeypatch.setattr(services.receipts, "mode", "all")
    people = [person("Ada"), *({"entity_type": "club", "name": f"Club {number}"} for number in range(30))]
    joins = [
        {"relationship_type": "MEMBER_OF", "source_index": 0, "target_index": number}
        for number in range(1, 31)
    ]
    stored = run("store", entities=people, relationships=joins)["entities"]
    answer = ask("context.retrieve", question="What is Ada a member of?", budget=4_000, **clock).decode()
    behind = {each["observation_id"] for each in run("receipts.get", receipt_id=newest(run))["behind"]}
    shown = {each["observation_id"] for each in stored if re.search(rf"\b{each['canonical_name']}\b", answer)}
    assert len(shown) > 10
    assert shown <= behind


def newest_transaction(run: Call, client: str) -> str:
    """Return the newest transaction that a program wrote."""
    return run("changes.list", by_client=client, limit=1)["changes"][0]["transaction_id"]


PACKAGE: Final = str(Path(graphmem.__file__).parent)


async def lines_run(services: Services, owner: str, arguments: dict[str, Any]) -> int:
    """Return how many lines of the package a context runs in the event loop."""
    count = 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    sys.settrace(trace)
    try:
        await REGISTRY["context.retrieve"].run(services, full_actor(owner), arguments, Face.MCP)
    finally:
        sys.settrace(None)
    return count


def test_a_receipt_costs_a_context_no_statement_and_hardly_a_line(
    loop: Loop, services: Services, owner: str, run: Call, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    people = [person(name, city="Bath", job="clerk", knows=f"thing {name}") for name in NAMES]
    run("store", entities=[*people, {"entity_type": "company", "name": "Acme"}],
        relationships=[{**WORKS, "target_index": len(people)}])  # fmt: skip
    arguments = {"question": "Where do Ada, Ben and Cleo live, and where do they work?"}
    ran: dict[str, int] = {}
    statements: dict[str, list[str]] = {}
    for mode in ("off", "mcp", "off", "mcp"):
        monkeypatch.setattr(services.receipts, "mode", mode)
        with counted(services.database) as names:
            loop.run(REGISTRY["context.retrieve"].run(services, full_actor(owner), arguments, Face.MCP))
        statements[mode] = names
        lines = [loop.run(lines_run(services, owner, arguments)) for _ in range(3)]
        ran[mode] = min([*lines, ran.get(mode, lines[0])])
    assert statements["off"] == statements["mcp"]
    figures(f"lines of a context: {ran['off']:,} without receipts, {ran['mcp']:,} with them")
    assert ran["off"] < ran["mcp"] <= 1.03 * ran["off"]
    loop.run(services.receipts.flush())


NAMES: Final = ("Ada", "Ben", "Cleo", "Dora", "Eli", "Finn", "Gus", "Hedy")


def test_off_leaves_nothing_and_mcp_leaves_what_is_told_over_mcp(
    run: Call, ask: Ask, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = run("store", entities=[person()])["entities"][0]["entity_id"]
    for mode, faces in (("off", set[str]()), ("mcp", {"mcp"}), ("all", {"mcp", "rest", "cli"})):
        monkeypatch.setattr(services.receipts, "mode", mode)
        for face in FACES:
            ask("entities.get", client=mode, face=face, entity_id=ada)
        assert {each["face"] for each in run("receipts.list", by=mode)["receipts"]} == faces
    sandbox = services.settings.model_copy(update={"sandbox": True, "receipts": "all"})
    assert recording.Receipts(services.database, sandbox).mode == "off"


def test_a_caller_sees_its_own_receipts_and_an_administrator_all(
    loop: Loop, services: Services, owner: str, run: Call, ask: Ask
) -> None:
    ada = run("store", entities=[person()])["entities"][0]["entity_id"]
    keys = [
        Actor(owner, frozenset({Scope.READ}), client="c", account=owner, method=Method.KEY, credential=each)
        for each in ("key_1", "key_2")
    ]
    for actor in keys:
        loop.run(REGISTRY["entities.get"].run(services, actor, {"entity_id": ada}, Face.MCP))
    loop.run(services.receipts.flush())

    def listed(actor: Actor) -> list[str]:
        body = loop.run(REGISTRY["receipts.list"].run(services, actor, {}))
        return [each["receipt_id"] for each in canonical.decode(body)["receipts"]]

    own = [listed(actor) for actor in keys]
    assert [len(each) for each in own] == [1, 1]
    assert own[0] != own[1]
    assert {*own[0], *own[1]} == {*listed(full_actor(owner))}
    for name in ("receipts.get", "receipts.replay"):
        loop.run(REGISTRY[name].run(services, keys[0], {"receipt_id": own[0][0]}))
        with pytest.raises(NotFound):
            loop.run(REGISTRY[name].run(services, keys[0], {"receipt_id": own[1][0]}))
    assert by_runner(loop, services, str(uuid.uuid4()))("receipts.list")["receipts"] == []


def test_receipts_are_bounded_by_days_and_by_bytes(
    loop: Loop, services: Services, run: Call, ask: Ask
) -> None:
    ada = run("store", entities=[person()])["entities"][0]["entity_id"]
    for _ in range(4):
        ask("entities.get", entity_id=ada)
    ids = [each["receipt_id"] for each in run("receipts.list")["receipts"]]
    # Older and larger than receipts of other tests, which stay.
    rows = loop.run(services.database.script(
        "MATCH (receipt:Receipt) WHERE receipt.id IN $ids "
        "SET receipt.at = receipt.at - $years, receipt.size = $size RETURN receipt.at AS at ORDER BY at",
        ids=ids, years=40 * 365 * times.DAY, size=10**9,
    ))  # fmt: skip

    def drop(before: int, limit: int) -> int:
        writes = services.database.writes(None)
        return loop.run(writes.only("receipt.drop", int, before=before, bytes=limit, limit=10))

    assert drop(0, 10**12) == 0
    assert drop(0, 25 * 10**8) == 2
    assert [each["receipt_id"] for each in run("receipts.list")["receipts"]] == ids[:2]
    assert drop(rows[-1]["at"], 10**12) == 1
    assert [each["receipt_id"] for each in run("receipts.list")["receipts"]] == ids[:1]
    changed = services.settings.model_copy(update={"receipts_days": 30 * 365})
    assert loop.run(recording.Receipts(services.database, changed).drop()) == 1
    assert run("receipts.list")["receipts"] == []
    # An observation is as it was, and its withdrawal concerns nobody.
    preview = run("writings.withdraw", transaction_id=newest_transaction(run, "test"), dry_run=True)
    assert (preview["counts"]["observations"], preview["counts"]["receipts"]) == (1, 0)


def test_a_relationship_without_metadata_names_who_stated_it(run: Call, ask: Ask) -> None:
    stored = run("store", entities=[person(), {"entity_type": "company", "name": "Acme"}],
                 relationships=[WORKS])  # fmt: skip
    key = stored["relationships_created"][0]["relationship_key"]
    ask("relationships.list", entity_id=stored["entities"][0]["entity_id"], provenance="none")
    (behind,) = run("receipts.get", receipt_id=newest(run))["behind"]
    assert (behind["subject"], behind["field"], behind["state"]) == (key, "", "unchanged")
    assert run("receipts.list", of=behind["observation_id"])["receipts"]
    assert run("receipts.list", of=key)["receipts"]
    assert run("receipts.list", of=stored["transaction_id"])["receipts"]


def test_a_receipt_is_an_activity_of_prov_json(run: Call, ask: Ask) -> None:
    ada = run("store", entities=[person()])["entities"][0]["entity_id"]
    ask("entities.get", entity_id=ada)
    receipt = run("receipts.get", receipt_id=newest(run), format="prov-json")
    prov, activity = receipt["prov_json"], f"graphmem:{receipt['receipt_id']}"
    used = {f"graphmem:{each['observation_id']}" for each in receipt["behind"]}
    assert {*prov["activity"]} == {activity}
    assert {each["prov:entity"] for each in prov["used"].values()} == used == {*prov["entity"]}
    assert {each["prov:activity"] for each in prov["used"].values()} == {activity}
    (associated,) = prov["wasAssociatedWith"].values()
    assert (associated["prov:activity"], {associated["prov:agent"]}) == (activity, {*prov["agent"]})


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_receipts_outlast_five_hundred_changes(
    run: Call, ask: Ask, loop: Loop, services: Services, owner: str, monkeypatch: pytest.MonkeyPatch,
    figures: Figures,
) -> None:  # fmt: skip
    world = World(run, ask, loop, services, owner)
    ways = [each for each in EXPECTED if each not in ("time", "due")]
    changes = [world.tell_of(each, number) for number in range(3) for each in ways]
    changes += [world.tell_of(each, 0) for each in ("time", "due")]
    people = [person(f"Person{number} Other", city="Bath") for number in range(100)]
    others = [world.store(**each)["entity_id"] for each in people]
    for number in range(200 - len(world.told)):
        entity_id = others[number % len(others)]
        if number % 3:
            world.tell(f"other {number}", "entities.get", entity_id=entity_id, provenance="none")
        else:
            world.tell(
                f"other {number}", "context.retrieve", question=f"Where does Person{number % 100} live?"
            )
    assert len(world.told) == 200
    for change in changes:
        change()
    for number in range(500 - len(changes)):
        item = {"target_id": others[number % len(others)], "city": f"Town {number}"}
        run("store", entities=[item])
    later(monkeypatch, 10 * times.DAY)
    right = check(world)
    figures(f"{len(world.told)} receipts, 500 changes, {right} differences named as expected by hand")
    assert right >= 30


def test_the_commands_of_the_docs_do_what_the_docs_say(
    command: Command, run: Call, services: Services, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.receipts, "mode", "all")
    text = (ROOT / "docs" / "receipts.md").read_text("utf-8")
    block = text.partition("## An example\n\n```sh\n")[2].partition("\n```")[0]
    printed: dict[str, str] = {}
    receipt_id = ""
    for line in block.splitlines():
        words = shlex.split(line, comments=True)[1:]
        loop.run(services.receipts.flush())
        if "rcp_" in line:
            every = run("receipts.list")["receipts"]
            (receipt_id,) = [e["receipt_id"] for e in every if e["operation"] == "context.retrieve"]
            words = [receipt_id if each.startswith("rcp_") else each for each in words]
            monkeypatch.setattr(services.receipts, "mode", "off")
        code, out, err = command(*words)
        assert code == 0, (line, err)
        printed[" ".join(words[:2])] = out
    assert "corrected" in printed["receipts show"]
    replay = run("receipts.replay", receipt_id=receipt_id)
    assert [(each["field"], each["then"], each["now"], each["cause"]) for each in replay["differences"]] == [
        ("status", "paid", "unpaid", "corrected")
    ]
