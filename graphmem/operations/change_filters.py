"""Which changes a caller wants: filters, a cursor to go on from, or what a subscription is told."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from graphmem.arguments import EntityId, Spelled, TypeFilters
from graphmem.changes.change import KINDS
from graphmem.changes.wanted_changes import WantedChanges
from graphmem.model.identity import NAME_LIMIT
from graphmem.reading.writer_filters import ByWriter

Kind = Annotated[str, Field(pattern=f"^({'|'.join(KINDS)})$")]
FieldName = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT)]


class ChangeFilters(ByWriter, TypeFilters):
    """Which changes a caller wants; all that is given must fit."""

    event_type: Annotated[
        Kind | None, Spelled("kind"), Field(description=f"Kind of the changes: {', '.join(KINDS)}.")
    ] = None
    event_types: list[Kind] = Field(default=[], max_length=50, description="Any of these kinds.")
    entity_id: EntityId | None = None
    entity_ids: list[EntityId] = Field(default=[], max_length=200, description="Any of these entities.")
    field: Annotated[FieldName | None, Field(description="Only changes of this field.")] = None
    fields: list[FieldName] = Field(default=[], max_length=50, description="Any of these fields.")

    @property
    def wanted_changes(self) -> WantedChanges:
        return WantedChanges(
            kinds=frozenset({*self.event_types, *filter(None, [self.event_type])}),
            entity_types=frozenset(self.types),
            entity_ids=frozenset({*self.entity_ids, *filter(None, [self.entity_id])}),
            fields=frozenset({*self.fields, *filter(None, [self.field])}),
            writers=frozenset(self.writers),
        )


After = Annotated[
    Annotated[str, Field(max_length=100)] | None,
    Field(
        description="`cursor` of a change, or `resume_cursor`: what came after it, the oldest first. An "
        "empty text: from the beginning."
    ),
]
Values = Annotated[bool, Field(description="Also the values of the fields, before and after.")]


class FollowChanges(ChangeFilters):
    after: After = None
    values: Values = False
    subscription_id: Annotated[
        Annotated[str, Field(max_length=100)] | None,
        Field(description="Of an active subscription, in place of filters."),
    ] = None

    @model_validator(mode="after")
    def _without_filters(self) -> Self:
        both = sorted(ChangeFilters.model_fields.keys() & self.model_fields_set)
        if self.subscription_id is not None and both:
            raise ValueError(f"with subscription_id, leave out {', '.join(both)}")
        return self
