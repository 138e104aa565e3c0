"""What is compared for duplicates: the fields of each type, and the entities of one call.

Schemas may say which fields count, and from which score a pair is proposed. One call compares all entities of
an owner, or a stretch of them by name, or what a store created with its neighbours in the index of
identifiers: these are read after the commit, without the owner's lock, as nothing that is written depends on
them.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from typing import Any, Final, NamedTuple, Self

import structlog

from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.duplicates import blocking, similarity
from graphmem.duplicates.blocking import Pair
from graphmem.duplicates.name_similarity import INITIAL_LIMIT
from graphmem.duplicates.persons import DECLARED_TEXT, DECLARED_VALUE
from graphmem.duplicates.similarity import COMPARED_FIELDS, Profile
from graphmem.errors import GraphmemError, InvalidInput
from graphmem.model import canonical, identity, shared_addresses
from graphmem.model.schema import SchemaDocument, shipped
from graphmem.reading import answers
from graphmem.reading.shared_rows import EntityRow, snapshot_of
from graphmem.storing.acceptance import StoredEntity
from graphmem.text import identifiers
from graphmem.writing import DismissedPair, Receipt, dismissed_pairs

FIELDS: Final = sorted(COMPARED_FIELDS)  # the fields that are compared of a type whose schema names none
VALUE_CHARACTERS_LIMIT: Final = 1_000  # a longer value is not compared; as in ``duplicate/_row.cypher``


@dataclass(frozen=True, slots=True)
class Detections:
    """What the schemas of some types say of duplicates; a type whose schema says nothing is missing.

    ``kinds_by_type`` has the kind of each field that is compared, ``thresholds`` the least score of a pair.
    """

    kinds_by_type: Mapping[str, Mapping[str, str]]
    thresholds: Mapping[str, float]

    @classmethod
    def of(cls, types: Iterable[str], registered: Callable[[str], SchemaDocument | None]) -> Self:
        """Return what registered schemas say, or else shipped ones."""
        kinds: dict[str, Mapping[str, str]] = {}
        thresholds: dict[str, float] = {}
        for name in types:
            document = registered(name) or shipped(name)
            if document is None:
                continue
            detection = document.detection
            if detection.fields:
                kinds[name] = {
                    field: COMPARED_FIELDS.get(field)
                    or (DECLARED_TEXT if kind == "string" else DECLARED_VALUE) + field
                    for field, kind in detection.fields
                }
            if detection.threshold is not None:
                thresholds[name] = detection.threshold
        return cls(kinds, thresholds)

    @property
    def fields(self) -> list[str]:
        """The names of all fields that may be compared, sorted."""
        return sorted({*FIELDS, *(name for kinds in self.kinds_by_type.values() for name in kinds)})

    def profile(
        self, entity_id: str, entity_type: str, name: str, values: Iterable[tuple[str, str]],
        weight: tuple[int, int] = (0, 0),
    ) -> Profile:  # fmt: skip
        """Return what is compared of an entity, of its values those that ``duplicate/_row.cypher`` reads."""
        kinds = self.kinds_by_type.get(entity_type, COMPARED_FIELDS)
        texts = {
            field: text for field, text in values if field in kinds and len(text) <= VALUE_CHARACTERS_LIMIT
        }
        return Profile(entity_id, entity_type, name, texts, weight, kinds)


async def detections_of(context: Context, types: Iterable[str]) -> Detections:
    types = sorted(types)
    rows = await context.graph.only("schema.documents", list[tuple[str, Json]], types=types)
    return Detections.of(types, {name: SchemaDocument.read(document) for name, document in rows}.get)


class ProfileRow(NamedTuple):
    """An item of ``duplicate/_row.cypher``."""

    id: str
    type: str
    name: str
    observation_count: int
    created_at: int
    fields: list[str]
    values: list[Json | None]


def profile(row: ProfileRow, detections: Detections) -> Profile:
    # A commit may fall between the reading of the fields and that of their values: then neither is compared.
    pairs = zip(row.fields, row.values, strict=True) if len(row.fields) == len(row.values) else ()
    values = ((field, value) for field, value in pairs if value is not None)
    return detections.profile(row.id, row.type, row.name, values, (row.observation_count, -row.created_at))


NAMES_LIMIT = 100_000  # names that one call reads at most, including those of entities of other types


async def profile_of(context: Context, entity_id: str, detections: Detections) -> Profile:
    """Return the profile of the entity whose pairs are requested. Raises NotFound: no live entity has this
    id."""
    entity = await context.graph.one("entity.get", EntityRow, entity_id=entity_id, include_deleted=False)
    if entity is None:
        raise answers.no_entity(entity_id)
    weight = entity.observation_count, -(entity.created_at or 0)
    return detections.profile(entity.id, entity.type, entity.name, snapshot_of(entity).items(), weight)


async def scan(
    context: Context, counts: dict[str, int], after: str | None, detections: Detections
) -> tuple[list[Profile], str | None]:
    """Return all entities of some types, or a stretch of them if they are too many for one call.

    More follow the name that is returned with them, unless it is None. Raises InvalidInput: they are too
    many, and the instance is sealed: no index has the order of its names.
    """
    limits = context.services.limits
    if context.services.database.is_sealed and sum(counts.values()) > limits.duplicate_entities:
        message = (
            f"a sealed instance compares at most {limits.duplicate_entities:,} entities with each other: "
            "name an entity_type that has fewer"
        )
        raise InvalidInput.at("$.entity_type", message)
    if after is not None or sum(counts.values()) > limits.duplicate_entities:
        return await _along_names(context, sorted(counts), after or "", detections)
    profiles: list[Profile] = []
    batch: list[str] = []
    for entity_type, count in sorted(counts.items()):
        if batch and count + sum(map(counts.__getitem__, batch)) > limits.duplicate_rows:
            profiles += await _of_types(context, batch, detections)
            batch = []
        batch.append(entity_type)
    return profiles + (await _of_types(context, batch, detections) if batch else []), None


async def parted(context: Context, types: Iterable[str], detections: Detections) -> list[Pair]:
    """Return the pairs of entities whom what they say parts, though they share an address or a number."""
    groups, profiles = await context.graph.only(
        "duplicate.parted", tuple[list[list[str]], list[ProfileRow]], types=sorted(types),
        compared=detections.fields,
    )  # fmt: skip
    by_id = {row.id: profile(row, detections) for row in profiles}
    every = {pair for group in groups for pair in combinations(sorted(group), 2)}
    pairs = ((by_id[a], by_id[b]) for a, b in sorted(every))
    return [Pair(a, b, similarity.score(a, b)) for a, b in pairs]


def are_parted(owner: str, pair: Pair) -> bool:
    """Return whether two people have nothing in common but the e-mail address that parted them."""
    return pair.score.matched_fields == ["email"] and all(
        _shared_address(owner, each) for each in (pair.a, pair.b)
    )


def _shared_address(owner: str, profile: Profile) -> str | None:
    """Return the address at which a person is one of several, as its values say; else ``None``."""
    kind, values = profile.entity_type, {name: canonical.decode(text) for name, text in profile.texts.items()}
    address, form = identity.identity_value(values.get("email")), shared_addresses.form_of(kind, values)
    if kind not in identity.PEOPLE or address is None or form is None:
        return None
    evidence = frozenset({("email", address), *(pair for pair in form._asdict().items() if pair[1])})
    return address if shared_addresses.is_part(owner, kind, profile.entity_id, evidence) else None


async def dismissed(context: Context, pairs: Iterable[Pair]) -> dict[tuple[str, str], DismissedPair]:
    """Return those of some pairs that are dismissed: an end of each, or a member of it, from the other."""
    entity_ids = {entity_id for pair in pairs for entity_id in pair.ids}
    return {each.survivors: each for each in await dismissed_pairs(context.graph, entity_ids)}


async def _of_types(context: Context, types: Sequence[str], detections: Detections) -> list[Profile]:
    """Return the entities of one type, or of several types that fit into one read."""
    profiles: list[Profile] = []
    limits = context.services.limits
    after = ""
    while True:
        rows = await context.graph.only(
            "duplicate.by_type", list[ProfileRow], types=types, after=after, limit=limits.duplicate_rows,
            compared=detections.fields,
        )  # fmt: skip
        page = [profile(each, detections) for each in rows]
        profiles += page
        is_last = len(types) > 1 or len(page) < limits.duplicate_rows
        if is_last or len(profiles) > limits.duplicate_entities:
            return profiles
        after = max(each.entity_id for each in page)


async def _along_names(
    context: Context, types: Sequence[str], after: str, detections: Detections
) -> tuple[list[Profile], str | None]:
    """Return the entities of a stretch of the order of names, and those that share an identifier."""
    profiles: dict[str, Profile] = {}
    limits = context.services.limits
    began = after
    for _ in range(NAMES_LIMIT // limits.duplicate_rows):
        page, last = await context.graph.only(
            "duplicate.by_name", tuple[list[ProfileRow], str | None], types=types, after=after,
            limit=limits.duplicate_rows, compared=detections.fields,
        )  # fmt: skip
        if last is None:
            return list(profiles.values()), None
        profiles.update((each.entity_id, each) for each in (profile(row, detections) for row in page))
        # The next stretch begins with the last page of this one, so that neighbours across its end meet.
        began, after = after, last
        if len(profiles) >= limits.duplicate_entities:
            break
    return list(profiles.values()), began


LIKELY_SCORE = 0.9  # the least score of a pair that a store lists, unless the schema of the type has another
COMPARED_IN_LOOP = 10  # created entities that are compared with those near them on the event loop
CANDIDATES_PER_ENTITY = 5  # likely duplicates that a store lists for one entity
NEIGHBOURS_EACH_SIDE = 4  # names that are read on each side of each name of a created entity
LOOK_SECONDS = 2.0  # time limit of the search for likely duplicates, once the database has run it

_log = structlog.get_logger("graphmem.duplicates")


async def name_likely(
    context: Context, receipt: Receipt, stored: Sequence[StoredEntity]
) -> list[dict[str, Any]]:
    """Add its likely duplicates to each entity that a store created. Returns warnings; a failure is one."""
    many = sum(item.action == "created" for item in receipt.items)
    limit = context.services.limits.probed_entities
    if many > limit:
        return [_not_looked_for(f"{many} entities were created, duplicates are listed for {limit}")]
    try:
        # The writer has just read the schemas of the stored types.
        registered = partial(context.services.writers.registered, context.actor.owner)
        detections = Detections.of({item.entity_type for item in receipt.items}, registered)
        likely = await _likely(context, receipt, detections) if many else {}
    except (GraphmemError, TimeoutError):
        return [_not_looked_for("the database did not answer in time")]
    except Exception:
        # The entities are stored: the answer must not fail.
        _log.exception("comparing likely duplicates failed")
        return [_not_looked_for("comparing them failed")]
    for entry, item in zip(stored, receipt.items, strict=True):
        if item.action == "created" and likely.get(item.entity_id):
            entry["duplicate_candidates"] = likely[item.entity_id]
    return []


def _not_looked_for(reason: str) -> dict[str, Any]:
    message = f"likely duplicates were not searched: {reason}; GET /entities/duplicates lists them"
    return {"code": "DUPLICATES_NOT_LOOKED_FOR", "message": message}


async def _seconds(context: Context, query: str) -> float:
    """Return the seconds that a look may take. Shortly after a start its first run takes far longer."""
    return await context.services.database.planning.seconds_for(query, LOOK_SECONDS)


async def _likely(
    context: Context, receipt: Receipt, detections: Detections
) -> dict[str, list[answers.Likeness]]:
    """Return the likely duplicates of the created entities, by id, without dismissed pairs."""
    new = created(receipt, detections)
    async with asyncio.timeout(await _seconds(context, "duplicate.near")):
        is_sealed = context.services.database.is_sealed
        probes = parameters(new, detections, is_sealed=is_sealed)
        near, profiles = await context.graph.only(
            "duplicate.near", tuple[list[list[Any]], list[ProfileRow]], **probes
        )
    by_id = {each.entity_id: each for each in (profile(row, detections) for row in profiles)}

    def propose() -> Iterator[tuple[str, list[Pair]]]:
        for entity_id, near_ids in near:
            entities = [new[entity_id], *(by_id[near_id] for near_id in near_ids)]
            least = detections.thresholds.get(new[entity_id].entity_type, LIKELY_SCORE)
            if any(name.kind == "person" and name.initials for name, _ in new[entity_id].names):
                least = min(least, INITIAL_LIMIT)
            yield entity_id, blocking.propose(entities, least, {entity_id}).pairs

    # Many are compared beside the event loop.
    in_thread = len(near) > COMPARED_IN_LOOP
    proposed = dict(await asyncio.to_thread(list, propose()) if in_thread else propose())
    async with asyncio.timeout(await _seconds(context, "dismissal.of_entities")):
        left_out = await dismissed(context, chain.from_iterable(proposed.values()))
    return {
        entity_id: [
            _likeness(pair, entity_id)
            for pair in pairs
            if pair.ids not in left_out and not are_parted(context.actor.owner, pair)
        ][:CANDIDATES_PER_ENTITY]
        for entity_id, pairs in proposed.items()
    }


def created(receipt: Receipt, detections: Detections) -> dict[str, Profile]:
    return {
        item.entity_id: detections.profile(
            item.entity_id, item.entity_type, name, ((field, winner.value) for field, winner in fold.items())
        )
        for item, name, fold in zip(receipt.items, receipt.names, receipt.folds, strict=True)
        if item.action == "created"
    }


def parameters(
    created: Mapping[str, Profile], detections: Detections, *, is_sealed: bool = False
) -> dict[str, Any]:
    """Return the parameters of ``duplicate/_near.cypher``: where to look for the neighbours of new entities.

    A sealed instance looks for equal names and identifiers alone: no index has the order of its names.
    For many entities fewer names are read around each, so that a large store does not take twice its time.
    The number depends on the request alone, not on others in its turn.
    """
    shared = 10 * NEIGHBOURS_EACH_SIDE // max(1, len(created))
    reach = max(1, min(NEIGHBOURS_EACH_SIDE, shared))
    probes = [_probe(entity, reach) for entity in created.values()]
    if is_sealed:
        probes = [{**probe, "beside": []} for probe in probes]
    return {"probes": probes, "reach": reach if probes else 0, "compared": detections.fields}


def _probe(entity: Profile, reach: int) -> dict[str, Any]:
    """Return the places in the index of identifiers near which duplicates of an entity stand."""
    values = {
        name: canonical.decode(text) for name, text in entity.texts.items() if name in identifiers.FIELDS
    }
    exact = identifiers.identifiers(values, entity.name)
    beside = {pair for pair in exact if pair[0] in ("name", "tokens")}
    for name, _ in entity.names:
        # Without honorifics, legal forms and accents, as others may have stored it.
        for kind, parts in (("name", name.words), ("tokens", sorted(name.words))):
            beside.add((kind, identity.index_key(" ".join(parts))))
    return {
        "id": entity.entity_id,
        "types": sorted(blocking.types_like(entity.entity_type)),
        "exact": sorted(map(list, exact | beside)),
        "beside": sorted(map(list, beside)),
        "reach": reach,
    }


def _likeness(pair: Pair, entity_id: str) -> answers.Likeness:
    """Return a pair as seen from the stored entity: ``a`` of each reason is the stored entity's value."""
    turned = pair.a.entity_id != entity_id
    other = pair.a if turned else pair.b
    reasons = [
        answers.Reason(**(reason._replace(a=reason.b, b=reason.a) if turned else reason)._asdict())
        for reason in pair.score.reasons
    ]
    return {
        "entity_id": other.entity_id,
        "canonical_name": other.name,
        "score": pair.score.score,
        "reasons": reasons,
    }
