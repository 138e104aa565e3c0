"""How a parser puts a document together: text piece by piece, parts with spans, limits on the way."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from graphmem.ingest.document import (
    DocumentLimits,
    FileSpan,
    ParsedDocument,
    ParseFailed,
    Part,
    PartField,
    Warned,
)
from graphmem.ingest.format_table import Format
from graphmem.ingest.tables import table

ADDRESS_CHARACTERS_LIMIT: Final = 4_000
_WRITTEN: Final = re.compile(r" <(?:[a-z][a-z0-9+.-]*:(?!:)|[/.?])[^\s<>]*>", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"(?![a-z][a-z0-9+.-]*:|[/.?])", re.IGNORECASE)
_INNER: Final = re.compile(r"#|javascript:|data:|about:|vbscript:", re.IGNORECASE)
"""What leads to a place on the same page, runs a program, or holds a file."""
_SCHEME: Final = re.compile(r"(?:https?://(?:www\.)?|mailto:|tel:|sip:)", re.IGNORECASE)


def address_after(words: str, address: str) -> str:
    """Return what follows the words of a link: its address, or nothing where the words have it already."""
    address = "".join(address.split())
    if not address or _INNER.match(address) or len(address) > ADDRESS_CHARACTERS_LIMIT:
        return ""
    address = ("./" if _RELATIVE.match(address) else "") + address.replace("<", "%3C").replace(">", "%3E")
    bare = _SCHEME.sub("", address, count=1).rstrip("/")
    visible = "".join(words.split())
    if bare and (bare in visible or bare == re.sub(r"[^\d+]", "", visible)):
        return ""
    return f" <{address}>"


def without_addresses(text: str) -> str:
    """Return a text with the words of its links alone."""
    return _WRITTEN.sub("", text) if " <" in text else text


def parted(text: str) -> tuple[str, str]:
    """Part a text that ends with the addresses of links from these."""
    end = len(text)
    while text.endswith(">", 0, end):
        start = text.rfind(" <", 0, end)
        if start <= 0 or _WRITTEN.fullmatch(text, start, end) is None:
            break
        end = start
    return text[:end], text[end:]


NAMES_SHOWN = 20  # names of things whose text is not read that a warning has
VALUE_DEPTH_LIMIT = 100
OF_PROGRAMS = {
    name: re.compile("".join(pieces), re.IGNORECASE) for name, pieces in table("program_values").items()
}
"""What programs write where nobody has said anything."""


def normal(text: str) -> str:
    """Return a text in NFC with line feeds and without NUL and lone surrogates."""
    if "\r" in text or "\0" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", text)


def json_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value whose texts are normal; what is none, such as a date or infinity, becomes text."""
    if isinstance(value, str):
        return normal(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= VALUE_DEPTH_LIMIT:
        raise ParseFailed(
            f"A value has more than {VALUE_DEPTH_LIMIT} levels of lists and objects.", "limit_exceeded"
        )
    if isinstance(value, dict):
        return {normal(str(name)): json_value(member, depth + 1) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(member, depth + 1) for member in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return normal(str(value))


class Builder(Warned):
    """Collects the text, the parts and the warnings of one document.

    ``format`` is that of the file, ``media_type`` its type: by default the usual one of the format. The next
    piece of text begins at the offset ``position``, in the line ``line``.
    """

    def __init__(self, limits: DocumentLimits, format: Format) -> None:
        super().__init__()
        self.limits = limits
        self.format = format
        self.media_type: str | None = None
        self.metadata: dict[str, Any] = {}
        self.title: str | None = None
        self._pieces: list[str] = []
        self.position = 0
        self.line = 1
        self._parts: list[Part | None] = []
        self._cells = 0
        self._left_out: dict[tuple[str, str], tuple[int, int, dict[str, None]]] = {}

    def within(self) -> Builder:
        """Return a builder for a text within the document, whose warnings are those of the document."""
        inner = Builder(self.limits, self.format)
        inner._warnings, inner._left_out = self._warnings, self._left_out
        return inner

    def add(self, text: str, separator: str = "") -> FileSpan:
        """Add a text and then a separator; return the span of the text, with its line.

        Every text but the last needs a separator of white space: NFC must not join two texts.
        """
        text = normal(text)
        span = FileSpan(line=self.line, start=self.position, end=self.position + len(text))
        piece = text + separator
        self._pieces.append(piece)
        self.position += len(piece)
        self.line += piece.count("\n")
        if self.position > self.limits.text_characters:
            raise exceeded(f"more than {self.limits.text_characters:,} characters of text")
        return span

    def add_line(self, label: str, text: str) -> FileSpan:
        """Add the line of a property: its label, and a text whose span is returned."""
        self.add(f"{label}:", " ")
        return self.add(text, "\n")

    def reserve(self) -> int:
        """Keep a place for a part whose end is not known yet; an unused place leaves nothing."""
        self._parts.append(None)
        return len(self._parts) - 1

    def part(
        self, kind: str, span: FileSpan, fields: Iterable[PartField] = (), level: int | None = None,
        place: int | None = None,
    ) -> None:  # fmt: skip
        part = Part(kind, span, level, tuple(fields))
        if place is None:
            self._parts.append(part)
        else:
            self._parts[place] = part
        if len(self._parts) > self.limits.parts:
            raise exceeded(f"more than {self.limits.parts:,} parts")

    def count_cells(self, count: int) -> None:
        self._cells += count
        if self._cells > self.limits.cells:
            raise exceeded(f"more than {self.limits.cells:,} cells")

    def check_page(self, number: int) -> None:
        if number > self.limits.pages:
            raise exceeded(f"more than {self.limits.pages:,} pages")

    def warn(self, *sentences: str) -> None:
        super().warn(*map(normal, sentences))

    def left_out(
        self, what: str, characters: int | None = None, name: str = "", of: str = "", count: int = 1
    ) -> None:
        """Count something whose text is not read, by what it is; of no characters it is nothing.

        ``of`` follows its names: "2 messages (join, leave) of the program itself".
        """
        if characters is not None and characters <= 0:
            return
        known, total, names = self._left_out.get((what, of), (0, 0, dict[str, None]()))
        if name and len(names) <= NAMES_SHOWN:
            names[normal(name)[:100]] = None
        self._left_out[what, of] = (known + count, total + (characters or 0), names)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def _name(self, text: str) -> str | None:
        """Return the title, unless a program made it; else the first heading in the text."""
        title = " ".join(normal(self.title).split()) if isinstance(self.title, str) else ""
        if title and not OF_PROGRAMS["title"].fullmatch(title):
            return title
        headings = (part.span for part in self._parts if part is not None and part.kind == "heading")
        first = next(headings, None)
        # Markdown keeps the marks of a heading.
        line = text[first.start : first.end].strip("# \n").partition("\n")[0] if first is not None else ""
        return without_addresses(line).strip() or None

    def document(self) -> ParsedDocument:
        text, kinds = self.text, list[str]()
        for (what, of), (count, total, names) in self._left_out.items():
            more = " …" if len(names) > NAMES_SHOWN else ""
            listing = f" ({', '.join([*names][:NAMES_SHOWN])}{more})" if names else ""
            characters = f", {total:,} character{'s' * (total != 1)}" if total else ""
            kinds.append(f"{count:,} {what}{'s' * (count != 1)}{listing}{of}{characters}")
        if kinds:
            self.warn(f"TEXT_NOT_READ: {'; '.join(kinds)}.")
        return ParsedDocument(
            text=text,
            parts=tuple(part for part in self._parts if part is not None),
            title=self._name(text),
            metadata={
                name: value
                for name, value in json_value(self.metadata).items()
                if name not in OF_PROGRAMS
                or not isinstance(value, str)
                or not OF_PROGRAMS[name].fullmatch(value)
            },
            format=self.format.name,
            media_type=self.media_type or self.format.media_types[0],
            parser=self.format.parser,
            parser_version=self.format.parser_version,
            warnings=tuple(self._warnings),
        )


def exceeded(what: str) -> ParseFailed:
    return ParseFailed(f"The file has {what}: that is over the limit.", "limit_exceeded")


def widened(spans: Iterable[FileSpan]) -> FileSpan:
    """Return the span from the first start to the last end, with the line of the first."""
    members = [span for span in spans if span.start is not None and span.end is not None]
    first = members[0]
    return FileSpan(line=first.line, start=first.start, end=max(span.end or 0 for span in members))


_WRITTEN_TIME: Final = re.compile(
    r"(?:D:)?(\d{4}|-)[-:]?(\d\d)[-:]?(\d\d)"
    r"(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d)(?:\.\d+)?)?(?:(Z)[\d']*|([+-]\d\d)[':]?(\d\d)?'?)?)?",
    re.ASCII,
)


def iso(text: str) -> str:
    """Return a day or a time in ISO 8601, a day without a year as `--05-17`; another text as it stands."""
    match = _WRITTEN_TIME.fullmatch(text.strip())
    if match is None:
        return text
    year, month, day, hour, minute, second, utc, hours, minutes = match.groups()
    clock = f"T{hour}:{minute}:{second or '00'}" if hour else ""
    offset = utc or (f"{hours}:{minutes or '00'}" if hours else "")
    return f"{year}-{month}-{day}{clock}{offset}"
