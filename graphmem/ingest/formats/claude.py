"""The `conversations.json` of a Claude export: a list of conversations, each with its messages in order."""

from __future__ import annotations

from typing import Any

from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.formats import json_values
from graphmem.ingest.formats.chats import Conversations, loaded


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the conversations with their messages."""
    values, warnings = loaded(data)
    if not any(isinstance(value.get("chat_messages"), list) for value in values):
        return json_values.parse(data, name, limits)
    chats = Conversations(limits, "claude")
    chats.builder.warn(*warnings)
    for value in values:
        chats.begin(value.get("name"), value.get("uuid"), value.get("created_at"), value.get("updated_at"))
        messages = value.get("chat_messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                files = [*_files(message.get("attachments")), *_files(message.get("files"))]
                more = {"attachments": files or None}
                chats.message(
                    message.get("sender"),
                    _text(message),
                    message.get("uuid"),
                    message.get("created_at"),
                    more,
                )
        chats.end()
    return chats.document()


def _text(message: dict[str, Any]) -> str:
    """Return the text of a message: its member `text`, else the texts of its content."""
    text = message.get("text")
    if isinstance(text, str) and text:
        return text
    content = message.get("content")
    members = [member for member in content if isinstance(member, dict)] if isinstance(content, list) else []
    return "\n".join(member["text"] for member in members if isinstance(member.get("text"), str))


def _files(value: Any) -> list[str]:
    members = [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []
    return [member["file_name"] for member in members if isinstance(member.get("file_name"), str)]
