"""Plain text: paragraphs that blank lines part."""

from __future__ import annotations

from graphmem.ingest.building import Builder
from graphmem.ingest.decoding import opened
from graphmem.ingest.document import DocumentLimits, FileSpan, ParsedDocument
from graphmem.ingest.format_table import TEXT


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the text with its paragraphs."""
    builder, text = opened(data, limits)
    add_paragraphs(builder, text)
    return builder.document(TEXT)


def add_paragraphs(builder: Builder, text: str, position: int = 0, line: int = 1) -> None:
    """Add the paragraphs of a text that stands in the document from an offset and a line on."""
    start = first_line = end = 0
    for content in text.split("\n"):
        if content and not content.isspace():
            if not first_line:
                start, first_line = position, line
            end = position + len(content)
        elif first_line:
            builder.part("paragraph", FileSpan(line=first_line, start=start, end=end))
            first_line = 0
        position += len(content) + 1
        line += 1
    if first_line:
        builder.part("paragraph", FileSpan(line=first_line, start=start, end=end))
