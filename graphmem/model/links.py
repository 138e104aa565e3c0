"""What the parts of a request have in common, and its relationships, as far as it alone determines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from graphmem.model import facts, relationship

if TYPE_CHECKING:
    from graphmem.model.items import Item

DEFAULT_SOURCE: Final = "llm_summary"
DEFAULT_PRIORITY: Final = 100.0


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values of a request that apply to all of its parts; ``observed_at`` in microseconds."""

    observed_at: int | None = None
    priority: float = DEFAULT_PRIORITY
    observation_source: str = DEFAULT_SOURCE
    specificity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Defaults):
    """An item or a relationship: one observation to write."""

    index: int
    fields: Mapping[str, str]  # canonical JSON by name
    kind: facts.Kind = "value"
    path: str = ""  # where it stands in its request
    given_type: str | None = None  # the type as the request spells it, where that is another name
    places: str | None = None  # canonical JSON: where in a file it and each of its fields stand
    expected_version: int | None = None  # the version before the request; 0: there is none, or it is deleted


@dataclass(frozen=True, slots=True)
class End:
    """One end of a relationship to write: the entity of an item by its index, or an entity by its id."""

    index: int | None = None
    entity_id: str | None = None

    def resolve(self, items: Sequence[Item]) -> str:
        if self.entity_id is not None:
            return self.entity_id
        assert self.index is not None
        return items[self.index].entity_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Part):
    """One relationship to write; its ends are not resolved to entities yet."""

    relationship_type: str
    source: End
    target: End
    kind: facts.Kind = "create"
    is_swapped: bool = False  # whether the ends are swapped
    is_symmetric: bool = False  # it may be stored with its ends swapped already

    @property
    def swapped(self) -> Link:
        fields = {relationship.SWAPPED.get(name, name): value for name, value in self.fields.items()}
        return replace(
            self, source=self.target, target=self.source, fields=fields, is_swapped=not self.is_swapped
        )

    @property
    def variants(self) -> list[Link]:
        """It and, if it is symmetric, the same swapped."""
        return [self, self.swapped] if self.is_symmetric else [self]

    @property
    def given_ends(self) -> dict[str, End]:
        """The ends as the request names them."""
        ends = (self.target, self.source) if self.is_swapped else (self.source, self.target)
        return dict(zip(("source", "target"), ends, strict=True))
