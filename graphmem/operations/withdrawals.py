"""Taking back what was stored: a file, a reading, what a writer wrote, a transaction; and quarantine."""

import asyncio
from typing import Annotated, Any, NamedTuple, NotRequired, Self

from pydantic import Field, model_validator

from graphmem.arguments import Moment, MomentBefore, NoBool, Spelled
from graphmem.auth.accounts import Accounts
from graphmem.auth.grants import Grants
from graphmem.context import Context
from graphmem.errors import InvalidInput, NotFound
from graphmem.model import ids, times
from graphmem.model.attribution import agent_row, writer_key
from graphmem.model.membership import SubjectKind
from graphmem.operations.entity_merges import Unmerge, unmerge_entities
from graphmem.operations.interpretations import InterpretationId
from graphmem.operations.sources import SourceId
from graphmem.reading.pages import ByProgram
from graphmem.registry import Scope, operation
from graphmem.storing.acceptance import transaction
from graphmem.storing.withdrawal_changes import ChangeWithdrawal, WithdrawalResult, apply, change
from graphmem.writing import WithdrawalRequest
from graphmem.writing.withdrawing import QuarantineRequest, SubjectChange

UNDO_LIMIT = 100  # transactions that one call undoes

TransactionId = Annotated[str, Field(max_length=100, description="Id of a transaction (txn_…).")]


class ChangeSource(ChangeWithdrawal):
    """The arguments of ``sources.withdraw`` and ``sources.reinstate``."""

    source_id: Annotated[SourceId, Spelled("id")]


class SourceChange(WithdrawalResult):
    """The result of the withdrawal of a file, or of its reinstatement."""

    source_id: str


@operation("sources.withdraw", Scope.WRITE)
async def withdraw_source(context: Context, arguments: ChangeSource) -> SourceChange:
    """Withdraw a file: nothing that was stored with it counts any more. It can be reinstated.

    Every answer is as if its observations had never been written. Entities that they alone made are gone.
    The file, the observations and the ids are kept, and `at_ingested` before the withdrawal answers what was
    known then. `dry_run` writes nothing, and answers what would change.
    """
    answer = await change(context, "sources.withdraw", arguments, "exclude", ("source", arguments.source_id))
    return {"source_id": arguments.source_id, **answer}


@operation("sources.reinstate", Scope.WRITE)
async def reinstate_source(context: Context, arguments: ChangeSource) -> SourceChange:
    """Reinstate a withdrawn file: what was stored with it counts again, before and since the withdrawal.

    A reading of the file that was withdrawn by itself stays withdrawn.
    """
    answer = await change(context, "sources.reinstate", arguments, "include", ("source", arguments.source_id))
    return {"source_id": arguments.source_id, **answer}


class ChangeInterpretation(ChangeWithdrawal):
    """The arguments of ``interpretations.withdraw`` and ``interpretations.reinstate``."""

    interpretation_id: Annotated[InterpretationId, Spelled("id")]


class InterpretationChange(WithdrawalResult):
    """The result of the withdrawal of an interpretation, or of its reinstatement."""

    interpretation_id: str


@operation("interpretations.withdraw", Scope.WRITE)
async def withdraw_interpretation(context: Context, arguments: ChangeInterpretation) -> InterpretationChange:
    """Withdraw one reading of a file: nothing that it observed counts any more. It can be reinstated.

    What was stored with the file, and what other readings observed, still counts.
    """
    subject = ("interpretation", arguments.interpretation_id)
    answer = await change(context, "interpretations.withdraw", arguments, "exclude", subject)
    return {"interpretation_id": arguments.interpretation_id, **answer}


@operation("interpretations.reinstate", Scope.WRITE)
async def reinstate_interpretation(context: Context, arguments: ChangeInterpretation) -> InterpretationChange:
    """Reinstate a withdrawn interpretation: what it observed counts again, unless its file is withdrawn."""
    subject = ("interpretation", arguments.interpretation_id)
    answer = await change(context, "interpretations.reinstate", arguments, "include", subject)
    return {"interpretation_id": arguments.interpretation_id, **answer}


class OneWriter(ChangeWithdrawal, ByProgram):
    @property
    def writer(self) -> str | None:
        """The key of the writer, ``None`` where none or several are named."""
        return self.writers[0] if len(self.writers) == 1 else None


class ChangeWriting(OneWriter):
    """The arguments of ``writings.withdraw`` and ``writings.reinstate``."""

    transaction_id: TransactionId | None = None
    since: Moment | None = None
    until: MomentBefore | None = None

    @model_validator(mode="after")
    def _name_one(self) -> Self:
        if len(self.writers) + (self.transaction_id is not None) != 1:
            raise ValueError("name one: transaction_id, by_key, by_client or by_agent")
        if self.transaction_id is not None and (self.since, self.until) != (None, None):
            raise ValueError("a transaction has no span: leave out since and until")
        return self

    @property
    def subject(self) -> tuple[SubjectKind, str]:
        if self.writer is None:
            return "transaction", self.transaction_id or ""
        until = times.LATEST if self.until is None else self.until
        return "writing", ids.writing_id(self.writer, self.since or 0, until)


@operation("writings.withdraw", Scope.WRITE)
async def withdraw_writings(context: Context, arguments: ChangeWriting) -> WithdrawalResult:
    """Withdraw what one writer wrote, or one transaction: it counts no more. It can be reinstated.

    Give `transaction_id`, or one of `by_key`, `by_client` and `by_agent`, with a span of time at which it was
    recorded. Without `until`, what the writer writes later does not count either. An observation that others
    recorded too stays. `dry_run` answers what would change.
    """
    _not_oneself(context, arguments, arguments.until is None or arguments.until > times.now())
    return await change(context, "writings.withdraw", arguments, "exclude", arguments.subject)


@operation("writings.reinstate", Scope.WRITE)
async def reinstate_writings(context: Context, arguments: ChangeWriting) -> WithdrawalResult:
    """Reinstate what was withdrawn by writer or transaction: give the same arguments as to withdraw it."""
    return await change(context, "writings.reinstate", arguments, "include", arguments.subject)


class ChangeQuarantine(OneWriter):
    """The arguments of ``agents.quarantine`` and ``agents.release``."""

    @model_validator(mode="after")
    def _name_one(self) -> Self:
        if self.writer is None:
            raise ValueError("name one writer: by_agent, by_key or by_client")
        if self.is_preview:
            raise ValueError("a quarantine changes nothing that is stored: there is nothing to preview")
        return self


@operation("agents.quarantine", Scope.WRITE)
async def quarantine(context: Context, arguments: ChangeQuarantine) -> WithdrawalResult:
    """Keep what a writer writes from now on apart: it is stored, and does not count until it is released.

    A warning says so to the writer. Anything else than stores is refused to it. The quarantine of an API key
    holds for the keys and connections that it made, too.
    """
    _not_oneself(context, arguments, True)
    return await _quarantined(context, "agents.quarantine", arguments, is_released=False)


@operation("agents.release", Scope.WRITE)
async def release(context: Context, arguments: ChangeQuarantine) -> WithdrawalResult:
    """End the quarantine of a writer: what it wrote meanwhile counts, and so does what it writes next."""
    return await _quarantined(context, "agents.release", arguments, is_released=True)


async def _quarantined(
    context: Context, name: str, arguments: ChangeQuarantine, *, is_released: bool
) -> WithdrawalResult:
    request = QuarantineRequest(
        **transaction(context, name, arguments),
        writer=arguments.writer or "",
        made=await _made_by(context, arguments.by_key) if arguments.by_key else (),
        is_released=is_released,
        reason=arguments.reason,
    )
    return await apply(context, arguments, request)


async def _made_by(context: Context, key: str) -> tuple[str, ...]:
    """Return the writers that are the keys and connections that an API key made, by its id or name."""
    account, database = context.actor.account, context.services.database
    keys, connections = await asyncio.gather(
        Accounts(database).keys(account), Grants(database).connections(account)
    )
    made = {each.key_id for each in keys if key in (each.key_id, each.name)}
    # Keys are listed newest first, and the maker of a key is older.
    for each in reversed(keys):
        if each.made_by in made:
            made.add(each.key_id)
    writers = [
        writer_key("key", each.key_id) for each in keys if each.key_id in made and each.made_by in made
    ]
    return (
        *writers,
        *(writer_key("client", each.connection_id) for each in connections if each.made_by in made),
    )


def _caller(context: Context) -> dict[str, Any]:
    actor = context.actor
    return agent_row(actor.owner, actor.agent, actor.client, actor.by)


def _not_oneself(context: Context, arguments: OneWriter, is_open: bool) -> None:
    """Refuse a withdrawal of what the caller writes next: the caller could not end it."""
    if is_open and arguments.writer in _caller(context)["properties"]["writers"]:
        message = "this is the writer of this call: give an earlier `until`, or call as another writer"
        raise InvalidInput.at(f"$.by_{(arguments.writer or '').partition(':')[0]}", message)


class Undo(ChangeWithdrawal):
    transaction_id: Annotated[TransactionId | None, Spelled("id")] = None
    last: Annotated[int | None, NoBool] = Field(default=None, ge=1, le=UNDO_LIMIT)
    since: Moment | None = None

    by_copy: Annotated[str, Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _choose_one(self) -> Self:
        if self.transaction_id is not None and (self.last, self.since, self.by_copy) != (None,) * 3:
            raise ValueError("give transaction_id, or last, since and by_copy")
        return self


class UndoneTransaction(NamedTuple):
    """A transaction to undo: a row of ``undo/transactions.cypher``."""

    id: str
    recorded_at: int
    operation: str
    is_withdrawn: bool
    observations: int
    withdrawals: list[SubjectChange]
    splits: list[str]
    merged: list[str]
    kept: list[str]

    @property
    def shown(self) -> dict[str, Any]:
        return {
            "transaction_id": self.id,
            "operation": self.operation,
            "recorded_at": times.render(self.recorded_at),
        }

    @property
    def changes(self) -> list[SubjectChange]:
        """What undoes it: the reverse of its withdrawals, and the withdrawal of what it recorded."""
        turned = {"exclude": "include", "include": "exclude"}
        changes = [each._replace(kind=turned[each.kind]) for each in self.withdrawals]
        changes += [SubjectChange("exclude", "split", split_id) for split_id in self.splits]
        if self.observations and not self.is_withdrawn:
            changes.append(SubjectChange("exclude", "transaction", self.id))
        return changes


class UndoResult(WithdrawalResult):
    """What was undone, the newest first; ``kept`` says what of it stays, because it is not undone so."""

    undone: list[dict[str, Any]]
    kept: NotRequired[list[str]]


@operation("undo", Scope.WRITE)
async def undo(context: Context, arguments: Undo) -> UndoResult:
    """Take back the caller's own newest transaction, the `last` ones, those `since` a time, or one by its id.

    What it recorded counts no more, unless others recorded it too; a merge is undone by an unmerge. To undo
    an undo, give the id of its transaction: what it took back counts again. `dry_run` answers what would
    change.
    """
    rows = await context.graph.only(
        "undo.transactions",
        list[UndoneTransaction],
        transaction_ids=[] if arguments.transaction_id is None else [arguments.transaction_id],
        agent_id="" if arguments.transaction_id or arguments.by_copy else _caller(context)["id"],
        copy=arguments.by_copy or "",
        since=times.EARLIEST if arguments.since is None else arguments.since,
        limit=arguments.last or (1 if arguments.since is None else UNDO_LIMIT),
    )
    changes = tuple(dict.fromkeys(each for row in rows for each in row.changes))
    if len(rows) == 1 and len(rows[0].merged) == 1:
        return await _unmerged(context, arguments, rows[0])
    if not changes:
        raise _nothing(arguments, rows)
    request = WithdrawalRequest(
        **transaction(context, "undo", arguments), changes=changes, reason=arguments.reason
    )
    answer: UndoResult = {
        **await apply(context, arguments, request),
        "undone": [row.shown for row in rows if row.changes],
    }
    if kept := sorted({each for row in rows for each in row.kept}):
        answer["kept"] = kept
    return answer


async def _unmerged(context: Context, arguments: Undo, row: UndoneTransaction) -> UndoResult:
    """Undo a merge by an unmerge; a dry run names the merge alone."""
    answer: UndoResult = {
        "success": True, "state": "withdrawn", "observations": 0, "exclusion_id": None,
        "pending": await context.services.pending_refolds.withdrawn(context.actor.owner),
        "transaction_id": None, "recorded_at": None, "replayed": False, "undone": [row.shown],
    }  # fmt: skip
    if arguments.is_preview:
        return {**answer, "dry_run": True}
    unmerge = Unmerge(
        source_entity_id=row.merged[0], reason=arguments.reason, idempotency_key=arguments.idempotency_key
    )
    done = await unmerge_entities(context, unmerge)
    answer["observations"], answer["transaction_id"] = done["observations_moved"], done["transaction_id"]
    answer["recorded_at"] = done["unmerged_at"]
    return answer


def _nothing(arguments: Undo, rows: list[UndoneTransaction]) -> NotFound:
    if arguments.transaction_id is None:
        return NotFound("this caller has no transaction to undo: GET /session says who the caller is")
    if not rows:
        message = f"there is no transaction {arguments.transaction_id}"
    elif rows[0].is_withdrawn:
        message = f"{arguments.transaction_id} is undone already: POST /reinstate has it count again"
    else:
        message = f"{arguments.transaction_id} holds nothing that can be undone so: {', '.join(rows[0].kept)}"
    return NotFound(message, transaction_id=arguments.transaction_id)
