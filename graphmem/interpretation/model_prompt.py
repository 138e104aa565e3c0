"""What a language model is asked: the task, the known types, the form of its answer, a piece of a document.

The task is the same for every document. The document stands apart from it, as data between two lines that no
document can hold. Of the owner's schemas only the names and types of fields are in the prompt, and of what is
stored nothing.

Of the answer, only what the text states is taken: a value or a relationship whose quote is not in the text is
left out.
"""

import hashlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue, WithJsonSchema

from graphmem.ingest.document import FileSpan, ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.labels import entity_type_of, field_name, is_empty
from graphmem.ingest.interpreters.proposal_draft import SHOWN_CHARACTERS, ProposalDraft
from graphmem.model import canonical, relationship, schema

VERSION: Final = 3
"""Rises whenever the same document may give another prompt, or the same answer another proposal."""
KNOWN_TYPES_CHARACTERS_LIMIT: Final = 20_000  # characters of the known types in one prompt

TASK: Final = resources.files("graphmem.interpretation").joinpath("task.txt").read_text("utf-8")
"""What the model is told to do. A change of it is another :data:`VERSION`."""


class PromptPiece(NamedTuple):
    """A stretch of the text of a document: offsets in characters, the end exclusive."""

    start: int
    end: int


class KnownTypes(NamedTuple):
    """The known types of an owner as the prompt has them: of each its name and the types of its fields.
    ``left_out``: the names of the types for which there was no room."""

    lines: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 over what the prompt has, in hex."""
        return canonical.digest(list(self.lines))


def known_types(schemas: Iterable[schema.SchemaDocument]) -> KnownTypes:
    """Return the types of schemas, in order of their names. Only names and types of fields are taken."""
    lines: list[str] = []
    left_out: list[str] = []
    room = KNOWN_TYPES_CHARACTERS_LIMIT
    for document in sorted(schemas, key=lambda each: each.entity_type):
        fields = {name: field.type for name, field in document.fields.items()}
        line = f"{document.entity_type} {canonical.encode(fields)}"
        room -= len(line)
        if room < 0:
            left_out.append(document.entity_type)
        else:
            lines.append(line)
    return KnownTypes(tuple(lines), tuple(left_out))


def pieces(document: ParsedDocument, characters: int) -> Iterator[PromptPiece]:
    """Yield the pieces of a document, each of them at most some characters long. A piece ends where a part
    begins, else after a line, else after a word; blank pieces are left out."""
    text = document.text
    boundaries = sorted({part.span.start for part in document.parts if part.span.start})
    start = 0
    while start < len(text):
        end = _end(text, boundaries, start, start + characters)
        if not text[start:end].isspace():
            yield PromptPiece(start, end)
        start = end


def _end(text: str, boundaries: list[int], start: int, limit: int) -> int:
    if limit >= len(text):
        return len(text)
    index = bisect_right(boundaries, limit) - 1
    if index >= 0 and boundaries[index] > start:
        return boundaries[index]
    for mark in ("\n", " "):
        place = text.rfind(mark, start, limit)
        if place >= start:
            return place + 1
    return limit


def messages(types: KnownTypes, text: str) -> list[dict[str, str]]:
    # A text cannot hold its own hash, so no text can end its fence.
    code = hashlib.sha256(text.encode()).hexdigest()
    return [
        {"role": "system", "content": system_message(types)},
        {"role": "user", "content": f"BEGIN {code}\n{text}\nEND {code}"},
    ]


def system_message(types: KnownTypes) -> str:
    named = [f"{kind.name}: {kind.description}" for kind in relationship.BUILTIN.values()]
    parts = (TASK, "Known types and their fields:", *types.lines, "", "Relationship types:", *named)
    return "\n".join(parts)


OCCURRENCES_LIMIT: Final = 100  # occurrences of one quote that are compared
ADDRESS_MARKS: Final = ("@", "://")
"""What an e-mail or web address holds. Addresses identify entities, so their quotes must hold them."""


class _Answered(BaseModel):
    # Strict output wants each member to be required, and no others.
    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})


_SCALAR: Final = WithJsonSchema({"anyOf": [{"type": name} for name in ("string", "number", "boolean")]})
_TYPE_NAMES: Final = WithJsonSchema({"type": "string", "enum": sorted(relationship.BUILTIN)})


class AnsweredField(_Answered):
    """A value and the passage that states it."""

    name: str
    value: Annotated[JsonValue, _SCALAR]
    quote: str


class AnsweredEntity(_Answered):
    entity_type: str
    fields: list[AnsweredField]


class AnsweredRelationship(_Answered):
    """A relationship; source and target are indexes of entities of the same answer."""

    relationship_type: Annotated[str, _TYPE_NAMES]
    source: int
    target: int
    quote: str


class ModelAnswer(_Answered):
    """The answer about one piece of a document."""

    entities: list[AnsweredEntity]
    relationships: list[AnsweredRelationship]


ANSWER_SCHEMA: Final = ModelAnswer.model_json_schema()
RESPONSE_FORMAT: Final = {
    "type": "json_schema",
    "json_schema": {"name": "proposal", "strict": True, "schema": ANSWER_SCHEMA},
}
"""The form of the answer, as the API takes it."""


class ModelAnswers(ProposalDraft):
    """Collects the answers about the pieces of one document."""

    def __init__(self, document: ParsedDocument) -> None:
        super().__init__()
        self._places = _Places(document)

    def add(self, answer: ModelAnswer, piece: PromptPiece) -> None:
        """Add the answer about a piece. A quote is looked for in that piece."""
        indexes = [self._add_entity(entity, piece) for entity in answer.entities]
        for link in answer.relationships:
            self._add_relationship(link, indexes, piece)

    def _add_entity(self, entity: AnsweredEntity, piece: PromptPiece) -> int | None:
        """Add an entity and return its index; ``None`` if nothing of it is taken."""
        entity_type = entity_type_of(entity.entity_type)
        if entity_type is None:
            self.drop(f"An entity is left out: {_excerpt(entity.entity_type)} is no entity type.")
            return None
        occurrences = [self._places.occurrences(field.quote, piece) for field in entity.fields]
        # An entity stands at a quote of it that occurs once, else at the first one.
        quoted = sorted(filter(None, occurrences), key=lambda ranges: len(ranges) > 1)
        near = quoted[0][0][0] if quoted else 0
        members: dict[str, PartField] = {}
        for field, ranges in zip(entity.fields, occurrences, strict=True):
            name = field_name(field.name)
            reason = _refusal(field, ranges)
            if reason is not None:
                self.drop(f"The field {_excerpt(name)} of an entity {entity_type} is left out: {reason}.")
            elif name not in members and not is_empty(field.value):
                span = self._places.span(*min(ranges, key=lambda each: abs(each[0] - near)))
                members[name] = PartField(name, field.value, span)
        spans = [member.span for member in members.values() if member.span is not None]
        if not spans:
            return None
        start = min(span.start or 0 for span in spans)
        whole = self._places.span(start, max(span.end or 0 for span in spans))
        return self.entity(entity_type, members.values(), whole)

    def _add_relationship(
        self, link: AnsweredRelationship, indexes: Sequence[int | None], piece: PromptPiece
    ) -> None:
        if link.relationship_type not in relationship.BUILTIN:
            self.drop(f"{_excerpt(link.relationship_type)} is no relationship type: it is left out.")
            return
        source, target = (
            indexes[end] if 0 <= end < len(indexes) else None for end in (link.source, link.target)
        )
        if source is None or target is None:
            self.drop(f"A relationship {link.relationship_type} is left out: one of its entities is missing.")
            return
        ranges = self._places.occurrences(link.quote, piece)
        if not ranges:
            self.drop(f"A relationship {link.relationship_type} is left out: its quote is not in the text.")
            return
        self.relate(link.relationship_type, source, target, self._places.span(*ranges[0]))


def _refusal(field: AnsweredField, ranges: Sequence[tuple[int, int]]) -> str | None:
    if not ranges:
        return "its quote is not in the text"
    value = field.value
    if isinstance(value, str) and any(mark in value for mark in ADDRESS_MARKS):
        return None if _folded(value) in _folded(field.quote) else "its address is not in its quote"
    return None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _excerpt(text: str) -> str:
    return repr(text[:SHOWN_CHARACTERS])


class _Places:
    """Finds quotes in the text of a document, and says where they are."""

    def __init__(self, document: ParsedDocument) -> None:
        self._text = document.text
        self._line_ends = [match.start() for match in re.finditer("\n", document.text)]
        self._parts = sorted(
            (part for part in document.parts if part.span.start is not None),
            key=lambda part: part.span.start or 0,
        )
        self._starts = [part.span.start or 0 for part in self._parts]
        pages = [part for part in self._parts if part.span.page is not None]
        self._page_starts = [part.span.start or 0 for part in pages]
        self._pages = [part.span.page for part in pages]

    def occurrences(self, quote: str, piece: PromptPiece) -> list[tuple[int, int]]:
        """Return where a quote stands in a piece; runs of white space are equal if it stands nowhere else."""
        words = unicodedata.normalize("NFC", quote).split()
        if not words:
            return []
        exact = re.escape(unicodedata.normalize("NFC", quote).strip())
        return self._matches(exact, piece) or self._matches(r"\s++".join(map(re.escape, words)), piece)

    def _matches(self, pattern: str, piece: PromptPiece) -> list[tuple[int, int]]:
        ranges: list[tuple[int, int]] = []
        for match in re.compile(pattern).finditer(self._text, *piece):
            ranges.append(match.span())
            if len(ranges) == OCCURRENCES_LIMIT:
                break
        return ranges

    def span(self, start: int, end: int) -> FileSpan:
        """Return the place of a range: its page and line, and the row, cell or message that holds it."""
        index = bisect_right(self._page_starts, start) - 1
        page = self._pages[index] if index >= 0 else None
        around = self._around(start, end) or FileSpan(page=page)
        return around._replace(line=bisect_left(self._line_ends, start) + 1, start=start, end=end)

    def _around(self, start: int, end: int) -> FileSpan | None:
        """Return the span of the last part that begins before a range, or of its field, if it holds it."""
        index = bisect_right(self._starts, start) - 1
        part: Part | None = self._parts[index] if index >= 0 else None
        if part is None or not _holds(part.span, start, end):
            return None
        spans = (field.span for field in part.fields if _holds(field.span, start, end))
        return next(spans, part.span)


def _holds(span: FileSpan, start: int, end: int) -> bool:
    return span.start is not None and span.end is not None and span.start <= start and end <= span.end
