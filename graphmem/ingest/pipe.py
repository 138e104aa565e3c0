"""The form in which a document leaves the process that parses: lines of JSON, checked by their reader.

The reader believes nothing: a hostile file that takes its process over can at most produce a wrong document.
"""

from __future__ import annotations

import json
import operator
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from graphmem.ingest.document import (
    PART_KINDS,
    REASON_CHARACTERS_LIMIT,
    DocumentLimits,
    FileSpan,
    ParsedDocument,
    Part,
    PartField,
)
from graphmem.ingest.format_table import BY_NAME


class DocumentInvalid(ValueError):
    """What came over the pipe is no document within the limits; the message of its reader says why."""


def lines(document: ParsedDocument) -> Iterator[bytes]:
    """Yield the document as lines of JSON: the head, then one line for each part.

    A line of a part is `[kind, level, *span, fields]` and a field in it `[name, value, *span]`, with the
    seven members of a span in their order. The reader makes each part from its own line: one JSON text of
    objects for all parts would need several times the memory and the time.
    """
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    yield encode(document.head()).encode() + b"\n"
    for part in document.parts:
        fields = [(member.name, member.value, *member.span) for member in part.fields]
        yield encode((part.kind, part.level, *part.span, fields)).encode() + b"\n"


def read_lines(data: Iterable[bytes], limits: DocumentLimits) -> ParsedDocument:
    """Read a document from lines of JSON and check it."""
    received = iter(data)
    try:
        head = json.loads(next(received, b""), parse_constant=_no_constant)
        if head["format"] not in BY_NAME:
            raise DocumentInvalid("the format is unknown")
        reader = _DocumentReader(head["text"], limits)
        parts = Parts(list(received), reader)
        parts.check()
        return ParsedDocument(
            text=reader.text,
            parts=parts,
            title=None if head["title"] is None else _text(head["title"]),
            metadata=_json_value(_of_type(head["metadata"], dict)),
            warnings=tuple(_text(warning) for warning in _of_type(head["warnings"], list)),
            **{name: _text(head[name]) for name in ("format", "media_type", "parser", "parser_version")},
        )
    except DocumentInvalid:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise DocumentInvalid(f"{type(exc).__name__}: {exc}"[:REASON_CHARACTERS_LIMIT]) from None


class _DocumentReader:
    """Reads the parts of one text. Every member of every part is checked: the sender is not trusted."""

    def __init__(self, text: Any, limits: DocumentLimits) -> None:
        self.text = _text(text)
        if len(self.text) > limits.text_characters:
            raise DocumentInvalid("the text is too long")
        if "\0" in self.text or "\r" in self.text or not unicodedata.is_normalized("NFC", self.text):
            raise DocumentInvalid("the text is not in NFC with line feeds")
        self._length = len(self.text)
        self.limits = limits
        self._names: dict[Any, str] = {}

    def part(self, kind: Any, level: Any, *members: Any) -> Part:
        *place, values = members
        if kind not in PART_KINDS:
            raise DocumentInvalid("a part has an unknown kind")
        if level is not None:
            _count(level)
        return Part(kind, self._span(*place), level, tuple([self._field(*value) for value in values]))

    def _field(self, name: Any, value: Any, *place: Any) -> PartField:
        if type(value) is not str or not value.isascii():
            _json_value(value)
        # Rows repeat the names of their columns: one text stands for all.
        known = self._names.get(name) or self._names.setdefault(name, _text(name))
        return PartField(known, value, self._span(*place))

    def _span(
        self, page: Any, line: Any, row: Any, cell: Any, message: Any, start: Any, end: Any
    ) -> FileSpan:
        if start is None or end is None:
            if start is not end:
                raise DocumentInvalid("a span has only one of start and end")
        elif not (type(start) is int and type(end) is int and 0 <= start <= end <= self._length):
            raise DocumentInvalid("a span is outside of the text")
        for number in (page, line, row, message):
            if number is not None:
                _count(number)
        if cell is not None:
            _text(cell)
        return FileSpan(page, line, row, cell, message, start, end)


class Parts(Sequence[Part]):
    """The parts of a document as they came over the pipe; each is made when it is read.

    A large document has a million fields. As objects they take several times the memory of their lines, and
    the garbage collector looks at all of them again and again.
    """

    def __init__(self, lines: list[bytes], reader: _DocumentReader) -> None:
        self._lines = lines
        self._reader = reader
        self._decode = json.JSONDecoder(parse_constant=_no_constant).decode

    def check(self) -> None:
        if len(self._lines) > self._reader.limits.parts:
            raise DocumentInvalid("there are too many parts")
        for _ in self:
            pass

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Part: ...
    @overload
    def __getitem__(self, index: slice) -> Parts: ...
    def __getitem__(self, index: int | slice) -> Part | Parts:
        if isinstance(index, slice):
            return Parts(self._lines[index], self._reader)
        return self._part(self._lines[index])

    def __iter__(self) -> Iterator[Part]:
        return map(self._part, self._lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    def _part(self, line: bytes) -> Part:
        return self._reader.part(*self._decode(line.decode()))


def _no_constant(name: str) -> Any:
    raise DocumentInvalid(f"{name} is no JSON")


def _count(value: Any) -> None:
    if type(value) is not int or value < 1:
        raise DocumentInvalid("a number that counts from 1 is expected")


def _text(value: Any) -> str:
    if type(value) is not str:
        raise DocumentInvalid("a text is expected")
    if not value.isascii():
        value.encode()  # A lone surrogate is a UnicodeEncodeError, which is a ValueError.
    return value


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise DocumentInvalid(f"{kind.__name__} expected")
    return value


def _json_value(value: Any) -> Any:
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value
