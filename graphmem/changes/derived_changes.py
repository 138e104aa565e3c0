"""Changes, worked out from transactions: what each entity and relationship showed before and after it.

Both states are those that a read as of ``at_ingested`` answers, so that whoever applies all changes in their
order has what such a read has, as long as no schema changed. Most transactions add values to entities that
were never merged: these are folded forward from one read for all of them. For a merge, a withdrawal, a split
and the like, both states are read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from graphmem.changes.change import Change, Known
from graphmem.changes.recorded_transactions import RecordedObservation, RecordedTransaction
from graphmem.changes.shown_states import (
    State,
    States,
    difference,
    entity_states,
    has_ended,
    relationship_states,
)
from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.errors import NotFound
from graphmem.model import facts, identity, ids, period_folds, times
from graphmem.model.reduction import Winner
from graphmem.model.rules import PLAIN, Rules
from graphmem.model.schema import SchemaDocument
from graphmem.model.schema.changes import FIRST_VERSION

_PLAIN_KINDS: Final = frozenset(kind.name for kind in facts.TABLE if kind.has_values and kind.live is None)
AFFECTED: Final = "receipt.affected"
AFFECTED_FROM: Final = 1_000_000  # the first index of such changes among those of their transaction
_Subjects = tuple[list[Known], list[str], list[tuple[str, Json]]]
"""Entities, subjects that were observed before, and the schema document of each type."""


async def check_entities(context: Context, entity_ids: list[str]) -> None:
    """Check that some entities are the owner's; raises NotFound: one of them is not."""
    if not entity_ids:
        return
    entities, *_ = await context.graph.only(
        "change.subjects", _Subjects, entity_ids=entity_ids, subject_ids=[], before=times.EARLIEST
    )
    if missing := sorted({*entity_ids} - {each.id for each in entities}):
        raise NotFound(f"there is no entity {missing[0]}: look it up by its name", entity_id=missing[0])


async def changes_of(
    context: Context,
    transactions: Sequence[RecordedTransaction],
    read_alone: int | None = None,
    *,
    is_whole: bool = True,
) -> tuple[list[Change], Sequence[RecordedTransaction]]:
    """Return the changes of some transactions, which stand in the order in which they were recorded.

    The transactions whose changes they are come with them: of those whose states are read for each alone
    ``read_alone`` at most, and none from before these. ``is_whole``: no other one was recorded between them.
    """
    if not transactions:
        return [], []
    deriver = _Deriver(context, transactions, is_whole)
    kept = await deriver.read(read_alone)
    changes = [change for each in kept for change in await deriver.changes(each)]
    return await _with_receipts(context, changes), kept


async def _with_receipts(context: Context, changes: list[Change]) -> list[Change]:
    """Return changes, with one more for each that withdraws or corrects what somebody was told before."""
    if context.services.receipts.mode == "off":
        return changes
    ends = [e for e in changes if e.before and (e.transaction.withdrawals or e.kind == "entity.corrected")]
    values = (each.before.values() for each in ends)
    winners = ({id for winner in each for id in winner.observation_id.split(",")} for each in values)
    before = [[sorted(ids), each.transaction.recorded_at] for ids, each in zip(winners, ends, strict=True)]
    counts = await context.graph.only("receipt.told", list[int], told=before) if before else []
    affected = [
        replace(each, kind=AFFECTED, index=AFFECTED_FROM + each.index, details={"receipts": str(count)})
        for each, count in zip(ends, counts, strict=True) if count
    ]  # fmt: skip
    return sorted([*changes, *affected], key=lambda each: (each.transaction.sequence, each.index))


class _Deriver:
    def __init__(self, context: Context, transactions: Sequence[RecordedTransaction], is_whole: bool) -> None:
        self._context, self._transactions, self._is_whole = context, transactions, is_whole
        self._known: dict[str, Known] = {}
        self._rules: dict[str, Rules] = {}
        self._seen: set[str] = set()
        """Entities and relationships that were observed before."""
        self._states: States = {}
        """What is shown after the transactions so far; what is not in it was not observed before."""
        self._apart: dict[str, set[str]] = {}
        """What transactions observed that share nothing with the others; see :meth:`_find_apart`."""
        self._at_end: States = {}
        """What is shown of that after all transactions."""

    async def read(self, read_alone: int | None) -> Sequence[RecordedTransaction]:
        """Read what the transactions observed, as it was before the first of them. Returns those of which the
        changes are worked out; see :func:`changes_of`."""
        while True:
            start, end = (self._transactions[place].recorded_at for place in (0, -1))
            entity_ids = {each for every in self._transactions for each in every.entity_ids}
            keys = {each for every in self._transactions for each in every.relationship_keys}
            self._seen.clear()
            await self._know(
                [*entity_ids, *(end for key in keys for end in ids.ends(key))], entity_ids | keys, start
            )
            alone = self._find_apart()
            if read_alone is None or len(alone) <= read_alone:
                break
            self._transactions = self._transactions[alone[-read_alone - 1] + 1 :]
        apart = {each for every in self._apart.values() for each in every}
        await self._know(apart, (), start)
        self._states |= await entity_states(self._context, sorted(entity_ids & self._seen | apart), start - 1)
        self._states |= await relationship_states(self._context, sorted(keys & self._seen), start - 1)
        self._at_end |= await entity_states(self._context, sorted(apart), end)
        return self._transactions

    def _find_apart(self) -> list[int]:
        """Find the transactions that folding forward does not tell and that share no entity with others.

        What they show before and after is what is shown before the first and after the last transaction, so
        that it is read at once for all. Returns the places of those whose states are read for each alone.
        """
        observed = [
            {*each.entity_ids}.union(*(self._known[id].merged for id in each.entity_ids if id in self._known))
            for each in self._transactions
        ]
        often = Counter(each for every in observed for each in every)
        is_certain = self._is_whole and not any(
            each.withdrawals or each.splits for each in self._transactions
        )
        self._apart.clear()
        alone: list[int] = []
        for place, transaction in enumerate(self._transactions):
            if self._is_plain(transaction):
                continue
            if (
                is_certain
                and not transaction.relationship_keys
                and all(often[id] == 1 for id in observed[place])
            ):
                self._apart[transaction.id] = observed[place]
            else:
                alone.append(place)
        return alone

    async def _know(self, entity_ids: Iterable[str], subject_ids: Iterable[str], before: int) -> None:
        new_ids = sorted({*entity_ids} - self._known.keys())
        subjects = sorted(subject_ids)
        if not new_ids and not subjects:
            return
        entities, older, documents = await self._context.graph.only(
            "change.subjects", _Subjects, entity_ids=new_ids, subject_ids=subjects, before=before
        )
        self._known |= {each.id: each for each in entities}
        self._seen.update(older)
        for entity_type, document in documents:
            self._rules[entity_type] = SchemaDocument.read(document).rules

    async def changes(self, transaction: RecordedTransaction) -> list[Change]:
        before, after = await self._around(transaction)
        changes = [
            *_of_files_and_schemas(transaction),
            *(self._of_entity(transaction, each, before, after) for each in sorted(after) if ":" not in each),
            *(
                self._of_relationship(transaction, each, before, after)
                for each in sorted(after)
                if ":" in each
            ),
            *(self._of_observation(transaction, each) for each in transaction.observations),
        ]
        self._states |= after
        # A withdrawal also names what its writer observed later: that is not seen yet.
        self._seen |= {each.subject_id for each in transaction.observations}
        self._seen |= {each for each, state in after.items() if state is not None}
        # What a withdrawal names grows as its writer goes on, so what it did not change takes no index.
        return [replace(each, index=index) for index, each in enumerate(filter(None, changes))]

    async def _around(self, transaction: RecordedTransaction) -> tuple[States, States]:
        """Return what is shown before and after a transaction of all that it may have changed."""
        entity_ids, keys = transaction.entity_ids, transaction.relationship_keys
        at = transaction.recorded_at
        if apart := self._apart.get(transaction.id):
            return (
                {each: self._states.get(each) for each in apart},
                {each: self._at_end.get(each) for each in apart},
            )
        if not self._is_plain(transaction):
            return await self._states_around(transaction)
        before = {each: self._states.get(each) for each in [*entity_ids, *keys]}
        after = dict(before)
        for each in transaction.observations:
            observation = each.at(at)
            if observation is not None and ":" not in each.subject_id:
                known = after[each.subject_id] or State(is_live=True)
                rules = self._rules.get(each.entity_type or "", PLAIN)
                folded = period_folds.fold(known.fold, observation, rules)
                after[each.subject_id] = State(known.is_live, folded)
        if keys:
            after |= dict.fromkeys(keys, None) | self._created(transaction)
            if more := [key for key in keys if key in self._seen]:
                after |= await relationship_states(self._context, more, at)
        return before, after

    def _is_plain(self, transaction: RecordedTransaction) -> bool:
        """Return whether folding forward tells what a transaction changed."""
        named = [
            *transaction.entity_ids,
            *(end for key in transaction.relationship_keys for end in ids.ends(key)),
        ]
        return not (
            transaction.withdrawals
            or transaction.splits
            or any(each.kind not in _PLAIN_KINDS for each in transaction.observations if each.entity_type)
            or any(each in self._known and self._known[each].merged for each in named)
            or len(transaction.relationship_keys)
            < sum(":" in each.subject_id for each in transaction.observations)
        )

    def _created(self, transaction: RecordedTransaction) -> States:
        """Return the relationships that a transaction made, from their only observations."""
        states: States = {}
        for each in transaction.observations:
            observation = each.at(transaction.recorded_at)
            if observation is not None and ":" in each.subject_id and each.kind == "create":
                states[each.subject_id] = State(
                    True, period_folds.fold({}, observation, PLAIN), None, False, transaction.recorded_at
                )
        return states

    async def _states_around(self, transaction: RecordedTransaction) -> tuple[States, States]:
        entity_ids, keys = set(transaction.entity_ids), set(transaction.relationship_keys)
        for split in transaction.splits:
            entity_ids |= {split.source, split.target}
            keys |= {each for each in split.subjects if ":" in each}
        if subjects := [each.subject for each in transaction.withdrawals]:
            withdrawn = await self._context.graph.only("change.withdrawn", list[str], subjects=subjects)
            entity_ids |= {each for each in withdrawn if ":" not in each}
            keys |= {each for each in withdrawn if ":" in each}
        at = transaction.recorded_at
        await self._know(
            {*entity_ids, *(end for key in keys for end in ids.ends(key))}, keys | entity_ids, at
        )
        before, after = States(), States()
        waiting = entity_ids
        # A merge, or its end, changes its survivor too, and that may be another one before than after.
        while waiting:
            if self._is_whole:
                before |= {each: self._states[each] for each in waiting if each in self._states}
            before |= await entity_states(self._context, sorted(waiting - before.keys()), at - 1)
            after |= await entity_states(self._context, sorted(waiting - after.keys()), at)
            survivors = {each.into for each in before.values() if each is not None and each.into}
            waiting = (before.keys() ^ after.keys()) | (survivors - before.keys())
        before |= await relationship_states(self._context, sorted(keys), at - 1)
        after |= await relationship_states(self._context, sorted(keys), at)
        shown_ids = [ids.ends(each) if ":" in each else (each,) for each in {*before, *after}]
        await self._know([each for every in shown_ids for each in every], (), at)
        return before, {each: after.get(each) for each in {*before, *after}}

    def _of_entity(
        self, transaction: RecordedTransaction, entity_id: str, before: States, after: States
    ) -> Change | None:
        was, now = before.get(entity_id), after[entity_id]
        fields = difference(was, now)
        observation = _first(transaction, entity_id)
        splits = {each.source for each in transaction.splits}
        kind = _entity_kind(was, now, is_new=entity_id not in self._seen)
        if kind is None and entity_id in splits:
            kind = "entity.split"
        elif kind is None and (fields[0] or fields[1]):
            is_correction = observation is not None and observation.kind == "correction"
            kind = "entity.corrected" if is_correction else "entity.updated"
        if kind is None:
            return None
        known = self._known.get(entity_id)
        entity_type = known.type if known else observation.entity_type if observation else None
        # What is gone has the name that it had.
        state = next((each for each in (now, was) if each is not None and each.into is None), None)
        texts = {name: winner.value for name, winner in state.fold.items()} if state else {}
        name = known.name if known else None
        if entity_type is not None and texts:
            name = identity.name_of(entity_type, entity_id, texts)
        into = {"merged_into": now.into} if now is not None and now.into else {}
        for split in transaction.splits:
            into |= {"split_into": split.target} if entity_id == split.source else {}
        return Change(transaction, kind, entity_id, entity_type, name, observation, *fields, details=into)

    def _of_relationship(
        self, transaction: RecordedTransaction, key: str, before: States, after: States
    ) -> Change | None:
        was, now = before.get(key), after[key]
        fields = difference(was, now)
        was_shown, is_shown = was is not None and was.is_shown, now is not None and now.is_shown
        if was_shown != is_shown:
            # A relationship of a merged entity is shown under a key under which nothing was observed.
            is_new = now is not None and now.created_at == transaction.recorded_at
            done = "deleted" if was_shown else "created" if is_new else "restored"
        elif fields[0] or fields[1]:
            ended = [has_ended(each, transaction.recorded_at) for each in (was, now)]
            done = "ended" if ended == [False, True] else "changed"
        else:
            return None
        ends = tuple(self._known.get(end) or Known(end, "", None) for end in ids.ends(key))
        observation = _first(transaction, key)
        kind = f"relationship.{done}"
        return Change(transaction, kind, key, None, None, observation, *fields, ends=ends)

    def _of_observation(self, transaction: RecordedTransaction, observation: RecordedObservation) -> Change:
        known = self._known.get(observation.subject_id)
        pairs = zip(observation.fields, observation.values, strict=True)
        return Change(
            transaction, "observation.created", observation.id, observation.entity_type,
            known.name if known else None, observation,
            after={name: Winner("", observation.id, value) for name, value in pairs},
        )  # fmt: skip


def _entity_kind(was: State | None, now: State | None, *, is_new: bool) -> str | None:
    """Return the kind of a change that is more than one of fields."""
    if now is None:
        return "entity.deleted" if was is not None and was.is_shown else None
    if was is None:
        return "entity.created" if is_new else "entity.restored"
    if now.into is not None and was.into != now.into:
        return "entity.merged"
    if was.into is not None and now.into is None:
        return "entity.unmerged"
    if now.into is not None or was.is_live == now.is_live:
        return None
    return "entity.restored" if now.is_live else "entity.deleted"


def _first(transaction: RecordedTransaction, subject_id: str) -> RecordedObservation | None:
    """Return the observation of a subject; a correction before others."""
    own = [each for each in transaction.observations if each.subject_id == subject_id]
    return next((each for each in own if each.kind == "correction"), own[0] if own else None)


def _of_files_and_schemas(transaction: RecordedTransaction) -> Iterator[Change]:
    for source_id, name in transaction.sources:
        yield Change(transaction, "source.stored", source_id, name=name)
    for interpretation_id, source_id, error in transaction.interpretations:
        details = {"interpretation_id": interpretation_id, "error": error}
        yield Change(transaction, "source.interpreted", source_id, details=details)
    for withdrawal in transaction.withdrawals:
        noun = "source" if withdrawal.subject_kind in ("source", "interpretation") else "writing"
        done = "withdrawn" if withdrawal.kind == "exclude" else "reinstated"
        details = {"subject_kind": withdrawal.subject_kind}
        yield Change(transaction, f"{noun}.{done}", withdrawal.subject, details=details)
    for entity_type, version in transaction.schemas:
        kind = "schema.registered" if version == FIRST_VERSION else "schema.changed"
        yield Change(transaction, kind, entity_type, entity_type, details={"version": version})
