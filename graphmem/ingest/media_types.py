"""What bytes are: their mime type by their content, and among texts by what the caller says."""

from __future__ import annotations

import mimetypes
import re
from typing import Final

from graphmem.ingest import detection
from graphmem.ingest.archives import MAIN_MEMBERS
from graphmem.ingest.decoding import beginning, is_text, without_zero_tail
from graphmem.ingest.format_table import BY_MEDIA_TYPE, BY_NAME

HEAD_BYTES = 8_192  # how much of a file is looked at
UNKNOWN = "application/octet-stream"
TEXTS = ("application/json", "application/xml", "application/x-ndjson", "message/rfc822", "image/svg+xml")
"""Types of texts beside ``text/…``."""
ARCHIVE: Final = "application/zip"
_RTF: Final = b"{\\rtf"
_MEMBER: Final = rb"PK\x03\x04.{26}"  # the header of a member of an archive; its name follows
_STATED_BY_ARCHIVE: Final = re.compile(_MEMBER + rb"mimetype([a-z]+/[a-z0-9.+-]+)", re.DOTALL)
_MAIN_MEMBER: Final = re.compile(_MEMBER + rb"(word/|xl/|ppt/)", re.DOTALL)


def media_type(data: bytes, declared: str | None, name: str) -> str:
    """Return the mime type of a file. The content decides whether it is a text, and what kind it is if not.

    Args:
        declared: the mime type that the caller gives.
        name: the name of the file; its suffix says what a text without a declared type is.
    """
    head = without_zero_tail(data[:HEAD_BYTES])
    # A small PDF may have nothing but characters.
    is_pdf = b"%PDF-" in head[: detection.PDF_HEAD_BYTES]
    if head.startswith(b"PK\x03\x04"):
        return _of_archive(head, declared, name)
    return (
        _of_text(head, declared, name) if is_text(head) and not is_pdf else _of_binary(head, declared, name)
    )


def types_contradict(declared: str, media_type: str) -> bool:
    """Return whether a declared type says something else than the type of the bytes.

    Several types of one format do not contradict each other, and a generic type says little.
    """
    stated = detection.essence(declared)
    if stated is None or stated == media_type:
        return False
    if stated in detection.GENERIC_TYPES:
        return stated == "text/plain" and not _is_text_type(media_type)
    stated_format = BY_MEDIA_TYPE.get(stated)
    return stated_format is None or stated_format is not BY_MEDIA_TYPE.get(media_type)


def _of_text(head: bytes, declared: str | None, name: str) -> str:
    stated = detection.essence(declared)
    format_name = "rtf" if head.startswith(_RTF) else detection.structured_text(beginning(head))
    if format_name is not None:
        media_types = BY_NAME[format_name].media_types
        return stated if stated in media_types else media_types[0]
    if stated is not None and stated not in detection.GENERIC_TYPES and _is_text_type(stated):
        return stated
    hint = detection.hinted(declared, name)
    if hint is not None and not hint.is_binary:
        return hint.media_types[0]
    guessed = mimetypes.guess_type(name)[0]
    return guessed if guessed is not None and _is_text_type(guessed) else "text/plain"


def _is_text_type(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in TEXTS or media_type.endswith(("+json", "+xml"))


def _of_archive(head: bytes, declared: str | None, name: str) -> str:
    """Return the mime type of an archive: by its first members, else by what the caller says of it."""
    stated = _STATED_BY_ARCHIVE.match(head)
    if stated is not None:
        return stated[1].decode("ascii")
    main = _MAIN_MEMBER.search(head)
    if main is not None:
        media_types = BY_NAME[dict(MAIN_MEMBERS)[main[1].decode("ascii")]].media_types
        declared_type = detection.essence(declared)
        return declared_type if declared_type in media_types else media_types[0]
    hint = detection.hinted(None, name)
    by_name = mimetypes.guess_type(name)[0] if hint is None else hint.media_types[0]
    types = {match.mime_type for match in detection.signature_matches(head, name)}
    return next((each for each in (detection.essence(declared), by_name) if each and each in types), ARCHIVE)


def _of_binary(head: bytes, declared: str | None, name: str) -> str:
    stated = detection.essence(declared)
    types = [match.mime_type for match in detection.signature_matches(head, name) if match.mime_type]
    if stated is None:
        return types[0] if types else UNKNOWN
    if stated in types:
        return stated
    if types:
        return types[0]
    return UNKNOWN if _is_text_type(stated) else stated
