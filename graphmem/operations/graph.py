"""Walking the graph: what can be reached from an entity through its relationships."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import PAGE_DEFAULT, Arguments, EntityId, Limit, NoBool, Spelled
from graphmem.errors import NotFound
from graphmem.operations import answers
from graphmem.operations.answers import EntityRow, RelationshipRow
from graphmem.operations.relationships import RelationshipType
from graphmem.registry import Context, Scope, operation

FANOUT = 1_000
"""Most relationships of one entity that a traversal follows, in the order of their keys."""
HUB = 1_000
"""An entity with more relationships than this is reached but not passed through."""
DEPTH_LIMIT = 5


class RelatedEntities(Arguments):
    """What ``entities.related`` takes."""

    entity_id: EntityId
    relationship_types: list[RelationshipType] = Field(
        default=[], max_length=100, description="Only through relationships of these types; none means all."
    )
    depth: Annotated[
        int,
        Spelled("max_hops"),
        Field(ge=1, le=DEPTH_LIMIT, description=f"How many steps away at most, 1 to {DEPTH_LIMIT}."),
        NoBool,
    ] = 1
    direction: Literal["both", "outgoing", "incoming"] = Field(
        default="both", description="Which way to follow relationships."
    )
    include_entities: bool = Field(default=True, description="Whether the answer carries the entities.")
    limit: Limit = PAGE_DEFAULT


class Related(answers.Entity):
    """An entity that was reached, and in how many steps."""

    depth: NotRequired[int]


class Neighbourhood(TypedDict):
    """What can be reached from an entity, nearest first, and the relationships walked.

    ``truncated`` says whether ``limit`` cut it; ``hubs`` are entities with so many relationships that they
    were reached but not passed through.
    """

    entity_id: str
    entity_type: str
    canonical_name: str
    version: int
    relationships: list[answers.Relationship]
    entities: NotRequired[list[Related]]
    total: int
    truncated: bool
    hubs: list[str]


@operation(
    "entities.related",
    "POST /retrieve_related_entities",
    tool="retrieve_related_entities",
    command="entities related",
    scope=Scope.READ,
    errors=(NotFound,),
    example="ent_0123456789abcdef01234567 --relationship-types WORKS_AT --depth 2",
)
async def related_entities(context: Context, arguments: RelatedEntities) -> Neighbourhood:
    """Return the entities within some steps of one, through live relationships, each once, nearest first.

    `relationship_types` narrows the walk, `depth` is how far it goes, `direction` which way.
    """
    walk = _Walk(arguments)
    origin = await walk.run(context)
    answer: Neighbourhood = {
        "entity_id": origin.id,
        "entity_type": origin.type,
        "canonical_name": origin.name,
        "version": origin.version,
        "relationships": [answers.relationship(walk.edges[key]) for key in sorted(walk.edges)],
        "total": len(walk.depths) - 1,
        "truncated": walk.truncated,
        "hubs": sorted(walk.hubs),
    }
    if arguments.include_entities:
        order = sorted((d, entity_id) for entity_id, d in walk.depths.items() if d)
        answer["entities"] = [
            {**answers.entity(walk.entities[entity_id]), "depth": depth} for depth, entity_id in order
        ]
    return answer


class _Walk:
    """A breadth-first walk, one round trip a level, that stops at ``limit`` entities."""

    def __init__(self, arguments: RelatedEntities) -> None:
        self.arguments = arguments
        self.depths: dict[str, int] = {arguments.entity_id: 0}
        self.entities: dict[str, EntityRow] = {}
        self.edges: dict[str, RelationshipRow] = {}
        self.hubs: set[str] = set()
        self.truncated = False

    async def run(self, context: Context) -> EntityRow:
        """Walk; return the entity that it started from.

        Raises:
            NotFound: there is no such entity.
        """
        origin: EntityRow | None = None
        frontier = [self.arguments.entity_id]
        for depth in range(1, self.arguments.depth + 1):
            row = await context.graph.one(
                "relationship.expand",
                edge_types=frozenset(self.arguments.relationship_types) or None,
                frontier=frontier,
                origin=self.arguments.entity_id,
                outgoing=self.arguments.direction != "incoming",
                incoming=self.arguments.direction != "outgoing",
                hub=HUB,
                fanout=FANOUT,
            )
            if row is None:
                raise NotFound(
                    f"there is no entity {self.arguments.entity_id}", entity_id=self.arguments.entity_id
                )
            origin = EntityRow(*row["origin"])
            self.hubs.update(row["hubs"])
            frontier = self._level(row, depth)
            if not frontier or self.truncated:
                break
        assert origin is not None
        return origin

    def _level(self, row: dict[str, list[list[object]]], depth: int) -> list[str]:
        found = [EntityRow(*one) for one in row["entities"]]  # pyright: ignore[reportArgumentType]
        new = [one for one in found if one.id not in self.depths]
        room = self.arguments.limit - (len(self.depths) - 1)
        self.truncated = len(new) > room
        for one in new[:room]:
            self.depths[one.id] = depth
            self.entities[one.id] = one
        for one in row["edges"]:
            edge = RelationshipRow(*one)  # pyright: ignore[reportArgumentType]
            # Only relationships between entities that the answer names.
            if edge.source in self.depths and edge.target in self.depths:
                self.edges[edge.key] = edge
        return [one.id for one in new[:room]]
