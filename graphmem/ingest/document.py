"""What a parser makes of a file: text, and parts that say where in the text they stand.

A document crosses a pipe from the process that parses to the one that asked. :func:`lines` writes it and
:func:`read_lines` reads and checks it, so that a hostile file can at most produce a wrong document.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal

FailureCode = Literal[
    "unsupported", "damaged", "encrypted", "empty", "too_large", "limit_exceeded", "timed_out", "crashed"
]
FAILURE_CODES: tuple[FailureCode, ...] = (
    "unsupported",
    "damaged",
    "encrypted",
    "empty",
    "too_large",
    "limit_exceeded",
    "timed_out",
    "crashed",
)
PART_KINDS = (
    "cell",
    "contact",
    "conversation",
    "event",
    "heading",
    "item",
    "message",
    "page",
    "paragraph",
    "property",
    "record",
    "row",
    "section",
    "sheet",
    "slide",
    "table",
)
REASON_CHARACTERS_LIMIT = 500


class ParseFailed(Exception):
    """A file could not be parsed. ``reason`` is a sentence for people, ``code`` a word for programs."""

    def __init__(self, reason: str, code: FailureCode) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: FailureCode = code


class DocumentInvalid(ValueError):
    """What came over the pipe is no document."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may cost. What exceeds a limit is a :class:`ParseFailed` that names it."""

    file_bytes: int = 52_428_800
    text_characters: int = 10_000_000
    parts: int = 200_000
    pages: int = 5_000
    cells: int = 2_000_000
    archive_members: int = 2_000
    inflated_bytes: int = 200 << 20
    inflation_ratio: int = 100
    inflation_allowance_bytes: int = 1 << 20
    """How much a member of an archive may hold beyond ``inflation_ratio`` times its compressed size."""
    wall_seconds: float = 60.0
    cpu_seconds: int = 30
    address_space_bytes: int = 1 << 30
    output_bytes: int = 64 << 20

    def as_json(self) -> str:
        """Return the limits as one JSON object."""
        return json.dumps({member.name: getattr(self, member.name) for member in fields(self)})


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file. ``start`` and ``end`` are offsets in characters into the text, end exclusive.

    Every other number counts from 1. ``row`` counts the records of a table with its header, ``line`` the
    lines of the text, ``cell`` is the address in a sheet (``B7``).
    """

    page: int | None = None
    line: int | None = None
    row: int | None = None
    cell: str | None = None
    message: int | None = None
    start: int | None = None
    end: int | None = None

    def as_dict(self) -> dict[str, int | str]:
        """Return the members that are present."""
        values = ((name, getattr(self, name)) for name in SPAN_MEMBERS)
        return {name: value for name, value in values if value is not None}


SPAN_MEMBERS = tuple(member.name for member in fields(Span))


@dataclass(frozen=True, slots=True)
class Field:
    """A named value of a part: ``value`` is a JSON value, ``span`` the place of the value."""

    name: str
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class Part:
    """A page, heading, row, message … of a document, in the order of the file.

    ``level`` is the depth of a heading or of a list, from 1. ``fields`` is empty for plain text.
    """

    kind: str
    span: Span
    level: int | None = None
    fields: tuple[Field, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the part as JSON; absent members are left out."""
        value: dict[str, Any] = {"kind": self.kind, "span": self.span.as_dict()}
        if self.level is not None:
            value["level"] = self.level
        if self.fields:
            value["fields"] = [
                {"name": member.name, "value": member.value, "span": member.span.as_dict()}
                for member in self.fields
            ]
        return value


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. ``text`` is NFC with line feeds and without NUL; every span points into it.

    ``media_type`` is the type of the content. Where the declared type contradicts it, ``metadata`` has both
    as ``declared_type`` and ``media_type``. ``warnings`` are sentences about what was not read as it stands.
    """

    text: str
    parts: tuple[Part, ...]
    format: str
    media_type: str
    parser: str
    parser_version: str
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the document as JSON."""
        return {**self.head(), "parts": [part.as_dict() for part in self.parts]}

    def head(self) -> dict[str, Any]:
        """Return the document as JSON, without its parts."""
        return {
            "text": self.text,
            "title": self.title,
            "metadata": self.metadata,
            "format": self.format,
            "media_type": self.media_type,
            "parser": self.parser,
            "parser_version": self.parser_version,
            "warnings": list(self.warnings),
        }


def lines(document: Document) -> Iterator[bytes]:
    """Yield the document as lines of JSON: the head, then one line for each part.

    A line of a part is `[kind, level, *span, fields]` and a field in it `[name, value, *span]`, with the
    seven members of a span in their order. The reader makes each part from its own line: one JSON text of
    objects for all parts would need several times the memory and the time.
    """
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    yield encode(document.head()).encode() + b"\n"
    for part in document.parts:
        fields = [(member.name, member.value, *_members(member.span)) for member in part.fields]
        yield encode((part.kind, part.level, *_members(part.span), fields)).encode() + b"\n"


def _members(span: Span) -> tuple[int | str | None, ...]:
    return (span.page, span.line, span.row, span.cell, span.message, span.start, span.end)


def read_lines(data: Iterable[bytes], limits: Limits) -> Document:
    """Read a document from lines of JSON and check it.

    Raises:
        DocumentInvalid: the lines are no document within the limits; the message says why.
    """
    received = iter(data)
    try:
        head = json.loads(next(received, b""), parse_constant=_no_constant)
        reader = _Reader(head["text"], limits)
        decode = json.JSONDecoder(parse_constant=_no_constant).decode
        parts = tuple([reader.part(*decode(line.decode())) for line in received])
        return Document(
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


class _Reader:
    """Reads the parts of one text. Every member of every part is checked: the sender is not trusted."""

    def __init__(self, text: Any, limits: Limits) -> None:
        self.text = _text(text)
        if len(self.text) > limits.text_characters:
            raise DocumentInvalid("the text is too long")
        if "\0" in self.text or "\r" in self.text or not unicodedata.is_normalized("NFC", self.text):
            raise DocumentInvalid("the text is not in NFC with line feeds")
        self._length = len(self.text)
        self._parts_left = limits.parts
        self._names: dict[Any, str] = {}

    def part(self, kind: Any, level: Any, *members: Any) -> Part:
        """Read a part from the elements of its line."""
        self._parts_left -= 1
        if self._parts_left < 0:
            raise DocumentInvalid("there are too many parts")
        *place, values = members
        if kind not in PART_KINDS:
            raise DocumentInvalid("a part has an unknown kind")
        if level is not None:
            _count(level)
        return Part(kind, self._span(*place), level, tuple([self._field(*value) for value in values]))

    def _field(self, name: Any, value: Any, *place: Any) -> Field:
        if type(value) is not str or not value.isascii():
            _json_value(value)
        # Rows repeat the names of their columns: one text stands for all.
        known = self._names.get(name) or self._names.setdefault(name, _text(name))
        return Field(known, value, self._span(*place))

    def _span(self, page: Any, line: Any, row: Any, cell: Any, message: Any, start: Any, end: Any) -> Span:
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
        return Span(page, line, row, cell, message, start, end)


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
    """Return a JSON value after a check of its texts and floats."""
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value
