"""PowerPoint: slides with their text, tables and notes. A slide is a part, `page` is its number."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pptx
from pptx.exc import PackageNotFoundError

from graphmem.ingest import archives
from graphmem.ingest.building import Builder, normal
from graphmem.ingest.document import FileSpan, ParseFailed, PartField
from graphmem.ingest.formats.office import describe
from graphmem.ingest.tabular import add_rows, numbered


def parse(builder: Builder, data: bytes, name: str) -> None:
    data = archives.check(data, builder)
    try:
        presentation = pptx.Presentation(io.BytesIO(data))
    except (KeyError, ValueError, PackageNotFoundError) as exc:
        raise ParseFailed(f"The presentation is damaged: {exc}."[:300], "damaged") from None
    describe(builder, presentation.core_properties)
    number = 0
    for number, slide in enumerate(presentation.slides, 1):
        builder.check_page(number)
        # One that is damaged is empty: `archives.check` has said so.
        if len(slide.element):
            _add_slide(builder, slide, number)
    builder.metadata["slides"] = number


def _add_slide(builder: Builder, slide: Any, number: int) -> None:
    start, line, place = builder.position, builder.line, builder.reserve()
    fields: list[PartField] = []
    title = slide.shapes.title
    for shape in _shapes(slide.shapes):
        if shape.has_text_frame and (text := _text(shape.text_frame)):
            span = builder.add(text, "\n")
            if title is not None and shape.shape_id == title.shape_id:
                fields.append(PartField("title", normal(text), span._replace(page=number)))
                builder.title = builder.title or text
        elif getattr(shape, "has_table", False) and shape.has_table:
            rows = ([" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows)
            add_rows(builder, numbered(rows), number)
    has_notes = slide.has_notes_slide and len(slide.notes_slide.element)
    if has_notes and slide.notes_slide.notes_text_frame is not None:
        notes = _text(slide.notes_slide.notes_text_frame)
        if notes:
            span = builder.add_line("Notes", notes)._replace(page=number)
            fields.append(PartField("notes", normal(notes), span))
    end = max(start, builder.position - 1)
    builder.add("", "\n")
    builder.part("slide", FileSpan(page=number, line=line, start=start, end=end), fields, place=place)


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield the shapes in their order, those of groups in the place of the group."""
    waiting = list(reversed(list(shapes)))
    while waiting:
        shape = waiting.pop()
        if hasattr(shape, "shapes"):
            waiting.extend(reversed(list(shape.shapes)))
        else:
            yield shape


def _text(frame: Any) -> str:
    # A line break within a paragraph is a vertical tab.
    return "\n".join(
        line for paragraph in frame.paragraphs if (line := paragraph.text.replace("\v", "\n").strip())
    )
