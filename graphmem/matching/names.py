"""Names as similarity reads them: which words count, which only decorate, and how alike two names are.

This serves proposals of duplicates only. Identity compares names whole and strips nothing, see
:mod:`graphmem.model.identity`; here accents, punctuation, the forms of companies, honorifics and
particles do not count, and words may be misspelled, abbreviated to an initial, or in another order.

What must never differ are the *marks* of a name: its numbers ("Invoice 12" is not "Invoice 13"), its
Roman numerals, the generation of a person, and single letters elsewhere ("Plan A" is not "Plan B").
Chinese and Korean words must be equal: each of their characters is a word by itself.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import token_sort_ratio

from graphmem.model.identity import fold_text, words

Kind = Literal["person", "company", "other"]
"""Whose name it is: people have honorifics and initials, companies have a legal form."""

EQUAL = 1.0
REORDERED = 0.99
SPACED = 0.97
"""The same words: in the same order, in another, or with other breaks between them."""
INITIALS = 0.88
"""At most this where a word is matched by its initial alone."""
LEFT_OUT = 0.86
"""At most this where one says what the other leaves open."""
DIFFERENT = 0.3
"""Where the marks of two names differ."""
WORD = 0.8
"""Two words are one and the same from this similarity on."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FORMS = _word_set(
    """inc incorporated ltd limited llc llp lp plc corp corporation co company gmbh mbh ag kg kgaa ohg ug ev
    se sa sas sasu sarl srl spa sl bv nv ab oy oyj as asa aps kk pty pte sdn bhd ооо оао зао пао ао ип тоо
    株式会社 有限会社 有限公司 股份有限公司 주식회사 유한회사"""
)
_ATTACHED_FORMS = ("株式会社", "有限会社", "股份有限公司", "有限公司", "주식회사", "유한회사")
_HONORIFICS = _word_set(
    """mr mrs ms miss mx dr prof professor sir dame rev herr frau mme mlle monsieur madame signor signora
    dott dottore señor señora senor senora sra phd esq dipl господин госпожа 先生 様 氏"""
)
_GENERATION_WORDS: dict[Kind, dict[str, str]] = {
    "person": {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr"}, "company": {}, "other": {},
}  # fmt: skip
_GENERATIONS = frozenset({"jr 1", "sr 1"})
_ROMAN = _word_set("ii iii iv vii viii ix xii xiii xiv xv xvi xvii xviii xix xx")
"""Not those that are names: Vi, Xi."""
_PARTICLES = _word_set(
    "the a an of and for und der die das von van zu zur le la les du de des del della di da y e et i и"
)
_LETTERS = str.maketrans({
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е",
    "أ": "ا", "إ": "ا", "آ": "ا", "ة": "ه", "ى": "ي", "ـ": None,
})  # fmt: skip
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670]")
"""Accents of Latin, Greek and Cyrillic letters, and the vowel points of Hebrew and Arabic."""
_DENSE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")
"""Ideographs and Hangul."""
_SOUNDS = (
    ("ph", "f"), ("sch", "s"), ("sh", "s"), ("ck", "k"), ("ch", "k"), ("q", "k"), ("c", "k"), ("th", "t"),
    ("w", "v"), ("y", "i"), ("z", "s"), ("ae", "a"), ("oe", "o"), ("ue", "u"),
)  # fmt: skip
_DOUBLED = re.compile(r"(.)\1+")
_VOWELS = frozenset("aeiouаеиоуя")


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart.

    ``words`` are those that count, in order; ``ordered`` the same sorted by their sound and joined;
    ``packed`` joined without blanks. ``marks`` must agree with those of another name, ``forms`` hardly
    matter; ``initials`` says that a word is a single letter.
    """

    kind: Kind
    words: tuple[str, ...]
    ordered: str
    packed: str
    marks: frozenset[str]
    forms: frozenset[str]
    initials: bool


@lru_cache(maxsize=4096)
def parse(text: str, kind: Kind) -> Name | None:
    """Return a name as similarity compares it, ``None`` where nothing of it counts."""
    parts = words(_plain(fold_text(text)))
    forms: frozenset[str] = frozenset()
    if kind == "company":
        parts, forms = _without_forms(_joined_letters(parts))
    elif kind == "person":
        parts = [word for word in parts if word not in _HONORIFICS] or parts
    marks = [mark for place, word in enumerate(parts) for mark in _marks(word, place, len(parts), kind)]
    rest = [word for place, word in enumerate(parts) if not (place and word in _GENERATION_WORDS[kind])]
    # A single letter of a person's name is an initial, and no particle.
    initial = 1 if kind == "person" else 0
    counting = [word for word in rest if word not in _PARTICLES or len(word) == initial] or rest
    if not counting:
        return None
    # A number that is there twice is another mark than one that is there once.
    counted = frozenset(f"{mark} {marks.count(mark)}" for mark in marks)
    ordered = " ".join(sorted(counting, key=lambda word: (sound(word), word)))
    return Name(
        kind, tuple(counting), ordered, "".join(counting), counted, forms, min(map(len, counting)) == 1
    )


def similarity(one: Name, other: Name) -> float:
    """Return how alike two names of one kind are, 0 to 1; the same whichever comes first."""
    apart = one.marks ^ other.marks
    # The generation of a person may be left out; no other mark may.
    if apart and (len(apart) > 1 or not apart <= _GENERATIONS):
        return DIFFERENT
    found = _of_words(one, other)
    if apart:
        found = min(found, LEFT_OUT)
    if one.forms != other.forms:
        found = min(found, 0.92 if one.forms and other.forms else 0.96)
    return round(found, 4)


def _marks(word: str, place: int, count: int, kind: Kind) -> list[str]:
    """Return the marks that a word at its place in a name holds."""
    if word in _GENERATION_WORDS[kind] and place:
        return [_GENERATION_WORDS[kind][word]]
    if not word.isalpha():
        return [str(int(digits)) for digits in re.findall(r"\d+", word)]
    if word in _ROMAN and place == count - 1 and place:
        return [word]
    letter = len(word) == 1 and place and kind != "person"
    return [word] if letter and (word not in _PARTICLES or place == count - 1) else []


def _of_words(one: Name, other: Name) -> float:
    if one.words == other.words:
        return EQUAL
    if one.ordered == other.ordered:
        return REORDERED
    if one.packed == other.packed:
        return SPACED
    return max(_aligned(one, other), _broken_otherwise(one, other))


def _broken_otherwise(one: Name, other: Name) -> float:
    """Return the similarity of long names that differ in their blanks and in a letter: Face book, Facebok."""
    if len(one.words) == len(other.words) or min(len(one.packed), len(other.packed)) < 8:
        return 0.0
    if _DENSE.search(one.packed) or _DENSE.search(other.packed):
        return 0.0
    close = OSA.normalized_similarity(one.packed, other.packed)
    return close * SPACED if close >= 0.93 else 0.0


def _aligned(one: Name, other: Name) -> float:
    """Return the mean similarity of the words of the shorter name to those of the longer, by their length."""
    short, long = sorted((one.words, other.words), key=lambda found: (len(found), found))
    left, rest = list(long), []
    weight = total = 0.0
    whole = initials = 0
    for word in short:
        if word in left:
            left.remove(word)
            weight, total, whole = weight + len(word), total + len(word), whole + (len(word) > 1)
        else:
            rest.append(word)
    # The longest first: an initial takes what nothing better fits.
    for word in sorted(rest, key=lambda found: (-len(found), found)) if len(rest) > 1 else rest:
        best, fitting = max([(word_similarity(word, found, one.kind), found) for found in left])
        if best < WORD:
            # One word that fits nothing makes another name, however alike the rest is.
            return min(0.7, token_sort_ratio(one.ordered, other.ordered) / 100)
        left.remove(fitting)
        size = max(len(word), len(fitting))
        weight, total = weight + size, total + best * size
        initial = 1 in (len(word), len(fitting))
        initials, whole = initials + initial, whole + (not initial)
    if not whole:
        return 0.5
    found = total / weight
    if initials:
        found = min(found, INITIALS if whole == 1 else 0.93)
    return found if not left else found * _beside(left, one.kind, whole, weight)


def _beside(left: list[str], kind: Kind, whole: int, weight: float) -> float:
    """Return what remains of a similarity where one name has words that the other lacks."""
    if kind == "person":
        if whole < 2:
            return 0.7
        return 0.95 if all(len(word) == 1 for word in left) else 0.93
    return weight / (weight + sum(map(len, left)))


@lru_cache(maxsize=100_000)
def word_similarity(one: str, other: str, kind: Kind) -> float:
    """Return how alike two words are: 1 where equal, at least ``WORD`` where one may stand for the other.

    The shorter a word is, the less of it may differ; the first letter seldom does.
    """
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    if kind == "person" and len(short) == 1:
        return 0.86 if short == long[0] else 0.0
    if len(short) < 3 or _DENSE.search(one) or _DENSE.search(other) or not (one + other).isalpha():
        return 0.0
    distance = OSA.distance(short, long, score_cutoff=2)
    if kind == "person" and distance == 1 and _another_ending(short, long):
        return 0.7
    if sound(one) == sound(other):
        return 0.94
    if distance == 1:
        return _one_slip(short, long)
    return 0.86 if distance == 2 and len(short) >= 8 and short[0] == long[0] else 0.0


def _another_ending(short: str, long: str) -> bool:
    """Return whether two words differ in a last vowel alone: Mario and Maria, Daniel and Daniela."""
    same_length = len(short) == len(long)
    stem = short[:-1] if same_length else short
    return long[:-1] == stem and long[-1] in _VOWELS and (not same_length or short[-1] in _VOWELS)


def _one_slip(short: str, long: str) -> float:
    if len(short) < len(long):
        return 0.92 if len(long) >= 5 and short[0] == long[0] else 0.6
    if sorted(short) == sorted(long):
        return 0.93 if len(long) >= 4 else 0.6
    return 0.9 if len(long) >= 6 and short[0] == long[0] else 0.7


@lru_cache(maxsize=100_000)
def sound(word: str) -> str:
    """Return a Latin word roughly as it sounds: Smyth as Smith, Jon as John; other words as they are."""
    if not word.isascii():
        return word
    heard = word
    for spelled, said in _SOUNDS:
        heard = heard.replace(spelled, said)
    heard = heard[:1] + heard[1:].replace("h", "")
    return _DOUBLED.sub(r"\1", heard)


def _plain(folded: str) -> str:
    """Return a folded text without accents and other variants of its letters."""
    if folded.isascii():
        return folded
    bare = _MARKS.sub("", unicodedata.normalize("NFD", folded.translate(_LETTERS)))
    return unicodedata.normalize("NFC", bare).replace("ー", "")


def _joined_letters(parts: list[str]) -> list[str]:
    """Return words with runs of single letters joined: S. A. is sa, I B M is ibm."""
    joined: list[str] = []
    run = False
    for word in parts:
        single = len(word) == 1 and word.isalpha()
        if single and run:
            joined[-1] += word
        else:
            joined.append(word)
        run = single
    return joined


def _without_forms(parts: list[str]) -> tuple[list[str], frozenset[str]]:
    """Return the words of a company's name without its legal forms, and the forms."""
    left, forms = list(parts), set()
    while len(left) > 1 and left[-1] in _FORMS:
        forms.add(left.pop())
    while len(left) > 1 and left[0] in _FORMS and not left[0].isascii():
        forms.add(left.pop(0))
    return [_bare(word, forms) for word in left], frozenset(forms)


def _bare(word: str, forms: set[str]) -> str:
    """Return a word without a legal form that is written onto it: 株式会社トヨタ."""
    for form in _ATTACHED_FORMS:
        bare = word.removeprefix(form) if word.startswith(form) else word.removesuffix(form)
        if bare and bare != word:
            forms.add(form)
            return bare
    return word
