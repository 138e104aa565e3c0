"""Rows of tables and records of JSON: one entity each, one field per column or member.

The interpreter `tables` does the same with the tables that stand in a text.

The entity type of a row is the first of these that is one:

1. `entity_type` of the configuration
2. the value in the column `entity_type`
3. the value in the column `type` that is a shipped type
4. the name of the sheet, of the list in a JSON object, or of the file, if that is a shipped type; a file
   with several sheets does not name them
5. the value in the column `type`
6. `record`

A JSON object is a list of rows if exactly one member is a list of objects, and no member names or
identifies the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphmem.ingest.document import FileSpan, ParsedDocument, ParseFailed, Part, PartField
from graphmem.ingest.formats.json_values import Walk
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import (
    LabelledMember,
    configured_type,
    entity_type_of,
    field_name,
    known_type,
    members_of,
    stem,
)
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft
from graphmem.ingest.interpreters.text_places import place
from graphmem.ingest.proposal import Proposal
from graphmem.model import identity

GENERAL_TYPE = "record"
JSON_FORMATS = ("json", "jsonl")
TYPE_COLUMN = "entity_type"
LOOSE_TYPE_COLUMN = "type"
_NAMING = set(identity.NAMING)
_OF_ONE_OBJECT = {*identity.NAMING, TYPE_COLUMN, LOOSE_TYPE_COLUMN}
"""Members that say that an object is an entity, and not the frame of a list."""


@dataclass(frozen=True, slots=True)
class Types:
    """What is known of the entity types of one table before its rows are read."""

    configured: str | None
    of_table: str | None

    def of_row(self, stated: object, loose: object) -> tuple[str, bool]:
        """Return the entity type of a row, and whether the column `type` gave it."""
        loose_type = entity_type_of(loose)
        if self.configured is not None:
            return self.configured, False
        stated_type = entity_type_of(stated)
        if stated_type is not None:
            return stated_type, False
        if loose_type in identity.SHIPPED:
            return str(loose_type), True
        if self.of_table is not None:
            return self.of_table, False
        return (loose_type, True) if loose_type is not None else (GENERAL_TYPE, False)


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    """Return one entity per row or record."""
    draft = ProposalDraft()
    contents: set[str] = set()
    configured = configured_type(options.configuration)
    of_file = known_type(stem(options.file_name))
    types = Types(configured, of_file)
    rows_of_object = _list_of_rows(document, draft)
    if rows_of_object is not None:
        name, rows = rows_of_object
        types = Types(configured, known_type(name) or of_file)
        for part in rows:
            _add(draft, part, types, contents)
        return draft.proposal()
    sheets = document.metadata.get("sheets")
    has_sheets = isinstance(sheets, list) and len(sheets) > 1
    for part in document.parts:
        if part.kind == "sheet":
            sheet = next((field.value for field in part.fields if field.name == "name"), None)
            types = Types(configured, known_type(sheet) or (None if has_sheets else of_file))
        elif part.kind == "row" or (part.kind == "record" and _is_row(document, part, draft)):
            _add(draft, part, types, contents)
    return draft.proposal()


def _is_row(document: ParsedDocument, part: Part, draft: ProposalDraft) -> bool:
    """Return whether a record is an object of JSON: front matter is no row."""
    if document.format not in JSON_FORMATS:
        return False
    start = part.span.start
    if start is None or document.text.startswith("{", start):
        return True
    draft.warn(f"A value in line {part.span.line} is left out: it is no object.")
    return False


def _add(draft: ProposalDraft, part: Part, types: Types, contents: set[str]) -> None:
    """Add a row. ``contents`` are those of the earlier rows that nothing names."""
    members = {member.name: member for member in members_of(part.fields)}
    stated, loose = (_value(members, name) for name in (TYPE_COLUMN, LOOSE_TYPE_COLUMN))
    entity_type, is_loose = types.of_row(stated, loose)
    if stated is not None and entity_type_of(stated) is None:
        draft.warn(f"An entity type{place(part.span)} is left out: {str(stated)[:60]!r} is none.")
    if entity_type == GENERAL_TYPE and types.configured is None and GENERAL_TYPE not in (stated, loose):
        draft.warn(f"Nothing says what the rows are: their entity type is {GENERAL_TYPE}.")
    used = {TYPE_COLUMN} | ({LOOSE_TYPE_COLUMN} if is_loose else set())
    own = [member for name, member in members.items() if name not in used]
    if not _NAMING & set(members):
        content = repr((entity_type, [(name, value) for name, value, _ in own]))
        if content in contents:
            draft.warn(f"Equal rows without a name or an id are one entity: the one{place(part.span)} too.")
        contents.add(content)
    draft.item(entity_type, own, part.span)


def _value(members: Mapping[str, LabelledMember], name: str) -> object:
    return members[name].value if name in members else None


def _list_of_rows(document: ParsedDocument, draft: ProposalDraft) -> tuple[str, list[Part]] | None:
    """Return the name and the elements of the list of rows that a JSON object is, ``None`` if it is none."""
    parts = document.parts[:2]
    if document.format != "json" or len(parts) != 1 or parts[0].kind != "record":
        return None
    filled = [field for field in parts[0].fields if isinstance(field.value, list) and field.value]
    lists = [field for field in filled if all(isinstance(element, dict) for element in field.value)]
    names = {field_name(field.name) for field in parts[0].fields}
    if len(lists) != 1 or names & _OF_ONE_OBJECT:
        return None
    try:
        rows = list(_elements(document.text, lists[0]))
    except ParseFailed:
        return None
    other_names = [field.name[:60] for field in parts[0].fields if field is not lists[0]]
    if other_names:
        draft.warn(
            f"Members beside the list {lists[0].name[:60]} are left out: {', '.join(other_names[:20])}."
        )
    return lists[0].name, rows


def _elements(text: str, field: PartField) -> Iterator[Part]:
    """Yield the objects of a list as records, with the places of their members."""
    walk = Walk(text)
    position = field.span.start
    for index in range(len(field.value)):
        if position is None or not text.startswith("," if index else "[", position):
            raise walk.error("a list is missing", position or 0)
        start = walk.skip(position + 1)
        if not text.startswith("{", start):
            raise walk.error("an object is missing", start)
        fields, end = walk.members(start)
        yield Part("record", FileSpan(line=walk.line(start), start=start, end=end), fields=tuple(fields))
        position = walk.skip(end)
