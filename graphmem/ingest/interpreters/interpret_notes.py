"""Markdown: one entity, whose front matter is its fields and whose body is its content.

The entity type is `entity_type` or `type` of the front matter, else `note`. A title that is not in the front
matter is the first heading, else the name of the file. A file of `graphmem export` is the entity that it was.
"""

from __future__ import annotations

from graphmem.ingest.document import FileSpan, ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.exported_notes import exported_note
from graphmem.ingest.interpreters.interpret_exported import stated_identity
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import TYPE_LABELS, configured_type, entity_type_of, members_of, stem
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, heading, whole_text
from graphmem.ingest.proposal import Proposal
from graphmem.model import identity

GENERAL_TYPE = "note"


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    front = next(iter(document.parts), None)
    front = front if front is not None and front.kind == "record" else None
    if front is not None and _add_exported(draft, document, front):
        return draft.proposal()
    members = {member.name: member for member in members_of(front.fields if front is not None else ())}
    entity_type = configured_type(options.configuration)
    for label in TYPE_LABELS:
        type_member = members.get(label)
        if entity_type is None and type_member is not None:
            entity_type = entity_type_of(type_member.value)
            if entity_type is not None:
                del members[label]
    if "entity_type" in members:
        draft.warn("The front matter has a member entity_type that is not used.")
        del members["entity_type"]
    entity_type = entity_type or GENERAL_TYPE
    start = (front.span.end if front is not None else 0) or 0
    text = document.text[start:]
    body = text.strip()
    start += len(text) - len(text.lstrip())
    line = 1 + document.text.count("\n", 0, start)
    also = [PartField("content", body, FileSpan(line=line, start=start, end=start + len(body)))]
    if not {"title", "name"} & set(members):
        also.append(_title(document, options, entity_type))
    draft.item(entity_type, members.values(), whole_text(document), also)
    return draft.proposal()


def _add_exported(draft: ProposalDraft, document: ParsedDocument, front: Part) -> bool:
    """Add the entity of a file of `graphmem export`; return whether it is one."""
    values = {field.name: field.value for field in front.fields}
    note = exported_note(values, document.text[(front.span.end or 0) :], document.text)
    who = stated_identity(values) if note is not None else None
    if note is None or who is None:
        return False
    identified = (who.names, who.fields)
    draft.observation(
        note.entity_type, note.fields, whole_text(document), identified, observed_at=note.observed_at
    )
    if note.links.strip():
        draft.drop("The relationships of the file are left out: `graphmem import` reads them.")
    return True


def title_field(entity_type: str) -> str:
    """Return the field of a title; people, places and the like have a name instead."""
    rule = identity.rule(entity_type)
    has_name = entity_type in identity.SHIPPED and ("name",) in rule
    return "name" if has_name and rule.index(("name",)) < rule.index(("title",)) else "title"


def _title(document: ParsedDocument, options: InterpreterOptions, entity_type: str) -> PartField:
    name = title_field(entity_type)
    if document.title is None:
        return PartField(name, stem(options.file_name))
    return PartField(name, document.title, heading(document, document.title))
