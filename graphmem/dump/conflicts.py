"""Comparing a dump with the database: which facts are missing there, and which contradict it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from graphmem.dump.batches import Batch, BatchPart
from graphmem.dump.settling import StoredVersion
from graphmem.model import canonical, facts, ids, relationship
from graphmem.model.fact_records import ObservationRecord, Repeat, TransactionRecord
from graphmem.model.fact_table import OBSERVATION, TRANSACTION

REPORT_CHARACTERS_LIMIT: Final = 500  # characters of a value in the report of a conflict
_CONTENT: Final = (
    "home", "kind", "observed_at", "fields", "values", "priority", "specificity", "observation_source",
    "agent", "source_id", "interpretation_id",
)  # fmt: skip
"""What an observation's id is made of, as a dump names it: it must be equal in the database and a dump.

Its transaction and ``recorded_at`` are not among it.
"""
_DUMPED: Final = attrgetter("subject_id", *_CONTENT[1:])
_STORED: Final = itemgetter(*map(OBSERVATION.columns.index, _CONTENT))


@dataclass(frozen=True, slots=True)
class Conflict:
    """A fact of a dump that contradicts the database: the members that differ, on both sides."""

    owner: str | None
    kind: str
    id: str
    message: str
    stored: Mapping[str, Any]
    dumped: Mapping[str, Any]

    def report(self) -> dict[str, Any]:
        return {
            "owner": self.owner, "what": self.kind, "id": self.id, "message": self.message,
            "here": dict(self.stored), "dump": dict(self.dumped),
        }  # fmt: skip


class PresentRow(NamedTuple):
    """The part of a batch that the database has already: a row of ``dump.present``."""

    transactions: list[list[Any]]
    keys: list[tuple[str, str, int]]
    observations: list[list[Any]]
    schemas: list[StoredVersion]
    entities: list[str]
    foreign: list[str]
    repeats: list[tuple[str, str]]


class Present:
    """The same by id, and the transactions of idempotency keys with their times.

    ``observations`` has their contents, ``foreign`` the ids of other owners,
    ``recorded`` pairs of a transaction and an observation that it recorded, first or again.
    """

    def __init__(
        self, transactions: Iterable[list[Any]], keys: Iterable[tuple[str, str, int]],
        observations: Iterable[list[Any]], schemas: Iterable[StoredVersion], entities: Iterable[str],
        foreign: Iterable[str], repeats: Iterable[tuple[str, str]],
    ) -> None:  # fmt: skip
        rows = (dict(zip(TRANSACTION.columns, row, strict=True)) for row in transactions)
        self.transactions: Mapping[str, Mapping[str, Any]] = {row["id"]: row for row in rows}
        self.by_key = {key: (id, recorded_at) for key, id, recorded_at in keys}
        self.observations = {row[0]: _STORED(row) for row in observations}
        self.schemas = {version.id: version for version in schemas}
        self.entities, self.foreign = {*entities}, {*foreign}
        self.recorded = {(transaction_id, id) for transaction_id, id in repeats}


@dataclass(slots=True)
class Missing:
    """The part of a batch that is to be written, and its conflicts.

    ``waiting`` counts the observations whose entities the database does not have yet, ``waiting_repeats`` the
    repeats of observations that it does not have yet. ``late``: the database has the transaction of a missing
    observation already.
    """

    parts: list[BatchPart] = field(default_factory=list)
    transactions: int = 0
    observations: int = 0
    waiting: int = 0
    waiting_repeats: int = 0
    late: bool = False
    conflicts: list[Conflict] = field(default_factory=list)


def find_missing(batch: Batch, present: Present, *, plan: bool = False, last: bool = False) -> Missing:
    """Return the facts of a batch that the database does not have, and those that contradict it.

    An observation that relates, merges, deletes or restores an entity may be recorded before the observation
    that makes the entity. In the union of two histories, a fact of both belongs to the request that came
    first. Such an observation waits until everything else is written.

    Args:
        plan: nothing is written, so every entity that the batch names counts as present.
        last: everything else is written. What waited is written now or is a conflict; other conflicts were
            reported before.
    """
    missing, unresolved = Missing(), list[Conflict]()
    known = set(present.observations)
    entities = set(present_params(batch)["entities"]) if plan else set(present.entities)
    for part in batch.parts:
        transaction = part.transaction
        if transaction.id in present.foreign:
            message = "another owner has this transaction id: transaction and observations are left out"
            missing.conflicts.append(Conflict(batch.owner, "transaction", transaction.id, message, {}, {}))
            continue
        stored = present.transactions.get(transaction.id)
        missing.conflicts.extend(_transaction_conflicts(batch.owner, transaction, stored, present))
        recorded = present.recorded
        writable = list[ObservationRecord]()
        repeats = [each for each in part.of(Repeat) if (transaction.id, each.id) not in recorded]
        # In the union of two histories, a repeat may be recorded before its observation: it waits as well.
        missing.waiting_repeats += 0 if plan else sum(repeat.id not in known for repeat in repeats)
        # Observations that make entities come before those that need them.
        for observation in sorted(part.observations, key=_needs_entities):
            conflict = _observation_conflict(batch.owner, observation, present)
            absent = _absent_entity(observation, entities)
            if conflict is not None:
                missing.conflicts.append(conflict)
            elif observation.id in known:
                if stored is None or observation.id not in present.observations:
                    # Another transaction of the database, or of the batch, recorded it.
                    repeats.append(Repeat(id=observation.id))
            elif absent is None or (last and observation.kind in facts.STATE_KINDS):
                writable.append(observation)
                known.add(observation.id)
                if not _needs_entities(observation):
                    entities.add(observation.subject_id)
            elif last:
                message = (
                    f"the observation needs the entity {absent}, which the database lacks: it is left out"
                )
                unresolved.append(_left_out(batch.owner, observation, message))
            else:
                missing.waiting += 1
        missing.transactions += stored is None
        missing.observations += len(writable)
        missing.late |= stored is not None and bool(writable)
        if stored is None or writable or repeats:
            # The other facts of a known transaction were written with it.
            records = part.records if stored is None else {}
            observations = sorted(writable, key=lambda observation: observation.id)
            missing.parts.append(
                BatchPart(transaction, {**records, ObservationRecord: observations, Repeat: repeats})
            )
    if last:
        missing.conflicts = unresolved
    return missing


def _needs_entities(observation: ObservationRecord) -> bool:
    return ":" in observation.subject_id or observation.kind not in facts.VALUE_KINDS


def _absent_entity(observation: ObservationRecord, entities: Collection[str]) -> str | None:
    """Return an entity that the observation needs and that is not among ``entities``."""
    if ":" in observation.subject_id:
        needed = [*ids.ends(observation.subject_id)]
    else:
        needed = [observation.subject_id] if _needs_entities(observation) else []
    return next((entity for entity in needed + _target(observation) if entity not in entities), None)


def _target(observation: ObservationRecord) -> list[str]:
    target = facts.target(observation.kind, dict(zip(observation.fields, observation.values, strict=True)))
    return [target] if target is not None else []


def _transaction_conflicts(
    owner: str, transaction: TransactionRecord, stored: Mapping[str, Any] | None, present: Present
) -> Iterator[Conflict]:
    if stored is not None:
        compared = (name for name in TRANSACTION.columns if name != "learned_at")
        names = [name for name in compared if stored[name] != transaction.stored[name]]
        if names:
            message = "the database has this transaction with other content, which stays"
            sides = ({name: _cut(side[name]) for name in names} for side in (stored, transaction.stored))
            yield Conflict(owner, "transaction", transaction.id, message, *sides)
        return
    key = transaction.idempotency_key or ""
    if key in present.by_key:
        message = (
            "another transaction of the database has this idempotency key: the one that was recorded first "
            "has it, and the other one stays without"
        )
        stored_id, dumped_id = {"transaction": present.by_key[key][0]}, {"transaction": transaction.id}
        yield Conflict(owner, "idempotency_key", key, message, stored_id, dumped_id)


def _observation_conflict(owner: str, observation: ObservationRecord, present: Present) -> Conflict | None:
    stored = present.observations.get(observation.id)
    if stored is not None:
        dumped = _DUMPED(observation)
        if stored == dumped:
            return None
        triples = zip(_CONTENT, stored, dumped, strict=True)
        differing = [(name, _cut(old), _cut(new)) for name, old, new in triples if old != new]
        message = "the database has this observation with other content, which stays"
        sides = {name: old for name, old, _ in differing}, {name: new for name, _, new in differing}
        return Conflict(owner, "observation", observation.id, message, *sides)
    relationship_type = observation.subject_id.partition(":")[0] if ":" in observation.subject_id else None
    if present.foreign & {observation.id, observation.subject_id}:
        return _left_out(
            owner, observation, "another owner has this id or this subject: the observation is left out"
        )
    if relationship_type is not None and not relationship.is_name(relationship_type):
        message = f"{relationship_type} is the graph's own: relationships cannot be called so"
        return _left_out(owner, observation, message)
    return None


def _left_out(owner: str, observation: ObservationRecord, message: str) -> Conflict:
    return Conflict(owner, "observation", observation.id, message, {}, {"home": observation.subject_id})


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else canonical.encode(value)
    return f"{text[:REPORT_CHARACTERS_LIMIT]}…" if len(text) > REPORT_CHARACTERS_LIMIT else value


def present_params(batch: Batch, schemas: Sequence[str] = ()) -> dict[str, list[Any]]:
    subject_ids = {observation.subject_id for observation in batch.observations}
    keys = {subject_id for subject_id in subject_ids if ":" in subject_id}
    ends = {end for key in keys for end in ids.ends(key)}
    targets = {target for observation in batch.observations for target in _target(observation)}
    return {
        "transactions": [part.transaction.id for part in batch.parts],
        "keys": [key for part in batch.parts if (key := part.transaction.idempotency_key) is not None],
        "observations": sorted(
            {each.id for part in batch.parts for each in (*part.observations, *part.of(Repeat))}
        ),
        "schemas": list(schemas),
        "entities": sorted(subject_ids - keys | ends | targets),
        "relationships": sorted(keys),
        "repeats": [[part.transaction.id, repeat.id] for part in batch.parts for repeat in part.of(Repeat)],
    }
