"""The vocabulary of relationship types: 26 built-in ones, and those that are registered.

Names are read in any case; keys and edges have the canonical spelling, UPPER_SNAKE. The database holds the
registered types (:mod:`graphmem.database.relationship_vocabulary`); the functions here take them as an
argument.

A type has a direction, and may have an ``inverse``: the name by which it is read from its target. The inverse
describes; no second edge is ever written. Read in either direction, a name means one relationship only: see
:func:`registered`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

NAME_SHAPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
"""The grammar of names in canonical spelling."""
SUGGESTIONS_LIMIT: Final = 10
"""Unknown types of one request for which an answer names the nearest known one.

To search a thousand types for it takes milliseconds."""
DESCRIPTION_LIMIT: Final = 1_000
"""Characters of a description."""
REGISTERED_LIMIT: Final = 1_000
"""Registered types of one database: a walk along all types has them in its query text."""

INTERNAL: Final = frozenset({
    "BY_AGENT", "BY_INTERPRETATION", "FROM_SOURCE", "HAD_EVENT", "HAS_EVENT", "HAS_HISTORY", "HAS_VALUE",
    "IDENTIFIES", "IN_TRANSACTION", "MERGED", "MERGED_INTO", "OBSERVED", "SHOWN_AS",
})  # fmt: skip
"""Types of the graph's own edges; a relationship type cannot have one of these names.

Edges between accounts, keys and grants have names in lower case. They came later, and so they cannot meet a
relationship type that somebody registered before.
"""


@dataclass(frozen=True, slots=True)
class RelationshipKind:
    """One type of relationship."""

    name: str
    inverse: str | None = None
    description: str | None = None


_TABLE = (
    ("ACQUIRED_BY", "ACQUIRED", "The source was acquired by the target."),
    ("COMPETITOR_OF", "COMPETITOR_OF", "Source and target compete."),
    ("CONTRACTED_WITH", "CONTRACTED_WITH", "Source and target have a contract with each other."),
    ("CORRECTS", "CORRECTED_BY", "The source corrects what the target says."),
    ("CREATED_BY", "CREATED", "The source was made or written by the target."),
    ("DEPENDS_ON", "REQUIRED_BY", "The source needs the target."),
    ("DUPLICATE_OF", "HAS_DUPLICATE", "The source is the same thing as the target, recorded once more."),
    ("EMBEDS", "EMBEDDED_IN", "The source shows or carries the target inside itself."),
    ("FUNDED_BY", "FUNDS", "The source gets money from the target."),
    ("INVESTED_IN", "HAS_INVESTOR", "The source has put money into the target for a share of it."),
    ("LOCATED_AT", "LOCATION_OF", "The source is at the place that the target is."),
    ("MANAGES", "MANAGED_BY", "The source is in charge of the target."),
    ("MEMBER_OF", "HAS_MEMBER", "The source belongs to the group that the target is."),
    ("OWNS", "OWNED_BY", "The target is the source's property."),
    ("PARTNER_OF", "PARTNER_OF", "Source and target work together as partners."),
    ("PART_OF", "HAS_PART", "The source is a part of the target."),
    ("REFERENCES", "REFERENCED_BY", "The source cites the target or links to it."),
    ("REFERS_TO", "REFERRED_TO_BY", "The source is about the target, or mentions it."),
    ("RELATED_TO", "RELATED_TO", "Source and target have to do with each other."),
    ("REPORTS_TO", "HAS_REPORT", "The source answers to the target in an organisation."),
    ("SETTLES", "SETTLED_BY", "The source pays or closes the target."),
    ("SUBSIDIARY_OF", "HAS_SUBSIDIARY", "The source is a company that the target controls."),
    ("SUPERSEDES", "SUPERSEDED_BY", "The source takes the place of the target."),
    ("SUPPLIES_TO", "SUPPLIED_BY", "The source delivers to the target."),
    ("TRANSACTED_WITH", "TRANSACTED_WITH", "Money or goods went between source and target."),
    ("WORKS_AT", "EMPLOYS", "The source works for the target."),
)
BUILTIN: Final[Mapping[str, RelationshipKind]] = MappingProxyType(
    {row[0]: RelationshipKind(*row) for row in _TABLE}
)
"""The types that every database has."""


Nearest = Callable[[str, Collection[str]], str | None]
"""Returns the known name that was probably meant by an unknown one. Each is in canonical spelling."""


def no_nearest(spelled: str, names: Collection[str]) -> None:
    """Propose no name."""


def with_builtin(types: Iterable[str]) -> frozenset[str]:
    """Return these types and all built-in ones.

    A query's text holds the types, and each text is planned anew: this way most queries share one text.
    """
    return frozenset(BUILTIN).union(types)


class UnknownRelationshipType(ValueError):
    """A relationship type is not in the vocabulary.

    Attributes:
        nearest: the known type that was probably meant, if any.
        inverse_of: the known type that is read by this name from its target, if any.
    """

    def __init__(self, name: str, nearest: str | None = None, inverse_of: str | None = None) -> None:
        if inverse_of:
            swapped = f"give {inverse_of} with source and target swapped"
            advice = f"; did you mean the inverse of {inverse_of}? {swapped}"
        elif nearest:
            advice = f"; did you mean {nearest}?"
        else:
            advice = ": POST /relationship_types adds a type"
        super().__init__(f"unknown relationship type {name[:80]!r}{advice}")
        self.nearest = nearest
        self.inverse_of = inverse_of

    @property
    def proposal(self) -> dict[str, str]:
        """What an issue says beside the message: ``nearest`` or ``inverse_of``, or nothing."""
        proposed = {"nearest": self.nearest, "inverse_of": self.inverse_of}
        return {name: value for name, value in proposed.items() if value}


class RegistrationRefused(ValueError):
    """A type cannot be registered with these arguments; ``argument`` names the one at fault."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


def spell(name: str) -> str:
    """Return the canonical spelling of a name: ``works-at`` is ``WORKS_AT``. It need not be a known type."""
    return re.sub(r"[\s-]+", "_", name.strip().upper())


def is_name(spelled: str) -> bool:
    """Whether a type may have this name: the grammar allows it, and no edge of the graph's own has it."""
    return NAME_SHAPE.fullmatch(spelled) is not None and spelled not in INTERNAL


def normalise(name: str, kinds: Mapping[str, RelationshipKind], nearest: Nearest = no_nearest) -> str:
    """Return the canonical spelling of a known type.

    Args:
        kinds: all types of the vocabulary, by name.
        nearest: finds the type that was probably meant, for the error.

    Raises:
        UnknownRelationshipType: the type is not known.
    """
    spelled = spell(name)
    if spelled in kinds:
        return spelled
    backwards = read_backwards(kinds)
    if spelled in backwards:
        raise UnknownRelationshipType(name, inverse_of=backwards[spelled])
    near = nearest(spelled, [*kinds, *backwards])
    if near is None or near in kinds:
        raise UnknownRelationshipType(name, near)
    raise UnknownRelationshipType(name, inverse_of=backwards[near])


def read_backwards(kinds: Mapping[str, RelationshipKind]) -> dict[str, str]:
    """Return the type to which each inverse belongs, by the name of the inverse."""
    return {kind.inverse: kind.name for kind in kinds.values() if kind.inverse is not None}


def inverse_of(kinds: Mapping[str, RelationshipKind], name: str) -> str | None:
    """Return the inverse of a type: its own, else the type whose inverse it is."""
    return kinds[name].inverse or read_backwards(kinds).get(name)


def registered(kinds: Mapping[str, RelationshipKind], requested: RelationshipKind) -> RelationshipKind:
    """Return what a type is once it is registered over a vocabulary; what is not requested stays as it is.

    What a name means never changes, for relationships stand under it already: an inverse may be added and
    not be replaced, a description may be. And a name means one thing, whichever way it is read: no two types
    have one inverse, and where the inverse of a type is a type itself, each is the inverse of the other.

    Args:
        kinds: all types, by name.
        requested: names in canonical spelling.

    Raises:
        RegistrationRefused: a name is not one, or its meaning would change or have two sides.
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
        message = f"{name[:80]!r} is not a name: a letter, then up to 63 letters, digits or underscores"
        raise RegistrationRefused(argument, message)


def _agree(kinds: Mapping[str, RelationshipKind], name: str, inverse: str) -> None:
    """Refuse an inverse that contradicts what is there."""
    backwards = read_backwards(kinds)
    stands = inverse_of(kinds, name) if name in kinds else backwards.get(name)
    if stands not in (None, inverse):
        message = f"the inverse of {name} is {stands} and never changes: callers may read by it already"
        raise RegistrationRefused("inverse", message)
    other = inverse_of(kinds, inverse) if inverse in kinds else backwards.get(inverse)
    if other not in (None, name):
        message = f"{inverse} is the inverse of {other} already: a name means one relationship only"
        raise RegistrationRefused("inverse", message)
