"""The operations: one file per noun. Importing this package fills the registry."""

from graphmem.operations import (
    duplicates,
    entities,
    graph,
    health,
    lifecycle,
    merging,
    neighbourhood,
    observations,
    relating,
    relationship_types,
    relationships,
    schema_analysis,
    schemas,
    server,
    store,
)

__all__ = [
    "duplicates",
    "entities",
    "graph",
    "health",
    "lifecycle",
    "merging",
    "neighbourhood",
    "observations",
    "relating",
    "relationship_types",
    "relationships",
    "schema_analysis",
    "schemas",
    "server",
    "store",
]
