"""Walking the graph: what can be reached from an entity through its relationships."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import PAGE_DEFAULT, Arguments, EntityId, Limit, NoBool, Spelled
from graphmem.errors import NotFound
from graphmem.operations import answers
from graphmem.operations.answers import EntityRow, RelationshipRow
from graphmem.operations.relationships import RelationshipType, known_types
from graphmem.registry import Context, Scope, operation

EDGES = 5_000
"""Most relationships that an answer names."""
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

    ``total`` counts the entities reached; ``truncated`` says that ``limit``, or the size of the answer, left
    something out. ``hubs`` are entities with so many relationships that they were not passed through.
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
    reached = sorted((depth, entity_id) for entity_id, depth in walk.depths.items() if depth)
    answer: Neighbourhood = {
        "entity_id": origin.id,
        "entity_type": origin.type,
        "canonical_name": origin.name,
        "version": origin.version,
        "relationships": [answers.relationship(walk.edges[key]) for key in sorted(walk.edges)],
        "total": len(reached),
        "truncated": walk.truncated,
        "hubs": sorted(walk.hubs),
    }
    if arguments.include_entities and reached:
        ids = [entity_id for _, entity_id in reached]
        row = await context.graph.one("entity.by_id", entity_ids=ids)
        assert row is not None
        found = answers.entities(row["entities"])
        answer["truncated"] = walk.truncated or len(found) < len(ids)
        answer["entities"] = [{**one, "depth": walk.depths[one["entity_id"]]} for one in found]
    elif arguments.include_entities:
        answer["entities"] = []
    return answer


class _Walk:
    """A breadth-first walk, one round trip a level, that stops at ``limit`` entities."""

    def __init__(self, arguments: RelatedEntities) -> None:
        self.arguments = arguments
        self.depths: dict[str, int] = {arguments.entity_id: 0}
        self.edges: dict[str, RelationshipRow] = {}
        self.hubs: set[str] = set()
        self.truncated = False

    async def run(self, context: Context) -> EntityRow:
        """Walk; return the entity that it started from.

        Raises:
            InvalidInput: a relationship type is not known.
            NotFound: there is no such entity.
        """
        origin: EntityRow | None = None
        asked = self.arguments.relationship_types
        paths = {f"$.relationship_types[{i}]": name for i, name in enumerate(asked)}
        wanted = frozenset(await known_types(context, paths))
        frontier = [self.arguments.entity_id]
        for depth in range(1, self.arguments.depth + 1):
            row = await context.walk(
                "relationship.expand",
                edge_types=wanted or None,
                frontier=frontier,
                reached=list(self.depths),
                origin=self.arguments.entity_id,
                outgoing=self.arguments.direction != "incoming",
                incoming=self.arguments.direction != "outgoing",
                hub=HUB,
                room=self.arguments.limit - (len(self.depths) - 1),
                most=EDGES - len(self.edges),
            )
            if row is None:
                missing = self.arguments.entity_id
                raise NotFound(f"there is no entity {missing}", entity_id=missing)
            origin = EntityRow(*row["origin"])
            self.hubs.update(row["hubs"])
            self.truncated = row["more"] or row["cut"]
            self.edges.update((edge.key, edge) for edge in (RelationshipRow(*one) for one in row["edges"]))
            self.depths.update(dict.fromkeys(row["next"], depth))
            frontier = row["next"]
            if not frontier or self.truncated:
                break
        assert origin is not None
        return origin
