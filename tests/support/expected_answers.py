"""Every read with the answer that the plain model expects: :func:`expectations` lists them for one moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tests.support.knowledge_model import MERGES, Edge, Knowledge, edge_id, newest, provenance, shown
from tests.support.reduction_model import Fact
from tests.support.timeline_model import events

UNKNOWN = "ent_" + "0" * 24
NOT_FOUND = "RESOURCE_NOT_FOUND"
EARLIEST = "0001-01-01T00:00:00.000000Z"


class Expectation(NamedTuple):
    """A read with what its answer must hold, or with the code of the error that it must raise."""

    operation: str
    arguments: Mapping[str, Any]
    expected: Mapping[str, Any] | str


class Viewpoint(NamedTuple):
    """The arguments that all reads of a moment share: an entity, a relationship, two clocks and options."""

    entity: str
    edge: str
    at: str | None
    at_ingested: str | None
    depth: int
    direction: str
    include_deleted: bool
    owner: str = ""

    @property
    def clocks(self) -> dict[str, str]:
        """The clocks that are set, as arguments."""
        clocks = {"at": self.at, "at_ingested": self.at_ingested}
        return {name: time for name, time in clocks.items() if time is not None}


def exactly(value: Any) -> str:
    """Return a value as text, in which 1, 1.0 and true differ."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def moments(known: Knowledge) -> list[str]:
    """Return the times at which something changed, on either clock, and those just after."""
    times = {time for fact in known.facts for time in (fact.observed_at, fact.recorded_at)}
    changes = (*known.splits, *known.taken_back)
    times |= {time for each in changes for time in (each.recorded_at, each.undone_at) if time}
    return sorted({EARLIEST, *times, *(later(time, microseconds=1) for time in times)})


def later(time: str, **by: int) -> str:
    """Return a time some microseconds, or hours, later."""
    moment = datetime.fromisoformat(time.replace("Z", "+00:00")) + timedelta(**by)
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S.%f}Z"


def expectations(known: Knowledge, where: Viewpoint, sequence: int) -> list[Expectation]:
    """Return the reads of one moment: everything there is, one entity and one relationship closely."""
    wide = (*_wide(known, where, sequence), *timeline(known, where))
    return [*wide, *_entity(known, where), *graph(known, where)]


def _wide(known: Knowledge, where: Viewpoint, sequence: int) -> Iterator[Expectation]:
    roots = [root for root in known.roots() if known.lives(root)]
    listed = [known.entity(root) for root in roots]
    yield Expectation("entities.query", PAGE, {"entities": listed, "total": len(listed)})
    if where.entity != UNKNOWN:
        kind = known.types[where.entity]
        arguments = {**PAGE, "filters": {"entity_type": kind}, "include_deleted": where.include_deleted}
        of_type = [
            known.entity(root)
            for root in known.roots()
            if known.types[root] == kind and (where.include_deleted or known.lives(root))
        ]
        yield Expectation("entities.query", arguments, {"entities": of_type, "total": len(of_type)})
    yield Expectation("server.stats", {}, stats(known, sequence))
    for deleted in (False, True):
        edges = newest(edge for edge in known.edges().values() if deleted or edge.live)
        expected = {"relationships": [relationship(known, edge) for edge in edges], "total": len(edges)}
        yield Expectation("relationships.list", {**PAGE, "include_deleted": deleted}, expected)
    facts = known.observations(known.types, deleted=where.include_deleted)
    arguments = {**PAGE, "include_deleted": where.include_deleted}
    yield Expectation("observations.query", arguments, observations(facts))


PAGE = {"limit": 500, "include_total_count": True}


def stats(known: Knowledge, sequence: int) -> dict[str, Any]:
    """Return what the counters must say: what lives, by the type under which it is shown."""
    live = [entity for entity in known.types if known.is_live(entity)]
    edges = [edge for edge in known.edges().values() if counted(known, edge)]
    of_entities = {
        kind: (
            sum(known.parent(entity) is None for entity in live if known.types[entity] == kind),
            sum(len(known.of(entity)) for entity in live if known.types[known.root(entity)] == kind),
        )
        for kind in sorted(set(known.types.values()))
    }
    # Under a schema that has changed, events are drawn again as they are read.
    event_total = {} if known.schemas else {"total_events": len(events(known, ""))}
    return {
        **event_total,
        "total_entities": sum(entities for entities, _ in of_entities.values()),
        "total_observations": sum(count for _, count in of_entities.values()),
        "total_relationships": len(edges),
        "sequence": sequence,
    }


def counted(known: Knowledge, edge: Edge) -> bool:
    """Return whether a relationship counts: by its own lifecycle, whatever became of its ends."""
    return any(map(known.lives, edge.members))


def relationship(known: Knowledge, edge: Edge) -> dict[str, Any]:
    """Return what an answer about a relationship must say."""
    answer: dict[str, Any] = {
        "relationship_key": edge.key,
        "relationship_id": edge.id,
        "relationship_type": edge.key.partition(":")[0],
        "source_entity_id": edge.source,
        "target_entity_id": edge.target,
        "is_live": counted(known, edge),
        "observation_count": len(edge.facts),
        "created_at": min(fact.known_at for fact in edge.facts),
        "last_observation_at": edge.facts[-1].observed_at,
        "snapshot": shown(edge.states, named=False),
        "provenance": provenance(edge.states, named=False),
    }
    if not known.splits and not any(fact.kind in MERGES for fact in known.facts):
        answer["version"] = len({fact.recorded_at for fact in edge.facts})
    return answer


def observation(fact: Fact) -> dict[str, Any]:
    """Return what an answer about an observation must say."""
    fields = {name: value for name, value in fact.fields.items() if name != "canonical_name"}
    answer: dict[str, Any] = {
        "id": fact.id,
        "kind": fact.kind,
        "observed_at": fact.observed_at,
        "recorded_at": fact.recorded_at,
        "source_priority": fact.priority,
        "specificity_score": fact.specificity,
        "observation_source": fact.source,
    }
    if ":" in fact.subject_id:
        return {**answer, "metadata": dict(fact.fields)}
    if fact.kind in MERGES:
        return answer
    return {**answer, "entity_id": fact.subject_id, "entity_type": fact.entity_type, "fields": fields}


def observations(facts: Sequence[Fact]) -> dict[str, Any]:
    """Return what a page of all these observations must say."""
    return {"observations": [observation(fact) for fact in facts], "total": len(facts)}


def timeline(known: Knowledge, where: Viewpoint) -> Iterator[Expectation]:
    """Ask for the timeline, now and as of a time: of all entities, of one, of a type, of a kind of event."""
    for cut in (where._replace(at=None, at_ingested=None), where):
        then = known.as_of(cut.at, cut.at_ingested)
        every = events(then, where.owner)
        yield _timeline(every, cut, {})
        yield _timeline(
            [event for event in every if event["event_type"] == "Due"], cut, {"event_type": "Due"}
        )
        if where.entity == UNKNOWN or not then.is_live(where.entity):
            arguments = {"entity_id": where.entity, **cut.clocks}
            yield Expectation("timeline.list", arguments, NOT_FOUND)
            continue
        root, kind = then.root(where.entity), known.types[where.entity]
        of_type = [event for event in every if event["entity_type"] == kind]
        yield _timeline(of_type, cut, {"entity_type": kind})
        of_entity = [event for event in every if event["entity_id"] == root]
        yield _timeline(of_entity, cut, {"entity_id": where.entity})
        for event in of_entity[:1]:
            yield Expectation("timeline.get", {"event_id": event["id"], **cut.clocks}, {"event": event})


def _timeline(listed: list[dict[str, Any]], where: Viewpoint, arguments: Mapping[str, Any]) -> Expectation:
    order = "asc" if where.include_deleted else "desc"
    expected = {"events": listed if order == "asc" else listed[::-1], "total": len(listed)}
    return Expectation("timeline.list", {**PAGE, "order": order, **arguments, **where.clocks}, expected)


def _entity(known: Knowledge, where: Viewpoint) -> Iterator[Expectation]:
    deleted, named = {"include_deleted": where.include_deleted}, {"entity_id": where.entity}
    visible = known.is_shown(where.entity, deleted=where.include_deleted)
    yield Expectation("entities.get", named | deleted, known.entity(where.entity) if visible else NOT_FOUND)
    yield from snapshots(known, where)
    for at, at_ingested in ((None, None), (where.at, where.at_ingested)):
        cut = where._replace(at=at, at_ingested=at_ingested)
        yield from _provenance(known, known.as_of(at, at_ingested), cut)
    expected: Mapping[str, Any] | str = NOT_FOUND
    if visible:
        members = known.members(known.root(where.entity))
        expected = observations(known.observations(members, deleted=where.include_deleted))
    yield Expectation("observations.query", {**PAGE, **deleted, "filters": named}, expected)


def snapshots(known: Knowledge, where: Viewpoint) -> Iterator[Expectation]:
    """Ask for the snapshot of an entity: now, by each clock, and by both."""
    clocks = where.clocks
    for cut in ({}, clocks, *({name: time} for name, time in clocks.items() if len(clocks) > 1)):
        then = known.as_of(cut.get("at"), cut.get("at_ingested"))
        expected: Mapping[str, Any] | str = NOT_FOUND
        if then.is_shown(where.entity, deleted=where.include_deleted):
            expected = then.entity(where.entity) | cut
        arguments = {"entity_id": where.entity, "include_deleted": where.include_deleted, **cut}
        yield Expectation("entities.snapshot", arguments, expected)


def _provenance(known: Knowledge, then: Knowledge, where: Viewpoint) -> Iterator[Expectation]:
    now = {fact.id: fact for fact in known.facts}
    visible = where.entity in then.types and then.is_live(where.entity)
    states = then.holding(then.root(where.entity)) if visible else {}
    for name in ("a", "name", "nowhere"):
        arguments = {"entity_id": where.entity, "field": name, **where.clocks}
        if name not in shown(states):
            yield Expectation("entities.provenance", arguments, NOT_FOUND)
            continue
        winners = list(states[name].winners)
        # An observation is told as it is today: the entity that it counts for is that of now.
        answers = [observation(now[winner]) for winner in winners]
        expected = {"value": states[name].value, "observation_ids": winners, "observations": answers}
        yield Expectation("entities.provenance", arguments, expected)


def graph(known: Knowledge, where: Viewpoint) -> Iterator[Expectation]:
    """Ask for the relationships of an entity, for what is near it, and for one relationship."""
    for cut in (where._replace(at=None, at_ingested=None), where):
        then = known.as_of(cut.at, cut.at_ingested)
        yield _of_entity(then, cut)
        yield _related(then, cut)
        for operation in ("relationships.get", "relationships.snapshot"):
            yield from _relationship(then, cut, operation)


def _of_entity(then: Knowledge, where: Viewpoint) -> Expectation:
    filters = {"entity_id": where.entity, "direction": where.direction}
    arguments = {**PAGE, "filters": filters, "include_deleted": where.include_deleted, **where.clocks}
    if not then.is_shown(where.entity, deleted=where.include_deleted):
        return Expectation("relationships.list", arguments, NOT_FOUND)
    edges = then.edges_of(where.entity, where.direction, deleted=where.include_deleted)
    relationships = [relationship(then, edge) for edge in edges]
    root = then.root(where.entity)
    expected = {
        "relationships": relationships,
        "total": len(relationships),
        "outgoing": [edge for edge in relationships if edge["source_entity_id"] == root],
        "incoming": [edge for edge in relationships if edge["target_entity_id"] == root],
    }
    return Expectation("relationships.list", arguments, expected)


def _related(then: Knowledge, where: Viewpoint) -> Expectation:
    arguments = {"entity_id": where.entity, "depth": where.depth, **where.clocks}
    if where.entity not in then.types or not then.is_live(where.entity):
        return Expectation("entities.related", arguments, NOT_FOUND)
    reached, walked = then.related(where.entity, where.depth)
    nearest = sorted(reached, key=lambda entity_id: (reached[entity_id], entity_id))
    edges = then.edges()
    expected = {
        "entities": [{**then.entity(entity_id), "depth": reached[entity_id]} for entity_id in nearest],
        "relationships": [relationship(then, edges[key]) for key in walked],
        "total": len(reached),
        "truncated": False,
    }
    return Expectation("entities.related", arguments, expected)


def _relationship(then: Knowledge, where: Viewpoint, operation: str) -> Iterator[Expectation]:
    """Ask for one relationship, by the key or the id under which it is shown."""
    edge = then.edges().get(then.shown_key(where.edge)) if where.edge else None
    visible = edge is not None and (where.include_deleted or edge.live)
    expected: Mapping[str, Any] | str = NOT_FOUND
    if edge is not None and visible:
        expected = relationship(then, edge)
        if operation == "relationships.snapshot":
            expected |= {"observations": [observation(fact) for fact in edge.facts[::-1]]}
    name = "relationship_id" if operation == "relationships.get" else "relationship_key"
    for edge_name in (where.edge or "rel_0", edge_id(where.edge)):
        rest = {"include_deleted": where.include_deleted, **where.clocks}
        yield Expectation(operation, {name: edge_name, **rest}, expected)


def agrees(answer: Any, expected: Any, path: str = "$") -> None:
    """Check that an answer holds what is expected, exactly; it may hold further members.

    Raises:
        AssertionError: at the first place where they differ.
    """
    if isinstance(expected, Mapping) and not path.endswith(EXACT):
        assert isinstance(answer, Mapping), f"{path}: {answer!r} instead of {expected!r}"
        for name, value in expected.items():
            assert name in answer, f"{path}.{name}: missing"
            agrees(answer[name], value, f"{path}.{name}")
    elif isinstance(expected, list) and not path.endswith(EXACT):
        assert len(answer) == len(expected), f"{path}: {exactly(answer)} instead of {exactly(expected)}"
        for index, element in enumerate(expected):
            agrees(answer[index], element, f"{path}[{index}]")
    else:
        assert exactly(answer) == exactly(expected), (
            f"{path}: {exactly(answer)} instead of {exactly(expected)}"
        )


EXACT = (".snapshot", ".provenance", ".fields", ".metadata", ".value")
"""Members whose names callers chose: they hold what is expected and nothing more."""
