"""The relationships that a request stores, as far as the request alone determines them."""

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
class End:
    """One end of a relationship to write: the entity of an item by its index, or an entity by its id."""

    index: int | None = None
    entity_id: str | None = None

    def resolve(self, items: Sequence[Item]) -> str:
        if self.entity_id is not None:
            return self.entity_id
        assert self.index is not None
        return items[self.index].entity_id


@dataclass(frozen=True, slots=True)
class Link:
    """One relationship to write; its ends are not resolved to entities yet.

    ``given_type`` is the type as the request spells it, where that is another name; ``is_swapped``: whether
    the ends are swapped. Its time (microseconds), priority, specificity and source are as those of an item. A
    relationship that ``is_symmetric`` may be stored with its ends swapped already. ``expected_version`` is
    the version that it must have before the request; 0: there is none, or it is deleted.
    """

    index: int
    relationship_type: str
    source: End
    target: End
    fields: Mapping[str, str]
    kind: facts.Kind = "create"
    path: str = ""
    places: str | None = None
    observed_at: int | None = None
    priority: float = DEFAULT_PRIORITY
    specificity: float = 1.0
    observation_source: str = DEFAULT_SOURCE
    given_type: str | None = None
    is_swapped: bool = False
    is_symmetric: bool = False
    expected_version: int | None = None

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
