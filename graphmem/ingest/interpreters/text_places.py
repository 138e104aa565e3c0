"""Places in the text of a document: narrower ones, all of it, and how a sentence names one."""

from __future__ import annotations

from graphmem.ingest.document import FileSpan, ParsedDocument


class Cursor:
    """Finds texts within a span, each after the one before."""

    def __init__(self, text: str, span: FileSpan, reach: int | None = None) -> None:
        """``reach``: how many characters may stand before the next text; by default all of the span."""
        self._text = text
        self._span = span
        self._reach = reach
        self._position = span.start or 0
        self._line = span.line

    def find(self, value: str) -> FileSpan:
        """Return the next place of a text; the whole span if it is not there."""
        if self._span.start is None or self._span.end is None or not value:
            return self._span
        end = self._span.end
        if self._reach is not None:
            end = min(end, self._position + self._reach + len(value))
        start = self._text.find(value, self._position, end)
        if start < 0:
            return self._span
        line = self._moved(start)
        self._moved(start + len(value))
        return self._span._replace(line=line, start=start, end=start + len(value))

    def _moved(self, position: int) -> int | None:
        if self._line is not None:
            self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line


def widen(first: FileSpan, last: FileSpan) -> FileSpan:
    return first._replace(end=last.end) if first.start is not None and last.end is not None else first


def whole_text(document: ParsedDocument) -> FileSpan | None:
    """Return the place of all the text of a document, ``None`` if it has none."""
    return FileSpan(line=1, start=0, end=len(document.text)) if document.text else None


def place(span: FileSpan | None) -> str:
    """Return where a span is, for a sentence: `` in row 3``; empty if it does not say."""
    for name in ("cell", "row", "message", "line", "page"):
        if span is not None and (value := getattr(span, name)) is not None:
            return f" in {name} {value}"
    return ""


def heading(document: ParsedDocument, title: str) -> FileSpan:
    """Return the place of the heading or slide that is the title of a document, an empty one if none is."""
    for part in document.parts:
        if part.kind in ("heading", "slide"):
            for span in (part.span, *(field.span for field in part.fields)):
                if span.start is not None and document.text[span.start : span.end] == title:
                    return span
    return FileSpan()
