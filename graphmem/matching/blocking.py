"""Blocking: choose the pairs of entities to compare, and propose those that are similar.

All pairs of 10,000 entities would be 50 million. Only pairs that share a *block* are compared: an equal
e-mail, phone, address or id; a word of the name as it sounds (for frequent words, with the initial of another
word); or neighbouring places when names are sorted, forwards and backwards. Other pairs are not proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.fuzz import ratio

from graphmem.matching import names, similarity
from graphmem.matching.names import Name
from graphmem.matching.similarity import Profile, Score

PAIRS = 400_000
"""Most pairs that one call looks at."""
SMALL = 25
"""A block of up to this many is compared whole, each with each; a larger one within the window."""
WINDOW = 5
"""How far apart two of a sorted block or of sorted names may stand to be compared."""
RARE = 25
"""A word that at most this many names hold is a block by itself."""
WORDS = 4
"""How many words of a name, the rarest, make blocks."""
GLANCE, ROUGH = 75.0, 50.0
"""Per cent that two names must agree, letter by letter, to be compared word by word; the second where one
has more words than the other, or initials."""


class Pair(NamedTuple):
    """Two entities that may be one; ``a`` has the lesser id."""

    a: Profile
    b: Profile
    found: Score


class Proposals(NamedTuple):
    """The pairs from a threshold on, the likeliest first, then by ids.

    ``whole`` is false where more than ``PAIRS`` pairs shared a block: those beyond were not looked at.
    """

    pairs: list[Pair]
    compared: int
    whole: bool


def propose(
    profiles: Sequence[Profile], threshold: float, around: Collection[str] | None = None, most: int = PAIRS
) -> Proposals:
    """Return the pairs of one type that are likely one thing.

    Args:
        around: ids; only pairs with one of these, each compared with all others.
    """
    by_type: dict[str, dict[str, Profile]] = {}
    for one in profiles:
        by_type.setdefault(one.entity_type, {})[one.entity_id] = one
    found: list[Pair] = []
    compared, whole = 0, True
    for _, group in sorted(by_type.items()):
        members = [group[entity_id] for entity_id in sorted(group)]
        pairs = _Pairs(len(members), most - compared)
        if around is None:
            pairs.add(_equal(members))
            sure = len(pairs.keys)
            pairs.add(_by_words(members))
            pairs.add(_sorted(members))
        else:
            pairs.add_around([i for i, one in enumerate(members) if one.entity_id in around])
            sure = len(pairs.keys)
        compared, whole = compared + len(pairs.keys), whole and not pairs.full
        found += _compared(members, pairs.keys, sure, threshold)
    found.sort(key=lambda pair: (-pair.found.score, pair.a.entity_id, pair.b.entity_id))
    return Proposals(found, compared, whole)


class _Pairs:
    """The pairs to compare, in the order in which they are found: ``i * count + j`` where ``i < j``."""

    def __init__(self, count: int, most: int) -> None:
        self.count = count
        self.most = most
        self.keys: dict[int, None] = {}
        self.full = False

    def add(self, blocks: Iterable[list[int]]) -> None:
        """Add the pairs of blocks, until there are as many as may be."""
        keys, count = self.keys, self.count
        for block in blocks:
            reach = SMALL if len(block) <= SMALL else WINDOW
            for place, i in enumerate(block, 1):
                for j in block[place : place + reach]:
                    if i != j:
                        keys[i * count + j if i < j else j * count + i] = None
                if len(keys) > self.most:
                    self.full = True
                    return

    def add_around(self, centres: list[int]) -> None:
        """Add each pair with one of some."""
        self.add([i, j] for i in centres for j in range(self.count))


def _compared(members: list[Profile], keys: Iterable[int], sure: int, threshold: float) -> Iterator[Pair]:
    """Yield the pairs from the threshold on; the first ``sure`` may have more in common than names."""
    count = len(members)
    called = [[name for name, _ in one.names] for one in members]
    for place, key in enumerate(keys):
        i, j = divmod(key, count)
        if place >= sure and not _alike(called[i], called[j], threshold):
            continue
        a, b = members[i], members[j]
        scored = similarity.score(a, b)
        if scored.score >= threshold:
            yield Pair(a, b, scored)


def _alike(names_of_a: list[Name], names_of_b: list[Name], threshold: float) -> bool:
    """Return whether two of the names are alike enough to bear a pair by themselves."""
    for one in names_of_a:
        for other in names_of_b:
            rough = one.initials or other.initials or len(one.words) != len(other.words)
            least = ROUGH if rough else GLANCE
            near = ratio(one.ordered, other.ordered, score_cutoff=least)
            # A slip in a first letter may change the order.
            near = near or ratio(one.packed, other.packed, score_cutoff=least)
            if near and names.similarity(one, other) >= threshold:
                return True
    return False


def _equal(members: list[Profile]) -> Iterator[list[int]]:
    """Yield the entities with something equal: a contact point, an id, or the words of a name."""
    blocks: dict[tuple[str, str], list[int]] = {}
    for i, one in enumerate(members):
        keys = {("name", key) for name, _ in one.names for key in (name.ordered, name.packed)}
        for key in sorted(keys | one.keys):
            blocks.setdefault(key, []).append(i)
    yield from (block for _, block in sorted(blocks.items()) if len(block) > 1)


def _by_words(members: list[Profile]) -> Iterator[list[int]]:
    """Yield the entities that share a word of their names, in the order of names."""
    rows = sorted(
        (name.ordered, i, [names.sound(word) for word in name.words if len(word) > 1], name.words)
        for i, one in enumerate(members)
        for name, _ in one.names
    )
    often = Counter(sound for _, _, sounds, _ in rows for sound in set(sounds))
    blocks: dict[str, list[int]] = {}
    for _, i, sounds, words in rows:
        for sound in sorted(set(sounds), key=lambda sound: (often[sound], sound))[:WORDS]:
            keys = {sound}
            if often[sound] > RARE:
                keys = {f"{sound} {word[0]}" for word in words if names.sound(word) != sound}
            for key in keys:
                blocks.setdefault(key, []).append(i)
    yield from (block for _, block in sorted(blocks.items()) if len(block) > 1)


def _sorted(members: list[Profile]) -> Iterator[list[int]]:
    """Yield all entities in the order of their names, read forwards and read backwards."""
    named = [(name.packed, i) for i, one in enumerate(members) for name, _ in one.names]
    yield [i for _, i in sorted(named)]
    yield [i for _, i in sorted((packed[::-1], i) for packed, i in named)]
