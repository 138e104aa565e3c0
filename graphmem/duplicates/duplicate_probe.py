"""Where likely duplicates of created entities stand in the index of identifiers, and what is read of them.

The neighbours are read after the commit, without the owner's lock: nothing that is written depends on them.
:mod:`graphmem.duplicates.blocking` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphmem.duplicates.duplicate_detection import Detections
from graphmem.duplicates.similarity import Profile
from graphmem.model import canonical, identity
from graphmem.text import identifiers
from graphmem.writing.receipt import Receipt

NEIGHBOURS_EACH_SIDE: Final = 4
"""Names that are read on each side of each name of a created entity."""
VALUE_CHARACTERS_LIMIT: Final = 1_000
"""A longer value is not compared; as in ``duplicate/_row.cypher``."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The entities that a request created, and those near each in the index of identifiers.

    ``ids`` are the ids of the neighbours of each created entity, ``profiles`` the neighbours by id.
    """

    created: Mapping[str, Profile]
    ids: Mapping[str, list[str]]
    profiles: Mapping[str, Profile]


def created(receipt: Receipt, detections: Detections) -> dict[str, Profile]:
    """Return the profiles of the entities that a request created, by id."""
    profiles: dict[str, Profile] = {}
    for item, name, fold in zip(receipt.items, receipt.names, receipt.folds, strict=True):
        if item.action == "created":
            kinds = detections.kinds(item.entity_type)
            texts = compared(((field, winner.value) for field, winner in fold.items()), kinds)
            profiles[item.entity_id] = Profile(item.entity_id, item.entity_type, name, texts, kinds=kinds)
    return profiles


def parameters(probes: Sequence[dict[str, Any]], detections: Detections) -> dict[str, Any]:
    """Return the parameters of ``duplicate/_near.cypher``."""
    reach = max((probe["reach"] for probe in probes), default=0)
    return {"probes": list(probes), "reach": reach, "compared": detections.fields}


def neighbours(
    created: Mapping[str, Profile],
    near: Iterable[Sequence[Any]],
    profile_rows: Iterable[Sequence[Any]],
    detections: Detections,
) -> Neighbours:
    """Return the neighbours of some created entities from the columns of that query."""
    neighbour_ids = {entity_id: ids for entity_id, ids in near if entity_id in created}
    all_ids = {neighbour_id for ids in neighbour_ids.values() for neighbour_id in ids}
    profiles = (profile(row, detections) for row in profile_rows)
    return Neighbours(
        created=dict(created),
        ids=neighbour_ids,
        profiles={each.entity_id: each for each in profiles if each.entity_id in all_ids},
    )


def profile(row: Sequence[Any], detections: Detections) -> Profile:
    """Return an entity from an item of ``duplicate/_row.cypher``."""
    entity_id, entity_type, name, observations, created_at, fields, values = row
    kinds = detections.kinds(entity_type)
    # A commit may fall between the reading of the fields and that of their values: then neither is compared.
    pairs = zip(fields, values, strict=True) if len(fields) == len(values) else ()
    texts = compared(((field, value) for field, value in pairs if value is not None), kinds)
    return Profile(entity_id, entity_type, name, texts, (observations, -created_at), kinds)


def compared(values: Iterable[tuple[str, str]], kinds: Mapping[str, str]) -> dict[str, str]:
    """Return those values of a snapshot that are compared, as ``duplicate/_row.cypher`` does."""
    return {name: text for name, text in values if name in kinds and len(text) <= VALUE_CHARACTERS_LIMIT}


def probes(created: Mapping[str, Profile]) -> list[dict[str, Any]]:
    """Return where to look for the neighbours of the entities that one request created.

    For many entities fewer names are read around each, so that a large store does not take twice its time.
    The number depends on the request alone, not on others in its turn.
    """
    shared = 10 * NEIGHBOURS_EACH_SIDE // max(1, len(created))
    reach = max(1, min(NEIGHBOURS_EACH_SIDE, shared))
    return [{**_probe(entity), "reach": reach} for entity in created.values()]


def _probe(entity: Profile) -> dict[str, Any]:
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
        "type": entity.entity_type,
        "exact": sorted(map(list, exact | beside)),
        "beside": sorted(map(list, beside)),
    }
