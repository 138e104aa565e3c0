"""Calendars: events, tasks and journal entries, and their people by their addresses (docs/files.md).

The newest revision counts. An answer to an invitation says what one attendee does, and nothing of the entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from graphmem.ingest.content_lines import ADDRESS
from graphmem.ingest.document import FileSpan, ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import fields_by_name, rename, text_of
from graphmem.ingest.interpreters.proposal_draft import Cursor, ProposalDraft, moment, widen
from graphmem.ingest.proposal import Proposal
from graphmem.ingest.tables import table
from graphmem.model import identity, timeline_fields, times

REACH = 1_000  # how many characters may stand between two people in the text


class Mention(NamedTuple):
    """A person as a header or a property names one."""

    label: str  # the address, else the name; ``label_span`` is its place
    label_span: FileSpan
    name: str | None
    name_span: FileSpan
    address: str | None  # an e-mail address
    statement: dict[str, Any]  # all that the file says of the person there

    @property
    def span(self) -> FileSpan:
        return widen(self.name_span, self.label_span) if self.name is not None else self.label_span


def mentions(text: str, field: PartField | None) -> Iterator[Mention]:
    """Yield the people of a field: one object or a list. The text has the name of each before the address."""
    if field is None:
        return
    cursor = Cursor(text, field.span, REACH)
    for statement in field.value if isinstance(field.value, list) else [field.value]:
        if not isinstance(statement, dict):
            continue
        texts = (statement.get(key) for key in ("name", "address"))
        name, address = (text if isinstance(text, str) and text.strip() else None for text in texts)
        name = person_name(name)
        label = address or name
        if label is None:
            continue
        own_name = name if name != label else None
        name_span = cursor.find(own_name) if own_name is not None else None
        label_span = cursor.find(label)
        is_address = address is not None and ADDRESS.fullmatch(address) is not None
        yield Mention(
            label, label_span, name if name != address else None, name_span or label_span,
            address if is_address else None, statement,
        )  # fmt: skip


def person_name(text: str | None) -> str | None:
    """Return the name of a person without quotes around it, ``None`` if a text is no name but an address."""
    name = (text or "").strip().removeprefix("mailto:")
    for quote in "'\"":
        if len(name) > 1 and name[0] == name[-1] == quote:
            name = name[1:-1].strip()
    return name if name and ADDRESS.fullmatch(name) is None else None


class People:
    """The people of a draft. One without an address is none: a name alone may be anybody's."""

    def __init__(self, draft: ProposalDraft) -> None:
        self._draft = draft
        self._names: set[tuple[str, str | None]] = set()
        self._by_address: dict[str, int | None] = {}

    def add(self, person: Mention, observed_at: str | None) -> int | None:
        """Return the entity of an address; each name of it is one item, at the place that has it first."""
        if person.address is None:
            return None
        address = identity.fold_text(person.address)
        if (address, person.name) not in self._names:
            self._names.add((address, person.name))
            members = [
                PartField("name", person.name, person.name_span),
                PartField("email", person.address, person.label_span),
            ]
            index = self._draft.entity("person", members, person.span, observed_at=observed_at)
            self._by_address.setdefault(address, index)
        return self._by_address[address]


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
