"""Merges by rule: an entity known by a weak key is merged into the one entity that a stronger key names.

:mod:`graphmem.model.identity_rules` says what alternatives, levels and evidence are, and which ids an entity
bears. An entity X is merged by rule into an entity Y of a stronger level that bears the id of X, if nothing
else may be meant. All functions depend on facts alone, in no order.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple, Protocol

from graphmem.model import person_names
from graphmem.model.identity_rules import (
    CALLED_LEVEL,
    CONTENT_LEVEL,
    JOINING_LEVEL,
    Evidence,
    Identified,
    in_conflict,
)
from graphmem.model.person_names import NearNames

BEARERS_LIMIT: Final = 200
"""Other bearers of an id; with more of them, the entity of this id is merged into none."""


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
        """Return an entity, if an observation that counts makes it."""
        ...

    def borne(self, entity_id: str) -> Mapping[str, int]:
        """Return the ids that an entity bears, each with the level of its alternative."""
        ...

    def near(self, entity_id: str) -> NearNames: ...

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
        """Return a survivor and its members at a level."""
        ...

    def merge(self, entity_id: str) -> RuleMerge | None: ...

    def put(self, entity_id: str, merge: RuleMerge | None) -> None: ...

    def noting_needs(self) -> AbstractContextManager[object]:
        """Return a context that an entity which was not read ends, and is noted to be read with others."""
        return nullcontext()

    def read_needs(self) -> None:
        """Have everything read that was noted; what was decided meanwhile is void then."""


def settle(merges: Merges, entity_ids: Iterable[str]) -> None:
    """Make the merges by rule those that the rule comes to, after a change.

    The levels go from strong to weak: a merge of an entity changes only what entities of weaker levels may be
    merged into. The changed entities are those whose evidence, or whose survivor or members by a fact,
    changed; those that were members of a changed survivor belong to them.
    """
    waiting: dict[int, set[str]] = {}

    def affect(entity_id: str, above: int) -> None:
        """Note an entity, and those that its names may mean, to be decided again; ``above`` is a decided
        level."""
        entity = merges.identified(entity_id)
        own = {} if entity is None or entity.level is None else {entity_id: entity.level}
        if entity is not None and entity.number is not None:
            own |= dict.fromkeys(merges.bearers(entity.number), CONTENT_LEVEL)
        if entity is not None and above < CALLED_LEVEL:
            own |= dict.fromkeys(_connected(merges, entity_id), CALLED_LEVEL)
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
    """Decide entities of a level; return all members that this moves, and what content made beside them."""
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
                if 0 < level < CONTENT_LEVEL and (entity.former or not entity.called):
                    bearers = {each: merges.identified(each) for each in merges.bearers(entity_id)}
                    by_content |= {n for n, each in bearers.items() if each and each.level == CONTENT_LEVEL}
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


def merge_of(merges: Merges, entity_id: str) -> RuleMerge | None:
    """Return the merge by rule of an entity, ``None`` where there is none. Two entities that somebody
    separated do not meet in one survivor: neither is merged there."""
    merge = _possible_merge(merges, entity_id)
    if merge is None:
        return None
    survivor = merges.survivor(merge.into, merge.level)
    for separated in _separated(merges, entity_id, merge.level):
        if separated == survivor:
            return None
        other = _possible_merge(merges, separated) if separated != entity_id else None
        at_one_level = other is not None and other.level == merge.level
        if other is not None and at_one_level and merges.survivor(other.into, other.level) == survivor:
            return None
    return merge


def _separated(merges: Merges, entity_id: str, level: int) -> Iterator[str]:
    for member_id in merges.members(entity_id, level):
        for separated in merges.separated(member_id):
            yield merges.survivor(separated, level)


def _possible_merge(merges: Merges, entity_id: str) -> RuleMerge | None:
    entity = merges.identified(entity_id)
    if entity is None or not entity.level or entity.is_off:
        return None
    level = entity.level
    if merges.survivor(entity_id, level) != entity_id:
        # A merge that is a fact beats the rule.
        return None
    if entity.called and level == CALLED_LEVEL:
        return _with_called(merges, entity_id, entity)
    same = merges.identified(entity.same) if entity.same else None
    if same and entity.number and in_conflict(entity.evidence, same.evidence):
        same = None
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


def _bearing(merges: Merges, entity_id: str, names: Iterable[str]) -> dict[str, Identified] | None:
    """Return the other entities that are, or were, called by a name; ``None`` for too many."""
    bearers = {each for name in names for each in (name, *merges.bearers(name))} - {entity_id}
    if len(bearers) > BEARERS_LIMIT:
        return None
    every = {each: merges.identified(each) for each in sorted(bearers)}
    return {each: bearer for each, bearer in every.items() if bearer and bearer.called}


def _connected(merges: Merges, entity_id: str) -> set[str]:
    """Return what current and former names connect with an entity, directly or through others."""
    reached, waiting = set[str](), [entity_id]
    while waiting and len(reached) <= BEARERS_LIMIT:
        entity = merges.identified(each := waiting.pop())
        bearing = _bearing(merges, each, entity.called | entity.former) if entity else None
        more = (bearing or {}).keys() - reached
        reached |= more
        waiting += sorted(more)
    return reached


def _with_called(merges: Merges, entity_id: str, entity: Identified) -> RuleMerge | None:
    """Return the merge of an event into the first of its title and instant, or of a company that says what it
    was called before into the one of its newest name."""
    target = _newest(merges, entity_id, entity)
    passed, later = {entity_id}, target
    while later is not None and later not in passed:
        passed.add(later)
        known = merges.identified(later)
        later = _newest(merges, later, known) if known and known.level == CALLED_LEVEL else None
    # Where the newest name is the first one again, nothing says which it is.
    return RuleMerge(target, CALLED_LEVEL) if target is not None and later != entity_id else None


def _newest(merges: Merges, entity_id: str, entity: Identified) -> str | None:
    """Return what an entity is called now; of several of one name the first."""
    bearing = _bearing(merges, entity_id, entity.called)
    if bearing is None:
        return None
    fitting = {
        each: other
        for each, other in bearing.items()
        if not entity.former or not in_conflict(entity.evidence, other.evidence)
    }
    later = {each: other for each, other in fitting.items() if _is_later(other, entity)}
    newest = {
        n: each for n, each in later.items() if not any(_is_later(other, each) for other in later.values())
    }
    if not later:
        newest = {n: each for n, each in fitting.items() if each.called & entity.called} | {entity_id: entity}
    strongest = {n: each for n, each in newest.items() if each.level != CALLED_LEVEL}
    if entity.former and not later and not strongest:
        # A number, say, made the company of a former name.
        nameless = frozenset(pair for pair in entity.evidence if pair[0] not in person_names.FIELDS)
        reached = {each: merges.identified(each) for each in _connected(merges, entity_id)}
        known = {n: each for n, each in reached.items() if each and not in_conflict(nameless, each.evidence)}
        strongest = {n: each for n, each in known.items() if each.level != CALLED_LEVEL}
    survivors = {merges.survivor(each, CALLED_LEVEL) for each in strongest or newest}
    is_one = not strongest and newest and frozenset.intersection(*(each.called for each in newest.values()))
    if len(survivors) != 1 and not is_one:
        return None
    first = min(strongest or newest)
    survivor_id = merges.survivor(first, CALLED_LEVEL)
    survivor = merges.identified(survivor_id)
    is_placed = survivor is not None and survivor.level is not None and survivor.level >= CALLED_LEVEL
    is_itself = entity_id in (first, survivor_id)
    return None if is_itself or (survivor_id != first and is_placed) else first


def _is_later(company: Identified, other: Identified) -> bool:
    """Return whether a company was called what another is, and not the other way round too."""
    return bool(company.former & other.called) and not other.former & company.called


def _bearers(merges: Merges, entity_id: str, entity: Identified) -> dict[str, Identified] | None:
    """Return the entities that bear what identifies an entity, ``None`` for too many or if none can."""
    level = entity.level
    by_number = entity.number if level == CONTENT_LEVEL else None
    if not level or (level in (CONTENT_LEVEL, JOINING_LEVEL) and not by_number):
        return None
    bearers: dict[str, Identified] = {}
    for borne_id in [by_number] if by_number else filter(None, (entity_id, entity.same)):
        fitting = _fitting(merges, entity.evidence, level, borne_id)
        if fitting is None:
            return None
        bearers |= fitting
    return bearers


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
        if bearer is None:
            continue
        # What fits the parts of a number belongs to none of them.
        is_in_the_way = bearer.is_part and level < CONTENT_LEVEL
        if bearer.level is not None and bearer.level >= level and not is_in_the_way:
            continue
        if not in_conflict(evidence, bearer.evidence):
            fitting[bearer_id] = bearer
    return fitting
