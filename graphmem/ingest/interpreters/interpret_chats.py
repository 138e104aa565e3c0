"""Exports of chats: conversations and their messages (docs/files.md).

A conversation that has an id is identified by it, and its title is its canonical name: many have the same
title. A message, and a conversation without a title, is called by the beginning of its text. Two people of
one name stay two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from graphmem.ingest.document import FileSpan, ParsedDocument, Part, PartField
from graphmem.ingest.formats.chats import UNTITLED
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import fields_by_name, rename, text_of
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, moment
from graphmem.ingest.proposal import Proposal
from graphmem.ingest.tables import table
from graphmem.model import identity

FIELD_NAMES = table("field_names")
MESSENGERS = ("whatsapp", "telegram", "slack", "messenger")  # formats whose senders are people
NAME_CHARACTERS_LIMIT = 80
TIMES = ("updated_at", "created_at")
PHONE = re.compile(r"\+?[\d\s().-]{7,}")


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    people = _People(draft, document.format)
    conversation: int | None = None
    title: PartField | None = None
    by_id: dict[str, int | None] = {}
    replies: list[tuple[int | None, PartField]] = []
    for index, part in enumerate(document.parts):
        fields = fields_by_name(part.fields)
        if part.kind == "contact":
            people.add(fields, part.span)
        elif part.kind == "conversation":
            field = fields_by_name(part.fields).get("title")
            title = field if text_of(field) not in (None, UNTITLED) else None
            conversation = _conversation(draft, document, index, title)
        elif part.kind == "message" and fields:
            message = _message(draft, document.format, part, title, conversation, people)
            by_id.setdefault(text_of(fields.get("id")) or "", message)
            if "reply_to" in fields:
                replies.append((message, fields["reply_to"]))
    for message, answered in replies:
        draft.relate("REFERENCES", message, by_id.get(text_of(answered) or "-"), answered.span)
    return draft.proposal()


def _message(
    draft: ProposalDraft, format: str, part: Part, title: PartField | None, conversation: int | None,
    people: _People,
) -> int | None:  # fmt: skip
    """Add a message, its conversation, who sent it, and whom it mentions."""
    fields = fields_by_name(part.fields)
    sent_at = moment(text_of(fields.get("sent_at")))
    members = [*rename(fields, FIELD_NAMES["message"]), PartField("channel", format)]
    if title is not None:
        members.append(title._replace(name="conversation"))
    mentions = _texts_of(fields.get("mentions"))
    if mentions:
        members.append(PartField("mentions", [people.names.get(each, each) for each in mentions]))
    message = draft.entity("message", members, part.span, canonical_name=_name(fields), observed_at=sent_at)
    draft.relate("PART_OF", message, conversation, part.span, observed_at=sent_at)
    if format in MESSENGERS and "role" in fields:
        sender, span = people.sender(fields, sent_at), fields["role"].span
        draft.relate("CREATED_BY", message, sender, span, observed_at=sent_at)
    for each in mentions:
        target = people.known.get(each)
        draft.relate("REFERS_TO", message, target, part.span, {"roles": ["mention"]}, sent_at)
    return message


class _People:
    """The people of an export, by their ids there, else by their names."""

    def __init__(self, draft: ProposalDraft, format: str) -> None:
        self.known: dict[str, int | None] = {}
        self.names: dict[str, str] = {}
        self._draft = draft
        self._id_field = f"{format}_id"
        self._ids: dict[str, str] = {}

    def add(
        self, fields: Mapping[str, PartField], span: FileSpan, observed_at: str | None = None
    ) -> int | None:
        """Add a person. One with the name of another, and another id, is called by both."""
        name, key = text_of(fields.get("name")), text_of(fields.get("id"))
        if name is None:
            return None
        members = rename(fields, FIELD_NAMES["person"])
        if PHONE.fullmatch(name):
            members[0] = members[0]._replace(name="phone")
        identified_by = None
        if key is not None:
            members.append(PartField(self._id_field, key, fields["id"].span))
            first = self._ids.setdefault(identity.fold_text(name), key)
            identified_by = ((self._id_field,),) if first != key and "email" not in fields else None
        called = f"{name} ({key})" if identified_by else None
        person = self._draft.entity(
            "person",
            members,
            span,
            canonical_name=called,
            observed_at=observed_at,
            identified_by=identified_by,
        )
        username = text_of(fields.get("username"))
        for each in (key or name, *([f"@{username}"] if username else [])):
            self.known.setdefault(each, person)
            self.names.setdefault(each, name)
        return person

    def sender(self, fields: Mapping[str, PartField], sent_at: str | None) -> int | None:
        """Return the sender of a message, who need not be in a list of people."""
        role, key = fields["role"], fields.get("sender_id")
        name = text_of(role) or ""
        known = text_of(key) or name
        if known not in self.known and name in self.known:
            known = name
        if known not in self.known:
            named = {"name": role._replace(name="name")} | ({} if key is None else {"id": key})
            return self.add(named, role.span, sent_at)
        return self.known[known]


def _texts_of(field: PartField | None) -> list[str]:
    values = field.value if field is not None and isinstance(field.value, list) else []
    return [each for each in values if isinstance(each, str)]


def _name(fields: Mapping[str, PartField]) -> str | None:
    """Return the name of a message: the beginning of what it says, or the names of its files.

    One without an id is identified by its name: that has sender, time and length, so that two "ok" stay two.
    """
    text = text_of(fields.get("text")) or text_of(fields.get("attachments_text")) or ""
    files = fields.get("attachments")
    line = " ".join(text.split()) or ", ".join(_texts_of(files))
    beginning = line if len(line) <= NAME_CHARACTERS_LIMIT else f"{line[:NAME_CHARACTERS_LIMIT].rstrip()}…"
    if text_of(fields.get("id")) is not None or not beginning:
        return beginning or None
    sender, sent = (text_of(fields.get(name)) for name in ("role", "sent_at"))
    length = f" [{len(line):,}]" if beginning != line else ""
    return f"{sender} ({sent}): {beginning}{length}"


def _conversation(
    draft: ProposalDraft, document: ParsedDocument, index: int, title: PartField | None
) -> int | None:
    part = document.parts[index]
    fields = fields_by_name(part.fields)
    members = rename(fields, FIELD_NAMES["conversation"])
    has_id = text_of(fields.get("id")) is not None
    if title is not None and not has_id:
        members.append(title)
    if not members:
        draft.drop("A conversation has neither an id nor a title: it is left out.")
        return None
    name = title.value if title is not None else _first_words(document.parts[index + 1 :])
    times = (moment(text_of(fields.get(name))) for name in TIMES)
    return draft.entity(
        "conversation",
        [*members, PartField("channel", document.format)],
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
