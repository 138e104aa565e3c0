"""The tools of the reference MCP memory server, with its arguments and its answers, on graphmem's operations.

========================  ==========================================================================
there                     here
========================  ==========================================================================
entity                    an entity with the fields ``name`` and ``observations``, a list of texts
``entityType``            its entity type; a spelling that is not the type's own is the field
                          :data:`TYPE_FIELD`
relation                  a relationship; its metadata :data:`RELATION_TYPES` has the spellings
``relationType``          the relationship type that it spells, else RELATED_TO
========================  ==========================================================================

A name means one entity, whatever its type; case and white space do not matter. Fields that other tools
stored are answered as observations ``field: value``, after the texts.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import orjson
from pydantic import TypeAdapter

from graphmem.arguments import Arguments
from graphmem.auth import Scope
from graphmem.context import Context
from graphmem.errors import NotFound, VersionConflict
from graphmem.mcp import memory_arguments
from graphmem.mcp import memory_graph as graph
from graphmem.mcp.memory_graph import Edge, MemoryNode, Row
from graphmem.registry import Face, Operation

A = TypeVar("A", bound=Arguments)
T = TypeVar("T")
PREFIX: Final = "memory."
LOOKS_LIMIT: Final = 100
"""How often a tool looks before it gives up: each time, another process has written in between."""
_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


def _looking_again(function: Callable[[Context, A], Awaitable[T]]) -> Callable[[Context, A], Awaitable[T]]:
    """Decorate a tool that reads, decides and writes what no other process may have changed meanwhile.

    Where one has, nothing was written, and the tool looks again. Within a process the calls of an owner wait
    for each other, so that they do not all look again.
    """

    @functools.wraps(function)
    async def run(context: Context, arguments: A) -> T:
        key = id(asyncio.get_running_loop()), context.actor.owner
        lock = _locks.get(key)
        if lock is None:
            lock = _locks[key] = asyncio.Lock()
        async with lock:
            for _ in range(LOOKS_LIMIT - 1):
                with contextlib.suppress(VersionConflict):
                    return await function(context, arguments)
            return await function(context, arguments)

    return run


@_looking_again
async def create_entities(context: Context, arguments: memory_arguments.CreateEntities) -> Row:
    """Create entities, each with a name, a type and observations. An entity that exists is left as it is.

    Example: {"entities": [{"name": "Ada Lovelace", "entityType": "person", "observations": ["Likes tea"]}]}
    """
    requested = {graph.folded(entity.name): entity for entity in reversed(arguments.entities)}
    versions: dict[str, int | None] = dict.fromkeys(requested, 0)
    while True:
        known = await graph.by_names(context, [entity.name for entity in arguments.entities])
        # An entity that this call restored is new as long as nobody has changed it since.
        new = {
            name: entity
            for name, entity in reversed(requested.items())
            if name not in known or known[name].version == versions[name]
        }
        try:
            await graph.create(context, list(new.values()), [versions[name] for name in new])
            return {"entities": [entity.model_dump(by_alias=True) for entity in new.values()]}
        except VersionConflict as exc:
            name, version = [*new][exc.details["index"]], exc.details["current_version"]
            # Of one that has another name now, or that a rule merges at once, no version can be expected.
            entity_id = exc.details["entity_id"]
            versions[name] = await graph.restore(context, entity_id, version) if version else None


@_looking_again
async def create_relations(context: Context, arguments: memory_arguments.Relations) -> Row:
    """Create relations between entities. A relation that exists is left as it is. Use the active voice.

    A relation that has ended is current again.

    Example: {"relations": [{"from": "Ada Lovelace", "to": "Acme", "relationType": "works at"}]}
    """
    ends = _ends(arguments, await _all_nodes(context, _names(arguments)))
    keys, pairs = await graph.stored_as(context, _stated(arguments, ends))
    created: list[memory_arguments.Relation] = []
    changed: graph.EdgesByKey = {}
    for relation, key, (source, target) in zip(arguments.relations, keys, ends, strict=True):
        stored = pairs[source.id, target.id]
        current = [edge for key, edge in stored.items() if key in changed or not edge.ended_by]
        if any(relation.relation_type in edge.spellings for edge in current):
            continue
        if key not in changed:
            before = stored.get(key, Edge([], []))
            spellings = [] if before.ended_by else before.spellings
            stored[key] = changed[key] = Edge([*spellings], before.ended_by, before.version)
        changed[key].spellings.append(relation.relation_type)
        created.append(relation)
    await graph.relate(context, changed)
    return {"relations": [relation.model_dump(by_alias=True) for relation in created]}


def _names(arguments: memory_arguments.Relations) -> list[str]:
    return [name for relation in arguments.relations for name in (relation.source, relation.target)]


def _ends(arguments: memory_arguments.Relations, nodes: dict[str, MemoryNode]) -> list[tuple[Any, Any]]:
    """Return the nodes at the ends of the relations of a request, None for one that is not there."""
    ends = ((relation.source, relation.target) for relation in arguments.relations)
    return [(nodes.get(graph.folded(source)), nodes.get(graph.folded(target))) for source, target in ends]


def _stated(
    arguments: memory_arguments.Relations, ends: Iterable[tuple[MemoryNode | None, MemoryNode | None]]
) -> list[tuple[str, MemoryNode, MemoryNode]]:
    """Return the relations of a request whose nodes are there, each as its type and its ends."""
    relations = zip(arguments.relations, ends, strict=True)
    return [(each.relation_type, source, target) for each, (source, target) in relations if source and target]


@_looking_again
async def add_observations(context: Context, arguments: memory_arguments.AddObservations) -> Row:
    """Add observations to entities that exist. An observation that an entity has is not added again.

    Example: {"observations": [{"entityName": "Ada Lovelace", "contents": ["Moved to Ockham"]}]}
    """
    results: list[Row] = []
    nodes = await _all_nodes(context, [addition.entity_name for addition in arguments.observations])
    lists: dict[str, list[str]] = {}
    for addition in arguments.observations:
        node = nodes[graph.folded(addition.entity_name)]
        texts = lists.setdefault(node.id, list(node.texts))
        added = [text for text in addition.contents if text not in texts]
        texts += added
        results.append({"entityName": addition.entity_name, "addedObservations": added})
    await graph.write_texts(context, nodes.values(), lists)
    return {"results": results}


@_looking_again
async def delete_entities(context: Context, arguments: memory_arguments.DeleteEntities) -> Row:
    """Delete entities and their relations. An entity that is created again under its name comes back.

    Example: {"entityNames": ["Ada Lovelace"]}
    """
    nodes = await graph.by_names(context, arguments.entityNames)
    await graph.delete(context, list(nodes.values()))
    missing = [name for name in arguments.entityNames if graph.folded(name) not in nodes]
    if not missing:
        return {"success": True, "message": "Entities deleted successfully"}
    count = len(arguments.entityNames)
    message = f"Deleted {count - len(missing)} of {count} entities. Not found: {', '.join(missing)}"
    return {"success": True, "message": message}


@_looking_again
async def delete_observations(context: Context, arguments: memory_arguments.DeleteObservations) -> Row:
    """Delete observations of entities. They stay in the history.

    Example: {"deletions": [{"entityName": "Ada Lovelace", "observations": ["Likes tea"]}]}
    """
    deleted, missing = 0, []
    nodes = await graph.by_names(context, [deletion.entity_name for deletion in arguments.deletions])
    lists: dict[str, list[str]] = {}
    for deletion in arguments.deletions:
        node = nodes.get(graph.folded(deletion.entity_name))
        if node is None:
            missing.append(deletion.entity_name)
            continue
        before = lists.get(node.id, node.texts)
        lists[node.id] = [text for text in before if text not in deletion.observations]
        deleted += len(before) - len(lists[node.id])
    await graph.write_texts(context, nodes.values(), lists)
    requested = sum(len(deletion.observations) for deletion in arguments.deletions)
    if deleted == requested:
        return {"success": True, "message": "Observations deleted successfully"}
    message = f"Deleted {deleted} of {requested} observations."
    message += f" Entities not found: {', '.join(missing)}" if missing else ""
    return {"success": True, "message": message}


@_looking_again
async def delete_relations(context: Context, arguments: memory_arguments.Relations) -> Row:
    """Delete relations. They stay in the history.

    Example: {"relations": [{"from": "Ada Lovelace", "to": "Acme", "relationType": "works at"}]}
    """
    deleted = 0
    ends = _ends(arguments, await graph.by_names(context, _names(arguments)))
    _, pairs = await graph.stored_as(context, _stated(arguments, ends))
    changed: graph.EdgesByKey = {}
    for relation, (source, target) in zip(arguments.relations, ends, strict=True):
        stored = pairs[source.id, target.id] if source and target else {}
        for key, edge in stored.items():
            if relation.relation_type in edge.spellings:
                rest = [text for text in edge.spellings if text != relation.relation_type]
                # What ended the relationship still holds for the rest.
                changed[key] = stored[key] = Edge(rest, [], edge.version)
                deleted += 1
    await graph.relate(context, changed)
    count = len(arguments.relations)
    if deleted == count:
        return {"success": True, "message": "Relations deleted successfully"}
    return {"success": True, "message": f"Deleted {deleted} of {count} relations. The rest matched nothing."}


async def read_graph(context: Context, arguments: memory_arguments.ReadGraph) -> Row:
    """Read the graph: its entities, oldest first, and the relations between them. Example: {}"""
    nodes, rows, is_cut = await graph.whole_graph(context)
    hint = "the graph is larger than this answer: search_nodes and open_nodes find the rest" if is_cut else ""
    return memory_arguments.within(
        _graph(nodes, rows, {node.id: node.name for node in nodes}, hint), arguments.max_characters
    )


async def search_nodes(context: Context, arguments: memory_arguments.SearchNodes) -> Row:
    """Find entities by words of their names and observations, by their type, or by their meaning, best first.

    Look here before you ask a person. The relations of the entities are answered too, with both their ends.
    Example: {"query": "tea"}
    """
    if not arguments.query.strip():
        return await read_graph(context, memory_arguments.ReadGraph(max_characters=arguments.max_characters))
    nodes, is_cut = await graph.search(context, arguments.query)
    more = f"more entities fit than the {len(nodes)} best here: give more words to find the others"
    return await _with_relations(context, nodes, arguments, more if is_cut else "")


async def open_nodes(context: Context, arguments: memory_arguments.OpenNodes) -> Row:
    """Open entities by their names, with their relations. Example: {"names": ["Ada Lovelace"]}"""
    nodes = await graph.by_names(context, arguments.names)
    return await _with_relations(context, list(nodes.values()), arguments)


async def _with_relations(
    context: Context,
    nodes: list[MemoryNode],
    arguments: memory_arguments.SearchNodes | memory_arguments.OpenNodes,
    hint: str = "",
) -> Row:
    rows, names, is_cut = await graph.relationships_of(context, nodes, arguments.max_characters)
    more = "more relations are not counted here: a larger max_characters answers more" if is_cut else ""
    return memory_arguments.within(
        _graph(nodes, rows, names, "; ".join(filter(None, [hint, more]))), arguments.max_characters
    )


def _graph(nodes: list[MemoryNode], rows: Iterable[Row], names: dict[str, str], hint: str) -> Row:
    """Return the answer of nodes and relationships that have not ended.

    A relationship needs the names of both of its ends. ``hint`` says what the answer lacks.
    """
    joining = [row for row in rows if row["source_entity_id"] in names and row["target_entity_id"] in names]
    ended = {row["relationship_key"]: len(graph.spellings(row)) for row in joining if graph.ended_by(row)}
    current = [row for row in joining if row["relationship_key"] not in ended]
    relations = [
        {
            "from": names[row["source_entity_id"]],
            "to": names[row["target_entity_id"]],
            "relationType": spelling,
        }
        for row in sorted(current, key=lambda row: (row["created_at"], row["relationship_key"]))
        for spelling in graph.spellings(row)
    ]
    entities = [
        {"name": node.name, "entityType": node.entity_type, "observations": [*node.texts, *node.others]}
        for node in nodes
    ]
    left_out = f"relations that have ended are left out: {sum(ended.values()):,}" if ended else ""
    hint = "; ".join(filter(None, [hint, left_out]))
    return {"entities": entities, "relations": relations, **({"hint": hint} if hint else {})}


async def _all_nodes(context: Context, names: list[str]) -> dict[str, MemoryNode]:
    """Return the entities of these names by folded name.

    Raises NotFound: there is no entity of one of the names.
    """
    nodes = await graph.by_names(context, names)
    for name in names:
        if graph.folded(name) not in nodes:
            raise NotFound(f"Entity with name {name} not found", entity_name=name[:200])
    return nodes


def _operation(
    function: Callable[[Context, Any], Awaitable[Row]], arguments: type[Arguments],
    scope: Scope = Scope.WRITE, **traits: Any,
) -> Operation[Any]:  # fmt: skip
    return Operation(
        name=PREFIX + function.__name__, tool=function.__name__, scope=scope, idempotent=True, faces=Face.MCP,
        reason="the tools of another server, for its users",
        # Each of the reads searches or walks.
        heavy=scope is Scope.READ,
        errors=(NotFound,), function=function, arguments=arguments, result=TypeAdapter(Row), **traits,
    )  # fmt: skip


OPERATIONS: Final[dict[str, Operation[Any]]] = {
    operation.name: operation
    for operation in (
        _operation(create_entities, memory_arguments.CreateEntities, withheld=True),
        _operation(create_relations, memory_arguments.Relations),
        _operation(add_observations, memory_arguments.AddObservations),
        _operation(delete_entities, memory_arguments.DeleteEntities, destructive=True),
        _operation(delete_observations, memory_arguments.DeleteObservations, destructive=True),
        _operation(delete_relations, memory_arguments.Relations, destructive=True),
        _operation(read_graph, memory_arguments.ReadGraph, Scope.READ),
        _operation(search_nodes, memory_arguments.SearchNodes, Scope.READ),
        _operation(open_nodes, memory_arguments.OpenNodes, Scope.READ),
    )
}
"""The operations of the toolset memory, which only MCP has."""


def text(tool: str, answer: Row) -> str:
    """Return the text of an answer as the reference server writes it: a message, or indented JSON.

    Of a tool that writes, it is the last part of the answer alone.
    """
    is_read = OPERATIONS[PREFIX + tool].scope is Scope.READ
    content = answer if is_read else [*answer.values()][-1]
    return content if isinstance(content, str) else orjson.dumps(content, option=orjson.OPT_INDENT_2).decode()
