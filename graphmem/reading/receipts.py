"""What every writing operation shares: its arguments, the way to the owner's writer, and the receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NoReturn, NotRequired, cast

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, Moment
from graphmem.errors import InvalidInput, NotFound, SchemaRefused, StoreRefused
from graphmem.model import ids, items, membership, reduction, times
from graphmem.model.items import Issue, Item, Link, Reader
from graphmem.model.ranks import ObservationSource
from graphmem.model.reduction import Fold
from graphmem.model.schema import Change, Document
from graphmem.reading import answers, recomputed
from graphmem.registry import Context
from graphmem.writing import UNKNOWN_TYPE, Receipt, SchemaRequest, StoreRequest, WriteRequest

Key = Annotated[
    Annotated[str, Field(min_length=1, max_length=255)] | None,
    Field(description="The same key with the same content is answered again, and stored once."),
]
ObservedAt = Annotated[
    Moment | None,
    Field(
        description="When it was so, for items without an own `observed_at`; by default when it is recorded."
    ),
]
Priority = Annotated[
    Annotated[float, Field(ge=-items.PRIORITY_LIMIT, le=items.PRIORITY_LIMIT, allow_inf_nan=False)] | None,
    Field(
        description="Priority of the observation, for fields that are decided by priority; 100 by default."
    ),
]
Source = Annotated[ObservationSource | None, Field(description="Kind of writer; llm_summary unless given.")]
Reason = Annotated[
    Annotated[str, Field(max_length=10_000)] | None, Field(description="Why; kept with the observation.")
]
Parts = tuple[list[Item | None], list[Link | None]]


class Writing(Arguments):
    """What every writing operation takes."""

    idempotency_key: Key = None


class Observing(Writing):
    """What an operation takes that says when and by what kind of writer something was observed."""

    observed_at: ObservedAt = None
    source_priority: Priority = None
    observation_source: Source = None

    def defaults(self) -> items.Defaults:
        """Return what stands on the request for all of its parts.

        Raises:
            InvalidInput: the time is more than 24 hours in the future.
        """
        if self.observed_at is not None and self.observed_at > times.now() + times.FUTURE_LIMIT_MICROSECONDS:
            message = "more than 24 hours in the future"
            issue = {"path": "$.observed_at", "message": message}
            raise InvalidInput(f"$.observed_at: {message}", issues=[issue])
        priority = items.DEFAULT_PRIORITY if self.source_priority is None else self.source_priority + 0.0
        return items.Defaults(self.observed_at, priority, self.observation_source or items.DEFAULT_SOURCE)


class TransactionFields(TypedDict):
    """The fields of :class:`graphmem.writing.transaction.TransactionRequest`."""

    owner: str
    transaction_id: str
    operation: str
    agent: str
    client: str
    idempotency_key: str | None


class StoredEntity(TypedDict):
    """What became of one item.

    ``action`` is created, matched_existing or extended (would_… in a plan); ``identity_basis`` the fields
    that identified it; ``deduplicated`` says that this very observation was there already;
    ``home_entity_id`` is the entity that it is an observation of, where that is merged into the one that is
    answered. Where the answer would be too large, ``entity_snapshot_after`` stands with the last item of
    each entity only. ``duplicate_candidates`` stands with what a store created where other entities are
    likely the same thing.
    """

    entity_id: str
    entity_type: str
    canonical_name: str
    action: str
    version: int
    observation_id: str
    observation_index: int
    identity_basis: str
    deduplicated: bool
    home_entity_id: NotRequired[str]
    entity_snapshot_after: NotRequired[answers.Fields]
    duplicate_candidates: NotRequired[list[answers.Likeness]]


class StoredRelationship(TypedDict):
    """What became of one relationship."""

    relationship_key: str
    relationship_id: str
    relationship_type: str
    source_entity_id: str
    target_entity_id: str
    observation_id: str
    action: str
    version: int
    is_live: bool
    deduplicated: bool


def transaction(context: Context, operation_name: str, arguments: Writing) -> TransactionFields:
    """Return the fields that every request for a transaction has."""
    actor = context.actor
    return {
        "owner": actor.owner,
        "transaction_id": ids.transaction_id(),
        "operation": operation_name,
        "agent": actor.agent,
        "client": actor.client,
        "idempotency_key": arguments.idempotency_key,
    }


async def submit(context: Context, request: WriteRequest) -> Receipt:
    """Hand a request to its owner's writer; return its receipt with snapshots as of its transaction.

    Raises:
        StoreRefused, IdempotencyMismatch, ServiceBusy, Unavailable: see :class:`graphmem.writing.Writers`.
    """
    try:
        receipt = await context.services.writers.submit(request)
    except StoreRefused as exc:
        raise StoreRefused(_message(exc.details["issues"]), **exc.details) from exc
    return await _reread(context, receipt) if receipt.items and not receipt.folds else receipt


async def accept(
    context: Context,
    operation_name: str,
    arguments: Writing,
    parts: Callable[[Reader], Parts],
    *,
    types: Iterable[str] = (),
    commit: bool = True,
    find_duplicates: bool = False,
) -> Receipt:
    """Hand items and links to the owner's writer; return the receipt with snapshots as of its transaction.

    Args:
        parts: reads the items and links.
        types: the relationship types that the links name.
        find_duplicates: whether the receipt tells the neighbours of what was created.

    Raises:
        StoreRefused, IdempotencyMismatch, ServiceBusy, Unavailable: see :class:`graphmem.writing.Writers`.
    """
    owner = context.actor.owner
    defaults = arguments.defaults() if isinstance(arguments, Observing) else items.Defaults()
    fields = transaction(context, operation_name, arguments)
    alternatives = context.services.writers.alternatives(owner)
    vocabulary = await context.services.vocabulary.covering(types)
    reader = Reader(owner, fields["transaction_id"], defaults, alternatives, vocabulary)
    stored, links = parts(reader)
    if reader.issues:
        raise StoreRefused(_message(reader.issues), issues=reader.issues)
    request = StoreRequest(
        **fields,
        items=cast("list[Item]", stored),
        links=cast("list[Link]", links),
        observed_at=defaults.observed_at,
        priority=defaults.priority,
        observation_source=defaults.observation_source,
        commit=commit,
        find_duplicates=find_duplicates,
    )
    return await submit(context, request)


@dataclass(frozen=True, slots=True)
class SchemaReceipt:
    """What a change of a schema came to; times are microseconds."""

    entity_type: str
    version: str
    document: Document
    added: list[str]
    removed: list[str]
    transaction_id: str
    recorded_at: int
    replayed: bool


async def change_schema(
    context: Context, operation_name: str, arguments: Writing, change: Change
) -> SchemaReceipt:
    """Have a change of a schema decided on the schema of that moment, and written.

    Raises:
        NotFound: there is nothing of that type to change.
        SchemaRefused: the change is not valid, or changes nothing; ``details.issues`` names each fault.
    """
    try:
        request = SchemaRequest(**transaction(context, operation_name, arguments), change=change)
        receipt = await submit(context, request)
    except StoreRefused as exc:
        issue = exc.details["issues"][0]
        if issue["code"] == UNKNOWN_TYPE:
            raise NotFound(issue["message"], entity_type=change.entity_type) from exc
        raise SchemaRefused(f"{issue['path']}: {issue['message']}", **exc.details) from exc
    context.services.type_aliases.forget(context.actor.owner)
    result = receipt.result
    return SchemaReceipt(
        entity_type=result["entity_type"],
        version=result["version"],
        document=Document.read(result["document"]),
        added=result["added"],
        removed=result["removed"],
        transaction_id=receipt.transaction_id,
        recorded_at=receipt.recorded_at,
        replayed=receipt.replayed,
    )


def entries(receipt: Receipt) -> list[StoredEntity]:
    """Return what became of each item of a receipt.

    Where the snapshots together would be too large for an answer, an entity's stands with its last item only.
    """
    sizes = [sum(len(winner.value) for winner in fold.values()) for fold in receipt.folds]
    last = {item.entity_id: index for index, item in enumerate(receipt.items)}
    whole = sum(sizes) <= answers.ANSWER_CHARACTERS
    found: list[StoredEntity] = []
    for index, (item, name, fold) in enumerate(zip(receipt.items, receipt.names, receipt.folds, strict=True)):
        entry: StoredEntity = {
            "entity_id": item.entity_id,
            "entity_type": item.entity_type,
            "canonical_name": name,
            "action": item.action,
            "version": item.version,
            "observation_id": item.observation_id,
            "observation_index": index,
            "identity_basis": item.basis,
            "deduplicated": item.known or receipt.replayed,
        }
        if item.subject_id:
            entry["home_entity_id"] = item.subject_id
        if whole or last[item.entity_id] == index:
            values = {name: orjson.Fragment(winner.value) for name, winner in reduction.snapshot_fields(fold)}
            entry["entity_snapshot_after"] = values
        found.append(entry)
    return found


def links(receipt: Receipt) -> list[StoredRelationship]:
    """Return what became of each relationship of a receipt."""
    found: list[StoredRelationship] = []
    for link in receipt.links:
        kind, source, target = link.key.split(":")
        found.append({
            "relationship_key": link.key,
            "relationship_id": ids.relationship_id(link.key),
            "relationship_type": kind,
            "source_entity_id": source,
            "target_entity_id": target,
            "observation_id": link.observation_id,
            "action": link.action,
            "version": link.version,
            "is_live": link.live,
            "deduplicated": link.known or receipt.replayed,
        })  # fmt: skip
    return found


def not_found(refused: StoreRefused, *codes: str, **named: Any) -> NoReturn:
    """Raise ``NotFound`` where a refusal says that a thing is not there to act on; else the refusal itself.

    Raises:
        NotFound: one of the issues has one of ``codes``.
        StoreRefused: none has.
    """
    for issue in refused.details["issues"]:
        if issue["code"] in codes:
            raise NotFound(issue["message"], **named) from refused
    raise refused


async def _reread(context: Context, receipt: Receipt) -> Receipt:
    """Return a remembered receipt with the snapshots and names as of its transaction."""
    wanted = {item.entity_id for item in receipt.items}
    then = await recomputed.entities(context, wanted, times.LATEST, receipt.recorded_at)
    found = [then.rows[membership.survivor(item.entity_id, then.into)] for item in receipt.items]
    folds: list[Fold] = [then.folds[one.id] for one in found]
    return replace(receipt, folds=folds, names=[one.name for one in found])


def _message(issues: list[Mapping[str, Any]] | list[Issue]) -> str:
    first = issues[0]
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return f"nothing was stored: {first['path']}: {first['message']}{more}"
