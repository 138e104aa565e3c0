"""Exports of chats, such as `conversations.json`: conversations and messages as parts, times as ISO 8601.

ChatGPT has a list of conversations, each with a tree of messages. They stand in the order of the tree, depth
first. A message that a later edit replaced is on a branch that the conversation does not show: its field
`current` is false. One that the program does not show, such as the instructions of the user, has the field
`hidden`. What a model thinks before it answers is in the text alone: nobody said it. Open WebUI has such
trees too. Claude has a list of conversations, each with its messages in order. The files may come in the
archive of the export.

WhatsApp exports a chat as text: messages with sender and time; lines of the app are left out. The file says
neither the order of day and month nor the time zone. The order is the one in which all dates exist and follow
each other; times are read as UTC. The language of the telephone says what stands between date and time: a
comma, nothing, or a word. It is the same in all lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from graphmem.ingest.archives import exported
from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.decoding import decoded, unended
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats import json_values

CONTENTS = (
    "parts", "text", "result", "user_profile", "user_instructions", "model_set_context",
    "thoughts", "summary", "content",
)  # fmt: skip
"""The members of the content of a message that hold what it says."""
THOUGHTS = {"thoughts", "reasoning_recap"}
"""The types of content that a model thinks and does not say."""
THOUGHT_TAGS = re.compile(
    r"\s*<(?:(think|thinking)|(details) type=\"reasoning\"[^>]*)>(.*?)</(?:\1|\2)>\s*", re.DOTALL
)
"""How programs mark such thoughts at the beginning of an answer."""
UNTITLED = "Untitled conversation"
"""The title of a conversation that has none."""


def parse_chatgpt(builder: Builder, data: bytes, name: str) -> None:
    """Add the conversations of a ChatGPT export with their messages."""
    chats = Conversations(builder)
    for value in _conversations(builder, data, name, "mapping", dict):
        identity = value.get("conversation_id") or value.get("id")
        chats.begin(value.get("title"), identity, value.get("create_time"), value.get("update_time"))
        _add_tree(chats, object_of(value.get("mapping")), value.get("current_node"))


def parse_open_webui(builder: Builder, data: bytes, name: str) -> None:
    """Add the conversations of an Open WebUI export with their messages."""
    chats = Conversations(builder)
    for value in _conversations(builder, data, name, "chat", dict):
        chat = object_of(value.get("chat"))
        title = value.get("title") or chat.get("title")
        chats.begin(title, value.get("id"), value.get("created_at"), value.get("updated_at"))
        history = object_of(chat.get("history"))
        nodes = {
            key: {"message": node, "parent": node.get("parentId"), "children": node.get("childrenIds")}
            for key, node in object_of(history.get("messages")).items()
            if isinstance(node, dict)
        }
        _add_tree(chats, nodes, history.get("currentId"))


def parse_claude(builder: Builder, data: bytes, name: str) -> None:
    """Add the conversations of a Claude export with their messages."""
    chats = Conversations(builder)
    for value in _conversations(builder, data, name, "chat_messages", list):
        chats.begin(value.get("name"), value.get("uuid"), value.get("created_at"), value.get("updated_at"))
        for message in objects(value.get("chat_messages")):
            text = message.get("text")
            if not isinstance(text, str) or not text:
                text = "\n".join(texts_of(message.get("content"), "text"))
            files = [
                name for key in ("attachments", "files") for name in texts_of(message.get(key), "file_name")
            ]
            chats.thought("\n".join(texts_of(message.get("content"), "thinking")))
            more = {"attachments": files or None}
            inside = texts_of(message.get("attachments"), "extracted_content")
            sent = message.get("created_at")
            chats.message(message.get("sender"), text, message.get("uuid"), sent, more, inside)
        chats.end()


def _conversations(
    builder: Builder, data: bytes, name: str, member: str, kind: type
) -> Iterator[dict[str, Any]]:
    """Yield the conversations of an export. A file of which none has its messages is plain JSON."""
    for file in exported(data, builder).values():
        value = json_values.value_of(builder, file)
        values = objects(value if isinstance(value, list) else [value])
        if any(isinstance(value.get(member), kind) for value in values):
            yield from values
        elif file is data:
            as_json(builder, data, name)


def as_json(builder: Builder, data: bytes, name: str) -> None:
    """Add an export without its messages as plain JSON."""
    builder.format = BY_NAME["json"]
    json_values.parse(builder, data, name)


def warn_of_members(builder: Builder, messages: Any, read: str) -> None:
    """Name the members of messages that are not read, and count them."""
    filled = Counter(name for each in objects(messages) for name, value in each.items() if value)
    counts = {name: count for name, count in filled.items() if name not in read.split()}
    if counts:
        listed = ", ".join(f"{count:,} {name[:40]}" for name, count in counts.items())
        builder.warn(f"TEXT_NOT_READ: members of messages: {listed[:400]}.")


def object_of(value: Any) -> dict[str, Any]:
    """Return an object; an empty one in place of what is none."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def texts_of(value: Any, name: str) -> list[str]:
    return [member[name] for member in objects(value) if isinstance(member.get(name), str)]


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


def _add_tree(chats: Conversations, nodes: dict[str, Any], leaf: Any) -> None:
    """Add the messages of a tree, and end their conversation."""
    current = _path(nodes, leaf)
    for node_id in _depth_first(nodes):
        message = nodes[node_id].get("message")
        if isinstance(message, dict):
            _add_node(chats, message, node_id in current)
    chats.end()


def _add_node(chats: Conversations, message: dict[str, Any], current: bool) -> None:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else message.get("role")
    metadata = object_of(message.get("metadata"))
    files = [*objects(metadata.get("attachments")), *objects(message.get("files"))]
    contents = [file["file"] for file in files if isinstance(file.get("file"), dict)]
    names = dict.fromkeys([*texts_of(files, "name"), *texts_of(contents, "filename")])
    more = {
        "model": metadata.get("model_slug") or message.get("model"),
        "current": current,
        "hidden": metadata.get("is_visually_hidden_from_conversation") or None,
        "attachments": list(names) or None,
    }
    sent = message.get("create_time") or message.get("timestamp")
    inside = texts_of([file.get("data") for file in contents], "content")
    content = message.get("content")
    text = "\n".join(_texts_of(content))
    if object_of(content).get("content_type") in THOUGHTS:
        chats.thought(text)
        return
    while role == "assistant" and (thought := THOUGHT_TAGS.match(text)):
        chats.thought(thought[3])
        text = text[thought.end() :]
    chats.message(role, text, message.get("id"), sent, more, inside)


def _texts_of(content: Any) -> Iterator[str]:
    """Yield the texts of the content of a message: it is a text, a list, or an object of some type."""
    if isinstance(content, str) and content:
        yield content
    for part in content if isinstance(content, list) else ():
        yield from _texts_of(part)
    if isinstance(content, dict):
        for name in CONTENTS:
            yield from _texts_of(content.get(name))


class Conversations:
    """Builds a document of conversations: a title line each, then the messages after their role and time."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._number = 0
        self._conversations = 0
        self._place = 0
        self._fields: list[PartField] = []

    def begin(self, title: Any, identity: Any, created: Any, updated: Any) -> None:
        self._conversations += 1
        text = title if isinstance(title, str) and title.strip() else UNTITLED
        span = self.builder.add(text.strip(), "\n\n")
        self._place = self.builder.reserve()
        self._fields, self._end = [PartField("title", normal(text.strip()), span)], span.end
        times = {"created_at": moment(created), "updated_at": moment(updated)}
        for name, value in {"id": identity, **times}.items():
            if isinstance(value, str):
                self._fields.append(PartField(name, json_value(value), FileSpan()))

    def person(self, name: str, **more: Any) -> None:
        """Add a person of an export, with what it says of them beside the name."""
        values = {"name": name, **{key: str(value) for key, value in more.items() if value}}
        start, line = self.builder.position, self.builder.line
        fields = [
            PartField(key, normal(value), self.builder.add_line(key, value)) for key, value in values.items()
        ]
        self.builder.count_cells(len(fields))
        self.builder.part("contact", FileSpan(line=line, start=start, end=self.builder.position - 1), fields)

    def message(
        self, role: Any, text: str, identity: Any, sent: Any, more: dict[str, Any], inside: Sequence[str] = ()
    ) -> None:
        """Add a message and the texts in its attachments; one that has no text and no file is left out."""
        if not text.strip() and not inside and not more.get("attachments"):
            return
        self._number += 1
        start, line = self.builder.position, self.builder.line
        author = normal(str(role or "unknown"))
        sent_at = moment(sent)
        head = self.builder.add(author, f" ({sent_at}):\n" if sent_at else ":\n")
        body = self.builder.add(text.strip(), "\n\n")
        fields = [
            PartField("role", author, head._replace(message=self._number)),
            PartField("text", normal(text.strip()), body._replace(message=self._number)),
        ]
        for name, value in (("id", identity), ("sent_at", sent_at), *more.items()):
            if value is not None:
                fields.append(PartField(name, json_value(value), FileSpan(message=self._number)))
        end = body.end
        if inside:
            attached = self.builder.add("\n\n".join(inside).strip(), "\n\n")
            value = normal("\n\n".join(inside).strip())
            fields.append(PartField("attachments_text", value, attached._replace(message=self._number)))
            end = attached.end
        self.builder.count_cells(len(fields))
        span = FileSpan(line=line, message=self._number, start=start, end=end)
        self.builder.part("message", span, fields)
        self._end = end

    def thought(self, text: str) -> None:
        """Add what a model thinks: it is no message."""
        if text.strip():
            self.builder.add("Thoughts of the model:", "\n")
            self._end = self.builder.add(text.strip(), "\n\n").end
            self.builder.warn("Thoughts of the model stand in the text alone: nobody said them.")

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


HALVES = {
    **dict.fromkeys(("a", "上午", "凌晨", "早上", "오전", "午前", "ص", "π"), 0),
    **dict.fromkeys(("p", "下午", "中午", "晚上", "오후", "午後", "م", "μ"), 12),
}
"""What names the half of a day, and the hours before it."""
_HALF = "|".join(HALVES)
LINE = re.compile(
    r"^[\u200e\u200f]*(?P<bracket>\[(?=[^\]\n]*\] ))?"
    r"(?P<first>\d{1,4})\u200f?[./-] ?(?P<second>\d{1,2})\u200f?[./-] ?(?P<third>\d{1,4})"
    r"(?P<between>\.? г\.,? |[,،.]? (?:(?:à|às|klo|kl\.?|um) )?)"
    rf"(?P<half_before>{_HALF})? ?(?P<hour>\d{{1,2}})[:.](?P<minute>\d\d)(?:[:.](?P<seconds>\d\d))?"
    rf"(?:[ \u202f\u00a0]?(?P<half_behind>{_HALF})(?:\.?[ \u202f\u00a0]?[mμ]\.?)?)?(?:\] | - )"
    r"\u200e?(?:(?P<sender>[^:\n]{1,100}): \u200e?)?",
    re.MULTILINE | re.IGNORECASE,
)
TIME = "first", "second", "third", "hour", "minute", "seconds", "half_before", "half_behind"
"""The groups that say a time."""
FORM = "bracket", "between"
"""The groups that are the same in all lines."""
MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\u202f~"))
SENDERS_SHOWN = 5
ORDERS = {"day first": (2, 1, 0), "month first": (2, 0, 1)}
NAMELESS = re.compile(r"_chat( ?\(\d+\))?|.{0,2}")


def parse_whatsapp(builder: Builder, data: bytes, name: str) -> None:
    place, start, line, number = builder.reserve(), 0, 1, 0
    senders: dict[str, None] = {}
    for file in exported(data, builder).values():
        text, _, warnings = decoded(file)
        builder.warn(*warnings, *unended(text))
        begun, first_line = builder.position, builder.line
        builder.add(text, "\n")
        lines = lines_of(text)
        times = _times([match.group(*TIME) for match in lines], builder)
        for index, match in enumerate(lines):
            line, start = first_line + text.count("\n", 0, match.start()), begun + match.start()
            end = lines[index + 1].start() if index + 1 < len(lines) else len(text)
            body = text[match.end() : end].strip()
            if match["sender"] is None or not body:
                continue
            number += 1
            sender = " ".join(match["sender"].translate(MARKS).split())
            senders[sender] = None
            stop = begun + match.end() + len(text[match.end() : end].rstrip())
            fields = [
                PartField("role", sender, _span(line, number, *(begun + at for at in match.span("sender")))),
                PartField("text", body, _span(line, number, stop - len(body), stop)),
                PartField("sent_at", times[index], _span(line, number, start, begun + match.end())),
            ]
            builder.count_cells(len(fields))
            builder.part("message", _span(line, number, start, stop), fields)
    if not number:
        raise ParseFailed("The chat has no message.", "empty")
    stem = name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    names = ", ".join(list(senders)[:SENDERS_SHOWN]) + (" …" if len(senders) > SENDERS_SHOWN else "")
    title = f"WhatsApp chat of {names}" if NAMELESS.fullmatch(stem) else stem
    builder.title = title
    builder.metadata |= {"conversations": 1, "messages": number}
    span = FileSpan(line=1, start=0, end=builder.position)
    builder.part("conversation", span, [PartField("title", title, FileSpan())], place=place)
    builder.warn("WhatsApp says no time zone: the times are read as UTC.")


def lines_of(text: str) -> list[re.Match[str]]:
    """Return the beginnings of the lines of a chat, all in the form of the first one."""
    lines = list(LINE.finditer(text))
    return [match for match in lines if match.group(*FORM) == lines[0].group(*FORM)]


def _span(line: int, message: int, start: int, end: int) -> FileSpan:
    return FileSpan(line=line, message=message, start=start, end=end)


def _times(written: list[tuple[str | None, ...]], builder: Builder) -> list[str]:
    """Return the times of all lines in ISO 8601, in the order of day and month that fits them best."""
    read = {order: [_time(parts, places) for parts in written] for order, places in ORDERS.items()}
    fitting = {
        order: sum(later < earlier for earlier, later in pairwise(times))
        for order, times in read.items()
        if all(times)
    }
    if not fitting:
        raise ParseFailed("The chat has dates that do not exist.", "damaged")
    best = min(fitting, key=lambda order: fitting[order])
    if len(set(fitting.values())) < len(fitting) == 2 and read["day first"] != read["month first"]:
        # The United States write AM and PM, other countries with halves of a day `am` or `a. m.`.
        best = "month first" if any((parts[-1] or "").isupper() for parts in written) else "day first"
        builder.warn(f"The order of day and month is a guess: {best}.")
    return [f"{time}Z" for time in read[best]]


def _time(parts: tuple[str | None, ...], places: tuple[int, int, int]) -> str:
    """Return a time in ISO 8601, an empty text where there is no such day."""
    first, second, third, hour, minute, seconds, *halves = (part or "" for part in parts)
    half = "".join(halves).lower()
    date = [int(each) for each in (first, second, third)]
    year, month, day = date if len(first) == 4 else (date[place] for place in places)
    # Noon (中午) is from eleven to one.
    hours = int(hour) % 12 + HALVES[half] if half and (half, hour) != ("中午", "11") else int(hour)
    try:
        return datetime(
            year + 2000 * (year < 100), month, day, hours, int(minute), int(seconds or 0)
        ).isoformat()
    except ValueError:
        return ""
