"""Membership: which observations count for which entity or relationship, on which clock.

An observation counts for its own subject unless it is withdrawn. A merged entity is a *member* of its
*survivor*, and the observations of a member count for the survivor.

A *withdrawal* is a fact about a source, an interpretation, a transaction or a *writing* (what a writer wrote
in a span of time): the observations of this subject do not count from then on, until a later fact reinstates
them. It acts on the second clock alone: what was known before still counted then. An observation counts while
neither its source nor its interpretation is withdrawn, and while one of its transactions is not: what others
recorded too stays, and so do merges, which an unmerge ends. A transaction is withdrawn by itself or with a
writing that it belongs to. The times at which an observation stops and begins again to count are its
*toggles*; it counts as of a time if the number of toggles up to that time is even.

A merge by rule (:mod:`graphmem.model.rule_merges`) is derived. It holds from the transaction that made it
true until the one that ended it, on the second clock alone, and for every time of the first. A merge that is
a fact beats it.

A *split* is a fact about single observations: from then on each counts for another subject than its own, on
the second clock alone. A split that is withdrawn has no effect; of the others the newest decides.

A merge holds on both clocks from the time that it was made until the unmerge that ended it. Of the facts
about one entity that are visible as of the clocks, the newest decides. A restore may unite histories in which
A was merged into B and B into A, directly or through others: the merge that would close the circle has no
effect.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple

from graphmem.model import ids, times

SubjectKind = Literal["source", "interpretation", "transaction", "writing", "split"]
"""What a withdrawal may be about."""

MergedInto = Mapping[str, str]
"""By merged entity, the entity that it was merged into; that one may be merged as well."""
Touches = Mapping[str, tuple[tuple[int, int], ...]]
"""By entity, (``recorded_at``, least ``observed_at``) of each transaction that observed it, in that order."""


def toggles(
    recorded_at: int,
    subjects: Iterable[Iterable[int]],
    transactions: Iterable[tuple[int, Iterable[Iterable[int]]]] = (),
) -> tuple[int, ...]:
    """Return when an observation stopped and began again to count, in order; none: it always counted.

    Args:
        recorded_at: when it was recorded. With a subject withdrawn by then, it never counted.
        subjects: the toggles of its source and its interpretation, as far as it has them.
        transactions: of each of its transactions, when it was recorded, and the toggles of it and
            of its writings. None: its transactions were never withdrawn.
    """
    groups = [tuple(each) for each in subjects]
    written = [(at, [tuple(each) for each in of_one]) for at, of_one in transactions]
    moments = {each for group in groups for each in group}
    moments |= {
        each for at, of_one in written for each in (at, *(each for group in of_one for each in group))
    }
    changes: list[int] = []
    for moment in sorted({recorded_at, *(each for each in moments if each > recorded_at)}):
        known = [of_one for at, of_one in written if at <= moment]
        is_withdrawn = _is_withdrawn(groups, moment) or (
            bool(known) and all(_is_withdrawn(of_one, moment) for of_one in known)
        )
        if is_withdrawn is (len(changes) % 2 == 0):
            changes.append(moment)
    return tuple(changes)


def _is_withdrawn(groups: Iterable[Iterable[int]], moment: int) -> bool:
    return any(not counts(group, moment) for group in groups)


def counts(toggles: Iterable[int] | None, at_ingested: int = times.LATEST) -> bool:
    """Return whether an observation counts as of a time of recording (microseconds)."""
    return sum(each <= at_ingested for each in toggles or ()) % 2 == 0


class MergeFact(NamedTuple):
    """A merge of ``subject_id`` into another entity, or its end (``into`` is ``None``); microseconds."""

    subject_id: str
    at: int
    recorded_at: int
    observation_id: str
    into: str | None
    toggles: tuple[int, ...] = ()  # those of its observation
    separated: tuple[str, ...] = ()  # the members that the end of a merge separated it from
    rule: str | None = None  # :func:`graphmem.model.facts.merge_rule`

    @property
    def place(self) -> tuple[int, str]:
        """The order in which facts count: the later decides."""
        return self.at, self.observation_id


class RuleSpan(NamedTuple):
    """A merge by rule of ``subject_id`` from ``start`` until before ``end``, both recorded times."""

    subject_id: str
    into: str
    start: int
    end: int = times.LATEST
    alternative: str = ""

    def holds(self, at_ingested: int) -> bool:
        return self.start <= at_ingested < self.end or (at_ingested == self.end == times.LATEST)


class MemberSpan(NamedTuple):
    """A member counted for a survivor from ``start`` to ``end``, both recorded times, both inclusive."""

    member_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Membership:
    """The merges among some entities."""

    facts: tuple[MergeFact, ...] = ()  # ordered by :attr:`MergeFact.place`
    entity_ids: frozenset[str] = frozenset()  # all entities that were ever merged with each other
    rules: tuple[RuleSpan, ...] = ()  # the merges by rule among them, ordered
    _spans: dict[int, Mapping[str, list[MemberSpan]]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, facts: Iterable[MergeFact], entity_ids: Iterable[str] = (), rules: Iterable[RuleSpan] = ()
    ) -> Membership:
        return cls(tuple(sorted(facts, key=attrgetter("place"))), frozenset(entity_ids), tuple(sorted(rules)))

    def _counting(self, at: int, at_ingested: int) -> Iterator[MergeFact]:
        for fact in self.facts:
            if fact.at <= at and fact.recorded_at <= at_ingested and counts(fact.toggles, at_ingested):
                yield fact

    def separated(self, at_ingested: int = times.LATEST) -> dict[str, set[str]]:
        """Return the entities that somebody separated from each entity, either way round, as of a time."""
        separated: dict[str, set[str]] = {}
        for fact in self._counting(times.LATEST, at_ingested):
            for other in fact.separated:
                separated.setdefault(fact.subject_id, set()).add(other)
                separated.setdefault(other, set()).add(fact.subject_id)
        return separated

    def merged_into(self, at: int = times.LATEST, at_ingested: int = times.LATEST) -> dict[str, str]:
        """Return what each merged entity is merged into, as of two clocks."""
        merged: dict[str, str] = {}
        for fact in self._counting(at, at_ingested):
            _apply(fact, merged)
        return _with_rules(merged, [rule for rule in self.rules if rule.holds(at_ingested)])

    def merge_rules(self, at: int = times.LATEST, at_ingested: int = times.LATEST) -> dict[str, str]:
        """Return the rule of each entity that a fact of rule version 2 merged, as of two clocks."""
        merged, rules = dict[str, str](), dict[str, str | None]()
        for fact in self._counting(at, at_ingested):
            _apply(fact, merged)
            if merged.get(fact.subject_id) == fact.into:
                rules[fact.subject_id] = fact.rule
        return {subject_id: rule for subject_id, rule in rules.items() if rule and subject_id in merged}

    def spans(self, at: int = times.LATEST) -> Mapping[str, list[MemberSpan]]:
        """Return which members each survivor had when, as it was recorded, up to one time of observation."""
        if at not in self._spans:
            self._spans[at] = _spans([fact for fact in self.facts if fact.at <= at], self.rules)
        return self._spans[at]

    def member_ids(self, entity_id: str, at: int = times.LATEST) -> set[str]:
        return {entity_id, *(span.member_id for span in self.spans(at).get(entity_id, ()))}

    def changes(
        self, entity_id: str, touches: Touches, at: int = times.LATEST, at_ingested: int = times.LATEST
    ) -> set[int]:
        """Return when transactions, up to two clocks, changed what an entity shows; merges count."""
        changed: set[int] = set()
        for span in (MemberSpan(entity_id, times.EARLIEST, times.LATEST), *self.spans(at).get(entity_id, ())):
            touched = touches.get(span.member_id, ())
            last = bisect_right(touched, (min(span.end, at_ingested), times.LATEST))
            first = bisect_left(touched, (span.start, times.EARLIEST))
            changed.update(
                recorded_at for recorded_at, observed_at in touched[first:last] if observed_at <= at
            )
        # A rule may merge what a transaction does not touch.
        moments = {moment for rule in self.rules for moment in (rule.start, rule.end)}
        moved = {each for span in self.spans(at).get(entity_id, ()) for each in (span.start, span.end)}
        moved |= {
            each for rule in self.rules if rule.subject_id == entity_id for each in (rule.start, rule.end)
        }
        return changed | {each for each in moved & moments if each <= at_ingested and each != times.LATEST}


def survivor(entity_id: str, merged_into: MergedInto) -> str:
    """Return the entity for which an entity's observations count in the end."""
    while entity_id in merged_into:
        entity_id = merged_into[entity_id]
    return entity_id


def chain(entity_id: str, merged_into: MergedInto) -> list[str]:
    chained = [entity_id]
    while entity_id in merged_into:
        entity_id = merged_into[entity_id]
        chained.append(entity_id)
    return chained


def members(survivor_id: str, merged_into: MergedInto) -> list[str]:
    return [
        survivor_id,
        *sorted(member for member in merged_into if survivor(member, merged_into) == survivor_id),
    ]


def surviving_key(key: str, merged_into: MergedInto) -> str:
    """Return the key of a relationship between the survivors of its ends, which may be a loop."""
    if not merged_into:
        return key
    return ids.relationship_key(key.partition(":")[0], *(survivor(end, merged_into) for end in ids.ends(key)))


def _apply(fact: MergeFact, merged: dict[str, str]) -> None:
    if fact.into is None:
        merged.pop(fact.subject_id, None)
    elif fact.subject_id not in chain(fact.into, merged):
        merged[fact.subject_id] = fact.into


def _with_rules(merged: Mapping[str, str], rules: Iterable[RuleSpan]) -> dict[str, str]:
    """Return what is merged by facts, which beat rules, and by rules that hold."""
    result = dict(merged)
    for rule in rules:
        if rule.subject_id not in result and rule.subject_id not in chain(rule.into, result):
            result[rule.subject_id] = rule.into
    return result


def _spans(facts: Collection[MergeFact], rules: Collection[RuleSpan]) -> Mapping[str, list[MemberSpan]]:
    spans: dict[str, list[MemberSpan]] = {}
    counted_since: dict[str, tuple[str, int]] = {}
    for moment, moved in _moves(facts, rules):
        for member_id, survivor_id in moved.items():
            before, since = counted_since.pop(member_id, (member_id, 0))
            if before != member_id:
                spans.setdefault(before, []).append(MemberSpan(member_id, since, moment))
            counted_since[member_id] = survivor_id, moment
    for member_id, (survivor_id, since) in counted_since.items():
        if survivor_id != member_id:
            spans.setdefault(survivor_id, []).append(MemberSpan(member_id, since, times.LATEST))
    return spans


def merges(facts: Iterable[MergeFact]) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the recorded times at which facts merged entities otherwise, with what those are merged into."""
    state = _State()
    changes = [(moment, fact) for fact in facts for moment in (fact.recorded_at, *fact.toggles)]
    changes.sort(key=lambda change: (change[0], change[1].place))
    for moment, group in groupby(changes, key=itemgetter(0)):
        moved: set[str] = set()
        for _, fact in group:
            moved |= state.drop(fact) if state.knows(fact) else state.take(fact)
        yield moment, {entity_id: state.merged.get(entity_id) for entity_id in moved}


def _moves(facts: Collection[MergeFact], rules: Collection[RuleSpan]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the recorded times at which members moved, with the new survivor of each that moved."""
    by_fact = dict(merges(facts))
    moments = {each for rule in rules for each in (rule.start, rule.end) if each != times.LATEST}
    merged, before = dict[str, str](), dict[str, str]()
    for moment in sorted({*by_fact, *moments}):
        for entity_id, into in by_fact.get(moment, {}).items():
            merged.pop(entity_id, None)
            merged |= {entity_id: into} if into is not None else {}
        if not rules:
            yield moment, {each: survivor(each, merged) for each in by_fact[moment]}
            continue
        shown = _with_rules(merged, [rule for rule in rules if rule.holds(moment)])
        now = {member: survivor(member, shown) for member in shown}
        changed = {each for each in {*before, *now} if before.get(each, each) != now.get(each, each)}
        yield moment, {member: now.get(member, member) for member in changed}
        before = now


class _State:
    """What is merged into what, while facts become known; changes return whose survivor may change."""

    def __init__(self) -> None:
        self.merged: dict[str, str] = {}
        self._known: list[MergeFact] = []
        self._children: dict[str, set[str]] = {}

    def take(self, fact: MergeFact) -> set[str]:
        in_order = not self._known or self._known[-1].place < fact.place
        self._known.append(fact)
        if in_order:
            before = self.merged.get(fact.subject_id)
            _apply(fact, self.merged)
            self._attach(fact.subject_id, before, self.merged.get(fact.subject_id))
            below, waiting = {fact.subject_id}, [fact.subject_id]
            while waiting:
                children = self._children.get(waiting.pop(), set())
                below |= children
                waiting.extend(children)
            return below
        # A fact of the past became known late: what followed it may have another effect now.
        self._known.sort(key=attrgetter("place"))
        return self._again()

    def knows(self, fact: MergeFact) -> bool:
        return bool(fact.toggles) and fact in self._known

    def drop(self, fact: MergeFact) -> set[str]:
        self._known.remove(fact)
        return self._again()

    def _again(self) -> set[str]:
        moved = set(self.merged)
        self.merged.clear()
        self._children.clear()
        for known in self._known:
            _apply(known, self.merged)
        for entity_id, into in self.merged.items():
            self._attach(entity_id, None, into)
        return moved | set(self.merged)

    def _attach(self, entity_id: str, before: str | None, into: str | None) -> None:
        if before is not None:
            self._children[before].discard(entity_id)
        if into is not None:
            self._children.setdefault(into, set()).add(entity_id)
