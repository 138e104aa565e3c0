"""Deriving the state of entities and relationships again from their observations, for the audit."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

from graphmem.database.queries import Queries
from graphmem.model import canonical, discovery, times
from graphmem.model.fact_records import Pair
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.membership import Membership
from graphmem.model.reduction import Observation
from graphmem.writing import placement, refolding
from graphmem.writing.dismissing_duplicates import dismissed_pairs
from graphmem.writing.state import Additions, State
from graphmem.writing.things import Things

Seen = dict[str, dict[str, discovery.Shapes]]  # the shapes of values by field, by entity type


async def derive(
    queries: Queries, stored: State, merges: Membership, seen: Seen, entity_ids: Iterable[str]
) -> State:
    """Return the state of stored entities and relationships that follows from the facts and their merges.

    ``seen`` gains the shapes of the values of each entity of ``entity_ids`` and of all that is merged with
    them; other entities stay as stored.
    """
    dismissed = await dismissed_pairs(queries, stored.entities)
    derived = replace(
        stored,
        entities=await asyncio.to_thread(_merged, stored, merges, [each.pair for each in dismissed]),
        relationships=Things(
            replace(stored.relationships[each], refold=0) for each in stored.relationships
        ),
        entities_before=stored.entities.copy(), relationships_before=stored.relationships.copy(),
        heads=dict(stored.heads), new=Additions(),
    )  # fmt: skip
    roots = {derived.entities.root(each) for each in entity_ids if derived.entities.get(each)}
    folded = [member.subject_id for each in sorted(roots) for member in derived.entities.members(each)]
    once_merged = [each for each in folded if each in merges.entity_ids]
    changes = await refolding.changes(queries, merges, once_merged if merges.facts or merges.rules else [])
    async for history in refolding.histories(queries, [*folded, *stored.relationships]):
        every, subject_id = history.observations(queries), history.subject_id
        if ":" not in subject_id:
            every = _noting(every, seen.setdefault(stored.entities[subject_id].kind, {}))
        await refolding.refold_history(derived, history, every, changes.get(subject_id))
        # Others have the event loop meanwhile.
        await asyncio.sleep(0)
    keys = [key for key in derived.relationships if derived.relationships[key].observation_count]
    await asyncio.to_thread(placement.place, derived.entities, derived.relationships, keys)
    return derived


def _merged(stored: State, merges: Membership, dismissed: Iterable[Pair]) -> Things:
    separated = merges.separated()
    distinct: dict[str, set[str]] = {}
    for pair in dismissed:
        for entity_id, other in (pair, pair[::-1]):
            distinct.setdefault(entity_id, set()).add(other)
    into, by_fact = merges.merged_into(), replace(merges, rules=()).merged_into()
    merge_rules = merges.merge_rules()
    by_rule = {rule.subject_id: rule for rule in merges.rules if rule.holds(times.LATEST)}
    return Things(
        replace(
            stored.entities[subject_id],
            into=into.get(subject_id),
            merged_by=by_rule[subject_id].alternative
            if subject_id in by_rule and subject_id not in by_fact and subject_id in into
            else None,
            merge_rule=merge_rules.get(subject_id),
            separated=tuple(sorted(separated.get(subject_id, ()))),
            distinct_from=tuple(sorted(distinct.get(subject_id, ()))),
        )
        for subject_id in stored.entities
    )


async def _noting(
    every: AsyncIterator[Observation], shapes: dict[str, discovery.Shapes]
) -> AsyncIterator[Observation]:
    async for observation in every:
        for name, value in observation.fields.items():
            shape = discovery.shape_of(canonical.decode(value))
            if name != CANONICAL_NAME:
                shapes[name] = shapes.get(name, frozenset()) | ({shape} if shape else frozenset())
        yield observation
