"""E-mail: one message each, and its people by their addresses.

The sender wrote the message (`CREATED_BY`); the message refers to its recipients, with their roles. A reply
references the message that it answers, where the file has both, and the messages that are attached to it. It
also references the entries of the calendar that it brings, such as an invitation.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphmem.ingest.document import ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.interpret_calendar import People, add_entries, mentions
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import fields_by_name, rename, text_of
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, moment, widen
from graphmem.ingest.proposal import Proposal
from graphmem.ingest.tables import table

RECIPIENTS = ("to", "cc", "bcc")
NO_SUBJECT = "(no subject)"  # the name of a message that has an id and no subject


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    people = People(draft)
    by_id: dict[str, int] = {}
    replies: list[tuple[int, PartField, str | None]] = []
    holders: dict[int, int | None] = {}
    brought: dict[int, tuple[int | None, str | None]] = {}
    message, sent_at = None, None
    for place, part in enumerate(document.parts):
        if part.kind == "event":
            brought[place] = message, sent_at
            continue
        fields = fields_by_name(part.fields) if part.kind == "message" else {}
        sent_at = moment(text_of(fields.get("sent_at")))
        message = _add(draft, people, document.text, part, fields, sent_at) if fields else None
        level = part.level or 1
        if fields:
            holders[level] = message
        if message is None:
            continue
        if level > 1:
            metadata = {"roles": ["attachment"]}
            draft.relate("REFERENCES", holders.get(level - 1), message, part.span, metadata, sent_at)
        message_id = text_of(fields.get("message_id"))
        if message_id is not None:
            by_id.setdefault(message_id, message)
        if text_of(fields.get("in_reply_to")) is not None:
            replies.append((message, fields["in_reply_to"], sent_at))
    for message, answered, sent_at in replies:
        draft.relate("REFERENCES", message, by_id.get(answered.value), answered.span, observed_at=sent_at)
    for place, entry in add_entries(draft, people, document).items():
        message, sent_at = brought[place]
        draft.relate("REFERENCES", message, entry, document.parts[place].span, observed_at=sent_at)
    return draft.proposal()


def _add(
    draft: ProposalDraft, people: People, text: str, part: Part, fields: Mapping[str, PartField],
    sent_at: str | None,
) -> int | None:  # fmt: skip
    """Add a message and its people; return the message, ``None`` if nothing of it can be stored."""
    senders = list(mentions(text, fields.get("from")))
    recipients = [(role, person) for role in RECIPIENTS for person in mentions(text, fields.get(role))]
    members = rename(fields, table("field_names")["mail"])
    members += [PartField("sender", person.label, person.label_span) for person in senders[:1]]
    if recipients:
        labels = list(dict.fromkeys(person.label for _, person in recipients))
        span = widen(recipients[0][1].span, recipients[-1][1].span)
        members.append(PartField("recipients", labels, span))
    attachments = fields.get("attachments")
    if attachments is not None and isinstance(attachments.value, list):
        names = [file.get("name") for file in attachments.value if isinstance(file, dict)]
        members.append(PartField("attachments", [name for name in names if name], attachments.span))
    if not members:
        return None
    members.append(PartField("channel", "email"))
    # Its id means nothing to people. A message without one is identified by what it says.
    has_id = text_of(fields.get("message_id")) is not None
    name = (text_of(fields.get("subject")) or NO_SUBJECT) if has_id else None
    message = draft.entity("message", members, part.span, canonical_name=name, observed_at=sent_at)
    if message is None:
        return None
    for person in senders:
        draft.relate("CREATED_BY", message, people.add(person, sent_at), person.span, observed_at=sent_at)
    for role, person in recipients:
        target = people.add(person, sent_at)
        draft.relate("REFERS_TO", message, target, person.span, {"roles": [role]}, sent_at)
    return message
