"""People who share an e-mail address, as a turn sees them: which part each observation is written for.

What the parts are is :mod:`graphmem.model.shared_addresses`. The id of an address keeps the forms of its
parts. A turn knows them, and those of its own requests, before it decides. Where a new form changes what
stored observations are about, :func:`move` comes first: no fact changes, only the entity that it counts for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from graphmem.database.left_out import Json
from graphmem.database.queries import Queries
from graphmem.model import canonical, facts, identity, ids, shared_addresses
from graphmem.model.items import Item
from graphmem.model.reduction import Observation
from graphmem.model.shared_addresses import AddressForms, AnyForm, Form, NumberForm, Parting, basis_of
from graphmem.writing.things import Thing, Things
from graphmem.writing.write_requests import LookAgain, Touched

if TYPE_CHECKING:
    from graphmem.writing.state import State


@dataclass(slots=True)
class Addresses:
    """What a turn knows of the people at addresses, by the id that each address makes.

    ``unparted`` are the addresses whose observations do not all count for the part that they are about, with
    what the turn adds.
    """

    partings: dict[str, Parting] = field(default_factory=dict)
    former: dict[str, dict[str, Parting]] = field(default_factory=dict)  # of new partings, ``Parting.former``
    unparted: dict[str, AddressForms | None] = field(default_factory=dict)


class AddressForm(NamedTuple):
    """The address of an item or observation that its address identified, and the form of the person there."""

    address: str
    form: AnyForm
    records: Collection[str] = ()  # the ids of the records that say it


def address_form(
    entity_type: str | None, basis: str | None, kind: str, texts: Mapping[str, str]
) -> AddressForm | None:
    """Return the address and the form of what (JSON by field) its address identified, if it did."""
    if (
        entity_type is None
        or basis is None
        or basis != basis_of(entity_type)
        or kind not in facts.VALUE_KINDS
    ):
        return None
    known = shared_addresses.fields_of(entity_type)
    values = {
        name: canonical.decode(text)
        for name, text in texts.items()
        if not known.isdisjoint((name, identity.spelled(name), identity.squeezed(name)))
    }
    address = identity.identifying_value(entity_type, basis, identity.read_fields(entity_type, values))
    form = shared_addresses.form_of(entity_type, values)
    records = shared_addresses.records_of(entity_type, values)
    return AddressForm(address, form, records) if address and form else None


def of_item(item: Item) -> AddressForm | None:
    texts = item.fields if item.identifying is None else item.identifying
    return address_form(item.entity_type, item.basis, item.kind, texts) if item.alternatives is None else None


def of_observation(observation: Observation) -> AddressForm | None:
    return address_form(observation.entity_type, observation.basis, observation.kind, observation.fields)


def note(
    addresses: dict[str, AddressForms], address_id: str, entity_type: str, identified: AddressForm | None
) -> None:
    """Add the form of an item to those of its address."""
    if identified is not None:
        known = addresses.setdefault(address_id, AddressForms(entity_type, identified.address))
        known.add(identified.form, identified.records)


def know(state: State, addresses: Mapping[str, AddressForms]) -> None:
    """Work out the partings of a state: of the stored addresses, with the forms of the turn's requests."""
    for entity_id in state.entities:
        entity = state.entities[entity_id]
        if entity.parting is not None:
            state.addresses.partings[entity_id] = entity.parting
        elif entity.observation_count and _may_contradict(state, entity, addresses.get(entity_id)):
            state.addresses.unparted[entity_id] = addresses.get(entity_id)
    for address_id, address in addresses.items():
        known = state.addresses.partings.get(address_id)
        if address_id in state.addresses.unparted or state.head(address.entity_type).alternatives is not None:
            continue
        is_known = address.forms <= known.parts.keys() if known else len(address.forms) < 2
        if is_known and not (known and known.is_shared and address.records):
            continue
        forms = {*(known.parts if known else ()), *address.forms}
        parting = Parting.of_forms(state.owner, address.entity_type, address.address, forms, address.records)
        moves = known and any(parting.parts.get(f) != known.parts[f] for f in known.parts)
        if known and not known.is_crowded and (moves or address.records):
            state.addresses.unparted[address_id] = address
        elif known or parting.is_shared:
            state.addresses.partings[address_id] = parting
            former = parting.former(state.owner, address.entity_type, address.address)
            state.addresses.former[address_id] = former
            state.addresses.partings |= former


def _may_contradict(state: State, entity: Thing, address: AddressForms | None) -> bool:
    """Return whether evidence of a person, with further forms, may contradict itself. The evidence has values
    of corrections too, and no names but those of ``name``: whether an address is shared is read from its
    observations."""
    basis = basis_of(entity.kind)
    if basis is None or state.head(entity.kind).alternatives is not None:
        return False
    kind = Form if basis == shared_addresses.EMAIL else NumberForm
    forms = {
        kind(**{**dict.fromkeys(kind._fields), name: value})
        for name, value in entity.evidence
        if name in kind._fields
    }
    forms |= address.forms if address else set()
    if address and kind is Form and all(name != "name" for name, _ in entity.evidence):
        return any(form[0] for form in address.forms)
    if all(len({*filter(None, values)}) < 2 for values in zip(*forms, strict=True)):
        return False
    addresses = [value for name, value in entity.evidence if name == basis]
    return any(
        Parting.of_forms(state.owner, entity.kind, each, forms).is_shared
        for each in addresses
        if ids.entity_id(state.owner, entity.kind, basis, [each]) == entity.subject_id
    )


def _part(state: State, address_id: str, entity_type: str, identified: AddressForm | None) -> str | None:
    """Return the part of an address that something is about; ``None`` for the address itself."""
    parting = state.addresses.partings.get(address_id)
    return parting.part(state.owner, entity_type, *identified[:2]) if parting and identified else None


def placed(item: Item, state: State) -> Item:
    """Return an item with the part that it is about as its entity."""
    home = item.home or item.entity_id
    part = _part(state, home, item.entity_type or "", of_item(item))
    entity_id, home = (part, home) if part else (home, None)
    if (item.entity_id, item.home) == (entity_id, home):
        return item
    return replace(item, entity_id=entity_id, home=home)


def placed_items(items: list[Item], state: State) -> tuple[list[Item], dict[str, str]]:
    """Return the items of one transaction, each with the part that it is about as its entity.

    What names the id of an address outright is about the part that speaks alone in the transaction, and what
    names a former id of a part is about this part: the second value has these parts, by these ids.
    """
    if not state.addresses.partings:
        return items, {}
    items = [placed(item, state) for item in items]
    spoken = alone((item.home, item.entity_id) for item in items if item.home) | _now(state)
    outright = (item for item in items if item.basis == "target_id" and item.entity_id in spoken)
    parts = {
        item.index: replace(item, entity_id=spoken[item.entity_id], home=item.entity_id) for item in outright
    }
    return [parts.get(item.index, item) for item in items], spoken


def placed_observations(observations: Iterable[Observation], state: State) -> list[Observation]:
    """Return the observations of one transaction, each with the part that it is about as its subject."""
    observations, parts = list(observations), dict[str, str]()
    if not state.addresses.partings:
        return observations
    for each in observations:
        if part := _part(state, each.subject_id, each.entity_type, of_observation(each)):
            parts[each.id] = part
    spoken = alone((each.subject_id, parts.get(each.id)) for each in observations) | _now(state)
    for each in observations:
        if _is_outright(each.subject_id, each.basis, each.kind):
            parts.setdefault(each.id, moved_subject(each.subject_id, spoken))
    return [
        replace(each, subject_id=parts[each.id], home=each.subject_id)
        if parts.get(each.id, each.subject_id) != each.subject_id
        else each
        for each in observations
    ]


def _now(state: State) -> dict[str, str]:
    """Return the parts of today by the ids that they had before."""
    return {each: part for each, parting in state.addresses.partings.items() if (part := parting.whole)}


def _is_outright(subject_id: str, basis: str | None, kind: str) -> bool:
    """Return whether an observation names the id of an address, or a relationship at it, itself."""
    return (basis == "target_id" or ":" in subject_id) and kind not in facts.MERGE_KINDS


class _ObservationRow(NamedTuple):
    """An observation of an address, or of a relationship at it; ``subject_id`` is what it was stored for."""

    observation_id: str
    subject_id: str
    part: str | None
    kind: str
    basis: str | None
    names: list[str]
    values: list[Json]
    transactions: list[str]


Placed = list[tuple[str, str | None]]
"""Observations that do not count for what they are about, each with the entity or relationship that it is
about: ``None`` for the one that it was stored for."""


async def move(queries: Queries, state: State) -> Placed:
    """Work out the parts of addresses from all of their observations; may raise :class:`LookAgain`."""
    placed: Placed = []
    for address_id in sorted(state.addresses.unparted):
        entity = state.entities[address_id]
        rows, identified = await _read(queries, entity, entity.parting.ids if entity.parting else ())
        known = _together(entity.kind, identified.values(), state.addresses.unparted[address_id])
        parting = Parting.of_forms(state.owner, entity.kind, known.address, known.forms, known.records)
        part_of = {
            observation_id: parting.part(state.owner, entity.kind, known.address, each.form) if each else None
            for observation_id, each in identified.items()
        }
        former = parting.former(state.owner, entity.kind, known.address)
        now = {each: each for each in parting.ids} | {each: it.whole or each for each, it in former.items()}
        targets = _targets(rows, part_of, address_id, now)
        need(state, [*former, *(target for _, target in targets if target)])
        note_former(state, state.entities, entity.kind, former)
        for target in (target for _, target in targets if target and state.thing(target) is None):
            is_entity = ":" not in target
            kind = entity.kind if is_entity else target.partition(":")[0]
            things = state.entities if is_entity else state.relationships
            things.put(Thing(target, kind, rule=state.own_rule(kind) if is_entity else None))
        for again in filter(None, map(state.entities.get, parting.ids)):
            state.entities.put(replace(again, parting=None))
        state.entities.put(replace(entity, parting=parting))
        placed += targets
    return placed


async def _read(
    queries: Queries, entity: Thing, part_ids: Iterable[str]
) -> tuple[list[_ObservationRow], dict[str, AddressForm | None]]:
    rows = await queries.only(
        "parting.observations", list[_ObservationRow],
        entity_ids=[entity.subject_id, *part_ids], fields=list(shared_addresses.fields_of(entity.kind)),
    )  # fmt: skip
    return rows, {
        row.observation_id: address_form(
            entity.kind, row.basis, row.kind, dict(zip(row.names, row.values, strict=True))
        )
        for row in rows
        if row.subject_id == entity.subject_id
    }


async def of_observations(
    queries: Queries, owner: str, entity: Thing, part_ids: Iterable[str]
) -> Parting | None:
    """Return the parting that the observations of an address and its parts come to, if it is one."""
    _, identified = await _read(queries, entity, part_ids)
    at_address = _together(entity.kind, identified.values(), None)
    if not at_address.forms:
        return None
    return Parting.of_forms(owner, entity.kind, at_address.address, at_address.forms, at_address.records)


def _together(kind: str, every: Iterable[AddressForm | None], waiting: AddressForms | None) -> AddressForms:
    """Return what stored observations, and those that wait, say of the people at one address."""
    forms = waiting.forms if waiting else ()
    new = [AddressForm(waiting.address, form, waiting.records.get(form, ())) for form in forms if waiting]
    together = AddressForms(kind, "")
    for each in filter(None, [*new, *every]):
        together.address = each.address
        together.add(each.form, each.records)
    return together


def note_former(state: State, entities: Things, kind: str, former: Mapping[str, Parting]) -> None:
    """Have the ids that the parts of an address may have had name the parts that they are now, in every order
    of arrival. Raises :class:`LookAgain` unless the look has read them."""
    need(state, former)
    for former_id, parting in sorted(former.items()):
        known = entities.get(former_id) or Thing(former_id, kind, rule=state.own_rule(kind))
        entities.put(known.changed(parting=parting))


def need(state: State, subject_ids: Iterable[str]) -> None:
    looked, further = state.read.looked, Touched()
    further.add_subjects(each for each in subject_ids if state.thing(each) is None)
    if looked and not (further.entities <= looked.entities and further.relationships <= looked.relationships):
        raise LookAgain(further)


def alone(parts: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the one part of each address that speaks in a transaction; none where several do."""
    spoken: dict[str, set[str]] = {}
    for address_id, part in parts:
        if part:
            spoken.setdefault(address_id, set()).add(part)
    return {address_id: next(iter(every)) for address_id, every in spoken.items() if len(every) == 1}


def _targets(
    rows: Iterable[_ObservationRow],
    part_of: Mapping[str, str | None],
    address_id: str,
    now: Mapping[str, str],
) -> Placed:
    """Return the observations that count for another subject than is noted, each with that subject; ``now``
    are the parts of today by the ids that they have or had."""
    spoken: dict[str, set[str]] = {}
    for row in rows:
        for transaction in row.transactions:
            spoken.setdefault(transaction, set()).update(filter(None, [part_of.get(row.observation_id)]))
    targets: Placed = []
    for row in rows:
        part, is_outright = part_of.get(row.observation_id), _is_outright(row.subject_id, row.basis, row.kind)
        if part is None and is_outright:
            parts = set[str]().union(*(spoken[each] for each in row.transactions))
            part = next(iter(parts)) if len(parts) == 1 else None
        by_end = {**(now if is_outright else {}), address_id: part or address_id}
        # The other end of a relationship may be at another address that people share.
        stored, current = row.subject_id.split(":"), (row.part or row.subject_id).split(":")
        ends = [by_end.get(each, other) for each, other in zip(stored, current, strict=True)]
        target = ":".join(ends) if ends != stored else None
        if target != row.part and not by_end.keys().isdisjoint(stored):
            targets.append((row.observation_id, target))
    return targets


def moved_subject(subject_id: str, parts: Mapping[str, str]) -> str:
    """Return an entity's id, or the key of a relationship, with parts in place of the ids of addresses."""
    if ":" not in subject_id:
        return parts.get(subject_id, subject_id)
    ends = [parts.get(end, end) for end in ids.ends(subject_id)]
    return ids.relationship_key(subject_id.partition(":")[0], *ends)
