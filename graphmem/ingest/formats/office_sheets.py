"""Sheets of Excel and OpenDocument: their rows, and what is told of cells without a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.document import PartField
from graphmem.ingest.links import address_after
from graphmem.ingest.tabular import TableRow, add_rows


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
