"""The graph of the toolset memory: reading and writing its nodes and relations by graphmem's operations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from graphmem.arguments import invalid, read
from graphmem.context import Context
from graphmem.errors import InvalidInput, NotFound
from graphmem.fresh import read_fresh
from graphmem.ingest.interpreters.interpret_memory import (
    GENERAL_RELATIONSHIP,
    GENERAL_TYPE,
    NAME,
    RELATION_TYPES,
    TEXTS,
    TYPE_FIELD,
    type_of_relation,
)
from graphmem.ingest.interpreters.labels import entity_type_of
from graphmem.mcp.memory_arguments import Entity
from graphmem.model import canonical, ending, facts, identity, ids, relationship, times
from graphmem.model.identity import fold_text as folded
from graphmem.model.items import EXPECTED
from graphmem.operations.relationship_changes import RELATIONSHIP_LIMIT
from graphmem.reading import answers
from graphmem.reading.shared_rows import RelationshipRow
from graphmem.registry import REGISTRY
from graphmem.search.lookup import ExactHits
from graphmem.storing.acceptance import Writing, accept
from graphmem.text import identifiers

NODES_LIMIT: Final = 1_000  # entities of one answer
RELATIONSHIPS_LIMIT: Final = 5_000  # relationships of one answer
SEARCH_LIMIT: Final = 50
PAGE_LIMIT: Final = 500
AT_ONCE: Final = 20  # operations that one call runs at once
NAMES_AT_ONCE: Final = 1_000
HITS_LIMIT: Final = 2_000
RELATION_CHARACTERS: Final = 70  # characters of the shortest relation in an answer

Row = dict[str, Any]


class MemoryNode(NamedTuple):
    """An entity as the tools answer it."""

    id: str
    name: str
    entity_type: str
    texts: list[str]  # its observations
    others: list[str]  # its other fields, as ``field: value``
    created_at: str
    version: int


@dataclass(slots=True)
class Edge:
    """A relationship that is stored."""

    spellings: list[str]  # the types of the relations that it stands for
    ended_by: list[str]  # the fields of its metadata that say that it has ended; none if it is current
    version: int = 0  # that of the relationship as it was read, 0 if there was none


EdgesByKey = dict[str, Edge]


def _node(entity: Row) -> MemoryNode:
    snapshot: dict[str, Any] = entity["snapshot"]
    name, texts, spelling = snapshot.get(NAME), snapshot.get(TEXTS, []), snapshot.get(TYPE_FIELD)
    texts = texts if isinstance(texts, list) else [texts]
    others = {field: value for field, value in snapshot.items() if field not in (NAME, TEXTS, TYPE_FIELD)}
    return MemoryNode(
        entity["entity_id"], name if isinstance(name, str) else entity["canonical_name"],
        spelling if isinstance(spelling, str) else entity["entity_type"], [_text(value) for value in texts],
        [f"{field}: {_text(value)}" for field, value in others.items()], entity["created_at"],
        entity["version"],
    )  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical.encode(value)


async def _call(context: Context, name: str, **arguments: Any) -> Row:
    """Run an operation for the caller of a tool, whose scopes are checked already; return its answer."""
    operation = REGISTRY[name]
    answer = await operation.function(context, read(operation.arguments, name, arguments))
    await context.services.vocabulary.show(context.actor.owner, answer)
    return canonical.decode(orjson.dumps(answer))


# Entities


async def by_names(context: Context, names: Sequence[str]) -> dict[str, MemoryNode]:
    """Return the entities of these names, by folded name, in the order of the names.

    Of several entities with one name, that with exactly this spelling counts, then the oldest.
    """
    spellings = {folded(name): name for name in reversed(names)}
    nodes: dict[str, list[MemoryNode]] = {}
    for batch in _chunks(list(spellings), NAMES_AT_ONCE):
        for node in await _named(context, batch):
            nodes.setdefault(folded(node.name), []).append(node)

    def order(name: str, node: MemoryNode) -> tuple[bool, str, str]:
        return node.name != spellings[name], node.created_at, node.id

    return {
        name: min(nodes[name], key=lambda node, name=name: order(name, node))
        for name in dict.fromkeys(map(folded, names))
        if name in nodes
    }


@read_fresh
async def _named(context: Context, names: list[str]) -> list[MemoryNode]:
    hits = await context.graph.only(
        "entity.find", ExactHits, pairs=[[NAME, identity.index_key(name)] for name in sorted(names)],
        kinds=list(identifiers.KINDS), types=[], limit=HITS_LIMIT,
    )  # fmt: skip
    if len(hits.hits) < sum(hits.totals):
        message = "too many entities, or too large ones, have these names: give fewer names at once"
        raise InvalidInput.at("$", message)
    return [_node(canonical.decode(orjson.dumps(answers.entity(hit.entity)))) for hit in hits.hits]


async def create(context: Context, entities: Sequence[Entity], versions: Sequence[int | None]) -> None:
    """Store new entities.

    ``versions``: the version that each must have before, 0 of one that is new; ``None``: any.

    Raises VersionConflict: another version of one is there; ``details.index`` counts it.
    """
    if not entities:
        return
    aliases = await context.services.type_aliases.of(context.actor.owner)
    items = [
        _item(entity, aliases) | {EXPECTED: version}
        for entity, version in zip(entities, versions, strict=True)
    ]
    stored = await _call(context, "store", entities=items, find_duplicates=False)
    _check_shown(stored, {index: entity.observations for index, entity in enumerate(entities)})


async def restore(context: Context, entity_id: str, version: int) -> int | None:
    """Restore an entity of a version; return its version then, ``None`` where it is not deleted.

    Raises VersionConflict: it has another version.
    """
    try:
        restored = await _call(context, "entities.restore", entity_id=entity_id, expected_version=version)
    except NotFound:
        return None
    return restored["version"]


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
    """Store the observations of nodes that changed; ``lists`` are the new ones by entity id.

    Raises VersionConflict: somebody changed one of the nodes since it was read.
    """
    before = {node.id: node for node in nodes}
    changed = [entity_id for entity_id, texts in lists.items() if texts != before[entity_id].texts]
    if changed:
        items = [
            {"target_id": entity_id, TEXTS: lists[entity_id], EXPECTED: before[entity_id].version}
            for entity_id in changed
        ]
        stored = await _call(context, "store", entities=items)
        _check_shown(stored, {index: lists[entity_id] for index, entity_id in enumerate(changed)})


def _check_shown(stored: Row, expected: dict[int, list[str]]) -> None:
    """Refuse to say that observations are stored where the entity does not show them.

    Raises InvalidInput: a correction holds the field, or the schema of the type hides it.
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
    rows, _, _ = await relationships_of(context, nodes)
    for batch in _chunks(rows, RELATIONSHIP_LIMIT):
        await relate(context, {row["relationship_key"]: Edge([], [], row["version"]) for row in batch})
    for batch in _chunks(list(nodes), AT_ONCE):
        await asyncio.gather(*(_call(context, "entities.delete", entity_id=node.id) for node in batch))


async def whole_graph(context: Context) -> tuple[list[MemoryNode], list[Row], bool]:
    """Return the oldest entities, the newest relationships, and whether there are more of either."""
    rows, more = await _pages(context, "entities.query", "entities", NODES_LIMIT, sort_by="created_at")
    links, more_links = await _pages(context, "relationships.list", "relationships", RELATIONSHIPS_LIMIT)
    return [_node(row) for row in rows], links, more or more_links


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
    texts = row["snapshot"].get(RELATION_TYPES)
    is_ours = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    return texts if is_ours else [row["relationship_type"]]


def ended_by(row: Row) -> list[str]:
    metadata = [(name, canonical.encode(value)) for name, value in row["snapshot"].items()]
    return [name for name, _ in ending.ends(metadata, times.now())]


async def stored_as(
    context: Context, relations: Sequence[tuple[str, MemoryNode, MemoryNode]]
) -> tuple[list[str], dict[tuple[str, str], EdgesByKey]]:
    """Return where relations are stored: each is a type, and the node at either end.

    Returns the key of the relationship that each is stored as, and by their ends the live relationships that
    may stand for them, ended ones too.
    """
    known = await context.services.vocabulary.covering(
        [each for each, _, _ in relations], context.actor.owner
    )
    keys: list[str] = []
    edges: dict[tuple[str, str], EdgesByKey] = {}
    possible: dict[str, tuple[str, str]] = {}
    for relation_type, source, target in relations:
        ends = source.id, target.id
        edges[ends] = {}
        stored_type = type_of_relation(relation_type, known)
        keys.append(ids.relationship_key(stored_type, *ends))
        for each in (stored_type, relationship.spell(relation_type), GENERAL_RELATIONSHIP):
            possible[ids.relationship_key(each, *ends)] = ends
    left = list(possible)
    while left:
        rows, is_truncated = await _with_keys(context, left)
        for row in rows:
            key = row["relationship_key"]
            edges[possible[key]][key] = Edge(spellings(row), ended_by(row), row["version"])
        left = left[left.index(rows[-1]["relationship_key"]) + 1 :] if is_truncated else []
    return keys, edges


@read_fresh
async def _with_keys(context: Context, keys: list[str]) -> tuple[list[Row], bool]:
    """Return the live relationships with some keys, in their order, and whether some did not fit."""
    relationships, truncated = await context.graph.only(
        "relationship.by_key", tuple[list[RelationshipRow], bool], keys=keys
    )
    answer = canonical.decode(orjson.dumps(answers.relationships(relationships)))
    await context.services.vocabulary.show(context.actor.owner, answer)
    return answer, truncated


async def relate(context: Context, changed: EdgesByKey) -> None:
    """Store what relationships stand for, without what ended them; one that stands for no relation is
    deleted.

    Raises VersionConflict: somebody changed one of them since it was read.
    """
    if not changed:
        return
    links: list[tuple[Row, facts.Kind]] = []
    for key, edge in changed.items():
        relationship_type, source, target = key.split(":")
        link: Row = {
            "relationship_type": relationship_type, "source_entity_id": source, "target_entity_id": target,
            EXPECTED: edge.version,
        }  # fmt: skip
        if edge.spellings:
            link["metadata"] = {RELATION_TYPES: edge.spellings, **dict.fromkeys(edge.ended_by)}
        links.append((link, "create" if edge.spellings else "delete"))
    await accept(
        context,
        "relationships.create_many",
        Writing(),
        lambda reader: ([], [reader.link(i, link, 0, kind=kind) for i, (link, kind) in enumerate(links)]),
        types=[link["relationship_type"] for link, _ in links],
    )


async def relationships_of(
    context: Context, nodes: Sequence[MemoryNode], budget: int | None = None
) -> tuple[list[Row], dict[str, str], bool]:
    """Return the relationships of entities, the names of all their ends by entity id, and whether more are
    there.

    With a ``budget`` of characters, those of each entity end where its current ones fill the answer.
    """
    names = {node.id: node.name for node in nodes}
    rows: dict[str, Row] = {}
    is_cut = False
    for batch in _chunks(list(nodes), AT_ONCE):
        read = await asyncio.gather(*(_of_entity(context, node.id, budget) for node in batch))
        for own, others, more in read:
            rows |= own
            names = others | names
            is_cut |= more
    return list(rows.values()), names, is_cut


async def _of_entity(
    context: Context, entity_id: str, budget: int | None
) -> tuple[dict[str, Row], dict[str, str], bool]:
    rows: dict[str, Row] = {}
    names: dict[str, str] = {}
    current = 0
    async for page in _each_page(context, "relationships.list", entity_id=entity_id, expand_entities=True):
        rows |= {row["relationship_key"]: row for row in page["relationships"]}
        names |= {entity["entity_id"]: _node(entity).name for entity in page["related_entities"]}
        current += sum(not ended_by(row) for row in page["relationships"])
        if budget is not None and current * RELATION_CHARACTERS > budget:
            return rows, names, "next_cursor" in page
    return rows, names, False


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
    while True:
        page = await _call(context, name, limit=PAGE_LIMIT, **arguments)
        yield page
        if "next_cursor" not in page:
            return
        arguments["cursor"] = page["next_cursor"]


def _chunks(values: list[Any], size: int) -> Iterator[list[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))
