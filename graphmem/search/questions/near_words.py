"""Words of a question with one slip of the pen, compared with the words of names.

A slip inserts, leaves out or replaces one letter, or exchanges two. The first letter is right: so only
some words are compared, in a few milliseconds among those of 100,000 entities.
"""

from __future__ import annotations

from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from graphmem.search.copy_documents import IN_NAMES
from graphmem.search.entity_copy import SearchCopy
from graphmem.search.questions import naming, question_words
from graphmem.search.questions.mentions import AskedNames

LETTERS_LEAST: Final = 5
"""Letters of a word that may have a slip, and of the word that is meant."""
ENTITIES_LIMIT: Final = 5
"""Entities that a word with a slip names; where more have the word that is meant, it names none."""
WORDS_LIMIT: Final = 3
"""Unknown words of one question that are compared."""


def named_nearly(copy: SearchCopy, question: AskedNames) -> list[naming.Named]:
    """Return the entities whose names a question has but for a slip of the pen in one of the words.

    People and organisations are called by parts of their names. Of others, those count whose names have most
    words of the question.
    """
    near = _near_words(copy, question)
    if not near:
        return []
    called = question_words.PERSONS | question_words.ORGANISATIONS
    parts = naming.partly_named(copy, question, (), near)
    spans = {copy.number_of(entity_id): (part.start, part.end) for entity_id, part in parts.items()}
    counts: dict[int, int] = {}
    words = {piece.token: place for place, piece in enumerate(question.pieces) if not piece.is_stop_word}
    is_other = copy.of_types([name for name in copy.types if name not in called] or [""])
    for word, posting in zip(words, copy.postings([near.get(word, [word]) for word in words]), strict=True):
        in_names = posting.having(IN_NAMES)
        for number in in_names[is_other[in_names]].tolist():
            counts[number] = counts.get(number, 0) + 1
            if word in near:
                spans.setdefault(number, (words[word], words[word] + 1))
    most = max((counts.get(number, 0) for number in spans if number is not None), default=0)
    chosen = [
        (number, span) for number, span in spans.items()
        if number is not None and (number not in counts or counts[number] == most)
    ]  # fmt: skip
    if len(chosen) > ENTITIES_LIMIT:
        return []
    return [
        naming.Named(copy.ids[number], naming.NEAR_NAME, question.name(*span), *span)
        for number, span in chosen
    ]


def _near_words(copy: SearchCopy, question: AskedNames) -> dict[str, list[str]]:
    """Return the words that the unknown words of a question may mean, by word."""
    unknown = [
        piece.token
        for piece in question.pieces
        if piece.token.isalpha() and len(piece.token) >= LETTERS_LEAST
        if not (piece.is_stop_word or piece.is_title or piece.is_dense or _is_known(copy, piece.token))
    ]
    near = {word: _terms_near(copy, word) for word in list(dict.fromkeys(unknown))[:WORDS_LIMIT]}
    return {word: terms for word, terms in near.items() if terms}


def _is_known(copy: SearchCopy, word: str) -> bool:
    """Return whether a copy has a word, or another form of it: "upgrades", and not "kubernets"."""
    if word in copy.terms:
        return True
    forms = (form for each in {"en", *copy.languages} for form in copy.terms.inflections(each, word))
    return any(
        form.startswith(word) or word.startswith(form) or OSA.distance(word, form) > 1 for form in forms
    )


def _terms_near(copy: SearchCopy, word: str) -> list[str]:
    """Return the terms of a copy that differ from a word by one slip."""
    terms = copy.terms.beginning_with(word[0])
    matches = process.extract(word, terms, scorer=OSA.distance, score_cutoff=2, limit=None)
    return sorted(
        term for term, distance, _ in matches
        if len(term) >= LETTERS_LEAST and term.isalpha() and (distance == 1 or _is_exchanged(word, term))
    )  # fmt: skip


def _is_exchanged(word: str, term: str) -> bool:
    """Return whether two letters of a word changed places: "bycicle"."""
    return (
        len(word) == len(term)
        and sorted(word) == sorted(term)
        and (sum(first != second for first, second in zip(word, term, strict=True)) == 2)
    )
