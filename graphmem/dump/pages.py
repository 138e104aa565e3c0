"""Pages of facts, as copies exchange them: records of the dump format in the order of one database.

A page is the lines of its records, compressed by Zstandard, with the SHA-256 of the lines. It is taken whole
or refused. In the order of a database each fact comes after those that it needs, so nothing of a page waits.
"""

import base64
import hashlib
from typing import Any, Final, NamedTuple

import orjson
import zstandard

from graphmem.database.driver import Database
from graphmem.dump import records
from graphmem.dump.batches import Batch, OwnerStart, batches
from graphmem.errors import DatabaseFull, PageDamaged
from graphmem.model import canonical
from graphmem.model.fact_records import Record, line, members
from graphmem.model.fact_table import (
    BY_NAME,
    OBSERVATION,
    PARTS,
    REPEAT,
    SCHEMA,
    SOURCE,
    TRANSACTION,
)

PAGE_TRANSACTIONS: Final = 500  # transactions of a page; fewer where their values are large
PAGE_BYTES_LIMIT: Final = 64 << 20  # bytes of the lines of a page


class Page(NamedTuple):
    """A page: ``data`` is base64 of the compressed lines, ``sha256`` is over the lines. ``last`` is the place
    after it in the order of the database that it comes from, ``files`` are the hashes of its files."""

    data: str
    sha256: str
    transactions: int
    last: int
    files: list[str]


class ReadPage(NamedTuple):
    """The facts of a page. ``refused`` has the kinds of facts that this version cannot take."""

    start: OwnerStart
    batches: list[Batch]
    refused: list[str]


async def read_page(
    database: Database, owner: str, after: int, until: int, without: str = "", limit: int = 0
) -> Page:
    """Return what an owner's database took after a place and up to another, but for what came by one copy."""
    limit = limit or PAGE_TRANSACTIONS
    try:
        transactions, schemas, lost, early, last = await database.reads(owner).only(
            "copy.page",
            tuple[list[list[Any]], list[list[Any]], list[tuple[str, str]], list[tuple[str, list[Any]]], int],
            after=after, until=until, without=without, limit=limit,
        )  # fmt: skip
    except DatabaseFull:
        if limit == 1:
            raise
        return await read_page(database, owner, after, until, without, max(1, limit // 8))
    lines = [line({"record": "owner", "id": owner})]
    lines += [line(members(SCHEMA.name, SCHEMA.columns, row)) for row in schemas]
    lines += [record.encode() for _, record in lost]
    for row, *parts in transactions:
        transaction = members(TRANSACTION.name, TRANSACTION.columns, row)
        if "by" in transaction:
            transaction["by"] = canonical.decode(transaction["by"])
        lines.append(line(transaction))
        for kind, facts in zip(PARTS, parts, strict=True):
            own_early = [fact for named, fact in early if named == transaction["id"]]
            if kind is OBSERVATION:
                facts += own_early
            elif kind is REPEAT:
                facts = [fact for fact in facts if fact[0] not in {each[0] for each in own_early}]
            lines += [line(members(kind.name, kind.columns, fact)) for fact in facts]
    text = b"\n".join(lines)
    hash_at = SOURCE.columns.index("content_hash")
    files = [source[hash_at] for _, sources, *_ in transactions for source in sources]
    data = base64.b64encode(zstandard.ZstdCompressor().compress(text)).decode()
    return Page(data, hashlib.sha256(text).hexdigest(), len(transactions), last, files)


def read(owner: str, data: str, sha256: str) -> ReadPage:
    """Return the facts of a page. Raises PageDamaged: it is cut, was changed, or is no page of this owner."""
    refused, known = set[str](), list[Record]()
    try:
        packed = base64.b64decode(data, validate=True)
        # The library allocates the size that the page announces, whatever the limit.
        if not 0 < zstandard.get_frame_parameters(packed).content_size <= PAGE_BYTES_LIMIT:
            raise ValueError("it announces no size, or too large a one")
        text = zstandard.ZstdDecompressor().decompress(packed, allow_extra_data=False)
        if hashlib.sha256(text).hexdigest() != sha256:
            raise ValueError("the checksum differs")
        for each in text.split(b"\n"):
            name = str(orjson.loads(each)["record"])
            if name == "owner" or name in BY_NAME:
                known.append(records.read(each))
            else:
                refused.add(name[:64])
        start, *parts = batches(known)
        if not isinstance(start, OwnerStart) or start.owner != owner:
            raise ValueError(f"it is not of the owner {owner}")
        made = [each for each in parts if isinstance(each, Batch)]
        batched = 1 + len(start.schemas) + sum(
            1 + sum(map(len, part.records.values())) for batch in made for part in batch.parts
        )  # fmt: skip
        if batched != len(known):
            raise ValueError("its records are out of order")
    except (ValueError, KeyError, TypeError, zstandard.ZstdError) as exc:
        raise PageDamaged(f"the page of facts is damaged, and nothing of it was taken: {exc}"[:500]) from exc
    return ReadPage(start, made, sorted(refused))
