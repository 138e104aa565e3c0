"""Passages: the text of a document in pieces that are searched, each with its place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from graphmem.ingest.document import ParsedDocument
from graphmem.model import canonical

PASSAGE_CHARACTERS: Final = 900  # characters of a passage at most
TEXT_CHARACTERS: Final = 2_000_000
"""Characters at the beginning of a text that are divided into passages: some 700 pages."""
DIVISION: Final = 1
"""The version of the division. Whoever changes :func:`divided` raises it: the worker then makes all passages
anew."""

WAITING: Final = "?"  # the reader of a source whose passages are to be made
_ENDS: Final = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"[.!?。！？]+(?=\s)|[。！？]", r"\s")))
"""Where a text is divided, the best places first: between paragraphs, lines, sentences, words."""
_BLANK: Final = re.compile(r"\s*")


class Passage(NamedTuple):
    """A piece of a text: it begins and ends at these characters of the text, end exclusive.

    ``page`` is the page, the slide or the sheet, 0 where the format has none. ``line`` counts from 1.
    """

    start: int
    end: int
    page: int
    line: int


def divided(document: ParsedDocument) -> list[Passage]:
    """Divide the text of a document at its pages and between its paragraphs, lines, sentences or words.

    Each passage but the last of a page has at least half of ``PASSAGE_CHARACTERS``.
    """
    text, starts, pages = document.text, [0], [0]
    size = min(len(text), TEXT_CHARACTERS)
    for part in document.parts:
        page, start = part.span.page, part.span.start
        if page is not None and start is not None and page > pages[-1] and start >= starts[-1]:
            starts.append(start)
            pages.append(page)
    passages: list[Passage] = []
    start, line, counted = _BLANK.match(text).end(), 1, 0  # pyright: ignore[reportOptionalMemberAccess]
    while start < size:
        place = bisect_right(starts, start)
        end = _end(text, start, min([*starts[place : place + 1], size]))
        line += text.count("\n", counted, start)
        counted = start
        passages.append(Passage(start, start + len(text[start:end].rstrip()), pages[place - 1], line))
        start = _BLANK.match(text, end).end()  # pyright: ignore[reportOptionalMemberAccess]
    return passages


def key_of(texts: Sequence[str], places: Sequence[int]) -> str:
    """Return the digest of passages and their places, by which the audit knows them."""
    return canonical.digest(canonical.encode([list(texts), list(places)]))


def _end(text: str, start: int, limit: int) -> int:
    """Return where a passage ends that begins at a character, and may reach up to another one."""
    most = start + PASSAGE_CHARACTERS
    if limit <= most:
        return limit
    for end in _ENDS:
        ends = [each.end() for each in end.finditer(text, start + PASSAGE_CHARACTERS // 2, most)]
        if ends:
            return ends[-1]
    return most
