"""Word: paragraphs, headings, items of lists and rows of tables in their order, as Word shows them.

Insertions are read, deletions are not. A text box, a footnote, an endnote and a comment stand after the
paragraph that has them, headers before the text and footers after it, each once. A table in a table is text
of its cell.
"""

from __future__ import annotations

import re

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder
from graphmem.ingest.formats.office import Package, add_once, add_paragraph
from graphmem.ingest.formats.office_text import Walk, attribute, child, local
from graphmem.ingest.tabular import add_table

HEADING = re.compile(r"heading ?(\d)")
BLOCKS = {"p", "tbl"}
NOTES = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}
"""What a paragraph refers to, and the members that hold it."""


def parse(builder: Builder, data: bytes, name: str) -> None:
    package = Package(builder, data)
    main = package.main("document")
    package.describe()
    document = _Document(builder, package, main)
    headers, footers = (document.around(kind) for kind in ("header", "footer"))
    add_once(builder, headers)
    document.add_body()
    add_once(builder, [text for text in footers if text not in headers])
    package.warn_of_rest()


class _Document:
    def __init__(self, builder: Builder, package: Package, main: str) -> None:
        self._builder = builder
        self._package = package
        self._main = main
        self._begun = ""
        """The text of a paragraph whose end was deleted."""
        self._styles = {
            attribute(style, "styleId"): attribute(style_name, "val").lower()
            for relation in package.related(main, "styles")
            for style in package.root(relation.target)
            if (style_name := child(style, "name")) is not None
        }
        self._notes = {kind: self._notes_of(member) for kind, member in NOTES.items()}

    def _notes_of(self, member: str) -> dict[str, tuple[Walk, etree._Element]]:
        """Return the notes of a kind by their ids; what only separates them is none."""
        return {
            attribute(note, "id"): (walk, note)
            for walk in self._package.walks(self._main, member)
            for note in walk.root
            if attribute(note, "type") in ("", "normal")
        }

    def around(self, kind: str) -> list[str]:
        return [walk.line(walk.root) for walk in self._package.walks(self._main, kind)]

    def add_body(self) -> None:
        walk = self._package.walk(self._main)
        self._add_blocks(walk, walk.root)
        add_paragraph(self._builder, self._begun, None, 0)
        for text in self._package.drawing_texts(self._main):
            add_paragraph(self._builder, text, None, 0)
        for kind, notes in self._notes.items():
            for key in [*notes]:
                self._add_note(kind, key)

    def _add_blocks(self, walk: Walk, element: etree._Element) -> None:
        for block in walk.within(element, *BLOCKS):
            if local(block.tag) == "p":
                self._add_paragraph(walk, block)
            else:
                add_table(self._builder, walk.rows(block))
            boxes, walk.boxes[:] = walk.boxes[:], []
            notes, walk.notes[:] = walk.notes[:], []
            for box in boxes:
                self._add_blocks(walk, box)
            for kind, key in notes:
                self._add_note(kind, key)

    def _add_paragraph(self, walk: Walk, paragraph: etree._Element) -> None:
        properties = child(paragraph, "pPr")
        named = child(paragraph, "pPr", "pStyle")
        style_id = attribute(named, "val") if named is not None else ""
        style = self._styles.get(style_id, style_id.lower())
        match = HEADING.match(style)
        heading = int(match[1]) if match else 1 if style == "title" else None
        numbering = child(properties, "numPr") if properties is not None else None
        depth = 0
        if numbering is not None or style.startswith("list"):
            level = child(numbering, "ilvl") if numbering is not None else None
            depth = 1 + max(0, int(attribute(level, "val") or 0) if level is not None else 0)
        text, self._begun = self._begun + walk.text(paragraph), ""
        mark = None if properties is None else child(properties, "rPr")
        if mark is not None and child(mark, "del") is not None:
            # Its end was deleted: it goes on in the next paragraph.
            self._begun = text
        else:
            add_paragraph(self._builder, text, heading, depth)

    def _add_note(self, kind: str, key: str) -> None:
        """Add a note, unless it stands in the text already."""
        walk, note = self._notes[kind].pop(key, (None, None))
        if walk is None or note is None:
            return
        author = attribute(note, "author")
        label = f"{kind.capitalize()}{f' by {author}' if author else ''}: "
        text = walk.line(note)
        add_paragraph(self._builder, label + text if text else "", None, 0)
