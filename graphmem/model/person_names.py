"""The names of entities that are persons, as an index holds them: who else may be meant by a name.

The names of one type are compared with each other if they share a group (:func:`groups`). An index holds a
text for each name and group of it.

They decide what is merged by rule (:mod:`graphmem.model.rule_merges`). Two names are near if they are ways to
write one name (a short form of the given name, the surname in front, middle names left out), or if one word
more is an initial or has one slip: a letter left out, added, replaced, or exchanged with the next one.
"""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from graphmem import tables
from graphmem.model import identity

WORDS_LIMIT: Final = 4
LENGTH_LIMIT: Final = 100  # a name of more words or characters, or one with digits, is near no other
_FAR: Final = 2
_FORMS: Final = [group.split() for group in tables.read("model/nicknames")["groups"]]
_OTHERS: Final[list[str]] = tables.read("model/nicknames")["others"]
_OTHER_FORMS: Final = {
    word: frozenset(group for group in _OTHERS if word in group.split()) for word in " ".join(_OTHERS).split()
}
FULL_NAMES: Final[dict[str, frozenset[str]]] = {
    word: frozenset(forms[0] for forms in _FORMS if word in forms) for word in sorted({*chain(*_FORMS)})
}
"""The full names that a given name may stand for, itself among them where it is one."""


def are_forms_of_one_name(word: str, other: str) -> bool:
    """Return whether two given names may be the same name: Bill and William, Chris and Christina."""
    full = FULL_NAMES.get(word)
    return full is not None and not full.isdisjoint(FULL_NAMES.get(other, ()))


@lru_cache(maxsize=50_000)
def words(folded: str) -> tuple[str, ...]:
    """Return the words of a folded name, the given name first; none where no name is near."""
    surname, comma, given_names = folded.partition(", ")
    parts = [word.strip(".") for word in (f"{given_names} {surname}" if comma else surname).split()]
    if len(folded) > LENGTH_LIMIT or len(parts) > WORDS_LIMIT or not all(parts):
        return ()
    if any("," in part or any(c.isdigit() for c in part) for part in parts):
        return ()
    return tuple(parts)


@lru_cache(maxsize=50_000)
def groups(folded: str) -> tuple[str, ...]:
    """Return the groups of a folded name, sorted: two names are compared if they share one.

    A group is the given name with the first letter of the surname, or the surname with that of the given
    name: ``"bill grant"`` is in ``"william g"``, ``"grant, b"`` and ``"grant, w"``.
    """
    parts = words(folded)
    if not parts:
        return ()
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return tuple(sorted(FULL_NAMES.get(first, ())))
    full_names = FULL_NAMES.get(first) or frozenset({first})
    letters = {first[0], *(name[0] for name in full_names)}
    return tuple(
        sorted({f"{name} {last[0]}" for name in full_names} | {f"{last}, {letter}" for letter in letters})
    )


def are_near(folded: str, other: str) -> bool:
    """Return whether two folded names are near each other; a name is not near itself."""
    parts, others = words(folded), words(other)
    if folded == other or not parts or not others:
        return False
    if len(parts) == 1 or len(others) == 1:
        return len(parts) == len(others) and are_forms_of_one_name(parts[0], others[0])
    pairs = [(parts[0], others[0]), (parts[-1], others[-1])]
    if len(parts) > 2 and len(others) > 2:
        if len(parts) != len(others):
            return False
        pairs += zip(parts[1:-1], others[1:-1], strict=True)
    return sum(_distance(*pair) for pair in pairs) < _FAR


def is_form_of(word: str, other: str) -> bool:
    """Return whether two words of names may be one: one given name, an initial, or one slip apart."""
    is_short_form = not _OTHER_FORMS.get(word, frozenset()).isdisjoint(_OTHER_FORMS.get(other, ()))
    return is_short_form or _distance(word, other) < _FAR


def _distance(word: str, other: str) -> int:
    """Return 0 for one word or given name, 1 for an initial or a slip, else :data:`_FAR`."""
    if word == other or are_forms_of_one_name(word, other):
        return 0
    if _is_initial(word) or _is_initial(other):
        letters = [{each[0], *(name[0] for name in FULL_NAMES.get(each, ()))} for each in (word, other)]
        return 1 if letters[0] & letters[1] else _FAR
    if max(len(word), len(other)) < 3:
        return _FAR
    return 1 if _is_one_slip(word, other) else _FAR


def _is_initial(word: str) -> bool:
    """Return whether a word is one letter of a script with capitals."""
    return len(word) == 1 and word.upper() != word


def _is_one_slip(word: str, other: str) -> bool:
    if len(word) > len(other):
        word, other = other, word
    start = next((place for place, c in enumerate(word) if c != other[place]), len(word))
    rest, others = word[start:], other[start:]
    if len(word) < len(other):
        return rest == others[1:]
    return rest[1:] == others[1:] or (rest[1::-1] == others[:2] and rest[2:] == others[2:])


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
    of_name = tuple(NameGroup(basis, f"{entity_type}:{each}|") for each in groups(name))
    return PersonName(level, name, is_own, of_name) if of_name else None


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
                if not are_near(name.name, other):
                    continue
                near_id = id_of(name.level, other)
                if name.is_own:
                    result.known[near_id] = name.level, other
                else:
                    result.weak[near_id] = name.level
    return result


def is_short_for_another(name: str, names: Iterable[str], meant: Collection[str]) -> bool:
    """Return whether a name has initials, which stand for a given name that is not meant."""
    longer = [each for each in names if are_near(name, each) and not identity.is_abbreviated(each)]
    others = (other for other in longer if not any(are_near(other, each) for each in meant))
    return identity.is_abbreviated(name) and any(other not in meant for other in others)
