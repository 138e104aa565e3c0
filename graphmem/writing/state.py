"""The part of an owner's graph that a turn decides on: what it read, heads of schemas, what it adds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphmem.database import left_out
from graphmem.database.left_out import Json
from graphmem.errors import AuthInvalid
from graphmem.model import canonical, discovery, fact_table, identity, ids, state_hash
from graphmem.model.identity import Alternatives
from graphmem.model.identity_rules import Evidence, OwnRule, alternatives, own_rule
from graphmem.model.person_names import NameGroup
from graphmem.model.reduction import Observation, paired
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import Active, SchemaDocument
from graphmem.model.schema.schema_document import Reference
from graphmem.writing import parting
from graphmem.writing.parting import Addresses
from graphmem.writing.things import NEAR_KIND, Thing, ThingRow, Things, stored_evidence
from graphmem.writing.write_requests import Touched


class HeadRow(NamedTuple):
    """The head of a type's schema as ``write.look`` reads it; ``seen`` are the shapes of each field."""

    entity_type: str
    fields: list[str]
    seen: list[str]
    version: str | None
    document: Json | None
    projection: str | None


@dataclass(frozen=True, slots=True)
class Head:
    """The fields seen of a type, its registered version, and the rules of that. ``changed``: the turn changes
    the rules, so entities are folded again; ``regroups``: the rule of identity."""

    entity_type: str
    seen: Mapping[str, discovery.Shapes] = field(default_factory=dict)
    active: Active | None = None
    rules: Rules = PLAIN
    changed: bool = False
    regroups: bool = False

    @classmethod
    def of_look(cls, row: HeadRow) -> Head:
        pairs = paired(f"the schema of {row.entity_type}", row.fields, row.seen)
        shapes = {name: frozenset(text.split("|")) if text else frozenset() for name, text in pairs}
        if row.document is None or row.version is None:
            return cls(row.entity_type, shapes)
        parsed = SchemaDocument.read(row.document)
        rules = parsed.rules
        if (row.projection or "") != rules.key:
            # Written before the key told rules of identity apart; it changes with the next version.
            rules = replace(rules, identity=())
        return cls(row.entity_type, shapes, Active(row.version, parsed), rules)

    @property
    def alternatives(self) -> Alternatives | None:
        """The registered alternatives of identity, ``None`` where the usual ones hold."""
        return self.active.document.alternatives() if self.active else None

    @property
    def references(self) -> tuple[Reference, ...]:
        return self.active.document.references if self.active else ()

    def joined(self, shapes: Mapping[str, str | None]) -> Head:
        seen = discovery.join(self.seen, shapes)
        return self if seen == self.seen else replace(self, seen=seen)

    def with_active(self, active: Active) -> Head:
        rules, kind = active.document.rules, self.entity_type
        before, after = self.alternatives, active.document.alternatives()
        return replace(
            self, active=active, rules=rules, changed=self.changed or rules.key != self.rules.key,
            regroups=self.regroups or alternatives(kind, before) != alternatives(kind, after),
        )  # fmt: skip

    def row(self, owner: str, updated_at: int) -> dict[str, Any]:
        names = sorted(self.seen, key=canonical.name_order)
        # Only the worker removes it, once every entity is folded again.
        pending = {"pending": True, "regroups": True if self.regroups else None} if self.changed else {}
        return {
            "id": ids.schema_id(owner, self.entity_type, None),
            "properties": {
                **pending,
                "owner": owner,
                "entity_type": self.entity_type,
                "head": self.entity_type,
                "fields": names,
                "seen": ["|".join(sorted(self.seen[name])) for name in names],
                "updated_at": updated_at,
                "declared": sorted(self.active.document.fields) if self.active else None,
                "active_version": self.active.version if self.active else None,
                "document": self.active.document.text if self.active else None,
                "projection": self.rules.key or None,
                "filterable": sorted(self.rules.filterable) or None,
            },
        }


class WrittenTransaction(NamedTuple):
    """A transaction that was written before: ``write/_transaction.cypher``, in its order."""

    transaction_id: str
    idempotency_key: str | None
    request_hash: str
    recorded_at: int
    answer: str


NameKey = tuple[str, str, str]  # an identifier of entities of one type: kind, index key, entity type


class NamesakeRow(NamedTuple):
    """A live entity with one of the names that may be new; ``date`` is canonical JSON."""

    kind: str
    key: str
    entity_type: str
    entity_id: str
    date: str | None


class BearerRow(NamedTuple):
    """An entity that bears the id of another, with its identifying fields."""

    entity_id: str
    borne_id: str
    is_alone: bool  # whether it is merged with no others
    evidence: str | None
    names: list[str]
    values: list[str]
    separated: list[str] | None

    def evidence_by(self, rule: OwnRule) -> Evidence:
        return stored_evidence(rule, self.evidence, dict(zip(self.names, self.values, strict=True)))


@dataclass(slots=True)
class Read:
    """What a turn read of its owner."""

    sequence: int = 0
    revision: int = 0
    recorded_at: int = 0
    hash: str | None = None  # the state hash; ``None`` where the owner has none yet
    is_new_owner: bool = False  # the owner has no node yet
    reads_from: str | None = None
    transactions: Mapping[str, WrittenTransaction] = field(default_factory=dict)  # of earlier attempts, by id
    toggles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of subjects of withdrawals, by id
    aliases: Mapping[str, str] = field(default_factory=dict)  # types by their other names
    namesakes: Mapping[NameKey, list[NamesakeRow]] = field(default_factory=dict)  # of names that it may give
    types_in_use: Sequence[str] = ()  # types of the owner that begin as those that the turn names
    writings: Sequence[WrittenSpan] = ()  # those of the turn's writers that were ever withdrawn
    withdrawn: frozenset[str] = frozenset()  # observations that it may repeat, and that do not count
    looked: Touched | None = None
    off: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the alternatives that merge nothing
    bearers: dict[str, list[BearerRow]] = field(default_factory=dict)  # stored, by the ids that they bear
    unread: set[str] = field(default_factory=set)  # no entity has the id: its bearers were not read
    near: dict[NameGroup, frozenset[str] | None] = field(default_factory=dict)  # names; none for too many


@dataclass(slots=True)
class Additions:
    """What a turn, or one request of it, adds beside its entities and relationships."""

    observations: dict[str, Observation] = field(default_factory=dict)
    repeated: set[tuple[str, str]] = field(default_factory=set)  # with the transaction that repeats it
    transactions: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by parameter of ``write.turn``
    heads: dict[str, int] = field(default_factory=dict)  # types whose schema changes, and when (microseconds)
    aliases: dict[str, str | None] = field(default_factory=dict)  # that it gives, or takes away
    names: dict[NameKey, list[str]] = field(default_factory=dict)  # the ids of what it creates, by name
    bearers: dict[str, set[str]] = field(default_factory=dict)  # what it changed, by the ids that they bear
    near: dict[NameGroup, set[str]] = field(default_factory=dict)  # the names of persons that it changed

    def add(self, further: Additions) -> None:
        """Add what one request adds, without its transaction and its merges by rule."""
        self.observations.update(further.observations)
        self.repeated |= further.repeated
        for name, rows in further.facts.items():
            self.facts.setdefault(name, []).extend(rows)
        self.heads.update(further.heads)
        self.aliases.update(further.aliases)
        for key, entity_ids in further.names.items():
            self.names.setdefault(key, []).extend(entity_ids)

    @property
    def is_written(self) -> bool:
        return bool(self.transactions or self.observations or self.repeated or self.heads or self.facts)


@dataclass(slots=True)
class State:
    """What a turn read, and what it decided so far."""

    owner: str = ""
    read: Read = field(default_factory=Read)
    entities: Things = field(default_factory=Things)  # as of the last decision
    relationships: Things = field(default_factory=Things)
    entities_before: Things = field(default_factory=Things)  # as they were read
    relationships_before: Things = field(default_factory=Things)
    observation_ids: set[str] = field(default_factory=set)
    by_key: dict[str, WrittenTransaction] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)  # observations of each subject of withdrawals, by id
    file_keys: dict[str, set[str]] = field(default_factory=dict)  # the ids of sources, by key of a file
    new: Additions = field(default_factory=Additions)
    recounted: set[str] = field(default_factory=set)  # whose versions were counted again from all facts
    addresses: Addresses = field(default_factory=Addresses)

    def thing(self, subject_id: str) -> Thing | None:
        return (self.relationships if ":" in subject_id else self.entities).get(subject_id)

    def head(self, entity_type: str) -> Head:
        return self.heads.get(entity_type) or Head(entity_type)

    def rules(self, entity_type: str) -> Rules:
        return self.head(entity_type).rules

    def own_rule(self, entity_type: str) -> OwnRule | None:
        off = self.read.off.get(entity_type, frozenset[str]())
        return own_rule(self.owner, entity_type, self.head(entity_type).alternatives, off)

    def may_have_keys(self, entity_type: str) -> bool:
        """Return whether entities of a type may have keys for merges by its rule, or by an earlier one."""
        return self.head(entity_type).active is not None or len(identity.own_rule(entity_type)) > 1

    def stale(self) -> set[str]:
        survivors: set[str] = set()
        for subject_id in self.entities:
            survivor = self.entities.survivor(subject_id)
            if self.entities[subject_id].projection != self.rules(survivor.kind).key:
                survivors.add(survivor.subject_id)
        return survivors

    def withdrawn(self) -> list[str]:
        """Return the ids of what waits to be folded again because other observations count."""
        return [
            subject_id
            for things in (self.entities, self.relationships)
            for subject_id in things
            if things[subject_id].refold
        ]

    @property
    def is_stale(self) -> bool:
        """Whether something must be folded again before a turn decides on it."""
        return bool(self.stale() or self.withdrawn())


class OwnerRow(NamedTuple):
    """The node of an owner; no revision while the owner's data is being erased."""

    sequence: int
    revision: int | None
    recorded_at: int
    state_hash: Any  # it is derived: a write goes on if it is damaged
    reads_from: str | None  # the address of the copy that it only reads from


class LockedOwner(NamedTuple):
    """The row of ``owner.lock``, if the owner has written; no revision while the data is being erased."""

    sequence: int
    revision: int | None
    recorded_at: int | None


class SubjectHead(NamedTuple):
    """What can be withdrawn, and when it was withdrawn and reinstated; see ``membership``."""

    subject_id: str
    toggles: list[int] | None
    observation_count: int


class WrittenSpan(NamedTuple):
    """What a writer wrote in a span of time, and when it was withdrawn and reinstated."""

    id: str
    toggles: list[int]

    def holds(self, writers: Collection[str], recorded_at: int) -> bool:
        writer, since, until = ids.writing(self.id)
        return writer in writers and since <= recorded_at < until


class LookRow(NamedTuple):
    owner: OwnerRow | None
    transactions: list[WrittenTransaction]
    entities: list[ThingRow]
    observations: list[tuple[str, bool]]  # whether it does not count now
    relationships: list[ThingRow]
    schemas: list[HeadRow]
    aliases: list[tuple[str, str]]  # another name, and its type
    namesakes: list[NamesakeRow]
    bearers: list[BearerRow]
    near: list[tuple[str, str, list[str] | None]]  # the names of each group, null for too many
    types_in_use: list[str]
    sources: list[SubjectHead]
    file_keys: list[tuple[str, str]]  # an idempotency key of files, and a source
    interpretations: list[SubjectHead]
    subjects: list[SubjectHead]
    writings: list[WrittenSpan]


def of_look(
    look: LookRow, owner: str, touched: Touched | None = None,
    rules_off: Mapping[str, frozenset[str]] | None = None, *, whole: bool = True,
) -> State:  # fmt: skip
    """Return the state that a look read; it is :func:`empty` where the owner has no node yet.

    Unless all is to be ``whole``, what was read in two parts (:class:`Torn`) or is damaged is taken as it is.
    Raises AuthInvalid: the owner's data is being erased. Raises DataDamaged: the node of the owner is
    damaged.
    """
    if look.owner is None:
        return empty(owner, touched, rules_off)
    if look.owner.revision is None:
        raise owner_erased()
    if left_out.wrong_types(look.owner):
        # The database adds 1 to a text too.
        raise left_out.refused(owner)
    transactions = look.transactions
    namesakes: dict[NameKey, list[NamesakeRow]] = {}
    file_keys: dict[str, set[str]] = {}
    for key, source_id in look.file_keys:
        file_keys.setdefault(key, set()).add(source_id)
    for row in look.namesakes:
        namesakes.setdefault((row.kind, row.key, row.entity_type), []).append(row)
    subjects: list[SubjectHead] = [each for name in fact_table.SUBJECTS for each in getattr(look, name)]
    subjects += look.subjects
    looked = touched or Touched()
    borne = {borne_id for _, borne_id, _ in looked.borne}
    # Of an entity that is neither there nor to be created, the bearers are not read.
    unread = borne - looked.stored - {row.subject_id for row in look.entities}
    bearers: dict[str, list[BearerRow]] = {borne_id: [] for borne_id in borne - unread}
    for bearer in look.bearers:
        bearers.setdefault(bearer.borne_id, []).append(bearer)
    relationships = Things(row.thing(whole=whole) for row in look.relationships)
    state = State(
        owner,
        Read(
            sequence=look.owner.sequence,
            revision=look.owner.revision,
            recorded_at=look.owner.recorded_at,
            hash=look.owner.state_hash,
            reads_from=look.owner.reads_from,
            transactions={each.transaction_id: each for each in transactions},
            toggles={each.subject_id: tuple(each.toggles) for each in subjects if each.toggles},
            aliases=dict(look.aliases),
            namesakes=namesakes,
            types_in_use=look.types_in_use,
            writings=look.writings,
            withdrawn=frozenset(each for each, is_withdrawn in look.observations if is_withdrawn),
            looked=touched,
            off=rules_off or {},
            bearers=bearers,
            unread=unread,
            near={
                NameGroup(kind.removeprefix(NEAR_KIND), prefix): None if texts is None else frozenset(texts)
                for kind, prefix, texts in look.near
            },
        ),
        relationships=relationships,
        relationships_before=relationships.copy(),
        observation_ids={each for each, _ in look.observations},
        by_key={each.idempotency_key: each for each in transactions if each.idempotency_key is not None},
        heads={row.entity_type: Head.of_look(row) for row in look.schemas},
        known={each.subject_id: each.observation_count for each in subjects},
        file_keys=file_keys,
    )
    state.entities = Things(row.entity(state.own_rule(row.kind), whole=whole) for row in look.entities)
    state.entities_before = state.entities.copy()
    parting.know(state, looked.addresses)
    return state


def owner_erased() -> AuthInvalid:
    message = "the account is deleted, or has joined a copy since this program started: nothing was written"
    return AuthInvalid(message)


def empty(
    owner: str = "", touched: Touched | None = None, rules_off: Mapping[str, frozenset[str]] | None = None
) -> State:
    """Return the state of an owner who has written nothing yet; see :func:`of_look`."""
    looked = touched or Touched()
    read = Read(
        hash=state_hash.EMPTY, is_new_owner=True, looked=touched, off=rules_off or {},
        bearers={each: [] for _, each, _ in looked.borne}, near={each: frozenset() for each in looked.near},
    )  # fmt: skip
    state = State(owner, read)
    parting.know(state, looked.addresses)
    return state
