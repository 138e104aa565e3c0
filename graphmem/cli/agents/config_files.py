"""Files of agents: read, planned, written and put back.

A *change* is planned first, so that it can be shown. The *record* of a written change says how the file was
before: what was taken out of it and put into it, never the whole file. It is kept in the user's data
directory (mode 0600). Undoing gives the earlier bytes where nobody has changed the file since. Where somebody
has, the entries of graphmem are taken out one by one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from graphmem.cli.agents.jsonc_edit import BOM, JsonEntry, merged, pruned
from graphmem.cli.agents.kept_files import data_folder, keep, kept
from graphmem.errors import ConfigurationInvalid

RECORDS = "setup.json"


class WholeFile(NamedTuple):
    """A file that is graphmem's alone."""

    value: str

    def value_in(self, text: str) -> Any:
        return text or None

    def put(self, text: str) -> str:
        """Return the value. Raises ValueError: the file is somebody else's."""
        if text not in ("", self.value):
            raise ValueError("it is there already, with another content: move it away")
        return self.value

    def removed(self, text: str) -> str:
        """Return an empty text. Raises ValueError: somebody has changed the content."""
        if text not in ("", self.value):
            raise ValueError("it was changed after graphmem wrote it: remove it by hand")
        return ""


class FileChange(NamedTuple):
    """A planned change of a file; None stands for a file that is not there."""

    path: Path
    before: str | None
    after: str | None
    record: dict[str, Any] | None = None

    @property
    def is_change(self) -> bool:
        return self.before != self.after


def plan(path: Path, edits: Sequence[Edit]) -> FileChange:
    """Return the change that puts entries into a file.

    Raises ConfigurationInvalid: it cannot be changed so.
    """
    with _refusing(path):
        text, record = _read(path), kept(RECORDS).get(str(path.resolve()))
        if text is not None and all(edit.value_in(text) == edit.value for edit in edits):
            return FileChange(path, text, text, record)
        # An entry that somebody wrote by hand is there again after an undo.
        is_by_hand = record is None and all(isinstance(edit, JsonEntry | TomlEntry) for edit in edits)
        base = text if is_by_hand else _without(text, record, edits)
        made = [path for edit in edits if isinstance(edit, JsonEntry) for path in edit.missing(base or "")]
        # What is there already is changed where it stands.
        after, splices = text if base is not None and text is not None else "", []
        for edit in edits:
            before, after = after, edit.put(after)
            splices.append(_splice(before, after))
        if base is not None and base != text:
            splices = [_splice(base, after)]
        folders = [str(each) for each in path.parents if not each.exists()]
        return FileChange(path, text, after, {
            "existed": base is not None, "hash": _hash(after), "splices": splices, "made": made,
            "folders": record["folders"] if record else folders,
        })  # fmt: skip


def plan_undo(path: Path, edits: Sequence[Edit]) -> FileChange:
    """Return the change that takes entries out again.

    Raises ConfigurationInvalid: it cannot be changed so.
    """
    with _refusing(path):
        text, record = _read(path), kept(RECORDS).get(str(path.resolve()))
        return FileChange(path, text, _without(text, record, edits), record)


def apply(change: FileChange, *, is_undo: bool = False) -> None:
    """Write a planned change.

    Raises ConfigurationInvalid: the file cannot be written, or has changed since.
    """
    from graphmem.neo4j_local.private_files import changing

    path = change.path
    data_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with _refusing(path), changing(data_folder() / "setup"):
        if _read(path) != change.before:
            raise ValueError("another program has just changed it: run this again")
        if not is_undo:
            keep(RECORDS, str(path.resolve()), change.record)
        if change.after is None:
            path.resolve().unlink(missing_ok=True)
        elif change.is_change:
            _write(path, change.after)
        if is_undo:
            for folder in (change.record or {}).get("folders", []):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
            keep(RECORDS, str(path.resolve()), None)


def _without(text: str | None, record: dict[str, Any] | None, edits: Sequence[Edit]) -> str | None:
    """Return a file as it was before graphmem wrote into it; None if it was not there."""
    if text is None:
        return None
    if record is not None and record["hash"] == _hash(text):
        if not record["existed"]:
            return None
        before = text
        for at, old, new in reversed(record["splices"]):
            before = before[:at] + old + before[at + len(new) :]
        return before
    rest = text
    for edit in edits:
        rest = edit.removed(rest)
    if record is not None and record["made"]:
        rest = pruned(rest, record["made"])
    if rest == text:
        return text
    is_left_over = record is not None and not record["existed"] and not rest.strip("{} \t\r\n")
    return None if is_left_over or (any(isinstance(edit, WholeFile) for edit in edits) and not rest) else rest


def _splice(before: str, after: str) -> tuple[int, str, str]:
    """Return where two texts differ, and what each of them has there."""
    begin = _common_length(before, after)
    end = _common_length(before[begin:][::-1], after[begin:][::-1])
    return begin, before[begin : len(before) - end], after[begin : len(after) - end]


def _common_length(text: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    pairs = zip(text, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(text), len(other)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def _refusing(path: Path) -> Any:
    """Report what is wrong with a file as ConfigurationInvalid, with what to do."""
    try:
        yield
    except UnicodeDecodeError:
        raise ConfigurationInvalid(f"{path} is no UTF-8 text: nothing was changed", file=str(path)) from None
    except ValueError as exc:
        raise ConfigurationInvalid(
            f"{path} was not changed: {exc}. Mend the file, or add the entry by hand", file=str(path)
        ) from None
    except OSError as exc:
        raise ConfigurationInvalid(
            f"{path} cannot be used: {exc.strerror or exc}. Mend that, and run this again", file=str(path)
        ) from None


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    """Replace a file atomically and keep its mode. A link stays, and what it names is replaced."""
    from graphmem.neo4j_local.private_files import write_private

    target = path.resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    if mode is not None and not mode & stat.S_IWUSR:
        raise ValueError("it is read-only: make it writable")
    for folder in reversed([each for each in target.parents if not each.exists()]):
        folder.mkdir()
        folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode) & 0o755)
    # A new file may be read by whoever may read its folder.
    new_mode = stat.S_IMODE(target.parent.stat().st_mode) & 0o644
    write_private(target, text, new_mode if mode is None else mode)


BEGIN = "<!-- graphmem: begin; `graphmem instructions install --undo` removes this block -->"
END = "<!-- graphmem: end -->"
_BLOCK = re.compile(r"<!-- graphmem: begin\b.*?<!-- graphmem: end -->\r?\n?", re.DOTALL)


class MarkdownBlock(NamedTuple):
    """The lines of graphmem in a file."""

    lines: str  # what stands between the markers
    front: str = ""  # what a file of graphmem alone begins with, so that the agent always reads it

    @property
    def value(self) -> str:
        return f"{BEGIN}\n{self.lines.strip()}\n{END}\n"

    def value_in(self, text: str) -> str | None:
        match = _BLOCK.search(text)
        return None if match is None else match[0].replace("\r\n", "\n").rstrip("\n") + "\n"

    def put(self, text: str) -> str:
        """Return the text of a file with the block: in its place, or behind everything else.

        Raises ValueError: the file has only one of the markers.
        """
        self._check(text)
        newline = "\r\n" if "\r\n" in text else "\n"
        block = self.value.replace("\n", newline)
        if _BLOCK.search(text):
            return _BLOCK.sub(lambda _: block, text, count=1)
        if not text:
            return self.front + block
        gap = newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}{block}"

    def removed(self, text: str) -> str:
        """Return the text without the block and the blank line before it."""
        self._check(text)
        match = _BLOCK.search(text)
        if match is None:
            return text
        before = re.sub(r"(?<=\n)\r?\n\Z", "", text[: match.start()])
        rest = before + text[match.end() :]
        return "" if rest == self.front else rest

    def _check(self, text: str) -> None:
        begins, ends = text.count("<!-- graphmem: begin"), text.count(END)
        if begins != ends or begins > 1:
            raise ValueError("the markers of graphmem in it are not one pair")


class TomlEntry(NamedTuple):
    """The table at ``path`` of a TOML file, and the value that it is set to."""

    path: tuple[str, ...]
    value: Any

    def value_in(self, text: str) -> Any:
        """Return the value that a file has at the path, None if it has none.

        Raises ValueError: it is no TOML.
        """
        value: Any = tomllib.loads(text.removeprefix(BOM))
        for name in self.path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def put(self, text: str) -> str:
        """Return the text of a file with the table.

        Raises ValueError: it is no TOML, or has no room for it.
        """
        import tomlkit
        from tomlkit.items import InlineTable

        value = merged(before := self.value_in(text), self.value)
        if before == value:
            return text
        document = tomlkit.parse(text.removeprefix(BOM))
        above: Any = document
        for name in self.path[:-1]:
            if name not in above:
                above.append(name, tomlkit.table(is_super_table=True))
            above = above[name]
            if not hasattr(above, "keys"):
                raise ValueError(f"{name} in it is no table")
        is_inline = isinstance(above, InlineTable)
        table = tomlkit.inline_table() if is_inline else tomlkit.table()
        table.update(value)
        if not is_inline:
            # A blank line before the table that follows.
            table.add(tomlkit.nl())
        above[self.path[-1]] = table
        after = text[: text.startswith(BOM)] + tomlkit.dumps(document)
        after = after[:-1] if after.endswith("\n\n") and not text.endswith("\n\n") else after
        if "\n" not in text.replace("\r\n", ""):
            after = after.replace("\r\n", "\n").replace("\n", "\r\n" if "\r\n" in text else "\n")
        return self._checked(text, after)

    def removed(self, text: str) -> str:
        import tomlkit

        if self.value_in(text) is None:
            return text
        document = tomlkit.parse(text.removeprefix(BOM))
        above: Any = document
        for name in self.path[:-1]:
            above = above[name]
        table = above[self.path[-1]]
        del above[self.path[-1]]
        after = text[: text.startswith(BOM)] + tomlkit.dumps(document)
        # Comments behind the last value are about what follows.
        lines = reversed(table.as_string().rstrip().split("\n"))
        behind = list(takewhile(lambda line: not line.strip() or line.lstrip().startswith("#"), lines))
        head = re.search(rf"^\[{re.escape('.'.join(self.path))}\]", text, re.MULTILINE)
        if head and behind:
            comments = "\n".join(reversed(behind)).lstrip("\r\n") + "\n"
            after = after[: head.start()] + comments + after[head.start() :]
        return self._checked(text, after)

    def _checked(self, before: str, after: str) -> str:
        """Return ``after`` if nothing but the table differs.

        Raises ValueError: something else would change.
        """
        if self._others(before) != self._others(after):
            raise ValueError("its tables are written in a way in which nothing can be added")
        return after

    def _others(self, text: str) -> Any:
        document = tomllib.loads(text.removeprefix(BOM))
        above: Any = document
        for name in self.path[:-1]:
            above = above.get(name, {})
        above.pop(self.path[-1], None)
        if not above:
            document.pop(self.path[0], None)
        return document


Edit = WholeFile | MarkdownBlock | TomlEntry | JsonEntry
"""An entry of graphmem in a file: what a file has for it, and the text of a file with and without it."""
