"""A plain model of observations, schemas and their reduction to fields, by brute force.

It is written for reading and shares no code with the product. Times are the texts that graphmem answers:
they sort as times do.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

KINDS_WITH_FIELDS = ("value", "correction", "create")
VIEWED = ("id", "kind", "observed_at", "recorded_at", "fields")
"""What of an observation decides what is shown where no schema is registered."""
KINDS = ("date", "string", "number", "boolean", "array", "object")
SOURCES = ("sensor", "workflow_state", "llm_summary", "human", "import", "sync")
"""The observation sources, the greatest first."""


@dataclass(frozen=True)
class Fact:
    """One observation: of an entity (its id) or of a relationship (its key ``TYPE:source:target``).

    ``target``: the entity into which a merge merges the subject, ``name_from``: whose name stays. ``since``:
    from when on it counts for its subject, where a split moved it there. ``by_bot``: whether the second
    writer wrote it.
    """

    id: str
    subject_id: str
    entity_type: str
    kind: str
    observed_at: str
    recorded_at: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    priority: float = 100.0
    specificity: float = 1.0
    source: str = "llm_summary"
    target: str | None = None
    name_from: str = "target"
    since: str | None = None
    by_bot: bool = False

    @property
    def known_at(self) -> str:
        """Since when it is known that it is one of its subject."""
        return self.since or self.recorded_at

    @property
    def moment(self) -> tuple[str, str]:
        """What decides between two facts that nothing else tells apart: the time, then the id."""
        return self.observed_at, self.id


@dataclass(frozen=True)
class Declared:
    """A field as a schema declares it; ``mismatch``: what becomes of another type, where it says its own."""

    type: str
    merge: str = "last_write"
    converters: Sequence[str] = ()
    mismatch: str | None = None


@dataclass(frozen=True)
class Schema:
    """What of a registered schema decides snapshots; ``version`` is ``None`` where none is registered."""

    version: str | None = None
    fields: Mapping[str, Declared] = field(default_factory=dict)
    additional_fields: str = "show"
    mismatch: str = "show"
    hidden: frozenset[str] = frozenset()
    sources: Sequence[str] = SOURCES
    temporal: Sequence[tuple[str, str]] = ()

    def policy(self, name: str) -> str:
        """Return the merge policy of a field."""
        return self.fields[name].merge if name in self.fields else "last_write"

    def source_rank(self, source: str) -> int:
        """Return how much an observation source weighs; those that are not listed weigh nothing."""
        return len(self.sources) - self.sources.index(source) if source in self.sources else 0

    def shows(self, name: str) -> bool:
        """Return whether a field is part of snapshots; the canonical name always is known."""
        undeclared = self.additional_fields == "show" and name not in self.hidden
        return name == "canonical_name" or name in self.fields or undeclared

    def claims(self, name: str, value: Any) -> list[Any]:
        """Return the value as a snapshot shows it, in a list; an empty one where it is not shown."""
        if not self.shows(name):
            return []
        declared = self.fields.get(name)
        # A union takes any value as an element; a null says nothing of its type.
        if declared is None or declared.merge == "merge_array" or value is None:
            return [value]
        return converted(value, declared) if (declared.mismatch or self.mismatch) == "hide" else [value]

    def updated(
        self, fields: Mapping[str, Mapping[str, Any]], remove: Sequence[str], settings: Mapping[str, Any]
    ) -> Schema:
        """Return the schema with fields declared, fields taken out and hidden, and settings changed."""
        kept = tuple(entry for entry in self.temporal if entry[0] not in remove)
        changed = replace(self, **{"temporal": kept, **settings})
        declared = {name: known for name, known in self.fields.items() if name not in remove}
        for name, declaration in fields.items():
            known = declared.get(name)
            stays = known if known and known.type == declaration["type"] else Declared(declaration["type"])
            declared[name] = replace(stays, **declaration)
            if changed.mismatch == "show" and declared[name].mismatch is None:
                declared[name] = replace(declared[name], mismatch="hide")
        hidden = (self.hidden - set(fields)) | frozenset(remove)
        return replace(changed, fields=declared, hidden=hidden)


def model_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a document as the model calls them."""
    names = {"observation_source_priority": "sources", "temporal_fields": "temporal"}
    renamed = {names.get(name, name): value for name, value in settings.items()}
    if "temporal" in renamed:
        renamed["temporal"] = tuple((entry["field"], entry["event_type"]) for entry in renamed["temporal"])
    return renamed


def is_refused(schema: Schema) -> bool:
    """Return whether a union is declared as something else than a list, or no field as a time: refused."""
    lists_lack = any(
        declared.merge == "merge_array" and declared.type != "array" for declared in schema.fields.values()
    )
    return lists_lack or any(name not in schema.fields for name, _ in schema.temporal)


NO_SCHEMA = Schema()
"""No schema: everything is shown as it was stored, and the last write wins."""


@dataclass(frozen=True)
class FieldState:
    """What holds one field: the value shown, and the observations that it comes from."""

    value: Any
    winners: tuple[str, ...]


def reduce(facts: Iterable[Fact], schema: Schema) -> dict[str, FieldState]:
    """Return what holds each field: of all who claim it, the greatest in the order of its policy."""
    claims: dict[str, list[tuple[Fact, Any]]] = {}
    for fact in facts:
        for name, written in fact.fields.items() if fact.kind in KINDS_WITH_FIELDS else ():
            for value in schema.claims(name, written):
                claims.setdefault(name, []).append((fact, value))
    return {name: winner(schema, name, claimed) for name, claimed in claims.items()}


@dataclass(frozen=True)
class View:
    """An entity as of two clocks, where no schema is registered."""

    snapshot: dict[str, Any]
    provenance: dict[str, str]
    observation_count: int
    version: int
    last_observation_at: Any


def view(observations: Iterable[Mapping[str, Any]], at: Any = None, at_ingested: Any = None) -> View:
    """Return what is true at ``at``, as it was known at ``at_ingested``; ``None`` is now, by either clock.

    An observation is a mapping as ``observations.query`` answers it. Its times may be microseconds too.
    """
    # An observation that arrives twice counts once.
    known = {observation["id"]: observation for observation in observations}
    visible = [
        Fact(subject_id="", entity_type="", **{name: observation[name] for name in VIEWED})
        for observation in known.values()
        if (at is None or observation["observed_at"] <= at)
        and (at_ingested is None or observation["recorded_at"] <= at_ingested)
    ]
    # A null that won clears its field. The canonical name is reduced like a field and is none.
    states = {
        name: winner
        for name, winner in reduce(visible, NO_SCHEMA).items()
        if winner.value is not None and name != "canonical_name"
    }
    return View(
        snapshot={name: winner.value for name, winner in states.items()},
        provenance={name: winner.winners[0] for name, winner in states.items()},
        observation_count=len(visible),
        # Each accepted transaction has a recorded_at of its own, and raises the version by one.
        version=len({fact.recorded_at for fact in visible}),
        last_observation_at=max((fact.observed_at for fact in visible), default=None),
    )


def converted(value: Any, declared: Declared) -> list[Any]:
    """Return a value as its declared type has it, in a list; an empty one where it cannot be."""
    if fits(value, declared.type):
        return [value]
    usual = {
        "string": ("number_to_string", "boolean_to_string"),
        "number": ("string_to_number",),
        "boolean": ("string_to_boolean",),
        "array": ("string_to_array",),
    }
    for converter in (*declared.converters, *usual.get(declared.type, ())):
        for result in attempt(converter, value):
            if fits(result, declared.type):
                return [result]
    return []


def fits(value: Any, kind: str) -> bool:
    """Return whether a value is of a type; dates are strings of one shape."""
    if kind == "date":
        return (
            isinstance(value, str)
            and re.fullmatch(r"\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?", value) is not None
        )
    types = {
        "string": (str,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (list,),
        "object": (dict,),
    }
    return type(value) in types[kind]


def attempt(converter: str, value: Any) -> list[Any]:
    """Return what a converter makes of a value, in a list; an empty one where it makes nothing of it."""
    if converter in ("number_to_string", "boolean_to_string"):
        kinds = (int, float) if converter == "number_to_string" else (bool,)
        return [json.dumps(value)] if type(value) in kinds else []
    if converter == "timestamp_s_to_iso":
        if type(value) not in (int, float):
            return []
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
        return [f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"]
    assert converter in ("string_to_number", "string_to_boolean", "string_to_array"), converter
    text = value.strip() if isinstance(value, str) else ""
    if converter == "string_to_boolean":
        text = text.lower()
    try:
        return [json.loads(text)]
    except ValueError:
        return []


def winner(schema: Schema, name: str, claimed: list[tuple[Fact, Any]]) -> FieldState:
    """Return what holds one field."""
    policy = schema.policy(name)
    if policy == "merge_array":
        return union(claimed)

    def order(claim: tuple[Fact, Any]) -> tuple[Any, ...]:
        fact, _ = claim
        weights: dict[str, tuple[Any, ...]] = {
            "last_write": (),
            "highest_priority": (fact.priority, schema.source_rank(fact.source)),
            "most_specific": (fact.specificity, fact.priority, schema.source_rank(fact.source)),
        }
        return (fact.kind == "correction", *weights[policy], *fact.moment)

    fact, value = max(claimed, key=order)
    return FieldState(value, (fact.id,))


def union(claimed: list[tuple[Fact, Any]]) -> FieldState:
    """Return the union over the greatest priority; the newest correction stands alone."""
    claimed = sorted(claimed, key=lambda claim: claim[0].moment)
    corrections = [claim for claim in claimed if claim[0].kind == "correction"]
    top = max(fact.priority for fact, _ in claimed)
    speaking = corrections[-1:] or [claim for claim in claimed if claim[0].priority == top]
    unique: dict[str, tuple[Any, str]] = {}
    for fact, value in speaking:
        for element in elements(value):
            unique.setdefault(json.dumps(element, sort_keys=True), (element, fact.id))
    # Where nobody says anything, the newest of them holds the empty union.
    winners = dict.fromkeys(fact_id for _, fact_id in unique.values()) or {speaking[-1][0].id: None}
    return FieldState([element for element, _ in unique.values()], tuple(winners))


def elements(value: Any) -> Iterator[Any]:
    """Yield what a value adds to a union: a list in a string is that list, a null says nothing."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    for element in value if isinstance(value, list) else [value]:
        if element is not None:
            yield element
