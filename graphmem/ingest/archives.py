"""Archives (ZIP) as office formats and exports of chats use them: which format it is, and whether it is safe.

A library that reads an office file inflates its members. So all members are inflated once before, piece by
piece, and counted: what a header says of a size is not believed.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator

from graphmem.ingest.building import Builder, exceeded
from graphmem.ingest.document import DocumentLimits, ParseFailed
from graphmem.ingest.format_table import json_format

PIECE_BYTES = 1 << 16
BEGINNING_BYTES = 8_000
"""Bytes of a damaged member in which its root is looked for."""
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
"""What the library raises for archives that are damaged or packed by a method that it does not know."""
XML_SUFFIXES = (".xml", ".rels", ".vml")
DECLARATIONS = tuple("<!ENTITY".encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))
MIMETYPE_BYTES_LIMIT = 200
MAIN_MEMBERS = (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx"))
SIGNATURE = b"PK\x03\x04"
ZIP = "application/zip"
EXPORT = re.compile(
    r"(?:.*/)?(?:conversations(?:-\d+)?\.json|result\.json|_chat\.txt|[^/]*WhatsApp[^/]*\.txt)", re.IGNORECASE
)
"""The members of exports of chats that are read."""
SLACK = re.compile(r"(?:[^/]+/)?(?:(users|channels|groups|dms|mpims)|([^/]+)/\d{4}-\d\d-\d\d)\.json")
"""The members of an export of Slack: its lists, and the messages of a channel on a day."""
ODT = "application/vnd.oasis.opendocument.text"


_NEEDED = re.compile(
    r"\[Content_Types\]\.xml|mimetype|META-INF/.*|content\.xml|(?:xl|ppt)/_rels/.*|word/document\.xml"
    r"|xl/(?:workbook|sharedStrings|styles)\.xml|ppt/presentation\.xml|ppt/slide(?:Layout|Master)s/.*"
)
"""Members of Office files without which the others say nothing, or something else."""
_MAIN = ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml")
_SCHEMAS = "http://schemas.openxmlformats.org"
_EMPTY = {
    "docProps/core.xml": f'<p:coreProperties xmlns:p="{_SCHEMAS}/package/2006/metadata/core-properties"/>',
    "docProps/app.xml": f'<Properties xmlns="{_SCHEMAS}/officeDocument/2006/extended-properties"/>',
    "docProps/custom.xml": f'<Properties xmlns="{_SCHEMAS}/officeDocument/2006/custom-properties"/>',
}
"""Members that say nothing of what stands in an Office file, as they are without content."""
_ROOT = re.compile(rb"((?:\s*<\?[^>]*\?>)?\s*<[\w:.-]+[^<>]*?)/?>")


def format_of(data: bytes, limits: DocumentLimits) -> str:
    archive = opened(data, limits)
    names = archive.namelist()
    if "mimetype" in names:
        try:
            with archive.open("mimetype") as member:
                media_type = member.read(MIMETYPE_BYTES_LIMIT).decode(errors="replace").strip()
        except DAMAGE as exc:
            raise ParseFailed(f"The archive is damaged: {exc}.", "damaged") from None
        if media_type == ODT:
            return "odt"
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
            builder.warn(f"The member {name[:100]} is damaged and left out: {exc}.")
    builder.media_type = ZIP
    if not chats:
        raise ParseFailed("The archive is damaged: no chat in it is whole.", "damaged")
    return chats


def opened(data: bytes, limits: DocumentLimits) -> zipfile.ZipFile:
    """Open an archive after a look at its list of members."""
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

    A damaged member without which the others can be read, such as a picture, a sheet or a slide, is empty.
    """
    archive, empty, inflation = opened(data, builder.limits), dict[str, bytes](), _Inflation(builder.limits)
    for member in archive.infolist():
        is_xml = member.filename.lower().endswith(XML_SUFFIXES)
        tail = b""
        try:
            for piece in inflation.pieces(archive, member):
                if is_xml and any(declaration in tail + piece for declaration in DECLARATIONS):
                    raise ParseFailed("The file has XML entities: they are not expanded.", "damaged")
                tail = piece[-16:]
        except DAMAGE as exc:
            root = _stand_in(archive, member.filename) or (_root(archive, member) if is_xml else b"")
            if root is None or _NEEDED.fullmatch(member.filename):
                raise ParseFailed(f"A member of the archive is damaged: {exc}.", "damaged") from None
            empty[member.filename] = root
            builder.warn(f"The member {member.filename[:100]} is damaged and left out.")
        if member.filename.lower().endswith("vbaproject.bin") or member.filename.startswith("Basic/"):
            builder.warn("The file has macros: they are not run and not read.")
    return _with_empty(archive, empty) if empty else data


def _stand_in(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return what takes the place of a damaged member, whatever it said; None where its root is needed."""
    if not name.endswith(".rels"):
        return _EMPTY[name].encode() if name in _EMPTY else None
    # What the other members are is known from their names; what a document refers to is lost.
    main = "".join(
        f'<Relationship Id="main" Type="{_SCHEMAS}/officeDocument/2006/relationships/officeDocument" '
        f'Target="{each}"/>'
        for each in _MAIN
        if name == "_rels/.rels" and each in archive.namelist()
    )
    return f'<Relationships xmlns="{_SCHEMAS}/package/2006/relationships">{main}</Relationships>'.encode()


def _root(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | None:
    """Return the root of a damaged member without its content, ``None`` where it is damaged itself."""
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

    beginning = b""
    with contextlib.suppress(*DAMAGE), archive.open(member) as inflated:
        # Else the library inflates 4,096 bytes at once, and gives none of them if one is damaged.
        inflated.MIN_READ_SIZE = 256  # pyright: ignore[reportAttributeAccessIssue]
        while len(beginning) < BEGINNING_BYTES and (piece := inflated.read(256)):
            beginning += piece
    root = _ROOT.match(beginning)
    with contextlib.suppress(etree.XMLSyntaxError):
        if root is not None:
            etree.fromstring(root[1] + b"/>")
            return root[1] + b"/>"
    return None


def _with_empty(archive: zipfile.ZipFile, empty: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as sound:
        for member in archive.infolist():
            known = empty.get(member.filename)
            sound.writestr(member, archive.read(member) if known is None else known)
    return stream.getvalue()


class _Inflation:
    """Inflates members of one file, and refuses what inflates too far."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._left = limits.inflated_bytes

    def pieces(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
        """Yield the content of a member."""
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
