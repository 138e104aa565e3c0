"""The vocabulary of relationship types: those that are built in, and those that are registered.

Names are read in any case; keys and edges have the canonical spelling, UPPER_SNAKE. The database holds the
registered types (:mod:`graphmem.database.relationship_vocabulary`); the functions here take them as an
argument. :mod:`graphmem.model.shipped_relationships` has those that are built in. Any other well-formed name
is a type of the owner's own who uses it.

A type has a direction, and may have an ``inverse``: the name by which it is read from its target. The inverse
describes; no second edge is ever written. Read in either direction, a name means one relationship only: see
:func:`registered`.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from graphmem.model.shipped_relationships import (
    BUILTIN,
    ENDED,
    MEANINGS,
    SOURCE_ROLE,
    TARGET_ROLE,
    Meaning,
    RelationshipKind,
)

__all__ = ["BUILTIN", "RelationshipKind"]

NAME_SHAPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
"""The grammar of names in canonical spelling that can be registered: edges of the database have them."""
NAME_RULE: Final = "a letter, then up to 63 letters, digits or underscores"
"""What a name is: of letters of any script for a type of the owner's own."""
SUGGESTIONS_LIMIT: Final = 10
"""Unknown types of one request for which an answer names the nearest known one.

To search a thousand types for it takes milliseconds."""
DESCRIPTION_LIMIT: Final = 1_000  # characters of a description
OWN_LIMIT: Final = 200  # relationship types of one owner's own
REGISTERED_LIMIT: Final = 1_000
"""Registered types of one database: a walk along all types has them in its query text."""

_CASE_CHANGE: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SAID: Final = re.compile(
    r"(?:IS|ARE|AM|HAS_BEEN|(?P<was>WAS|WERE|USED_TO_BE))_(?:(?:AN?|THE)_)?"
    r"(?P<rest>(?!(?:AN?|THE|AS|AT|BY|FOR|FROM|IN|OF|ON|TO|WITH)(?:_|$)).+)"
)
_HAS: Final = re.compile(r"HAS_(?:AN?|THE)_(?P<rest>.+)")

INTERNAL: Final = frozenset({
    "BY_AGENT", "BY_INTERPRETATION", "FROM_SOURCE", "HAD_EVENT", "HAS_EVENT", "HAS_HISTORY", "HAS_VALUE",
    "IDENTIFIES", "IN_TRANSACTION", "MERGED", "MERGED_INTO", "OBSERVED", "SHOWN_AS",
})  # fmt: skip
"""Types of the graph's own edges; a relationship type cannot have one of these names.

Edges between accounts, keys and grants have names in lower case. They came later, and so they cannot meet a
relationship type that somebody registered before.
"""


SWAPPED: Final = {SOURCE_ROLE: TARGET_ROLE, TARGET_ROLE: SOURCE_ROLE}
"""The metadata of the ends, by what they are where the ends are swapped."""

Nearest = Callable[[str, Collection[str]], str | None]
"""Returns the known name that was probably meant by an unknown one. Each is in canonical spelling."""


def no_nearest(spelled: str, names: Collection[str]) -> None:
    """Propose no name."""


class UnknownRelationshipType(ValueError):
    """A type is not in the vocabulary: ``nearest`` was probably meant, perhaps the inverse of a type."""

    def __init__(self, name: str, nearest: str | None = None, inverse_of: str | None = None) -> None:
        advice = f"; did you mean {nearest}?" if nearest else ": GET /relationship_types lists the types"
        if inverse_of:
            advice = f"; did you mean {nearest}, the inverse of {inverse_of}?"
        super().__init__(f"unknown relationship type {name[:80]!r}{advice}")
        self.nearest = nearest
        self.inverse_of = inverse_of

    @property
    def proposal(self) -> dict[str, str]:
        proposed = {"nearest": self.nearest, "inverse_of": self.inverse_of}
        return {name: value for name, value in proposed.items() if value}


class RegistrationRefused(ValueError):
    """A type cannot be registered with these arguments; ``argument`` names the one at fault."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


def spell(name: str) -> str:
    """Return the canonical spelling of a name: ``works-at`` is ``WORKS_AT``. It need not be a known type."""
    upper = name.strip().upper()
    if not upper.isascii():
        upper = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).strip().upper())
    return re.sub(r"[\s-]+", "_", upper)


def is_name(spelled: str) -> bool:
    """Whether a type may have this name: :data:`NAME_RULE` allows it, and no edge of the graph's own has it.
    The marks of letters, such as vowel signs, are parts of these."""
    if spelled.isascii():
        return NAME_SHAPE.fullmatch(spelled) is not None and spelled not in INTERNAL
    is_sound = all(c == "_" or c.isalnum() or unicodedata.category(c)[0] == "M" for c in spelled)
    return is_sound and spelled[0].isalpha() and len(spelled) <= 64 and spelled == spell(spelled)


def may_be_native(spelled: str) -> bool:
    return spelled.isascii() and is_name(spelled)


def meaning_of(name: str, kinds: Mapping[str, RelationshipKind], nearest: Nearest = no_nearest) -> Meaning:
    """Return what a name says: of a type, of its inverse, or another shipped name; in any spelling.

    ``kinds`` are all types of the vocabulary; their own names count before other shipped ones. ``nearest``
    finds the type that was probably meant, for the ``UnknownRelationshipType`` of a name that says nothing.
    """
    backwards = read_backwards(kinds)
    for spelled, is_past in readings(name).items():
        meaning = MEANINGS.get(spelled)
        if spelled in kinds:
            can_end = meaning.can_end if meaning else _can_end(spelled)
            meaning = Meaning(kinds[spelled].name, can_end=can_end)
        elif spelled in backwards:
            meaning = Meaning(backwards[spelled], True, can_end=bool(meaning and meaning.can_end))
        if meaning is not None:
            ended = dict([ENDED]) if is_past and meaning.can_end else {}
            return meaning._replace(metadata={**meaning.metadata, **ended})
    # What somebody registered for all is not proposed to everybody.
    usual = {kind.name: kind for kind in kinds.values() if kind.is_own or kind.name in BUILTIN}
    spelled = spell(name)
    near = nearest(spelled, [*usual, *read_backwards(usual)]) or nearest(spelled, MEANINGS)
    raise UnknownRelationshipType(name, near, backwards.get(near or ""))


def own_meaning(name: str) -> Meaning | None:
    """Return what a name says as a type of an owner's own, if it is well-formed."""
    spelled, is_past = [*readings(name).items()][-1]
    ended: dict[str, str] = dict([ENDED]) if is_past and _can_end(spelled) else {}
    return Meaning(spelled, metadata=ended) if is_name(spelled) else None


def readings(name: str) -> dict[str, bool]:
    """Return the canonical spellings that a name may mean, each with whether it tells of the past.
    ``livesIn`` is LIVES_IN, "is the brother of" is BROTHER_OF, and "has a pet" is HAS_PET."""
    spellings: dict[str, bool] = {}
    for spelled in (spell(name), spell(_CASE_CHANGE.sub("_", name))):
        spellings.setdefault(spelled, False)
        if (phrase := _SAID.fullmatch(spelled)) is not None:
            spellings.setdefault(phrase["rest"], phrase["was"] is not None)
        elif (has := _HAS.fullmatch(spelled)) is not None:
            spellings.setdefault(f"HAS_{has['rest']}", False)
    return spellings


def _can_end(name: str) -> bool:
    """Return whether a type that is not shipped may have ended where somebody says that it was: "was made
    by" tells of what happened."""
    return not (name.endswith("_BY") or name.partition("_")[0].endswith("ED"))


def is_symmetric(kinds: Mapping[str, RelationshipKind], name: str) -> bool:
    kind = kinds.get(name)
    return kind is not None and kind.is_symmetric


def read_backwards(kinds: Mapping[str, RelationshipKind]) -> dict[str, str]:
    return {kind.inverse: kind.name for kind in kinds.values() if kind.inverse is not None}


def inverse_of(kinds: Mapping[str, RelationshipKind], name: str) -> str | None:
    """Return the inverse of a type: its own, else the type whose inverse it is."""
    return kinds[name].inverse or read_backwards(kinds).get(name)


def registered(kinds: Mapping[str, RelationshipKind], requested: RelationshipKind) -> RelationshipKind:
    """Return what a type is once it is registered over a vocabulary; what is not requested stays as it is.

    What a name means never changes, for relationships stand under it already: an inverse may be added and not
    be replaced, a description may be. And a name means one thing, whichever way it is read: no two types have
    one inverse, and where the inverse of a type is a type itself, each is the inverse of the other. Anything
    else raises RegistrationRefused.
    """
    _check_name("relationship_type", requested.name)
    if requested.inverse is not None:
        _check_name("inverse", requested.inverse)
        _agree(kinds, requested.name, requested.inverse)
    before = kinds.get(requested.name)
    if before is None:
        return replace(requested, inverse=requested.inverse or read_backwards(kinds).get(requested.name))
    described = requested.description is None or requested.description == before.description
    if requested.name in BUILTIN and not described:
        raise RegistrationRefused("description", f"{requested.name} is built in: its description stays")
    return RelationshipKind(
        requested.name, requested.inverse or before.inverse, requested.description or before.description
    )


def _check_name(argument: str, name: str) -> None:
    if name in INTERNAL:
        raise RegistrationRefused(argument, f"{name} is the graph's own: relationships cannot be called so")
    if NAME_SHAPE.fullmatch(name) is None:
        message = f"{name[:80]!r} is not a name: {NAME_RULE}"
        raise RegistrationRefused(argument, message)


def _agree(kinds: Mapping[str, RelationshipKind], name: str, inverse: str) -> None:
    backwards = read_backwards(kinds)
    stands = inverse_of(kinds, name) if name in kinds else backwards.get(name)
    if stands not in (None, inverse):
        message = f"the inverse of {name} is {stands} and never changes: callers may read by it already"
        raise RegistrationRefused("inverse", message)
    other = inverse_of(kinds, inverse) if inverse in kinds else backwards.get(inverse)
    if other not in (None, name):
        message = f"{inverse} is the inverse of {other} already: a name means one relationship only"
        raise RegistrationRefused("inverse", message)
