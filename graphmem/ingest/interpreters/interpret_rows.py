"""Rows of tables and records of JSON: one entity each, one field per column or member (docs/files.md).

The interpreter `tables` does the same with the tables that stand in a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from graphmem.ingest.document import ParsedDocument, Part, PartField
from graphmem.ingest.formats.json_values import Walk
from graphmem.ingest.interpreters.column_values import ColumnForms, are_bookings, forms_of, is_booking, is_sum
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import (
    configured_type,
    entity_type_of,
    field_name,
    known_type,
    members_of,
    stem,
    text_of,
    type_of_table,
)
from graphmem.ingest.interpreters.proposal_draft import OCCURRENCE, ProposalDraft, place
from graphmem.ingest.interpreters.row_columns import (
    SEPARATOR,
    add_names,
    are_people,
    columns_joined,
    name_of_row,
    names_person,
    number_of_rows,
    usual_names,
    whole_name,
)
from graphmem.ingest.proposal import BOOKING, Proposal
from graphmem.ingest.tables import table
from graphmem.model import identity, numbers

GENERAL_TYPE = "record"
JSON_FORMATS = ("json", "jsonl")
TYPE_COLUMN = "entity_type"
LOOSE_TYPE_COLUMN = "type"
_NAMING = set(identity.NAMING)
ACCOUNTS = {*table("field_names")["labels"]["account"].split()}
_OF_ONE_OBJECT = {*identity.NAMING, TYPE_COLUMN, LOOSE_TYPE_COLUMN}
"""Members that say that an object is an entity, and not the frame of a list."""


@dataclass(frozen=True)
class Types:
    """What is known of a table before its rows are read; ``names`` are those of list or sheet and file.

    ``number`` is the column that numbers its rows, ``proposed`` one that looks as if it did, ``account`` the
    account of its bookings, ``repeated`` the folded names that several rows have. The type of bookings is not
    that of the name of the file: another file of the account has the same ones.
    """

    configured: str | None
    names: tuple[str | None, ...]
    sheet: PartField | None = None
    account: PartField | None = None
    has_lists: bool = False
    are_people: bool = False
    are_bookings: bool = False
    number: str | None = None
    proposed: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    forms: ColumnForms = field(default_factory=ColumnForms)
    repeated: frozenset[str] = frozenset()

    def of_row(self, stated: object, loose: object, columns: tuple[str, ...]) -> tuple[str, bool]:
        """Return the entity type of a row, and whether the column `type` gave it."""
        loose_type = entity_type_of(loose)
        if self.configured is not None:
            return self.configured, False
        stated_type = entity_type_of(stated)
        if stated_type is not None:
            return stated_type, False
        if loose_type in identity.SHIPPED:
            return str(loose_type), True
        known = self.known or (BOOKING if self.are_bookings else None)
        if known is None and loose_type is not None and len(loose_type) > 1:
            return loose_type, True
        is_person = are_people(columns) or (self.are_people and names_person(columns))
        return known or ("person" if is_person else self.named) or GENERAL_TYPE, False

    @cached_property
    def known(self) -> str | None:
        return next(filter(None, map(known_type, self.names)), None)

    @cached_property
    def named(self) -> str | None:
        """The type that a name may be otherwise."""
        return next(filter(None, map(type_of_table, self.names)), None)

    @cached_property
    def labels(self) -> list[tuple[str, PartField]]:
        """The names of sheet and file as fields, each with the type that it may be."""
        file = self.names[-1] if self.configured is None else None
        members = [self.sheet, None if file is None else PartField("file", file)]
        types = [None if member is None else type_of_table(member.value) for member in members]
        return [(of, member) for of, member in zip(types, members, strict=True) if of and member]

    def places(self, entity_type: str) -> list[PartField]:
        """Return the names of the sheet and the file that a row stands in, where its type is another."""
        return [member for of, member in self.labels if of != entity_type]


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    named_rows: dict[tuple[str, Any], int] = {}
    configured = configured_type(options.configuration)
    file = document.title or stem(options.file_name) if document.format == "csv" else stem(options.file_name)
    has_lists = SEPARATOR in document.text
    types = Types(configured, (file,), has_lists=has_lists)
    rows_of_object = _list_of_rows(document, draft)
    if rows_of_object is not None:
        name, rows = rows_of_object
        types = Types(configured, (name, file), has_lists=has_lists)
        _warn_of_objects(draft, rows)
        for part in rows:
            _add(draft, document.text, part, types, named_rows)
        return draft.proposal()
    if document.format in JSON_FORMATS:
        _warn_of_objects(draft, document.parts)
    sheets = document.metadata.get("sheets")
    has_sheets = isinstance(sheets, list) and len(sheets) > 1
    for kind, grouped in groupby(document.parts, key=lambda part: part.kind):
        parts = [*grouped]
        if kind == "row":
            # An empty cell has no field: a row may have fewer columns than its table.
            columns = document.metadata.get("columns")
            labels = dict.fromkeys(field.name for part in parts for field in part.fields)
            labels |= dict.fromkeys(columns if isinstance(columns, list) else ())
            table = [*map(field_name, labels)]
            names = usual_names(table)
            known = tuple(names.get(name, name) for name in table)
            number, proposed = number_of_rows([part.fields for part in parts], table)
            values = [{field_name(each.name): each.value for each in part.fields} for part in parts]
            values = [row for row in values if not is_sum(row.values())]
            forms = forms_of(values)
            for name, value in forms.open_dates.items():
                draft.warn(
                    f"Dates of the column {name[:60]}, such as {value}, stay as they are: nothing says "
                    "whether the day or the month comes first."
                )
            whole = Counter(identity.fold_text(whole_name(each.fields, names)) for each in parts if number)
            types = replace(
                types, number=number, proposed=proposed, renamed=names, forms=forms,
                are_people=bool(names) or are_people(known),
                are_bookings=not names and number is None and are_bookings(values, table),
                repeated=frozenset(name for name, count in whole.items() if count > 1),
            )  # fmt: skip
        for part in parts:
            if kind == "sheet":
                sheet = next((field for field in part.fields if field.name == "name"), None)
                label = sheet and sheet._replace(name="sheet")
                names = text_of(sheet), None if has_sheets else file
                types = Types(configured, names, label, has_lists=has_lists)
            elif kind == "property":
                named = [field for field in part.fields if field_name(field.name) in ACCOUNTS]
                account = named[0]._replace(name="account") if named else None
                types = replace(types, account=account)
            elif kind == "row" or (kind == "record" and _is_row(document, part, draft)):
                _add(draft, document.text, part, types, named_rows)
    return draft.proposal()


def _warn_of_objects(draft: ProposalDraft, records: Sequence[Part]) -> None:
    fields = (field for part in records for field in part.fields)
    names = dict.fromkeys(
        field.name[:60]
        for field in fields
        if isinstance(field.value, dict)
        or (isinstance(field.value, list) and any(isinstance(each, dict) for each in field.value))
    )
    if names:
        count = f"{len(records):,} record" + "s" * (len(records) != 1)
        listed = ", ".join(list(names)[:20])
        draft.warn(
            "STRUCTURE_NOT_READ: no interpreter knows the structure of this JSON: "
            f"of {count}, the objects in {listed} stay values."
        )


def _is_row(document: ParsedDocument, part: Part, draft: ProposalDraft) -> bool:
    """Return whether a record is an object of JSON: front matter is no row."""
    if document.format not in JSON_FORMATS:
        return False
    start = part.span.start
    if start is None or document.text.startswith("{", start):
        return True
    draft.drop(f"A value in line {part.span.line} is left out: it is no object.")
    return False


def _add(
    draft: ProposalDraft, text: str, part: Part, types: Types, named_rows: dict[tuple[str, Any], int]
) -> None:
    """Add a row; ``named_rows`` are the earlier ones that something names."""
    read = [
        member._replace(value=types.forms.value(member.name, member.value))
        for member in members_of(part.fields)
    ]
    if types.renamed:
        read = [member._replace(name=types.renamed.get(member.name, member.name)) for member in read]
    named = {member.name: member for member in read}
    if is_sum(member.value for member in read):
        draft.warn(f"The row{place(part.span)} is one of sums: it is left out.")
        return
    members = columns_joined(text, named, types.has_lists, types.are_people)
    stated, loose = (_value(members, name) for name in (TYPE_COLUMN, LOOSE_TYPE_COLUMN))
    entity_type, is_loose = types.of_row(stated, loose, tuple(members))
    if stated is not None and entity_type_of(stated) is None:
        draft.drop(f"An entity type{place(part.span)} is left out: {str(stated)[:60]!r} is none.")
    if entity_type == GENERAL_TYPE and types.configured is None and GENERAL_TYPE not in (stated, loose):
        draft.warn(f"Nothing says what the rows are: their entity type is {GENERAL_TYPE}.")
    used = {TYPE_COLUMN} | ({LOOSE_TYPE_COLUMN} if is_loose else set())
    own = {name: member for name, member in members.items() if name not in used}
    also = types.places(entity_type)
    if types.account is not None and is_booking(member.value for member in own.values()):
        own.setdefault("account", types.account)
    if entity_type == BOOKING or not _NAMING & set(members):
        count = draft.occurrence(entity_type, own.values())
        if count > 1 and is_booking(member.value for member in own.values()):
            own[OCCURRENCE] = PartField(OCCURRENCE, count)
        elif count > 1:
            draft.warn(f"Equal rows without a name or an id are one entity: the one{place(part.span)} too.")
        # What such a row is identified by must not change with the name of the file.
        also = []
    if entity_type not in numbers.NUMBERED:
        add_names(own, types.number, types.repeated)
    name = name_of_row(entity_type, own, types.number)
    if name is not None and types.proposed in own:
        draft.warn(
            f"The column {types.proposed} looks as if it identified the rows, which all their values "
            f"identify now: if so, register a schema of {entity_type} whose canonical_name_fields have it."
        )
    identified_by = None
    if name is not None and name.endswith("…"):
        # Rows that differ must not become one by a name that is cut.
        who = identity.identify("", entity_type, {member.name: member.value for member in own.values()})
        identified_by = (tuple(own),) if who.basis == identity.CONTENT else None
    if name is not None:
        own.setdefault(identity.CANONICAL_NAME, PartField(identity.CANONICAL_NAME, name))
    row = draft.item(entity_type, own.values(), part.span, also, identified_by)
    if identified_by is None:
        _warn_of_one_name(draft, row, named_rows)


def _warn_of_one_name(draft: ProposalDraft, row: int | None, named_rows: dict[tuple[str, Any], int]) -> None:
    """Warn where a row is one entity with an earlier one by its name or number, and their values differ."""
    if row is None:
        return
    entity = draft.entities[row]
    named = {identity.CANONICAL_NAME: entity.canonical_name} if entity.canonical_name else {}
    fields = {**entity.fields, **named}
    own = identity.identify("", entity.entity_type, fields)
    name = own.basis.rpartition("+")[2]
    if name not in (*identity.NAME_FIELDS, *numbers.FIELDS):
        return
    first = named_rows.setdefault((entity.entity_type, own.entity_id), row)
    if first == row or draft.entities[first].fields == entity.fields:
        return
    value = identity.read_fields(entity.entity_type, fields)[name]
    kind = "number" if name in numbers.FIELDS else "name"
    excerpt = str(value)[:60]
    draft.warn(
        f"Rows with the {kind} {excerpt!r} are one entity: of values that differ, the last one counts."
    )


def _value(members: Mapping[str, PartField], name: str) -> object:
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
    rows, _ = Walk(document.text).objects(lists[0].span.start or 0)
    other_names = [field.name[:60] for field in parts[0].fields if field.name != lists[0].name]
    if other_names:
        draft.drop(
            f"Members beside the list {lists[0].name[:60]} are left out: {', '.join(other_names[:20])}."
        )
    return lists[0].name, rows
