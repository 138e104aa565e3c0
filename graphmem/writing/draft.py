"""What one request adds to the state, kept apart until it is accepted whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from graphmem.errors import StoreRefused
from graphmem.model import canonical, facts, membership
from graphmem.model.attribution import agent_row
from graphmem.model.fact_records import Dismissal, Fact, SchemaRecord, Split
from graphmem.model.fact_table import BY_RECORD, INTERPRETATION, SOURCE, DeclaredKind
from graphmem.model.items import ItemIssue
from graphmem.model.links import Part
from graphmem.model.reduction import Observation
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import Active
from graphmem.writing import placement
from graphmem.writing.parting import note_former
from graphmem.writing.state import Additions, Head, State, WrittenTransaction
from graphmem.writing.things import WAITING, Thing, Things, note_bearers, note_names

if TYPE_CHECKING:
    from graphmem.writing.write_requests import WriteRequest


@dataclass(slots=True)
class Draft:
    """One request before it is accepted."""

    state: State
    request: WriteRequest
    recorded_at: int
    entities: Things
    relationships: Things
    heads: dict[str, Head] = field(default_factory=dict)  # those of schemas that it changes
    bumped: set[str] = field(default_factory=set)  # the things whose version it has raised
    new: Additions = field(default_factory=Additions)  # what it adds
    writings: list[list[int]] = field(default_factory=list)  # the toggles of those that it belongs to
    issues: list[ItemIssue] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(
        cls, state: State, request: WriteRequest, recorded_at: int, writers: Collection[str] = ()
    ) -> Draft:
        """Return an empty draft on a state; ``writers`` are the keys of who writes it."""
        writings = [each.toggles for each in state.read.writings if each.holds(writers, recorded_at)]
        entities, relationships = state.entities.draft(), state.relationships.draft()
        return cls(state, request, recorded_at, entities, relationships, writings=writings)

    def survivor_view(self, entity_id: str) -> Thing | None:
        return self.entities.view(self.entities.root(entity_id))

    def exists(self, entity_id: str) -> bool:
        """Return whether an entity is there, deleted or not: observations that count, or parts, make it."""
        entity = self.entities.get(entity_id)
        if entity is None or not entity.unmade or entity.is_shared:
            return entity is not None
        return any(not member.unmade for member in self.entities.members(self.entities.root(entity_id)))

    def before(self, subject_id: str) -> Thing | None:
        """Return the survivor of an entity, or of a live relationship, as it was before the request."""
        draft = Draft.of(self.state, self.request, self.recorded_at)
        if subject_id.count(":") == 2:
            known = draft.relationships.view(draft.survivor_key(subject_id))
            return known if known and known.made and known.live else None
        there = (each for each in (subject_id, self.entities.root(subject_id)) if draft.exists(each))
        return next(map(draft.survivor_view, there), None)

    def head(self, entity_type: str) -> Head:
        return self.heads.get(entity_type) or self.state.head(entity_type)

    def rules(self, entity_id: str, entity_type: str) -> Rules:
        """Return the rules under which an entity is folded: those of its survivor's type."""
        root = self.entities.get(self.entities.root(entity_id))
        return self.head(root.kind if root else entity_type).rules

    def is_known(self, observation: Observation) -> bool:
        return observation.id in self.state.observation_ids or observation.id in self.new.observations

    def repeat(self, observation_id: str, transaction_id: str) -> None:
        """Note an observation that an earlier transaction recorded."""
        if observation_id in self.state.observation_ids:
            self.new.repeated.add((observation_id, transaction_id))

    def refuse(self, code: str, path: str, message: str, index: int | None = None) -> None:
        """Note why the request is refused; ``index`` counts the item or relationship at fault."""
        issue: ItemIssue = {"code": code, "path": path, "message": message}
        self.issues.append(issue if index is None else {**issue, "index": index})

    def stop(self, code: str, path: str, message: str) -> NoReturn:
        """Refuse the request at once, with all issues so far."""
        self.refuse(code, path, message)
        raise StoreRefused(issues=self.issues)

    def refuse_part(self, part: Part, name: str, code: str, message: str) -> None:
        """Note why an item or a link is refused; ``name`` is its key that is at fault."""
        self.refuse(code, f"{part.path}.{name}", message, part.index)

    def warn(
        self, code: str, message: str, index: int | None = None, *, once: bool = False, **more: Any
    ) -> None:
        """Add a warning; ``once``: if none has its message. ``index`` counts the part at fault."""
        if once and any(each["message"] == message for each in self.warnings):
            return
        about = {} if index is None else {"index": index}
        self.warnings.append({"code": code, **about, **more, "message": message})

    def raise_issues(self) -> None:
        if self.issues:
            raise StoreRefused(issues=self.issues)

    def observe_entity(self, observation: Observation) -> None:
        kind = observation.entity_type
        address_id = observation.home or observation.subject_id
        if (parting := self.state.addresses.partings.get(address_id)) is not None:
            known = self.entities.get(address_id) or Thing(address_id, kind, rule=self.state.own_rule(kind))
            if known.parting != parting:
                former = self.state.addresses.former.get(address_id, {})
                note_former(self.state, self.entities, kind, former)
                self.entities.put(known.changed(parting=parting))
        self._observe(self.entities, observation, kind, self.rules(observation.subject_id, kind))
        head = self.head(kind)
        joined = head.joined(observation.shapes)
        if joined is not head or kind not in self.state.heads:
            self.heads[kind] = joined

    def observe_relationship(self, observation: Observation) -> None:
        kind = observation.subject_id.partition(":")[0]
        self._observe(self.relationships, observation, kind, PLAIN)
        self.regroup([observation.subject_id])

    def with_toggles(self, observation: Observation) -> Observation:
        """Return an observation that does not count where a subject of it is withdrawn."""
        read = self.state.read.toggles
        named = (observation.source_id or "", observation.interpretation_id or "")
        subjects = [read[each] for each in named if each in read]
        written_apart = self.writings and observation.kind not in facts.MERGE_KINDS
        if not subjects and not written_apart:
            return observation
        written = [(observation.recorded_at, self.writings)] if written_apart else []
        toggles = membership.toggles(observation.recorded_at, subjects, written)
        return replace(observation, excluded=toggles)

    def _observe(self, things: Things, observation: Observation, kind: str, rules: Rules) -> None:
        observation = self.with_toggles(observation)
        known = things.get(observation.subject_id)
        if known is None:
            rule = self.state.own_rule(kind) if things is self.entities else None
            known = Thing(observation.subject_id, kind, rule=rule)
        things.put(known.with_observation(observation, rules))
        self.new.observations[observation.id] = observation
        self.bump(things, observation.subject_id)
        self.bump(things, things.root(observation.subject_id))

    def bump(self, things: Things, subject_id: str) -> None:
        known = things.get(subject_id)
        if known is None or subject_id in self.bumped:
            return
        self.bumped.add(subject_id)
        newest = max(known.updated_at + 1, self.state.read.recorded_at)
        if things is self.entities and self.recorded_at < newest and not self.request.writes_facts:
            # What is folded in came earlier. The version may count that moment already, and now counts what
            # moved members were told since then: it is counted again.
            things.put(known.changed(refold=known.refold + 1, projection=WAITING))
            return
        # A fact of another database may be older than those that are known.
        updated_at = max(known.updated_at, self.recorded_at)
        things.put(known.changed(version=known.version + 1, updated_at=updated_at))

    def survivor_key(self, key: str) -> str:
        return placement.survivor_key(self.entities, self.relationships, key)

    def regroup(self, keys: list[str]) -> None:
        """Show relationships where their ends are shown; the version of each that this changes rises."""
        for key in placement.place(self.entities, self.relationships, keys):
            self.bump(self.relationships, key)

    def regroup_moved(self, moved: list[Thing]) -> list[str]:
        """Show the relationships of moved entities at their new survivor; return their keys."""
        subject_ids = {entity.subject_id for entity in moved}
        keys = [key for key in self.relationships if subject_ids & set(key.split(":")[1:])]
        observed = [key for key in sorted(keys) if self.relationships[key].observation_count]
        self.regroup(observed)
        return observed

    def place(
        self, entity: Thing, into: str | None, merged_by: str | None = None, merge_rule: str | None = None
    ) -> None:
        """Merge an entity into another by an alternative (``merged_by``), or by a fact, or into none."""
        self.entities.put(
            replace(self.entities[entity.subject_id], into=into, merged_by=merged_by, merge_rule=merge_rule)
        )

    def separate(self, entity_id: str, others: Iterable[str]) -> None:
        """Note that somebody separated an entity from others: the rule joins them no more."""
        others = set(others)
        for each, more in ((entity_id, others), *((other, {entity_id}) for other in others)):
            entity = self.entities.get(each)
            if entity is not None and not more <= {*entity.separated}:
                self.entities.put(replace(entity, separated=tuple(sorted({*entity.separated, *more}))))

    def activate(self, entity_type: str, active: Active, change: str) -> None:
        """Make a document the registered one of a type; ``change`` is the kind of change that led to it."""
        description = {"kind": change, "fields_added": [*active.added], "fields_removed": [*active.removed]}
        self.heads[entity_type] = self.head(entity_type).with_active(active)
        version = SchemaRecord.model_construct(
            entity_type=entity_type, version=active.version, document=active.document.text,
            change=canonical.encode(description), recorded_at=self.recorded_at,
            transaction=self.request.transaction_id,
        )  # fmt: skip
        self.add(version, self.request.transaction_id)

    def add(self, fact: Fact | SchemaRecord, transaction_id: str) -> dict[str, Any]:
        """Add a fact of a transaction, with what it says of entities; return its row."""
        row = fact.row(self.request.owner, transaction_id, self.recorded_at)
        self.new.facts.setdefault(BY_RECORD[type(fact)].parameter, []).append(row)
        if isinstance(fact, Dismissal):
            pair = fact.entity_a, fact.entity_b
            for entity_id, other in (pair, pair[::-1]):
                entity = self.entities.get(entity_id)
                if entity is None:
                    continue
                distinct = {*entity.distinct_from} - {other}
                distinct |= {other} if fact.kind == "dismiss" else set()
                self.entities.put(replace(entity, distinct_from=tuple(sorted(distinct))))
        elif isinstance(fact, Split):
            keys = [each for each in fact.named if ":" in each]
            for key in keys:
                if self.relationships.get(key) is None:
                    self.relationships.put(Thing(key, key.partition(":")[0]))
            self.regroup(keys)
        return row

    def added(self, kind: DeclaredKind) -> list[dict[str, Any]]:
        return self.new.facts.get(kind.parameter, [])

    def accept(self, transaction: dict[str, Any] | None) -> None:
        """Make what this draft holds part of the state, and the row of its transaction, if it has one."""
        state, owner = self.state, self.request.owner
        state.entities.accept(self.entities)
        state.relationships.accept(self.relationships)
        changed = [self.entities[each] for each in self.entities.changed()]
        note_bearers(state.new.bearers, changed)
        note_names(state.new.near, changed)
        state.observation_ids.update(self.new.observations)
        state.heads.update(self.heads)
        self.new.heads = dict.fromkeys(self.heads, self.recorded_at)
        state.new.add(self.new)
        for row in (*self.added(SOURCE), *self.added(INTERPRETATION)):
            # The requests after this one know it.
            state.known.setdefault(row["id"], 0)
            if (key := row.get("stored", {}).get("file_key")) is not None:
                state.file_keys.setdefault(key, set()).add(row["id"])
        if transaction is None:
            return
        properties = transaction["properties"]
        properties |= {"owner": owner, "sequence": state.read.sequence + len(state.new.transactions) + 1}
        agent = agent_row(owner, transaction["agent"], properties["client"], properties["by"])
        state.new.transactions.append({"properties": properties, "agent": agent})
        key = properties["idempotency_key"]
        if key is not None:
            names = ("id", "idempotency_key", "request_hash", "recorded_at", "answer")
            state.by_key[key] = WrittenTransaction(*(properties[name] for name in names))
