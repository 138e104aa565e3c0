"""What lines of context are made from: entities with their values and relationships, now or as of a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from graphmem.context import Context
from graphmem.model import merged_arrays, ranks, times
from graphmem.model.identity import NAME_FIELDS
from graphmem.reading import recomputed
from graphmem.reading.as_of import Clocks
from graphmem.reading.relationship_pages import EdgeRequest, relationship_page
from graphmem.reading.shared_rows import EntityRow, snapshot_of
from graphmem.search.context.context_ranking import Focus, Line, Observed
from graphmem.search.questions import lexicon, question_words
from graphmem.search.questions.phrases import AskedPast
from graphmem.text import words

ORIGINS_LIMIT: Final = 3  # the first entities of the answer whose related entities are answered as well
RELATIONSHIPS_LIMIT: Final = 25  # relationships of an entity in each direction
METADATA_LIMIT: Final = 300
"""Characters of a value of a relationship, and of an earlier value; longer values are left out."""


class WinnerTime(NamedTuple):
    """When an observation that set a field was observed."""

    observation_id: str
    observed_at: int
    mends: bool = False


class RelatedRow(NamedTuple):
    """A relationship of an entity, and the entity at its other end. ``text`` has the words of that entity in
    a sealed instance, where no query compares them."""

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
    text: str | None = None
    winners: Sequence[str] = ()
    named_by: tuple[str, str] | None = None

    def compared(self, words: Sequence[str]) -> RelatedRow:
        """Return the row with its number of matches, as ``context/gather.cypher`` counts them."""
        if self.text is None:
            return self
        return self._replace(matches=sum(f" {word}" in f" {self.text}" for word in words), text=None)

    def own_matches(self, words: Sequence[str]) -> int:
        """Return how many words its type and its metadata have."""
        own = " ".join([self.relationship_type, *(each for pair in self.metadata for each in pair)]).lower()
        return sum(word in own for word in words)


class KnownEntity(NamedTuple):
    """An entity with the facts that lines are made from."""

    entity: EntityRow
    ranks: list[str]
    winners: list[WinnerTime]
    history: list[Observed]
    related: list[RelatedRow]

    @property
    def fault(self) -> str | None:
        winners = {each for listed in self.entity.winners for each in listed.split(",")}
        lacking = winners - {each.observation_id for each in self.winners}
        if len(self.ranks) != len(self.entity.fields):
            return "it has not a rank for each field"
        return f"there is no {min(lacking)}, which set a value" if lacking else None


async def known_then(context: Context, entity_ids: Sequence[str], clocks: Clocks) -> list[KnownEntity]:
    """Return the facts about those of some entities that lived as of two clocks, in the order of the ids. The
    first ones have their relationships. What contests a value, or was before it, is left out."""
    then = await recomputed.entities(context, entity_ids, **clocks.bounds)
    clocks = clocks.pinned(then.at_ingested)
    known: dict[str, KnownEntity] = {}
    for entity_id in entity_ids:
        row = then.get(entity_id)
        if row is None or not (row.live and row.observation_count) or row.id in known:
            continue
        fold = then.folds[row.id]
        winners = [
            # A union of values was observed when its entity was last.
            WinnerTime(
                observation_id,
                (row.last_observation_at or 0) if merged_arrays.is_union(winner.rank)
                else ranks.time_of(winner.rank.rpartition(".")[2]),
            )
            for winner in fold.values()
            for observation_id in winner.observation_id.split(",")
        ]  # fmt: skip
        related = await _related_then(context, row.id, clocks) if len(known) < ORIGINS_LIMIT else []
        known[row.id] = KnownEntity(row, [fold[name].rank for name in row.fields], winners, [], related)
    return list(known.values())


async def show_types(context: Context, entities: list[KnownEntity]) -> None:
    """Give relationship types of the owner's own their newest names."""
    types = {related.relationship_type for known in entities for related in known.related}
    names = await context.services.vocabulary.renamed(context.actor.owner, types)
    if names:
        for known in entities:
            known.related[:] = [
                each._replace(relationship_type=names.get(each.relationship_type, each.relationship_type))
                for each in known.related
            ]


async def _related_then(context: Context, entity_id: str, clocks: Clocks) -> list[RelatedRow]:
    """Return the newest relationships of an entity as of two clocks."""
    request = EdgeRequest(entity_id, 2 * RELATIONSHIPS_LIMIT, 0, expanded=True)
    page = await relationship_page(context, request, clocks)
    others = {each.id: each for each in page.others}
    related: list[RelatedRow] = []
    for row in page.relationships:
        direction, other_id = (
            ("outgoing", row.target) if row.source == entity_id else ("incoming", row.source)
        )
        metadata = [pair for pair in snapshot_of(row).items() if len(pair[1]) <= METADATA_LIMIT]
        if (other := others.get(other_id)) is not None:
            set_by = dict(zip(other.fields, other.winners, strict=True))
            related.append(RelatedRow(
                row.key, row.type, direction, other.id, other.type, other.name, row.last_observation_at,
                max(row.winners, default=""), metadata, 0, None, None, row.winners,
                next(((name, set_by[name]) for name in NAME_FIELDS if name in set_by), None),
            ))  # fmt: skip
    return related


BESIDE_FACTOR: Final = 0.5  # weight of a value of now where an earlier one is asked for, as a factor
VALUE_WORDS: Final = 8  # most words of a value before which another one may be asked for
NONE_EARLIER: Final = "no earlier value is known"


def successive(earlier: Iterable[Observed], current: Observed) -> list[Observed]:
    """Return the values that a field had, one after the other; the last one is the current one. A value that
    was corrected without a time was never right: the correction stands in its place."""
    field_values: list[Observed] = []
    for row in [*sorted(earlier, key=lambda row: (row.observed_at, row.observation_id)), current]:
        # Values may differ by their type alone, as a schema may have converted one.
        if field_values and field_values[-1].text.strip('"') == row.text.strip('"'):
            continue
        if field_values and row.mends:
            row = row._replace(observed_at=field_values.pop().observed_at)
        if field_values:
            field_values[-1] = field_values[-1]._replace(until=row.observed_at)
        field_values.append(row)
    return [each for each in field_values if each.until != each.observed_at]


def values_for_line(values: Iterable[Observed]) -> tuple[Observed, ...]:
    """Return those of some earlier values that a line can tell, the latest first."""
    return tuple(each for each in values if each.value not in (None, "null"))[::-1]


def former_lines(line: Line, values: Sequence[Observed]) -> list[Line]:
    return [
        replace(
            line, value=each.text, observed_at=each.observed_at, observation_id=each.observation_id,
            since=each.observed_at, until=each.until, contested=(), earlier=(), set_by="",
        )
        for each in values_for_line(values)
    ]  # fmt: skip


def as_asked(
    lines: Sequence[Line], past: AskedPast, focus: Focus, subject_ids: Collection[str], *, is_named: bool
) -> list[Line]:
    """Return lines, those of the past that a question asks for marked, without other earlier values.

    Where nothing of that time is known, the line of now says so.

    Args:
        lines: with a line for each earlier value.
        subject_ids: the entities whose past may be asked for.
        is_named: whether the question names them; else nothing is said of what is not known.
    """
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        if line.about.id in subject_ids:
            groups.setdefault(line.sort, []).append(line)
    asked_groups = [sort for sort, group in groups.items() if any(each.is_asked(focus) for each in group)]
    if anchored := [sort for sort in groups if any(_has_any(each, past.before) for each in groups[sort])]:
        asked_groups = [sort for sort in anchored if sort in asked_groups] or anchored
    elif past.before and past.is_past_tense:
        # "Before the wedding": what was before the value of now is the best guess, with its dates.
        past = past._replace(before=frozenset())
    chosen = {sort: _chosen(groups[sort], past) for sort in asked_groups or groups}
    # A value that has no other one beside it stands where it stood.
    chosen = {
        sort: chosen_lines
        for sort, chosen_lines in chosen.items()
        if (len(groups[sort]) > 1 or chosen_lines[0].is_over if chosen_lines else is_named)
    }
    return [line for each in lines if (line := _as_chosen(each, chosen.get(each.sort), past)) is not None]


def _chosen(group: Iterable[Line], past: AskedPast) -> list[Line]:
    if past.end:
        return [
            each for each in group
            if (each.since is not None or each.until is not None)
            and (each.since or times.EARLIEST) < past.end and (each.until or times.LATEST) > past.start
        ]  # fmt: skip
    order = sorted(group, key=lambda each: (each.until or times.LATEST, each.since or times.LATEST))
    if past.before:
        places = [place for place, each in enumerate(order) if _has_any(each, past.before)]
        return order[max(places[-1] - 1, 0) : places[-1]] if places else []
    return [each for each in order if each.is_over][-1:]


def _as_chosen(line: Line, chosen: list[Line] | None, past: AskedPast) -> Line | None:
    """Return a line as an answer has it, ``None`` if it is of an earlier value that nobody asks for."""
    is_former = line.related is None and line.until is not None
    if chosen and line in chosen:
        note = past.words if past.end and is_former else ""
        return replace(line, is_then=True, note=note)
    if is_former:
        return None
    if chosen is None:
        return line
    if chosen:
        return replace(line, weight=line.weight * BESIDE_FACTOR)
    return replace(line, note=f"not known {past.words}" if past.end or past.before else NONE_EARLIER)


def _has_any(line: Line, expected: frozenset[str]) -> bool:
    """Return whether the value of a line has one of some words, and is no text in which they merely occur."""
    texts = [words.tokens(text) for text in words.strings_of(line.value)]
    return any(len(tokens) <= VALUE_WORDS and not expected.isdisjoint(tokens) for tokens in texts)


NOT_KNOWN: Final = "not known"
NOT_KNOWN_WEIGHT: Final = 4.0  # more than any entity weighs: what is not known comes before what is known
_GENERIC: Final = lexicon.words("number_words")  # words for what many fields are


def not_known(lines: Sequence[Line], entity_id: str, question: Sequence[str], focus: Focus) -> list[Line]:
    """Return a line that says of what a question names that the field it asks for is not known, if it is not.
    Only where every other word of the question asks for a field: "the passport number of Ada"."""
    of_entity = [line for line in lines if line.about.id == entity_id]
    terms = [word for word in dict.fromkeys(question) if word in focus.words]
    telling = frozenset(terms) - _GENERIC
    if focus.answer_kinds or not (of_entity and telling and question_words.FIELD_WORDS.issuperset(terms)):
        return []
    if any(question_words.shared(telling, line.words) for line in of_entity):
        return []
    name = {*words.tokens(of_entity[0].about.name)}
    for line in lines:
        texts = [line.about.name, *words.strings_of(line.value)]
        written = {token for text in texts for token in words.tokens(text)}
        # A note may say it: "Ada is allergic to nuts".
        if line.about.id != entity_id and name & written and (
            question_words.shared(telling, written) == len(telling)
        ):  # fmt: skip
            return []
    return [
        Line(
            0, NOT_KNOWN_WEIGHT, of_entity[0].about, " ".join(terms), "null", of_entity[0].observed_at, "",
            focus.words, note=NOT_KNOWN,
        )
    ]  # fmt: skip
