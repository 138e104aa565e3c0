"""The arguments of the toolset memory, in the spelling of the reference MCP memory server."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from graphmem.arguments import Arguments, NotBlank
from graphmem.operations.relationship_changes import RELATIONSHIP_LIMIT
from graphmem.operations.store import ENTITY_LIMIT
from graphmem.reading.budgets import MaxCharacters

QUERY_LIMIT = 2_048
TEXT_LIMIT = 100_000
"""Characters of one observation."""

Name = Annotated[str, Field(min_length=1, max_length=10_000, description="Name of the entity."), NotBlank]
EntityTypeName = Annotated[str, Field(max_length=1_000, description="Type of the entity, such as person.")]
Texts = Annotated[
    list[Annotated[str, Field(max_length=TEXT_LIMIT)]],
    Field(max_length=10_000, description="Observations: short texts, one fact each."),
]


class _Part(BaseModel):
    """A part of a request. Members that the reference server does not know are ignored, as it does."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)


P = TypeVar("P", bound=_Part)


class Entity(_Part):
    """An entity."""

    name: Name
    entity_type: EntityTypeName = Field(alias="entityType")
    observations: Texts


class Relation(_Part):
    """A relation between two entities."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    relation_type: str = Field(
        alias="relationType", min_length=1, max_length=1_000, description="Such as works at."
    )


class Additional(_Part):
    """Observations to add to an entity."""

    entity_name: Name = Field(alias="entityName")
    contents: Texts


class Deletion(_Part):
    """Observations to delete from an entity."""

    entity_name: Name = Field(alias="entityName")
    observations: Texts


class CreateEntities(Arguments):
    entities: list[Entity] = Field(max_length=ENTITY_LIMIT, description="The entities.")


class Relations(Arguments):
    """The arguments of ``create_relations`` and ``delete_relations``."""

    relations: list[Relation] = Field(max_length=RELATIONSHIP_LIMIT, description="The relations.")


class AddObservations(Arguments):
    observations: list[Additional] = Field(
        max_length=ENTITY_LIMIT, description="What to add to which entity."
    )


class DeleteEntities(Arguments):
    entityNames: list[Name] = Field(max_length=ENTITY_LIMIT, description="Names of the entities.")


class DeleteObservations(Arguments):
    deletions: list[Deletion] = Field(
        max_length=ENTITY_LIMIT, description="What to delete from which entity."
    )


class ReadGraph(Arguments):
    max_characters: MaxCharacters = None


class SearchNodes(Arguments):
    query: str = Field(max_length=QUERY_LIMIT, description="Words, a name, a type or a description.")
    max_characters: MaxCharacters = None


class OpenNodes(Arguments):
    names: list[Name] = Field(max_length=ENTITY_LIMIT, description="Names of the entities.")
    max_characters: MaxCharacters = None
