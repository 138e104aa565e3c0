"""Three copies of an owner that are written apart, by clocks that differ, and exchange pages at random: at
rest all, and one that joins then, have the same state and the same answers, and the check of everything finds
nothing to repair."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from graphmem.context import Services
from graphmem.dump.pages import Page
from graphmem.errors import GraphmemError, InternalError
from graphmem.model import times
from tests.support import failpoints
from tests.support.copies import Copies, Copy, without_own
from tests.support.dumps import Dumps, all_answers
from tests.support.event_loop import Loop
from tests.support.examples import LONG
from tests.support.faces import Call

PEOPLE = ("Ada", "Byron", "King", "Babbage")
WHEN = ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", None)


class Writer:
    """Writes at random; what is refused, such as a merge of what is merged, is no fault."""

    def __init__(self, run: Call, chance: random.Random) -> None:
        self.run, self.chance = run, chance
        self.merged: list[str] = []
        self.withdrew = False

    def write(self, name: str = "") -> None:
        name = name or self.chance.choice(sorted(name for name in dir(self) if name.startswith("do_")))
        try:
            getattr(self, name)()
        except GraphmemError as exc:
            if exc.status >= 500:
                raise

    def person(self) -> dict[str, Any]:
        name = self.chance.choice(PEOPLE)
        return {"entity_type": "person", "name": name, "email": f"{name.lower()}@example.org"}

    def known(self) -> str:
        rows = self.run("entities.query", limit=100)["entities"]
        return self.chance.choice(rows)["entity_id"] if rows else "ent_" + "0" * 24

    def do_store(self) -> None:
        when = self.chance.choice(WHEN)
        item = {**self.person(), "born": self.chance.randrange(3), **({"observed_at": when} if when else {})}
        link = {"relationship_type": "WORKS_AT", "source_index": 0, "target_index": 1}
        company = {"entity_type": "company", "name": self.chance.choice(("Engines", "Society"))}
        self.run("store", entities=[item, company], relationships=[link])

    def do_store_by_key(self) -> None:
        key = self.chance.choice(("k", "l"))
        self.run("store", entities=[{**self.person(), "by": key}], idempotency_key=key)

    def do_store_file(self) -> None:
        item = {"target_id": self.known(), "seen": self.chance.randrange(9)}
        self.run("store", entities=[item], file_content=self.chance.choice(("YQ==", "Yg==")),
                 mime_type="text/plain")  # fmt: skip

    def do_correct(self) -> None:
        self.run("entities.correct", entity_id=self.known(), field="born", value=self.chance.randrange(9))

    def do_expect(self) -> None:
        rows = self.run("entities.query", limit=100)["entities"]
        if rows:
            row = self.chance.choice(rows)
            item = {"target_id": row["entity_id"], "expected_version": row["version"], "seen": True}
            self.run("store", entities=[{**item, "by": self.chance.random()}])

    def do_merge(self) -> None:
        source = self.known()
        self.run("entities.merge", source_entity_id=source, target_entity_id=self.known())
        self.merged.append(source)

    def do_unmerge(self) -> None:
        self.run("entities.unmerge", source_entity_id=self.chance.choice(self.merged or [self.known()]))

    def do_split(self) -> None:
        self.run(
            "entities.split", source_entity_id=self.known(),
            new_entity={"entity_type": "person", "canonical_name": "New"},
            observation_field_equals={"field": "born", "value": self.chance.randrange(3)},
        )  # fmt: skip

    def do_dismiss(self) -> None:
        undo = self.chance.random() < 0.4
        self.run("entities.dismiss_duplicates", entity_a=self.known(), entity_b=self.known(), undo=undo)

    def do_delete(self) -> None:
        self.run("entities.delete", entity_id=self.known())

    def do_link(self) -> None:
        rows = self.run("relationships.list", limit=100, include_deleted=True)["relationships"]
        key = self.chance.choice(rows)["relationship_key"] if rows else "A:b:c"
        self.run(self.chance.choice(("relationships.delete", "relationships.restore")), relationship_key=key)

    def do_withdraw(self) -> None:
        self.withdrew = True
        rows = self.run("sources.list", limit=100)["sources"]
        name = self.chance.choice(("sources.withdraw", "sources.reinstate"))
        self.run(name, source_id=self.chance.choice(rows)["source_id"] if rows else "src_x")

    def do_undo(self) -> None:
        self.withdrew = True
        rows = self.run("observations.query", limit=100)["observations"]
        named = self.chance.choice(rows)["transaction_id"] if rows else "txn_x"
        name = self.chance.choice(("writings.withdraw", "writings.reinstate"))
        self.run(name, transaction_id=named)

    def do_register(self) -> None:
        fields = {"name": {"type": "string"}, "born": {"type": self.chance.choice(("string", "number"))}}
        kind = self.chance.choice(("wine", "flask"))
        schema = {"entity_type": kind, "fields": fields, "aliases": ["bottle"]}
        self.run("schemas.register", schema=schema)

    def do_store_typed(self) -> None:
        kind = self.chance.choice(("wine", "flask", "bottle"))
        self.run("store", entities=[{"entity_type": kind, "name": "Ridge", "born": self.chance.randrange(3)}])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the clock of the copy that is open, in seconds beside that of the machine."""
    real, offset = times.now, [0]
    monkeypatch.setattr(times, "now", lambda: real() + offset[0] * times.SECOND)
    return lambda seconds: offset.__setitem__(0, seconds)


CUT_AT = (
    "dump.present",
    "write.look",
    "write.turn",
    "write.exclude",
    "dump.settle_first",
    "dump.lose",
    "copy.merged",
)
"""The steps of a union at which it is cut, as by a kill: the page is sent again."""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(300 if LONG else 10))
def test_copies_converge(
    run: Call, dumps: Dumps, loop: Loop, services: Services, owner: str, seed: int,
    clock: Callable[[int], None],
) -> None:  # fmt: skip
    chance = random.Random(seed)
    made = [Copy(name) for name in "abc"]
    copies, writer = Copies(loop, services, owner), Writer(run, chance)
    offsets = {copy.name: chance.choice((0, -2 * 86_400, 80_000)) for copy in made}

    def unite(page: Page, name: str) -> None:
        if chance.random() < 0.3:
            place = f"{chance.choice(('before', 'after'))}:{chance.choice(CUT_AT)}"
            failpoints.arm(f"{place}=raise@{chance.randrange(1, 4)}")
            try:
                copies.unite(page, name)
            except InternalError:
                pass
            finally:
                failpoints.arm()
        copies.unite(page, name)

    def exchange(source: Copy, target: Copy) -> None:
        copies.put(source)
        pages = copies.all_pages(after=target.taken.get(source.name, 0), without=target.name, limit=7)
        copies.put(target)
        for page in pages:
            unite(page, source.name)
            if chance.random() < 0.2:
                copies.unite(page, source.name)
            target.taken[source.name] = page.last

    for round_ in range(6 if LONG else 3):
        copy = chance.choice(made) if LONG else made[round_]
        copies.put(copy)
        clock(offsets[copy.name])
        for _ in range(2 if LONG else 1):
            writer.write("do_store")
        for _ in range(chance.randrange(4, 12) if LONG else 4):
            writer.write()
        clock(0)
        # Else the two cannot reach each other.
        if chance.random() < 0.5:
            exchange(copy, chance.choice([each for each in made if each is not copy]))
    a, b, c = made
    around = [(a, b), (b, c), (c, a), (a, b)]
    for source, target in [(each, other) for each in (*made, *made) for other in made] if LONG else around:
        if target is not source:
            exchange(source, target)
    joined = Copy("d")
    exchange(a, joined)
    states = list[Any]()
    for copy in (*made, joined):
        copies.put(copy)
        checked = run("server.check_snapshots")
        assert checked["healthy"], (copy.name, checked)
        answers = all_answers(run)
        for name in ("stats",):
            answers["state_hash"] = answers.pop(name)["state_hash"]
        # Each copy learned of the facts at other times.
        answers = {name: each for name, each in answers.items() if " at_ingested " not in name}
        conflicts = run("copies.conflicts", limit=100)["conflicts"]
        # What was withdrawn before a copy learned of it counts for no version there.
        answers["conflicts"] = [
            each for each in conflicts if not writer.withdrew or each["what"] != "expected_version"
        ]
        states.append(without_own(answers))
    for state in states[1:]:
        assert state.keys() == states[0].keys()
        for name, answer in states[0].items():
            assert state[name] == answer, name
