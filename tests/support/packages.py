"""Office files that tests write by hand: a few members with the XML that a test is about."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

TYPES = "http://schemas.openxmlformats.org"
NAMESPACES = {
    "w": f"{TYPES}/wordprocessingml/2006/main",
    "r": f"{TYPES}/officeDocument/2006/relationships",
    "m": f"{TYPES}/officeDocument/2006/math",
    "a": f"{TYPES}/drawingml/2006/main",
    "p": f"{TYPES}/presentationml/2006/main",
    "c": f"{TYPES}/drawingml/2006/chart",
    "mc": f"{TYPES}/markup-compatibility/2006",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
}
DECLARED = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in NAMESPACES.items())
Relations = Mapping[str, tuple[str, str]]
"""Ids, and of each the kind of the relationship and its target; a target with a colon is an address."""


def relations(members: Relations) -> str:
    lines = "".join(
        f'<Relationship Id="{key}" Type="{NAMESPACES["r"]}/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if ':' in target else ''}/>"
        for key, (kind, target) in members.items()
    )
    return f'<Relationships xmlns="{TYPES}/package/2006/relationships">{lines}</Relationships>'


def package(members: Mapping[str, str | bytes]) -> bytes:
    """Return an archive with members and a list of their types."""
    stream = io.BytesIO()
    types = f'<Types xmlns="{TYPES}/package/2006/content-types"/>'
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in {"[Content_Types].xml": types, **members}.items():
            archive.writestr(name, content)
    return stream.getvalue()


def word(body: str, related: Relations | None = None, **members: str) -> bytes:
    """Return a Word document. ``members`` are XML by the names of members in its folder, without `.xml`."""
    main = f"<w:document {DECLARED}><w:body>{body}</w:body></w:document>"
    own = {f"word/{name}.xml": content.replace(">", f" {DECLARED}>", 1) for name, content in members.items()}
    return package(
        {
            "_rels/.rels": relations({"rId1": ("officeDocument", "word/document.xml")}),
            "word/document.xml": main,
            "word/_rels/document.xml.rels": relations(
                {**{name: (name, f"{name}.xml") for name in members}, **(related or {})}
            ),
            **own,
        }
    )
