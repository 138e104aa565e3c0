"""Exports of single records: notes and tasks and activity of Google, notes of Evernote, bookings of banks.

The text has a line for each value that the file holds. A record has the fields of its entity, by the names
that the types of graphmem have; balances and other values beside the records stand in the text alone.
"""

from __future__ import annotations

import html
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder, exceeded, iso, json_value, normal
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import FileSpan, PartField
from graphmem.ingest.formats import json_values, web_page
from graphmem.ingest.tables import object_of, objects, table, texts_of, value_at

TASK_STATES = {"needsAction": "open", "completed": "done"}
ENCODING = re.compile(rb"""(?:encoding=["']|CHARSET:)([A-Za-z0-9_.:-]{1,40})""")
NOTE = re.compile(r"<note>.*?(?=<note>|</en-export>|\Z)", re.DOTALL)
CONTENT = "content"
NOTE_NAMES = {"created": "created_at", "updated": "updated_at", "tag": "tags", "source-url": "url"}
NOTE_MARKUP = (
    (re.compile(r"<en-todo[^<>]*checked=.true.[^<>]*>"), " [x] "),
    (re.compile(r"<en-todo[^<>]*>"), " [ ] "),
    (re.compile(r"</?en-(?:media|note|todo)[^<>]*>"), " "),
)
CDATA = re.compile(r"<!\[CDATA\[((?:(?!<!\[CDATA\[).)*?)\]\]>", re.DOTALL)
TAG = re.compile(r"<(/?)([\w.:-]+)([^<>]*?)(/?)>([^<]*)")
END = re.compile(r"</(?:\w+:)?(?:Document|OFX)>\s*\Z")
LEVELS_LIMIT = 100
NO_ID = ("NOTPROVIDED", "NONREF")  # what banks write where a booking has no id


def add_record(builder: Builder, fields: Mapping[str, Any]) -> None:
    """Add a record: a line for each text, and its other values. Empty ones are left out."""
    start, line, members = builder.position, builder.line, list[PartField]()
    for name, value in fields.items():
        if isinstance(value, str) and value.strip():
            members.append(PartField(name, normal(value.strip()), builder.add_line(name, value.strip())))
        elif value not in (None, "", [], False):
            builder.add_line(name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            members.append(PartField(name, json_value(value)))
    builder.count_cells(len(members))
    if members:
        builder.part("record", FileSpan(line=line, start=start, end=builder.position - 1), members)
        builder.add("", "\n")


def parse_keep(builder: Builder, data: bytes, name: str) -> None:
    """Add a note of Google Keep. One in its trash is ``deleted``."""
    note = object_of(json_values.value_of(builder, data))
    items = objects(note.get("listContent"))
    lines = [f"- [{'x' if item.get('isChecked') else ' '}] {item.get('text')}" for item in items]
    builder.title = note.get("title") or None
    _add_item(builder, {**note, "content": "\n".join([str(note.get("textContent") or ""), *lines])})


def parse_tasks(builder: Builder, data: bytes, name: str) -> None:
    """Add the tasks of Google Tasks, each with the name of its list, and the task that it is a part of."""
    for group in objects(object_of(json_values.value_of(builder, data)).get("items")):
        for task in objects(group.get("items")):
            other: dict[str, Any] = {day: str(task.get(day) or "")[:10] for day in ("due", "completed")}
            other["status"] = TASK_STATES.get(str(task.get("status")), task.get("status"))
            _add_item(builder, {**task, **other, "list": group.get("title")})


def parse_activity(builder: Builder, data: bytes, name: str) -> None:
    """Add what somebody did with products of Google, such as a prompt for Gemini, with what came back."""
    value = json_values.value_of(builder, data)
    for each in objects(value if isinstance(value, list) else [value]):
        answers = [web_page.plain(answer, builder) for answer in texts_of(each.get("safeHtmlItem"), "html")]
        subtitles = "\n".join(texts_of(each.get("subtitles"), "name"))
        _add_item(builder, {**each, "description": subtitles, "outcome": "\n".join(answers)})


def _add_item(builder: Builder, item: Mapping[str, Any]) -> None:
    fields: dict[str, Any] = {}
    for name, paths in table("exports")[builder.format.name].items():
        value = value_at(item, paths)
        if "Usec" in paths:
            is_time = type(value) is int and 0 < value < 1 << 55
            at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=value if is_time else 0)
            value = at.isoformat() if is_time else None
        fields[name] = [each for each in value if isinstance(each, str)] if isinstance(value, list) else value
    add_record(builder, fields)


def parse_notes(builder: Builder, data: bytes, name: str) -> None:
    """Add the notes of Evernote. Their attachments are named."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, recover=True)
    text, line, counted = _marked_up(builder, data), 1, 0
    for match in NOTE.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        root = etree.fromstring(match[0].encode(), parser)
        fields: dict[str, Any] = {"title": None, CONTENT: None, "tags": [], "attachments": [], "tasks": []}
        for element in root.iter() if root is not None else ():
            if not isinstance(element.tag, str) or len(element) or not element.text:
                continue
            within, label = (
                element.getparent().tag,
                NOTE_NAMES.get(element.tag, element.tag.replace("-", "_")),
            )
            if within in ("resource", "resource-attributes"):
                fields["attachments"] += [element.text] if element.tag == "file-name" else []
                if element.tag == "recognition":
                    builder.left_out("recognised text of a picture", len(re.sub("<[^>]*>", "", element.text)))
            elif within == "task":
                fields["tasks"] += [element.text] if label == "title" else []
            elif label == "tags":
                fields["tags"].append(element.text)
            elif label != CONTENT:
                is_time = label.endswith(("_at", "time", "date"))
                fields[label] = fields.get(label) or (iso(element.text) if is_time else element.text)
            else:
                fields[CONTENT] = _note_text(builder, element.text)
        if not match[0].rstrip().endswith("</note>"):
            builder.drop(
                f"The note in line {line} has no end: what follows its last whole value is left out."
            )
        add_record(builder, fields)


def _note_text(builder: Builder, content: str) -> str:
    if "<en-crypt" in content:
        builder.left_out("encrypted part", of=" of a note")
        content = re.sub(r"(<en-crypt[^<>]*>)[^<]*", r"\1 [encrypted] ", content)
    for pattern, shown in NOTE_MARKUP:
        content = pattern.sub(shown, content)
    return web_page.plain(content, builder)


def _marked_up(builder: Builder, data: bytes) -> str:
    """Return a text with tags, whose head may name its encoding."""
    declared = ENCODING.search(data[:400])
    encoding = declared[1].decode() if declared else None
    text, builder.metadata["encoding"], warnings = decoded(
        data, f"cp{encoding}" if encoding == "1252" else encoding
    )
    builder.warn(*warnings)
    if "<!ENTITY" in text:
        builder.warn("The file has XML entities: they are not expanded.")
    return text


def _leaves(text: str) -> Iterator[tuple[list[str], str | None, str]]:
    """Yield path, value and attributes of what has a value in XML, or in SGML without end tags.

    The end of any other element is its path without a value.
    """
    path: list[str] = []
    leaf = ""
    closed = set(re.findall(r"</([\w.:-]+)", text))
    for match in TAG.finditer(CDATA.sub(lambda match: html.escape(match[1]), text)):
        closing, name, attributes, empty, written = match.groups()
        is_open = not empty and name in closed
        name, value = name.rpartition(":")[2], " ".join(html.unescape(written).split())
        if closing and name != leaf and name in path:
            while path[-1] != name:
                path.pop()
            yield path, None, ""
            path.pop()
        elif not closing and value:
            yield [*path, name], value, attributes
        elif not closing and is_open:
            path.append(name)
            if len(path) > LEVELS_LIMIT:
                raise exceeded(f"more than {LEVELS_LIMIT} levels of elements")
        leaf = name if value and not closing else ""


class _Bookings:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.account, self.currency = "", ""
        self._layout = table("xml_exports")[builder.format.name]
        self._entry: dict[str, list[str]] = {}
        self._details: list[dict[str, list[str]]] = [{}]
        self._place = (0, 0)

    def add(self, path: list[str], value: str | None, attributes: str) -> None:
        layout, place = self._layout, (self.builder.position, self.builder.line)
        currency = re.search(r"Ccy=.(\w{3})", attributes)
        if value is not None:
            self.builder.add_line(path[-1], f"{value} {currency[1]}" if currency else value)
        if layout["record"] not in path:
            if value is not None and "/".join(path).endswith(tuple(layout["accounts"])):
                self.account = value
            elif value is not None and path[-1] == layout["currency"]:
                self.currency = value
            return
        inside = path[path.index(layout["record"]) + 1 :]
        if value is None and not inside:
            self.end()
        elif value is None and path[-1] == layout["part"]:
            self._details.append({})
        elif value is not None:
            if not self._entry:
                self._place = place
            is_part = layout["part"] in inside
            within = "/".join(inside[inside.index(layout["part"]) + 1 :] if is_part else inside)
            values = self._details[-1] if is_part else self._entry
            values.setdefault(within, []).append(value)
            if currency:
                values.setdefault(f"{within}@", []).append(currency[1])

    def end(self) -> None:
        """Add a booking, or those of which it is the sum."""
        entry, details = self._entry, [each for each in self._details if each] or [{}]
        amounts = self._layout["fields"]["amount"]
        if len(details) > 1 and all(any(path in each for path in amounts) for each in details):
            entry = {name: value for name, value in entry.items() if name not in amounts}
        else:
            names = dict.fromkeys(name for each in details for name in each)
            details = [{name: [value for each in details for value in each.get(name, ())] for name in names}]
        for number, each in enumerate(details, 1):
            self._add(ChainMap(each, entry), f"/{number}" if len(details) > 1 else "")
        self._entry, self._details = {}, [{}]

    def _add(self, values: Mapping[str, list[str]], number: str) -> None:
        is_debit = values.get("CdtDbtInd") == ["DBIT"]
        side = "RltdPties/Cdtr" if is_debit else "RltdPties/Dbtr"
        path = next((path for path in self._layout["fields"]["amount"] if path in values), "")
        currency = next(iter(values.get(f"{path}@", ())), self.currency)
        fields: dict[str, Any] = {"account": self.account, "currency": currency}
        for name, paths in self._layout["fields"].items():
            texts = (" ".join(values.get(path.replace("*", side), ())) for path in paths)
            fields[name] = next((value for value in texts if value and value not in NO_ID), None)
        for name in ("date", "value_date"):
            written = fields[name] or ""
            fields[name] = iso(written[:10] if "-" in written[:5] else written[:8])
        amount = (fields["amount"] or "").replace(",", ".")
        if re.fullmatch(r"[+-]?\d{1,15}(?:\.\d{0,6})?", amount):
            fields["amount"] = -float(amount) if is_debit else float(amount)
        if fields["external_id"]:
            fields["external_id"] += number
        start, line = self._place
        filled = {name: value for name, value in fields.items() if value not in (None, "")}
        members = [PartField(name, json_value(value)) for name, value in filled.items()]
        self.builder.count_cells(len(members))
        end = self.builder.position - 1
        self.builder.part("record", FileSpan(line=line, start=start, end=end), members)


def parse_bookings(builder: Builder, data: bytes, name: str) -> None:
    """Add the bookings of OFX or CAMT. Balances are none."""
    text, bookings = _marked_up(builder, data), _Bookings(builder)
    for path, value, attributes in _leaves(text):
        bookings.add(path, value, attributes)
    if not END.search(text):
        line = text.count("\n") + 1
        builder.warn(f"The file has no end in line {line}: if it was cut, its last booking is not whole.")
        bookings.add([table("xml_exports")[builder.format.name]["record"]], None, "")
