"""Exports of assistants and chats of WhatsApp: conversations and messages as parts, times as ISO 8601.

Messages of a tree stand in its order, depth first; ``current`` is false of one that a later edit replaced,
and ``hidden`` true of one that the program does not show.

WhatsApp says neither the order of day and month nor the time zone. The order is the one in which all dates
exist and follow each other; times are read as UTC. The language of the telephone says what stands between
date and time. It is the same in all lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from graphmem.ingest.archives import exported
from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.decoding import decoded, unended
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.format_table import BY_NAME
from graphmem.ingest.formats import json_values
from graphmem.ingest.tables import object_of, objects, table, texts_of, value_at, values_at
from graphmem.text import words

CONTENTS = (
    "title", "url", "parts", "text", "result", "user_profile", "user_instructions", "model_set_context",
    "thoughts", "summary", "content",
)  # fmt: skip
"""The members of the content of a message that hold what it says."""
THOUGHTS = {"thoughts", "reasoning_recap"}  # the types of content that a model thinks and does not say
THOUGHT_TAGS = re.compile(
    r"\s*<(?:(think|thinking)|(details) type=\"reasoning\"[^>]*)>(.*?)</(?:\1|\2)>\s*", re.DOTALL
)
"""How programs mark such thoughts at the beginning of an answer."""
UNTITLED = "Untitled conversation"  # the title of a conversation that has none


def parse_assistant(builder: Builder, data: bytes, name: str) -> None:
    """Add the conversations of ChatGPT, Claude or Open WebUI. A file without a message is plain JSON."""
    chats = Conversations(builder)
    for file in exported(data, builder).values():
        value = json_values.value_of(builder, file)
        values = objects(value if isinstance(value, list) else [value])
        if not any(isinstance(value.get(chats.layout["has"]), dict | list) for value in values):
            if file is data:
                as_json(builder, data, name)
            continue
        for value in values:
            chats.begin(**{key: value_at(value, path) for key, path in chats.layout["conversation"].items()})
            is_tree = "nodes" in chats.layout
            messages = [*_tree(value, chats.layout)] if is_tree else value.get(chats.layout["has"])
            chats.warn_of_members(messages)
            for message in objects(messages):
                _add_message(chats, message)
            chats.end()


def as_json(builder: Builder, data: bytes, name: str) -> None:
    builder.format = BY_NAME["json"]
    json_values.parse(builder, data, name)


def _tree(value: dict[str, Any], layout: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a tree, depth first; those that no root reaches come last."""
    every, (place, parent, children) = object_of(value_at(value, layout["nodes"])), layout["node"].values()
    nodes = {key: node for key, node in every.items() if isinstance(node, dict)}
    shown, leaf = set[str](), value_at(value, layout["leaf"])
    while isinstance(leaf, str) and leaf in nodes and leaf not in shown:
        shown.add(leaf)
        leaf = nodes[leaf].get(parent)
    above = {key: node.get(parent) for key, node in reversed(nodes.items())}
    waiting = [key for key, of in above.items() if not isinstance(of, str) or of not in nodes]
    order: dict[str, None] = {}
    while waiting:
        key = waiting.pop()
        if key not in order:
            order[key] = None
            below = [each for each in values_at(nodes[key], f"{children}/*") if isinstance(each, str)]
            waiting.extend(each for each in reversed(below) if each in nodes)
    for key in order | dict.fromkeys(nodes):
        message = value_at(nodes[key], place)
        if isinstance(message, dict):
            yield {**message, "current": not shown or key in shown}


def _add_message(chats: Conversations, message: dict[str, Any]) -> None:
    content = message.get("content")
    thought = "\n".join(texts_of(content, "thinking"))
    chats.thought(thought)
    text = chats.text(message) if "texts" in chats.layout else "\n".join(_texts_of(content))
    chats.count_rest(content, f"{thought}\n{text}")
    if object_of(content).get("content_type") in THOUGHTS:
        chats.thought(text)
        return
    is_answer = value_at(message, chats.layout["sender"]) == "assistant"
    while is_answer and (thought := THOUGHT_TAGS.match(text)):
        chats.thought(thought[3])
        text = text[thought.end() :]
    inside = [each for each in values_at(message, chats.layout["inside"]) if isinstance(each, str)]
    current = {"current": message["current"]} if "current" in message else {}
    chats.message(message, current, text, inside)


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
    """Builds a document of conversations: a title line each, then the messages after their sender and time.

    ``layout``: where the export has its values, as ``exports.toml`` says.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.layout: Mapping[str, Any] = table("exports")[builder.format.name]
        self._number = 0
        self._conversations = 0
        self._place = 0
        self._prefix = ""
        self._fields: list[PartField] = []

    def begin(
        self, title: Any, id: Any, created: Any = None, updated: Any = None, prefix: str = "", about: str = ""
    ) -> None:
        self._conversations += 1
        self._prefix = prefix
        text = title if isinstance(title, str) and title.strip() else UNTITLED
        span = self.builder.add(text.strip(), "\n\n")
        self._place = self.builder.reserve()
        self._fields, self._end = [PartField("title", normal(text.strip()), span)], span.end
        if about:
            self._fields.append(PartField("about", normal(about), self.builder.add(about, "\n\n")))
        times = {"created_at": moment(created), "updated_at": moment(updated)}
        for name, value in {"id": id, **times}.items():
            if isinstance(value, str):
                self._fields.append(PartField(name, json_value(value)))

    def person(self, name: str, **more: Any) -> None:
        values = {"name": name, **{key: str(value) for key, value in more.items() if value}}
        start, line = self.builder.position, self.builder.line
        fields = [
            PartField(key, normal(value), self.builder.add_line(key, value)) for key, value in values.items()
        ]
        self.builder.count_cells(len(fields))
        self.builder.part("contact", FileSpan(line=line, start=start, end=self.builder.position - 1), fields)

    def text(self, message: Mapping[str, Any]) -> str:
        values = (each for path in self.layout["texts"] for each in values_at(message, path))
        return "\n".join(str(each) for each in values if isinstance(each, str | int | float))

    def message(
        self, message: Mapping[str, Any], other: Mapping[str, Any], text: str, inside: Sequence[str] = ()
    ) -> None:
        """Add a message and the texts in its attachments; one that has no text and no file is left out.

        ``other``: values that count in place of those that the layout leads to.
        """
        layout = self.layout
        names = [
            each for path in layout["files"] for each in values_at(message, path) if isinstance(each, str)
        ]
        files = dict.fromkeys(each.rpartition("/")[2] for each in names if not each.startswith("(File "))
        if not text.strip() and not inside and not files:
            return
        self._number += 1
        start, line = self.builder.position, self.builder.line
        author = normal(str(value_at(message, layout["sender"]) or "unknown"))
        sent_at = moment(value_at(message, layout["sent"]))
        head = self.builder.add(author, f" ({sent_at}):\n" if sent_at else ":\n")
        body = self.builder.add(text.strip(), "\n\n")
        fields = [
            PartField("role", author, head._replace(message=self._number)),
            PartField("text", normal(text.strip()), body._replace(message=self._number)),
        ]
        own = {name: value_at(message, path) for name, path in layout["message"].items()}
        identity = value_at(message, layout["id"]) if "id" in layout else None
        own = {"id": identity, "sent_at": sent_at, **own, **other, "attachments": list(files) or None}
        for name in ("id", "reply_to"):
            if self._prefix and own.get(name):
                own[name] = f"{self._prefix}{own[name]}"
        own |= {"edited_at": moment(own["edited_at"])} if "edited_at" in own else {}
        for name, value in own.items():
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

    def count_rest(self, content: Any, read: str) -> None:
        """Count the texts of a message that are not read, by the kind of the element that has them."""
        for each in objects(content if isinstance(content, list) else [content]):
            texts = [text for text in words.strings(each) if " " in text.strip() and text not in read]
            kind = value_at(each, "type|content_type") or "content"
            self.builder.left_out(f"{str(kind)[:40]} of a message", sum(map(len, texts)))

    def warn_of_members(self, messages: Any) -> None:
        """Name the members of messages that are not read, and count them."""
        layout = self.layout
        paths = [layout["sender"], layout["sent"], layout.get("id", ""), layout.get("inside", "")]
        paths += [*layout.get("texts", ()), *layout["files"], *layout["message"].values()]
        read = {path.partition("/")[0] for places in paths for path in places.split("|")}
        read |= {*layout["same"].split()}
        for name in (name for each in objects(messages) for name, value in each.items() if value):
            if name not in read:
                self.builder.left_out("member", None, name, " of messages")

    def thought(self, text: str) -> None:
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


SECONDS = re.compile(r"\d{9,12}(?:\.\d{1,9})?", re.ASCII)  # how exports write seconds since 1970 in a text


def moment(value: Any) -> str | None:
    """Return a time as ISO 8601 in UTC where it is seconds since 1970; another text stays as it is."""
    value = float(value) if isinstance(value, str) and SECONDS.fullmatch(value) else value
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
FORM = "bracket", "between"  # the groups that are the same in all lines
MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\u202f~"))
SENDERS_SHOWN = 5
NOTICE_WORDS = 3  # behind the name of a sender, which then is no longer name of another
ORDERS = {"day first": (2, 1, 0), "month first": (2, 0, 1)}
NAMELESS = re.compile(r"_chat( ?\(\d+\))?|.{0,2}")


def _sender(match: re.Match[str]) -> str:
    return " ".join(match["sender"].translate(MARKS).split())


def _is_notice(sender: str, senders: Iterable[str]) -> bool:
    """Return whether what stands before a colon says what somebody did, such as to name the group."""
    is_cut = sender.count('"') % 2 == 1 or sender.count("„") + sender.count("“") == 1
    acting = [each for each in senders if sender.startswith(f"{each} ")]
    return is_cut or any(len(sender[len(each) :].split()) >= NOTICE_WORDS for each in acting)


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
        named = {_sender(match) for match in lines if match["sender"]}
        for index, match in enumerate(lines):
            line, start = first_line + text.count("\n", 0, match.start()), begun + match.start()
            end = lines[index + 1].start() if index + 1 < len(lines) else len(text)
            body = text[match.end() : end].strip()
            if match["sender"] is None or not body or _is_notice(sender := _sender(match), named):
                continue
            number += 1
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
    builder.part("conversation", span, [PartField("title", title)], place=place)
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
