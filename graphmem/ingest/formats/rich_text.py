"""Rich text (RTF): its text as paragraphs. Pictures and objects are left out."""

from __future__ import annotations

from striprtf.striprtf import rtf_to_text

from graphmem.ingest.building import Builder, normal


def parse(builder: Builder, data: bytes, name: str) -> None:
    # RTF is ASCII: the library decodes the escapes, by the code page that the file names.
    text = normal(rtf_to_text(data.decode("latin-1"), errors="replace"))
    for line in text.split("\n"):
        if line.strip():
            builder.part("paragraph", builder.add(line.strip(), "\n"))
