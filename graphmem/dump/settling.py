"""Which of two facts counts that contradict each other: the one that was recorded first, by its writer's
clock, then by the id of its transaction. So the union of databases is the same in every order.

The other one is kept as a *lost fact*. What is decided here is what a database would otherwise decide by what
it had first: documents of a schema version, other names of types, idempotency keys, and which transaction
recorded an observation first.
"""

import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Self

from graphmem.database.driver import Database
from graphmem.dump.batches import Batch
from graphmem.model import canonical
from graphmem.model.fact_records import SchemaRecord
from graphmem.model.schema import SchemaDocument, version_order

LostKind = Literal["schema", "repeated_schema", "idempotency_key", "type_alias", "expected_version"]
EVERY: Final = sys.maxsize
Place = tuple[int, str]
"""When a fact was recorded (microseconds), and by which transaction: the least place wins."""


class StoredVersion(NamedTuple):
    """The version of a schema that a database has."""

    id: str
    document: str
    change: str
    recorded_at: int
    transaction: str

    @property
    def place(self) -> Place:
        return self.recorded_at, self.transaction


def place_of(version: SchemaRecord) -> Place:
    return version.recorded_at, version.transaction


class SettledVersion(NamedTuple):
    """Which document of a version of a schema counts.

    ``new`` is the dumped version that counts, unless the one that is ``stored`` does. ``lost`` are dumped
    versions that do not count and are not known here.
    """

    stored: StoredVersion | None
    new: SchemaRecord | None
    lost: list[SchemaRecord]
    counting: StoredVersion | SchemaRecord

    @classmethod
    def of(cls, stored: StoredVersion | None, dumped: Sequence[SchemaRecord], known: Container[str]) -> Self:
        """Settle a version; ``known`` are transactions that the database has with all of their facts."""
        unknown = sorted((each for each in dumped if each.transaction not in known), key=place_of)
        new = unknown[0] if unknown and (stored is None or place_of(unknown[0]) < stored.place) else None
        counting = new or stored or dumped[0]
        return cls(stored, new, [each for each in unknown if each is not new], counting)

    @property
    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield each pair of documents of which one does not count: that of the database comes first."""
        if self.stored and self.new and self.stored.document != self.new.document:
            yield self.stored.document, self.new.document
        for each in self.lost:
            if each.document != self.counting.document:
                yield self.counting.document, each.document


async def lose(
    database: Database, owner: str, kind: LostKind, name: str, place: Place, winner: str, record: str,
    schema_id: str = "", transaction_id: str = "",
) -> None:  # fmt: skip
    """Keep a fact that does not count; free the node of a version, or the key of a transaction."""
    recorded_at, transaction = place
    await database.writes(owner).rows(
        "dump.lose", id=_lost_id(owner, kind, name, transaction),
        schema_id=schema_id, transaction_id=transaction_id,
        properties={
            "kind": kind, "name": name, "transaction": transaction, "recorded_at": recorded_at,
            "winner": winner, "record": record,
        },
    )  # fmt: skip


def _lost_id(owner: str, kind: LostKind, name: str, transaction: str) -> str:
    return f"lost_{canonical.digest([owner, kind, name, transaction])[:32]}"


def _name(version: SchemaRecord) -> str:
    return f"{version.entity_type} {version.version}"


async def lose_dumped(database: Database, owner: str, lost: SchemaRecord, winner: str) -> None:
    """Keep a version of a dump that does not count; ``winner`` is the transaction of the one that does."""
    await lose(database, owner, "schema", _name(lost), place_of(lost), winner, lost.line().decode())


async def lose_stored(database: Database, owner: str, stored: StoredVersion, dumped: SchemaRecord) -> None:
    """Take the place of a version that is stored from it, for the version of a dump."""
    lost = dumped.model_copy(update={name: getattr(stored, name) for name in StoredVersion._fields[1:]})
    winner, record = dumped.transaction, lost.line().decode()
    await lose(database, owner, "schema", _name(lost), stored.place, winner, record, stored.id)


async def lose_keys(
    database: Database, owner: str, batch: Batch, by_key: Mapping[str, tuple[str, int]]
) -> set[str]:
    """Settle which transaction has each idempotency key; return those of a batch that go without theirs.

    Args:
        by_key: the transactions of the database with their times, by key.
    """
    wanting: dict[str, list[Place]] = {}
    for part in batch.parts:
        if (key := part.transaction.idempotency_key) is not None:
            wanting.setdefault(key, []).append((part.transaction.recorded_at, part.transaction.id))
    without: set[str] = set()
    for key, places in wanting.items():
        stored_id, stored_at = by_key.get(key, ("", 0))
        every = {*places, *([(stored_at, stored_id)] if stored_id else [])}
        winner = min(every)[1]
        for place in sorted(every):
            transaction_id = place[1]
            if transaction_id == winner:
                continue
            without.add(transaction_id)
            yielding = transaction_id if transaction_id == stored_id else ""
            await lose(
                database, owner, "idempotency_key", key, place, winner, "", transaction_id=yielding
            )  # fmt: skip
    return without


async def settle_schemas(database: Database, owner: str) -> None:
    """Settle what all versions of all schemas decide.

    Each other name of types means the type that had it first, unless it is a type of its own. A version that
    does not count repeats the one that counts, or contradicts it.
    """
    reads = database.reads(owner)
    lost = await reads.only("dump.lost_names", list[tuple[str, str, str, LostKind, str]])
    lost_names = {name for _, name, *_ in lost}
    claims, counting = dict[str, list[tuple[Place, str]]](), dict[str, list[Any]]()
    after: str | None = ""
    while after is not None:
        type_, versions = await reads.only(
            "dump.schemas", tuple[str | None, list[list[Any]]], after=after, sequence=EVERY
        )
        if (after := type_) is None or not versions:
            continue
        counting |= {name: row for row in versions if (name := f"{type_} {row[0]}") in lost_names}
        names = {row[0]: set(SchemaDocument.read(row[1]).aliases) for row in versions}
        for name in names[max(names, key=version_order)]:
            first = min((row[3], row[4]) for row in versions if name in names[row[0]])
            claims.setdefault(name, []).append((first, after))
    kept = await _settle_aliases(database, owner, claims)
    rows = list[tuple[str, LostKind, str]]()
    for lost_id, name, record, kind, winner in lost:
        if row := counting.get(name):
            repeats = SchemaRecord.model_validate_json(record).document == row[1]
            now: LostKind = "repeated_schema" if repeats else "schema"
            if (now, row[4]) != (kind, winner):
                rows.append((lost_id, now, row[4]))
    ended = [lost_id for lost_id, _, _, kind, _ in lost if kind == "type_alias" and lost_id not in kept]
    if rows or ended:
        await database.write("dump.set_lost", owner, rows=rows, ended=ended)


async def _settle_aliases(
    database: Database, owner: str, claims: Mapping[str, list[tuple[Place, str]]]
) -> set[str]:
    """Set what each other name means; return the ids of the claims that do not count, which are kept."""
    aliases, types = await database.reads(owner).only(
        "dump.names", tuple[list[tuple[str, str]], list[str]], names=sorted(claims)
    )
    meanings = {name: min(every)[1] for name, every in claims.items() if name not in types}
    known = dict(aliases)
    rows = [
        {"name": name, "type": meanings.get(name)}
        for name in sorted({*known, *meanings})
        if known.get(name) != meanings.get(name)
    ]
    if rows:
        await database.write("dump.set_aliases", owner, rows=rows)
    kept = set[str]()
    for name, place, entity_type in ((name, *each) for name, every in claims.items() for each in every):
        if (meaning := meanings.get(name, name)) != entity_type:
            await lose(database, owner, "type_alias", name, place, meaning, entity_type)
            kept.add(_lost_id(owner, "type_alias", name, place[1]))
    return kept


async def lose_expectations(database: Database, owner: str, entity_ids: Iterable[str], since: int) -> None:
    """List transactions that expected a version of an entity, but another copy had written to it before.

    Args:
        since: no fact that came was recorded before it (microseconds).
    """
    written = await database.reads(owner).only(
        "copy.expectations", list[tuple[str, list[tuple[int, str, list[str] | None]]]],
        entity_ids=sorted(entity_ids), since=since,
    )  # fmt: skip
    for entity_id, transactions in written:
        for number, (recorded_at, transaction, expected) in enumerate(transactions):
            versions = [int(each.split()[1]) for each in expected or () if each.split()[0] == entity_id]
            # Its version had counted every transaction before, and merges.
            if recorded_at >= since and any(version < number for version in versions):
                place, before = (recorded_at, transaction), transactions[number - 1][1]
                await lose(database, owner, "expected_version", entity_id, place, before, "")


async def settle_first(
    database: Database, owner: str, observation_ids: Iterable[str]
) -> tuple[int, list[str]]:
    """Have the first transaction of each observation be the one that recorded it; return how many changed,
    and the subjects of all."""
    ids_of_repeated = sorted(set(observation_ids))
    if not ids_of_repeated:
        return 0, []
    writes = database.writes(owner)
    return await writes.only("dump.settle_first", tuple[int, list[str]], observations=ids_of_repeated)
