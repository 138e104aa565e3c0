"""Markdown files of a folder: Obsidian, basic-memory, Notion, and those of `graphmem export`.

A file is an entity. Its front matter is its fields, and a link to another file is a relationship: what a link
means is known only beside the other files, so that all of them are read first.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from graphmem.ingest.document import LEFT_OUT
from graphmem.ingest.formats.markdown import EXPORTED, FRONT_MATTER, front_matter_fields
from graphmem.ingest.interpreters.exported_notes import exported_note
from graphmem.ingest.interpreters.interpret_memory import RELATION_TYPES, type_of_relation
from graphmem.ingest.interpreters.interpret_notes import GENERAL_TYPE, title_field
from graphmem.ingest.interpreters.labels import TYPE_LABELS, entity_type_of, field_name, type_of_table
from graphmem.model import identity, items, relationship

LINK: Final = "REFERS_TO"
LINKS_LIMIT: Final = 500  # links of one file: a request has no more items
_CODE: Final = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]+`|<!--.*?-->|%%.*?%%", re.DOTALL | re.MULTILINE)
"""Code, and comments of HTML and of Obsidian: what looks like a link, a tag or a heading there is none."""
_NO_NOTE: Final = re.compile(
    r".*\.(?:png|jpe?g|gif|webp|svg|bmp|tiff?|heic|avif|pdf|docx?|xlsx?|pptx?|odt|csv|zip|canvas|base"
    r"|mp[34]|m4a|wav|ogg|flac|webm|mov|mkv|3gp)",
    re.IGNORECASE,
)
"""Names of pictures and other files that a note embeds or links."""
_WIKI: Final = re.compile(r"(!?)\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_STATED: Final = re.compile(r"^\s*[-*] ([^\W\d_][\w -]{0,60}?) (?=\[\[[^\[\]\n]+\]\])", re.MULTILINE)
"""A list item of basic-memory: the type of a relation before its target."""
_FILE: Final = re.compile(r"\]\(<?([^()<>\s]+\.md)(?:#[^()\s]*)?>?\)")
_OWN_LINK: Final = re.compile(r"- (\S+) \[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\](?: (\{.*\}))?")
_TAG: Final = re.compile(r"(?:^|(?<=\s))#([^\W\d_][\w/-]*)")
_HEADING: Final = re.compile(r"^# +(.+?)[ #]*$", re.MULTILINE)
_NOTION_ID: Final = re.compile(r" [0-9a-f]{32}(?=\.\w+$|_all\.\w+$|/)")
_PROPERTY: Final = re.compile(r"([^\W\d_][^:\n]{0,60}): (.+)")
_PAGE: Final = re.compile(r"(?:^|, )(.+?) \(([^()\s]+\.md)\)(?=, |$)")
"""A page in a relation property of Notion: its name and its file."""


class NoteLink(NamedTuple):
    """A link to a file: its target as written, the type of the relationship, and what is said of it."""

    target: str
    relationship_type: str = LINK
    metadata: Mapping[str, Any] = {}
    title: str | None = None  # that of the target, where the file says it


@dataclass(slots=True)
class NoteFile:
    """A file as an entity.

    ``own_identity`` and ``observed_at`` are of a file of `graphmem export`: what identifies its entity, and,
    unless somebody edited the file, the time of what it says. So an old file does not undo what came later.
    """

    name: str
    entity_type: str
    fields: dict[str, Any]
    links: list[NoteLink] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    own_identity: dict[str, Any] | None = None
    observed_at: str | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def identifying(self) -> dict[str, Any]:
        """An item that identifies the entity, and says no more of it."""
        if self.own_identity is not None:
            at = self.own_identity.get("observed_at")
            when = {} if at is None else {"observed_at": at}
            return {"entity_type": self.entity_type, **self.own_identity["fields"], **when}
        basis = identity.identify("", self.entity_type, self.fields).basis
        named = identity.identifying_fields(self.entity_type, basis, self.fields)
        return {"entity_type": self.entity_type, **named}


def shown_name(name: str) -> str:
    """Return the name of a file without the ids that Notion puts into names."""
    return _NOTION_ID.sub("", name)


def shown_folder(name: str) -> str:
    return shown_name(f"{name}/").rstrip("/")


def read_note(name: str, text: str, entity_type: str | None = None) -> NoteFile:
    """Return a file as an entity. ``entity_type``: the one where the file does not say it."""
    text = text.strip("\ufeff\0").replace("\r\n", "\n")
    front = FRONT_MATTER.match(text)
    body = text[front.end() :] if front is not None else text
    front_fields, fault = front_matter_fields(front) if front is not None else ([], "")
    members = {each.name: each.value for each in front_fields}
    if front is not None and front[1].startswith(EXPORTED):
        note = _own(name, members, body, text)
        if note is not None:
            return note
    warnings = [f"{LEFT_OUT}The front matter is left out: {fault}"] if fault else []
    plain = _CODE.sub(lambda match: re.sub("[^\n]", " ", match[0]), body)
    links = [*_of_properties(members), *_of_body(name, plain)]
    fields = _fields(members, warnings)
    for label in TYPE_LABELS:
        stated = entity_type_of(fields.get(label))
        if stated is not None:
            entity_type = stated
            del fields[label]
            break
    fields.pop("entity_type", None)
    aliases = fields.get("aliases", fields.get("alias", []))
    title, content = _titled(name, body, plain, fields, entity_type or GENERAL_TYPE, links)
    names = [title, *(aliases if isinstance(aliases, list) else [aliases]), fields.get("permalink")]
    fields |= {"content": content} if content else {}
    if tags := _tags(fields.get("tags", fields.get("tag")), plain):
        fields["tags"] = tags
    if len(links) > LINKS_LIMIT:
        warnings.append(f"{LEFT_OUT}It has more than {LINKS_LIMIT} links: the others are left out.")
    texts = [each for each in names if isinstance(each, str)]
    return NoteFile(name, entity_type or GENERAL_TYPE, fields, links[:LINKS_LIMIT], texts, warnings=warnings)


def _own(name: str, members: dict[str, Any], body: str, text: str) -> NoteFile | None:
    """Return a file of `graphmem export`, ``None`` if its front matter is not as exported."""
    note = exported_note(members, body, text)
    if note is None:
        return None
    note_links = [
        NoteLink(match[2], match[1], json.loads(match[3]) if match[3] else {})
        for match in _OWN_LINK.finditer(note.links)
    ]
    names = [] if note.label is None else [note.label]
    who = dict(note.identity)
    return NoteFile(name, note.entity_type, note.fields, note_links, names, who, note.observed_at)


def _fields(members: Mapping[str, Any], warnings: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for label, value in members.items():
        name = field_name(label)
        if value is None or value in ("", []) or name in fields:
            continue
        if not 0 < len(name) <= identity.NAME_LIMIT or (name in items.RESERVED and name != "entity_type"):
            warnings.append(
                f"{LEFT_OUT}The field {name[:60]!r} is left out: the name has a meaning of its own."
            )
            continue
        fields[name] = value
    return fields


def _titled(
    name: str, body: str, plain: str, fields: dict[str, Any], entity_type: str, links: list[NoteLink]
) -> tuple[str, str]:
    """Give an entity its name; return that, and the body without the properties that Notion writes.

    ``plain`` is the body with blanks in place of code. A property that names pages adds ``links`` to them.
    """
    stem = posixpath.basename(shown_name(name)).removesuffix(".md")
    place = _HEADING.search(plain)
    heading = None if place is None else _HEADING.match(body, place.start())
    is_notion = shown_name(name) != name
    content = body.strip()
    if is_notion and heading is not None:
        lines = body[heading.end() :].strip("\n").split("\n")
        while lines and (stated := _PROPERTY.fullmatch(lines[0])):
            label, value = stated.groups()
            pages = list(_PAGE.finditer(value))
            if "".join(page[0] for page in pages) == value:
                links += [_typed(_beside(name, page[2]), label, page[1]) for page in pages]
                value = ", ".join(page[1] for page in pages)
            fields.setdefault(field_name(label), value)
            lines.pop(0)
        content = "\n".join(lines).strip()
    named = next((fields[each] for each in ("title", "name") if isinstance(fields.get(each), str)), None)
    title = named or (heading[1].strip() if heading is not None else stem)
    if named is None:
        fields[title_field(entity_type)] = title
    if identity.identify("", entity_type, fields).basis == identity.CONTENT:
        fields["canonical_name"] = title
    return title, content


def _tags(stated: Any, body: str) -> list[str]:
    listed = (
        stated if isinstance(stated, list) else re.split(r"[,\s]+", stated) if isinstance(stated, str) else []
    )
    tags = [str(each).removeprefix("#") for each in listed] + [match[1] for match in _TAG.finditer(body)]
    return list(dict.fromkeys(each for each in tags if each))


def _of_properties(members: Mapping[str, Any]) -> Iterator[NoteLink]:
    for label, value in members.items():
        for text in value if isinstance(value, list) else [value]:
            for match in _WIKI.finditer(text) if isinstance(text, str) else ():
                if not _NO_NOTE.fullmatch(match[2].strip()):
                    yield _typed(match[2], label)


def _of_body(name: str, body: str) -> Iterator[NoteLink]:
    stated = {match.end(): match[1] for match in _STATED.finditer(body)}
    for match in _WIKI.finditer(body):
        if _NO_NOTE.fullmatch(match[2].strip()):
            continue
        spelling = stated.get(match.start())
        yield NoteLink(match[2].strip()) if spelling is None else _typed(match[2], spelling)
    for match in _FILE.finditer(body):
        if "://" not in match[1]:
            yield NoteLink(_beside(name, match[1]))


def _beside(name: str, path: str) -> str:
    """Return the name of the file to which a path in another file leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path)))


def _typed(target: str, spelling: str, title: str | None = None) -> NoteLink:
    kind = type_of_relation(spelling, relationship.BUILTIN)
    return NoteLink(target.strip(), kind, {RELATION_TYPES: [spelling]}, title)


class NoteIndex:
    def __init__(self, notes: Iterable[NoteFile]) -> None:
        self._notes: dict[str, NoteFile] = {}
        titles: dict[tuple[str, str], NoteFile] = {}
        ordered = sorted(notes, key=lambda note: note.name)
        for note in ordered:
            title = note.fields.get("canonical_name")
            if note.own_identity is None and isinstance(title, str):
                first = titles.setdefault((note.entity_type, identity.fold_text(title)), note)
                if first is not note:
                    # Two files of one title are two entities.
                    note.fields["canonical_name"] = shown_name(note.name).removesuffix(".md")
        for names_of in (
            lambda note: [note.name, note.name.removesuffix(".md")],
            lambda note: [posixpath.basename(note.name).removesuffix(".md"), *note.names],
        ):
            for note in ordered:
                for name in names_of(note):
                    self._notes.setdefault(name.casefold(), note)

    def requests(self, note: NoteFile) -> Iterator[dict[str, Any]]:
        """Yield the arguments of the stores of a file, without the file.

        A file of `graphmem export` has two: the first identifies its entity and the targets of its links, and
        the second names them by the ids of the answer, as ``$0``, ``$1`` and so on.
        """
        own = _entity(note.identifying)
        targets: list[dict[str, Any]] = []
        links: dict[tuple[str, int], dict[str, Any]] = {}
        for link in note.links:
            other = self._notes.get(link.target.casefold()) or self._notes.get(f"{link.target}.md".casefold())
            item = other.identifying if other is not None else _missing(link)
            if _entity(item) == own:
                continue
            if item not in targets:
                targets.append(item)
            key = link.relationship_type, targets.index(item) + 1
            links.setdefault(key, {"metadata": {}})["metadata"] |= link.metadata
        related = [(kind, index, more) for (kind, index), more in links.items()]
        if note.own_identity is None:
            item = {"entity_type": note.entity_type, **note.fields}
            ends = [
                {"relationship_type": kind, "source_index": 0, "target_index": index, **more}
                for kind, index, more in related
            ]
            yield {"entities": [item, *targets], "relationships": ends}
            return
        yield {"entities": [note.identifying, *targets]}
        ends = [
            {"relationship_type": kind, "source_entity_id": "$0", "target_entity_id": f"${index}", **more}
            for kind, index, more in related
        ]
        when = {} if note.observed_at is None else {"observed_at": note.observed_at}
        yield {"entities": [{"target_id": "$0", **note.fields}], "relationships": ends, **when}


def _missing(link: NoteLink) -> dict[str, Any]:
    """Return the item of a link without a file. A page of a database of Notion has the type of the others."""
    folder, file = posixpath.split(link.target)
    title = link.title or shown_name(file).removesuffix(".md")
    entity_type = shown_name(file) != file and type_of_table(posixpath.basename(shown_folder(folder)))
    entity_type = entity_type or GENERAL_TYPE
    return {"entity_type": entity_type, title_field(entity_type): title, "canonical_name": title}


def _entity(item: Mapping[str, Any]) -> str:
    fields = {name: value for name, value in item.items() if name not in ("entity_type", "observed_at")}
    return identity.identify("", item["entity_type"], fields).entity_id
