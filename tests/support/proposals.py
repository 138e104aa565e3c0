"""Proposals of small files, and their parts as tests compare them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from graphmem.ingest import Proposal, propose
from graphmem.ingest.child import parsed_here
from graphmem.ingest.document import DocumentLimits, FileSpan, Part, PartField
from graphmem.model import items, times
from graphmem.reading import source_answers


def proposal_of(file_name: str, text: str, **more: Any) -> Proposal:
    """Return what an interpreter proposes of a file. ``more``: the arguments of :func:`propose`."""
    return propose(parsed_here(text.encode(), None, file_name, DocumentLimits()), file_name=file_name, **more)


def types_and_fields(proposed: Proposal) -> list[tuple[str, dict[str, Any]]]:
    """Return the entities of a proposal, without places and names."""
    return [(entity.entity_type, dict(entity.fields)) for entity in proposed.entities]


def relationships(proposed: Proposal) -> list[tuple[str, Any, Any, dict[str, Any]]]:
    """Return the relationships with a name of each end in place of its index."""

    def shown(index: int) -> Any:
        entity = proposed.entities[index]
        names = ("message_id", "email", "title", "name")
        return next((entity.fields[name] for name in names if name in entity.fields), entity.canonical_name)

    return [
        (link.relationship_type, shown(link.source), shown(link.target), dict(link.metadata))
        for link in proposed.relationships
    ]


def check_storable(proposed: Proposal) -> None:
    """Check that no element would be refused, except for a time in the future."""
    reader = items.ItemReader("owner", "txn")
    for index, entity in enumerate(proposed.entities):
        assert not set(entity.fields) & (items.RESERVED | set(source_answers.KEYS))
        if entity.stored_as == {"kind": "delete"}:
            continue
        item: dict[str, Any] = {"entity_type": entity.entity_type, **entity.fields}
        if entity.canonical_name is not None:
            item["canonical_name"] = entity.canonical_name
        if entity.observed_at is not None:
            times.parse(entity.observed_at)
        reader.item(index, item)
        spans = {name: span.as_dict() for name, span in entity.spans.items()}
        more = {"spans": spans} | ({"span": entity.span.as_dict()} if entity.span is not None else {})
        source_answers.read_places(reader, index, "$", item | more)
        assert set(entity.spans) <= set(entity.fields)
    for index, link in enumerate(proposed.relationships):
        raw = {"relationship_type": link.relationship_type, "metadata": dict(link.metadata)}
        ends = {"source_index": link.source, "target_index": link.target}
        reader.link(index, raw | ends, len(proposed.entities))
        assert link.source != link.target
        if link.observed_at is not None:
            times.parse(link.observed_at)
    assert reader.issues == []
    json.dumps(plain(proposed), allow_nan=False, ensure_ascii=False).encode()


def plain(value: Any) -> Any:
    """Return a document or a proposal as goldens show it: in objects, without what is absent."""
    if isinstance(value, FileSpan):
        return value.as_dict()
    if isinstance(value, Part | PartField):
        members = value._asdict()
    elif dataclasses.is_dataclass(value):
        members = {member.name: getattr(value, member.name) for member in dataclasses.fields(value)}
    elif isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    else:
        return list(map(plain, value)) if isinstance(value, list | tuple) else value
    return {
        name: plain(part)
        for name, part in members.items()
        if isinstance(value, PartField)
        or not (
            part is None or (isinstance(value, Part) and part == ()) or (name == "metadata" and part == {})
        )
    }
