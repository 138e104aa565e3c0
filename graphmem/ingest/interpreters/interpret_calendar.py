"""Calendars: events, tasks and journal entries, and their people by their addresses (docs/files.md).

The newest revision counts. An answer to an invitation says what one attendee does, and nothing of the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from graphmem.ingest.document import ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import fields_by_name, rename, text_of
from graphmem.ingest.interpreters.people import Mention, People, mentions
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, moment
from graphmem.ingest.interpreters.text_places import widen
from graphmem.ingest.proposal import Proposal
from graphmem.ingest.tables import table
from graphmem.model import timeline_fields, times

COMPONENTS = {"event": "event", "task": "task", "journal": "note"}  # the entity type of each component
ROLES = {"organizer": "organizer", "attendees": "attendee"}
PARTICIPATION = {"role": "participation", "status": "status"}
"""What a calendar says of the part that a person takes, and its name in the metadata."""
IDENTITY = (("external_id", "recurrence_id"), ("external_id",))
TIMES = ("start", "end", "due", "instances")
REVISED = ("start", "end", "due", "location", "duration", "rule", "instances")
"""What an earlier revision of an entry may have had."""


CALENDARS = "calendar.google.com"
"""The domain of addresses that stand for calendars and for unknown organisers."""


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    add_entries(draft, People(draft), document)
    return draft.proposal()


def add_entries(draft: ProposalDraft, people: People, document: ParsedDocument) -> dict[int, int]:
    """Add the entries of the calendars of a document; return the entity of each by the index of its part."""
    entries: dict[int, int] = {}
    series: dict[str, int] = {}
    changes: list[tuple[int, Mapping[str, PartField], Part]] = []
    for place, part in enumerate(document.parts):
        fields = fields_by_name(part.fields) if part.kind == "event" else {}
        entry = _add(draft, people, document.text, part, fields) if fields else None
        if entry is not None:
            entries[place] = entry
        if entry is not None and "recurrence_id" in fields and "uid" in fields:
            changes.append((entry, fields, part))
        elif entry is not None:
            series.setdefault(text_of(fields.get("uid")) or "", entry)
    named: set[str | None] = set()
    for entry, fields, part in changes:
        whole = series.get(text_of(fields["uid"]) or "-")
        if whole is None:
            whole = _change_of_series(draft, fields, part, named)
        draft.relate("PART_OF", entry, whole, fields["uid"].span)
    return entries


def _change_of_series(
    draft: ProposalDraft, fields: Mapping[str, PartField], part: Part, named: set[str | None]
) -> int | None:
    """Say of a series that stands in another file when an instance of it takes place; return its index.

    ``named`` are the series that have a name already. The instance may have another name than its series: so
    the name counts where nothing else gives one.
    """
    entity_type = COMPONENTS[_component(fields)]
    start, title = fields.get("start"), fields.get("summary")
    uid = fields["uid"]._replace(name="external_id")
    if title is not None and uid.value not in named:
        members = [title._replace(name="title"), uid]
        draft.entity(entity_type, members, part.span, observed_at=times.render(0), identified_by=IDENTITY)
        named.add(uid.value)
    name = timeline_fields.name_of_change(fields["recurrence_id"].value, is_of_later="range" in fields)
    change = PartField(name, timeline_fields.CANCELLED)
    if start is not None and not _is_cancelled(fields):
        change = start._replace(name=name)
    observed_at = _observed_at(fields, _revision(fields))
    return draft.entity(
        entity_type, [uid, change], part.span, observed_at=observed_at, identified_by=IDENTITY
    )


def _component(fields: Mapping[str, PartField]) -> str:
    component = text_of(fields.get("component"))
    return component if component in COMPONENTS else "event"


def _is_cancelled(fields: Mapping[str, PartField]) -> bool:
    return (text_of(fields.get("status")) or "").upper() == "CANCELLED"


def _revision(fields: Mapping[str, PartField]) -> int:
    sequence = text_of(fields.get("sequence")) or ""
    return int(sequence[:9]) if sequence.isdecimal() else 0


def _add(
    draft: ProposalDraft, people: People, text: str, part: Part, fields: Mapping[str, PartField]
) -> int | None:
    component = _component(fields)
    entity_type = COMPONENTS[component]
    is_cancelled, revision = _is_cancelled(fields), _revision(fields)
    names = table("field_names")["calendar"] | table("field_names")[component]
    cleared = [
        new for old, new in names.items() if (is_cancelled and old in TIMES) or (revision and old in REVISED)
    ]
    members = rename(fields, {old: new for old, new in names.items() if not (is_cancelled and old in TIMES)})
    mentioned = {name: list(mentions(text, fields.get(name))) for name in ROLES}
    rooms = [person for person in mentioned["attendees"] if _is_room(person, fields)]
    mentioned["attendees"] = [person for person in mentioned["attendees"] if person not in rooms]
    for name, persons in mentioned.items():
        labels = [person.name or person.label for person in persons]
        # An answer names nobody but who answers.
        if labels and "method" not in fields:
            span = widen(persons[0].span, persons[-1].span)
            members.append(PartField(name, labels if name == "attendees" else labels[0], span))
    observed_at = _observed_at(fields, revision)
    entry = draft.entity(
        entity_type,
        members,
        part.span,
        observed_at=observed_at,
        cleared=cleared,
        identified_by=IDENTITY if "uid" in fields else None,
    )
    for name, role in ROLES.items():
        for person in mentioned[name]:
            metadata = {"roles": [role]} | {
                PARTICIPATION[key]: value for key, value in person.statement.items() if key in PARTICIPATION
            }
            kind = str(person.statement.get("kind", "INDIVIDUAL")).upper()
            is_person = kind in ("INDIVIDUAL", "UNKNOWN") and not person.label.endswith(CALENDARS)
            target = people.add(person, observed_at) if entry is not None and is_person else None
            draft.relate("REFERS_TO", entry, target, person.span, metadata, observed_at)
    for room in rooms:
        room_members = [
            PartField("name", room.name, room.name_span),
            PartField("email", room.address, room.label_span),
        ]
        location = draft.entity("location", room_members, room.span, observed_at=observed_at)
        draft.relate("LOCATED_AT", entry, location, room.span, observed_at=observed_at)
    return entry


def _is_room(person: Mention, fields: Mapping[str, PartField]) -> bool:
    """Return whether a calendar means a room; some programs call rooms resources."""
    kind = str(person.statement.get("kind", "")).upper()
    is_place = person.name is not None and person.name in (text_of(fields.get("location")) or "")
    return kind == "ROOM" or (kind == "RESOURCE" and is_place)


def _observed_at(fields: Mapping[str, PartField], revision: int) -> str | None:
    """Return when an entry was so. Of two revisions of one second, the later one has more microseconds."""
    times = (moment(text_of(fields.get(name))) for name in ("modified", "stamped", "created"))
    observed_at = next(filter(None, times), None)
    if observed_at is None or not revision:
        return observed_at
    return datetime.fromisoformat(observed_at).replace(microsecond=min(revision, 999_999)).isoformat()
