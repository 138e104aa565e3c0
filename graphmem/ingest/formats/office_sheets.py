"""Sheets of Excel and OpenDocument: their rows, and what is told of cells without a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.document import PartField
from graphmem.ingest.links import address_after
from graphmem.ingest.tabular import TableRow, add_rows

CELLS_SHOWN = 20  # cells that a warning names


@dataclass
class SheetMarks:
    """Cells of a sheet whose values are not known, by their names, and the last rows of merged cells."""

    uncalculated: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    above: dict[int, tuple[int, Any]] = field(default_factory=dict)
    """The last row and the value of the merged cells that reach into the next row, by their columns."""

    def row(
        self, number: int, values: dict[int, Any], merged: Mapping[int, int], links: Mapping[int, str]
    ) -> TableRow:
        """Return a row of values by columns; ``merged`` are the last rows of cells that begin here."""
        above = {column: cell for column, cell in self.above.items() if cell[0] >= number}
        values = {column: value for column, (_, value) in above.items()} | values
        self.above = above | {at: (last, values[at]) for at, last in merged.items() if at in values}
        cells = [values.get(column) for column in range(1, max(values, default=0) + 1)]
        texts = ["" if value is None else _cell_text(value) for value in cells]
        addresses = [address_after(text, links.get(at, "")) for at, text in enumerate(texts, 1)]
        return TableRow(number, texts, cells, addresses if links else ())


def add_sheet(
    builder: Builder, title: str, page: int, rows: Iterator[TableRow], marks: SheetMarks,
    below: Iterable[str],
) -> None:  # fmt: skip
    """Add a sheet: its name, its rows, and the lines below them, such as comments."""
    builder.check_page(page)
    span = builder.add(title, "\n")._replace(page=page)
    builder.part("sheet", span, [PartField("name", normal(title), span)])
    add_rows(builder, rows, page, cell_name)
    for line in below:
        builder.add(line, "\n")
    builder.add("", "\n")
    for cells, reason in (
        (marks.uncalculated, "formulas that no program has calculated: save the file with one"),
        (marks.errors, "errors in place of values"),
    ):
        if cells:
            names = ", ".join(cells[:CELLS_SHOWN]) + (" …" if len(cells) > CELLS_SHOWN else "")
            count = f"{len(cells):,} cell{'s' * (len(cells) > 1)}"
            builder.warn(f"TEXT_NOT_READ: {count} of the sheet {title} ({names}), {reason}.")


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
