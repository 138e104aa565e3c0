"""Random histories with withdrawals: the state is that of an owner to whom the files were never given.

The same holds for writers: what one of them wrote is as if it had never been written, but for what others
wrote too.
"""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.auth.erasing import erase_facts
from graphmem.context import Services
from graphmem.errors import GraphmemError
from graphmem.model import ids, times
from graphmem.writing import forms
from tests.support.event_loop import Loop
from tests.support.examples import LONG, examples
from tests.support.exclusion_plans import as_difference, difference, listed, planned
from tests.support.faces import Call, by_runner

FILES = ("a", "b")
TYPES = ("thing", "event")
LASTING = 3
"""The first entities are stored without a file; only of these is more said than stores say."""
NAMES = 6

Step = dict[str, Any]
NUMBER = st.integers(0, NAMES - 1)
BASE = st.integers(0, LASTING - 1)
FIELDS = st.dictionaries(
    st.sampled_from(["a", "b", "due", "email"]),
    st.sampled_from([1, "x", None, ["p"], ["q", "p"], "2024-05-01", "ada@example.com"]),
    max_size=3,
)
ITEM = st.fixed_dictionaries({"number": NUMBER, "fields": FIELDS, "year": st.integers(2020, 2023)})
LINK = st.tuples(NUMBER, NUMBER, st.sampled_from([None, {"m": 1}, {"m": 2}]))
STORE = st.fixed_dictionaries({
    "do": st.just("store"), "file": st.sampled_from([*FILES, *FILES, None]),
    "items": st.lists(ITEM, min_size=1, max_size=3), "links": st.lists(LINK, max_size=2),
})  # fmt: skip
CHANGE = st.one_of(
    st.fixed_dictionaries({"do": st.just("correct"), "number": BASE, "value": st.sampled_from([7, None])}),
    st.fixed_dictionaries({"do": st.sampled_from(["delete", "restore", "unmerge"]), "number": BASE}),
    st.fixed_dictionaries({"do": st.just("merge"), "number": BASE, "into": BASE}),
    st.fixed_dictionaries(
        {"do": st.just("register"), "policy": st.sampled_from(["last_write", "merge_array"])}
    ),
)
EXCLUDE = st.fixed_dictionaries({
    "do": st.sampled_from(["withdraw", "withdraw", "reinstate"]), "file": st.sampled_from(FILES),
})  # fmt: skip
STEP = st.sampled_from([STORE] * 5 + [CHANGE] * 4 + [EXCLUDE] * 3).flatmap(lambda steps: steps)
HISTORY = st.tuples(
    st.lists(STORE, min_size=2, max_size=3), st.lists(STEP, min_size=4, max_size=12 if LONG else 8), EXCLUDE
).map(lambda parts: [*parts[0], *parts[1], parts[2]])


@pytest.fixture
def step_ids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make transaction ids of the number of a step, so that two runs of a history write the same ids."""
    step = [0, 0]

    def transaction_id() -> str:
        step[1] += 1
        return f"txn_{step[0]:016x}{step[1]:016x}" if step[1] == 1 else f"txn_{uuid.uuid4().hex}"

    monkeypatch.setattr(ids, "transaction_id", transaction_id)
    return step


def item(number: int, **fields: Any) -> dict[str, Any]:
    """Return an observation of an entity."""
    return {"entity_type": TYPES[number % 2], "name": f"n{number}", **fields}


class Run:
    """One run of a history."""

    def __init__(
        self,
        call: Call,
        step_ids: list[int],
        without: frozenset[str] = frozenset(),
        writers: dict[str, Call] | None = None,
    ) -> None:
        """``writers``: the operations as clients of these names call them; files are not used then."""
        self.call, self.step_ids, self.without = call, step_ids, without
        self.writers = writers or {}
        self.entities: dict[int, str] = {}
        self.sources: dict[str, str] = {}
        self.withdrawn: set[str] = set()
        self.seen: list[tuple[str, dict[str, Any]]] = []

    def begin(self) -> None:
        """Store the lasting entities."""
        self.step_ids[:] = [1, 0]
        items = [item(number, base=number) for number in range(LASTING)]
        link = {"relationship_type": "PART_OF", "source_index": 0, "target_index": 1}
        self._store(items, [link], {"observed_at": "2019-01-01"}, list(range(LASTING)))

    def _store(
        self, items: list[Any], links: list[Any], more: dict[str, Any], numbers: list[int], writer: str = ""
    ) -> Any:
        call = self.writers.get(writer, self.call)
        answer = call("store", entities=items, relationships=links, **more)
        for number, stored in zip(numbers, answer["entities"], strict=True):
            self.entities.setdefault(number, stored["entity_id"])
        return answer

    def take(self, place: int, step: Step) -> None:
        """Take one step; what is refused changes nothing."""
        self.step_ids[:] = [place + 2, 0]
        try:
            getattr(self, step["do"] if step["do"] != "restore" else "restored")(step)
        except GraphmemError as exc:
            if exc.status >= 500:
                raise

    def store(self, step: Step) -> None:
        """Store items and links, perhaps with a file."""
        file = step["file"]
        if file in self.without:
            return
        numbers = [each["number"] for each in step["items"]]
        items = [
            item(each["number"], **each["fields"], observed_at=f"{each['year']}-01-01")
            for each in step["items"]
        ]
        links = [
            {"relationship_type": "PART_OF", "source_index": numbers.index(source),
             "target_index": numbers.index(target), **({"metadata": metadata} if metadata else {})}
            for source, target, metadata in step["links"]
            if {source, target} <= {*numbers} and source != target
        ]  # fmt: skip
        more: dict[str, Any] = {"observed_at": "2022-06-01"}
        if file and not self.writers:
            more["file_content"] = base64.b64encode(file.encode()).decode()
        answer = self._store(items, links, more, numbers, file or "")
        if file:
            self.sources[file] = answer.get("source_id", file)

    def correct(self, step: Step) -> None:
        """Correct a field."""
        self.call("entities.correct", entity_id=self.entities[step["number"]], field="a", value=step["value"])

    def delete(self, step: Step) -> None:
        """Delete an entity."""
        self.call("entities.delete", entity_id=self.entities[step["number"]])

    def restored(self, step: Step) -> None:
        """Restore an entity."""
        self.call("entities.restore", entity_id=self.entities[step["number"]])

    def merge(self, step: Step) -> None:
        """Merge two entities."""
        self.call("entities.merge", source_entity_id=self.entities[step["number"]],
                  target_entity_id=self.entities[step["into"]])  # fmt: skip

    def unmerge(self, step: Step) -> None:
        """End a merge."""
        self.call("entities.unmerge", source_entity_id=self.entities[step["number"]])

    def register(self, step: Step) -> None:
        """Change the schema of a type."""
        fields = {
            "b": {"type": "array", "merge": step["policy"]},
            "a": {"type": "number", "filterable": True},
        }
        document = {"entity_type": "thing", "fields": fields}
        self.call("schemas.register", schema=document)
        self.seen.clear()

    def withdraw(self, step: Step) -> None:
        """Withdraw a file."""
        if step["file"] in self.sources and step["file"] not in self.without:
            self._withdraw("withdraw", self.sources[step["file"]])
            self.withdrawn.add(step["file"])

    def reinstate(self, step: Step) -> None:
        """Reinstate a file."""
        if step["file"] in self.sources and step["file"] not in self.without:
            self._withdraw("reinstate", self.sources[step["file"]])
            self.withdrawn.discard(step["file"])

    def _withdraw(self, verb: str, subject: str) -> None:
        """Withdraw or reinstate a file or a writer: the pages of a dry run answer what it then changes."""
        name, of = ("writings", "by_client") if self.writers else ("sources", "source_id")
        name, limit = f"{name}.{verb}", 1 + len(self.seen) % 3
        plan, before = planned(self.call, name, limit=limit, **{of: subject}), listed(self.call)
        assert self.call(name, **{of: subject})["pending"] == 0
        assert as_difference(plan) == difference(before, listed(self.call))

    def look(self) -> None:
        """Note what is answered now, to compare it with the answer as of now later."""
        self.seen.append((times.render(times.now()), self.entities_now()))

    def entities_now(self, **clocks: Any) -> dict[str, Any]:
        """Return what is said of live entities."""
        rows = self.call("entities.query", limit=100, **clocks)["entities"]
        names = "canonical_name", "version", "observation_count", "snapshot", "provenance", "created_at"
        return {row["entity_id"]: [row[name] for name in names] for row in rows}

    def state(self) -> tuple[Any, ...]:
        """Return everything that is derived, without versions, times of recording and of the clock."""
        entities = self.call("entities.query", include_deleted=True, include_merged=True, limit=100)[
            "entities"
        ]
        links = self.call("relationships.list", include_deleted=True)["relationships"]
        stats = self.call("server.stats")
        return (
            [[each["entity_id"], each["state"], each["canonical_name"], each["snapshot"], each["provenance"],
              each["observation_count"]] for each in entities],
            sorted([each["relationship_key"], each["is_live"], each["snapshot"], each["observation_count"]]
                   for each in links),
            sorted([each["id"], each["observation_id"]] for each in self.call("timeline.list")["events"]),
            sorted(each["id"] for each in self.call("observations.query", include_deleted=True, limit=200)[
                "observations"]),
            {name: stats[name] for name in ("state_hash", "total_entities", "total_observations",
                                            "total_relationships", "total_events")},
        )  # fmt: skip


def is_sound(call: Call) -> None:
    """Check that all that is stored is what the facts come to."""
    report = call("server.check_snapshots")
    assert report["stale_snapshots"] == []
    assert report["counts_compared"]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("of_writers", [False, True])
def test_a_withdrawn_file_or_writer_is_as_if_it_had_never_been_given(
    loop: Loop, services: Services, step_ids: list[int], monkeypatch: pytest.MonkeyPatch, of_writers: bool
) -> None:
    @examples(3)
    @given(history=HISTORY, observations_a_transaction=st.sampled_from([2, 2_000]))
    def compare(history: list[Step], observations_a_transaction: int) -> None:
        monkeypatch.setattr(forms, "STAMPED_LIMIT", observations_a_transaction)
        owner = str(uuid.uuid4())
        call = by_runner(loop, services, owner)
        names = FILES if of_writers else ()
        writers = {name: by_runner(loop, services, owner, client=name) for name in names}
        run = Run(call, step_ids, writers=writers)
        run.begin()
        for place, step in enumerate(history):
            run.take(place, step)
            run.look()
        is_sound(call)
        withdrawn, state = frozenset(run.withdrawn), run.state()
        for moment, entities in run.seen:
            assert run.entities_now(at_ingested=moment) == entities
        loop.run(erase(services, owner))
        fresh = Run(call, step_ids, withdrawn, writers)
        fresh.begin()
        for place, step in enumerate(history):
            fresh.take(place, step)
        assert fresh.state() == state
        loop.run(erase(services, owner))

    compare()


async def erase(services: Services, owner: str) -> None:
    """Erase everything of an owner, so that the same ids can be written again."""
    await services.database.write("owner.close", owner, erased_at=times.now())
    await erase_facts(services.database, owner)
