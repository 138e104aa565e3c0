"""When merges by rule held: worked out again from all facts of an owner, and corrected where it is stored.

A turn dates the merges that it makes and ends. It cannot know all dates where a restore writes older facts
after newer ones, where other writes come between a withdrawal and the folding of what it changed, and where
the rule of a type changes. All facts tell the dates, by the rule of today.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from graphmem.checking.subjects import kinds_of, stretches
from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.model import rule_history, times
from graphmem.model.dismissals import DatedDismissal
from graphmem.model.identity_rules import OwnRule
from graphmem.model.membership import MergeFact, RuleSpan
from graphmem.model.rule_history import RuleFacts, Statement
from graphmem.writing import Writers, refolding
from graphmem.writing import state as states
from graphmem.writing.state import LockedOwner, LookRow
from graphmem.writing.things import evidence_of
from graphmem.writing.write_requests import Touched

SUBJECTS: Final = 500
"""Entities that one query writes."""
SUBJECTS_READ: Final = 2_500
"""Entities that one query reads."""


class _StatementRow(NamedTuple):
    subject_id: str
    recorded_at: int
    toggles: list[int]
    names: list[str]
    values: list[str]
    basis: str | None


class _StoredMerge(NamedTuple):
    """The merge by rule of an entity as it is now, and all that are stored; the last may be open."""

    subject_id: str
    into: str | None
    alternative: str | None
    stored: list[RuleSpan]

    @property
    def spans(self) -> list[RuleSpan]:
        """All merges by rule that it had, in the order of time."""
        return sorted(self.stored, key=lambda span: (span.start, span.end))


_Undated = tuple[int | None, int, int | None]
"""The columns of ``audit/undated.cypher``."""


class WrongDates(NamedTuple):
    """An entity of which it is stored otherwise when its merges by rule held; both sorted."""

    subject_id: str
    stored: list[RuleSpan]
    derived: list[RuleSpan]


@dataclass(slots=True)
class Dates:
    """What a comparison found.

    ``has_missed``: the merges of some entities changed during the comparison: they were not compared.
    """

    wrong: list[WrongDates] = field(default_factory=list)
    has_missed: bool = False


@dataclass(slots=True)
class _Facts:
    """What is read of an owner: the facts that were recorded up to ``known_at``, and the merges by rule as
    they are stored. ``is_whole``: nothing was written meanwhile."""

    known_at: int = times.EARLIEST
    is_whole: bool = False
    rules: dict[str, OwnRule] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    merges: set[MergeFact] = field(default_factory=set)
    dismissals: list[DatedDismissal] = field(default_factory=list)
    stored: dict[str, _StoredMerge] = field(default_factory=dict)

    def compared(self) -> Dates:
        """Compare what is stored with what the facts come to.

        An entity that is not merged now as they say is left out: it waits to be folded, or is damaged.
        """
        facts = RuleFacts(self.rules, self.statements, self.merges, self.dismissals)
        derived = _by_subject(rule_history.spans(facts))
        dates = Dates()
        for subject_id in sorted({*derived, *self.stored}):
            spans = derived.get(subject_id, [])
            merge = self.stored.get(subject_id) or _StoredMerge(subject_id, None, None, [])
            stored = merge.spans
            moments = {moment for span in stored for moment in (span.start, span.end)} - {times.LATEST}
            if not self.is_whole and max(moments, default=self.known_at) > self.known_at:
                dates.has_missed = True
            elif rule_history.joined(stored) != spans and _is_present(merge, spans):
                dates.wrong.append(WrongDates(subject_id, stored, spans))
        return dates


def _is_present(merge: _StoredMerge, spans: list[RuleSpan]) -> bool:
    """Return whether an entity is merged now as the last of its spans says."""
    present = [(span.into, span.alternative) for span in spans if span.until is None]
    return present == ([(merge.into, merge.alternative)] if merge.alternative is not None else [])


def _by_subject(spans: Iterable[RuleSpan]) -> dict[str, list[RuleSpan]]:
    by_subject: dict[str, list[RuleSpan]] = defaultdict(list)
    for span in spans:
        by_subject[span.subject_id].append(span)
    return by_subject


def shown_as(span: RuleSpan) -> dict[str, Any]:
    until = None if span.until is None else times.render(span.until)
    return {
        "into": span.into,
        "alternative": span.alternative,
        "from": times.render(span.start),
        "until": until,
    }


def _stored_as(span: RuleSpan) -> dict[str, Any]:
    return {"into": span.into, "alternative": span.alternative, "from": span.start, "until": span.until}


def _columns(span: RuleSpan) -> list[Any]:
    return [span.into, span.alternative, span.start, -1 if span.until is None else span.until]


async def compare(database: Database, owner: str, writers: Writers, entity_types: Iterable[str]) -> Dates:
    """Compare when the merges by rule of an owner held with what the facts come to; writes may go on.

    Args:
        entity_types: all types of the owner.

    Raises:
        Unavailable: the database failed.
    """
    # Waits for commits under way: what was recorded until then is read whole.
    locked = await database.writes(owner).one("owner.lock", LockedOwner)
    if locked is None:
        return Dates()
    reads, facts = database.reads(owner), _Facts(locked.recorded_at or 0)
    await _read(reads, owner, writers, facts, sorted(entity_types))
    *_, revision = await reads.only("audit.undated", _Undated)
    facts.is_whole = revision == locked.revision
    return await asyncio.to_thread(facts.compared)


async def mend(database: Database, owner: str, writers: Writers, entity_types: Iterable[str]) -> Dates:
    """Correct when the merges by rule of an owner held; see :func:`compare`.

    All entities that were ever merged with a corrected one wait then to be folded again
    (:meth:`graphmem.writing.writers.Writers.refold_withdrawn`): versions count when merges began and ended.
    """
    undated, waiting, _ = await database.reads(owner).only("audit.undated", _Undated)
    dates = await compare(database, owner, writers, entity_types)
    rows = [
        {
            "subject_id": each.subject_id,
            "stored": sorted(map(_columns, each.stored)),
            "spans": list(map(_stored_as, each.derived)),
        }
        for each in dates.wrong
    ]
    if rows:
        writers.check_disk()
        async with database.transaction(owner) as tx:
            for start in range(0, len(rows), SUBJECTS):
                await tx.only("audit.date_rules", int, rows=rows[start : start + SUBJECTS])
    if undated is not None and not waiting and not dates.has_missed:
        await database.write("audit.dated", owner, undated=undated)
    return dates


async def is_certain(database: Database, owner: str) -> bool:
    """Return whether the turns of an owner have dated all merges by rule: no work of the worker is left."""
    undated, waiting, _ = await database.reads(owner).only("audit.undated", _Undated)
    return undated is None and not waiting


async def mend_undated(database: Database, owner: str, writers: Writers) -> int:
    """Correct when the merges by rule of an owner held, where turns could not date all of them.

    It does nothing while withdrawals or changed schemas wait to be folded. Returns the number of entities
    whose merges were dated otherwise.

    Raises:
        Unavailable: the database failed.
    """
    undated, waiting, _ = await database.reads(owner).only("audit.undated", _Undated)
    if undated is None or waiting:
        return 0
    entities, *_ = await database.reads(owner).only("audit.types", tuple[list[str], list[str], int])
    return len((await mend(database, owner, writers, entities)).wrong)


async def _read(
    queries: Queries,
    owner: str,
    writers: Writers,
    facts: _Facts,
    entity_types: list[str],
) -> None:
    touched = Touched(types=set(entity_types))
    look = await queries.only("write.look", LookRow, **touched.parameters)
    state = states.of_look(look, owner, touched, writers.rules_off, whole=False)
    # Of the other types no rule merges entities, and none ever did.
    kinds = [kind for kind in entity_types if state is not None and state.may_have_keys(kind)]
    rules = {kind: state.own_rule(kind) for kind in kinds if state is not None}
    async for types, _ in stretches(queries, kinds_of(kinds), SUBJECTS_READ):
        of_types = ((entity_id, rules[kind]) for entity_id, kind in types.items())
        await _add(queries, facts, [*types], {each: rule for each, rule in of_types if rule is not None})
    if facts.rules:
        dismissals = await queries.only("audit.dismissals", list[DatedDismissal])
        facts.dismissals = [each for each in dismissals if each.recorded_at <= facts.known_at]


async def _add(queries: Queries, facts: _Facts, entity_ids: list[str], rules: dict[str, OwnRule]) -> None:
    """Add the merges of some entities as they are stored, and the facts about those that have a rule."""
    stored = await queries.only("audit.rule_spans", list[_StoredMerge], entity_ids=entity_ids)
    facts.stored.update({each.subject_id: each for each in stored})
    if not rules:
        return
    known_at = facts.known_at
    subjects = [[entity_id, rule.fields] for entity_id, rule in rules.items()]
    for each in await queries.only("audit.statements", list[_StatementRow], subjects=subjects):
        if each.recorded_at <= known_at:
            evidence = evidence_of(
                rules[each.subject_id], dict(zip(each.names, each.values, strict=True)), each.basis
            )
            toggles = _until(known_at, each.toggles)
            facts.statements.append(Statement(each.subject_id, evidence, each.recorded_at, toggles))
    facts.rules.update(rules)
    merges = await refolding.membership(queries, [*rules], known_at)
    facts.merges.update(each._replace(toggles=_until(known_at, each.toggles)) for each in merges.facts)


def _until(known_at: int, moments: Iterable[int]) -> tuple[int, ...]:
    return tuple(moment for moment in moments if moment <= known_at)
