"""A stretch of entities or relationships under audit: the stored state beside the derived one; the report."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from graphmem.database.queries import Queries
from graphmem.errors import DecryptionFailed
from graphmem.model import ids, reduction
from graphmem.model.display_labels import DISPLAY_LABELS
from graphmem.writing import events, turn_rows, vectors
from graphmem.writing.state import State

REPORTED_LIMIT: Final = 200  # entities and relationships whose differences a report lists; all are counted
REPORTED_CHARACTERS: Final = 500  # characters of a value that a difference shows
_LISTS: Final = ("fields", "values", "winners", "ranks")


@dataclass(frozen=True, slots=True)
class AuditDifference:
    """A part of the stored state that differs from the derived one.

    ``what`` is a property of the node, ``labels``, ``identifiers``, ``former names``, the type of an edge, or
    a field of the snapshot. ``is_fact``: it is a fact that is damaged, which nothing can derive again.
    """

    subject_id: str
    what: str
    stored: Any
    derived: Any
    is_fact: bool = False

    def __post_init__(self) -> None:
        for name in ("stored", "derived"):
            object.__setattr__(self, name, _cut(getattr(self, name)))


class AuditedEntity(NamedTuple):
    """An entity with the nodes and edges that are derived for it.

    ``identifiers`` and ``former`` are pairs of kind and value, ``values`` [field, value, whether its node is
    the entity's]. ``types`` are those that its observations say.
    """

    subject_id: str
    properties: dict[str, Any]
    labels: list[str]
    identifiers: list[list[str]]
    former: list[list[str]]
    merged_into: list[str]
    vectors: list[list[Any]]
    values: list[list[Any]]
    events: list[dict[str, Any]]
    types: list[Any]


class AuditedRelationship(NamedTuple):
    """A relationship whose ends have nodes. ``edges`` says of each of its edges whether it is live."""

    subject_id: str
    properties: dict[str, Any]
    edges: list[bool]
    shown_as: list[str]


class StoredNodes(NamedTuple):
    entities: list[AuditedEntity]
    relationships: list[AuditedRelationship]
    revision: int


class Stretch:
    """Some entities or relationships: the stored state beside the derived one."""

    def __init__(self, owner: str, stored: State, derived: State, subject_ids: list[str]) -> None:
        self.owner, self.stored, self.derived, self.subject_ids = owner, stored, derived, subject_ids
        self.differences: dict[str, list[AuditDifference]] = {}
        self.counts: dict[tuple[str, str], list[int]] = {}
        self.hash = 0
        self.mended = 0
        self.unchecked: set[str] = set()
        self.detached: set[str] = set()
        """What is reported, and is not mended here: relationships of which an end has no node, and entities
        of a wrong type, which are in another stretch once they have theirs again."""
        self._entities: dict[str, AuditedEntity] = {}
        self._relationships: dict[str, AuditedRelationship] = {}
        self._wanted = set(subject_ids)

    def changed(self, reread: State) -> set[str]:
        pairs = ((self.stored.entities, reread.entities), (self.stored.relationships, reread.relationships))
        if self.stored.read.revision == reread.read.revision:
            return set()
        changed = {
            subject_id
            for before, after in pairs
            for subject_id in {*before, *after}
            if before.get(subject_id) != after.get(subject_id)
        }
        # A subject outside the stretch changed: its survivor or member may be in it.
        return self._wanted if changed - self._wanted else changed

    @cached_property
    def nodes(self) -> dict[str, turn_rows.Node]:
        sides = ((self.derived.entities, True), (self.derived.relationships, False))
        nodes = {
            subject_id: turn_rows.Node.of(things, subject_id, is_entity)
            for things, is_entity in sides
            for subject_id in things
            if subject_id in self._wanted
        }
        return {subject_id: node for subject_id, node in nodes.items() if node is not None}

    @property
    def mendable(self) -> set[str]:
        """The subjects that differ and can be written as derived."""
        return self.differences.keys() - self.detached

    def compare(self, stored: StoredNodes, expected: dict[str, vectors.EntityVector]) -> None:
        self._entities = {entity.subject_id: entity for entity in stored.entities}
        self._relationships = {relationship.subject_id: relationship for relationship in stored.relationships}
        for subject_id, node in self.nodes.items():
            self.hash += node.hash
            turn_rows.count(self.counts, node, 1)
            if entity := self._entities.get(subject_id):
                differences = self._of_entity(entity, node)
                stored_vectors = [vectors.EntityVector(*columns) for columns in entity.vectors]
                differences += [
                    AuditDifference(subject_id, "meaning", str(old), str(new))
                    for old, new in vectors.differences(stored_vectors, expected.get(subject_id))
                ]
                if entity.types not in ([], [kind := node.own.kind]):
                    is_fact = kind in (*entity.types, entity.properties.get("listed"))
                    self.detached.update(() if is_fact else [subject_id])
                    differences.append(AuditDifference(subject_id, "type", kind, entity.types, is_fact))
            elif relationship := self._relationships.get(subject_id):
                differences = self._of_relationship(relationship, node)
            else:
                self.detached.add(subject_id)
                differences = [AuditDifference(subject_id, "ends", None, ids.ends(subject_id))]
            if differences:
                self.differences[subject_id] = differences

    def _of_entity(self, stored: AuditedEntity, node: turn_rows.Node) -> list[AuditDifference]:
        subject_id, into = stored.subject_id, node.own.into or None
        rules = self.derived.rules(node.view.kind)
        there = {
            "labels": _display_labels(stored),
            "identifiers": sorted(stored.identifiers, key=str),
            "former names": sorted(stored.former, key=str),
            "MERGED_INTO": stored.merged_into,
            "values": sorted(stored.values, key=str),
            **{f"event {event.get('id')}": event for event in stored.events},
        }
        expected = {
            "labels": node.labels,
            "identifiers": sorted(map(list, node.identifiers), key=str),
            "former names": sorted(map(list, node.former), key=str),
            "MERGED_INTO": [into] if into else [],
            "values": [[*value, True] for value in node.values(rules)],
            **{f"event {n}": event for n, event in events.listed(self.owner, node.as_listed, rules).items()},
        }
        differences = _of_properties(subject_id, stored.properties, node.properties)
        return differences + _differing(subject_id, there, expected)

    def _of_relationship(self, stored: AuditedRelationship, node: turn_rows.Node) -> list[AuditDifference]:
        subject_id, into = stored.subject_id, node.own.into or None
        there = {node.own.kind: stored.edges, "SHOWN_AS": stored.shown_as}
        expected = {node.own.kind: [node.live], "SHOWN_AS": [into] if into and not ids.is_loop(into) else []}
        differences = _of_properties(subject_id, stored.properties, node.properties)
        return differences + _differing(subject_id, there, expected)

    def correct(self, params: dict[str, Any]) -> None:
        changes = events.EventChanges(self.owner)
        for row in params["entities"]:
            stored = self._entities[row["subject_id"]]
            merged = stored.merged_into
            node = turn_rows.Node.of(self.derived.entities, row["subject_id"], True)
            derived = node.identifiers if node else set()
            row["created"], row["meaning"] = False, vectors.row(node) if node else None
            stored_labels, labels = set(_display_labels(stored)), set(node.labels if node else ())
            row["labels_added"] = sorted(labels - stored_labels)
            row["labels_removed"] = sorted(stored_labels - labels)
            # Whatever identifies it: a sealed value that does not open cannot be named.
            row["rekeyed"], row["identifiers_added"] = "", sorted(map(list, derived))
            row["former_added"] = sorted(map(list, node.former)) if node else []
            row["former_removed"] = None
            row["values"] = node.values(self.derived.rules(node.view.kind)) if node else []
            into = row["properties"]["merged_into"]
            row["unmerged"] = merged[0] if merged and merged != [into] else None
            row["merged"] = into if into and merged != [into] else None
            if node is not None:
                rules = self.derived.rules(node.view.kind)
                changes.change(row["subject_id"], None, node.as_listed, rules, is_renewed=True)
        params |= changes.parameters
        for row in params["relationships"]:
            stored = self._relationships.get(row["subject_id"])
            if stored is None:
                continue
            edges, survivors = stored.edges, stored.shown_as
            into = row["properties"]["shown_as"] or None
            row["created"], row["liveness_changed"] = not edges, bool(edges)
            row["former_survivor_key"] = survivors[0] if survivors and survivors != [into] else None
            row["survivor_key"] = into if into and survivors != [into] else None


def _display_labels(stored: AuditedEntity) -> list[str]:
    """Return the display labels of a node, sorted; a person may have given it others."""
    return sorted({*stored.labels} & {*DISPLAY_LABELS.values()})


def _of_properties(subject_id: str, stored: dict[str, Any], derived: dict[str, Any]) -> list[AuditDifference]:
    """Return the fields in which two snapshots differ, with value, winner and rank, and the properties."""
    # The first versions summed up an entity without its name: it keeps their checksum until it changes.
    summed = "version", "fields", "values", "winners", "own"
    former = reduction.checksum(*(derived[name] for name in summed))
    there, expected = {}, {}
    if any(stored.get(name) != derived[name] for name in _LISTS):
        for snapshot, fields in ((stored, there), (derived, expected)):
            lists = (snapshot[n] if isinstance(snapshot.get(n), list) else [] for n in _LISTS)
            fields |= {f"field {name}": rest for name, *rest in zip_longest(*lists)}
    for name in derived.keys() - {*_LISTS}:
        there[name], expected[name] = stored.get(name), derived[name]
    if there.get("check") == former:
        del there["check"], expected["check"]
    return _differing(subject_id, there, expected)


def _differing(subject_id: str, stored: dict[str, Any], derived: dict[str, Any]) -> list[AuditDifference]:
    return [
        AuditDifference(subject_id, what, stored.get(what), derived.get(what))
        for what in sorted({**stored, **derived}, key=str)
        if stored.get(what) != derived.get(what)
    ]


def _cut(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_cut(each) for each in value]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    value = str(value) if isinstance(value, DecryptionFailed | bytes) else value
    is_long = isinstance(value, str) and len(value) > REPORTED_CHARACTERS
    return f"{value[:REPORTED_CHARACTERS]}…" if is_long else value


@dataclass(slots=True)
class Report:
    """The result of an audit."""

    checked: int = 0
    unchecked: int = 0  # what commits changed during every read
    stale: dict[str, list[AuditDifference]] = field(default_factory=dict)
    stale_count: int = 0
    counted: set[str] = field(default_factory=set)  # what ``stale_count`` counts already
    fixed: int = 0
    settled: bool = True  # counters and the state hash could be compared
    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    hash: int = 0

    def note(self, differences: list[AuditDifference]) -> None:
        """Add the differences of one entity or relationship; the first are listed, all are counted."""
        if not differences:
            return
        subject_id = differences[0].subject_id
        self.stale_count += subject_id not in self.counted
        if subject_id in self.stale or len(self.stale) < REPORTED_LIMIT:
            self.stale.setdefault(subject_id, []).extend(differences)

    def add(self, stretch: Stretch) -> None:
        self.checked += len(stretch.subject_ids) - len(stretch.unchecked)
        self.unchecked += len(stretch.unchecked)
        self.hash += stretch.hash
        for key, counted in stretch.counts.items():
            known = self.counts.setdefault(key, [0, 0, 0, 0])
            self.counts[key] = [total + more for total, more in zip(known, counted, strict=True)]
        for subject_id in stretch.subject_ids:
            if subject_id not in stretch.unchecked:
                self.note(stretch.differences.get(subject_id, []))
        self.fixed += stretch.mended

    @property
    def sums(self) -> list[Any]:
        """What was counted, as JSON: :meth:`of_sums` takes it, for an audit that goes on."""
        counts = [[*key, *numbers] for key, numbers in self.counts.items()]
        return [self.checked, self.unchecked, self.stale_count, self.fixed, hex(self.hash), counts]

    @classmethod
    def of_sums(cls, sums: list[Any], *, settled: bool) -> Report:
        checked, unchecked, stale_count, fixed, text, counts = sums
        by_type = {(kind, name): numbers for kind, name, *numbers in counts}
        return cls(
            checked, unchecked, stale_count=stale_count, fixed=fixed, settled=settled, counts=by_type,
            hash=int(text, 16),
        )  # fmt: skip


class Kind(NamedTuple):
    """The entities of a type that are live or not, or the relationships of a type, after a place."""

    is_entity: bool
    type: str
    live: bool = True
    since: int = -(1 << 62)
    after: str = ""

    @property
    def order(self) -> tuple[bool, str, bool]:
        return not self.is_entity, str(self.type), not self.live


class Place(NamedTuple):
    """How far an audit has come: its phase, and in it the kind of subjects, or the source, to go on after."""

    phase: str
    after: Any = ()

    def left(self, kinds: list[Kind]) -> list[Kind]:
        if not self.after:
            return kinds
        first = Kind(*self.after)
        return [first, *(kind for kind in kinds if kind.order > first.order)]


class _Subject(NamedTuple):
    kind: int
    subject_id: str
    since: int
    after: str


def kinds_of(entity_types: Iterable[str], relationship_types: Iterable[str] = ()) -> list[Kind]:
    """Return the kinds of some types in order: entities before relationships, live ones first."""
    kinds = [Kind(True, kind, live) for kind in set(entity_types) for live in (True, False)]
    kinds += [Kind(False, kind) for kind in set(relationship_types)]
    return sorted(kinds, key=lambda kind: kind.order)


async def stretches(
    queries: Queries, kinds: list[Kind], limit: int
) -> AsyncIterator[tuple[dict[str, str], list[Kind]]]:
    """Yield the types of all entities and relationships of some kinds by id, each time with what is left."""
    while kinds:
        subjects = await queries.only(
            "audit.subjects", list[_Subject], kinds=[*map(list, kinds)], limit=limit
        )
        types = {subject.subject_id: kinds[subject.kind].type for subject in subjects}
        if len(subjects) < limit:
            kinds = []
        else:
            last = subjects[-1]
            rest = kinds[last.kind]._replace(since=last.since, after=last.after)
            kinds = [rest, *kinds[last.kind + 1 :]]
        if types:
            yield types, kinds
