"""The text of a parsed file, a page at a time, with what is known of the file."""

from __future__ import annotations

from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from graphmem.ingest.document import ParsedDocument

CHARACTERS_DEFAULT: Final = 20_000
CHARACTERS_LIMIT: Final = 1_000_000


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
    """Return the page of a document's text that begins at a character.

    Args:
        limit: characters of the page; by default the rest of the text.
    """
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
