"""The entities of a kind that a question asks for: of some types, in a state, at a time, related to a
name."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from graphmem.changes import change_pages
from graphmem.changes.change_pages import NewestFirst
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.model import canonical, schema, times
from graphmem.model.reduction import paired
from graphmem.model.schema import SchemaDocument
from graphmem.reading.entity_pages import EntityRequest, Order
from graphmem.reading.scan import Scan, ScannedEntity
from graphmem.search.kinds import anchors as related_names
from graphmem.search.kinds import kind_plans, kind_words, measures
from graphmem.search.kinds.anchors import Anchors, KindLookup
from graphmem.search.kinds.kind_plans import Fit, KindPlan, Member, TypeShape
from graphmem.search.kinds.kind_words import State
from graphmem.search.kinds.measures import Quantity
from graphmem.search.owner_copy import KindKey
from graphmem.search.questions import naming
from graphmem.search.questions.naming import KIND, Asking, Named
from graphmem.search.questions.phrases import Measure, Phrase
from graphmem.search.questions.reading import Reading
from graphmem.search.search_results import Understood, understood_of, understood_sentence, understood_time

READ_BY_ID_LIMIT: Final = 1_000
"""If the values of more entities than this are to be read, those of all of their types are read."""
THREAD_MEMBERS: Final = 1_000  # more entities than this are compared in a thread
SPREAD: Final = 10.0
"""The points by which the first of a kind is ahead of the last possible one, where a time orders them."""
_EARLIEST, _LATEST = times.parse("1900-01-01"), times.parse("2200-01-01")
_POINTS_DIGITS: Final = 1_000_000_000  # points are whole numbers of such parts, as a cursor holds them


class SchemaShape(NamedTuple):
    entity_type: str
    document: Json | None
    fields: list[str]
    seen: list[str]


class Kind(NamedTuple):
    """A kind that a question asks for: the entities that fit, best first, and how it was understood.

    ``points`` has those of each entity; it is empty where words beside the kind decide the order. ``note``
    says what the answer leaves out.
    """

    named: list[Named]
    points: Mapping[str, float]
    understood: Understood
    note: str = ""


def phrases(reading: Reading, named: Sequence[Named]) -> list[Phrase]:
    """Return the kinds that a question may ask for, the likeliest first; a name is no kind."""

    def kept(phrases: Iterable[Phrase | None]) -> list[Phrase]:
        return [each for each in phrases if each and not any(_covers(name, each) for name in named)]

    kinds = kept(reading.kinds())
    # Of "bills to pay", "pay" may be a name.
    return kinds if any(not each.needs_name for each in kinds) else kinds + kept([reading.agenda()])


def _covers(name: Named, phrase: Phrase) -> bool:
    """Return whether a name has all words of a phrase, or some of it and words beside: then it is no kind."""
    first, last = min(phrase.places), max(phrase.places) + 1
    is_within = first <= name.start and name.end <= last and (name.start, name.end) != (first, last)
    return not is_within and not phrase.places.isdisjoint(name.places)


async def of_phrase(
    asking: Asking, phrase: Phrase, named: Sequence[Named], followed: Sequence[Named]
) -> Kind | None:
    """Return the entities of the kind that a phrase asks for, ``None`` if the schemas know no such thing.

    Two round trips: the schemas and what is named, then the entities that are compared; none for all of a
    type.
    """
    if phrase.kind.singular == kind_words.CHANGES:
        return await _changed(asking, phrase)
    beside = _spans_beside(phrase, named)
    names = {asking.question.pieces[place].token for span in beside for place in range(*span)}
    phrase = replace(phrase, rest=tuple(word for word in phrase.rest if word not in names))
    lookup = KindLookup(asking, phrase, named, followed, beside)
    if phrase.needs_name and not any(map(lookup.named_at, phrase.anchors)):
        return None
    types = list(phrase.kind.types) or await asking.copy.look(lambda documents: sorted(documents.types))
    rows, anchors = await asyncio.gather(
        shapes_of(asking.context, types), related_names.anchors_of(lookup, types)
    )  # fmt: skip
    shapes, now, refers = [shape_of(row) for row in rows], asking.reading.now, bool(anchors.names)
    made = (kind_plans.plan(each, shapes, now, refers=refers) for each in phrase.readings)
    plans = [plan for plan in made if plan is not None]
    if not plans:
        return None
    members, is_truncated = await _members(lookup, plans, rows)
    fit = partial(_first_fits, plans, members, anchors)
    fits = await asyncio.to_thread(fit) if len(members) > THREAD_MEMBERS else fit()
    if fits is None:
        return None
    plan = fits.plan
    unrelated = [each for each in anchors.names if each.words not in fits.related and not each.is_self]
    left = [word for anchor in unrelated for word in anchor.words.split()]
    consumed = {word for each in plan.types.values() if each.measured for word in each.measured.words}
    rest = " ".join([*(word for word in phrase.rest if word not in consumed), *left])
    if phrase.measure is not None and rest and not (phrase.states or phrase.period):
        return None
    if not any(fit.at is not None for fit in fits.listed):
        ids = [fit.id for fit in fits.listed]
        newest = await asking.copy.look(lambda documents: documents.times_of(ids))
        fits = replace(fits, listed=[Fit(*each) for each in newest.items()], is_undated=True)
    last_ids = {each.id for each in members if each.entity_type in phrase.last_types}
    is_past = plan.is_past or fits.is_undated
    by_id = {} if rest else {fit.id: points(fit.at, is_past) - (fit.id in last_ids) for fit in fits.listed}
    understood = understood_of(
        plan, fits.used, fits.related, rest, len(fits.listed), is_truncated=is_truncated or anchors.is_cut
    )
    for limit in phrase.limits:
        understood["sentence"] += f"; {limit.words}"
    note = naming.WHO_ASKS_NOTE if phrase.debts and not anchors.own else ""
    if phrase.measure is not None and not rest:
        listed_ids = {fit.id for fit in fits.listed}
        quantities = plan.quantities(each for each in members if each.id in listed_ids)
        by_id = _measured(phrase.measure, quantities, by_id, understood)
        if len({each.unit for each in quantities.values()}) > 1:
            note = "values of several currencies or units are neither compared nor added"
    ordered = sorted((-by_id.get(fit.id, 0.0), fit.id) for fit in fits.listed if not by_id or fit.id in by_id)
    return Kind([Named(entity_id, KIND, phrase.text) for _, entity_id in ordered], by_id, understood, note)


def _measured(
    measure: Measure, quantities: Mapping[str, Quantity], by_id: dict[str, float], understood: Understood
) -> dict[str, float]:
    """Return the points of the entities that a measure asks for, and say what it is of the others."""
    if measure.how not in ("max", "min"):
        sums = [each.text for each in measures.totals(measure, quantities.values())]
        what = "sum" if measure.how == "sum" else "mean"
        understood["sentence"] += (
            f"; {measure.words}: the {what} of {len(quantities)} is {' and '.join(sums)}"
        )
        return by_id
    best = measures.extremes(measure, quantities)[measure.first - 1 :]
    chosen = best[: measure.most]
    while chosen and len(chosen) < len(best) and quantities[best[len(chosen)]] == quantities[chosen[-1]]:
        chosen.append(best[len(chosen)])
    values = dict.fromkeys(quantities[each].text for each in chosen if quantities[each].unit != measures.DATE)
    understood["sentence"] += f"; {measure.words}: {len(chosen)}" + (
        f", {', '.join(values)}" if values else ""
    )
    share = SPREAD / max(len(chosen), 1)
    return {each: round(naming.KIND_WEIGHT + SPREAD - share * place, 9) for place, each in enumerate(chosen)}


def _spans_beside(phrase: Phrase, named: Iterable[Named]) -> list[tuple[int, int]]:
    """Return the places of names that stand neither in a phrase nor where it has names."""
    used_places = phrase.places | {place for span in phrase.anchors for place in range(*span)}
    beside = {(each.start, each.end) for each in named if each.end and used_places.isdisjoint(each.places)}
    return sorted(beside)


CHANGES_LIMIT: Final = 100  # changes that a question for changes looks for
CHANGED_TRANSACTIONS: Final = 200  # transactions that it looks through
CHANGES_NOTE: Final = (
    "these are the entities that changed last; GET /changes lists what changed of them, and who wrote it"
)


async def _changed(asking: Asking, phrase: Phrase) -> Kind:
    """Return what changed last, the newest first."""
    period = phrase.period
    request = NewestFirst(
        WantedChanges(), since=(period and period.start) or times.EARLIEST,
        until=(period and period.end) or times.LATEST, place=None, count=CHANGES_LIMIT,
        transactions=CHANGED_TRANSACTIONS,
    )  # fmt: skip
    changes, _ = await change_pages.newest_first(asking.context, request)
    changed_at: dict[str, int] = {}
    for change in changes:
        for entity_id in change.entity_ids:
            changed_at.setdefault(entity_id, change.transaction.recorded_at)
    known = await asking.copy.look(lambda documents: documents.times_of(list(changed_at)))
    by_id = {each: points(at, latest_first=True) for each, at in changed_at.items() if each in known}
    understood: Understood = {"words": phrase.text, "entity_types": [], "count": len(by_id), "sentence": ""}
    if period is not None:
        understood["time"] = understood_time(period, ["recorded_at"])
    understood["sentence"] = understood_sentence(understood)
    return Kind([Named(each, KIND, phrase.text) for each in by_id], by_id, understood, CHANGES_NOTE)


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
    """The entities that fit a plan, the names that they are related to, and its states that are in use."""

    plan: KindPlan
    listed: list[Fit]
    related: list[str]
    used: frozenset[State]
    is_undated: bool = False


def _first_fits(plans: Sequence[KindPlan], members: Sequence[Member], anchors: Anchors) -> _Fits | None:
    """Return what fits the first plan that something fits, or else the first one."""
    made = [fits for plan in plans if (fits := _fits(plan, members, anchors)) is not None]
    return next((fits for fits in made if fits.listed), made[0] if made else None)


def _fits(plan: KindPlan, members: Sequence[Member], anchors: Anchors) -> _Fits | None:
    """Return the entities that fit a plan and are related to what is named. A word that may be a name, and to
    which nothing refers, is none."""
    members = [each for each in members if each.entity_type in plan.types]
    if debts := plan.phrase.debts:
        of_type = plan.types
        members = [
            each
            for each in members
            if kind_plans.is_owed(each, of_type[each.entity_type], debts, anchors.own)
        ]
    used = plan.values_in_use(members)
    if used is None:
        return None
    listed = plan.fits(members, used)
    by_id = {member.id: member for member in members}
    references = {name: each.references for name, each in plan.types.items()}
    related: list[str] = []
    for anchor in anchors.names:
        joined = [
            fit
            for fit in listed
            if fit.id in anchor.related
            or kind_plans.refers(by_id[fit.id], references[by_id[fit.id].entity_type], anchor.spellings)
        ]
        if joined or anchor.is_strict:
            listed = joined
            related.append(anchor.words)
    return _Fits(plan, listed, related, used)


def points(at: int | None, latest_first: bool) -> float:
    """Return the points of an entity of a kind by its time; what has none comes last."""
    share = 0.0 if at is None else (min(max(at, _EARLIEST), _LATEST) - _EARLIEST) / (_LATEST - _EARLIEST)
    share = share if latest_first or at is None else 1 - share
    return round((naming.KIND_WEIGHT + SPREAD * share) * _POINTS_DIGITS) / _POINTS_DIGITS
