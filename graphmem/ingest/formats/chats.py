"""The `conversations.json` of exports of chats: conversations and messages as parts, times as ISO 8601.

ChatGPT has a list of conversations, each with a tree of messages. They stand in the order of the tree, depth
first. A message that a later edit replaced is on a branch that the conversation does not show: its field
`current` is false. Claude has a list of conversations, each with its messages in order.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, PartField
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats import json_values

UNTITLED = "Untitled conversation"
"""The title of a conversation that has none."""


def parse_chatgpt(builder: Builder, data: bytes, name: str) -> None:
    """Add the conversations of a ChatGPT export with their messages."""
    chats = Conversations(builder)
    for value in _conversations(builder, data, name, "mapping", dict):
        identity = value.get("conversation_id") or value.get("id")
        chats.begin(value.get("title"), identity, value.get("create_time"), value.get("update_time"))
        mapping = value.get("mapping")
        nodes = mapping if isinstance(mapping, dict) else {}
        current = _path(nodes, value.get("current_node"))
        for node_id in _depth_first(nodes):
            message = nodes[node_id].get("message")
            if isinstance(message, dict):
                _add_node(chats, message, node_id in current)
        chats.end()


def parse_claude(builder: Builder, data: bytes, name: str) -> None:
    """Add the conversations of a Claude export with their messages."""
    chats = Conversations(builder)
    for value in _conversations(builder, data, name, "chat_messages", list):
        chats.begin(value.get("name"), value.get("uuid"), value.get("created_at"), value.get("updated_at"))
        for message in _objects(value.get("chat_messages")):
            text = message.get("text")
            if not isinstance(text, str) or not text:
                text = "\n".join(_texts(message.get("content"), "text"))
            files = [
                name for key in ("attachments", "files") for name in _texts(message.get(key), "file_name")
            ]
            more = {"attachments": files or None}
            sent = message.get("created_at")
            chats.message(message.get("sender"), text, message.get("uuid"), sent, more)
        chats.end()


def _conversations(builder: Builder, data: bytes, name: str, member: str, kind: type) -> list[dict[str, Any]]:
    """Return the conversations of an export. A file of which none has its messages is plain JSON."""
    text, _, warnings = decoded(data)
    try:
        value = json.loads(text)
    except ValueError:
        value, broken = json_values.whole_objects(text)
        warnings = (*warnings, *broken)
    values = _objects(value if isinstance(value, list) else [value])
    if any(isinstance(value.get(member), kind) for value in values):
        builder.warn(*warnings)
        return values
    builder.format = BY_NAME["json"]
    json_values.parse(builder, data, name)
    return []


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none of what is no list."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def _texts(value: Any, name: str) -> list[str]:
    """Return the texts that the objects in a list have as a member."""
    return [member[name] for member in _objects(value) if isinstance(member.get(name), str)]


def _path(nodes: dict[str, Any], leaf: Any) -> set[str]:
    """Return the ids from a node up to its root; without a known node all ids."""
    path: set[str] = set()
    while isinstance(leaf, str) and leaf in nodes and leaf not in path:
        path.add(leaf)
        leaf = nodes[leaf].get("parent") if isinstance(nodes[leaf], dict) else None
    return path or set(nodes)


def _depth_first(nodes: dict[str, Any]) -> list[str]:
    """Return the ids of the tree; nodes that no root reaches come last, in the order of the file."""
    objects = {key: node for key, node in nodes.items() if isinstance(node, dict)}
    parents = {key: node.get("parent") for key, node in reversed(objects.items())}
    waiting = [key for key, of in parents.items() if not isinstance(of, str) or of not in objects]
    order: dict[str, None] = {}
    while waiting:
        key = waiting.pop()
        if key in order:
            continue
        order[key] = None
        children = objects[key].get("children")
        known = [child for child in children if isinstance(child, str)] if isinstance(children, list) else []
        waiting.extend(child for child in reversed(known) if child in objects)
    return list(order | dict.fromkeys(objects))


def _add_node(chats: Conversations, message: dict[str, Any], current: bool) -> None:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    content = message.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
    if not text and isinstance(content, dict) and isinstance(content.get("text"), str):
        text = content["text"]
    metadata = message.get("metadata")
    model = metadata.get("model_slug") if isinstance(metadata, dict) else None
    chats.message(
        role, text, message.get("id"), message.get("create_time"), {"model": model, "current": current}
    )


class Conversations:
    """Builds a document of conversations: a title line each, then the messages after their role and time."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._number = 0
        self._conversations = 0
        self._place = 0
        self._fields: list[PartField] = []

    def begin(self, title: Any, identity: Any, created: Any, updated: Any) -> None:
        """Begin a conversation."""
        self._conversations += 1
        text = title if isinstance(title, str) and title.strip() else UNTITLED
        span = self.builder.add(text.strip(), "\n\n")
        self._place = self.builder.reserve()
        self._fields, self._end = [PartField("title", normal(text.strip()), span)], span.end
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
        self.builder.count_cells(len(fields))
        span = FileSpan(line=line, message=self._number, start=start, end=body.end)
        self.builder.part("message", span, fields)
        self._end = body.end

    def end(self) -> None:
        """Add the part of the conversation, before those of its messages."""
        title = self._fields[0].span
        span = FileSpan(line=title.line, start=title.start, end=self._end)
        self.builder.part("conversation", span, self._fields, place=self._place)
        self.builder.metadata |= {"conversations": self._conversations, "messages": self._number}


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
