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
from docx.table import _Row
from docx.text.paragraph import Paragraph

from graphmem.ingest import archives
from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office import add_paragraph, describe
from graphmem.ingest.tabular import add_table

HEADING = re.compile(r"heading (\d)")


PartFactory.part_type_for["application/vnd.ms-word.document.macroEnabled.main+xml"] = DocumentPart


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add the text of a document with its blocks."""
    data = archives.check(data, builder)
    try:
        document = _opened(data)
    except (KeyError, ValueError, PackageNotFoundError) as exc:
        raise ParseFailed(f"The Word document is damaged: {exc}."[:300], "damaged") from None
    describe(builder, document.core_properties)
    styles = {style.style_id: (style.name or "").lower() for style in document.styles}
    for block in document.iter_inner_content():
        if isinstance(block, Paragraph):
            _add_paragraph(builder, block, styles)
        else:
            add_table(builder, map(_cells, block.rows))


def _opened(data: bytes) -> WordDocument:
    """Open a document, also one whose type says that it has macros."""
    part = Package.open(io.BytesIO(data)).main_document_part
    if not isinstance(part, DocumentPart):
        raise ValueError(f"its content type is {part.content_type}")
    return part.document


def _add_paragraph(builder: Builder, paragraph: Paragraph, styles: dict[str, str]) -> None:
    properties = paragraph._p.pPr
    style = styles.get(paragraph._p.style or "", "")
    match = HEADING.match(style)
    heading = int(match[1]) if match else 1 if style == "title" else None
    numbering = properties.numPr if properties is not None else None
    depth = 0
    if numbering is not None or style.startswith("list"):
        depth = 1 + max(0, numbering.ilvl.val if numbering is not None and numbering.ilvl is not None else 0)
    add_paragraph(builder, paragraph.text, heading, depth)


def _cells(row: _Row) -> list[str]:
    # A merged cell comes once per column that it spans: the first one keeps its text.
    seen: set[int] = set()
    texts = []
    for cell in row.cells:
        texts.append("" if id(cell._tc) in seen else " ".join(cell.text.split()))
        seen.add(id(cell._tc))
    return texts
