"""Exports of mem0 and Zep, as their services answer them: memories, and graphs of entities with facts.

A memory of mem0 is a note. A node of Zep is an entity, its type the first label that is not `Entity`; an edge
is a relationship with the fact in its metadata, and an episode a message. Each is identified by its id there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from graphmem.ingest.document import FileSpan, ParsedDocument, PartField
from graphmem.ingest.interpreters.interpret_memory import GENERAL_TYPE, RELATION_TYPES, type_of_relation
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import entity_type_of, field_name, fields_by_name
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, place
from graphmem.ingest.proposal import Proposal
from graphmem.model import relationship

LISTS: Final = ("results", "memories", "relations", "nodes", "edges", "episodes", "messages")
"""Members of an export that are lists of its records."""
NESTED: Final = ("metadata", "attributes")  # members whose own members are fields of the record
LEFT_OUT: Final = ("hash", "score", "embedding", "name_embedding", "fact_embedding", "labels", *NESTED)
EDGE: Final = ("fact", "valid_at", "invalid_at", "expired_at", "created_at")
ENDS: Final = (("source_node_uuid", "target_node_uuid", "name"), ("source", "target", "relationship"))
"""The members of an edge of Zep, and of a relation of mem0: both ends, and the type."""


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    entities: dict[str, int | None] = {}
    links: list[tuple[Mapping[str, Any], tuple[str, str, str], FileSpan]] = []
    for record, span in _records(document):
        ends = next((names for names in ENDS if all(isinstance(record.get(n), str) for n in names[:2])), None)
        if ends is not None:
            links.append((record, ends, span))
        else:
            _add(draft, record, span, entities)
    for record, (source, target, kind), span in links:
        spelling = record.get(kind)
        if not isinstance(spelling, str) or not spelling.strip():
            draft.drop(f"A relation{place(span)} is left out: it lacks its type.")
            continue
        if kind == "relationship":
            for name in (record[source], record[target]):
                if name not in entities:
                    entities[name] = draft.entity(GENERAL_TYPE, [PartField("name", name)], span)
        elif not {record[source], record[target]} <= entities.keys():
            draft.drop(f"A relation{place(span)} is left out: the file has no node for one of its ends.")
            continue
        metadata = {name: record[name] for name in EDGE if record.get(name) is not None}
        draft.relate(
            type_of_relation(spelling, relationship.BUILTIN), entities[record[source]],
            entities[record[target]], span, {RELATION_TYPES: [spelling], **metadata},
        )  # fmt: skip
    return draft.proposal()


def _records(document: ParsedDocument) -> Iterator[tuple[Mapping[str, Any], FileSpan]]:
    for part in document.parts:
        fields = fields_by_name(part.fields)
        lists = [fields[name] for name in LISTS if name in fields and isinstance(fields[name].value, list)]
        for each in lists:
            yield from ((record, each.span) for record in each.value if isinstance(record, Mapping))
        if not lists:
            yield {name: field.value for name, field in fields.items()}, part.span


def _add(
    draft: ProposalDraft, record: Mapping[str, Any], span: FileSpan, entities: dict[str, int | None]
) -> None:
    labels = record.get("labels")
    is_node = isinstance(record.get("name"), str) and "uuid" in record
    texts = [record.get(name) for name in ("memory", "content")]
    if not is_node and not any(isinstance(text, str) for text in texts):
        draft.drop(f"A record{place(span)} is left out: it is no memory, node, edge or message.")
        return
    types = (
        (entity_type_of(each) for each in labels or () if each != "Entity")
        if isinstance(labels, list)
        else ()
    )
    kind = next(filter(None, types), GENERAL_TYPE) if is_node else "note" if "memory" in record else "message"
    fields = {field_name(name): value for name, value in record.items() if name not in LEFT_OUT}
    for nested in NESTED:
        more = record.get(nested)
        for name, value in more.items() if isinstance(more, Mapping) else ():
            fields.setdefault(field_name(name), value)
    if "memory" in fields:
        fields["content"] = fields.pop("memory")
    key = next((name for name in ("uuid", "id") if isinstance(record.get(name), str)), None)
    members = [PartField(name, value) for name, value in fields.items()]
    at = record.get("updated_at") or record.get("created_at")
    index = draft.entity(kind, members, span, observed_at=at, identified_by=((key,),) if key else None)
    if key is not None:
        entities.setdefault(record[key], index)
