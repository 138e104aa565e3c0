"""Reading facts as a dump has them, and comparing their ids with what they name; comparing passages of files.

A damaged fact is named and never mended: nothing says what it was. A dump from before the damage has it.

The passages of a file are known from its bytes alone. So a difference in one is not mended in place: the
worker reads the file again.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

from graphmem.checking.stretch import AuditDifference
from graphmem.database.driver import Database
from graphmem.database.left_out import keeping_unopened, wrong_types
from graphmem.database.queries import Queries
from graphmem.embedding.meaning import DIMENSIONS, Embedder
from graphmem.ingest.passages import WAITING, key_of
from graphmem.model import canonical, ids, times
from graphmem.model.fact_records import Dismissal, Record, Renaming, SourceRecord, Split, Withdrawal
from graphmem.model.fact_table import PARTS, TRANSACTION, DeclaredKind
from graphmem.writing import vectors

PAGE_TRANSACTIONS: Final = 100  # transactions that one query reads
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
    """Return the ids that one of ``count`` facts of a transaction may have; none where none follows."""
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


SOURCES_AT_ONCE: Final = 20  # sources that one query reads


class _Stored(NamedTuple):
    source_id: str
    owner: str
    reader: str
    key: str | None
    texts: list[str]
    places: list[int]
    packed: bytes | None


class _Source(NamedTuple):
    id: str
    recorded_at: int
    reader: str
    stored: list[_Stored]


async def pages(
    database: Database, owner: str, embedder: Embedder, at: tuple[int, str] | None
) -> AsyncIterator[tuple[list[AuditDifference], tuple[int, str] | None]]:
    """Yield the sources whose passages are wrong, after a time and id, each time with where to go on, if
    there is more.

    Vectors are compared where this process makes them; where a service does, their length is.
    """
    queries = database.reads(owner)
    while at is not None:
        with keeping_unopened():
            rows = await queries.only(
                "audit.passages", list[_Source], at=at[0], after=at[1], limit=SOURCES_AT_ONCE
            )
        at = (rows[-1].recorded_at, rows[-1].id) if len(rows) == SOURCES_AT_ONCE else None
        differences = [await _difference(owner, row, embedder) for row in rows if row.reader != WAITING]
        yield [each for each in differences if each is not None], at


async def _difference(owner: str, row: _Source, embedder: Embedder) -> AuditDifference | None:
    if wrong := next(filter(None, map(wrong_types, row.stored)), None):
        return AuditDifference(row.id, "passages", wrong, row.reader)
    stored = [[each.owner, each.reader, each.key] for each in row.stored]
    derived = [[owner, row.reader, key_of(each.texts, each.places)] for each in row.stored[:1]]
    if stored != derived or not stored:
        return AuditDifference(row.id, "passages", stored or None, derived or row.reader)
    packed, texts = row.stored[0].packed, row.stored[0].texts
    made = await vectors.of_passages(texts, embedder) if embedder.at_once else None
    length = len(texts) * DIMENSIONS
    is_sound = type(packed) is bytes and len(packed) == length
    if is_sound and (made is None or packed == made):
        return None
    expected = f"{length} bytes" if made is None else vectors.shown(made)
    return AuditDifference(row.id, "vectors of passages", vectors.shown(packed), expected)
