"""Lines of context: the values and the relationships of some entities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from graphmem.model import canonical, ending, merged_arrays, times
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.shipped_relationships import BUILTIN, ROLES
from graphmem.reading import answers
from graphmem.reading.shared_rows import EntityRow, refuse_stale_keys
from graphmem.registry import Context
from graphmem.search import terms
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context.context_page import AboutSearch
from graphmem.search.context.context_ranking import About, Contest, Focus, Line
from graphmem.search.questions import question_words
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
SCANNED_LIMIT: Final = 1_000
"""Relationships in each direction that are compared with the question, of an entity that has many."""
METADATA_LIMIT: Final = 300
"""Characters of a value of a relationship; longer values are left out."""


class _WinnerTime(NamedTuple):
    """When an observation that set a field was observed."""

    observation_id: str
    observed_at: int


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
    metadata: list[tuple[str, str]]
    matches: int
    refold: int | None


class _KnownEntity(NamedTuple):
    """An entity with the facts that lines are made from."""

    entity: EntityRow
    ranks: list[str]
    winners: list[_WinnerTime]
    contested: list[Contest]
    related: list[_RelatedRow]


class _Matching(NamedTuple):
    """The relationships of an entity that have words of the question."""

    entity_id: str
    related: list[_RelatedRow]


@dataclass(frozen=True, slots=True)
class Subjects:
    """The entities that a context is about: those that the question names, then those that resemble it.

    Attributes:
        of_kind: those of ``named`` that are of the kind that the question asks for.
        about: what the answer says of the search that found them.
        is_newest_first: those that resemble the question keep their order: the newest comes first.
        has_way: ``named`` is in the order in which the entities answer the question.
    """

    named: Sequence[str]
    resembling: Sequence[str]
    of_kind: frozenset[str] = frozenset()
    about: AboutSearch = field(default_factory=AboutSearch)
    is_newest_first: bool = False
    has_way: bool = False


async def _known(context: Context, entity_ids: Sequence[str], focus: Focus) -> list[_KnownEntity]:
    """Return the facts about some entities, in the order of the ids, as many as fit into an answer."""
    if not entity_ids:
        return []
    entities = await context.graph.only(
        "context.gather",
        list[_KnownEntity],
        day=times.DAY,
        entity_ids=list(entity_ids),
        newest=OBSERVATIONS_LIMIT,
        relationships=RELATIONSHIPS_LIMIT,
        earliest=times.EARLIEST,
        characters=METADATA_LIMIT,
        words=sorted(map(question_words.beginning, focus.words)),
        origins=ORIGINS_LIMIT,
    )
    answers.entities((known.entity for known in entities), snapshot=False)
    refuse_stale_keys((each.relationship_key, each.refold) for known in entities for each in known.related)
    return entities


async def known_lines(
    context: Context, subjects: Subjects, question: Sequence[str]
) -> tuple[list[Line], Focus]:
    """Return the lines about some entities and about those that the first of them are related to.

    A relationship between two of the entities is one line, of the entity that comes first.

    Returns:
        The lines without an order, and what the question asks of what it names.
    """
    language = terms.language_of_question(" ".join(question))
    focus = Focus(question_words.content_words(question, (), language), question_words.wanted(question))
    ids = list(dict.fromkeys([*subjects.named, *subjects.resembling]))
    requested = await _known(context, ids, focus)
    names = {
        word
        for known in requested
        if known.entity.id in subjects.named
        for word in words.tokens(known.entity.name)
    }
    focus = _focus(question, names, language, subjects)
    requested = await _with_matching(context, requested, focus)
    now = times.now()
    weights = _weights(requested, subjects.named)
    related_weights = _related_weights(requested, weights, focus, now)
    nearest = sorted(related_weights, key=lambda entity_id: (-related_weights[entity_id][1], entity_id))
    lines: list[Line] = []
    listed_keys: set[str] = set()
    for place, known in enumerate([*requested, *await _known(context, nearest[:RELATED_LIMIT], focus)]):
        weight = weights.get(known.entity.id) or related_weights[known.entity.id][0]
        is_of_kind = known.entity.id in subjects.of_kind
        lines += _fields(place, weight, known, is_of_kind=is_of_kind)
        if known.entity.id in weights:
            new = [related for related in known.related if related.relationship_key not in listed_keys]
            listed_keys.update(related.relationship_key for related in new)
            lines += [
                _relationship(place, weight, known.entity, related, now, is_of_kind=is_of_kind)
                for related in new
            ]
    if subjects.has_way:
        lines = lines_of.in_order_of_places(lines, focus, range(len(requested) + RELATED_LIMIT))
    elif subjects.is_newest_first:
        named_count = sum(known.entity.id in subjects.named for known in requested)
        lines = lines_of.in_order_of_places(lines, focus, range(named_count, len(requested)))
    return lines, focus


def _focus(question: Sequence[str], names: set[str], language: str | None, subjects: Subjects) -> Focus:
    """Return what a question asks of what it names, or of what is of the kind that it asks for."""
    understood = subjects.about.get("understood") if subjects.of_kind else None
    fields: set[str] = set()
    if understood is not None:
        # The entities of the kind answer these words; what merely has them does not.
        names = {*names, *words.tokens(understood["words"])}
        fields.update(name for state in understood.get("states", ()) for name in state["fields"])
        fields.update(understood["time"]["fields"] if "time" in understood else ())
    content = question_words.content_words(question, names, language)
    around = content or question_words.content_words(question, (), language)
    asks_for_former = not question_words.FORMER.isdisjoint(question)
    return Focus(content, question_words.wanted(question), frozenset(fields), around, asks_for_former)


async def _with_matching(context: Context, requested: list[_KnownEntity], focus: Focus) -> list[_KnownEntity]:
    """Return the facts; of the first entities that have many relationships, also older ones that fit."""
    many = [
        known.entity.id for known in requested[:ORIGINS_LIMIT] if len(known.related) >= RELATIONSHIPS_LIMIT
    ]
    if not many or not focus.words:
        return requested
    entities = await context.graph.only(
        "context.matching",
        list[_Matching],
        entity_ids=many,
        words=sorted(map(question_words.beginning, focus.words)),
        scanned=SCANNED_LIMIT,
        relationships=RELATIONSHIPS_LIMIT,
        characters=METADATA_LIMIT,
    )
    matching = dict(entities)
    refuse_stale_keys((each.relationship_key, each.refold) for rows in matching.values() for each in rows)
    whole: list[_KnownEntity] = []
    for known in requested:
        keys = {related.relationship_key for related in known.related}
        older = [
            related for related in matching.get(known.entity.id, ()) if related.relationship_key not in keys
        ]
        whole.append(known._replace(related=[*known.related, *older]))
    return whole


def _weights(requested: Sequence[_KnownEntity], named: Collection[str]) -> dict[str, float]:
    """Return the weights of the requested entities: beside what is named, what resembles it weighs less."""
    weights: dict[str, float] = {}
    beside = 0
    for known in requested:
        entity_id = known.entity.id
        if entity_id in named:
            weights[entity_id] = 1.0 / (1.0 + lines_of.PLACE_DECAY * len(weights))
            continue
        weight = 1.0 / (1.0 + lines_of.PLACE_DECAY * beside)
        if named:
            is_next = any(related.entity_id in named for related in known.related)
            weight *= lines_of.RELATED_WEIGHT_FACTOR if is_next else lines_of.BESIDE_WEIGHT_FACTOR
        weights[entity_id] = weight
        beside += 1
    return weights


def _related_weights(
    requested: Sequence[_KnownEntity], weights: dict[str, float], focus: Focus, now: int
) -> dict[str, tuple[float, float]]:
    """Return the weights of the entities that the first requested ones are related to.

    The second weight of each is raised by the words of the question in its relationship and in its text: by
    these an entity is chosen among many.
    """
    related_weights: dict[str, tuple[float, float]] = {}
    for known in requested[:ORIGINS_LIMIT]:
        for related in known.related:
            if related.entity_id in weights:
                continue
            weight = weights[known.entity.id] * lines_of.RELATED_WEIGHT_FACTOR
            if ending.ended(related.metadata, now) is not None:
                weight *= lines_of.ENDED_WEIGHT_FACTOR
            shared = question_words.shared(focus.words, _relationship_words(known.entity, related))
            chosen = weight * (1.0 + shared + related.matches)
            previous = related_weights.get(related.entity_id, (0.0, 0.0))
            related_weights[related.entity_id] = max(previous[0], weight), max(previous[1], chosen)
    return related_weights


def _fields(place: int, weight: float, known: _KnownEntity, *, is_of_kind: bool) -> list[Line]:
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
                words=_words(
                    entity.name, *terms.of_label(entity.type), *_said(name), *words.strings_of(value)
                ),
                contested=() if merged_arrays.is_union(rank) else _contests(known, name, value),
                is_of_kind=is_of_kind,
            )
        )
    return lines


def _contests(known: _KnownEntity, name: str, value: str) -> tuple[Contest, ...]:
    """Return the values that contest a value, newest first, equal ones once."""
    rows = [row for row in known.contested if row.field == name]
    rows.sort(key=lambda row: (row.observed_at, row.observation_id), reverse=True)
    contests: dict[str, Contest] = {}
    for row in rows:
        # Values may differ by their type alone, as a schema may have converted one.
        if row.value != "null" and value.strip('"') != row.value.strip('"'):
            contests.setdefault(row.value, row)
    return tuple(contests.values())[:CONTESTS_LIMIT]


def _relationship(
    place: int, weight: float, entity: EntityRow, related: _RelatedRow, now: int, *, is_of_kind: bool
) -> Line:
    metadata = tuple((name, value) for name, value in related.metadata if value != "null")
    return Line(
        place=place,
        weight=weight,
        about=About(entity.id, entity.type, entity.name),
        field=related.relationship_type,
        value=canonical.encode(related.entity_name),
        observed_at=related.last_observation_at,
        observation_id=related.observation_id,
        words=_relationship_words(entity, related),
        direction=related.direction,
        related=About(related.entity_id, related.entity_type, related.entity_name),
        metadata=metadata,
        ended=ending.ended(metadata, now),
        is_of_kind=is_of_kind,
    )


def _relationship_words(entity: EntityRow, related: _RelatedRow) -> frozenset[str]:
    texts = [text for name, value in related.metadata for text in (name, *words.strings_of(value))]
    if (built_in := BUILTIN.get(related.relationship_type)) is not None:
        texts.append(built_in.inverse or "")
    texts += ROLES.get((related.relationship_type, related.direction), ())
    return _words(entity.name, related.relationship_type, related.entity_type, related.entity_name, *texts)


def _said(label: str) -> list[str]:
    """Return the words of the name of a field, and those of questions that ask for it."""
    said = terms.of_label(label)
    return [*said, *question_words.asked_by(said)]


def _words(name: str, *texts: str) -> frozenset[str]:
    """Return the words of some texts without those of an entity's name, which all of its lines share."""
    every = {word for text in texts for word in words.tokens(text.replace("_", " "))}
    return frozenset(every - set(words.tokens(name)))
