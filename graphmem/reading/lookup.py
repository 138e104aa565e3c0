"""Looking up entities by an id, an identifier, a name, words or meaning."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, NotRequired

from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.ids import ENTITY_ID
from graphmem.reading import answers, search_engine
from graphmem.reading.budgets import Budgeted
from graphmem.reading.fresh import read_fresh
from graphmem.reading.pages import Indexed
from graphmem.reading.search_results import Search, Semantic
from graphmem.reading.shaping import Shaped
from graphmem.reading.shared_rows import EntityResult, EntityRow
from graphmem.registry import Context
from graphmem.text import identifiers, words

RESEMBLANCE: Final = "resemblance"
"""``match`` of what does not bear the name or identifier that was looked up."""
_TRIED: Final = "no identifier, name, alias, words or meaning of any entity"
_RESEMBLES: Final = {
    mode: f"No entity has this name or identifier: these resemble it by their {what}."
    for mode, what in (("text", "words"), ("meaning", "meaning"))
}


class LookupHit(answers.Entity):
    """A hit of a look-up.

    ``matched`` is the kind of match: ``id``; ``external_id``, ``email``, ``phone``, ``url`` or ``domain``;
    ``name`` or ``alias``; ``text``; ``meaning``. ``matched_field`` names the field that matched, if one did.
    ``score`` is 1 for an exact match; other scores are comparable within one answer only. ``match`` is
    ``resemblance`` where the entity does not bear what was looked up, but has its words or its meaning.
    """

    match: NotRequired[str]
    matched: NotRequired[str]
    matched_field: NotRequired[str]
    score: NotRequired[float]


class LookupHits(Shaped, Indexed, Budgeted):
    """The hits of a look-up.

    ``match_mode`` is the first step that had a hit: ``id``, ``identifier``, ``name``, ``text``, ``meaning``,
    or ``none``. If meaning was compared, ``semantic`` says whether all entities could be. ``hint`` says what
    was tried. ``exact`` is false if the indexes of the database answered, which may miss some. With
    ``match``, which is ``resemblance``, nothing bears what was looked up: ``hint`` says so first, and the
    entities have its words, or its meaning, alone.
    """

    hint: NotRequired[str]
    match: NotRequired[str]
    entities: list[LookupHit]
    total: int
    match_mode: str
    semantic: NotRequired[Semantic]
    exact: NotRequired[bool]


class ExactHit(NamedTuple):
    """An entity, and which of the kinds of identifiers matched: an index into ``identifiers.KINDS``."""

    entity: EntityRow
    kind: int


class ExactHits(NamedTuple):
    """The row of ``entity/find.cypher``; ``totals`` counts the entities of each kind of identifier."""

    hits: list[ExactHit]
    totals: list[int]


@read_fresh
async def find_exactly(context: Context, identifier: str, entity_type: str | None, limit: int) -> LookupHits:
    """Return the entities that have this id, identifier or whole name. One round trip."""
    text = identifier.strip()
    if ENTITY_ID.fullmatch(text.lower()):
        return await _by_id(context, text.lower(), entity_type)
    types = [entity_type] if entity_type else []
    return await _exactly(context, text, types, limit) or _nothing(
        f"no exact match for {', '.join(identifiers.KINDS)}: give the whole name or identifier"
    )


def _nothing(hint: str) -> LookupHits:
    return {"entities": [], "total": 0, "match_mode": "none", "hint": hint}


async def _by_id(context: Context, entity_id: str, entity_type: str | None) -> LookupHits:
    row = await context.graph.one("entity.get", EntityResult, entity_id=entity_id, include_deleted=False)
    if row is None or entity_type not in (None, row.entity.type):
        return _nothing("no entity has this id; an id is never matched as text")
    hit: LookupHit = {**answers.entity(row.entity), "matched": "id", "score": 1.0}
    return {"entities": [hit], "total": 1, "match_mode": "id"}


async def _exactly(context: Context, text: str, types: list[str], limit: int) -> LookupHits | None:
    """Return the entities that have this identifier, or else this name; None if there are none."""
    candidates = identifiers.candidates(text, context.services.settings.phone_region)
    row = await context.graph.only(
        "entity.find",
        ExactHits,
        pairs=[list(pair) for pair in sorted(candidates)],
        kinds=list(identifiers.KINDS),
        types=types,
        limit=limit,
    )
    edge = len(identifiers.EXACT)
    by_stage = {"identifier": row.totals[:edge], "name": row.totals[edge:]}
    mode = next((stage for stage, totals in by_stage.items() if sum(totals)), None)
    if mode is None:
        return None
    matches = [(hit.entity, identifiers.KINDS[hit.kind]) for hit in row.hits]
    matches = [(row, kind) for row, kind in matches if (kind in identifiers.EXACT) == (mode == "identifier")]
    entities = answers.entities(row for row, _ in matches)
    hits: list[LookupHit] = []
    for entity, (row, kind) in zip(entities, matches, strict=True):
        field = identifiers.matching_field(_identifying_fields(row), kind, candidates)
        hits.append({**entity, "matched": kind, "matched_field": field, "score": 1.0})
    return {"entities": hits, "total": sum(by_stage[mode]), "match_mode": mode}


async def by_words(context: Context, text: str, types: list[str], limit: int) -> LookupHits:
    """Return the entities that a text finds by words, or else by meaning."""
    results = await search_engine.search(context, Search(text, types, limit, looks_up=True))
    entities = answers.entities(results.rows)
    if not entities:
        tried = "; ".join([f"{_TRIED} fits", *results.notes])
        return {**_nothing(tried), "semantic": results.semantic}
    ranked = {each.id: each for each in results.ranked}
    mode = "text" if "text" in results.ranked[0].scores else "meaning"
    hits: list[LookupHit] = []
    for entity, row in zip(entities, results.rows, strict=True):
        matched = "text" if "text" in ranked[row.id].scores else "meaning"
        hit: LookupHit = {
            **entity, "match": RESEMBLANCE, "matched": matched, "score": ranked[row.id].points
        }  # fmt: skip
        if matched == "text":
            snapshot = zip(row.fields, row.values, strict=True)
            hit["matched_field"] = words.best_field(results.spellings, row.name, snapshot)
        hits.append(hit)
    answer: LookupHits = {
        "hint": "; ".join([_RESEMBLES[mode], *results.notes]),
        "match": RESEMBLANCE,
        "entities": hits,
        "total": results.total,
        "match_mode": mode,
    }
    if not results.is_exact:
        answer["exact"] = False
    if results.coverage.searched:
        answer["semantic"] = results.semantic
    return answer


def _identifying_fields(row: EntityRow) -> dict[str, Any]:
    pairs = zip(row.fields, row.values, strict=True)
    return {
        name: canonical.decode(text)
        for name, text in pairs
        if name in identifiers.FIELDS or name == CANONICAL_NAME
    }
