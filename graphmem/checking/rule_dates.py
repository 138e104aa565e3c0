"""When merges by rule held: worked out again from all facts of an owner, and corrected where it is stored.

A restore writes older facts after newer ones, and observations that are excluded already. What writes noted
of when merges by rule began and ended follows the order of writing then, and not that of recording.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.model import rule_history, times
from graphmem.model.dismissals import Dismissal, DismissalKind
from graphmem.model.membership import MergeFact, RuleSpan
from graphmem.model.rule_history import RuleFacts, Statement
from graphmem.model.rule_merges import OwnRule
from graphmem.writing import Writers, refolding
from graphmem.writing import state as states
from graphmem.writing.requests import Touched
from graphmem.writing.state import LockedOwner, LookRow
from graphmem.writing.things import evidence_of

SUBJECTS: Final = 500
"""Entities that one query reads, or writes."""
ATTEMPTS: Final = 3
"""How often the facts are read while others write."""


class _SubjectPage(NamedTuple):
    """The row of ``audit/subjects.cypher``."""

    subject_ids: list[str]
    last: list[Any] | None


class _StatementRow(NamedTuple):
    subject_id: str
    recorded_at: int
    toggles: list[int]
    names: list[str]
    values: list[str]


class _StatementRows(NamedTuple):
    """The row of ``audit/statements.cypher``."""

    statements: list[_StatementRow]


class _DismissalRow(NamedTuple):
    id: str
    kind: DismissalKind
    entity_a: str
    entity_b: str
    recorded_at: int


class _DismissalRows(NamedTuple):
    """The row of ``audit/dismissals.cypher``."""

    dismissals: list[_DismissalRow]


class _Dated(NamedTuple):
    """The row of ``audit/date_rules.cypher``."""

    revision: int


@dataclass(slots=True)
class _Facts:
    """What is read of an owner: the facts, and the merges by rule as they are stored."""

    rules: dict[str, OwnRule] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    merges: set[MergeFact] = field(default_factory=set)
    dismissals: list[Dismissal] = field(default_factory=list)
    stored: set[RuleSpan] = field(default_factory=set)

    def differences(self) -> list[dict[str, Any]]:
        """Return the entities of which it is stored otherwise when their merges by rule held, as rows."""
        facts = RuleFacts(self.rules, self.statements, self.merges, self.dismissals)
        derived, stored = (
            _by_subject(rule_history.spans(facts)),
            _by_subject(rule_history.joined(self.stored)),
        )
        return [
            {"subject_id": subject_id, "spans": [_stored_as(span) for span in derived.get(subject_id, ())]}
            for subject_id in sorted({*derived, *stored})
            if derived.get(subject_id) != stored.get(subject_id)
        ]


def _by_subject(spans: Iterable[RuleSpan]) -> dict[str, list[RuleSpan]]:
    by_subject: dict[str, list[RuleSpan]] = defaultdict(list)
    for span in spans:
        by_subject[span.subject_id].append(span)
    return by_subject


def _stored_as(span: RuleSpan) -> dict[str, Any]:
    until = None if span.end == times.LATEST else span.end
    return {"into": span.into, "alternative": span.alternative, "from": span.start, "until": until}


async def mend(
    database: Database,
    owner: str,
    writers: Writers,
    entity_types: Iterable[str],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Correct when the merges by rule of an owner held.

    Nothing is changed where others write all the time.

    Args:
        progress: called with the number of entities that were read since the last call.

    Returns: the entities whose merges were dated otherwise.

    Raises:
        Unavailable: the database failed.
    """
    for _ in range(ATTEMPTS):
        locked = await database.writes(owner).one("owner.lock", LockedOwner)
        if locked is None:
            return 0
        facts = await _read(database.reads(owner), owner, writers, sorted(entity_types), progress)
        rows = await asyncio.to_thread(facts.differences)
        if not rows:
            return 0
        writers.check_disk()
        async with database.transaction(owner) as tx:
            now = await tx.only("owner.lock", LockedOwner)
            if now.revision != locked.revision:
                continue
            for start in range(0, len(rows), SUBJECTS):
                await tx.only("audit.date_rules", _Dated, rows=rows[start : start + SUBJECTS])
        return len(rows)
    return 0


async def _read(
    queries: Queries,
    owner: str,
    writers: Writers,
    entity_types: list[str],
    progress: Callable[[int], None] | None,
) -> _Facts:
    facts = _Facts()
    touched = Touched(types=set(entity_types))
    look = await queries.only("write.look", LookRow, **touched.parameters)
    state = states.of_look(look, owner, touched, writers.rules_off, whole=False)
    if state is None:
        return facts
    for kind in entity_types:
        rule = state.own_rule(kind)
        if rule is None:
            continue
        async for entity_ids in _entity_ids(queries, kind):
            await _add(queries, facts, rule, entity_ids)
            if progress is not None:
                progress(len(entity_ids))
    if facts.rules:
        row = await queries.only("audit.dismissals", _DismissalRows)
        facts.dismissals = [Dismissal(*each, transaction_id="") for each in row.dismissals]
    return facts


async def _entity_ids(queries: Queries, kind: str) -> AsyncIterator[list[str]]:
    """Yield the ids of all entities of a type."""
    for live in (True, False):
        after: str | None = ""
        while after is not None:
            page = await queries.only(
                "audit.subjects", _SubjectPage, entities=True, type=kind, live=live, since=0, after=after,
                limit=SUBJECTS,
            )  # fmt: skip
            if page.subject_ids:
                yield page.subject_ids
            after = page.last[1] if page.last else None


async def _add(queries: Queries, facts: _Facts, rule: OwnRule, entity_ids: list[str]) -> None:
    """Add the facts about some entities of one type."""
    subjects = [[entity_id, rule.fields] for entity_id in entity_ids]
    row = await queries.only("audit.statements", _StatementRows, subjects=subjects)
    for each in row.statements:
        evidence = evidence_of(rule, dict(zip(each.names, each.values, strict=True)))
        facts.statements.append(Statement(each.subject_id, evidence, each.recorded_at, tuple(each.toggles)))
    facts.rules.update(dict.fromkeys(entity_ids, rule))
    merges = await refolding.membership(queries, entity_ids)
    facts.merges.update(merges.facts)
    facts.stored.update(merges.rules)
