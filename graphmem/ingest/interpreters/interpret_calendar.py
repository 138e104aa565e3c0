"""Calendars: events, tasks and journal entries, and their people by their addresses.

An event refers to its organiser and its attendees, with their roles. Recurrences are not expanded.
"""

from __future__ import annotations

from graphmem.ingest.document import ParsedDocument, Part
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import LabelledMember, fields_by_name, rename, text_of
from graphmem.ingest.interpreters.people import People, mentions
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, moment
from graphmem.ingest.interpreters.text_places import widen
from graphmem.ingest.proposal import Proposal

SHARED_NAMES = {
    "summary": "title",
    "location": "location",
    "status": "status",
    "url": "url",
    "uid": "external_id",
    "priority": "priority",
    "duration": "duration",
    "rule": "recurrence",
    "recurrence_id": "recurrence_id",
    "timezone": "timezone",
    "categories": "tags",
}
TYPES = {
    "event": ("event", {"start": "date_start", "end": "date_end", "description": "description"}),
    "task": (
        "task",
        {
            "start": "start_date",
            "due": "due_date",
            "completed": "completed_date",
            "description": "description",
        },
    ),
    "journal": ("note", {"start": "date", "description": "content"}),
}
"""The entity type of each component, and the names of its own fields."""
ROLES = {"organizer": "organizer", "attendees": "attendee"}
PARTICIPATION = {"role": "participation", "status": "status"}
"""What a calendar says of the part that a person takes, and its name in the metadata."""


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    """Return the entries and their people."""
    draft = ProposalDraft()
    people = People(draft)
    for part in document.parts:
        if part.kind == "event":
            _add(draft, people, document.text, part)
    return draft.proposal()


def _add(draft: ProposalDraft, people: People, text: str, part: Part) -> None:
    fields = fields_by_name(part.fields)
    entity_type, own_names = TYPES.get(text_of(fields.get("component")) or "event", TYPES["event"])
    members = rename(fields, SHARED_NAMES | own_names)
    mentioned = {name: list(mentions(text, fields.get(name))) for name in ROLES}
    for name, persons in mentioned.items():
        labels = [person.name or person.label for person in persons]
        if labels:
            span = widen(persons[0].span, persons[-1].span)
            members.append(LabelledMember(name, labels if name == "attendees" else labels[0], span))
    times = (moment(text_of(fields.get(name))) for name in ("modified", "created"))
    observed_at = next(filter(None, times), None)
    entry = draft.entity(entity_type, members, part.span, observed_at=observed_at)
    for name, role in ROLES.items():
        for person in mentioned[name]:
            metadata = {"roles": [role]} | {
                PARTICIPATION[key]: value for key, value in person.statement.items() if key in PARTICIPATION
            }
            target = people.add(person, observed_at) if entry is not None else None
            draft.relate("REFERS_TO", entry, target, person.span, metadata, observed_at)
