"""Arguments and shapes of other services that are taken.

Programs written for another service send arguments with each call that ask for nothing. One whose value would
change the answer is refused as every unknown name is. Items and relationships in the shape of other services
are read as graphmem's where they would be refused: what is valid keeps its meaning and its request hash.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from graphmem import tables
from graphmem.arguments import Arguments, opened, spellings
from graphmem.auth import Actor
from graphmem.model import identity, ids, items

# `observations_limit` limits what `include_observations` asks for, which is refused.
FOREIGN: Final = {**tables.read("foreign_arguments"), "observations_limit": [*range(1, 201)]}
"""The values of each argument that ask for nothing, beside null. Of ``user_id`` it is the caller's own.

Operations that have an argument of the name read it themselves.
"""


def asking_something(model: type[Arguments], raw: Mapping[str, Any], actor: Actor) -> Mapping[str, Any]:
    """Return the arguments of a call without those that ask for nothing. A query string has texts."""
    neutral = _neutral(model)
    if raw.keys().isdisjoint(neutral):
        return raw
    dropped: set[str] = set()
    for name, values in neutral.items():
        own = tuple(filter(None, (actor.owner, actor.account))) if name == "user_id" else values
        if name in raw and (
            raw[name] in (None, *own) or str(raw[name]).lower() in map(str.lower, map(str, own))
        ):
            dropped.add(name)
    return {name: value for name, value in raw.items() if name not in dropped}


@cache
def _neutral(model: type[Arguments]) -> Mapping[str, list[Any]]:
    """Return the arguments that an operation does not read itself."""
    known = spellings(model)
    return {name: values for name, values in FOREIGN.items() if name not in known}


_WRAPPERS: Final = ("fields", "attributes", "properties")
_NAMES: Final = (identity.CANONICAL_NAME, "name", "full_name", "title")
_ENDS: Final = {"source": "from", "target": "to"}
_PERIOD: Final = ("since", "until", "start_date", "end_date", "from", "to")
"""Members of a relationship that belong into its metadata."""
_YEAR_OR_MONTH: Final = re.compile(r"\d{4}(-\d{2})?", re.ASCII)


def own_shape(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a request with ``entities`` and ``relationships`` in graphmem's shape."""
    shaped = _dated(raw)
    if shaped.get("source") in items.OBSERVATION_SOURCES and "observation_source" not in shaped:
        shaped["observation_source"] = shaped.pop("source")
    entities, relationships = shaped.get("entities"), shaped.get("relationships")
    if isinstance(entities, list):
        read = map(opened, entities)
        entities = shaped["entities"] = [_item(each) if isinstance(each, dict) else each for each in read]
        if isinstance(relationships, list) and relationships:
            named = _named(entities)
            shaped["relationships"] = [
                _relationship(each, named) if isinstance(each, dict) else each for each in relationships
            ]
    return shaped


def _dated(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object whose ``observed_at`` is the first day of the year or the month that it names."""
    text = raw.get("observed_at")
    if isinstance(text, str) and _YEAR_OR_MONTH.fullmatch(text):
        return {**raw, "observed_at": f"{text}-01-01"[:10]}
    return dict(raw)


def _item(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with its type as ``entity_type``, and its fields beside it. An object called ``fields``
    beside other fields is a field, unless the item has the other shape anyway."""
    item = _dated(raw)
    is_foreign = isinstance(item.get("type"), str) and item.keys().isdisjoint(("entity_type", "target_id"))
    if is_foreign:
        item["entity_type"] = item.pop("type")
    for name in _WRAPPERS:
        inner = item.get(name)
        if not isinstance(inner, dict) or not item.keys().isdisjoint(inner):
            continue
        if is_foreign or (item.keys() - items.RESERVED == {name} and identity.CANONICAL_NAME not in item):
            item |= item.pop(name)
    return item


def _named(entities: Sequence[Any]) -> dict[str, set[int]]:
    """Return the places of the items that have a name, by the name."""
    places: dict[str, set[int]] = {}
    for index, item in enumerate(entities):
        names = (
            [item[key] for key in _NAMES if isinstance(item.get(key), str)] if isinstance(item, dict) else []
        )
        for name in names:
            places.setdefault(identity.fold_text(name), set()).add(index)
    return places


def _relationship(raw: Mapping[str, Any], named: Mapping[str, set[int]]) -> dict[str, Any]:
    """Return a relationship with its ends by index or id, and its period in its metadata."""
    relationship = dict(raw)
    if "type" in relationship and "relationship_type" not in relationship:
        relationship["relationship_type"] = relationship.pop("type")
    for side, other in _ENDS.items():
        if f"{side}_index" in relationship or f"{side}_entity_id" in relationship:
            continue
        name = side if side in relationship else other
        end = _end(relationship.get(name), named)
        if end is None:
            return relationship
        del relationship[name]
        relationship[f"{side}_index" if isinstance(end, int) else f"{side}_entity_id"] = end
    metadata = opened(relationship.get("metadata") or {})
    if isinstance(metadata, dict) and (
        period := [name for name in _PERIOD if name in relationship and name not in metadata]
    ):
        relationship["metadata"] = {**metadata, **{name: relationship.pop(name) for name in period}}
    return relationship


def _end(value: Any, named: Mapping[str, set[int]]) -> int | str | None:
    """Return the index or the id of an end; ``None`` if not exactly one item has the name."""
    if type(value) is int or (isinstance(value, str) and ids.ENTITY_ID.fullmatch(value)):
        return value
    name = identity.fold_text(value) if isinstance(value, str) else ""
    places = named.get(name, set()) if name else set[int]()
    return next(iter(places)) if len(places) == 1 else None
