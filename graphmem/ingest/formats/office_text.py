"""The text of a member of an Office file: its paragraphs and tables, as Word and PowerPoint show them.

Elements are known by their names without the namespace: a paragraph, a table and a text are called alike in
all of them, and strict documents have namespaces of their own. An element that is not known is looked into.
Deleted text and the places from which text was moved are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.links import address_after

HIDDEN = {"del", "moveFrom", "cellDel", "instrText", "delText"}
"""Elements whose text a program does not show."""
MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
BEFORE = {"den": "/", "sup": "^", "sub": "_"}
"""What stands before a part of an equation."""
FIELD_LINK = re.compile(r'\s*HYPERLINK\s+(?!\\)"?([^"\s]+)')
COLUMNS_LIMIT = 1_000


@cache
def local(tag: str) -> str:
    """Return the name of an element or an attribute without its namespace."""
    return tag.rpartition("}")[2]


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its name without the namespace, empty if there is none."""
    return next((value for key, value in element.attrib.items() if local(key) == name), "")


def child(element: etree._Element, *names: str) -> etree._Element | None:
    """Return the element to which a path of names leads."""
    for name in names:
        element = next((each for each in element if local(each.tag) == name), None)
        if element is None:
            break
    return element


def letters(root: etree._Element) -> int:
    """Return how many characters of text an element holds."""
    return sum(len(each.text or "") for each in root.iter("{*}t"))


class Relation(NamedTuple):
    """A relationship of a member: the last part of its type, and a member or an address."""

    kind: str
    target: str
    is_external: bool


class Walk:
    """Reads the text of one member in the order of its elements.

    ``boxes`` are the text boxes of the paragraphs that were read, ``notes`` what these refer to, each as a
    kind and an id. ``rest`` is how many characters of the member are neither read nor hidden.
    """

    def __init__(self, root: etree._Element, relations: dict[str, Relation]) -> None:
        self.root = root
        self.rest = letters(root)
        self.boxes: list[etree._Element] = []
        self.notes: list[tuple[str, str]] = []
        self._relations = relations
        self._words: list[str] = []
        self._carried = ""
        self._fields: list[_Field] = []
        self._address = self._address_of_run = ""
        self._open, self._start = "", 0
        self._readers: dict[str, Callable[[etree._Element], None]] = {
            "t": lambda element: self._add(element.text or "", is_text=True),
            "r": self._read_run,
            "rPr": self._read_properties,
            "hyperlink": self._read_hyperlink,
            "fldSimple": self._read_simple_field,
            "fldChar": self._read_field_mark,
            "instrText": self._read_instruction,
            "AlternateContent": self._read_alternatives,
            "txbxContent": self.boxes.append,
            "textpath": lambda element: self._add(element.get("string", "")),
            "ruby": self._read_ruby,
            **dict.fromkeys(
                ("footnoteReference", "endnoteReference", "commentReference"), self._read_reference
            ),
        }

    def text(self, paragraph: etree._Element) -> str:
        """Return the text of a paragraph; one whose end was deleted is read with the next."""
        self._read(paragraph)
        self._close_link("")
        for each in self._fields:
            each.is_instruction = False
        text, self._words, self._carried = self._carried + "".join(self._words), [], ""
        mark = child(paragraph, "pPr", "rPr")
        if mark is not None and not HIDDEN.isdisjoint(local(each.tag) for each in mark):
            self._carried, text = text, ""
        return text

    def carried(self) -> str:
        """Return the text of the last paragraph if no other follows it."""
        text, self._carried = self._carried, ""
        return text

    def line(self, element: etree._Element) -> str:
        """Return the text of all paragraphs in an element, with its tables and text boxes, as one line."""
        texts: list[str] = []
        for paragraph in self.within(element, "p"):
            texts.append(self.text(paragraph))
            boxes, self.boxes[:] = self.boxes[:], []
            texts += map(self.line, boxes)
        return " ".join(" ".join([*texts, self.carried()]).split())

    def rows(self, table: etree._Element) -> Iterator[list[str]]:
        """Yield the cells of a table. A cell over several rows is in each, one over columns in the first."""
        above: dict[int, str] = {}
        for row in self.within(table, "tr"):
            cells = [""] * _number(child(row, "trPr", "gridBefore"), 0)
            for cell in self.within(row, "tc"):
                text, column = self.line(cell), len(cells)
                merged = child(cell, "tcPr", "vMerge")
                is_merged = cell.get("vMerge") == "1" or (
                    merged is not None and attribute(merged, "val") != "restart"
                )
                above[column] = text or above.get(column, "") if is_merged else text
                cells += [above[column], *[""] * (_number(child(cell, "tcPr", "gridSpan"), 1) - 1)]
            yield cells

    def within(self, element: etree._Element, *kinds: str) -> Iterator[etree._Element]:
        """Yield the outermost elements of these kinds in another that a program shows."""
        for each in element:
            name = local(each.tag)
            if self._hides(each, name):
                continue
            if name in kinds:
                yield each
            elif name == "AlternateContent":
                yield from self.within(self._alternative(each), *kinds)
            else:
                yield from self.within(each, *kinds)

    def _hides(self, element: etree._Element, name: str) -> bool:
        """Return whether an element has no text that is shown; what it holds counts no more."""
        is_hidden = name in HIDDEN
        if name in ("tr", "tc"):
            properties = child(element, f"{name}Pr")
            is_hidden = properties is not None and not HIDDEN.isdisjoint(
                local(each.tag) for each in properties
            )
        if is_hidden:
            self.rest -= letters(element)
        return is_hidden or name.endswith("Pr")

    def _read(self, element: etree._Element) -> None:
        for each in element:
            name = local(each.tag)
            reader = self._readers.get(name)
            if reader is not None:
                reader(each)
            elif name in MARKS:
                self._add(MARKS[name])
            elif not self._hides(each, name):
                if name in BEFORE:
                    self._add(BEFORE[name])
                self._read(each)

    def _add(self, text: str, *, is_text: bool = False) -> None:
        if is_text:
            self.rest -= len(text)
        if any(each.is_instruction for each in self._fields):
            return
        address = self._address_of_run or self._address
        if address != self._open:
            self._close_link(address)
        self._words.append(text)

    def _close_link(self, following: str) -> None:
        """End the link that is open, and begin the following one; runs of one address are one link."""
        if self._open:
            self._words.append(address_after("".join(self._words[self._start :]), self._open))
        self._open, self._start = following, len(self._words)

    def target(self, element: etree._Element) -> str:
        """Return the address to which an element refers by its relationship, empty if it is none."""
        relation = self._relations.get(attribute(element, "id"))
        if relation is None or not relation.is_external:
            return ""
        anchor = attribute(element, "anchor")
        return f"{relation.target}#{anchor}" if anchor else relation.target

    def _read_linked(self, element: etree._Element, address: str) -> None:
        outer, self._address = self._address, address or self._address
        self._read(element)
        self._address = outer

    def _read_hyperlink(self, element: etree._Element) -> None:
        self._read_linked(element, self.target(element))

    def _read_simple_field(self, element: etree._Element) -> None:
        link = FIELD_LINK.match(attribute(element, "instr"))
        self._read_linked(element, link[1] if link else "")

    def _read_run(self, element: etree._Element) -> None:
        self._read(element)
        self._address_of_run = ""

    def _read_properties(self, element: etree._Element) -> None:
        link = child(element, "hlinkClick")
        if link is not None:
            self._address_of_run = self.target(link)

    def _read_field_mark(self, element: etree._Element) -> None:
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            self._fields.append(_Field(self._address))
            box = child(element, "ffData", "checkBox")
            if box is not None:
                mark = child(box, "checked")
                mark = mark if mark is not None else child(box, "default")
                is_checked = mark is not None and attribute(mark, "val") not in ("0", "false")
                self._fields[-1].mark = "[x]" if is_checked else "[ ]"
        elif kind == "separate" and self._fields:
            field = self._fields[-1]
            field.is_instruction = False
            link = FIELD_LINK.match(field.instruction)
            self._address = link[1] if link else self._address
        elif kind == "end" and self._fields:
            field = self._fields.pop()
            self._address = field.outer_address
            if field.mark:
                self._add(field.mark)

    def _read_instruction(self, element: etree._Element) -> None:
        if self._fields:
            self._fields[-1].instruction += element.text or ""

    def _alternative(self, element: etree._Element) -> etree._Element:
        """Return the first alternative that has text: the others say the same to older programs."""
        chosen = next((each for each in element if next(each.iter("{*}t"), None) is not None), element)
        if chosen is not element:
            self.rest -= letters(element) - letters(chosen)
        return chosen

    def _read_alternatives(self, element: etree._Element) -> None:
        self._read(self._alternative(element))

    def _read_ruby(self, element: etree._Element) -> None:
        for name, form in (("rubyBase", "{}"), ("rt", "({})")):
            part = child(element, name)
            before, _, after = form.partition("{}")
            if part is not None:
                self._add(before)
                self._read(part)
                self._add(after)

    def _read_reference(self, element: etree._Element) -> None:
        self.notes.append((local(element.tag).removesuffix("Reference"), attribute(element, "id")))


@dataclass
class _Field:
    """A field whose end is not reached yet. Its instruction is not shown, its result is."""

    outer_address: str
    instruction: str = ""
    is_instruction: bool = True
    mark: str = ""


def _number(element: etree._Element | None, default: int) -> int:
    value = "" if element is None else attribute(element, "val")
    return min(int(value), COLUMNS_LIMIT) if value.isdecimal() else default
