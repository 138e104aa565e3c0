"""When merges by rule held: at each time, what the facts that were known then come to."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Final

from graphmem.model import identity_rules, membership, rule_history
from graphmem.model.fact_records import DatedDismissal, DismissalKind, pair_of
from graphmem.model.membership import Membership, MergeFact, RuleSpan
from graphmem.model.rule_history import RuleFacts, Statement
from tests.support.people import (
    ALTERNATIVES,
    CONTACTS,
    OWNER,
    People,
    entity_id,
    random_fields,
    random_kind,
)
from tests.support.walks import walk_over

RULE = identity_rules.OwnRule(OWNER, "person", ALTERNATIVES)
CONTACT_IDS: set[str] = set()
"""The ids of entities that were stored as contacts."""
MOMENTS = 24
STEPS = ("store", "store", "store", "extend", "merge", "end", "dismiss")
KINDS: Final[tuple[DismissalKind, ...]] = ("dismiss", "dismiss", "undo")


def statement(
    at: int, fields: dict[str, str], *toggles: int, target: str | None = None, kind: str = "person"
) -> Statement:
    evidence = identity_rules.evidence("person", fields, ALTERNATIVES)
    evidence |= identity_rules.BY_CONTENT if kind == "content" else identity_rules.NO_EVIDENCE
    return Statement(target or entity_id(fields, kind), evidence, at, toggles)


def facts_of(
    statements: list[Statement], merges: Sequence[MergeFact] = (), dismissals: Sequence[DatedDismissal] = ()
) -> RuleFacts:
    rules = {each.entity_id: CONTACTS if each.entity_id in CONTACT_IDS else RULE for each in statements}
    return RuleFacts(rules, statements, merges, dismissals)


def random_facts(rng: random.Random) -> RuleFacts:
    """Return statements, some of which are withdrawn, merges and their ends, and dismissals."""
    statements: list[Statement] = []
    merges: list[MergeFact] = []
    dismissals: list[DatedDismissal] = []
    for at in range(1, MOMENTS):
        known = sorted({each.entity_id for each in statements})
        step = (
            rng.choice(["store", "store", "store", "extend", "merge", "end", "dismiss"]) if known else "store"
        )
        one, other = (rng.choice(known or [""]) for _ in range(2))
        toggles = sorted(rng.sample(range(at, MOMENTS), min(2, MOMENTS - at)))[: rng.choice([0, 0, 0, 1, 2])]
        if step in ("store", "extend"):
            target = one if step == "extend" else None
            kind = random_kind(rng) if target is None else "person"
            statements.append(statement(at, random_fields(rng), *toggles, target=target, kind=kind))
            if kind == "contact":
                CONTACT_IDS.add(statements[-1].entity_id)
        elif step == "dismiss" and one != other:
            pair = pair_of(one, other)
            dismissals.append(DatedDismissal(f"d{at:02}", rng.choice(KINDS), *pair, at))
        elif step == "merge" and one != other:
            merges.append(MergeFact(one, at, at, f"o{at:02}", other, tuple(toggles)))
        elif step == "end":
            merges.append(MergeFact(one, at, at, f"o{at:02}", None, (), (other,) if other != one else ()))
    return facts_of(statements, merges, dismissals)


class Everybody(People):
    """Entities in memory; what nothing makes any more is a member still."""

    def __init__(self, facts: RuleFacts) -> None:
        super().__init__()
        self.entity_ids = sorted(facts.rules)
        self.contacts = CONTACT_IDS

    def members(self, entity_id: str, level: int | None = None) -> Iterable[str]:
        return [each for each in self.entity_ids if self.survivor(each, level) == entity_id]


def decided_at(facts: RuleFacts, moment: int) -> dict[str, str]:
    """Return the merges by rule of the facts that are known at a time, decided at once."""
    people = Everybody(facts)
    for each in facts.statements:
        if each.recorded_at <= moment and membership.counts(each.toggles, moment):
            known = people.evidence.get(each.entity_id, identity_rules.NO_EVIDENCE)
            people.evidence[each.entity_id] = identity_rules.joined(known, each.evidence)
    counting = [
        fact
        for fact in facts.merges
        if fact.recorded_at <= moment and membership.counts(fact.toggles, moment)
    ]
    people.merged = Membership.of(counting).merged_into(at_ingested=moment)
    people.pairs = {(fact.subject_id, other) for fact in counting for other in fact.separated}
    newest = {
        (each.entity_a, each.entity_b): each.kind for each in facts.dismissals if each.recorded_at <= moment
    }
    people.pairs |= {pair for pair, kind in newest.items() if kind == "dismiss"}
    people.settle(sorted(people.evidence))
    return people.shown()


@walk_over("seed", range(60), one_of=3)
def test_at_each_time_the_merges_are_those_of_the_facts_that_were_known(seed: int) -> None:
    facts = random_facts(random.Random(seed))
    spans = rule_history.spans(facts)
    for moment in range(MOMENTS + 1):
        shown = {span.subject_id: span.into for span in spans if span.holds(moment)}
        assert shown == decided_at(facts, moment), moment


def test_facts_in_any_order_come_to_the_same() -> None:
    rng = random.Random(1)
    facts = random_facts(rng)
    wanted = rule_history.spans(facts)
    for _ in range(5):
        statements = rng.sample([*facts.statements], len(facts.statements))
        assert rule_history.spans(facts_of(statements, [*facts.merges], [*facts.dismissals])) == wanted


def test_a_merge_begins_when_the_stronger_one_comes_and_ends_when_another_fits() -> None:
    ada, by_email = {"name": "Ada King"}, {"name": "Ada King", "email": "a@example.org"}
    another = {"name": "Ada King", "email": "b@example.org"}
    facts = facts_of([statement(5, by_email), statement(3, ada), statement(9, another)])
    assert rule_history.spans(facts) == [RuleSpan(entity_id(ada), entity_id(by_email), 5, 9, "name")]


def test_spans_without_a_gap_are_one() -> None:
    first, second = RuleSpan("x", "y", 1, 4, "name"), RuleSpan("x", "y", 4, 6, "name")
    assert rule_history.joined([second, first]) == [RuleSpan("x", "y", 1, 6, "name")]
    for other in (second._replace(into="z"), second._replace(start=5)):
        assert rule_history.joined([first, other]) == [first, other]
