"""graphmem beside the plain model: what a step writes goes to both, and every read must agree."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    run_state_machine_as_test,
)

from graphmem.context import Services
from graphmem.errors import DatabaseTimeout, GraphmemError
from graphmem.model import canonical
from graphmem.registry import REGISTRY
from tests.support.actors import full_actor
from tests.support.event_loop import Loop
from tests.support.expected_answers import (
    UNKNOWN,
    Expectation,
    Viewpoint,
    agrees,
    exactly,
    expectations,
    graph,
    later,
    moments,
    relationship,
    snapshots,
    timeline,
)  # fmt: skip
from tests.support.knowledge_model import Knowledge
from tests.support.reduction_model import Fact
from tests.support.strategies import AHEAD, TIMES, VIEWPOINT, End

READS_AT_ONCE = 8
"""Reads that are under way at the same time."""
READ_ATTEMPTS = 5
TIMES_PER_ENTITY = 5
"""As of how many times each entity is asked for at the end."""
RESERVED = (
    "entity_type", "target_id", "observed_at", "source_priority", "observation_source", "specificity_score",
)  # fmt: skip


class ComparedService(RuleBasedStateMachine):
    """graphmem for one owner, the model of what that owner knows, and every read of both after each step."""

    data: st.DataObject
    """Where the looks are drawn from; set by the first step."""

    def __init__(self, loop: Loop, services: Services) -> None:
        super().__init__()
        self.loop, self.services = loop, services
        owner = str(uuid.uuid4())
        self.actor, self.bot = full_actor(owner, client="test"), full_actor(owner, client="bot")
        self.known = Knowledge()
        self.named: dict[tuple[str, str], str] = {}
        self.placed: dict[str, set[str]] = {}
        self.request: list[Fact] = []
        self.keyed: list[tuple[str, dict[str, Any], dict[str, Any], str]] = []
        self.hashes: dict[str, str | None] = {}
        self.sequence = 0
        self.recorded_at = ""

    # Calling

    async def outcome(self, name: str, arguments: Mapping[str, Any], *, by_bot: bool = False) -> Any:
        """Return the answer of an operation, or the error that it raised."""
        try:
            actor = self.bot if by_bot else self.actor
            return canonical.decode(await REGISTRY[name].run(self.services, actor, arguments))
        except GraphmemError as exc:
            return exc

    def write(
        self,
        name: str,
        arguments: dict[str, Any],
        refused: str | None,
        keyed: bool = False,
        *,
        by_bot: bool = False,
    ) -> Any:
        """Call a write; return its answer, ``None`` where it was refused as it had to be."""
        if keyed:
            arguments = {**arguments, "idempotency_key": f"key {len(self.keyed)}"}
        answer = self.loop.run(self.outcome(name, arguments, by_bot=by_bot))
        self.request = []
        if refused is not None:
            assert isinstance(answer, GraphmemError), f"{name} is not refused with {refused}: {answer}"
            assert answer.code == refused, f"{name}: {answer.code} instead of {refused}: {answer}"
            return None
        assert not isinstance(answer, GraphmemError), f"{name}: {answer.code}: {answer} {answer.details}"
        self.sequence += 1
        stats = self.loop.run(self.outcome("server.stats", {}))
        assert stats["sequence"] == self.sequence
        assert stats["last_updated"] > self.recorded_at
        self.recorded_at = stats["last_updated"]
        assert not answer.get("replayed", False)
        if keyed:
            self.keyed.append((name, arguments, answer, self.recorded_at))
        return answer

    # Requests and facts

    def entity(self, who: int) -> str:
        """Return the id of a stored entity, or an unknown id."""
        everyone = list(self.known.types)
        return everyone[who % len(everyone)] if everyone and who < 19 else UNKNOWN

    def timed(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with a time in the future, the skew of another clock, as a number."""
        if options.get("observed_at") != AHEAD:
            return options
        first = min((fact.recorded_at for fact in self.known.stored), default=None)
        return {**options, "observed_at": TIMES[0] if first is None else later(first, hours=1)}

    def edge(self, which: int) -> str:
        """Return the key of one of the relationships, as written or as shown; an empty text without any."""
        written = dict.fromkeys(fact.subject_id for fact in self.known.facts if ":" in fact.subject_id)
        keys = list(dict.fromkeys([*written, *map(self.known.shown_key, written)]))
        return keys[which % len(keys)] if keys else ""

    def add(self, fact: Fact, *, placed: bool, deduplicated: bool | None = None) -> bool:
        """Add a fact to the model; return whether it is new. ``placed``: the request named its time."""
        content = exactly([
            fact.subject_id, fact.observed_at, dict(fact.fields), fact.kind, fact.priority, fact.specificity,
            fact.source,
        ])  # fmt: skip
        repeated = placed and fact.id in self.placed.get(content, ())
        assert deduplicated in (None, repeated)
        # Of one request, what contradicts an earlier item of its time has the greater id.
        contradicted = [each.id for each in self.request if placed and contradicts(each, fact)]
        assert all(each < fact.id for each in contradicted)
        assert repeated or contradicted or not placed or content not in self.placed
        self.request.append(fact)
        if repeated:
            return False
        assert fact.id not in [known.id for known in self.known.stored]
        if placed:
            self.placed.setdefault(content, set()).add(fact.id)
        self.known = replace(self.known, stored=(*self.known.stored, fact))
        return True

    # What a store means

    def item(self, draft: dict[str, Any]) -> dict[str, Any]:
        """Return an item of a store: ``who`` of a draft becomes the id of an entity."""
        raw = {name: value for name, value in draft.items() if name != "who"}
        return raw | ({"target_id": self.entity(draft["who"])} if "who" in draft else {})

    def link(self, draft: tuple[str, End, End, Any], items: int) -> dict[str, Any]:
        """Return a relationship of a store; an end of a draft is an index or the number of an entity."""
        kind, *ends, metadata = draft
        raw: dict[str, Any] = {"relationship_type": kind} | (
            {} if metadata is None else {"metadata": metadata}
        )
        if ends[0] == ends[1]:
            # Equal draws are likely, and refused all alike.
            ends[1] = (ends[1][0], ends[1][1] + 1)
        for side, (way, who) in zip(("source", "target"), ends, strict=True):
            raw[f"{side}_{way}"] = who % items if way == "index" else self.entity(who)
        return raw

    def called(self, item: Mapping[str, Any]) -> Any:
        """Return the id of the entity that an item names; for a new one, its type and folded name."""
        name = (item["entity_type"], " ".join(item["name"].casefold().split()))
        return self.named.get(name, name)

    def refused_items(self, raw: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Return what is wrong with items: codes and indexes."""
        faults: list[tuple[str, int]] = []
        for index, item in enumerate(raw):
            kind = self.known.types.get(item.get("target_id", ""))
            if "target_id" in item and kind is None:
                faults.append(("ERR_TARGET_NOT_FOUND", index))
            elif "target_id" in item and item.get("entity_type", kind) != kind:
                faults.append(("ERR_TARGET_TYPE", index))
        return faults

    def refused_links(self, related: list[dict[str, Any]], subject_ids: list[Any]) -> list[tuple[str, int]]:
        """Return what is wrong with relationships: codes and indexes."""
        faults = ((self.refused_link(link, subject_ids), index) for index, link in enumerate(related))
        return [(code, index) for code, index in faults if code]

    def refused_link(self, raw: dict[str, Any], subject_ids: list[Any]) -> str:
        """Return what is wrong with one relationship: its source comes first."""
        ends = []
        for side in ("source", "target"):
            by_id = raw.get(f"{side}_entity_id")
            end = subject_ids[raw[f"{side}_index"]] if by_id is None else by_id
            if end == UNKNOWN:
                # An item that is refused is reported once, with the item.
                return "ERR_RELATIONSHIP_ENTITY_NOT_FOUND" if by_id is not None else ""
            if end in self.known.types and not self.known.is_live(end):
                return "ERR_RELATIONSHIP_ENTITY_DELETED"
            ends.append(self.known.root(end) if end in self.known.types else end)
        return "ERR_RELATIONSHIP_TO_ITSELF" if ends[0] == ends[1] else ""

    def add_item(
        self, raw: dict[str, Any], subject_id: Any, entry: dict[str, Any], options: dict[str, Any]
    ) -> None:
        """Add an item that was stored to the model."""
        subject_id = self.named.get(subject_id, subject_id)
        created = subject_id not in self.known.types
        if created:
            # The first of its name: its id is as the answer says, and the same from now on.
            name, subject_id = subject_id, entry["entity_id"]
            assert subject_id not in self.known.types
            self.named[name] = subject_id
            self.known = replace(self.known, types={**self.known.types, subject_id: raw["entity_type"]})
        action = "created" if created else "extended" if "target_id" in raw else "matched_existing"
        assert entry["action"] == action
        assert self.known.root(subject_id) == self.known.root(entry["entity_id"])
        weights = options | {name: raw[name] for name in RESERVED if name in raw}
        fact = self.fact(entry["observation_id"], subject_id, "value", weights)
        fact = replace(
            fact,
            fields={name: value for name, value in raw.items() if name not in RESERVED},
            specificity=float(raw.get("specificity_score", 1)),
        )
        self.add(fact, placed="observed_at" in weights, deduplicated=entry["deduplicated"])
        view = self.known.entity(subject_id)
        assert entry["version"] == view.get("version", entry["version"])

    def add_link(
        self, raw: dict[str, Any], subject_ids: list[Any], entry: dict[str, Any], options: dict[str, Any]
    ) -> None:
        """Add a relationship that was stored to the model."""
        ends = []
        for side in ("source", "target"):
            end = raw.get(f"{side}_entity_id") or subject_ids[raw[f"{side}_index"]]
            ends.append(self.named.get(end, end))
        key = ":".join((raw["relationship_type"], *ends))
        fact = replace(
            self.fact(entry["observation_id"], key, "create", options), fields=raw.get("metadata") or {}
        )
        self.add(fact, placed="observed_at" in options, deduplicated=entry["deduplicated"])
        self.check_edge(key, entry)

    def fact(self, observation_id: str, subject_id: str, kind: str, options: Mapping[str, Any]) -> Fact:
        """Return a fact of the last transaction, with what a request says of its weight."""
        return Fact(
            id=observation_id,
            subject_id=subject_id,
            entity_type=self.known.types.get(subject_id, ""),
            kind=kind,
            observed_at=options.get("observed_at", self.recorded_at),
            recorded_at=self.recorded_at,
            priority=float(options.get("source_priority", 100)),
            source=options.get("observation_source", "llm_summary"),
        )

    def check_edge(self, key: str, entry: Mapping[str, Any]) -> None:
        """Check what the answer to a write says of a relationship."""
        assert self.known.shown_key(entry["relationship_key"]) == self.known.shown_key(key)
        edge = self.known.edges()[self.known.shown_key(key)]
        assert entry["is_live"] == relationship(self.known, edge)["is_live"]
        assert entry["version"] == relationship(self.known, edge).get("version", entry["version"])

    # Looking

    @invariant()
    def every_read_agrees(self) -> None:
        if not hasattr(self, "data"):
            return
        entity, edge, at, at_ingested, *options = self.data.draw(VIEWPOINT)
        times: list[str | None] = [None, *moments(self.known)]
        clocks = times[at % len(times)], times[at_ingested % len(times)]
        where = Viewpoint(self.entity(entity), self.edge(edge), *clocks, *options, owner=self.actor.owner)
        self.compare(expectations(self.known, where, self.sequence))

    # What was folded under another schema counts as it was until it is touched again.
    @precondition(lambda self: self.known.facts and not self.known.schemas)
    @invariant()
    def one_state_has_one_hash(self) -> None:
        state_hash = self.loop.run(self.outcome("server.stats", {})).get("state_hash")
        assert self.hashes.setdefault(self.known.state(), state_hash) == state_hash

    def teardown(self) -> None:
        """Ask for every entity as of many times, at the end, when the history is longest."""
        if not self.known.facts:
            return
        times: list[str | None] = [None, *moments(self.known)]
        reads: list[Expectation] = []
        for place, entity in enumerate(self.known.types):
            for step in range(TIMES_PER_ENTITY):
                at, at_ingested = times[(7 * step + place) % len(times)], times[(5 * step) % len(times)]
                where = Viewpoint(
                    entity,
                    self.edge(step),
                    at,
                    at_ingested,
                    1 + step % 3,
                    "both",
                    step % 2 == 0,
                    self.actor.owner,
                )
                reads += [*snapshots(self.known, where), *timeline(self.known, where)]
            reads += graph(self.known, Viewpoint(entity, self.edge(place), None, None, 2, "both", False))
        self.compare(reads)
        self.check()

    def check(self) -> None:
        """Have the product compare its snapshots with the observations."""
        # A schema that changed leaves what was folded before it to be folded again.
        fixes = {"auto_fix": bool(self.known.schemas)}
        report = self.loop.run(self.outcome("server.check_snapshots", fixes))
        assert report["healthy"], report
        assert report["counts_compared"]

    def compare(self, reads: list[Expectation]) -> None:
        """Read all at once; check each answer."""

        async def send(look: Expectation, room: asyncio.Semaphore) -> Any:
            async with room:
                answer, attempts = await self.outcome(look.operation, look.arguments), 1
                # A busy machine may plan a statement for too long: a failure that would not come again.
                while isinstance(answer, DatabaseTimeout) and attempts < READ_ATTEMPTS:
                    answer, attempts = await self.outcome(look.operation, look.arguments), attempts + 1
                return answer

        async def read() -> list[Any]:
            room = asyncio.Semaphore(READS_AT_ONCE)
            return await asyncio.gather(*(send(look, room) for look in reads))

        for look, answer in zip(reads, self.loop.run(read()), strict=True):
            call = f"{look.operation} {dict(look.arguments)}"
            if isinstance(look.expected, str):
                assert isinstance(answer, GraphmemError), f"{call} is answered: {answer}"
                assert answer.code == look.expected, f"{call}: {answer}"
                continue
            assert not isinstance(answer, GraphmemError), f"{call}: {answer.code}: {answer}"
            agrees(answer, look.expected, call)


def contradicts(earlier: Fact, fact: Fact) -> bool:
    """Return whether two facts of one request give a field of one subject two values at one time."""
    keys = [(each.subject_id, each.observed_at, each.kind) for each in (earlier, fact)]
    shared = earlier.fields.keys() & fact.fields.keys()
    return keys[0] == keys[1] and any(
        exactly(earlier.fields[name]) != exactly(fact.fields[name]) for name in shared
    )


def run_machine(
    machine: type[ComparedService], loop: Loop, services: Services, settings: hypothesis_settings
) -> None:
    """Run a state machine on these services; fail where the service and the model disagree."""
    # Hypothesis types the factory as a class, but only calls it.
    factory: Any = partial(machine, loop, services)
    run_state_machine_as_test(factory, settings=settings)
