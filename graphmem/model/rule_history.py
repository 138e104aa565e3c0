"""When each merge by rule held: the rule of today, after each change of the facts as they were recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from graphmem.model import identity_rules, membership, person_names, rule_merges, times
from graphmem.model.dismissals import DatedDismissal, pair_of
from graphmem.model.identity_rules import NO_EVIDENCE, Evidence, Identified, OwnRule
from graphmem.model.membership import Membership, MergeFact, RuleSpan
from graphmem.model.person_names import NameGroup, NearNames, PersonName
from graphmem.model.rule_merges import Merges, RuleMerge


class Statement(NamedTuple):
    """What an observation says of the identity of an entity, and when it counts.

    ``recorded_at`` and the ``toggles`` (:func:`graphmem.model.membership.toggles`) are microseconds.
    """

    entity_id: str
    evidence: Evidence
    recorded_at: int
    toggles: tuple[int, ...] = ()


@dataclass(frozen=True)
class RuleFacts:
    """All facts on which some merges by rule depend; ``rules`` has the rule of each entity."""

    rules: Mapping[str, OwnRule]
    statements: Collection[Statement]
    merges: Collection[MergeFact] = ()
    dismissals: Collection[DatedDismissal] = ()


def spans(facts: RuleFacts) -> list[RuleSpan]:
    """Return the merges by rule that the facts come to, each with the time that it held, sorted."""
    entities = _Entities(facts.rules)
    statements = _by_moment(facts.statements, lambda each: each.entity_id)
    merges = _MergeFacts(facts.merges)
    merge_moments = _by_moment(facts.merges, merges.component)
    dismissals: dict[int, list[DatedDismissal]] = defaultdict(list)
    for dismissal in facts.dismissals:
        dismissals[dismissal.recorded_at].append(dismissal)
    known: dict[str, list[Statement]] = defaultdict(list)
    for statement in facts.statements:
        known[statement.entity_id].append(statement)
    for moment in sorted({*statements, *merge_moments, *dismissals}):
        entities.moment = moment
        affected: set[str] = set()
        for component in merge_moments.get(moment, ()):
            affected |= entities.relate(*merges.as_of(component, moment))
        for dismissal in sorted(dismissals.get(moment, ()), key=lambda each: each.id):
            affected |= entities.dismiss(dismissal)
        changed = {each: _evidence(known[each], moment) for each in statements.get(moment, ())}
        affected |= entities.learn(changed)
        rule_merges.settle(entities, sorted(affected))
    return entities.spans()


_Fact = TypeVar("_Fact", Statement, MergeFact)


def _by_moment(facts: Iterable[_Fact], key: Callable[[_Fact], str]) -> dict[int, set[str]]:
    """Return the keys of facts by the times at which these begin, stop or begin again to count."""
    moments: dict[int, set[str]] = defaultdict(set)
    for fact in facts:
        for moment in (fact.recorded_at, *fact.toggles):
            moments[moment].add(key(fact))
    return moments


def _evidence(statements: Iterable[Statement], moment: int) -> Evidence | None:
    """Return the evidence of an entity as of a time, ``None`` where no observation makes it."""
    evidence: Evidence | None = None
    for statement in statements:
        if statement.recorded_at <= moment and membership.counts(statement.toggles, moment):
            evidence = identity_rules.joined(evidence or NO_EVIDENCE, statement.evidence)
    return evidence


def states(statements: Collection[Statement]) -> list[Evidence]:
    """Return the different evidences that the observations of one entity came to, one after another."""
    moments = sorted({moment for each in statements for moment in (each.recorded_at, *each.toggles)})
    every = (_evidence(statements, moment) for moment in moments)
    return list(dict.fromkeys(evidence for evidence in every if evidence is not None))


def joined(spans: Iterable[RuleSpan]) -> list[RuleSpan]:
    """Return spans, sorted, with those in one that follow each other without a gap."""
    result: list[RuleSpan] = []
    for span in sorted(spans, key=lambda each: (each.subject_id, each.start)):
        last = result[-1] if result else None
        if last is not None and last == span._replace(start=last.start, end=span.start):
            result[-1] = last._replace(end=span.end)
        else:
            result.append(span)
    return result


class _MergeFacts:
    """Merge facts, by the components of entities that they join."""

    def __init__(self, facts: Iterable[MergeFact]) -> None:
        self._parents: dict[str, str] = {}
        facts = list(facts)
        for fact in facts:
            for other in (fact.into, *fact.separated):
                if other is not None:
                    self._parents[self._root(other)] = self._root(fact.subject_id)
        self._facts: dict[str, list[MergeFact]] = defaultdict(list)
        for fact in facts:
            self._facts[self.component(fact)].append(fact)

    def component(self, fact: MergeFact) -> str:
        return self._root(fact.subject_id)

    def as_of(self, component: str, moment: int) -> tuple[set[str], dict[str, str], dict[str, set[str]]]:
        """Return the entities of a component, and what is merged and separated among them as of a time."""
        facts = self._facts[component]
        ends = (each for fact in facts for each in (fact.subject_id, fact.into, *fact.separated))
        entity_ids = {each for each in ends if each is not None}
        of_component = Membership.of(facts)
        return entity_ids, of_component.merged_into(at_ingested=moment), of_component.separated(moment)

    def _root(self, entity_id: str) -> str:
        while (parent := self._parents.get(entity_id, entity_id)) != entity_id:
            entity_id = parent
        return entity_id


@dataclass
class _Entities(Merges):
    rules: Mapping[str, OwnRule]
    moment: int = times.EARLIEST
    _evidence: dict[str, Evidence] = field(default_factory=dict)
    _merged: dict[str, str] = field(default_factory=dict)
    _ruled: dict[str, RuleMerge] = field(default_factory=dict)
    _begun: dict[str, int] = field(default_factory=dict)
    _spans: list[RuleSpan] = field(default_factory=list)
    _into: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _bearers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _texts: dict[NameGroup, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _separated: dict[str, set[str]] = field(default_factory=dict)
    _dismissed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    # What becomes known

    def relate(
        self, entity_ids: Iterable[str], merged: Mapping[str, str], separated: Mapping[str, set[str]]
    ) -> set[str]:
        """Make merges and separations among some entities others; return what that concerns."""
        affected: set[str] = set()
        changed = [each for each in sorted(entity_ids) if self._merged.get(each) != merged.get(each)]
        for entity_id in changed:
            affected |= {entity_id, *self.members(self.survivor(entity_id))}
        for entity_id in changed:
            if entity_id in self._ruled and entity_id in merged:
                self.put(entity_id, None)
            self._place(entity_id, merged.get(entity_id))
        for entity_id in entity_ids:
            others = separated.get(entity_id, set())
            if self._separated.get(entity_id, set()) != others:
                self._separated[entity_id] = others
                affected |= {entity_id, *self.members(self.survivor(entity_id))}
        return affected

    def dismiss(self, dismissal: DatedDismissal) -> set[str]:
        """Take in that two entities are two, or may be one again; return what that concerns."""
        pair = pair_of(dismissal.entity_a, dismissal.entity_b)
        for entity_id, other in (pair, pair[::-1]):
            if dismissal.kind == "dismiss":
                self._dismissed[entity_id].add(other)
            else:
                self._dismissed[entity_id].discard(other)
        return {member for each in pair for member in (each, *self.members(self.survivor(each)))}

    def learn(self, changed: Mapping[str, Evidence | None]) -> set[str]:
        """Make the evidence of some entities another; return what that concerns."""
        before = {each: self._evidence.get(each) for each in changed}
        changed = {each: after for each, after in changed.items() if before[each] != after}
        affected = set(changed)
        names: list[tuple[OwnRule, Collection[PersonName]]] = []
        sizes: dict[NameGroup, tuple[OwnRule, set[str]]] = {}
        for entity_id, after in changed.items():
            rule, old = self.rules[entity_id], self._names(entity_id)
            affected |= self.borne(entity_id).keys()
            names.append((rule, old))
            new = () if after is None else rule.names(entity_id, after)
            for name in (*old, *new):
                for group in name.groups:
                    sizes.setdefault(group, (rule, set(self._texts[group])))
            self._index(entity_id, -1)
            if after is None:
                del self._evidence[entity_id]
            else:
                self._evidence[entity_id] = after
            self._index(entity_id, 1)
        for rule, old in names:
            affected |= rule.near(old, self._known).weak.keys()
        for group, (rule, texts) in sizes.items():
            affected |= self._crossed(group, rule, texts)
        return affected

    def _crossed(self, group: NameGroup, rule: OwnRule, texts: set[str]) -> set[str]:
        """Return the entities named in a group that became too large, or small enough again."""
        now = self._texts[group]
        if (len(texts) > person_names.LIMIT) is (len(now) > person_names.LIMIT):
            return set()
        named = [person_names.name_in(group, text) for text in {*texts, *now}]
        return {rule.id_of_name(rule.level(group.basis), name) for name, is_own in named if is_own}

    def _index(self, entity_id: str, by: int) -> None:
        """Count an entity among those that bear its ids and names, or no more."""
        for borne_id, level in self.borne(entity_id).items():
            if not self.rules[entity_id].is_own(level):
                continue
            (self._bearers[borne_id].add if by > 0 else self._bearers[borne_id].discard)(entity_id)
        for name in self._names(entity_id):
            for group, text in name.texts:
                count = self._texts[group].pop(text, 0) + by
                if count:
                    self._texts[group][text] = count

    def _names(self, entity_id: str) -> Collection[PersonName]:
        evidence = self._evidence.get(entity_id)
        return () if evidence is None else self.rules[entity_id].names(entity_id, evidence)

    def _known(self, group: NameGroup) -> Collection[str] | None:
        texts = self._texts[group]
        return None if len(texts) > person_names.LIMIT else texts

    def spans(self) -> list[RuleSpan]:
        """Return all merges by rule with the time that each held, those that hold still among them."""
        for entity_id in sorted(self._ruled):
            self._end(entity_id, times.LATEST)
        return joined(self._spans)

    # What the rule reads and changes

    def identified(self, entity_id: str) -> Identified | None:
        evidence = self._evidence.get(entity_id)
        return None if evidence is None else self.rules[entity_id].identified(entity_id, evidence)

    def borne(self, entity_id: str) -> Mapping[str, int]:
        evidence = self._evidence.get(entity_id)
        return {} if evidence is None else self.rules[entity_id].borne(evidence)

    def near(self, entity_id: str) -> NearNames:
        if entity_id not in self.rules:
            return NearNames({}, {}, set())
        return self.rules[entity_id].near(self._names(entity_id), self._known)

    def bearers(self, entity_id: str) -> Collection[str]:
        return self._bearers[entity_id] - {entity_id}

    def separated(self, entity_id: str) -> Iterable[str]:
        return {*self._separated.get(entity_id, ()), *self._dismissed.get(entity_id, ())}

    def survivor(self, entity_id: str, level: int | None = None) -> str:
        passed = {entity_id}
        while (into := self._merged_into(entity_id, level)) is not None and into not in passed:
            entity_id = into
            passed.add(into)
        return entity_id

    def members(self, entity_id: str, level: int | None = None) -> Iterable[str]:
        return dict.fromkeys(self._members(entity_id, level))

    def _members(self, entity_id: str, level: int | None) -> Iterator[str]:
        passed, waiting = {entity_id}, [entity_id]
        while waiting:
            member = waiting.pop()
            yield member
            merged = {each for each in self._into[member] if self._merged_into(each, level) == member}
            waiting += sorted(merged - passed)
            passed |= merged

    def merge(self, entity_id: str) -> RuleMerge | None:
        return self._ruled.get(entity_id)

    def put(self, entity_id: str, merge: RuleMerge | None) -> None:
        if entity_id in self._ruled:
            self._end(entity_id, self.moment)
            former = self._ruled.pop(entity_id)
            if self._merged.get(entity_id) != former.into:
                self._into[former.into].discard(entity_id)
        if merge is not None:
            self._ruled[entity_id] = merge
            self._begun[entity_id] = self.moment
            self._into[merge.into].add(entity_id)

    def _merged_into(self, entity_id: str, level: int | None) -> str | None:
        """Return what an entity is merged into by a fact, or else by rule at a level."""
        if entity_id in self._merged:
            return self._merged[entity_id]
        merge = self._ruled.get(entity_id)
        return merge.into if merge is not None and (level is None or merge.level < level) else None

    def _place(self, entity_id: str, into: str | None) -> None:
        """Merge an entity by a fact, or no more."""
        former, ruled = self._merged.pop(entity_id, None), self._ruled.get(entity_id)
        if former is not None and (ruled is None or ruled.into != former):
            self._into[former].discard(entity_id)
        if into is not None:
            self._merged[entity_id] = into
            self._into[into].add(entity_id)

    def _end(self, entity_id: str, moment: int) -> None:
        """Note the time that the merge by rule of an entity held, unless it held for no transaction."""
        merge, begun = self._ruled[entity_id], self._begun[entity_id]
        if begun < moment:
            alternative = self.rules[entity_id].basis(merge.level)
            self._spans.append(RuleSpan(entity_id, merge.into, begun, moment, alternative))
