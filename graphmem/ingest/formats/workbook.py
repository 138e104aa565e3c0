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
from typing import Any

import openpyxl
from openpyxl.utils import get_column_letter
from openpyxl.utils.exceptions import InvalidFileException

from graphmem.ingest import archives
from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.document import ParseFailed, PartField
from graphmem.ingest.formats.office import describe
from graphmem.ingest.tabular import TableRow, add_rows

ZEROS = re.compile("0{2,20}")
"""The format of a number of which a sheet shows so many digits."""


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
    add_rows(builder, _rows(builder, sheet), page, lambda column, row: f"{get_column_letter(column)}{row}")
    builder.add("", "\n")


def _rows(builder: Builder, sheet: Any) -> Iterator[TableRow]:
    """Yield the rows that have a value, up to the last one of each."""
    for row in sheet.iter_rows():
        by_column = {cell.column: value for cell in row if (value := _value(cell)) is not None}
        width = max(by_column, default=0)
        # Rows that the sheet leaves out come as empty ones: a claimed number of rows must not cost time.
        builder.count_cells(max(1, len(row) - width))
        if by_column:
            number = next(cell.row for cell in row if getattr(cell, "row", None) is not None)
            values = [by_column.get(column) for column in range(1, width + 1)]
            yield TableRow(number, ["" if value is None else _cell_text(value) for value in values], values)


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
