"""Tables: where the header is, and how columns are named (docs/files.md, "The header of a table")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, TypeVar

from graphmem.ingest.building import Builder, parted, widened
from graphmem.ingest.document import FileSpan, PartField

HEADER_CHARACTERS_LIMIT = 100
LABEL = re.compile(r"([^:]{2,40}):\s*(\S.*)")
LABEL_CELLS = 2  # cells of a line above a table that is a label and its value
LETTERS = re.compile(r"[^\W\d_]{2}|[\u2e80-\uffff]")  # "n/a" and "-" are no names
HEAD_ROWS = 20  # among so many rows the header is looked for
COMMENTS_LIMIT = 500  # rows at the beginning that may be comments
T = TypeVar("T")
PERIOD = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")
NO_DAY = re.compile(r"\s*(?:0{1,2}([/.-])0{1,2}\1(?:00){1,2}|0000-00-00(?: 00:00:00)?)\s*")
"""What Outlook and databases write where a day is not known."""
NO_NAME = re.compile(
    r"[-+(]?[\d.,\s%€$£]+\)?"  # numbers and amounts
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?"  # dates
    r"|\d{1,2}:\d\d(:\d\d)?.*"  # times
    r"|[^@\s]+@[^@\s]+\.[^@\s]+"
    r"|https?://.*"
    r"|true|false|yes|no",
    re.IGNORECASE,
)


class Columns:
    """The names of the columns; a column beyond the header gets a name when its first value comes."""

    def __init__(self, header: Sequence[str]) -> None:
        self.names: list[str] = []
        self.repeated: list[str] = []
        self._taken: set[str] = set()
        for cell in header:
            self._add(" ".join(cell.split()))

    def upto(self, count: int) -> list[str]:
        while len(self.names) < count:
            self._add("")
        return self.names

    def _add(self, header: str) -> None:
        name = base = header or f"column_{len(self.names) + 1}"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        if name != base:
            self.repeated.append(name)
        self._taken.add(name)
        self.names.append(name)


def is_header(cells: Sequence[str], below: Sequence[str] = ()) -> bool:
    """Return whether a row is the header, by the rule of this module. ``below`` is the next row."""
    texts = [cell.strip() for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    periods = [place for place, text in enumerate(texts) if place and PERIOD.fullmatch(text)]
    values = [below[place].strip() for place in periods if place < len(below)]
    if any(map(PERIOD.fullmatch, values)) or len({texts[place] for place in periods}) < len(periods):
        return False
    names = [text for place, text in enumerate(texts) if not (values and place in periods)]
    # A question of a survey is a long name; the values below it tell that from a text.
    is_long = any(len(text) > HEADER_CHARACTERS_LIMIT for text in names) and not has_values(below)
    return any(texts) and all(texts[1:]) and not is_long and not has_values(names)


def has_values(cells: Iterable[str]) -> bool:
    return any(NO_NAME.fullmatch(cell.strip()) for cell in cells)


def head_of(rows: Iterator[T], cells_of: Callable[[T], Sequence[str]]) -> list[T]:
    """Take from some rows those among which the header is looked for: comments do not count."""
    head = [*islice(rows, HEAD_ROWS)]
    while head and cells_of(head[-1])[0].startswith("#") and len(head) < COMMENTS_LIMIT:
        more = [*islice(rows, HEAD_ROWS)]
        if not more:
            break
        head += more
    return head


def header_of(head: Sequence[Sequence[str]]) -> tuple[int, bool]:
    """Return how many of the first rows stand above a table, and whether the next one is its header."""
    rows = [[cell.strip() for cell in cells] for cells in head]
    widths = [1 if _is_above(rows, place) else sum(map(bool, row)) for place, row in enumerate(rows)]
    headers = {place: widths[place] for place in range(1, len(rows) - 1) if _is_first(rows, widths, place)}
    if headers:
        return max(headers, key=headers.__getitem__), True
    place = next((place for place, width in enumerate(widths) if width > 1), 0)
    place += _is_title(rows[place:])
    return place, bool(head) and is_header(head[place], head[place + 1] if place + 1 < len(head) else ())


def _is_title(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is a title as wide as the header below it.

    The second row then has words where all others have values, in two columns and half of them or more.
    """
    header, others = next(iter(rows[1:]), ()), [*filter(any, rows[2:])]
    columns = [[row[place] for row in others if row[place:]] for place in range(len(header))]
    typed = sum(bool(any(cells) and all(map(NO_NAME.fullmatch, filter(None, cells)))) for cells in columns)
    are_names = len({*header}) == len(header) and all(map(LETTERS.search, filter(None, header)))
    return len(others) > 1 and 1 < typed >= len(header) / 2 and are_names and is_header(header, others[0])


def _is_above(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a row is a comment, or has labels with a colon beside their values."""
    row, below = rows[place], next(iter(rows[place + 1 :]), ())
    filled = [*filter(None, row)]
    if re.match("#.", row[0]):
        is_named = row[0][1].isalnum() or not is_header(below)
        return not (len(row) == len(below) and is_header(row, below) and is_named)
    labels = sum(cell.endswith(":") for cell in filled)
    return labels < len(filled) <= 2 * labels


def _is_first(rows: Sequence[Sequence[str]], widths: Sequence[int], place: int) -> bool:
    """Return whether a row is a header from which on a table is wider than the rows above."""
    row, below, width, under = rows[place], rows[place + 1 :], widths[place], widths[place + 1 :]
    above, length = max(widths[:place]), max(map(len, rows[:place]))
    is_wide = above <= LABEL_CELLS or 2 * above <= width
    wider = sum(each > above or len(cells) > length for each, cells in zip(under, below, strict=True))
    if not (above < width and 2 * wider > len(under) and is_header(row, below[0])):
        return False
    if has_values(below[0]) and is_wide and width <= 2 * under[0]:
        return True
    fitting = sum(len(cells) <= len(row) for cells in below)
    is_stable = all(len(cells) == len(row) > length for cells in below) and len(below) > 1
    is_new = {*filter(None, row)}.isdisjoint(chain.from_iterable(below))
    return is_new and 10 * fitting >= 9 * len(below) and (is_wide or is_stable)


def labelled_name(label: str, noun: str) -> str:
    """Return the name of a value that has a label: "work phone", "work fax", "brother"."""
    return label if label.lower().endswith(("fax", "pager")) else f"{label} {noun}".strip()


def add_labels(builder: Builder, lines: Iterable[tuple[Sequence[str], FileSpan]]) -> None:
    """Add the labels and values that stand above a table as a part, if there are any."""
    fields: list[PartField] = []
    lines = [*lines]
    for (names, _), (cells, span) in pairwise(lines):
        # Labels with their values below them, as Swedish banks write.
        if sum(map(bool, names)) > LABEL_CELLS and is_header(names, cells) and has_values(cells):
            fields += [PartField(*pair, span) for pair in zip(names, cells, strict=False) if all(pair)]
    for cells, span in lines:
        filled = [cell.strip() for cell in cells if cell.strip()]
        if filled[0].startswith("#"):
            filled = [", ".join(filled).lstrip("# ")]
        matches = [*filter(None, map(LABEL.fullmatch, filled))]
        are_two = len(filled) == LABEL_CELLS
        pairs = [pair for pair in pairwise(filled) if are_two or pair[0].endswith(":")]
        if len(matches) == len(filled):
            pairs = [match.groups() for match in matches]
        fields += [PartField(label.rstrip(": "), value, span) for label, value in pairs]
    if fields:
        builder.part("property", widened(field.span for field in fields), fields)


class TableRow(NamedTuple):
    """A row, whose number counts from 1. ``values`` are those of its cells where they are no texts.

    ``addresses`` stand behind the texts of cells that are links, and are no part of their values.
    """

    number: int
    texts: Sequence[str]
    values: Sequence[Any] | None = None
    addresses: Sequence[str] = ()


def row_of(number: int, cells: Sequence[str]) -> TableRow:
    """Return a row of cells, each with the address of a link behind its text where it has one."""
    if not any(cell.endswith(">") for cell in cells):
        return TableRow(number, cells)
    texts, addresses = zip(*map(parted, cells), strict=True)
    return TableRow(number, texts, None, addresses)


def numbered(rows: Iterable[Sequence[str]]) -> Iterator[TableRow]:
    return (row_of(number, texts) for number, texts in enumerate(rows, 1) if any(texts))


def row_fields(
    columns: Columns, texts: Sequence[str], spans: Iterable[FileSpan], values: Sequence[Any] | None = None
) -> list[PartField]:
    """Return the fields of a row: one for each text that is neither empty nor a day of zeros alone."""
    cells = zip(columns.upto(len(texts)), texts, spans, values or texts, strict=False)
    return [
        PartField(name, value, span)
        for name, text, span, value in cells
        if text and not NO_DAY.fullmatch(text)
    ]


def add_row(
    builder: Builder, row: TableRow, columns: Columns | None, page: int | None = None,
    header: bool | None = None, address: Callable[[int, int], str] | None = None,
) -> Columns:  # fmt: skip
    """Add a row as one line, its cells between tabs, and return the columns of the table.

    ``columns`` is None for the first row of a table: it may be the ``header``, which has no part. ``address``
    names the cell of a column and a row.
    """
    number, texts, values, addresses = row
    builder.count_cells(len(texts))
    if header is None:
        header = columns is None and is_header(texts)
    columns = columns or Columns(texts if header else [])
    place = FileSpan(page=page, line=builder.line, row=number, start=builder.position)
    spans: list[FileSpan] = []
    for column, text in enumerate(texts, 1):
        link = addresses[column - 1] if addresses else ""
        span = builder.add(text, link + ("\t" if column < len(texts) else ""))
        cell = address(column, number) if address is not None else None
        spans.append(FileSpan(page, span.line, number, cell, None, span.start, span.end))
    place = place._replace(end=builder.position)
    builder.add("", "\n")
    if not header:
        builder.part("row", place, row_fields(columns, texts, spans, values))
    return columns


def add_rows(
    builder: Builder,
    rows: Iterator[TableRow],
    page: int | None = None,
    address: Callable[[int, int], str] | None = None,
) -> None:
    head = head_of(rows, lambda row: row.texts)
    # A sheet may begin with empty columns.
    empty = min((next(filter(row.texts.__getitem__, range(len(row.texts)))) for row in head), default=0)
    above, header = header_of([row.texts[empty if address is not None else 0 :] for row in head])
    spans: list[FileSpan] = []
    for row in head[:above]:
        cells = map("".join, zip(row.texts, row.addresses, strict=True)) if row.addresses else row.texts
        spans.append(builder.add(" ".join(filter(None, cells)), "\n")._replace(page=page))
    add_labels(builder, zip((row.texts for row in head), spans, strict=False))
    columns: Columns | None = None
    for row in chain(head[above:], rows):
        columns = add_row(builder, row, columns, page, header and columns is None, address)


def add_table(builder: Builder, rows: Iterable[Sequence[str]]) -> None:
    start, line, place = builder.position, builder.line, builder.reserve()
    add_rows(builder, numbered(rows))
    if builder.position > start:
        builder.part("table", FileSpan(line=line, start=start, end=builder.position - 1), place=place)
