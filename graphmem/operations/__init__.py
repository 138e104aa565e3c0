"""The operations: one file per noun. Importing this package fills the registry."""

from graphmem.operations import (
    entities,
    graph,
    lifecycle,
    neighbourhood,
    observations,
    relationships,
    schemas,
    server,
    store,
)

__all__ = [
    "entities",
    "graph",
    "lifecycle",
    "neighbourhood",
    "observations",
    "relationships",
    "schemas",
    "server",
    "store",
]
