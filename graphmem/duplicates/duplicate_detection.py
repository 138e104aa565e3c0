"""Which fields of each type are compared for duplicates, and from which score a pair is proposed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from graphmem.duplicates.similarity import COMPARED_FIELDS, Profile
from graphmem.model.schema import SchemaDocument, shipped
from graphmem.model.schema.schema_document import Detection
from graphmem.registry import Context

FIELDS: Final = sorted(COMPARED_FIELDS)
"""The fields that are compared of a type whose schema names none."""


class _DocumentRow(NamedTuple):
    entity_type: str
    document: str


@dataclass(frozen=True, slots=True)
class Detections:
    """What the schemas of some types say of duplicates; a type whose schema says nothing is missing.

    ``kinds_by_type`` has the kind of each field that is compared, ``thresholds`` the least score of a pair.
    """

    kinds_by_type: Mapping[str, Mapping[str, str]]
    thresholds: Mapping[str, float]

    @classmethod
    def of(cls, types: Iterable[str], registered: Callable[[str], Detection | None]) -> Self:
        """Return what registered schemas say, or else shipped ones."""
        kinds: dict[str, Mapping[str, str]] = {}
        thresholds: dict[str, float] = {}
        for name in types:
            document = shipped(name)
            detection = registered(name) or (document.detection if document else None)
            if detection is not None and detection.fields:
                kinds[name] = {
                    field: COMPARED_FIELDS.get(field) or ("~" if kind == "string" else "=") + field
                    for field, kind in detection.fields
                }
            if detection is not None and detection.threshold is not None:
                thresholds[name] = detection.threshold
        return cls(kinds, thresholds)

    @property
    def fields(self) -> list[str]:
        """The names of all fields that may be compared, sorted."""
        return sorted({*FIELDS, *(name for kinds in self.kinds_by_type.values() for name in kinds)})

    def kinds(self, entity_type: str) -> Mapping[str, str]:
        """Return the kind of each field of a type that is compared."""
        return self.kinds_by_type.get(entity_type, COMPARED_FIELDS)


async def read(context: Context, types: Iterable[str]) -> Detections:
    """Return what the schemas of some types say."""
    types = sorted(types)
    rows = await context.graph.only("schema.documents", list[_DocumentRow], types=types)
    documents = {each.entity_type: SchemaDocument.read(each.document).detection for each in rows}
    return Detections.of(types, documents.get)


VALUE_CHARACTERS_LIMIT: Final = 1_000
"""A longer value is not compared; as in ``duplicate/_row.cypher``."""


def profile(row: Sequence[Any], detections: Detections) -> Profile:
    """Return an entity from an item of ``duplicate/_row.cypher``."""
    entity_id, entity_type, name, observations, created_at, fields, values = row
    kinds = detections.kinds(entity_type)
    # A commit may fall between the reading of the fields and that of their values: then neither is compared.
    pairs = zip(fields, values, strict=True) if len(fields) == len(values) else ()
    texts = compared(((field, value) for field, value in pairs if value is not None), kinds)
    return Profile(entity_id, entity_type, name, texts, (observations, -created_at), kinds)


def compared(values: Iterable[tuple[str, str]], kinds: Mapping[str, str]) -> dict[str, str]:
    """Return those values of a snapshot that are compared, as ``duplicate/_row.cypher`` does."""
    return {name: text for name, text in values if name in kinds and len(text) <= VALUE_CHARACTERS_LIMIT}
