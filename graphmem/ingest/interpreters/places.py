"""Places in the text of a document: narrower ones, all of it, and how a sentence names one."""

from __future__ import annotations

from dataclasses import replace

from graphmem.ingest.document import Document, Span


def inside(text: str, span: Span, value: str, begin: int | None = None) -> Span:
    """Return the place of a text within a span, from an offset on; the span itself if it is not there."""
    if span.start is None or span.end is None or not value:
        return span
    start = text.find(value, max(span.start, begin or 0), span.end)
    if start < 0:
        return span
    line = None if span.line is None else span.line + text.count("\n", span.start, start)
    return replace(span, line=line, start=start, end=start + len(value))


def widened(first: Span, last: Span) -> Span:
    """Return the span from the start of one to the end of another."""
    return replace(first, end=last.end) if first.start is not None and last.end is not None else first


def whole(document: Document) -> Span | None:
    """Return the place of all the text of a document, ``None`` if it has none."""
    return Span(line=1, start=0, end=len(document.text)) if document.text else None


def place(span: Span | None) -> str:
    """Return where a span is, for a sentence: `` in row 3``; empty if it does not say."""
    for name in ("cell", "row", "message", "line", "page"):
        if span is not None and (value := getattr(span, name)) is not None:
            return f" in {name} {value}"
    return ""


def heading(document: Document, title: str) -> Span | None:
    """Return the place of the heading or slide that is the title of a document, ``None`` if there is none."""
    for part in document.parts:
        if part.kind in ("heading", "slide"):
            for span in (part.span, *(field.span for field in part.fields)):
                if span.start is not None and document.text[span.start : span.end] == title:
                    return span
    return None
