"""The JSON Lines of `graphmem export`: a line is an entity with its observations and relationships.

`identity` says what identifies an entity: `fields`, in `basis` the names of those that count, joined by `+`,
and in `observed_at` when these were observed. So observations without these fields are of the same entity.
The target of a relationship has a type and an identity too: it need not be in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphmem.ingest.document import FileSpan, ParsedDocument
from graphmem.ingest.interpreters.interpreter_table import InterpreterOptions
from graphmem.ingest.interpreters.labels import entity_type_of, fields_by_name
from graphmem.ingest.interpreters.proposal_draft import ProposalDraft, place
from graphmem.ingest.proposal import Proposal
from graphmem.model import canonical, facts, identity, items, relationship

STORED_AS = ("source_priority", "specificity_score", "observation_source")
"""Members of an observation that its store had as reserved keys."""


class StatedIdentity(NamedTuple):
    """What a line says of which entity it is about. ``key`` is the same for the same entity."""

    entity_type: str
    names: identity.Alternatives | None
    fields: Mapping[str, Any]
    key: str
    observed_at: str | None


def propose(document: ParsedDocument, options: InterpreterOptions) -> Proposal:
    reading = _Reading()
    lines: list[tuple[int | None, Any, FileSpan]] = []
    for part in document.parts:
        values = {name: field.value for name, field in fields_by_name(part.fields).items()}
        lines.append((reading.entity(values, part.span), values.get("relationships"), part.span))
    for source, links, span in lines:
        for link in links if source is not None and isinstance(links, list) else ():
            reading.relate(source, link, span)
    return reading.draft.proposal()


class _Reading:
    """Adds the lines of a file to a draft. The first observation of an entity stands for it as an end."""

    def __init__(self) -> None:
        self.draft = ProposalDraft()
        self._entities: dict[str, int | None] = {}

    def entity(self, line: Mapping[str, Any], span: FileSpan) -> int | None:
        """Add the observations of a line; return the index of the first, ``None`` where there is none."""
        who = stated_identity(line)
        if who is None:
            self.draft.drop(f"A line{place(span)} is left out: it lacks an entity_type or an identity.")
            return None
        entity_type, names, fields, key, _ = who
        observations = line.get("observations")
        for each in observations if isinstance(observations, list) else ():
            # Deletions and merges say how it came to what is shown.
            if isinstance(each, Mapping) and (
                each.get("kind", "value") not in facts.VALUE_KINDS
                or (each.get("hidden_fields") and each.get("fields") == {})
            ):
                continue
            if not _is_observation(each):
                self.draft.drop(
                    f"An observation{place(span)} is left out: a member of it is not as exported."
                )
                continue
            stored_as = {name: each[name] for name in STORED_AS if each.get(name) is not None}
            stored_as |= {"kind": each["kind"]} if "kind" in each else {}
            index = self.draft.observation(
                entity_type, each["fields"], span, (names, fields), stored_as, each.get("observed_at")
            )
            self._entities.setdefault(key, index)
        return self._end(who, span)

    def relate(self, source: int | None, link: Any, span: FileSpan) -> None:
        """Add a relationship of a line, and its target if no line of the file has it."""
        spelling = link.get("relationship_type") if isinstance(link, Mapping) else None
        who = (
            stated_identity(link["target"]) if spelling and isinstance(link.get("target"), Mapping) else None
        )
        if who is None or not (
            isinstance(spelling, str) and relationship.is_name(relationship.spell(spelling))
        ):
            self.draft.drop(f"A relationship{place(span)} is left out: it lacks a type, or a target.")
            return
        metadata = link.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        target = self._end(who, span)
        self.draft.relate(spelling, source, target, span, metadata, link.get("observed_at"))

    def _end(self, who: StatedIdentity, span: FileSpan) -> int | None:
        """Return an entity by its identity. One without an observation has what identifies it."""
        entity_type, names, fields, key, _ = who
        if key not in self._entities:
            self._entities[key] = self.draft.observation(
                entity_type, fields, span, (names, fields), observed_at=who.observed_at
            )
        return self._entities[key]


def stated_identity(line: Mapping[str, Any]) -> StatedIdentity | None:
    """Return the entity that a line, or the target of a relationship, is about; ``None`` if it names none."""
    entity_type, who = entity_type_of(line.get("entity_type")), line.get("identity")
    fields = who.get("fields") if isinstance(who, Mapping) else None
    if entity_type is None or not isinstance(who, Mapping) or not isinstance(fields, Mapping) or not fields:
        return None
    basis = who.get("basis")
    names = (tuple(basis.split("+")),) if isinstance(basis, str) and basis != identity.CONTENT else None
    try:
        identified = identity.identify("", entity_type, fields, names)
    except canonical.NotCanonical:
        return None
    return StatedIdentity(entity_type, names, fields, identified.entity_id, who.get("observed_at"))


def _is_observation(value: Any) -> bool:
    """Return whether the writer takes the members of an observation."""
    if not isinstance(value, Mapping) or not isinstance(value.get("fields"), Mapping) or not value["fields"]:
        return False
    source, specificity = value.get("observation_source"), value.get("specificity_score", 1)
    priority, name = value.get("source_priority", 0), value["fields"].get(identity.CANONICAL_NAME, "-")
    numbers = all(type(number) in (int, float) for number in (priority, specificity))
    return (
        numbers
        and abs(priority) <= items.PRIORITY_LIMIT
        and 0 <= specificity <= 1
        and (source is None or source in items.OBSERVATION_SOURCES)
        and (name is None or (isinstance(name, str) and bool(identity.fold_text(name))))
    )
