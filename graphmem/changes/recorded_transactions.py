"""Transactions with what each recorded, as changes are worked out from them."""

from typing import NamedTuple

from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.model import attribution, facts, ids, membership
from graphmem.model.reduction import Observation
from graphmem.writing.withdrawing import SubjectChange


class RecordedObservation(NamedTuple):
    """An observation of a transaction; times are microseconds."""

    id: str
    subject_id: str
    kind: facts.Kind
    entity_type: str | None
    observed_at: int
    fields: list[str]
    values: list[Json]
    priority: float
    specificity: float
    observation_source: str
    source_id: str | None
    excluded: list[int] | None

    def at(self, recorded_at: int) -> Observation | None:
        """Return the observation to fold, ``None`` if it did not count when it was recorded."""
        if not membership.counts(self.excluded, recorded_at):
            return None
        return Observation(
            id=self.id, subject_id=self.subject_id, entity_type=self.entity_type or "", kind=self.kind,
            observed_at=self.observed_at, recorded_at=recorded_at,
            fields=dict(zip(self.fields, self.values, strict=True)), transaction_id="",
            priority=self.priority, specificity=self.specificity, observation_source=self.observation_source,
        )  # fmt: skip


class RecordedSplit(NamedTuple):
    """A split: observations count for ``subjects`` from then on."""

    source: str
    target: str
    subjects: list[str]


class RecordedTransaction(NamedTuple):
    """A row of ``change/_recorded.cypher``. ``is_restored``: a restore wrote it, from a dump.

    ``sources`` are the ids of the files that it stored, with the names that it gave; ``interpretations``
    those that it ended: the id, the source, and why it failed; ``schemas`` types and their new versions.
    """

    id: str
    sequence: int
    recorded_at: int
    operation: str
    client: str
    agent: str
    by: Json | None
    is_restored: bool
    observations: list[RecordedObservation]
    sources: list[tuple[str, str | None]]
    interpretations: list[tuple[str, str, str | None]]
    withdrawals: list[SubjectChange]
    splits: list[RecordedSplit]
    schemas: list[tuple[str, str]]

    def writers(self, owner: str) -> list[str]:
        """Return the keys of who wrote it, and of the writers whose writings count because of it."""
        released = [
            ids.writing(each.subject)[0]
            for each in self.withdrawals
            if (each.kind, each.subject_kind) == ("include", "writing")
        ]
        return [*attribution.writers_of(owner, self.agent, self.client, self.by), *released]

    @property
    def entity_ids(self) -> list[str]:
        return sorted({each.subject_id for each in self.observations if ":" not in each.subject_id})

    @property
    def relationship_keys(self) -> list[str]:
        return sorted({each.subject_id for each in self.observations if ":" in each.subject_id})


class Stretch(NamedTuple):
    """The row of the queries of transactions; ``cut``: some were left out, as their values are large."""

    transactions: list[RecordedTransaction]
    cut: bool


class Touched(NamedTuple):
    """Subjects of which the transactions are wanted, and the times of others that are wanted."""

    subject_ids: list[str]
    moments: list[int]


TRANSACTIONS_PER_READ = 100


async def since(context: Context, after: int, until: int, limit: int = TRANSACTIONS_PER_READ) -> Stretch:
    """Return transactions in the owner's order, after one sequence and up to another. Of what a restore wrote
    one after another, only the first transaction is among them."""
    return await context.graph.only("change.since", Stretch, after=after, until=until, limit=limit)


async def newest(
    context: Context, start: int, before: int, touched: Touched | None, limit: int = TRANSACTIONS_PER_READ
) -> Stretch:
    """Return the transactions that were recorded from ``start`` on and before ``before``, the newest first.
    ``touched``: only those that changed one of these subjects, or have one of these times."""
    if touched is None:
        return await context.graph.only("change.newest", Stretch, since=start, before=before, limit=limit)
    touches = await context.graph.only(
        "change.touches", list[int], subject_ids=touched.subject_ids, since=start, before=before, limit=limit
    )
    moments = {*touches, *(each for each in touched.moments if start <= each < before)}
    if not moments:
        return Stretch([], cut=False)
    newest_first = sorted(moments, reverse=True)[:limit]
    return await context.graph.only("change.at_moments", Stretch, moments=newest_first)
