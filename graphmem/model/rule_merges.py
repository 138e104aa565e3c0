"""Merges by rule: an entity known by a weak key is merged into the one entity that a stronger key names.

The *alternatives* of a type are its own identity rule, strong to weak: a person's are e-mail, name with
birthday, name. The place of an alternative in the rule is its *level*: the level of an entity is that of the
alternative that made its id, ``None`` for an entity that no alternative made.

The *evidence* of an entity are the values of its identifying fields in every observation that counts, not
only in the winners, so that a correction never splits. An entity *bears* the id that an alternative makes of
its evidence. An entity X is merged by rule into an entity Y of a stronger level that bears the id of X, if
nothing else may be meant. All functions depend on facts alone, in no order.

Two kinds of entities have an id that the same values do not make any more, and join the entity of the id that
they make today (``same``): those of a type that is another name of a type (:data:`identity.SHIPPED_ALIASES`),
and a person that its whole content made though it has a first and a last name, or a name in another spelling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Final, NamedTuple, Protocol

from graphmem.model import dates, identity, ids, person_names, times
from graphmem.model.identity import Alternatives
from graphmem.model.person_names import Known, NameGroup, NearNames, PersonName

BEARERS_LIMIT: Final = 200
"""Other bearers of an id; with more of them, the entity of this id is merged into none."""
VALUES_LIMIT: Final = 20
"""Values of one field that are evidence; with more of them, no alternative uses the field."""
BORNE_LIMIT: Final = 50
"""Ids of one alternative that an entity bears; where its values make more, it bears none of them."""
INSTANT: Final = "instant"
"""Stands in an alternative for the instant of a start that has a time and a zone."""
TWIN_LEVEL: Final = 1
"""The level of an event with such a start, and of the alternative of its title and instant: the events of
one title and instant are one, the one with the smallest id."""
CONTENT_LEVEL: Final = 50
"""The level of a person that its content made, although the content has a name."""
JOINING_LEVEL: Final = 100
"""The least level of the entities of a type that is another name of another type."""

Evidence = frozenset[tuple[str, str]]
"""Pairs of an identifying field and a normalised value."""
NO_EVIDENCE: Final[Evidence] = frozenset()
BY_CONTENT: Final[Evidence] = frozenset({(identity.CONTENT, "")})
"""Added by an observation that has a name and made its entity by its whole content."""


def alternatives(entity_type: str, registered: Alternatives | None) -> Alternatives:
    """Return the alternatives of a type's own rule; the general order behind a shipped rule is left out.

    Args:
        registered: those of the type's registered schema, ``None`` where it has none.
    """
    own = identity.own_rule(entity_type) if registered is None else registered
    if registered is None and ("title", "date_start") in own:
        own = (own[0], ("title", INSTANT), *own[TWIN_LEVEL:])
    return () if own == identity.GENERAL[:-1] else own


def evidence(entity_type: str, fields: Mapping[str, Any], alternatives: Alternatives) -> Evidence:
    """Return the evidence that one observation adds."""
    names = {name for each in alternatives for name in each} - {INSTANT}
    read = identity.read_fields(entity_type, fields)
    values = {name: identity.identifying_value(entity_type, name, read) for name in names}
    return frozenset((name, value) for name, value in values.items() if value is not None)


def joined(known: Evidence, more: Evidence) -> Evidence:
    """Return the evidence of two sets of observations.

    Of a field with too many values it keeps one value more than :data:`VALUES_LIMIT`, the smallest ones: so
    the order of joining does not count.
    """
    if more <= known:
        return known
    by_field = _by_field(known | more)
    return frozenset(
        (name, value) for name, values in by_field.items() for value in values[: VALUES_LIMIT + 1]
    )


@lru_cache(maxsize=20_000)
def borne(owner: str, entity_type: str, evidence: Evidence, alternatives: Alternatives) -> Mapping[str, int]:
    """Return the ids that an entity with this evidence bears, each with the level of its alternative.

    Those that the types make which are other names of this one are among them.
    """
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
        count = 1
        for each in values:
            count *= len(each) if len(each) <= VALUES_LIMIT else 0
        if 0 < count <= BORNE_LIMIT:
            for combination in product(*values):
                yield level, names, combination


def _instant(start: str) -> str | None:
    """Return the instant of a start, ``None`` where this has no time or no zone."""
    written = dates.parse(start.upper())
    return times.render(written.at) if written is not None and written.offset is not None else None


def _by_field(evidence: Evidence) -> dict[str, list[str]]:
    """Return the values of each field, sorted."""
    by_field: dict[str, list[str]] = {}
    for name, value in sorted(evidence):
        by_field.setdefault(name, []).append(value)
    return by_field


def in_conflict(evidence: Evidence, other: Evidence) -> bool:
    """Return whether a field has values in both and none in common, or too many values to tell."""
    by_field, others = _by_field(evidence), _by_field(other)
    return any(
        max(len(values), len(others[name])) > VALUES_LIMIT or not set(values) & set(others[name])
        for name, values in by_field.items()
        if name in others
    )


@dataclass(frozen=True)
class OwnRule:
    """The own rule of one type of an owner.

    ``off`` are the places of the alternatives that merge nothing. ``joins`` is the type of which this one is
    another name; its levels begin at :data:`JOINING_LEVEL`, so that its entities are decided last.
    """

    owner: str
    entity_type: str
    alternatives: Alternatives
    off: frozenset[int] = frozenset()
    joins: str | None = None

    def __hash__(self) -> int:
        # An owner has few rules of one type, and caches hash rules often.
        return hash((self.owner, self.entity_type))

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The alternatives as ``identity_basis`` names them."""
        return tuple("+".join(names) for names in self.alternatives)

    @property
    def first(self) -> int:
        """The level of its strongest alternative."""
        return JOINING_LEVEL if self.joins else 0

    def is_own(self, level: int) -> bool:
        """Return whether a level is that of an alternative of its own."""
        return self.first <= level < self.first + len(self.alternatives)

    def is_weaker(self, level: int) -> bool:
        """Return whether a level is one of its own but the strongest: an index holds ids of these."""
        return self.is_own(level) and level != self.first

    def evidence(self, fields: Mapping[str, Any]) -> Evidence:
        """Return the evidence that one observation adds; see :func:`evidence`."""
        return evidence(self.entity_type, fields, self.alternatives)

    def borne(self, evidence: Evidence) -> Mapping[str, int]:
        """Return the ids that an entity bears, each with the level of its alternative."""
        levels = borne(self.owner, self.entity_type, evidence, self.alternatives)
        return {each: level + self.first for each, level in levels.items()} if self.joins else levels

    def names(self, entity_id: str, evidence: Evidence) -> tuple[PersonName, ...]:
        """Return the names by which an entity may be meant; none unless it is a person."""
        return _names(self, entity_id, evidence)

    def near(self, names: Iterable[PersonName], known: Known) -> NearNames:
        """Return what bears names near some names; see :func:`graphmem.model.person_names.near`."""
        return person_names.near(names, known, self.id_of_name)

    def has(self, group: NameGroup) -> bool:
        """Return whether a group has names of its type."""
        return group.prefix.startswith(f"{self.entity_type}:")

    def id_of_name(self, level: int, name: str) -> str:
        """Return the id that a name makes by the alternative of a level."""
        return ids.entity_id(self.owner, self.entity_type, self.basis(level), [name])

    def identified(self, entity_id: str, evidence: Evidence) -> Identified:
        """Return an entity as the rule knows it."""
        level = self.borne(evidence).get(entity_id)
        if level is None and not self.joins and evidence >= BY_CONTENT:
            level = CONTENT_LEVEL
        twin = (
            self._twin(entity_id, evidence)
            if level == 0 and ("title", INSTANT) in self.alternatives
            else None
        )
        level = TWIN_LEVEL if twin else level
        is_off = level is not None and (
            level - self.first in self.off or self._is_abbreviated(entity_id, level, evidence)
        )
        return Identified(level, evidence, is_off, self._same(entity_id, level, evidence), twin)

    def _twin(self, entity_id: str, evidence: Evidence) -> str | None:
        """Return the id that the title and the instant of an event make, ``None`` without an instant."""
        for level, _, (title, *start) in _made(evidence, self.alternatives):
            instant = _instant(start[0]) if level == 0 else None
            if instant and entity_id == ids.entity_id(
                self.owner, self.entity_type, self.basis(0), [title, *start]
            ):
                return ids.entity_id(self.owner, self.entity_type, self.basis(TWIN_LEVEL), [title, instant])
        return None

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
        """Return whether the name of a person that alone made an id has initials: it fits too many."""
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
        names = identity.identifying_names(self.entity_type, self.alternatives)
        return tuple(sorted({*names, *map(identity.squeezed, names)}))


@lru_cache(maxsize=20_000)
def own_rule(
    owner: str, entity_type: str, registered: Alternatives | None, off: frozenset[str] = frozenset()
) -> OwnRule | None:
    """Return the own rule of a type, ``None`` where nothing can be merged by it: it has less than two levels.

    Args:
        off: alternatives that merge nothing, as ``identity_basis`` names them.
    """
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
    """What the rule knows of an entity without its members: its level and its evidence.

    ``is_off``: it is merged into nothing, because its alternative is off or its name is abbreviated.
    ``same`` is the id that its values make today, where another id made it; ``twin`` what the events of its
    title and instant have in common.
    """

    level: int | None
    evidence: Evidence
    is_off: bool = False
    same: str | None = None
    twin: str | None = None


class RuleMerge(NamedTuple):
    """A merge by rule into the entity ``into``; ``level`` is that of the merged entity."""

    into: str
    level: int


class Merges(Protocol):
    """The entities of one type and what joins them, as the rule reads and changes it.

    Survivors and members at a level are those of the merges that are facts and of the rule merges of entities
    of stronger levels.
    """

    def identified(self, entity_id: str) -> Identified | None:
        """Return an entity; ``None`` where no observation that counts makes it."""
        ...

    def borne(self, entity_id: str) -> Mapping[str, int]:
        """Return the ids that an entity bears, each with the level of its alternative."""
        ...

    def near(self, entity_id: str) -> NearNames:
        """Return what bears names near those of an entity."""
        ...

    def bearers(self, entity_id: str) -> Collection[str]:
        """Return the other entities that bear an id: all, or more than :data:`BEARERS_LIMIT`."""
        ...

    def separated(self, entity_id: str) -> Iterable[str]:
        """Return the entities that somebody separated from an entity; the other way round as well."""
        ...

    def survivor(self, entity_id: str, level: int | None = None) -> str:
        """Return the survivor of an entity at a level; ``None`` takes in all merges."""
        ...

    def members(self, entity_id: str, level: int | None = None) -> Iterable[str]:
        """Return a survivor and its members at a level; ``None`` takes in all merges."""
        ...

    def merge(self, entity_id: str) -> RuleMerge | None:
        """Return the present merge by rule of an entity."""
        ...

    def put(self, entity_id: str, merge: RuleMerge | None) -> None:
        """Make the merge by rule of an entity another one, or none."""
        ...

    def noting_needs(self) -> AbstractContextManager[object]:
        """Return a context in which an entity that was not read ends the block, and is noted to be read.

        So what many entities need is read at once.
        """
        ...

    def read_needs(self) -> None:
        """Have everything read that was noted; what was decided meanwhile is void then."""
        ...


def settle(merges: Merges, entity_ids: Iterable[str]) -> None:
    """Make the merges by rule those that the rule comes to, after a change.

    The levels go from strong to weak: a merge of an entity changes only what entities of weaker levels may be
    merged into.

    Args:
        entity_ids: the entities that changed: in their evidence, or in their survivor or members by a fact.
            Those that were members of a changed survivor belong to them.
    """
    waiting: dict[int, set[str]] = {}

    def affect(entity_id: str, above: int) -> None:
        """Note an entity, and those that its names may mean, to be decided again; ``above`` is a decided
        level."""
        entity = merges.identified(entity_id)
        own = {} if entity is None or entity.level is None else {entity_id: entity.level}
        if entity is not None and entity.twin is not None:
            own |= dict.fromkeys(merges.bearers(entity.twin), TWIN_LEVEL)
        for concerned in (merges.borne(entity_id), merges.near(entity_id).weak, own):
            for concerned_id, level in concerned.items():
                if level > above:
                    waiting.setdefault(level, set()).add(concerned_id)

    for entity_id in entity_ids:
        with merges.noting_needs():
            entity = merges.identified(entity_id)
            if entity is None or entity.level is None:
                # What made its id counts no more: what was separated from it may be merged now.
                if merges.merge(entity_id) is not None:
                    merges.put(entity_id, None)
                for separated in merges.separated(entity_id):
                    affect(separated, 0)
            for member_id in (entity_id, *merges.members(merges.survivor(entity_id))):
                affect(member_id, 0)
    merges.read_needs()
    while waiting:
        level = min(waiting)
        moved, by_content = _settle_level(merges, level, waiting.pop(level))
        if by_content:
            waiting.setdefault(CONTENT_LEVEL, set()).update(by_content)
        for member_id in moved:
            with merges.noting_needs():
                affect(member_id, level)
        merges.read_needs()


def _settle_level(merges: Merges, level: int, entity_ids: set[str]) -> tuple[set[str], set[str]]:
    """Decide entities of one level again.

    Returns all members of the survivors that this changes, and the entities that their content made and that
    may join the decided ones.
    """
    for entity_id in sorted(entity_ids):
        with merges.noting_needs():
            if merges.identified(entity_id) is not None:
                entity_ids |= set(_separated(merges, entity_id, level))
    merges.read_needs()
    decided: dict[str, RuleMerge | None] = {}
    by_content: set[str] = set()
    for entity_id in entity_ids:
        with merges.noting_needs():
            entity = merges.identified(entity_id)
            if entity is not None and entity.level == level:
                decided[entity_id] = merge_of(merges, entity_id)
                if 0 < level < CONTENT_LEVEL and entity.twin is None:
                    by_content |= _made_by_content(merges, entity_id)
    merges.read_needs()
    changed = [each for each, merge in sorted(decided.items()) if merges.merge(each) != merge]
    moved: set[str] = set()
    for entity_id in changed:
        with merges.noting_needs():
            moved.update(merges.members(merges.survivor(entity_id)))
            merges.put(entity_id, decided[entity_id])
            moved.update(merges.members(merges.survivor(entity_id)))
    merges.read_needs()
    return moved, by_content


def _made_by_content(merges: Merges, entity_id: str) -> set[str]:
    bearers = {each: merges.identified(each) for each in merges.bearers(entity_id)}
    return {each for each, known in bearers.items() if known and known.level == CONTENT_LEVEL}


def merge_of(merges: Merges, entity_id: str) -> RuleMerge | None:
    """Return the merge by rule of an entity, ``None`` where there is none.

    Two entities that somebody separated do not meet in one survivor: neither is merged there.
    """
    wanted = _wanted(merges, entity_id)
    if wanted is None:
        return None
    survivor = merges.survivor(wanted.into, wanted.level)
    for separated in _separated(merges, entity_id, wanted.level):
        if separated == survivor:
            return None
        other = _wanted(merges, separated) if separated != entity_id else None
        at_one_level = other is not None and other.level == wanted.level
        if other is not None and at_one_level and merges.survivor(other.into, other.level) == survivor:
            return None
    return wanted


def _separated(merges: Merges, entity_id: str, level: int) -> Iterator[str]:
    """Yield the survivors of what was separated from an entity or its members."""
    for member_id in merges.members(entity_id, level):
        for separated in merges.separated(member_id):
            yield merges.survivor(separated, level)


def _wanted(merges: Merges, entity_id: str) -> RuleMerge | None:
    """Return the merge by rule of an entity if nothing was separated."""
    entity = merges.identified(entity_id)
    if entity is None or not entity.level or entity.is_off:
        return None
    level = entity.level
    if merges.survivor(entity_id, level) != entity_id:
        # A merge that is a fact beats the rule.
        return None
    if entity.twin is not None:
        return _with_twins(merges, entity_id, entity.twin)
    same = merges.identified(entity.same) if entity.same else None
    bearers = {entity.same: same} if entity.same and same else _bearers(merges, entity_id, entity)
    if bearers is None:
        return None
    candidates = [(bearer.level, each) for each, bearer in bearers.items() if bearer.level is not None]
    survivors = {merges.survivor(each, level) for each in bearers}
    if len(survivors) != 1 or not candidates:
        return None
    (survivor_id,) = survivors
    survivor = merges.identified(survivor_id)
    if survivor_id == entity_id or (survivor and survivor.level is not None and survivor.level >= level):
        # The survivor is the entity itself, or its own level may still move it.
        return None
    if same is None and _may_mean_another(merges, entity_id, level, survivor_id):
        return None
    return RuleMerge(min(candidates)[1], level)


def _with_twins(merges: Merges, entity_id: str, twin: str) -> RuleMerge | None:
    """Return the merge of an event into the one with the smallest id of its title and instant."""
    bearers = merges.bearers(twin)
    if len(bearers) > BEARERS_LIMIT:
        return None
    twins = [each for each in bearers if (known := merges.identified(each)) and known.twin == twin]
    first = min([entity_id, *twins])
    survivor_id = merges.survivor(first, TWIN_LEVEL)
    survivor = merges.identified(survivor_id)
    is_placed = survivor is not None and survivor.level is not None and survivor.level >= TWIN_LEVEL
    if first == entity_id or survivor_id == entity_id or (survivor_id != first and is_placed):
        return None
    return RuleMerge(first, TWIN_LEVEL)


def _bearers(merges: Merges, entity_id: str, entity: Identified) -> dict[str, Identified] | None:
    """Return the entities that bear what identifies an entity, ``None`` for too many or if none can."""
    level = entity.level
    if not level or level in (CONTENT_LEVEL, JOINING_LEVEL):
        return None
    found: dict[str, Identified] = {}
    for borne_id in filter(None, (entity_id, entity.same)):
        fitting = _fitting(merges, entity.evidence, level, borne_id)
        if fitting is None:
            return None
        found |= fitting
    return found


def _may_mean_another(merges: Merges, entity_id: str, level: int, survivor_id: str) -> bool:
    """Return whether an entity may mean somebody with a near name, who is shown by another survivor."""
    near = merges.near(entity_id)
    entity = merges.identified(entity_id)
    if entity is None or level in near.crowded:
        return True
    meant = _names_in(entity.evidence)
    nameless = frozenset(pair for pair in entity.evidence if pair[1] not in meant)
    for near_id, (near_level, name) in sorted(near.known.items()):
        others = _fitting(merges, nameless, level, near_id) if near_level == level else {}
        if others is None:
            return True
        for other_id, other in others.items():
            is_another = person_names.is_short_for_another(name, _names_in(other.evidence), meant)
            if not is_another and merges.survivor(other_id, level) != survivor_id:
                return True
    return False


def _names_in(evidence: Evidence) -> set[str]:
    return {value for field, value in evidence if field in person_names.FIELDS}


def _fitting(merges: Merges, evidence: Evidence, level: int, borne_id: str) -> dict[str, Identified] | None:
    """Return the bearers of an id that an entity with some evidence may mean; ``None`` for too many."""
    bearers = merges.bearers(borne_id)
    if len(bearers) > BEARERS_LIMIT:
        return None
    fitting: dict[str, Identified] = {}
    for bearer_id in bearers:
        bearer = merges.identified(bearer_id)
        if bearer is None or (bearer.level is not None and bearer.level >= level):
            continue
        if not in_conflict(evidence, bearer.evidence):
            fitting[bearer_id] = bearer
    return fitting
