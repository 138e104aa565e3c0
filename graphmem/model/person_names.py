"""The names of entities that are persons, as an index holds them: who else may be meant by a name.

The names of one type are compared with each other if they share a group
(:func:`graphmem.model.near_names.groups`). An index holds a text for each name and group of it.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from graphmem.model import identity, near_names

FIELDS: Final = (identity.CANONICAL_NAME, "name", "full_name")
LIMIT: Final = 200  # texts of one group; with more of them, nobody in it is merged by the name alone
_OWN: Final = "own"
_OTHER: Final = "other"


class NameGroup(NamedTuple):
    """A group of the names of one type: the alternative, and how the texts of the group begin."""

    basis: str
    prefix: str


class PersonName(NamedTuple):
    """A name by which an entity may be meant. ``level`` is that of the alternative that is this name alone;
    ``is_own``: the name made the entity's id."""

    level: int
    name: str
    is_own: bool
    groups: tuple[NameGroup, ...]

    @property
    def texts(self) -> list[tuple[NameGroup, str]]:
        end = f"{self.name}|{_OWN if self.is_own else _OTHER}"
        return [(group, group.prefix + end) for group in self.groups]


class NearNames(NamedTuple):
    """What bears names near those of an entity."""

    weak: dict[str, int]  # with their level, the entities made by names near another name of it
    known: dict[str, tuple[int, str]]  # with level and name, the ids that others bear near its own
    crowded: set[int]  # levels of names that made it, in groups of too many


Known = Callable[[NameGroup], Collection[str] | None]
"""Returns the texts of a group, ``None`` for more than :data:`LIMIT`."""


def is_name(entity_type: str, basis: str) -> bool:
    return basis in (FIELDS if entity_type in identity.PEOPLE else ("full_name",))


def name_of(entity_type: str, basis: str, level: int, name: str, *, is_own: bool) -> PersonName | None:
    groups = tuple(NameGroup(basis, f"{entity_type}:{each}|") for each in near_names.groups(name))
    return PersonName(level, name, is_own, groups) if groups else None


def name_in(group: NameGroup, text: str) -> tuple[str, bool]:
    name, _, kind = text.removeprefix(group.prefix).rpartition("|")
    return name, kind == _OWN


def near(names: Iterable[PersonName], known: Known, id_of: Callable[[int, str], str]) -> NearNames:
    """Return what bears names near some; ``id_of`` returns the id that a name makes at a level."""
    result = NearNames({}, {}, set())
    for name in names:
        for group in name.groups:
            texts = known(group)
            if texts is None and name.is_own:
                result.crowded.add(name.level)
            end = f"|{_OTHER if name.is_own else _OWN}"
            compared = [text[len(group.prefix) : -len(end)] for text in texts or () if text.endswith(end)]
            for other in compared:
                if not near_names.are_near(name.name, other):
                    continue
                near_id = id_of(name.level, other)
                if name.is_own:
                    result.known[near_id] = name.level, other
                else:
                    result.weak[near_id] = name.level
    return result


def is_short_for_another(name: str, names: Iterable[str], meant: Collection[str]) -> bool:
    """Return whether a name has initials, which stand for a given name that is not meant."""
    longer = [each for each in names if near_names.are_near(name, each) and not identity.is_abbreviated(each)]
    others = (other for other in longer if not any(near_names.are_near(other, each) for each in meant))
    return identity.is_abbreviated(name) and any(other not in meant for other in others)
