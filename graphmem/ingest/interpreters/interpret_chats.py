"""Exports of chats: conversations and their messages.

A conversation that has an id is identified by it, and its title is its canonical name: many have the same
title. A message, and a conversation without a title, is called by the beginning of its text. WhatsApp names
the senders: each is a person, by the name or the phone number that stands there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from graphmem.ingest.document import ParsedDocument, Part, PartField
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
    "hidden": "hidden",
    "attachments": "attachments",
    "attachments_text": "attachments_text",
}
NAME_CHARACTERS_LIMIT = 80
TIMES = ("updated_at", "created_at")
PHONE = re.compile(r"\+?[\d\s().-]{7,}")


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    people: dict[str, int | None] = {}
    conversation: int | None = None
    title: LabelledMember | None = None
    for index, part in enumerate(document.parts):
        if part.kind == "conversation":
            title = _title(part)
            conversation = _conversation(draft, document, index, title)
        elif part.kind == "message" and part.fields:
            fields = fields_by_name(part.fields)
            sent_at = moment(text_of(fields.get("sent_at")))
            members = [*rename(fields, MESSAGE_NAMES), LabelledMember("channel", document.format)]
            if title is not None:
                members.append(title._replace(name="conversation"))
            name = _name(fields)
            message = draft.entity("message", members, part.span, canonical_name=name, observed_at=sent_at)
            draft.relate("PART_OF", message, conversation, part.span, observed_at=sent_at)
            sender = fields.get("role") if document.format == "whatsapp" else None
            if sender is not None:
                if sender.value not in people:
                    label = "phone" if PHONE.fullmatch(sender.value) else "name"
                    person = [LabelledMember(label, sender.value, sender.span)]
                    people[sender.value] = draft.entity("person", person, sender.span, observed_at=sent_at)
                draft.relate("CREATED_BY", message, people[sender.value], sender.span, observed_at=sent_at)
    return draft.proposal()


def _name(fields: Mapping[str, PartField]) -> str | None:
    """Return the name of a message: the beginning of what it says, or the names of its files.

    One without an id is identified by its name: that has sender, time and length, so that two "ok" stay two.
    """
    text = text_of(fields.get("text")) or text_of(fields.get("attachments_text")) or ""
    files = fields.get("attachments")
    line = " ".join(text.split()) or ", ".join(files.value if files is not None else ())
    beginning = line if len(line) <= NAME_CHARACTERS_LIMIT else f"{line[:NAME_CHARACTERS_LIMIT].rstrip()}…"
    if text_of(fields.get("id")) is not None or not beginning:
        return beginning or None
    sender, sent = (text_of(fields.get(name)) for name in ("role", "sent_at"))
    length = f" [{len(line):,}]" if beginning != line else ""
    return f"{sender} ({sent}): {beginning}{length}"


def _title(part: Part) -> LabelledMember | None:
    field = fields_by_name(part.fields).get("title")
    title = text_of(field)
    return (
        LabelledMember("title", title, field.span)
        if field is not None and title not in (None, UNTITLED)
        else None
    )


def _conversation(
    draft: ProposalDraft, document: ParsedDocument, index: int, title: LabelledMember | None
) -> int | None:
    part = document.parts[index]
    fields = fields_by_name(part.fields)
    members = rename(fields, CONVERSATION_NAMES)
    has_id = text_of(fields.get("id")) is not None
    if title is not None and not has_id:
        members.append(title)
    if not members:
        draft.warn("A conversation has neither an id nor a title: it is left out.")
        return None
    name = title.value if title is not None else _first_words(document.parts[index + 1 :])
    times = (moment(text_of(fields.get(name))) for name in TIMES)
    return draft.entity(
        "conversation",
        [*members, LabelledMember("channel", document.format)],
        part.span,
        canonical_name=name if has_id else None,
        observed_at=next(filter(None, times), None),
    )


def _first_words(parts: Sequence[Part]) -> str | None:
    """Return the name of the first message of a conversation that its program shows."""
    for part in parts:
        fields = fields_by_name(part.fields)
        if part.kind == "conversation":
            return None
        if part.kind == "message" and "hidden" not in fields:
            return _name({**fields, "id": fields["text"]} if "text" in fields else fields)
    return None
