"""Likely duplicates: which pairs of entities are compared, how similar they are, and pages of such pairs."""

from typing import Any, Final

from graphmem import tables

TABLES: Final[dict[str, dict[str, Any]]] = tables.read("duplicates/comparison")
"""What is compared, and how much it counts."""
