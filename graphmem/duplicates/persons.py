"""Evidence for and against two records of one person, besides equal identifiers.

Evidence is counted in bits, as in the model of Fellegi and Sunter: how much likelier a comparison is among
records of one person than among those of two, as a logarithm to base 2. The bits of independent fields add
up. The numbers are fixed: a pair has the same score whatever else is stored.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import ratio

from graphmem.duplicates import TABLES, name_similarity
from graphmem.duplicates.name_similarity import Name
from graphmem.model import dates
from graphmem.model.identity import fold_text, words


class SimilarityReason(NamedTuple):
    """One comparison: the two values as stored, and their similarity."""

    field: str
    a: str
    b: str
    similarity: float


Values = Mapping[str, tuple[str, str]]  # ``(field, stored value)`` by comparable form
Agreement = Literal["equal", "near", "different"]


BITS: Final[Mapping[str, Mapping[Agreement, float]]] = {
    kind: dict(zip(get_args(Agreement), bits, strict=True)) for kind, bits in TABLES["bits"].items()
}
"""The bits of each kind of field by the agreement of its values."""
ANCHORS: Final = frozenset({"born", "official_id", "email", "phone", "address", "postcode"})
"""An equal value of one of these makes a block. Nothing else lifts a score above that of the names."""
IDENTIFYING: Final = frozenset({"official_id", "email", "external_id", "url"})  # relatives do not share these
HOME: Final = frozenset({"address", "postcode", "city"})
HOME_LIMIT: Final = 9.0
"""Most bits of address, postcode and city together: they are one fact, where somebody lives."""
NAME_BITS: Final = {"loose": 0.0, "part": 0.0, "surname": -8.0}
"""The bits of names that agree less than :func:`graphmem.duplicates.name_similarity.similarity` demands."""
RELATIVES_LIMIT: Final = 0.78
"""Highest score of people with different given names, unless an e-mail address or official id is equal."""
DAY_CONFLICT_LIMIT: Final = 0.82
"""Highest score of people whose birthdays are clearly different while names and two other facts agree."""
DAY_SLIP_LIMIT: Final = 0.88
"""Highest score of people whose birthdays differ by one slip, unless something else is equal."""

DECLARED_TEXT, DECLARED_VALUE = "~", "="
"""What the kind of a field begins with that a schema declares for the detection of duplicates, where it is no
usual field: ``~label`` is a text, which may have slips, ``=vintage`` a number, a date or a truth value."""
DAY_CHARACTERS: Final = 10  # a shorter birthday is a year, or a month of it
EMAIL_CHARACTERS: Final = 14  # a shorter e-mail address with another letter is another address

_DIGITS: Final = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)
_PARTED: Final = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})", re.ASCII)


@lru_cache(maxsize=50_000)
def read_day(text: str) -> str:
    """Return a birthday as ISO 8601, as far as it is one: also a year, or a year with its month.
    ``31/01/1990`` and ``01/31/1990`` are read; of ``01/02/1990`` the day comes first."""
    text = text.strip()
    if len(text) == 10 and text[4] == text[7] == "-":
        return text
    if compact := _DIGITS.fullmatch(text):
        return "-".join(compact.groups())
    if parted := _PARTED.fullmatch(text):
        first, _, second, year = parted.groups()
        day, month = (second, first) if int(second) > 12 else (first, second)
        return f"{year}-{month:0>2}-{day:0>2}"
    written = dates.parse(text)
    if written is not None:
        return written.iso[:10]
    return fold_text(text)


def read_code(text: str) -> str:
    return "".join(filter(str.isalnum, fold_text(text)))


def read_place(text: str) -> str:
    return " ".join(words(fold_text(text)))


def compare_days(first: str, second: str) -> Agreement | None:
    """Compare two birthdays; ``None`` where one is a year or a month that the other lies in. Near: one digit
    is wrong, two neighbouring digits are exchanged, or day and month are."""
    if first == second:
        return "equal"
    if first.startswith(second) or second.startswith(first):
        return None
    if len(first) != DAY_CHARACTERS or len(second) != DAY_CHARACTERS:
        return "different"
    exchanged = first[:4] == second[:4] and first[5:7] == second[8:] and first[8:] == second[5:7]
    return "near" if exchanged else compare_codes(first.replace("-", ""), second.replace("-", ""))


def compare_texts(first: str, second: str) -> Agreement:
    if first == second:
        return "equal"
    least = 80.0 if min(len(first), len(second)) >= 6 else 90.0
    return "near" if ratio(first, second, score_cutoff=least) else "different"


def compare_codes(first: str, second: str) -> Agreement:
    """Compare two numbers or codes: near with one slip."""
    if first == second:
        return "equal"
    return "near" if OSA.distance(first, second, score_cutoff=1) <= 1 else "different"


def compare_emails(first: str, second: str) -> Agreement:
    """Compare two e-mail addresses: near with one slip in a letter; numbers tell namesakes apart."""
    # The slips are counted first: most addresses have many, and that is known fastest.
    agreement = compare_codes(first, second)
    if agreement != "near":
        return agreement
    is_short = min(len(first), len(second)) < EMAIL_CHARACTERS
    return "different" if is_short or _number_of(first) != _number_of(second) else "near"


def _number_of(text: str) -> str:
    return "".join(filter(str.isdigit, text))


_COMPARE: Final[dict[str, Callable[[str, str], Agreement | None]]] = {
    "born": compare_days, "address": compare_texts, "city": compare_texts, "postcode": compare_codes,
    "official_id": compare_codes, "email": compare_emails, "phone": compare_codes,
    DECLARED_TEXT: compare_texts,
    DECLARED_VALUE: lambda first, second: "equal" if first == second else "different",
}  # fmt: skip
"""How the values of each kind are compared; of what a schema declares, by the first character of the kind."""
ONLY: Final = frozenset({"born", "official_id", "address", "postcode", "city"})
"""Kinds of values that are compared of people alone."""
SIMILARITIES: Final = {"equal": 1.0, "near": 0.7, "different": 0.0}  # what a reason says of an agreement
_AGREEMENTS: Final[tuple[Agreement, ...]] = ("different", "near", "equal")


class Comparison(NamedTuple):
    """The closest two values of one field, and how they agree."""

    kind: str
    agreement: Agreement
    a: tuple[str, str]
    b: tuple[str, str]

    @property
    def bits(self) -> float:
        """How much the comparison says for, or against, one person."""
        return BITS[self.kind][self.agreement]


def compare(kind: str, first: Values, second: Values) -> Comparison | None:
    """Compare the values of one kind; ``None`` where nothing can be said."""
    if common := first.keys() & second.keys():
        value = max(common, key=lambda value: (len(value), value))
        # Many people are born in one year.
        is_vague = kind == "born" and len(value) < DAY_CHARACTERS
        return None if is_vague else Comparison(kind, "equal", first[value], second[value])
    compare_values = _COMPARE.get(kind) or _COMPARE[kind[0]]
    agreeing = [
        (_AGREEMENTS.index(agreement), value, other)
        for value in first
        for other in second
        if (agreement := compare_values(value, other)) is not None
    ]
    if not agreeing:
        return None
    order, value, other = max(agreeing)
    return Comparison(kind, _AGREEMENTS[order], first[value], second[other])


def compared(kinds: Collection[str], a: Mapping[str, Values], b: Mapping[str, Values]) -> list[Comparison]:
    """Return the comparisons of two people's fields, besides names; ``kinds`` have values in both."""
    comparisons = (compare(kind, a[kind], b[kind]) for kind in BITS if kind in kinds)
    return [comparison for comparison in comparisons if comparison is not None]


def bits_of(comparisons: Iterable[Comparison]) -> float:
    """Return the bits of comparisons together; where somebody lives counts once."""
    home = others = 0.0
    for comparison in comparisons:
        if comparison.kind in HOME:
            home += comparison.bits
        else:
            others += comparison.bits
    return others + min(home, HOME_LIMIT)


_WEIGHED: Final = frozenset({"official_id", "email", "phone"})


def are_anchored(comparisons: Iterable[Comparison]) -> bool:
    """Return whether two people have the same birthday, home, number or address."""
    return any(each.agreement == "equal" and each.kind in ANCHORS for each in comparisons)


NameLevel = Literal["alike", "loose", "part", "surname", "given", "different"]
NAME_LEVELS: Final[tuple[NameLevel, ...]] = get_args(NameLevel)
"""How two names agree: by :func:`.name_similarity.similarity`; by letters only; one is a word of the other;
with another surname; with another given name; not at all."""


@lru_cache(maxsize=100_000)
def _loose_word(word: str, other: str) -> float:
    """Return the similarity of two words of names; of those that are no variants of one word, by letters."""
    if word == other:
        return 1.0
    similarity = name_similarity.word_similarity(word, other, "person")
    is_initial = 1 in (len(word), len(other))
    return similarity if is_initial else max(similarity, OSA.normalized_similarity(word, other))


LOOSE_WORD, SAME = 0.55, 0.8
"""Least similarity by letters of words that may be one word with slips, and of words that are."""


def _whole(name: Name) -> tuple[str, ...]:
    """Return the words of a name without middle initials: an initial must not stand for a given name then."""
    whole = tuple(word for word in name.words if len(word) > 1)
    return whole if len(whole) > 1 else name.words


def name_level(name: Name, other: Name) -> NameLevel:
    """Return how two names agree that :func:`.name_similarity.similarity` finds to differ."""
    short, long = name_similarity.by_length(_whole(name), _whole(other))
    unmatched = list(range(len(long)))
    matched: list[tuple[int, int, float]] = []
    for place, word in enumerate(short):
        best, there = max((_loose_word(word, long[i]), -i) for i in unmatched)
        unmatched.remove(-there)
        matched.append((place, -there, best))
    same = [alike for place, _, alike in matched if alike >= SAME and len(short[place]) > 1]
    other_words = [(place, there) for place, there, alike in matched if alike < LOOSE_WORD]
    if len(short) == 1 < len(long):
        return "part" if same else "different"
    if not other_words:
        return "loose" if same or min(alike for _, _, alike in matched) >= 0.65 else "different"
    if not same or len(other_words) > 1:
        return "different"
    place, there = other_words[0]
    return "surname" if place == len(short) - 1 and there == len(long) - 1 and place else "given"


def combined(
    base: float, level: NameLevel, comparisons: list[Comparison], conflict_limit: float, *,
    is_identified: bool,
) -> float:  # fmt: skip
    """Return the probability that two people are one.

    ``base`` is the probability by names and equal identifiers alone, ``level`` how their names agree,
    ``conflict_limit`` the most if their birthdays are clearly different. ``is_identified``: a value of
    :data:`IDENTIFYING` is equal.
    """
    equal = {each.kind for each in comparisons if each.agreement == "equal"} & ANCHORS
    may_be_relatives = level in ("given", "different") or (level == "part" and "born" not in equal)
    if may_be_relatives:
        likely = base if is_identified else min(base, RELATIVES_LIMIT)
    elif level == "alike":
        # Equal identifiers are in the base already.
        others = [each for each in comparisons if not (each.kind in _WEIGHED and each.agreement == "equal")]
        least = min(base, 1.0 - 2.0**-40)
        bits = math.log2(least / (1.0 - least)) if base else 0.0
        likely = _probability(bits + bits_of(others)) if base else 0.0
        likely = likely if equal else min(likely, base)
    else:
        likely = _probability(NAME_BITS[level] + bits_of(comparisons)) if equal else base
    born = next((each.agreement for each in comparisons if each.kind == "born"), None)
    if born == "near" and not equal:
        likely = min(likely, DAY_SLIP_LIMIT)
    if born == "different":
        is_outweighed = level == "alike" and len(equal - HOME) + bool(equal & HOME) > 1
        likely = min(likely, DAY_CONFLICT_LIMIT if is_outweighed else conflict_limit)
    return likely


def _probability(bits: float) -> float:
    return 1.0 / (1.0 + 2.0 ** -max(-40.0, min(40.0, bits)))
