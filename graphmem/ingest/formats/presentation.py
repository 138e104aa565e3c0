"""PowerPoint: slides with their text, tables, charts, notes and comments. `page` is the number of a slide."""

from __future__ import annotations

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest.building import Builder, address_after, normal, parted, without_addresses
from graphmem.ingest.document import FileSpan, PartField
from graphmem.ingest.formats.office import Package
from graphmem.ingest.formats.office_text import Walk, attribute, local
from graphmem.ingest.tabular import add_rows, numbered

COMMENTS = ("comments", "comment")
TITLES = {"title", "ctrTitle"}
TEXTS = {"txBody", "tbl"}
EVERYWHERE = {"sldNum", "dt", "hdr", "ftr"}  # placeholders of what stands on every page


def parse(builder: Builder, data: bytes, name: str) -> None:
    package = Package(builder, data)
    main = package.main("presentation")
    package.describe()
    relations = package.relations(main)
    number = 0
    for number, slide in enumerate(package.root(main).iterfind("{*}sldIdLst/{*}sldId"), 1):
        builder.check_page(number)
        relation = next((relations[id] for id in slide.attrib.values() if id in relations), None)
        if relation is not None:
            _add_slide(builder, package, relation.target, number)
    builder.metadata["slides"] = number
    package.warn_of_rest()


def _add_slide(builder: Builder, package: Package, name: str, number: int) -> None:
    start, line, place = builder.position, builder.line, builder.reserve()
    fields: list[PartField] = []
    walk = package.walk(name)
    # One that is damaged is empty: `archives.check` has said so.
    for shape in walk.within(walk.root, *TEXTS):
        if local(shape.tag) == "tbl":
            add_rows(builder, numbered(walk.rows(shape)), number)
        elif text := _text(walk, shape):
            link = shape.find("../{*}nvSpPr/{*}cNvPr/{*}hlinkClick")
            words, addresses = parted(
                text + (address_after(text, walk.target(link)) if link is not None else "")
            )
            span = builder.add(words)
            builder.add(addresses, "\n")
            if not any(field.name == "title" for field in fields) and _placeholder(shape) in TITLES:
                fields.append(PartField("title", normal(words), span._replace(page=number)))
                builder.title = builder.title or without_addresses(words)
    for text in package.drawing_texts(name):
        builder.add(text, "\n")
    notes = "\n".join(_notes(package, name))
    if notes:
        span = builder.add_line("Notes", notes)._replace(page=number)
        fields.append(PartField("notes", normal(notes), span))
    for relation in package.related(name, *COMMENTS):
        for comment in package.root(relation.target):
            texts = [each.text or "" for each in comment.iter("{*}text", "{*}t")]
            builder.add_line("Comment", "".join(texts))
    end = max(start, builder.position - 1)
    builder.add("", "\n")
    builder.part("slide", FileSpan(page=number, line=line, start=start, end=end), fields, place=place)


def _notes(package: Package, name: str) -> list[str]:
    """Return the notes of a slide, without what stands on every page of notes."""
    return [
        text
        for walk in package.walks(name, "notesSlide")
        for shape in walk.within(walk.root, *TEXTS)
        if (text := _text(walk, shape)) and _placeholder(shape) not in EVERYWHERE
    ]


def _placeholder(shape: etree._Element) -> str | None:
    around = shape.getparent()
    mark = None if around is None else around.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return None if mark is None else attribute(mark, "type")


def _text(walk: Walk, shape: etree._Element) -> str:
    texts = [walk.text(paragraph).strip() for paragraph in walk.within(shape, "p")]
    return "\n".join(filter(None, texts))
