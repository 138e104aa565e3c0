"""Folding entities again from their observations, under the rules of today."""

from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from graphmem.database.left_out import Json
from graphmem.database.queries import Queries
from graphmem.model import facts, identity_rules, period_folds, times
from graphmem.model.identity_rules import NO_EVIDENCE, Evidence
from graphmem.model.membership import Membership
from graphmem.model.reduction import Fold, Observation, OwnState
from graphmem.model.rules import PLAIN, Rules
from graphmem.writing import placement, rule_merging
from graphmem.writing.draft import Draft
from graphmem.writing.rule_evidence import EvidenceReader, off_loop
from graphmem.writing.state import State
from graphmem.writing.things import Thing, evidence_of, naming_pairs, note_bearers, note_names
from graphmem.writing.write_requests import LookAgain, Merging, Receipt, Touched, WriteRequest

OBSERVATIONS_PER_READ: Final = 2_000
HISTORIES_PER_READ: Final = 2_500  # entities and relationships whose histories one query reads
HISTORY_OBSERVATIONS_LIMIT: Final = 200  # a longer history is read by itself, in pages


class _ReplayedObservation(NamedTuple):
    id: str
    kind: facts.Kind
    observed_at: int
    recorded_at: int
    fields: list[str]
    values: list[Json]
    priority: float
    specificity: float
    observation_source: str
    basis: str | None

    def of(self, subject_id: str) -> Observation:
        members = self._asdict()
        fields = dict(zip(members.pop("fields"), members.pop("values"), strict=True))
        return Observation(
            **members, subject_id=subject_id, entity_type="", fields=fields, transaction_id=""
        )  # fmt: skip


class History(NamedTuple):
    """The own state of one subject, and its observations that count; ``None`` where these are too many."""

    subject_id: str
    version: int
    updated_at: int | None
    observation_count: int
    created_at: int | None
    last_observation_at: int | None
    lifecycle: list[Any] | None
    unmade: bool
    replayed: list[_ReplayedObservation] | None

    def counted(self, thing: Thing) -> Thing:
        own = OwnState.reduced(
            self.observation_count, self.created_at, self.last_observation_at, self.lifecycle
        )
        return replace(
            thing, **{**own._asdict(), "created_at": own.created_at or 0}, version=self.version,
            updated_at=self.updated_at or 0, unmade=self.unmade, refold=0,
        )  # fmt: skip

    async def observations(
        self, queries: Queries, at: int = times.LATEST, at_ingested: int = times.LATEST
    ) -> AsyncIterator[Observation]:
        """Yield its observations that set values."""
        if self.replayed is None:
            async for observation in observations(queries, self.subject_id, at, at_ingested):
                yield observation
        for each in self.replayed or ():
            yield each.of(self.subject_id)


async def observations(
    queries: Queries, subject_id: str, at: int = times.LATEST, at_ingested: int = times.LATEST
) -> AsyncIterator[Observation]:
    """Yield the observations of one subject as of two clocks (microseconds), oldest first."""
    start, after, more = times.EARLIEST, "", True
    while more:
        observations, more = await queries.only(
            "entity.replay", tuple[list[_ReplayedObservation], bool], subject_id=subject_id, after=after,
            at=at, at_ingested=at_ingested, limit=OBSERVATIONS_PER_READ, **{"from": start},
        )  # fmt: skip
        for replayed in observations:
            observation = replayed.of(subject_id)
            start, after = observation.observed_at, observation.id
            yield observation


async def observations_of(
    queries: Queries, subject_ids: Iterable[str], at: int, at_ingested: int
) -> AsyncIterator[Observation]:
    """Yield the observations of subjects as of two clocks, in no order."""
    async for history in histories(queries, sorted(subject_ids), at, at_ingested):
        async for observation in history.observations(queries, at, at_ingested):
            yield observation


async def fold_entity(
    every: AsyncIterator[Observation], entity: Thing, rules: Rules
) -> tuple[Fold, Evidence, frozenset[tuple[str, str]]]:
    """Return the fold and the evidence that some observations give an entity, and what they name it."""
    folded: Fold = {}
    evidence, named = NO_EVIDENCE, set[tuple[str, str]]()
    async for observation in every:
        folded = period_folds.fold(folded, observation, rules)
        evidence = identity_rules.joined(
            evidence, evidence_of(entity.rule, observation.fields, observation.basis)
        )
        named |= naming_pairs(entity.kind, observation.fields)
    return folded, evidence, frozenset(named)


async def histories(
    queries: Queries, subject_ids: Iterable[str], at: int = times.LATEST, at_ingested: int = times.LATEST
) -> AsyncIterator[History]:
    """Yield the histories of some subjects as of two clocks, as many in one read as fit."""
    left = list(subject_ids)
    while left:
        histories = await queries.only(
            "entity.histories", list[History], subject_ids=left[:HISTORIES_PER_READ],
            most=HISTORY_OBSERVATIONS_LIMIT, at=at, at_ingested=at_ingested,
        )  # fmt: skip
        fitting = [
            each
            for each in histories
            if each.replayed is not None or each.observation_count > HISTORY_OBSERVATIONS_LIMIT
        ]
        for history in fitting:
            yield history
        known = {history.subject_id for history in fitting}
        left = [each for each in left if each not in known]


async def changes(
    queries: Queries,
    merges: Membership,
    entity_ids: Iterable[str],
    at: int = times.LATEST,
    at_ingested: int = times.LATEST,
) -> dict[str, set[int]]:
    """Return when transactions changed what each of some entities shows, as of two clocks (microseconds)."""
    entity_ids = list(entity_ids)
    if not entity_ids:
        return {}
    members = await off_loop(
        len(merges.facts),
        lambda: sorted({member for entity_id in entity_ids for member in merges.member_ids(entity_id, at)}),
    )
    touched = await queries.only(
        "entity.touches", list[tuple[str, list[list[int]]]], entity_ids=members, at_ingested=at_ingested
    )

    def compute() -> dict[str, set[int]]:
        touches = {
            member_id: tuple(sorted((at, observed) for at, observed in every)) for member_id, every in touched
        }
        return {entity_id: merges.changes(entity_id, touches, at, at_ingested) for entity_id in entity_ids}

    return await off_loop(len(merges.facts) + sum(len(every) for _, every in touched), compute)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefoldRequest(WriteRequest):
    """Entities and relationships to fold again; every turn does so with what it reads and finds stale."""

    entity_ids: tuple[str, ...]
    relationship_keys: tuple[str, ...] = ()

    @property
    def writes_facts(self) -> bool:
        return False

    def touch(self, touched: Touched) -> None:
        touched.add_subjects([*self.entity_ids, *self.relationship_keys])

    def decide(self, state: State, clock: int) -> Receipt:
        return Receipt(self.transaction_id, state.read.recorded_at)


async def refold(queries: Queries, state: State) -> None:
    """Fold again what is stale, from the observations that count; may raise :class:`LookAgain`."""
    subject_ids = set(state.withdrawn())
    for survivor_id in state.stale():
        key = state.rules(state.entities[survivor_id].kind).key
        members = state.entities.members(survivor_id)
        subject_ids |= {member.subject_id for member in members if member.projection != key}
    entity_ids = {subject_id for subject_id in subject_ids if ":" not in subject_id}
    reader = EvidenceReader(queries, state.owner, state.read.off)
    merges = await reader.membership(entity_ids)
    if more := {each for rule in merges.rules for each in (rule.subject_id, rule.into)} - entity_ids:
        # The versions of all that a rule ever merged with them are counted again.
        if unread := {each for each in more if state.entities.get(each) is None}:
            raise LookAgain(Touched(entities=unread))
        merges = await reader.membership(more)
        subject_ids |= more
        entity_ids |= more
    touched = await changes(queries, merges, entity_ids & merges.entity_ids)
    state.recounted |= entity_ids
    async for history in histories(queries, sorted(subject_ids)):
        keys = reader.keys(history.subject_id)
        every = history.observations(queries)
        await refold_history(state, history, every, touched.get(history.subject_id), keys)
    placement.place(state.entities, state.relationships, [key for key in sorted(subject_ids) if ":" in key])
    placement.need(state)


def settle(state: State) -> None:
    """Merge by rule again what the folding of other observations changed; may raise :class:`LookAgain`."""
    changed = [each for each in state.entities if state.entities_before.get(each) != state.entities[each]]
    if not any(state.entities[each].has_rule for each in changed):
        return
    note_bearers(state.new.bearers, [state.entities[each] for each in changed])
    note_names(state.new.near, [state.entities[each] for each in changed])
    request = RefoldRequest(owner=state.owner, transaction_id="", entity_ids=())
    draft = Draft.of(state, request, state.read.recorded_at)
    # Their versions count these merges already.
    draft.bumped.update(state.recounted)
    rule_merging.settle_from(draft, state.entities_before, changed)
    draft.accept(None)


async def refold_history(
    state: State,
    history: History,
    every: AsyncIterator[Observation],
    touched: Collection[int] | None,
    keys: frozenset[tuple[str, str]] = frozenset(),
) -> None:
    """Fold one subject again from ``every`` observation; an entity that was ever merged is shown otherwise
    since the times ``touched``, and ``keys`` are those by which the rule ever found it."""
    subject_id = history.subject_id
    is_entity = ":" not in subject_id
    things = state.entities if is_entity else state.relationships
    known = things[subject_id]
    rules = state.rules(state.entities.survivor(subject_id).kind) if is_entity else PLAIN
    folded, evidence, named = await fold_entity(every, known, rules)
    # A merge raises the version of the relationships that it shows elsewhere: that is counted.
    version = max(history.version, 0 if is_entity else known.version + known.refold)
    if touched is not None:
        version = len(touched)
    things.put(
        replace(
            history.counted(known),
            fold=folded,
            version=version,
            updated_at=max(touched or (), default=history.updated_at or 0),
            projection=rules.key if is_entity else known.projection,
            evidence=evidence,
            named=named if is_entity else None,
            former_keys=keys,
        )
    )


async def refold_moved(queries: Queries, state: State, merging: Merging) -> None:
    """Fold what a merge, or its end, moves, under the rules of its new survivor's type."""
    source, target = state.entities.get(merging.source), state.entities.get(merging.target or "")
    if source is None or (merging.kind == "merge" and target is None):
        return
    survivor = target if merging.kind == "merge" and target else source
    rules = state.rules(survivor.kind)
    for member in state.entities.members(source.subject_id):
        if member.projection != rules.key:
            every = observations(queries, member.subject_id)
            folded, evidence, _ = await fold_entity(every, member, rules)
            state.entities.put(replace(member, fold=folded, projection=rules.key, evidence=evidence))
