"""What is compared for duplicates: the fields of each type, and the entities of one call.

Schemas may say which fields count, and from which score a pair is proposed. One call compares all entities of
an owner, or a stretch of them by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple, Self

from graphmem.context import Context
from graphmem.database.left_out import Json
from graphmem.duplicates import similarity
from graphmem.duplicates.blocking import Pair
from graphmem.duplicates.persons import DECLARED_TEXT, DECLARED_VALUE
from graphmem.duplicates.similarity import COMPARED_FIELDS, Profile
from graphmem.errors import InvalidInput
from graphmem.model import canonical, identity, shared_addresses
from graphmem.model.schema import SchemaDocument, shipped
from graphmem.reading import answers
from graphmem.reading.shared_rows import EntityRow, snapshot_of
from graphmem.writing import DismissedPair, dismissed_pairs

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
