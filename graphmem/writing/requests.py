"""What is handed to an owner's writer, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphmem.matching.similarity import Profile
from graphmem.model import canonical, facts, ids
from graphmem.model.items import DEFAULT_PRIORITY, DEFAULT_SOURCE, Item, Link
from graphmem.model.reduction import Fold, Observation
from graphmem.model.schema import Change
from graphmem.writing.restored import Restoring


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge of ``source`` into ``target``, or its end (``kind`` unmerge: the target may be ``None``)."""

    kind: facts.Kind
    source: str
    target: str | None
    reason: str | None = None

    @property
    def said(self) -> list[Any]:
        """What an idempotency key stands for."""
        return [self.kind, self.source, self.target, self.reason]


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One accepted-or-refused unit: all of its observations are written, or none.

    ``agent`` is the thumbprint of the writer's key (``anonymous`` without one), ``client`` the name that
    it gives itself; ``observed_at`` (microseconds) and ``observation_source`` are those of its links.
    ``looking`` are entities that are looked at, and folded again where their rules have changed;
    ``restoring`` what was written elsewhere and is written again. ``find_duplicates`` asks for what stands
    near what it creates.
    """

    operation: str
    owner: str
    agent: str
    client: str
    transaction_id: str
    items: list[Item]
    links: list[Link] = field(default_factory=list)
    observed_at: int | None = None
    priority: float = DEFAULT_PRIORITY
    observation_source: str = DEFAULT_SOURCE
    idempotency_key: str | None = None
    commit: bool = True
    merging: Merging | None = None
    change: Change | None = None
    looking: tuple[str, ...] = ()
    restoring: Restoring | None = None
    find_duplicates: bool = False

    @property
    def alone(self) -> bool:
        """Whether it shares no turn: what it changes reaches further than what it names."""
        return any(one is not None for one in (self.merging, self.change, self.restoring))

    @property
    def moving(self) -> Merging | None:
        """The merge, or its end, that it asks for or restores, where that moves anything."""
        said = self.restoring.merge if self.restoring and self.restoring.moves else None
        return (
            Merging(said.kind, said.subject_id, facts.target(said.kind, said.fields))
            if said
            else self.merging
        )

    @property
    def observations(self) -> int:
        """How many observations it may write."""
        restored = len(self.restoring.observations) if self.restoring else 0
        return len(self.items) + len(self.links) + restored

    @property
    def weight(self) -> int:
        """How many characters of values it brings."""
        restored = self.restoring.observations if self.restoring else ()
        said = [one.fields for one in (*self.items, *self.links, *restored)]
        return sum(len(value) for fields in said for value in fields.values())

    @property
    def request_hash(self) -> str:
        """What its idempotency key stands for: what it says, in whatever spelling of types and times."""
        said_of_links = [self.observed_at, self.priority, self.observation_source] if self.links else []
        said: dict[str, Any] = {
            "items": list(map(_item_said, self.items)),
            "links": list(map(_link_said, self.links)),
            "of_links": said_of_links,
        }
        if self.merging is not None:
            said["merging"] = self.merging.said
        if self.change is not None:
            said["change"] = self.change.said()
        return ids.request_hash(self.operation, said)

    def link_key(self, link: Link) -> str:
        """Return the key of the relationship that a link makes."""
        ends = link.source.resolve(self.items), link.target.resolve(self.items)
        return ids.relationship_key(link.relationship_type, *ends)

    def item_observation_id(self, item: Item) -> str:
        """Return the id of the observation that an item makes."""
        if item.observed_at is None:
            return ids.unplaced_observation_id(self.transaction_id, item.index)
        return ids.observation_id(
            subject_id=item.entity_id,
            observed_at=item.observed_at,
            fields=item.fields,
            kind=item.kind,
            priority=item.priority,
            specificity=item.specificity,
            observation_source=item.observation_source,
            agent=self.agent,
            source_id=None,
            interpretation_id=None,
        )

    def link_observation_id(self, link: Link, key: str | None = None, place: int = 0) -> str:
        """Return the id of the observation that a link makes; links count on after the items.

        Args:
            key: the relationship that it is made of, where that is another than the link says.
            place: which of several relationships that one link acts on.
        """
        if self.observed_at is None:
            number = link.index if place == 0 else len(self.links) + place
            return ids.unplaced_observation_id(self.transaction_id, len(self.items) + number)
        return ids.observation_id(
            subject_id=self.link_key(link) if key is None else key,
            observed_at=self.observed_at,
            fields=link.fields,
            kind=link.kind,
            priority=self.priority,
            specificity=1.0,
            observation_source=self.observation_source,
            agent=self.agent,
            source_id=None,
            interpretation_id=None,
        )

    def item_observation(self, item: Item, entity_type: str, recorded_at: int) -> Observation:
        """Return the observation that an item makes, once its transaction's time is known."""
        return Observation(
            id=self.item_observation_id(item),
            subject_id=item.entity_id,
            entity_type=entity_type,
            kind=item.kind,
            observed_at=recorded_at if item.observed_at is None else item.observed_at,
            recorded_at=recorded_at,
            fields=item.fields,
            transaction_id=self.transaction_id,
            priority=item.priority,
            specificity=item.specificity,
            observation_source=item.observation_source,
            agent=self.agent,
            basis=item.basis,
            shapes=item.shapes,
        )

    def link_observation(
        self, link: Link, key: str, recorded_at: int, place: int = 0, after: int | None = None
    ) -> Observation:
        """Return the observation of relationship ``key`` that a link makes.

        Args:
            after: microseconds that it must lie after, where it takes its time from its transaction.
        """
        observed_at = recorded_at if after is None else max(recorded_at, after + 1)
        return Observation(
            id=self.link_observation_id(link, key, place),
            subject_id=key,
            entity_type="",
            kind=link.kind,
            observed_at=observed_at if self.observed_at is None else self.observed_at,
            recorded_at=recorded_at,
            fields=link.fields,
            transaction_id=self.transaction_id,
            priority=self.priority,
            observation_source=self.observation_source,
            agent=self.agent,
        )

    def merge_observation(self, entity_type: str, recorded_at: int) -> Observation:
        """Return the observation that a merge, or its end, makes of the entity that is merged."""
        assert self.merging is not None
        said = {"into": self.merging.target, "reason": self.merging.reason}
        return Observation(
            id=ids.unplaced_observation_id(self.transaction_id, 0),
            subject_id=self.merging.source,
            entity_type=entity_type,
            kind=self.merging.kind,
            observed_at=recorded_at,
            recorded_at=recorded_at,
            fields={name: canonical.encode(value) for name, value in said.items() if value is not None},
            transaction_id=self.transaction_id,
            agent=self.agent,
        )


def _item_said(item: Item) -> list[Any]:
    target = item.entity_id if item.basis == "target_id" else None
    who = [item.given_type, item.stated or item.basis, target, item.observed_at]
    return [*who, item.priority, item.specificity, item.observation_source, item.kind, dict(item.fields)]


def _link_said(link: Link) -> list[Any]:
    ends = [[end.index, end.entity_id] for end in (link.source, link.target)]
    return [link.relationship_type, *ends, link.kind, dict(link.fields)]


class StoredItem(NamedTuple):
    """What became of one item. ``known``: the very observation was there before.

    ``home`` is the entity whose observation it is, where that is merged into the one that shows it.
    """

    entity_id: str
    entity_type: str
    observation_id: str
    action: str
    basis: str
    version: int
    known: bool
    subject_id: str = ""


class StoredLink(NamedTuple):
    """What became of one relationship."""

    key: str
    observation_id: str
    action: str
    known: bool
    version: int
    live: bool


@dataclass(frozen=True, slots=True)
class Near:
    """What a request created, what stands near each of it, by ids, and what that is."""

    created: Mapping[str, Profile]
    beside: Mapping[str, list[str]]
    found: Mapping[str, Profile]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a request is answered with.

    ``folds`` and ``names`` are those of the items' entities, ``link_folds`` those of the relationships, as
    of the transaction: what holds each field, and what the entity is called. They are empty for a replay,
    which reads them again. ``more`` is what an operation of another kind answers, ``near`` what the turn that
    wrote it found near what it created, where that was asked for; ``looked`` is false where the database
    could not look.
    """

    transaction_id: str
    recorded_at: int
    items: list[StoredItem]
    links: list[StoredLink]
    folds: list[Fold] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    link_folds: list[Fold] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    replayed: bool = False
    near: Near | None = None
    looked: bool = True

    def remember(self) -> str:
        """Return what a transaction keeps of its answer, as canonical JSON."""
        kept: dict[str, Any] = {
            "items": [list(item) for item in self.items],
            "links": [list(link) for link in self.links],
            "warnings": self.warnings,
        }
        return canonical.encode({**kept, "more": self.more} if self.more else kept)

    @classmethod
    def recall(cls, transaction_id: str, recorded_at: int, answer: str, *, replayed: bool) -> Receipt:
        """Return the receipt of a transaction that was written before."""
        kept = canonical.decode(answer)
        return cls(
            transaction_id=transaction_id,
            recorded_at=recorded_at,
            items=[StoredItem(*item) for item in kept["items"]],
            links=[StoredLink(*link) for link in kept["links"]],
            warnings=kept["warnings"],
            more=kept.get("more", {}),
            replayed=replayed,
        )
