"""List and register relationship types. They belong to the database, not to an owner."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NotBlank
from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model import relationship
from graphmem.reading.pages import LeavesOut, Paged, PageEnvelope, page_of
from graphmem.registry import Scope, operation
from graphmem.storing.acceptance import Writing, receipt_of, submit, transaction
from graphmem.writing import RenamingRequest


class RelationshipTypeEntry(TypedDict):
    """One relationship type.

    ``inverse`` is the name by which a relationship is read from its target, such as EMPLOYS for WORKS_AT.
    ``names`` are the other names that a type of your own has had; keys have the first.
    """

    relationship_type: str
    inverse: str | None
    description: str | None
    origin: Literal["builtin", "registered", "own"]
    names: NotRequired[list[str]]


class RegisterRelationshipType(Arguments):
    relationship_type: str = Field(max_length=200)
    inverse: Annotated[str, Field(max_length=200)] | None = None
    description: Annotated[str, Field(min_length=1, max_length=relationship.DESCRIPTION_LIMIT)] | None = None


class RegisteredRelationshipType(RelationshipTypeEntry):
    """A relationship type as it is now; ``created`` says whether this call registered it."""

    created: bool


@operation("relationship_types.register", Scope.ADMIN)
async def register_relationship_type(
    context: Context, arguments: RegisterRelationshipType
) -> RegisteredRelationshipType:
    """Register a relationship type for the whole database; every owner can use it at once.

    A type cannot be removed or given another meaning. Registering it again answers the type as it is; a new
    description replaces the earlier one, and an inverse can be added. A different inverse is refused, and so
    is the inverse of another type.
    """
    spelled = None if arguments.inverse is None else relationship.spell(arguments.inverse)
    requested_type = relationship.RelationshipKind(
        relationship.spell(arguments.relationship_type), spelled, arguments.description
    )
    try:
        kind, created = await context.services.vocabulary.register(requested_type, context.actor.agent)
    except relationship.RegistrationRefused as exc:
        raise InvalidInput.at(f"$.{exc.argument}", str(exc)) from None
    return {**_entry(kind), "created": created}


class RenameRelationshipType(Writing):
    relationship_type: str = Field(max_length=200)
    name: str = Field(max_length=200)


class RenamedRelationshipType(TypedDict):
    """A type of your own with its new ``name``; ``relationship_type`` is the name that keys keep."""

    relationship_type: str
    name: str
    transaction_id: str
    replayed: bool


@operation("relationship_types.rename", Scope.WRITE)
async def rename_relationship_type(
    context: Context, arguments: RenameRelationshipType
) -> RenamedRelationshipType:
    """Give a relationship type of your own another name.

    What you store and ask by the new name is of this type from then on, and answers show the new name. Stored
    relationships keep their keys and ids. Earlier names are read as before.
    """
    vocabulary, owner = context.services.vocabulary, context.actor.owner
    kinds, _ = await vocabulary.of_owner(owner)
    named = relationship.readings(arguments.relationship_type)
    own = next((kinds[each] for each in named if each in kinds), None)
    if own is None or not own.is_own:
        message = "no type of your own has this name: GET /relationship_types lists them"
        raise InvalidInput.at("$.relationship_type", message)
    meaning = relationship.own_meaning(arguments.name)
    usual = {**relationship.MEANINGS, **kinds}
    namesakes = [usual[each].name for each in relationship.readings(arguments.name) if each in usual]
    is_first = (
        meaning and meaning.name == own.name and own.name not in await vocabulary.renamed(owner, [own.name])
    )
    if meaning is None or (namesakes and (namesakes[0] != own.name or is_first)):
        message = (
            f"this is a name of {namesakes[0]} already"
            if namesakes
            else f"a name is {relationship.NAME_RULE}"
        )
        raise InvalidInput.at("$.name", message)
    request = RenamingRequest(
        **transaction(context, "relationship_types.rename", arguments),
        relationship_type=own.name,
        name=meaning.name,
    )
    receipt = await submit(context, request)
    vocabulary.forget(owner)
    return {
        "relationship_type": own.name,
        "name": meaning.name,
        **receipt_of(RenamedRelationshipType, receipt),
    }


class ListRelationshipTypes(Paged):
    keyword: Annotated[str, Field(max_length=200), NotBlank] | None = None


class CountedRelationshipType(RelationshipTypeEntry):
    """A relationship type, and the number of live relationships of this type that the caller has."""

    relationship_count: int


class RelationshipTypePage(LeavesOut, PageEnvelope):
    """A page of relationship types by name."""

    relationship_types: list[CountedRelationshipType]


@operation("relationship_types.list", Scope.READ)
async def list_relationship_types(context: Context, arguments: ListRelationshipTypes) -> RelationshipTypePage:
    """List the relationship types: built-in and registered ones, and your own, each with your relationships.

    Built-in and registered types are the same for every owner. Your own types are the other names that you
    used. `relationship_count` counts what you have of each.
    """
    vocabulary, owner = context.services.vocabulary, context.actor.owner
    kinds, counts = await vocabulary.of_owner(owner)
    backwards, newest_names = relationship.read_backwards(kinds), await vocabulary.renamed(owner, kinds)
    names: dict[str, list[str]] = {}
    for name in sorted(kinds):
        names.setdefault(kinds[name].name, []).append(name)
    entries: list[CountedRelationshipType] = []
    for stored, every in names.items():
        name = newest_names.get(stored, stored)
        entry = _entry(kinds[stored], backwards.get(stored))
        entry["relationship_type"] = name
        if len(every) > 1:
            entry["names"] = [other for other in every if other != name]
        entries.append({**entry, "relationship_count": counts.get(stored, 0)})
    entries.sort(key=lambda entry: entry["relationship_type"])
    if arguments.keyword is not None:
        entries = [entry for entry in entries if _has(entry, arguments.keyword)]
    page, envelope = page_of(
        context, "relationship_types.list", arguments, entries, lambda entry: entry["relationship_type"]
    )
    return {"relationship_types": page, **envelope}


def _entry(kind: relationship.RelationshipKind, read_backwards: str | None = None) -> RelationshipTypeEntry:
    return {
        "relationship_type": kind.name,
        "inverse": kind.inverse or read_backwards,
        "description": kind.description,
        "origin": "own" if kind.is_own else "builtin" if kind.name in relationship.BUILTIN else "registered",
    }


def _has(entry: RelationshipTypeEntry, keyword: str) -> bool:
    names = entry["relationship_type"], entry["inverse"] or "", *entry.get("names", ())
    described = (entry["description"] or "").casefold()
    return any(relationship.spell(keyword) in name for name in names) or keyword.casefold() in described
