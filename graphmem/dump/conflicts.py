"""What of a dump is here already, and what of it contradicts what is here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from graphmem.dump.batches import Batch, Part
from graphmem.dump.records import Observation, Transaction
from graphmem.model import canonical, facts, ids

CUT: Final = 500
"""Characters of a value that a conflict tells."""
_TRANSACTION: Final = (
    "recorded_at",
    "operation",
    "client",
    "agent",
    "idempotency_key",
    "request_hash",
    "answer",
)
_SAID: Final = (
    "home", "kind", "observed_at", "fields", "values", "priority", "specificity", "observation_source",
    "agent",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conflict:
    """A fact of a dump that contradicts one that is here: what of it differs, on both sides."""

    owner: str | None
    what: str
    id: str
    message: str
    here: Mapping[str, Any]
    dump: Mapping[str, Any]

    def said(self) -> dict[str, Any]:
        """Return it as it is told."""
        return {
            "owner": self.owner, "what": self.what, "id": self.id, "message": self.message,
            "here": dict(self.here), "dump": dict(self.dump),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Present:
    """What of a batch is here, from a row of ``dump.present``."""

    transactions: Mapping[str, Transaction]
    keys: Mapping[str, str]
    observations: Mapping[str, tuple[Any, ...]]
    entities: frozenset[str]
    foreign: frozenset[str]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return what a row says."""
        transactions = (
            Transaction.model_construct(id=one[0], **dict(zip(_TRANSACTION, one[1:], strict=True)))
            for one in row["transactions"]
        )
        return cls(
            transactions={one.id: one for one in transactions},
            keys=dict(row["keys"]),
            observations={
                one[0]: (one[1], one[2], one[5], tuple(one[7]), tuple(one[8]), *one[9:])
                for one in row["observations"]
            },
            entities=frozenset(row["entities"]),
            foreign=frozenset(row["foreign"]),
        )


@dataclass(slots=True)
class Missing:
    """What of a batch is to be written, and what is not.

    ``waiting`` counts observations whose entities are not there yet; ``late`` says that some are written of
    transactions that are here already.
    """

    parts: list[Part] = field(default_factory=list)
    transactions: int = 0
    observations: int = 0
    waiting: int = 0
    late: bool = False
    conflicts: list[Conflict] = field(default_factory=list)


def missing(
    batch: Batch, present: Present, types: Collection[str], *, ends: bool = True, last: bool = False
) -> Missing:
    """Return what of a batch is not here, and what contradicts what is.

    What relates, merges, deletes or restores an entity may have been recorded before what says the entity:
    where two histories were united, a fact of both stands where one of them said it. It waits until
    everything else is there.

    Args:
        types: the relationship types that there are.
        ends: whether what came before has been written, so that what is acted on must be there.
        last: whether everything else is there: what waited is written now, or is a conflict. All other
            conflicts have been told.
    """
    found, gone = Missing(), list[Conflict]()
    there = set(present.entities) if ends else set(asked(batch)["entities"])
    for part in batch.parts:
        one = part.transaction
        if one.id in present.foreign:
            message = "another owner has a transaction of this id: it and its observations are left out"
            found.conflicts.append(Conflict(batch.owner, "transaction", one.id, message, {}, {}))
            continue
        known = present.transactions.get(one.id)
        found.conflicts.extend(_of_transaction(batch.owner, one, known, present))
        left = []
        for said in sorted(part.observations, key=_acts):
            conflict = _of_observation(batch.owner, said, present, types)
            lacking = _lacking(said, there)
            if conflict is not None:
                found.conflicts.append(conflict)
            elif said.id in present.observations:
                continue
            elif lacking is None or (last and said.kind in facts.STATE_KINDS):
                left.append(said)
                if not _acts(said):
                    there.add(said.subject_id)
            elif last:
                message = f"there is no entity {lacking} for it to act on: it is left out"
                gone.append(
                    Conflict(batch.owner, "observation", said.id, message, {}, {"home": said.subject_id})
                )
            else:
                found.waiting += 1
        found.transactions += known is None
        found.observations += len(left)
        found.late |= known is not None and bool(left)
        if known is None or left:
            found.parts.append(Part(one, sorted(left, key=lambda said: said.id)))
    if last:
        found.conflicts = gone
    return found


def _acts(said: Observation) -> bool:
    """Return whether it acts on entities that something else says."""
    return ":" in said.subject_id or said.kind not in facts.VALUE_KINDS


def _lacking(said: Observation, there: Collection[str]) -> str | None:
    """Return an entity that it acts on and that is not there."""
    needed = ids.ends(said.subject_id) if ":" in said.subject_id else [said.subject_id] if _acts(said) else []
    return next((one for one in (*needed, *_into(said)) if one not in there), None)


def _into(said: Observation) -> list[str]:
    """Return what it merges into."""
    into = facts.target(said.kind, dict(zip(said.fields, said.values, strict=True)))
    return [into] if into is not None else []


def _of_transaction(
    owner: str, one: Transaction, known: Transaction | None, present: Present
) -> Iterator[Conflict]:
    if known is not None:
        here, dump = _differing(_TRANSACTION, known, one)
        if here:
            message = "the transaction is here with other content: it stays as it is here"
            yield Conflict(owner, "transaction", one.id, message, here, dump)
        return
    holder = present.keys.get(one.idempotency_key or "")
    if holder is not None:
        message = "the idempotency key stands for another transaction here: this one is restored without it"
        here, dump = {"transaction": holder}, {"transaction": one.id}
        yield Conflict(owner, "idempotency_key", one.idempotency_key or "", message, here, dump)


def _of_observation(
    owner: str, said: Observation, present: Present, types: Collection[str]
) -> Conflict | None:
    known = present.observations.get(said.id)
    if known is not None:
        if known == said.said:
            return None
        pairs = zip(_SAID, known, said.said, strict=True)
        differ = [(name, _cut(here), _cut(dump)) for name, here, dump in pairs if here != dump]
        message = "the observation is here with other content: it stays as it is here"
        here, dump = {name: one for name, one, _ in differ}, {name: one for name, _, one in differ}
        return Conflict(owner, "observation", said.id, message, here, dump)
    message = None
    if said.id in present.foreign or said.subject_id in present.foreign:
        message = "another owner has this id, or what it is about: it is left out"
    elif ":" in said.subject_id and (kind := said.subject_id.partition(":")[0]) not in types:
        message = f"there is no relationship type {kind} here: register it, and restore again"
    if message is None:
        return None
    return Conflict(owner, "observation", said.id, message, {}, {"home": said.subject_id})


def _differing(names: tuple[str, ...], here: Any, dump: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    differ = [name for name in names if getattr(here, name) != getattr(dump, name)]
    return tuple({name: _cut(getattr(side, name)) for name in differ} for side in (here, dump))  # pyright: ignore[reportReturnType]


def _cut(value: Any) -> Any:
    """Return a value as a report can hold it."""
    text = value if isinstance(value, str) else canonical.encode(value)
    return f"{text[:CUT]}…" if len(text) > CUT else value


def asked(batch: Batch, schemas: Sequence[str] = ()) -> dict[str, list[str]]:
    """Return the parameters of ``dump.present`` for a batch."""
    subject_ids = {one.subject_id for one in batch.observations}
    keys = {subject_id for subject_id in subject_ids if ":" in subject_id}
    ends = {end for key in keys for end in ids.ends(key)}
    return {
        "transactions": [part.transaction.id for part in batch.parts],
        "keys": [key for part in batch.parts if (key := part.transaction.idempotency_key) is not None],
        "observations": [one.id for one in batch.observations],
        "schemas": list(schemas),
        "entities": sorted(
            subject_ids - keys | ends | {into for one in batch.observations for into in _into(one)}
        ),
        "relationships": sorted(keys),
    }
