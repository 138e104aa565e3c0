"""Exports of chats: conversations and their messages.

A conversation that has an id is identified by it, and its title is its canonical name: many have the same
title.
"""

from __future__ import annotations

from graphmem.ingest.document import ParsedDocument, Part
from graphmem.ingest.formats.chats import UNTITLED
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import LabelledMember, fields_by_name, rename, text_of
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, moment
from graphmem.ingest.proposal import Proposal

CONVERSATION_NAMES = {"id": "external_id", "created_at": "started_at", "updated_at": "updated_at"}
MESSAGE_NAMES = {
    "id": "message_id",
    "role": "sender",
    "text": "content",
    "sent_at": "sent_at",
    "model": "model",
    "current": "current",
    "attachments": "attachments",
}


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    """Return the conversations and their messages."""
    draft = ProposalDraft()
    conversation: int | None = None
    title: LabelledMember | None = None
    for part in document.parts:
        if part.kind == "conversation":
            title = _title(part)
            conversation = _conversation(draft, document, part, title)
        elif part.kind == "message" and part.fields:
            fields = fields_by_name(part.fields)
            sent_at = moment(text_of(fields.get("sent_at")))
            members = [*rename(fields, MESSAGE_NAMES), LabelledMember("channel", document.format)]
            if title is not None:
                members.append(title._replace(name="conversation"))
            message = draft.entity("message", members, part.span, observed_at=sent_at)
            draft.relate("PART_OF", message, conversation, part.span, observed_at=sent_at)
    return draft.proposal()


def _title(part: Part) -> LabelledMember | None:
    field = fields_by_name(part.fields).get("title")
    title = text_of(field)
    return (
        LabelledMember("title", title, field.span)
        if field is not None and title not in (None, UNTITLED)
        else None
    )


def _conversation(
    draft: ProposalDraft, document: ParsedDocument, part: Part, title: LabelledMember | None
) -> int | None:
    fields = fields_by_name(part.fields)
    members = rename(fields, CONVERSATION_NAMES)
    has_id = text_of(fields.get("id")) is not None
    if title is not None and not has_id:
        members.append(title)
    if not members:
        draft.warn("A conversation has neither an id nor a title: it is left out.")
        return None
    times = (moment(text_of(fields.get(name))) for name in ("updated_at", "created_at"))
    return draft.entity(
        "conversation",
        [*members, LabelledMember("channel", document.format)],
        part.span,
        canonical_name=title.value if title is not None and has_id else None,
        observed_at=next(filter(None, times), None),
    )
