"""Tables with delimiters: CSV, TSV and their kin. Values are texts as they stand in the file.

Empty cells have no field, and rows without any value have no part. `graphmem/ingest/tabular.py` has the
rule for the header.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from graphmem.ingest.building import Builder, exceeded
from graphmem.ingest.decoding import whole_text
from graphmem.ingest.detection import suffix
from graphmem.ingest.document import DocumentLimits, FileSpan, ParseFailed
from graphmem.ingest.tabular import Columns, is_header, row_fields

DELIMITERS = ",;\t|"
SAMPLE_CHARACTERS = 4_096
"""How much of a text is looked at to find its delimiter."""


class Dialect(NamedTuple):
    """The dialect of a file. The quote is always `"`: a guess would take apostrophes for quotes."""

    delimiter: str
    skipinitialspace: bool = False


class DelimitedRecord(NamedTuple):
    """A row: its number from 1, its first line, its place, and the places of its cells."""

    number: int
    line: int
    start: int
    end: int
    cells: list[str]
    places: list[tuple[int, int]]


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add the table as its text, with one part per row."""
    text = whole_text(builder, data)
    dialect = sniffed(text[:SAMPLE_CHARACTERS], suffix(name))
    rows = records(text, dialect, builder.limits)
    first = next(rows, None)
    if first is None:
        raise ParseFailed("The table has no row.", "empty")
    header = is_header(first.cells)
    columns = Columns(first.cells if header else [])
    if not header:
        add_row(builder, first, columns)
    for row in rows:
        add_row(builder, row, columns)
    builder.metadata |= {"delimiter": dialect.delimiter, "header": header, "columns": columns.names}
    if columns.repeated:
        builder.warn(
            f"Columns have the same name; the later ones are numbered: {', '.join(columns.repeated)}."
        )
    builder.media_type = "text/tab-separated-values" if dialect.delimiter == "\t" else "text/csv"


def sniffed(sample: str, suffix: str) -> Dialect:
    """Return the dialect that the first lines have."""
    if suffix in (".tsv", ".tab"):
        return Dialect("\t")
    whole_lines = sample[: sample.rfind("\n") + 1] or sample
    try:
        guess = csv.Sniffer().sniff(whole_lines, DELIMITERS)
    except csv.Error:
        return Dialect(most_regular(whole_lines))
    if guess.delimiter not in whole_lines.partition("\n")[0]:
        return Dialect(most_regular(whole_lines))
    # A space after the delimiter matters only before a quote: elsewhere it stands in the value.
    return Dialect(guess.delimiter, f'{guess.delimiter} "' in whole_lines and bool(guess.skipinitialspace))


def most_regular(sample: str) -> str:
    """Return the delimiter that most lines have as often as the first line."""
    lines = [line for line in sample.split("\n") if line][:20]
    if not lines:
        return DELIMITERS[0]

    def regularity(delimiter: str) -> int:
        count = lines[0].count(delimiter)
        return count and sum(line.count(delimiter) == count for line in lines)

    return max(DELIMITERS, key=regularity)


def records(text: str, dialect: Dialect, limits: DocumentLimits) -> Iterator[DelimitedRecord]:
    """Yield the rows with a value.

    The library splits rows into cells. It says not where a cell stands, so each cell is searched from the end
    of the one before; where quotes are irregular, the place of a cell is its whole row.
    """
    csv.field_size_limit(limits.text_characters)
    consumed = 0

    def counted() -> Iterator[str]:
        nonlocal consumed
        for line in io.StringIO(text, newline="\n"):
            consumed += len(line)
            yield line

    reader = csv.reader(counted(), **dialect._asdict())
    number, start, line = 0, 0, 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            raise ParseFailed(f"Line {reader.line_num} is no row of a table: {exc}.", "damaged") from None
        if cells is None:
            return
        if len(cells) > limits.cells:
            raise exceeded(f"more than {limits.cells:,} cells")
        number += 1
        if any(cells):
            end = consumed - text.endswith("\n", start, consumed)
            yield DelimitedRecord(number, line, start, end, cells, places(text, start, end, cells, dialect))
        start, line = consumed, reader.line_num + 1


def places(text: str, start: int, end: int, cells: list[str], dialect: Dialect) -> list[tuple[int, int]]:
    """Return start and end of each cell, without its quotes."""
    spans: list[tuple[int, int]] = []
    position = start
    for cell in cells:
        if dialect.skipinitialspace:
            while position < end and text[position] == " ":
                position += 1
        quoted = text.startswith('"', position, end)
        raw = cell.replace('"', '""') if quoted else cell
        begin = position + quoted
        stop = begin + len(raw)
        after = stop + quoted
        complete = text.startswith(raw, begin, end) and (not quoted or text.startswith('"', stop, end))
        if not complete or not (after == end or text.startswith(dialect.delimiter, after, end)):
            return spans + [(start, end)] * (len(cells) - len(spans))
        spans.append((begin, stop))
        position = after + 1
    return spans


def add_row(builder: Builder, row: DelimitedRecord, columns: Columns) -> None:
    """Add the part of a row."""
    builder.count_cells(len(row.cells))
    spans = [FileSpan(line=row.line, row=row.number, start=start, end=end) for start, end in row.places]
    span = FileSpan(line=row.line, row=row.number, start=row.start, end=row.end)
    builder.part("row", span, row_fields(columns, row.cells, spans))
