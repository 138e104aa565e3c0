"""OpenDocument text (ODT): headings, paragraphs, items of lists and rows of tables, in their order.

A text box, a note and a comment stand after the paragraph that has them, headers before the text and footers
after it. What was deleted while changes were tracked is left out. A table in a table is text of its cell.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office import Package, add_once, add_paragraph, describe
from graphmem.ingest.formats.office_text import Walk, attribute, local
from graphmem.ingest.tables import table
from graphmem.ingest.tabular import add_table

HIDDEN = {"tracked-changes", "forms", "desc", "title", "note-citation", "table-of-content-source"}
APART = {"note": "Note: ", "annotation": "Comment: ", "text-box": "", "custom-shape": ""}
"""What stands after the paragraph that has it, and the label of its text."""
REPEATED_LIMIT = 1_000


def parse(builder: Builder, data: bytes, name: str) -> None:
    package = Package(builder, data)
    manifest = package.root("META-INF/manifest.xml")
    if next(manifest.iter("{*}encryption-data"), None) is not None:
        raise ParseFailed("The document is encrypted: a password is needed to read it.", "encrypted")
    body = next(package.root("content.xml").iter("{*}text"), None)
    if body is None:
        raise ParseFailed("The document is damaged: it has no text.", "damaged")
    describe(builder, package.root("meta.xml").iterfind("{*}meta/*"), table("field_names")["odt"])
    styles, walk = package.root("styles.xml"), _Text(body, {})
    add_once(builder, map(walk.line, styles.iter("{*}header", "{*}header-left", "{*}header-first")))
    _add_blocks(builder, walk, body, 0)
    add_once(builder, map(walk.line, styles.iter("{*}footer", "{*}footer-left", "{*}footer-first")))
    package.warn_of_rest()


def _add_blocks(builder: Builder, walk: _Text, element: etree._Element, depth: int) -> None:
    """Add the blocks in an element that stands in so many lists."""
    for each in element:
        name = local(each.tag)
        if name == "table":
            add_table(builder, walk.rows(each))
        elif name in ("h", "p"):
            level = attribute(each, "outline-level") or "1"
            heading = int(level) if name == "h" and level.isdecimal() else None
            add_paragraph(builder, walk.text(each), heading, depth)
        elif name not in HIDDEN:
            _add_blocks(builder, walk, each, depth + (name == "list"))
        boxes, walk.boxes[:] = walk.boxes[:], []
        for box in boxes:
            text = walk.line(box)
            add_paragraph(builder, APART[local(box.tag)] + text if text else "", None, 0)


class _Text(Walk):
    """Reads the text of an element; ``boxes`` is what stands after the paragraph that was read."""

    hidden = HIDDEN
    paragraphs = ("p", "h")

    def _read(self, element: etree._Element) -> None:
        self._add(_words(element.text))
        for each in element:
            name = local(each.tag)
            if name == "s":
                self._add(" " * _count(each, "c"))
            elif name in ("tab", "line-break"):
                self._add("\t" if name == "tab" else "\n")
            elif name == "a":
                self._read_linked(each, attribute(each, "href"))
            elif name in APART:
                self.boxes.append(each)
            elif name not in HIDDEN:
                self._read(each)
            self._add(_words(each.tail))

    def rows(self, table: etree._Element) -> Iterator[list[str]]:
        for row in self.within(table, "table-row"):
            cells: list[str] = []
            for cell in self.within(row, "table-cell", "covered-table-cell"):
                cells += [self.line(cell)] * _count(cell, "number-columns-repeated")
            while cells and not cells[-1]:
                cells.pop()
            yield cells


def _count(element: etree._Element, name: str) -> int:
    value = attribute(element, name)
    return max(1, min(int(value), REPEATED_LIMIT)) if value.isdecimal() else 1


def _words(text: str | None) -> str:
    """Return a text in which white space is one space, as programs show it."""
    if not text or text.isspace():
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{' '.join(text.split())}{' ' * text[-1].isspace()}"
