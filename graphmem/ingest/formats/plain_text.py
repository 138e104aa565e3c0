"""Plain text: paragraphs that blank lines part."""

from __future__ import annotations

from graphmem.ingest.building import Builder
from graphmem.ingest.decoding import whole_text
from graphmem.ingest.document import FileSpan


def parse(builder: Builder, data: bytes, name: str) -> None:
    start = first_line = end = position = 0
    for line, content in enumerate(whole_text(builder, data).split("\n"), 1):
        if content and not content.isspace():
            if not first_line:
                start, first_line = position, line
            end = position + len(content)
        elif first_line:
            builder.part("paragraph", FileSpan(line=first_line, start=start, end=end))
            first_line = 0
        position += len(content) + 1
    if first_line:
        builder.part("paragraph", FileSpan(line=first_line, start=start, end=end))
