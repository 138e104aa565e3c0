"""Which format bytes have. The content decides; name and declared type choose among formats of text."""

from __future__ import annotations

from pathlib import PurePosixPath

from graphmem.ingest.decoding import is_text
from graphmem.ingest.document import Limits, ParseFailed
from graphmem.ingest.table import BY_MEDIA_TYPE, BY_NAME, BY_SUFFIX, Format

HEAD_BYTES = 65_536
GENERIC_TYPES = {"text/plain", "application/octet-stream", "binary/octet-stream", ""}
"""Types that a sender declares without a look at the file: the name says more."""


def essence(declared: str | None) -> str | None:
    """Return a declared type without its parameters, in lower case; None if nothing is declared."""
    return (declared.partition(";")[0].strip().lower() or None) if declared else None


def suffix(name: str) -> str:
    """Return the last suffix of a name in lower case, with its point."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def hinted(declared: str | None, name: str) -> Format | None:
    """Return the format that the declared type names, else that of the suffix."""
    media_type = essence(declared)
    if media_type is not None and media_type not in GENERIC_TYPES and media_type in BY_MEDIA_TYPE:
        return BY_MEDIA_TYPE[media_type]
    return BY_SUFFIX.get(suffix(name))


def detect(data: bytes, declared: str | None, name: str, limits: Limits) -> Format:
    """Return the format of a file.

    Raises:
        ParseFailed: no parser reads this format; the reason names what the bytes look like.
    """
    if not is_text(data[:HEAD_BYTES]):
        raise ParseFailed(f"No parser reads this kind of file: {_described(data, name)}.", "unsupported")
    hint = hinted(declared, name)
    return BY_NAME["text"] if hint is None else hint


def _described(data: bytes, name: str) -> str:
    import puremagic

    try:
        match = puremagic.magic_string(data[:HEAD_BYTES], name)[0]
    except (puremagic.PureError, ValueError, IndexError):
        return "its content is unknown"
    return f"it looks like {match.name or match.mime_type or match.extension}"
