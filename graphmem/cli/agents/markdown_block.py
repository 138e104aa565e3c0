"""A block of lines between two markers, in a file of instructions that people write."""

from __future__ import annotations

import re
from dataclasses import dataclass

BEGIN = "<!-- graphmem: begin; `graphmem instructions install --undo` removes this block -->"
END = "<!-- graphmem: end -->"
_BLOCK = re.compile(r"<!-- graphmem: begin\b.*?<!-- graphmem: end -->\r?\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """The lines of graphmem in a file.

    Attributes:
        lines: what stands between the markers.
        front: what a file of graphmem alone begins with, so that the agent always reads it.
    """

    lines: str
    front: str = ""

    @property
    def value(self) -> str:
        return f"{BEGIN}\n{self.lines.strip()}\n{END}\n"

    def value_in(self, text: str) -> str | None:
        match = _BLOCK.search(text)
        return None if match is None else match[0].replace("\r\n", "\n").rstrip("\n") + "\n"

    def put(self, text: str) -> str:
        """Return the text of a file with the block: in its place, or behind everything else.

        ValueError: the file has only one of the markers.
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
