"""Which format bytes have. The content decides; name and declared type choose among formats of text.

Markdown and tables are text that anything can be: they need a declared type or a suffix. Chats of WhatsApp
whose times have no comma need the name that it gives them.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any

from graphmem.ingest.archives import format_of
from graphmem.ingest.decoding import beginning, decoded, is_text
from graphmem.ingest.document import DocumentLimits, ParseFailed
from graphmem.ingest.format_table import BY_MEDIA_TYPE, BY_NAME, BY_SUFFIX, FORMATS, Format, json_format
from graphmem.ingest.tabular import is_header

HEAD_BYTES = 65_536
PDF_HEAD_BYTES = 1_024
GENERIC_TYPES = {"text/plain", "application/octet-stream", "binary/octet-stream"}
"""Types that a sender declares without a look at the file: the name says more."""
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
CHAT_NAME = re.compile(r"WhatsApp|(?:^|[/\\])_chat\b", re.IGNORECASE)
"""The names of files that may be chats of WhatsApp where their lines do not show it."""
HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]")
MAIL_HEADERS = {"from", "to", "subject", "date", "message-id", "received", "return-path", "mime-version"}
MAIL_HEADERS_MINIMUM = 3
LINES_TRIED = 20  # lines of which one that is whole shows what they all are: the first may be broken
TABBED_LINES = 20  # lines by which a text is taken for a table with tabs
EXPORTED = ("entity_type", "identity", "observations", "relationships")
"""The members of a line of `graphmem export`."""
EXPORTED_LINE = re.compile(r'\s*\{"entity_type":"[a-z0-9_]+","entity_id":"\w+","canonical_name":')
"""How such a line begins, which may be longer than what is looked at here."""
BLOCK = re.compile(r"^(?:BEGIN|END):V", re.IGNORECASE | re.MULTILINE)
"""What a calendar or contacts have even where their first line is damaged."""


def essence(declared: str | None) -> str | None:
    """Return a declared type without its parameters, in lower case; None if nothing is declared."""
    return (declared.partition(";")[0].strip().lower() or None) if declared else None


def contradicts(declared_type: str, format: Format, media_type: str) -> bool:
    """Return whether a declared type says something else than the content; a generic type says little."""
    if declared_type in GENERIC_TYPES:
        return declared_type == "text/plain" and format.is_binary
    return declared_type != media_type and declared_type not in format.media_types


def suffix(name: str) -> str:
    """Return the last suffix of a name in lower case, with its point."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def hinted(declared: str | None, name: str) -> Format | None:
    """Return the format that the declared type names, else that of the suffix."""
    media_type = essence(declared)
    if media_type is not None and media_type not in GENERIC_TYPES and media_type in BY_MEDIA_TYPE:
        return BY_MEDIA_TYPE[media_type]
    return BY_SUFFIX.get(suffix(name))


def detect(data: bytes, declared: str | None, name: str, limits: DocumentLimits) -> Format:
    format_name = _binary(data, limits)
    if format_name is None and not is_text(data):
        best = next(iter(signature_matches(data[:HEAD_BYTES], name)), None)
        looks_like = best and (best.name or best.mime_type or best.extension)
        described = f"it looks like {looks_like}" if best else "its content is unknown"
        raise ParseFailed(f"No parser reads this kind of file: {described}.", "unsupported")
    hint = hinted(declared, name)
    if format_name is None and hint is not None and hint.is_binary:
        # The bytes are a text, so the declared type is wrong.
        hint = hinted(None, name)
    return BY_NAME[format_name or _text(data, hint, name)]


def _binary(data: bytes, limits: DocumentLimits) -> str | None:
    for format in FORMATS:
        if any(data.startswith(signature.encode("latin-1")) for signature in format.signatures):
            return format.name
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image"
    if data.startswith(b"BM") and not is_text(data):
        return "image"
    if b"%PDF-" in data[:PDF_HEAD_BYTES]:
        return "pdf"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return format_of(data, limits)
    if data.startswith(OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise ParseFailed("The Office file is encrypted: a password is needed to read it.", "encrypted")
        raise ParseFailed("The file is an Office document of the old binary format.", "unsupported")
    return None


def structured_text(head: str) -> str | None:
    """Return the format that a text shows by its beginning, None if by that it shows none, as with JSON."""
    head = head.lstrip()
    element = _first_element(head)
    for format in FORMATS:
        if format.begins and re.compile(format.begins).match(head, element if format.marked_up else 0):
            return format.name
    return "eml" if _is_mail(head) else None


def _text(data: bytes, hint: Format | None, name: str) -> str:
    head = beginning(data[:HEAD_BYTES]).lstrip()
    structured = structured_text(head)
    if structured is not None:
        return structured
    if CHAT_NAME.search(name) is not None and (hint is None or hint.name == "text") and _is_chat(head):
        return "whatsapp"
    if hint is not None and hint.is_text and hint.name not in ("text", "json", "jsonl"):
        return hint.name
    if hint is not None and hint.name in ("ics", "vcf") and BLOCK.search(head) is not None:
        return hint.name
    json_format = _json(data, head, hint)
    if json_format is not None or (hint is not None and hint.name != "text"):
        return json_format or (hint.name if hint is not None and hint.is_text else "text")
    return "csv" if _is_tabbed(head) else "text"


def _is_chat(head: str) -> bool:
    """Return whether a text begins as a chat of WhatsApp in any language, as logs and diaries do as well."""
    from graphmem.ingest.formats.chats import LINE, lines_of

    return LINE.match(head) is not None and any(match["sender"] for match in lines_of(head))


def _is_tabbed(head: str) -> bool:
    """Return whether a text begins with a header and rows of as many tabs, as Excel's "Unicode text"."""
    lines = head.rpartition("\n")[0].split("\n")[:TABBED_LINES]
    return (
        len(lines) > 1
        and len({line.count("\t") for line in lines}) == 1
        and "\t" in lines[0]
        and is_header(lines[0].split("\t"), lines[1].split("\t"))
    )


def _first_element(head: str) -> int:
    position = 0
    for begin, end in (("<?", "?>"), ("<!--", "-->")):
        while head.startswith(begin, position):
            stop = head.find(end, position)
            if stop < 0:
                return position
            position = stop + len(end)
            while head[position : position + 1].isspace():
                position += 1
    return position


def _is_mail(head: str) -> bool:
    names: set[str] = set()
    for line in head.split("\n"):
        if not line:
            break
        match = HEADER.match(line)
        if match is not None:
            names.add(match[1].lower())
        elif not line.startswith((" ", "\t")):
            return False
    return len(names & MAIL_HEADERS) >= MAIL_HEADERS_MINIMUM


def _json(data: bytes, head: str, hint: Format | None) -> str | None:
    if not head.startswith(("{", "[")):
        return None
    if EXPORTED_LINE.match(head):
        return "graphmem"
    known = hint.name if hint is not None and hint.name in ("json", "jsonl") else None
    lines = head.split("\n")[:LINES_TRIED]
    values = [_first_value(line) for line in lines] if head.startswith("{") else [None]
    for value in filter(None, values):
        kind = value.get("type")
        if (kind == "entity" and "entityType" in value) or (kind == "relation" and "relationType" in value):
            return "memory"
        if all(name in value for name in EXPORTED):
            return "graphmem"
    # A line that is an object and a second that begins one: this is no single JSON value.
    if values[0] is not None and (known == "jsonl" or "".join(lines[1:2]).startswith("{")):
        return "jsonl"
    chat = json_format(head)
    if chat is not None or known is not None:
        return chat or known
    try:
        json.loads(decoded(data).text)
    except (ValueError, RecursionError):
        return None
    return "json"


def _first_value(line: str) -> dict[str, Any] | None:
    """Return the object that a line is or with which it begins before another one, else None."""
    try:
        value, end = json.JSONDecoder().raw_decode(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and line[end:].strip()[:1] in ("", "{") else None


def signature_matches(head: bytes, name: str) -> list[Any]:
    """Return the matches of puremagic for the first bytes of a file, the most likely first."""
    import puremagic

    try:
        return puremagic.magic_string(head, name)
    except (puremagic.PureError, ValueError, IndexError):
        return []
