"""Lines of context: the values and the relationships of some entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from graphmem.matching import context_ranking as lines_of
from graphmem.matching.context_ranking import About, Contest, Line
from graphmem.model import arrays, canonical, times
from graphmem.model.identity import CANONICAL_NAME
from graphmem.reading import answers
from graphmem.reading.shared_rows import EntityRow
from graphmem.registry import Context
from graphmem.text import words

ORIGINS_LIMIT: Final = 3
"""The first entities of the answer whose related entities are answered as well."""
RELATED_LIMIT: Final = 10
"""Related entities in one answer."""
OBSERVATIONS_LIMIT: Final = 50
"""The newest observations of an entity, in which contesting values are searched."""
CONTESTS_LIMIT: Final = 3
"""Contesting values of one line."""
RELATIONSHIPS_LIMIT: Final = 25
"""Relationships of an entity in each direction."""


class _WinnerTime(NamedTuple):
    """When an observation that set a field was observed."""

    observation_id: str
    observed_at: int


class _ContestRow(NamedTuple):
    """A value that contests the value of a field."""

    field: str
    value: str
    observed_at: int
    observation_id: str
    observation_source: str


class _RelatedRow(NamedTuple):
    """A relationship of an entity, and the entity at its other end."""

    relationship_key: str
    relationship_type: str
    direction: str
    entity_id: str
    entity_type: str
    entity_name: str
    last_observation_at: int
    observation_id: str


class _KnownEntity(NamedTuple):
    """An entity with the facts that lines are made from."""

    entity: EntityRow
    ranks: list[str]
    winners: list[_WinnerTime]
    contested: list[_ContestRow]
    related: list[_RelatedRow]


class _KnownEntities(NamedTuple):
    """The row of ``context/gather.cypher``."""

    entities: list[_KnownEntity]


async def _known(context: Context, entity_ids: Sequence[str]) -> list[_KnownEntity]:
    """Return the facts about some entities, in the order of the ids, as many as fit into an answer.

    Raises:
        Stale: some entities were folded under an older schema.
        Torn: a commit changed an entity during the read.
    """
    if not entity_ids:
        return []
    row = await context.graph.only(
        "context.gather",
        _KnownEntities,
        entity_ids=list(entity_ids),
        newest=OBSERVATIONS_LIMIT,
        relationships=RELATIONSHIPS_LIMIT,
        earliest=times.EARLIEST,
    )
    answers.entities((known.entity for known in row.entities), snapshot=False)
    return row.entities


async def known_lines(context: Context, entity_ids: Sequence[str]) -> list[Line]:
    """Return the lines about some entities, and about those that the first of them are related to.

    A relationship between two of the entities is one line, of the entity that comes first.
    """
    requested = await _known(context, entity_ids)
    weights = {known.entity.id: 1.0 / (1 + place) for place, known in enumerate(requested)}
    related_weights: dict[str, float] = {}
    for known in requested[:ORIGINS_LIMIT]:
        for related in known.related:
            if related.entity_id not in weights:
                weight = weights[known.entity.id] * lines_of.RELATED_WEIGHT_FACTOR
                previous = related_weights.get(related.entity_id, 0.0)
                related_weights[related.entity_id] = max(previous, weight)
    nearest = sorted(related_weights, key=lambda entity_id: (-related_weights[entity_id], entity_id))
    lines: list[Line] = []
    listed_keys: set[str] = set()
    for place, known in enumerate([*requested, *await _known(context, nearest[:RELATED_LIMIT])]):
        weight = weights.get(known.entity.id) or related_weights[known.entity.id]
        lines += _fields(place, weight, known)
        if known.entity.id in weights:
            new = [related for related in known.related if related.relationship_key not in listed_keys]
            listed_keys.update(related.relationship_key for related in new)
            lines += [_relationship(place, weight, known.entity, related) for related in new]
    return lines


def _fields(place: int, weight: float, known: _KnownEntity) -> list[Line]:
    """Return a line for each field that is not null, the name left out unless the entity has nothing else."""
    entity = known.entity
    observed_at = dict(known.winners)
    snapshot = zip(entity.fields, entity.values, entity.winners, known.ranks, strict=True)
    shown = [(name, value, winners, rank) for name, value, winners, rank in snapshot if value != "null"]
    named = [each for each in shown if each[0] != CANONICAL_NAME] or shown
    lines: list[Line] = []
    for name, value, winners, rank in named:
        # A union of lists has several winners.
        newest = max(winners.split(","), key=lambda winner: (observed_at[winner], winner))
        lines.append(
            Line(
                place=place,
                weight=weight,
                about=About(entity.id, entity.type, entity.name),
                field=name,
                value=value,
                observed_at=observed_at[newest],
                observation_id=newest,
                words=_words(entity.name, name, *words.strings_of(value)),
                contested=() if arrays.is_union(rank) else _contests(known, name, value),
            )
        )
    return lines


def _contests(known: _KnownEntity, name: str, value: str) -> tuple[Contest, ...]:
    """Return the values that contest a value, newest first, equal ones once."""
    rows = [row for row in known.contested if row.field == name]
    rows.sort(key=lambda row: (row.observed_at, row.observation_id), reverse=True)
    contests: dict[str, Contest] = {}
    for _, other, observed_at, observation_id, source in rows:
        if other != "null" and not _is_same(value, other):
            contests.setdefault(other, Contest(other, observed_at, observation_id, source))
    return tuple(contests.values())[:CONTESTS_LIMIT]


def _is_same(value: str, other: str) -> bool:
    """Return whether two values differ by their type alone, as a schema may have converted one."""
    return value.strip('"') == other.strip('"')


def _relationship(place: int, weight: float, entity: EntityRow, related: _RelatedRow) -> Line:
    return Line(
        place=place,
        weight=weight,
        about=About(entity.id, entity.type, entity.name),
        field=related.relationship_type,
        value=canonical.encode(related.entity_name),
        observed_at=related.last_observation_at,
        observation_id=related.observation_id,
        words=_words(entity.name, related.relationship_type, related.entity_type, related.entity_name),
        direction=related.direction,
        related=About(related.entity_id, related.entity_type, related.entity_name),
    )


def _words(name: str, *texts: str) -> frozenset[str]:
    """Return the words of some texts without those of an entity's name, which all of its lines share."""
    every = {word for text in texts for word in words.tokens(text.replace("_", " "))}
    return frozenset(every - set(words.tokens(name)))
