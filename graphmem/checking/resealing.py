"""Sealing anew with the newest data keys what older ones sealed, in the database and in the object store.

It reads each node once, and changes a property only while it is what was read. Whoever is interrupted begins
again: what is sealed with the newest key stays. What is looked up stays with the first key of its owner.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, LiteralString

import structlog

from graphmem import cypher
from graphmem.checking.unused_objects import content_hashes
from graphmem.cypher.declared_sealing import shape_of
from graphmem.database import instance_kind
from graphmem.database.driver import Database
from graphmem.database.typed_rows import Row
from graphmem.errors import DecryptionFailed, KeyDestroyed, ObjectDamaged, ObjectMissing
from graphmem.model import times
from graphmem.objects import ObjectStore
from graphmem.sealing import InstanceKeys, instance_keys
from graphmem.sealing.opened_rows import NODE_IDS
from graphmem.sealing.sealed_rows import RowSealer

PAGE_ROWS: Final = 500  # nodes that are sealed anew at once
GRACE_SECONDS: Final = 10.0
"""Seconds after the limit of a statement from which on none runs that an older key sealed."""
_READS: Final[tuple[LiteralString, ...]] = (
    "MATCH (n) WHERE n.owner IN $owners RETURN elementId(n) AS id, properties(n) AS properties, "
    f"[{', '.join(f'n.{name}' for name in NODE_IDS)}] AS places, n.fields AS bounds",
    "MATCH (transaction)-[n:stored]->(source) WHERE source.owner IN $owners "
    "RETURN elementId(n) AS id, properties(n) AS properties, [source.id] AS places, "
    "[transaction.id] AS bounds",
)
_WRITES: Final[tuple[LiteralString, ...]] = tuple(
    f"UNWIND $rows AS row MATCH {pattern} WHERE elementId(n) = row.id SET n.locked = null "
    "WITH n, row WHERE all(name IN keys(row.was) WHERE n[name] = row.was[name]) SET n += row.new "
    "RETURN count(*) AS done"
    for pattern in ("(n)", "()-[n:stored]->()")
)

_WRITTEN_BY: Final = {"ApiKey": "account.create_key", "AgentGrant": "account.create_agent_grant"}
"""The queries that declare how the properties of nodes are sealed which belong to an account."""
_OF_ACCOUNTS: Final[LiteralString] = (
    "MATCH (account:Account)-[:has_key|has_agent_grant|subscribed]->(n) RETURN elementId(n) AS id, "
    "labels(n)[0] AS label, n.id AS node_id, account.owner AS owner, properties(n) AS properties"
)

_log = structlog.get_logger("graphmem.sealing")


async def reseal(database: Database, store: ObjectStore, keys: InstanceKeys, *, write_seconds: float) -> int:
    """Seal anew what replaced keys sealed, if there are such; return how many nodes, edges and files.

    The first call for a database also seals for its owner what earlier versions wrote of accounts.

    Args:
        write_seconds: limit of a statement. Nothing is done before those have ended that an older key sealed.
    """
    done = missed = 0
    if (sealer := database.sealer) is not None and not sealer.has_sealed_accounts:
        done = await reseal_accounts(database, sealer)
        await instance_kind.note_sealed_accounts(database)
        sealer.has_sealed_accounts = True
    record = await asyncio.to_thread(keys.record)
    replaced = instance_keys.replaced(record)
    owners = list(dict.fromkeys(each.owner for each in replaced))
    newest = max((each.made_at for each in record.keys if each.owner in owners), default=0)
    if not replaced or times.now() - newest < (write_seconds + GRACE_SECONDS) * 1_000_000:
        return done
    if sealer is not None:
        done += await reseal_accounts(database, sealer)

        def seal(row: Row) -> Row:
            return sealer.anew(row["properties"], row["places"], row["bounds"] or [])

        for read, write in zip(_READS, _WRITES, strict=True):
            changed, written = await _rows(database, seal, read, write, owners=owners)
            done, missed = done + written, missed + changed - written
    for owner in owners:
        done += await _files(database, store, owner)
    if not missed:
        await asyncio.to_thread(keys.note_resealed, replaced)
        _log.info("data is sealed anew", done=done, keys=len(replaced))
    return done


async def reseal_accounts(database: Database, sealer: RowSealer) -> int:
    """Seal for its owner what belongs to an account, if it is in clear or sealed otherwise; return how many.
    Earlier versions sealed it with the key of the instance, or not at all."""
    declared = {label: cypher.query(name).sealing.params for label, name in _WRITTEN_BY.items()}
    declared["Subscription"] = shape_of("subscription").members

    def seal(row: Row) -> Row:
        return sealer.as_declared(row["owner"], row["properties"], declared[row["label"]], row["node_id"])

    changed, _ = await _rows(database, seal, _OF_ACCOUNTS, _WRITES[0])
    return changed


async def _rows(
    database: Database, seal: Callable[[Row], Row], read: LiteralString, write: LiteralString, **params: Any
) -> tuple[int, int]:
    """Seal the rows of a read anew; return how many had to be, and how many did not change meanwhile.
    ``seal`` returns those properties of a row that change."""
    changed = written = 0
    page: list[Row] = []

    async def finish() -> None:
        nonlocal changed, written
        rows = await asyncio.to_thread(_anew, seal, page)
        page.clear()
        if rows:
            answer = await database.script(write, rows=rows)
            changed, written = changed + len(rows), written + answer[0]["done"]

    async for row in database.stream(read, PAGE_ROWS, **params):
        page.append(row)
        if len(page) == PAGE_ROWS:
            await finish()
    await finish()
    return changed, written


def _anew(seal: Callable[[Row], Row], page: Iterable[Row]) -> list[Row]:
    rows: list[Row] = []
    for row in page:
        try:
            new = seal(row)
        except (DecryptionFailed, KeyDestroyed) as exc:
            # Who reads it is answered an error. The others are sealed anew.
            _log.error("a sealed value does not open", reason=str(exc))
            continue
        if new:
            rows.append({"id": row["id"], "was": {name: row["properties"][name] for name in new}, "new": new})
    return rows


async def _files(database: Database, store: ObjectStore, owner: str) -> int:
    done = 0
    async for hashes in content_hashes(database, owner):
        for sha256 in dict.fromkeys(hashes):
            try:
                done += await store.seal_anew(owner, sha256)
            except (ObjectMissing, ObjectDamaged) as exc:
                _log.error("a file is not sealed anew", reason=str(exc))
    return done
