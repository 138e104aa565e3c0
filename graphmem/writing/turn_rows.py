"""The parameters of ``write.turn``: one row for each thing that changes, sorted.

``own`` is the stored name of ``own_state_text``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from graphmem.embedding import meaning
from graphmem.model import canonical, comparison, fact_table, facts, identity, ids, reduction, state_hash
from graphmem.model.display_labels import DISPLAY_LABELS
from graphmem.model.period_folds import PeriodFold
from graphmem.model.reduction import Observation
from graphmem.model.rules import NULL, Rules
from graphmem.model.shipped_relationships import BUILTIN
from graphmem.text import identifiers, words
from graphmem.writing import forms, vectors
from graphmem.writing.events import EventChanges
from graphmem.writing.state import State
from graphmem.writing.things import KEY_KIND, Thing, Things, naming_pairs

_COUNTED: Final = ("total", "known", "observations", "recorded")
"""The counters of a type: live survivors, all survivors, observations of what is live, all observations."""
_STORED_AS_IT_IS: Final = (
    "id", "kind", "observed_at", "recorded_at", "priority", "specificity", "observation_source", "agent",
    "source_id", "interpretation_id", "places",
)  # fmt: skip
"""The members of an observation that its node has as they are."""
_STALE: Final = "stale"
"""The projection of a survivor with a member that was folded under other rules: no rules have this key."""


def parameters(state: State) -> dict[str, Any]:
    """Return the parameters of ``write.turn`` for a decided state."""
    owner, read, new = state.owner, state.read, state.new
    added: dict[str, list[Observation]] = {}
    for observation in new.observations.values():
        added.setdefault(observation.subject_id, []).append(observation)
    counts: dict[tuple[str, str], list[int]] = {}
    entities, relationships = [], []
    events = EventChanges(owner)
    hash_added = hash_removed = 0
    sides = (
        (state.entities_before, state.entities, True),
        (state.relationships_before, state.relationships, False),
    )
    for things_before, things, is_entity in sides:
        for subject_id in sorted(_changed(things_before, things)):
            before = Node.of(things_before, subject_id, is_entity)
            after = Node.of(things, subject_id, is_entity)
            hash_removed += before.hash if before else 0
            hash_added += after.hash if after else 0
            count(counts, before, -1)
            count(counts, after, 1)
            is_changed = before is None or after is None or before.properties != after.properties
            if after is not None and (subject_id in added or is_changed):
                rules = state.rules(after.view.kind)
                row = (
                    _entity_row(
                        before, after, rules, added.get(subject_id, ()), state.may_have_keys(after.own.kind)
                    )
                    if is_entity
                    else _relationship_row(before, after)
                )
                rows = [_observation_row(owner, each, is_entity) for each in added.get(subject_id, ())]
                row |= {"subject_id": subject_id, "observations": rows}
                row["properties"] |= {"owner": owner, "type": after.own.kind}
                if any(each.excluded for each in added.get(subject_id, ())):
                    row["properties"]["excluded"] = True
                (entities if is_entity else relationships).append(row)
                if is_entity:
                    is_renewed = before is not None and before.projection != after.projection
                    old = before.as_listed if before else None
                    events.change(after.own.subject_id, old, after.as_listed, rules, is_renewed=is_renewed)
    properties = [row["properties"] for row in new.transactions]
    recorded = [max(each["recorded_at"], each.get("learned_at") or 0) for each in properties]
    return {
        "sequence": read.sequence,
        "revision": read.revision,
        "state_hash": state_hash.updated(read.hash, hash_added, hash_removed),
        # A restored transaction may have been recorded before those of the database, and is learned of now.
        "recorded_at": max([read.recorded_at, *recorded]),
        "transactions": new.transactions,
        "entities": entities,
        "relationships": relationships,
        **events.parameters,
        "schemas": [
            state.heads[kind].row(owner, changed_at) for kind, changed_at in sorted(new.heads.items())
        ],
        **fact_table.NO_ROWS,
        **new.facts,
        "repeated": [{"id": each, "transaction_id": by} for each, by in sorted(new.repeated)],
        "recounted": forms.recounted(state),
        "sourced": _origins(new.observations.values(), "source_id"),
        "interpreted": _origins(new.observations.values(), "interpretation_id"),
        "aliases": [{"name": name, "type": kind} for name, kind in sorted(new.aliases.items())],
        "counts": count_rows({key: deltas for key, deltas in counts.items() if any(deltas)}),
    }


def _origins(observations: Iterable[Observation], name: str) -> list[dict[str, Any]]:
    origins = ((each.id, getattr(each, name)) for each in observations)
    return [{"id": observation_id, name: origin} for observation_id, origin in origins if origin is not None]


def count_rows(counts: Mapping[tuple[str, str], list[int]]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "type": name, **dict(zip(_COUNTED, numbers, strict=True))}
        for (kind, name), numbers in sorted(counts.items(), key=str)
    ]


def _changed(before: Things, after: Things) -> set[str]:
    """Return the ids of what changed, and of all that is merged with it."""
    changed = {subject_id for subject_id in after if after.get(subject_id) is not before.get(subject_id)}
    with_merged = set(changed)
    for subject_id in changed:
        for things in (before, after):
            if not things.is_alone(subject_id):
                with_merged.update(each.subject_id for each in things.members(things.root(subject_id)))
    return with_merged


@dataclass(frozen=True, eq=False)
class Node:
    """The properties of one thing's node, and what the thing adds to counters and hash."""

    own: Thing  # the thing with its own state
    view: Thing  # what its node shows: its own state if it is merged, else it with all of its members
    is_entity: bool
    live: bool  # whether answers may show it: what is merged is as live as its survivor
    alone: bool
    projection: str

    @property
    def is_survivor(self) -> bool:
        return self.own.into is None

    @property
    def absent(self) -> bool:
        """Whether nothing that counts makes it. So it is not shown, and stored as merged into nothing."""
        return not self.view.made

    @classmethod
    def of(cls, things: Things, subject_id: str, is_entity: bool) -> Node | None:
        """Return the node of a thing, ``None`` where there is none."""
        own = things.get(subject_id)
        if own is None:
            return None
        alone = own.into is None and things.is_alone(subject_id)
        if alone:
            survivor = own
        elif is_entity and own.into is not None:
            # Only the survivor's liveness matters: no member changes it, unless members alone make it.
            survivor = things.survivor(subject_id)
            if not survivor.made:
                survivor = things.view(survivor.subject_id) or survivor
        else:
            survivor = things.view(things.root(subject_id)) or own
        live = survivor.live and not survivor.unmade and (not is_entity or survivor.made)
        if not is_entity:
            is_observed = bool(survivor.observation_count) and not ids.is_loop(survivor.subject_id)
            live = live and own.into is None and is_observed
        projection = own.projection
        if is_entity and not alone and own.into is None:
            projections = {member.projection for member in things.members(subject_id)}
            projection = projection if projections == {projection} else _STALE
        view = own if own.into is not None else survivor
        return cls(own, view, is_entity, live, alone, projection)

    @cached_property
    def properties(self) -> dict[str, Any]:
        view, winners = self.view, self.view.winners
        names = [name for name, _ in winners]
        values = [winner.value for _, winner in winners]
        winner_ids = [winner.observation_id for _, winner in winners]
        own_state = None if self.alone or not self.is_survivor else self.own.own_state_text
        properties: dict[str, Any] = {
            "version": view.version,
            "observation_count": view.observation_count,
            "created_at": view.created_at,
            "last_observation_at": view.last_observation_at,
            "fields": names,
            "values": values,
            "ranks": [winner.rank for _, winner in winners],
            "winners": winner_ids,
            "own": own_state,
            "parts": self.own.fold.text if isinstance(self.own.fold, PeriodFold) else None,
            "check": reduction.checksum(
                view.version, names, values, winner_ids, own_state, view.name if self.is_entity else None
            ),
            "size": view.size,
            "live": self.live,
            "turn": list(view.lifecycle) if view.lifecycle else None,
            "unmade": self.own.unmade or None,
            "refold": self.own.refold or None,
        }
        if self.is_entity:
            return properties | {
                "canonical_name": view.name,
                "name": view.name,
                "name_key": identity.index_key(identity.fold_text(view.name)),
                "updated_at": view.updated_at,
                "listed": self.listed,
                "unlisted": None if self.listed else view.kind,
                "merged_into": "" if self.is_survivor and self.absent else self.own.into,
                "projection": self.projection or None,
                "text": self.text,
                "evidence": self.own.evidence_text,
                "separated": list(self.own.separated) or None,
                "distinct_from": list(self.own.distinct_from) or None,
                "merged_by": self.own.merged_by,
                "merge_rule": self.own.merge_rule,
                "parting": self.own.parting.text if self.own.parting else None,
                "parted_into": (self.own.parting.ids or None) if self.own.parting else None,
            }
        source, target = ids.ends(view.subject_id)
        return properties | {
            "id": ids.relationship_id(view.subject_id), "source": source, "target": target,
            "shown_as": self.own.into,
        }  # fmt: skip

    @property
    def listed(self) -> str | None:
        """Its type while answers list it: a live survivor; else ``None``."""
        return self.view.kind if self.live and self.is_survivor else None

    @cached_property
    def text(self) -> str | None:
        """The words of a listed entity, as a search compares them."""
        if not self.listed:
            return None
        return words.text_of(self.view.name, self._values, identifiers.ALIASES)

    @cached_property
    def embedded_text(self) -> str | None:
        """The text of a listed entity that its vector is made of."""
        return meaning.text_of(self.view.name, self._values) if self.listed else None

    @property
    def _values(self) -> list[tuple[str, str]]:
        return [(name, winner.value) for name, winner in self.view.winners]

    @property
    def labels(self) -> list[str]:
        """The display labels of an entity's node."""
        label = DISPLAY_LABELS.get(self.own.kind)
        return [label] if label else []

    @property
    def as_listed(self) -> Thing | None:
        """Its view while answers list it; else ``None``."""
        return self.view if self.listed else None

    @property
    def hash(self) -> int:
        if self.absent:
            return 0
        winners = [(name, winner.value, winner.observation_id) for name, winner in self.view.winners]
        return state_hash.entry(self.own.subject_id, self.own.kind, self.live, self.own.into, winners)

    def values(self, rules: Rules) -> list[list[str]]:
        """Return the pairs (field, index key) of its filterable fields under some rules, sorted."""
        if not rules.filterable or not self.listed:
            return []
        pairs: list[list[str]] = []
        for name in sorted(rules.filterable):
            winner = self.view.fold.get(name)
            value = canonical.decode(winner.value if winner else NULL)
            pairs += ([name, key] for key in sorted(comparison.index_keys(value)))
        return pairs

    @property
    def identifiers(self) -> set[tuple[str, str]]:
        """The (kind, key) pairs by which it is looked up, and by which the rule looks up what it bears."""
        return self.own.keys if self.absent else self.view.identifiers | self.own.keys

    @cached_property
    def names(self) -> set[tuple[str, str]]:
        """The (kind, key) pairs by which its own current values name it."""
        return naming_pairs(self.own.kind, self.own.texts)

    @property
    def former(self) -> set[tuple[str, str]]:
        """The pairs that named it formerly, of a thing whose observations were all read."""
        return set(self.own.named or ()) - self.names


def count(counts: dict[tuple[str, str], list[int]], node: Node | None, sign: int) -> None:
    if node is None or node.absent:
        return
    numbers = counts.setdefault(("entity" if node.is_entity else "relationship", node.own.kind), [0, 0, 0, 0])
    numbers[0] += sign * (node.live and node.is_survivor)
    numbers[1] += sign * node.is_survivor
    numbers[2] += sign * (node.own.observation_count if node.live else 0)
    numbers[3] += sign * node.own.observation_count


def _entity_row(
    before: Node | None, after: Node, rules: Rules, observations: Iterable[Observation], may_have_keys: bool
) -> dict[str, Any]:
    old, new = before.identifiers if before else set[tuple[str, str]](), after.identifiers
    old_into, new_into = before.own.into if before else None, after.own.into
    is_moved = (old_into, before.own.merged_by if before else None) != (new_into, after.own.merged_by)
    # Which keys are stored is not known where they were written under another rule, or before there were any.
    is_folded_again = before is not None and (
        before.own.projection != after.own.projection or before.own.refold > after.own.refold
    )
    is_rekeyed = may_have_keys and is_folded_again
    if is_rekeyed:
        old = {pair for pair in old if not pair[0].startswith(KEY_KIND)}
    text_changed = after.embedded_text != (before.embedded_text if before else None)
    return {
        "created": before is None,
        "properties": dict(after.properties),
        "labels_added": after.labels if before is None else [],
        "labels_removed": [],
        "identifiers_added": sorted(map(list, new - old)),
        "identifiers_removed": sorted(map(list, old - new)),
        **_former(before, after, observations),
        "values": _changed_values(before, after, rules),
        "merged": new_into if is_moved else None,
        "unmerged": old_into if is_moved else None,
        "merged_by": after.own.merged_by,
        "rekeyed": KEY_KIND if is_rekeyed else None,
        "meaning": vectors.row(after) if text_changed else None,
    }


def _former(
    before: Node | None, after: Node, observations: Iterable[Observation]
) -> dict[str, list[list[str]] | None]:
    """Return which pairs name an entity no more, and which do again; with them go the keys by which the rule
    found it, so that what decided at earlier times is found by them.

    What its own observations name it, and its own values do not, it bore formerly, whatever its members say.
    Where these were all read, all of it is written; else what was current before and what is new.
    """
    own, nothing = after.own, set[tuple[str, str]]()
    new = [each for each in observations if each.counts and each.kind in facts.VALUE_KINDS]
    own_values = {(name, winner.value) for name, winner in own.fold.items()}
    is_named_by_values = before is None and all(each.fields.items() <= own_values for each in new)
    added, removed = None, None
    if own.named is not None or not is_named_by_values:
        named = {pair for each in new for pair in naming_pairs(own.kind, each.fields)}
        before_names = before.names if before else nothing
        former = (named | (before_names if own.named is None else own.named)) - after.names
        current = None if own.named is not None else after.names - before_names
        added = sorted(map(list, former)) if former or current != nothing else None
        removed = None if current is None else sorted(map(list, current))
    if keys := ((before.own.keys if before else nothing) | own.former_keys) - own.keys:
        removed = [] if added is None and removed is None else removed
        added = [*(added or ()), *sorted(map(list, keys))]
    return {"former_added": added, "former_removed": removed}


def _changed_values(before: Node | None, after: Node, rules: Rules) -> list[list[str]] | None:
    """Return all filterable values of an entity, if one has changed, or the rules, so that it may."""
    values = after.values(rules)
    if before is None:
        return values or None
    unchanged = before.projection == after.projection and before.values(rules) == values
    return None if unchanged else values


def _relationship_row(before: Node | None, after: Node) -> dict[str, Any]:
    old_into, new_into = (before.own.into or None) if before else None, after.own.into or None
    return {
        "properties": dict(after.properties),
        "created": before is None,
        "is_shipped": after.own.kind in BUILTIN,
        "liveness_changed": before is not None and before.live != after.live,
        "survivor_key": new_into if new_into != old_into else None,
        "former_survivor_key": old_into if new_into != old_into else None,
    }


def _observation_row(owner: str, observation: Observation, is_entity: bool) -> dict[str, Any]:
    names = sorted(observation.fields, key=canonical.name_order)
    properties: dict[str, Any] = {
        **{name: getattr(observation, name) for name in _STORED_AS_IT_IS},
        "owner": owner,
        "fields": names,
        "values": [observation.fields[name] for name in names],
        "size": sum(map(len, observation.fields.values())),
        "excluded": list(observation.excluded) or None,
    }
    if observation.home is not None:
        properties["part"] = properties["moved_to"] = observation.subject_id
    subject_id = observation.home or observation.subject_id
    if is_entity:
        properties["entity_id"] = subject_id
        properties["entity_type"] = observation.entity_type
        properties["identity_basis"] = observation.basis
    else:
        properties["relationship_key"] = subject_id
    return {"transaction_id": observation.transaction_id, "properties": properties}
