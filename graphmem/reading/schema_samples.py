"""Samples of observations, from which schemas are proposed."""

from __future__ import annotations

from typing import NamedTuple

from graphmem.errors import NotFound
from graphmem.model import schema
from graphmem.model.schema import SchemaDocument
from graphmem.reading import schema_candidates
from graphmem.reading.schema_candidates import SampledObservation
from graphmem.reading.schema_rows import unknown_type
from graphmem.registry import Context

SAMPLE_LIMIT = 2_000
"""Observations that an analysis reads, the newest ones."""
SAMPLED_TYPES_LIMIT = 20
"""Types that an analysis of all types reads; each type has an equal share of the sample."""


Sampled = tuple[str, SchemaDocument | None, list[SampledObservation]]
"""A type, its schema document if it has one, and a sample of its newest observations."""


class _Sample(NamedTuple):
    """A type, its registered document, and a sample of its newest observations, or of those of an entity."""

    type: str
    document: str | None
    sample: list[SampledObservation]


async def of_types(context: Context, entity_type: str | None) -> list[Sampled]:
    """Return a sample of a type, or of the first types by name if none is given.

    Raises:
        NotFound: the type is neither stored, registered nor shipped.
    """
    all_types = entity_type is None
    samples = await context.graph.only(
        "schema.sample",
        list[_Sample],
        entity_type=entity_type,
        types=SAMPLED_TYPES_LIMIT if all_types else 1,
        limit=SAMPLE_LIMIT // SAMPLED_TYPES_LIMIT if all_types else SAMPLE_LIMIT,
        cut=schema_candidates.VALUE_CHARACTERS,
    )
    if samples or all_types:
        return [(each.type, _declared(each.type, each.document), each.sample) for each in samples]
    if schema.shipped(entity_type) is None:
        raise unknown_type(entity_type)
    return [(entity_type, schema.shipped(entity_type), [])]


async def of_entity(context: Context, entity_id: str, entity_type: str | None) -> Sampled:
    """Return a sample of the observations of one entity.

    Raises:
        NotFound: no live entity has this id, or it has another type.
    """
    row = await context.graph.one(
        "schema.sample_of_entity",
        _Sample,
        entity_id=entity_id,
        limit=SAMPLE_LIMIT,
        cut=schema_candidates.VALUE_CHARACTERS,
    )
    if row is None or entity_type not in (None, row.type):
        what = "entity" if entity_type is None else entity_type
        raise NotFound(f"there is no {what} {entity_id}", entity_id=entity_id)
    return row.type, _declared(row.type, row.document), row.sample


def _declared(entity_type: str, document: str | None) -> SchemaDocument | None:
    """Return the schema document of a type: the registered one, or else the shipped one."""
    return schema.shipped(entity_type) if document is None else SchemaDocument.read(document)
