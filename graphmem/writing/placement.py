"""Where relationships are shown: between the survivors of their ends."""

from collections.abc import Iterable
from dataclasses import replace

from graphmem.model import ids
from graphmem.writing.state import State
from graphmem.writing.things import UNUSED, Thing, Things
from graphmem.writing.write_requests import LookAgain, Touched


def survivor_key(entities: Things, relationships: Things, key: str) -> str:
    """Return the key of a relationship's survivor; an end that was not read is where it was placed last."""
    kind, *ends = key.split(":")
    placed_ends = ids.ends(relationships.root(key))
    resolved = [
        entities.root(end) if entities.get(end) else entities.root(placed_end)
        for end, placed_end in zip(ends, placed_ends, strict=True)
    ]
    return ids.relationship_key(kind, *resolved)


def place(entities: Things, relationships: Things, keys: Iterable[str]) -> list[str]:
    """Place relationships between the survivors of their ends; return the keys of all that this changes."""
    changed: set[str] = set()
    touched: set[str] = set()
    for key in keys:
        known = relationships[key]
        placed_key = survivor_key(entities, relationships, key)
        touched.update((key, placed_key))
        into = None if placed_key == key else placed_key
        if known.into != into:
            changed.update((key, relationships.root(key), placed_key))
            relationships.put(replace(known, into=into))
            survivor = relationships.get(placed_key)
            if into is not None and not ids.is_loop(into) and (survivor is None or survivor.into is not None):
                relationships.put(replace(survivor or Thing(placed_key, known.kind), into=None))
        elif into is not None:
            changed.add(placed_key)
    for key in touched | changed:
        _settle(relationships, key)
    return sorted(changed)


def need(state: State) -> None:
    """Raise LookAgain unless the look has read all relationships that others are shown as now: one that is
    stored would be written, and counted, again."""
    new = {each for each in state.relationships if state.relationships_before.get(each) is None}
    if state.read.looked and (unread := new - state.read.looked.relationships):
        raise LookAgain(Touched(relationships=unread))


def _settle(relationships: Things, key: str) -> None:
    """Note whether a relationship that is no member of another is unused: nothing that counts is about it."""
    known = relationships.get(key)
    if known is None or (known.into and known.unmade):
        return
    made = any(member.made for member in relationships.members(key))
    if not made and known.into != UNUSED:
        relationships.put(replace(known, into=UNUSED))
    elif made and known.into == UNUSED:
        relationships.put(replace(known, into=None))
