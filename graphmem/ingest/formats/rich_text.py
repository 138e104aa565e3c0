"""Rich text (RTF): its text as paragraphs. Pictures, objects, notes and comments are left out."""

from __future__ import annotations

import re

from striprtf.striprtf import rtf_to_text

from graphmem.ingest.building import Builder, normal

APART = re.compile(rb"\{\\(?:\*\\)?(footnote|annotation|header|footer|object)[^a-z]")
"""Groups whose text the library leaves out."""


def parse(builder: Builder, data: bytes, name: str) -> None:
    # RTF is ASCII: the library decodes the escapes, by the code page that the file names.
    text = normal(rtf_to_text(data.decode("latin-1"), errors="replace"))
    for group in APART.finditer(data):
        builder.left_out(group[1].decode())
    for line in text.split("\n"):
        if line.strip():
            builder.part("paragraph", builder.add(line.strip(), "\n"))
