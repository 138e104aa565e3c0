"""Proposals for schemas from stored observations: fields to declare, to retype or to require."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from graphmem.arguments import EntityId, EntityType, NoBool, Spelled
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.reading import schema_candidates
from graphmem.reading.schema_candidates import Candidate, Recommendation
from graphmem.registry import Scope, operation


class Analyze(Sized):
    entity_type: Annotated[EntityType | None, Spelled(option="entity_type")] = None
    entity_id: EntityId | None = None
    min_frequency: Annotated[int, NoBool] = Field(
        default=schema_candidates.MIN_OBSERVATIONS, ge=1, le=schema_candidates.SAMPLE_LIMIT
    )
    min_confidence: Annotated[float, Field(ge=0, le=1), NoBool] = 0.8


class Analyzed(Budgeted):
    """Fields that could be declared, by type, highest confidence first, and the size of the sample."""

    candidates: list[Candidate]
    observations_analyzed: int


@operation("schemas.analyze", Scope.READ)
async def analyze(context: Context, arguments: Analyze) -> Analyzed:
    """Find fields that are stored but not declared, each with the type that fits it.

    The sample is the newest 2,000 observations of one type or of one entity, or the newest 100 of each of the
    first 20 types.
    """
    if arguments.entity_id is not None:
        sampled = [
            await schema_candidates.sample_of_entity(context, arguments.entity_id, arguments.entity_type)
        ]
    else:
        sampled = await schema_candidates.samples_of_types(context, arguments.entity_type)
    limits = {"min_frequency": arguments.min_frequency, "min_confidence": arguments.min_confidence}

    def candidates() -> list[Candidate]:
        return [
            candidate
            for kind, document, sample in sampled
            for candidate in schema_candidates.candidates(kind, document, sample, **limits)
        ]

    return {
        "candidates": await asyncio.to_thread(candidates),
        "observations_analyzed": sum(len(sample) for _, _, sample in sampled),
    }


class Recommend(Sized):
    entity_type: EntityType

    instead: ClassVar[Mapping[str, str]] = {
        "source": "leave it out, all recommendations come from observations",
        "status": "leave it out, all recommendations are pending",
    }


class Recommended(Budgeted):
    """Changes that the observations suggest: additions first, then types, requirements and identity."""

    entity_type: str
    recommendations: list[Recommendation]
    observations_analyzed: int


@operation("schemas.recommend", Scope.READ)
async def recommend(context: Context, arguments: Recommend) -> Recommended:
    """Recommend changes to the schema of an entity type, from its newest 2,000 observations.

    `change` has the arguments with which `update_schema_incremental` makes the change.
    """
    ((kind, document, sample),) = await schema_candidates.samples_of_types(context, arguments.entity_type)
    return {
        "entity_type": kind,
        "recommendations": await asyncio.to_thread(schema_candidates.recommendations, kind, document, sample),
        "observations_analyzed": len(sample),
    }
