"""Deriving some entities and relationships again from the facts, where facts came late from another database.

What single writes derive is exact while facts come in the order of their times. Where merges, splits and
dismissals of two histories meet, what counts follows from all of them: it is derived as the audit derives it.
"""

from collections.abc import Iterable
from typing import Final

from graphmem.checking.audit import Audit
from graphmem.checking.fact_check import StampCheck, derive
from graphmem.database.jobs import in_halves
from graphmem.writing import turn_rows

SUBJECTS_LIMIT: Final = 500  # entities and relationships that one write derives again


class Rederiving(Audit):
    async def settle_stamps(self, subject_ids: list[str]) -> set[str]:
        """Note on observations when they count, where withdrawals and observations came in another order;
        return the subjects of those on which something else was noted."""
        check = StampCheck(self.database, self.owner, fix=True)
        await check.compare_withdrawn()
        for start in range(0, len(subject_ids), SUBJECTS_LIMIT):
            await check.compare(subject_ids[start : start + SUBJECTS_LIMIT])
        return {each for each in check.differences if ":" in each or each.startswith("ent_")}

    async def rederive(self, subject_ids: Iterable[str]) -> None:
        """Derive entities and relationships, by id and by key, from all facts about them, and write what
        differs with the counters and the state hash. Raises Unavailable: the database failed; it may be run
        again."""
        every = sorted(subject_ids, key=lambda each: (":" in each, each))
        for start in range(0, len(every), SUBJECTS_LIMIT):
            await in_halves(every[start : start + SUBJECTS_LIMIT], self._rederive)

    async def _rederive(self, subject_ids: list[str]) -> None:
        entities = [each for each in subject_ids if ":" not in each]
        keys = {each for each in subject_ids if ":" in each}
        async with self._locked():
            while True:
                read = await self._read_stretch(entities, sorted(keys))
                if read is None:
                    return
                stored, merges = read
                derived = await derive(self._queries, stored, merges, self.seen, entities)
                # What is shown as a relationship that was not read would count as new.
                every = [
                    things[key]
                    for things in (derived.relationships, derived.relationships_before)
                    for key in things
                ]
                places = {place for each in every for place in (each.subject_id, each.into) if place}
                further = places - keys
                if not further:
                    break
                keys |= further
            params = turn_rows.parameters(derived)
            if params["entities"] or params["relationships"]:
                await self._turn(params)
