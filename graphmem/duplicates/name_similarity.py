"""Similarity of names.

It serves the proposals of duplicates only. Identity compares whole names (:mod:`graphmem.model.identity`).
The similarity ignores accents, punctuation, legal forms of companies, honorifics and particles. Words may be
misspelled, abbreviated to an initial, or in another order.

The *marks* of two names must be equal: its numbers ("Invoice 12" is not "Invoice 13"), its
Roman numerals, the generation of a person, single letters elsewhere ("Plan A" is not "Plan B"), and signs
behind a word ("C++" is not "C#"). So must the emoji of names that both have some. Two people ("A and B") and
a label of a transcriber ("Ann (Tech Lead)", "ann-speaker-2") have marks of their own.
Chinese and Korean words must be equal: each of their characters is a word by itself.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import token_sort_ratio

from graphmem import tables
from graphmem.duplicates import TABLES
from graphmem.model.identity import fold_text, index_key, words
from graphmem.model.person_names import are_forms_of_one_name
from graphmem.text.identifiers import one_spelling
from graphmem.text.words import is_emoji, word_set

Kind = Literal["person", "company", "other"]
"""Whose name it is: people have honorifics and initials, companies have legal forms."""

Words = tuple[str, ...]

EQUAL = 1.0
REORDERED = 0.99
SPACED = 0.97  # similarity of equal words: in the same order, in another order, or with other word breaks
INITIAL_LIMIT = 0.88  # highest similarity of names with one match by an initial only
OMISSION_LIMIT = 0.86  # highest similarity of entities if one lacks a part that the other has
CONFLICTING_MARKS = 0.3  # similarity of names with different marks
NICKNAME = 0.9  # similarity of two forms of one given name: Bill and William
SAME_WORD = 0.8  # least similarity of two words that count as the same word


_FORMS = word_set(TABLES["words"]["legal_forms"])
_ATTACHED_FORMS = tuple(TABLES["words"]["attached_forms"].split())
_HONORIFICS = word_set(tables.read("model/names_of_people")["honorifics"])
_GENERATION_WORDS: dict[Kind, dict[str, str]] = {
    "person": TABLES["generations"], "company": {}, "other": {},
}  # fmt: skip
_GENERATIONS = frozenset({"jr 1", "sr 1"})
_ROMAN = word_set(TABLES["words"]["roman"])
_PARTICLES = word_set(TABLES["words"]["particles"])
_SEVERAL = re.compile(r"\w\s+(?:and|und|et|og|och|&|\+|/)\s+\w|\w[&+/]\w")  # between the names of two people
_SIGNS = re.compile(r"(?<=\w)(?:\++|#)(?!\w)")
"""Behind a word they are a part of it: C++, C#, Disney+."""
_LABEL = re.compile(
    r"\bspeaker[\s_-]*\d+\b|^speaker\b|-speaker\b|\bunknown\b|^\(.*\)$|\((?:[^)]*\s)?(?:lead|manager|engineer|host|guest|moderator"
    r"|interviewer|presenter|organi[sz]er|chair|director|developer|designer|head|c[a-z]o)\)$"
)
"""What transcribers write in place of a name, or beside one."""
_LETTERS = str.maketrans(TABLES["letters"])
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670]")
"""Accents of Latin, Greek and Cyrillic letters, and the vowel points of Hebrew and Arabic."""
_DENSE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")  # ideographs and Hangul
_DOUBLED = re.compile(r"(.)\1+")
_VOWELS = frozenset("aeiouаеиоуя")


@dataclass(frozen=True, slots=True)
class Name:
    """A parsed name.

    ``words`` are the words that count, in order; ``ordered`` joins them sorted by sound; ``packed`` joins
    them without blanks. ``marks`` must equal those of the other name; ``forms`` are legal forms, which hardly
    count; ``initials`` tells that a word is a single letter; ``emoji`` may be left out.
    """

    kind: Kind
    words: tuple[str, ...]
    ordered: str
    packed: str
    marks: frozenset[str]
    forms: frozenset[str]
    initials: bool
    emoji: frozenset[str]


@lru_cache(maxsize=4096)
def name_of(text: str, kind: Kind) -> Name | None:
    """Parse a name for comparison, cut as an index holds it; ``None`` if no word of it counts."""
    folded, marks = index_key(fold_text(text)), list[str]()
    parts = words(_plain(one_spelling(folded)))
    forms: frozenset[str] = frozenset()
    if kind == "company":
        parts, forms = _without_forms(_joined_letters(parts))
    elif kind == "person":
        marks += [
            mark for mark, written in (("several", _SEVERAL), ("label", _LABEL)) if written.search(folded)
        ]
        parts = [word for word in parts if word not in _HONORIFICS] or parts
    marks += _SIGNS.findall(folded)
    marks += [mark for place, word in enumerate(parts) for mark in _marks(word, place, len(parts), kind)]
    rest = [word for place, word in enumerate(parts) if not (place and word in _GENERATION_WORDS[kind])]
    # A single letter in a person's name is an initial, not a particle.
    initial = 1 if kind == "person" else 0
    counting = [word for word in rest if word not in _PARTICLES or len(word) == initial] or rest
    if not counting:
        return None
    # Marks count their repetitions: "5 5" differs from "5".
    counted = frozenset(f"{mark} {marks.count(mark)}" for mark in marks)
    ordered = " ".join(sorted(counting, key=lambda word: (sound(word), word)))
    initials, emoji = min(map(len, counting)) == 1, frozenset(filter(is_emoji, folded))
    return Name(kind, tuple(counting), ordered, "".join(counting), counted, forms, initials, emoji)


def similarity(name: Name, other: Name) -> float:
    """Return the similarity of two names of one kind, 0 to 1; symmetric."""
    differing_marks = name.marks ^ other.marks
    # One name may lack the generation of a person; all other marks must be in both.
    if differing_marks and (len(differing_marks) > 1 or not differing_marks <= _GENERATIONS):
        return CONFLICTING_MARKS
    if name.emoji and other.emoji and name.emoji != other.emoji:
        return CONFLICTING_MARKS
    if name.words == other.words:
        alike = EQUAL
    elif name.ordered == other.ordered:
        alike = REORDERED
    elif name.packed == other.packed:
        alike = SPACED
    else:
        alike = max(_aligned_similarity(name, other), _joined_similarity(name, other))
    if differing_marks:
        alike = min(alike, OMISSION_LIMIT)
    if name.forms != other.forms:
        alike = min(alike, 0.92 if name.forms and other.forms else 0.96)
    return round(alike, 4)


def _marks(word: str, place: int, count: int, kind: Kind) -> list[str]:
    if word in _GENERATION_WORDS[kind] and place:
        return [_GENERATION_WORDS[kind][word]]
    if not word.isalpha():
        return [str(int(digits)) for digits in re.findall(r"\d+", word)]
    if word in _ROMAN and place == count - 1 and place:
        return [word]
    letter = len(word) == 1 and place and kind != "person"
    return [word] if letter and (word not in _PARTICLES or place == count - 1) else []


def _joined_similarity(name: Name, other: Name) -> float:
    """Return the similarity of long names that differ in their blanks and in a letter: Face book, Facebok."""
    if len(name.words) == len(other.words) or min(len(name.packed), len(other.packed)) < 8:
        return 0.0
    if _DENSE.search(name.packed) or _DENSE.search(other.packed):
        return 0.0
    close = OSA.normalized_similarity(name.packed, other.packed)
    return close * SPACED if close >= 0.93 else 0.0


def _aligned_similarity(name: Name, other: Name) -> float:
    """Return the mean similarity of the words of the shorter name to those of the longer, by their length."""
    short, long = by_length(name.words, other.words)
    unmatched, inexact = list(long), []
    weight = total = 0.0
    whole = initials = 0
    for word in short:
        if word in unmatched:
            unmatched.remove(word)
            weight, total, whole = weight + len(word), total + len(word), whole + (len(word) > 1)
        else:
            inexact.append(word)
    # Longest words first, so that an initial gets a word that no full word matches better.
    for word in sorted(inexact, key=lambda word: (-len(word), word)) if len(inexact) > 1 else inexact:
        best, fitting = max(
            [(word_similarity(word, candidate, name.kind), candidate) for candidate in unmatched]
        )
        if best < SAME_WORD:
            # One word without a match makes another name, even if the others are equal.
            return min(0.7, token_sort_ratio(name.ordered, other.ordered) / 100)
        unmatched.remove(fitting)
        size = max(len(word), len(fitting))
        weight, total = weight + size, total + best * size
        initial = 1 in (len(word), len(fitting))
        initials, whole = initials + initial, whole + (not initial)
    if not whole:
        return 0.5
    alike = total / weight
    if initials:
        alike = min(alike, INITIAL_LIMIT if whole == 1 else 0.93)
    return alike if not unmatched else alike * _unmatched_factor(unmatched, name.kind, whole, weight)


def by_length(words_of_a: Words, words_of_b: Words) -> tuple[Words, Words]:
    """Return the words of two names, those of the shorter name first."""
    is_ordered = (len(words_of_a), words_of_a) <= (len(words_of_b), words_of_b)
    return (words_of_a, words_of_b) if is_ordered else (words_of_b, words_of_a)


def _unmatched_factor(unmatched: list[str], kind: Kind, whole: int, weight: float) -> float:
    """Return the factor by which unmatched words of the longer name lower the similarity."""
    if kind == "person":
        if whole < 2:
            return 0.7
        return 0.95 if all(len(word) == 1 for word in unmatched) else 0.93
    return weight / (weight + sum(map(len, unmatched)))


@lru_cache(maxsize=100_000)
def word_similarity(first: str, second: str, kind: Kind) -> float:
    """Return the similarity of two different words: at least ``SAME_WORD`` for variants of one word. Shorter
    words may differ in fewer letters; a different first letter counts more."""
    short, long = sorted((first, second), key=lambda word: (len(word), word))
    if kind == "person" and len(short) == 1:
        return 0.86 if short == long[0] else 0.0
    if kind == "person" and are_forms_of_one_name(first, second):
        return NICKNAME
    if len(short) < 3 or _DENSE.search(first) or _DENSE.search(second) or not (first + second).isalpha():
        return 0.0
    distance = OSA.distance(short, long, score_cutoff=2)
    if kind == "person" and distance == 1 and _differs_in_ending(short, long):
        return 0.7
    if sound(first) == sound(second):
        return 0.94
    if distance == 1:
        if len(short) < len(long):
            return 0.92 if len(long) >= 5 and short[0] == long[0] else 0.6
        if sorted(short) == sorted(long):
            return 0.93 if len(long) >= 4 else 0.6
        return 0.9 if len(long) >= 6 and short[0] == long[0] else 0.7
    return 0.86 if distance == 2 and len(short) >= 8 and short[0] == long[0] else 0.0


def _differs_in_ending(short: str, long: str) -> bool:
    """Return whether two words differ only in a last vowel: Mario and Maria, Daniel and Daniela."""
    same_length = len(short) == len(long)
    stem = short[:-1] if same_length else short
    return long[:-1] == stem and long[-1] in _VOWELS and (not same_length or short[-1] in _VOWELS)


@lru_cache(maxsize=100_000)
def sound(word: str) -> str:
    """Return a rough phonetic spelling: Smyth as Smith, Jon as John. Words outside ASCII are unchanged."""
    if not word.isascii():
        return word
    heard = word
    for spelling, sound_of in TABLES["sounds"].items():
        heard = heard.replace(spelling, sound_of)
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
    counting, forms = list(parts), set()
    while len(counting) > 1 and counting[-1] in _FORMS:
        forms.add(counting.pop())
    while len(counting) > 1 and counting[0] in _FORMS and not counting[0].isascii():
        forms.add(counting.pop(0))
    return [_bare(word, forms) for word in counting], frozenset(forms)


def _bare(word: str, forms: set[str]) -> str:
    """Return a word without an attached legal form: 株式会社トヨタ."""
    for form in _ATTACHED_FORMS:
        bare = word.removeprefix(form) if word.startswith(form) else word.removesuffix(form)
        if bare and bare != word:
            forms.add(form)
            return bare
    return word
