"""What office documents share: their properties as metadata."""

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
