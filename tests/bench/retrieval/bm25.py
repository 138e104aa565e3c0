"""Plain BM25 beside graphmem: k1 1.2, b 0.75, stop words and light stems.

It stays as it is, so that figures of different days compare with the same thing.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping

K1, B = 1.2, 0.75
_STOP_WORDS = """
a about after all also am an and any are as at be because been before being but by can could did do does
doing for from get had has have having he her here hers him his how i if in into is it its just me more most
my no not of off on once one only or other our out over own s same she should so some such t than that the
their them then there these they this those through to too under until up very was we were what when where
which while who whom why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


def stem(word: str) -> str:
    """Return a word without the endings of plurals and verbs."""
    for ending, instead, least in (("ies", "y", 5), ("sses", "ss", 5), ("ing", "", 6), ("ed", "", 5)):
        if word.endswith(ending) and len(word) >= least:
            return word[: -len(ending)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def terms(text: str) -> list[str]:
    """Return the stems of the words of a text that are no stop words."""
    return [stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class BM25:
    """An index of texts by id."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._counts: dict[str, dict[str, int]] = defaultdict(dict)
        self._lengths: dict[str, int] = {}
        for text_id, text in texts.items():
            counts = Counter(terms(text))
            self._lengths[text_id] = counts.total()
            for term, count in counts.items():
                self._counts[term][text_id] = count
        self._mean_length = sum(self._lengths.values()) / max(len(texts), 1)

    def ranking(self, question: str, limit: int) -> list[str]:
        """Return the ids of the texts that have any word of a question, best first; ties by id."""
        scores: dict[str, float] = defaultdict(float)
        for term in sorted(set(terms(question))):
            texts = self._counts.get(term, {})
            weight = math.log(1 + (len(self._lengths) - len(texts) + 0.5) / (len(texts) + 0.5))
            for text_id, count in texts.items():
                longer = 1 - B + B * self._lengths[text_id] / self._mean_length
                scores[text_id] += weight * count * (K1 + 1) / (count + K1 * longer)
        return sorted(scores, key=lambda text_id: (-scores[text_id], text_id))[:limit]
