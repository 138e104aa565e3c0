"""Where the likely duplicates of what a store creates stand: found by the statement that writes the turn.

What is found is compared by :mod:`graphmem.matching.blocking`, and no part of what is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from graphmem.matching.similarity import COMPARED, Profile
from graphmem.model import canonical, identity
from graphmem.text import identifiers
from graphmem.writing.requests import Near, Receipt

LOOKED_FOR: Final = 200
"""Created entities of one request of which likely duplicates are looked for."""
REACH: Final = 4
"""How many names are looked at on each side of each name of what was created."""
VALUE_LIMIT: Final = 1_000
"""Characters of a value that is compared; as in ``duplicate/_row.cypher``."""
FIELDS: Final = sorted(COMPARED)
"""The fields that ``duplicate/_row.cypher`` reads to be compared."""


def created(receipt: Receipt) -> dict[str, Profile]:
    """Return what a request created, as it is compared, by id."""
    found: dict[str, Profile] = {}
    for item, name, fold in zip(receipt.items, receipt.names, receipt.folds, strict=True):
        if item.action == "created":
            texts = compared((field, winner.value) for field, winner in fold.items())
            found[item.entity_id] = Profile(item.entity_id, item.entity_type, name, texts)
    return found


def parameters(probes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the parameters of ``duplicate/_near.cypher``."""
    reach = max((one["reach"] for one in probes), default=0)
    return {"probes": list(probes), "reach": reach, "compared": FIELDS}


def near(around: Mapping[str, Profile], row: Mapping[str, Any]) -> Near:
    """Return what a row of that query says of some of the entities that it was asked for."""
    beside = {entity_id: ids for entity_id, ids in row["near"] if entity_id in around}
    wanted = {one for ids in beside.values() for one in ids}
    return Near(dict(around), beside, {one[0]: profile(one) for one in row["found"] if one[0] in wanted})


def profile(row: list[Any]) -> Profile:
    """Return an entity that was read by ``duplicate/_row.cypher``."""
    entity_id, name, observations, created_at, held = row[0], row[2], row[3], row[4], row[5]
    # A commit may fall into the reading of an entity: a value that went with it is not compared.
    texts = {field: value for field, value in held if value is not None}
    return Profile(entity_id, row[1], name, texts, (observations, -created_at))


def compared(held: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return what of a snapshot is compared, as ``duplicate/_row.cypher`` does."""
    return {name: text for name, text in held if name in COMPARED and len(text) <= VALUE_LIMIT}


def probes(created: Mapping[str, Profile]) -> list[dict[str, Any]]:
    """Return where to look near what one request created.

    Many together look less far, so that a large store does not take twice its time: each as far as its own
    request says, so that what is found depends on nothing that shares its turn.
    """
    reach = max(1, min(REACH, 10 * REACH // max(1, len(created))))
    return [{**_probe(one), "reach": reach} for one in created.values()]


def _probe(one: Profile) -> dict[str, Any]:
    """Return where in the index of identifiers the likely duplicates of an entity stand."""
    values = {name: canonical.decode(text) for name, text in one.texts.items() if name in identifiers.FIELDS}
    exact = identifiers.identifiers(values, one.shown)
    beside = {pair for pair in exact if pair[0] in ("name", "tokens")}
    for name, _ in one.names:
        # Without honorifics, legal forms and accents, as others may have stored it.
        for kind, parts in (("name", name.words), ("tokens", sorted(name.words))):
            beside.add((kind, identity.index_key(" ".join(parts))))
    return {
        "id": one.entity_id,
        "type": one.entity_type,
        "exact": sorted(map(list, exact | beside)),
        "beside": sorted(map(list, beside)),
    }
