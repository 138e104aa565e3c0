"""Plain text: paragraphs that blank lines part. A structure that nothing reads is named in a warning."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from graphmem.ingest.building import Builder
from graphmem.ingest.decoding import whole_text
from graphmem.ingest.document import FileSpan

STRUCTURES = (
    (re.compile(r"<\?xml\s|<!DOCTYPE\s|<[A-Za-z_][\w:.-]*(?:\s[^<>]*)?>[^<>]*</?[A-Za-z_!]"), "XML"),
    (re.compile(r"(?:%.*\n|\s)*@\w+\s*[{(]"), "BibTeX"),
    (re.compile(r"TY  - "), "RIS"),
    (re.compile(r"(?:\{1:[^}]*\}|:20:)"), "MT940"),
    (re.compile(r"(?:#.*\n|version: \d+\s|\s)*dn::? "), "LDIF"),
    (re.compile(r"0 HEAD\s"), "GEDCOM"),
    (re.compile(r"!(?:Type|Account|Option|Clear):?", re.IGNORECASE), "QIF"),
    (re.compile(r"%YAML|---\s*\n(?:[\w-]+:|- )"), "YAML"),
    (re.compile(r"(?:%.*\n|\s)*\\(?:documentclass|begin)\b"), "LaTeX"),
    (re.compile(r"(?:[#;].*\n|\s)*\[[\w. -]+\]\s*\n[\w. -]+="), "INI or TOML"),
)
"""How texts begin whose structure no parser reads."""
SUFFIXES = re.compile(
    r"\.(?:adoc|bib|gedcom|ged|gpx|ini|json5|kml|ldif|mt940|opml|org|plist|qif|ris|rss|rst|sta|svg|tex|toml|xml"
    r"|ya?ml)"
)
"""The suffixes of such texts."""
HEAD_CHARACTERS = 65_536


def parse(builder: Builder, data: bytes, name: str) -> None:
    start = first_line = end = position = 0
    text = whole_text(builder, data)
    _warn_of_structure(builder, text, name)
    for line, content in enumerate(text.split("\n"), 1):
        if content and not content.isspace():
            if not first_line:
                start, first_line = position, line
            end = position + len(content)
        elif first_line:
            builder.part("paragraph", FileSpan(line=first_line, start=start, end=end))
            first_line = 0
        position += len(content) + 1
    if first_line:
        builder.part("paragraph", FileSpan(line=first_line, start=start, end=end))


def _warn_of_structure(builder: Builder, text: str, name: str) -> None:
    suffix = PurePosixPath(name).suffix.lower()
    head = text[:HEAD_CHARACTERS].lstrip()
    named = next((title for pattern, title in STRUCTURES if pattern.match(head)), None)
    if named is None and SUFFIXES.fullmatch(suffix):
        named = suffix[1:].upper()
    if named is not None:
        made = "the file is one document of plain text"
        builder.warn(f"STRUCTURE_NOT_READ: no interpreter knows the structure of this {named}: {made}.")
