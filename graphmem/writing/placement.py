"""Where relationships are shown: at the entities that show their ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from graphmem.model import ids
from graphmem.writing.things import UNUSED, Thing, Things


def shown_key(entities: Things, relationships: Things, key: str) -> str:
    """Return the key under which a relationship is shown: both of its ends resolved.

    An end that was not looked at is resolved as it was when the relationship was last placed.
    """
    kind, *ends = key.split(":")
    placed = ids.ends(relationships.root(key))
    resolved = [
        entities.root(end) if entities.get(end) else entities.root(was)
        for end, was in zip(ends, placed, strict=True)
    ]
    return ids.relationship_key(kind, *resolved)


def place(entities: Things, relationships: Things, keys: Iterable[str]) -> list[str]:
    """Show relationships where their ends are shown now; return those that show something else than before.

    What comes to stand for others is made; what no longer stands for any, and has nothing of its own, is
    unused.
    """
    changed: set[str] = set()
    for key in keys:
        known = relationships[key]
        shown = shown_key(entities, relationships, key)
        into = None if shown == key else shown
        if known.into != into:
            changed.update((key, relationships.root(key), shown))
            relationships.put(replace(known, into=into))
            stands = relationships.get(shown)
            if into is not None and not ids.is_loop(into) and (stands is None or stands.into is not None):
                relationships.put(replace(stands or Thing(shown, known.kind), into=None))
        elif into is not None:
            changed.add(shown)
    for key in changed:
        known = relationships.get(key)
        if known and not known.observation_count and len(relationships.members(key)) == 1:
            relationships.put(replace(known, into=UNUSED))
    return sorted(changed)
