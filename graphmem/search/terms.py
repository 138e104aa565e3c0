"""Terms: what search counts of a text, and what a question asks for.

A *term* is a word as :mod:`graphmem.text.words` splits it, or one of these:

- two characters in a row of a script that is written without blanks;
- the month, the day of the month, and the day of a date: ``#m5``, ``#d8`` and ``#2023-05-08``.

So "8 May 2023" finds ``2023-05-08T14:00:00Z``. A question is a list of *concepts*. Each has a word and its
other spellings, any of which counts.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from graphmem.search.questions import question_words
from graphmem.text import languages, words

_DATE = re.compile(r"(?<!\S)((?:19|20)\d\d) (0[1-9]|1[0-2]) (0[1-9]|[12]\d|3[01])(?=t\d\d\b|\s|$)")
_DAY = re.compile(r"([1-9]|[12]\d|3[01])(?:st|nd|rd|th)?")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_YEAR = re.compile(r"[12]\d{3}")
_SEPARATOR: Final = words.VALUE_SEPARATOR.strip()
_ALIAS_SEPARATOR: Final = words.ALIAS_SEPARATOR.strip()


class TextTerms(NamedTuple):
    """The terms of an entity's text: those of its name, of its other names, and of all other values."""

    name: list[str]
    aliases: list[str]
    values: list[str]


def of_text(text: str) -> TextTerms:
    """Return the terms of what :func:`graphmem.text.words.text_of` returns: the name comes first."""
    name, values, aliases = _parted(text)
    terms = _split(values)
    if " 20" in text or " 19" in text or text[:2] in ("19", "20"):
        for year, month, day in _DATE.findall(text):
            terms += f"#m{int(month)}", f"#d{int(day)}", f"#{year}-{month}-{day}"
    return TextTerms(_split(name), _split(aliases) if aliases else [], terms)


@lru_cache(maxsize=8_192)
def of_label(name: str) -> tuple[str, ...]:
    """Return the words of an entity type or of the name of a field, also of ``licensePlate``."""
    return tuple(words.tokens(_CAMEL_CASE.sub(" ", name).replace("_", " ")))


def _parted(text: str) -> tuple[str, str, str]:
    """Return the name in a text, its other values, and its other names."""
    if _ALIAS_SEPARATOR not in text:
        name, _, values = text.partition(_SEPARATOR)
        return name, values, ""
    name, *rest = text.replace(_ALIAS_SEPARATOR, _SEPARATOR + _ALIAS_SEPARATOR).split(_SEPARATOR)
    aliases = [value[1:] for value in rest if value[:1] == _ALIAS_SEPARATOR]
    values = [value for value in rest if value[:1] != _ALIAS_SEPARATOR]
    return name, _SEPARATOR.join(values), _SEPARATOR.join(aliases)


def _split(text: str) -> list[str]:
    tokens = [token for token in text.split() if token != _SEPARATOR]
    if text.isascii():
        return tokens
    is_dense = words.is_dense
    return tokens + [
        first + second for first, second in pairwise(tokens) if is_dense(first) and is_dense(second)
    ]


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing that a question asks for: any of ``terms`` says it.

    ``piece`` is the run of text between blanks that it comes from, an index into :attr:`Question.pieces`.
    ``is_whole`` is false if every word that begins with the term says it too.
    """

    terms: tuple[str, ...]
    piece: int
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks for, by the runs of text between blanks. ``concepts`` are without stop words,
    unless there is nothing else; ``left_out``: the question has more words than a search takes."""

    pieces: tuple[str, ...]
    concepts: tuple[Concept, ...]
    language: str | None
    left_out: bool


def of_question(text: str, known: Collection[str] = (), *, begins: bool = False) -> Question:
    """Return what a question asks for.

    Args:
        known: the languages of the texts that are searched; they decide where the question's own is not told.
        begins: the last word may be the beginning of a word.
    """
    query = words.parse_query(text, begins=begins)
    tokens = [token for phrase in query.phrases for token in phrase]
    language = _language(tokens, known)
    stop_words = languages.stop_words().get(language or "", frozenset()) | question_words.ASKING
    months = {
        name: number
        for each in dict.fromkeys(("en", language or "en", *sorted(known)))
        for name, number in languages.months(each).items()
    }
    places = [(piece, token) for piece, phrase in enumerate(query.phrases) for token in phrase]
    dated = _dates([token for _, token in places], months)
    concepts: dict[tuple[str, ...], Concept] = {}
    for place, (piece, token) in enumerate(places):
        beside = (*places[max(0, place - 1) : place], *places[place + 1 : place + 2])
        # A character of a dense script is compared together with one beside it.
        is_paired = words.is_dense(token) and any(
            of == piece and words.is_dense(other) for of, other in beside
        )
        if is_paired or (place not in dated and token in stop_words):
            continue
        spellings = (token, *dated.get(place, ()))
        is_whole = not (query.last_begins and place == len(places) - 1)
        concepts.setdefault(spellings, Concept(spellings, piece, is_whole))
    for first, second in pairwise(places):
        if first[0] == second[0] and words.is_dense(first[1]) and words.is_dense(second[1]):
            term = (first[1] + second[1],)
            concepts.setdefault(term, Concept(term, first[0]))
    for term in _whole_dates([token for _, token in places], months):
        concepts.setdefault((term,), Concept((term,), 0))
    if not concepts:
        last = len(places) - 1 if query.last_begins else -1
        concepts = {
            (token,): Concept((token,), piece, place != last) for place, (piece, token) in enumerate(places)
        }
    pieces = tuple(" ".join(phrase) for phrase in query.phrases)
    return Question(pieces, tuple(concepts.values()), language, query.left_out)


def language_of_question(text: str) -> str | None:
    """Return the language of a question, ``None`` if it cannot be told."""
    return _language([token for phrase in words.parse_query(text).phrases for token in phrase], ())


def _language(tokens: Sequence[str], known: Collection[str]) -> str | None:
    """Return the language of a question, which has few words: one stop word is enough."""
    counts = {
        name: sum(token in listed or token in question_words.ASKING_IN.get(name, ()) for token in tokens)
        for name, listed in languages.stop_words().items()
    }
    most = max(counts.values())
    if not most:
        return None
    likely = [name for name, count in counts.items() if count == most]
    preferred = [name for name in likely if name in known] or likely
    return preferred[0] if len(preferred) == 1 else "en" if "en" in preferred else None


def _dates(tokens: Sequence[str], months: dict[str, int]) -> dict[int, tuple[str, ...]]:
    """Return the terms of the months and of the days beside them, by their place."""
    terms: dict[int, tuple[str, ...]] = {}
    for place, token in enumerate(tokens):
        if token not in months:
            continue
        terms[place] = (f"#m{months[token]}",)
        for beside in (place - 1, place + 1):
            day = _DAY.fullmatch(tokens[beside]) if 0 <= beside < len(tokens) else None
            if day:
                terms[beside] = (f"#d{int(day[1])}",)
    return terms


def _whole_dates(tokens: Sequence[str], months: dict[str, int]) -> Iterator[str]:
    """Yield the terms of the days that a question names, by ISO 8601 or with the name of a month."""
    for year, month, day in _DATE.findall(" ".join(tokens)):
        yield f"#{year}-{month}-{day}"
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        name, day = (first, second) if first in months else (second, first)
        number = _DAY.fullmatch(day)
        if name in months and number and _YEAR.fullmatch(third):
            yield f"#{third}-{months[name]:02}-{int(number[1]):02}"
