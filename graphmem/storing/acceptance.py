"""The arguments that writing operations share, the way to the owner's writer, and the parts of receipts."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final, NotRequired, TypeVar, cast

import orjson
import structlog
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, Moment, NoBool, invalid
from graphmem.context import Context
from graphmem.errors import InvalidInput, NotFound, StoreRefused, Unavailable
from graphmem.model import fact_records, ids, items, membership, reduction, times
from graphmem.model.items import Item, ItemIssue, ItemReader
from graphmem.model.links import DEFAULT_PRIORITY, DEFAULT_SOURCE, Link
from graphmem.model.ranks import ObservationSource
from graphmem.model.reduction import Fold
from graphmem.reading import answers, recomputed
from graphmem.text import spelling
from graphmem.writing import Receipt, ReleaseRequest, StoreRequest, WriteRequest
from graphmem.writing.new_interpretation import Interpretation

Key = Annotated[
    Annotated[str, Field(min_length=1, max_length=255)] | None,
    Field(description="A repeat with this key is stored once."),
]
ObservedAt = Annotated[
    Moment | None, Field(description="Time of items without their own `observed_at`; default: now.")
]
Priority = Annotated[
    Annotated[float, Field(ge=-items.PRIORITY_LIMIT, le=items.PRIORITY_LIMIT, allow_inf_nan=False)] | None,
    Field(description="Decides fields merged by priority; default: 100."),
]
Source = Annotated[
    ObservationSource | None, Field(description="Kind of writer; default: llm_summary (people: human).")
]
Reason = Annotated[
    Annotated[str, Field(max_length=10_000)] | None, Field(description="Why; kept with the observation.")
]


def _storable(version: int) -> int:
    # Not in the schema, which every client of MCP reads.
    if version >= 2**63:
        raise ValueError("no entity has such a version")
    return version


ExpectedVersion = Annotated[
    Annotated[int, Field(ge=0), AfterValidator(_storable)] | None,
    Field(description="Refuse the call unless this is the entity's `version`."),
    NoBool,
]
OF_PEOPLE: Final = frozenset({"cli", "inspector"})
"""The names of the command line and of the page as clients: a person types what they write."""
APPLIED_AT_ONCE: Final = 1_000
"""Entities and relationships that are folded again before a withdrawal is answered; the worker folds more."""
Parts = tuple[list[Item | None], list[Link | None]]
T = TypeVar("T")

_log = structlog.get_logger("graphmem.exclusion")


class Writing(Arguments):
    """The arguments of every writing operation."""

    idempotency_key: Key = None

    @property
    def expected(self) -> dict[str, int]:
        """The version that an entity must have, by its id."""
        return {}


class Expecting(Writing):
    """The arguments of an operation on an entity that may have to have one version.

    ``expected_of`` is the argument that names the entity.
    """

    expected_of: ClassVar[str] = "entity_id"

    expected_version: ExpectedVersion = None

    @property
    def expected(self) -> dict[str, int]:
        version = self.expected_version
        return {} if version is None else {getattr(self, self.expected_of): version}


class Observing(Writing):
    """The arguments of an operation that stores observations: their time, priority and kind of writer."""

    observed_at: ObservedAt = None
    source_priority: Priority = None
    observation_source: Source = None

    def defaults(self) -> items.Defaults:
        """Return the values for all parts without their own; InvalidInput for a time in the future."""
        if self.observed_at is not None and self.observed_at > times.now() + times.FUTURE_LIMIT_MICROSECONDS:
            raise InvalidInput.at("$.observed_at", "more than 24 hours in the future")
        priority = DEFAULT_PRIORITY if self.source_priority is None else self.source_priority + 0.0
        return items.Defaults(self.observed_at, priority, self.observation_source or DEFAULT_SOURCE)


class Written(TypedDict):
    """What a write answers; ``replayed``: the idempotency key stands for a write that was made before."""

    success: bool
    replayed: bool


class WrittenItems(Written):
    """What a store answers: how much is new, and what the caller should know of what it sent."""

    entities_created: int
    observations_created: int
    store_warnings: list[dict[str, Any]]


class StoredEntity(answers.VersionedEntity):
    """The entity of a stored item.

    ``action`` is created, matched_existing or extended (would_… in a plan). ``identity_basis`` names the
    fields that identified the entity. ``deduplicated`` is true if the same observation was stored before.
    ``home_entity_id`` is the subject of the observation if it is merged into the entity of the answer.
    ``resolved_by`` is ``rule`` if the identity rule of its type merged it, and not a person.
    ``entity_snapshot_after`` is the snapshot after the transaction; if the answer would be too large, only
    the last item of each entity has it. ``duplicate_candidates`` are entities that are likely the same as an
    entity that the store created.
    """

    action: str
    observation_id: str
    observation_index: int
    identity_basis: str
    deduplicated: bool
    home_entity_id: NotRequired[str]
    resolved_by: NotRequired[str]
    entity_snapshot_after: NotRequired[answers.Fields]
    duplicate_candidates: NotRequired[list[answers.Likeness]]


class StoredRelationship(answers.VersionedRelationship):
    """A stored relationship."""

    observation_id: str
    action: str
    deduplicated: bool


def transaction(context: Context, operation_name: str, arguments: Writing) -> dict[str, Any]:
    """Return the fields of a :class:`graphmem.writing.transaction.TransactionRequest`."""
    actor = context.actor
    return {
        "owner": actor.owner,
        **actor.writer_columns,
        "transaction_id": ids.transaction_id(),
        "operation": operation_name,
        "idempotency_key": arguments.idempotency_key,
        "expected": arguments.expected,
    }


async def submit(context: Context, request: WriteRequest) -> Receipt:
    """Hand a request to its owner's writer; return its receipt with snapshots as of its transaction. Raises
    as :meth:`graphmem.writing.Writers.submit`."""
    try:
        receipt = await context.services.writers.submit(request)
    except StoreRefused as exc:
        raise StoreRefused(_message(exc.details["issues"]), **exc.details) from exc
    return await _reread(context, receipt) if receipt.items and not receipt.folds else receipt


async def accept(
    context: Context, operation_name: str, arguments: Writing, parts: Callable[[ItemReader], Parts], *,
    types: Iterable[str] = (), source: fact_records.SourceRecord | None = None,
    interpretation: Interpretation | None = None, ends_interpretation: bool = True,
    defaults: items.Defaults | None = None, commit: bool = True, released: tuple[str, str] | None = None,
) -> Receipt:  # fmt: skip
    """Hand items and links to the owner's writer; return the receipt with snapshots as of its transaction.

    Args:
        parts: reads the items and links; the reader collects the issues.
        types: the relationship types that the links name.
        source: the file that they are stored with.
        interpretation: the one that made them; ``ends_interpretation``: it ends with them.
        defaults: the values of items that have none of their own; by default those of the arguments.
        released: an entity and a field whose corrections end.

    Raises as :meth:`graphmem.writing.Writers.submit`.
    """
    owner = context.actor.owner
    if defaults is None:
        is_observing = isinstance(arguments, Observing)
        defaults = arguments.defaults() if is_observing else items.Defaults()
        if context.actor.client in OF_PEOPLE and not (is_observing and arguments.observation_source):
            defaults = replace(defaults, observation_source="human")
    fields = transaction(context, operation_name, arguments)
    alternatives = partial(context.services.writers.alternatives, owner)
    vocabulary = await context.services.vocabulary.covering(types, owner)
    reader = ItemReader(
        owner, fields["transaction_id"], defaults, alternatives, vocabulary, spelling.nearest_type
    )
    read_items, read_links = parts(reader)
    if reader.issues:
        raise StoreRefused(_message(reader.issues), issues=reader.issues)
    stored = cast("list[Item]", read_items)
    is_ending = released is not None or any(item.supersedes for item in stored)
    made = partial(ReleaseRequest, released=released) if is_ending else StoreRequest
    request = made(
        **fields, items=stored, links=cast("list[Link]", read_links), defaults=defaults, source=source,
        interpretation=interpretation, ends_interpretation=ends_interpretation,
        warnings=[*reader.new_types.values()], commit=commit,
    )  # fmt: skip
    receipt = await submit(context, request)
    if is_ending and commit:
        await apply_withdrawals(context)
    if reader.new_types and commit:
        context.services.vocabulary.add_own(owner, reader.new_types)
    return receipt


def entries(receipt: Receipt) -> list[StoredEntity]:
    """Return the entity of each item of a receipt; of too large ones the last of each has its snapshot."""
    sizes = [sum(len(winner.value) for winner in fold.values()) for fold in receipt.folds]
    last = {item.entity_id: index for index, item in enumerate(receipt.items)}
    whole = sum(sizes) <= answers.ANSWER_CHARACTERS
    stored: list[StoredEntity] = []
    for index, (item, name, fold) in enumerate(zip(receipt.items, receipt.names, receipt.folds, strict=True)):
        parts = {column: value for column, value in item._asdict().items() if value != ""}
        parts |= {"canonical_name": name, "observation_index": index}
        entry = cast("StoredEntity", {**parts, "deduplicated": item.deduplicated or receipt.replayed})
        if whole or last[item.entity_id] == index:
            values = {name: orjson.Fragment(winner.value) for name, winner in reduction.snapshot_fields(fold)}
            entry["entity_snapshot_after"] = values
        stored.append(entry)
    return stored


def receipt_of(answer: type[T], receipt: Receipt, *, is_written: bool = True) -> T:
    """Return those members of an answer that all receipts have; no transaction where nothing was written."""
    outcomes = [] if receipt.replayed else receipt.items
    members = {
        "success": True,
        "replayed": receipt.replayed,
        "transaction_id": receipt.transaction_id if is_written else None,
        "recorded_at": times.render(receipt.recorded_at) if is_written else None,
        "entities_created": sum(each.action == "created" for each in outcomes),
        "observations_created": sum(not each.deduplicated for each in outcomes),
        "store_warnings": receipt.warnings,
    }
    return answers.part_of(answer, members)


def links(receipt: Receipt) -> list[StoredRelationship]:
    stored: list[StoredRelationship] = []
    for link in receipt.links:
        relationship_type, source, target = link.relationship_key.split(":")
        row = {
            **link._asdict(),
            "relationship_id": ids.relationship_id(link.relationship_key),
            "relationship_type": relationship_type,
            "source_entity_id": source,
            "target_entity_id": target,
            "deduplicated": link.deduplicated or receipt.replayed,
        }
        stored.append(cast("StoredRelationship", row))
    return stored


@contextmanager
def refusals(*missing: str, faults: Collection[str] = (), **details: Any) -> Iterator[None]:
    """Raise what the owner's writer refuses in a block as an error of the caller, by the codes of its issues.

    Args:
        missing: the codes of what is not there: ``NotFound`` with the message of that issue and ``details``.
        faults: the codes of what is wrong with the arguments: ``InvalidInput`` with all of the issues.
    """
    try:
        yield
    except StoreRefused as exc:
        issues = exc.details["issues"]
        if issues[0]["code"] in faults:
            raise invalid(issues) from exc
        if absent := next((issue for issue in issues if issue["code"] in missing), None):
            raise NotFound(absent["message"], **details) from exc
        raise


async def apply_withdrawals(context: Context) -> int:
    """Fold again what waits for it, as far as a caller waits for that; return how many still wait. The
    withdrawals are written: where the database fails now, the worker folds later."""
    owner, services = context.actor.owner, context.services
    services.pending_refolds.forget(owner)
    try:
        await services.writers.refold_withdrawn(owner, APPLIED_AT_ONCE)
    except Unavailable as exc:
        _log.warning("withdrawn observations are folded out later", owner=owner, reason=str(exc)[:500])
    return await services.pending_refolds.withdrawn(owner)


async def _reread(context: Context, receipt: Receipt) -> Receipt:
    """Return the stored receipt of an earlier request with snapshots and names as of its transaction."""
    entity_ids = {item.entity_id for item in receipt.items}
    then = await recomputed.entities(context.of_writers, entity_ids, times.LATEST, receipt.recorded_at)
    # What is stored with a withdrawn source does not count: its entity may be absent.
    every = {**then.rows, **then.absent}
    rows = [every[membership.survivor(item.entity_id, then.into)] for item in receipt.items]
    folds: list[Fold] = [then.folds[row.id] for row in rows]
    return replace(receipt, folds=folds, names=[row.name for row in rows])


def _message(issues: list[Mapping[str, Any]] | list[ItemIssue]) -> str:
    first = issues[0]
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return f"nothing was stored: {first['path']}: {first['message']}{more}"
