"""From what a turn decided to the parameters of ``write.turn``: one row per home, sorted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from graphmem.embedding import meaning
from graphmem.model import canonical, comparison, identity, ids, reduction, relationship, state_hash
from graphmem.model.reduction import Observation
from graphmem.model.rules import NULL, Rules
from graphmem.text import words
from graphmem.writing import duplicate_probe, vectors
from graphmem.writing.events import Drawn
from graphmem.writing.state import State
from graphmem.writing.things import Thing, Things

_COUNTED: Final = ("total", "known", "observations", "recorded")
"""What a Count holds: shown things that live, all shown things, observations of those that live, all."""
_STALE: Final = "stale"
"""The projection of what shows something that was folded under other rules: no rules have this key."""


def parameters(
    state: State, owner: str, always: Collection[str] = (), probes: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the parameters of ``write.turn`` for what was decided.

    Args:
        always: things that are written even where nothing was decided of them.
        probes: where to look for likely duplicates of what is created.
    """
    said: dict[str, list[Observation]] = {}
    for observation in state.added:
        said.setdefault(observation.subject_id, []).append(observation)
    counts: dict[tuple[str, str], list[int]] = {}
    entities, relationships = [], []
    drawn = Drawn(owner)
    added = taken = 0
    sides = (
        (state.entities_before, state.entities, True),
        (state.relationships_before, state.relationships, False),
    )
    for before, after, is_entity in sides:
        for subject_id in sorted(_dirty(before, after) | {one for one in always if after.get(one)}):
            was, now = Node.of(before, subject_id, is_entity), Node.of(after, subject_id, is_entity)
            taken += was.hash if was else 0
            added += now.hash if now else 0
            count(counts, was, -1)
            count(counts, now, 1)
            written = subject_id in said or subject_id in always
            if now is not None and (written or was is None or was.properties != now.properties):
                rules = state.rules(now.view.kind)
                row = _entity_row(was, now, rules) if is_entity else _relationship_row(was, now)
                observed = [_observation_row(owner, one, is_entity) for one in said.get(subject_id, ())]
                row |= {"home": subject_id, "observations": observed}
                row["properties"] |= {"owner": owner, "type": now.own.kind}
                (entities if is_entity else relationships).append(row)
                if is_entity:
                    _draw(drawn, was, now, rules)
    return {
        "sequence": state.sequence,
        "revision": state.revision,
        "state_hash": None if state.hash is None else state_hash.updated(state.hash, added, taken),
        # What is restored may have been recorded before what is here.
        "recorded_at": max([state.recorded_at, *(row["properties"]["recorded_at"] for row in state.rows)]),
        "transactions": state.rows,
        "entities": entities,
        "relationships": relationships,
        **drawn.parameters,
        "schemas": [
            state.heads[kind].row(owner, touched) for kind, touched in sorted(state.touched_heads.items())
        ],
        "versions": state.versions,
        "aliases": [{"name": name, "type": kind} for name, kind in sorted(state.renamed.items())],
        "counts": counted({key: deltas for key, deltas in counts.items() if any(deltas)}),
        **duplicate_probe.parameters(probes),
    }


def edge_types(params: Mapping[str, Any]) -> frozenset[str]:
    """Return the types of the edges among which a turn finds those that it changes."""
    turned = (row for row in params["relationships"] if row["turned"])
    return relationship.with_builtin(row["properties"]["type"] for row in turned)


def counted(counts: Mapping[tuple[str, str], list[int]]) -> list[dict[str, Any]]:
    """Return the rows of counters."""
    return [
        {"kind": kind, "type": name, **dict(zip(_COUNTED, numbers, strict=True))}
        for (kind, name), numbers in sorted(counts.items())
    ]


def _dirty(before: Things, after: Things) -> set[str]:
    """Return the things that changed, and those that are shown with them."""
    changed = {subject_id for subject_id in after if after.get(subject_id) is not before.get(subject_id)}
    found = set(changed)
    for subject_id in changed:
        for things in (before, after):
            if not things.is_alone(subject_id):
                found.update(one.subject_id for one in things.members(things.root(subject_id)))
    return found


class Node:
    """What the node of one thing holds, and what it counts for."""

    def __init__(
        self, own: Thing, shown: Thing, is_entity: bool, live: bool, alone: bool, projection: str
    ) -> None:
        self.own, self.is_entity, self.live = own, is_entity, live
        self.view = own if own.into is not None else shown
        self.is_shown = own.into is None
        self._alone, self.projection = alone, projection

    @classmethod
    def of(cls, things: Things, subject_id: str, is_entity: bool) -> Node | None:
        """Return the node of a thing, ``None`` where there is none."""
        own = things.get(subject_id)
        if own is None:
            return None
        alone = own.into is None and things.is_alone(subject_id)
        if alone:
            shown = own
        elif is_entity and own.into is not None:
            # Only the liveness of what shows it matters, and that is the survivor's own.
            shown = things.get(things.root(subject_id)) or own
        else:
            shown = things.view(things.root(subject_id)) or own
        # A member is as live as what shows it; a relationship that another shows is in no answer itself.
        live = shown.live and (is_entity or (own.into is None and _is_there(shown)))
        projection = own.projection
        if is_entity and not alone and own.into is None:
            folded = {one.projection for one in things.members(subject_id)}
            projection = projection if folded == {projection} else _STALE
        return cls(own, shown, is_entity, live, alone, projection)

    @cached_property
    def properties(self) -> dict[str, Any]:
        """What its node holds."""
        view, held = self.view, self.view.held
        names = [name for name, _ in held]
        values = [winner.value for _, winner in held]
        winners = [winner.observation_id for _, winner in held]
        own = None if self._alone or not self.is_shown else self.own.own
        found: dict[str, Any] = {
            "version": view.version,
            "observation_count": view.observation_count,
            "created_at": view.created_at,
            "last_observation_at": view.last_observation_at,
            "fields": names,
            "values": values,
            "ranks": [winner.rank for _, winner in held],
            "winners": winners,
            "own": own,
            "check": reduction.checksum(view.version, names, values, winners, own),
            "size": view.size,
            "live": self.live,
            "turn": list(view.lifecycle) if view.lifecycle else None,
        }
        if self.is_entity:
            return found | {
                "canonical_name": view.name,
                "name_key": identity.index_key(identity.fold_text(view.name)),
                "updated_at": view.updated_at,
                "listed": self.listed,
                "unlisted": None if self.listed else view.kind,
                "merged_into": self.own.into,
                "projection": self.projection or None,
                "text": self.text,
            }
        source, target = ids.ends(view.subject_id)
        return found | {
            "id": ids.relationship_id(view.subject_id), "source": source, "target": target,
            "shown_as": self.own.into,
        }  # fmt: skip

    @property
    def listed(self) -> str | None:
        """Its type while it is in answers: live, and shown as itself; else ``None``."""
        return self.view.kind if self.live and self.is_shown else None

    @cached_property
    def text(self) -> str | None:
        """What a listed entity says, as it is searched."""
        return words.text_of(self.view.name, self._said) if self.listed else None

    @cached_property
    def meant(self) -> str | None:
        """What of a listed entity is made a vector of."""
        return meaning.text_of(self.view.name, self._said) if self.listed else None

    @property
    def _said(self) -> list[tuple[str, str]]:
        return [(name, winner.value) for name, winner in self.view.held]

    @property
    def as_listed(self) -> Thing | None:
        """It as it is shown, ``None`` where it is in no answer itself: deleted, or merged into another."""
        return self.view if self.listed else None

    @property
    def hash(self) -> int:
        """What it adds to the state hash."""
        if not self.view.observation_count:
            return 0
        held = [(name, winner.value, winner.observation_id) for name, winner in self.view.held]
        return state_hash.entry(self.own.subject_id, self.own.kind, self.live, self.own.into, held)

    def values(self, rules: Rules) -> list[list[str]]:
        """The fields that are filterable under some rules, each with its index keys; sorted."""
        if not rules.filterable or not self.listed:
            return []
        found: list[list[str]] = []
        for name in sorted(rules.filterable):
            winner = self.view.fold.get(name)
            value = canonical.decode(winner.value if winner else NULL)
            found += ([name, key] for key in sorted(comparison.index_keys(value)))
        return found

    @property
    def identifiers(self) -> set[tuple[str, str]]:
        """The (kind, key) pairs by which it is looked up."""
        return self.view.identifiers


def _is_there(relationship: Thing) -> bool:
    return bool(relationship.observation_count) and not ids.is_loop(relationship.subject_id)


def count(counts: dict[tuple[str, str], list[int]], node: Node | None, sign: int) -> None:
    """Add what a thing counts for to the counters of its type, or take it away."""
    if node is None or not node.view.observation_count:
        return
    numbers = counts.setdefault(("entity" if node.is_entity else "relationship", node.own.kind), [0, 0, 0, 0])
    numbers[0] += sign * (node.live and node.is_shown)
    numbers[1] += sign * node.is_shown
    numbers[2] += sign * (node.own.observation_count if node.live else 0)
    numbers[3] += sign * node.own.observation_count


def _entity_row(was: Node | None, now: Node, rules: Rules) -> dict[str, Any]:
    known, current = was.identifiers if was else set(), now.identifiers
    into, before = now.own.into, was.own.into if was else None
    return {
        "properties": dict(now.properties),
        "identifiers_added": sorted(map(list, current - known)),
        "identifiers_removed": sorted(map(list, known - current)),
        "values": _changed_values(was, now, rules),
        "merged": into if into != before else None,
        "unmerged": before if into != before else None,
        "meaning": vectors.row(now) if now.meant != (was.meant if was else None) else None,
    }


def _changed_values(was: Node | None, now: Node, rules: Rules) -> list[list[str]] | None:
    """Return all filterable values of an entity, ``None`` where they are as they were.

    What they were under other rules is not known here: then all of them are told.
    """
    values = now.values(rules)
    if was is None:
        return values or None
    return None if was.projection == now.projection and was.values(rules) == values else values


def _draw(drawn: Drawn, was: Node | None, now: Node, rules: Rules) -> None:
    """Draw the events of an entity; as if for the first time where its rules have changed."""
    if was is None or was.projection == now.projection:
        drawn.change(was.as_listed if was else None, now.as_listed, rules)
    else:
        drawn.renew(now.own.subject_id, now.as_listed, rules)


def _relationship_row(was: Node | None, now: Node) -> dict[str, Any]:
    into, before = now.own.into or None, (was.own.into or None) if was else None
    return {
        "properties": dict(now.properties),
        "created": was is None,
        "turned": was is not None and was.live != now.live,
        "shown": into if into != before else None,
        "unshown": before if into != before else None,
    }


def _observation_row(owner: str, said: Observation, is_entity: bool) -> dict[str, Any]:
    names = sorted(said.fields, key=canonical.name_order)
    properties: dict[str, Any] = {
        "id": said.id,
        "owner": owner,
        "kind": said.kind,
        "observed_at": said.observed_at,
        "recorded_at": said.recorded_at,
        "fields": names,
        "values": [said.fields[name] for name in names],
        "size": sum(map(len, said.fields.values())),
        "priority": said.priority,
        "specificity": said.specificity,
        "observation_source": said.observation_source,
        "agent": said.agent,
    }
    if is_entity:
        properties |= {
            "entity_id": said.subject_id, "entity_type": said.entity_type, "identity_basis": said.basis,
        }  # fmt: skip
    else:
        properties["relationship_key"] = said.subject_id
    return {"transaction_id": said.transaction_id, "properties": properties}
