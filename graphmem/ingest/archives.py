"""Archives (ZIP) as office formats use them: which format it is, and whether it is safe to open.

A library that reads an office file inflates its members. So all members are inflated once before, piece by
piece, and counted: what a header says of a size is not believed.
"""

from __future__ import annotations

import io
import zipfile
import zlib

from graphmem.ingest.building import Builder, exceeded
from graphmem.ingest.document import DocumentLimits, ParseFailed

PIECE_BYTES = 1 << 16
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
"""What the library raises for archives that are damaged or packed by a method that it does not know."""
XML_SUFFIXES = (".xml", ".rels", ".vml")
DECLARATIONS = tuple("<!ENTITY".encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))
MIMETYPE_BYTES_LIMIT = 200
MAIN_MEMBERS = (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx"))
ODT = "application/vnd.oasis.opendocument.text"


def format_of(data: bytes, limits: DocumentLimits) -> str:
    """Return the name of the format of an archive."""
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
    inner = sum(name.lower().endswith((".zip", ".docx", ".xlsx", ".pptx", ".jar")) for name in names)
    more = f", {inner:,} of them archives" if inner else ""
    raise ParseFailed(
        f"The file is an archive with {len(names):,} members{more}: store its files one by one.",
        "unsupported",
    )


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


def check(data: bytes, builder: Builder) -> None:
    """Inflate every member once and count; warn of macros."""
    limits, total = builder.limits, 0
    archive = opened(data, limits)
    for member in archive.infolist():
        allowed = limits.inflation_ratio * member.compress_size + limits.inflation_allowance_bytes
        is_xml = member.filename.lower().endswith(XML_SUFFIXES)
        size, tail = 0, b""
        try:
            with archive.open(member) as inflated:
                while piece := inflated.read(PIECE_BYTES):
                    size += len(piece)
                    total += len(piece)
                    if size > allowed:
                        raise exceeded(
                            f"a member that inflates to over {limits.inflation_ratio} times its size"
                        )
                    if total > limits.inflated_bytes:
                        raise exceeded(f"more than {limits.inflated_bytes:,} bytes when it is inflated")
                    if is_xml and any(declaration in tail + piece for declaration in DECLARATIONS):
                        raise ParseFailed("The file has XML entities: they are not expanded.", "damaged")
                    tail = piece[-16:]
        except DAMAGE as exc:
            raise ParseFailed(f"A member of the archive is damaged: {exc}.", "damaged") from None
        if member.filename.lower().endswith("vbaproject.bin") or member.filename.startswith("Basic/"):
            builder.warn("The file has macros: they are not run and not read.")
