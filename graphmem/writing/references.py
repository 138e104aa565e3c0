"""The relationships that the reference fields of a schema make: items and links of the request itself.

What a value names is an item of the type that the schema names, as if the caller had sent it with a link to
it. Its id follows from the value alone, so that it does not matter which of both entities is stored first; a
merge by rule joins it with what a stronger key names. A relationship whose value the field does not show any
more is deleted from the time of the change on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graphmem.model import canonical, discovery, facts, identity, ids, numbers, ranks
from graphmem.model.items import Item
from graphmem.model.links import End, Link
from graphmem.model.schema.schema_document import Reference
from graphmem.writing import store_links
from graphmem.writing.draft import Draft
from graphmem.writing.state import State
from graphmem.writing.things import Things
from graphmem.writing.write_requests import StoredLink

if TYPE_CHECKING:
    from graphmem.writing.store_request import StoreRequest

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
Shown = dict[str, Link]  # what the reference fields of an entity show, as links by key of relationship


class Referring(NamedTuple):
    """What one field of an item refers to: the links ``start`` to ``end`` of its request."""

    item: int
    reference: Reference
    start: int
    end: int


def expanded(request: StoreRequest, items: list[Item], state: State) -> StoreRequest:
    """Return a request with what the items that the caller sent refer to by the schemas of the state."""
    every, links = [*items], request.links[: request.given_links]
    further: dict[str, Any] = {"given_items": len(items), "given_links": len(links)}
    referring, ending, places = list[Referring](), set[str](), {item.entity_id: item.index for item in items}
    for item in items:
        for reference in _references(state, state.entities, item):
            start = len(links)
            ending |= _shown(request, state, state.entities, item, reference).keys()
            for value in _values(item.fields.get(reference.field)):
                target = _target(request, state, item, reference, value)
                if isinstance(target, Item):
                    place = places.setdefault(target.entity_id, len(every))
                    every += [replace(target, index=place)] if place == len(every) else []
                    links.append(_link(request, item, reference, End(place), len(links)))
                elif target is not None:
                    links.append(_link(request, item, reference, End(entity_id=target), len(links)))
            if reference.field in item.fields:
                referring.append(Referring(item.index, reference, start, len(links)))
    further |= {"items": every, "links": links, "referring": referring, "ending": ending}
    is_same = all(getattr(request, name) == value for name, value in further.items())
    return request if is_same else replace(request, **further)


def shown(draft: Draft, request: StoreRequest) -> dict[str, Shown]:
    """Return what the entities show that a request says references of, by id."""
    return {
        item.entity_id: {
            key: link
            for reference in _references(draft.state, draft.entities, item)
            for key, link in _shown(request, draft.state, draft.entities, item, reference).items()
        }
        for item in (request.items[index] for index in {each.item for each in request.referring})
    }


def apply(draft: Draft, request: StoreRequest, before: dict[str, Shown]) -> list[StoredLink | None]:
    """Add the relationships that references make; end those that were :func:`shown` only ``before``."""
    stored: list[StoredLink | None] = []
    now = shown(draft, request)
    for item_index, reference, start, end in request.referring:
        item = request.items[item_index]
        links, current = request.links[start:end], now[item.entity_id]
        since = _since(draft, item, reference)
        for value in _values(item.fields[reference.field]):
            if _target(request, draft.state, item, reference, value) is None:
                _warn(
                    draft, item, reference, f"its value is not one that identifies a {reference.entity_type}"
                )
        observed_at = draft.recorded_at if item.observed_at is None else item.observed_at
        for link in links:
            if request.link_key(link) in current or observed_at < since:
                stored.append(_made(draft, request, item, reference, link))
        gone = {**before[item.entity_id], **{request.link_key(link): link for link in links}}
        for key, link in gone.items():
            if key not in current:
                _delete(draft, request, link, since)
    return stored


def _references(state: State, entities: Things, item: Item) -> tuple[Reference, ...]:
    known = entities.get(item.entity_id)
    head = state.head(known.kind if known else item.entity_type or "")
    return head.references if item.kind in facts.VALUE_KINDS else ()


def _values(text: str | None) -> Iterator[Any]:
    value = None if text is None else canonical.decode(text)
    yield from (each for each in (value if isinstance(value, list) else [value]) if each is not None)


def _target(
    request: StoreRequest, state: State, item: Item, reference: Reference, value: Any
) -> Item | str | None:
    """Return what a value names: an item, the id of an entity, or nothing."""
    if isinstance(value, str) and ids.ENTITY_ID.fullmatch(value.strip()):
        return value.strip()
    name = _identifying(state, reference.entity_type, value)
    if name is None or identity.identity_value(value) is None:
        return None
    fields = {name: value}
    who = identity.identify(request.owner, reference.entity_type, fields)
    return request.with_rule(
        Item(
            index=0, entity_type=reference.entity_type, entity_id=who.entity_id, basis=who.basis,
            stated=who.basis, fields={name: canonical.encode(value)},
            shapes={name: discovery.shape_of(value)}, observed_at=item.observed_at, priority=item.priority,
            specificity=item.specificity, observation_source=item.observation_source,
            path=f"{item.path}.{reference.field}", given_type=reference.entity_type, places=item.places,
        ),
        state,
    )  # fmt: skip


def _identifying(state: State, entity_type: str, value: Any) -> str | None:
    """Return the field by which a value alone identifies an entity of a type; ``None`` if none does."""
    active = state.head(entity_type).active
    registered = active.document.canonical_name_fields if active else ()
    own = identity.own_rule(entity_type) if entity_type in identity.SHIPPED else ()
    rule = registered or [names for names in own if names[0] not in numbers.FIELDS] or (("name",),)
    is_email = isinstance(value, str) and _EMAIL.fullmatch(value.strip()) is not None
    single = [names[0] for names in rule if len(names) == 1 and (is_email or names[0] != "email")]
    return min(single, key=lambda name: (name != "email", name not in identity.NAME_FIELDS), default=None)


def _link(request: StoreRequest, item: Item, reference: Reference, target: End, index: int = 0) -> Link:
    meaning, source = reference.meaning, End(entity_id=item.entity_id)
    ends = (target, source) if meaning.is_swapped else (source, target)
    return Link(
        index=index, relationship_type=meaning.name, source=ends[0], target=ends[1], fields=meaning.metadata,
        path=f"{item.path}.{reference.field}", places=item.places, is_swapped=meaning.is_swapped,
        is_symmetric=reference.is_symmetric,
        **asdict(replace(request.defaults, observed_at=item.observed_at)),
    )  # fmt: skip


def _shown(request: StoreRequest, state: State, entities: Things, item: Item, reference: Reference) -> Shown:
    """Return what a field shows now, with the swapped keys of symmetric relationships."""
    view = entities.view(entities.root(item.entity_id))
    winner = view.fold.get(reference.field) if view else None
    links: Shown = {}
    for value in _values(winner.value if winner else None):
        target = _target(request, state, item, reference, value)
        if target is not None:
            entity_id = target.entity_id if isinstance(target, Item) else target
            for link in _link(request, item, reference, End(entity_id=entity_id)).variants:
                links[request.link_key(link)] = link
    return links


def _since(draft: Draft, item: Item, reference: Reference) -> int:
    view = draft.survivor_view(item.entity_id)
    winner = view.fold.get(reference.field) if view else None
    if winner is None:
        return 0
    corrected_at, time = winner.corrected_at, winner.rank.rpartition(".")[2]
    return corrected_at or (ranks.time_of(time) if time.isdecimal() and len(time) == 18 else 0)


def _made(
    draft: Draft, request: StoreRequest, item: Item, reference: Reference, link: Link
) -> StoredLink | None:
    source, target = ids.ends(request.link_key(link))
    named = source if link.is_swapped else target
    entity = draft.survivor_view(named)
    if entity is None or entity.unmade or not entity.live:
        _warn(draft, item, reference, f"{named} is {'deleted' if entity else 'no entity'}")
    elif draft.entities.root(source) == draft.entities.root(target):
        _warn(draft, item, reference, f"{named} is the entity itself")
    else:
        return store_links.apply(draft, request, link)
    return None


def _delete(draft: Draft, request: StoreRequest, link: Link, since: int) -> None:
    """Delete a relationship that the field shows no more, if it is live."""
    key = draft.survivor_key(request.link_key(link))
    if ids.is_loop(key) or draft.relationships.view(key) is None:
        return
    for member in draft.relationships.members(key):
        if not member.made or not member.live:
            continue
        after = store_links.lifecycle_time(member)
        ended = replace(
            link, kind="delete", fields={}, observed_at=max(since or draft.recorded_at, (after or 0) + 1)
        )
        observation = request.link_observation(ended, member.subject_id, draft.recorded_at, place=1)
        if not draft.is_known(observation):
            draft.observe_relationship(observation)


def _warn(draft: Draft, item: Item, reference: Reference, reason: str) -> None:
    message = f"{reference.field} makes no {reference.meaning.name}: {reason}"
    draft.warn("REFERENCE_NOT_LINKED", message, item.index, field=reference.field)
