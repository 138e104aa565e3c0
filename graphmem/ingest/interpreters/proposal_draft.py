"""How an interpreter puts a proposal together: what could not be stored is left out, with a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from graphmem.ingest.document import FileSpan, ParsedDocument, PartField, Warned
from graphmem.ingest.interpreters.labels import entity_type_of, is_empty
from graphmem.ingest.proposal import Proposal, ProposedEntity, ProposedRelationship
from graphmem.model import canonical, dates, identity, items, relationship, times


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


ENTITIES_LIMIT = 100_000
RELATIONSHIPS_LIMIT = 200_000
FIELDS_LIMIT = 500
VALUE_CHARACTERS_LIMIT = 1_000_000  # characters of the canonical JSON of one value
JOINED_LIMIT = 100
"""Elements of a list in the metadata of one relationship that several places of a file state."""
NOWHERE = FileSpan()
OCCURRENCE = "occurrence"
"""The field of a booking that says which one of equal ones it is, from the second one on."""
RESERVED = items.RESERVED - {identity.CANONICAL_NAME} | {"span", "spans"}
"""Names that are no fields where an interpretation is stored."""
SHOWN_CHARACTERS = 64  # how much of a name a warning shows


class ProposalDraft(Warned):
    def __init__(self) -> None:
        super().__init__()
        self.entities: list[ProposedEntity] = []
        self._relationships: dict[tuple[str, int, int], ProposedRelationship] = {}
        self._names: dict[str, bool] = {}
        self._equal: Counter[str] = Counter()

    def occurrence(self, entity_type: str, members: Iterable[PartField]) -> int:
        """Return which one of equal things without a name or an id it is, from 1.

        Another file of an account has the same bookings, and the same one is the second there as well.
        """
        content = repr((entity_type, [(member.name, member.value) for member in members]))
        self._equal[content] += 1
        return self._equal[content]

    def entity(
        self, entity_type: str, members: Iterable[PartField], span: FileSpan | None, *,
        canonical_name: Any = None, observed_at: Any = None, cleared: Iterable[str] = (),
        identified_by: identity.Alternatives | None = None,
    ) -> int | None:  # fmt: skip
        """Add an entity and return its index; ``None`` if nothing of it can be stored.

        Null and blank texts are no values. Of two members with one name the first one counts. ``cleared`` are
        fields that have no value any more, unless a member gives them one.
        """
        if len(self.entities) >= ENTITIES_LIMIT:
            self.drop(f"There are more than {ENTITIES_LIMIT:,} entities: the others are left out.")
            return None
        where = place(span)
        fields: dict[str, Any] = {}
        spans: dict[str, FileSpan] = {}
        for name, value, value_span in members:
            if name == identity.CANONICAL_NAME:
                self.drop(f"The field {name!r}{where} is left out: the name has a meaning of its own.")
                continue
            if is_empty(value) or name in fields or not self._is_storable(name, value, where):
                continue
            if len(fields) >= FIELDS_LIMIT:
                self.drop(f"An entity{where} has more than {FIELDS_LIMIT} fields: the others are left out.")
                break
            fields[name] = value
            if value_span != NOWHERE:
                spans[name] = value_span
        name = self._canonical_name(canonical_name, where)
        if not fields and name is None:
            return None
        only = next(iter(fields)) if len(fields) == 1 and name is None else None
        if only in items.WRAPPERS and isinstance(fields[only], Mapping):
            self.drop(f"An entity{where} is left out: {only} is an object, and its only field.")
            return None
        at = None if is_empty(observed_at) else moment(observed_at)
        if at is None and not is_empty(observed_at):
            self.drop(f"A time{where} is left out: it cannot be read.")
        for name_cleared in cleared:
            fields.setdefault(name_cleared, None)
        self.entities.append(ProposedEntity(entity_type, fields, spans, span, name, at, identified_by))
        return len(self.entities) - 1

    def item(
        self,
        entity_type: str,
        members: Iterable[PartField],
        span: FileSpan | None,
        also: Iterable[PartField] = (),
        identified_by: identity.Alternatives | None = None,
    ) -> int | None:
        """Add an entity whose members are named by the file: some of them are no fields.

        ``canonical_name`` and ``observed_at`` mean what they mean in an item of a store. ``also`` are members
        of the format itself.
        """
        named = {member.name: member for member in members}
        own = [named.pop(name, None) for name in ("canonical_name", "observed_at")]
        canonical_name, observed_at = (member.value if member is not None else None for member in own)
        return self.entity(
            entity_type,
            (*named.values(), *also),
            span,
            canonical_name=canonical_name,
            observed_at=observed_at,
            identified_by=identified_by,
        )

    def observation(
        self, entity_type: str, fields: Mapping[str, Any], span: FileSpan | None,
        identity_of: tuple[identity.Alternatives | None, Mapping[str, Any]],
        stored_as: Mapping[str, Any] | None = None, observed_at: str | None = None,
    ) -> int | None:  # fmt: skip
        """Add an observation with all of its values, null and blank ones too; return as :meth:`entity` does.

        Args:
            identity_of: what identifies the entity: the names of fields, and a mapping that has these fields.
        """
        if len(self.entities) >= ENTITIES_LIMIT:
            self.drop(f"There are more than {ENTITIES_LIMIT:,} entities: the others are left out.")
            return None
        where = place(span)
        storable = {name: value for name, value in fields.items() if self._is_storable(name, value, where)}
        names, identifying = identity_of
        at = moment(observed_at)
        self.entities.append(
            ProposedEntity(entity_type, storable, {}, span, None, at, names, identifying, stored_as)
        )
        return len(self.entities) - 1

    def relate(
        self, relationship_type: str, source: int | None, target: int | None, span: FileSpan | None,
        metadata: Mapping[str, Any] | None = None, observed_at: str | None = None,
    ) -> None:  # fmt: skip
        """Add a relationship between two entities, unless one of them was left out.

        A second one of the same type between the same entities adds what its metadata have: the elements of
        lists, and members that the first one lacks.
        """
        if source is None or target is None:
            return
        first, second = self.entities[source], self.entities[target]
        # By the identity rule of their type.
        are_one = first.entity_type == second.entity_type and _identity(first) == _identity(second)
        if source == target or are_one:
            self.drop(f"A relationship of an entity to itself{place(span)} is left out.")
            return
        key = (relationship_type, source, target)
        known = self._relationships.get(key)
        if known is not None:
            self._join(key, known, metadata or {})
        elif len(self._relationships) >= RELATIONSHIPS_LIMIT:
            self.drop(f"There are more than {RELATIONSHIPS_LIMIT:,} relationships: the others are left out.")
        else:
            storable = {n: v for n, v in (metadata or {}).items() if self._is_storable(n, v, place(span))}
            self._relationships[key] = ProposedRelationship(*key, storable, span, observed_at)

    def _join(
        self, key: tuple[str, int, int], known: ProposedRelationship, metadata: Mapping[str, Any]
    ) -> None:
        joined = {**metadata, **known.metadata}
        for name, value in metadata.items():
            before = known.metadata.get(name)
            if isinstance(before, list) and isinstance(value, list):
                joined[name] = [*before, *(element for element in value if element not in before)]
                if len(joined[name]) > JOINED_LIMIT:
                    self.warn(f"A relationship has more than {JOINED_LIMIT} {name[:SHOWN_CHARACTERS]}.")
                    joined[name] = joined[name][:JOINED_LIMIT]
        storable = {name: value for name, value in joined.items() if self._is_storable(name, value, "")}
        self._relationships[key] = replace(known, metadata=storable)

    def proposal(self) -> Proposal:
        return Proposal(tuple(self.entities), tuple(self._relationships.values()), tuple(self._warnings))

    def _canonical_name(self, name: Any, where: str) -> str | None:
        if is_empty(name):
            return None
        if not isinstance(name, str) or not self._is_storable(identity.CANONICAL_NAME, name, where):
            self.drop(f"A canonical name{where} is left out: it is no text.")
            return None
        return name if name[0].isalnum() or identity.fold_text(name) else None

    def _is_storable(self, name: str, value: Any, where: str) -> bool:
        is_name = self._names.get(name)
        if is_name is None:
            is_name = self._names[name] = self._is_name(name)
        reason = refusal(value) if is_name else None
        if reason is not None:
            self.drop(f"A value of the field {name!r}{where} is left out: {reason}.")
        return is_name and reason is None

    def _is_name(self, name: str) -> bool:
        # A lone surrogate is no text.
        text = name.encode(errors="replace").decode()
        excerpt = text[:SHOWN_CHARACTERS]
        if not 0 < len(name) <= identity.NAME_LIMIT or text != name:
            self.drop(f"The field {excerpt!r} is left out: a name has 1 to {identity.NAME_LIMIT} characters.")
            return False
        if name in RESERVED:
            self.drop(f"The field {excerpt!r} is left out: the name has a meaning of its own.")
            return False
        return True


def redraft(proposal: Proposal) -> Proposal:
    """Return a proposal after the rules of :class:`ProposalDraft`.

    Raises ValueError: a type in it is none.
    """
    draft = ProposalDraft()
    for warning in proposal.warnings:
        draft.warn(str(warning))
    places: list[int | None] = []
    for entity in proposal.entities:
        members = [
            PartField(name, value, entity.spans.get(name, NOWHERE)) for name, value in entity.fields.items()
        ]
        entity_type = entity_type_of(entity.entity_type)
        if entity_type is None:
            raise ValueError(f"{str(entity.entity_type)[:100]!r} is no entity type.")
        places.append(
            draft.entity(
                entity_type,
                members,
                entity.span,
                canonical_name=entity.canonical_name,
                observed_at=entity.observed_at,
                identified_by=entity.identified_by,
            )
        )
    for link in proposal.relationships:
        source, target = (
            places[end] if 0 <= end < len(places) else None for end in (link.source, link.target)
        )
        if link.relationship_type not in relationship.BUILTIN:
            raise ValueError(f"{str(link.relationship_type)[:100]!r} is no relationship type.")
        draft.relate(
            link.relationship_type, source, target, link.span, link.metadata, moment(link.observed_at)
        )
    return draft.proposal()


def refusal(value: Any) -> str | None:
    """Return why a value cannot be stored, ``None`` if it can."""
    # A lone surrogate, which alone makes a text one that cannot be stored, is not printable.
    is_short = type(value) is str and len(value) < VALUE_CHARACTERS_LIMIT // 8
    if is_short and (value.isascii() or value.isprintable()):
        return None
    try:
        size = len(canonical.encode(value, levels=canonical.VALUE_DEPTH))
    except canonical.NotCanonical as exc:
        return exc.reason
    except RecursionError:
        return "too many levels of nesting"
    if size > VALUE_CHARACTERS_LIMIT:
        return f"it has more than {VALUE_CHARACTERS_LIMIT:,} characters"
    return None


def moment(text: Any) -> str | None:
    """Return a time in the form that can be stored, ``None`` if a value is no time."""
    if not isinstance(text, str):
        return None
    try:
        times.parse(text)
    except ValueError:
        written = dates.parse(text.strip())
        return times.render(written.at) if written is not None else None
    return text.strip()


def _identity(entity: ProposedEntity) -> identity.Identity:
    if entity.identifying is not None:
        return identity.identify("", entity.entity_type, entity.identifying, entity.identified_by)
    fields = dict(entity.fields)
    if entity.canonical_name is not None:
        fields[identity.CANONICAL_NAME] = entity.canonical_name
    return identity.identify("", entity.entity_type, fields, entity.identified_by)
