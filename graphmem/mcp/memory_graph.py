"""The graph of the toolset memory: reading and writing its nodes and relations by graphmem's operations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from graphmem.arguments import invalid, read
from graphmem.ingest.interpreters.interpret_memory import (
    GENERAL_TYPE,
    NAME,
    RELATION_TYPES,
    TEXTS,
    TYPE_FIELD,
    type_of_relation,
)
from graphmem.ingest.interpreters.labels import entity_type_of
from graphmem.mcp.memory_arguments import Entity
from graphmem.model import canonical, ending, identity, ids, times
from graphmem.model.identity import fold_text as folded
from graphmem.reading import answers
from graphmem.reading.fresh import read_fresh
from graphmem.registry import REGISTRY, Context
from graphmem.search.lookup import ExactHits
from graphmem.text import identifiers

NODES_LIMIT: Final = 1_000
"""Entities of one answer."""
RELATIONSHIPS_LIMIT: Final = 5_000
"""Relationships of one answer."""
SEARCH_LIMIT: Final = 50
PAGE_LIMIT: Final = 500
AT_ONCE: Final = 20
"""Operations that one call runs at once."""
NAMES_AT_ONCE: Final = 100
HITS_LIMIT: Final = 2_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """An entity as the tools answer it.

    Attributes:
        texts: its observations.
        others: its other fields, as ``field: value``.
    """

    id: str
    name: str
    entity_type: str
    texts: list[str]
    others: list[str]
    created_at: str


@dataclass(slots=True)
class Edge:
    """A relationship that is stored.

    Attributes:
        spellings: the types of the relations that it stands for.
        ended_by: the fields of its metadata that say that it has ended; none if it is current.
    """

    spellings: list[str]
    ended_by: list[str]


EdgesByKey = dict[str, Edge]
"""Relationships by their keys."""


def _node(entity: Row) -> MemoryNode:
    snapshot: dict[str, Any] = entity["snapshot"]
    name, texts, spelling = snapshot.get(NAME), snapshot.get(TEXTS, []), snapshot.get(TYPE_FIELD)
    texts = texts if isinstance(texts, list) else [texts]
    others = {field: value for field, value in snapshot.items() if field not in (NAME, TEXTS, TYPE_FIELD)}
    return MemoryNode(
        entity["entity_id"],
        name if isinstance(name, str) else entity["canonical_name"],
        spelling if isinstance(spelling, str) else entity["entity_type"],
        [_text(value) for value in texts],
        [f"{field}: {_text(value)}" for field, value in others.items()],
        entity["created_at"],
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical.encode(value)


async def _call(context: Context, name: str, **arguments: Any) -> Row:
    """Run an operation for the caller of a tool, whose scopes are checked already; return its answer."""
    operation = REGISTRY[name]
    answer = await operation.function(context, read(operation.arguments, name, arguments))
    await context.services.vocabulary.show(context.actor.owner, answer)
    return canonical.decode(orjson.dumps(answer))


async def _call_each(context: Context, name: str, calls: Iterable[dict[str, Any]]) -> list[Row]:
    """Run an operation many times, some at once; the answers are in the order of the calls."""
    places = asyncio.Semaphore(AT_ONCE)

    async def call(arguments: dict[str, Any]) -> Row:
        async with places:
            return await _call(context, name, **arguments)

    return await asyncio.gather(*map(call, calls))


# Entities


async def by_names(context: Context, names: Sequence[str]) -> dict[str, MemoryNode]:
    """Return the entities of these names, by folded name, in the order of the names.

    Of several entities with one name, that with exactly this spelling counts, then the oldest.
    """
    wanted = {folded(name): name for name in reversed(names)}
    nodes: dict[str, list[MemoryNode]] = {}
    for batch in _chunks(list(wanted), NAMES_AT_ONCE):
        for node in await _named(context, batch):
            nodes.setdefault(folded(node.name), []).append(node)

    def order(name: str, node: MemoryNode) -> tuple[bool, str, str]:
        return node.name != wanted[name], node.created_at, node.id

    return {
        name: min(nodes[name], key=lambda node, name=name: order(name, node))
        for name in dict.fromkeys(map(folded, names))
        if name in nodes
    }


@read_fresh
async def _named(context: Context, names: list[str]) -> list[MemoryNode]:
    hits = await context.graph.only(
        "entity.find",
        ExactHits,
        pairs=[[NAME, identity.index_key(name)] for name in sorted(names)],
        kinds=list(identifiers.KINDS),
        types=[],
        limit=HITS_LIMIT,
    )
    if len(hits.hits) < sum(hits.totals):
        message = "too many entities, or too large ones, have these names: give fewer names at once"
        raise invalid([{"path": "$", "message": message}])
    return [_node(canonical.decode(orjson.dumps(answers.entity(hit.entity)))) for hit in hits.hits]


async def create(context: Context, entities: Sequence[Entity]) -> None:
    """Store new entities. One that was deleted under its name is restored."""
    if not entities:
        return
    aliases = await context.services.type_aliases.of(context.actor.owner)
    items = [_item(entity, aliases) for entity in entities]
    stored = await _call(context, "store", entities=items, find_duplicates=False)
    deleted = {
        warning["entity_id"] for warning in stored["store_warnings"] if warning["code"] == "ENTITY_DELETED"
    }
    await _call_each(context, "entities.restore", ({"entity_id": entity_id} for entity_id in sorted(deleted)))
    _check_shown(stored, {index: entity.observations for index, entity in enumerate(entities)})


def _item(entity: Entity, aliases: Any) -> Row:
    entity_type = entity_type_of(entity.entity_type) or GENERAL_TYPE
    item = {"entity_type": entity_type, NAME: entity.name, TEXTS: entity.observations}
    if (NAME,) not in identity.rule(entity_type):
        # A type such as note is not identified by a name unless that is its canonical name.
        item[identity.CANONICAL_NAME] = entity.name
    if entity.entity_type != aliases.get(entity_type, entity_type):
        item[TYPE_FIELD] = entity.entity_type
    return item


async def write_texts(context: Context, nodes: Iterable[MemoryNode], lists: dict[str, list[str]]) -> None:
    """Store the observations of nodes that changed; ``lists`` are the new ones by entity id."""
    before = {node.id: node.texts for node in nodes}
    changed = [entity_id for entity_id, texts in lists.items() if texts != before[entity_id]]
    if changed:
        items = [{"target_id": entity_id, TEXTS: lists[entity_id]} for entity_id in changed]
        stored = await _call(context, "store", entities=items)
        _check_shown(stored, {index: lists[entity_id] for index, entity_id in enumerate(changed)})


def _check_shown(stored: Row, expected: dict[int, list[str]]) -> None:
    """Refuse to say that observations are stored where the entity does not show them.

    Raises:
        InvalidInput: a correction holds the field, or the schema of the type hides it.
    """
    for index, texts in expected.items():
        entity = stored["entities"][index]
        snapshot = entity.get("entity_snapshot_after", {TEXTS: texts})
        if snapshot.get(TEXTS) != texts:
            message = (
                f"stored, but {entity['canonical_name']} does not show it: the field {TEXTS} is held by a "
                "correction, or the schema of the type hides it"
            )
            raise invalid([{"path": "$", "message": message}], entity_id=entity["entity_id"])


async def delete(context: Context, nodes: Sequence[MemoryNode]) -> None:
    """Delete entities, their relationships first: another attempt goes on where one failed."""
    rows, _ = await relationships_of(context, nodes)
    keys = [row["relationship_key"] for row in rows]
    await _call_each(context, "relationships.delete", ({"relationship_key": key} for key in keys))
    await _call_each(context, "entities.delete", ({"entity_id": node.id} for node in nodes))


async def every_node(context: Context) -> tuple[list[MemoryNode], bool]:
    """Return the oldest entities, and whether there are more."""
    rows, more = await _pages(context, "entities.query", "entities", NODES_LIMIT, sort_by="created_at")
    return [_node(row) for row in rows], more


async def search(context: Context, query: str) -> tuple[list[MemoryNode], bool]:
    """Return the entities of the type that a query spells, if it is one, and those that a search finds.

    Of each of the two, at most ``SEARCH_LIMIT``: whether there are more is returned too.
    """
    page = await _call(context, "entities.query", search=query, limit=SEARCH_LIMIT)
    rows: list[Row] = page["entities"]
    is_cut = "next_cursor" in page
    if (of_type := entity_type_of(query)) is not None:
        page = await _call(context, "entities.query", entity_type=of_type, limit=SEARCH_LIMIT)
        rows += page["entities"]
        is_cut |= "next_cursor" in page
    return [_node(row) for row in {row["entity_id"]: row for row in rows}.values()], is_cut


# Relations


def spellings(row: Row) -> list[str]:
    """Return the types of the relations that a relationship stands for."""
    texts = row["snapshot"].get(RELATION_TYPES)
    is_ours = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    return texts if is_ours else [row["relationship_type"]]


def ended_by(row: Row) -> list[str]:
    """Return the fields of a relationship that say that it has ended."""
    metadata = [(name, canonical.encode(value)) for name, value in row["snapshot"].items()]
    return ending.ending_fields(metadata, times.now())


async def key(context: Context, relation_type: str, source: MemoryNode, target: MemoryNode) -> str:
    """Return the key of the relationship that a relation is stored as."""
    known = await context.services.vocabulary.covering([relation_type], context.actor.owner)
    return ids.relationship_key(type_of_relation(relation_type, known), source.id, target.id)


async def between(
    context: Context, ends: Iterable[tuple[MemoryNode, MemoryNode]]
) -> dict[tuple[str, str], EdgesByKey]:
    """Return the live relationships from the first to the second of each pair, ended ones too."""
    pairs = list(dict.fromkeys((source.id, target.id) for source, target in ends))
    pages = await _call_each(
        context,
        "relationships.list",
        ({"source_entity_id": s, "target_entity_id": t, "limit": PAGE_LIMIT} for s, t in pairs),
    )
    return {
        pair: {row["relationship_key"]: Edge(spellings(row), ended_by(row)) for row in page["relationships"]}
        for pair, page in zip(pairs, pages, strict=True)
    }


async def relate(context: Context, changed: EdgesByKey) -> None:
    """Store what relationships stand for, without what ended them; one that stands for no relation is
    deleted."""
    relationships = [
        {
            "relationship_type": relationship_type,
            "source_entity_id": source,
            "target_entity_id": target,
            "metadata": {RELATION_TYPES: edge.spellings, **dict.fromkeys(edge.ended_by)},
        }
        for key, edge in changed.items()
        if edge.spellings
        for relationship_type, source, target in [key.split(":")]
    ]
    if relationships:
        await _call(context, "relationships.create_many", relationships=relationships)
    gone = [key for key, edge in changed.items() if not edge.spellings]
    await _call_each(context, "relationships.delete", ({"relationship_key": key} for key in gone))


async def every_relationship(context: Context) -> tuple[list[Row], bool]:
    """Return the newest relationships, and whether there are more."""
    return await _pages(context, "relationships.list", "relationships", RELATIONSHIPS_LIMIT)


async def relationships_of(context: Context, nodes: Sequence[MemoryNode]) -> tuple[list[Row], dict[str, str]]:
    """Return the relationships of entities, and the names of all their ends by entity id."""
    names = {node.id: node.name for node in nodes}
    rows: dict[str, Row] = {}
    for batch in _chunks(list(nodes), AT_ONCE):
        for own, others in await asyncio.gather(*(_of_entity(context, node.id) for node in batch)):
            rows |= own
            names = others | names
    return list(rows.values()), names


async def _of_entity(context: Context, entity_id: str) -> tuple[dict[str, Row], dict[str, str]]:
    rows: dict[str, Row] = {}
    names: dict[str, str] = {}
    async for page in _each_page(context, "relationships.list", entity_id=entity_id, expand_entities=True):
        rows |= {row["relationship_key"]: row for row in page["relationships"]}
        names |= {entity["entity_id"]: _node(entity).name for entity in page["related_entities"]}
    return rows, names


async def _pages(
    context: Context, name: str, part: str, limit: int, **arguments: Any
) -> tuple[list[Row], bool]:
    """Return the items of a list's pages up to a limit, and whether there are more."""
    rows: list[Row] = []
    async for page in _each_page(context, name, **arguments):
        rows += page[part]
        if len(rows) >= limit:
            return rows[:limit], "next_cursor" in page or len(rows) > limit
    return rows, False


async def _each_page(context: Context, name: str, **arguments: Any) -> AsyncIterator[Row]:
    """Yield the pages of a list."""
    while True:
        page = await _call(context, name, limit=PAGE_LIMIT, **arguments)
        yield page
        if "next_cursor" not in page:
            return
        arguments["cursor"] = page["next_cursor"]


def _chunks(values: list[Any], size: int) -> Iterator[list[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))
