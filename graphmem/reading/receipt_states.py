"""What became of what a receipt tells: of each observation behind it, and of each value, told again today."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import orjson
from typing_extensions import TypedDict

from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.reading import answers
from graphmem.receipts.collected import Fact

Why = tuple[int, str | None, str | None]
"""The number of a fact, why answers differ because of an observation of it, and the transaction."""
T = TypeVar("T")
_Text = str | None
_Row = tuple[_Text, str, str, str, _Text, _Text, _Text, _Text, Json | None, int, _Text, _Text]
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
    states, sequence = await context.graph.only("receipt.states", tuple[list[_Row], int], told=rows, at=at)
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
