"""The shipped types: documents that declare common fields and never hide or convert a value.

Their identity rules are in :mod:`graphmem.model.identity`.
"""

from functools import cache
from importlib import resources
from typing import Final

from graphmem.model import canonical
from graphmem.model.schema.schema_document import SchemaDocument
from graphmem.model.schema.schema_parsing import parse

VERSION: Final = "1.0"  # the version of every shipped document


@cache
def shipped_types() -> tuple[str, ...]:
    files = resources.files("graphmem.model").joinpath("types").iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json")))


@cache
def shipped(entity_type: str) -> SchemaDocument | None:
    """Return the shipped document of a type (in its canonical spelling), or ``None``."""
    if entity_type not in shipped_types():
        return None
    file = resources.files("graphmem.model").joinpath("types", f"{entity_type}.json")
    raw = canonical.decode(file.read_text(encoding="utf-8"))
    return parse(entity_type, {**raw, "additional_fields": "show", "mismatch": "show"})
