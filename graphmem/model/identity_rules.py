"""The identity rule of a type: what observations are evidence of, and the ids that evidence makes.

The *alternatives* of a type are its own identity rule, strong to weak: a person's are e-mail, name with
birthday, name. The place of an alternative in the rule is its *level*: the level of an entity is that of the
alternative that made its id, ``None`` for an entity that no alternative made.

The *evidence* of an entity are the values of its identifying fields in every observation that counts, not
only in the winners, so that a correction never splits. An entity *bears* the id that an alternative makes of
its evidence.

Two kinds of entities have an id that the same values do not make any more, and join the entity of the id that
they make today (``same``): those of a type that is another name of a type (:data:`identity.SHIPPED_ALIASES`),
and a person that its whole content made though it has a first and a last name, or a name in another spelling.
A thing that its content or a name made though it has a number of its own joins the one of the number, else
the one that bears it; so does the part of a number that things share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any, Final

from graphmem.model import dates, identity, ids, numbers, person_names, shared_addresses, times
from graphmem.model.identity import Alternatives
from graphmem.model.numbers import NUMBERED
from graphmem.model.person_names import Known, NameGroup, NearNames, PersonName

VALUES_LIMIT: Final = 20
"""Values of one field that are evidence; with more of them, no alternative uses the field."""
BORNE_LIMIT: Final = 50
"""Ids of one alternative that an entity bears; where its values make more, it bears none of them."""
INSTANT: Final = "instant"  # stands in an alternative for the instant of a start that has a time and a zone
CALLED_LEVEL: Final = 1
"""The level of an event with such a start, and of a company that says what it was called before. The events
of one title and instant are one, that with the smallest id, and a company is the one of its newest name."""
CONTENT_LEVEL: Final = 50
"""The level of a person that its content made, although the content has a name; and of a thing with a number
that something else made."""
JOINING_LEVEL: Final = 100  # the least level of the entities of a type that is another name of another type

Evidence = frozenset[tuple[str, str]]  # pairs of an identifying field and a normalised value
NO_EVIDENCE: Final[Evidence] = frozenset()
BY_CONTENT: Final[Evidence] = frozenset({(identity.CONTENT, "")})
"""Added by an observation that has a name or a number and made its entity by its whole content, or by a name
though the number is its own."""
_PARTIES: Final = (numbers.VENDOR, numbers.CUSTOMER, "counterparty")
LOOSE: Final = frozenset({identity.CONTENT, *identity.NAME_FIELDS, "email", "url", "phone"})
"""The bases of observations that a number of their own would identify."""


def alternatives(entity_type: str, registered: Alternatives | None) -> Alternatives:
    """Return the alternatives of a type's own rule, without the general order behind a shipped one."""
    own = identity.merging(entity_type) if registered is None else registered
    if registered is None and ("title", "date_start") in own:
        own = (own[0], ("title", INSTANT), *own[CALLED_LEVEL:])
    if registered is None and entity_type in numbers.COMPANIES:
        own = (*own[:CALLED_LEVEL], ("name", identity.FORMER), *own[CALLED_LEVEL:])
    return () if own == identity.GENERAL[:-1] else own


def evidence(entity_type: str, fields: Mapping[str, Any], alternatives: Alternatives) -> Evidence:
    names = {name for each in alternatives for name in each} - {INSTANT}
    read = identity.read_fields(entity_type, fields)
    values = {name: identity.identifying_value(entity_type, name, read) for name in names}
    return frozenset((name, value) for name, value in values.items() if value is not None)


def joined(known: Evidence, more: Evidence) -> Evidence:
    """Return the evidence of two sets: of a field the smallest values, one more than :data:`VALUES_LIMIT`."""
    if more <= known:
        return known
    by_field = _by_field(known | more)
    return frozenset(
        (name, value) for name, values in by_field.items() for value in values[: VALUES_LIMIT + 1]
    )


@lru_cache(maxsize=20_000)
def borne(owner: str, entity_type: str, evidence: Evidence, alternatives: Alternatives) -> Mapping[str, int]:
    """Return the ids that evidence bears, also of types that join this one, each with its level."""
    levels: dict[str, int] = {}
    joining = [each for each, joined in identity.SHIPPED_ALIASES.items() if joined == entity_type]
    for level, names, combination in _made(evidence, alternatives):
        basis = "+".join(names)
        levels.setdefault(ids.entity_id(owner, entity_type, basis, combination), level)
        for other in joining:
            if names in (own := identity.own_rule(other)):
                other_id = ids.entity_id(owner, other, basis, combination)
                levels.setdefault(other_id, JOINING_LEVEL + own.index(names))
    return levels


def _made(
    evidence: Evidence, alternatives: Alternatives
) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """Yield the levels with their fields, and the values that evidence has for these."""
    by_field = _by_field(evidence)
    by_field[INSTANT] = sorted(set(filter(None, map(_instant, by_field.get("date_start", ())))))
    for level, names in enumerate(alternatives):
        values = [by_field.get(name, []) for name in names]
        is_crowded = any(len(each) > VALUES_LIMIT for each in values)
        if not is_crowded and 0 < prod(map(len, values)) <= BORNE_LIMIT:
            for combination in product(*values):
                yield level, names, combination


def _instant(start: str) -> str | None:
    """Return the instant of a start, ``None`` where this has no time or no zone."""
    written = dates.parse(start.upper())
    return times.render(written.at) if written is not None and written.offset is not None else None


def _by_field(evidence: Evidence) -> dict[str, list[str]]:
    by_field: dict[str, list[str]] = {}
    for name, value in sorted(evidence):
        by_field.setdefault(name, []).append(value)
    return by_field


def in_conflict(evidence: Evidence, other: Evidence) -> bool:
    """Return whether a field has values in both and none in common, or too many values to tell. Names may
    differ where a number is in common."""
    by_field, others = _by_field(evidence), _by_field(other)
    if "counterparty" in by_field.keys() | others.keys():
        # The partner beside a number is who issued it, or to whom.
        for each in (by_field, others):
            parties = [party for name in _PARTIES for party in each.get(name, ())]
            each.update({"counterparty": parties} if parties else {})
    has_number = any(name in numbers.FIELDS for name, _ in evidence & other)
    return any(
        max(len(values), len(others[name])) > VALUES_LIMIT or not set(values) & set(others[name])
        for name, values in by_field.items()
        if name in others and name != identity.FORMER and not (has_number and name in identity.NAME_FIELDS)
    )


@dataclass(frozen=True)
class OwnRule:
    """The own rule of one type of an owner. The levels of one that joins another type begin at
    :data:`JOINING_LEVEL`, so that its entities are decided last."""

    owner: str
    entity_type: str
    alternatives: Alternatives
    off: frozenset[int] = frozenset()  # the places of the alternatives that merge nothing
    joins: str | None = None  # the type of which this one is another name

    def __hash__(self) -> int:
        # An owner has few rules of one type, and caches hash rules often.
        return hash((self.owner, self.entity_type))

    @cached_property
    def bases(self) -> tuple[str, ...]:
        return tuple("+".join(names) for names in self.alternatives)

    @cached_property
    def first(self) -> int:
        return JOINING_LEVEL if self.joins else 0

    def is_own(self, level: int) -> bool:
        return self.first <= level < self.first + len(self.alternatives)

    def is_weaker(self, level: int) -> bool:
        """Return whether a level is an own one but the strongest: an index holds ids of these."""
        return self.is_own(level) and level != self.first

    def evidence(self, fields: Mapping[str, Any]) -> Evidence:
        own = evidence(self.entity_type, fields, self.alternatives)
        if own and self.tells_former:
            name, former = identity.company_names(fields)
            own |= {("name", each) for each in (name, *former) if each}
            own |= {(identity.FORMER, each) for each in former if each != name}
        if not self.is_dated:
            return own
        beside = shared_addresses.beside_number(identity.read_fields(self.entity_type, fields))
        return own | {(name, value) for name, value in beside._asdict().items() if value}

    @cached_property
    def tells_former(self) -> bool:
        return ("name", identity.FORMER) in self.alternatives

    @cached_property
    def level_of_names(self) -> int:
        """The level whose ids ``Identified.called`` are."""
        return self.alternatives.index(("name",)) if self.tells_former else CALLED_LEVEL

    @cached_property
    def is_dated(self) -> bool:
        """Whether what is said beside a number of the type may contradict itself."""
        is_number = shared_addresses.basis_of(self.entity_type) == shared_addresses.NUMBER
        return is_number and self.alternatives == identity.merging(self.entity_type)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The fields that alone are a number of the type, with those of their levels that an index has."""
        own = NUMBERED[self.entity_type].numbers if self.entity_type in NUMBERED else ()
        levels = {names: level for level, names in enumerate(self.alternatives) if level}
        return {each: levels[each,] for each in own if (each,) in levels}

    def number(self, evidence: Evidence) -> tuple[str, int] | None:
        """Return the id that the number of an entity makes alone, and its level."""
        by_field = _by_field(evidence) if self.numbers else {}
        for name, level in self.numbers.items():
            values = [each for each in by_field.get(name, ()) if any(map(str.isdigit, each))]
            if len(values) == 1:
                return self.id_of_name(level, values[0]), level
        return None

    def borne(self, evidence: Evidence) -> Mapping[str, int]:
        levels = borne(self.owner, self.entity_type, evidence, self.alternatives)
        return {each: level + self.first for each, level in levels.items()} if self.joins else levels

    def names(self, entity_id: str, evidence: Evidence) -> tuple[PersonName, ...]:
        return _names(self, entity_id, evidence)

    def near(self, names: Iterable[PersonName], known: Known) -> NearNames:
        return person_names.near(names, known, self.id_of_name)

    def has(self, group: NameGroup) -> bool:
        return group.prefix.startswith(f"{self.entity_type}:")

    def id_of_name(self, level: int, name: str) -> str:
        return ids.entity_id(self.owner, self.entity_type, self.basis(level), [name])

    def identified(self, entity_id: str, evidence: Evidence) -> Identified:
        level = self.borne(evidence).get(entity_id)
        called, former = self._names_of_company(evidence)
        if level == self.level_of_names and former and entity_id not in former:
            level = CALLED_LEVEL
        number, level_of_number = self.number(evidence) or (None, 0)
        if (level is None or number) and not self.joins and evidence >= BY_CONTENT:
            level = CONTENT_LEVEL
        is_part = level is None and shared_addresses.is_part(
            self.owner, self.entity_type, entity_id, evidence
        )
        level = (CONTENT_LEVEL if number else 0) if is_part else level
        if level == 0 and ("title", INSTANT) in self.alternatives:
            called = self._twins(entity_id, evidence)
            level = CALLED_LEVEL if called else level
        # From this level on, a name alone made the company.
        level_of_names = self.level_of_names if self.tells_former else CALLED_LEVEL + 1
        is_off = level is not None and (
            level - self.first in self.off or self._is_abbreviated(entity_id, level, evidence)
        )
        same = number if number and level == CONTENT_LEVEL else self._same(entity_id, level, evidence)
        return Identified(
            level, evidence, is_off, None if is_part else same, number, level_of_number, is_part,
            *((called, former) if level is not None and level < level_of_names else ()),
        )  # fmt: skip

    def _names_of_company(self, evidence: Evidence) -> tuple[frozenset[str], frozenset[str]]:
        """Return the ids that the names of a company make, and those that its former names make."""
        if not self.tells_former:
            return frozenset(), frozenset()
        former, names = (
            frozenset(
                self.id_of_name(self.level_of_names, value) for name, value in evidence if name == field
            )
            for field in (identity.FORMER, "name")
        )
        return names - former, former

    def _twins(self, entity_id: str, evidence: Evidence) -> frozenset[str]:
        """Return the id that the title and the instant of an event make, if its start has one."""
        for level, _, (title, *start) in _made(evidence, self.alternatives):
            instant = _instant(start[0]) if level == 0 else None
            if instant and entity_id == ids.entity_id(
                self.owner, self.entity_type, self.basis(0), [title, *start]
            ):
                twins = ids.entity_id(
                    self.owner, self.entity_type, self.basis(CALLED_LEVEL), [title, instant]
                )
                return frozenset({twins})
        return frozenset()

    def _same(self, entity_id: str, level: int | None, evidence: Evidence) -> str | None:
        """Return the id that the values which made an id make today, where it is another one."""
        if level == CONTENT_LEVEL:
            weaker = [(at, each) for each, at in self.borne(evidence).items() if self.is_weaker(at)]
            strongest = [each for at, each in weaker if at == min(weaker)[0]]
            return strongest[0] if len(strongest) == 1 else None
        if level is None or not self.joins:
            return None
        for place, names, combination in _made(evidence, self.alternatives):
            basis = "+".join(names)
            if place + self.first == level and entity_id == ids.entity_id(
                self.owner, self.entity_type, basis, combination
            ):
                return ids.entity_id(self.owner, self.joins, basis, combination)
        return None

    def _is_abbreviated(self, entity_id: str, level: int, evidence: Evidence) -> bool:
        name = self.basis(level)
        if not person_names.is_name(self.entity_type, name):
            return False
        return any(
            self.id_of_name(level, value) == entity_id
            for field, value in evidence
            if field == name and identity.is_abbreviated(value)
        )

    def basis(self, level: int) -> str:
        """Return the alternative of a level as ``identity_basis`` names it."""
        return identity.CONTENT if level == CONTENT_LEVEL else self.bases[level - self.first]

    def level(self, basis: str) -> int:
        """Return the level of an alternative, -1 where the rule has it no more."""
        if basis == identity.CONTENT:
            return CONTENT_LEVEL
        return self.first + self.bases.index(basis) if basis in self.bases else -1

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The identifying fields, under both names where one has two, as queries compare them."""
        alternatives = (*self.alternatives, numbers.BESIDE) if self.is_dated else self.alternatives
        names = identity.identifying_names(self.entity_type, alternatives)
        names += identity.FORMER_NAMES if self.tells_former else ()
        return tuple(sorted({*names, *map(identity.squeezed, names)}))


@lru_cache(maxsize=20_000)
def own_rule(
    owner: str, entity_type: str, registered: Alternatives | None, off: frozenset[str] = frozenset()
) -> OwnRule | None:
    """Return the own rule of a type, ``None`` where nothing can be merged by it: it has less than two levels.
    ``off`` are alternatives that merge nothing, as ``identity_basis`` names them."""
    levels = alternatives(entity_type, registered)
    if len(levels) < 2:
        return None
    is_off = frozenset(level for level, names in enumerate(levels) if "+".join(names) in off)
    joins = identity.SHIPPED_ALIASES.get(entity_type) if registered is None else None
    return OwnRule(owner, entity_type, levels, is_off, joins)


@lru_cache(maxsize=20_000)
def _names(rule: OwnRule, entity_id: str, evidence: Evidence) -> tuple[PersonName, ...]:
    by_field = _by_field(evidence)
    names: list[PersonName | None] = []
    for level in filter(rule.is_weaker, range(rule.first, rule.first + len(rule.alternatives))):
        basis = rule.basis(level)
        values = by_field.get(basis, []) if person_names.is_name(rule.entity_type, basis) else []
        for value in values if len(values) <= VALUES_LIMIT else ():
            is_own = rule.id_of_name(level, value) == entity_id
            names.append(person_names.name_of(rule.entity_type, basis, level, value, is_own=is_own))
    return tuple(filter(None, names))


@dataclass(frozen=True, slots=True)
class Identified:
    """What the rule knows of an entity without its members."""

    level: int | None
    evidence: Evidence
    is_off: bool = False  # it is merged into nothing: its alternative is off, or its name abbreviated
    same: str | None = None  # the id that its values make today, where another made it
    number: str | None = None  # the id that its number makes alone
    level_of_number: int = 0
    is_part: bool = False  # it is one of several that share a number
    # The ids that the names of a company make, where these decide, or the title and the instant of an event.
    called: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()  # those that the former names of a company make
