"""The entities of a kind that a question asks for: of some types, in a state, at a time, related to a
name."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.model import canonical, schema, times
from graphmem.model.reduction import paired
from graphmem.model.schema import SchemaDocument
from graphmem.reading.entity_pages import EntityRequest, Order
from graphmem.reading.scan import Scan, ScannedEntity, rows_of
from graphmem.reading.shared_rows import snapshot_of
from graphmem.search.kinds import kind_agenda, kind_plans, kind_questions, kind_words
from graphmem.search.kinds.kind_plans import Fit, KindPlan, Member, Spellings, TypeShape
from graphmem.search.kinds.kind_questions import Phrase
from graphmem.search.kinds.kind_words import State
from graphmem.search.owner_copy import KindKey
from graphmem.search.questions import asked_relationships, naming
from graphmem.search.questions.asked_relationships import FOLLOWED_LIMIT
from graphmem.search.questions.mentions import AskedNames
from graphmem.search.questions.naming import KIND, Asking, Named
from graphmem.search.questions.pieces import Piece
from graphmem.search.search_results import Understood, understood_of
from graphmem.text import words

RELATED_LIMIT: Final = 5_000
"""Relationships of a named entity in each direction that are compared, the newest first."""
_NAME_FIELDS: Final = ("email", "aliases", "nickname", "also_known_as")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A name that a kind is related to: its words, and the ids of what is related to what bears it.

    ``is_strict``: what is not related to it is not meant. Otherwise the words may be no name.
    ``is_cut``: it has so many relationships that older ones may be left out.
    """

    words: str
    spellings: Spellings
    related: frozenset[str]
    is_strict: bool
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class KindLookup:
    """A phrase, and what a question names beside it.

    ``beside`` has the places of names that no word joins to the phrase: "Has Globex any unpaid invoices?".
    """

    asking: Asking
    phrase: Phrase
    named: Sequence[Named]
    followed: Sequence[Named]
    beside: Collection[tuple[int, int]] = ()


def of_span(named: Iterable[Named], span: tuple[int, int]) -> list[Named]:
    start, end = span
    return [each for each in named if each.end and start <= each.start and each.end <= end]


async def anchors_of(lookup: KindLookup, types: Sequence[str]) -> list[Anchor]:
    """Return the names that a kind is related to, with what relationships join to them."""
    spans = [*lookup.phrase.anchors, *lookup.beside]
    if not spans:
        return []
    ids_by_span = {span: await _ids(lookup, span, types) for span in spans}
    every = list(dict.fromkeys(each for ids in ids_by_span.values() for each in ids))[:FOLLOWED_LIMIT]
    related: dict[str, set[str]] = {}
    spellings: dict[str, list[Collection[str]]] = {}
    is_cut = False
    if every:
        joined, (rows, _) = await asyncio.gather(
            asked_relationships.related(
                lookup.asking, every, outgoing=None, incoming=None, types=list(types),
                scanned=RELATED_LIMIT, limit=RELATED_LIMIT,
            ),
            rows_of(lookup.asking.context, every),
        )  # fmt: skip
        is_cut = joined.cut
        for each in joined.related:
            related.setdefault(each.entity_id, set()).add(each.other_id)
        for row in rows:
            values = snapshot_of(row)
            texts = [row.name, row.id]
            for name in _NAME_FIELDS:
                texts += words.strings(canonical.decode(values[name])) if name in values else []
            spellings[row.id] = [words.tokens(text) for text in texts]
    return [
        _anchor(lookup, span, [spelling for each in ids for spelling in spellings.get(each, [])],
                frozenset().union(*(related.get(each, ()) for each in ids)), is_named=bool(ids),
                is_cut=is_cut)
        for span, ids in ids_by_span.items()
    ]  # fmt: skip


def _anchor(
    lookup: KindLookup, span: tuple[int, int], spellings: list[Collection[str]], related: frozenset[str], *,
    is_named: bool, is_cut: bool,
) -> Anchor:  # fmt: skip
    pieces = lookup.asking.question.pieces[slice(*span)]
    named = of_span(lookup.named, span)
    tokens = words.tokens(named[0].words if named else _written(pieces))
    has_relationship = bool(spellings and _followed_of(lookup, span))
    text = _written(pieces) if has_relationship or not named else named[0].words
    is_written_as_name = any(
        piece.is_possessive or (lookup.asking.question.has_case and piece.is_capital) for piece in pieces
    )
    # Of "Tom's boss", the tasks of the boss are meant, and not those of Tom.
    is_strict = span not in lookup.beside and (is_named or is_written_as_name)
    is_self = any(each.kind == naming.SELF for each in named)
    known = spellings if has_relationship or is_self else [tokens, *spellings]
    return Anchor(text, frozenset(map(frozenset, known)), related, is_strict, is_cut)


def _written(pieces: Sequence[Piece]) -> str:
    """Return words as a question writes them."""
    last = len(pieces) - 1
    return " ".join(
        f"{piece.text}'s" if piece.is_possessive and place < last else piece.text
        for place, piece in enumerate(pieces)
    )


def _followed_of(lookup: KindLookup, span: tuple[int, int]) -> list[Named]:
    ids = {each.id for each in of_span(lookup.named, span)}
    return [each for each in lookup.followed if each.related_to in ids]


async def _ids(lookup: KindLookup, span: tuple[int, int], types: Sequence[str]) -> list[str]:
    """Return the ids of what a span names: by a relationship, or else by a name."""
    followed = [each.id for each in _followed_of(lookup, span)]
    if followed:
        of_kind = await lookup.asking.copy.look(lambda documents: documents.having_types(followed, types))
        followed = [each for each in followed if each not in of_kind]
    return followed or [each.id for each in of_span(lookup.named, span)]


READ_BY_ID_LIMIT: Final = 1_000
"""If the values of more entities than this are to be read, those of all of their types are read."""
THREAD_MEMBERS: Final = 1_000
"""More entities than this are compared in a thread."""
SPREAD: Final = 10.0
"""The points by which the first of a kind is ahead of the last possible one, where a time orders them."""
_EARLIEST, _LATEST = times.parse("1900-01-01"), times.parse("2200-01-01")
_POINTS_DIGITS: Final = 1_000_000_000
"""Points are whole numbers of such parts, as a cursor holds them."""


class SchemaShape(NamedTuple):
    entity_type: str
    document: Json | None
    fields: list[str]
    seen: list[str]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that a question asks for: the entities that fit, best first, and how it was understood.

    ``points`` has those of each entity; it is empty where words beside the kind decide the order. ``note``
    says what the answer leaves out.
    """

    named: list[Named]
    points: Mapping[str, float]
    understood: Understood
    note: str = ""


def phrases(
    question: AskedNames, named: Sequence[Named], types: Collection[str], aliases: Mapping[str, str], now: int
) -> list[Phrase]:
    """Return the kinds that a question may ask for, the likeliest first; a name is no kind."""
    spans = [(each.start, each.end) for each in named if each.end]
    phrases: list[Phrase] = []
    for kinds in (kind_questions.kinds, kind_agenda.kinds):
        phrases += [
            phrase
            for phrase in kinds(question, types, aliases, now)
            if not any(_covers(span, phrase) for span in spans)
        ]
        # Of "bills to pay", "pay" may be a name.
        if not all(phrase.needs_name for phrase in phrases):
            break
    return phrases


def _covers(name: tuple[int, int], phrase: Phrase) -> bool:
    """Return whether a name has all words of a phrase, or some of it and words beside: then it is no kind."""
    start, end = name
    first, last = min(phrase.places), max(phrase.places) + 1
    overlaps = any(place in phrase.places for place in range(start, end))
    return overlaps and not (first <= start and end <= last and (start, end) != (first, last))


async def of_phrase(
    asking: Asking, phrase: Phrase, named: Sequence[Named], followed: Sequence[Named], now: int
) -> Kind | None:
    """Return the entities of the kind that a phrase asks for, ``None`` if the schemas know no such thing.

    Two round trips: the schemas and what is named, then the entities that are compared; none for all of a
    type.
    """
    if phrase.kind.singular == kind_words.CHANGES:
        newest, changed = await kind_agenda.changes(asking, phrase)
        of_kind = [Named(each, KIND, phrase.text) for each in newest]
        by_id = {each: points(at, latest_first=True) for each, at in newest.items()}
        return Kind(of_kind, by_id, changed, kind_agenda.CHANGES_NOTE)
    beside = _spans_beside(phrase, named)
    names = {asking.question.pieces[place].token for span in beside for place in range(*span)}
    phrase = replace(phrase, rest=tuple(word for word in phrase.rest if word not in names))
    lookup = KindLookup(asking, phrase, named, followed, beside)
    if phrase.needs_name and not any(of_span(named, span) for span in phrase.anchors):
        return None
    types = list(phrase.kind.types) or await asking.copy.look(lambda documents: sorted(documents.types))
    rows, anchors = await asyncio.gather(shapes_of(asking.context, types), anchors_of(lookup, types))
    shapes = [shape_of(row) for row in rows]
    made = (kind_plans.plan(each, shapes, now, refers=bool(anchors)) for each in phrase.readings)
    plans = [plan for plan in made if plan is not None]
    if not plans:
        return None
    members, is_truncated = await _members(lookup, plans, rows)
    in_thread = len(members) > THREAD_MEMBERS
    fitting = (
        await asyncio.to_thread(_first_fits, plans, members, anchors)
        if in_thread
        else _first_fits(plans, members, anchors)
    )
    if fitting is None:
        return None
    plan, fits = fitting
    left = [word for anchor in anchors if anchor.words not in fits.related for word in anchor.words.split()]
    rest = " ".join([*phrase.rest, *left])
    is_past, listed = plan.is_past, fits.listed
    if not any(fit.at is not None for fit in listed):
        ids = [fit.id for fit in listed]
        newest = await asking.copy.look(lambda documents: documents.times_of(ids))
        is_past, listed = True, [Fit(*each) for each in newest.items()]
    last_ids = {each.id for each in members if each.entity_type in phrase.last_types}
    by_id = {} if rest else {fit.id: points(fit.at, is_past) - (fit.id in last_ids) for fit in listed}
    ordered = sorted((-by_id.get(fit.id, 0.0), fit.id) for fit in listed)
    is_truncated = is_truncated or any(anchor.is_cut for anchor in anchors)
    understood = understood_of(plan, fits.used, fits.related, rest, len(listed), is_truncated=is_truncated)
    return Kind([Named(entity_id, KIND, phrase.text) for _, entity_id in ordered], by_id, understood)


def _spans_beside(phrase: Phrase, named: Iterable[Named]) -> list[tuple[int, int]]:
    """Return the places of names that stand neither in a phrase nor where it has names."""
    used_places = phrase.places | {place for span in phrase.anchors for place in range(*span)}
    spans = sorted(
        {(each.start, each.end) for each in named if used_places.isdisjoint(range(each.start, each.end))}
    )
    return [(start, end) for start, end in spans if end]


async def shapes_of(context: Context, types: Iterable[str]) -> list[SchemaShape]:
    """Return the fields of some types, as their schemas declare them and as they are stored."""
    return await context.graph.only("schema.shapes", list[SchemaShape], types=list(types))


def shape_of(row: SchemaShape) -> TypeShape:
    registered = None if row.document is None else SchemaDocument.read(row.document)
    # What is stored tells more of the fields in use than what a shipped schema proposes.
    document = registered or (None if row.fields else schema.shipped(row.entity_type))
    declared = document.fields if document is not None else {}
    shapes = paired(f"the schema of {row.entity_type}", row.fields, row.seen)
    seen = {name: set(kinds_of.split("|")) for name, kinds_of in shapes}
    dated = {name for name, kinds in seen.items() if "date" in kinds}
    texts = {name for name, kinds in seen.items() if kinds & {"string", "array"}}
    dated |= {name for name, each in declared.items() if each.type == "date"}
    texts |= {name for name, each in declared.items() if each.type in ("string", "array")}
    enums = {
        name: each.constraints.enum
        for name, each in declared.items()
        if each.constraints is not None and each.constraints.enum is not None
    }
    names = frozenset({*row.fields, *declared})
    return TypeShape(row.entity_type, names, frozenset(dated), frozenset(texts), enums)


async def _members(
    lookup: KindLookup, plans: Sequence[KindPlan], schemas: Sequence[SchemaShape]
) -> tuple[list[Member], bool]:
    """Return the entities of the types of some plans with the values that decide, and whether some are left
    out.

    Values that were read for an earlier question count again, as long as their entities did not change.
    """
    context, types = lookup.asking.context, sorted({name for plan in plans for name in plan.types})
    fields = sorted({name for plan in plans for name in plan.fields})
    limit = context.services.limits.compared_entities
    if not fields:
        of_types = await lookup.asking.copy.look(lambda documents: list(documents.revisions_of_types(types)))
        return [Member(each, types[0], {}) for each in of_types[:limit]], len(of_types) > limit
    scan = Scan(context, EntityRequest(types, Order("asc"), limit=0, offset=0), fields=fields)
    revisions = await lookup.asking.copy.look(lambda documents: documents.revisions_of_types(types))
    if len(revisions) > limit:
        return await _read(scan, await scan.as_many_as_may_be())
    key = KindKey(tuple(types), tuple(fields), repr([row for row in schemas if row.entity_type in types]))
    kept = lookup.asking.copy.members
    missing = kept.missing(key, revisions)
    if len(missing) <= READ_BY_ID_LIMIT:
        members, is_truncated = await _read(scan, (await scan.of_ids(missing), False))
        if not is_truncated:
            return kept.put(key, revisions, members), False
    members, is_truncated = await _read(scan, await scan.as_many_as_may_be())
    return (members, True) if is_truncated else (kept.put(key, revisions, members), False)


async def _read(scan: Scan, read: tuple[list[ScannedEntity], bool]) -> tuple[list[Member], bool]:
    """Return the decoded values of candidates, and whether some are left out."""
    candidates, is_truncated = read
    cut = [each.id for each in candidates if each.texts is None or "" in each.texts]
    texts, unread = await scan.whole(cut) if cut else ({}, None)
    members: list[Member] = []
    for each in candidates:
        values = texts.get(each.id, each.texts) or []
        pairs = zip(scan.fields, values, strict=True) if values else ()
        decoded = {name: canonical.decode(text) for name, text in pairs if text}
        members.append(Member(each.id, each.type, decoded))
    return members, is_truncated or unread is not None


@dataclass(frozen=True, slots=True)
class _Fits:
    """The entities that fit, the names that they are related to, and the states that are values in use."""

    listed: list[Fit]
    related: list[str]
    used: frozenset[State]


def _first_fits(
    plans: Sequence[KindPlan], members: Sequence[Member], anchors: Sequence[Anchor]
) -> tuple[KindPlan, _Fits] | None:
    """Return the first plan that something fits, or else the first one, with what fits."""
    first: tuple[KindPlan, _Fits] | None = None
    for plan in plans:
        fits = _fits(plan, members, anchors)
        if fits is not None and fits.listed:
            return plan, fits
        if fits is not None and first is None:
            first = plan, fits
    return first


def _fits(plan: KindPlan, members: Sequence[Member], anchors: Sequence[Anchor]) -> _Fits | None:
    """Return the entities that fit a plan and are related to what is named.

    A word that may be a name, and to which nothing refers, is none.
    """
    members = [each for each in members if each.entity_type in plan.types]
    used = plan.values_in_use(members)
    if used is None:
        return None
    listed = plan.fits(members, used)
    by_id = {member.id: member for member in members}
    references = {name: each.references for name, each in plan.types.items()}
    related: list[str] = []
    for anchor in anchors:
        joined = [
            fit
            for fit in listed
            if fit.id in anchor.related
            or kind_plans.refers(by_id[fit.id], references[by_id[fit.id].entity_type], anchor.spellings)
        ]
        if joined or anchor.is_strict:
            listed = joined
            related.append(anchor.words)
    return _Fits(listed, related, used)


def points(at: int | None, latest_first: bool) -> float:
    """Return the points of an entity of a kind by its time; what has none comes last."""
    share = 0.0 if at is None else (min(max(at, _EARLIEST), _LATEST) - _EARLIEST) / (_LATEST - _EARLIEST)
    share = share if latest_first or at is None else 1 - share
    return round((naming.KIND_WEIGHT + SPREAD * share) * _POINTS_DIGITS) / _POINTS_DIGITS
