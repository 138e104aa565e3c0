"""The labels of the nodes that belong to an owner, by the query that erases them, in the order of queries."""

from __future__ import annotations

from typing import Final

from graphmem.model import fact_table

_DERIVED: Final = {
    "receipt.erase": ("Receipt",),
    "owner.erase_transactions": ("Agent",),
    "owner.erase_relationships": ("Relationship", "History"),
    "owner.erase_entities": (
        "Entity", "History", "TimelineEvent", "FieldValue", "Meaning", "Relationship",
    ),
    "owner.erase_names": ("Identifier", "TypeAlias", "Passages", "Writing", "LostFact"),
    "owner.erase": ("Count", "Owner"),
}  # fmt: skip
OWNED: Final = {
    query: (*(kind.label for kind in fact_table.TABLE if kind.label and kind.erased_by == query), *labels)
    for query, labels in _DERIVED.items()
}
