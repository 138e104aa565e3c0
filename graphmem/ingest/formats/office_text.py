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

from graphmem.ingest.building import address_after
from graphmem.ingest.tables import table

HIDDEN = {"del", "moveFrom", "cellDel", "instrText", "delText"}  # elements whose text a program does not show
MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
EQUATION = {"num": "", "den": "/", "sup": "^", "sub": "_", "rad": "√"}  # what stands before a part of it
SIGNS = table("signs")
REFERENCES = ("footnoteReference", "endnoteReference", "commentReference")
FIELD_LINK = re.compile(r'\s*HYPERLINK\s+(?!\\)"?([^"\s]+)')
ONE_LINK = re.compile(r" <([^<>\s]+)>([^<>]*) <\1>")  # two links with one address, as runs of one link are
COLUMNS_LIMIT = 1_000


@cache
def local(tag: str) -> str:
    """Return the name of an element or an attribute without its namespace."""
    return tag.rpartition("}")[2]


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its name without the namespace, empty if there is none."""
    return next((value for key, value in element.attrib.items() if local(key) == name), "")


def child(element: etree._Element, *names: str) -> etree._Element | None:
    for name in names:
        element = next((each for each in element if local(each.tag) == name), None)
        if element is None:
            break
    return element


def letters(root: etree._Element) -> int:
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

    hidden = HIDDEN
    paragraphs = ("p",)

    def __init__(self, root: etree._Element, relations: dict[str, Relation]) -> None:
        self.root = root
        self.rest = letters(root)
        self.boxes: list[etree._Element] = []
        self.notes: list[tuple[str, str]] = []
        self._relations = relations
        self._words: list[str] = []
        self._fields: list[_Field] = []
        self._readers: dict[str, Callable[[etree._Element], None]] = {
            "t": self._read_text,
            "r": lambda run: self._read_linked(run, self.target(child(run, "rPr", "hlinkClick"))),
            "hyperlink": lambda link: self._read_linked(link, self.target(link)),
            "fldSimple": lambda field: self._read_linked(field, _field_link(attribute(field, "instr"))),
            "fldChar": self._read_field_mark,
            "instrText": self._read_instruction,
            "sym": self._read_sign,
            "AlternateContent": lambda element: self._read(self._alternative(element)),
            "txbxContent": self.boxes.append,
            "textpath": lambda element: self._add(element.get("string", "")),
            "nary": lambda sum: self._read_around(sum, _sign(sum, "naryPr", "chr") or "∫", ""),
            "d": lambda part: self._read_around(
                part, _sign(part, "dPr", "begChr") or "(", _sign(part, "dPr", "endChr") or ")"
            ),
            **dict.fromkeys(EQUATION, self._read_part),
            **dict.fromkeys(REFERENCES, self._read_reference),
        }

    def text(self, paragraph: etree._Element) -> str:
        self._read(paragraph)
        for each in self._fields:
            each.is_instruction = False
        text, self._words = "".join(self._words), []
        return ONE_LINK.sub(r"\2 <\1>", text) if " <" in text else text

    def line(self, element: etree._Element) -> str:
        """Return the text of all paragraphs in an element, with its tables and text boxes, as one line."""
        texts: list[str] = []
        for paragraph in self.within(element, *self.paragraphs):
            texts.append(self.text(paragraph))
            boxes, self.boxes[:] = self.boxes[:], []
            texts += map(self.line, boxes)
        return " ".join(" ".join(texts).split())

    def rows(self, table: etree._Element) -> Iterator[list[str]]:
        """Yield the cells of a table. A cell over several rows is in each, one over columns in the first."""
        above: dict[int, str] = {}
        for row in self.within(table, "tr"):
            cells = [""] * _number(child(row, "trPr", "gridBefore"), 0)
            for cell in self.within(row, "tc"):
                text, column = self.line(cell), len(cells)
                merged = child(cell, "tcPr", "vMerge")
                is_merged = merged is not None and attribute(merged, "val") != "restart"
                if is_merged or cell.get("vMerge") == "1":
                    text = text or above.get(column, "")
                above[column] = text
                cells += [text, *[""] * (_number(child(cell, "tcPr", "gridSpan"), 1) - 1)]
            yield cells

    def within(self, element: etree._Element, *kinds: str) -> Iterator[etree._Element]:
        """Yield the outermost elements of these kinds in another that a program shows."""
        for each in element:
            name = local(each.tag)
            if name in kinds and not self._hides(each, name):
                yield each
            elif name == "AlternateContent":
                yield from self.within(self._alternative(each), *kinds)
            elif not self._hides(each, name):
                yield from self.within(each, *kinds)

    def target(self, element: etree._Element | None) -> str:
        """Return the address to which an element refers by its relationship, empty if it is none."""
        relation = None if element is None else self._relations.get(attribute(element, "id"))
        if element is None or relation is None or not relation.is_external:
            return ""
        anchor = attribute(element, "anchor")
        return f"{relation.target}#{anchor}" if anchor else relation.target

    def _hides(self, element: etree._Element, name: str) -> bool:
        """Return whether an element has no text that is shown; what it holds counts no more."""
        properties = child(element, f"{name}Pr") if name in ("tr", "tc") else None
        marks = [name, *(local(each.tag) for each in properties)] if properties is not None else [name]
        is_hidden = not self.hidden.isdisjoint(marks)
        if is_hidden:
            self.rest -= letters(element)
        return is_hidden or name.endswith("Pr")

    def _alternative(self, element: etree._Element) -> etree._Element:
        """Return the first alternative that has text: the others say the same to older programs."""
        chosen = next((each for each in element if next(each.iter("{*}t"), None) is not None), element)
        self.rest -= letters(element) - letters(chosen)
        return chosen

    def _read(self, element: etree._Element) -> None:
        for each in element:
            name = local(each.tag)
            reader = self._readers.get(name)
            if reader is not None:
                reader(each)
            elif name in MARKS:
                self._add(MARKS[name])
            elif not self._hides(each, name):
                self._read(each)

    def _read_around(self, element: etree._Element, before: str, behind: str) -> None:
        self._add(before)
        self._read(element)
        self._add(behind)

    def _read_part(self, element: etree._Element) -> None:
        """Read a part of an equation; several signs stand in brackets."""
        is_long = letters(element) > 1
        before = EQUATION[local(element.tag)]
        self._read_around(element, f"{before}(" if is_long else before, ")" if is_long else "")

    def _read_text(self, element: etree._Element) -> None:
        text = element.text or ""
        self.rest -= len(text)
        self._add(text)

    def _add(self, text: str) -> None:
        if not any(each.is_instruction for each in self._fields):
            self._words.append(text)

    def _read_linked(self, element: etree._Element, address: str) -> None:
        start = len(self._words)
        self._read(element)
        if address:
            self._end_link(start, address)

    def _end_link(self, start: int, address: str) -> None:
        self._add(address_after("".join(self._words[start:]), address))

    def _read_field_mark(self, element: etree._Element) -> None:
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            self._add(_form_value(child(element, "ffData")))
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].is_instruction, self._fields[-1].start = False, len(self._words)
        elif kind == "end" and self._fields:
            field = self._fields.pop()
            self._end_link(field.start, _field_link(field.instruction))

    def _read_instruction(self, element: etree._Element) -> None:
        if self._fields:
            self._fields[-1].instruction += element.text or ""

    def _read_sign(self, element: etree._Element) -> None:
        self._add(SIGNS.get(attribute(element, "font"), {}).get(attribute(element, "char").upper(), ""))

    def _read_reference(self, element: etree._Element) -> None:
        self.notes.append((local(element.tag).removesuffix("Reference"), attribute(element, "id")))


@dataclass
class _Field:
    """A field whose end is not reached yet. Its instruction is not shown; its result begins at a word."""

    instruction: str = ""
    is_instruction: bool = True
    start: int = 0


def _field_link(instruction: str) -> str:
    link = FIELD_LINK.match(instruction)
    return link[1] if link else ""


def _sign(element: etree._Element, *names: str) -> str:
    """Return the sign that the properties of a part of an equation name."""
    named = child(element, *names)
    return attribute(named, "val") if named is not None else ""


def _form_value(form: etree._Element | None) -> str:
    """Return the value of a check box or a choice of a form, empty for other fields: they have a text."""
    if form is None:
        return ""
    box, choice = child(form, "checkBox"), child(form, "ddList")
    if box is not None:
        states = [each for name in ("checked", "default") if (each := child(box, name)) is not None]
        return "[x] " if states and attribute(states[0], "val") not in ("0", "false") else "[ ] "
    entries = [] if choice is None else [each for each in choice if local(each.tag) == "listEntry"]
    place = _number(child(form, "ddList", "result"), 0)
    return "".join(attribute(entry, "val") for entry in entries[place : place + 1])


def _number(element: etree._Element | None, default: int) -> int:
    value = "" if element is None else attribute(element, "val")
    return min(int(value), COLUMNS_LIMIT) if value.isdecimal() else default
