"""Reading facts as a dump has them, and comparing their ids with what they name.

A damaged fact is named and never mended: nothing says what it was. A dump from before the damage has it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from graphmem.checking.stretch import AuditDifference
from graphmem.database.queries import Queries
from graphmem.model import canonical, ids, times
from graphmem.model.fact_records import Dismissal, Record, Renaming, SourceRecord, Split, Withdrawal
from graphmem.model.fact_table import PARTS, TRANSACTION, DeclaredKind

PAGE_TRANSACTIONS: Final = 100
"""Transactions that one query reads."""
REASON_CHARACTERS: Final = 300


async def differences(queries: Queries, owner: str, sequence: int) -> AsyncIterator[AuditDifference]:
    """Yield the facts that no dump takes or whose ids are not theirs; ``sequence``: written transactions."""
    since, after, count, more = times.EARLIEST, "", 0, True
    while more:
        transactions, more = await queries.only(
            "dump.page", tuple[list[list[Any]], bool], since=since, after=after, sequence=sequence,
            limit=PAGE_TRANSACTIONS,
        )  # fmt: skip
        for row, *parts in transactions:
            after, since, *_ = row
            for kind, listed in zip((TRANSACTION, *PARTS), ([row], *parts), strict=True):
                for fact in listed:
                    if reason := _fault(kind, fact, owner, after, len(listed)):
                        yield AuditDifference(fact[0], kind.name, reason, None, is_fact=True)
        count += len(transactions)
    if count != sequence:
        yield AuditDifference("owner", "transactions", count, sequence, is_fact=True)


def _fault(kind: DeclaredKind, fact: list[Any], owner: str, transaction_id: str, count: int) -> str | None:
    """Say why a dump would not take a fact, or that its id is not its own; None: it is sound."""
    members = {name: value for name, value in zip(kind.columns, fact, strict=True) if value is not None}
    try:
        if kind is TRANSACTION and "by" in members:
            members["by"] = canonical.decode(members["by"])
        record = kind.record(**members)
    except (ValueError, TypeError) as exc:
        return str(exc)[:REASON_CHARACTERS]
    expected = _expected_ids(record, owner, transaction_id, count)
    return None if fact[0] in (expected or fact) else f"its id is not {min(expected)}"


def _expected_ids(record: Record, owner: str, transaction_id: str, count: int) -> set[str]:
    """Return the ids that a fact may have; none where its id does not follow from what it says.

    ``count``: how many of its kind its transaction recorded.
    """
    if isinstance(record, SourceRecord):
        return {ids.source_id(owner, record.content_hash)}
    if isinstance(record, Split):
        return {ids.split_id(transaction_id)}
    if isinstance(record, Renaming):
        return {ids.renaming_id(transaction_id)}
    if isinstance(record, Withdrawal):
        return {ids.withdrawal_id(transaction_id, index) for index in range(count)}
    if isinstance(record, Dismissal):
        return {ids.dismissal_id(transaction_id, index) for index in range(count)}
    return set()
