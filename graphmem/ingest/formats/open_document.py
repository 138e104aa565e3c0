"""OpenDocument text (ODT): headings, paragraphs, items of lists and rows of tables, in their order.

A text box, a note and a comment stand after the paragraph that has them, headers before the text and footers
after it, each once. What was deleted while changes were tracked is left out. A table in a table is text of
its cell.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest import archives
from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office import add_paragraph
from graphmem.ingest.formats.office_text import attribute, local
from graphmem.ingest.links import address_after
from graphmem.ingest.tabular import add_table

HIDDEN = {"tracked-changes", "forms", "desc", "title", "note-citation"}
"""Elements without text that a program shows in this place; so are sources of indexes."""
APART = {"note": "Note: ", "annotation": "Comment{}: ", "text-box": "", "custom-shape": "", "object": ""}
"""What stands after the paragraph that has it, and the label of its text."""
CELLS = {"table-cell", "covered-table-cell"}
REPEATED_LIMIT = 1_000
METADATA = {
    "creator": "author", "initial-creator": "author", "subject": "subject", "creation-date": "created",
    "date": "modified", "description": "comments", "language": "language", "generator": "generator",
}  # fmt: skip


def parse(builder: Builder, data: bytes, name: str) -> None:
    archive = archives.opened(archives.check(data, builder), builder.limits)
    manifest = "META-INF/manifest.xml"
    if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
        raise ParseFailed("The document is encrypted: a password is needed to read it.", "encrypted")
    meta, styles, content = (_root(archive, f"{each}.xml") for each in ("meta", "styles", "content"))
    body = next(content.iter("{*}text"), None)
    if body is None:
        raise ParseFailed("The document is damaged: it has no text.", "damaged")
    _describe(builder, meta)
    text = _Text(builder)
    text.add_around(styles, "header")
    text.add_blocks(body, 0)
    text.add_around(styles, "footer")
    for name in archive.namelist():
        if name.startswith("Object ") and name.endswith("/content.xml"):
            builder.left_out("embedded object", None, name.partition("/")[0])


def _root(archive: zipfile.ZipFile, name: str) -> etree._Element:
    if name not in archive.namelist():
        return etree.Element("none")
    parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(archive.read(name), parser)
    except etree.XMLSyntaxError as exc:
        raise ParseFailed(f"The document is damaged: {exc}."[:300], "damaged") from None


def _describe(builder: Builder, meta: etree._Element) -> None:
    values: dict[str, str] = {}
    for element in meta.iterfind("{*}meta/*"):
        values.setdefault(local(element.tag), (element.text or "").strip())
    builder.title = values.get("title") or None
    for name, key in METADATA.items():
        if values.get(name):
            builder.metadata.setdefault(key, values[name])


class _Text:
    """Adds the text of elements to a document. ``_apart`` is what stands after the paragraph that is read."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._apart: list[etree._Element] = []
        self._around: set[str] = set()

    def add_around(self, styles: etree._Element, kind: str) -> None:
        """Add the headers or the footers, each text once."""
        for element in styles.iter(f"{{*}}{kind}", f"{{*}}{kind}-left", f"{{*}}{kind}-first"):
            text = self._line(element)
            if text not in self._around:
                self._around.add(text)
                add_paragraph(self._builder, text, None, 0)

    def add_blocks(self, element: etree._Element, depth: int) -> None:
        """Add the blocks in an element that stands in so many lists."""
        for each in element:
            name = local(each.tag)
            if name == "table":
                add_table(self._builder, self._rows(each))
                self._add_apart()
            elif name in ("h", "p"):
                level = attribute(each, "outline-level") or "1"
                heading = int(level) if name == "h" and level.isdecimal() else None
                add_paragraph(self._builder, self._text(each), heading, depth)
                self._add_apart()
            elif name in APART:
                self._apart.append(each)
                self._add_apart()
            elif name not in HIDDEN and not name.endswith("-source"):
                self.add_blocks(each, depth + (name == "list"))

    def _add_apart(self) -> None:
        apart, self._apart = self._apart, []
        for element in apart:
            label = APART[local(element.tag)]
            if label:
                author = next((each.text for each in element.iterfind("{*}creator") if each.text), "")
                text = self._line(element)
                label = label.format(f" by {author}" if author else "")
                add_paragraph(self._builder, label + text if text else "", None, 0)
            else:
                self.add_blocks(element, 0)

    def _text(self, paragraph: etree._Element) -> str:
        return "".join(self._pieces(paragraph))

    def _pieces(self, element: etree._Element) -> Iterator[str]:
        yield _words(element.text)
        for each in element:
            name = local(each.tag)
            if name == "s":
                count = attribute(each, "c") or "1"
                yield " " * (min(int(count), REPEATED_LIMIT) if count.isdecimal() else 1)
            elif name in ("tab", "line-break"):
                yield "\t" if name == "tab" else "\n"
            elif name == "a":
                words = self._text(each)
                yield words + address_after(words, attribute(each, "href"))
            elif name == "ruby-text":
                yield f"({self._text(each)})"
            elif name in APART:
                self._apart.append(each)
            elif name not in HIDDEN:
                yield from self._pieces(each)
            yield _words(each.tail)

    def _line(self, element: etree._Element) -> str:
        """Return the text of all paragraphs in an element, with what stands apart in them, as one line."""
        texts: list[str] = []
        for paragraph in _within(element, {"p", "h"}):
            texts.append(self._text(paragraph))
            apart, self._apart = self._apart, []
            texts += map(self._line, apart)
        return " ".join(" ".join(texts).split())

    def _rows(self, table: etree._Element) -> Iterator[list[str]]:
        """Yield the cells of a table. A cell over several rows is in each, one over columns in the first."""
        above: dict[int, tuple[int, str]] = {}
        for row in _within(table, {"table-row"}):
            cells: list[str] = []
            for cell in _within(row, CELLS):
                text, column = self._line(cell), len(cells)
                left, spanned = above.get(column, (0, ""))
                if local(cell.tag) == "covered-table-cell" and left:
                    above[column], text = (left - 1, spanned), text or spanned
                elif (rows := attribute(cell, "number-rows-spanned")).isdecimal() and int(rows) > 1:
                    above[column] = int(rows) - 1, text
                repeated = attribute(cell, "number-columns-repeated") or "1"
                count = min(int(repeated), REPEATED_LIMIT) if repeated.isdecimal() else 1
                cells += [text] * max(1, count)
            while cells and not cells[-1]:
                cells.pop()
            yield cells


def _within(element: etree._Element, names: set[str]) -> Iterator[etree._Element]:
    """Yield the outermost elements of these names in another that a program shows."""
    for each in element:
        name = local(each.tag)
        if name in names:
            yield each
        elif name not in HIDDEN:
            yield from _within(each, names)


def _words(text: str | None) -> str:
    """Return a text in which white space is one space, as programs show it."""
    if not text or text.isspace():
        return " " if text else ""
    words = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{words}{' ' * text[-1].isspace()}"
