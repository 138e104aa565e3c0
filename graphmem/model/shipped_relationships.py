"""The relationship types that every database has, and the words that people use for them.

Both are data: ``relationship_types.toml`` says what its entries are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from graphmem import tables

SOURCE_ROLE: Final = "source_role"
TARGET_ROLE: Final = "target_role"
"""Metadata of a relationship: what its source, or its target, is to the other end, such as brother."""
ENDED: Final = ("current", "false")
"""Metadata that says that a relationship has ended, at a time that is not known: name and canonical JSON."""


@dataclass(frozen=True, slots=True)
class RelationshipKind:
    """One type of relationship; ``is_own``: of one owner, who has used the name."""

    name: str
    inverse: str | None = None
    description: str | None = None
    is_own: bool = False

    @property
    def is_symmetric(self) -> bool:
        """Whether two entities have one relationship of it, whichever of them is given as the source. What
        RELATED_TO says may stand in its metadata, and may have a direction there."""
        return self.inverse == self.name != "RELATED_TO"


class Meaning(NamedTuple):
    """What a name says of two entities."""

    name: str  # the type
    is_swapped: bool = False  # whether what is given as the source is the target of the type
    metadata: Mapping[str, str] = MappingProxyType({})  # canonical JSON by field
    can_end: bool = False  # whether the type may have ended, where the name says that it was


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of the file; each text is a list of words."""

    name: str
    inverse: str
    description: str
    names: str = ""
    inverse_names: str = ""
    past: str | None = None
    source: str = ""
    target: str = ""
    source_kinds: str = ""
    target_kinds: str = ""
    kind: RelationshipKind = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", RelationshipKind(self.name, self.inverse, self.description))

    def meanings(self) -> Iterator[tuple[str, Meaning]]:
        """Yield every name, that of the type first, with its meaning."""
        can_end = self.past is not None
        same, swapped = Meaning(self.name, can_end=can_end), Meaning(self.name, True, can_end=can_end)
        yield self.name, same
        if not self.kind.is_symmetric:
            yield self.inverse, swapped
        yield from ((name, same) for name in self.names.split())
        yield from ((name, swapped) for name in self.inverse_names.split())
        ended = same._replace(metadata=dict([ENDED]))
        yield from ((name, ended) for name in (self.past or "").split())
        for role, words, of, has in (
            (SOURCE_ROLE, self.source_kinds, same, swapped),
            (TARGET_ROLE, self.target_kinds, swapped, same),
        ):
            for word in words.split():
                metadata = {role: f'"{word.replace("_", " ")}"'}
                if not self.kind.is_symmetric or role == SOURCE_ROLE:
                    yield f"{word.upper()}_OF", of._replace(metadata=metadata)
                if not self.kind.is_symmetric or role == TARGET_ROLE:
                    yield f"HAS_{word.upper()}", has._replace(metadata=metadata)


_ENTRIES: Final = tuple(
    _Entry(name, **entry) for name, entry in tables.read("model/relationship_types").items()
)
BUILTIN: Final[Mapping[str, RelationshipKind]] = MappingProxyType(
    {entry.name: entry.kind for entry in _ENTRIES}
)
"""The types that every database has."""
MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {name: meaning for entry in reversed(_ENTRIES) for name, meaning in reversed([*entry.meanings()])}
)
"""What each shipped name of a relationship says; of several meanings the first."""
ROLES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = MappingProxyType(
    {
        (name, "incoming" if is_source is not meaning.is_swapped else "outgoing"): tuple(
            word for word in words.split() if "_" not in word
        )
        for entry in _ENTRIES
        for name, meaning in entry.meanings()
        if not meaning.metadata
        for is_source, words in (
            (True, f"{entry.source} {entry.source_kinds}"),
            (False, f"{entry.target} {entry.target_kinds}"),
        )
        if words.strip()
    }
)
"""For the name of a relationship and a direction, the words for the entity at the other end.

Other names of a type and of its inverse have words, too: somebody may have registered a type of that name."""
