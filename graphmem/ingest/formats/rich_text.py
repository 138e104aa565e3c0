"""Rich text (RTF): its text as paragraphs. Pictures and objects are left out."""

from __future__ import annotations

from striprtf.striprtf import rtf_to_text

from graphmem.ingest.building import Builder, normal
from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.format_table import BY_NAME


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the text with its paragraphs."""
    builder = Builder(limits)
    # RTF is ASCII: the library decodes the escapes, by the code page that the file names.
    text = rtf_to_text(data.decode("latin-1"), errors="replace")
    for line in normal(text).split("\n"):
        if line.strip():
            builder.part("paragraph", builder.add(line.strip(), "\n"))
    return builder.document(BY_NAME["rtf"])
