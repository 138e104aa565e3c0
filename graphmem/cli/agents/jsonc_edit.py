"""Change one entry of a JSON file that people edit: comments, last commas and layout stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_STRINGS_AND_COMMENTS = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRINGS_AND_LAST_COMMAS = re.compile(rf"({_STRING})|,(?=\s*[}}\]])")
_COMMENT_ON_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)?")
BOM = "\ufeff"  # which some editors write at the beginning of a file
STARTED_BY = {"type", "command", "args", "url", "httpUrl", "serverUrl", "headers"}
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """An entry of graphmem in a JSON file: a member of the object at ``path``, or an element of the list."""

    path: tuple[str, ...]  # the names of the members that lead to the object or list
    value: Any  # what the entry is set to
    key: str | None = None  # the name of the member; None for an element of a list
    mark: str = ""  # a text that the entry has and no foreign element of the list
    is_default: bool = False  # whether it is put only where the member is missing, and then stays

    def is_of(self, part: _JsonPart, plain: str) -> bool:
        """Return whether a part of its object or list is this entry."""
        if self.key is not None:
            return part.key == self.key
        element = json.dumps(json.loads(plain[part.value : part.end]), ensure_ascii=False)
        # An element into which somebody put more commands is theirs.
        return self.mark in element and element.count('"command":') == 1

    def value_in(self, text: str) -> Any:
        """Return the value that a file has for the entry, None if it has none.

        Raises ValueError: it is no JSON.
        """
        if _is_empty(text):
            return None
        plain = _checked(text)
        part = self._part(plain)
        return None if part is None else json.loads(plain[part.value : part.end])

    def put(self, text: str) -> str:
        """Return the text of a file with the entry.

        Raises ValueError: it is no JSON, or has no room for it.
        """
        newline = "\r\n" if "\r\n" in text else "\n"
        if _is_empty(text):
            comments = text.rstrip(" \t\r\n")
            text = f"{comments}{newline if comments.strip(BOM) else ''}{{}}{newline}"
        plain = _checked(text)
        start = _skip(plain, 0)
        for depth, name in enumerate(self.path):
            part = _last(plain, start, name)
            if part is None:
                value = [self.value] if self.key is None else {self.key: self.value}
                for inner in reversed(self.path[depth + 1 :]):
                    value = {inner: value}
                return _inserted(text, plain, start, name, value)
            start = part.value
            is_last = depth == len(self.path) - 1
            kind, bracket = ("list", "[") if is_last and self.key is None else ("object", "{")
            if plain[start] != bracket:
                raise ValueError(f"{'.'.join(self.path[: depth + 1])} in it is no {kind}")
        part = next((each for each in _parts(plain, start) if self.is_of(each, plain)), None)
        if part is None:
            return _inserted(text, plain, start, self.key, self.value)
        before = json.loads(plain[part.value : part.end])
        wanted = self.value if self.key is None else merged(before, self.value)
        if self.is_default or before == wanted:
            return text
        # In the layout of the text, for a line that has the indentation of the entry.
        indented = json.dumps(wanted, indent=_unit(text), ensure_ascii=False)
        rendered = indented.replace("\n", newline + _indent_at(text, part.begin))
        return text[: part.value] + rendered + text[part.end :]

    def missing(self, text: str) -> list[tuple[str, ...]]:
        """Return the paths of the members that :meth:`put` has to make for the entry, the shortest first."""
        plain = "{}" if _is_empty(text) else _checked(text)
        paths = [self.path[: depth + 1] for depth in range(len(self.path))]
        return [path for path in paths if _start(plain, path) is None]

    def removed(self, text: str) -> str:
        if self.is_default or _is_empty(text):
            return text
        plain = _checked(text)
        start, part = _start(plain, self.path), self._part(plain)
        return text if start is None or part is None else _cut(text, plain, start, part)

    def _part(self, plain: str) -> _JsonPart | None:
        start = _start(plain, self.path)
        if start is None or plain[start] != ("[" if self.key is None else "{"):
            return None
        return next((each for each in _parts(plain, start) if self.is_of(each, plain)), None)


def merged(before: Any, value: Any) -> Any:
    """Return an entry with what somebody added to it by hand, such as ``env``."""
    if not isinstance(before, dict) or not isinstance(value, dict):
        return value
    own = {name: each for name, each in before.items() if name not in value and name not in STARTED_BY}
    return value | own | ({"env": before["env"]} if before.get("env") and value.get("env") == {} else {})


def _is_empty(text: str) -> bool:
    """Return whether a file has nothing but white space and comments."""
    return not _STRINGS_AND_COMMENTS.sub(lambda each: each[0] if each[0][0] == '"' else "", text).strip(
        f"{BOM} \t\r\n"
    )


def pruned(text: str, paths: Sequence[Sequence[str]]) -> str:
    """Return the text without those members at the paths that are empty."""
    for path in sorted(paths, key=len, reverse=True):
        plain = _checked(text)
        above, start = _start(plain, path[:-1]), _start(plain, path)
        if above is not None and start is not None and not any(_parts(plain, start)):
            emptied = _last(plain, above, path[-1])
            text = text if emptied is None else _cut(text, plain, above, emptied)
    return text


class _JsonPart(NamedTuple):
    """A member of an object or an element of a list: where it, its value and its end stand."""

    key: str | None
    begin: int
    value: int
    end: int


def _checked(text: str) -> str:
    """Return the text with blanks for comments and last commas. Raises ValueError: it is no JSON object."""
    plain = _STRINGS_AND_LAST_COMMAS.sub(lambda m: m[1] or " ", _without_comments(text))
    if not isinstance(json.loads(plain), dict):
        raise ValueError("it holds no JSON object")
    return plain


def _without_comments(text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])

    return _STRINGS_AND_COMMENTS.sub(blank, re.sub("^\ufeff", " ", text))


def _skip(plain: str, at: int) -> int:
    match = _SPACE.match(plain, at)
    return at if match is None else match.end()


def _parts(plain: str, start: int) -> Iterator[_JsonPart]:
    """Yield the parts of the object or list that begins at ``start``."""
    at = _skip(plain, start + 1)
    while plain[at] not in "}]":
        begin, key = at, None
        if plain[start] == "{":
            key, at = _DECODER.raw_decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)
        _, end = _DECODER.raw_decode(plain, at)
        yield _JsonPart(key, begin, at, end)
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)


def _last(plain: str, start: int, name: str) -> _JsonPart | None:
    """Return the member of a name; of several the last one counts, as in every reader of JSON."""
    named = [part for part in _parts(plain, start) if part.key == name]
    return named[-1] if named else None


def _start(plain: str, path: Sequence[str]) -> int | None:
    start = _skip(plain, 0)
    for name in path:
        part = _last(plain, start, name) if plain[start] == "{" else None
        if part is None:
            return None
        start = part.value
    return start


def _end(plain: str, start: int) -> int:
    """Return where the bracket stands that closes an object or list."""
    return _DECODER.raw_decode(plain, start)[1] - 1


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    first = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return "  " if first is None else "\t" if first[1].startswith("\t") else first[1]


def _inserted(text: str, plain: str, start: int, key: str | None, value: Any) -> str:
    """Return the text with one more part at the end of the object or list that begins at ``start``."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    newline = "\r\n" if "\r\n" in text else "\n"
    parts, close = list(_parts(plain, start)), _end(plain, start)
    if parts and "\n" not in text[start:close]:
        compact = json.dumps(value, ensure_ascii=False)
        return f"{text[: parts[-1].end]}, {name}{compact}{text[parts[-1].end :]}"
    outer = _indent_at(text, start)
    indent = _indent_at(text, parts[0].begin) if parts else outer + _unit(text)
    body = f"{name}{json.dumps(value, indent=_unit(text), ensure_ascii=False)}".replace(
        "\n", newline + indent
    )
    if not parts:
        filled = start + 1 + len(text[start + 1 : close].rstrip())
        return f"{text[:filled]}{newline}{indent}{body}{newline}{outer}{text[close:]}"
    last = parts[-1].end
    comma = _without_comments(text).find(",", last, close)
    after = last if comma < 0 else comma + 1
    if (comment := _COMMENT_ON_LINE.match(text, after)) is not None:
        after += len(comment[0].rstrip())
    between = text[last:after]
    return f"{text[:last]}{',' if comma < 0 else ''}{between}{newline}{indent}{body}" + (
        text[after:] if comma < 0 else f",{text[after:]}"
    )


def _cut(text: str, plain: str, start: int, part: _JsonPart) -> str:
    """Return the text without one part of the object or list that begins at ``start``."""
    parts, close = list(_parts(plain, start)), _end(plain, start)
    at = parts.index(part)
    bare = _without_comments(text)
    begin = len(text[: part.begin].rstrip())
    if at + 1 < len(parts):
        return text[:begin] + text[bare.index(",", part.end) + 1 :]
    if at > 0:
        comma = bare.index(",", parts[at - 1].end)
        return text[:comma] + text[comma + 1 : begin] + text[part.end :]
    comma = bare.find(",", part.end, close)
    rest = text[part.end if comma < 0 else comma + 1 :]
    return text[:begin] + (rest.lstrip() if not text[start + 1 : begin].strip() else rest)
