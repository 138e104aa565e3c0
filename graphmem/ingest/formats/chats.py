"""What exports of chats share: conversations and messages as parts, times as ISO 8601."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import DocumentLimits, FileSpan, ParsedDocument, ParseFailed, PartField
from graphmem.ingest.format_table import BY_NAME

UNTITLED = "Untitled conversation"
"""The title of a conversation that has none."""


def loaded(data: bytes) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the conversations of an export, and warnings about its encoding.

    Raises:
        ParseFailed: the file is no JSON.
    """
    text, _, warnings = decoded(data)
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise ParseFailed(f"The file is no JSON: {exc}.", "damaged") from None
    values = value if isinstance(value, list) else [value]
    return [member for member in values if isinstance(member, dict)], warnings


class Conversations:
    """Builds a document of conversations: a title line each, then the messages after their role and time."""

    def __init__(self, limits: DocumentLimits, format: str) -> None:
        self.builder = Builder(limits)
        self._format = BY_NAME[format]
        self._number = 0
        self._conversations = 0
        self._fields: list[PartField] = []
        self._messages: list[tuple[FileSpan, list[PartField]]] = []

    def begin(self, title: Any, identity: Any, created: Any, updated: Any) -> None:
        """Begin a conversation."""
        self._conversations += 1
        text = title if isinstance(title, str) and title.strip() else UNTITLED
        span = self.builder.add(text.strip(), "\n\n")
        self._messages = []
        self._fields = [PartField("title", normal(text.strip()), span)]
        times = {"created_at": moment(created), "updated_at": moment(updated)}
        for name, value in {"id": identity, **times}.items():
            if isinstance(value, str):
                self._fields.append(PartField(name, json_value(value), FileSpan()))

    def message(self, role: Any, text: str, identity: Any, sent: Any, more: dict[str, Any]) -> None:
        """Add a message of the conversation; a message without text is left out."""
        if not text.strip():
            return
        self._number += 1
        start, line = self.builder.position, self.builder.line
        author = normal(str(role or "unknown"))
        sent_at = moment(sent)
        head = self.builder.add(author, f" ({sent_at}):\n" if sent_at else ":\n")
        body = self.builder.add(text.strip(), "\n\n")
        fields = [
            PartField("role", author, replace(head, message=self._number)),
            PartField("text", normal(text.strip()), replace(body, message=self._number)),
        ]
        for name, value in (("id", identity), ("sent_at", sent_at), *more.items()):
            if value is not None:
                fields.append(PartField(name, json_value(value), FileSpan(message=self._number)))
        span = FileSpan(line=line, message=self._number, start=start, end=body.end)
        self._messages.append((span, fields))

    def end(self) -> None:
        """Add the parts of the conversation and of its messages."""
        title = self._fields[0].span
        last = self._messages[-1][0].end if self._messages else title.end
        self.builder.part(
            "conversation", FileSpan(line=title.line, start=title.start, end=last), self._fields
        )
        for span, fields in self._messages:
            self.builder.count_cells(len(fields))
            self.builder.part("message", span, fields)

    def document(self) -> ParsedDocument:
        """Return the document."""
        self.builder.metadata |= {"conversations": self._conversations, "messages": self._number}
        return self.builder.document(self._format)


def moment(value: Any) -> str | None:
    """Return a time as ISO 8601 in UTC where it is seconds since 1970; a text stays as it is."""
    if isinstance(value, str):
        return normal(value) or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            return None
    return None
