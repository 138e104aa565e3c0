"""Markdown with front matter: headings, paragraphs, list items, code, tables with their rows.

The text is that of the file. The front matter (YAML between `---`) is one record, whose fields are its
members. Dates and times in it stay texts. Front matter with aliases or without valid YAML is left as text,
with a warning. That of `graphmem export` has one member in each line, with its value as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from graphmem.ingest.building import VALUE_DEPTH_LIMIT, Builder, json_value
from graphmem.ingest.decoding import whole_text
from graphmem.ingest.document import FileSpan, PartField
from graphmem.ingest.tabular import Columns, row_fields

BLOCKS = {"paragraph_open", "fence", "code_block", "html_block"}
FRONT_MATTER = re.compile(r"---\n(.*?)^-{3,}[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
FRONT_MATTER_CHARACTERS_LIMIT = 65_536
EXPORTED = "graphmem: "  # the beginning of the front matter of a file of `graphmem export`


class PlainLoader(yaml.SafeLoader):
    """Reads as values what YAML 1.2 and people take for values; the rest keeps the text that the file has.

    By YAML 1.1, the rules of the library, `12:30` is 750, `0123` is 83, `no` is false and a date is no text.
    A number that begins with a plus is one of a telephone.
    """


PlainLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?", "-+0123456789"),
):
    PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))


def parse(builder: Builder, data: bytes, name: str) -> None:
    text = whole_text(builder, data)
    front = front_matter(builder, text)
    _Blocks(builder, text, skipped_lines=text.count("\n", 0, front)).add()


def front_matter(builder: Builder, text: str) -> int:
    """Add the front matter as a record; return the offset of what follows it."""
    match = FRONT_MATTER.match(text)
    if match is None:
        return 0
    fields, fault = front_matter_fields(match)
    if fault:
        builder.warn(f"The front matter is left as text: {fault}")
    if fields:
        builder.count_cells(len(fields))
        end = match.end() - match[0].endswith("\n")
        fields = [field._replace(value=json_value(field.value)) for field in fields]
        builder.part("record", FileSpan(line=1, start=0, end=end), fields)
        title = next((field.value for field in fields if field.name == "title"), None)
        builder.title = title if isinstance(title, str) else None
    return match.end()


def front_matter_fields(match: re.Match[str]) -> tuple[list[PartField], str]:
    """Return the members of what :data:`FRONT_MATTER` matches, and why there are none, if it is at fault."""
    try:
        if match[1].startswith(EXPORTED):
            return list(_exported_fields(match[1], match.start(1))), ""
        if len(match[1]) > FRONT_MATTER_CHARACTERS_LIMIT:
            return [], "it is too long."
        return list(_yaml_fields(match[1], match.start(1), 2)), ""
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        return [], " ".join(str(exc).split())[:200]


def _exported_fields(content: str, start: int) -> Iterator[PartField]:
    """Yield the members of a file of `graphmem export`, or what somebody wrote in their place."""
    decoder = json.JSONDecoder()
    for number, line in enumerate(content.splitlines(keepends=True), 2):
        name, end = decoder.raw_decode(line) if line.startswith('"') else ("", line.find(":"))
        value = line[end + 1 :].strip()
        place = start + line.index(value, end + 1)
        span = FileSpan(line=number, start=place, end=place + len(value))
        try:
            yield PartField(name or line[:end], json.loads(value), span)
        except ValueError:
            yield PartField(name or line[:end], PlainLoader(value).get_single_data(), span)
        start += len(line)


def _yaml_fields(content: str, start: int, first_line: int) -> Iterator[PartField]:
    levels = 0
    for event in yaml.parse(content, yaml.SafeLoader):
        # Aliases can stand for more than memory holds.
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it has aliases")
        levels += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if levels > VALUE_DEPTH_LIMIT:
            # The library looks at all levels for each bracket.
            raise ValueError("it is nested too deeply")
    loader = PlainLoader(content)
    node = loader.get_single_node()
    if node is None:
        return
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("it is no mapping")
    for key, value in node.value:
        begin, end = value.start_mark.index, value.end_mark.index
        place = content[begin:end].rstrip()
        line = first_line + content.count("\n", 0, begin)
        yield PartField(
            str(loader.construct_object(key, deep=True)),
            json_value(loader.construct_object(value, deep=True)),
            FileSpan(line=line, start=start + begin, end=start + begin + len(place)),
        )


class _Blocks:
    def __init__(self, builder: Builder, text: str, skipped_lines: int) -> None:
        self._builder = builder
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._skipped = skipped_lines
        body = "\n".join(self._lines[skipped_lines:])
        self._tokens: list[Token] = MarkdownIt("commonmark").enable("table").parse(body)
        self._columns = Columns([])
        self._cells: list[tuple[str, FileSpan]] = []
        self._header = False

    def add(self) -> None:
        items = lists = 0
        for token, following in zip(self._tokens, [*self._tokens[1:], None], strict=False):
            if token.type in ("bullet_list_open", "ordered_list_open"):
                lists += 1
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                lists -= 1
            elif token.type == "list_item_open":
                items += 1
                self._block("item", following if following is not None and following.map else token, lists)
            elif token.type == "list_item_close":
                items -= 1
            elif token.type == "heading_open":
                level = int(token.tag[1:])
                self._block("heading", token, level)
                if level == 1 and self._builder.title is None and following is not None:
                    self._builder.title = following.content
            elif token.type == "table_open":
                self._block("table", token)
            elif token.type in BLOCKS and not items:
                self._block("paragraph", token)
            else:
                self._table(token, following)

    def _table(self, token: Token, following: Token | None) -> None:
        if token.type == "tr_open":
            self._cells = []
        elif token.type in ("th_open", "td_open") and following is not None:
            self._cells.append((following.content, self._cell(token, following)))
        elif token.type == "tr_close" and self._cells:
            span = self._cells[0][1]
            line = span.line or 1
            row = FileSpan(line=line, start=self._starts[line - 1], end=self._starts[line] - 1)
            if self._header:
                self._columns = Columns([content for content, _ in self._cells])
            else:
                self._builder.count_cells(len(self._cells))
                self._builder.part("row", row, row_fields(self._columns, *zip(*self._cells, strict=True)))
        elif token.type in ("thead_open", "thead_close"):
            self._header = token.type == "thead_open"

    def _cell(self, token: Token, content: Token) -> FileSpan:
        """Return the place of a cell: its text is searched after the cell before it."""
        place = content.map or token.map
        number = self._skipped + (place[0] if place else 0)
        start, end = self._starts[number], self._starts[number + 1] - 1
        last = self._cells[-1][1].end if self._cells else None
        offset = self._lines[number].find(content.content, 0 if last is None else last - start)
        if offset >= 0:
            start, end = start + offset, start + offset + len(content.content)
        return FileSpan(line=number + 1, start=start, end=end)

    def _block(self, kind: str, token: Token, level: int | None = None) -> None:
        assert token.map is not None
        first, last = (self._skipped + number for number in token.map)
        while last > first + 1 and not self._lines[last - 1].strip():
            last -= 1
        span = FileSpan(line=first + 1, start=self._starts[first], end=self._starts[last] - 1)
        self._builder.part(kind, span, level=level)
