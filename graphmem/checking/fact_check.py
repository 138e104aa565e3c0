"""What an audit compares beside stretches: the ids of facts with what they name, passages of files, and what
is noted on observations with the withdrawals; and deriving entities and relationships again.

A damaged fact is named and never mended: nothing says what it was. A dump from before the damage has it.

The passages of a file are known from its bytes alone. So a difference in one is not mended in place: the
worker reads the file again.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, LiteralString, NamedTuple

from graphmem.checking.stretch import AuditDifference
from graphmem.database.driver import Database
from graphmem.database.left_out import keeping_unopened, wrong_types
from graphmem.database.queries import Queries
from graphmem.embedding.meaning import DIMENSIONS, Embedder
from graphmem.ingest.passages import WAITING, key_of
from graphmem.model import canonical, discovery, ids, times
from graphmem.model.fact_records import Dismissal, Pair, Record, Renaming, SourceRecord, Split, Withdrawal
from graphmem.model.fact_table import PARTS, TRANSACTION, DeclaredKind
from graphmem.model.identity import CANONICAL_NAME
from graphmem.model.membership import Membership
from graphmem.model.reduction import Observation
from graphmem.writing import placement, refolding, vectors
from graphmem.writing.dismissing_duplicates import dismissed_pairs
from graphmem.writing.state import Additions, State
from graphmem.writing.things import Things

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


Seen = dict[str, dict[str, discovery.Shapes]]  # the shapes of values by field, by entity type


async def derive(
    queries: Queries, stored: State, merges: Membership, seen: Seen, entity_ids: Iterable[str]
) -> State:
    """Return the state of stored entities and relationships that follows from the facts and their merges.

    ``seen`` gains the shapes of the values of each entity of ``entity_ids`` and of all that is merged with
    them; other entities stay as stored.
    """
    dismissed = await dismissed_pairs(queries, stored.entities)
    derived = replace(
        stored,
        entities=await asyncio.to_thread(_merged, stored, merges, [each.pair for each in dismissed]),
        relationships=Things(
            replace(stored.relationships[each], refold=0) for each in stored.relationships
        ),
        entities_before=stored.entities.copy(), relationships_before=stored.relationships.copy(),
        heads=dict(stored.heads), new=Additions(),
    )  # fmt: skip
    roots = {derived.entities.root(each) for each in entity_ids if derived.entities.get(each)}
    folded = [member.subject_id for each in sorted(roots) for member in derived.entities.members(each)]
    once_merged = [each for each in folded if each in merges.entity_ids]
    changes = await refolding.changes(queries, merges, once_merged if merges.facts or merges.rules else [])
    async for history in refolding.histories(queries, [*folded, *stored.relationships]):
        every, subject_id = history.observations(queries), history.subject_id
        if ":" not in subject_id:
            every = _noting(every, seen.setdefault(stored.entities[subject_id].kind, {}))
        await refolding.refold_history(derived, history, every, changes.get(subject_id))
        # Others have the event loop meanwhile.
        await asyncio.sleep(0)
    keys = [key for key in derived.relationships if derived.relationships[key].observation_count]
    await asyncio.to_thread(placement.place, derived.entities, derived.relationships, keys)
    return derived


def _merged(stored: State, merges: Membership, dismissed: Iterable[Pair]) -> Things:
    separated = merges.separated()
    distinct: dict[str, set[str]] = {}
    for pair in dismissed:
        for entity_id, other in (pair, pair[::-1]):
            distinct.setdefault(entity_id, set()).add(other)
    into, by_fact = merges.merged_into(), replace(merges, rules=()).merged_into()
    merge_rules = merges.merge_rules()
    by_rule = {rule.subject_id: rule for rule in merges.rules if rule.holds(times.LATEST)}
    return Things(
        replace(
            stored.entities[subject_id],
            into=into.get(subject_id),
            merged_by=by_rule[subject_id].alternative
            if subject_id in by_rule and subject_id not in by_fact and subject_id in into
            else None,
            merge_rule=merge_rules.get(subject_id),
            separated=tuple(sorted(separated.get(subject_id, ()))),
            distinct_from=tuple(sorted(distinct.get(subject_id, ()))),
        )
        for subject_id in stored.entities
    )


async def _noting(
    every: AsyncIterator[Observation], shapes: dict[str, discovery.Shapes]
) -> AsyncIterator[Observation]:
    async for observation in every:
        for name, value in observation.fields.items():
            shape = discovery.shape_of(canonical.decode(value))
            if name != CANONICAL_NAME:
                shapes[name] = shapes.get(name, frozenset()) | ({shape} if shape else frozenset())
        yield observation


STAMPS_LIMIT: Final = 1_000
"""Observations that one statement compares or mends: each takes 10 KB of its transaction."""


class _Subject(NamedTuple):
    """A source, an interpretation, a transaction or a writing that was withdrawn."""

    subject_id: str
    stored: list[int] | None
    derived: list[int]
    stored_learned: list[int] | None  # by when this copy learned of it, where that differs
    derived_learned: list[int] | None

    @property
    def is_sound(self) -> bool:
        return (self.stored or [], self.stored_learned) == (self.derived, self.derived_learned)


class _Stamp(NamedTuple):
    """An observation on which it is noted wrongly when it counts."""

    observation_id: str
    subject_id: str
    of_node: list[int] | None
    of_edge: list[int] | None
    derived: list[int]
    stored_learned: tuple[int | None, list[int] | None]  # since when it is known here, and when it counts
    derived_learned: tuple[int | None, list[int] | None]


_Subjects = tuple[list[_Subject], int]
_Stamps = tuple[list[_Stamp], int]  # what was read, and how many observations are not stamped yet


@dataclass(slots=True)
class StampCheck:
    """One comparison of all that an owner's withdrawals note, once nothing is ``unstamped``."""

    database: Database
    owner: str
    fix: bool
    differences: dict[str, list[AuditDifference]] = field(default_factory=dict)  # by subject
    unstamped: int = 0  # observations that do not say yet when they count

    async def compare_withdrawn(self) -> None:
        """Compare what is noted on all that was withdrawn, and on the observations of each."""
        subjects, unstamped = await self.database.reads(self.owner).only("audit.exclusions", _Subjects)
        self.unstamped = unstamped
        if unstamped:
            return
        if not all(subject.is_sound for subject in subjects):
            await self._compare_subjects()
        for subject in subjects:
            await self._compare("audit.stamps_of_subject", subject_id=subject.subject_id, limit=STAMPS_LIMIT)

    async def compare(self, subject_ids: list[str]) -> None:
        """Compare what is noted on the observations of some entities and relationships."""
        if not self.unstamped:
            await self._compare("audit.stamps", subject_ids=subject_ids, limit=STAMPS_LIMIT)

    async def _compare_subjects(self) -> None:
        async with self.database.transaction(self.owner) as tx:
            await tx.rows("owner.lock")
            subjects, _ = await tx.only("audit.exclusions", _Subjects)
            wrong = [subject for subject in subjects if not subject.is_sound]
            for subject in wrong:
                self._note("excluded", subject, subject.stored)
            if self.fix and wrong:
                subject_ids = sorted(subject.subject_id for subject in wrong)
                await tx.only("audit.restamp", int, subjects=subject_ids, observation_ids=[])

    async def _compare(self, name: LiteralString, **params: Any) -> None:
        """Compare some observations; those that differ once more under the lock."""
        stamps, _ = await self.database.reads(self.owner).only(name, _Stamps, **params)
        more = bool(stamps)
        while more:
            async with self.database.transaction(self.owner) as tx:
                await tx.rows("owner.lock")
                stamps, unstamped = await tx.only(name, _Stamps, **params)
                if unstamped:
                    self.unstamped = unstamped
                    return
                for stamp in stamps:
                    is_one = stamp.of_node == stamp.of_edge
                    noted = stamp.of_node if is_one else [stamp.of_node, stamp.of_edge]
                    self._note(f"excluded {stamp.observation_id}", stamp, noted)
                if self.fix and stamps:
                    observation_ids = sorted({stamp.observation_id for stamp in stamps})
                    await tx.only("audit.restamp", int, subjects=[], observation_ids=observation_ids)
            more = self.fix and len(stamps) == STAMPS_LIMIT

    def _note(self, what: str, of: _Subject | _Stamp, stored: Any) -> None:
        """Note a difference of the clocks of the writers, or of that of this copy where these agree."""
        sides: tuple[Any, Any] = stored, of.derived
        if of.stored_learned != of.derived_learned and (stored or []) == of.derived:
            what, sides = f"learned {what}", (of.stored_learned, of.derived_learned)
        difference = AuditDifference(of.subject_id, what, *sides)
        self.differences.setdefault(of.subject_id, []).append(difference)
