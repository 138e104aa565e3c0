"""What a file calls its values, and the names that these become: of fields, of entity types."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from graphmem.ingest.document import PartField
from graphmem.ingest.proposal import InterpretationFailed
from graphmem.ingest.tables import table
from graphmem.model import identity

SPELLINGS = {"e_mail": "email"}  # field names that have two spellings
CACHED_CHARACTERS_LIMIT = 200
NUMBER_CHARACTERS = 4  # of `_999`, behind a name that comes again
EDGES = re.compile(r"^[\W\d_]+|[\W\d_]+$")
PLACEHOLDERS = frozenset(table("field_names")["labels"]["placeholders"].split())
TYPE_LABELS = ("entity_type", "type")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_empty(value: Any) -> bool:
    """Return whether a value says nothing: null, or a text of white space alone."""
    return value is None or (isinstance(value, str) and (not value or value.isspace()))


def field_name(label: str) -> str:
    """Return the field name of a column or a member: ``"E-Mail"`` is ``email``, ``birthDate`` ``birth_date``.

    Lower case; what is no letter, no digit and no mark becomes one underscore. A label without letters and
    digits stays as it is. A question of a survey is shortened, with room for a number behind it.
    """
    # Short labels come again in every row; long ones must not fill the memory.
    return _short_name(label) if len(label) <= CACHED_CHARACTERS_LIMIT else _field_name(label)


def _field_name(label: str) -> str:
    spaced = "".join(
        c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in _CAPITAL.sub(" ", label)
    )
    name = "_".join(spaced.lower().split())
    if len(name) > identity.NAME_LIMIT:
        name = name[: identity.NAME_LIMIT - NUMBER_CHARACTERS].rstrip("_")
    return SPELLINGS.get(name, name) or label.strip()


_short_name = lru_cache(maxsize=10_000)(_field_name)


def members_of(fields: Iterable[PartField]) -> list[PartField]:
    """Return the fields of a part under their field names; a name that comes again gets its number."""
    members: dict[str, PartField] = {}
    numbers: dict[str, int] = {}
    for field in fields:
        name = base = field_name(field.name)
        while name in members:
            numbers[base] = numbers.get(base, 1) + 1
            name = f"{base}_{numbers[base]}"
        members[name] = field._replace(name=name)
    return list(members.values())


def entity_type_of(value: Any) -> str | None:
    """Return the canonical spelling of an entity type, ``None`` if a value is none."""
    try:
        return identity.normalise_type(value) if isinstance(value, str) else None
    except ValueError:
        return None


def configured_type(configuration: Mapping[str, Any]) -> str | None:
    value = configuration.get("entity_type")
    entity_type = entity_type_of(value)
    if value is not None and entity_type is None:
        raise InterpretationFailed(f"The configuration has no entity type: {str(value)[:100]!r}.")
    return entity_type


def known_type(name: str | None) -> str | None:
    """Return the shipped type that the name of a sheet or a file is, ``None`` if it is none."""
    entity_type = entity_type_of(name)
    return entity_type if entity_type in identity.SHIPPED else None


def type_of_table(name: str | None) -> str | None:
    """Return the type that the name of a sheet or a file is, ``None`` for one letter and for ``Sheet1``."""
    trimmed = "" if name is None else EDGES.sub("", name)
    return None if len(trimmed) < 3 or trimmed.lower() in PLACEHOLDERS else entity_type_of(trimmed)


def stem(file_name: str | None) -> str | None:
    if file_name is None:
        return None
    name = file_name.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def fields_by_name(part_fields: Iterable[PartField]) -> dict[str, PartField]:
    return {field.name: field for field in part_fields}


def text_of(field: PartField | None) -> str | None:
    """Return the value of a field if it is a text that says something."""
    return field.value if field is not None and isinstance(field.value, str) and field.value.strip() else None


def rename(fields: Mapping[str, PartField], names: Mapping[str, str]) -> list[PartField]:
    """Return the fields that a table of names has, under their new names."""
    return [fields[old]._replace(name=new) for old, new in names.items() if old in fields]
