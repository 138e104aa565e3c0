"""The `conversations.json` of a ChatGPT export: a list of conversations, each with a tree of messages.

Messages stand in the order of the tree, depth first. A message that a later edit replaced is on a branch
that the conversation does not show: its field `current` is false.
"""

from __future__ import annotations

from typing import Any

from graphmem.ingest.document import DocumentLimits, ParsedDocument
from graphmem.ingest.formats import json_values
from graphmem.ingest.formats.chats import Conversations, loaded


def parse(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Return the conversations with their messages."""
    values, warnings = loaded(data)
    if not any(isinstance(value.get("mapping"), dict) for value in values):
        return json_values.parse(data, name, limits)
    chats = Conversations(limits, "chatgpt")
    chats.builder.warn(*warnings)
    for value in values:
        identity = value.get("conversation_id") or value.get("id")
        chats.begin(value.get("title"), identity, value.get("create_time"), value.get("update_time"))
        mapping = value.get("mapping")
        nodes = mapping if isinstance(mapping, dict) else {}
        current = _path(nodes, value.get("current_node"))
        for node_id in _depth_first(nodes):
            message = nodes[node_id].get("message")
            if isinstance(message, dict):
                _add(chats, message, node_id in current)
        chats.end()
    return chats.document()


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
    waiting = [key for key, node in reversed(objects.items()) if not _is_known(node.get("parent"), objects)]
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


def _is_known(key: Any, nodes: dict[str, Any]) -> bool:
    return isinstance(key, str) and key in nodes


def _add(chats: Conversations, message: dict[str, Any], current: bool) -> None:
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
