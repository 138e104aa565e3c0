"""The types that are shipped: documents that declare what is usual, and never hide or convert anything.

What identifies their entities is said in :mod:`graphmem.model.identity` alone.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from graphmem.model import canonical
from graphmem.model.schema.document import Document
from graphmem.model.schema.parsing import parse

VERSION: Final = "1.0"
"""The version of every shipped document."""


@cache
def shipped_types() -> tuple[str, ...]:
    """Return the types that are shipped, sorted."""
    found = resources.files("graphmem.model").joinpath("types").iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in found if file.name.endswith(".json")))


@cache
def shipped(entity_type: str) -> Document | None:
    """Return the shipped document of a type (in its canonical spelling), ``None`` where there is none."""
    if entity_type not in shipped_types():
        return None
    file = resources.files("graphmem.model").joinpath("types", f"{entity_type}.json")
    raw = canonical.decode(file.read_text(encoding="utf-8"))
    return parse(entity_type, {**raw, "additional_fields": "show", "mismatch": "show"})
