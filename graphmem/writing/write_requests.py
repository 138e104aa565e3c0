"""What is handed to an owner's writer: the common part of all requests.

Most write a transaction of their own (:class:`~graphmem.writing.transaction.TransactionRequest`). A
:class:`~graphmem.writing.refolding.RefoldRequest` writes no facts, and a
:class:`~graphmem.dump.restore_request.RestoreRequest` the transactions of a dump.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from graphmem.model import facts, identity_rules, ids, person_names, rule_merges
from graphmem.model.identity_rules import Evidence, OwnRule
from graphmem.model.person_names import NameGroup
from graphmem.model.schema import shipped
from graphmem.model.shared_addresses import AddressForms
from graphmem.writing.things import KEY_KIND, NEAR_KIND

if TYPE_CHECKING:
    from graphmem.database.queries import Queries
    from graphmem.writing.state import NameKey, State
    from graphmem.writing.write_requests import Receipt


from typing import NamedTuple

from graphmem.model import canonical
from graphmem.model.reduction import Fold


class StoredItem(NamedTuple):
    """What became of one item, as answers name it.

    ``deduplicated``: this observation was stored before. ``home_entity_id``: the entity that the observation
    is about, where that is merged into ``entity_id``; else empty. ``resolved_by`` is ``rule`` where a rule
    merged it. Transactions keep items by position, without the last where it is empty.
    """

    entity_id: str
    entity_type: str
    observation_id: str
    action: str
    identity_basis: str
    version: int
    deduplicated: bool
    home_entity_id: str = ""
    resolved_by: str = ""


class StoredLink(NamedTuple):
    """What became of one relationship, as answers name it. Transactions keep links by position."""

    relationship_key: str
    observation_id: str
    action: str
    deduplicated: bool
    version: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a request is answered with. A replay has no folds and names, and reads them again."""

    transaction_id: str
    recorded_at: int
    items: list[StoredItem] = field(default_factory=list)
    links: list[StoredLink] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)  # those of the items' entities, as of the transaction
    names: list[str] = field(default_factory=list)
    link_folds: list[Fold] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)  # what a merge or a change of schema answers
    replayed: bool = False
    is_written: bool = True  # not if it asks for what holds already

    def encode(self) -> str:
        """Return the answer as a transaction stores it: canonical JSON."""
        kept: dict[str, Any] = {
            "items": [list(item) if item.resolved_by else list(item)[:-1] for item in self.items],
            "links": [list(link) for link in self.links],
            "warnings": self.warnings,
        }
        return canonical.encode({**kept, "more": self.result} if self.result else kept)

    @classmethod
    def decode(cls, transaction_id: str, recorded_at: int, answer: str, *, replayed: bool) -> Receipt:
        kept = canonical.decode(answer)
        return cls(
            transaction_id=transaction_id, recorded_at=recorded_at,
            items=[StoredItem(*item) for item in kept["items"]],
            links=[StoredLink(*link) for link in kept["links"]], warnings=kept["warnings"],
            result=kept.get("more", {}), replayed=replayed,
        )  # fmt: skip


Borne = tuple[str, str, tuple[str, ...]]
"""A kind of identifiers, an id, and the identifying fields of its type."""


class LookAgain(Exception):
    """A decision needs something that its look has not read: ``further``."""

    def __init__(self, further: Touched) -> None:
        super().__init__("the look has not read all that the decision needs")
        self.further = further


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge of ``source`` into ``target``, or its end, which may name no target."""

    kind: facts.Kind
    source: str
    target: str | None
    reason: str | None = None
    name_from: str | None = None  # ``source`` where its name is to be shown


_SETS_OF_TEXTS: Final = (
    "keys", "transactions", "entities", "observations", "sources", "file_keys", "interpretations", "types",
    "subjects", "writers",
)  # fmt: skip
"""The members of :class:`Touched` that are parameters of ``write.look`` as they are."""


@dataclass(slots=True)
class Touched:
    """What the requests of a turn touch: the turn reads it with ``write.look``. What else bears an id of
    ``borne`` is read if the entity is there, or if it is one of ``stored``."""

    keys: set[str] = field(default_factory=set)
    transactions: set[str] = field(default_factory=set)
    entities: set[str] = field(default_factory=set)
    observations: set[str] = field(default_factory=set)
    relationships: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    file_keys: set[str] = field(default_factory=set)
    interpretations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    names: set[NameKey] = field(default_factory=set)  # the names that a request may give to a new entity
    merging: Merging | None = None
    borne: set[Borne] = field(default_factory=set)  # ids of entities that may be merged by rule
    stored: set[str] = field(default_factory=set)  # entities that a request may create
    moved: set[tuple[str, str | None]] = field(default_factory=set)  # by rule, and into what
    near: set[NameGroup] = field(default_factory=set)  # groups of names, read if few enough
    near_limit: int = field(default_factory=lambda: person_names.LIMIT + 1)
    bearers_limit: int = field(default_factory=lambda: rule_merges.BEARERS_LIMIT + 2)
    subjects: set[str] = field(default_factory=set)  # transactions, writings and splits to turn
    writers: set[str] = field(default_factory=set)  # the keys of who writes
    addresses: dict[str, AddressForms] = field(default_factory=dict)  # who is at addresses, by their ids

    def add_relationship(self, key: str) -> None:
        self.relationships.add(key)
        self.entities.update(ids.ends(key))

    def add_subjects(self, subject_ids: Iterable[str]) -> None:
        for subject_id in subject_ids:
            if ":" in subject_id:
                self.add_relationship(subject_id)
            else:
                self.entities.add(subject_id)

    def add_merging(self, merging: Merging) -> None:
        """Add a merge, or its end; the only request of its turn has it."""
        self.merging = merging
        self.entities.update(filter(None, (merging.source, merging.target)))

    def add_evidence(self, rule: OwnRule, evidence: Evidence) -> None:
        """Add the entities that may be merged into an entity with this evidence, or into which it may be."""
        for borne_id, level in rule.borne(evidence).items():
            if rule.is_weaker(level):
                self.borne.add((KEY_KIND + rule.basis(level), borne_id, rule.fields))
                is_instant = identity_rules.INSTANT in rule.alternatives[level - rule.first]
                if is_instant or rule.tells_former or level in rule.numbers.values():
                    # No entity need have this id.
                    self.stored.add(borne_id)
            if level != rule.first:
                self.entities.add(borne_id)
        for name in rule.names("", evidence):
            self.near.update(name.groups)

    def add(self, further: Touched) -> None:
        self.entities |= further.entities
        self.relationships |= further.relationships
        self.borne |= further.borne
        self.stored |= further.stored
        self.moved |= further.moved
        self.near |= further.near
        self.near_limit = max(self.near_limit, further.near_limit)
        self.bearers_limit = max(self.bearers_limit, further.bearers_limit)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            **{name: sorted(getattr(self, name)) for name in _SETS_OF_TEXTS},
            "relationships": sorted([key, *key.split(":")] for key in self.relationships),
            "names": sorted(map(list, self.names)),
            "initials": sorted({name[:1] for name in self.types if shipped(name) is None}),
            "borne": [
                [kind, borne_id, list(fields), borne_id in self.stored]
                for kind, borne_id, fields in sorted(self.borne)
            ],
            "near": sorted([NEAR_KIND + group.basis, group.prefix] for group in self.near),
            "near_limit": self.near_limit,
            "bearers_limit": self.bearers_limit,
            "moved": [
                *([[self.merging.source, self.merging.target]] if self.merging else []),
                *([source, onto] for source, onto in sorted(self.moved, key=str)),
            ],
        }


class Needs:
    """What several decisions need that the look has not read. A decision is a block of code with this as its
    context; it ends at its first need, which is noted."""

    _further: Touched | None = None

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> bool:
        if not isinstance(exc, LookAgain):
            return False
        self._further = self._further or Touched()
        self._further.add(exc.further)
        return True

    def read(self) -> None:
        """Raise ``LookAgain`` with all of it, if there is something."""
        if self._further is not None:
            raise LookAgain(self._further)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest(ABC):
    """One unit that is accepted or refused: all of its observations are written, or none.

    A request whose change reaches further than the things that it names is alone in its turn. The first write
    of an account that is gone is refused.
    """

    shares_turn: ClassVar[bool] = True  # whether other requests may be in its turn
    again: ClassVar[str] = "send it again with the same idempotency_key"  # what to do if it is in doubt

    owner: str
    transaction_id: str
    account: str = ""  # the id of the account that acts, if that can be deleted

    @property
    def writes_facts(self) -> bool:
        """Whether it writes facts: a plan and a refold do not."""
        return True

    @property
    def observation_count(self) -> int:
        return 0

    @property
    def characters(self) -> int:
        return 0

    def identified(self, state: State) -> Self:
        """Return the request with its items identified by the rules of the state."""
        return self

    async def informed(self, queries: Queries, state: State) -> Self:
        """Return the request with what it reads beside the look; it may fold what it moves."""
        return self

    @abstractmethod
    def touch(self, touched: Touched) -> None: ...

    @abstractmethod
    def decide(self, state: State, clock: int) -> Receipt:
        """Return its answer; unless it is a plan, make what it writes part of ``state``.

        A new transaction is recorded at ``clock`` (microseconds), or later if the owner's order demands it.
        Raises IdempotencyMismatch and StoreRefused, and nothing is written then.
        """
