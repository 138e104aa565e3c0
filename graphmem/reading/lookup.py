"""Looking up entities by an id, an identifier, a name, words or meaning."""

from __future__ import annotations

from itertools import starmap
from typing import Any, NotRequired

from typing_extensions import TypedDict

from graphmem.model import canonical
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.ids import ENTITY_ID
from graphmem.reading import answers, search_engine
from graphmem.reading.answers import EntityRow
from graphmem.reading.fresh import read_fresh
from graphmem.reading.search_engine import Semantic
from graphmem.registry import Context
from graphmem.text import identifiers, words

_TRIED = "no identifier, name, alias, words or meaning of any entity"


class Found(answers.Entity):
    """A hit of a look-up.

    ``matched`` is the kind of match: ``id``; ``external_id``, ``email``, ``phone``, ``url`` or ``domain``;
    ``name`` or ``alias``; ``text``; ``meaning``. ``matched_field`` names the field that matched, if one did.
    ``score`` is 1 for an exact match; other scores are comparable within one answer only.
    """

    matched: NotRequired[str]
    matched_field: NotRequired[str]
    score: NotRequired[float]


class FoundEntities(TypedDict):
    """The hits of a look-up.

    ``match_mode`` is the first step that had a hit: ``id``, ``identifier``, ``name``, ``text``, ``meaning``,
    or ``none``. If meaning was compared, ``semantic`` says whether all entities could be. ``hint`` says what
    was tried.
    """

    entities: list[Found]
    total: int
    match_mode: str
    semantic: NotRequired[Semantic]
    hint: NotRequired[str]


@read_fresh
async def find_exactly(
    context: Context, identifier: str, entity_type: str | None, limit: int
) -> FoundEntities:
    """Return the entities that have this id, identifier or whole name. One round trip."""
    given = identifier.strip()
    if ENTITY_ID.fullmatch(given.lower()):
        return await _by_id(context, given.lower(), entity_type)
    types = [entity_type] if entity_type else []
    return await _exactly(context, given, types, limit) or _nothing(
        f"no exact match for {', '.join(identifiers.KINDS)}: give the whole name or identifier"
    )


def _nothing(hint: str) -> FoundEntities:
    return {"entities": [], "total": 0, "match_mode": "none", "hint": hint}


async def _by_id(context: Context, entity_id: str, entity_type: str | None) -> FoundEntities:
    row = await context.graph.one("entity.get", entity_id=entity_id, include_deleted=False)
    if row is None or entity_type not in (None, row["entity"][1]):
        return _nothing("no entity has this id; an id is never matched as text")
    found: Found = {**answers.entity(EntityRow(*row["entity"])), "matched": "id", "score": 1.0}
    return {"entities": [found], "total": 1, "match_mode": "id"}


async def _exactly(context: Context, given: str, types: list[str], limit: int) -> FoundEntities | None:
    """Return the entities that have this identifier, or else this name; None if there are none."""
    asked = identifiers.candidates(given, context.services.settings.phone_region)
    row = await context.graph.one(
        "entity.find",
        pairs=[list(pair) for pair in sorted(asked)],
        kinds=list(identifiers.KINDS),
        types=types,
        limit=limit,
    )
    assert row is not None
    edge = len(identifiers.EXACT)
    by_stage = {"identifier": row["totals"][:edge], "name": row["totals"][edge:]}
    mode = next((stage for stage, totals in by_stage.items() if sum(totals)), None)
    if mode is None:
        return None
    hits = [(one, identifiers.KINDS[strength]) for one, strength in row["found"]]
    hits = [(one, kind) for one, kind in hits if (kind in identifiers.EXACT) == (mode == "identifier")]
    entities = answers.entities(one for one, _ in hits)
    found: list[Found] = []
    for entity, (one, kind) in zip(entities, hits, strict=True):
        field = identifiers.matching_field(_identifying_fields(EntityRow(*one)), kind, asked)
        found.append({**entity, "matched": kind, "matched_field": field, "score": 1.0})
    return {"entities": found, "total": sum(by_stage[mode]), "match_mode": mode}


async def by_words(context: Context, given: str, types: list[str], limit: int) -> FoundEntities:
    results = await search_engine.search(
        context, given, types=types, limit=limit, exact=False, begins=False, only_without_words=True
    )
    entities = answers.entities(results.rows)
    if not entities:
        tried = "; ".join([f"{_TRIED} fits", *results.notes])
        return {**_nothing(tried), "semantic": results.semantic}
    mode = "text" if results.hits["text"] else "meaning"
    scores = dict(results.hits[mode])
    found: list[Found] = []
    for entity, row in zip(entities, starmap(EntityRow, results.rows), strict=True):
        hit: Found = {**entity, "matched": mode, "score": scores[row.id]}
        if mode == "text":
            held = zip(row.fields, row.values, strict=True)
            hit["matched_field"] = words.best_field(results.asked, row.name, held)
        found.append(hit)
    answer: FoundEntities = {"entities": found, "total": len(scores), "match_mode": mode}
    if results.coverage.searched:
        answer["semantic"] = results.semantic
    if results.notes:
        answer["hint"] = "; ".join(results.notes)
    return answer


def _identifying_fields(row: EntityRow) -> dict[str, Any]:
    held = zip(row.fields, row.values, strict=True)
    return {
        name: canonical.decode(text)
        for name, text in held
        if name in identifiers.FIELDS or name == CANONICAL_NAME
    }
