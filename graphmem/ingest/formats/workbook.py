"""Excel: sheets and rows. Cells have their address (`B7`); formulas have the value that the program stored.

The text of a sheet is its name and then one line per row, with tabs. Numbers are numbers, dates are ISO
8601. A number that the sheet shows with zeros before it, as a postal code, is a text. A line with one cell
above a wider row is a title, not a row.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from itertools import chain, islice
from typing import Any

import openpyxl
from openpyxl.utils import get_column_letter
from openpyxl.utils.exceptions import InvalidFileException

from graphmem.ingest import archives
from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.formats.office import describe
from graphmem.ingest.tabular import HEAD_ROWS, Columns, header_of

ZEROS = re.compile("0{2,20}")
"""The format of a number of which a sheet shows so many digits."""
Row = tuple[int, list[tuple[int, Any]], int]
"""The number of a row, its cells that have a value (column from 1, value), and its last column."""


def parse(builder: Builder, data: bytes, name: str) -> None:
    data = archives.check(data, builder)
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except (KeyError, ValueError, TypeError, InvalidFileException, zipfile.BadZipFile) as exc:
        raise ParseFailed(f"The workbook is damaged: {exc}."[:300], "damaged") from None
    describe(builder, book.properties)
    for number, sheet in enumerate(book.worksheets, 1):
        builder.check_page(number)
        if sheet.sheet_state != "visible":
            builder.warn(f"The sheet {sheet.title} is hidden.")
        _add_sheet(builder, sheet, number)
    builder.metadata["sheets"] = book.sheetnames


def _add_sheet(builder: Builder, sheet: Any, page: int) -> None:
    title = builder.add(sheet.title, "\n")
    span = title._replace(page=page)
    builder.part("sheet", span, [PartField("name", normal(sheet.title), span)])
    # The size that a sheet claims is not believed.
    sheet.reset_dimensions()
    rows = _rows(builder, sheet)
    head = list(islice(rows, HEAD_ROWS))
    first = min((row[1][0][0] for row in head), default=1)
    above, header = header_of([_texts(row)[first - 1 :] for row in head])
    for _, cells, _ in head[:above]:
        builder.add(" ".join(_cell_text(value) for _, value in cells), "\n")
    columns = None
    for row in chain(head[above:], rows):
        columns = _add_row(builder, row, page, columns, header and columns is None)
    builder.add("", "\n")


def _rows(builder: Builder, sheet: Any) -> Iterator[Row]:
    for row in sheet.iter_rows():
        # Rows that the sheet leaves out come as empty ones: a claimed number of rows must not cost time.
        builder.count_cells(len(row) or 1)
        cells = [(cell.column, value) for cell in row if (value := _value(cell)) is not None]
        if cells:
            number = next(cell.row for cell in row if getattr(cell, "row", None) is not None)
            yield number, cells, cells[-1][0]


def _value(cell: Any) -> Any:
    """Return the JSON value of a cell, None if it is empty."""
    value = cell.value
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if type(value) is int and value >= 0 and ZEROS.fullmatch(cell.number_format or "") is not None:
        return f"{value:0{len(cell.number_format)}}"
    value = json_value(value)
    return None if value == "" else value


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) if isinstance(value, str) else str(value)


def _texts(row: Row) -> list[str]:
    """Return the texts of the cells from the first column to the last that has a value."""
    by_column = dict(row[1])
    return [_cell_text(by_column[column]) if column in by_column else "" for column in range(1, row[2] + 1)]


def _add_row(builder: Builder, row: Row, page: int, columns: Columns | None, header: bool) -> Columns:
    number, cells, width = row
    by_column, texts = dict(cells), _texts(row)
    columns = columns or Columns(texts if header else [])
    names = columns.upto(width)
    start, line = builder.position, builder.line
    fields = []
    for column, text in enumerate(texts, 1):
        span = builder.add(text, "\t" if column < width else "")
        if text:
            cell = f"{get_column_letter(column)}{number}"
            place = FileSpan(page, line, number, cell, start=span.start, end=span.end)
            fields.append(PartField(names[column - 1], by_column[column], place))
    end = builder.position
    builder.add("", "\n")
    if not header:
        builder.part("row", FileSpan(page=page, line=line, row=number, start=start, end=end), fields)
    return columns
