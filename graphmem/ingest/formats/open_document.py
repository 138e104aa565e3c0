"""OpenDocument text (ODT): headings, paragraphs, items of lists and rows of tables in the order of the
document.
"""

from __future__ import annotations

import io
from typing import Any

import odfdo

from graphmem.ingest import archives
from graphmem.ingest.building import Builder
from graphmem.ingest.document import DocumentLimits, FileSpan, ParsedDocument, ParseFailed
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.tabular import Columns, add_row

CONTAINERS = {"text:section", "text:list", "text:list-item", "text:list-header", "text:index-body"}
CELLS_REPEATED_LIMIT = 1_000
METADATA = {"dc:creator": "author", "meta:initial-creator": "author", "dc:subject": "subject",
            "meta:creation-date": "created", "dc:date": "modified", "dc:description": "comments",
            "dc:language": "language", "meta:generator": "generator"}  # fmt: skip


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the text of a document with its blocks."""
    builder = Builder(limits)
    archives.check(data, limits, builder)
    if b"encryption-data" in archives.content_of(data, "META-INF/manifest.xml", limits):
        raise ParseFailed("The document is encrypted: a password is needed to read it.", "encrypted")
    try:
        document = odfdo.Document(io.BytesIO(data))
        body = document.body
    except (KeyError, ValueError, TypeError, AttributeError, OSError) as exc:
        raise ParseFailed(f"The document is damaged: {exc}."[:300], "damaged") from None
    _describe(builder, document)
    waiting: list[tuple[Any, int]] = [(child, 0) for child in reversed(body.children)]
    while waiting:
        element, depth = waiting.pop()
        if element.tag in CONTAINERS:
            deeper = depth + (element.tag == "text:list")
            waiting.extend((child, deeper) for child in reversed(element.children))
        elif element.tag in ("text:h", "text:p"):
            _add_paragraph(builder, element, depth)
        elif element.tag == "table:table":
            _add_table(builder, element)
    return builder.document(BY_NAME["odt"])


def _describe(builder: Builder, document: odfdo.Document) -> None:
    meta = document.meta
    builder.title = meta.title
    root = meta.root
    for tag, key in METADATA.items():
        element = root.get_element(f"//{tag}")
        if element is not None and (element.text or "").strip():
            builder.metadata.setdefault(key, element.text.strip())


def _add_paragraph(builder: Builder, element: Any, depth: int) -> None:
    text = str(element.inner_text).strip()
    if not text:
        return
    span = builder.add(text, "\n")
    if element.tag == "text:h":
        level = int(element.get_attribute("text:outline-level") or 1)
        if builder.title is None and level == 1:
            builder.title = text
        builder.part("heading", span, level=max(1, level))
    elif depth:
        builder.part("item", span, level=depth)
    else:
        builder.part("paragraph", span)


def _add_table(builder: Builder, table: Any) -> None:
    start, line, place = builder.position, builder.line, builder.reserve()
    columns: Columns | None = None
    for number, row in enumerate(table.get_elements("descendant::table:table-row"), 1):
        cells: list[str] = []
        for cell in row.children:
            if cell.tag not in ("table:table-cell", "table:covered-table-cell"):
                continue
            text = " ".join(str(cell.inner_text).split())
            repeated = int(cell.get_attribute("table:number-columns-repeated") or 1)
            cells += [text] * max(1, min(repeated, CELLS_REPEATED_LIMIT))
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            columns = add_row(builder, cells, columns, number)
    if builder.position > start:
        builder.part("table", FileSpan(line=line, start=start, end=builder.position - 1), place=place)
