"""Deriving the state of entities and relationships again from their observations, for the audit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from graphmem.database.queries import Queries
from graphmem.model import canonical, discovery, identity_rules, period_folds, times
from graphmem.model.dismissals import Pair
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.identity_rules import NO_EVIDENCE, Evidence
from graphmem.model.membership import Membership
from graphmem.model.period_folds import PeriodFold
from graphmem.model.reduction import Fold
from graphmem.model.rules import PLAIN, Rules
from graphmem.text import identifiers
from graphmem.writing import placement, refolding
from graphmem.writing.dismissing_duplicates import dismissed_pairs
from graphmem.writing.refolding import History
from graphmem.writing.state import Additions, State
from graphmem.writing.things import Things, evidence_of, naming_pairs

Seen = dict[str, dict[str, discovery.Shapes]]
"""The shapes of values by field, by entity type."""


class _EvidenceRow(NamedTuple):
    subject_id: str
    names: list[str]
    values: list[str]
    basis: str | None


class _ReducedSubjects(NamedTuple):
    reduced: list[History]
    evidence: list[_EvidenceRow]


async def derive(queries: Queries, stored: State, merges: Membership, seen: Seen, *, deep: bool) -> State:
    """Return the state of the stored entities and relationships that follows from the facts.

    Args:
        merges: those of the entities.
        seen: gains the shapes of the values of each entity whose observations are folded here.
        deep: fold all observations in Python, by the function that writes use; else the database reduces
            those of types without rules.
    """
    into = merges.merged_into()
    once_merged = [subject_id for subject_id in stored.entities if subject_id in merges.entity_ids]
    changes = await refolding.changes(queries, merges, once_merged if merges.facts or merges.rules else [])
    dismissed = await dismissed_pairs(queries, stored.entities)
    entities = await asyncio.to_thread(_merged, stored, merges, into, [each.pair for each in dismissed])
    row = await queries.only(
        "audit.reduce", _ReducedSubjects, subject_ids=[*stored.entities, *stored.relationships],
        identifying=_identifying(entities), at=times.LATEST, at_ingested=times.LATEST,
    )  # fmt: skip
    rules = {each: stored.rules(entities.survivor(each).kind) for each in entities}
    rules |= dict.fromkeys(stored.relationships, PLAIN)
    things = {each: stored.entities.get(each) or stored.relationships[each] for each in rules}
    folded = {
        each: rules[each]
        for each in rules
        if rules[each].key or deep or isinstance(things[each].fold, PeriodFold)
    }
    folds = await _folds(queries, folded, {each: entities[each].kind for each in entities}, seen)
    return await asyncio.to_thread(_derived, stored, entities, row, rules, folds, changes)


def _merged(
    stored: State, merges: Membership, into: Mapping[str, str | None], dismissed: Iterable[Pair]
) -> Things:
    """Return the stored entities, merged as the facts and the rules say."""
    separated = merges.separated()
    distinct: dict[str, set[str]] = {}
    for pair in dismissed:
        for entity_id, other in (pair, pair[::-1]):
            distinct.setdefault(entity_id, set()).add(other)
    by_fact, merge_rules = replace(merges, rules=()).merged_into(), merges.merge_rules()
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


def _derived(
    stored: State,
    entities: Things,
    row: _ReducedSubjects,
    rules: Mapping[str, Rules],
    folds: Mapping[str, Fold],
    changes: Mapping[str, set[int]],
) -> State:
    """Return the state of which the parts are known."""
    reduced = {subject.subject_id: subject for subject in row.reduced}
    evidence, named = _evidence(row.evidence, entities)
    derived = replace(
        stored, entities=Things(), relationships=Things(), entities_before=stored.entities.copy(),
        relationships_before=stored.relationships.copy(), heads=dict(stored.heads), new=Additions(),
    )  # fmt: skip
    for subject_id in stored.entities:
        thing = reduced[subject_id].counted(entities[subject_id])
        thing = replace(
            thing,
            evidence=evidence.get(subject_id, NO_EVIDENCE),
            named=frozenset(named.get(subject_id, ())),
            fold=folds.get(subject_id, thing.fold),
        )
        if subject_id in changes:
            recorded = changes[subject_id]
            thing = replace(thing, version=len(recorded), updated_at=max(recorded, default=0))
        derived.entities.put(replace(thing, projection=rules[subject_id].key))
    for key in stored.relationships:
        thing = reduced[key].counted(stored.relationships[key])
        # A merge raises the version of what it shows elsewhere: that is counted and cannot be derived.
        version = max(stored.relationships[key].version, thing.version)
        derived.relationships.put(replace(thing, version=version, fold=folds.get(key, thing.fold)))
    keys = [key for key in derived.relationships if derived.relationships[key].observation_count]
    placement.place(derived.entities, derived.relationships, keys)
    return derived


def _identifying(entities: Things) -> list[list[Any]]:
    """Return of each entity the fields whose values may name it, or may merge it by the rule of its type."""
    return [
        [each, sorted({*identifiers.FIELDS, *(rule.fields if (rule := entities[each].rule) else ())})]
        for each in entities
    ]


def _evidence(
    rows: Iterable[_EvidenceRow], entities: Things
) -> tuple[dict[str, Evidence], dict[str, set[tuple[str, str]]]]:
    """Return the evidence of entities that the rule of their type may merge, and what names each entity."""
    evidence: dict[str, Evidence] = {}
    named: dict[str, set[tuple[str, str]]] = {}
    for subject_id, names, values, basis in rows:
        texts = dict(zip(names, values, strict=True))
        more = evidence_of(entities[subject_id].rule, texts, basis)
        evidence[subject_id] = identity_rules.joined(evidence.get(subject_id, NO_EVIDENCE), more)
        named.setdefault(subject_id, set()).update(naming_pairs(entities[subject_id].kind, texts))
    return evidence, named


async def _folds(
    queries: Queries, rules: Mapping[str, Rules], types: Mapping[str, str], seen: Seen
) -> dict[str, Fold]:
    """Return the folds of some entities and relationships; note the shapes of values in ``seen``.

    Args:
        rules: those of each.
        types: the type of each entity.
    """
    folds: dict[str, Fold] = {}
    async for history in refolding.histories(queries, rules):
        folded: Fold = {}
        kind = types.get(history.subject_id)
        shapes = {} if kind is None else seen.setdefault(kind, {})
        async for observation in history.observations(queries):
            folded = period_folds.fold(folded, observation, rules[history.subject_id])
            for name, value in observation.fields.items():
                shape = discovery.shape_of(canonical.decode(value))
                if name != CANONICAL_NAME:
                    shapes[name] = shapes.get(name, frozenset()) | ({shape} if shape else frozenset())
        folds[history.subject_id] = folded
        # Others have the event loop meanwhile.
        await asyncio.sleep(0)
    return folds
