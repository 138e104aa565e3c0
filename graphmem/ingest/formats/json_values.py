"""JSON, JSON Lines, and the `memory.jsonl` of the MCP memory server: one record per object.

A record of anything but an object has one field, `value`. The library decodes values; this module only
steps over the top two levels, because the library does not tell where a value stands. A broken element or
line is left out, a warning names its line, and reading goes on where the next one begins.
"""

from __future__ import annotations

import bisect
import json
import math
import re
from collections.abc import Callable
from typing import Any

from graphmem.ingest.building import Builder, json_value, normal
from graphmem.ingest.decoding import decoded
from graphmem.ingest.document import LEFT_OUT, FileSpan, ParseFailed, Part, PartField

SPACE = re.compile(r"[ \t\n\r]*")
OBJECT = re.compile(r'\{\s*["}]')
INSIDE = ("[", ",", ":")  # what stands before an object within another value
SAME_NAMES = 2
"""So many of the first names of an element show that another one is an element of the same list."""
SPACE_BEFORE = 200  # characters of space between two elements
BETWEEN = " \t\n\r\ufffd"
BYTES = re.compile(r"(?:(?<!\\)\\u00[89a-f][0-9a-f]|[\x80-\xff])+", re.IGNORECASE)
"""Letters of Latin-1, written or escaped, which may be the bytes of UTF-8."""
_HEX = "[0-9a-f]"
ESCAPED = re.compile(
    rf"(?<!\\)(?P<pairs>(?:\\\\)*)"
    rf"(?P<run>(?:\\u(?!00[0-9]|202[89]|d[89a-f]){_HEX}{{4}}|\\ud[89ab]{_HEX}{{2}}\\ud[c-f]{_HEX}{{2}})+)",
    re.IGNORECASE,
)
"""Letters beyond ASCII that are escaped, as many programs write all of them."""
NO_BYTES = re.compile(r"\\u(?!00)[0-9a-f]{4}|[^\x00-\xff]", re.IGNORECASE)


def parse(builder: Builder, data: bytes, name: str) -> None:
    walk = _whole(builder, data)
    start = walk.skip(0)
    if walk.text.startswith("[", start):
        end = walk.elements(start, lambda place: _record(builder, walk, place))
    else:
        end = _object(builder, walk, start)
    _sequence(builder, walk, end)


def parse_lines(builder: Builder, data: bytes, name: str) -> None:
    """Add a file with one JSON value per line, or several; blank lines are left out."""
    _sequence(builder, _whole(builder, data), 0)


def value_of(builder: Builder, data: bytes) -> Any:
    """Return the value of a JSON file, which is no part of the document; of a broken one what is whole."""
    text, _ = _text(builder, data)
    try:
        return json.loads(text)
    except ValueError:
        walk = Walk(text)
        value, _ = walk.rescue(walk.skip(0))
        builder.warn(*walk.warnings)
        return value


def _whole(builder: Builder, data: bytes) -> Walk:
    text, builder.metadata["encoding"] = _text(builder, data)
    builder.add(text)
    return Walk(text)


def _text(builder: Builder, data: bytes) -> tuple[str, str]:
    text, encoding, warnings = decoded(data)
    builder.warn(*warnings)
    mended = mend(text)
    if mended != text:
        builder.warn("The letters of the file went through the wrong encoding twice: they are mended.")
    return unescaped(mended), encoding


def unescaped(text: str) -> str:
    """Return a JSON text with the letters beyond ASCII in place of their escapes: a search finds them so."""
    if "\\u" not in text:
        return text
    return normal(ESCAPED.sub(lambda match: match["pairs"] + json.loads(f'"{match["run"]}"'), text))


def mend(text: str) -> str:
    """Return a JSON text with the letters that were meant where UTF-8 was taken for Latin-1.

    That is certain where all letters of the text beyond ASCII are bytes of UTF-8.
    """
    letters: dict[str, str] = {}
    for match in BYTES.finditer(text) if "\\u00" in text or not text.isascii() else ():
        run = match[0]
        try:
            data = run.encode("latin-1").decode("unicode_escape").encode("latin-1")
            letters[run] = letters.get(run) or data.decode()
        except UnicodeDecodeError:
            return text
    if not letters or NO_BYTES.search(text):
        return text
    return normal(BYTES.sub(lambda match: letters[match[0]], text))


def _sequence(builder: Builder, walk: Walk, position: int) -> None:
    """Add the values from an offset on, one after the other; raise the first failure if there is none."""
    position = walk.skip(position)
    while position < len(walk.text):
        try:
            position = walk.skip(_record(builder, walk, position))
        except ParseFailed as exc:
            walk.leave_out(position, exc)
            position = walk.next_line(position)
    if walk.failure is not None and not walk.records:
        raise walk.failure
    builder.warn(*walk.warnings)


def _object(builder: Builder, walk: Walk, start: int) -> int:
    """Add the value at the top. Of an object that is broken, what is whole of its members is read."""
    try:
        return _record(builder, walk, start)
    except ParseFailed as exc:
        walk.leave_out(start, exc)
    fields, name, place = walk.fields, walk.name, walk.place
    if name is not None and walk.text.startswith("[", place):
        values, end = walk.rescue(place)
        fields |= {name: PartField(name, values, walk.span(place, end))} if values else {}
    if fields:
        _add(builder, walk, start, len(walk.text), list(fields.values()))
    return len(walk.text)


def _record(builder: Builder, walk: Walk, start: int) -> int:
    if walk.text.startswith("{", start):
        fields, end = walk.members(start)
    else:
        value, end = walk.value(start)
        fields = [PartField("value", value, walk.span(start, end))]
    _add(builder, walk, start, end, fields)
    return end


def _add(builder: Builder, walk: Walk, start: int, end: int, fields: list[PartField]) -> None:
    walk.records += 1
    builder.count_cells(len(fields))
    builder.part("record", walk.span(start, end), fields)


class Walk:
    """Steps through a JSON text: values are decoded by the library, at their offsets.

    ``fields`` are those of the last object as far as it was read, ``name`` and ``place`` the member at which
    reading stopped. ``failure`` is the first that was left out.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.warnings: list[str] = []
        self.failure: ParseFailed | None = None
        self.records = 0
        self.fields: dict[str, PartField] = {}
        self.name: str | None = None
        self.place = 0
        self._decoder = json.JSONDecoder(parse_constant=self._constant, parse_float=self._float)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def elements(self, position: int, read: Callable[[int], int]) -> int:
        """Have the whole elements of the list at an offset read; return the end of the list."""
        position = self.skip(position + 1)
        if self.text.startswith("]", position):
            return position + 1
        last: dict[str, PartField] = {}
        while True:
            try:
                end = self.skip(read(position))
                last = self.fields
                mark = self.text[end : end + 1]
                if mark == "]":
                    return end + 1
                if mark != ",":
                    raise self.error("a comma or a bracket is missing", end)
                position = self.skip(end + 1)
            except ParseFailed as exc:
                self.leave_out(position, exc)
                position = self._next_element(position, list(last or self.fields)[:SAME_NAMES])
                if position == len(self.text):
                    return position

    def rescue(self, position: int) -> tuple[Any, int]:
        """Return the value at an offset, and its end; of a broken list or object what is whole of it."""
        try:
            value, end = self.value(position)
            self.fields = value if isinstance(value, dict) else {}
            return value, end
        except ParseFailed as exc:
            mark = self.text[position : position + 1]
            if exc.code != "damaged" or mark not in ("[", "{"):
                raise
        if mark == "{":
            fields, end = self.members(position, is_broken=True)
            return {field.name: field.value for field in fields}, end
        values: list[Any] = []

        def read(start: int) -> int:
            value, end = self.rescue(start)
            values.append(value)
            return end

        return values, self.elements(position, read)

    def objects(self, position: int) -> tuple[list[Part], int]:
        """Return the whole objects of the list at an offset as records, and the end of the list."""
        records: list[Part] = []

        def read(start: int) -> int:
            fields, end = self.members(start)
            records.append(Part("record", self.span(start, end), fields=tuple(fields)))
            return end

        end = self.elements(position, read)
        return records, end

    def leave_out(self, position: int, failure: ParseFailed) -> None:
        if failure.code != "damaged":
            raise failure
        self.failure = self.failure or failure
        self.warnings.append(
            f"{LEFT_OUT}What is broken in line {self.line(position)} is left out: {failure.reason}"
        )

    def next_line(self, position: int) -> int:
        """Return the offset of the next object that begins a line, or follows a broken one in its line."""
        for match in OBJECT.finditer(self.text, position + 1):
            before = self.text[position : match.start()]
            if before.endswith("\n") or before.rstrip()[-1:] not in INSIDE:
                return match.start()
        return len(self.text)

    def _next_element(self, position: int, names: list[str]) -> int:
        """Return the offset of the next object whose first names are those of the elements."""
        for match in OBJECT.finditer(self.text, position + 1):
            before = self.text[max(position, match.start() - SPACE_BEFORE) : match.start()]
            if before.rstrip(BETWEEN)[-1:] not in ("", ","):
                continue
            try:
                value, end = self.value(match.start())
            except ParseFailed:
                continue
            is_element = isinstance(value, dict) and list(value)[: len(names)] == names
            if is_element and self.text[(after := self.skip(end)) : after + 1] in ("", ",", "]"):
                return match.start()
        return len(self.text)

    def skip(self, position: int) -> int:
        match = SPACE.match(self.text, position)
        return match.end() if match else position

    def line(self, position: int) -> int:
        return bisect.bisect_right(self._line_starts, position)

    def span(self, start: int, end: int) -> FileSpan:
        return FileSpan(line=self.line(start), start=start, end=end)

    def value(self, position: int) -> tuple[Any, int]:
        try:
            value, end = self._decoder.raw_decode(self.text, position)
        except json.JSONDecodeError as exc:
            raise ParseFailed(
                f"The file is no JSON: {exc.msg} in line {exc.lineno}, column {exc.colno}.", "damaged"
            ) from None
        except ValueError as exc:
            raise ParseFailed(f"The file has a number that cannot be read: {exc}.", "damaged") from None
        return json_value(value), end

    def members(self, position: int, is_broken: bool = False) -> tuple[list[PartField], int]:
        """Return the members of the object at an offset as fields, and the end of it, if it has one."""
        fields = self.fields = {}
        self.name = None
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
            self.name, self.place = name, (start := self.skip(end + 1))
            value, end = self.rescue(start) if is_broken else self.value(start)
            if name in fields:
                self.warnings.append(f"An object has {name[:100]} more than once: the last one counts.")
            fields[name] = PartField(name, value, self.span(start, end))
            end = self.skip(end)
            self.name, mark = None, self.text[end : end + 1]
            if mark == "}" or (is_broken and not mark):
                if not mark:
                    self.warnings.append(
                        f"The text ends in line {self.line(end)}, before its last value ends."
                    )
                self.fields = fields
                return list(fields.values()), end + 1
            if mark != ",":
                raise self.error("a comma or a brace is missing", end)
            position = self.skip(end + 1)

    def error(self, what: str, position: int) -> ParseFailed:
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
