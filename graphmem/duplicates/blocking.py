"""Blocking: choose the pairs of entities to compare, and propose those that are similar.

All pairs of 10,000 entities would be 50 million. Only pairs that share a *block* are compared: an equal
e-mail, phone, URL or id, and of people an equal birthday, postcode or address; a word of the name as it
sounds (for frequent words, with the initial of another word); or neighbouring places when names are sorted,
forwards and backwards. Other pairs are not proposed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rapidfuzz.fuzz import ratio

from graphmem.duplicates import name_similarity, similarity
from graphmem.duplicates.name_similarity import Name
from graphmem.duplicates.similarity import Profile, Score
from graphmem.model import identity

PAIRS_LIMIT = 400_000  # most pairs that one call compares
SMALL_BLOCK = 25
"""In a block of at most this many entities all pairs are compared; in a larger one, those in the window."""
WINDOW = 5  # greatest distance, in a sorted block or in the sorted names, of two entities that are compared
RARE_WORD_LIMIT = 25  # a word in at most this many names makes a block by itself
BLOCKING_WORDS = 4  # number of words of a name that make blocks; the rarest are taken
EQUAL_LENGTH_RATIO, UNEQUAL_LENGTH_RATIO = 75.0, 50.0
"""Least agreement by letters, in per cent, of two names that are compared word by word. The second holds if
the names have different numbers of words, or if one has initials."""


SINGLE_NAME_SCORE = 0.85  # score of a person with a single name and the only person with a longer form of it
PART_SCORE = 0.65  # least score by their own values of two such people: nothing speaks against the pair


class Pair(NamedTuple):
    """Two entities that may be duplicates; ``a`` has the lesser id."""

    a: Profile
    b: Profile
    score: Score

    @property
    def ids(self) -> tuple[str, str]:
        return self.a.entity_id, self.b.entity_id


class Proposals(NamedTuple):
    """The pairs with at least the threshold's score, highest score first, then by ids. ``complete`` is false
    if more than ``PAIRS_LIMIT`` pairs shared a block: the others were not compared."""

    pairs: list[Pair]
    compared: int
    complete: bool


def types_like(entity_type: str) -> frozenset[str]:
    """Return the types whose entities are compared with those of one type, itself among them."""
    if entity_type in similarity.COMPANIES:
        return similarity.COMPANIES
    # A contact that was stored before this was another name of person may be a person.
    kind = identity.SHIPPED_ALIASES.get(entity_type, entity_type)
    return frozenset({kind, *(each for each, of in identity.SHIPPED_ALIASES.items() if of == kind)})


def propose(
    profiles: Sequence[Profile],
    threshold: float,
    around: Collection[str] | None = None,
    pairs_limit: int = PAIRS_LIMIT,
) -> Proposals:
    """Return the pairs of entities of one type, or of two that are alike, that are likely duplicates.
    ``around``: ids; only pairs with one of these entities, each compared with all others of its type."""
    by_type: dict[str, dict[str, Profile]] = {}
    for profile in profiles:
        by_type.setdefault(min(types_like(profile.entity_type)), {})[profile.entity_id] = profile
    similar: list[Pair] = []
    compared, complete = 0, True
    for _, group in sorted(by_type.items()):
        members = [group[entity_id] for entity_id in sorted(group)]
        pairs = _Pairs(len(members), pairs_limit - compared)
        if around is None:
            pairs.add(_equal(members))
            sure = len(pairs.keys)
            pairs.add(_by_words(members))
            # All entities sorted by name, then sorted by the name read backwards.
            named = [(name.packed, i) for i, member in enumerate(members) for name, _ in member.names]
            backwards = [(packed[::-1], i) for packed, i in named]
            pairs.add([i for _, i in sorted(order)] for order in (named, backwards))
        else:
            centres = [i for i, profile in enumerate(members) if profile.entity_id in around]
            pairs.add([i, j] for i in centres for j in range(len(members)))
            sure = len(pairs.keys)
        compared, complete = compared + len(pairs.keys), complete and not pairs.full
        similar += _compared(members, pairs.keys, sure, threshold)
        similar += _single_names(members, threshold if around is None else 0.0, similar, around)
    similar.sort(key=lambda pair: (-pair.score.score, pair.a.entity_id, pair.b.entity_id))
    return Proposals(similar, compared, complete)


class _Pairs:
    """The pairs to compare, in the order of insertion: ``i * count + j`` where ``i < j``."""

    def __init__(self, count: int, most: int) -> None:
        self.count = count
        self.most = most
        self.keys: dict[int, None] = {}
        self.full = False

    def add(self, blocks: Iterable[list[int]]) -> None:
        """Add the pairs of blocks until the limit is exceeded; ``full`` tells that it was."""
        keys, count = self.keys, self.count
        for block in blocks:
            reach = SMALL_BLOCK if len(block) <= SMALL_BLOCK else WINDOW
            for place, i in enumerate(block, 1):
                for j in block[place : place + reach]:
                    if i != j:
                        keys[i * count + j if i < j else j * count + i] = None
                if len(keys) > self.most:
                    self.full = True
                    return


def _compared(members: list[Profile], keys: Collection[int], sure: int, threshold: float) -> Iterator[Pair]:
    """Yield the pairs with at least the threshold's score. The first ``sure`` pairs may share more than
    names; the others are skipped if their names differ."""
    count = len(members)
    names_of = [[name for name, _ in member.names] for member in members] if len(keys) > sure else []
    for place, key in enumerate(keys):
        i, j = divmod(key, count)
        if place >= sure and not _alike(names_of[i], names_of[j], threshold):
            continue
        a, b = members[i], members[j]
        if not similarity.may_reach(a, b, threshold):
            continue
        scored = similarity.score(a, b)
        if scored.score >= threshold:
            yield Pair(a, b, scored)


def _single_names(
    members: list[Profile], threshold: float, known: Iterable[Pair], around: Collection[str] | None
) -> list[Pair]:
    """Return the pairs of a person known by a single name and the only one with a longer form of it."""
    if threshold > SINGLE_NAME_SCORE or not members or members[0].rule.kind != "person":
        return []
    singles: dict[str, set[int]] = {}
    longer: dict[str, set[int]] = {}
    for i, member in enumerate(members):
        for name, _ in member.names:
            for word in name.words:
                (singles if len(name.words) == 1 else longer).setdefault(word, set()).add(i)
    proposed, pairs = {pair.ids for pair in known}, list[Pair]()
    for word in sorted(singles.keys() & longer.keys()):
        if len(singles[word]) == len(longer[word]) == 1 and singles[word] != longer[word]:
            a, b = (members[i] for i in sorted(singles[word] | longer[word]))
            scored = similarity.score(a, b)
            is_wanted = around is None or {a.entity_id, b.entity_id} & {*around}
            if scored.score >= PART_SCORE and is_wanted and (a.entity_id, b.entity_id) not in proposed:
                scored = scored._replace(score=max(scored.score, SINGLE_NAME_SCORE))
                pairs.append(Pair(a, b, scored))
    return pairs


def _alike(names_of_a: list[Name], names_of_b: list[Name], threshold: float) -> bool:
    """Return whether the similarity of two of the names alone reaches the threshold."""
    for name in names_of_a:
        for other in names_of_b:
            unequal = name.initials or other.initials or len(name.words) != len(other.words)
            least = UNEQUAL_LENGTH_RATIO if unequal else EQUAL_LENGTH_RATIO
            close = ratio(name.ordered, other.ordered, score_cutoff=least)
            # A typo in a first letter may change the order of the words.
            close = close or ratio(name.packed, other.packed, score_cutoff=least)
            if close and name_similarity.similarity(name, other) >= threshold:
                return True
    return False


def _equal(members: list[Profile]) -> Iterator[list[int]]:
    """Yield blocks of entities with an equal contact point, id, birthday, home, or set of words of a name."""
    blocks: dict[tuple[str, str], list[int]] = {}
    for i, member in enumerate(members):
        keys = {("name", key) for name, _ in member.names for key in (name.ordered, name.packed)}
        for key in keys | member.keys:
            blocks.setdefault(key, []).append(i)
    yield from _shared(blocks)


def _shared(blocks: Mapping[Any, list[int]]) -> Iterator[list[int]]:
    """Yield the blocks of more than one entity, by their keys."""
    shared = sorted(item for item in blocks.items() if len(item[1]) > 1)
    yield from (block for _, block in shared)


def _by_words(members: list[Profile]) -> Iterator[list[int]]:
    """Yield blocks of entities that share a word of their names, sorted by name."""
    rows = sorted(
        (name.ordered, i, [name_similarity.sound(word) for word in name.words if len(word) > 1], name.words)
        for i, member in enumerate(members)
        for name, _ in member.names
    )
    frequency = Counter(sound for _, _, sounds, _ in rows for sound in set(sounds))
    blocks: dict[str, list[int]] = {}
    for _, i, sounds, words in rows:
        for sound in sorted(set(sounds), key=lambda sound: (frequency[sound], sound))[:BLOCKING_WORDS]:
            keys = {sound}
            if frequency[sound] > RARE_WORD_LIMIT:
                keys = {f"{sound} {word[0]}" for word in words if name_similarity.sound(word) != sound}
            for key in keys:
                blocks.setdefault(key, []).append(i)
    yield from _shared(blocks)
