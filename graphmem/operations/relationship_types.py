"""List and register relationship types. They belong to the database, not to an owner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NotBlank, invalid
from graphmem.errors import InvalidCursor
from graphmem.model import relationship
from graphmem.model.relationship import BUILTIN, DESCRIPTION_LIMIT, RegistrationRefused, RelationshipKind
from graphmem.reading import cursors
from graphmem.reading.budgets import within_budget
from graphmem.reading.pages import Paged, PageEnvelope, page_of
from graphmem.reading.shared_rows import TypeCount
from graphmem.registry import Context, Scope, operation


class RelationshipTypeEntry(TypedDict):
    """One relationship type.

    ``inverse`` is the name by which a relationship is read from its target, such as EMPLOYS for WORKS_AT.
    """

    relationship_type: str
    inverse: str | None
    description: str | None
    origin: Literal["builtin", "registered"]


class RegisterRelationshipType(Arguments):
    """The arguments of ``relationship_types.register``."""

    relationship_type: str = Field(
        max_length=200, description="Its name: a letter, then up to 63 letters, digits or _; any case."
    )
    inverse: Annotated[
        Annotated[str, Field(max_length=200)] | None,
        Field(description="Name by which it is read from its target, such as EMPLOYS for WORKS_AT."),
    ] = None
    description: Annotated[
        Annotated[str, Field(min_length=1, max_length=DESCRIPTION_LIMIT)] | None,
        Field(description="What it says of source and target; everybody who uses the database can read it."),
    ] = None


class RegisteredRelationshipType(RelationshipTypeEntry):
    """A relationship type as it is now; ``created`` says whether this call registered it."""

    created: bool


@operation(
    "relationship_types.register",
    "POST /relationship_types",
    tool="register_relationship_type",
    command="relationship-types register",
    scope=Scope.ADMIN,
    idempotent=True,
    sandbox=False,
    example={
        "relationship_type": "REVIEWS",
        "inverse": "REVIEWED_BY",
        "description": "The source judges the work that the target is.",
    },
)
async def register_relationship_type(
    context: Context, arguments: RegisterRelationshipType
) -> RegisteredRelationshipType:
    """Register a relationship type for the whole database; every owner can use it at once.

    A type cannot be removed or given another meaning. Registering it again answers the type as it is; a new
    description replaces the earlier one, and an inverse can be added. A different inverse is refused, and so
    is the inverse of another type.
    """
    spelled = None if arguments.inverse is None else relationship.spell(arguments.inverse)
    requested_type = RelationshipKind(
        relationship.spell(arguments.relationship_type), spelled, arguments.description
    )
    try:
        kind, created = await context.services.vocabulary.register(requested_type, context.actor.agent)
    except RegistrationRefused as exc:
        raise invalid([{"path": f"$.{exc.argument}", "message": str(exc)}]) from None
    return {**_entry(kind), "created": created}


class ListRelationshipTypes(Paged):
    """The arguments of ``relationship_types.list``."""

    keyword: Annotated[
        Annotated[str, Field(max_length=200), NotBlank] | None,
        Field(description="Only types with this in their name, their inverse or their description."),
    ] = None


class CountedRelationshipType(RelationshipTypeEntry):
    """A relationship type, and the number of live relationships of this type that the caller has."""

    relationship_count: int


class RelationshipTypePage(PageEnvelope):
    """A page of relationship types by name."""

    relationship_types: list[CountedRelationshipType]


@operation(
    "relationship_types.list",
    "GET /relationship_types",
    tool="list_relationship_types",
    command="relationship-types list",
    scope=Scope.READ,
    errors=(InvalidCursor,),
)
@within_budget("relationship_types", is_page=True)
async def list_relationship_types(context: Context, arguments: ListRelationshipTypes) -> RelationshipTypePage:
    """List the built-in and the registered relationship types, each with its number of relationships.

    The types belong to the database and are the same for every owner; the numbers are the caller's own.
    """
    kinds = (await context.services.vocabulary.refresh()).kinds
    backwards = relationship.read_backwards(kinds)
    entries = [_entry(kinds[name], backwards.get(name)) for name in sorted(kinds)]
    if arguments.keyword is not None:
        entries = [entry for entry in entries if _has(entry, arguments.keyword)]
    query = cursors.fingerprint(context, "relationship_types.list", arguments)
    page = page_of(arguments, query, entries, lambda entry: entry["relationship_type"])
    names = [entry["relationship_type"] for entry in page.items]
    counts = dict(await context.graph.only("relationship_type.counts", list[TypeCount], types=names))
    return {
        "relationship_types": [
            {**entry, "relationship_count": counts.get(entry["relationship_type"], 0)} for entry in page.items
        ],
        **page.envelope(arguments, query),
    }


def _entry(kind: RelationshipKind, read_backwards: str | None = None) -> RelationshipTypeEntry:
    return {
        "relationship_type": kind.name,
        "inverse": kind.inverse or read_backwards,
        "description": kind.description,
        "origin": "builtin" if kind.name in BUILTIN else "registered",
    }


def _has(entry: RelationshipTypeEntry, keyword: str) -> bool:
    names = entry["relationship_type"], entry["inverse"] or ""
    described = (entry["description"] or "").casefold()
    return any(relationship.spell(keyword) in name for name in names) or keyword.casefold() in described
