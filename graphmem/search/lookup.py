"""Looking up entities by an id, an identifier, a name, words or meaning."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, NotRequired, cast

from graphmem.budgets import Budgeted
from graphmem.context import Context
from graphmem.fresh import read_fresh
from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME, fold_text
from graphmem.model.ids import ENTITY_ID
from graphmem.model.schema import SchemaDocument
from graphmem.reading import answers
from graphmem.reading.pages import Indexed
from graphmem.reading.shaping import Shaped
from graphmem.reading.shared_rows import EntityRow, snapshot_of
from graphmem.search import search_engine
from graphmem.search.context.context_sheets import EarlierValue
from graphmem.search.kinds.kind_lookup import shapes_of
from graphmem.search.questions import naming
from graphmem.search.questions.naming import RESEMBLANCE, Named
from graphmem.search.search_by_identifier import is_identifying
from graphmem.search.search_results import Results, Search, SearchNotes
from graphmem.text import identifiers, words

RESEMBLING_LIMIT: Final = 5  # entities that resemble a question, beside those that it names
_TRIED: Final = "no identifier, name, alias, words or meaning of any entity fits"
_RESEMBLES: Final = "No entity has this name or identifier: these resemble it by their"
_NONE_OF_KIND: Final = "No entity is what `understood` says: these resemble the question."
_NEARLY: Final = "No entity has this name: these have one that differs by one slip of the pen."
_NAMED_BESIDE: Final = "No entity is what `understood` says: these are what the question names."


class NamedEntity(answers.Entity):
    """An entity, and how a question names it or resembles it.

    ``matched`` is the kind of match: a kind of identifier; ``field`` where the identifier is the whole value
    of ``matched_field``; ``name`` or ``alias``; ``name_part``, such as a first name; ``relationship``;
    ``kind``; ``self``, who asks; ``text``; ``meaning``. ``matched_by`` has the words of the question that
    name it. What "Tom's boss" names has its ``relationship_type``, and as ``related_to`` the id of Tom.
    ``match`` is ``near_name`` where its name differs by one slip of the pen, and ``resemblance`` where it
    bears no such name, or nothing says that it is what the question says: a sister, of a sibling.
    ``formerly`` says that it bore the name or identifier formerly, or that an entity bears it that was merged
    into it. Where a search asks for the past, ``earlier`` has the latest values that
    its fields had before.
    """

    match: NotRequired[str]
    formerly: NotRequired[bool]
    matched: NotRequired[str]
    matched_field: NotRequired[str]
    matched_by: NotRequired[str]
    relationship_type: NotRequired[str]
    related_to: NotRequired[str]
    earlier: NotRequired[dict[str, list[EarlierValue]]]


class LookupHit(NamedEntity):
    """A hit of a look-up.

    ``matched_field`` names the field that matched, if one did. ``score`` is 1 for an exact match; other
    scores are comparable within one answer only.
    """

    score: NotRequired[float]


class LookupHits(SearchNotes, Shaped, Indexed, Budgeted):
    """The hits of a look-up.

    ``match_mode`` is the first step that had a hit: ``id``, ``kind``, ``relationship``, ``self``,
    ``identifier``, ``name``, ``name_part``, ``near_name``, ``text``, ``meaning``, or ``none``. Where a
    question names something, ``resembling`` has a few entities that only resemble it. If meaning was
    compared, ``semantic`` says whether all entities could be. ``hint`` says what was tried. ``exact`` is
    false if some entities were not compared that may have an identifier. With ``match``, nothing bears what
    was looked up, and ``hint`` says so first: ``near_name`` has entities whose names differ from it by one
    slip of the pen, ``resemblance`` such as have its words, or its meaning, alone. ``passages`` are those of
    files that say it.
    """

    match: NotRequired[str]
    entities: list[LookupHit]
    resembling: NotRequired[list[LookupHit]]
    total: int
    match_mode: str


def named_entities(
    entities: Iterable[answers.Entity], named: Sequence[Named], *, resembles: bool = False
) -> list[NamedEntity]:
    """Return entities, each with how a question names it, or resembles it if it names any."""
    by_id = {each.id: cast("NamedEntity", each.answered) for each in reversed(named)}
    rest = cast("NamedEntity", {"match": RESEMBLANCE} if named or resembles else {})
    return [{**entity, **by_id.get(entity["entity_id"], rest)} for entity in entities]


class ExactHit(NamedTuple):
    """An entity, and the strength of its match (:func:`graphmem.search.questions.naming.kind_of`)."""

    entity: EntityRow
    strength: int


class ExactHits(NamedTuple):
    """The row of ``entity/find.cypher``; ``totals``: how many entities each kind names now, then formerly."""

    hits: list[ExactHit]
    totals: list[int]


@read_fresh
async def find_exactly(context: Context, identifier: str, entity_type: str | None, limit: int) -> LookupHits:
    """Return the entities that have this id, identifier or whole name. One round trip."""
    text = identifier.strip()
    if ENTITY_ID.fullmatch(text.lower()):
        entity = await context.graph.one(
            "entity.get", EntityRow, entity_id=text.lower(), include_deleted=False
        )
        if entity is None or entity_type not in (None, entity.type):
            return _nothing("no entity has this id; an id is never matched as text")
        by_id: LookupHit = {**answers.entity(entity), "matched": "id", "score": 1.0}
        return {"entities": [by_id], "total": 1, "match_mode": "id"}
    candidates = identifiers.candidates(text, context.services.settings.phone_region)
    row = await context.graph.only(
        "entity.find", ExactHits, pairs=[list(pair) for pair in sorted(candidates)],
        kinds=list(identifiers.KINDS), types=[entity_type] if entity_type else [], limit=limit,
    )  # fmt: skip
    # Current ones decide whether an identifier or a name was meant, then former ones.
    count, edge = len(identifiers.KINDS), len(identifiers.EXACT)
    strongest = next((place for place, total in enumerate(row.totals) if total), None)
    if strongest is None:
        return _nothing(
            f"no exact match for {', '.join(identifiers.KINDS)}: give the whole name or identifier"
        )
    is_name = strongest % count >= edge
    matches = [hit for hit in row.hits if (naming.kind_of(hit.strength)[0] >= edge) == is_name]
    entities = answers.entities(hit.entity for hit in matches)
    hits: list[LookupHit] = []
    for entity, (row_of, strength) in zip(entities, matches, strict=True):
        kind, is_former = naming.kind_of(strength)
        hit: LookupHit = {**entity, "matched": identifiers.KINDS[kind], "score": 1.0}
        if is_former:
            hit["formerly"] = True
        else:
            fields = _identifying_fields(row_of)
            hit["matched_field"] = identifiers.matching_field(fields, identifiers.KINDS[kind], candidates)
        hits.append(hit)
    total = sum(total for place, total in enumerate(row.totals) if (place % count >= edge) == is_name)
    answer: LookupHits = {
        "entities": hits, "total": total, "match_mode": "name" if is_name else "identifier"
    }  # fmt: skip
    if total > 1 and not is_name:
        answer["hint"] = f"{total} entities share this identifier: ask for one of them by name or id"
    return answer


def _nothing(hint: str) -> LookupHits:
    return {"entities": [], "total": 0, "match_mode": "none", "hint": hint}


async def by_words(context: Context, text: str, types: list[str], limit: int) -> LookupHits:
    """Return the entities that a question names, or else those that a text finds by words or meaning."""
    search = Search(
        text, types, limit + RESEMBLING_LIMIT, looks_up=True, passages=search_engine.PASSAGES_LIMIT
    )
    results = await _with_identity(context, text, await search_engine.search(context, search))
    named = {each.id: each for each in reversed(results.named)}
    hits: list[LookupHit] = []
    resembling: list[LookupHit] = []
    for entity, row in zip(answers.entities(results.rows), results.rows, strict=True):
        if row.id in named:
            hits.append({**entity, **_naming(named[row.id], row)})
        else:
            resembling.append({**entity, **_resemblance(results, row)})
    answer: LookupHits
    if hits:
        answer = _named(results, hits[:limit], resembling[:RESEMBLING_LIMIT])
    elif resembling:
        mode = "text" if "text" in results.ranked[0].scores else "meaning"
        why = f"{_RESEMBLES} {'words' if mode == 'text' else mode}."
        answer = {
            "hint": "; ".join([why if results.understood is None else _NONE_OF_KIND, *results.notes]),
            "match": RESEMBLANCE, "entities": resembling[:limit], "total": results.total, "match_mode": mode,
        }  # fmt: skip
    else:
        file_notes = ["`passages` of files have it"] if results.passages.passages else []
        answer = _nothing("; ".join([_TRIED, *file_notes, *results.notes]))
        answer["semantic"] = results.semantic
    if results.passages.passages:
        answer["passages"] = list(results.passages.passages)
    if results.understood is not None:
        answer["understood"] = results.understood
    if results.rows and results.is_cut:
        answer["exact"] = False
    if "meaning" in results.ran:
        answer["semantic"] = results.semantic
    return answer


async def _with_identity(context: Context, text: str, results: Results) -> Results:
    """Return results that name the entities of which a looked-up text is the identity, by their schema.

    A field whose name says that it is a number or a code is one too: a license plate.

    One round trip if the text is the whole value of a field.
    """
    folded = fold_text(text)
    having = [
        (row, field)
        for row in ([] if results.named else results.rows)
        for field, value in _values(row)
        # The others are looked up exactly.
        if field not in identifiers.FIELDS and folded in map(fold_text, words.strings_of(value))
    ]
    if not having:
        return results
    identities = {
        (each.entity_type, names[0])
        for each in await shapes_of(context, sorted({row.type for row, _ in having}))
        if each.document is not None
        for names in SchemaDocument.read(each.document).alternatives() or ()
        if len(names) == 1
    }
    named = [
        Named(row.id, naming.FIELD, text, field=field)
        for row, field in having
        if (row.type, field) in identities or is_identifying(field)
    ]
    return replace(results, named=named, counts={**results.counts, "exact": len(named)}) if named else results


def _named(results: Results, hits: list[LookupHit], resembling: list[LookupHit]) -> LookupHits:
    kinds = {each.kind for each in results.named}
    is_near = kinds == {naming.NEAR_NAME}
    by_part = naming.NEAR if is_near else "name_part"
    by_name = "name" if any(naming.KINDS[kind] in identifiers.NAMES for kind in kinds) else by_part
    is_exact = any(kind == naming.FIELD or naming.KINDS[kind] in identifiers.EXACT for kind in kinds)
    by_identifier = "identifier" if is_exact else by_name
    modes = {naming.KIND: "kind", naming.RELATIONSHIP: "relationship", naming.SELF: "self"}
    answer: LookupHits = {
        "entities": hits,
        "total": results.counts["exact"],
        "match_mode": next((mode for kind, mode in modes.items() if kind in kinds), by_identifier),
    }
    is_of_no_kind = results.understood is not None and naming.KIND not in kinds
    if is_near:
        answer["match"] = naming.NEAR
    elif any(each.unsure for each in results.named):
        answer["match"] = RESEMBLANCE
    why = [_NEARLY] if is_near else [_NAMED_BESIDE] if is_of_no_kind else []
    if hints := [*why, *results.notes]:
        answer["hint"] = "; ".join(hints)
    if resembling:
        answer["resembling"] = resembling
    return answer


def _naming(named: Named, row: EntityRow) -> LookupHit:
    hit = cast("LookupHit", {**named.answered, "score": 1.0})
    if named.kind == naming.NAME_PART:
        aliases = [(field, text) for field, text in _values(row) if field in identifiers.ALIASES]
        hit["matched_field"] = words.best_field(words.tokens(named.words), row.name, aliases)
    elif named.kind == naming.SELF:
        hit["matched_field"] = identifiers.SELF
    elif named.related_to is None and not named.is_former and named.kind < len(identifiers.KINDS):
        kind = naming.KINDS[named.kind]
        hit["matched_field"] = identifiers.matching_field(_identifying_fields(row), kind, set(named.pairs))
    return hit


def _resemblance(results: Results, row: EntityRow) -> LookupHit:
    ranked = next(each for each in results.ranked if each.id == row.id)
    matched = "text" if "text" in ranked.scores else "meaning"
    hit = cast("LookupHit", {"match": RESEMBLANCE, "matched": matched, "score": ranked.points})
    if matched == "text":
        field = results.fields.get(row.id)
        hit["matched_field"] = field or words.best_field(results.spellings, row.name, _values(row))
    return hit


def _values(row: EntityRow) -> list[tuple[str, str]]:
    return list(snapshot_of(row).items())


def _identifying_fields(row: EntityRow) -> dict[str, Any]:
    return {
        name: canonical.decode(text)
        for name, text in _values(row)
        if name in identifiers.FIELDS or name == CANONICAL_NAME
    }
