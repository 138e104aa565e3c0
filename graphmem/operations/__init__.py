"""The operations: one file per noun. Importing this package fills the registry."""

from graphmem.operations import (
    entities,
    graph,
    lifecycle,
    observations,
    relationships,
    schema_analysis,
    schemas,
    server,
    store,
)

__all__ = [
    "entities", "graph", "lifecycle", "observations", "relationships", "schema_analysis", "schemas", "server",
    "store",
]  # fmt: skip
