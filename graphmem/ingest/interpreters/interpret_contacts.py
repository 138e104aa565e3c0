"""Contacts: people, and the organisations that they work at.

Of several addresses or numbers the first is the field of the person (`email`); all of them are another field
(`emails`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphmem.ingest.document import ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import field_name, fields_by_name, rename, text_of
from graphmem.ingest.interpreters.proposal_draft import Cursor, ProposalDraft, moment
from graphmem.ingest.proposal import Proposal
from graphmem.model.shipped_relationships import ROLES

LISTS = {"emails": "email", "phones": "phone", "addresses": "address", "urls": "url"}
NAMES = {"note": "notes", "uid": "external_id", "categories": "tags"}
NO_FIELDS = {"organization", "organization_levels", "revision", "kind", "abshowas", "ablabel", *LISTS, *NAMES}
RELATED = {word: key for key, words in reversed(list(ROLES.items())) for word in words}
"""What a word for a relative says: a relationship, and its direction from the contact."""
TYPES = {"org": "company", "organization": "company", "location": "location", "group": "group"}
"""The entity type of a contact by its kind, if it is no person."""


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    companies: dict[str, int | None] = {}
    people: dict[str, list[int]] = {}
    contacts = [part for part in document.parts if part.kind == "contact"]
    entities = [_add(draft, companies, document.text, part) for part in contacts]
    for part, person in zip(contacts, entities, strict=True):
        if person is not None:
            people.setdefault(text_of(fields_by_name(part.fields).get("name")) or "", []).append(person)
    for part, person in zip(contacts, entities, strict=True):
        observed_at = moment(text_of(fields_by_name(part.fields).get("revision")))
        for field in part.fields:
            names = field.value if isinstance(field.value, list) else [field.value]
            named = [people.get(name, []) for name in names if isinstance(name, str)]
            kind, direction = RELATED.get(field_name(field.name), ("", ""))
            for relatives in named if kind else ():
                # Of several contacts of one name, nothing says which is meant.
                if len(relatives) == 1:
                    source, target = (person, relatives[0])[:: 1 if direction == "outgoing" else -1]
                    draft.relate(kind, source, target, field.span, observed_at=observed_at)
    return draft.proposal()


def _add(draft: ProposalDraft, companies: dict[str, int | None], text: str, part: Part) -> int | None:
    """Add a contact; return the person, ``None`` if it is none."""
    fields = fields_by_name(part.fields)
    observed_at = moment(text_of(fields.get("revision")))
    members = [*_members(text, fields)]
    kind, shown_as = (text_of(fields.get(name)) or "" for name in ("kind", "abshowas"))
    organisation, (company, *units) = fields.get("organization"), _levels(fields) or [""]
    is_company = shown_as.lower() == "company" or (company.strip() and "name" not in fields)
    entity_type = TYPES.get(kind.lower()) or ("company" if is_company else None)
    if entity_type is not None:
        if organisation is not None and entity_type == "company":
            # It says nothing of a person: its name may be that of the organisation alone.
            members.append(PartField("name", company, Cursor(text, organisation.span).find(company)))
        draft.entity(entity_type, members, part.span, observed_at=observed_at)
        return None
    employer = None
    if organisation is not None:
        if company.strip():
            employer = PartField("company", company, Cursor(text, organisation.span).find(company))
            members.append(employer)
        department = ", ".join(unit for unit in units if unit)
        place = Cursor(text, organisation.span).find(department)
        members.append(PartField("department", department, place))
    person = draft.entity("person", members, part.span, observed_at=observed_at)
    if employer is None or person is None:
        return person
    if employer.value not in companies:
        name = employer._replace(name="name")
        companies[employer.value] = draft.entity("company", [name], employer.span, observed_at=observed_at)
    draft.relate("WORKS_AT", person, companies[employer.value], employer.span, observed_at=observed_at)
    return person


def _members(text: str, fields: Mapping[str, PartField]) -> Iterator[PartField]:
    for name, field in fields.items():
        if name not in NO_FIELDS:
            yield field._replace(name=field_name(name))
    yield from rename(fields, NAMES)
    for name, single in LISTS.items():
        field = fields.get(name)
        if field is None or not isinstance(field.value, list) or not field.value:
            continue
        first = field.value[0]
        place = Cursor(text, field.span).find(first) if isinstance(first, str) else field.span
        yield PartField(single, first, place)
        if len(field.value) > 1:
            yield field


def _levels(fields: Mapping[str, PartField]) -> list[str]:
    """Return an organisation and its units; the name of the organisation may be empty."""
    levels = fields.get("organization_levels")
    if levels is not None and isinstance(levels.value, list):
        return [level for level in levels.value if isinstance(level, str)]
    name = text_of(fields.get("organization"))
    return [name] if name is not None else []
