"""Receipts: what was told to whom, what became of it, and whether it would be told the same today."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypeVar, cast

import orjson
from pydantic import Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, EntityId, Moment
from graphmem.budgets import Budgeted
from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.errors import GraphmemError, NotFound
from graphmem.model import canonical, ids, times
from graphmem.model.attribution import writer_key
from graphmem.reading import answers, cursors
from graphmem.reading.pages import Name, Paged, PageEnvelope, newest_page, newest_window
from graphmem.receipts import recording
from graphmem.receipts.collected import Collected, Fact
from graphmem.registry import REGISTRY, Face, Scope, operation

Why = tuple[int, str | None, str | None]
"""The number of a fact, why answers differ because of an observation of it, and the transaction."""
T = TypeVar("T")
_Text = str | None
_StateRow = tuple[_Text, str, str, str, _Text, _Text, _Text, _Text, Json | None, int, _Text, _Text]
"""A row of ``receipt/states.cypher``: columns of :class:`Behind` with those of the writer, and the why."""


class Behind(TypedDict):
    """An observation behind a value of an answer, who wrote it, and what is known of it now.

    ``state`` is unchanged; corrected or replaced by a later observation; withdrawn; parted or split, so that
    it counts for another entity; deleted with its entity; hidden by the schema; or erased. ``transaction_id``
    did that. A passage has its file alone.
    """

    observation_id: str | None
    subject: str
    field: str
    state: str
    transaction_id: str | None
    source_id: str | None
    provenance: answers.Writer | None


class AnswerDifference(TypedDict):
    """A value that would be another one today: ``then`` and ``now``, null where the answer lacks it.

    ``cause`` says why, and ``transaction_id`` did it, where one did. Without a subject, the answer is worded
    or ordered otherwise, with the same values.
    """

    subject: str | None
    field: str | None
    then: Any
    now: Any
    cause: str
    transaction_id: str | None


async def became(
    context: Context, then: Sequence[Fact], now: Sequence[Fact], at: int
) -> tuple[list[Behind], list[Why], int]:
    """Return what became of what is behind facts of ``then`` (``at``, in microseconds) and ``now``, why these
    differ, and the owner's sequence."""
    rows = [
        [number, *fact[:2], each, not fact.part and each not in fact.beside, number < len(then)]
        for number, fact in enumerate([*then, *now]) for each in fact.behind
    ]  # fmt: skip
    states, sequence = await context.graph.only(
        "receipt.states", tuple[list[_StateRow], int], told=rows, at=at
    )
    writers = [row[6] and answers.writer(row[6], row[7], row[8]) for row in states]
    behind = [_members(Behind, *row[:6], writer) for row, writer in zip(states, writers, strict=True)]
    return behind, [row[9:] for row in states], sequence


def differences(
    then: Sequence[Fact], now: Sequence[Fact], whys: Iterable[Why], otherwise: str, *, is_other: bool
) -> list[AnswerDifference]:
    """Return what is told otherwise now; nothing only if the answers are the same. ``otherwise`` is the cause
    where no observation and no schema says one. ``is_other``: whether the answers differ."""
    causes: dict[int, list[tuple[str, str | None]]] = {}
    for number, cause, transaction_id in whys:
        causes.setdefault(number, []).extend([(cause, transaction_id)] if cause else [])
    facts, answer = [*then, *now], list[AnswerDifference]()
    old = {fact[:3]: number for number, fact in enumerate(then)}
    new = {fact[:3]: number for number, fact in enumerate(now, len(then))}
    for key in sorted({*old, *new}):
        numbers = [each[key] for each in (old, new) if key in each]
        before, after = (facts[each[key]] if key in each else None for each in (old, new))
        if before != after:
            # The same observations say something else where a date has passed.
            is_time = before and after and before.behind == after.behind and otherwise == "new_facts"
            last: tuple[str, str | None] = ("time" if is_time else otherwise, None)
            every = [each for number in numbers for each in causes.get(number, ())]
            values = [each and orjson.loads(each.value or "null") for each in (before, after)]
            first = [*sorted(every, key=lambda each: each[0] == "schema"), last][0]
            answer.append(_members(AnswerDifference, *key[:2], *values, *first))
    return answer or [_members(AnswerDifference, None, None, None, None, otherwise, None)] * is_other


def _members(answer: type[T], *values: Any) -> T:
    return cast("T", dict(zip(answer.__annotations__, values, strict=True)))


_ID: Final = re.compile(r"(obs|src|int|txn|spl|ent|wrt)_|\S+:ent_\w+:ent_")
_Row = tuple[str, int, str, str, str, int, str, int, str, str, Json | None]
"""A row of ``receipt/_row.cypher``: columns of :class:`ReceiptSummary`, with those of who asked."""


class ListReceipts(Paged):
    by: Name | None = None
    since: Moment | None = None
    about: EntityId | None = None
    of: Name | None = None

    @property
    def subjects(self) -> list[str]:
        """The ids of what is to be behind the receipts; a name stands for all that it wrote."""
        named = [each for each in (self.about, self.of) if each is not None]
        keys = [key for each in named if not _ID.match(each) for key in _keys(each)]
        return [*filter(_ID.match, named), *(ids.writing_id(each, 0, times.LATEST) for each in keys)]


def _keys(name: str) -> list[str]:
    return [writer_key(kind, name) for kind in ("agent", "client", "key", "account")]


class ReceiptSummary(Budgeted):
    """A receipt: what was asked, how, when, and as ``provenance`` by whom.

    ``face`` is mcp, hook, rest or cli. ``sequence`` is the number of the owner's last transaction then,
    ``ranking`` the version of what chose and ordered the answer. ``observations`` counts what is behind it.
    """

    receipt_id: str
    created_at: str
    operation: str
    question: str
    face: str
    sequence: int
    ranking: str
    observations: int
    provenance: answers.Writer


class ReceiptPage(PageEnvelope):
    """A page of receipts, newest first."""

    receipts: list[ReceiptSummary]


@operation("receipts.list", Scope.READ)
async def list_receipts(context: Context, arguments: ListReceipts) -> ReceiptPage:
    """List what was answered to whom: receipts of contexts, searches and look-ups, newest first.

    They are kept where GRAPHMEM_RECEIPTS says so. A caller sees its own; with the scope admin, those of all
    who asked. `of` takes the id of an observation, a file, a transaction or the like, or a writer's name.
    """
    query = cursors.fingerprint(context, "receipts.list", arguments)
    window = newest_window(arguments, query) | {
        "asker": _asker(context), "writers": [] if arguments.by is None else _keys(arguments.by),
        "since": times.EARLIEST if arguments.since is None else arguments.since,
    }  # fmt: skip
    if subjects := arguments.subjects:
        del window["counted"]
        receipts, total = await context.graph.only(
            "receipt.page_of", tuple[list[_Row], int], subjects=subjects, **window
        )
    else:
        receipts, total = await context.graph.only("receipt.page", tuple[list[_Row], int], **window)
    page = newest_page(arguments, receipts, total, lambda row: (row[1], row[0]))
    return {"receipts": [_summary(row) for row in page.items], **page.envelope(arguments, query)}


def _asker(context: Context) -> str | None:
    return None if context.actor.may(Scope.ADMIN) else recording.asker(context.actor)


def _summary(row: _Row) -> ReceiptSummary:
    _, at, operation, question, face, sequence, ranking, observations, agent, client, by = row
    return {
        "receipt_id": row[0], "created_at": times.render(at), "operation": operation, "question": question,
        "face": face, "sequence": sequence, "ranking": ranking, "observations": observations,
        "provenance": answers.writer(agent, client, by),
    }  # fmt: skip


class NameReceipt(Arguments):
    receipt_id: Annotated[str, Field(max_length=100)]


class GetReceipt(NameReceipt):
    format: Literal["json", "prov-json"] = "json"


class Receipt(ReceiptSummary):
    """A receipt with the arguments, the answer to the byte, and each value of it with its observations."""

    arguments: dict[str, Any]
    answer: str
    behind: list[Behind]
    prov_json: NotRequired[dict[str, Any]]


@operation("receipts.get", Scope.READ)
async def get_receipt(context: Context, arguments: GetReceipt) -> Receipt:
    """Return what was answered, to the byte, and what became of each observation behind it."""
    row, (sent, facts, text) = await _read(context, arguments.receipt_id)
    behind, _, _ = await became(context, facts, [], row[1])
    answer: Receipt = {**_summary(row), "arguments": sent, "answer": text.decode(), "behind": behind}
    return answer if arguments.format == "json" else {**answer, "prov_json": _prov_json(answer, behind)}


async def _read(context: Context, receipt_id: str) -> tuple[_Row, recording.Kept]:
    """Return a receipt, and what it keeps; NotFound: the caller sees no such receipt."""
    stored = await context.graph.one(
        "receipt.get", tuple[_Row, tuple[str, bytes]], id=receipt_id, asker=_asker(context)
    )
    if stored is None:
        message = f"there is no receipt {receipt_id} that this caller may see: GET /receipts lists them"
        raise NotFound(message, receipt_id=receipt_id)
    return stored[0], recording.unpacked(stored[1][1])


def _prov_json(receipt: ReceiptSummary, behind: Sequence[Behind]) -> dict[str, Any]:
    activity, agent = f"graphmem:{receipt['receipt_id']}", f"graphmem:{receipt['provenance']['agent']}"
    used = sorted({f"graphmem:{each['observation_id'] or each['source_id']}" for each in behind})
    return {
        "prefix": {"graphmem": "urn:graphmem:"},
        "activity": {activity: {"prov:endTime": receipt["created_at"], "prov:type": receipt["operation"]}},
        "agent": {agent: {"graphmem:client": receipt["provenance"]["client"]}},
        "entity": {name: {} for name in used},
        "used": {f"_:u{i}": {"prov:activity": activity, "prov:entity": each} for i, each in enumerate(used)},
        "wasAssociatedWith": {"_:a": {"prov:activity": activity, "prov:agent": agent}},
    }


class Replay(ReceiptSummary):
    """The question of a receipt asked again: the answer or the error of now, whether it is the same to the
    byte, and each value that is another one."""

    same: bool
    answer: str
    differences: list[AnswerDifference]


@operation("receipts.replay", Scope.READ)
async def replay_receipt(context: Context, arguments: NameReceipt) -> Replay:
    """Ask the question of a receipt again, and name each difference and its cause. It leaves no receipt.

    Where no observation and no schema says why, it is another ranking; else the time, if the question is
    about a time or a state, or nothing was recorded since; else new facts.
    """
    row, (sent, facts, text) = await _read(context, arguments.receipt_id)
    summary, collected, now = _summary(row), Collected(), list[Fact]()
    original, face = REGISTRY[summary["operation"]], {"mcp": Face.MCP, "rest": Face.REST}
    try:
        again = await original.read(context.services, context.actor, sent)
        answer = await original.answered(context, again, face.get(summary["face"], Face.CLI), collected)
        now = collected.facts(canonical.decode(answer))
    except GraphmemError as exc:
        if exc.status >= 500:
            raise
        # What it is about may be gone.
        answer = canonical.encode({"error_code": exc.code, "message": str(exc)}).encode()
    _, whys, sequence = await became(context, facts, now, row[1])
    read = [orjson.loads(each).get("understood") or () for each in (text, answer)]
    is_timed = any({"time", "states"} & {*each} for each in read) or sequence == summary["sequence"]
    otherwise = "time" if is_timed else "new_facts"
    otherwise = otherwise if recording.ranking() == summary["ranking"] else "ranking"
    listed = differences(facts, now, whys, otherwise, is_other=answer != text)
    return {**summary, "same": answer == text, "answer": answer.decode(), "differences": listed}
