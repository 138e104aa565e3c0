"""When each merge by rule held: the rule of today, after each change of the facts as they were recorded."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graphmem.model import identity_rules, membership, person_names, rule_merges, times
from graphmem.model.fact_records import DatedDismissal
from graphmem.model.identity_rules import NO_EVIDENCE, Evidence, Identified, OwnRule
from graphmem.model.membership import MergeFact, RuleSpan
from graphmem.model.person_names import NameGroup, NearNames, PersonName
from graphmem.model.rule_merges import Merges, RuleMerge


class Statement(NamedTuple):
    """What an observation says of the identity of an entity, and when it counts. ``recorded_at`` and the
    ``toggles`` (:func:`graphmem.model.membership.toggles`) are microseconds."""

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
    """Return the merges by rule that the facts come to, sorted, each with the time that it held."""
    entities = _Entities(facts.rules)
    known: dict[str, list[Statement]] = defaultdict(list)
    changed: dict[int, set[str]] = defaultdict(set)
    for statement in facts.statements:
        known[statement.entity_id].append(statement)
        for moment in (statement.recorded_at, *statement.toggles):
            changed[moment].add(statement.entity_id)
    merged, parted = dict(membership.merges(facts.merges)), _parted(facts)
    for moment in sorted({*changed, *merged, *parted}):
        entities.moment = moment
        affected = entities.relate(merged.get(moment, {}), parted.get(moment, ()))
        affected |= entities.learn({each: _evidence(known[each], moment) for each in changed.get(moment, ())})
        rule_merges.settle(entities, sorted(affected))
    return entities.spans()


_Parted = tuple[str, str, str, bool]
"""Two entities, which fact says of them that they are two, and whether it says so from then on."""


def _parted(facts: RuleFacts) -> Mapping[int, list[_Parted]]:
    """Return what is said of pairs of entities, by the times from which on it is said."""
    parted: dict[int, list[_Parted]] = defaultdict(list)
    for fact in facts.merges:
        for other in fact.separated:
            for number, moment in enumerate((fact.recorded_at, *fact.toggles)):
                parted[moment].append((fact.subject_id, other, fact.observation_id, number % 2 == 0))
    for each in sorted(facts.dismissals, key=lambda each: each.id):
        # The newest dismissal of a pair decides.
        parted[each.recorded_at].append((each.entity_a, each.entity_b, "", each.kind == "dismiss"))
    return parted


def _evidence(statements: Iterable[Statement], moment: int) -> Evidence | None:
    """Return the evidence of an entity as of a time, if an observation makes it."""
    evidence: Evidence | None = None
    for statement in statements:
        if statement.recorded_at <= moment and membership.counts(statement.toggles, moment):
            evidence = identity_rules.joined(evidence or NO_EVIDENCE, statement.evidence)
    return evidence


def states(statements: Collection[Statement]) -> list[Evidence]:
    """Return the different evidences that the observations of one entity came to, in order."""
    moments = sorted({moment for each in statements for moment in (each.recorded_at, *each.toggles)})
    every = (_evidence(statements, moment) for moment in moments)
    return list(dict.fromkeys(evidence for evidence in every if evidence is not None))


def joined(spans: Iterable[RuleSpan]) -> list[RuleSpan]:
    """Return spans, sorted; those that follow each other without a gap are one."""
    result: list[RuleSpan] = []
    for span in sorted(spans, key=lambda each: (each.subject_id, each.start)):
        last = result[-1] if result else None
        if last is not None and last == span._replace(start=last.start, end=span.start):
            result[-1] = last._replace(end=span.end)
        else:
            result.append(span)
    return result


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
    _separated: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    """By entity, the others of which facts say that they are two, each with these facts."""

    def relate(self, merged: Mapping[str, str | None], parted: Iterable[_Parted]) -> set[str]:
        """Note merges by facts, and what is said of pairs; return what that concerns."""
        changed = [each for each in sorted(merged) if self._merged.get(each) != merged[each]]
        affected = self._with_members(changed)
        for entity_id in changed:
            if entity_id in self._ruled and merged[entity_id] is not None:
                self.put(entity_id, None)
            into = merged[entity_id]
            former, ruled = self._merged.pop(entity_id, None), self._ruled.get(entity_id)
            if former is not None and (ruled is None or ruled.into != former):
                self._into[former].discard(entity_id)
            if into is not None:
                self._merged[entity_id] = into
                self._into[into].add(entity_id)
        for entity_id, other, fact_id, is_said in parted:
            for pair in ((entity_id, other), (other, entity_id)):
                said_by = self._separated[pair[0]].setdefault(pair[1], set())
                (said_by.add if is_said else said_by.discard)(fact_id)
            affected |= self._with_members((entity_id, other))
        return affected

    def _with_members(self, entity_ids: Iterable[str]) -> set[str]:
        return {
            member
            for entity_id in entity_ids
            for member in (entity_id, *self.members(self.survivor(entity_id)))
        }

    def learn(self, changed: Mapping[str, Evidence | None]) -> set[str]:
        """Note other evidence of some entities; return what that concerns."""
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
        now = self._texts[group]
        if (len(texts) > person_names.LIMIT) is (len(now) > person_names.LIMIT):
            return set()
        named = [person_names.name_in(group, text) for text in {*texts, *now}]
        return {rule.id_of_name(rule.level(group.basis), name) for name, is_own in named if is_own}

    def _index(self, entity_id: str, by: int) -> None:
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
        for entity_id in sorted(self._ruled):
            self._end(entity_id, times.LATEST)
        return joined(self._spans)

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
        return [other for other, said_by in self._separated[entity_id].items() if said_by]

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

    def _end(self, entity_id: str, moment: int) -> None:
        merge, begun = self._ruled[entity_id], self._begun[entity_id]
        if begun < moment:
            alternative = self.rules[entity_id].basis(merge.level)
            self._spans.append(RuleSpan(entity_id, merge.into, begun, moment, alternative))
