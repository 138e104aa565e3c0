"""OpenDocument text (ODT): headings, paragraphs, items of lists and rows of tables, in their order."""

from __future__ import annotations

import io
from typing import Any

import odfdo

from graphmem.ingest import archives
from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office import add_paragraph
from graphmem.ingest.tabular import add_table

CONTAINERS = {"text:section", "text:list", "text:list-item", "text:list-header", "text:index-body"}
CELLS_REPEATED_LIMIT = 1_000
METADATA = {"dc:creator": "author", "meta:initial-creator": "author", "dc:subject": "subject",
            "meta:creation-date": "created", "dc:date": "modified", "dc:description": "comments",
            "dc:language": "language", "meta:generator": "generator"}  # fmt: skip


def parse(builder: Builder, data: bytes, name: str) -> None:
    data = archives.check(data, builder)
    archive, manifest = archives.opened(data, builder.limits), "META-INF/manifest.xml"
    if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
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
            level = element.get_attribute("text:outline-level") or 1
            heading = int(level) if element.tag == "text:h" else None
            add_paragraph(builder, str(element.inner_text), heading, depth)
        elif element.tag == "table:table":
            add_table(builder, map(_cells, element.get_elements("descendant::table:table-row")))


def _describe(builder: Builder, document: odfdo.Document) -> None:
    meta = document.meta
    builder.title = meta.title
    root = meta.root
    for tag, key in METADATA.items():
        element = root.get_element(f"//{tag}")
        if element is not None and (element.text or "").strip():
            builder.metadata.setdefault(key, element.text.strip())


def _cells(row: Any) -> list[str]:
    cells: list[str] = []
    for cell in row.children:
        if cell.tag in ("table:table-cell", "table:covered-table-cell"):
            text = " ".join(str(cell.inner_text).split())
            repeated = int(cell.get_attribute("table:number-columns-repeated") or 1)
            cells += [text] * max(1, min(repeated, CELLS_REPEATED_LIMIT))
    while cells and not cells[-1]:
        cells.pop()
    return cells
