"""Entities as of two clocks: reduced from the observations that count on both.

An entity that was merged at that time is answered as its survivor: each member is reduced by itself, and each
field shows the greatest winner of all members.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from graphmem.context import Context
from graphmem.database.left_out import Json, holds
from graphmem.model import identity, identity_rules, membership, period_folds, reduction, times
from graphmem.model.membership import Membership
from graphmem.model.reduction import Fold, OwnState
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import SchemaDocument
from graphmem.reading import shared_rows, tallies
from graphmem.reading.shared_rows import EntityRow
from graphmem.reading.tallies import Sum, Tally
from graphmem.writing import refolding
from graphmem.writing.rule_evidence import EVIDENCE_LIMIT, EvidenceReader, shipped


class _Own(NamedTuple):
    """What one entity's own observations come to, and the rules of its type."""

    id: str
    type: str
    tallies: list[Tally]
    winners: list[list[Any]] | None
    merging: bool
    schema_version: str | None
    document: Json | None
    name: str | None
    stale: bool
    alone: bool

    @property
    def fault(self) -> str | None:
        wrong = [winner[0] for _, winner in self.winners or () if not holds(Json, winner[-1])]
        return f"what was observed of {wrong[0]} is no JSON" if wrong else None

    @property
    def rules(self) -> Rules:
        return SchemaDocument.read(self.document).rules if self.document else PLAIN

    @property
    def has_rule(self) -> bool:
        """Whether a rule may have merged it at some time, though no write did."""
        if self.alone:
            return False
        registered = SchemaDocument.read(self.document).alternatives() if self.document else None
        return len(identity_rules.alternatives(self.type, registered)) > 1


@dataclass(frozen=True, slots=True)
class RecomputedEntities:
    """Entities as of two clocks, of which ``at_ingested`` bounds the read (microseconds).

    ``rows`` lacks ``absent`` entities: the observations that gave them values were withdrawn. ``into`` has
    the survivor of each merged entity. ``rows``, ``absent``, ``folds`` and ``rules`` are by the id of the
    survivor.
    """

    at_ingested: int
    rows: dict[str, EntityRow]
    absent: dict[str, EntityRow]
    into: dict[str, str]
    folds: dict[str, Fold]
    rules: dict[str, Rules]

    def get(self, entity_id: str) -> EntityRow | None:
        """Return the row of an entity, or of its survivor if it was merged at that time."""
        return self.rows.get(membership.survivor(entity_id, self.into))


async def entities(
    context: Context, entity_ids: Iterable[str], at: int, at_ingested: int
) -> RecomputedEntities:
    """Return the owner's entities with these ids as of two clocks. Other ids are left out. It takes one round
    trip, unless an entity was ever merged or its type has rules of its own."""
    requested = sorted(set(entity_ids))
    if at_ingested == times.LATEST:
        # Nothing was learned later: that is not asked of each observation.
        context = context.of_writers
    own, known = await _own(context, requested, at, at_ingested)
    merges = Membership()
    if merging := [entity.id for entity in own.values() if entity.merging or entity.has_rule]:
        merges = await membership_of(context, merging, known)
    into, merge_rules = merges.merged_into(at, known), merges.merge_rules(at, known)
    members = {
        survivor_id: membership.members(survivor_id, into)
        for survivor_id in sorted({membership.survivor(each, into) for each in requested if each in own})
    }
    if more := sorted({member for group in members.values() for member in group} - own.keys()):
        own |= (await _own(context, more, at, known))[0]
    by_fact = replace(merges, rules=()).merged_into(at, known)
    by_rule = {
        each.id: reduction.merge_rule_of(each.type, by_rule=each.id not in by_fact) for each in own.values()
    }
    merge_rules |= {each: rule for each, rule in by_rule.items() if rule and each in into}
    once_merged = [survivor_id for survivor_id in members if survivor_id in merges.entity_ids]
    changes = await refolding.changes(context.graph, merges, once_merged, at, known)
    # A survivor without a node is damage: there is nothing to show.
    groups = {each: [own[id] for id in ids if id in own] for each, ids in members.items() if each in own}
    sums = {
        each.id: tallies.summed(each.tallies, each.winners or (), at, is_relationship=False)
        for group in groups.values()
        for each in group
    }
    histories = await _folds(context, groups, sums, at, known)
    folds = {
        entity_id: _merged(group, sums, histories, (into, merge_rules)) for entity_id, group in groups.items()
    }
    names = await _names(context, groups, folds, known)
    rows, absent = dict[str, EntityRow](), dict[str, EntityRow]()
    for entity_id, group in groups.items():
        version = len(changes[entity_id]) if entity_id in changes else sums[entity_id].version
        target_rows = absent if all(sums[each.id].unmade for each in group) else rows
        target_rows[entity_id] = EntityRow(
            id=entity_id, type=group[0].type, name=names[entity_id], version=version, own=None,
            projection=None, head=[[None, group[0].schema_version]], **shared_rows.shown(folds[entity_id]),
        )  # fmt: skip
    return RecomputedEntities(
        known, rows, absent, into,
        {entity_id: state.fold for entity_id, state in folds.items()},
        {entity_id: group[0].rules for entity_id, group in groups.items()},
    )  # fmt: skip


async def membership_of(context: Context, entity_ids: Iterable[str], at_ingested: int) -> Membership:
    """Return the merges among entities of a page, and all that were ever merged with them, as of a time.
    Raises InvalidInput: too much decides by what rules merged them."""
    off = context.services.writers.rules_off
    reader = EvidenceReader(context.graph, context.actor.owner, off, at_ingested, EVIDENCE_LIMIT)
    return await reader.membership(entity_ids)


async def _own(
    context: Context, entity_ids: list[str], at: int, at_ingested: int
) -> tuple[dict[str, _Own], int]:
    snapshots, known = await context.graph.only(
        "entity.recompute", tuple[list[_Own], int | None], entity_ids=entity_ids, at=at,
        at_ingested=at_ingested, kinds=sorted(shipped()[1]), joining=sorted(identity.SHIPPED_ALIASES),
    )  # fmt: skip
    return {own.id: own for own in snapshots}, at_ingested if known is None else known


async def _folds(
    context: Context, groups: Mapping[str, list[_Own]], sums: Mapping[str, Sum], at: int, known: int
) -> dict[str, Fold]:
    """Return the fold of each member whose type, or whose survivor's type, has rules."""
    rules = {
        each.id: group[0].rules
        for group in groups.values()
        for each in group
        if group[0].rules.key or each.rules.key
    }
    folds: dict[str, Fold] = {each: {} for each in rules}
    # What says when its values held may count at an earlier time than that of its observation.
    dated = {each for each in rules if sums[each].by_dates.keys() - {repr(tallies.NO_DATES)}}
    folded = period_folds.fold if at == times.LATEST else reduction.fold
    for subject_ids, until in ((rules.keys() - dated, at), (dated, times.LATEST)):
        async for observation in refolding.observations_of(context.graph, subject_ids, until, known):
            subject_id = observation.subject_id
            if subject_id in dated:
                fields = sums[subject_id].shown_fields(observation, at)
                observation = replace(observation, fields=fields)
            folds[subject_id] = folded(folds[subject_id], observation, rules[subject_id])
    return folds


def _merged(
    group: list[_Own],
    sums: Mapping[str, Sum],
    histories: Mapping[str, Fold],
    merging: tuple[Mapping[str, str], Mapping[str, str]],
) -> OwnState:
    """Return the merged state of a survivor and then its members, folded under the rules of its type.
    ``merging``: what each member is merged into, and the rules of its merges."""
    into, merge_rules = merging
    states = [
        sums[own.id].state._replace(fold=histories.get(own.id, sums[own.id].state.fold)) for own in group
    ]
    merged = None
    if any(own.id in merge_rules for own in group[1:]):
        folds = {
            own.id: state.fold for own, state in zip(group, states, strict=True) if state.observation_count
        }
        merged = reduction.merged_fold(group[0].id, folds, into, merge_rules)
    return reduction.merged_state(states, is_relationship=False, merged=merged)


async def _names(
    context: Context, groups: Mapping[str, list[_Own]], states: Mapping[str, OwnState], known: int
) -> dict[str, str]:
    """Return the name that its values give each survivor, else the name that it has now if that was known."""
    names, folds = dict[str, str](), {each: state.fold for each, state in states.items()}
    unnamed: dict[str, _Own] = {}
    for entity_id, (survivor, *_) in groups.items():
        is_named = identity.naming_values(_texts(folds[entity_id]))
        if (survivor.merging or survivor.name is not None) and not is_named:
            if survivor.name is not None and not survivor.stale and context.by_writer:
                names[entity_id] = survivor.name
            else:
                # The stored name is that of a merge, of an older schema, or of what was learned later.
                unnamed[entity_id], folds[entity_id] = survivor, {}
    async for each in refolding.observations_of(context.graph, unnamed, times.LATEST, known):
        rules = unnamed[each.subject_id].rules
        folds[each.subject_id] = period_folds.fold(folds[each.subject_id], each, rules)
    return {
        each: names.get(each) or identity.name_of(group[0].type, each, _texts(folds[each]))
        for each, group in groups.items()
    }


def _texts(fold: Fold) -> dict[str, str]:
    return {name: winner.value for name, winner in fold.items()}
