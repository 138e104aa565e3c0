"""What a parser makes of a file: text, and parts that say where in the text they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, NotRequired, get_args

from typing_extensions import TypedDict

FailureCode = Literal[
    "unsupported", "damaged", "encrypted", "empty", "too_large", "limit_exceeded", "timed_out", "crashed"
]
FAILURE_CODES: tuple[FailureCode, ...] = get_args(FailureCode)
PART_KINDS = (
    "contact", "conversation", "event", "heading", "item", "message", "page", "paragraph", "property",
    "record", "row", "sheet", "slide", "table",
)  # fmt: skip
REASON_CHARACTERS_LIMIT = 500
FILE_BYTES_LIMIT = 52_428_800  # bytes of the largest file that is stored or parsed
WARNINGS_LIMIT: Final = 100
LEFT_OUT: Final = "LEFT_OUT: "
"""Begins a warning about a part of a file that does not come in."""
CHARACTERS_DEFAULT: Final = 20_000
CHARACTERS_LIMIT: Final = 1_000_000  # characters of one page of the text of a file


class ParseFailed(Exception):
    """A file could not be parsed: raised by all that looks at its bytes.

    ``reason`` is a sentence for people, ``code`` a word for programs.
    """

    def __init__(self, reason: str, code: FailureCode) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code: FailureCode = code


class Warned:
    """Collects warnings, each once; beyond a bound one sentence stands for the others."""

    def __init__(self) -> None:
        self._warnings: dict[str, None] = {}

    def warn(self, *sentences: str) -> None:
        for sentence in sentences:
            code = LEFT_OUT if sentence.startswith(LEFT_OUT) else ""
            more = len(self._warnings) >= WARNINGS_LIMIT
            self._warnings[f"{code}There are more warnings." if more else sentence] = None

    def drop(self, sentence: str) -> None:
        """Add a warning about a part of the file that does not come in."""
        self.warn(LEFT_OUT + sentence)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """What a file may cost. What exceeds a limit is a :class:`ParseFailed` that names it."""

    file_bytes: int = FILE_BYTES_LIMIT
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


class FileSpan(NamedTuple):
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
        return {name: value for name, value in zip(SPAN_MEMBERS, self, strict=True) if value is not None}


SPAN_MEMBERS = FileSpan._fields


class PartField(NamedTuple):
    """A named value of a part or of an entity: a JSON ``value``, and its place if it has one."""

    name: str
    value: Any
    span: FileSpan = FileSpan()


class Part(NamedTuple):
    """A page, heading, row … in the order of the file. ``level``: depth of a heading or of a list, from 1."""

    kind: str
    span: FileSpan
    level: int | None = None
    fields: tuple[PartField, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A parsed file. ``text`` is NFC with line feeds and without NUL; every span points into it.

    ``media_type`` is the type of the content. Where the declared type contradicts it, ``metadata`` has both
    as ``declared_type`` and ``media_type``. ``warnings`` are sentences about what was not read as it stands.
    """

    text: str
    parts: Sequence[Part]
    format: str
    media_type: str
    parser: str
    parser_version: str
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def head(self) -> dict[str, Any]:
        """Return the document as JSON, without its parts."""
        return {member.name: getattr(self, member.name) for member in fields(self) if member.name != "parts"}


class TextPage(TypedDict):
    """A page of the text of a file.

    ``content_hash`` is the SHA-256 of the bytes, ``file_size`` their number, ``mime_type`` what they are.
    ``pages`` counts the pages, slides or sheets, where the format has any. ``text`` begins at the character
    ``offset`` of ``total_characters``; ``next_offset`` is that of the next page, where one follows.
    """

    content_hash: str
    file_size: int
    mime_type: str
    format: str
    parser: str
    parser_version: str
    title: str | None
    pages: int | None
    metadata: dict[str, Any]
    warnings: list[str]
    offset: int
    total_characters: int
    next_offset: NotRequired[int]
    text: str


def text_page(
    document: ParsedDocument, content_hash: str, file_size: int, offset: int = 0, limit: int | None = None
) -> TextPage:
    """Return the page of a text from a character on: ``limit`` of them, by default the rest."""
    total = len(document.text)
    end = total if limit is None else min(offset + limit, total)
    page: TextPage = {
        "content_hash": content_hash,
        "file_size": file_size,
        "mime_type": document.media_type,
        "format": document.format,
        "parser": document.parser,
        "parser_version": document.parser_version,
        "title": document.title,
        "pages": max((part.span.page or 0 for part in document.parts), default=0) or None,
        "metadata": document.metadata,
        "warnings": list(document.warnings),
        "offset": offset,
        "total_characters": total,
        "text": document.text[offset:end],
    }
    if end < total:
        page["next_offset"] = end
    return page
