"""What is known about some entities, as lines of context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from graphmem.matching import context_ranking as lines_of
from graphmem.matching.context_ranking import About, Contest, Line
from graphmem.model import arrays, canonical, times
from graphmem.model.identity import CANONICAL_NAME
from graphmem.reading import answers
from graphmem.reading.answers import EntityRow
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


class Known(NamedTuple):
    """``context/gather.cypher``: what is known about one entity."""

    row: EntityRow
    ranks: list[str]
    winners: dict[str, int]
    contested: list[list[Any]]
    related: list[list[Any]]


async def _gathered(context: Context, entity_ids: Sequence[str]) -> list[Known]:
    """Return what is known about some entities.

    Raises:
        Stale, Torn: some must be folded, or read, again.
    """
    if not entity_ids:
        return []
    row = await context.graph.one(
        "context.gather",
        entity_ids=list(entity_ids),
        newest=OBSERVATIONS_LIMIT,
        relationships=RELATIONSHIPS_LIMIT,
        earliest=times.EARLIEST,
    )
    assert row is not None
    rows = answers.fresh(one[0] for one in row["entities"])
    for one in rows:
        answers.entity(one, snapshot=False)
    return [
        Known(row, ranks, dict(winners), contested, related)
        for row, (_, ranks, winners, contested, related) in zip(rows, row["entities"], strict=True)
    ]


async def known_lines(context: Context, entity_ids: Sequence[str]) -> list[Line]:
    """Return all that is known about some entities, and about those that the first of them are related to."""
    direct = await _gathered(context, entity_ids)
    found: list[Line] = []
    weights = {one.row.id: 1.0 / (1 + place) for place, one in enumerate(direct)}
    further: dict[str, float] = {}
    for one in direct[:ORIGINS_LIMIT]:
        for related in one.related:
            if related[3] not in weights:
                weight = weights[one.row.id] * lines_of.RELATED_WEIGHT_FACTOR
                further[related[3]] = max(further.get(related[3], 0.0), weight)
    nearest = sorted(further, key=lambda one: (-further[one], one))[:RELATED_LIMIT]
    told: set[str] = set()
    for place, one in enumerate([*direct, *await _gathered(context, nearest)]):
        weight = weights.get(one.row.id) or further[one.row.id]
        found += _fields(place, weight, one)
        if one.row.id in weights:
            fresh = [related for related in one.related if related[0] not in told]
            told.update(related[0] for related in fresh)
            found += [_relationship(place, weight, one.row, related) for related in fresh]
    return found


def _fields(place: int, weight: float, known: Known) -> list[Line]:
    """Return a line for each field that holds something; the name alone where nothing else does."""
    row = known.row
    held = zip(row.fields, row.values, row.winners, known.ranks, strict=True)
    shown = [one for one in held if one[1] != "null"]
    said = [one for one in shown if one[0] != CANONICAL_NAME] or shown
    return [
        Line(
            place=place,
            weight=weight,
            about=About(row.id, row.type, row.name),
            field=name,
            value=value,
            observed_at=known.winners[newest],
            observation_id=newest,
            words=_words(row.name, name, *words.strings_of(value)),
            contested=() if arrays.is_union(rank) else _contests(known, name, value),
        )
        for name, value, newest, rank in (
            (name, value, max(winners.split(","), key=lambda one: (known.winners[one], one)), rank)
            for name, value, winners, rank in said
        )
    ]


def _contests(known: Known, name: str, value: str) -> tuple[Contest, ...]:
    """Return what contests a value, newest first, each other value once."""
    others: dict[str, Contest] = {}
    rows = sorted((one for one in known.contested if one[0] == name), key=lambda one: (one[2], one[3]))
    for _, other, observed_at, observation_id, source in reversed(rows):
        if other != "null" and not _is_same(value, other):
            others.setdefault(other, Contest(other, observed_at, observation_id, source))
    return tuple(others.values())[:CONTESTS_LIMIT]


def _is_same(one: str, other: str) -> bool:
    """Return whether two values differ by their type alone, as a schema may have converted one."""
    return one.strip('"') == other.strip('"')


def _relationship(place: int, weight: float, row: EntityRow, related: list[Any]) -> Line:
    _, kind, direction, other_id, other_type, other_name, last, turn = related
    return Line(
        place=place,
        weight=weight,
        about=About(row.id, row.type, row.name),
        field=kind,
        value=canonical.encode(other_name),
        observed_at=last,
        observation_id=turn,
        words=_words(row.name, kind, other_type, other_name),
        direction=direction,
        related=About(other_id, other_type, other_name),
    )


def _words(name: str, *texts: str) -> frozenset[str]:
    """Return the words of some texts without those of an entity's name, which all of its lines share."""
    said = {word for text in texts for word in words.tokens(text.replace("_", " "))}
    return frozenset(said - set(words.tokens(name)))
