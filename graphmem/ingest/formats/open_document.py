"""OpenDocument: headings, paragraphs, items of lists and rows of tables of a text (ODT), sheets (ODS).

A text box, a note and a comment stand after the paragraph that has them, headers before the text and footers
after it. What was deleted while changes were tracked is left out. A table in a table is text of its cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder, parted
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office import Package, add_once, add_paragraph, describe
from graphmem.ingest.formats.office_text import Walk, attribute, local
from graphmem.ingest.formats.workbook import SheetMarks, add_sheet, cell_name
from graphmem.ingest.tables import table
from graphmem.ingest.tabular import TableRow, add_table

HIDDEN = {"tracked-changes", "forms", "note-citation", "table-of-content-source"}
APART = {"note": "Note: ", "annotation": "Comment: ", "text-box": "", "custom-shape": ""}
"""What stands after the paragraph that has it, and the label of its text."""
REPEATED_LIMIT = 1_000
NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?(?:E[+-]?\d{1,3})?", re.ASCII)
ERROR = re.compile(r"#[A-Z/0!?]{3,8}|Err:\d{3}")


def parse(builder: Builder, data: bytes, name: str) -> None:
    package, body = _opened(builder, data, "text")
    styles, walk = package.root("styles.xml"), _Text(body, {})
    add_once(builder, map(walk.line, styles.iter("{*}header", "{*}header-left", "{*}header-first")))
    _add_blocks(builder, walk, body, 0)
    add_once(builder, map(walk.line, styles.iter("{*}footer", "{*}footer-left", "{*}footer-first")))
    package.warn_of_rest()


def parse_sheets(builder: Builder, data: bytes, name: str) -> None:
    package, body = _opened(builder, data, "spreadsheet")
    styles = package.root("content.xml").iter("{*}table-properties")
    hidden = {attribute(each.getparent(), "name") for each in styles if attribute(each, "display") == "false"}
    sheets = builder.metadata["sheets"] = list[str]()
    for number, sheet in enumerate(body.iterfind("{*}table"), 1):
        title, walk, below = attribute(sheet, "name"), _Text(sheet, {}), list[str]()
        if attribute(sheet, "style-name") in hidden:
            builder.warn(f"The sheet {title} is hidden.")
        rows = _sheet_rows(builder, walk, SheetMarks(builder, title), below)
        below += filter(None, map(walk.line, sheet.iterfind("{*}shapes")))
        add_sheet(builder, title, number, rows, below)
        sheets.append(title)
    package.warn_of_rest()


def _opened(builder: Builder, data: bytes, kind: str) -> tuple[Package, etree._Element]:
    """Return the members of a file and its body, and add its properties."""
    package = Package(builder, data)
    manifest = package.root("META-INF/manifest.xml")
    if next(manifest.iter("{*}encryption-data"), None) is not None:
        raise ParseFailed("The document is encrypted: a password is needed to read it.", "encrypted")
    body = next(package.root("content.xml").iter(f"{{*}}{kind}"), None)
    if body is None:
        raise ParseFailed(f"The document is damaged: it has no {kind}.", "damaged")
    describe(builder, package.root("meta.xml").iterfind("{*}meta/*"), table("field_names")["odt"])
    return package, body


def _sheet_rows(builder: Builder, walk: _Text, marks: SheetMarks, below: list[str]) -> Iterator[TableRow]:
    """Yield the rows that have a value; comments are added to what stands ``below`` the rows."""
    row = 1
    for element in walk.within(walk.root, "table-row"):
        column, values, merged, links = 1, dict[int, Any](), dict[int, int](), dict[int, str]()
        for cell in walk.within(element, "table-cell", "covered-table-cell"):
            name, rows = cell_name(column, row), _count(cell, "number-rows-spanned")
            text, address = parted(" ".join(walk.text(each) for each in cell if local(each.tag) == "p"))
            boxes = [*walk.boxes, *(each for each in cell if local(each.tag) in APART)]
            walk.boxes.clear()
            below += [f"Comment on {name}: {walk.line(box)}" for box in boxes]
            value, after = (
                _cell_value(cell, text, name, marks),
                column + _count(cell, "number-columns-repeated"),
            )
            values |= dict.fromkeys(range(column, after), value) if value is not None else {}
            links |= {column: address[2:-1]} if address else {}
            merged |= {column: row + rows - 1} if rows > 1 else {}
            column = after
        builder.count_cells(max(1, column - 1 - max(values, default=0)))
        after = row + _count(element, "number-rows-repeated")
        yield from (marks.row(number, values, merged, links) for number in range(row, after) if values)
        row = after


def _cell_value(cell: etree._Element, text: str, name: str, marks: SheetMarks) -> Any:
    """Return the JSON value of a cell, None if it is empty or an error."""
    kinds = [value for key, value in cell.attrib.items() if local(key) == "value-type"]
    if "error" in kinds or ERROR.fullmatch(text):
        marks.error(name)
    elif not text and not kinds and attribute(cell, "formula"):
        marks.uncalculated(name)
    elif "date" in kinds:
        return attribute(cell, "date-value").removesuffix("T00:00:00") or None
    elif "boolean" in kinds:
        return attribute(cell, "boolean-value") == "true"
    elif NUMBER.fullmatch(value := attribute(cell, "value")) and not re.match(r"0\d", text):
        return int(value) if value.lstrip("-").isdecimal() else float(value)
    else:
        return " ".join(text.split()) or None
    return None


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
            elif name in ("desc", "title") and "svg" in each.tag:
                self._add(f" {each.text or ''} ")
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
