"""What office documents share: the members of their packages, their properties, the kinds of paragraphs."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from graphmem.ingest import archives
from graphmem.ingest.archives import PIECE_BYTES
from graphmem.ingest.building import Builder, without_addresses
from graphmem.ingest.document import ParseFailed
from graphmem.ingest.formats.office_text import Relation, Walk, letters, local
from graphmem.ingest.tables import table

DRAWINGS = ("chart", "chartEx", "diagramData")
"""The relationships of a member to drawings whose text is shown on it."""
LABELS_OF_CHART = ".//{*}strCache/{*}pt/{*}v"
_TEXT = re.compile(rb"<(?:\w+:)?t[ >]")
_NO_CONTENT = re.compile(
    r"customXml/|docProps/|word/glossary/|ppt/(?:notes|handout)Masters/|\w+/diagrams/"
    r"|xl/(?:sharedStrings|worksheets/|externalLinks/)"
)
"""Members whose text is no content: what templates keep, what other members repeat, what was read already."""
_FILE_NAME = re.compile(r"\S*\.\w{2,4}")
_OBJECT = re.compile(r"Object \d+/content\.xml")


def describe(builder: Builder, elements: Iterable[etree._Element], names: Mapping[str, str]) -> None:
    """Add the title of a document and its other properties, under the names that a table gives them."""
    for element in elements:
        name, value = local(element.tag), (element.text or "").strip()
        if name == "title":
            builder.title = value or None
        elif name in names and value not in ("", "0"):
            is_count = name == "revision" and value.isdecimal()
            builder.metadata.setdefault(names[name], int(value) if is_count else value)


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
        if name not in self._roots:
            self._roots[name] = etree.Element("none")
            parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
            try:
                if name in self._names:
                    self._roots[name] = etree.fromstring(self._archive.read(name), parser)
            except etree.XMLSyntaxError as exc:
                self.builder.drop(f"The member {name[:100]} is damaged and left out: {exc}."[:300])
        return self._roots[name]

    def opened(self, name: str) -> IO[bytes]:
        """Open a member that is too large for a tree."""
        return self._archive.open(name)

    def has(self, name: str, pattern: re.Pattern[bytes]) -> bool:
        """Return whether a place in a member matches, without all of it in memory."""
        tail = b""
        with self.opened(name) as member:
            while piece := member.read(PIECE_BYTES):
                if pattern.search(tail + piece):
                    return True
                tail = piece[-30:]
        return False

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
            describe(self.builder, self.root(relation.target), table("field_names")["office"])

    def walk(self, name: str) -> Walk:
        """Return what reads the text of a member; :meth:`warn_of_rest` compares what it has read."""
        walk = Walk(self.root(name), self.relations(name))
        self._walks.append((name, walk))
        return walk

    def walks(self, name: str, *kinds: str) -> list[Walk]:
        return [self.walk(relation.target) for relation in self.related(name, *kinds)]

    def drawing_texts(self, name: str) -> Iterator[str]:
        """Yield the texts of the drawings of a member, and the descriptions of its pictures."""
        pictures = self.root(name).iter("{*}docPr", "{*}cNvPr")
        descriptions = (" ".join(each.get("descr", "").split()) for each in pictures)
        yield from dict.fromkeys(each for each in descriptions if each and not _FILE_NAME.fullmatch(each))
        for walk in self.walks(name, *DRAWINGS):
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
            elif name.endswith(".xml") and not _NO_CONTENT.match(name):
                data = self._archive.read(name)
                shapes, prompts = data.count(b"<p:sp>"), data.count(b"<p:ph")
                # Placeholders of masters have prompts, which a slide fills.
                if _TEXT.search(data) and not (name.startswith("ppt/slide") and shapes == prompts > 0):
                    root = self.root(name)
                    filled = (
                        each for each in root.iter("{*}sp") if next(each.iter("{*}ph"), None) is not None
                    )
                    of_prompts = sum(map(letters, filled)) if name.startswith("ppt/slide") else 0
                    self.builder.left_out("member", letters(root) - of_prompts, name)


def _relation(element: etree._Element, folder: str) -> Relation:
    target, is_external = element.get("Target", ""), element.get("TargetMode") == "External"
    if not is_external:
        target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return Relation(element.get("Type", "").rpartition("/")[2], target, is_external)
