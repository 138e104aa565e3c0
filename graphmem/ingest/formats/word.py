"""Word: paragraphs, headings, items of lists and rows of tables in the order of the document.

Headers, footers, notes, comments and text boxes are not read. A table in a table is text of its cell.
"""

from __future__ import annotations

import io
import re

from docx.document import Document as WordDocument
from docx.opc.exceptions import PackageNotFoundError
from docx.opc.part import PartFactory
from docx.package import Package
from docx.parts.document import DocumentPart
from docx.table import Table
from docx.text.paragraph import Paragraph

from graphmem.ingest import archives
from graphmem.ingest.building import Builder
from graphmem.ingest.document import DocumentLimits, FileSpan, ParsedDocument, ParseFailed
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats.office import describe
from graphmem.ingest.tabular import Columns, add_row

HEADING = re.compile(r"heading (\d)")


PartFactory.part_type_for["application/vnd.ms-word.document.macroEnabled.main+xml"] = DocumentPart


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the text of a document with its blocks."""
    builder = Builder(limits)
    archives.check(data, limits, builder)
    try:
        document = _opened(data)
    except (KeyError, ValueError, PackageNotFoundError) as exc:
        raise ParseFailed(f"The Word document is damaged: {exc}."[:300], "damaged") from None
    describe(builder, document.core_properties)
    styles = _style_names(document)
    for block in document.iter_inner_content():
        if isinstance(block, Paragraph):
            _add_paragraph(builder, block, styles)
        else:
            _add_table(builder, block)
    return builder.document(BY_NAME["docx"])


def _opened(data: bytes) -> WordDocument:
    """Open a document, also one whose type says that it has macros."""
    part = Package.open(io.BytesIO(data)).main_document_part
    if not isinstance(part, DocumentPart):
        raise ValueError(f"its content type is {part.content_type}")
    return part.document


def _style_names(document: WordDocument) -> dict[str, str]:
    return {style.style_id: (style.name or "").lower() for style in document.styles}


def _add_paragraph(builder: Builder, paragraph: Paragraph, styles: dict[str, str]) -> None:
    text = paragraph.text.strip()
    if not text:
        return
    properties = paragraph._p.pPr
    style = styles.get(paragraph._p.style or "", "")
    span = builder.add(text, "\n")
    heading = HEADING.match(style)
    numbering = properties.numPr if properties is not None else None
    if style == "title" or heading:
        level = int(heading[1]) if heading else 1
        if builder.title is None and level == 1:
            builder.title = text
        builder.part("heading", span, level=max(1, level))
    elif numbering is not None or style.startswith("list"):
        depth = numbering.ilvl.val if numbering is not None and numbering.ilvl is not None else 0
        builder.part("item", span, level=1 + max(0, depth))
    else:
        builder.part("paragraph", span)


def _add_table(builder: Builder, table: Table) -> None:
    start, line, place = builder.position, builder.line, builder.reserve()
    columns: Columns | None = None
    rows: list[list[str]] = []
    for row in table.rows:
        # A merged cell comes once per column that it spans: the first one keeps its text.
        seen: set[int] = set()
        cells = []
        for cell in row.cells:
            repeated = id(cell._tc) in seen
            seen.add(id(cell._tc))
            cells.append("" if repeated else " ".join(cell.text.split()))
        rows.append(cells)
        builder.count_cells(len(cells))
    for number, cells in enumerate(rows, 1):
        if any(cells):
            columns = add_row(builder, cells, columns, number)
    if builder.position > start:
        builder.part("table", FileSpan(line=line, start=start, end=builder.position - 1), place=place)
