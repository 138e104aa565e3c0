"""The `memory.jsonl` of the MCP memory server, as the toolset memory stores what it gets (docs/agents.md)."""

from __future__ import annotations

from collections.abc import Mapping

from graphmem.ingest.document import FileSpan, ParsedDocument, Part, PartField
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import entity_type_of, fields_by_name, text_of
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, place, widen
from graphmem.ingest.proposal import Proposal
from graphmem.model import identity, relationship

NAME = "name"
TEXTS = "observations"
TYPE_FIELD = "entity_type_text"  # the field with the spelling of an entity's type that is not the type's own
RELATION_TYPES = "relation_types"
"""The metadata of a relationship with the spellings of its type, one for each relation."""
GENERAL_TYPE = "thing"  # the entity type of spellings that are no entity type
GENERAL_RELATIONSHIP = "RELATED_TO"


StatedEntity = tuple[Part, dict[str, PartField], list[str]]  # a record of an entity, its fields and its texts


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    draft = ProposalDraft()
    records = [(part, fields_by_name(part.fields)) for part in document.parts if part.kind == "record"]
    stated: dict[str, list[StatedEntity]] = {}
    for part, fields in records:
        kind = text_of(fields.get("type"))
        if kind == "entity":
            _collect(draft, part, fields, stated)
        elif kind != "relation":
            draft.drop(f"A record{place(part.span)} is left out: it is neither an entity nor a relation.")
    entities = {folded: _entity(draft, named) for folded, named in stated.items()}
    for part, fields in records:
        if text_of(fields.get("type")) == "relation":
            _add_relation(draft, part, fields, entities)
    return draft.proposal()


def _collect(
    draft: ProposalDraft, part: Part, fields: dict[str, PartField], stated: dict[str, list[StatedEntity]]
) -> None:
    name, spelling = (text_of(fields.get(label)) for label in ("name", "entityType"))
    if name is None or spelling is None:
        draft.drop(f"An entity{place(part.span)} is left out: it lacks a name or a type.")
        return
    stored = fields[TEXTS].value if TEXTS in fields else None
    texts = stored if isinstance(stored, list) else [] if stored is None else [stored]
    if not all(isinstance(text, str) for text in texts):
        draft.drop(f"Observations{place(part.span)} that are no texts are left out.")
        texts = [text for text in texts if isinstance(text, str)]
    named = stated.setdefault(identity.fold_text(name), [])
    if named and spelling != (known := named[0][1]["entityType"].value):
        first = f"the first entity of this name is a {known[:60]}"
        draft.drop(f"The type {spelling[:60]}{place(part.span)} is left out: {first}.")
    named.append((part, fields, texts))


def _entity(draft: ProposalDraft, named: list[StatedEntity]) -> int | None:
    """Add the entity of a name, with the texts of all records that have it."""
    part, fields, texts = named[0]
    name, spelling = fields["name"].value, fields["entityType"].value
    entity_type = entity_type_of(spelling) or GENERAL_TYPE
    if len(named) > 1:
        texts = list(dict.fromkeys(text for _, _, own in named for text in own))
    spans = [own[TEXTS].span for _, own, _ in named if TEXTS in own]
    members = [
        PartField(NAME, name, fields["name"].span),
        PartField(TEXTS, texts, widen(spans[0], spans[-1]) if spans else FileSpan()),
    ]
    if spelling != entity_type:
        members.append(PartField(TYPE_FIELD, spelling, fields["entityType"].span))
    # A type such as note is not identified by a name unless that is its canonical name.
    canonical_name = None if (NAME,) in identity.rule(entity_type) else name
    return draft.entity(entity_type, members, part.span, canonical_name=canonical_name)


def type_of_relation(spelling: str, kinds: Mapping[str, relationship.RelationshipKind]) -> str:
    """Return the type of the relationship that a relation is stored as.

    A relation has a direction, which a symmetric relationship does not keep.
    """
    kind = kinds.get(relationship.spell(spelling))
    return GENERAL_RELATIONSHIP if kind is None or kind.is_symmetric else kind.name


def _add_relation(
    draft: ProposalDraft, part: Part, fields: dict[str, PartField], entities: dict[str, int | None]
) -> None:
    source, target, spelling = (text_of(fields.get(label)) for label in ("from", "to", "relationType"))
    if source is None or target is None or spelling is None:
        draft.drop(f"A relation{place(part.span)} is left out: it lacks an end or its type.")
        return
    start, end = (entities.get(identity.fold_text(name)) for name in (source, target))
    if start is None or end is None:
        draft.drop(f"A relation{place(part.span)} is left out: the file has no entity for one of its ends.")
        return
    draft.relate(
        type_of_relation(spelling, relationship.BUILTIN), start, end, part.span, {RELATION_TYPES: [spelling]}
    )
