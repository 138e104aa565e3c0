"""A request that stores items, one observation each, and relationships between them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

from graphmem.errors import IdempotencyMismatch
from graphmem.ingest.media_types import types_contradict
from graphmem.model import facts, identity, ids, membership
from graphmem.model.fact_records import SourceRecord
from graphmem.model.identity_rules import own_rule
from graphmem.model.items import Defaults, Item
from graphmem.model.links import Link, Part
from graphmem.model.reduction import Observation
from graphmem.writing import (
    parting,
    references,
    rule_merging,
    store_items,
    store_links,
    withdrawing,
)
from graphmem.writing.draft import Draft
from graphmem.writing.new_interpretation import ENDED, Interpretation
from graphmem.writing.state import State
from graphmem.writing.things import evidence_of
from graphmem.writing.transaction import TransactionRequest
from graphmem.writing.write_requests import Receipt, StoredItem, StoredLink, Touched


@dataclass(slots=True)
class RequestOrder:
    """The observations of one request that have a time of their own, in the order of the request.

    Ids decide between equal times. An observation that contradicts an earlier one of its request takes a
    greater id, if its own is not greater: so its place is part of what was observed, and the later one wins.
    """

    _claims: dict[tuple[str, int, facts.Kind], dict[str, tuple[str, str, str]]] = field(default_factory=dict)
    """By subject, time and kind, then by field: value and id of the greatest observation, and the greatest id
    of another value."""

    def next_id(self, part: Part, subject_id: str, unplaced: str) -> str:
        """Return the id of the observation that the next part makes; ``unplaced``: without a place."""
        if part.observed_at is None or part.kind not in facts.VALUE_KINDS:
            return unplaced
        claims = self._claims.setdefault((subject_id, part.observed_at, part.kind), {})
        known = [(name, value, *claims.get(name, (value, "", ""))) for name, value in part.fields.items()]
        contradicted = (
            other if value == claimed else greatest for _, value, claimed, greatest, other in known
        )
        earlier = max(contradicted, default="")
        observation_id = ids.placed_observation_id(unplaced, earlier) if unplaced < earlier else unplaced
        for name, value, claimed, greatest, other in known:
            if value == claimed:
                claims[name] = value, max(greatest, observation_id), other
            else:
                claims[name] = value, observation_id, greatest
        return observation_id


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest(TransactionRequest):
    """Items and links that are stored together, or refused together, with the file that they came with. A
    plan (``commit`` false) is decided and not written."""

    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    defaults: Defaults = field(default_factory=Defaults)  # those of the request, which its parts have already
    source: SourceRecord | None = None
    interpretation: Interpretation | None = None  # it made the items and links of its source
    ends_interpretation: bool = True  # unless more transactions follow
    warnings: list[dict[str, Any]] = field(default_factory=list)  # those of reading it
    commit: bool = True
    given_items: int | None = None  # so many the caller sent (``None``: all)
    given_links: int | None = None  # the others are those of ``referring``
    referring: list[references.Referring] = field(default_factory=list)  # what made items and links
    ending: set[str] = field(default_factory=set)  # relationships that they may end
    spoken: Mapping[str, str] = field(default_factory=dict)  # of each shared address, the part that is meant
    _ids: list[str] = field(init=False, default_factory=list, repr=False, compare=False)

    @property
    def writes_facts(self) -> bool:
        return self.commit

    @property
    def shares_turn(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether other requests may be in its turn: not if it withdraws interpretations."""
        interpretation = self.interpretation
        return interpretation is None or not (interpretation.replaces or interpretation.has_made_something)

    @property
    def observation_count(self) -> int:
        return len(self.items) + len(self.links)

    @property
    def characters(self) -> int:
        return sum(len(value) for part in (*self.items, *self.links) for value in part.fields.values())

    @property
    def can_be_withheld(self) -> bool:
        """Whether it only observes entities, and relates them: it withdraws and changes nothing of others."""
        return (
            type(self) is StoreRequest
            and not (self.interpretation and self.interpretation.replaces)
            and not self.operation.startswith("relationships.")
            and {item.kind for item in self.items} <= {"value"}
            and {link.kind for link in self.links} <= {"create"}
        )

    @property
    def content(self) -> dict[str, Any]:
        links, defaults = self.links[: self.given_links], self.defaults
        of_links = [defaults.observed_at, defaults.priority, defaults.observation_source]
        return {
            "items": list(map(_item_content, self.items[: self.given_items])),
            "links": list(map(_link_content, links)),
            "of_links": of_links if links else [],
            **({"file": self.source.content_hash} if self.source else {}),
            **({"interpretation": self.interpretation.content} if self.interpretation else {}),
        }

    def expectations(self) -> Iterator[tuple[str, int, dict[str, Any]]]:
        yield from TransactionRequest.expectations(self)
        for part in (*self.items, *self.links):
            if part.expected_version is not None:
                subject_id = part.entity_id if isinstance(part, Item) else self.link_key(part)
                yield subject_id, part.expected_version, {"index": part.index}

    def touch(self, touched: Touched) -> None:
        TransactionRequest.touch(self, touched)
        if self.source is not None:
            touched.sources.add(self.source.id)
            if self.source.file_key is not None:
                touched.file_keys.add(self.source.file_key)
        if self.interpretation is not None:
            touched.interpretations.update((self.interpretation.id, *self.interpretation.replaces))
            touched.sources.add(self.interpretation.source_id)
        touched.entities.update(self.spoken)
        for item in self.items:
            touched.add_subjects(filter(None, (item.entity_id, item.home)))
            form = parting.of_item(item)
            parting.note(touched.addresses, item.home or item.entity_id, item.entity_type or "", form)
            rule = own_rule(self.owner, item.entity_type, item.alternatives) if item.entity_type else None
            if rule is not None and item.kind in facts.VALUE_KINDS:
                touched.stored.add(item.entity_id)
                touched.add_evidence(rule, evidence_of(rule, item.fields))
            touched.names |= store_items.names_of(item)
            if item.entity_type:
                touched.types.update((item.entity_type, item.given_type or item.entity_type))
            if item.observed_at is not None:
                touched.observations.add(self.item_observation_id(item))
        for key in self.ending:
            touched.add_relationship(key)
        for each in self.referring:
            touched.types.add(each.reference.entity_type)
        for link in (variant for each in self.links for variant in each.variants):
            touched.add_relationship(self.link_key(link))
            if link.observed_at is not None:
                touched.observations.add(self.link_observation_id(link))

    def identified(self, state: State) -> Self:
        """Return it with its items identified by the state, and with what they refer to by its schemas."""
        items = [self.with_rule(item, state) for item in self.items[: self.given_items]]
        if self.given_items is not None or any(head.references for head in state.heads.values()):
            request = cast("Self", references.expanded(self, items, state))
            items = request.items
        else:
            request = self
        items, spoken = parting.placed_items(items, state)
        changed = any(new is not old for new, old in zip(items, request.items, strict=True))
        changed = changed or spoken != request.spoken
        return replace(request, items=items, spoken=spoken) if changed else request

    def with_rule(self, item: Item, state: State) -> Item:
        """Return an item identified by the aliases and identity rules of the state."""
        entity_type = state.read.aliases.get(item.given_type or "", item.given_type)
        if entity_type in identity.SHIPPED_ALIASES and state.head(entity_type).active is None:
            entity_type = identity.SHIPPED_ALIASES[entity_type]
        alternatives = state.head(entity_type or "").alternatives
        if (item.entity_type, item.alternatives) == (entity_type, alternatives):
            return item
        return item.identified(self.owner, self.transaction_id, entity_type, alternatives)

    def apply(self, draft: Draft) -> Receipt:
        """Add its items, then its links: a link may need an entity that an item creates."""
        draft.warnings.extend(self.warnings)
        before = references.shown(draft, self)
        items = [store_items.apply(draft, self, item) for item in self.items]
        links = [store_links.apply(draft, self, link) for link in self.links[: self.given_links]]
        links += references.apply(draft, self, before)
        draft.raise_issues()
        result = self._add_source(draft, self.source) if self.source else {}
        withdrawing.warn(draft, self._source_id)
        if self.interpretation is not None:
            if self.interpretation.id in draft.state.known:
                # Another process, or another run of the worker, was faster.
                draft.stop(ENDED, "$.source_id", f"the interpretation {self.interpretation.id} has ended")
            if self.ends_interpretation:
                self._withdraw_replaced(draft, self.interpretation)
            result["interpretation_id"] = self.interpretation.id
        counts = _counts(items, links)
        rule_merging.settle(draft)
        store_items.forget_merged(draft)
        items = [store_items.settled(draft, index, item) for index, item in enumerate(items) if item]
        if self.interpretation is not None and self.ends_interpretation:
            fact = self.interpretation.warned(draft.warnings).fact(counts)
            row = draft.add(fact, self.transaction_id)
            row["properties"]["replaces"] = list(self.interpretation.replaces) or None
        entities = [draft.survivor_view(item.entity_id) for item in self.items]
        relationships = [draft.relationships.view(link.relationship_key) for link in links if link]
        return Receipt(
            transaction_id=self.transaction_id, recorded_at=draft.recorded_at, items=items,
            links=[link for link in links if link], folds=[entity.fold for entity in entities if entity],
            names=[entity.name for entity in entities if entity],
            link_folds=[relationship.fold for relationship in relationships if relationship], result=result,
        )  # fmt: skip

    def _add_source(self, draft: Draft, source: SourceRecord) -> dict[str, Any]:
        """Add the file; return what the receipt says of it."""
        key = source.file_key
        known = draft.state.file_keys.get(key, set()) if key is not None else set[str]()
        if known and source.id not in known:
            raise IdempotencyMismatch(
                f"the file_idempotency_key {key} was used before for other bytes, and nothing was written: "
                "use a new key, or send the first file again",
                file_idempotency_key=key,
            )
        declared, detected = source.declared_type, source.mime_type
        if declared is not None and types_contradict(declared, detected):
            # Both types are kept.
            message = f"the file was declared as {declared}, and its bytes are {detected}"
            draft.warn("MIME_TYPE_MISMATCH", message, mime_type=detected, declared_type=declared)
        draft.add(source, self.transaction_id)
        return {
            "source": {
                "source_id": source.id, "content_hash": source.content_hash, "file_size": source.size,
                "mime_type": detected, "deduplicated": source.id in draft.state.known,
            }
        }  # fmt: skip

    def _withdraw_replaced(self, draft: Draft, interpretation: Interpretation) -> None:
        """Withdraw what a completed interpretation replaces, or what a failed one made."""
        state, ended, reason = draft.state, list[str](), f"replaced by {interpretation.id}"
        if interpretation.error is None:
            # It may be withdrawn already.
            known = [each for each in interpretation.replaces if each in state.known]
            ended = [each for each in known if membership.counts(state.read.toggles.get(each))]
        elif interpretation.has_made_something:
            ended, reason = [interpretation.id], "it failed"
        for each in ended:
            withdrawing.withdraw(draft, "exclude", "interpretation", each, reason)

    def link_key(self, link: Link) -> str:
        """Return the key of the relationship that a link is about."""
        ends = link.source.resolve(self.items), link.target.resolve(self.items)
        key = ids.relationship_key(link.relationship_type, *ends)
        return parting.moved_subject(key, self.spoken) if self.spoken else key

    def _stored_subject(self, part: Item | Link) -> str:
        """Return what the observation that a part makes is stored for."""
        if isinstance(part, Item):
            return part.home or part.entity_id
        ends = (
            end.entity_id or self.items[end.index or 0].home or end.resolve(self.items)
            for end in (part.source, part.target)
        )
        return ids.relationship_key(part.relationship_type, *ends)

    def item_observation_id(self, item: Item) -> str:
        return self._placed_ids()[item.index]

    def link_observation_id(self, link: Link, key: str | None = None, place: int = 0) -> str:
        """Return the id of an observation that a link makes of a relationship, by default the one that it
        names. ``place`` counts the relationships that one link acts on. Links count on after the items."""
        number = len(self.items) + (link.index if place == 0 else len(self.links) + place)
        if key in (None, self.link_key(link)) and place == 0:
            return self._placed_ids()[number]
        return self._unplaced_id(link, self.link_key(link) if key is None else key, number)

    def _placed_ids(self) -> list[str]:
        """Return the ids of the observations that its items make, then of those that its links make."""
        if not self._ids:
            order = RequestOrder()
            for number, part in enumerate((*self.items, *self.links)):
                subject_id = self._stored_subject(part)
                unplaced = self._unplaced_id(part, subject_id, number)
                self._ids.append(order.next_id(part, subject_id, unplaced))
        return self._ids

    def _unplaced_id(self, part: Part, subject_id: str, number: int) -> str:
        """Return the id of the observation of a part; ``number`` tells those of a transaction apart."""
        if part.observed_at is None:
            return ids.unplaced_observation_id(self.transaction_id, number)
        observed = self._observed(part)
        return ids.observation_id(subject_id=subject_id, observed_at=part.observed_at, **observed)

    def _observed(self, part: Part) -> dict[str, Any]:
        """Return what an observation has of its part and of the request."""
        names = "kind", "fields", "priority", "specificity", "observation_source"
        interpretation_id = self.interpretation.id if self.interpretation else None
        return {
            **{name: getattr(part, name) for name in names},
            "agent": self.agent, "source_id": self._source_id, "interpretation_id": interpretation_id,
        }  # fmt: skip

    def item_observation(self, item: Item, entity_type: str, recorded_at: int) -> Observation:
        return self._observation(
            item, self.item_observation_id(item), item.entity_id, recorded_at,
            entity_type=entity_type, basis=item.basis, shapes=item.shapes, home=item.home,
        )  # fmt: skip

    def link_observation(
        self, link: Link, key: str, recorded_at: int, place: int = 0, after: int | None = None
    ) -> Observation:
        """Return the observation of relationship ``key`` that a link makes, ``after`` a time if it
        says none."""
        made = self._observation(
            link, self.link_observation_id(link, key, place), key, recorded_at, entity_type=""
        )
        if self.spoken and key == self.link_key(link) != (stored_key := self._stored_subject(link)):
            made = replace(made, home=stored_key)
        if after is None or link.observed_at is not None:
            return made
        return replace(made, observed_at=max(recorded_at, after + 1))

    def _observation(
        self, part: Part, observation_id: str, subject_id: str, recorded_at: int, **of_item: Any
    ) -> Observation:
        return Observation(
            id=observation_id, subject_id=subject_id,
            observed_at=recorded_at if part.observed_at is None else part.observed_at,
            recorded_at=recorded_at, transaction_id=self.transaction_id, places=part.places,
            **self._observed(part), **of_item,
        )  # fmt: skip

    @property
    def _source_id(self) -> str | None:
        if self.interpretation is not None:
            return self.interpretation.source_id
        return self.source.id if self.source else None


def _counts(items: list[StoredItem | None], links: list[StoredLink | None]) -> dict[str, int]:
    """Return how much an interpretation made, also by earlier attempts of one transaction."""
    return {
        "observations": len({part.observation_id for part in (*items, *links) if part}),
        "entities": len({item.entity_id for item in items if item}),
        "relationships": len({link.relationship_key for link in links if link}),
    }


def _item_content(item: Item) -> list[Any]:
    target = item.entity_id if item.basis == "target_id" else None
    who = [item.given_type, item.stated or item.basis, target, item.observed_at]
    how = [item.priority, item.specificity, item.observation_source, item.kind, dict(item.fields)]
    return [*who, *how, *([] if item.expected_version is None else [item.expected_version])]


def _link_content(link: Link) -> list[Any]:
    ends = [[end.index, end.entity_id] for end in (link.source, link.target)]
    return [link.relationship_type, *ends, link.kind, dict(link.fields)]
