"""Withdrawing and reinstating: what it changes or would change, and what waits to be folded again."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import NoBool, Previewed
from graphmem.budgets import Budgeted, MaxCharacters, within_budget
from graphmem.context import Context
from graphmem.fresh import read_fresh
from graphmem.model import canonical, reduction
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.membership import SubjectKind
from graphmem.model.reduction import Winner
from graphmem.reading import cursors
from graphmem.reading.answers import EntityName
from graphmem.reading.cursors import Cursor
from graphmem.storing import acceptance
from graphmem.writing import WithdrawalRequest
from graphmem.writing.supposing import Sides, Supposition, suppose
from graphmem.writing.things import Thing
from graphmem.writing.withdrawing import SubjectChange

CHANGES_DEFAULT: Final = 20
CHANGES_LIMIT: Final = 100  # entities, and relationships, of one page


class ChangeWithdrawal(acceptance.Writing, Previewed):
    """The arguments of a withdrawal or a reinstatement beside its subject."""

    reason: acceptance.Reason = None
    limit: Annotated[int, Field(ge=1, le=CHANGES_LIMIT), NoBool] = CHANGES_DEFAULT
    cursor: Cursor = None
    max_characters: MaxCharacters = None


class Origin(TypedDict):
    """An observation, several with commas for a union, and its file."""

    observation_id: str
    source_id: str | None


class FieldChange(TypedDict):
    """A field: null where it has no value; ``winner`` sets the new value."""

    field: str
    old_value: Any
    new_value: Any
    winner: Origin | None


class EntityChange(EntityName):
    """``change`` is appears, disappears or changes."""

    change: str
    fields: list[FieldChange]


class RelationshipChange(TypedDict):
    """``change`` is appears, disappears or changes."""

    relationship_key: str
    change: str
    fields: list[FieldChange]


class WithdrawalResult(acceptance.Written, Budgeted):
    """The result of a withdrawal, or of its end.

    ``state`` is withdrawn or counting. ``observations`` counts those of what was withdrawn. While ``pending``
    is not 0, so many entities and relationships wait to be folded again: a read of one of them folds it
    first, and lists, counts and searches may still show them as before.

    A dry run has null in place of ids and time, and answers what would change: entities by id, then
    relationships by key. ``counts`` says of how many observations, entities and relationships, and how many
    receipts are of answers with what these say.
    """

    state: str
    observations: int
    pending: int
    exclusion_id: str | None
    transaction_id: str | None
    recorded_at: str | None
    dry_run: NotRequired[bool]
    counts: NotRequired[dict[str, int]]
    entities: NotRequired[list[EntityChange]]
    relationships: NotRequired[list[RelationshipChange]]
    next_cursor: NotRequired[str]


async def change(
    context: Context,
    operation_name: str,
    arguments: ChangeWithdrawal,
    kind: Literal["exclude", "include"],
    subject: tuple[SubjectKind, str],
) -> WithdrawalResult:
    """Withdraw or reinstate a subject (kind and id); in a dry run only answer what would change."""
    subject_kind, subject_id = subject
    request = WithdrawalRequest(
        **acceptance.transaction(context, operation_name, arguments),
        changes=(SubjectChange(kind, subject_kind, subject_id),),
        reason=arguments.reason,
    )
    return await apply(context, arguments, request, **{f"{subject_kind}_id": subject_id})


async def apply(
    context: Context, arguments: ChangeWithdrawal, request: WithdrawalRequest, **named: str
) -> WithdrawalResult:
    """Withdraw or reinstate what a request names, or in a dry run only answer what would change."""
    state = "counting" if request.is_reinstating else "withdrawn"
    with acceptance.refusals("ERR_TARGET_NOT_FOUND", "ERR_NOTHING_TO_TURN", **named):
        if arguments.is_preview:
            return await _plan(context, arguments, request, state)
        receipt = await acceptance.submit(context, request)
    return {
        **acceptance.receipt_of(WithdrawalResult, receipt),
        "state": state,
        "observations": receipt.result["observations"],
        "pending": await acceptance.apply_withdrawals(context),
        "exclusion_id": receipt.result["exclusion_id"],
    }


async def _plan(
    context: Context, arguments: ChangeWithdrawal, request: WithdrawalRequest, state: str
) -> WithdrawalResult:
    """Return a page of what a withdrawal would change: entities by id, then relationships by key. What would
    be shown as before is left out, so a page may have fewer items than its limit."""

    @within_budget(["entities", "relationships"])
    @read_fresh
    async def plan(context: Context, arguments: ChangeWithdrawal) -> WithdrawalResult:
        apart = ("idempotency_key", "reason", "dry_run", "commit")
        query = cursors.fingerprint(context, request.operation, arguments, apart)
        phase, after = "entity", ""
        if arguments.cursor is not None:
            place = cursors.decode(query, arguments.cursor, {"of": str, "after": str})
            phase, after = place["of"], place["after"]
        window = {"subjects": [each.subject for each in request.changes], "limit": arguments.limit}
        entities, more, observations, entity_count, relationship_count, receipts = await context.graph.only(
            "exclusion.touched", tuple[list[str], bool, int, int, int, int],
            after=after if phase == "entity" else cursors.LAST, **window,
        )  # fmt: skip
        more_entities, keys = more, list[str]()
        if not more_entities:
            after_key = after if phase == "relationship" else ""
            keys, more = await context.graph.only(
                "exclusion.touched_relationships", tuple[list[str], bool], after=after_key, **window
            )
        supposition = await suppose(context.services.database, request, entities, keys)
        changed, relationships = await changes(context, supposition, entities, keys)
        answer: WithdrawalResult = {
            "success": True,
            "dry_run": True,
            "state": state,
            "observations": observations,
            "pending": await context.services.pending_refolds.withdrawn(context.actor.owner),
            "exclusion_id": None,
            "transaction_id": None,
            "recorded_at": None,
            "replayed": False,
            "counts": {
                "observations": observations,
                "entities": entity_count,
                "relationships": relationship_count,
                "receipts": receipts,
            },
            "entities": changed,
            "relationships": relationships,
        }
        if more_entities:
            answer["next_cursor"] = cursors.encode(query, {"of": "entity", "after": entities[-1]})
        elif more:
            answer["next_cursor"] = cursors.encode(query, {"of": "relationship", "after": keys[-1]})
        return answer

    return await plan(context, arguments)


async def changes(
    context: Context, supposition: Supposition, entity_ids: Sequence[str], keys: Sequence[str]
) -> tuple[list[EntityChange], list[RelationshipChange]]:
    """Return what would change of some entities and relationships, without those that would not."""
    entities = [(entity_id, _compare(supposition.entity(entity_id))) for entity_id in entity_ids]
    relationships = [(key, _compare(supposition.relationship(key))) for key in keys]
    winner_ids = {
        observation_id
        for _, each in (*entities, *relationships)
        if each
        for _, _, winner in each.fields.values()
        if winner
        for observation_id in winner.observation_id.split(",")
    }
    winners = await context.graph.only(
        "exclusion.winners", list[tuple[str, str | None]], observation_ids=sorted(winner_ids)
    )
    origins = dict(winners)
    return [
        {
            "entity_id": entity_id,
            "entity_type": each.thing.kind,
            "canonical_name": each.thing.name,
            "change": each.name,
            "fields": _field_changes(each, origins),
        }
        for entity_id, each in entities
        if each
    ], [
        {"relationship_key": key, "change": each.name, "fields": _field_changes(each, origins)}
        for key, each in relationships
        if each
    ]


class _Change(NamedTuple):
    """How a thing would change."""

    name: str  # appears, disappears or changes
    thing: Thing  # the thing afterwards, or before where it disappears
    fields: dict[str, tuple[str | None, str | None, Winner | None]]  # old and new value (JSON), and winner


def _compare(sides: Sides) -> _Change | None:
    """Compare a thing before and after; ``None`` where answers would show it as before."""
    old, new = sides
    thing = new or old
    if thing is None:
        return None
    without = None if ":" in thing.subject_id else CANONICAL_NAME
    old_fields = dict(reduction.snapshot_fields(old.fold, without)) if old else {}
    new_fields = dict(reduction.snapshot_fields(new.fold, without)) if new else {}
    fields: dict[str, tuple[str | None, str | None, Winner | None]] = {}
    if old and new and without and old.name != new.name:
        name = new.fold.get(CANONICAL_NAME)
        fields[CANONICAL_NAME] = canonical.encode(old.name), canonical.encode(new.name), name
    for name in sorted({*old_fields, *new_fields}):
        before, after = old_fields.get(name), new_fields.get(name)
        if (before and before[1:]) != (after and after[1:]):
            # A snapshot shows the observation and the value of a winner.
            fields[name] = before and before.value, after and after.value, after
    if old and new and not fields:
        return None
    return _Change("changes" if old and new else "appears" if new else "disappears", thing, fields)


def _field_changes(change: _Change, origins: Mapping[str, str | None]) -> list[FieldChange]:
    return [
        {
            "field": name,
            "old_value": None if old is None else orjson.Fragment(old),
            "new_value": None if new is None else orjson.Fragment(new),
            "winner": None if winner is None else _origin(winner.observation_id, origins),
        }
        for name, (old, new, winner) in change.fields.items()
    ]


def _origin(observation_id: str, origins: Mapping[str, str | None]) -> Origin:
    """Return where a value comes from; a union has a file if all of its observations have the same."""
    source_ids = {origins[each] for each in observation_id.split(",") if each in origins}
    return {"observation_id": observation_id, "source_id": source_ids.pop() if len(source_ids) == 1 else None}
