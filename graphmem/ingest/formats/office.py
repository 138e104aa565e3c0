"""What office documents share: the members of their packages, their properties, the kinds of paragraphs."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import IO, Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest import archives
from graphmem.ingest.building import Builder
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office_text import Relation, Walk, letters, local
from graphmem.ingest.links import without_addresses

PROPERTIES = ("author", "creator", "subject", "keywords", "category", "comments", "description", "language",
              "last_modified_by", "lastModifiedBy", "created", "modified", "revision")  # fmt: skip
RENAMED = {"creator": "author", "lastModifiedBy": "last_modified_by", "description": "comments"}
DRAWINGS = ("chart", "chartEx", "diagramData")
"""The relationships of a member to drawings whose text is shown on it."""
LABELS_OF_CHART = ".//{*}strCache/{*}pt/{*}v"
_TEXT = re.compile(rb"<(?:\w+:)?t[ >]")
_NO_CONTENT = re.compile(
    r"customXml/|docProps/|word/glossary/|ppt/(?:notes|handout)Masters/|\w+/diagrams/"
    r"|xl/(?:sharedStrings|worksheets/|externalLinks/)"
)
"""Members whose text is no content: what templates keep, what other members repeat, what was read already."""
_OBJECT = re.compile(r"Object \d+/content\.xml")


def describe(builder: Builder, properties: Any) -> None:
    builder.title = getattr(properties, "title", None) or None
    for name in PROPERTIES:
        value = getattr(properties, name, None)
        if isinstance(value, datetime):
            value = value.isoformat()
        elif name == "revision" and isinstance(value, str) and value.isdecimal():
            value = int(value)
        if value:
            builder.metadata.setdefault(RENAMED.get(name, name), value)


def add_paragraph(builder: Builder, text: str, heading: int | None, depth: int) -> None:
    """Add a paragraph, unless it is blank. The first heading of level 1 is the title if there is none.

    Args:
        heading: the level of a heading, None for other text.
        depth: how many lists it stands in.
    """
    text = text.strip()
    if not text:
        return
    span = builder.add(text, "\n")
    if heading is not None:
        if builder.title is None and heading == 1:
            builder.title = without_addresses(text)
        builder.part("heading", span, level=max(1, heading))
    elif depth:
        builder.part("item", span, level=depth)
    else:
        builder.part("paragraph", span)


def add_once(builder: Builder, texts: Iterable[str]) -> None:
    """Add texts that stand on several pages as paragraphs, each once."""
    for text in dict.fromkeys(texts):
        add_paragraph(builder, text, None, 0)


class Package:
    """The members of an Office file. It remembers which ones were read."""

    def __init__(self, builder: Builder, data: bytes) -> None:
        self.builder = builder
        self.data = archives.check(data, builder)
        self._archive = zipfile.ZipFile(io.BytesIO(self.data))
        self._names = set(self._archive.namelist())
        self._roots: dict[str, etree._Element] = {}
        self._relations: dict[str, dict[str, Relation]] = {}
        self._walks: list[tuple[str, Walk]] = []

    def main(self, kind: str) -> str:
        """Return the name of the main member.

        Raises:
            ParseFailed: there is none, or its root is another element than ``kind``.
        """
        # Where the relationships of the package are damaged, the usual name is the main member.
        usual = next((name for name in self._names if name.endswith(f"/{kind}.xml")), "")
        main = next((each.target for each in self.related("", "officeDocument")), usual)
        if local(self.root(main).tag) != kind:
            raise ParseFailed(f"The file is damaged: it has no {kind}.", "damaged")
        return main

    def root(self, name: str) -> etree._Element:
        """Return the root of a member, an empty element if there is no such member."""
        root = self._roots.get(name)
        if root is None:
            root = self._roots[name] = self._parsed(name)
        return root

    def _parsed(self, name: str) -> etree._Element:
        if name in self._names:
            parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
            try:
                return etree.fromstring(self._archive.read(name), parser)
            except etree.XMLSyntaxError as exc:
                self.builder.warn(f"The member {name[:100]} is damaged and left out: {exc}."[:300])
        return etree.Element("none")

    def opened(self, name: str) -> IO[bytes]:
        """Open a member that is too large for a tree."""
        return self._archive.open(name)

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the relationships of a member by their ids; those of the package are of an empty name."""
        relations = self._relations.get(name)
        if relations is None:
            folder, _, file = name.rpartition("/")
            root = self.root(posixpath.join(folder, "_rels", f"{file}.rels"))
            relations = {each.get("Id", ""): _relation(each, folder) for each in root}
            self._relations[name] = relations
        return relations

    def related(self, name: str, *kinds: str) -> list[Relation]:
        """Return the members to which a member refers by these kinds of relationships."""
        relations = self.relations(name).values()
        return [each for each in relations if each.kind in kinds and not each.is_external]

    def describe(self) -> None:
        for relation in self.related("", "core-properties"):
            root = self.root(relation.target)
            values = {local(each.tag): (each.text or "").strip() for each in root}
            describe(self.builder, SimpleNamespace(**values))

    def walk(self, name: str) -> Walk:
        """Return what reads the text of a member; :meth:`warn_of_rest` compares what it has read."""
        walk = Walk(self.root(name), self.relations(name))
        self._walks.append((name, walk))
        return walk

    def drawing_texts(self, name: str) -> Iterator[str]:
        for relation in self.related(name, *DRAWINGS):
            walk = self.walk(relation.target)
            labels = (each.text or "" for each in walk.root.iterfind(LABELS_OF_CHART))
            texts = [walk.line(walk.root), " ".join(dict.fromkeys(labels))]
            yield from filter(None, texts)

    def warn_of_rest(self) -> None:
        """Warn of text that was not read, and of files within the file."""
        for name, walk in self._walks:
            self.builder.left_out("partly read member", walk.rest, name)
        for name in sorted(self._names - self._roots.keys()):
            if "/embeddings/" in name or "afchunk" in name.lower() or _OBJECT.match(name):
                self.builder.left_out("embedded file", None, name)
            elif (
                name.endswith(".xml")
                and not _NO_CONTENT.match(name)
                and _TEXT.search(self._archive.read(name))
            ):
                root = self.root(name)
                # Placeholders of masters have prompts, which a slide fills.
                shapes = root.iter("{*}sp") if name.startswith("ppt/slide") else ()
                prompts = (letters(each) for each in shapes if next(each.iter("{*}ph"), None) is not None)
                self.builder.left_out("member", letters(root) - sum(prompts), name)


def _relation(element: etree._Element, folder: str) -> Relation:
    target, is_external = element.get("Target", ""), element.get("TargetMode") == "External"
    if not is_external:
        target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return Relation(element.get("Type", "").rpartition("/")[2], target, is_external)
