"""The terms of an owner's entities, each with a number, their stems, and which of them begin with a text."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from graphmem.text import languages


class GrowingArray:
    """An array that grows at its end; with a width, its elements are rows."""

    def __init__(self, dtype: npt.DTypeLike, width: int = 0) -> None:
        self._array = np.empty((64, width) if width else 64, dtype)
        self.size = 0

    def extend(self, values: npt.ArrayLike) -> None:
        added = np.asarray(values, self._array.dtype)
        needed = self.size + len(added)
        if needed > len(self._array):
            larger = np.empty((max(needed, len(self._array) * 3 // 2), *self._array.shape[1:]), added.dtype)
            larger[: self.size] = self._array[: self.size]
            self._array = larger
        self._array[self.size : needed] = added
        self.size = needed

    @property
    def values(self) -> npt.NDArray[Any]:
        return self._array[: self.size]

    @property
    def bytes(self) -> int:
        """The memory of its values: the room behind them was never written, so that it takes none."""
        return self.values.nbytes


BYTES_PER_TERM: Final = 110
"""Bytes of a term beside its characters: its places in a dictionary and two lists, and its number."""
BYTES_PER_STEM: Final = 175
"""Bytes of a stem in a dictionary, and its number, about."""
STEMMED_AT_ONCE: Final = 2_000
"""Terms that are stemmed at once. No other thread runs meanwhile."""
SORTED_AT_ONCE: Final = 4_096
"""Terms that are sorted at once. No other thread runs meanwhile."""


class _Stems:
    """The stems of the terms in one language. They are numbers, so that the collection of garbage, which
    holds up everything, has nothing to look at."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._of_terms = GrowingArray(np.int32)

    def extend(self, language: str, terms: Sequence[str]) -> None:
        """Add the stems of the terms behind those that have one; what is no word has none."""
        numbers = self._numbers
        for start in range(self._of_terms.size, len(terms), STEMMED_AT_ONCE):
            new = terms[start : start + STEMMED_AT_ONCE]
            stems = languages.stems(language, [term if term.isalpha() else "" for term in new])
            self._of_terms.extend([numbers.setdefault(stem, len(numbers)) if stem else -1 for stem in stems])

    def terms_of(self, stem: str) -> list[int]:
        """Return the numbers of the terms that have a stem."""
        number = self._numbers.get(stem)
        return [] if number is None else np.flatnonzero(self._of_terms.values == number).tolist()

    def without(self, is_used: npt.NDArray[np.bool_]) -> _Stems:
        """Return the stems of those terms that are used, by their new numbers."""
        of_terms = self._of_terms.values
        kept = of_terms[is_used[: len(of_terms)]]
        is_kept = np.zeros(len(self._numbers), np.bool_)
        is_kept[kept[kept >= 0]] = True
        # The last one is that of a term without a stem, whose number is -1.
        renumbered = np.append(np.cumsum(is_kept, dtype=np.int32) - 1, np.int32(-1))
        stems = _Stems()
        used = (stem for stem, is_left in zip(self._numbers, is_kept.tolist(), strict=True) if is_left)
        stems._numbers = {stem: number for number, stem in enumerate(used)}
        stems._of_terms.extend(renumbered[kept])
        return stems

    @property
    def bytes(self) -> int:
        return self._of_terms.bytes + BYTES_PER_STEM * len(self._numbers)


class TermVocabulary:
    """The terms of a copy of documents.

    Attributes:
        numbers: the number of each term, counted from 0.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._stems: dict[str, _Stems] = {}
        self._sorted: list[list[str]] = []
        self._sorted_count = 0
        self._characters = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, term: object) -> bool:
        return term in self.numbers

    def add(self, terms: Iterable[str]) -> list[int]:
        """Return the numbers of some terms; those that are new are added."""
        numbers = self.numbers
        found = [numbers.setdefault(term, len(numbers)) for term in terms]
        added = list(islice(reversed(numbers), len(numbers) - len(self._terms)))
        self._terms += reversed(added)
        self._characters += sum(map(sys.getsizeof, added))
        return found

    def inflections(self, language: str, word: str) -> list[str]:
        """Return the terms that have the stem of a word in a language."""
        stems = self._stems.setdefault(language, _Stems())
        stems.extend(language, self._terms)
        (stem,) = languages.stems(language, [word])
        return [self._terms[number] for number in stems.terms_of(stem)]

    def beginning_with(self, text: str) -> list[str]:
        """Return the terms that begin with a text, in no order.

        Terms are sorted in parts, and each part is searched by bisection; the last ones are compared one by
        one. So the cost hardly grows with the number of terms, and none is sorted twice.
        """
        while self._sorted_count + SORTED_AT_ONCE <= len(self._terms):
            end = self._sorted_count + SORTED_AT_ONCE
            self._sorted.append(sorted(self._terms[self._sorted_count : end]))
            self._sorted_count = end
        unsorted = self._terms[self._sorted_count :]
        found = [term for term in unsorted if term.startswith(text)]
        for part in self._sorted:
            start = end = bisect_left(part, text)
            while end < len(part) and part[end].startswith(text):
                end += 1
            found += part[start:end]
        return found

    def keep(self, is_used: npt.NDArray[np.bool_]) -> None:
        """Drop the terms that are not used, and number the others anew in their order.

        Args:
            is_used: of each term, by number.
        """
        self._terms = [term for term, is_kept in zip(self._terms, is_used.tolist(), strict=True) if is_kept]
        self.numbers = {term: number for number, term in enumerate(self._terms)}
        self._characters = sum(map(sys.getsizeof, self._terms))
        self._stems = {language: stems.without(is_used) for language, stems in self._stems.items()}
        parts = ([term for term in part if term in self.numbers] for part in self._sorted)
        self._sorted = [part for part in parts if part]
        self._sorted_count = int(np.count_nonzero(is_used[: self._sorted_count]))

    def forget_stems(self) -> None:
        """Give the memory of stems back; the next question that needs them makes them again."""
        self._stems = {}

    @property
    def bytes(self) -> int:
        """The memory of the terms, about."""
        stems = sum(each.bytes for each in list(self._stems.values()))
        return self._characters + BYTES_PER_TERM * len(self.numbers) + stems
