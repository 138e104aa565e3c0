"""The operations: one file per noun. Importing this package fills the registry."""

from graphmem.operations import (
    entities,
    graph,
    health,
    lifecycle,
    merging,
    observations,
    relationship_types,
    relationships,
    schemas,
    server,
    store,
)

__all__ = [
    "entities",
    "graph",
    "health",
    "lifecycle",
    "merging",
    "observations",
    "relationship_types",
    "relationships",
    "schemas",
    "server",
    "store",
]
