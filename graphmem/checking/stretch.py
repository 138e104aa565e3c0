"""A stretch of entities or relationships under audit: the stored state beside the derived one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final

from graphmem.model import ids
from graphmem.writing import events, rows, vectors
from graphmem.writing.state import State

REPORTED_CHARACTERS: Final = 500
"""Characters of a value that a difference shows."""
_LISTS: Final = ("fields", "values", "winners", "ranks")


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of the stored state that differs from the derived one.

    ``what`` is a property of the node, ``identifiers``, the type of an edge, or a field of the snapshot.
    """

    subject_id: str
    what: str
    stored: Any
    derived: Any


class Stretch:
    """Some entities or relationships: the stored state beside the derived one."""

    def __init__(self, owner: str, looked: State, derived: State, subject_ids: list[str]) -> None:
        self.owner, self.looked, self.derived, self.subject_ids = owner, looked, derived, subject_ids
        self.differences: dict[str, list[Difference]] = {}
        self.counts: dict[tuple[str, str], list[int]] = {}
        self.hash = 0
        self.mended = 0
        self.unchecked: set[str] = set()
        self.detached: set[str] = set()
        """Relationships of which an end has no node: they are reported, and cannot be mended."""
        self._stored: dict[str, list[Any]] = {}
        self._wanted = set(subject_ids)

    def changed(self, again: State) -> set[str]:
        """Return the subjects that were written since they were read."""
        pairs = (
            (self.looked.entities, again.entities),
            (self.looked.relationships, again.relationships),
        )
        if self.looked.revision == again.revision:
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
    def nodes(self) -> dict[str, rows.Node]:
        """The nodes that the subjects should have."""
        sides = ((self.derived.entities, True), (self.derived.relationships, False))
        found = {
            subject_id: rows.Node.of(things, subject_id, is_entity)
            for things, is_entity in sides
            for subject_id in things
            if subject_id in self._wanted
        }
        return {subject_id: node for subject_id, node in found.items() if node is not None}

    @property
    def mendable(self) -> set[str]:
        """The subjects that differ and can be written as derived."""
        return self.differences.keys() - self.detached

    def compare(self, row: dict[str, Any], expected: dict[str, vectors.ExpectedVector]) -> None:
        """Compare with the row of ``audit.nodes``; ``expected`` are the expected vectors by entity."""
        self._stored = {subject_id: rest for subject_id, *rest in (*row["entities"], *row["relationships"])}
        for subject_id, node in self.nodes.items():
            self.hash += node.hash
            rows.count(self.counts, node, 1)
            if subject_id not in self._stored:
                self.detached.add(subject_id)
                self.differences[subject_id] = [Difference(subject_id, "ends", None, ids.ends(subject_id))]
                continue
            found = self._compared(subject_id, node)
            if node.is_entity:
                stored = [vectors.StoredVector(*columns) for columns in self._stored[subject_id][3]]
                found += [
                    Difference(subject_id, "meaning", _cut(str(one)), _cut(str(other)))
                    for one, other in vectors.differences(stored, expected.get(subject_id), self.owner)
                ]
            if found:
                self.differences[subject_id] = found

    def _compared(self, subject_id: str, node: rows.Node) -> list[Difference]:
        properties, edges, shown_as, *rest = self._stored[subject_id]
        found = _of_snapshot(subject_id, properties, node.properties)
        for name, derived in node.properties.items():
            if name not in _LISTS and properties.get(name) != derived:
                found.append(Difference(subject_id, name, _cut(properties.get(name)), _cut(derived)))
        into = node.own.into or None
        if node.is_entity:
            identifiers = sorted(map(list, node.identifiers))
            if sorted(edges) != identifiers:
                found.append(Difference(subject_id, "identifiers", sorted(edges), identifiers))
            if shown_as != ([into] if into else []):
                found.append(Difference(subject_id, "MERGED_INTO", shown_as, into))
            _, values_kept, events_kept = rest
            kept, values = sorted(values_kept), self._values(node)
            if kept != [[*one, True] for one in values]:
                found.append(Difference(subject_id, "values", kept, values))
            found += self._of_events(subject_id, node, events_kept)
        else:
            if edges != [node.live]:
                found.append(Difference(subject_id, node.own.kind, edges, node.live))
            if shown_as != ([into] if into and not ids.is_loop(into) else []):
                found.append(Difference(subject_id, "SHOWN_AS", shown_as, into))
        return found

    def _values(self, node: rows.Node) -> list[list[str]]:
        return node.values(self.derived.rules(node.view.kind))

    def _of_events(self, subject_id: str, node: rows.Node, stored: list[dict[str, Any]]) -> list[Difference]:
        """Return the differences of an entity's events, each named by its id."""
        held = {one["id"]: one for one in stored}
        derived = events.listed(self.owner, node.as_listed, self.derived.rules(node.view.kind))
        names = [name for name in sorted({*held, *derived}) if held.get(name) != derived.get(name)]
        return [Difference(subject_id, f"event {name}", held.get(name), derived.get(name)) for name in names]

    def correct(self, params: dict[str, Any]) -> None:
        """Change the rows of a turn so that they correct what is stored, whatever that is."""
        changes = events.EventChanges(self.owner)
        for row in params["entities"]:
            _, identifiers, merged, *_ = self._stored[row["home"]]
            node = rows.Node.of(self.derived.entities, row["home"], True)
            wanted = node.identifiers if node else set()
            row["meaning"] = vectors.row(node) if node else None
            actual = set(map(tuple, identifiers))
            row["identifiers_added"] = sorted(map(list, wanted - actual))
            row["identifiers_removed"] = sorted(map(list, actual - wanted))
            row["values"] = self._values(node) if node else []
            into = row["properties"]["merged_into"]
            row["unmerged"] = merged[0] if merged and merged != [into] else None
            row["merged"] = into if into and merged != [into] else None
            if node is not None:
                changes.renew(row["home"], node.as_listed, self.derived.rules(node.view.kind))
        params |= changes.parameters
        for row in params["relationships"]:
            known = self._stored.get(row["home"])
            if known is None:
                continue
            _, edges, shown = known[:3]
            into = row["properties"]["shown_as"] or None
            row["created"], row["turned"] = not edges, bool(edges)
            row["unshown"] = shown[0] if shown and shown != [into] else None
            row["shown"] = into if into and shown != [into] else None


def _of_snapshot(subject_id: str, stored: dict[str, Any], derived: dict[str, Any]) -> list[Difference]:
    """Return the fields in which two snapshots differ, with value, winner and rank."""
    if all(stored.get(name) == derived[name] for name in _LISTS):
        return []
    stored_fields, derived_fields = (
        {
            name: [_cut(part) for part in rest]
            for name, *rest in zip_longest(*(held.get(n) or [] for n in _LISTS))
        }
        for held in (stored, derived)
    )
    names = [
        name
        for name in {**stored_fields, **derived_fields}
        if stored_fields.get(name) != derived_fields.get(name)
    ]
    return [
        Difference(subject_id, f"field {name}", stored_fields.get(name), derived_fields.get(name))
        for name in names
    ]


def _cut(value: Any) -> Any:
    """Return a value as a report can hold it."""
    is_long = isinstance(value, str) and len(value) > REPORTED_CHARACTERS
    return f"{value[:REPORTED_CHARACTERS]}…" if is_long else value
