"""Requests for entities in an order, and the pages that an index answers alone.

Ids, names, times and counts each have an index: a page in their order reads only what it answers. The
database cannot compare values of snapshots. A request that filters or sorts by them reads stretches of an
order and compares in Python (:mod:`graphmem.reading.scan`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from graphmem import cypher
from graphmem.context import Context
from graphmem.cypher import Way
from graphmem.database import left_out
from graphmem.database.left_out import as_read
from graphmem.model import comparison, identity
from graphmem.model.comparison import Filter
from graphmem.reading import cursors, shared_rows
from graphmem.reading.pages import Page
from graphmem.reading.shared_rows import EntityRow, MergedEntity

FIELD: Final = "snapshot."  # the prefix of ``sort_by`` for an order by a field
ORDERS: Final[Mapping[str, str | None]] = {
    "entity_id": None,
    "canonical_name": "name_key",
    "last_observation_at": "last_observation_at",
    "observation_count": "observation_count",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "submitted_at": "created_at",
}
"""The orders that have an index, and the indexed property of each (None: the id)."""
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1

Key = str | int


@dataclass(frozen=True, slots=True)
class Order:
    """An order: by a property (``key``), by a ``field`` or by neither, then by id; ``way``: its direction."""

    way: Way
    key: str | None = None
    field: str | None = None

    @classmethod
    def of(cls, sort_by: str, way: Way) -> Order:
        if sort_by.startswith(FIELD):
            return cls(way, field=sort_by.removeprefix(FIELD))
        return cls(way, key=ORDERS[sort_by])

    @property
    def is_by_text(self) -> bool:
        return self.field is not None or self.key == "name_key"

    def start(self, least: Key | None = None) -> SortPlace:
        """Return the place before the first entity, or before the first key of at least ``least``."""
        if self.way == "asc":
            return SortPlace(self.least if least is None else least, "")
        return SortPlace(cursors.LAST * cursors.TEXT_LIMIT if self.is_by_text else _GREATEST, cursors.LAST)

    @property
    def least(self) -> Key:
        return "" if self.is_by_text else _LEAST


class SortPlace(NamedTuple):
    """A place in an order: after this key and this id."""

    key: Key
    id: str


@dataclass(frozen=True, slots=True)
class EntityRequest:
    """Which entities, in which order, and which page of them. Times are microseconds.

    ``include_absent``: also those whose observations are withdrawn today. Only a read as of a time sets it.
    ``related``: an entity, and the types of relationships by which others are related to it; all if empty.
    """

    types: list[str]
    order: Order
    limit: int
    offset: int
    include_deleted: bool = False
    include_merged: bool = False
    include_absent: bool = False
    name: str | None = None
    updated_since: int | None = None
    created_since: int | None = None
    filters: Mapping[str, Filter] = field(default_factory=dict)
    counted: bool = False
    related: tuple[str, list[str]] | None = None
    writers: list[str] = field(default_factory=list)

    @property
    def since(self) -> str | None:
        """The indexed property that finds entities by their time of recording; None without such a filter."""
        if self.updated_since is not None and self.created_since is None:
            return "updated_at"
        # An entity that was created since a time was also updated since then, so this index gives fewer.
        return None if self.created_since is None else "created_at"

    @property
    def least(self) -> Key | None:
        """The least key of the order, if the only filter by time is on the sorted property."""
        if self.order.key == self.since == "updated_at":
            return self.updated_since
        if self.order.key == self.since == "created_at" and self.updated_since is None:
            return self.created_since
        return None

    def is_indexed(self, *, is_sealed: bool) -> bool:
        """Return whether an index has exactly these entities in this order; sealed, none is by name."""
        if is_sealed and self.order.key == "name_key" and self.name is None:
            return False
        plain = self.since is None or (self.least is not None and not self.counted)
        return plain and not self.is_compared and self.order.field is None

    @property
    def is_compared(self) -> bool:
        """Whether it has filters that no index of an order has."""
        return bool(self.filters or self.writers) or self.related is not None

    @property
    def which(self) -> dict[str, Any]:
        return {
            "types": self.types, "include_deleted": self.include_deleted,
            "include_merged": self.include_merged, "include_absent": self.include_absent,
        }  # fmt: skip


async def page(
    context: Context, request: EntityRequest, query: cursors.Query, cursor: str | None
) -> Page[EntityRow]:
    """Return a page of entities along an index, with one read."""
    order = request.order
    place, _ = start_of(request, query, cursor)
    common: dict[str, Any] = {
        **request.which, "counted": request.counted, "after": place.id, "offset": request.offset,
        "limit": request.limit, "reach": request.offset + request.limit + 1,
    }  # fmt: skip
    keys: list[Key] = []
    if request.name is not None:
        del common["counted"], common["reach"]
        name = identity.index_key(identity.fold_text(request.name))
        page, merged, truncated, more, total, unlike = await context.graph.only(
            cypher.form("entity.named", order.way),
            tuple[list[EntityRow], list[MergedEntity], bool, bool, int, list[tuple[str, str | None]]],
            name=name, **common,
        )  # fmt: skip
        # These are not stored with the folded name that they are filed under.
        for entity_id, stored in unlike:
            if identity.index_key(identity.fold_text(stored or "")) == name:
                reason = "the name that filters compare differs from its own: `graphmem rebuild` mends it"
                left_out.note(entity_id, reason)
    elif order.key is None:
        page, merged, truncated, more, total = await context.graph.only(
            cypher.form("entity.page", order.way),
            tuple[list[EntityRow], list[MergedEntity], bool, bool, int | None],
            **common,
        )
    else:
        least = order.least if request.least is None else request.least
        page, merged, keys, truncated, more, total = await context.graph.only(
            cypher.form("entity.sorted", order.way, order.key),
            tuple[list[EntityRow], list[MergedEntity], list[Key], bool, bool, int | None],
            key=place.key, least=least, **common,
        )  # fmt: skip
    following, read = None, as_read(page)
    if more and read:
        following = place_of(request, SortPlace(keys[len(read) - 1] if keys else "", read[-1].id))
    return Page(shared_rows.with_survivors(page, merged), following, truncated, total)


def place_of(request: EntityRequest, place: SortPlace, skip: int = 0) -> dict[str, Any]:
    """Return a place as a cursor holds it; ``skip`` is the rest of the offset."""
    parts: dict[str, Any] = {"id": place.id, "skip": skip}
    return parts if request.order.key is None and request.order.field is None else {**parts, "key": place.key}


def start_of(request: EntityRequest, query: cursors.Query, cursor: str | None) -> tuple[SortPlace, int]:
    """Return the place that a page starts from, and how many entities it skips there."""
    order = request.order
    if cursor is None:
        return order.start(request.least), request.offset
    kinds: dict[str, type] = {"id": str, "skip": int}
    if order.key is not None or order.field is not None:
        kinds["key"] = str if order.is_by_text else int
    place = cursors.decode(query, cursor, kinds)
    return SortPlace(place.get("key", ""), place["id"]), place["skip"]


FILTERS_LIMIT = 10  # fields that one query filters on


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
    Field(max_length=FILTERS_LIMIT, description="What fields must be: {field: {op, value}}, all of them."),
]
