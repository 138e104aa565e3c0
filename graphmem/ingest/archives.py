"""Archives (ZIP) as office formats and exports of chats use them: which format it is, and whether it is safe.

A library that reads an office file inflates its members. So all members are inflated once before, piece by
piece, and counted: what a header says of a size is not believed.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator

from graphmem.ingest.building import Builder, exceeded
from graphmem.ingest.document import DocumentLimits, ParseFailed
from graphmem.ingest.format_table import BY_NAME, json_format

PIECE_BYTES = 1 << 16
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
"""What the library raises for archives that are damaged or packed by a method that it does not know."""
XML_SUFFIXES = (".xml", ".rels", ".vml")
DECLARATIONS = tuple("<!ENTITY".encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))
MAIN_MEMBERS = (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx"))
SIGNATURE = b"PK\x03\x04"
ZIP = "application/zip"
EXPORT = re.compile(
    r"(?:.*/)?(?:conversations(?:-\d+)?\.json|result\.json|_chat\.txt|[^/]*WhatsApp[^/]*\.txt)", re.IGNORECASE
)
"""The members of exports of chats that are read."""
SLACK = re.compile(r"(?:[^/]+/)?(?:(users|channels|groups|dms|mpims)|([^/]+)/\d{4}-\d\d-\d\d)\.json")
"""The members of an export of Slack: its lists, and the messages of a channel on a day."""
OPEN_DOCUMENTS = {BY_NAME[name].media_types[0]: name for name in ("odt", "ods")}


_NEEDED = re.compile(
    r"\[Content_Types\]\.xml|mimetype|META-INF/.*|content\.xml|(?:xl|ppt)/_rels/.*|word/document\.xml"
    r"|xl/(?:workbook|sharedStrings|styles)\.xml|ppt/presentation\.xml|ppt/slide(?:Layout|Master)s/.*"
)
"""Members of Office files without which the others say nothing, or something else."""


def format_of(data: bytes, limits: DocumentLimits) -> str:
    archive = opened(data, limits)
    names = archive.namelist()
    if "mimetype" in names:
        media_type = _head(archive, "mimetype").strip()
        if media_type in OPEN_DOCUMENTS:
            return OPEN_DOCUMENTS[media_type]
        raise ParseFailed(f"No parser reads this kind of file: it is {media_type[:100]}.", "unsupported")
    if "[Content_Types].xml" in names:
        for prefix, format_name in MAIN_MEMBERS:
            if any(name.startswith(prefix) for name in names):
                return format_name
    lists = {match[1] for name in names if (match := SLACK.fullmatch(name))}
    if {"users", "channels"} <= lists:
        return "slack"
    chats = export_members(archive)
    if chats:
        is_text = chats[0].lower().endswith(".txt")
        chat = "whatsapp" if is_text else json_format(_head(archive, chats[0]))
        if chat is not None or not chats[0].endswith("result.json"):
            return chat or "chatgpt"
    inner = sum(name.lower().endswith((".zip", ".docx", ".xlsx", ".pptx", ".jar")) for name in names)
    more = f", {inner:,} of them archives" if inner else ""
    raise ParseFailed(
        f"The file is an archive with {len(names):,} members{more}: store its files one by one.",
        "unsupported",
    )


def export_members(archive: zipfile.ZipFile, pattern: re.Pattern[str] = EXPORT) -> list[str]:
    """Return the names of the members that are the chats of an export, in their order."""
    return sorted(name for name in archive.namelist() if pattern.fullmatch(name))


def exported(data: bytes, builder: Builder, pattern: re.Pattern[str] = EXPORT) -> dict[str, bytes]:
    """Return the chats of an export by name: one file, or the members of an archive that are whole."""
    if not data.startswith(SIGNATURE):
        return {"": data}
    archive, chats, inflation = opened(data, builder.limits), dict[str, bytes](), _Inflation(builder.limits)
    for name in export_members(archive, pattern):
        try:
            chats[name] = b"".join(inflation.pieces(archive, archive.getinfo(name)))
        except DAMAGE as exc:
            builder.drop(f"The member {name[:100]} is damaged and left out: {exc}.")
    builder.media_type = ZIP
    if not chats:
        raise ParseFailed("The archive is damaged: no chat in it is whole.", "damaged")
    return chats


def opened(data: bytes, limits: DocumentLimits) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except DAMAGE as exc:
        raise ParseFailed(f"The archive is damaged: {exc}.", "damaged") from None
    members = archive.infolist()
    if len(members) > limits.archive_members:
        raise exceeded(f"{len(members):,} members, and {limits.archive_members:,} are allowed")
    if any(member.flag_bits & 0x1 for member in members):
        raise ParseFailed("The archive is encrypted.", "encrypted")
    return archive


def check(data: bytes, builder: Builder) -> bytes:
    """Inflate every member once and count; warn of macros. Return the archive without what is damaged.

    A damaged member without which the others can be read, such as a picture, a sheet or a slide, is left out.
    """
    archive, damaged, inflation = opened(data, builder.limits), set[str](), _Inflation(builder.limits)
    for member in archive.infolist():
        is_xml = member.filename.lower().endswith(XML_SUFFIXES)
        tail = b""
        try:
            for piece in inflation.pieces(archive, member):
                if is_xml and any(declaration in tail + piece for declaration in DECLARATIONS):
                    raise ParseFailed("The file has XML entities: they are not expanded.", "damaged")
                tail = piece[-16:]
        except DAMAGE as exc:
            if _NEEDED.fullmatch(member.filename):
                raise ParseFailed(f"A member of the archive is damaged: {exc}.", "damaged") from None
            damaged.add(member.filename)
            builder.drop(f"The member {member.filename[:100]} is damaged and left out.")
        if member.filename.lower().endswith("vbaproject.bin") or member.filename.startswith("Basic/"):
            builder.warn("The file has macros: they are not run and not read.")
    if not damaged:
        return data
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as sound:
        for member in archive.infolist():
            if member.filename not in damaged:
                sound.writestr(member, archive.read(member))
    return stream.getvalue()


class _Inflation:
    """Inflates members of one file, and refuses what inflates too far."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._left = limits.inflated_bytes

    def pieces(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
        ratio = self._limits.inflation_ratio
        allowed = ratio * member.compress_size + self._limits.inflation_allowance_bytes
        with archive.open(member) as inflated:
            while piece := inflated.read(PIECE_BYTES):
                allowed -= len(piece)
                self._left -= len(piece)
                if allowed < 0:
                    raise exceeded(f"a member that inflates to over {ratio} times its size")
                if self._left < 0:
                    raise exceeded(f"more than {self._limits.inflated_bytes:,} bytes when it is inflated")
                yield piece


def _head(archive: zipfile.ZipFile, name: str) -> str:
    try:
        with archive.open(name) as member:
            return member.read(PIECE_BYTES).decode(errors="ignore")
    except DAMAGE as exc:
        raise ParseFailed(f"The archive is damaged: {exc}.", "damaged") from None
