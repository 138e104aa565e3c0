"""What schemas could say: fields to declare, to retype, to require, from what was observed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, EntityId, EntityType, NoBool
from graphmem.errors import NotFound
from graphmem.matching import schema_candidates
from graphmem.matching.schema_candidates import Candidate, Recommendation, Said
from graphmem.model import schema
from graphmem.model.schema import Document
from graphmem.operations.schemas import unknown
from graphmem.registry import Context, Scope, operation

SAMPLE = 2_000
"""Observations that an analysis looks at, the newest ones."""
SAMPLED_TYPES = 20
"""Types that an analysis of all looks at, each with its share of the sample."""


class Analyze(Arguments):
    """What ``schemas.analyze`` takes."""

    entity_type: EntityType | None = None
    entity_id: EntityId | None = None
    min_frequency: Annotated[
        int, Field(ge=1, le=SAMPLE, description="In how many observations a field must stand."), NoBool
    ] = schema_candidates.ENOUGH
    min_confidence: Annotated[
        float, Field(ge=0, le=1, description="How sure its type must be, 0 to 1."), NoBool
    ] = 0.8


class Analyzed(TypedDict):
    """Fields that could be declared, the surest of each type first, and how much was looked at."""

    candidates: list[Candidate]
    observations_analyzed: int


@operation(
    "schemas.analyze",
    "POST /analyze_schema_candidates",
    tool="analyze_schema_candidates",
    command="schemas analyze",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"entity_type": "person", "min_frequency": 3},
)
async def analyze(context: Context, arguments: Analyze) -> Analyzed:
    """Find fields that were stored and are not declared, with the type that fits each.

    It looks at the newest 2,000 observations: of one type, of one entity, or of the first 20 types.
    """
    if arguments.entity_id is not None:
        sampled = [await _of_entity(context, arguments.entity_id, arguments.entity_type)]
    else:
        sampled = await _sampled(context, arguments.entity_type)
    limits = {"min_frequency": arguments.min_frequency, "min_confidence": arguments.min_confidence}
    return {
        "candidates": [
            one
            for kind, document, sample in sampled
            for one in schema_candidates.candidates(kind, document, sample, **limits)
        ],
        "observations_analyzed": sum(len(sample) for _, _, sample in sampled),
    }


class Recommend(Arguments):
    """What ``schemas.recommend`` takes."""

    entity_type: EntityType
    source: Annotated[
        str | None, Field(max_length=64, description="Only those drawn from this; all are from observations.")
    ] = None
    status: Annotated[
        str | None, Field(max_length=64, description="Only those of this status; all are pending.")
    ] = None


class Recommended(TypedDict):
    """Changes that what was observed suggests: additions first, then types, requirements and identity."""

    entity_type: str
    recommendations: list[Recommendation]
    observations_analyzed: int


@operation(
    "schemas.recommend",
    "POST /get_schema_recommendations",
    tool="get_schema_recommendations",
    command="schemas recommend",
    scope=Scope.READ,
    errors=(NotFound,),
    example={"entity_type": "person"},
)
async def recommend(context: Context, arguments: Recommend) -> Recommended:
    """Recommend changes to the schema of an entity type, from its newest 2,000 observations.

    Each carries, in `change`, what POST /update_schema_incremental takes to make it.
    """
    ((kind, document, sample),) = await _sampled(context, arguments.entity_type)
    found = schema_candidates.recommendations(kind, document, sample)
    return {
        "entity_type": kind,
        "recommendations": [
            one
            for one in found
            if arguments.source in (None, one["source"]) and arguments.status in (None, one["status"])
        ],
        "observations_analyzed": len(sample),
    }


Sampled = tuple[str, Document | None, list[Said]]
"""A type, what is declared of it, and what its newest observations say."""


async def _sampled(context: Context, entity_type: str | None) -> list[Sampled]:
    """Return samples of one type, or of the first types.

    Raises:
        NotFound: nothing is known of the one.
    """
    every = entity_type is None
    row = await context.graph.one(
        "schema.sample",
        entity_type=entity_type,
        types=SAMPLED_TYPES if every else 1,
        limit=SAMPLE // SAMPLED_TYPES if every else SAMPLE,
        cut=schema_candidates.CUT,
    )
    assert row is not None
    if row["types"] or every:
        return [
            (kind, _declared(kind, text), [Said(*one) for one in said]) for kind, text, said in row["types"]
        ]
    if schema.shipped(entity_type) is None:
        raise unknown(entity_type)
    return [(entity_type, schema.shipped(entity_type), [])]


async def _of_entity(context: Context, entity_id: str, entity_type: str | None) -> Sampled:
    row = await context.graph.one(
        "schema.sample_of_entity", entity_id=entity_id, limit=SAMPLE, cut=schema_candidates.CUT
    )
    if row is None or entity_type not in (None, row["type"]):
        what = "entity" if entity_type is None else entity_type
        raise NotFound(f"there is no {what} {entity_id}", entity_id=entity_id)
    return row["type"], _declared(row["type"], row["document"]), [Said(*one) for one in row["sample"]]


def _declared(entity_type: str, document: str | None) -> Document | None:
    """Return what is declared of a type: registered, else shipped."""
    return schema.shipped(entity_type) if document is None else Document.read(document)
