"""Storing entities and relationships: a whole request, or nothing of it."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NotRequired

from pydantic import Field, model_validator

from graphmem.arguments import OBJECT_OR_TEXT, Arguments, FreeObject, NoBool, Previewed, invalid
from graphmem.budgets import Budgeted, Sized
from graphmem.context import Context
from graphmem.duplicates import duplicate_pages
from graphmem.foreign_arguments import own_shape
from graphmem.interpretation import InterpretedFile, interpret_stored
from graphmem.model import items
from graphmem.model.items import ItemReader
from graphmem.model.links import Link
from graphmem.registry import Scope, operation
from graphmem.storing import acceptance
from graphmem.storing.received_files import StoredFile, WithFile, received, stored_file

ENTITY_LIMIT = 1_000
RELATIONSHIP_LIMIT = 2_000

Index = Annotated[int, Field(description="Index in `entities`, from 0."), NoBool]


class NewRelationship(Arguments):
    """Each end is the index of an item or the id of an entity."""

    relationship_type: str = Field(max_length=200)
    source_index: Index | None = None
    source_entity_id: str | None = None
    target_index: Index | None = None
    target_entity_id: str | None = None
    metadata: FreeObject = None


def read_links(
    reader: ItemReader, relationships: Iterable[NewRelationship], item_count: int
) -> list[Link | None]:
    """Return relationships of a request with ``item_count`` items as links; ``None`` for a refused one."""
    return [
        reader.link(index, relationship.sent(), item_count)
        for index, relationship in enumerate(relationships)
    ]


class WithItems(Arguments):
    """The arguments of an operation that stores items and relationships, in graphmem's or another shape."""

    @model_validator(mode="before")
    @classmethod
    def _read_shape(cls, raw: Any) -> Any:
        return own_shape(raw) if isinstance(raw, Mapping) else raw


class Store(WithItems, acceptance.Observing, WithFile, Previewed, Sized):
    file_idempotency_key: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    entities: list[Any] = Field(
        default=[],
        max_length=ENTITY_LIMIT,
        description="Objects, or their JSON texts. Reserved keys: " + ", ".join(sorted(items.RESERVED)),
        json_schema_extra={"items": OBJECT_OR_TEXT},
    )
    relationships: list[NewRelationship] = Field(default=[], max_length=RELATIONSHIP_LIMIT)
    find_duplicates: bool = True


class Stored(StoredFile, InterpretedFile, acceptance.WrittenItems, Budgeted):
    """The receipt of a store. What it names is durable, and every read sees it.

    A replay answers the ids and actions of the first call, with ``replayed`` true and nothing created.
    Each of ``store_warnings`` has ``code`` and ``message``, and ``index`` and ``field`` where it is about one
    item or field. ``TYPE_MISMATCH`` has ``value`` and ``expected_type`` too: a value that does not convert to
    the registered type is hidden from the snapshot. ``SAME_NAME`` and ``SAME_NAME_NEAR_DATE`` have
    ``entity_id`` and ``target_id``: the item created an entity with the name of another live one of its type.
    ``SHARED_IDENTIFIER`` has ``entity_id`` and ``shared_with``: other people have the e-mail address of the
    item, as names or birthdays say; 20 of them at most. ``OTHER_FAMILY_NAME`` has ``entity_id``: the person
    there had other family names alone. ``EMAIL_WITH_NAME`` has ``field`` and ``entity_id``: the
    address has a name or `mailto:` before it, and alone it identifies another entity.
    ``HELD_BY_CORRECTION`` and ``EQUAL_TIME_LOST`` have ``observation_id``: what won the field.
    ``MIME_TYPE_MISMATCH`` has ``mime_type`` and ``declared_type``: the bytes are not what was declared.
    ``RELATIONSHIP_STORED_AS`` has ``relationship_type``: the relationship was given by another name, such
    as that of its inverse. ``ROLE_REPLACED`` has ``field``: a relationship shows another role in its place.
    ``REFERENCE_NOT_LINKED`` has ``field``: a reference field whose value identifies no entity. What such
    fields name stands behind the items and relationships of the request.
    ``NEW_TYPE`` and ``NEW_FIELD`` have ``nearest``: the known name that was probably meant.
    """

    commit: bool
    transaction_id: str | None
    recorded_at: str | None
    entities: list[acceptance.StoredEntity]
    relationships_created: list[acceptance.StoredRelationship]
    hint: NotRequired[str]


@operation("store", Scope.WRITE)
async def store(context: Context, arguments: Store) -> Stored:
    """Store observations of entities, and relationships between them: the whole request, or nothing.

    Each item has an `entity_type` and any fields. Items with the same identity (an e-mail, a name, a title:
    see `identity_basis`) are one entity, and each item is one observation of it. `relationships` connect
    items by `source_index` and `target_index`, or entities by `source_entity_id` and `target_entity_id`. A
    created entity lists its likely duplicates in `duplicate_candidates`. `file_content` keeps a file; send
    more than 7 MB with `graphmem upload`.
    """

    def read(reader: ItemReader) -> acceptance.Parts:
        read_items = [reader.item(index, raw) for index, raw in enumerate(arguments.entities)]
        return read_items, read_links(reader, arguments.relationships, len(read_items))

    if not arguments.entities and not arguments.has_file:
        raise invalid(
            [{"path": "$.entities", "message": "there is nothing to store: give entities, a file, or both"}]
        )
    commit = not arguments.is_preview
    alone = commit and not arguments.entities
    types = [link.relationship_type for link in arguments.relationships]
    file = await received(context, arguments, file_key=arguments.file_idempotency_key, commit=commit)
    receipt = await acceptance.accept(
        context, "store", arguments, read, types=types, source=file, commit=commit
    )
    stored = acceptance.entries(receipt)
    if not commit and not receipt.replayed:
        would = {
            "created": "would_create",
            "matched_existing": "would_match_existing",
            "extended": "would_extend",
        }
        for entry in stored:
            entry["action"] = would[entry["action"]]
    warnings = (
        await duplicate_pages.name_likely(context, receipt, stored) if arguments.find_duplicates else []
    )
    return {
        **acceptance.receipt_of(Stored, receipt, is_written=commit),
        "commit": commit,
        "entities": stored,
        "relationships_created": acceptance.links(receipt),
        "store_warnings": receipt.warnings + warnings,
        **stored_file(receipt),
        **(await interpret_stored(context, receipt) if alone else InterpretedFile()),
    }
