"""Comparing with the withdrawals what is noted on subjects and observations: when they count."""

from dataclasses import dataclass, field
from typing import Any, Final, LiteralString, NamedTuple

from graphmem.checking.stretch import AuditDifference
from graphmem.database.driver import Database

STAMPS_LIMIT: Final = 1_000
"""Observations that one statement compares or mends: each takes 10 KB of its transaction."""


class _Subject(NamedTuple):
    """A source, an interpretation, a transaction or a writing that was withdrawn."""

    subject_id: str
    stored: list[int] | None
    derived: list[int]


class _Stamp(NamedTuple):
    """An observation on which it is noted wrongly when it counts."""

    observation_id: str
    subject_id: str
    of_node: list[int] | None
    of_edge: list[int] | None
    derived: list[int]


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
        if any((subject.stored or []) != subject.derived for subject in subjects):
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
            wrong = [subject for subject in subjects if (subject.stored or []) != subject.derived]
            for subject in wrong:
                self._note(subject.subject_id, "excluded", subject.stored, subject.derived)
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
                    self._note(stamp.subject_id, f"excluded {stamp.observation_id}", noted, stamp.derived)
                if self.fix and stamps:
                    observation_ids = sorted({stamp.observation_id for stamp in stamps})
                    await tx.only("audit.restamp", int, subjects=[], observation_ids=observation_ids)
            more = self.fix and len(stamps) == STAMPS_LIMIT

    def _note(self, subject_id: str, what: str, stored: Any, derived: list[int]) -> None:
        difference = AuditDifference(subject_id, what, stored, derived)
        self.differences.setdefault(subject_id, []).append(difference)
