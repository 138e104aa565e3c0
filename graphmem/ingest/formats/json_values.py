"""JSON, JSON Lines, and the `memory.jsonl` of the MCP memory server: one record per object.

The text is that of the file. A record of an object has one field per member; a record of anything else has
one field, `value`. A list at the top is one record per element. The library decodes values; this module
only steps over the top two levels, because the library does not tell where a value stands.
"""

from __future__ import annotations

import bisect
import json
import math
import re
from typing import Any

from graphmem.ingest.building import Builder, json_value
from graphmem.ingest.decoding import whole_text
from graphmem.ingest.document import FileSpan, ParseFailed, PartField

SPACE = re.compile(r"[ \t\n\r]*")


def parse(builder: Builder, data: bytes, name: str) -> None:
    """Add a JSON file."""
    text = whole_text(builder, data)
    walk = Walk(text)
    position = walk.skip(0)
    if text.startswith("[", position):
        end = _list(builder, walk, position)
    else:
        end = _record(builder, walk, position, first_line=1)
    if walk.skip(end) != len(text):
        raise walk.error("something follows the value", end)
    builder.warn(*walk.warnings)


def parse_lines(builder: Builder, data: bytes, name: str) -> None:
    """Add a file with one JSON value per line; blank lines are left out."""
    text = whole_text(builder, data)
    walk = Walk(text)
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        stop = start + len(line)
        position = walk.skip(start)
        if position < stop:
            end = _record(builder, walk, position, first_line=number, record_line=number)
            if walk.skip(end) < stop or end > stop:
                raise walk.error("a line has more than one value", end)
        start = stop + 1
    builder.warn(*walk.warnings)


def _list(builder: Builder, walk: Walk, position: int) -> int:
    """Add the elements of a list as records; return its end."""
    position = walk.skip(position + 1)
    if walk.text.startswith("]", position):
        return position + 1
    while True:
        end = walk.skip(_record(builder, walk, position, first_line=walk.line(position)))
        mark = walk.text[end : end + 1]
        if mark == "]":
            return end + 1
        if mark != ",":
            raise walk.error("a comma or a bracket is missing", end)
        position = walk.skip(end + 1)


def _record(builder: Builder, walk: Walk, start: int, first_line: int, record_line: int | None = None) -> int:
    """Add the value at an offset as a record; return its end."""
    if walk.text.startswith("{", start):
        fields, end = walk.members(start)
    else:
        value, end = walk.value(start)
        fields = [PartField("value", value, walk.span(start, end))]
    builder.count_cells(len(fields))
    builder.part("record", FileSpan(line=record_line or first_line, start=start, end=end), fields)
    return end


class Walk:
    """Steps through a JSON text: values are decoded by the library, at their offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.warnings: list[str] = []
        self._decoder = json.JSONDecoder(parse_constant=self._constant, parse_float=self._float)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def skip(self, position: int) -> int:
        """Return the offset of the next character that is no white space."""
        match = SPACE.match(self.text, position)
        return match.end() if match else position

    def line(self, position: int) -> int:
        """Return the line of an offset."""
        return bisect.bisect_right(self._line_starts, position)

    def span(self, start: int, end: int) -> FileSpan:
        """Return the span of a value."""
        return FileSpan(line=self.line(start), start=start, end=end)

    def value(self, position: int) -> tuple[Any, int]:
        """Return the value at an offset and its end."""
        try:
            value, end = self._decoder.raw_decode(self.text, position)
        except json.JSONDecodeError as exc:
            raise ParseFailed(
                f"The file is no JSON: {exc.msg} in line {exc.lineno}, column {exc.colno}.", "damaged"
            ) from None
        except ValueError as exc:
            raise ParseFailed(f"The file has a number that cannot be read: {exc}.", "damaged") from None
        return json_value(value), end

    def members(self, position: int) -> tuple[list[PartField], int]:
        """Return the members of the object at an offset as fields, and its end."""
        fields: dict[str, PartField] = {}
        position = self.skip(position + 1)
        if self.text.startswith("}", position):
            return [], position + 1
        while True:
            if not self.text.startswith('"', position):
                raise self.error("a name in quotes is missing", position)
            name, end = self.value(position)
            end = self.skip(end)
            if not self.text.startswith(":", end):
                raise self.error("a colon is missing", end)
            start = self.skip(end + 1)
            value, end = self.value(start)
            if name in fields:
                self.warnings.append(f"An object has {name[:100]} more than once: the last one counts.")
            fields[name] = PartField(name, value, self.span(start, end))
            end = self.skip(end)
            mark = self.text[end : end + 1]
            if mark == "}":
                return list(fields.values()), end + 1
            if mark != ",":
                raise self.error("a comma or a brace is missing", end)
            position = self.skip(end + 1)

    def error(self, what: str, position: int) -> ParseFailed:
        """Return the failure for a fault of syntax."""
        column = position - self._line_starts[self.line(position) - 1] + 1
        return ParseFailed(
            f"The file is no JSON: {what} in line {self.line(position)}, column {column}.", "damaged"
        )

    def _constant(self, name: str) -> Any:
        raise ParseFailed(f"The file is no JSON: {name} is no value.", "damaged")

    def _float(self, digits: str) -> float | str:
        value = float(digits)
        if math.isfinite(value):
            return value
        self.warnings.append(f"The number {digits[:40]} is too large for a float: it is read as text.")
        return digits
