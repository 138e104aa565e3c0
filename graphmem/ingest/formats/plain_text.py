"""Plain text: paragraphs that blank lines part. A structure that nothing reads is named in a warning."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from graphmem.ingest.building import Builder
from graphmem.ingest.decoding import whole_text
from graphmem.ingest.document import FileSpan
from graphmem.ingest.format_table import TABLES

HEAD_CHARACTERS = 65_536


def parse(builder: Builder, data: bytes, name: str) -> None:
    start = first_line = end = position = 0
    text = whole_text(builder, data)
    _warn_of_structure(builder, text, name)
    for line, content in enumerate(text.split("\n"), 1):
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


def _warn_of_structure(builder: Builder, text: str, name: str) -> None:
    suffix = PurePosixPath(name).suffix.lower()
    head = text[:HEAD_CHARACTERS].lstrip()
    structures = TABLES["structures"].items()
    named = next((title for title, pattern in structures if re.compile(pattern).match(head)), None)
    if named is None and suffix[1:] in TABLES["suffixes_unread"].split():
        named = suffix[1:].upper()
    if named is not None:
        made = "the file is one document of plain text"
        builder.warn(f"STRUCTURE_NOT_READ: no interpreter knows the structure of this {named}: {made}.")
