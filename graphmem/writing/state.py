"""The part of an owner's graph that a turn decides on: what it read, and what it adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from graphmem.errors import AuthInvalid
from graphmem.model import identity, state_hash
from graphmem.model.dismissals import Dismissal, Pair
from graphmem.model.membership import Exclusion
from graphmem.model.person_names import NameGroup
from graphmem.model.reduction import Observation
from graphmem.model.rule_merges import Evidence, OwnRule, own_rule
from graphmem.model.rules import PLAIN, Rules
from graphmem.writing.schema_heads import Head, HeadRow
from graphmem.writing.things import NEAR_KIND, ThingRow, Things, stored_evidence

if TYPE_CHECKING:
    from graphmem.writing.write_requests import Touched


class WrittenTransaction(NamedTuple):
    """A transaction that was written before: ``write/_transaction.cypher``, in its order."""

    transaction_id: str
    idempotency_key: str | None
    request_hash: str
    recorded_at: int
    answer: str


NameKey = tuple[str, str, str]
"""An identifier of entities of one type: kind, index key, entity type."""


class NamesakeRow(NamedTuple):
    """A live entity with one of the names that may be new; ``date`` is canonical JSON."""

    kind: str
    key: str
    entity_type: str
    entity_id: str
    date: str | None


class BearerRow(NamedTuple):
    """An entity that bears the id of another; ``whole`` unless it is merged with others.

    ``names`` and ``values`` are those of its identifying fields.
    """

    borne_id: str
    entity_id: str
    is_alone: bool
    evidence: str | None
    names: list[str]
    values: list[str]
    separated: list[str] | None

    def evidence_by(self, rule: OwnRule) -> Evidence:
        """Return its evidence."""
        return stored_evidence(rule, self.evidence, dict(zip(self.names, self.values, strict=True)))


@dataclass(slots=True)
class RuleSpans:
    """How the merge by rule of one entity changes in a turn.

    Attributes:
        ended: when the stored merge ended (``recorded_at``, microseconds); ``None`` where it did not.
        begun: the new merges in order, as properties of their edges with ``into``; the last may be open.
    """

    ended: int | None = None
    begun: list[dict[str, Any]] = field(default_factory=list)

    def change(self, into: str | None, merged_by: str | None, recorded_at: int, *, is_open: bool) -> None:
        """Note a change; ``is_open``: a merge by rule ends with it."""
        if is_open and not self.begun:
            self.ended = recorded_at
        elif is_open and self.begun[-1]["from"] == recorded_at:
            self.begun.pop()
        elif is_open:
            self.begun[-1]["until"] = recorded_at
        if into is not None and merged_by is not None:
            self.begun.append({"into": into, "alternative": merged_by, "from": recorded_at, "until": None})


@dataclass(slots=True)
class State:
    """What a turn read, and what it decided so far.

    ``entities`` and ``relationships`` are as of the last decision, ``entities_before`` and
    ``relationships_before`` as they were read. ``hash`` is the state hash that was read, ``None`` where the
    owner has none yet. ``aliases`` are types by their other names; ``changed_aliases`` the names that the
    turn gives, or (``None``) takes away. ``changed_heads`` are the types whose schema head the turn writes,
    with the time (microseconds) of the change. ``namesakes`` are stored entities by the names that the turn
    may give to new ones, three for each name; ``created_names`` the ids of entities that the turn creates, by
    name. ``source_ids`` and ``ended_interpretations`` have the number of observations of each. ``toggles``
    are the times at which these, by id, were excluded and included again; ``exclusions`` are the facts that
    the turn adds to them. ``dismissed`` are the pairs of entities that are two, read for requests that have
    ``separable`` entities; ``dismissals`` are the facts that the turn adds to them. ``types_in_use`` are
    types of the owner that begin as those that the turn names. ``file_keys`` are the ids of sources by the
    idempotency keys of files. ``repeated`` are the observations that transactions of the turn recorded again.
    ``looked`` is what the look read. ``bearers`` are stored entities by the ids that they bear,
    ``unread_bearers`` the ids of which they were not read because no entity has the id, ``new_bearers`` those
    that the turn changed. ``near`` are the stored names of persons by groups, ``None``
    for more than were asked for, ``new_near`` those of entities that the turn changed. ``rules_off`` are the
    alternatives that merge nothing, by type. ``undated``: when merges by rule held has to be worked out again
    from all facts.
    """

    sequence: int = 0
    revision: int = 0
    recorded_at: int = 0
    hash: str | None = None
    entities: Things = field(default_factory=Things)
    relationships: Things = field(default_factory=Things)
    observation_ids: set[str] = field(default_factory=set)
    transactions: dict[str, WrittenTransaction] = field(default_factory=dict)
    by_key: dict[str, WrittenTransaction] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    added: list[Observation] = field(default_factory=list)
    repeated: list[dict[str, Any]] = field(default_factory=list)
    transaction_rows: list[dict[str, Any]] = field(default_factory=list)
    changed_heads: dict[str, int] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    source_ids: dict[str, int] = field(default_factory=dict)
    file_keys: dict[str, set[str]] = field(default_factory=dict)
    toggles: dict[str, tuple[int, ...]] = field(default_factory=dict)
    exclusions: list[Exclusion] = field(default_factory=list)
    dismissed: frozenset[Pair] = frozenset()
    dismissals: list[Dismissal] = field(default_factory=list)
    source_rows: list[dict[str, Any]] = field(default_factory=list)
    ended_interpretations: dict[str, int] = field(default_factory=dict)
    interpretation_rows: list[dict[str, Any]] = field(default_factory=list)
    aliases: Mapping[str, str] = field(default_factory=dict)
    changed_aliases: dict[str, str | None] = field(default_factory=dict)
    namesakes: Mapping[NameKey, list[NamesakeRow]] = field(default_factory=dict)
    created_names: dict[NameKey, list[str]] = field(default_factory=dict)
    types_in_use: list[str] = field(default_factory=list)
    owner: str = ""
    rules_off: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bearers: dict[str, list[BearerRow]] = field(default_factory=dict)
    unread_bearers: set[str] = field(default_factory=set)
    new_bearers: dict[str, set[str]] = field(default_factory=dict)
    near: dict[NameGroup, frozenset[str] | None] = field(default_factory=dict)
    new_near: dict[NameGroup, set[str]] = field(default_factory=dict)
    looked: Touched | None = None
    rule_spans: dict[str, RuleSpans] = field(default_factory=dict)
    undated: bool = False
    entities_before: Things = field(default_factory=Things)
    relationships_before: Things = field(default_factory=Things)

    def __post_init__(self) -> None:
        self.entities_before = self.entities.copy()
        self.relationships_before = self.relationships.copy()

    def rules(self, entity_type: str) -> Rules:
        """Return the rules of a type."""
        head = self.heads.get(entity_type)
        return head.rules if head else PLAIN

    def own_rule(self, entity_type: str) -> OwnRule | None:
        """Return the own rule of a type, ``None`` where nothing can be merged by it."""
        head = self.heads.get(entity_type)
        registered = head.alternatives if head else None
        return own_rule(self.owner, entity_type, registered, self.rules_off.get(entity_type, frozenset()))

    def may_have_keys(self, entity_type: str) -> bool:
        """Return whether entities of a type may have keys for merges by its rule, or by an earlier one."""
        head = self.heads.get(entity_type)
        return (head is not None and head.active is not None) or len(identity.own_rule(entity_type)) > 1

    def stale(self) -> set[str]:
        """Return the survivors of members that were folded under other rules than those of their type."""
        survivors: set[str] = set()
        for subject_id in self.entities:
            survivor = self.entities.survivor(subject_id)
            if self.entities[subject_id].projection != self.rules(survivor.kind).key:
                survivors.add(survivor.subject_id)
        return survivors

    def withdrawn(self) -> list[str]:
        """Return the ids of entities and relationships whose counting observations have changed."""
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
    state_hash: str | None


class LockedOwner(NamedTuple):
    """The row of ``owner.lock``; no row for an owner who has written nothing.

    There is no revision while the owner's data is being erased.
    """

    sequence: int
    revision: int | None
    recorded_at: int | None


class AliasRow(NamedTuple):
    """Another name of a type."""

    name: str
    entity_type: str


class FileKeyRow(NamedTuple):
    """A file that was stored under an idempotency key of files."""

    key: str
    source_id: str


class SubjectHead(NamedTuple):
    """A source or an interpretation, and when it was excluded and included again; see ``membership``."""

    subject_id: str
    toggles: list[int] | None
    observation_count: int


class NearRow(NamedTuple):
    """The names of persons in one group; ``None`` for more than were asked for."""

    kind: str
    prefix: str
    texts: list[str] | None


class LookRow(NamedTuple):
    """The row of ``write.look``."""

    owner: OwnerRow | None
    transactions: list[WrittenTransaction]
    entities: list[ThingRow]
    observations: list[str]
    relationships: list[ThingRow]
    schemas: list[HeadRow]
    aliases: list[AliasRow]
    namesakes: list[NamesakeRow]
    bearers: list[BearerRow]
    near: list[NearRow]
    types_in_use: list[str]
    sources: list[SubjectHead]
    file_keys: list[FileKeyRow]
    interpretations: list[SubjectHead]


def of_look(
    look: LookRow,
    owner: str,
    touched: Touched | None = None,
    rules_off: Mapping[str, frozenset[str]] | None = None,
    *,
    whole: bool = True,
) -> State | None:
    """Return the state that a look read, ``None`` where the owner has no node yet.

    Args:
        touched: what was looked for.
        rules_off: the alternatives by type that merge nothing.
        whole: refuse a thing that was read in two parts, or is damaged.

    Raises:
        Torn: a commit fell into the reading of a thing.
        AuthInvalid: the owner's data is being erased.
    """
    if look.owner is None:
        return None
    if look.owner.revision is None:
        raise owner_erased()
    transactions = look.transactions
    namesakes: dict[NameKey, list[NamesakeRow]] = {}
    file_keys: dict[str, set[str]] = {}
    for stored_file in look.file_keys:
        file_keys.setdefault(stored_file.key, set()).add(stored_file.source_id)
    for row in look.namesakes:
        namesakes.setdefault((row.kind, row.key, row.entity_type), []).append(row)
    state = State(
        sequence=look.owner.sequence,
        revision=look.owner.revision,
        recorded_at=look.owner.recorded_at,
        hash=look.owner.state_hash,
        owner=owner,
        rules_off=rules_off or {},
        looked=touched,
        relationships=Things(row.thing(whole=whole) for row in look.relationships),
        observation_ids=set(look.observations),
        transactions={each.transaction_id: each for each in transactions},
        by_key={each.idempotency_key: each for each in transactions if each.idempotency_key is not None},
        heads={row.entity_type: Head.of_look(row) for row in look.schemas},
        aliases={row.name: row.entity_type for row in look.aliases},
        namesakes=namesakes,
        types_in_use=look.types_in_use,
        source_ids={each.subject_id: each.observation_count for each in look.sources},
        file_keys=file_keys,
        ended_interpretations={each.subject_id: each.observation_count for each in look.interpretations},
        toggles={
            each.subject_id: tuple(each.toggles)
            for each in (*look.sources, *look.interpretations)
            if each.toggles
        },
    )
    borne = {borne_id for _, borne_id, _ in touched.borne} if touched else set[str]()
    stored = touched.stored if touched else set[str]()
    # Of an entity that is neither there nor to be created, the bearers are not read.
    state.unread_bearers = borne - stored - {row.subject_id for row in look.entities}
    state.bearers = {borne_id: [] for borne_id in borne - state.unread_bearers}
    for row in look.bearers:
        state.bearers.setdefault(row.borne_id, []).append(row)
    for near in look.near:
        group = NameGroup(near.kind.removeprefix(NEAR_KIND), near.prefix)
        state.near[group] = None if near.texts is None else frozenset(near.texts)
    state.entities = Things(row.entity(state.own_rule(row.kind), whole=whole) for row in look.entities)
    state.entities_before = state.entities.copy()
    return state


def owner_erased() -> AuthInvalid:
    """Return the refusal of a write whose account is being deleted, or was deleted, with its data."""
    return AuthInvalid("the account is deleted, and its data is erased: nothing was written")


def empty(
    owner: str = "", touched: Touched | None = None, rules_off: Mapping[str, frozenset[str]] | None = None
) -> State:
    """Return the state of an owner who has written nothing yet; see :func:`of_look`."""
    bearers: dict[str, list[BearerRow]] = {each: [] for _, each, _ in touched.borne} if touched else {}
    near = dict.fromkeys(touched.near, frozenset[str]()) if touched else {}
    return State(
        hash=state_hash.EMPTY, owner=owner, looked=touched, bearers=bearers, near={**near},
        rules_off=rules_off or {},
    )  # fmt: skip
