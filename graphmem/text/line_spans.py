"""The parts of a line of text that may be one identifier, and where they stand."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from graphmem.text import words

_LINES = re.compile("[\n\r\t\v\f\x1c-\x1e\x85\u2028\u2029]+")
_INVISIBLE: Final = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
)
_SIGNS: Final = {
    **_INVISIBLE,
    **dict.fromkeys(map(ord, "‐‑‒–−"), "-"),
    **dict.fromkeys(map(ord, "’ʼ`´"), "'"),
}
_AROUND: Final = "\"'.,;:!?()[]{}<>«»„“”‘’…¿¡#*_"
_ATOM = re.compile(r"[^\W_](?:[\w.@/+:#&=%~\\?'-]*[^\W_])?")
"""Characters in a row that may be one identifier: signs within it belong to it, signs around it do not."""
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{0,31}://|www\.)[^\s<>\"{}|\\^`\[\]]+")
_URL_ENDS: Final = ".,;:!?'*_"
_LABELLED = re.compile(
    r"[^\W\d_]+(?:-[^\W\d_]+)*[:#=](?=[^\W_]|\+)|(?:no|nr|nro|num|ref|id|tel|fax|art|best)\.(?=[0-9])"
)
"""What stands before an identifier without a blank: ``tel:``, ``isbn:``, ``No.``."""
_FILE_ENDING = re.compile(
    r"\.(?:csv|docx?|eml|html?|jpe?g|json|md|msg|odt|ods|pdf|png|pptx?|tiff?|txt|xlsx?|xml|zip)$"
)
_JOINERS: Final = frozenset("-./@#&=%~\\_+")


class LineSpan(NamedTuple):
    """A part of a line, from ``start`` up to ``end``."""

    start: int
    end: int


def lines_of(text: str) -> list[str]:
    """Return the lines of a text: folded, one blank between words, one sign for each kind of hyphen."""
    parts = _LINES.split(text)
    return [" ".join(words.folded(part.translate(_SIGNS)).split()) for part in parts]


def bare(folded: str) -> str:
    """Return a text without the punctuation around it."""
    text = folded.strip(_AROUND).strip()
    if "(" in text and folded.count("(") == folded.count(")") != text.count(")"):
        text += ")"
    return text


def atoms_of(line: str) -> Iterator[LineSpan]:
    """Yield the runs of characters of a line that may be one identifier, without a possessive ending."""
    plain = line if line.isascii() else "".join("|" if words.is_dense(c) else c for c in line)
    for match in _ATOM.finditer(plain):
        text = match[0]
        yield LineSpan(match.start(), match.end() - (2 if text.endswith("'s") else 0))


def is_atom(text: str) -> bool:
    return [(span.start, span.end) for span in atoms_of(text)] == [(0, len(text))]


def parts_of(atom: str) -> Iterator[tuple[int, str]]:
    """Yield an atom, and what is left of it without a label before it or a file ending: with their places."""
    offset, text = 0, atom
    while True:
        yield offset, text
        ending = _FILE_ENDING.search(text)
        if ending and "@" not in text and "/" not in text:
            yield offset, text[: ending.start()]
        label = _LABELLED.match(text)
        if label is None:
            return
        offset, text = offset + label.end(), text[label.end() :]


def urls_of(line: str) -> Iterator[LineSpan]:
    """Yield where a line has an address on the web with its scheme, or with ``www.``."""
    for match in _URL.finditer(line):
        text = match[0].rstrip(_URL_ENDS)
        end, unopened = len(text), text.count(")") - text.count("(")
        while unopened > 0 and text[end - 1] in ")" + _URL_ENDS:
            end, unopened = end - 1, unopened - (text[end - 1] == ")")
        yield LineSpan(match.start(), match.start() + len(text[:end].rstrip(_URL_ENDS)))


def places_of(line: str, text: str) -> Iterator[LineSpan]:
    """Yield where a line has a text that nothing joins to what is beside it."""
    start = line.find(text)
    while start >= 0:
        span = LineSpan(start, start + len(text))
        if is_apart(line, span):
            yield span
        start = line.find(text, start + 1)


def is_apart(line: str, span: LineSpan) -> bool:
    """Return whether nothing joins a part of a line to what is before and behind it."""
    before, after = line[max(0, span.start - 2) : span.start], line[span.end : span.end + 2]
    if before and (_is_letter(before[-1]) or (before[-1] == ":" and before[:1].isdigit())):
        return False
    if len(before) == 2 and before[1] in _JOINERS and before[0].isalnum():
        return False
    if after and _is_letter(after[0]):
        return False
    return not (len(after) == 2 and after[0] in _JOINERS | {":"} and after[1].isalnum())


def _is_letter(character: str) -> bool:
    return (character.isalnum() or character == "_") and not words.is_dense(character)
