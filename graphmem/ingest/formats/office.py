"""What office documents share: their properties as metadata, and the kinds of their paragraphs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from graphmem.ingest.building import Builder

PROPERTIES = ("author", "creator", "subject", "keywords", "category", "comments", "description", "language",
              "last_modified_by", "lastModifiedBy", "created", "modified", "revision")  # fmt: skip
RENAMED = {"creator": "author", "lastModifiedBy": "last_modified_by", "description": "comments"}


def describe(builder: Builder, properties: Any) -> None:
    """Add the core properties of an Office file, as python-docx, python-pptx and openpyxl have them."""
    builder.title = getattr(properties, "title", None) or None
    for name in PROPERTIES:
        value = getattr(properties, name, None)
        if isinstance(value, datetime):
            value = value.isoformat()
        if value:
            builder.metadata.setdefault(RENAMED.get(name, name), value)


def add_paragraph(builder: Builder, text: str, heading: int | None, depth: int) -> None:
    """Add a paragraph, unless it is blank. The first heading of level 1 is the title if there is none.

    Args:
        heading: the level of a heading, None for other text.
        depth: how many lists it stands in.
    """
    text = text.strip()
    if not text:
        return
    span = builder.add(text, "\n")
    if heading is not None:
        if builder.title is None and heading == 1:
            builder.title = text
        builder.part("heading", span, level=max(1, heading))
    elif depth:
        builder.part("item", span, level=depth)
    else:
        builder.part("paragraph", span)
