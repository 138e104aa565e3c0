"""A Markdown file of `graphmem export`: what its front matter and its body say of an entity."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem.ingest.interpreters.labels import entity_type_of
from graphmem.model import identity

MARK: Final = "<!-- graphmem: relationships -->"
OWN: Final = ("graphmem", "checksum", "entity_type", "canonical_name", "identity", "updated", "fields")
"""Lines of the front matter that are no fields."""


class ExportedNote(NamedTuple):
    """``identity`` identifies the entity; ``label`` is its name; ``links`` are the lines of relationships.

    ``observed_at`` is the time of what the file says, unless somebody edited it.
    """

    entity_type: str
    identity: Mapping[str, Any]
    fields: dict[str, Any]
    label: str | None
    observed_at: str | None
    links: str


def checksum(text: str) -> str:
    """Return what tells whether somebody changed a file: the SHA-256 of its text without this line."""
    return hashlib.sha256(text.encode()).hexdigest()


def exported_note(front: Mapping[str, Any], body: str, text: str) -> ExportedNote | None:
    """Return what the front matter and the body of a text say, ``None`` if they are not as exported."""
    who, entity_type = front.get("identity"), entity_type_of(front.get("entity_type"))
    if "graphmem" not in front or entity_type is None or not isinstance(who, dict):
        return None
    if not isinstance(who.get("fields"), dict):
        return None
    beside = front.get("fields")
    fields = {name: value for name, value in front.items() if name not in OWN}
    fields |= beside if isinstance(beside, dict) else {}
    content, _, links = body.partition(MARK)
    if content.strip():
        fields["content"] = content.strip()
    label, updated, known = (front.get(name) for name in ("canonical_name", "updated", "checksum"))
    label = label if isinstance(label, str) else None
    if label is not None and identity.display_name(entity_type, str(front["graphmem"]), fields) != label:
        fields["canonical_name"] = label
    is_edited = known != checksum(text.replace(f'\nchecksum: "{known}"\n', "\n", 1))
    observed_at = updated if isinstance(updated, str) and not is_edited else None
    return ExportedNote(entity_type, who, fields, label, observed_at, links)
