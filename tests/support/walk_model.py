"""A plain model of a walk along relationships. It shares no code with the product.

An edge is ``(key, type, source, target)``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

Edge = tuple[str, str, str, str]


@dataclass(frozen=True)
class Walk:
    """Entities by their distance, the keys of the relationships walked, and a path to each entity."""

    depths: dict[str, int]
    keys: set[str]
    paths: dict[str, tuple[str, ...]]


def walk(
    edges: Iterable[Edge],
    live: Collection[str],
    origin: str,
    depth: int,
    direction: str = "both",
    types: Collection[str] = (),
) -> Walk:
    """Return all that is within some steps, through edges between entities that live."""
    usable = [e for e in edges if e[2] in live and e[3] in live and (not types or e[1] in types)]
    steps: list[tuple[str, str, str]] = []
    for key, _, source, target in usable:
        steps += [(source, key, target)] if direction != "incoming" else []
        steps += [(target, key, source)] if direction != "outgoing" else []
    # All paths of at most so many steps, whatever they pass: the least by (length, keys) is the path.
    paths: dict[str, tuple[str, ...]] = {origin: ()}
    reached = {origin: 0}
    for distance in range(1, depth + 1):
        candidates: dict[str, list[tuple[str, ...]]] = {}
        for near, key, far in steps:
            if reached.get(near) == distance - 1 and far not in reached:
                candidates.setdefault(far, []).append((*paths[near], key))
        for far, paths_to in candidates.items():
            reached[far] = distance
            paths[far] = min(paths_to)
    keys = {key for near, key, _ in steps if near in reached and reached[near] < depth}
    del reached[origin], paths[origin]
    return Walk(reached, keys, paths)
