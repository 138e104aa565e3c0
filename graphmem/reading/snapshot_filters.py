"""The argument ``snapshot_filters``: what the fields of an entity must be."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from graphmem.model import comparison, identity

FILTERS_LIMIT = 10
"""Fields that one query filters on."""


class SnapshotFilter(BaseModel):
    """What the value of one field must be."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    op: comparison.Op = Field(description="How values compare.")
    value: Any = Field(description="A string, a number or a boolean; of in a list of these.")

    @field_validator("value", mode="after")
    @classmethod
    def _fits_the_op(cls, value: Any, info: ValidationInfo) -> Any:
        fault = comparison.problem(info.data["op"], value) if "op" in info.data else None
        if fault is not None:
            _, message = fault
            raise ValueError(message)
        return value


def _of_text(raw: Any) -> Any:
    """Return what a query string holds as JSON."""
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        raise ValueError('filters are JSON: {"field": {"op": "eq", "value": …}}') from None


def _named(filters: dict[str, SnapshotFilter]) -> dict[str, SnapshotFilter]:
    for name in filters:
        check_field_name(name)
    return filters


def check_field_name(name: str) -> None:
    if not 0 < len(name) <= identity.NAME_LIMIT:
        raise ValueError(f"a field name has 1 to {identity.NAME_LIMIT} characters")
    if name == identity.CANONICAL_NAME:
        raise ValueError("canonical_name is what an entity is called, and no field of its snapshot")


SnapshotFilters = Annotated[
    dict[str, SnapshotFilter],
    BeforeValidator(_of_text),
    AfterValidator(_named),
    Field(
        max_length=FILTERS_LIMIT,
        description="What fields of the snapshot must be: {field: {op, value}}, all of them.",
    ),
]
