"""Excel: sheets and rows. Cells have their address (`B7`); formulas have the value that the program stored.

A number that the sheet shows with zeros before it, as a postal code, is a text. Comments and the texts of
drawings stand below the rows of their sheet.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

import openpyxl
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from openpyxl.cell.cell import ERROR_CODES
from openpyxl.utils import range_boundaries
from openpyxl.utils.exceptions import InvalidFileException

from graphmem.ingest.building import Builder, address_after, json_value, normal
from graphmem.ingest.document import ParseFailed, PartField
from graphmem.ingest.formats.office import Package
from graphmem.ingest.formats.office_text import attribute
from graphmem.ingest.tabular import TableRow, add_rows

ZEROS = re.compile("0{2,20}")  # the format of a number of which a sheet shows so many digits
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MARKS = tuple(_SHEET + name for name in ("row", "mergeCell", "hyperlink"))
_MARKED = re.compile(rb"<(?:\w+:)?(?:f[ >/]|mergeCell |hyperlink )")
_WITHOUT_VALUE = etree.XPath("s:c[s:f][not(@t = 'str')][not(s:v/text())]/@r", namespaces={"s": _SHEET[1:-1]})
_WITH_LINK = etree.XPath("s:c[s:f[contains(., 'HYPERLINK(')]]", namespaces={"s": _SHEET[1:-1]})
_LINKED = re.compile(r'HYPERLINK\(\s*"([^"]+)"')


def parse(builder: Builder, data: bytes, name: str) -> None:
    package = Package(builder, data)
    try:
        stream = io.BytesIO(package.data)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    except (KeyError, ValueError, TypeError, InvalidFileException, zipfile.BadZipFile) as exc:
        raise ParseFailed(f"The workbook is damaged: {exc}."[:300], "damaged") from None
    package.describe()
    for number, sheet in enumerate(book.worksheets, 1):
        if sheet.sheet_state != "visible":
            builder.warn(f"The sheet {sheet.title} is hidden.")
        _add_sheet(builder, sheet, number, package)
    builder.metadata["sheets"] = book.sheetnames
    package.warn_of_rest()


@dataclass
class SheetMarks:
    """What a sheet says beside the values of its cells."""

    builder: Builder
    title: str
    above: dict[int, tuple[int, Any]] = field(default_factory=dict)
    """The last row and the value of the merged cells that reach into the next row, by their columns."""

    def row(
        self, number: int, values: dict[int, Any], merged: Mapping[int, int], links: Mapping[int, str]
    ) -> TableRow:
        """Return a row of values by columns; ``merged`` are the last rows of cells that begin here."""
        if self.above or merged:
            above = {column: cell for column, cell in self.above.items() if cell[0] >= number}
            values = {column: value for column, (_, value) in above.items()} | values
            self.above = above | {at: (last, values[at]) for at, last in merged.items() if at in values}
        cells = [values.get(column) for column in range(1, max(values, default=0) + 1)]
        texts = ["" if value is None else _cell_text(value) for value in cells]
        linked = enumerate(texts, 1) if links else ()
        return TableRow(number, texts, cells, [address_after(text, links.get(at, "")) for at, text in linked])

    def leave_out(self, cell: str, why: str) -> None:
        self.builder.left_out("cell", None, cell, f" of the sheet {self.title} with {why}")

    def error(self, cell: str) -> None:
        self.leave_out(cell, "errors in place of values")

    def uncalculated(self, cell: str) -> None:
        self.leave_out(cell, "formulas that no program has calculated (save the file with one)")


@dataclass
class _Marks(SheetMarks):
    """What a sheet says beside the values of its cells: by rows, and in these by columns."""

    links: dict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    merged: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """The last rows of merged cells, by their first rows."""

    def link(self, reference: str, address: str) -> None:
        column, row, *_ = range_boundaries(reference)
        if column and row and address:
            self.links[row][column] = address


def _read_marks(marks: _Marks, package: Package, name: str) -> None:
    relations = package.relations(name)
    if not package.has(name, _MARKED):
        return
    for _, element in etree.iterparse(package.opened(name), tag=_MARKS, resolve_entities=False):
        if element.tag == _MARKS[0]:
            for cell in _WITHOUT_VALUE(element):
                marks.uncalculated(cell)
            for cell in _WITH_LINK(element):
                link = _LINKED.search("".join(cell.itertext()))
                marks.link(cell.get("r", ""), link[1] if link else "")
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
        elif element.tag == _MARKS[1]:
            column, row, _, last = range_boundaries(element.get("ref", ""))
            if column and row and last and last > row:
                marks.merged[row][column] = last
        elif (relation := relations.get(attribute(element, "id"))) is not None and relation.is_external:
            marks.link(element.get("ref", ""), relation.target)


def _add_sheet(builder: Builder, sheet: Any, page: int, package: Package) -> None:
    # The size that a sheet claims is not believed.
    sheet.reset_dimensions()
    marks = _Marks(builder, sheet.title)
    _read_marks(marks, package, sheet._worksheet_path)
    add_sheet(
        builder, sheet.title, page, _rows(builder, sheet, marks), _lines_below(package, sheet._worksheet_path)
    )


def _lines_below(package: Package, name: str) -> Iterator[str]:
    commented: set[str] = set()
    # A thread of comments has a note as well, for older programs.
    for kind in ("threadedComment", "comments"):
        references: set[str] = set()
        for relation in package.related(name, kind):
            for comment in package.root(relation.target).iter("{*}threadedComment", "{*}comment"):
                reference = comment.get("ref", "")
                texts = comment.iterfind("{*}text" if kind == "threadedComment" else "{*}text//{*}t")
                text = " ".join("".join(each.text or "" for each in texts).split())
                if text and reference not in commented:
                    references.add(reference)
                    yield f"Comment on {reference}: {text}"
        commented |= references
    for relation in package.related(name, "drawing"):
        walk = package.walk(relation.target)
        yield from filter(None, map(walk.text, walk.within(walk.root, "p")))
        yield from package.drawing_texts(relation.target)


def _rows(builder: Builder, sheet: Any, marks: _Marks) -> Iterator[TableRow]:
    """Yield the rows that have a value, up to the last one of each."""
    for row in sheet.iter_rows():
        by_column = {cell.column: value for cell in row if (value := _value(cell, marks)) is not None}
        # Rows that the sheet leaves out come as empty ones: a claimed number of rows must not cost time.
        builder.count_cells(max(1, len(row) - max(by_column, default=0)))
        if by_column:
            number = next(cell.row for cell in row if getattr(cell, "row", None) is not None)
            yield marks.row(number, by_column, marks.merged.get(number, {}), marks.links.get(number, {}))


def _value(cell: Any, marks: _Marks) -> Any:
    """Return the JSON value of a cell, None if it is empty or an error."""
    value = cell.value
    if cell.data_type == "e" or (isinstance(value, str) and value in ERROR_CODES):
        marks.error(cell_name(cell.column, cell.row))
        return None
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if type(value) is int and value >= 0 and ZEROS.fullmatch(cell.number_format or "") is not None:
        return f"{value:0{len(cell.number_format)}}"
    value = json_value(value)
    return None if value == "" else value


def add_sheet(
    builder: Builder, title: str, page: int, rows: Iterator[TableRow], below: Iterable[str]
) -> None:
    """Add a sheet: its name, its rows, and the lines below them, such as comments."""
    builder.check_page(page)
    span = builder.add(title, "\n")._replace(page=page)
    builder.part("sheet", span, [PartField("name", normal(title), span)])
    add_rows(builder, rows, page, cell_name)
    for line in below:
        builder.add(line, "\n")
    builder.add("", "\n")


def cell_name(column: int, row: int) -> str:
    letters = ""
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"{letters}{row}"


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) if isinstance(value, str) else str(value)
