"""What merges by rule need of a turn beside its entities: what it read for them, and what they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.model.identity_rules import Evidence, OwnRule
from graphmem.model.person_names import NameGroup
from graphmem.writing.things import NEAR_KIND, stored_evidence
from graphmem.writing.write_requests import Touched


class BearerRow(NamedTuple):
    """An entity that bears the id of another; ``whole`` unless it is merged with others.

    ``names`` and ``values`` are those of its identifying fields.
    """

    entity_id: str
    borne_id: str
    is_alone: bool
    evidence: str | None
    names: list[str]
    values: list[str]
    separated: list[str] | None

    def evidence_by(self, rule: OwnRule) -> Evidence:
        return stored_evidence(rule, self.evidence, dict(zip(self.names, self.values, strict=True)))


class NearRow(NamedTuple):
    """The names of persons in one group; ``None`` for more than were asked for."""

    kind: str
    prefix: str
    texts: list[str] | None


@dataclass(slots=True)
class RuleChanges:
    """What a turn changes: the entities by the ids that they bear, and the names of persons by groups."""

    bearers: dict[str, set[str]] = field(default_factory=dict)
    near: dict[NameGroup, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class RuleReads:
    """What a turn read for merges by rule.

    Attributes:
        off: the alternatives that merge nothing, by type.
        bearers: stored entities by the ids that they bear.
        unread: the ids of which the bearers were not read, because no entity has the id.
        near: the stored names of persons by groups, ``None`` for more than were asked for.
    """

    looked: Touched | None = None
    off: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bearers: dict[str, list[BearerRow]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    near: dict[NameGroup, frozenset[str] | None] = field(default_factory=dict)

    @classmethod
    def of_look(
        cls,
        looked: Touched | None,
        off: Mapping[str, frozenset[str]],
        bearers: Iterable[BearerRow],
        near: Iterable[NearRow],
        entity_ids: set[str],
    ) -> RuleReads:
        borne = {borne_id for _, borne_id, _ in looked.borne} if looked else set[str]()
        # Of an entity that is neither there nor to be created, the bearers are not read.
        unread = borne - (looked.stored if looked else set[str]()) - entity_ids
        reads = cls(looked, off, {borne_id: [] for borne_id in borne - unread}, unread)
        for row in bearers:
            reads.bearers.setdefault(row.borne_id, []).append(row)
        for group in near:
            key = NameGroup(group.kind.removeprefix(NEAR_KIND), group.prefix)
            reads.near[key] = None if group.texts is None else frozenset(group.texts)
        return reads
