"""HTML: the text that a reader sees, as headings, paragraphs, items, rows. The network is not used.

A link has its address behind its words, a picture its description, a field of a form its value.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder, address_after, exceeded
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.tables import table
from graphmem.ingest.tabular import Columns, add_row, row_of

CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
CHARSET_BYTES = 2_048
LEFT_OUT, UNREAD, UNSEEN_INPUTS, HEADINGS, BLOCKS, METADATA = (
    {*each.split()} for each in table("web_page").values()
)
LINKS = {"a", "area"}
SKIPPED, INLINE, STRUCTURE = LEFT_OUT | UNREAD, LINKS | {"img", "input"}, BLOCKS | HEADINGS | {"br"}
ATTRIBUTES_LIMIT = 1_000  # attributes of one element: the library compares each with all others
_ATTRIBUTE = r"""[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TAG = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:[\s/=]++|{_ATTRIBUTE})*+")
BREAK = "\v"  # a line break in what is collected: other white space there is a space


def parse(builder: Builder, data: bytes, name: str) -> None:
    declared = CHARSET.search(data[:CHARSET_BYTES])
    text, encoding, warnings = decoded(data, declared[1].decode() if declared else None)
    builder.warn(*warnings)
    builder.metadata["encoding"] = encoding
    root = tree(text)
    title = root.find(".//head/title")
    builder.title = " ".join("".join(title.itertext()).split()) if title is not None else None
    language = root.get("lang")
    if language:
        builder.metadata["language"] = language
    for element in root.iterfind(".//head/meta"):
        key = (element.get("name") or "").lower()
        if key in METADATA and element.get("content"):
            builder.metadata[key] = element.get("content")
    PageText(builder).add(root)


def tree(text: str) -> etree._Element:
    tags = (tag.span() for tag in _TAG.finditer(text) if tag.end() - tag.start() > ATTRIBUTES_LIMIT)
    if any(sum(1 for _ in _ATTRIBUTES.finditer(text, *span)) > ATTRIBUTES_LIMIT for span in tags):
        raise exceeded("an HTML element with too many attributes")
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as exc:
        raise ParseFailed(f"The file is no HTML: {exc}.", "damaged") from None
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise exceeded("HTML elements that are nested too deeply")
    if root is None:
        raise ParseFailed("The file has no HTML element.", "empty")
    return root


def plain(text: str, builder: Builder) -> str:
    """Return the visible text of HTML, one block a line, such as the body of a message."""
    if not text.strip():
        return ""
    collected = builder.within()
    try:
        PageText(collected).add(tree(text))
    except ParseFailed as exc:
        # A comment alone is no text: the message that holds it has more to read.
        if exc.code != "empty":
            raise
    return collected.text.strip("\n")


class _OpenTable:
    """A table that is being read. A table with a table in it is layout: its cells are ordinary blocks."""

    def __init__(self) -> None:
        self.cells: list[str] | None = None
        self.columns: Columns | None = None
        self.row = 0
        self.is_layout = False


class PageText:
    """Collects the text of a tree block by block, without recursion: pages may be nested deeply."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._words: list[str] = []
        self._kinds: list[tuple[str, int | None]] = []
        self._tables: list[_OpenTable] = []
        self._preformatted = 0
        self._links: list[tuple[str, list[str], int]] = []
        """The addresses of links that are being read, and where their words begin in a list."""
        self._base = ""

    def add(self, root: etree._Element) -> None:
        base = root.find(".//base")
        self._base = base.get("href", "") if base is not None else ""
        skipped: etree._Element | None = None
        for event, element in etree.iterwalk(root, events=("start", "end")):
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start":
                if skipped is None and tag in SKIPPED:
                    skipped = element
                elif skipped is None:
                    if tag in STRUCTURE:
                        self._start(tag)
                    elif tag in INLINE:
                        self._start_inline(element, tag)
                    self._words.append(element.text or "")
            elif skipped is element:
                skipped = None
                if tag in UNREAD:
                    text = "".join(element.itertext())
                    self._builder.left_out(f"{tag} element", len(text.strip()))
                self._words.append(element.tail or "")
            elif skipped is None:
                if tag in STRUCTURE:
                    self._end(tag)
                elif tag in LINKS and self._links:
                    self._end_link()
                self._words.append(element.tail or "")
        self._flush()

    @property
    def _row(self) -> _OpenTable | None:
        table = self._tables[-1] if self._tables else None
        return table if table is not None and table.cells is not None and not table.is_layout else None

    def _start(self, tag: str) -> None:
        if tag == "table":
            self._begin_table()
        elif tag in BLOCKS:
            self._flush()
        if tag in HEADINGS:
            self._kinds.append(("heading", int(tag[1])))
        elif tag == "li":
            self._kinds.append(("item", 1 + sum(kind == "item" for kind, _ in self._kinds)))
        elif tag == "tr" and self._tables:
            self._tables[-1].cells = []
        elif tag == "br":
            self._words.append("\n" if self._preformatted else BREAK)
        self._preformatted += tag == "pre"

    def _start_inline(self, element: etree._Element, tag: str) -> None:
        if tag in LINKS:
            address = element.get("href", "")
            address = urljoin(self._base, address) if self._base and address[:1] != "#" else address
            self._links.append((address, self._words, len(self._words)))
        kind = element.get("type", "").lower()
        if tag in ("img", "area"):
            self._words.append(f" {element.get('alt') or ''} ")
        elif tag == "input" and kind in ("checkbox", "radio"):
            self._words.append(" [ ] " if element.get("checked") is None else " [x] ")
        elif tag == "input" and kind not in UNSEEN_INPUTS:
            self._words.append(f" {element.get('value') or ''} ")

    def _end_link(self) -> None:
        """Add the address behind the words of a link, which may have ended their block."""
        address, block, start = self._links.pop()
        words = "".join(self._words[start:] if block is self._words else self._words)
        self._words.append(address_after(words, address) + " " * words[-1:].isspace())
        if block is not self._words and not words.strip():
            self._flush()

    def _end(self, tag: str) -> None:
        row = self._row if self._tables else None
        if row is not None and row.cells is not None and tag in ("td", "th"):
            row.cells.append(" ".join("".join(self._words).split()))
            self._words = []
        elif row is not None and row.cells is not None and tag == "tr":
            cells, row.cells = row.cells, None
            row.row += 1
            if any(cells):
                row.columns = add_row(self._builder, row_of(row.row, cells), row.columns)
        elif tag in BLOCKS:
            self._flush()
        if tag == "table" and self._tables:
            self._tables.pop()
        self._preformatted -= tag == "pre"
        if (tag in HEADINGS or tag == "li") and self._kinds:
            self._kinds.pop()

    def _begin_table(self) -> None:
        """Turn the tables around a new table into layout; what their rows hold so far becomes blocks."""
        row = self._row
        if row is not None and row.cells is not None:
            pending, self._words = self._words, []
            row.is_layout = True
            for cell in row.cells:
                self._words.append(cell)
                self._flush()
            self._words = pending
        self._flush()
        self._tables.append(_OpenTable())

    def _flush(self) -> None:
        """Add what was collected as one block, unless it is within a row."""
        if self._tables and self._row is not None:
            self._words.append(" ")
            return
        words, self._words = "".join(self._words), []
        kind, level = self._kinds[-1] if self._kinds else ("paragraph", None)
        if self._preformatted:
            lines = [line.rstrip() for line in words.split("\n")]
        else:
            parts = [words] if kind == "heading" else words.split(BREAK)
            lines = [" ".join(part.split()) for part in parts]
        text = "\n".join(lines).strip("\n")
        if text.strip():
            self._builder.part(kind, self._builder.add(text, "\n"), level=level)
