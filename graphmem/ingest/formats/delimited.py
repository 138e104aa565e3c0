"""Tables with delimiters: CSV, TSV and their kin. Values are texts as they stand in the file.

Empty cells have no field, and rows without any value have no part. `graphmem/ingest/tabular.py` has the
rule for the header. A first line `sep=;` names the delimiter. Where a quote is never closed, the rest of its
line is read with quotes as letters: else the next rows would stand in its cell.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from graphmem.ingest.building import Builder, exceeded
from graphmem.ingest.decoding import unended, whole_text
from graphmem.ingest.detection import suffix
from graphmem.ingest.document import FileSpan, ParseFailed
from graphmem.ingest.tabular import Columns, add_labels, head_of, header_of, row_fields

DELIMITERS = ",;\t|"
FORMULA_TEXT = re.compile(r'="([^"]*)"')  # how a table makes Excel keep a text such as `0150`
STATED_DELIMITER = re.compile(r'"?sep=(.)"?\n', re.IGNORECASE)
COMMENTS = re.compile(r"\A(?:#(?: .*)?\n)+")
SAMPLE_CHARACTERS = 4_096  # how much of a text is looked at to find its delimiter


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
    text = whole_text(builder, data)
    stated = STATED_DELIMITER.match(text)
    dialect = Dialect(stated[1]) if stated else sniffed(text[:SAMPLE_CHARACTERS], suffix(name))
    rows = records(builder, text, dialect)
    head = head_of(islice(rows, bool(stated), None), lambda row: row.cells)
    if not head:
        raise ParseFailed("The table has no row.", "empty")
    above, header = header_of([row.cells for row in head])
    labels = [*filter(None, head[0].cells)]
    if above and len(labels) == 1 and not labels[0].rstrip().endswith(":"):
        builder.title = labels[0].lstrip("# ")
    spans = (FileSpan(line=row.line, row=row.number, start=row.start, end=row.end) for row in head)
    add_labels(builder, zip((row.cells for row in head[:above]), spans, strict=False))
    columns = Columns(head[above].cells if header else [])
    for row in chain(head[above + header :], rows):
        add_row(builder, row, columns)
    builder.warn(*unended(text))
    builder.metadata |= {"delimiter": dialect.delimiter, "header": header, "columns": columns.names}
    if columns.repeated:
        builder.warn(
            f"Columns have the same name; the later ones are numbered: {', '.join(columns.repeated)}."
        )
    builder.media_type = "text/tab-separated-values" if dialect.delimiter == "\t" else "text/csv"


def sniffed(sample: str, suffix: str) -> Dialect:
    if suffix in (".tsv", ".tab"):
        return Dialect("\t")
    whole_lines = sample[: sample.rfind("\n") + 1] or sample
    whole_lines = COMMENTS.sub("", whole_lines) or whole_lines
    lines = whole_lines.split("\n")
    # A line that no delimiter parts is the title of a table.
    first = next((line for line in lines if any(delimiter in line for delimiter in DELIMITERS)), lines[0])
    try:
        guess = csv.Sniffer().sniff(whole_lines, DELIMITERS)
    except csv.Error:
        return Dialect(most_regular(whole_lines))
    if guess.delimiter not in first:
        return Dialect(most_regular(whole_lines))
    # A space after the delimiter matters only before a quote: elsewhere it stands in the value.
    return Dialect(guess.delimiter, f'{guess.delimiter} "' in whole_lines and bool(guess.skipinitialspace))


def most_regular(sample: str) -> str:
    """Return the delimiter that most lines have as often as the first line."""
    lines = [line for line in sample.split("\n") if any(delimiter in line for delimiter in DELIMITERS)][:20]
    if not lines:
        return DELIMITERS[0]

    def regularity(delimiter: str) -> int:
        count = lines[0].count(delimiter)
        return count and sum(line.count(delimiter) == count for line in lines)

    return max(DELIMITERS, key=regularity)


def records(builder: Builder, text: str, dialect: Dialect) -> Iterator[DelimitedRecord]:
    """Yield the rows with a value.

    The library splits rows into cells. It says not where a cell stands, so each cell is searched from the end
    of the one before; where quotes are irregular, the place of a cell is its whole row.
    """
    csv.field_size_limit(builder.limits.text_characters)
    stream = io.StringIO(text, newline="\n")
    consumed = 0

    def counted() -> Iterator[str]:
        nonlocal consumed
        for line in stream:
            consumed += len(line)
            yield line

    reader = csv.reader(counted(), **dialect._asdict())
    number, start, line, before = 0, 0, 1, 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            raise ParseFailed(f"Line {line} is no row of a table: {exc}.", "damaged") from None
        if cells is None:
            return
        lines, before = reader.line_num - before, reader.line_num
        if (lines > 1 or consumed == len(text)) and not _is_closed(text[start:consumed], dialect):
            builder.warn(f"Line {line} has a quote that is not closed: it is read as a letter.")
            consumed = (text.find("\n", start) + 1) or len(text)
            cells = next(
                csv.reader([text[start:consumed]], delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
            )
            stream.seek(consumed)
            reader, lines, before = csv.reader(counted(), **dialect._asdict()), 1, 0
        if len(cells) > builder.limits.cells:
            raise exceeded(f"more than {builder.limits.cells:,} cells")
        number += 1
        if any(cells):
            end = consumed - text.endswith("\n", start, consumed)
            yield DelimitedRecord(number, line, start, end, cells, places(text, start, end, cells, dialect))
        start, line = consumed, line + lines


def _is_closed(row: str, dialect: Dialect) -> bool:
    """Return whether each quote that begins a cell has one that ends it."""
    try:
        return '"' not in row or list(csv.reader(io.StringIO(row), strict=True, **dialect._asdict())) != []
    except csv.Error as exc:
        return "\n" not in row.rstrip("\n") and "end of data" not in str(exc)


def places(text: str, start: int, end: int, cells: list[str], dialect: Dialect) -> list[tuple[int, int]]:
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
    builder.count_cells(len(row.cells))
    spans = [FileSpan(line=row.line, row=row.number, start=start, end=end) for start, end in row.places]
    span = FileSpan(line=row.line, row=row.number, start=row.start, end=row.end)
    cells = [match[1] if (match := FORMULA_TEXT.fullmatch(cell)) else cell for cell in row.cells]
    builder.part("row", span, row_fields(columns, cells, spans))
