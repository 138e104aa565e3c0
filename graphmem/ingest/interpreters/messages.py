"""E-mail: one message each, and its people by their addresses.

The sender wrote the message (`CREATED_BY`); the message refers to its recipients, with their roles. A reply
references the message that it answers, where the file has both.
"""

from __future__ import annotations

from graphmem.ingest.document import Document, Part
from graphmem.ingest.interpreters.draft import Draft, moment
from graphmem.ingest.interpreters.labels import Member, renamed, text_of, values
from graphmem.ingest.interpreters.people import Named, People, named_in
from graphmem.ingest.interpreters.places import widened
from graphmem.ingest.interpreters.table import Options
from graphmem.ingest.proposal import Proposal

RECIPIENTS = ("to", "cc", "bcc")
NAMES = {
    "message_id": "message_id",
    "subject": "subject",
    "body": "content",
    "sent_at": "sent_at",
    "in_reply_to": "in_reply_to",
    "list_id": "list_id",
}


def propose(document: Document, options: Options) -> Proposal:
    """Return the messages and their people."""
    draft = Draft()
    people = People(draft)
    by_id: dict[str, int] = {}
    replies: list[tuple[int, str, Part, str | None]] = []
    for part in document.parts:
        if part.kind != "message":
            continue
        fields = values(part.fields)
        sent_at = moment(text_of(fields.get("sent_at")))
        senders = list(named_in(document.text, fields.get("from")))
        recipients = {name: list(named_in(document.text, fields.get(name))) for name in RECIPIENTS}
        members = [
            *renamed(fields, NAMES),
            *_addressed(senders, [p for ps in recipients.values() for p in ps]),
        ]
        attachments = fields.get("attachments")
        if attachments is not None and isinstance(attachments.value, list):
            names = [file.get("name") for file in attachments.value if isinstance(file, dict)]
            members.append(Member("attachments", [name for name in names if name], attachments.span))
        if not members:
            continue
        members.append(Member("channel", "email"))
        message = draft.entity("message", members, part.span, observed_at=sent_at)
        if message is None:
            continue
        for person in senders:
            draft.relate("CREATED_BY", message, people.add(person, sent_at), person.span, observed_at=sent_at)
        for role, named in recipients.items():
            for person in named:
                target = people.add(person, sent_at)
                draft.relate("REFERS_TO", message, target, person.span, {"roles": [role]}, sent_at)
        message_id, answered = (text_of(fields.get(name)) for name in ("message_id", "in_reply_to"))
        if message_id is not None:
            by_id.setdefault(message_id, message)
        if answered is not None:
            replies.append((message, answered, part, sent_at))
    for message, answered, part, sent_at in replies:
        place = values(part.fields)["in_reply_to"].span
        draft.relate("REFERENCES", message, by_id.get(answered), place, observed_at=sent_at)
    return draft.proposal()


def _addressed(senders: list[Named], recipients: list[Named]) -> list[Member]:
    """Return who sent a message and who gets it, by their addresses."""
    members = [Member("sender", person.label, person.label_span) for person in senders[:1]]
    if recipients:
        labels = list(dict.fromkeys(person.label for person in recipients))
        members.append(Member("recipients", labels, widened(recipients[0].span, recipients[-1].span)))
    return members
