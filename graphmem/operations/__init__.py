"""The operations: one file per noun. Importing this package fills the registry."""

from graphmem.operations import entities, observations, relationships, schemas, server, store

__all__ = ["entities", "observations", "relationships", "schemas", "server", "store"]
