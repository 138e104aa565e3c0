"""The values that questions for kinds compared, kept beside the copy of an owner's entities.

The copy knows which commit wrote each entity last. So what is kept counts as long as that commit is the same,
and a question reads only the entities that changed since the last one. It is a cache: it may be dropped at
any time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from graphmem.search.kinds.kind_plans import Member

MEMBERS_LIMIT: Final = 40_000
"""Entities whose values are kept for one owner, over all kinds."""
BYTES_PER_MEMBER: Final = 700
"""The memory of the values of one entity, about."""


class KindKey(NamedTuple):
    """The types and the fields whose values are kept, and the schemas under which they were read."""

    types: tuple[str, ...]
    fields: tuple[str, ...]
    schemas: str


class _Kept(NamedTuple):
    """The values of an entity, and the revision that wrote the entity last when they were read."""

    revision: int
    member: Member


class KindMembers:
    """The values of one owner's entities, by kind; the kind that was asked for longest ago gives way."""

    def __init__(self) -> None:
        self._kept: OrderedDict[KindKey, dict[str, _Kept]] = OrderedDict()

    @property
    def bytes(self) -> int:
        """The memory of all values, about."""
        return BYTES_PER_MEMBER * sum(map(len, self._kept.values()))

    def missing(self, key: KindKey, revisions: Mapping[str, int]) -> list[str]:
        """Return the entities whose values are not kept, or were read before they changed.

        Args:
            revisions: the revision that wrote each entity last, by id.
        """
        kept = self._kept.get(key, {})
        return [
            entity_id
            for entity_id, revision in revisions.items()
            if (each := kept.get(entity_id)) is None or each.revision != revision
        ]

    def put(self, key: KindKey, revisions: Mapping[str, int], members: Iterable[Member]) -> list[Member]:
        """Keep the values of some entities, drop those of entities that are gone, and return all.

        Args:
            revisions: of all entities of the types.
            members: what was read of those that were missing.
        """
        kept, read = self._kept.pop(key, {}), list(members)
        kept.update({each.id: _Kept(revisions[each.id], each) for each in read if each.id in revisions})
        if read or kept.keys() != revisions.keys():
            kept = {entity_id: kept[entity_id] for entity_id in revisions if entity_id in kept}
        self._kept[key] = kept
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > MEMBERS_LIMIT:
            self._kept.popitem(last=False)
        return [each.member for each in kept.values()]
