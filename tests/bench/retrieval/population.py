"""How often merges by rule are false, in populations of 10,000 people with names as frequent as in a census.

The people and their records are those of :mod:`tests.bench.retrieval.people`. Everybody has an e-mail address
of their own and a record with it, the *stronger* one. A *weaker* record has none. A share of the weaker
records is replaced by records of *strangers*, who have no stronger one.

No database is needed: identities and merges are those of the functions of :mod:`graphmem.model` that a store
calls. ``tests/faces/test_rule_figures.py`` compares them with what a store comes to.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rich.table import Table

from graphmem.model import identity, identity_rules, person_names, rule_merges
from graphmem.model.identity import Alternatives
from graphmem.model.identity_rules import NO_EVIDENCE, Evidence, Identified, OwnRule
from graphmem.model.person_names import NameGroup, NearNames
from graphmem.model.rule_merges import RuleMerge
from tests.bench.retrieval import people, sets
from tests.bench.retrieval.people import Person, Record

PEOPLE: Final = 10_000
STRANGER_SHARES: Final = (0.0, 0.01, 0.05)
REGISTERED: Final[Alternatives] = (("member_number",), ("email",), ("full_name", "birthday"), ("full_name",))
"""The alternatives of a registered type ``member``."""
POPULATIONS: Final = 6
"""Populations whose merges are counted together."""
MEMBER_NUMBER_SHARE: Final = 0.5
"""How many of the stronger records of members have the number."""


def make(
    count: int = PEOPLE, stranger_share: float = 0.0, *, namesakes: bool = False, seed: int = 0
) -> list[Record]:
    """Return the records of a population in random order, those of each person one after another.

    Args:
        stranger_share: the share of the weaker records that are of strangers.
        namesakes: the strangers have the names of people who have a stronger record; else any names.
        seed: another seed makes another population.
    """
    rng = sets.generator(f"population {seed}" if seed else "population")
    addresses: Counter[str] = Counter()
    records: list[Record] = []
    for number in range(count):
        person = people.person_of(number, rng)
        addresses[person.email] += 1
        person = _with_own_address(person, addresses[person.email])
        for place in range(rng.choice(people.RECORDS)):
            record = people.record_of(f"r{len(records) + 1}", person, rng)
            records.append(_with_birthday(record, {"email": person.email} if not place else {}))
    weaker = [place for place, record in enumerate(records) if "email" not in record.item]
    rng.shuffle(weaker)
    for number, place in enumerate(weaker[: round(stranger_share * len(weaker))]):
        stranger = people.record_of(f"stranger {number}", people.person_of(count + number, rng), rng)
        stranger = _with_birthday(replace(stranger, item={**stranger.item, "email": None}))
        records[place] = replace(records[place], person=stranger.person) if namesakes else stranger
    return records


def members(records: Iterable[Record]) -> list[Record]:
    """Return records of people as those of a registered type, some of which have a number of the person."""
    made = []
    for record in records:
        item = {("full_name" if name == "name" else name): value for name, value in record.item.items()}
        rng = sets.generator(f"member {record.id}")
        if "email" in item and rng.random() < MEMBER_NUMBER_SHARE:
            item["member_number"] = f"M-{record.person}"
        made.append(replace(record, item={**item, "entity_type": "member"}))
    return made


def _with_own_address(person: Person, uses: int) -> Person:
    return replace(person, email=person.email.replace("@", f".{uses}@")) if uses > 1 else person


def _with_birthday(record: Record, more: Mapping[str, str] | None = None) -> Record:
    """Return a record with its birthday under the name that the shipped rule has, and without null values."""
    item = {("birthday" if name == "birth_date" else name): value for name, value in record.item.items()}
    for name, value in (more or {}).items():
        item.setdefault(name, value)
    return replace(record, item={name: value for name, value in item.items() if value is not None})


class Population:
    """The entities of one type in memory; see :class:`graphmem.model.rule_merges.Merges`."""

    def __init__(
        self, owner: str, entity_type: str = "person", registered: Alternatives | None = None
    ) -> None:
        rule = identity_rules.own_rule(owner, entity_type, registered)
        assert rule is not None
        self.rule: OwnRule = rule
        self._registered = (*registered, (identity.CONTENT,)) if registered else None
        self._evidence: dict[str, Evidence] = {}
        self._bearers: dict[str, set[str]] = defaultdict(set)
        self._texts: dict[NameGroup, set[str]] = defaultdict(set)
        self._merged: dict[str, RuleMerge] = {}
        self._members: dict[str, set[str]] = defaultdict(set)

    def store(self, records: Iterable[Record]) -> dict[str, list[Record]]:
        """Store records; return those of each entity, before anything is merged."""
        stored: dict[str, list[Record]] = defaultdict(list)
        rule = self.rule
        for record in records:
            fields = {name: value for name, value in record.item.items() if name != "entity_type"}
            entity_id = identity.identify(rule.owner, rule.entity_type, fields, self._registered).entity_id
            known = self._evidence.get(entity_id, NO_EVIDENCE)
            self._evidence[entity_id] = identity_rules.joined(known, rule.evidence(fields))
            stored[entity_id].append(record)
        for entity_id in stored:
            for borne_id in self.borne(entity_id):
                self._bearers[borne_id].add(entity_id)
            for name in rule.names(entity_id, self._evidence[entity_id]):
                for group, text in name.texts:
                    self._texts[group].add(text)
        rule_merges.settle(self, sorted(stored))
        return stored

    def identified(self, entity_id: str) -> Identified | None:
        evidence = self._evidence.get(entity_id)
        return None if evidence is None else self.rule.identified(entity_id, evidence)

    def borne(self, entity_id: str) -> Mapping[str, int]:
        return self.rule.borne(self._evidence.get(entity_id, NO_EVIDENCE))

    def near(self, entity_id: str) -> NearNames:
        names = self.rule.names(entity_id, self._evidence.get(entity_id, NO_EVIDENCE))
        return self.rule.near(names, self._names_of)

    def _names_of(self, group: NameGroup) -> Collection[str] | None:
        texts = self._texts[group]
        return None if len(texts) > person_names.LIMIT else texts

    def bearers(self, entity_id: str) -> Collection[str]:
        return self._bearers[entity_id] - {entity_id}

    def separated(self, entity_id: str) -> Iterable[str]:
        return ()

    def survivor(self, entity_id: str, level: int | None = None) -> str:
        while (merge := self._merged.get(entity_id)) and (level is None or merge.level < level):
            entity_id = merge.into
        return entity_id

    def members(self, entity_id: str, level: int | None = None) -> Iterable[str]:
        found = [entity_id]
        for member_id in found:
            found += [
                each for each in self._members[member_id] if level is None or self._merged[each].level < level
            ]
        return found

    def merge(self, entity_id: str) -> RuleMerge | None:
        return self._merged.get(entity_id)

    def put(self, entity_id: str, merge: RuleMerge | None) -> None:
        before = self._merged.pop(entity_id, None)
        if before is not None:
            self._members[before.into].discard(entity_id)
        if merge is not None:
            self._merged[entity_id] = merge
            self._members[merge.into].add(entity_id)

    def noting_needs(self) -> AbstractContextManager[object]:
        return nullcontext()

    def read_needs(self) -> None:
        """Nothing is read: all is in memory."""


class Tally(NamedTuple):
    """The merges by one alternative, or by all.

    ``false`` of ``merges`` merged entities have a record of somebody of whom their survivor has none.
    ``weaker`` entities of the alternative have a record of somebody with a stronger one.
    """

    merges: int
    false: int
    weaker: int

    @classmethod
    def of(cls, tallies: Iterable[Tally]) -> Tally:
        """Return several as one."""
        return cls(*map(sum, zip(*tallies, strict=True)))

    @property
    def precision(self) -> float:
        return 1 - self.false / self.merges if self.merges else 1.0

    @property
    def recall(self) -> float:
        return (self.merges - self.false) / self.weaker if self.weaker else 1.0


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """What the rule of a type came to in one population, by alternative, as ``identity_basis`` names it."""

    records: int
    by_basis: Mapping[str, Tally]

    @property
    def total(self) -> Tally:
        return Tally.of(self.by_basis.values())


def measure(
    records: list[Record], entity_type: str = "person", registered: Alternatives | None = None
) -> RuleFigures:
    """Store records in memory and compare the merges by rule with the persons that they are about."""
    population = Population(str(uuid.uuid5(uuid.NAMESPACE_OID, "population")), entity_type, registered)
    stored = population.store(records)
    persons = {entity_id: {record.person for record in of} for entity_id, of in stored.items()}
    strongest: dict[str, int] = {}
    levels = {each: identified.level for each in stored if (identified := population.identified(each))}
    for entity_id, level in levels.items():
        if level is None:
            continue
        for person in persons[entity_id]:
            strongest[person] = min(strongest.get(person, level), level)
    tallies: dict[str, Tally] = {}
    for level in range(1, len(population.rule.alternatives)):
        of_level = [each for each in stored if levels[each] == level]
        merged = [each for each in of_level if population.merge(each)]
        false = sum(not persons[each] <= persons[population.survivor(each)] for each in merged)
        weaker = sum(any(strongest[person] < level for person in persons[each]) for each in of_level)
        tallies[population.rule.basis(level)] = Tally(len(merged), false, weaker)
    return RuleFigures(len(records), tallies)


def pooled(figures: Iterable[RuleFigures]) -> RuleFigures:
    """Return what several populations came to together."""
    figures = list(figures)
    by_basis = {basis: Tally.of(each.by_basis[basis] for each in figures) for basis in figures[0].by_basis}
    return RuleFigures(sum(each.records for each in figures), by_basis)


def table(count: int = PEOPLE) -> Table:
    """Return the table of false merges of the shipped rule of people and of a registered one."""
    title = f"Merges by rule in {POPULATIONS} populations of {count:,} people"
    shown = Table(title=title, title_justify="left")
    for name in ("type", "strangers", "alternative"):
        shown.add_column(name)
    for name in ("merges", "false", "false share", "precision", "recall"):
        shown.add_column(name, justify="right")
    for share, namesakes in (
        (0.0, False),
        *((each, kind) for kind in (False, True) for each in STRANGER_SHARES[1:]),
    ):
        sets_of_records = [make(count, share, namesakes=namesakes, seed=seed) for seed in range(POPULATIONS)]
        strangers = f"{share:.0%}{', namesakes' if namesakes else ''}"
        for figures, kind in (
            (pooled(map(measure, sets_of_records)), "person"),
            (
                pooled(measure(members(each), "member", REGISTERED) for each in sets_of_records),
                "member (registered)",
            ),
        ):
            for basis, tally in (*figures.by_basis.items(), ("all", figures.total)):
                false = f"{tally.false / tally.merges:.4f}" if tally.merges else ""
                shown.add_row(kind, strangers, basis, f"{tally.merges:,}", str(tally.false), false,
                              f"{tally.precision:.4f}", f"{tally.recall:.3f}")  # fmt: skip
    return shown
