"""Which relationship a caller means: types in any spelling, keys, ids, or a type with both ends."""

import contextlib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from graphmem.arguments import Arguments, EntityId, Spelled, invalid
from graphmem.context import Context
from graphmem.errors import InvalidInput, NotFound
from graphmem.model import ids, membership, relationship
from graphmem.model.shipped_relationships import Meaning
from graphmem.reading import as_of
from graphmem.reading.as_of import Clocks
from graphmem.reading.shared_rows import RelationshipRow
from graphmem.text import spelling

RelationshipType = Annotated[
    str, Field(max_length=200, description="Relationship type, such as WORKS_AT; any case.")
]
"""In the caller's spelling; :func:`meanings` reads it and refuses unknown types."""
FollowedWay = Literal["both", "outgoing", "incoming"]
_OTHER_WAY: Final[Mapping[FollowedWay, FollowedWay]] = {
    "both": "both", "outgoing": "incoming", "incoming": "outgoing"
}  # fmt: skip


async def meanings(context: Context, names: Mapping[str, str]) -> list[Meaning]:
    """Return what names of relationship types say; ``names`` are by their JSON paths in the arguments.

    Raises InvalidInput: a type is unknown; each issue proposes the ``nearest`` type, or says of which type
    the name is nearly the inverse (``inverse_of``).
    """
    known = await context.services.vocabulary.covering(names.values(), context.actor.owner)
    types: list[Meaning] = []
    issues: list[dict[str, Any]] = []
    for path, name in names.items():
        try:
            suggests = len(issues) < relationship.SUGGESTIONS_LIMIT
            nearest = spelling.nearest_type if suggests else relationship.no_nearest
            types.append(relationship.meaning_of(name, known, nearest))
        except relationship.UnknownRelationshipType as exc:
            issues.append({"path": path, "message": str(exc), "type": "value_error", **exc.proposal})
    if issues:
        raise invalid(issues)
    return types


async def followed_types(
    context: Context, names: Mapping[str, str], direction: FollowedWay
) -> tuple[list[str], FollowedWay]:
    """Return the types that names say, and the direction in which relationships of them are followed.

    Read from its target, a relationship goes the other way. Where all types are symmetric, it goes both.
    Raises InvalidInput: a type is unknown, or the types go different ways.
    """
    types = await meanings(context, names)
    kinds = await context.services.vocabulary.covering([each.name for each in types], context.actor.owner)
    ways: set[FollowedWay] = {
        _OTHER_WAY[direction] if meaning.is_swapped else direction
        for meaning in types
        if not relationship.is_symmetric(kinds, meaning.name)
    }
    if len(ways) <= 1:
        return [meaning.name for meaning in types], ways.pop() if ways else "both" if types else direction
    message = (
        "these types go different ways from the entity: give direction both, or one type after the other"
    )
    raise InvalidInput.at("$.direction", message)


class RelationshipReference(Arguments):
    """A reference to a relationship: its key, its id, or its type and both ends."""

    relationship_key: Annotated[
        Annotated[str, Field(max_length=300)] | None, Spelled("relationship_id", option="relationship_key")
    ] = None
    relationship_type: RelationshipType | None = None
    source_entity_id: EntityId | None = None
    target_entity_id: EntityId | None = None

    async def key(self, context: Context) -> str:
        """Return the key or id; raises InvalidInput: neither a key nor a type with both ends is given."""
        names = {} if self.relationship_type is None else {"$.relationship_type": self.relationship_type}
        types = await meanings(context, names)
        if self.relationship_key is not None:
            return self.relationship_key
        if types and self.source_entity_id and self.target_entity_id:
            return _key_of(types[0], self.source_entity_id, self.target_entity_id)
        message = "give relationship_key, or relationship_type, source_entity_id and target_entity_id"
        raise InvalidInput.at("$.relationship_key", message)


def _key_of(meaning: Meaning, source: str, target: str) -> str:
    ends = (target, source) if meaning.is_swapped else (source, target)
    return ids.relationship_key(meaning.name, *ends)


async def find_relationship(
    context: Context, key: str, include_deleted: bool, clocks: Clocks
) -> tuple[RelationshipRow, list[str], Clocks]:
    """Return a relationship by its key or id, now or as of a time; raises NotFound: there is none then.

    A key with another name of the type is read, and one of a symmetric type with its ends swapped. With the
    row come the keys under which its observations were written, and the clocks for further queries.
    """
    try:
        return await _find(context, key, include_deleted, clocks)
    except NotFound as missing:
        for other in await _other_keys(context, key):
            with contextlib.suppress(NotFound):
                return await _find(context, other, include_deleted, clocks)
        raise missing from None


async def _other_keys(context: Context, key: str) -> list[str]:
    """Return the keys under which a relationship may be stored that a key means."""
    if ids.RELATIONSHIP_KEY.fullmatch(key) is None:
        return []
    name, source, target = key.split(":")
    kinds = await context.services.vocabulary.covering([name], context.actor.owner)
    try:
        meaning = relationship.meaning_of(name, kinds)
    except relationship.UnknownRelationshipType:
        return []
    keys = [_key_of(meaning, source, target)]
    if relationship.is_symmetric(kinds, meaning.name):
        keys.append(_key_of(meaning, target, source))
    return [each for each in keys if each != key]


async def _find(
    context: Context, key: str, include_deleted: bool, clocks: Clocks
) -> tuple[RelationshipRow, list[str], Clocks]:
    if not clocks.now:
        keys, then = await written_keys(context, key, clocks)
        rows = await as_of.relationships(context, keys, then, include_deleted=include_deleted)
        if rows:
            return rows[0], keys, then
        raise no_relationship(key) if clocks.at is None else no_relationship(key, as_of.NOTHING_YET)
    row = await context.graph.one(
        "relationship.get", RelationshipRow, key=key, include_deleted=include_deleted
    )
    if row is None:
        raise no_relationship(key)
    return row, [row.key], clocks


async def written_keys(context: Context, key: str, clocks: Clocks) -> tuple[list[str], Clocks]:
    """Return the keys of all members of a relationship, and the clocks for further queries. Members differ
    where an end was merged: their observations keep the keys of the time before."""
    if ids.RELATIONSHIP_KEY.fullmatch(key) is None:
        key = await key_of_id(context, key)
    _, clocks = await as_of.pinned(context, [], clocks)
    into = await as_of.merged(context, ids.ends(key), clocks)
    sources, targets = (membership.members(membership.survivor(end, into), into) for end in ids.ends(key))
    relationship_type = key.partition(":")[0]
    keys = [
        ids.relationship_key(relationship_type, source, target) for source in sources for target in targets
    ]
    return keys, clocks


async def key_of_id(context: Context, relationship_id: str) -> str:
    """Return the key of the relationship with an id, deleted and merged ones included."""
    key = await context.graph.one("relationship.named", str, id=relationship_id)
    if key is None:
        raise no_relationship(relationship_id)
    return key


def no_relationship(key: str, hint: str = "POST /list_relationships lists the relationships") -> NotFound:
    return NotFound(f"there is no relationship {key}", relationship_key=key, hint=hint)
