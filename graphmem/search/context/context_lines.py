"""Lines of context: the values and the relationships of some entities."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from graphmem.context import Context
from graphmem.model import canonical, ending, ids, merged_arrays, times
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.shipped_relationships import BUILTIN, ROLES
from graphmem.reading import answers
from graphmem.reading.as_of import Clocks
from graphmem.reading.current_relationships import instant
from graphmem.reading.shared_rows import EntityRow, check_whole, refuse_stale_keys
from graphmem.search import terms
from graphmem.search.context import context_ranking as lines_of
from graphmem.search.context import context_rows
from graphmem.search.context.context_page import AboutSearch
from graphmem.search.context.context_ranking import About, Focus, Line, Observed
from graphmem.search.context.context_rows import (
    METADATA_LIMIT,
    ORIGINS_LIMIT,
    RELATIONSHIPS_LIMIT,
    KnownEntity,
    RelatedRow,
    known_then,
    show_types,
)
from graphmem.search.context.context_sheets import EarlierValue, earlier_values
from graphmem.search.passage_search import NO_PASSAGES, FoundPassages
from graphmem.search.questions import question_words
from graphmem.search.questions.phrases import AskedPast
from graphmem.text import words

RELATED_LIMIT: Final = 10  # related entities in one answer
OBSERVATIONS_LIMIT: Final = 50
"""The newest observations of an entity, in which contesting and earlier values are searched."""
EARLIER_LIMIT: Final = 2  # earlier values in one line, the latest ones
CONTESTS_LIMIT: Final = 3  # contesting values of one line
SCANNED_LIMIT: Final = 1_000
"""Relationships in each direction that are compared with the question, of an entity that has many."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """The entities that a context is about: those that the question names, then those that resemble it.

    Attributes:
        of_kind: those of ``named`` that are of the kind that the question asks for.
        about: what the answer says of the search that found them.
        is_newest_first: those that resemble the question keep their order: the newest comes first.
        has_way: ``named`` is in the order in which the entities answer the question.
        former: the former names by which the question names entities, by id.
        names: the words by which the question names entities.
    """

    named: Sequence[str]
    resembling: Sequence[str]
    of_kind: frozenset[str] = frozenset()
    about: AboutSearch = field(default_factory=AboutSearch)
    is_newest_first: bool = False
    has_way: bool = False
    past: AskedPast | None = None
    clocks: Clocks = field(default_factory=Clocks)
    former: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()
    passages: FoundPassages = NO_PASSAGES


async def _known(
    context: Context, entity_ids: Sequence[str], focus: Focus, subjects: Subjects,
    relationships: int = RELATIONSHIPS_LIMIT,
) -> list[KnownEntity]:  # fmt: skip
    """Return the facts about some entities, in the order of the ids, as many as fit into an answer."""
    if not entity_ids:
        return []
    if not subjects.clocks.now:
        return await known_then(context, entity_ids, subjects.clocks)
    past = subjects.past
    beginnings = sorted(map(question_words.beginning, focus.words))
    entities = await context.graph.only(
        "context.gather", list[KnownEntity], day=times.DAY, entity_ids=list(entity_ids),
        newest=OBSERVATIONS_LIMIT, relationships=relationships, earliest=times.EARLIEST,
        characters=METADATA_LIMIT, words=beginnings, origins=ORIGINS_LIMIT,
        before=past.end if past is not None and past.end else times.LATEST + 1, every=past is not None,
    )  # fmt: skip
    answers.entities((known.entity for known in entities), snapshot=False)
    refuse_stale_keys((each.relationship_key, each.refold) for known in entities for each in known.related)
    for known in entities:
        known.related[:] = [each.compared(beginnings) for each in known.related]
    return entities


def _about(known: KnownEntity, former: str = "") -> About:
    return About(known.entity.id, known.entity.type, known.entity.name, former)


async def with_histories(
    context: Context, entity_ids: Sequence[str]
) -> tuple[list[EntityRow], dict[str, dict[str, list[EarlierValue]]]]:
    """Return the rows of some entities, and by id the earlier values of their fields."""
    lines = await _lines_of_fields(context, entity_ids)
    return [known.entity for known, _ in lines], {
        known.entity.id: {line.field: earlier_values(line) for line in fields if line.earlier}
        for known, fields in lines
    }


async def contested_lines(context: Context, entity_ids: Sequence[str]) -> tuple[int, list[Line]]:
    """Return how many entities were looked at, at least one, and the lines of their contested values."""
    lines = await _lines_of_fields(context, entity_ids)
    looked = entity_ids.index(lines[-1][0].entity.id) + 1 if lines else len(entity_ids)
    return looked, [line for _, fields in lines for line in fields if line.contested]


async def _lines_of_fields(
    context: Context, entity_ids: Sequence[str]
) -> list[tuple[KnownEntity, list[Line]]]:
    """Return some entities without their relationships, each with the lines of its fields."""
    entities = await _known(context, entity_ids, Focus(), Subjects(entity_ids, []), relationships=0)
    return [(each, _fields(0, 1.0, each, _about(each), None, Focus())) for each in entities]


async def known_lines(
    context: Context, subjects: Subjects, question: Sequence[str]
) -> tuple[list[Line], Focus]:
    """Return the lines about some entities and those that the first of them are related to, and the focus.

    A relationship between two of the entities is one line, of the entity that comes first. The lines have no
    order.
    """
    language = terms.language_of_question(" ".join(question))
    focus = Focus(question_words.content_words(question, (), language), question_words.answer_kinds(question))
    entity_ids = list(dict.fromkeys([*subjects.named, *subjects.resembling]))
    past = subjects.past
    requested = await _known(context, entity_ids, focus, subjects)
    named = [known for known in requested if known.entity.id in subjects.named]
    names = {
        word
        for known in named
        for word in words.tokens(f"{known.entity.name} {subjects.former.get(known.entity.id, '')}")
    }
    focus = _focus(question, names, language, subjects)
    if subjects.clocks.now:
        requested = await _with_matching(context, requested, focus)
    await show_types(context, requested)
    now = instant(subjects.clocks)
    weights = _weights(requested, subjects.named)
    related_weights = _related_weights(requested, weights, focus, now)
    nearest = sorted(related_weights, key=lambda entity_id: (-related_weights[entity_id][1], entity_id))
    # What a relationship joins to what is named is told with it.
    beside_named = {*subjects.named, *(related.entity_id for known in named for related in known.related)}
    lines: list[Line] = []
    listed_keys: set[str] = set()
    beside = await _known(context, nearest[:RELATED_LIMIT], focus, subjects)
    for place, known in enumerate([*requested, *beside]):
        entity_id = known.entity.id
        weight = weights.get(entity_id) or related_weights[entity_id][0]
        about_entity = _about(known, subjects.former.get(entity_id, ""))
        of_entity = _fields(place, weight, known, about_entity, past, focus)
        if entity_id in weights:
            new = [related for related in known.related if related.relationship_key not in listed_keys]
            listed_keys.update(related.relationship_key for related in new)
            of_entity += [
                _relationship(place, weight, about_entity, related, period, now)
                for related in new
                # Each period of a relationship for a question for the past, else that of now.
                for period in (
                    [[pair for pair in related.metadata if pair[0] != ending.PERIODS]]
                    if past is None else ending.periods(related.metadata)
                )
            ]  # fmt: skip
        is_of_kind = entity_id in subjects.of_kind
        is_apart = bool(subjects.named) and entity_id not in beside_named
        if is_of_kind or is_apart:
            of_entity = [replace(line, is_of_kind=is_of_kind, resembles=is_apart) for line in of_entity]
        lines += of_entity
    if subjects.names and past is None and not (subjects.of_kind or subjects.has_way):
        lines += context_rows.not_known(lines, subjects.named[0], question, focus)
    if past is not None:
        about = set(subjects.named) or {known.entity.id for known in requested[:ORIGINS_LIMIT]}
        lines = context_rows.as_asked(lines, past, focus, about, is_named=bool(subjects.named))
    if subjects.has_way or subjects.of_kind:
        lines = lines_of.in_order_of_places(lines, focus, range(len(requested) + RELATED_LIMIT))
    elif subjects.is_newest_first:
        lines = lines_of.in_order_of_places(lines, focus, range(len(named), len(requested)))
    return lines, focus


def _focus(question: Sequence[str], names: set[str], language: str | None, subjects: Subjects) -> Focus:
    understood = subjects.about.get("understood") if subjects.of_kind else None
    fields: set[str] = set()
    names = {*names, *(f"{name}s" for name in names)}  # "Ada's" is compared as one word
    if understood is not None:
        # The entities of the kind answer these words; what merely has them does not.
        names = {*names, *words.tokens(understood["words"])}
        fields.update(name for state in understood.get("states", ()) for name in state["fields"])
        fields.update(understood["time"]["fields"] if "time" in understood else ())
    if subjects.past is not None:
        names = {*names, *words.tokens(subjects.past.words)}
    content = question_words.content_words(question, names, language)
    around = content or question_words.content_words(question, (), language)
    asks_for_former = subjects.past is not None or not question_words.FORMER.isdisjoint(question)
    return Focus(content, question_words.answer_kinds(question), frozenset(fields), around, asks_for_former)


async def _with_matching(context: Context, requested: list[KnownEntity], focus: Focus) -> list[KnownEntity]:
    """Return the facts; of the first entities that have many relationships, also older ones that fit."""
    many = [
        known.entity.id for known in requested[:ORIGINS_LIMIT] if len(known.related) >= RELATIONSHIPS_LIMIT
    ]
    if not many or not focus.words:
        return requested
    beginnings = sorted(map(question_words.beginning, focus.words))
    is_sealed = context.services.database.is_sealed
    rows = await context.graph.only(
        "context.matching", list[tuple[str, list[RelatedRow]]], entity_ids=many, words=beginnings,
        scanned=SCANNED_LIMIT, relationships=2 * SCANNED_LIMIT if is_sealed else RELATIONSHIPS_LIMIT,
        characters=METADATA_LIMIT,
    )  # fmt: skip
    matching = dict(rows)
    refuse_stale_keys((each.relationship_key, each.refold) for rows in matching.values() for each in rows)
    if is_sealed:
        matching = {entity_id: _with_most(rows, beginnings) for entity_id, rows in matching.items()}
    for known in requested:
        keys = {related.relationship_key for related in known.related}
        known.related.extend(
            each for each in matching.get(known.entity.id, ()) if each.relationship_key not in keys
        )
    return requested


def _with_most(rows: Sequence[RelatedRow], beginnings: Sequence[str]) -> list[RelatedRow]:
    """Return the relationships that have words of a question, as ``context/matching.cypher`` orders them."""
    compared = [each.compared(beginnings) for each in rows]
    counts = {each.relationship_key: each.matches + each.own_matches(beginnings) for each in compared}
    having = [each for each in compared if counts[each.relationship_key]]

    def place(each: RelatedRow) -> tuple[int, int, str]:
        key = each.relationship_key
        return counts[key], each.last_observation_at, ids.relationship_id(key)

    return sorted(having, key=place, reverse=True)[:RELATIONSHIPS_LIMIT]


def _weights(requested: Sequence[KnownEntity], named: Collection[str]) -> dict[str, float]:
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
    requested: Sequence[KnownEntity], weights: dict[str, float], focus: Focus, now: int
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


def _fields(
    place: int, weight: float, known: KnownEntity, about: About, past: AskedPast | None, focus: Focus
) -> list[Line]:
    """Return a line for each field that is not null, the name left out unless the entity has nothing else. If
    the question asks for the past, the earlier values of a field are lines as well."""
    entity = known.entity
    observed = {each.observation_id: each for each in known.winners}
    check_whole(entity)
    snapshot = list(zip(entity.fields, entity.values, entity.winners, known.ranks, strict=True))
    filled_fields = [each for each in snapshot if each[1] != "null"]
    named = [each for each in filled_fields if each[0] != CANONICAL_NAME] or filled_fields
    cleared = [each for each in snapshot if each[1] == "null" and past is not None]
    history: dict[str, list[Observed]] = {}
    for row in known.history:
        history.setdefault(row.field, []).append(row)
    lines: list[Line] = []
    for name, value, winners, rank in (*named, *cleared):
        # A union of lists has several winners.
        newest = max((observed[winner] for winner in winners.split(",")), key=lambda each: each[1::-1])
        current = Observed(name, value, newest.observed_at, newest.observation_id, "", mends=newest.mends)
        others = [] if merged_arrays.is_union(rank) else history.get(name, [])
        had = context_rows.successive((row for row in others if not row.contests), current)
        # What was read up to a time does not tell what came after it.
        is_whole = past is None or not past.end
        label_words = terms.of_label(name)
        texts = (
            *terms.of_label(entity.type), *label_words, *question_words.asked_by(label_words),
            *(lines_of.compared(text, focus) for text in words.strings_of(value)),
        )  # fmt: skip
        line = Line(
            place, weight, about, name, value, current.observed_at, newest.observation_id,
            _words(entity.name, *texts), contested=_contests(others, current),
            since=had[-1].observed_at if past is not None else None,
            earlier=context_rows.values_for_line(had[:-1])[:EARLIER_LIMIT] if is_whole else (),
            set_by=winners,
        )  # fmt: skip
        lines += [line] if value != "null" else []
        lines += context_rows.former_lines(line, had[:-1]) if past is not None else []
    return lines


def _contests(others: Iterable[Observed], current: Observed) -> tuple[Observed, ...]:
    """Return the values that contest a value without being older, newest first, equal ones once."""
    contests: dict[str, Observed] = {}
    for row in sorted(others, key=lambda row: (row.observed_at, row.observation_id), reverse=True):
        # Values may differ by their type alone, as a schema may have converted one.
        is_other = row.value not in (None, "null") and current.text.strip('"') != row.text.strip('"')
        if row.contests and is_other:
            contests.setdefault(row.text, row)
    return tuple(contests.values())[:CONTESTS_LIMIT]


def _relationship(
    place: int, weight: float, about: About, related: RelatedRow, period: Sequence[tuple[str, str]], now: int
) -> Line:
    metadata = tuple((name, value) for name, value in period if value != "null")
    since, until = ending.validity(metadata)
    return Line(
        place, weight, about, related.relationship_type, canonical.encode(related.entity_name),
        related.last_observation_at, related.observation_id, _relationship_words(about, related),
        direction=related.direction, metadata=metadata, ended=ending.ended(metadata, now), since=since,
        until=until,
        related=About(related.entity_id, related.entity_type, related.entity_name, "", related.named_by),
        set_by=",".join(sorted({*related.winners})), key=related.relationship_key,
    )  # fmt: skip


def _relationship_words(entity: EntityRow | About, related: RelatedRow) -> frozenset[str]:
    texts = [text for name, value in related.metadata for text in (name, *words.strings_of(value))]
    if (built_in := BUILTIN.get(related.relationship_type)) is not None:
        texts.append(built_in.inverse or "")
    texts += ROLES.get((related.relationship_type, related.direction), ())
    return _words(entity.name, related.relationship_type, related.entity_type, related.entity_name, *texts)


def _words(name: str, *texts: str) -> frozenset[str]:
    """Return the words of some texts without those of an entity's name, which all of its lines share."""
    every = {word for text in texts for word in words.tokens(text.replace("_", " "))}
    return frozenset(every - set(words.tokens(name)))
