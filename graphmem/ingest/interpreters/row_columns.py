"""What the columns of a row say together: lists, people of address books, and a name where no column is one.

The first of several values is the field (`email`), all of several are another (`emails`). Of people, a
column that says of which kind a number or an address is, as `mobile_phone`, is a field as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from graphmem import tables
from graphmem.ingest.document import PartField
from graphmem.ingest.interpreters.labels import field_name, is_empty
from graphmem.ingest.interpreters.proposal_draft import Cursor, widen
from graphmem.ingest.tables import table
from graphmem.ingest.tabular import NO_NAME, labelled_name
from graphmem.model import identity, numbers
from graphmem.text import words

SEPARATOR = " ::: "
TABLES = table("contacts")
MANY: list[tuple[re.Pattern[str], str, str]] = [
    (re.compile(column), one, many) for column, (one, many) in TABLES["columns"].items()
]
KINDS_OF_PEOPLE = [(re.compile(column), name) for column, name in TABLES["columns_of_people"].items()]
PEOPLE_COLUMNS = [{*names} for names in TABLES["people"]["columns"]]


def _columns(listed: str) -> list[str]:
    return [_plain(name) for name in listed.split()]


@lru_cache(maxsize=1_000)
def _plain(column: str) -> str:
    return "".join(words.tokens(column))


NAMES_OF_PEOPLE = tables.read("model/names_of_people")
FIRST_AND_LAST = [[*map(_columns, pair)] for pair in NAMES_OF_PEOPLE["first_and_last"]]
FULL_NAMES = ["fullname", *_columns(NAMES_OF_PEOPLE["full_names"])]
NOT_ALONE, NAMES = (_columns(TABLES["people"][listed]) for listed in ("not_alone", "names"))
FIELDS_OF_PEOPLE = {name: _columns(listed) for name, listed in TABLES["people"]["fields"].items()}
NUMBERS_OF_PEOPLE = frozenset(_columns(TABLES["numbers"]["of_people"]))
LABELLED = re.compile(r"((e?_?mail|phone|address|website|relation|event|custom_field|im)_\d+)_(?:type|label)")
"""Columns that say of which kind the value in the column beside them is."""
LABELS = re.compile(r".*_(?:type|label)|labels|group_membership")
"""Columns of Google whose values may begin with a star."""
CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])[\w./#-]{3,40}")
"""What looks like the number of a thing: letters and digits without blanks."""
ROWS_LEAST = 3  # of fewer rows, no column looks as if it numbered them
PARTS_OF_NAME = ("first_name", "given_name", "last_name", "family_name")
NAME_CHARACTERS_LIMIT = 120
LETTER = re.compile(r"[^\W\d_]")
FAMILY_FIRST = re.compile("CJK|HANGUL")  # scripts, as the names of their characters begin
NAMING = (*identity.NAME_FIELDS, "email", "phone", "url")
"""Fields of which one is enough as the name of a row."""
IDS = {"id", "uuid", "external_id", "message_id"}


def usual_names(labels: Sequence[str]) -> dict[str, str]:
    """Return the columns of a table of people in any language, and what they are called else."""
    columns = {plain: label for label in reversed(labels) if (plain := _plain(label))}

    def first(listed: Iterable[str]) -> str | None:
        return next((columns[plain] for plain in listed if plain in columns), None)

    fields = {label: name for name, listed in FIELDS_OF_PEOPLE.items() if (label := first(listed))}
    known = {*labels, *fields.values()}
    pairs = ([*map(first, pair)] for pair in FIRST_AND_LAST)
    pair = next((pair for pair in pairs if None not in pair and pair[0] != pair[1]), None)
    usual: dict[str, str] = {}
    if pair is not None and known.isdisjoint(("first_name", "last_name")):
        usual = dict(zip(map(str, pair), ("first_name", "last_name"), strict=True))
    else:
        are_of_things = not numbers.OF_TABLES.isdisjoint(map(numbers.squeezed, labels))
        barred = (
            () if known & {"email", "phone", "mobile_phone"} else FULL_NAMES if are_of_things else NOT_ALONE
        )
        name = first(each for each in FULL_NAMES if each not in barred)
        name = name or (first(NAMES) if "email" in known else None)
        usual = {name: "name"} if name is not None else {}
    if not usual and not are_people(tuple(labels)):
        return {}
    return {label: name for label, name in (fields | usual).items() if name not in labels or name == label}


def columns_joined(
    text: str, members: dict[str, PartField], has_lists: bool, are_people: bool
) -> dict[str, PartField]:
    """Return the members of a row with the lists in its cells, and the columns of address books as fields.

    ``has_lists``: whether :data:`SEPARATOR` stands anywhere in the text. ``are_people``: whether the table is
    one of people.
    """
    if not has_lists and not _are_special(tuple(members)):
        return members
    joined: dict[str, PartField] = {}
    many: dict[str, list[PartField]] = {}
    unnamed = set(members)
    for name, member in members.items():
        if (labelled := LABELLED.fullmatch(name)) is not None:
            named = _labelled(text, members, labelled, str(member.value))
            joined |= named
            unnamed -= {f"{labelled[1]}_value"} if named and labelled[2] not in TABLES["nouns"] else set()
            continue
        if name not in unnamed:
            continue
        kind = next((kind for kind in MANY if kind[0].fullmatch(name)), None)
        for columns, single in KINDS_OF_PEOPLE if are_people else ():
            if columns.fullmatch(name) and not is_empty(member.value):
                many.setdefault(single, []).append(member)
        values = _values(text, member) if isinstance(member.value, str) else []
        if kind is not None:
            many.setdefault(kind[1], []).extend(values)
        elif len(values) > 1 or (values and LABELS.fullmatch(name)):
            texts = [value.value for value in values]
            joined[name] = member._replace(value=texts if len(texts) > 1 else "".join(texts))
        else:
            joined[name] = member
    for _, single, plural in MANY:
        own = [joined[single]] if single in many and single in joined else []
        values = list({value.value: value for value in (*own, *many.get(single, ()))}.values())
        if values and single not in joined:
            joined[single] = values[0]._replace(name=single)
        if values and single in joined and [joined[single].value] != [value.value for value in values]:
            span = widen(values[0].span, values[-1].span)
            joined.setdefault(plural, PartField(plural, [value.value for value in values], span))
    return joined


def _labelled(
    text: str, members: Mapping[str, PartField], column: re.Match[str], label: str
) -> dict[str, PartField]:
    """Return the value beside a label as a field that the label names: "work_fax", "brother"."""
    value = members.get(f"{column[1]}_value") or members.get(f"{column[1]}_formatted")
    label = label.split(SEPARATOR)[0].strip().removeprefix("*").strip()
    values = _values(text, value) if value is not None and isinstance(value.value, str) else []
    if not values or field_name(label) in ("", "other"):
        return {}
    name = field_name(labelled_name(label, TABLES["nouns"].get(column[2], "")))
    texts = [each.value for each in values]
    return {name: values[0]._replace(name=name, value=texts if len(texts) > 1 else texts[0])}


@lru_cache(maxsize=1_000)
def _are_special(names: tuple[str, ...]) -> bool:
    columns = (LABELS, *(kind[0] for kind in KINDS_OF_PEOPLE), *(kind[0] for kind in MANY))
    return any(column.fullmatch(name) for column in columns for name in names)


def _values(text: str, member: PartField) -> list[PartField]:
    cursor = Cursor(text, member.span)
    values = []
    for part in str(member.value).split(SEPARATOR):
        value = part.strip().removeprefix("*").strip() if LABELS.fullmatch(member.name) else part.strip()
        if value:
            values.append(member._replace(value=value, span=cursor.find(value)))
    return values


@lru_cache(maxsize=1_000)
def are_people(columns: tuple[str, ...]) -> bool:
    spelled = {identity.spelled(column) for column in columns}
    return any(needed <= spelled for needed in PEOPLE_COLUMNS)


@lru_cache(maxsize=1_000)
def names_person(columns: tuple[str, ...]) -> bool:
    """Return whether a row has a column by which a table of people names one."""
    spelled = {identity.spelled(column) for column in columns}
    return any(needed & spelled for needed in PEOPLE_COLUMNS)


def number_of_rows(
    rows: Sequence[Sequence[PartField]], columns: Sequence[str]
) -> tuple[str | None, str | None]:
    """Return the column that numbers the rows of a table, by its header; else one that looks as if it did.

    No value of it comes twice: the number of another thing does. A column that counts the rows, or has
    dates, amounts or words, looks like none.
    """
    values: dict[str, list[str]] = {name: [] for name in columns}
    for row in rows:
        for each in row:
            values.setdefault(field_name(each.name), []).append(str(each.value).strip())
    distinct = [name for name, texts in values.items() if texts and len({*texts}) == len(texts)]
    named = [name for name in distinct if numbers.squeezed(name) in numbers.OF_TABLES]
    named += [name for name in distinct if _plain(name) in NUMBERS_OF_PEOPLE]
    if named or len(rows) < ROWS_LEAST:
        return next(iter(named), None), None
    codes = [
        name
        for name in distinct
        if len(values[name]) == len(rows)
        and all(CODE.fullmatch(text) and not NO_NAME.fullmatch(text) for text in values[name])
    ]
    return None, next(iter(codes), None)


def _part_of_name(entity_type: str, members: Mapping[str, PartField]) -> str | None:
    """Return the first or the last name of a person who has no other name and no e-mail address.

    The number or the web address of the person tells namesakes apart.
    """
    filled = {name: member.value for name, member in members.items() if not is_empty(member.value)}
    if entity_type not in identity.PEOPLE or filled.keys().isdisjoint(PARTS_OF_NAME):
        return None
    read = identity.read_fields(entity_type, filled, with_id=True)
    if any(name in read for name in (identity.CANONICAL_NAME, "name", "full_name", "email")):
        return None
    part = next(str(read[name]) for name in PARTS_OF_NAME if name in read)
    known = next((str(read[name]) for name in ("phone", "url") if name in read), None)
    return f"{part} · {known}" if known is not None else None


def whole_name(members: Iterable[PartField], renamed: Mapping[str, str]) -> str:
    """Return the name of a row, or its first and last name; empty if it has none."""
    fields = ((field_name(member.name), member.value) for member in members)
    read = identity.read_fields("person", {renamed.get(name, name): value for name, value in fields})
    return str(read.get("name") or "")


def add_names(members: dict[str, PartField], number: str | None, repeated: Collection[str]) -> None:
    """Add the name that the columns of a row make together.

    A Chinese, Japanese or Korean name has the family name first, without a blank. Where several rows have one
    name (``repeated``, folded) and no e-mail address, the column ``number`` tells them apart.
    """
    first, last = (members.get(name) for name in ("first_name", "last_name"))
    if first is not None and last is not None and "name" not in members:
        texts = [str(each.value).strip() for each in (last, first)]
        if FAMILY_FIRST.match(unicodedata.name(texts[0][:1], "")) and words.is_dense(texts[1][:1]):
            members["name"] = PartField("name", "".join(texts), widen(last.span, first.span))
    name = "" if number not in members or "email" in members else whole_name(members.values(), {})
    if name and identity.fold_text(name) in repeated:
        if "name" in members:
            members["full_name"] = members.pop("name")._replace(name="full_name")
        whole = f"{name} · {members[str(number)].value}"
        members[identity.CANONICAL_NAME] = PartField(identity.CANONICAL_NAME, whole)


def name_of_row(entity_type: str, members: Mapping[str, PartField], number: str | None = None) -> str | None:
    """Return a name for a row of whose fields none is one: its values, texts first. ``None`` where one is.

    A row without an id is identified by its whole content: a name that lacks some of it ends with `…`. In a
    table of something else, the column ``number`` names a row, with who issued the number.
    """
    part_of_name = _part_of_name(entity_type, members)
    if part_of_name is not None:
        return part_of_name
    for name in NAMING:
        if name in members and not is_empty(members[name].value):
            return None
    filled = {name: member.value for name, member in members.items() if not is_empty(member.value)}
    who = identity.identify("", entity_type, filled)
    if not filled or not {*who.basis.split("+")} <= {identity.CONTENT, *IDS}:
        return None
    called = filled.get(entity_type)
    if isinstance(called, str) and {("name",), ("title",)} & set(identity.own_rule(entity_type)):
        return called
    if number in filled:
        vendors = [text for name, text in filled.items() if numbers.squeezed(name) in numbers.VENDORS]
        return " · ".join(str(each) for each in (*vendors[:1], filled[number]))
    values = [value for name, value in filled.items() if name not in IDS]
    texts = [str(value) for value in values if isinstance(value, str | int | float)]
    texts.sort(key=lambda text: not text[:1].isalpha())
    whole = " ".join(" · ".join(texts).split())
    if whole and LETTER.search(whole) is None:
        whole = f"{entity_type} {whole}"
    if not whole or (len(whole) <= NAME_CHARACTERS_LIMIT and len(texts) == len(values)):
        return whole or None
    return f"{whole[:NAME_CHARACTERS_LIMIT].rstrip()}…"
