"""Samples of observations, from which candidates for schemas are found."""

from __future__ import annotations

from graphmem.errors import NotFound
from graphmem.matching import schema_candidates
from graphmem.matching.schema_candidates import SampledObservation
from graphmem.model import schema
from graphmem.model.schema import Document
from graphmem.reading.schema_rows import unknown_type
from graphmem.registry import Context

SAMPLE = 2_000
"""Observations that an analysis looks at, the newest ones."""
SAMPLED_TYPES = 20
"""Types that an analysis of all looks at, each with its share of the sample."""


Sampled = tuple[str, Document | None, list[SampledObservation]]
"""A type, what is declared of it, and what its newest observations say."""


async def of_types(context: Context, entity_type: str | None) -> list[Sampled]:
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
        cut=schema_candidates.VALUE_CHARACTERS,
    )
    assert row is not None
    if row["types"] or every:
        return [
            (kind, _declared(kind, text), [SampledObservation(*one) for one in said])
            for kind, text, said in row["types"]
        ]
    if schema.shipped(entity_type) is None:
        raise unknown_type(entity_type)
    return [(entity_type, schema.shipped(entity_type), [])]


async def of_entity(context: Context, entity_id: str, entity_type: str | None) -> Sampled:
    row = await context.graph.one(
        "schema.sample_of_entity", entity_id=entity_id, limit=SAMPLE, cut=schema_candidates.VALUE_CHARACTERS
    )
    if row is None or entity_type not in (None, row["type"]):
        what = "entity" if entity_type is None else entity_type
        raise NotFound(f"there is no {what} {entity_id}", entity_id=entity_id)
    return (
        row["type"],
        _declared(row["type"], row["document"]),
        [SampledObservation(*one) for one in row["sample"]],
    )


def _declared(entity_type: str, document: str | None) -> Document | None:
    """Return what is declared of a type: registered, else shipped."""
    return schema.shipped(entity_type) if document is None else Document.read(document)
