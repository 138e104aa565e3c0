"""The records of a dump in portions that one write of an owner can hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from graphmem.dump.records import Observation, Owner, Record, RelationshipType, Schema, Transaction
from graphmem.model import facts

TRANSACTIONS: Final = 1_000
OBSERVATIONS: Final = 1_000
CHARACTERS: Final = 4_000_000
"""Where a batch ends; a single transaction may be larger than that."""


@dataclass(slots=True)
class Part:
    """A transaction with its observations."""

    transaction: Transaction
    observations: list[Observation] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """Whether it merges entities, or ends a merge: it is then written alone."""
        return any(one.kind in facts.MERGE_KINDS for one in self.observations)

    @property
    def characters(self) -> int:
        """How large it is."""
        return len(self.transaction.answer) + sum(sum(map(len, one.values)) for one in self.observations)


@dataclass(slots=True)
class Batch:
    """Some transactions of one owner, in their order."""

    owner: str
    parts: list[Part]

    @property
    def observations(self) -> list[Observation]:
        """All of their observations."""
        return [one for part in self.parts for one in part.observations]


@dataclass(slots=True)
class Begun:
    """An owner, with the schema versions of theirs: they are known before anything is written."""

    owner: str
    schemas: list[Schema] = field(default_factory=list)


def batches(records: Iterable[Record]) -> Iterator[RelationshipType | Begun | Batch]:
    """Yield the records of a dump, in its order, as they are restored."""
    begun: Begun | None = None
    waiting: list[Part] = []
    observations = characters = 0
    told = False
    for part in _parts(records):
        if isinstance(part, RelationshipType):
            yield part
        elif isinstance(part, Schema):
            assert begun is not None
            begun.schemas.append(part)
        elif isinstance(part, Owner):
            if begun is not None:
                yield from _left(begun, waiting, told)
            begun, waiting, observations, characters, told = Begun(part.id), [], 0, 0, False
        else:
            assert begun is not None
            if not told:
                yield begun
                told = True
            full = (
                len(waiting) == TRANSACTIONS
                or observations + len(part.observations) > OBSERVATIONS
                or characters + part.characters > CHARACTERS
            )
            if waiting and (full or part.moves or waiting[-1].moves):
                yield Batch(begun.owner, waiting)
                waiting, observations, characters = [], 0, 0
            waiting.append(part)
            observations += len(part.observations)
            characters += part.characters
    if begun is not None:
        yield from _left(begun, waiting, told)


def _left(begun: Begun, waiting: list[Part], told: bool) -> Iterator[Begun | Batch]:
    if not told:
        yield begun
    if waiting:
        yield Batch(begun.owner, waiting)


def _parts(records: Iterable[Record]) -> Iterator[RelationshipType | Owner | Schema | Part]:
    """Yield transactions with all of their observations, and the other records as they are."""
    part: Part | None = None
    for record in records:
        if isinstance(record, Observation):
            assert part is not None
            part.observations.append(record)
            continue
        if part is not None:
            yield part
            part = None
        if isinstance(record, Transaction):
            part = Part(record)
        else:
            yield record
    if part is not None:
        yield part
