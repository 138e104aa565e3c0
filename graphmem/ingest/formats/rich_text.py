"""Rich text (RTF): its text as paragraphs. Pictures and objects are left out."""

from __future__ import annotations

from compressed_rtf import decompress
from striprtf.striprtf import rtf_to_text

from graphmem.ingest.building import Builder, normal

COMPRESSED_BYTES_LIMIT = 1 << 20
"""What takes seconds to read: it becomes eight times as long."""


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add the text with its paragraphs."""
    for line in _text(data).split("\n"):
        if line.strip():
            builder.part("paragraph", builder.add(line.strip(), "\n"))


def compressed_text(data: bytes) -> str:
    """Return the text of RTF as a message of Outlook has it.

    Raises:
        ValueError: it is damaged or too long.
    """
    size = int.from_bytes(data[4:8], "little")
    if len(data) > COMPRESSED_BYTES_LIMIT:
        raise ValueError
    try:
        content = decompress(data)
        if len(content) < size:
            raise ValueError
        return _text(content[:size])
    except Exception as exc:
        # The libraries raise what they come upon.
        raise ValueError from exc


def _text(data: bytes) -> str:
    # RTF is ASCII: the library decodes the escapes, by the code page that the file names.
    return normal(rtf_to_text(data.decode("latin-1"), errors="replace"))
