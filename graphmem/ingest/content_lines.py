"""The lines of vCards and calendars: logical lines with parameters, in blocks from `BEGIN` to `END`.

A damaged line or block is told with its line in the text of the file, and the others are read.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.decoding import meant

LINE = re.compile(r'(?:([\w-]+)\.)?([\w-]+)((?:;(?:[^":;]|"[^"]*")*)*):(.*)', re.DOTALL)
UNPAIRED_QUOTES = re.compile(r"(?:([\w-]+)\.)?([\w-]+)((?:;[^:;]*)*):(.*)", re.DOTALL)
UNQUOTED_COLONS = (
    re.compile(r'([^:"]*;TZID=)([^";]*:[^";]*?)((?:;[^:"]*)?:\d{8}.*)', re.IGNORECASE | re.DOTALL),
    re.compile(r'([^:"]*;CN=)([^":;]*:[^";]*?)((?:;[^:"]*)?:mailto:.*)', re.IGNORECASE | re.DOTALL),
)
"""Names of zones and people with a colon that their programs forgot to quote."""
PARAMETER = re.compile(r';((?:[^";]|"[^"]*"?)*)')
ESCAPED = re.compile(r"\\([\\;,:nN])")
CARET = re.compile(r"\^([\^n'])")
CARETS = {"^": "^", "n": "\n", "'": '"'}
SOFT_BREAK = re.compile(r"[^:]*;(?:ENCODING=)?QUOTED-PRINTABLE[:;]", re.IGNORECASE)
BROKEN_QUOTED = re.compile(r"=(?![0-9A-F]{2})", re.IGNORECASE)
BOUNDARY = re.compile(r"(BEGIN|END):\s*([\w-]+)\s*", re.IGNORECASE)
ADDRESS = re.compile(r"[^@\s<>]+@[^@\s<>]+")
SHOWN_CHARACTERS = 80


class ContentLine(NamedTuple):
    """A property. ``params`` has upper case names; one that stands without a value has an empty one.

    Properties of one ``group`` belong together, such as a number and its label.
    """

    name: str
    params: dict[str, str]
    value: str
    group: str = ""

    def texts(self, separator: str | None = None) -> list[str]:
        """Return the value without encoding and escapes, parted at a separator that is not escaped."""
        pattern = rf"((?:\\.|[^{separator}\\]|\\\Z)*)(?:{separator}|\Z)"
        parts = re.findall(pattern, self.value, re.DOTALL)[:-1] if separator else [self.value]
        # The text after the last separator is empty if the value ends with it.
        parts += [""] if separator and (not parts or self.value.endswith(separator)) else []
        texts = (
            ESCAPED.sub(lambda each: "\n" if each[1] in "nN" else each[1], self._decoded(part))
            for part in parts
        )
        return [normal(text).strip() for text in texts]

    @property
    def is_quoted(self) -> bool:
        return "QUOTED-PRINTABLE" in (self.params.get("ENCODING", "").upper(), *self.params)

    def _decoded(self, text: str) -> str:
        if not self.is_quoted:
            return text
        charset = self._charset if not self.is_guessed else "cp1252"
        return quopri.decodestring(text.encode()).decode(charset, "replace")

    @property
    def _charset(self) -> str:
        return meant(self.params.get("CHARSET")) or "utf-8"

    @property
    def is_guessed(self) -> bool:
        """Whether its value is not what it says: UTF-8, or of the encoding that it names."""
        try:
            quopri.decodestring(self.value.encode()).decode(self._charset)
        except UnicodeDecodeError:
            return True
        return False


@dataclass(slots=True)
class Block:
    """What stands between `BEGIN` and `END`. ``is_cut``: the text ends before it does."""

    name: str
    number: int
    line: int
    lines: list[ContentLine] = field(default_factory=list)
    inner: list[Block] = field(default_factory=list)
    is_cut: bool = False

    def named(self, name: str) -> list[ContentLine]:
        return [line for line in self.lines if line.name == name]

    @property
    def place(self) -> str:
        return f"{self.name} {self.number} (line {self.line})"


def blocks(text: str, builder: Builder, apart: frozenset[str]) -> Iterator[Block]:
    """Yield the outer blocks of a text.

    ``apart``: names of blocks of which none stands in another: where one begins, the one before has ended.
    """
    opened: list[Block] = []
    counts: dict[str, int] = {}
    stray = 0
    for number, line in logical_lines(text):
        boundary = BOUNDARY.fullmatch(line)
        if boundary is None and not opened:
            stray += bool(line.strip())
        elif boundary is None:
            read = content_line(line)
            if read is not None:
                opened[-1].lines.append(read)
                if read.is_quoted and read.is_guessed:
                    builder.warn(f"Line {number} has no encoding that fits, it is read as cp1252.")
            elif line.strip():
                excerpt = line[:SHOWN_CHARACTERS]
                builder.drop(f"Line {number} cannot be read, it is left out: {excerpt}")
        else:
            begins, name = boundary[1].upper() == "BEGIN", boundary[2].upper()
            place = next((i for i, each in enumerate(opened) if _ends(each.name, name, begins, apart)), None)
            ended = opened[place:] if place is not None else []
            for block in reversed(ended if begins else ended[1:]):
                builder.warn(f"{block.place} has no line END:{block.name}: it ends before line {number}.")
            del opened[len(opened) - len(ended) :]
            if ended and not opened:
                yield ended[0]
            if begins:
                counts[name] = counts.get(name, 0) + 1
                block = Block(name, counts[name], number)
                if opened:
                    opened[-1].inner.append(block)
                opened.append(block)
            stray += not begins and not ended
    for block in opened:
        block.is_cut = True
    if stray:
        builder.drop(f"{stray:,} lines belong to nothing: they are left out.")
    if opened:
        yield opened[0]


def _ends(opened: str, name: str, begins: bool, apart: frozenset[str]) -> bool:
    return opened == name or (begins and opened in apart and name in apart)


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number: folded ones joined, and those of quoted-printable with soft breaks."""
    pieces: list[str] = []
    first, is_soft = 1, False
    for number, line in enumerate(text.split("\n"), 1):
        if is_soft and BOUNDARY.fullmatch(line) is None:
            pieces[-1] = pieces[-1][:-1]
            pieces.append(line)
        elif pieces and line[:1] in (" ", "\t"):
            pieces.append(line[1:])
        else:
            if pieces:
                yield first, "".join(pieces)
            pieces, first = [line], number
        is_soft = pieces[-1].endswith("=") and SOFT_BREAK.match(pieces[0]) is not None
    yield first, "".join(pieces)


def content_line(line: str) -> ContentLine | None:
    for pattern in UNQUOTED_COLONS:
        unquoted = pattern.fullmatch(line)
        if unquoted is not None:
            line = f'{unquoted[1]}"{unquoted[2]}"{unquoted[3]}'
    match = LINE.fullmatch(line) or UNPAIRED_QUOTES.fullmatch(line)
    if match is None:
        return None
    params: dict[str, str] = {}
    for param in PARAMETER.findall(match[3]):
        name, _, value = param.partition("=")
        value = CARET.sub(lambda escape: CARETS[escape[1]], value.strip().strip('"'))
        name = name.strip().upper()
        if name == "TYPE" and name in params:
            value = f"{params.pop(name)},{value}"
        params.setdefault(name, value)
    read = ContentLine(match[2].upper(), params, match[4], (match[1] or "").lower())
    return None if read.is_quoted and BROKEN_QUOTED.search(read.value) else read
