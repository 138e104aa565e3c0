"""Entities in memory, merged by the rule alone: what the rule comes to without a database."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext

from graphmem.model import identity, identity_rules, rule_merges
from graphmem.model.identity_rules import Evidence, Identified, OwnRule
from graphmem.model.person_names import NameGroup, NearNames
from graphmem.model.rule_merges import RuleMerge

OWNER = "00000000-0000-0000-0000-000000000000"
ALTERNATIVES = (("email",), ("name", "birthday"), ("name",))
CONTACTS = identity_rules.OwnRule(OWNER, "contact", ALTERNATIVES, joins="person")
ADA = {"name": "Ada"}
ADA_BY_EMAIL = {"name": "Ada", "email": "ada@example.org"}
OTHER_ADA = {"name": "Ada", "email": "ada@example.com"}
ADA_BY_BIRTHDAY = {"name": "Ada", "birthday": "1815-12-10"}


def entity_id(fields: Mapping[str, object], kind: str = "person") -> str:
    """Return the id that the alternatives, or the whole content, make of some fields."""
    if kind == "content":
        return identity.identify(OWNER, "person", {"parts": {**fields}}, ALTERNATIVES).entity_id
    return identity.identify(OWNER, kind, fields, ALTERNATIVES).entity_id


class People:
    """Entities in memory, with all that the rule asks for."""

    def __init__(self) -> None:
        self.evidence: dict[str, Evidence] = {}
        self.merged: dict[str, str] = {}
        self.pairs: set[tuple[str, str]] = set()
        self.rule_merges: dict[str, RuleMerge] = {}
        self.disabled: Collection[int] = ()
        self.contacts: set[str] = set()

    def rule(self, entity_id: str) -> OwnRule:
        """Return the rule of a person or a contact."""
        if entity_id in self.contacts:
            return CONTACTS
        return OwnRule(OWNER, "person", ALTERNATIVES, frozenset(self.disabled))

    def store(self, fields: Mapping[str, object], target: str | None = None, *, kind: str = "person") -> str:
        """Store an observation: of a person, a contact, or (``content``) a person that its content made."""
        subject_id = target or entity_id(fields, kind)
        more = identity_rules.evidence("person", fields, ALTERNATIVES)
        if kind == "content":
            more |= identity_rules.BY_CONTENT
        elif kind == "contact":
            self.contacts.add(subject_id)
        self.evidence[subject_id] = identity_rules.joined(self.evidence.get(subject_id, frozenset()), more)
        self.settle([subject_id])
        return subject_id

    def withdraw(self, subject_id: str) -> None:
        """Leave out all observations of an entity."""
        changed = list(self.members(self.survivor(subject_id)))
        borne = [*self.borne(subject_id), *self.near(subject_id).weak]
        del self.evidence[subject_id]
        self.settle([*changed, *borne])

    def merge_by_hand(self, entity_id: str, into: str | None) -> None:
        """Merge an entity as a fact, or end its merge and separate it from the members it leaves."""
        survivor_id = self.survivor(entity_id)
        changed = list(self.members(survivor_id))
        if into is None:
            own = set(self.members(entity_id))
            self.pairs |= {(entity_id, other) for other in changed if other not in own}
            self.merged.pop(entity_id, None)
        elif entity_id in self.merged or survivor_id == self.survivor(into) or survivor_id != entity_id:
            return
        else:
            self.rule_merges.pop(entity_id, None)
            self.merged[entity_id] = into
        self.settle([*changed, entity_id])

    def separate(self, entity_id: str, other: str) -> None:
        """Say of two entities that they are two, or, if somebody said so, that they may be one."""
        changed = [each for end in (entity_id, other) for each in self.members(self.survivor(end))]
        pair = min(entity_id, other), max(entity_id, other)
        if entity_id != other:
            self.pairs ^= {pair}
        self.settle([*changed, *pair])

    def settle(self, entity_ids: Iterable[str]) -> None:
        """Decide after a change."""
        rule_merges.settle(self, entity_ids)

    def again(self) -> dict[str, str]:
        """Return the merges by rule of the same facts, decided at once."""
        people = type(self)()
        people.evidence, people.merged, people.pairs = self.evidence, self.merged, self.pairs
        people.disabled, people.contacts = self.disabled, self.contacts
        people.settle(sorted(self.evidence))
        return people.shown()

    def met_by_rule(self) -> list[tuple[str, str]]:
        """Return the separated pairs that show one survivor, though no merges that are facts join them."""
        return [
            pair
            for pair in sorted(self.pairs)
            if len({self.survivor(each) for each in pair})
            == 1
            < len({self.fact_survivor(each) for each in pair})
        ]

    def fact_survivor(self, entity_id: str) -> str:
        """Return the survivor of an entity by the merges that are facts."""
        while entity_id in self.merged:
            entity_id = self.merged[entity_id]
        return entity_id

    def shown(self) -> dict[str, str]:
        """Return what each entity is merged into by rule."""
        return {each: merge.into for each, merge in self.rule_merges.items()}

    def identified(self, entity_id: str) -> Identified | None:
        evidence = self.evidence.get(entity_id)
        if evidence is None:
            return None
        return self.rule(entity_id).identified(entity_id, evidence)

    def borne(self, entity_id: str) -> Mapping[str, int]:
        return self.rule(entity_id).borne(self.evidence.get(entity_id, frozenset()))

    def near(self, entity_id: str) -> NearNames:
        rule = self.rule(entity_id)
        return rule.near(rule.names(entity_id, self.evidence.get(entity_id, frozenset())), self.names_of)

    def names_of(self, group: NameGroup) -> Collection[str]:
        names = [
            name for each, evidence in self.evidence.items() for name in self.rule(each).names(each, evidence)
        ]
        return {text for name in names for of, text in name.texts if of == group}

    def bearers(self, entity_id: str) -> Collection[str]:
        return [
            each
            for each in self.evidence
            if each != entity_id and self.rule(each).is_own(self.borne(each).get(entity_id, -1))
        ]

    def separated(self, entity_id: str) -> Iterable[str]:
        return [other for pair in self.pairs if entity_id in pair for other in pair if other != entity_id]

    def _into(self, entity_id: str, level: int | None) -> str | None:
        merge = self.rule_merges.get(entity_id)
        by_rule = merge.into if merge and (level is None or merge.level < level) else None
        return self.merged.get(entity_id, by_rule)

    def survivor(self, entity_id: str, level: int | None = None) -> str:
        while (into := self._into(entity_id, level)) is not None:
            entity_id = into
        return entity_id

    def members(self, entity_id: str, level: int | None = None) -> Iterable[str]:
        return [each for each in sorted(self.evidence) if self.survivor(each, level) == entity_id]

    def merge(self, entity_id: str) -> RuleMerge | None:
        return self.rule_merges.get(entity_id)

    def put(self, entity_id: str, merge: RuleMerge | None) -> None:
        self.rule_merges.pop(entity_id, None)
        if merge is not None:
            self.rule_merges[entity_id] = merge

    def noting_needs(self) -> AbstractContextManager[object]:
        return nullcontext()

    def read_needs(self) -> None:
        pass


NAMES, BIRTHDAYS = ("Tom King", "King, Thomas", "Ada King", None), ("1815", "1816", None, None)
EMAILS = ("a@example.org", "b@example.org", "c@example.org", None, None, None)


def random_fields(rng: random.Random) -> dict[str, str]:
    """Return fields that identify somebody."""
    fields = {"name": rng.choice(NAMES), "birthday": rng.choice(BIRTHDAYS), "email": rng.choice(EMAILS)}
    kept = {name: value for name, value in fields.items() if value is not None}
    return kept if "name" in kept or "email" in kept else random_fields(rng)


def random_kind(rng: random.Random) -> str:
    """Return as what somebody is stored."""
    return rng.choice(("person", "person", "person", "contact", "content"))
