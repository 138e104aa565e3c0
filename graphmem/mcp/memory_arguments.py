"""The arguments of the toolset memory, as the reference MCP memory server has them; limits of its answers."""

from __future__ import annotations

from typing import Annotated, Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from graphmem.arguments import Arguments, NotBlank
from graphmem.budgets import CHARACTERS_MINIMUM, MaxCharacters
from graphmem.budgets.shortening import cut_text, greatest
from graphmem.operations.relationship_changes import RELATIONSHIP_LIMIT
from graphmem.operations.store import ENTITY_LIMIT

QUERY_LIMIT = 2_048
TEXT_LIMIT = 100_000  # characters of one observation

Name = Annotated[str, Field(min_length=1, max_length=10_000, description="Name of the entity."), NotBlank]
EntityTypeName = Annotated[str, Field(max_length=1_000, description="Type of the entity, such as person.")]
Texts = Annotated[
    list[Annotated[str, Field(max_length=TEXT_LIMIT)]],
    Field(max_length=10_000, description="Observations: short texts, one fact each."),
]


class _Part(BaseModel):
    """A part of a request. Members that the reference server does not know are ignored, as it does."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)


class Entity(_Part):
    name: Name
    entity_type: EntityTypeName = Field(alias="entityType")
    observations: Texts


class Relation(_Part):
    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    relation_type: str = Field(
        alias="relationType", min_length=1, max_length=1_000, description="Such as works at."
    )


class Additional(_Part):
    entity_name: Name = Field(alias="entityName")
    contents: Texts


class Deletion(_Part):
    entity_name: Name = Field(alias="entityName")
    observations: Texts


class CreateEntities(Arguments):
    entities: list[Entity] = Field(max_length=ENTITY_LIMIT)


class Relations(Arguments):
    relations: list[Relation] = Field(max_length=RELATIONSHIP_LIMIT)


class AddObservations(Arguments):
    observations: list[Additional] = Field(max_length=ENTITY_LIMIT)


class DeleteEntities(Arguments):
    entityNames: list[Name] = Field(max_length=ENTITY_LIMIT)


class DeleteObservations(Arguments):
    deletions: list[Deletion] = Field(max_length=ENTITY_LIMIT)


class ReadGraph(Arguments):
    max_characters: MaxCharacters = None


class SearchNodes(Arguments):
    query: str = Field(max_length=QUERY_LIMIT)
    max_characters: MaxCharacters = None


class OpenNodes(Arguments):
    names: list[Name] = Field(max_length=ENTITY_LIMIT)
    max_characters: MaxCharacters = None


Graph = dict[str, Any]  # an answer with ``entities``, ``relations`` and perhaps a ``hint``

HINT_CHARACTERS: Final = 300  # characters that an answer keeps for its hint
MARK_CHARACTERS: Final = 40  # characters of the mark behind a text that is cut


def size(graph: Graph) -> int:
    """Return the characters of an answer's text, which is indented JSON."""
    return len(orjson.dumps(graph, option=orjson.OPT_INDENT_2).decode())


def within(graph: Any, budget: int | None) -> Any:
    """Return a graph of at most ``budget`` characters; its ``hint`` says what is left out.

    It has the first entities that fit, without the relations to entities that are left out. Where the first
    entity alone is too large, it loses relations, then its earliest observations, then the ends of texts.
    """
    if budget is None or size(graph) <= budget:
        return graph
    room = max(budget, CHARACTERS_MINIMUM) - HINT_CHARACTERS
    count = greatest(0, len(graph["entities"]), lambda count: size(_first(graph, count)) <= room)
    kept = _first(graph, max(count, 1))
    if count == 0:
        kept = _cut(kept, room)
    return {**kept, "hint": _hint(graph, kept, budget)}


def _first(graph: Graph, count: int) -> Graph:
    """Return the first entities of a graph, and the relations that have no end among the others."""
    entities = graph["entities"][:count]
    left_out = {entity["name"] for entity in graph["entities"][count:]} - {each["name"] for each in entities}
    relations = [
        relation for relation in graph["relations"] if not {relation["from"], relation["to"]} & left_out
    ]
    return {"entities": entities, "relations": relations}


def _cut(graph: Graph, room: int) -> Graph:
    (entity,) = graph["entities"]
    texts: list[str] = entity["observations"]

    def with_relations(count: int) -> Graph:
        return {"entities": [entity], "relations": graph["relations"][:count]}

    def with_texts(count: int, characters: int | None = None) -> Graph:
        latest = texts[len(texts) - count :]
        kept_texts = latest if characters is None else [_shortened(text, characters) for text in latest]
        name = entity["name"] if characters is None else _shortened(entity["name"], characters)
        return {"entities": [{**entity, "name": name, "observations": kept_texts}], "relations": []}

    if size(with_relations(0)) <= room:
        return with_relations(greatest(0, len(graph["relations"]), lambda n: size(with_relations(n)) <= room))
    count = greatest(min(len(texts), 1), len(texts), lambda n: size(with_texts(n)) <= room)
    if size(with_texts(count)) <= room:
        return with_texts(count)
    return with_texts(count, greatest(0, room, lambda n: size(with_texts(count, n)) <= room))


def _shortened(text: str, characters: int) -> str:
    """Return a text that is cut to some characters; a text that would hardly become shorter stays whole."""
    return text if len(text) <= characters + MARK_CHARACTERS else cut_text(text, characters)


def _hint(graph: Graph, kept: Graph, budget: int) -> str:
    counts = {name: len(graph[name]) - len(kept[name]) for name in ("entities", "relations")}
    first, cut = graph["entities"][0], kept["entities"][0]
    counts["observations"] = len(first["observations"]) - len(cut["observations"])
    parts = [f"{count:,} {name}" for name, count in counts.items() if count]
    left_out = f"{', '.join(parts)} left out, " if parts else ""
    rest = f"this answer is whole with max_characters {size(graph) + HINT_CHARACTERS}"
    return (
        f"{left_out}to stay within max_characters ({budget:,}): search_nodes and open_nodes find single "
        f"entities; {graph.get('hint', rest)}"
    )
