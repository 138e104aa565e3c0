"""Ending a correction: it counts on as an ordinary observation of its time, and the newest one wins again.

Observations never change. One transaction withdraws the transactions of the corrections, stores their values
again as ordinary observations of the same time, and stores the items that end them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

from graphmem.database.queries import Queries
from graphmem.model import ids, period_folds, times
from graphmem.model.links import DEFAULT_PRIORITY
from graphmem.model.reduction import Fold, Observation
from graphmem.writing import withdrawing
from graphmem.writing.draft import Draft
from graphmem.writing.refolding import observations
from graphmem.writing.state import State
from graphmem.writing.store_request import StoreRequest
from graphmem.writing.write_requests import Receipt, StoredItem, Touched

NOT_HELD: Final = "ERR_NOT_HELD"
_FIRST_INDEX: Final = 1 << 24
"""The index of the first observation that takes the place of a correction; those of items are smaller."""


class _Correction(NamedTuple):
    observation_id: str
    subject_id: str
    entity_type: str
    observed_at: int
    fields: list[str]
    transaction_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest(StoreRequest):
    """A store that ends corrections: those that hold fields of items with ``supersedes``, or one field."""

    released: tuple[str, str] | None = None  # an entity and the field of which all corrections end
    ended: tuple[tuple[_Correction, Observation], ...] = ()  # each with what takes its place
    folds: Mapping[str, Fold] = field(default_factory=dict)  # what the entities of these come to without them

    @property
    def shares_turn(self) -> bool:
        return False

    @property
    def content(self) -> dict[str, Any]:
        stored = StoreRequest.content.__get__(self)
        return {**stored, "released": [*self.released]} if self.released else stored

    def touch(self, touched: Touched) -> None:
        StoreRequest.touch(self, touched)
        touched.entities.update([self.released[0]] if self.released else [])

    async def informed(self, queries: Queries, state: State) -> Self:
        limits: dict[tuple[str, str], int] = {}
        for entity_id, name, limit in self._superseded():
            if state.entities.get(entity_id) is not None:
                key = state.entities.root(entity_id), name
                limits[key] = max(limits.get(key, limit), limit)
        roots = {each.subject_id: root for root, _ in limits for each in state.entities.members(root)}
        corrections = await queries.only("entity.corrections", list[_Correction], entity_ids=sorted(roots))
        ended: dict[str, _Correction] = {}
        for (root, name), limit in limits.items():
            of_field = [c for c in corrections if roots[c.subject_id] == root and name in c.fields]
            if all(each.observed_at <= limit for each in of_field):
                ended |= {each.observation_id: each for each in of_field}
        demoted: dict[str, Observation] = {}
        folds: dict[str, Fold] = {}
        for member_id in sorted({each.subject_id for each in ended.values()}):
            rules = state.rules(state.entities.survivor(member_id).kind)
            fold: Fold = {}
            async for observation in observations(queries, member_id):
                if (correction := ended.get(observation.id)) is not None:
                    demoted[observation.id] = self._demoted(observation, correction, len(demoted))
                else:
                    fold = period_folds.fold(fold, observation, rules)
            folds[member_id] = fold
        pairs = tuple((ended[each], observation) for each, observation in demoted.items())
        return replace(self, ended=pairs, folds=folds)

    def _superseded(self) -> Iterator[tuple[str, str, int]]:
        """Yield entities and fields whose corrections end, where none was observed after a time."""
        if self.released is not None:
            yield *self.released, times.LATEST
        for item in self.items:
            limit = times.LATEST if item.observed_at is None else item.observed_at
            if item.observed_at is not None and limit % times.DAY == 0:
                # A time without its hour may be after a correction of its day.
                limit += times.DAY
            yield from ((item.entity_id, name, limit) for name in item.fields if item.supersedes)

    def _demoted(self, observation: Observation, correction: _Correction, place: int) -> Observation:
        return replace(
            observation, id=ids.unplaced_observation_id(self.transaction_id, _FIRST_INDEX + place),
            entity_type=correction.entity_type, kind="value", recorded_at=0,
            transaction_id=self.transaction_id, priority=DEFAULT_PRIORITY, agent=self.agent,
            basis="target_id",
        )  # fmt: skip

    def apply(self, draft: Draft) -> Receipt:
        """End the corrections, then add the items; refused if none holds the field that it names."""
        for member_id, fold in self.folds.items():
            draft.entities.put(replace(draft.entities[member_id], fold=fold))
        for correction, observation in self.ended:
            reason = f"the correction of {', '.join(correction.fields)} has ended"
            withdrawing.withdraw(draft, "exclude", "transaction", correction.transaction_id, reason)
            draft.observe_entity(replace(observation, recorded_at=draft.recorded_at))
            self._warn(draft, correction)
        receipt = StoreRequest.apply(self, draft)
        return receipt if self.released is None else replace(receipt, **self._answer(draft, *self.released))

    def _warn(self, draft: Draft, correction: _Correction) -> None:
        """Warn of the fields that were corrected together with one that is named."""
        named = {name for _, name, _ in self._superseded()}
        for name in sorted({*correction.fields} - named):
            message = (
                f"{name} was corrected together with what is released, so that a newer value wins now: "
                "POST /correct holds it again"
            )
            draft.warn(
                "RELEASED_TOGETHER", message, once=True, field=name, observation_id=correction.observation_id
            )

    def _answer(self, draft: Draft, entity_id: str, name: str) -> dict[str, Any]:
        if not draft.exists(entity_id):
            draft.stop("ERR_TARGET_NOT_FOUND", "$.entity_id", f"there is no entity {entity_id}")
        if not self.ended:
            draft.stop(NOT_HELD, "$.field", f"no correction holds {name}: there is nothing to release")
        after = draft.survivor_view(entity_id)
        assert after is not None
        winner = after.fold[name].observation_id
        item = StoredItem(
            after.subject_id, after.kind, winner, "extended", "target_id", after.version, deduplicated=False
        )
        return {"items": [item], "folds": [after.fold], "names": [after.name]}
