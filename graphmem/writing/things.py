"""The entities and relationships that a turn decides on, and which of them are merged.

A *thing* is an entity or a relationship with the fold of its own observations. The *survivor* of a merge is
shown with all of its *members*: itself, and everything merged into it. The survivor of a relationship is the
relationship between the survivors of its ends. :meth:`Things.view` folds the members of a survivor together;
each member keeps its own state.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from graphmem.database.left_out import Json
from graphmem.model import canonical, facts, identity, identity_rules, period_folds, reduction
from graphmem.model.identity_rules import NO_EVIDENCE, Evidence, OwnRule
from graphmem.model.period_folds import PeriodFold
from graphmem.model.person_names import NameGroup, PersonName
from graphmem.model.reduction import Fold, Lifecycle, Observation, OwnState, Winner
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.shared_addresses import Parting
from graphmem.text import identifiers

KEY_KIND: Final = "key:"
"""Begins the kinds of identifiers of entities that may be merged by rule; the alternative follows."""
NEAR_KIND: Final = f"{KEY_KIND}near:"
"""Begins the kinds of identifiers that hold names of persons by groups; the alternative follows."""
WAITING: Final = "withdrawn"
"""The projection of an entity that waits to be folded again, whatever its rules: no rules have this key."""
UNUSED: Final = ""
"""``into`` of a relationship that has no observations and no members any more: no answer shows it."""


@dataclass(frozen=True)
class Thing:
    """An entity or a relationship as its observations say; times are microseconds."""

    subject_id: str
    kind: str
    version: int = 0
    updated_at: int = 0  # when its version was raised last
    observation_count: int = 0
    created_at: int = 0
    last_observation_at: int | None = None
    fold: Mapping[str, Winner] = field(default_factory=dict)
    lifecycle: Lifecycle | None = None  # the newest that creates, deletes or restores; stored as ``turn``
    into: str | None = None  # the id of the thing that it is merged into; ``None`` for a survivor
    projection: str = ""  # the key of the rules that it was folded under
    unmade: bool = False  # the observations that gave it values are withdrawn
    refold: int = 0  # how often withdrawals changed which of its observations count since it was folded
    rule: OwnRule | None = field(default=None, compare=False)  # that of its type, if it can merge
    evidence: Evidence = NO_EVIDENCE  # its identifying values in all of its observations that count
    merged_by: str | None = None  # the alternative by which the rule merged it
    separated: tuple[str, ...] = ()  # the entities that an unmerge separated it from, sorted
    distinct_from: tuple[str, ...] = ()  # those that are no duplicates of it, as somebody said
    merge_rule: str | None = None  # how the fact that merged it folds it: ``facts.merge_rule``
    # The :func:`naming_pairs` of the observations that count, and the keys of all that ever did, if read.
    named: frozenset[tuple[str, str]] | None = field(default=None, compare=False)
    former_keys: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)
    parting: Parting | None = None  # who shares the address that made its id, if that was read

    def changed(self, **changes: Any) -> Thing:
        """Return it with other attributes: ``dataclasses.replace`` takes eight times as long."""
        thing = object.__new__(Thing)
        thing.__dict__.update(zip(_ATTRIBUTES, _attributes_of(self.__dict__), strict=True), **changes)
        return thing

    @property
    def made(self) -> bool:
        """Whether observations that count make it: else no answer shows it for its own sake."""
        return self.observation_count > 0 and not self.unmade

    @property
    def is_shared(self) -> bool:
        """Whether it is the id of an address at which there are several people."""
        return self.parting is not None and self.parting.is_shared

    @property
    def has_rule(self) -> bool:
        """Whether a rule may merge it, or an earlier rule of its type did."""
        return self.rule is not None or self.merged_by is not None

    @property
    def live(self) -> bool:
        """Whether it is there: an entity unless it was deleted, a relationship once it was created."""
        return self.lifecycle is None or self.lifecycle.is_live

    @property
    def own_state(self) -> OwnState:
        """Its state without its members."""
        return OwnState(
            self.observation_count, self.created_at, self.last_observation_at, self.lifecycle, self.fold
        )

    def with_observation(self, observation: Observation, rules: Rules = PLAIN) -> Thing:
        """Return it with one observation more; one that does not count changes nothing that is shown."""
        latest = self.last_observation_at
        has_values = observation.kind in facts.VALUE_KINDS
        # What is restored may have been withdrawn before: folded again, the version counts that, and the keys
        # that it had while it counted are written.
        refold = self.refold + (observation.turned if observation.excluded else 0)
        if not observation.counts:
            is_empty = not self.observation_count
            return self.changed(
                last_observation_at=_later(latest, observation.observed_at) if is_empty else latest,
                projection=rules.key,
                unmade=self.unmade or (is_empty and has_values),
                refold=refold,
            )
        more = evidence_of(self.rule, observation.fields, observation.basis)
        return self.changed(
            observation_count=self.observation_count + 1,
            created_at=min(self.created_at or observation.recorded_at, observation.recorded_at),
            last_observation_at=_later(latest if self.observation_count else None, observation.observed_at),
            fold=period_folds.fold(self.fold, observation, rules),
            lifecycle=reduction.newest_lifecycle(self.lifecycle, observation),
            projection=rules.key,
            unmade=self.unmade and not has_values,
            evidence=identity_rules.joined(self.evidence, more) if has_values else self.evidence,
            refold=refold,
        )

    @cached_property
    def borne(self) -> Mapping[str, int]:
        """The ids that it bears, each with the level of its alternative; none while nothing makes it."""
        return self.rule.borne(self.evidence) if self.rule and self.made else {}

    @cached_property
    def person_names(self) -> tuple[PersonName, ...]:
        """The names by which it may be meant, if it is a person; none while nothing makes it."""
        return self.rule.names(self.subject_id, self.evidence) if self.rule and self.made else ()

    @cached_property
    def keys(self) -> set[tuple[str, str]]:
        """The (kind, value) pairs by which the rule finds it: ids that it bears, and its names by group."""
        if self.rule is None or not self.made:
            return set()
        return keys_of(self.rule, self.subject_id, self.evidence)

    @property
    def evidence_text(self) -> str | None:
        """Its evidence as canonical JSON; ``None`` where the winners of plain rules say the same."""
        if self.rule is None or (not self.projection and self.evidence == evidence_of(self.rule, self.texts)):
            return None
        return canonical.encode(sorted(map(list, self.evidence)))

    @cached_property
    def size(self) -> int:
        """Characters of the values of its snapshot."""
        return sum(len(winner.value) for winner in self.fold.values())

    @property
    def texts(self) -> dict[str, str]:
        """Its current values (canonical JSON), by field."""
        return {name: winner.value for name, winner in self.fold.items()}

    @cached_property
    def name(self) -> str:
        return identity.name_of(self.kind, self.subject_id, self.texts)

    @cached_property
    def identifiers(self) -> set[tuple[str, str]]:
        """The (kind, key) pairs by which the entity is looked up."""
        if not self.version:
            return set()
        # A null is no value: what is cleared is not looked up.
        values, known = dict[str, Any](), {*identifiers.FIELDS, identifiers.SELF}
        for label in sorted(self.fold, key=lambda label: (label in known, label)):
            name = label if label in known else identity.spelled(label)
            if name in known:
                values[name] = canonical.decode(self.fold[label].value)
        return identifiers.identifiers(values, self.name)

    @cached_property
    def winners(self) -> list[tuple[str, Winner]]:
        return [(name, self.fold[name]) for name in sorted(self.fold, key=canonical.name_order)]

    @property
    def own_state_text(self) -> str:
        """Its state without its members, as canonical JSON; stored as ``own``."""
        winners = [[name, *winner] for name, winner in self.winners]
        lifecycle = list(self.lifecycle) if self.lifecycle else None
        return canonical.encode([
            self.observation_count, self.created_at, self.last_observation_at, lifecycle, winners,
        ])  # fmt: skip

    def with_own_state(self, text: str) -> Thing:
        count, created_at, last, lifecycle, winners = canonical.decode(text)
        return replace(
            self, observation_count=count, created_at=created_at, last_observation_at=last,
            lifecycle=Lifecycle(*lifecycle) if lifecycle else None,
            fold={name: Winner(*winner) for name, *winner in winners},
        )  # fmt: skip


_ATTRIBUTES: Final = tuple(each.name for each in fields(Thing))
_attributes_of: Final = itemgetter(*_ATTRIBUTES)


def naming_pairs(kind: str, texts: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the (kind, key) pairs by which some values (canonical JSON by field) name an entity.

    Unlike :attr:`Thing.identifiers`, each value counts by itself, so that the pairs of observations add up.
    The title of a person is what the person does.
    """
    fields = identifiers.FIELDS.keys() & texts.keys() - ({"title"} if kind in identity.PEOPLE else set())
    values = {name: canonical.decode(texts[name]) for name in fields}
    pairs = identifiers.identifiers(values, "") if values else set[tuple[str, str]]()
    return {pair for pair in pairs if pair[0] not in ("tokens", identifiers.SELF) and pair[1]}


def evidence_of(rule: OwnRule | None, texts: Mapping[str, str], basis: str | None = None) -> Evidence:
    """Return the evidence of values (canonical JSON by field) of an observation identified by a ``basis``."""
    if rule is None:
        return NO_EVIDENCE
    known = rule.fields
    pairs = (pair for pair in texts.items() if pair[0] in known or identity.squeezed(pair[0]) in known)
    evidence = _evidence(rule, tuple(pairs))
    is_person = basis == identity.CONTENT and rule.entity_type in identity.PEOPLE
    by_content = evidence and (is_person or (basis in identity_rules.LOOSE and rule.number(evidence)))
    return evidence | identity_rules.BY_CONTENT if by_content else evidence


@lru_cache(maxsize=1_000)  # A turn takes that of an item three times.
def _evidence(rule: OwnRule, pairs: tuple[tuple[str, str], ...]) -> Evidence:
    return rule.evidence({name: canonical.decode(text) for name, text in pairs})


def keys_of(rule: OwnRule, subject_id: str, evidence: Evidence) -> set[tuple[str, str]]:
    """Return the (kind, value) pairs by which the rule finds an entity with some evidence."""
    borne = [(each, at) for each, at in rule.borne(evidence).items() if rule.is_weaker(at)]
    keys = {(f"{KEY_KIND}{rule.basis(level)}", each) for each, level in borne if each != subject_id}
    texts = [pair for name in rule.names(subject_id, evidence) for pair in name.texts]
    return keys | {(NEAR_KIND + group.basis, text) for group, text in texts}


def note_bearers(bearers: dict[str, set[str]], entities: Iterable[Thing]) -> None:
    """Add entities to the bearers, by the ids that they bear; the strongest alternative merges nothing."""
    for entity in entities:
        for borne_id, level in entity.borne.items():
            if entity.rule and entity.rule.is_weaker(level) and borne_id != entity.subject_id:
                bearers.setdefault(borne_id, set()).add(entity.subject_id)


def note_names(texts: dict[NameGroup, set[str]], entities: Iterable[Thing]) -> None:
    for entity in entities:
        for name in entity.person_names:
            for group, text in name.texts:
                texts.setdefault(group, set()).add(text)


def stored_evidence(rule: OwnRule | None, text: str | None, texts: Mapping[str, str]) -> Evidence:
    """Return the evidence of a stored entity; ``texts`` are the values of its winners."""
    if rule is None:
        return NO_EVIDENCE
    if text is None:
        return evidence_of(rule, texts)
    return frozenset((name, value) for name, value in canonical.decode(text))


def _later(known: int | None, time: int) -> int:
    return time if known is None else max(known, time)


class Things:
    """Entities, or relationships, by id. :meth:`draft` lays those of a request over the stored ones."""

    def __init__(self, things: Iterable[Thing] = (), below: Things | None = None) -> None:
        self._own: dict[str, Thing] = {}
        self._below = below
        # What each thing of its own is merged into, and the other way round what is merged into a thing.
        self._into: dict[str, str] = {}
        self._merged: dict[str, set[str]] = {}
        for thing in things:
            self.put(thing)

    def draft(self) -> Things:
        return Things(below=self)

    def accept(self, draft: Things) -> None:
        for thing in draft._own.values():
            self.put(thing)

    def changed(self) -> list[str]:
        """Return the ids of the things of a draft alone."""
        return list(self._own)

    def copy(self) -> Things:
        return Things(self._own.values())

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        if self._below is not None:
            yield from (subject_id for subject_id in self._below if subject_id not in self._own)

    def get(self, subject_id: str) -> Thing | None:
        thing = self._own.get(subject_id)
        return thing if thing is not None or self._below is None else self._below.get(subject_id)

    def __getitem__(self, subject_id: str) -> Thing:
        thing = self.get(subject_id)
        if thing is None:
            raise KeyError(subject_id)
        return thing

    def put(self, thing: Thing) -> Thing:
        self._own[thing.subject_id] = thing
        former = self._into.pop(thing.subject_id, None)
        if former:
            self._merged[former].discard(thing.subject_id)
        if thing.into is not None:
            self._into[thing.subject_id] = thing.into
        if thing.into:
            self._merged.setdefault(thing.into, set()).add(thing.subject_id)
        return thing

    def root(self, subject_id: str) -> str:
        """Return the survivor's id; in a damaged database with a cycle of merges, each thing is its own."""
        return self.chain(subject_id)[-1]

    def chain(self, subject_id: str) -> list[str]:
        """Return the ids from a thing up to its survivor, each merged into the next."""
        chained = [subject_id]
        passed: set[str] = set()
        while (thing := self.get(subject_id)) is not None and thing.into and subject_id not in passed:
            passed.add(subject_id)
            subject_id = thing.into
            chained.append(subject_id)
        return chained

    def survivor(self, subject_id: str) -> Thing:
        """Return the thing that shows another; that other itself where a damaged database lacks it."""
        return self.get(self.root(subject_id)) or self[subject_id]

    def members(self, subject_id: str) -> list[Thing]:
        """Return a thing and all that is merged into it, itself first."""
        members: dict[str, Thing | None] = {}
        waiting = [subject_id]
        while waiting:
            member_id = waiting.pop()
            if member_id not in members:
                members[member_id] = self.get(member_id)
                waiting.extend(sorted(self._merged_into(member_id), reverse=True))
        return [member for member in members.values() if member is not None]

    def view(self, root: str) -> Thing | None:
        """Return a survivor with the fold of all its members; ``None`` where no member has observations. The
        liveness of an entity is its own; a relationship lives while one of its members does."""
        members = self.members(root) if self._any_merged() else [each for each in [self.get(root)] if each]
        if len(members) == 1 and members[0].subject_id == root:
            return members[0]
        first = self.get(root) or Thing(root, root.partition(":")[0])
        others = [member.own_state for member in members if member.subject_id != root]
        state = reduction.merged_state(
            [first.own_state, *others], is_relationship=":" in root, merged=_merged_fold(root, members)
        )
        made = any(member.made for member in members)
        unmade = not made and any(member.unmade for member in members)
        if not state.observation_count and not unmade:
            return None
        return replace(first, **{**state._asdict(), "created_at": state.created_at or 0}, unmade=unmade)

    def is_alone(self, subject_id: str) -> bool:
        """Return whether a thing is a survivor without other members."""
        if not self._any_merged():
            return True
        return self.root(subject_id) == subject_id and not any(self._merged_into(subject_id))

    def _any_merged(self) -> bool:
        return bool(self._into) or (self._below is not None and self._below._any_merged())

    def _merged_into(self, subject_id: str) -> Iterator[str]:
        """Yield the ids of the things that are merged into one, without what is merged into those."""
        yield from self._merged.get(subject_id, ())
        if self._below is not None:
            yield from (each for each in self._below._merged_into(subject_id) if each not in self._own)


def _merged_fold(root: str, members: Iterable[Thing]) -> Fold | None:
    """Return the fold of a survivor by rule version 2; ``None`` where no member was merged by it."""
    rules = (
        (each.subject_id, each.merge_rule or reduction.merge_rule_of(each.kind, by_rule=bool(each.merged_by)))
        for each in members
    )
    merge_rules = {subject_id: rule for subject_id, rule in rules if rule}
    if not merge_rules:
        return None
    folds = {each.subject_id: each.fold for each in members if each.observation_count}
    into = {each.subject_id: each.into for each in members if each.into and each.subject_id != root}
    return reduction.merged_fold(root, folds, into, merge_rules)


class ThingRow(NamedTuple):
    """An entity or a relationship as ``write.look`` reads it: its id, its type, ``write/_thing.cypher``, and
    its ``merged_into`` or ``shown_as`` as ``into``."""

    subject_id: str
    kind: str
    version: int
    updated_at: int | None
    observation_count: int
    created_at: int
    last_observation_at: int | None
    fields: list[str]
    values: list[Json]
    winners: list[str]
    ranks: list[str]
    lifecycle: list[Any] | None
    checksum: int | None
    own_state: Json | None
    parts: Json | None
    unmade: bool | None
    refold: int | None
    evidence: Json | None
    separated: list[str] | None
    distinct_from: list[str] | None
    merged_by: str | None
    merge_rule: str | None
    parting: Json | None
    name: str | None
    into: str | None
    projection: str | None

    def thing(self, *, whole: bool = True) -> Thing:
        """Return the thing; raise :class:`Torn` if it is to be whole, and a commit fell into reading it."""
        turn = self.lifecycle or None
        is_sound = turn is None or (len(turn) == len(Lifecycle._fields) and turn[-1] in facts.LIFECYCLE_KINDS)
        parts = self.version, self.fields, self.values, self.winners, self.own_state, self.name
        is_whole = reduction.is_whole(self.checksum, *parts) and len(self.ranks) == len(self.fields)
        if whole and not (is_sound and is_whole):
            raise reduction.Torn(self.subject_id)
        columns = zip(self.fields, self.ranks, self.winners, self.values, strict=whole)
        parting = None
        with contextlib.nullcontext() if whole else contextlib.suppress(TypeError, ValueError):
            parting = Parting.of_text(self.parting) if self.parting else None
        thing = Thing(
            subject_id=self.subject_id,
            kind=self.kind,
            version=self.version,
            updated_at=self.updated_at or 0,
            observation_count=self.observation_count,
            created_at=self.created_at,
            last_observation_at=self.last_observation_at,
            fold={name: Winner(rank, winner, value) for name, rank, winner, value in columns},
            lifecycle=Lifecycle(*turn) if turn and is_sound else None,
            # An absent entity is stored as merged into nothing; see ``rows.Node``.
            into=(self.into or None) if ":" not in self.subject_id else self.into,
            projection=self.projection or "",
            unmade=bool(self.unmade),
            refold=self.refold or 0,
            merged_by=self.merged_by,
            merge_rule=self.merge_rule,
            parting=parting,
            separated=tuple(self.separated or ()),
            distinct_from=tuple(self.distinct_from or ()),
        )
        thing = thing.with_own_state(self.own_state) if self.own_state else thing
        if self.parts is None:
            return thing
        return replace(thing, fold=PeriodFold.of_text(self.parts, is_relationship=":" in self.subject_id))

    def entity(self, rule: OwnRule | None, *, whole: bool = True) -> Thing:
        thing = self.thing(whole=whole)
        return replace(thing, rule=rule, evidence=stored_evidence(rule, self.evidence, thing.texts))
