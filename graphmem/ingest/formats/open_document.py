"""OpenDocument text (ODT): headings, paragraphs, items of lists and rows of tables, in their order.

A text box, a note and a comment stand after the paragraph that has them, headers before the text and footers
after it. What was deleted while changes were tracked is left out. A table in a table is text of its cell.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office import Package, add_paragraph
from graphmem.ingest.formats.office_text import attribute, local
from graphmem.ingest.links import address_after
from graphmem.ingest.tabular import add_table

HIDDEN = {"tracked-changes", "forms", "desc", "title", "note-citation", "table-of-content-source"}
APART = {"note": "Note: ", "annotation": "Comment: ", "text-box": "", "custom-shape": ""}
"""What stands after the paragraph that has it, and the label of its text."""
REPEATED_LIMIT = 1_000
METADATA = {
    "creator": "author", "initial-creator": "author", "subject": "subject", "creation-date": "created",
    "date": "modified", "description": "comments", "language": "language", "generator": "generator",
}  # fmt: skip


def parse(builder: Builder, data: bytes, name: str) -> None:
    package = Package(builder, data)
    manifest = package.root("META-INF/manifest.xml")
    if next(manifest.iter("{*}encryption-data"), None) is not None:
        raise ParseFailed("The document is encrypted: a password is needed to read it.", "encrypted")
    body = next(package.root("content.xml").iter("{*}text"), None)
    if body is None:
        raise ParseFailed("The document is damaged: it has no text.", "damaged")
    for element in package.root("meta.xml").iterfind("{*}meta/*"):
        key, value = local(element.tag), (element.text or "").strip()
        if key == "title":
            builder.title = value
        elif key in METADATA and value:
            builder.metadata.setdefault(METADATA[key], value)
    text, styles = _Text(builder), package.root("styles.xml")
    text.add_lines(styles.iter("{*}header", "{*}header-left", "{*}header-first"))
    text.add_blocks(body, 0)
    text.add_lines(styles.iter("{*}footer", "{*}footer-left", "{*}footer-first"))
    package.warn_of_rest()


class _Text:
    """Adds the text of elements to a document. ``_apart`` is what stands after the paragraph that is read."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._apart: list[etree._Element] = []

    def add_lines(self, elements: Iterator[etree._Element]) -> None:
        """Add the text of each element as a paragraph, the same text once."""
        for text in dict.fromkeys(map(self._line, elements)):
            add_paragraph(self._builder, text, None, 0)

    def add_blocks(self, element: etree._Element, depth: int) -> None:
        """Add the blocks in an element that stands in so many lists."""
        for each in element:
            name = local(each.tag)
            if name == "table":
                add_table(self._builder, self._rows(each))
            elif name in ("h", "p"):
                level = attribute(each, "outline-level") or "1"
                heading = int(level) if name == "h" and level.isdecimal() else None
                add_paragraph(self._builder, self._text(each), heading, depth)
            elif name not in HIDDEN:
                self.add_blocks(each, depth + (name == "list"))
            apart, self._apart = self._apart, []
            for part in apart:
                text = self._line(part)
                add_paragraph(self._builder, APART[local(part.tag)] + text if text else "", None, 0)

    def _text(self, paragraph: etree._Element) -> str:
        return "".join(self._pieces(paragraph))

    def _pieces(self, element: etree._Element) -> Iterator[str]:
        yield _words(element.text)
        for each in element:
            name = local(each.tag)
            if name == "s":
                yield " " * _count(each, "c")
            elif name in ("tab", "line-break"):
                yield "\t" if name == "tab" else "\n"
            elif name == "a":
                words = self._text(each)
                yield words + address_after(words, attribute(each, "href"))
            elif name in APART:
                self._apart.append(each)
            elif name not in HIDDEN:
                yield from self._pieces(each)
            yield _words(each.tail)

    def _line(self, element: etree._Element) -> str:
        """Return the text of all paragraphs in an element, with what stands apart in them, as one line."""
        texts: list[str] = []
        for paragraph in _within(element, "p", "h"):
            texts.append(self._text(paragraph))
            apart, self._apart = self._apart, []
            texts += map(self._line, apart)
        return " ".join(" ".join(texts).split())

    def _rows(self, table: etree._Element) -> Iterator[list[str]]:
        for row in _within(table, "table-row"):
            cells: list[str] = []
            for cell in _within(row, "table-cell", "covered-table-cell"):
                cells += [self._line(cell)] * _count(cell, "number-columns-repeated")
            while cells and not cells[-1]:
                cells.pop()
            yield cells


def _within(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the outermost elements of these names in another that a program shows."""
    for each in element:
        name = local(each.tag)
        if name in names:
            yield each
        elif name not in HIDDEN:
            yield from _within(each, *names)


def _count(element: etree._Element, name: str) -> int:
    value = attribute(element, name)
    return max(1, min(int(value), REPEATED_LIMIT)) if value.isdecimal() else 1


def _words(text: str | None) -> str:
    """Return a text in which white space is one space, as programs show it."""
    if not text or text.isspace():
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{' '.join(text.split())}{' ' * text[-1].isspace()}"
